// Package engine carries a scenario from its first step to the proof of cleanup.
//
// It owns the scenario format: Load reads a file strictly and checks it whole,
// so that a Program cannot meet an unknown name while it runs. Step is a pure
// function from a State, a reading of the world and an instant to the next State
// and the facts that became true. It does no I/O, asks no clock and starts no
// goroutine; the effects it wants stand in the State as Intents, for others to
// carry out.
//
// What is not known is never taken for true or false: a condition over a reading
// that failed is Unknown, Unknown is never a pass, and Unknown to the end is
// trouble of the infrastructure and not of the class.
package engine

package board

import (
	"labbot/bot/exhibit"
	"labbot/bot/lab"
)

// Slots that Render makes besides one for each exhibit, whose id is the id of
// its step. The slash keeps them apart from step ids.
const (
	SlotBoard   = "board"
	SlotVerdict = "run/verdict"
	SlotCleanup = "run/cleanup"
)

// Render draws the whole thread of a run: the board, then evidence, hints, wrong
// moves, verdict and cleanup in the order in which they are to be read.
func Render(v View) []Slot { return nil }

// Exhibit draws one exhibit for a person who asked for it. title may be zero.
func Exhibit(lang lab.Lang, ex exhibit.Exhibit, title lab.Text) Message { return Message{} }

// Help is the answer to /lab help.
func Help(lang lab.Lang, scenarios []ScenarioInfo) Message { return Message{} }

// List is the answer to /lab list.
func List(lang lab.Lang, scenarios []ScenarioInfo) Message { return Message{} }

// Status is the answer to /lab status: one paragraph for each run.
func Status(lang lab.Lang, runs []View) Message { return Message{} }

// Notice is a short reply. key is a key of the catalogue and args are its
// places, which are escaped here.
func Notice(lang lab.Lang, key string, args ...any) Message { return Message{} }

// Package cri is a container runtime that runs no containers.
//
// It serves the Kubernetes Container Runtime Interface (image and runtime
// service) to a real kubelet. What an image does is described in a catalogue:
// an image is a set of programs with a behaviour (serve HTTP, exit after a
// while, outgrow its memory limit), plus a small POSIX shell so that command
// overrides mean what they say. Each sandbox has its own address and a serving
// container truly listens on it, so probes, proxies and port-forwards are real
// network traffic; only the process behind them is not.
//
// The package promises the wording and the status codes of containerd wherever
// a person sees them through the kubelet (pull refusals, start errors, OOM).
package cri

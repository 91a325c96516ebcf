#!/bin/sh
# Usage: bench.sh BINARY
#
# Measures a fresh cluster of one node: time to ready, memory and idle CPU.
set -eu
bin=${1:?usage: bench.sh BINARY}
idle=${IDLE_SECONDS:-30}
base=$(mktemp -d)
dir=$base/c
"$bin" up --data "$dir" >"$base/out" 2>&1 &
launcher=$!
trap 'kill $launcher 2>/dev/null || true; wait $launcher 2>/dev/null || true; rm -rf "$base"' EXIT
i=0
until grep -q '^ready in' "$base/out"; do
	i=$((i + 1))
	if [ $i -gt 600 ] || ! kill -0 $launcher 2>/dev/null; then
		cat "$base/out" >&2
		exit 1
	fi
	sleep 0.2
done
grep '^ready in' "$base/out" | cut -d: -f1
sleep 20 # the add-ons start, caches fill

pids=$(for p in /proc/[0-9]*; do
	# Other processes of the machine may end while the list is made.
	{ tr '\0' ' ' <"$p/cmdline" | grep -qF "$dir"; } 2>/dev/null && echo "${p#/proc/}" || true
done | grep -vx $$)
ticks() {
	for p in $pids; do cut -d' ' -f14,15 "/proc/$p/stat"; done | awk '{s += $1 + $2} END {print s}'
}
field() {
	for p in $pids; do grep "^$1:" "/proc/$p/smaps_rollup"; done | awk '{s += $2} END {printf "%d", s / 1024}'
}
before=$(ticks)
sleep "$idle"
after=$(ticks)
echo "processes $(echo "$pids" | wc -l)"
echo "memory $(field Pss) MB (shared pages counted once), $(field Rss) MB as the sum of RSS"
echo "idle CPU $(awk "BEGIN {printf \"%.1f\", ($after - $before) / $idle}") % of one core"

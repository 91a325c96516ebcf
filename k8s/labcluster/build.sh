#!/bin/sh
# Usage: build.sh OUT
#
# Puts the labcluster binary at OUT: from a cache when its sources and
# dependencies have been built before, else by a build that shows its progress.
set -eu
out=${1:?usage: build.sh OUT}
case $out in /*) ;; *) out=$PWD/$out ;; esac
cd "$(dirname "$0")"
cache=${LABBOT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/labbot}
export CGO_ENABLED=0 GOFLAGS="-buildvcs=false -trimpath" GOOS=linux

kubernetes=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${kubernetes#v1.}
minor=${minor%%.*}
version=$(cat VERSION)
ldflags="-s -w -X main.version=$version
	-X k8s.io/component-base/version.gitVersion=$kubernetes
	-X k8s.io/component-base/version.gitMajor=1
	-X k8s.io/component-base/version.gitMinor=$minor
	-X k8s.io/component-base/version.gitTreeState=clean"

key=$({
	go env GOVERSION GOARCH
	cat go.mod go.sum VERSION build.sh
	find . -type f \( -name '*.go' -o -name '*.yaml' \) ! -name '*_test.go' ! -path '*/testdata/*' | LC_ALL=C sort | while read -r f; do
		echo "$f"
		cat "$f"
	done
} | sha256sum | cut -c1-20)
cached=$cache/labcluster-$key

mkdir -p "$cache" "$(dirname "$out")"
if [ ! -x "$cached" ]; then
	echo "labcluster: building Kubernetes from its modules; the first build takes about 15 minutes on 2 cores, later ones about one"
	log=$(mktemp)
	new=$cached.$$
	trap 'rm -f "$log" "$new"' EXIT
	total=$(go list -deps . | wc -l)
	start=$(date +%s)
	# -v names each package that is compiled; those of the build cache are not named.
	go build -v -ldflags "$ldflags" -o "$new" . 2>"$log" &
	build=$!
	while kill -0 $build 2>/dev/null; do
		sleep 2
		[ $(( ($(date +%s) - start) % 10 )) -lt 2 ] || continue
		kill -0 $build 2>/dev/null || break
		echo "labcluster: $(( $(date +%s) - start )) s, $(wc -l <"$log") of at most $total packages compiled"
	done
	if ! wait $build; then
		grep -v '^[a-zA-Z0-9./_-]*$' "$log" >&2 || cat "$log" >&2
		exit 1
	fi
	mv "$new" "$cached"
	echo "labcluster: built in $(( $(date +%s) - start )) s"
	# Keep the three newest; each takes 150 MB.
	ls -1t "$cache"/labcluster-* | tail -n +4 | while read -r old; do rm -f "$old"; done
fi
touch "$cached"
[ ! "$out" -ef "$cached" ] || exit 0 # mv refuses two names of one file
rm -f "$out.new"
ln "$cached" "$out.new" 2>/dev/null || cp "$cached" "$out.new"
mv "$out.new" "$out"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build_pprof.sh OUT: builds the real pprof from Debian's packages golang-github-google-pprof-dev and golang-go,
# without a network. The compiler's cache stands beside OUT and nothing else is written. Does nothing when OUT is newer than the sources.
set -eu

out=${1:?usage: build_pprof.sh OUT}
source_path=/usr/share/gocode
package=github.com/google/pprof

if ! command -v go >/dev/null || [ ! -f "$source_path/src/$package/pprof.go" ]; then
	echo "build_pprof.sh: install golang-go and golang-github-google-pprof-dev" >&2
	exit 1
fi
if [ -x "$out" ] && [ "$out" -nt "$source_path/src/$package/pprof.go" ]; then
	exit 0
fi

mkdir -p "$(dirname "$out")"
directory=$(cd "$(dirname "$out")" && pwd)
unfinished=$directory/.pprof.$$
trap 'rm -f "$unfinished"' EXIT

# GOPATH mode finds Debian's sources; the settings after it keep go from asking for anything else.
GO111MODULE=off GOPATH=$source_path GOCACHE=$directory/go-cache GOENV=off GOFLAGS= GOPROXY=off GOSUMDB=off \
	GOTOOLCHAIN=local CGO_ENABLED=0 go build -o "$unfinished" "$package"
mv "$unfinished" "$directory/$(basename "$out")"

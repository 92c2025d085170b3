#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# replay.sh FUZZER CORPUS FINDINGS RUNS: the corpus, then new inputs up to RUNS in all, always the same ones. What they would add to the
# corpus is thrown away; what they find is kept, its name begins with FINDINGS.
set -eu
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
"$1" -runs="$4" -seed=1 -max_len=4096 -timeout=60 -verbosity=0 -print_final_stats=1 -artifact_prefix="$3-" "$new" "$2"

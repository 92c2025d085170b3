# SPDX-License-Identifier: Apache-2.0
"""reach.py FUZZERS: whether each honest input of seeds.py gets beyond the first check of what its harness tries (REACHED in fuzz.h), but for those that are
lies in what is checked first. A seed of an old layout does not, and what grows from it tries that check alone."""

import os
import re
import subprocess
import sys
import tempfile

from seeds import seeds

# What is refused, and is meant to be: the number of the seed.
REFUSED = {
    "addition": {8},         # a word behind the layout that is none
    "header": {1},           # another magic number
    "pprof": {4},            # no heap profile
    "region": {1, 2, 3},     # words of the header
    "relocate": {3, 5},      # a call, a function of one byte
}


def main():
    bad = []
    for name, inputs in seeds():
        fuzzer = os.path.join(sys.argv[1], f"{name}_fuzz")
        for number, data in enumerate(inputs):
            with tempfile.NamedTemporaryFile() as file:
                file.write(data)
                file.flush()
                run = subprocess.run([fuzzer, "-runs=1", file.name], capture_output=True, check=True)
            reached = re.search(rb"^reached: [1-9]", run.stderr, re.M) is not None
            if reached == (number in REFUSED.get(name, ())):
                bad.append(f"{name}: seed {number} {'is not refused' if reached else 'gets nowhere'}")
    print("\n".join(bad) or "every seed gets where it should")
    sys.exit(1 if bad else 0)


main()

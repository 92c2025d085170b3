# SPDX-License-Identifier: Apache-2.0
"""Every run of the model of the dump that stops nobody, by spin: as the protocol is, no snapshot is wrong; with any one of its rules broken, some
are. usage: model_check.py [EVENTS DUMPS]"""

import os
import subprocess
import sys
import tempfile

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "running_dump.pml")
COMPILER = "cc"

# What is broken, in how small a run that shows: calls, dumps.
BROKEN = {
    "NO_BARRIER": (2, 1),
    "EPOCH_BEFORE_FLAG": (2, 1),
    "LOG_AFTER_CLEAR": (2, 1),
    "LOG_AFTER_PENDING": (2, 1),
    "CLEARED_BEFORE_PENDING": (2, 1),
    "NO_SECOND_LOOK": (2, 1),
    "EPOCH_BEFORE_ENTRY": (2, 1),
    "LOG_READ_EARLY": (2, 1),
    "NO_SUCCESSOR": (2, 1),
    "FROM_THE_BEGINNING": (2, 1),
    "PENDING_BESIDE_LOG": (2, 1),
}


def verify(events, dumps, *definitions):
    """Whether an assertion fails in some run; and what spin says of the search."""
    with tempfile.TemporaryDirectory(prefix="heapsnap-test-") as directory:
        def run(*command):
            return subprocess.run(command, cwd=directory, capture_output=True, text=True)
        made = run("spin", "-a", f"-DEVENTS={events}", f"-DDUMPS={dumps}", *[f"-D{name}" for name in definitions], MODEL)
        assert made.returncode == 0, made.stdout + made.stderr
        made = run(COMPILER, "-O2", "-w", "-DSAFETY", "-DCOLLAPSE", "-DNOFAIR", "-DMEMLIM=3000", "-o", "pan", "pan.c")
        assert made.returncode == 0, made.stderr
        said = run("./pan", "-m1000000", "-w24").stdout
    assert "pan:1: invalid end state" not in said, said
    for line in ("max search depth too small", "out of memory"):
        assert line not in said, said
    assert "errors: " in said, said
    return "errors: 0" not in said, said


def main():
    if len(sys.argv) > 1:
        failed, said = verify(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
        print(said)
        sys.exit(failed)
    for events, dumps in ((2, 1), (2, 2)):
        failed, said = verify(events, dumps)
        assert not failed, f"a snapshot is wrong in {events} calls and {dumps} dumps:\n{said}"
        assert "Search not completed" not in said, f"not every run of {events} calls and {dumps} dumps was looked at:\n{said}"
        states = next(line for line in said.splitlines() if "states, stored" in line)
        print(f"{events} calls, {dumps} dumps: no snapshot is wrong; {states.split()[0]} states", flush=True)
    for name, (events, dumps) in BROKEN.items():
        failed, said = verify(events, dumps, name)
        assert failed, f"with {name} no snapshot is wrong in {events} calls and {dumps} dumps: the check does not see it\n{said}"
        print(f"{name}: seen to fail", flush=True)


main()

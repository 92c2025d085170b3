# SPDX-License-Identifier: Apache-2.0
"""Every run of the model of the dump that stops no thread, by spin: as the protocol is, no snapshot is wrong; with any one of its rules broken, some
are. usage: model_check.py [CALLS DUMPS [THREADS [BLOCKS [NAME...]]]]"""

import os
import subprocess
import sys
import tempfile

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "running_dump.pml")
COMPILER = "cc"

# How large a run: calls of each thread, dumps, threads, blocks there before. Who makes two dumps has made one: no (2, 1, 1, 1).
RIGHT = [(2, 1, 1, 2), (2, 2, 1, 1), (1, 1, 2, 1)]

# How a wrong run is looked for: with the processes in the other order, most are found sooner, after some hundred to some million states
# (that of LOG_AFTER_CLEAR later). It is a wrong run all the same.
SOONER = ["-O0", "-DREVERSE"]

# What is broken, in how small a run that shows.
BROKEN = {
    "NO_BARRIER": (2, 1, 1, 1),
    "EPOCH_BEFORE_FLAG": (2, 1, 1, 1),
    "LOG_AFTER_CLEAR": (2, 1, 1, 1),
    "LOG_AFTER_PENDING": (2, 1, 1, 1),
    "CLEARED_BEFORE_PENDING": (2, 1, 1, 1),
    "NO_SECOND_LOOK": (2, 1, 1, 1),
    "EPOCH_BEFORE_ENTRY": (2, 1, 1, 1),
    "LOG_READ_EARLY": (2, 1, 1, 1),
    "NO_SUCCESSOR": (2, 1, 1, 1),
    "PENDING_LAST": (2, 1, 1, 1),
    "PENDING_BESIDE_LOG": (2, 1, 1, 1),
    "NEW_SUCCESSOR": (2, 1, 1, 2),
    "NEW_SUCCESSOR_PENDING": (2, 1, 1, 2),
    "NOTHING_BESIDE": (1, 1, 2, 1),
}


def described(run):
    events, dumps, threads, blocks = run
    return f"{events} calls of {threads} threads, {dumps} dumps, {blocks} blocks before"


def verify(run, *definitions):
    """Whether an assertion fails in some run; and what spin says of the search."""
    sizes = [f"-D{name}={value}" for name, value in zip(("EVENTS", "DUMPS", "THREADS", "BLOCKS"), run)]
    with tempfile.TemporaryDirectory(prefix="heapsnap-test-") as directory:
        def call(*command):
            return subprocess.run(command, cwd=directory, capture_output=True, text=True)
        made = call("spin", "-a", *sizes, *[f"-D{name}" for name in definitions], MODEL)
        assert made.returncode == 0, made.stdout + made.stderr
        made = call(COMPILER, *(SOONER if definitions else ["-O2"]), "-w", "-DSAFETY", "-DCOLLAPSE", "-DNOFAIR", "-DMEMLIM=3000", "-o", "pan", "pan.c")
        assert made.returncode == 0, made.stderr
        said = call("./pan", "-m1000000", "-w22" if definitions else "-w25").stdout
    assert "pan:1: invalid end state" not in said, said
    for line in ("max search depth too small", "out of memory"):
        assert line not in said, said
    assert "errors: " in said, said
    return "errors: 0" not in said, said


def main():
    if len(sys.argv) > 2:
        sizes = [int(word) for word in sys.argv[1:5] if word.isdigit()]
        failed, said = verify((sizes + [1, 1])[:4], *[word for word in sys.argv[1:] if not word.isdigit()])
        print(said)
        sys.exit(failed)
    for name, run in BROKEN.items():
        failed, said = verify(run, name)
        assert failed, f"with {name} no snapshot is wrong in {described(run)}: the check does not see it\n{said}"
        print(f"{name}: seen to fail", flush=True)
    for run in RIGHT:
        failed, said = verify(run)
        assert not failed, f"a snapshot is wrong in {described(run)}:\n{said}"
        assert "Search not completed" not in said, f"not every run of {described(run)} was looked at:\n{said}"
        states = next(line for line in said.splitlines() if "states, stored" in line)
        print(f"{described(run)}: no snapshot is wrong; {states.split()[0]} states", flush=True)


main()

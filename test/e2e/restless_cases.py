# SPDX-License-Identifier: Apache-2.0
"""The behaviours of the restless_*.c programs, and commands on a process that cannot be stopped at every moment."""

from harness import Failure, check, heapsnap

GROUPS = {
    "threads": ["fork", "vfork", "spawn", "threads", "crowd", "cancel", "coroutines", "altstack"],
    "signals": ["flood", "sleeps", "sequences"],
    "memory": ["library", "descriptors", "locked", "protection", "limited", "sealed"],
}
TRIES = 40
# Moments at which a target cannot be stopped, or changes too fast: refused with everything as it was, and tried again here. A vfork
# child may take long on a busy machine.
TRANSIENT = ["did not stop in time", "faster than they can be stopped", "try again"]
OPTIONS = {"limited": ["--max-memory", "16M"]}
# There the program itself takes all the address space that it may have, most of the time.
TRANSIENT += ["address space limit", "Cannot allocate memory"]


def run(command, *arguments):
    for _ in range(TRIES):
        result = heapsnap(*command, *arguments, "--json")
        if result.status == 0:
            return result.json
        if not any(text in result.stderr for text in TRANSIENT):
            break
    raise Failure(str(result))


def finish(pid):
    """The last detach, which may find threads inside for as long as the machine lets them wait."""
    for _ in range(TRIES):
        result = heapsnap("detach", pid, "--json")
        if result.status == 0:
            return
        check("still inside the payload" in result.stderr or any(text in result.stderr for text in TRANSIENT), str(result))
    raise Failure(str(result))

# SPDX-License-Identifier: Apache-2.0
"""The tool has a small stack (ulimit -s): every command works, or refuses with a reason before it touches the target. The limit that it asks for is enough.
usage: small_stack.py"""

import os

from harness import (Target, Unharmed, as_user, check_equal, check_refused, copy_for_everybody, heapsnap, root, run_cases, say, status_fields,
                     target_path, temporary_directory)

NEEDED = 512  # KiB, as cli/main.c has it
SOMEBODY = 65534
TOO_SMALL = (32, 64, 128, NEEDED - 4)


def limited(kib, user=None, which=""):
    """What to write before the command: the limit, soft and hard, and who."""
    return [*(as_user(user) if user else []), "sh", "-c", f'ulimit {which} -s {kib}; exec "$0" "$@"']


def commands(pid):
    path = os.path.join(temporary_directory(), "out.pb.gz")
    os.chmod(os.path.dirname(path), 0o777)
    return [["check", pid], ["attach", pid, "--exact"], ["set", pid, "--sample", "1000"], ["status", pid], ["dump", pid, "-o", path],
            ["dump", "--stop", pid, "-o", path], ["detach", pid]]


def is_privileged():
    """Whether this user may raise a hard limit: CAP_SYS_RESOURCE."""
    return bool(int(status_fields(os.getpid(), os.getpid(), ["CapEff"])["CapEff"], 16) >> 24 & 1)


def works():
    """With as much as it asks for it works; and where it may raise the limit, with less."""
    target = Target("cycles", 4)
    limits = [(NEEDED, "")] + [(kib, "-S") for kib in TOO_SMALL] + [(kib, "") for kib in TOO_SMALL if is_privileged()]
    for kib, which in limits:
        for arguments in commands(target.pid):
            result = heapsnap(*arguments, prefix=limited(kib, which=which))
            check_equal(result.status, 0, f"with {kib} KiB {which}: {result}")
    target.end()
    say(f"  {NEEDED} KiB are enough")


def is_refused():
    """One that may not raise it says so."""
    if not root():
        return
    program = copy_for_everybody()
    target = Target("cycles", command=[*as_user(SOMEBODY), target_path("cycles"), "2"])
    target.ask("pause")
    before = Unharmed(target.pid)
    for kib in TOO_SMALL:
        for arguments in commands(target.pid):
            check_refused(heapsnap(*arguments, program=program, prefix=limited(kib, SOMEBODY)), "ulimit -s", f"{NEEDED} KiB")
        check_equal(heapsnap("--version", program=program, prefix=limited(kib, SOMEBODY)).status, 0, "--version")
        result = heapsnap("run", "true", program=program, prefix=limited(kib, SOMEBODY))
        check_equal((result.status, "ulimit -s" in result.stderr), (125, True), f"a command that was not run: {result}")
    before.check_after()
    for arguments in commands(target.pid):
        result = heapsnap(*arguments, program=program, prefix=limited(NEEDED, SOMEBODY))
        check_equal(result.status, 0, f"with {NEEDED} KiB: {result}")
    target.end()


run_cases([works, is_refused], "small stack")

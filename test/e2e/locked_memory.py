# SPDX-License-Identifier: Apache-2.0
"""A target that locks its memory while it is attached. Root, or whoever has CAP_IPC_LOCK, gets the whole region populated and locked with it;
for others the region counts for RLIMIT_MEMLOCK. In all cases the target goes on, and nothing is left.
usage: locked_memory.py [CASE...]"""

import os

import profiles
from harness import (Mapping, Target, Unharmed, attach, attach_state, check, check_equal, check_refused, detach, dump, heapsnap, leave_out, read_text,
                     run_cases, say, status_fields, temporary_directory)

MEMORY = ["--max-memory", "4M"]
NOBODY = 65534
CAP_IPC_LOCK = 14


class Region:
    """What smaps says of the region; None where it is not mapped. In bytes."""

    def __init__(self, lines):
        fields = dict(line.split(":", 1) for line in lines)
        self.size, self.resident = (int(fields[name].split()[0]) * 1024 for name in ("Size", "Rss"))
        self.is_locked = "lo" in fields["VmFlags"].split()

    @classmethod
    def of(cls, pid):
        lines = read_text(f"/proc/{pid}/smaps").splitlines()
        found = [number for number, line in enumerate(lines) if " /dev/zero (deleted)" in line and Mapping(line).is_region()]
        check(len(found) < 2, f"several regions: {found}")
        if not found:
            return None
        end = next(number for number in range(found[0], len(lines)) if lines[number].startswith("VmFlags:"))
        return cls(lines[found[0] + 1:end + 1])

    def __str__(self):
        return f"{self.size >> 20} MiB, of which {self.resident >> 10} KiB are there, {'locked' if self.is_locked else 'not locked'}"


def locked_bytes(pid):
    return int(status_fields(pid, pid, ["VmLck"])["VmLck"].split()[0]) * 1024


def may_lock_everything():
    return int(status_fields(os.getpid(), os.getpid(), ["CapEff"])["CapEff"], 16) >> CAP_IPC_LOCK & 1


def expect(target, question, answer):
    check_equal(target.ask(question), answer, f"what the target answers to {question!r}")


def check_dump(target, path, times):
    """The target works, and what it keeps is in the dump."""
    expect(target, "keep", "kept")
    expect(target, "work", "right")
    report = dump(target.pid, path, timeout=120)
    site = profiles.by_innermost(path)["locks_memory_keep"]
    check_equal((site.live_objects, site.live_bytes), (100 * times, 100000 * times), "what the target has kept")
    losses = {line["name"]: line["value"] for line in report["ledger"] if line["loss"] and line["value"]}
    check_equal(losses, {}, "losses")
    expect(target, "work", "right")


def check_detached(target, before):
    detach(target.pid)
    before.check_after(memory_may_change=True)
    check_equal(Region.of(target.pid), None, "region after detach")
    expect(target, "work", "right")


def with_privilege():
    """Locked as a whole. Unlocked or not, it goes with detach; where the memory was locked before, it is left out."""
    if not may_lock_everything():
        leave_out("needs CAP_IPC_LOCK")
        return
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("locks_memory")
    before = Unharmed(target.pid)
    attach(target.pid, *MEMORY)
    region = Region.of(target.pid)
    check(not region.is_locked and region.resident < region.size // 2, f"the region before: {region}")
    expect(target, "lock what is touched", "0")
    region = Region.of(target.pid)
    check(region.is_locked and region.resident < region.size // 2, f"the region where only what is touched is locked: {region}")
    check_dump(target, path, 1)
    expect(target, "lock", "0")
    region = Region.of(target.pid)
    check(region.is_locked and region.resident == region.size, f"the region after mlockall: {region}")
    say(f"  mlockall while attached: the region has {region}")
    check_dump(target, path, 2)
    expect(target, "unlock", "0")
    check_dump(target, path, 3)
    check_detached(target, before)

    # Detached while all is locked, as it was before.
    expect(target, "lock", "0")
    before, locked = Unharmed(target.pid), locked_bytes(target.pid)
    expect(target, "unlock", "0")
    attach(target.pid, *MEMORY)
    expect(target, "lock", "0")
    check_dump(target, path, 1)
    check_detached(target, before)
    check_equal(locked_bytes(target.pid), locked, "bytes that are locked after detach")
    for command in ("lock", "lock the future"):
        expect(target, command, "0")
        before = Unharmed(target.pid)
        attach(target.pid, *MEMORY)
        region = Region.of(target.pid)
        check(not region.is_locked and region.resident < region.size // 2, f"the region, attached after {command!r}: {region}")
        check_dump(target, path, 1)
        check_detached(target, before)
    target.end()


def under_the_limit():
    """All address space counts, what is not there as well: with the region mlockall fails, without it does not."""
    if os.geteuid() != 0 and may_lock_everything():
        leave_out("this user has CAP_IPC_LOCK")
        return
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("locks_memory", *([NOBODY] if os.geteuid() == 0 else []))
    outcome = target.ask("limit")
    if outcome != "0":
        target.end()
        leave_out(f"RLIMIT_MEMLOCK cannot be set: {outcome}")
        return
    expect(target, "lock", "0")
    expect(target, "unlock", "0")
    before = Unharmed(target.pid)
    attach(target.pid, *MEMORY)
    for command in ("lock", "lock what is touched", "lock the future"):
        expect(target, command, "ENOMEM")
        check_equal(locked_bytes(target.pid), 0, "bytes that are locked after a refusal")
    check_dump(target, path, 1)
    check_detached(target, before)
    expect(target, "lock", "0")
    locked = locked_bytes(target.pid)
    before = Unharmed(target.pid)
    attach(target.pid, *MEMORY)
    expect(target, "lock", "ENOMEM")
    check_dump(target, path, 1)
    check_detached(target, before)
    check(locked_bytes(target.pid) >= locked, "the target's own memory is no longer locked")
    say("  under RLIMIT_MEMLOCK: ENOMEM while attached, as before afterwards")

    # What is mapped from now on is locked at once, and has to be within the limit: here the mapping itself fails, and attach with it.
    expect(target, "lock the future", "0")
    before = Unharmed(target.pid)
    check_refused(heapsnap("attach", target.pid, *MEMORY), "limit of locked memory", "prlimit --memlock")
    check_equal(attach_state(target.pid), None, "state after the refusal")
    before.check_after(memory_may_change=True)
    expect(target, "work", "right")
    target.end()


run_cases([with_privilege, under_the_limit], "locked_memory")

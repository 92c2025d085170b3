# SPDX-License-Identifier: Apache-2.0
"""Memory that cannot be had. Where the system promises no more than it has (vm.overcommit_memory=2), no page that a hook touches may lack; and of what a
limit leaves, that of a memory cgroup too, the target keeps most. usage: promised_memory.py [CASE...]"""

import os
import re

from harness import (Target, attach, check, check_equal, check_refused, detach, dump, heapsnap, leave_out, read_text, root, run_cases, say, target_path,
                     temporary_directory, wait_until)

ROOM = 1536 << 20  # bytes that are left when the mode is switched
NAMES = ("overcommit_memory", "overcommit_ratio", "overcommit_kbytes")


class Strict:
    """vm.overcommit_memory=2 with so much room, for a moment. Others work on this machine."""

    def __init__(self, room):
        self.room = room

    def __enter__(self):
        self.before = {name: read_text(f"/proc/sys/vm/{name}") for name in NAMES}
        taken = int(next(line for line in read_text("/proc/meminfo").splitlines() if line.startswith("Committed_AS:")).split()[1])
        self.write("overcommit_kbytes", str(taken + (self.room >> 10)))
        self.write("overcommit_memory", "2")

    def __exit__(self, *_):
        self.write("overcommit_memory", self.before["overcommit_memory"])
        # Of these two the one that is not 0 counts, and to write it makes the other 0.
        name = "overcommit_ratio" if int(self.before["overcommit_ratio"]) else "overcommit_kbytes"
        self.write(name, self.before[name])

    @staticmethod
    def write(name, text):
        with open(f"/proc/sys/vm/{name}", "w", encoding="ascii") as file:
            file.write(text)


def can_be_strict():
    """Only where nothing else is at work: whatever asks for memory at that moment, anywhere on the machine, gets none."""
    if not os.environ.get("HEAPSNAP_TEST_MACHINE_IS_OURS"):
        leave_out("it takes all memory that the machine may promise, for a moment; with HEAPSNAP_TEST_MACHINE_IS_OURS=1 it does")
        return False
    if not root():
        return False
    if not os.access("/proc/sys/vm/overcommit_memory", os.W_OK):
        leave_out("vm.overcommit_memory cannot be changed")
        return False
    return True


def switched_later():
    """The mode that PostgreSQL's manual advises is set while the target is attached, and then nothing is left."""
    if not can_be_strict():
        return
    for mode in (["--exact"], ["--budget", "3"]):
        target, path = Target("promised_memory"), os.path.join(temporary_directory(), "out.pb.gz")
        attach(target.pid, *mode)
        with Strict(ROOM):
            check_equal(target.ask("promise"), "taken", "answer")
            blocks = target.ask("exhaust")
            answer = target.ask("work")
        say(f"  {mode[0]}: malloc gave NULL after {blocks}")
        check_equal(answer, "right", "work afterwards")
        dump(target.pid, path)
        detach(target.pid)
        target.end()


def set_before():
    """Attach takes a small part of what is left, or refuses."""
    if not can_be_strict():
        return
    target = Target("promised_memory")
    with Strict(ROOM):
        value = attach(target.pid)
        check(value["region_bytes"] <= ROOM // 8, f"more than an eighth: {value}")
        check_equal(target.ask("promise"), "taken", "answer")
        blocks = target.ask("exhaust")
        answer = target.ask("work")
    say(f"  malloc gave NULL after {blocks}")
    check_equal(answer, "right", "work afterwards")
    detach(target.pid)
    with Strict(256 << 20):
        result = heapsnap("attach", target.pid)
    check_refused(result, "commit limit", "overcommit_memory is 2", "--max-memory")
    target.end()


def address_space():
    """Of what RLIMIT_AS leaves, a later malloc gets three quarters at least."""
    for limit in (1 << 30, 4 << 30):
        target = Target("promised_memory", command=["prlimit", f"--as={limit}", target_path("promised_memory")])
        check_equal(target.ask("large 75"), "given", "three quarters, before")
        attach(target.pid)
        check_equal(target.ask("large 74"), "given", "while attached")
        check_equal(target.ask("work"), "right", "work")
        detach(target.pid)
        check_refused(heapsnap("attach", target.pid, "--max-memory", str(limit // 3)), "address space limit")
        target.end()


class MemoryGroup:
    """A memory cgroup of its own, in either version; without a limit yet."""

    def __init__(self):
        self.old = os.path.isdir("/sys/fs/cgroup/memory")  # version 1
        parent = "/sys/fs/cgroup/memory" if self.old else "/sys/fs/cgroup"
        if not self.old and "memory" not in read_text(os.path.join(parent, "cgroup.subtree_control")).split():
            raise OSError("the memory controller is not enabled there")
        self.folder = os.path.join(parent, f"heapsnap-test-{os.getpid()}")
        os.mkdir(self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        wait_until(lambda: not self.read("cgroup.procs"), "the group is empty")
        os.rmdir(self.folder)

    def read(self, name):
        return read_text(os.path.join(self.folder, name)).strip()

    def used(self):
        return int(self.read("memory.usage_in_bytes" if self.old else "memory.current"))

    def limit(self, limit):
        with open(os.path.join(self.folder, "memory.limit_in_bytes" if self.old else "memory.max"), "w", encoding="ascii") as file:
            file.write(str(limit))

    def start(self, name, *arguments):
        return Target(name, command=["sh", "-c", 'echo $$ >"$1"/cgroup.procs; shift; exec "$@"', "sh", self.folder, target_path(name), *arguments])


def memory_group():
    """The region's pages count in the target's group. Attach keeps to an eighth of what that leaves, and a target that takes the rest lives; where the group is at
    its limit, attach refuses, with figures."""
    try:
        group = MemoryGroup()
    except OSError as error:
        leave_out(f"no memory cgroup can be made: {error}")
        return
    limit = 640 << 20
    with group:
        group.limit(limit)
        target, path = group.start("promised_memory"), os.path.join(temporary_directory(), "out.pb.gz")
        try:
            value = attach(target.pid, "--exact")
            check(value["region_bytes"] <= limit // 8, f"more than an eighth: {value}")
            blocks = int(target.ask("exhaust").split()[0])
            check(blocks * 64 > limit // 4, f"only {blocks} blocks")
            say(f"  {group.used() >> 20} of {limit >> 20} MiB used, {blocks} blocks at most; the region may use {value['region_bytes'] >> 20}")
            check_equal(target.ask("work"), "right", "work")
            dump(target.pid, path)
            detach(target.pid)
            used = group.used()
            group.limit(used + (100 << 20))
            result = heapsnap("attach", target.pid)
            check_refused(result, "memory cgroup", "--max-memory")
            left = int(re.search(r"leaves (\d+) MiB", result.stderr)[1])
            check(left <= 100 and left > 90, f"{left} MiB left: {result}")
            check_equal(target.ask("work"), "right", "work at the limit")
        finally:
            target.end()


def full_file_systems():
    """No page of ours lies on a file system that the target sees, so none that is full matters."""
    if not root():
        return
    places = " ".join(place for place in ("/dev/shm", "/tmp", "/var/tmp") if not target_path("promised_memory").startswith(place + "/"))
    script = f"""for place in {places}; do mount -t tmpfs -o size=64k none $place || exit 9
        dd if=/dev/zero of=$place/full bs=4k 2>/dev/null; done
        (echo x >/dev/shm/more) 2>/dev/null && exit 8; exec "$@" """
    target = Target("promised_memory", command=["unshare", "-m", "sh", "-c", script, "sh", target_path("promised_memory")])
    attach(target.pid, "--exact")
    check_equal(target.ask("work"), "right", "work")
    detach(target.pid)
    target.end()


run_cases([switched_later, set_before, address_space, memory_group, full_file_systems], "promised_memory")

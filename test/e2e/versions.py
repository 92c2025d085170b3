# SPDX-License-Identifier: Apache-2.0
"""A region whose header says that another version of heapsnap attached: dump, set and status say which one, a second attach is refused, and detach
works by the part of the header that never changes."""

import os
import re

from harness import (Target, Unharmed, attach, attach_state, check, check_equal, check_refused, detach, heapsnap, is_attached, mappings, run_cases,
                     temporary_directory)

ABI_VERSION = 8  # offset in the header
PARTS = 512      # where what is not for ever begins: the places of parts, which only tools read
OLDEST = 13      # the first version whose regions have a part that never changes


def dump(pid):
    return heapsnap("dump", pid, "-o", os.path.join(temporary_directory(), "out.pb.gz"))


class Region:
    def __init__(self, pid):
        self.start = next(mapping.start for mapping in mappings(pid) if mapping.is_region())
        self.memory = os.open(f"/proc/{pid}/mem", os.O_RDWR)

    def put(self, offset, data):
        check_equal(os.pwrite(self.memory, data, self.start + offset), len(data), "bytes written")

    def get(self, offset, size):
        return os.pread(self.memory, size, self.start + offset)

    def version(self):
        return int.from_bytes(self.get(ABI_VERSION, 4), "little")

    def set_version(self, version):
        self.put(ABI_VERSION, version.to_bytes(4, "little"))


def check_all_but_detach(pid, *words):
    check_refused(dump(pid), *words)
    check_refused(heapsnap("set", pid, "--sample", "64K"), *words)
    result = heapsnap("status", pid)
    check(all(re.search(word, result.stderr) for word in ["unreadable", *words]), str(result))
    check_equal(attach_state(pid), "unreadable", "state")


def newer():
    target = Target("many_threads", 2)
    check_equal(target.ask("allocate"), "allocated", "answer")
    before = Unharmed(target.pid)
    attach(target.pid)
    region = Region(target.pid)
    region.set_version(region.version() + 1)
    region.put(PARTS, b"\xff" * 144)
    check_all_but_detach(target.pid, "is too old to read", r"detach")
    check_refused(heapsnap("attach", target.pid), "already attached")
    check_equal(target.ask("allocate"), "allocated", "answer while attached")
    detach(target.pid)
    before.check_after(memory_may_change=True)
    check_equal(target.ask("allocate"), "allocated", "answer after detach")
    target.end()


def unfinished():
    """What a killed attach of another version has left is cleared away by the next attach."""
    target = Target("many_threads", 2)
    before = Unharmed(target.pid)
    attach(target.pid)
    region = Region(target.pid)
    region.set_version(region.version() + 7)
    region.put(12, (1).to_bytes(4, "little"))  # attaching
    attach(target.pid)
    check(is_attached(target.pid), "not attached")
    detach(target.pid)
    before.check_after(memory_may_change=True)
    target.end()


def older():
    """A region from before there was such a part is left alone."""
    target = Target("many_threads", 2)
    attach(target.pid)
    region = Region(target.pid)
    version = region.version()
    region.set_version(OLDEST - 1)
    check_refused(heapsnap("detach", target.pid), f"older heapsnap .ABI {OLDEST - 1}.", "with that one")
    check_all_but_detach(target.pid, "older heapsnap")
    check_refused(heapsnap("attach", target.pid), "older heapsnap")
    region.set_version(version)
    detach(target.pid)
    target.end()


run_cases([newer, unfinished, older], "versions")

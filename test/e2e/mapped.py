# SPDX-License-Identifier: Apache-2.0
"""What attach maps: the region stands in no core dump and in no child, a child finds its state pages empty, and nobody can change the file that
the code comes from, whoever may open it. Where memory files cannot be executable, code is anonymous memory, and all else is the same."""

import fcntl
import os

from harness import (Mapping, Target, Unharmed, attach, check, check_equal, detach, mappings, only_child, read_text, root, run_test, say, target_path)

F_ADD_SEALS, F_GET_SEALS = 1033, 1034
# include/uapi/linux/fcntl.h
SEALS = {"seal": 1, "shrink": 2, "grow": 4, "write": 8}


def flags_of(pid, wanted):
    """The kernel's flags of a mapping (Documentation/filesystems/proc.rst, VmFlags)."""
    is_it = False
    for line in read_text(f"/proc/{pid}/smaps").splitlines():
        if "-" in line.split(" ")[0]:
            is_it = Mapping(line).start == wanted.start
        elif is_it and line.startswith("VmFlags:"):
            return set(line.split()[1:])
    return set()


def fails(call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        return type(error).__name__
    return None


def check_sealed(pid, code):
    """By the way to the file that root has."""
    fd = os.open(f"/proc/{pid}/map_files/{code.start:x}-{code.end:x}", os.O_RDWR)
    try:
        size, begin = os.fstat(fd).st_size, os.pread(fd, 4096, 0)
        check_equal(fcntl.fcntl(fd, F_GET_SEALS) & sum(SEALS.values()), sum(SEALS.values()), "seals of the code's file")
        check_equal(fails(os.pwrite, fd, b"x", 0), "PermissionError", "a write to the code's file")
        check_equal(fails(os.ftruncate, fd, size - 4096), "PermissionError", "making the code's file shorter")
        check_equal(fails(os.ftruncate, fd, size + 4096), "PermissionError", "making the code's file longer")
        check_equal(fails(fcntl.fcntl, fd, F_ADD_SEALS, SEALS["write"]), "PermissionError", "another seal on the code's file")
        check_equal((os.fstat(fd).st_size, os.pread(fd, 4096, 0)), (size, begin), "size and content of the code's file")
    finally:
        os.close(fd)


def check_mapped(pid, before, anonymous):
    known = {(mapping.start, mapping.name) for mapping in before.maps}
    new = [mapping for mapping in mappings(pid) if (mapping.start, mapping.name) not in known]
    regions = [mapping for mapping in new if mapping.is_region()]
    check_equal(len(regions), 1, f"regions in {list(map(str, new))}")
    check_equal(regions[0].permissions, "rw-s", "permissions of the region")
    flags = flags_of(pid, regions[0])
    check("dd" in flags, f"the region stands in core dumps: {flags}")
    check("dc" in flags, f"the region is a child's as well: {flags}")
    check("lo" not in flags, f"the region is locked: {flags}")

    named = [mapping for mapping in new if "heapsnap-code" in mapping.name]
    code = [mapping for mapping in new if mapping.permissions == "r-xp"]
    check(len(code) >= 2, f"image and islands are not mapped: {list(map(str, new))}")
    check_equal(named, [] if anonymous else code, "code in memory files")
    if not anonymous and os.geteuid() == 0:
        for mapping in code:
            check_sealed(pid, mapping)
    image = next(mapping for mapping in code if regions[0].start - (4 << 20) < mapping.start < regions[0].start)
    state = [mapping for mapping in new if mapping.start == image.end]
    check_equal([mapping.permissions for mapping in state], ["rw-p"], "state pages behind the image")
    check("wf" in flags_of(pid, state[0]), f"a child has its parent's state pages: {flags_of(pid, state[0])}")


def go_through(target, pid, anonymous):
    check_equal(target.ask("work"), "right", "work before attach")
    before = Unharmed(pid)
    attach(pid)
    check_mapped(pid, before, anonymous)
    check_equal(target.ask("work"), "right", "work while attached")
    detach(pid)
    before.check_after(memory_may_change=True)
    target.end()


def main():
    target = Target("surroundings", "threads=2")
    go_through(target, target.pid, False)
    say("memory files: sealed")
    if not root() or not os.path.exists("/proc/sys/vm/memfd_noexec"):
        say("anonymous code: not tried")
        return
    target = Target("surroundings", command=["unshare", "--pid", "--fork", "--mount", "--mount-proc", "sh", "-euc",
                                             'echo 2 >/proc/sys/vm/memfd_noexec; exec "$@"', "sh", target_path("surroundings"), "threads=2"])
    go_through(target, only_child(target.pid), True)
    say("anonymous code: the same")


run_test(main, "mapped")

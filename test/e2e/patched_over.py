# SPDX-License-Identifier: Apache-2.0
"""A target that patches its own malloc where heapsnap has: its code leads to ours, so detach leaves ours mapped, says why, and finishes when the
patch is gone. And one whose code somebody changes beside a hook, in the same page: that stays."""

import os

from harness import (Target, Unharmed, attach, attach_state, check, check_equal, check_refused, detach, dump, heapsnap, mappings, run_cases,
                     temporary_directory)


RETURN_AND_PADDING = bytes.fromhex("c366662e0f1f840000000000")  # ret; data16 cs nopw 0(%rax,%rax,1)


def beside():
    """A byte of the padding behind a function, which nobody runs."""
    target = Target("many_threads", 2)
    check_equal(target.ask("allocate"), "allocated", "answer")
    code = next(mapping for mapping in mappings(target.pid) if "libc.so" in mapping.name and "x" in mapping.permissions)
    memory = os.open(f"/proc/{target.pid}/mem", os.O_RDWR)

    def read():
        return os.pread(memory, code.end - code.start, code.start)
    before = read()
    attach(target.pid)
    hooked = read()
    places = [at for at in range(len(before)) if before.startswith(RETURN_AND_PADDING, at)
              and before[at & -4096:(at & -4096) + 4096] != hooked[at & -4096:(at & -4096) + 4096] and at % 4096 < 4096 - len(RETURN_AND_PADDING)]
    check(places, "no padding in a page with a hook")
    place = places[0] + len(RETURN_AND_PADDING) - 1
    os.pwrite(memory, b"\1", code.start + place)
    detach(target.pid)
    after = read()
    check_equal([at for at in range(len(before)) if before[at] != after[at]], [place], "bytes that are not as before attach")
    os.pwrite(memory, b"\0", code.start + place)
    os.close(memory)
    check_equal(target.ask("allocate"), "allocated", "answer")
    target.end()


def over():
    target = Target("patches_over")
    check_equal(target.ask("work"), "worked", "answer")
    check_equal(target.ask("patch"), "nothing", "malloc of a process that is not attached")
    before = Unharmed(target.pid)
    attach(target.pid)
    check_equal(target.ask("patch"), "patched", "answer")
    check_equal(target.ask("work"), "worked", "answer")
    report = dump(target.pid, os.path.join(temporary_directory(), "out.pb.gz"))
    check(report["alloc_objects"] >= 19999, f"allocations through the second patch are not seen: {report['alloc_objects']}")

    for _ in range(2):
        result = heapsnap("detach", target.pid, "--json")
        check_equal((result.status, result.json["finished"], result.json["foreign_hooks"]), (1, False, 1), str(result))
        check("patched by another program" in result.stderr, str(result))
        check_equal(attach_state(target.pid), "detach unfinished", "status")
        check([mapping for mapping in mappings(target.pid) if "heapsnap-code" in mapping.name], "the code that the patch leads to is gone")
        check_equal(target.ask("work"), "worked", "answer after detach")
    check_refused(heapsnap("attach", target.pid), "another program has patched 1 of")
    check_equal(target.ask("work"), "worked", "answer after a refused attach")

    check_equal(target.ask("unpatch"), "unpatched", "answer")
    check_equal(target.ask("work"), "worked", "answer")
    detach(target.pid)
    check_equal(target.ask("work"), "worked", "answer")
    before.check_after(memory_may_change=True)
    target.end()


run_cases([over, beside], "patched over")

# SPDX-License-Identifier: Apache-2.0
"""What detach has done, undone by somebody before it looks: it says so, of that and of nothing else, and its exit status is 1."""

import ctypes
import os

from harness import Target, Unharmed, attach, check, check_equal, detach, heapsnap, mappings, root, run_stopping, run_test, say, thread_ids

STEP = "verify the detach"
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH, ALL_CHILDREN = 0x4206, 0x4207, 17, 0x40000000
CODE, TRACED = "code bytes restored", "not traced"
CHECKS = [CODE, "no mapping of heapsnap left", "no descriptor of heapsnap left", TRACED, "threads and signal masks as before"]


def ptrace(request, tid):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    check(libc.ptrace(request, tid, None, None) == 0, f"ptrace of {tid}: {os.strerror(ctypes.get_errno())}")


def detach_and(meanwhile, pid):
    """Detaches; `meanwhile` is called when all is done and before that is looked at."""
    stops = []

    def stopped():
        stops.append(1)
        meanwhile()
    result = run_stopping(STEP, stopped, "detach", pid)
    check_equal(len(stops), 1, "steps of that name")
    return result


def check_result(result, broken):
    report = result.json
    check_equal([line["text"] for line in report["checks"]], CHECKS, "what was looked at")
    check_equal([line["text"] for line in report["checks"] if line["holds"] is not True], [broken] if broken else [], f"what does not hold: {result}")
    check_equal((report["finished"], report["verified"], result.status), (True, not broken, 1 if broken else 0), str(result))
    check(not broken or f"this does not hold, or could not be checked: {broken}" in result.stderr, str(result))


class Text:
    """The C library's code, read and written from outside."""

    def __init__(self, pid):
        self.path = f"/proc/{pid}/mem"
        self.map = next(mapping for mapping in mappings(pid) if "libc.so" in mapping.name and "x" in mapping.permissions)

    def read(self):
        with open(self.path, "rb", buffering=0) as memory:
            return os.pread(memory.fileno(), self.map.end - self.map.start, self.map.start)

    def write(self, offset, data):
        with open(self.path, "r+b", buffering=0) as memory:
            check_equal(os.pwrite(memory.fileno(), data, self.map.start + offset), len(data), "bytes written")


def code(target):
    """The hook's bytes are back again, in the last of the places."""
    text = Text(target.pid)
    without = text.read()
    attach(target.pid)
    hooked = text.read()
    place = max(offset for offset in range(0, len(without), 4096) if without[offset:offset + 4096] != hooked[offset:offset + 4096])
    result = detach_and(lambda: text.write(place, hooked[place:place + 4096]), target.pid)
    text.write(place, without[place:place + 4096])  # before the target runs into it
    check_result(result, CODE)


def tracer(target):
    """Somebody traces a thread, the main one or another."""
    for tid in thread_ids(target.pid)[:2]:
        attach(target.pid)
        result = detach_and(lambda tid=tid: ptrace(PTRACE_SEIZE, tid), target.pid)
        ptrace(PTRACE_INTERRUPT, tid)
        os.waitpid(tid, ALL_CHILDREN)
        ptrace(PTRACE_DETACH, tid)
        check_result(result, TRACED)


def main():
    if not root():
        return
    target = Target("many_threads", 3)
    check_equal(target.ask("allocate"), "allocated", "answer")
    before = Unharmed(target.pid)
    attach(target.pid)
    check_result(detach_and(lambda: None, target.pid), None)
    tracer(target)
    check_equal(target.ask("allocate"), "allocated", "answer")
    before.check_after()
    code(target)
    check_equal(target.ask("allocate"), "allocated", "answer")
    check("not attached" in heapsnap("detach", target.pid).stderr, "a detach after that")
    attach(target.pid)
    detach(target.pid)
    target.end()
    say("hook bytes that are back, and a thread that is traced: each is said, and nothing else")


run_test(main, "broken promises")

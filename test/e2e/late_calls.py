# SPDX-License-Identifier: Apache-2.0
"""The tool is killed while a thread of the target is about to make a call for it, and that thread gets no processor for a while: what status, attach
and detach say then must be so when it has got one.
The thread is kept from its call by another process that has its processor for itself (SCHED_FIFO), which needs root.
usage: late_calls.py"""

import os
import subprocess
import sys
import time

from harness import (HEAPSNAP, Failure, Result, Target, Unharmed, attach, attach_state, check, check_equal, check_refused, detach, got_no_processor, heapsnap,
                     root, run_cases, say, start, thread_ids, tracer, wait_until, waits_for_ever)

HELD_SECONDS = 0.6  # the kernel lets other threads run after 0.95 s of each second (sched_rt_runtime_us, and its fair server)
REQUESTS_MAX = 4000
WALK_MAX = 60
TRIES = 5
NOT_WAITED = {"HEAPSNAP_LATE_WAIT_MS": "0"}
UNKNOWN = "may still make a call for a killed heapsnap"
NOT_STOPPED = {"HEAPSNAP_KILL_AT_REQUEST": "1"}

HOLDER = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
print("ready", flush=True)
for line in sys.stdin:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    end = time.monotonic() + float(line)
    print("held", end, flush=True)
    while time.monotonic() < end:
        pass
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    print("over", flush=True)
"""


class Late:
    """A target whose threads have one processor, which can be taken from them."""

    def __init__(self):
        self.target = Target("many_threads", 2)
        self.pid = self.target.pid
        self.target.ask("allocate")
        self.before = Unharmed(self.pid)
        self.processor = max(os.sched_getaffinity(0))
        for tid in thread_ids(self.pid):
            os.sched_setaffinity(tid, {self.processor})
        # This program and the tool stay away from there.
        os.sched_setaffinity(0, os.sched_getaffinity(0) - {self.processor})
        self.holder = start([sys.executable, "-c", HOLDER, str(self.processor)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        check_equal(self.holder.stdout.readline(), "ready\n", "the holder")
        self.held_until = 0.0

    def hold(self):
        self.holder.stdin.write(f"{HELD_SECONDS}\n")
        self.holder.stdin.flush()
        word, end = self.holder.stdout.readline().split()
        check_equal(word, "held", "the holder")
        self.held_until = float(end)

    def is_held(self):
        """If not, what was just seen or done says nothing of a thread that is held: this program, or the tool, got no processor for so long."""
        return time.monotonic() < self.held_until

    def wait_for_release(self):
        check_equal(self.holder.stdout.readline(), "over\n", "the holder")
        time.sleep(0.1)

    def kill(self, command, request, held):
        """Kills the command before its request of that number. False: it has no such request."""
        for _ in range(5):
            tool = start([HEAPSNAP, command, str(self.pid)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                         env={**os.environ, "HEAPSNAP_HANG_AT_REQUEST": str(request)})
            wait_until(lambda: tool.poll() is not None or waits_for_ever(tool.pid), "the tool hangs")
            if tool.poll() is None and held:
                self.hold()
            ended = tool.poll()
            tool.kill()
            said = tool.communicate()[1]
            if ended is None or ended == 0:
                return ended is None
            # It has refused, so that nothing is known of the request. Only what a busy machine explains is tried again.
            check(got_no_processor(Result([command, self.pid], ended, b"", said)), f"{command}: exit {ended}: {said}")
            say(f"  {said.strip()}")
        raise Failure(f"{command}: {said}")

    def is_mapped(self):
        with open(f"/proc/{self.pid}/maps", encoding="utf-8") as maps:
            return any("heapsnap" in line or "/dev/zero" in line for line in maps)

    def is_seen(self):
        """What is there of heapsnap's, seen by this program itself."""
        files = [link for link in (os.readlink(f"/proc/{self.pid}/fd/{number}") for number in os.listdir(f"/proc/{self.pid}/fd")) if "heapsnap" in link]
        return self.is_mapped() or bool(files)

    def settle(self):
        """Every thread is home, and nothing is left: no frame either, which the next run would take away with a request more."""
        wait_until(lambda: not any(all_blocked(self.pid, tid) for tid in thread_ids(self.pid)), "every thread is home")
        if attach_state(self.pid) is None:
            attach(self.pid)
        detach(self.pid)
        check(not self.is_seen(), "something is left after a detach")

    def prepare(self, command):
        if command == "detach":
            attach(self.pid)

    def pending_request(self, command, is_after):
        """The request before which a kill leaves the thread with the call that makes `is_after` true: it is not while the thread is held, and is then."""
        tried = []
        low, high = 0, REQUESTS_MAX  # not at low, at high
        while high - low > 1:
            middle = (low + high) // 2
            self.prepare(command)
            was_killed = self.kill(command, middle, held=False)
            wait_until(lambda: not any(all_blocked(self.pid, tid) for tid in thread_ids(self.pid)), "every thread is home")
            if not was_killed or is_after():
                high = middle
            else:
                low = middle
            self.settle()
        # How many requests come before differs from run to run: a thread that takes longer to stand, or that another signal reaches, takes some more; and
        # with other work on the machine one of the runs above may have had many more than the others. So each try says on which side of the call it was,
        # and the next one is that much nearer.
        request = high
        for _ in range(WALK_MAX):
            self.prepare(command)
            while_held = after = was_held = None
            if self.kill(command, request, held=True):  # if not, this time it has fewer
                while_held = is_after()
                was_held = self.is_held()
                self.wait_for_release()
                after = is_after()
            self.settle()
            if after and not while_held:
                return request
            tried.append((request, while_held, after, was_held))
            request = max(request + (1 if after is False else -1), 1)
        raise Failure(f"no call of {command} was held; about request {high}; (request, seen while held, seen then, still held when seen): {tried}")


def all_blocked(pid, tid):
    with open(f"/proc/{pid}/task/{tid}/status", encoding="utf-8", errors="replace") as file:
        line = next(line for line in file if line.startswith("SigBlk:"))
    return line.split()[1] == "fffffffffffbfeff"


def say_same(late, what, state):
    """What status has said is so when the thread has made its call."""
    late.wait_for_release()
    say(f"  {what}: {state}")
    check(late.is_seen() == (state is not None), f"{what}: status said {state!r}, and then there was {'something' if late.is_seen() else 'nothing'}")
    result = heapsnap("detach", late.pid)
    if state is None:
        check_refused(result, "not attached")
    else:
        check_equal(result.status, 0, f"{what}: {result}")


def cases(late, command, request):
    """Killed before the request, held, and looked at: by each command first."""
    def killed():
        for _ in range(TRIES):
            late.prepare(command)
            if late.kill(command, request, held=True):
                return
            late.settle()  # how many it has differs from run to run
        raise Failure(f"{command} has no request {request}")

    what = f"{command} killed at request {request}"
    killed()
    say_same(late, what, attach_state(late.pid))
    late.settle()
    killed()
    result = heapsnap("detach", late.pid)
    late.wait_for_release()
    check(not late.is_seen(), f"{what}: something was there after detach had said: {result}")
    check(result.status == 0 or "not attached" in result.stderr, str(result))
    late.settle()
    # The same where nobody waits: the freeze does, and what was seen before it is looked at again. But nothing is stopped where nothing was seen.
    for _ in range(TRIES):
        killed()
        if late.is_seen():
            detach(late.pid, environment=NOT_WAITED)
            late.wait_for_release()
            check(not late.is_seen(), f"{what}: something was there after detach, which had not waited")
            break
        results = [heapsnap("status", late.pid, environment=NOT_WAITED), heapsnap("detach", late.pid, environment={**NOT_WAITED, **NOT_STOPPED})]
        was_held = late.is_held()
        late.wait_for_release()
        was_under_way = late.is_seen()  # else the kill came before the call: a thread that takes long to stand costs requests, and the rest is true
        for result in results if was_held else []:
            check_refused(result, "not attached", *([UNKNOWN] if was_under_way else []))
        if was_held and was_under_way:
            break
        late.settle()
        say(f"  {what}: {'the call was not under way' if was_held else 'it was not held for as long as status and detach took'}; again")
    else:
        raise Failure(f"{what}: never held in its call for as long as status and detach took; the last time: {results}")
    late.settle()
    killed()
    attach(late.pid)
    late.wait_for_release()
    late.before.check_attached()
    detach(late.pid)
    late.settle()
    check_equal(set(tracer(late.pid).values()), {"0"}, "tracer")
    late.before.check_after(settle=5)
    say(f"  {what}: as status, detach and attach have said")


def first_call_of_attach():
    """The one that makes the memory file: before it nothing of heapsnap's is there."""
    if not possible():
        return
    late = Late()
    cases(late, "attach", late.pending_request("attach", late.is_seen))
    late.target.end()


def first_mapping_of_attach():
    """The one that maps the code: then more is there than was seen."""
    if not possible():
        return
    late = Late()
    cases(late, "attach", late.pending_request("attach", late.is_mapped))
    late.target.end()


def last_call_of_detach():
    """The one that unmaps the region, after which nothing is left."""
    if not possible():
        return
    late = Late()
    cases(late, "detach", late.pending_request("detach", lambda: not late.is_seen()))
    late.target.end()


def never_touched():
    """A program's own threads may look like such a one. They are waited for together; and if that does not suffice, nothing is said of them but what
    is so, and nothing is stopped."""
    target = Target("blocks_signals", 24)
    check_equal(target.ask("work"), "worked", "work")
    before = Unharmed(target.pid)
    check_equal(target.ask("block"), "blocked", "block")
    for command, environment in (("status", {}), ("detach", NOT_STOPPED)):
        check_refused(heapsnap(command, target.pid, environment=environment), "not attached")
        check_refused(heapsnap(command, target.pid, environment={**NOT_WAITED, **environment}), "not attached", UNKNOWN)
    result = heapsnap("status", "--json", environment=NOT_WAITED)
    check_equal(result.status, 0, str(result))
    check(target.pid not in [process["pid"] for process in result.json["processes"]], f"it is listed: {result}")
    check(any(f"process {target.pid} " in line and UNKNOWN in line for line in result.json["warnings"]), f"nothing is said of it: {result}")
    attach(target.pid, environment=NOT_WAITED)
    check_equal(target.ask("work"), "worked", "work while attached")
    detach(target.pid, environment=NOT_WAITED)
    check_equal(target.ask("unblock"), "unblocked", "unblock")
    before.check_after(settle=5)
    target.end()


def possible():
    if not root():
        return False
    os.sched_setaffinity(0, ALL)
    if len(os.sched_getaffinity(0)) < 2:
        say("  one processor: not tried")
        return False
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except OSError as error:
        say(f"  not tried: {error}")
        return False
    return True


ALL = os.sched_getaffinity(0)
run_cases([never_touched, first_call_of_attach, first_mapping_of_attach, last_call_of_detach], "late calls")

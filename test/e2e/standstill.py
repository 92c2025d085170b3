# SPDX-License-Identifier: Apache-2.0
# Longer than 500 lines: the cases share one target and one watch over it.
"""While a target stands still the tool waits for nothing that has no bound, and a tool that hangs all the same is killed: the target runs on,
works, is untraced, and the next command clears away what is left.
usage: standstill.py [CASE...]"""

import fcntl
import os
import re
import signal
import subprocess
import time

import harness
from harness import (HEAPSNAP, KILLED, Failure, Target, attach, attach_state, check, check_equal, check_refused, detach, got_no_processor, heapsnap, ran_out_of_time,
                     run_cases, say, says_no_processor, status_fields, target_path, temporary_directory, thread_ids, wait_until, waits_for_ever)
from programs import Asked, Counting

# Milliseconds that a target may stand still in tests in which the tool hangs. A tool that is slow and not hung may be killed as well: the same holds.
BOUND = 100


# What it says when it gives up by itself, and what is said of it when it is killed.
GAVE_UP = re.compile("had been stopped for|" + KILLED)
TRIES = 10  # of a case that a busy machine may end before the point at which the test wants to see it


def idle():
    return Asked(Target("many_threads", 6), "allocate", "allocated")


def busy():
    return Counting(Target("cycles", 4))


def reloading():
    return Counting(Target("reloads", target_path("libloop_plugin.so")))


def commands(pid):
    """The commands that stop a target, in an order in which they can be given."""
    path = os.path.join(temporary_directory(), "out.pb.gz")
    return [["attach", pid, "--exact"], ["set", pid, "--sample", "1000"], ["set", pid, "--exact"], ["dump", pid, "--stop", "-o", path], ["detach", pid]]


def begin(arguments, environment=None, **options):
    """The tool in the background."""
    options.setdefault("stdout", subprocess.DEVNULL)
    options.setdefault("stderr", subprocess.PIPE)
    return harness.start([HEAPSNAP, *map(str, arguments)], stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})}, **options)


def ended(process):
    """Waits for its end: its exit status and what it said."""
    _, stderr = process.communicate(timeout=harness.COMMAND_TIMEOUT)
    return process.returncode, (stderr or b"").decode()


def wait_for_stop(process):
    """Whether the tool has stopped itself, and not ended."""
    return os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT).si_code == os.CLD_STOPPED


def is_free(pid):
    """No thread of it is traced or stopped."""
    for tid in thread_ids(pid):
        try:
            fields = status_fields(pid, tid, ["State", "TracerPid"])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if fields["TracerPid"] != "0" or fields["State"][0] in "tT":
            return False
    return True


# What the tool may do between the first PTRACE_INTERRUPT and the last PTRACE_DETACH.

FREELY = {"ptrace", "waitid", "wait4", "restart_syscall", "sched_yield", "nanosleep", "clock_nanosleep", "rt_sigprocmask", "rt_sigaction", "rt_sigreturn", "setitimer",
          "setpriority", "getpriority", "process_vm_readv", "mmap", "munmap", "brk", "mremap", "madvise", "close", "getpid", "getrandom", "pidfd_open", "pidfd_getfd", "memfd_create"}
# On what it has open, and that is no file of anybody else.
ON_OURS = {"read", "pread64", "write", "pwrite64", "lseek", "ftruncate", "fallocate", "fcntl", "fstat", "newfstatat", "getdents64", "readlinkat", "ioctl"}
OURS = re.compile(r"^\w+\(\d+<(/proc(/\d+.*|/meminfo)?|/memfd:heapsnap-[^>]*|/memfd:device|/dev/zero(?=>\(deleted\)))>")
# In the process's folder, which is held open, or by a whole path.
OPENED = re.compile(r'^openat\((?:AT_FDCWD|\d+)(?:<([^>]*)>(?:\(deleted\))?)?, "([^"]*)", [^)]*\)\s+= (?:\d+<([^>]*)>(?:\(deleted\))?|-1 .*)$')
OF_PROC = re.compile(r"^/proc(/\d+(/task(/\d+(/(stat|status|wchan|syscall|fd|maps))?)?|/(stat|status|wchan|maps|pagemap|auxv|mem|fd|limits))?|/meminfo)?$")


# The tool's own limits and scheduling class (frame_room.c, priority_boost.c); 0 = itself. Where descriptors lead (memory_file.c, leftovers.c): no file is
# asked for that.
OF_THE_TOOL = re.compile(r'(prlimit64|sched_setscheduler|sched_getscheduler)\(0[,)]|readlink\("/proc/(self|\d+/task/\d+)/fd/\d+", ')


# Another process asks what the kernel may take its time to say (task_compare.c): it is woken, and waited for with a bound.
ASKED = re.compile(r"futex\(0x\w+, (FUTEX_WAKE_PRIVATE, 1|FUTEX_WAIT_PRIVATE, \d+, \{tv_sec=0, tv_nsec=\d+\})\)")


def is_allowed(line):
    name = line.split("(", 1)[0]
    if name in FREELY or OF_THE_TOOL.match(line) or ASKED.match(line):
        return True
    if name == "openat":
        match = OPENED.match(line)
        if not match:
            return False
        folder, name, opened = match.groups()
        path = os.path.join(folder or "", name)
        return bool(OF_PROC.match(path)) or bool(opened and opened.startswith("/memfd:heapsnap-") and re.match(r"^/proc/(\d+|self)/", path))
    return name in ON_OURS and bool(OURS.match(line))


def standstills(path, tool):
    """The calls of the tool in each time in which it holds threads."""
    lines, held, result = [], set(), []
    unfinished = ""
    for text in harness.read_text(path).splitlines():
        pid, line = text.split(None, 1)
        if int(pid) != tool or line.startswith(("---", "+++")):
            continue
        if line.endswith("<unfinished ...>"):
            unfinished = line[:-len("<unfinished ...>")].rstrip()
            unfinished += " " if unfinished.endswith(",") else ""  # as in a line that is whole
            continue
        if line.startswith("<... "):
            line = unfinished + line.split("resumed>", 1)[1].lstrip()
        request = re.match(r"ptrace\(PTRACE_(\w+), (\d+)", line)
        if request and request.group(1) == "INTERRUPT" and not held:
            lines = []
            result.append(lines)
        if request and request.group(1) == "INTERRUPT":
            held.add(request.group(2))
        if held:
            lines.append(line)
        if request and request.group(1) == "DETACH":
            held.discard(request.group(2))
    return result


def look_at_calls(arguments, environment=None, status=0):
    """Runs a command under strace, and looks at what it did while the target stood still."""
    path = os.path.join(temporary_directory(), "trace")
    for _ in range(20):
        result = heapsnap(*arguments, environment=environment, prefix=["strace", "-f", "-qq", "-y", "-s", "16", "-o", path], timeout=120)
        # A thread that gets no processor does not stop. What the tool says before it tries again by itself, and succeeds, is no such case.
        if not got_no_processor(result):
            break
        say(f"  again: {result.stderr.splitlines()[-1]}")
    check_equal(result.status, status, str(result))
    with open(path, encoding="utf-8", errors="replace") as trace:
        tool = int(trace.readline().split(None, 1)[0])
    times = standstills(path, tool)
    check(times, f"{arguments[0]} has stopped nothing")
    bad = [line for calls in times for line in calls if not is_allowed(line)]
    check(not bad, f"{arguments[0]} {environment or ''}: while the target stood still:\n" + "\n".join(bad[:20]))
    return sum(map(len, times))


def calls():
    """Only calls that wait for nobody, on objects of ours and of /proc."""
    if not harness.has_program("strace"):
        return
    for line in ('openat(AT_FDCWD, "/proc/12/map_files/1-2", O_RDONLY) = 3</usr/lib/x.so>', 'openat(AT_FDCWD, "/proc/12/exe", O_RDONLY) = 3</bin/x>',
                 'openat(AT_FDCWD, "/proc/12/fd/3", O_RDWR) = 3</tmp/x>', "write(2</dev/null>, 1) = 1", "pread64(3</usr/lib/x.so>, 1, 2, 3) = 1", "kcmp(1, 2, KCMP_VM, 0, 0) = 1", "futex(0x12, FUTEX_WAIT_PRIVATE, 1, NULL) = 0",
                 'openat(AT_FDCWD, "/proc/12/root/lib/x.so", O_RDONLY) = -1 ENOENT (No such file)', "futex(1) = 0", "poll([1]) = 0",
                 "prlimit64(12, RLIMIT_STACK, {rlim_cur=1}, NULL) = 0", 'openat(7</proc/12>, "map_files/1-2", O_RDONLY) = 8</usr/lib/x.so>',
                 'openat(7</proc/12>, "root/lib/x.so", O_RDONLY) = 8</lib/x.so>', 'openat(7</proc/12>, "exe", O_RDONLY) = 8</bin/x>',
                 'openat(7</tmp>, "stat", O_RDONLY) = 8</tmp/stat>'):
        check(not is_allowed(line), f"would be allowed: {line}")
    check(is_allowed('openat(10</proc/12>(deleted), "task", O_RDONLY) = -1 ESRCH (No such process)'), "another process that ends meanwhile is not allowed for")
    seen = 0
    for make in (idle, busy, reloading):
        subject = make()
        for arguments in commands(subject.pid):
            seen += look_at_calls([*arguments, "-v"])
            subject.check_works()
        if make is reloading:  # the number of steps depends on how often it is planned
            subject.check_unchanged()
            subject.end()
            continue
        # Rolled back after the first hook: private copies of pages are compared with their files and dropped.
        last = int(re.findall(r"step (\d+): start the hooks", heapsnap("attach", subject.pid, "-v").stderr)[-1])
        detach(subject.pid)
        seen += look_at_calls(["attach", subject.pid, "-v"], {"HEAPSNAP_FAIL_AT": str(last)}, status=1)
        # What a killed tool has left at the entry point is compared with the program's file.
        killed = heapsnap("attach", subject.pid, environment={"HEAPSNAP_KILL_AT": str(last), "HEAPSNAP_TEST_NO_GADGETS": "1"})
        check_equal(killed.status, -9, str(killed))
        seen += look_at_calls(["detach", subject.pid, "-v"])
        subject.check_works()
        subject.check_unchanged()
        subject.end()
    # Where a stack would have to grow, the target's limits are asked for.
    full = Target("filled_stacks", 3)
    seen += look_at_calls(["attach", full.pid], status=1)
    full.end()
    say(f"  {seen} calls while targets stood still, none of which waits for others")


# The watchdog.


def watchdog_of(tool):
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = status_fields(int(name), int(name), ["Name", "PPid"])
            except (FileNotFoundError, ProcessLookupError):
                continue
            if fields == {"Name": "heapsnap-watch", "PPid": str(tool)}:
                return int(name)
    return None


def in_standstill(pid, step="take the hooks out", command=("detach",), environment=None, **options):
    """A tool that has stopped itself while it holds the target. None: it had given up before it could be seen to."""
    tool = begin([command[0], pid, *command[1:]], {"HEAPSNAP_STOP_AT": step, **(environment or {})}, **options)
    if wait_for_stop(tool) and not is_free(pid):
        return tool
    wait_until(lambda: tool.poll() is not None, "the target does not stand still", 20)
    status, said = ended(tool)
    check(status in (1, -9) and ran_out_of_time(said), f"{command}, {step}: {status}, {said!r}")
    say(f"  again: {said.strip()}")
    return None


def look_at_watchdog(tool):
    """Of a tool in a standstill. Returns its watchdog."""
    dog = wait_until(lambda: watchdog_of(tool.pid), "a watchdog", 20)
    wait_until(lambda: sorted(os.listdir(f"/proc/{dog}/fd")) in (["0", "2"], ["2"]), "the watchdog has closed what it does not need")
    fields = status_fields(dog, dog, ["SigBlk", "Threads"])
    check_equal(int(fields["SigBlk"], 16) | 1 << 31 | 1 << 32 | (1 << 8) | 1 << 18, (1 << 64) - 1, "signals that it blocks")
    check(os.getsid(dog) == dog, "the watchdog is in the session of somebody else")
    locked = int(status_fields(tool.pid, tool.pid, ["VmLck"])["VmLck"].split()[0])
    check(locked > 1000 or os.geteuid() != 0, f"only {locked} KiB of the tool are locked")
    blocked = int(status_fields(tool.pid, tool.pid, ["SigBlk"])["SigBlk"], 16)
    for number in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
        check(blocked >> (number - 1) & 1, f"signal {number} is not blocked while the target stands still")
    return dog


def watched(subject, killed):
    """One detach with a watchdog, killed or not. False: it had given up before all was looked at."""
    tool = in_standstill(subject.pid)
    if not tool:
        return False
    dog = failure = None
    try:
        dog = look_at_watchdog(tool)
    except (Failure, OSError, KeyError) as error:
        failure = error
    if killed:
        tool.kill()
    else:
        tool.send_signal(signal.SIGCONT)
    status, said = ended(tool)
    check(is_free(subject.pid), "the target is held")
    if GAVE_UP.search(said):
        say(f"  again: {said.strip()}")
        return False
    if failure:
        raise failure
    check_equal(status, -9 if killed else 0, said)
    wait_until(lambda: harness.process_state(dog) in "ZX", "the watchdog ends")
    subject.check_works()
    return True


def watchdog():
    """What it is, and that it ends with the tool."""
    subject = idle()
    attach(subject.pid)
    for killed in (False, True):
        for _ in range(TRIES):
            if attach_state(subject.pid) != "attached":
                clear(subject, "a detach that gave up")
                attach(subject.pid)
            if watched(subject, killed):
                break
        else:
            check(False, "it always gave up")
    detach(subject.pid)
    subject.check_unchanged()
    # A user without the right to lock memory.
    if harness.root():
        program, uid = harness.copy_for_everybody(), 54329
        mine = Asked(Target("many_threads", command=[*harness.as_user(uid), target_path("many_threads"), "2"]), "allocate", "allocated")
        for arguments in (["attach", mine.pid], ["detach", mine.pid]):
            result = heapsnap(*arguments, program=program, prefix=["prlimit", "--memlock=0", *harness.as_user(uid)])
            check_equal(result.status, 0, str(result))
        mine.check_unchanged()
        mine.end()
    subject.end()


def stopped_tool():
    """A tool that is stopped while it holds a target, by whom ever, is woken before it would be killed, and rolls back."""
    subject = idle()
    woken = []
    for step, command in (("compare with the plan", ["attach"]), ("map code", ["attach"]), ("begin the detach", ["detach"]),
                          ("change the settings", ["set", "--sample", "1000"]), ("copy the table", ["dump", "--stop"])):
        # With more time where it is not seen to stand still, or is killed: the machine gave it no processor in the time that was left.
        for bound in (1000, 1000, 5000, 5000):
            if command[0] != "attach" and attach_state(subject.pid) is None:
                attach(subject.pid)
            more = ["-o", os.path.join(temporary_directory(), "out.pb.gz")] if command[0] == "dump" else []
            tool = in_standstill(subject.pid, step, [*command, *more], {"HEAPSNAP_MAX_FREEZE_MS": str(bound)})
            if tool:
                status, said = ended(tool)
                check(status in (1, -9) and GAVE_UP.search(said), f"{command}, {step}: {status}, {said!r}")
                woken.append(status == 1)
            check(is_free(subject.pid), "the target is held")
            subject.check_works()
            state = attach_state(subject.pid)
            if state and state != "attached":
                detach(subject.pid)
            if tool and woken[-1]:
                break
    check(any(woken), "it was never woken")
    if attach_state(subject.pid):
        detach(subject.pid)
    subject.check_unchanged()
    subject.end()


def not_watched():
    """Without a watchdog nothing is stopped."""
    if not harness.has_program("strace"):
        return
    subject = idle()
    for arguments in commands(subject.pid):
        result = heapsnap(*arguments, prefix=["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=clone", "-e", "inject=clone:error=EAGAIN"])
        check_refused(result, "cannot start the watchdog process")
        check(is_free(subject.pid), "the target is held")
        subject.check_works()
        if arguments[0] == "attach":
            check_equal(attach_state(subject.pid), None, "after a refused attach")
            attach(subject.pid)
        check_equal(attach_state(subject.pid), "attached", f"after a refused {arguments[0]}")
    detach(subject.pid)
    subject.check_unchanged()
    subject.end()


# Who shows the tool's messages.


def fill(fd):
    """Writes into a pipe until nothing more goes in."""
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    fcntl.fcntl(fd, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    try:
        for size in (4096, 1):
            while True:
                try:
                    os.write(fd, b"x" * size)
                except BlockingIOError:
                    break
    finally:
        fcntl.fcntl(fd, fcntl.F_SETFL, flags)


def read_late(subject, step, command):
    """A command that stops at the step, and whose output is read only when the target runs again. False: the target, the tool or this test got no processor for
    too long."""
    reader, writer = os.pipe()
    tool = begin([command, subject.pid, "-v"], {"HEAPSNAP_STOP_AT": step}, stdout=writer, stderr=writer)
    has_stopped = wait_for_stop(tool)
    if has_stopped:
        fill(writer)
    os.close(writer)
    tool.send_signal(signal.SIGCONT)
    wait_until(lambda: is_free(subject.pid), "the target is let go", 60)
    waits = tool.poll() is None
    subject.check_works()
    said = b""
    while True:
        data = os.read(reader, 65536)
        if not data:
            break
        said += data
    os.close(reader)
    tool.wait()
    text = said.lstrip(b"x").replace(b"x" * 4096, b"").decode()
    if tool.returncode == -9 or (tool.returncode == 1 and ran_out_of_time(text)):
        say(f"  again: {tool.returncode}, {text.strip()}")
        return False
    check(has_stopped, f"{command} has not come to {step}: {text}")
    check(waits, "the tool does not wait for its reader")
    lines = text.splitlines()
    numbers = [int(number) for number in re.findall(r"step (\d+):", text)]
    check(len(numbers) > 3 and numbers == sorted(numbers), f"the messages are not in order: {numbers}")
    check(any(step in line for line in lines), f"no message of {step}")
    check_equal(tool.returncode, 0, "exit status")
    return True


def full_output():
    """Output that nobody reads: the messages wait until the target runs again."""
    for step, command in (("compare with the plan", "attach"), ("take the hooks out", "detach")):
        subject = idle()
        for _ in range(TRIES):
            if command == "detach" and attach_state(subject.pid) != "attached":
                clear(subject, "a detach that gave up")
                attach(subject.pid)
            if read_late(subject, step, command):
                break
            if command == "attach":
                clear(subject, "an attach that gave up")
        else:
            check(False, f"{command}: it always gave up")
        if command == "attach":
            detach(subject.pid)
        subject.check_unchanged()
        subject.end()


def terminal_stops():
    """Ctrl-Z, and the terminal's stops of programs in the background, take effect when the target runs again."""
    for number in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
        subject = idle()
        for command, step in (("attach", "compare with the plan"), ("detach", "take the hooks out")):
            for _ in range(TRIES):
                # In this session, and a process group of its own: stops from the terminal have no effect on a group that has no parent in its session.
                tool = subprocess.Popen([HEAPSNAP, command, str(subject.pid)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, preexec_fn=os.setpgrp,
                                        env={**os.environ, "HEAPSNAP_STOP_AT": step, "HEAPSNAP_STOP_SIGNAL": str(int(number))})
                try:
                    info = os.waitid(os.P_PID, tool.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
                    if info.si_code == os.CLD_STOPPED:
                        check(is_free(subject.pid), f"the target stands still while the tool is stopped by signal {number}")
                        subject.check_works()
                        tool.send_signal(signal.SIGCONT)
                    status, said = ended(tool)
                finally:
                    tool.kill()
                if status != 1 or not says_no_processor(said):
                    break
                say(f"  again: {said.strip()}")
            check_equal((info.si_code, info.si_status), (os.CLD_STOPPED, int(number)), f"what the tool did at {step}: {said}")
            check_equal(status, 0, said)
        subject.check_unchanged()
        subject.end()


def listening():
    """A target that must allow every opening of its files."""
    if not harness.root():
        return
    process = harness.start(["unshare", "--mount", "--propagation", "private", target_path("listens_to_opens")], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE)
    first = process.stdout.readline().decode().strip()
    if first != "ready":
        say(f"  {first}: not tried")
        return

    def ask():
        process.stdin.write(b"work\n")
        process.stdin.flush()
        return process.stdout.readline().decode().strip()

    check_equal(ask(), "right", "answer")  # so its thread is at work
    before = harness.Unharmed(process.pid)

    def without_events():
        """What the target has open, but for the file whose opening it is being asked about."""
        open_now = harness.descriptors(process.pid)
        return None if any("/" in link and not link.startswith("/dev/") for link in open_now.values()) else open_now
    before.descriptors = wait_until(without_events, "the target has answered all that it was asked")
    for arguments in commands(process.pid):
        check_equal(ask(), "right", "answer")
        result = heapsnap(*arguments, environment={"HEAPSNAP_MAX_FREEZE_MS": "4000"})
        check_equal(result.status, 0, str(result))
    check_equal(ask(), "right", "answer")
    before.check_after(memory_may_change=True, settle=20)
    # And when the attach is rolled back at its last step, and when a detach clears away what a killed one has left.
    steps = re.findall(r"step (\d+): start the hooks", heapsnap("attach", process.pid, "-v").stderr)
    detach(process.pid)
    for variable, status in (("HEAPSNAP_FAIL_AT", 1), ("HEAPSNAP_KILL_AT", -9)):
        result = heapsnap("attach", process.pid, environment={variable: steps[-1], "HEAPSNAP_TEST_NO_GADGETS": "1"})
        check_equal(result.status, status, str(result))
        check(not GAVE_UP.search(result.stderr), str(result))
        check_equal(ask(), "right", "answer")
    detach(process.pid)
    check_equal(ask(), "right", "answer")
    process.stdin.close()
    check_equal(process.wait(20), 0, "exit status")


def first_process():
    """A tool that is the first process of a PID namespace, where no SIGKILL of the watchdog would reach it."""
    if not harness.root():
        return

    # Its target is a program that has loaded its libraries.
    script = ('sleep 100 & until grep -qx sleep /proc/$!/comm && grep -q "libc[.-]" /proc/$!/maps && grep -q "^State:.S" /proc/$!/status; do sleep 0.01; done; '
              'exec "$0" attach $! -v')

    def run(environment):
        for _ in range(TRIES):
            status, said = ended(harness.start(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", script, HEAPSNAP], stdin=subprocess.DEVNULL,
                                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, **environment}))
            if status == 0 or not says_no_processor(said):
                break
            say(f"  again: {said.splitlines()[-1]}")
        return status, said

    status, said = run({})
    check_equal(status, 0, said)
    step = int(re.findall(r"step (\d+): start the hooks", said)[-1])
    status, said = run({"HEAPSNAP_FAIL_AT": str(step)})
    check_equal(status, 1, said)
    status, said = run({"HEAPSNAP_HANG_AT": str(step), "HEAPSNAP_MAX_FREEZE_MS": "500"})
    check_equal(status, 128 + 9, said)
    check(re.search(KILLED, said), said)


# Every point at which it can be made to hang.


def hang(subject, arguments, variable, number):
    """One command that hangs at one point. None: it has no such point. True: it was killed for that."""
    tool = begin(arguments, {variable: str(number), "HEAPSNAP_MAX_FREEZE_MS": str(BOUND)})
    deadline = time.monotonic() + 60
    while tool.poll() is None:
        check(time.monotonic() < deadline, f"{arguments[0]}, {variable}={number}: still there, the target is {'' if is_free(subject.pid) else 'not '}free")
        # Hung while it holds nothing: that is its own affair.
        if waits_for_ever(tool.pid) and is_free(subject.pid):
            tool.kill()
            break
        time.sleep(0.002)
    status, said = ended(tool)
    check(is_free(subject.pid), f"{arguments[0]}, {variable}={number}: the target is held")
    subject.check_works()
    if status == 0:
        return None
    # On a busy machine a thread may not get a processor for as long as the target may stand still: then the tool gives up before it comes to that point,
    # or has no time left for another look whether a thread that was inside has come out.
    check(status == -9 or GAVE_UP.search(said) or says_no_processor(said) or "still inside the payload" in said,
          f"{arguments[0]}, {variable}={number}: {status}, {said!r}")
    return KILLED in said


def clear(subject, what):
    state = attach_state(subject.pid)
    if state:
        result = heapsnap("detach", subject.pid)
        check_equal(result.status, 0, f"{what}: {result}")
    check_equal(attach_state(subject.pid), None, f"{what}: status after the next detach")
    subject.check_works()


def hang_at_each(subject, arguments, variable, distance):
    """Of one command, every `distance` points. How many there are, and how many of them it was killed for."""
    number, points, killed = 1, 0, 0
    while True:
        if arguments[0] == "attach":
            clear(subject, f"{variable}={number}")
        elif attach_state(subject.pid) != "attached":
            clear(subject, f"{variable}={number}")
            attach(subject.pid)
        result = hang(subject, arguments, variable, number)
        if result is None:
            break
        points, killed, number = points + 1, killed + result, number + distance
    check(points >= 1, f"{variable} has no effect on {arguments[0]}")
    return points, killed


def hangs():
    for make, distances in ((idle, (1, 13)), (busy, (1, 37))):
        subject = make()
        done = {}
        for variable, distance in zip(("HEAPSNAP_HANG_AT", "HEAPSNAP_HANG_AT_REQUEST"), distances):
            for arguments in commands(subject.pid):
                # A command may have one point only at which it holds the target, and on a busy machine give up before that.
                for _ in range(TRIES):
                    points, killed = hang_at_each(subject, arguments, variable, distance)
                    # Few points are tried in the busy one, and at the first of all nothing is held yet.
                    if killed >= 1 or make is busy:
                        break
                    say(f"  again: no hang of {arguments[0]} at {points} points of {variable} was ended by the watchdog")
                else:
                    check(False, f"{arguments[0]}, {variable}: no hang was ended by the watchdog")
                done[f"{arguments[0]} {variable[14:].lower()}"] = f"{killed} of {points}"
        clear(subject, "at the end")
        subject.check_unchanged()
        subject.end()
        say(f"  {make.__name__}: killed by the watchdog, of the points at which the tool hung: {done}")


# RLIMIT_RTTIME, soft and hard, in us; and the soft limit under which it takes a real-time priority, None: it takes none.
TIME_LIMITS = [("20000:20000", None), ("0:0", None), ("99999:99999", None), ("150000:150000", 75000), ("1000000:1000000", 200000), ("60000:150000", 60000),
               ("unlimited:unlimited", 200000)]
MANY = 1000


def limited_time():
    """The kernel kills at the hard limit of RLIMIT_RTTIME: a real-time priority is only taken with the soft limit far below."""
    if not harness.has_program("strace"):
        return
    subject = idle()
    path = os.path.join(temporary_directory(), "trace")
    for limits, soft in TIME_LIMITS:
        for arguments in commands(subject.pid):
            result = heapsnap(*arguments, prefix=["prlimit", f"--rttime={limits}", "strace", "-qq", "-e", "trace=prlimit64,sched_setscheduler", "-o", path])
            check_equal(result.status, 0, f"{limits}: {result}")
            limited = None
            taken = []
            for line in harness.read_text(path).splitlines():
                limit = re.match(r"prlimit64\(0, RLIMIT_RTTIME, \{rlim_cur=([^,]*), ", line)
                limited = limit.group(1) if limit else limited
                if line.startswith("sched_setscheduler(0, ") and "SCHED_OTHER" not in line:
                    taken.append(limited)
            check(all(limit == str(soft) for limit in taken) and bool(taken) == (soft is not None),
                  f"{limits}, {arguments[0]}: real-time under {taken}, not {soft}")
        subject.check_works()
    subject.check_unchanged()
    subject.end()
    target = Target("many_threads", MANY)
    for arguments in commands(target.pid):
        result = heapsnap(*arguments, prefix=["prlimit", "--rttime=1000:1000"])
        check_equal(result.status, 0, f"{MANY} threads: {result}")
    target.end()
    say(f"  {len(TIME_LIMITS)} limits; {MANY} threads under one of a tick")


run_cases([calls, watchdog, first_process, stopped_tool, not_watched, full_output, terminal_stops, listening, limited_time, hangs], "standstill")

# SPDX-License-Identifier: Apache-2.0
"""Two tools that want the same process: the second says who is at work, and touches nothing. And processes of which no thread can
run, or whose stacks cannot be read: the reason is named, before anything is touched where that can be."""

import contextlib
import os
import re
import signal
import subprocess

from harness import (HEAPSNAP, Result, Target, Unharmed, as_user, attach, attach_state, check, check_equal, check_refused, copy_for_everybody, detach, dump,
                     got_no_processor, has_program, heapsnap, heapsnap_ok, only_child, process_state, read_text, root, run_cases, run_stopping, say, start,
                     stop, target_path, temporary_directory, wait_until, waits_for_ever)

SOMEBODY = 65534


class Stopping:
    """heapsnap that stops at a step, with what it has taken."""

    def __init__(self, step, *arguments, prefix=(), program=None):
        self.process = start([*prefix, program or HEAPSNAP, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env={**os.environ, "HEAPSNAP_STOP_AT": step})
        self.pid = self.process.pid
        self.arguments, self.how = arguments, {"prefix": prefix, "program": program}
        self.name = f"heapsnap {arguments[0]} \\(PID {self.pid}\\)"

    def wait_stopped(self):
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        check_equal(process_state(self.pid), "T", f"heapsnap at its step: {self.process.poll()}")
        return self

    def finish(self):
        """Lets it go on, also when it comes to that step again."""
        while self.process.poll() is None:
            if process_state(self.pid) == "T":
                self.process.send_signal(signal.SIGCONT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(0.05)
        output, errors = self.process.communicate()
        result = Result(list(map(str, self.arguments)), self.process.returncode, output, errors.decode("utf-8", "replace"))
        if got_no_processor(result):  # what it has not done is done now
            say(f"  again: {result.stderr.strip()}")
            result = heapsnap(*self.arguments, **self.how)
        check_equal(result.status, 0, str(result))

    def kill(self):
        stop(self.process, signal.SIGKILL)


def commands(pid, path):
    return {"attach": ("attach", pid), "set": ("set", pid, "--exact"), "dump": ("dump", pid, "-o", path), "detach": ("detach", pid)}


def check_turned_away(pid, path, words, but=()):
    """Every command says who is at work, and `check` says that attach would."""
    for name, arguments in commands(pid, path).items():
        if name not in but:
            check_refused(heapsnap(*arguments), words, "try again when .* has finished")
    result = heapsnap("check", pid, "--json")
    check_equal(result.status, 1, str(result))
    found = [diagnostic for diagnostic in result.json["diagnostics"] if diagnostic["category"] == "work"]
    check_equal([diagnostic["verdict"] for diagnostic in found], ["refusal"], f"what check finds: {result}")
    check(re.search(words, found[0]["message"]), f"what check says: {found}")
    check(not os.path.exists(path), "a file of a command that was refused")


def attach_beside_all():
    target = Target("surroundings")  # does nothing unless it is asked to
    path = os.path.join(temporary_directory(), "out.pb.gz")
    before = Unharmed(target.pid)
    with contextlib.closing(target.process.stdin):
        first = Stopping("plan", "attach", target.pid, "--exact").wait_stopped()
        check_turned_away(target.pid, path, f"{first.name} is working on process {target.pid}")
        before.check_after(memory_may_change=True)
        first.finish()
        # In the middle of it: a stop at a step under the freeze would stop the target too, so one before it.
        for command, step in (("set", "freeze for the change"), ("detach", "open the region")):
            first = Stopping(step, *commands(target.pid, path)[command]).wait_stopped()
            check_turned_away(target.pid, path, f"{first.name} is working on process {target.pid}")
            first.finish()
        before.check_after(memory_may_change=True)
        stop(target.process)


def dump_beside_all():
    """Dumps take turns; all others are turned away."""
    target = Target("cycles")
    folder = temporary_directory()
    path = os.path.join(folder, "out.pb.gz")
    attach(target.pid)
    first = Stopping("read the log", "dump", target.pid, "-o", os.path.join(folder, "first.pb.gz")).wait_stopped()
    check_turned_away(target.pid, path, f"{first.name} is working on process {target.pid}", but=("dump",))
    others = [start([HEAPSNAP, "dump", str(target.pid), "-o", os.path.join(folder, f"{i}.pb.gz"), *options], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
              for i, options in enumerate(([], ["--stop"], ["-v"]))]
    check("waiting for heapsnap dump (PID " in read_until(others[2].stderr, "waiting for"), "a dump that waits says so with -v")
    check(all(other.poll() is None for other in others), "dumps wait for the first one")
    first.finish()
    for i, other in enumerate(others):
        _, errors = other.communicate(timeout=60)
        check_equal(other.returncode, 0, f"dump {i}: {errors}")
    check_equal(sorted(os.listdir(folder)), ["0.pb.gz", "1.pb.gz", "2.pb.gz", "first.pb.gz"], "profiles")
    # One that waits can be interrupted.
    first = Stopping("read the log", "dump", target.pid, "-o", path).wait_stopped()
    other = start([HEAPSNAP, "dump", str(target.pid), "-v", "-o", path], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    read_until(other.stderr, "waiting for")
    check_equal(stop(other, signal.SIGINT), 1, "exit status of a dump that was interrupted while it waited")
    first.finish()
    detach(target.pid)
    stop(target.process)


def read_until(stream, words):
    text = ""
    while words not in text:
        line = stream.readline().decode("utf-8", "replace")
        check(line, f"no {words!r} in {text!r}")
        text += line
    return text


def killed_holder():
    """A tool that is killed takes its lock with it."""
    target = Target("cycles")
    path = os.path.join(temporary_directory(), "out.pb.gz")
    for command, step in (("attach", "plan"), ("attach", None), ("set", "freeze for the change"), ("dump", "read the log"),
                          ("detach", "open the region"), ("detach", None)):
        if step:
            holder = Stopping(step, *commands(target.pid, path)[command]).wait_stopped()
            holder.kill()
        else:
            check_equal(heapsnap(*commands(target.pid, path)[command]).status, 0, f"{command} after a {command} that was killed")
    stop(target.process)


def killed_before_its_watchdog_ran():
    """The process that watches the time has a copy of the lock until it runs. Here it comes late to its first call (prctl)."""
    if not has_program("strace"):
        return
    target = Target("cycles")
    late = start(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=prctl", "-e", "inject=prctl:delay_enter=1500000:when=1", HEAPSNAP, "attach",
                  str(target.pid)], stdin=subprocess.DEVNULL, env={**os.environ, "HEAPSNAP_HANG_AT_REQUEST": "30"})

    def hanging():  # strace has a child before that waits in pause(2) as well, with which it tries what ptrace can do here
        for child in read_text(f"/proc/{late.pid}/task/{late.pid}/children").split():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if read_text(f"/proc/{child}/comm") == "heapsnap\n" and waits_for_ever(child):
                    return int(child)
        return None

    tool = wait_until(hanging, "the tool hangs")
    check_refused(heapsnap("detach", target.pid), f"heapsnap attach \\(PID {tool}\\) is working on process {target.pid}")
    os.kill(tool, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{tool}"), "the tool is gone")
    check_refused(heapsnap("detach", target.pid), "is not attached: nothing of heapsnap is in it")  # it has got no further; and the lock ended with it
    stop(late)
    stop(target.process)


def wrong_proc():
    """Numbers below /proc that are not those of ptrace: nothing is looked at, so that nothing is done to a process that happens to have the number."""
    if not root():
        return
    target = Target("many_threads", 1)
    path = os.path.join(temporary_directory(), "out.pb.gz")
    attach(target.pid)
    commands = [["check", target.pid], ["attach", target.pid], ["set", target.pid, "--exact"], ["dump", target.pid, "-o", path],
                ["detach", target.pid], ["status", target.pid], ["status"]]
    for command in commands:
        check_refused(heapsnap(*command, prefix=["unshare", "--pid", "--fork"]), "/proc is of another PID namespace")
        for instead in ("true", "mount -t tmpfs none /proc"):
            prefix = ["unshare", "--mount", "sh", "-euc", f'umount -l /proc; {instead}; exec "$@"', "sh"]
            check_refused(heapsnap(*command, prefix=prefix), "no proc file system is mounted at /proc")
    prefix = ["unshare", "--pid", "--fork", "--mount-proc", "unshare", "--pid", "--fork"]  # of the one above, and each has a number there
    check_refused(heapsnap("status", prefix=prefix), "/proc is of another PID namespace")
    detach(target.pid)
    target.end()


def users_and_root():
    """The tool of the process's own user, and root's, in another mount namespace too."""
    if not root():
        return
    program = copy_for_everybody()
    target = Target("cycles", command=[*as_user(SOMEBODY), target_path("cycles")])
    path = os.path.join(temporary_directory(), "out.pb.gz")
    holder = Stopping("plan", "attach", target.pid, prefix=as_user(SOMEBODY), program=program).wait_stopped()
    check_turned_away(target.pid, path, f"{holder.name} is working on process {target.pid}")
    check_refused(heapsnap("attach", target.pid, prefix=["unshare", "-m"]), holder.name)
    holder.finish()
    detach(target.pid)
    # And the other way round. Its id is that of /proc, where the tool has another one in a namespace of its own.
    holder = Stopping("plan", "attach", target.pid).wait_stopped()
    check_refused(heapsnap("attach", target.pid, prefix=as_user(SOMEBODY), program=program), holder.name)
    holder.finish()
    # Another user has no lock to hold, and is told so.
    check_refused(heapsnap("attach", target.pid, prefix=as_user(SOMEBODY - 1), program=program), "belongs to user")
    detach(target.pid)
    stop(target.process)


def guarded_child():
    """With rules for system calls in the target a child does the work, and is named; it keeps the lock when the tool that the user started is killed."""
    if not root():
        return
    target = Target("surroundings", "threads=1", "deny=fcntl")
    path = os.path.join(temporary_directory(), "out.pb.gz")
    tool = start([HEAPSNAP, "attach", str(target.pid)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                 env={**os.environ, "HEAPSNAP_STOP_AT": "plan"})
    worker = only_child(tool.pid)
    wait_until(lambda: process_state(worker) == "T", "the child at its step")
    words = f"heapsnap attach \\(PID {worker}\\) is working on process {target.pid}"
    check_turned_away(target.pid, path, words)
    stop(tool, signal.SIGKILL)
    check_refused(heapsnap("detach", target.pid), words)
    while process_state(worker) not in "ZX":
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGCONT)
        wait_until(lambda: process_state(worker) in "TZX", "the child's next step or end")
    detach(target.pid)
    stop(target.process)


def another_proc():
    """The tool in a container, whose /proc is another one, is seen from the host; and another user who locks what it is seen by keeps nobody out."""
    if not root():
        return
    numbers = set()
    for process in (os.getpid(), os.getppid()):
        descriptor = os.pidfd_open(process)
        numbers.add(os.fstat(descriptor).st_ino)
        os.close(descriptor)
    if len(numbers) == 1:
        say("  all pidfds are one file on this kernel: not tried")
        return
    target = Target("cycles", command=["unshare", "-pf", "--mount-proc", target_path("cycles")])
    pid = only_child(target.pid)
    tool = start(["nsenter", "-t", str(pid), "-p", "-m", HEAPSNAP, "attach", "1", "--exact"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                 env={**os.environ, "HEAPSNAP_STOP_AT": "plan"})
    worker = only_child(tool.pid)
    wait_until(lambda: process_state(worker) == "T", "heapsnap in the container at its step")
    for arguments in commands(pid, "/nowhere/out").values():
        if arguments[0] != "dump":
            check_refused(heapsnap(*arguments), f"another heapsnap \\(PID {worker}\\) is working on process {pid}")
    while tool.poll() is None:  # nsenter stops with it
        for stopped in (worker, tool.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(stopped, signal.SIGCONT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            tool.wait(0.05)
    check_equal(tool.wait(), 0, tool.stderr.read().decode())
    locks = "import fcntl, os, sys; fcntl.flock(os.pidfd_open(int(sys.argv[1])), fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"
    other = start([*as_user(SOMEBODY), "/usr/bin/python3", "-c", locks, str(pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    other.stdout.readline()
    detach(pid)
    check(other.poll() is None, "the other user's process has ended")
    stop(other)
    stop(target.process)


def killed_in_container():
    """A tool in a container does not see the one on the host, whose lock is of another /proc. It is killed in its attach, while that one waits to plan its own:
    the hooks that it has left are not hooked once more."""
    if not root():
        return
    target = Target("cycles", 2, command=["unshare", "-pf", "--mount-proc", target_path("cycles"), "2"])
    pid = only_child(target.pid)
    inside = ["nsenter", "-t", str(pid), "-p", "-m", "--"]
    steps = heapsnap("attach", 1, "-v", prefix=inside).stderr
    check_equal(heapsnap("detach", 1, prefix=inside).status, 0, "detach in the container")
    behind = re.findall(r"step \d+: write a hook$(?:\n.*)*?\n.*step (\d+): ", steps, re.M)
    check(behind, f"steps of an attach: {steps}")
    last = int(behind[-1]) - 1  # of those that write a hook, of which the first is said
    killed = []

    def kill_another():
        if not killed:
            heapsnap("attach", 1, prefix=inside, environment={"HEAPSNAP_KILL_AT": str(last)})
            killed.append(attach_state(pid))
    before = Unharmed(pid)
    result = run_stopping("plan", kill_another, "attach", pid)
    check_equal(killed, ["attach unfinished"], "what was left meanwhile")
    check_refused(result, "leftovers of an unfinished attach or detach; try again")
    check_equal(attach_state(pid), "attach unfinished", "status")
    check(int(target.ask("count")) >= 0, "the target works")
    attach(pid)
    detach(pid)
    target.ask("pause")
    before.check_after(memory_may_change=True, settle=20)
    stop(target.process)


@contextlib.contextmanager
def cgroup(parent):
    group = os.path.join(parent, f"heapsnap-test-{os.getpid()}")
    os.makedirs(os.path.join(group, "below"))
    try:
        yield group
    finally:
        os.rmdir(os.path.join(group, "below"))
        os.rmdir(group)


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def frozen(parent, control, on, off, says, settled_in, settled):
    """In a frozen group, and in one below a frozen one."""
    if not root():
        return
    if not os.access(os.path.join(parent, "cgroup.procs"), os.W_OK):
        say(f"  {parent} is not there: not tried")
        return
    folder = temporary_directory()
    with cgroup(parent) as group:
        for own in (group, os.path.join(group, "below")):
            target = Target("surroundings")
            freezer = os.path.join(group, control)

            def freeze(own=own, freezer=freezer):
                write(freezer, on)
                wait_until(lambda: settled in read_text(os.path.join(own, settled_in)).split("\n"), "the group is frozen")

            try:
                if not os.path.exists(freezer):
                    say(f"  {freezer} is not there: not tried")
                    return
                write(os.path.join(own, "cgroup.procs"), str(target.pid))
                freeze()
                words = f"process {target.pid} \\(surroundings\\) does not run, because its cgroup is frozen \\({re.escape(group)}/{says}\\): thaw it"
                before = Unharmed(target.pid)
                check_refused(heapsnap("attach", target.pid), words)
                result = heapsnap("check", target.pid)
                check(result.status == 1 and re.search(words, result.stdout), f"check: {result}")
                before.check_after()
                write(freezer, off)
                attach(target.pid)
                freeze()
                attached = Unharmed(target.pid)
                for arguments in (("set", target.pid, "--exact"), ("dump", target.pid, "--stop", "-o", f"{folder}/refused"), ("detach", target.pid)):
                    check_refused(heapsnap(*arguments), words)
                attached.check_after()
                check_equal(os.listdir(folder), [], "files of a dump that was refused")
                report = dump(target.pid, f"{folder}/out.pb.gz")  # nobody has to run for it
                check_equal(report["stopped"], False, f"a dump of a frozen process: {report}")
                os.unlink(f"{folder}/out.pb.gz")
                write(freezer, off)
                detach(target.pid)
            finally:
                if os.path.exists(freezer):
                    write(freezer, off)
                stop(target.process, signal.SIGKILL)
                wait_until(lambda: not read_text(os.path.join(own, "cgroup.procs")).strip(), "the group is empty")


def frozen_first_version():
    frozen("/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED", "freezer\\.self_freezing: 1", "freezer.state", "FROZEN")


def frozen_second_version():
    both = "/sys/fs/cgroup/unified"
    frozen(both if os.path.isdir(both) else "/sys/fs/cgroup", "cgroup.freeze", "1", "0", "cgroup\\.freeze: 1", "cgroup.events", "frozen 1")


def registered_stack():
    """Memory of a stack that cannot be read, because somebody would have to fill it in first: attach and detach work; without pagemap they may say what it is."""
    target = Target("registered_stack")
    if target.ask("state") != "registered":
        say("  no userfaultfd here: not tried")
        return
    before = Unharmed(target.pid)
    if os.path.exists(f"/proc/{target.pid}/pagemap"):
        # It says which pages were never there: nothing need be read of them.
        attach(target.pid)
        heapsnap_ok("status", target.pid)
        detach(target.pid)
        say("  attached and detached, for the kernel says which pages are not there (pagemap)")
    else:
        for command in ("attach", "detach"):
            result = heapsnap(command, target.pid)
            if result.status:
                check_refused(result, "userfaultfd")
                say(f"  this kernel has no pagemap: {command} is refused")
                stop(target.process)
                return
        say("  attached and detached, though this kernel has no pagemap")
    before.check_after(memory_may_change=True)
    target.end()


run_cases([attach_beside_all, wrong_proc, dump_beside_all, killed_holder, killed_before_its_watchdog_ran, users_and_root, guarded_child, another_proc, killed_in_container, frozen_first_version,
           frozen_second_version, registered_stack], "manners")

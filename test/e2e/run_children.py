# SPDX-License-Identifier: Apache-2.0
# Longer than 500 lines: the cases are of one command, and share what reads its summary.
"""heapsnap run --children: each process that the command starts and that executes a program is recorded, has a profile of its own, and is otherwise as
without heapsnap; and what run says of processes that it does not record.
usage: run_children.py [CASE...]"""

import contextlib
import fcntl
import glob
import os
import re
import shlex
import signal
import subprocess
import sys
import termios
import time

from harness import (HEAPSNAP, as_user, check, check_equal, copy_for_everybody, heapsnap, leave_out, read_text, run_cases, say, start, status_fields, target_path,
                     temporary_directory, wait_until)
from profiles import by_innermost

PROGRAM = target_path("run_command")
FIRST = {"in_constructor": (1, 7001), "first": (1, 5001)}
SUMMARY = r"started (\d+) process(?:es)?, with those of its children: (.*)\."
# What a parent sees of its children's stops and ends. That one goes on it may see, or not, if the end comes soon.
WATCHER = """import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
while True:
    _, status = os.waitpid(pid, os.WUNTRACED | os.WCONTINUED)
    if os.WIFCONTINUED(status):
        continue
    print('stopped' if os.WIFSTOPPED(status) else os.waitstatus_to_exitcode(status), flush=True)
    if not os.WIFSTOPPED(status):
        break
    os.kill(pid, 18)"""


# A parent that stops children a moment after they were started: how many of them wrote while they were stopped, and how many ended otherwise than with 0.
STOPPER = """import fcntl, os, signal, sys, time
late = bad = 0
for i in range(20):
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    pid = os.posix_spawn('/bin/echo', ['echo', 'x'], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, theirs, 1)])
    time.sleep(i * 0.0002)
    os.kill(pid, signal.SIGSTOP)
    status = os.waitpid(pid, os.WUNTRACED)[1]
    if os.WIFSTOPPED(status):
        def written():
            try:
                return len(os.read(ours, 10))
            except BlockingIOError:
                return 0
        before = written()
        time.sleep(0.1)
        late += written() > before
        os.kill(pid, signal.SIGCONT)
        status = os.waitpid(pid, 0)[1]
    bad += status != 0
print(late, bad)"""
# The loader writes more than a pipe takes, and what reads it runs programs meanwhile.
SPEAKING_LOADER = "LD_DEBUG=all /bin/ls / 2>&1 >/dev/null | (n=0; while read -r l; do n=$((n+1)); [ $((n % 200)) = 0 ] && /bin/true; done; [ $n -gt 500 ]; echo $?)"


def run(*words, options=(), **how):
    return heapsnap("run", "--exact", "--children", *options, "--", *words, **how)


def shell(text, **how):
    return run("sh", "-c", text, **how)


def summary(result):
    """How many processes were started, and what became of how many, by the first word of what is said."""
    match = re.search(SUMMARY, result.stderr)
    check(match, f"no summary of children: {result}")
    parts = {}
    for part in match[2].split(", "):
        number, words = part.split(" ", 1)
        parts[words] = int(number)
    return int(match[1]), parts


def live(path):
    return {name: (values.live_objects, values.live_bytes) for name, values in by_innermost(path).items()}


def profiles(directory, name):
    return sorted(glob.glob(os.path.join(directory, f"{name}.*.pb.gz")))


def check_first(path):
    found = live(path)
    for name, values in FIRST.items():
        check_equal(found.get(name), values, f"{name} in {path}: {found}")


def kinds():
    """By fork and exec, by posix_spawn, by a thread, by a child of a child, and one that executes nothing."""
    for words, count, also in ((f"{PROGRAM} return 7; {PROGRAM} raise 15; exit 3", 2, {}), (f"{PROGRAM} spawn 3; exit 3", 4, {}),
                               (f"{PROGRAM} others spawn 2; exit 3", 3, {}), (f"sh -c '{PROGRAM} return 0; exit 2'; exit 3", 1, {}),
                               (f"{PROGRAM} fork; exit 3", 1, {"not: executed no program": 1}),
                               (f"{PROGRAM} exec {PROGRAM} return 5; exit 3", 1, {})):
        directory = temporary_directory()
        result = shell(words, options=["--at-exit", directory + "/"])
        check_equal(result.status, 3, str(result))
        started, parts = summary(result)
        # an exec gives the process a new name, sh or run_command; there is one command besides
        files = profiles(directory, "run_command")
        check_equal(len(files), count, f"profiles of {words}: {os.listdir(directory)} {result}")
        for file in files:
            check_first(file)
        check_equal(started, sum(parts.values()), f"processes: {result}")
        check_equal({key: value for key, value in parts.items() if key != "recorded"}, also, f"processes: {result}")
        check_equal(len(os.listdir(directory)), parts["recorded"] + 1, f"profiles: {os.listdir(directory)}")
        check("Nothing lost of this process." in result.stderr, str(result))
        rest = "; 1 was not recorded" if also else ""
        check_equal(result.stderr.splitlines()[-1], f"Nothing lost of {parts['recorded'] + 1} recorded processes{rest}.", f"last line of {result}")
    say("  fork, posix_spawn, threads, children of children: all that execute a program are recorded from its beginning")


def ends():
    """The command itself, whatever ends it, with one thread and with many; also where another thread than the main one executes a program."""
    for words, status, also in ((["return", "7"], 7, {}), (["raise", "9"], -9, {}), (["crash"], -11, {}), (["_exit", "9"], 9, {}),
                                (["others", "sleep", "0.2", "return", "5"], 5, {"in_thread": (1, 3001)}),
                                (["others", "others", "sleep", "0.2", "raise", "9"], -9, {"in_thread": (2, 6002)}),
                                (["threads", "200", "return", "5"], 5, {}), (["threads", "200", "raise", "9"], -9, {}),
                                (["exec", PROGRAM, "return", "3"], 3, {}), (["others", "exec", PROGRAM, "return", "3"], 3, {}),
                                (["threads", "50", "exec", PROGRAM, "return", "3"], 3, {}), (["threads", "50", "spawn", "2", "return", "3"], 3, {})):
        path = os.path.join(temporary_directory(), "end.pb.gz")
        result = run(PROGRAM, *words, options=["--at-exit", path])
        check_equal(result.status, status, str(result))
        check(os.path.exists(path), f"no profile: {result}")
        found = live(path)
        for name, values in {**FIRST, **also}.items():
            check_equal(found.get(name), values, f"{name} of {words}: {found}")
    say("  the command has the same status, or signal, and its heap at that moment")


def names():
    directory = temporary_directory()
    path = os.path.join(directory, "end.pb.gz")
    result = shell(f"{PROGRAM} return 7; exit 0", options=["--at-exit", path])
    pid = re.search(r"Process (\d+) \(run_command\) has ended with exit status 7: .* live in \d+ blocks; (\S+)", result.stderr)
    check(pid, f"no line of the child: {result}")
    check_equal(pid[2], os.path.join(directory, f"end.{pid[1]}.pb.gz"), "its file")
    check_equal(sorted(os.listdir(directory)), [f"end.{pid[1]}.pb.gz", "end.pb.gz"], "files")
    check_first(pid[2])
    directory = temporary_directory()
    heapsnap("run", "-q", "--at-exit", directory + "/", "--", PROGRAM, "return", "0")
    check_equal(len(profiles(directory, "run_command")), 1, "DIR/ without --children")
    say("  a file of each process")


def unharmed():
    """What a parent and a child see is what they see without heapsnap: status, stops, output, signals."""
    for command in ([sys.executable, "-c", WATCHER, PROGRAM, "return", "9"], [sys.executable, "-c", WATCHER, PROGRAM, "raise", "9"],
                    [sys.executable, "-c", WATCHER, PROGRAM, "stop", "return", "4"], ["sh", "-c", f"echo one | {PROGRAM} cat | cat; {PROGRAM} crash; echo $?"],
                    ["sh", "-c", f"trap 'echo got' USR1; {PROGRAM} sleep 0.2 & kill -USR1 $$; wait; wait; echo $?"],
                    [sys.executable, "-c", "import subprocess, threading\ndone = []\n"
                     "threads = [threading.Thread(target=lambda: done.append(subprocess.run(['true']).returncode)) for _ in range(8)]\n"
                     "[thread.start() for thread in threads]\n[thread.join() for thread in threads]\nprint(done)"]):
        outputs = [subprocess.run([*before, *command], capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL)
                   for before in ([], [HEAPSNAP, "run", "-q", "--exact", "--children", "--"])]
        check_equal((outputs[1].stdout, outputs[1].returncode), (outputs[0].stdout, outputs[0].returncode), f"{command}: {outputs[1].stderr}")
    for user in users():  # root can read the filter
        program = os.path.join(user.directory, "restart_filter")
        subprocess.run(["cp", target_path("restart_filter"), program], check=True)
        for options in ([], ["--children"]):
            result = heapsnap("run", "-q", *options, "--", "sh", "-c", f"exec {program}", prefix=user.prefix, program=user.heapsnap)
            check_equal((result.status, result.stdout), (0, "poll 0, nanosleep 0\n"), f"waits under a filter, {user.prefix} {options}: {result}")
    say("  stops, statuses, pipes and signals are as without heapsnap")


def on_the_way():
    """From its exec to its beginning a program waits for others, and is stopped, as without heapsnap."""
    for command in (["sh", "-c", SPEAKING_LOADER], [sys.executable, "-c", STOPPER]):
        outputs = [subprocess.run([*before, *command], capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
                   for before in ([], [HEAPSNAP, "run", "-q", "--children", "--"])]
        check_equal((outputs[1].stdout, outputs[1].returncode), (outputs[0].stdout, outputs[0].returncode), f"{command}: {outputs[1].stderr}")
    say("  on its way to its beginning a program holds nobody up, and a stop holds")


def killed_makers():
    """Threads and processes whose makers are killed while they make them go on to their end."""
    for what in ("threads", "processes"):
        result = run(target_path("killed_makers"), what, "40", timeout=60)
        check_equal((result.status, result.stdout), (0, "0\n"), str(result))
        started, parts = summary(result)
        check(started >= 40 and "could not be" not in parts, str(parts))
        check(what == "processes" or started == 40, f"threads are counted as processes: {result}")
    say("  what a killed thread has made goes on")


def left_over():
    """A process that outlives the command is recorded up to there, detached, and goes on."""
    directory = temporary_directory()
    note = os.path.join(directory, "pid")
    result = shell(f"{PROGRAM} sleep 100 >/dev/null 2>&1 & echo $! >{note}; sleep 1; exit 5", options=["--at-exit", directory + "/"])
    check_equal(result.status, 5, str(result))
    with open(note, encoding="ascii") as file:
        pid = int(file.read())
    check("1 process outlived it" in result.stderr, str(result))
    files = profiles(directory, "run_command")
    check_equal(len(files), 1, f"profiles: {os.listdir(directory)} {result}")
    check_first(files[0])
    check(f"Process {pid} (run_command) goes on" in result.stderr, str(result))
    check_equal(status_fields(pid, pid, ["TracerPid"])["TracerPid"], "0", "its tracer")
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
        check("heapsnap" not in file.read(), "something of heapsnap is left")
    os.kill(pid, signal.SIGTERM)
    say("  one that outlives the command is left to go on, without heapsnap")


def left_over_makers():
    """So too where it makes children all the time that share its memory until they execute a program: a detach waits for these."""
    note = os.path.join(temporary_directory(), "pids")
    result = shell(f"for i in 1 2 3 4 5 6; do {PROGRAM} spawn 100000 >/dev/null 2>&1 & echo $! >>{note}; done; sleep 2; exit 5")
    with open(note, encoding="ascii") as file:
        pids = [int(line) for line in file]
    try:
        check_equal(result.status, 5, str(result))
        check("shares the memory" not in result.stderr, re.findall(r"warning: .*", result.stderr))
        check(" outlived it" in result.stderr, str(result))
        for pid in pids:
            check_equal(status_fields(pid, pid, ["TracerPid"])["TracerPid"], "0", "its tracer")
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
    say("  so are those that make children meanwhile")


def killed():
    """Who kills heapsnap ends neither the command nor its children."""
    process = start([HEAPSNAP, "run", "-q", "--children", "--", "sh", "-c", f"{PROGRAM} work 5; echo $?"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL)
    check_equal(process.stdout.readline(), b"ready\n", "first line")
    process.kill()
    check_equal(process.stdout.readline(), b"0\n", "status of the child")
    process.communicate(timeout=60)
    say("  heapsnap killed: the child goes on to its end")


def killed_on_the_way():
    """So too where a child is on its way to its beginning: its loader stands, because nobody reads what it writes."""
    ours, theirs = os.pipe()
    fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
    process = start([HEAPSNAP, "run", "-q", "--children", "--", "sh", "-c", f"LD_DEBUG=all {PROGRAM} return 7 2>&{theirs}; echo $?"], stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, pass_fds=[theirs])
    os.close(theirs)
    wait_until(lambda: int.from_bytes(fcntl.ioctl(ours, termios.FIONREAD, bytes(4)), sys.byteorder) > 3000, "the loader has filled the pipe")
    time.sleep(0.1)
    process.kill()
    process.wait()
    while os.read(ours, 65536):
        pass
    os.close(ours)
    check_equal(process.stdout.read(), b"7\n", "status of the child")
    process.stdout.close()
    # One that blocks SIGTRAP loads libraries later: it meets whatever was left in its loader.
    blocked = os.path.join(temporary_directory(), "blocked.py")
    with open(blocked, "w", encoding="utf-8") as file:
        file.write("import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTRAP])\nimport ctypes\nctypes.CDLL('libz.so.1')\n")
    for command, step in (("/bin/true", 18), (f"{sys.executable} -S {blocked}", 9)):
        killed = 0
        for request in range(300, 1000, step):  # from before the exec of the first child on
            result = shell(f"{command}; echo $?; {command}; echo $?", environment={"HEAPSNAP_KILL_AT_REQUEST": str(request)}, again=False)
            check_equal(result.stdout, "0\n0\n", f"{command}: killed at request {request}")
            if result.status == 0:  # it makes no more of them
                break
            check_equal(result.status, -9, f"heapsnap, at request {request}")
            killed += 1
        check(killed >= 150 // step, f"killed {killed} times alone")
    say("  heapsnap killed: so does one whose loader is at work, and whatever it is doing with it")


def slow_writers():
    """No process stands because profiles are not written yet."""
    folder = temporary_directory()
    done = os.path.join(folder, "done")
    os.mkdir(os.path.join(folder, "profiles"))
    # Each writer stops itself when it comes to its symbols.
    process = start([HEAPSNAP, "run", "-q", "--children", "--at-exit", os.path.join(folder, "profiles/"), "--", "sh", "-c",
                     f"for i in $(seq 1 100); do /bin/true; done; echo > {done}"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    env={**os.environ, "HEAPSNAP_STOP_AT": "symbolize"})
    wait_until(lambda: os.path.exists(done), "the command gets to its end")
    check_equal(os.listdir(os.path.join(folder, "profiles")), [], "profiles that stopped writers have written")

    def go_on():
        if process.poll() is not None:
            return True
        for pid in [process.pid, *map(int, read_text(f"/proc/{process.pid}/task/{process.pid}/children").split())]:  # it stops itself for the command's
            with contextlib.suppress(ProcessLookupError):  # done meanwhile
                os.kill(pid, signal.SIGCONT)
        return False
    wait_until(go_on, "the writers are done")
    check_equal((process.returncode, process.communicate()[1]), (0, b""), "end")
    say(f"  {len(os.listdir(os.path.join(folder, 'profiles')))} profiles, written late")


def many():
    """Hundreds of short programs: none is lost, what they write is the same, each is recorded or counted."""
    script = "i=0; while [ $i -lt 100 ]; do echo $i | cat | cat; i=$((i+1)); done"
    plain = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=120, check=True).stdout
    began = time.monotonic()
    result = shell(script, options=["--at-exit", temporary_directory() + "/"])
    took = time.monotonic() - began
    check_equal((result.status, result.stdout), (0, plain), "what it writes")
    started, parts = summary(result)
    check_equal((started, sum(parts.values())), (300, 300), f"processes: {result.stderr[-300:]}")
    check(parts["recorded"] > 0, str(parts))
    check_equal(parts["not: executed no program"], 100, "those that only fork")
    check_equal(len(re.findall(r"^Process \d+ \(cat\)", result.stderr, re.MULTILINE)), parts["recorded"], "lines")
    say(f"  300 processes in {took:.1f} s: {parts}")


def told():
    """Without --children it is said how many there were at least."""
    for words, least in ((f"{PROGRAM} return 0; {PROGRAM} return 0; {PROGRAM} return 0; exit 0", 3), (f"{PROGRAM} sleep 1 & exit 0", 1)):
        result = heapsnap("run", "--exact", "--", "sh", "-c", words)
        match = re.search(r"It started at least (\d+) process(?:es)?, not recorded; --children", result.stderr)
        check(match and int(match[1]) == least, f"{least} expected: {result}")
        check("Nothing lost of this process." in result.stderr and "Nothing lost.\n" not in result.stderr, str(result))
    result = heapsnap("run", "--exact", "--", PROGRAM, "fork")
    check("at least 1 process, not" in result.stderr, str(result))
    result = heapsnap("run", "--exact", "--", PROGRAM, "return", "0")
    check("Nothing lost.\n" in result.stderr and "started" not in result.stderr, str(result))
    result = run(PROGRAM, "return", "0")
    check("Nothing lost.\n" in result.stderr and "started" not in result.stderr, str(result))
    say("  'nothing lost' is not said of processes that nobody has recorded")


def beginning_is_exact():
    """A short program is recorded whole under the default budget; one that allocates much for longer is not, and how to have it exact is said."""
    python = [os.path.realpath(sys.executable), "-S", "-c"]
    result = heapsnap("run", "--", *python, "pass")  # some thousand at its start
    check_equal(result.status, 0, str(result))
    check("±" not in result.stderr and "Estimates" not in result.stderr, f"a short program is not exact: {result}")
    result = heapsnap("run", "--", *python, "for i in range(4000000): x = [i]", environment={"PYTHONMALLOC": "malloc"})
    check(re.search("Estimates|of which no sample was taken", result.stderr) and "For exact numbers: --exact" in result.stderr, str(result))
    say("  the beginning is exact, and no more")


def meanwhile_line(result):
    """How many times profiles were due, and what became of how many."""
    match = re.search(r"^Profiles meanwhile, (\d+) times?: (.*)\.$", result.stderr, re.MULTILINE)
    check(match, f"no line of profiles meanwhile: {result}")
    return int(match[1]), {words: int(number) for number, words in (part.split(" ", 1) for part in match[2].split(", "))}


def check_failures(result, parts):
    """None but for want of a processor: the threads of an ordinary user's process did not all stop within half a second. The first three are told."""
    reasons = re.findall(r"no snapshot \d+ of process \d+ .*?: (.*)", result.stderr)
    check_equal(set(reasons) - {"its threads did not all stop in time"}, set(), str(result))
    check_equal(len(reasons), min(parts.get("failed", 0), 3), str(result))


class User:
    """Who runs it: root, whose processes are copied while they run, or an ordinary user, whose threads are held for that."""

    def __init__(self, is_root):
        self.directory = temporary_directory()
        self.folder = os.path.join(self.directory, "profiles") + "/"
        os.mkdir(self.folder)
        self.prefix, self.heapsnap, self.program = [], HEAPSNAP, PROGRAM
        if not is_root and os.geteuid() == 0:
            for path in (self.directory, self.folder):
                os.chmod(path, 0o777)
            self.prefix, self.heapsnap, self.program = as_user(1234), copy_for_everybody(), os.path.join(self.directory, "run_command")
            subprocess.run(["cp", PROGRAM, self.program], check=True)

    def run(self, text, options, **how):
        return heapsnap("run", "--exact", "--children", *options, "--", "sh", "-c", text.replace("PROGRAM", shlex.quote(self.program)), prefix=self.prefix,
                        program=self.heapsnap, **how)


def users():
    if os.geteuid() != 0:
        leave_out("root")
    return [User(False)] if os.geteuid() != 0 else [User(True), User(False)]


def meanwhile():
    """A profile of each process of the family each time, and one line that says how many."""
    for user in users():
        result = user.run("PROGRAM work 4 & PROGRAM others work 4 & wait; exit 5", ["--every", "500ms", "-o", user.folder])
        check_equal(result.status, 5, str(result))
        times, parts = meanwhile_line(result)
        files = sorted(os.listdir(user.folder))
        check_equal((times >= 3, parts["written"]), (True, len(files)), f"profiles: {result}")
        check_equal(set(parts) - {"written", "not: the process was over before", "not: the one before was still to be taken", "failed"}, set(), str(result))
        check_failures(result, parts)
        workers = {}
        for file in files:
            match = re.fullmatch(r"(\w+)\.(\d+)\.\d{8}T\d{6}Z\.(\d+)\.pb\.gz", file)
            check(match and int(match[3]) <= times, f"name of {file}")
            if match[1] == "run_command":
                workers.setdefault(match[2], []).append(file)
        check_equal(len(workers), 2, f"workers: {files}")
        for files_of_one in workers.values():
            check_first(os.path.join(user.folder, files_of_one[-1]))
            check_equal(live(os.path.join(user.folder, files_of_one[-1])).get("kept_in_work"), (1000, 100000), files_of_one[-1])
        check_equal(result.stderr.splitlines()[-1], "Nothing lost of 3 recorded processes.", f"last line of {result}")
    say("  --every: of each process, of root and of an ordinary user")


def asked_for():
    directory = temporary_directory()
    process = start([HEAPSNAP, "run", "-q", "--exact", "--children", "--on", "USR2", "-o", os.path.join(directory, "out.json"), "--", "sh", "-c",
                     f"{PROGRAM} work 100; exit 6"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check_equal(process.stdout.readline(), b"ready\n", "first line")
    for number in (1, 2):
        process.send_signal(signal.SIGUSR2)
        wait_until(lambda: len(os.listdir(directory)) == 2 * number, "two profiles")
    numbers = [re.fullmatch(r"out\.(\d+)\.(\d)\.json", file).groups() for file in os.listdir(directory)]
    check_equal((sorted(number for _, number in numbers), len({pid for pid, _ in numbers})), (["1", "1", "2", "2"], 2), str(numbers))
    pids = {int(pid) for pid, _ in numbers}
    # The shell first, so that it does not see how its child ends.
    for pid in sorted(pids, key=lambda pid: int(status_fields(pid, pid, ["PPid"])["PPid"]) in pids):
        os.kill(pid, signal.SIGKILL)
    check_equal((process.communicate(timeout=60)[1], process.returncode), (b"", -9), "end")
    say("  --on: likewise, with PID and number before the ending")


def unharmed_meanwhile():
    """Whatever they do while profiles are taken again and again is as without: calls that wait, signals, stops, threads, ends."""
    for user in users():
        for text in ("PROGRAM wait 20 20 others wait 30 30; echo $?",
                     "PROGRAM threads 60 spawn 5 return 5; echo $?; PROGRAM threads 60 raise 9; echo $?", "PROGRAM others spawn 12; echo $?",
                     "PROGRAM threads 30 exec PROGRAM others sleep 0.5 return 3; echo $?",
                     # again and again, for on a busy machine it may stop later
                     "PROGRAM work 1 stop work 0.2 return 4 & p=$!; (while sleep 0.5; do kill -CONT $p; done) & wait $p; echo $?; kill $!",
                     f"PROGRAM signals 5 >{user.directory}/out & p=$!; while ! grep -q ready {user.directory}/out; do sleep 0.1; done; "
                     f"for s in USR1 USR2 TERM HUP WINCH; do kill -$s $p; sleep 0.05; done; wait $p; echo $?; sort {user.directory}/out; rm {user.directory}/out"):
            plain = subprocess.run(["sh", "-c", text.replace("PROGRAM", shlex.quote(user.program))], capture_output=True, text=True, timeout=60, check=False)
            result = user.run(text, ["--every", "30ms", "-o", user.folder, "--by", "function"])
            check_equal((result.stdout, result.status), (plain.stdout, 0), f"{text}: {result}")
            times, parts = meanwhile_line(result)
            check_equal((times >= 3, parts["written"]), (True, len(os.listdir(user.folder))), f"{text}: {result}")
            check_failures(result, parts)
            for file in os.listdir(user.folder):
                os.unlink(os.path.join(user.folder, file))
            say(f"  {times} times, {parts}")
    say("  what they do meanwhile is as without heapsnap")


def not_to_be_held():
    """A thread that cannot be stopped now holds nobody up for long, and nothing else fails."""
    user = users()[-1]
    result = user.run("PROGRAM vfork 6 & PROGRAM work 3; PROGRAM work 3; wait", ["--every", "1s", "-o", user.folder])
    check_equal(result.status, 0, str(result))
    _, parts = meanwhile_line(result)
    check("did not all stop in time" in result.stderr and parts["failed"] >= 1 and parts["written"] >= 3, str(result))
    stood = re.findall(r"no snapshot \d+ of process (\d+) .*did not all stop in time", result.stderr)
    check_equal(len(stood), len(set(stood)), f"stood for nothing, and again within ten seconds: {result}")
    say(f"  {parts}")


def slow_snapshots():
    """Nobody waits for those that write: when as many write as may, the next ones are left out, and are counted."""
    folder = temporary_directory()
    done, profiles_folder = os.path.join(folder, "done"), os.path.join(folder, "profiles")
    os.mkdir(profiles_folder)
    # Each writer stops itself when it comes to its symbols.
    process = start([HEAPSNAP, "run", "--children", "--every", "100ms", "-o", profiles_folder + "/", "--", "sh", "-c",
                     f"{PROGRAM} work 3 >/dev/null; echo > {done}; sleep 5"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    env={**os.environ, "HEAPSNAP_STOP_AT": "symbolize"})
    wait_until(lambda: os.path.exists(done), "the command gets to its end")
    check_equal(os.listdir(profiles_folder), [], "profiles that stopped writers have written")
    writers = list(map(int, read_text(f"/proc/{process.pid}/task/{process.pid}/children").split()))
    check(4 <= len(writers) <= 7, f"writers at one time: {writers}")

    def go_on():
        if process.poll() is not None:
            return True
        for pid in [process.pid, *map(int, read_text(f"/proc/{process.pid}/task/{process.pid}/children").split())]:
            with contextlib.suppress(ProcessLookupError):  # done meanwhile
                os.kill(pid, signal.SIGCONT)
        return False
    wait_until(go_on, "the writers are done")
    line = re.search(rb"^Profiles meanwhile, .*", process.communicate()[1], re.MULTILINE)[0]
    check(b" written" in line and b"not: the one before was still to be taken" in line, line)
    say(f"  {line.decode()}")


def losses():
    """What is lost in a child is told of it, and in the last line."""
    directory = temporary_directory()
    result = shell(f"{PROGRAM} return 0; {PROGRAM} return 7; {PROGRAM} return 0; exit 3", options=["--depth", "1"])
    check_equal(result.status, 3, str(result))
    check_equal(len(re.findall(r"^Process \d+ \(run_command\) .*; incomplete: .*stacks", result.stderr, re.MULTILINE)), 3, f"lines of children: {result}")
    check_equal(result.stderr.splitlines()[-1], "Incomplete: something is lost of 4 recorded processes: 4 incomplete, as told of each.", f"last line of {result}")
    # Where a profile cannot be written any more.
    os.mkdir(os.path.join(directory, "x"))
    folder = os.path.join(directory, "x")
    result = shell(f"{PROGRAM} return 0; rm -r {folder}; echo > {folder}; {PROGRAM} return 0; rm {folder}; mkdir {folder}; exit 3", options=["--at-exit", folder + "/"])
    lines = [line for line in result.stderr.splitlines() if "no profile of process" in line]
    check(lines, str(result))
    check_equal(result.stderr.splitlines()[-1], f"Incomplete: something is lost of {1 + summary(result)[1]['recorded']} recorded processes: "
                f"{len(lines)} without a profile of the end.", f"last line of {result}")
    say("  losses in children are in the last line")


def ordinary_user():
    if os.geteuid() != 0:
        leave_out("root")
        return
    program, directory = copy_for_everybody(), temporary_directory()
    os.chmod(directory, 0o777)
    target = os.path.join(directory, "run_command")
    subprocess.run(["cp", PROGRAM, target], check=True)
    result = subprocess.run([*as_user(1234), program, "run", "--children", "--exact", "--at-exit", directory + "/", "--", "sh", "-c",
                             f"{shlex.quote(target)} return 7; exit 0"], capture_output=True, text=True, timeout=60, check=False)
    check_equal(result.returncode, 0, result.stderr)
    files = profiles(directory, "run_command")
    check_equal(len(files), 1, f"profiles: {result.stderr}")
    check_first(files[0])
    say("  an ordinary user's")


run_cases([kinds, ends, names, unharmed, on_the_way, killed_makers, left_over, left_over_makers, killed, killed_on_the_way, slow_writers, many, told, meanwhile, asked_for, unharmed_meanwhile, not_to_be_held, slow_snapshots, losses, beginning_is_exact, ordinary_user], "run_children")

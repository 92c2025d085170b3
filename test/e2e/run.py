# SPDX-License-Identifier: Apache-2.0
"""heapsnap run: a command recorded from before its first allocation to its end, whatever ends it; its streams, its exit status and its signals are its own.
usage: run.py [CASE...]"""

import glob
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import time

from harness import (HEAPSNAP, as_user, check, check_equal, copy_for_everybody, heapsnap, leave_out, only_child, read_text, run_cases, say, start, status_fields,
                     target_path, temporary_directory, wait_until)
from profiles import by_innermost

PROGRAM = target_path("run_command")
STATIC = target_path("run_command_static")
LOADER = "/lib64/ld-linux-x86-64.so.2"
# What a program can see of how it was started.
STATE = """import os, resource
print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_STACK), sorted(os.listdir('/proc/self/fd')))
print([line for line in open('/proc/self/status') if line.startswith(('SigPnd', 'SigBlk', 'SigIgn', 'SigCgt'))], sorted(os.environ))"""
FIRST = {"in_constructor": (1, 7001), "first": (1, 5001)}


def path_in(name):
    return os.path.join(temporary_directory(), name)


def live(path):
    return {name: (values.live_objects, values.live_bytes) for name, values in by_innermost(path).items()}


def run(*words, options=(), program=PROGRAM, **how):
    """The exit status as subprocess has it: -N of signal N."""
    return heapsnap("run", "--exact", *options, "--", program, *words, **how)


def recorded(*words, status, program=PROGRAM, also=None, **how):
    """Runs it with --at-exit; it must end so, and the profile have what it has allocated first."""
    path = path_in("end.pb.gz")
    result = run(*words, options=["--at-exit", path], program=program, **how)
    check_equal(result.status, status, str(result))
    check(os.path.exists(path), f"no profile: {result}")
    found = live(path)
    for name, values in {**FIRST, **(also or {})}.items():
        check_equal(found.get(name), values, f"{name} of {words}: {found}")
    check_equal(os.listdir(os.path.dirname(path)), ["end.pb.gz"], "what is left beside the profile")
    return result


def beginning():
    result = recorded("say", "hello", status=0)
    check_equal(result.stdout, "hello\n", "standard output")
    check("in_constructor" in result.stderr and "Nothing lost" in result.stderr, f"no summary: {result}")
    if os.path.exists(STATIC):
        recorded("say", "hello", status=0, program=STATIC)
    recorded("say", "hello", status=0, environment={"LD_AUDIT": target_path("libaudit_library.so")})
    if os.path.exists(LOADER):
        check_equal(recorded(PROGRAM, "say", "hello", status=0, program=LOADER).stdout, "hello\n", "standard output of one that the loader was told to run")
    path = path_in("as_others.pb.gz")
    check_equal((run("say", "x", options=["-q", "-o", path]).status, live(path)["first"]), (0, FIRST["first"]), "-o, as other tools have it")
    check_equal(run("say", "x", options=["-q"]).stderr, "", "with -q")
    check_equal(heapsnap("run", "-q", PROGRAM, "say", "--json", "say", "-q").stdout, "--json\n-q\n", "without -- options end where the command begins")
    say("  what a constructor and main have allocated first is recorded, in a program with libraries and without")


def ends():
    for words, status in ((["return", "0"], 0), (["return", "7"], 7), (["_exit", "9"], 9), (["raise", signal.SIGTERM.value], -15),
                          (["raise", signal.SIGKILL.value], -9), (["raise", signal.SIGABRT.value], -6), (["crash"], -11), (["return", "255"], 255)):
        recorded(*words, status=status)
    say("  the same status, or signal, whatever ends it, and its heap at that moment")


def threads():
    recorded("others", "sleep", "0.1", "return", "5", status=5, also={"in_thread": (1, 3001)})
    recorded("others", "sleep", "1", "raise", signal.SIGKILL.value, status=-9, also={"in_thread": (1, 3001)})
    recorded("others", "sleep", "0.3", "others", "sleep", "0.5", "return", "5", status=5, also={"in_thread": (2, 6002)})
    recorded("fork", "return", "4", status=4)
    for _ in range(3):
        recorded("threads", "200", "return", "5", status=5)
        recorded("threads", "200", "raise", signal.SIGKILL.value, status=-9)
    # Of a thread that is followed, and of one that is not yet.
    recorded("others", "sleep", "1", "exec", PROGRAM, "return", "3", status=3)
    result = run("others", "exec", PROGRAM, "return", "3")
    check_equal(result.status, 3, str(result))
    check(re.search("in_constructor|not recorded|could not be read", result.stderr), f"neither recorded nor told: {result}")
    say("  a program whose main thread ends before the others; one that forks")


def executes():
    recorded("exec", PROGRAM, "return", "3", status=3)
    recorded("X=1", PROGRAM, "return", "3", status=3, program="env")
    recorded("-c", f"exec {PROGRAM} _exit 6", status=6, program="sh")
    script = path_in("script")
    with open(script, "w", encoding="ascii") as file:
        file.write(f"#!/usr/bin/env {PROGRAM}\n")
    os.chmod(script, 0o755)
    result = run(program=script)
    check_equal(result.status, 95, str(result))  # the script's name is no word of it: it was executed
    check("in_constructor" in result.stderr, f"not recorded: {result}")
    say("  programs that others execute are recorded from their beginning")


def streams():
    for command in (["cat"], [sys.executable, "-c", STATE], ["sh", "-c", "exec <&-; cat"]):
        outputs = []
        for before in ([], [HEAPSNAP, "run", "-q", "--"]):
            # Limits that heapsnap raises for itself.
            process = start(["prlimit", "--nofile=100:2000", "--stack=400000:", *before, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            outputs.append((process.communicate(b"one\ntwo\n", timeout=60)[0], process.returncode))
        check_equal(outputs[1], outputs[0], f"{command} with heapsnap run, and without")
    closed = [subprocess.run(["sh", "-c", f"exec <&- >&-; {before} ls /proc/self/fd/0 /proc/self/fd/1"], stderr=subprocess.PIPE, timeout=60, check=False).stderr
              for before in ("", f"{HEAPSNAP} run -q --")]
    check_equal(closed[1], closed[0], "of closed streams")
    say("  input, output, limits, ignored signals and closed streams are as without heapsnap")


class Running:
    """One whose program has said "ready"."""

    def __init__(self, *words, options=("-q",)):
        self.process = start([HEAPSNAP, "run", "--exact", *options, "--", PROGRAM, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        check_equal(self.process.stdout.readline(), b"ready\n", "first line")
        self.pid = self.process.pid

    def program(self):
        return int(re.search(r"\d+", subprocess.run(["pgrep", "-P", str(self.pid), "-f", PROGRAM], capture_output=True, text=True, check=True).stdout)[0])

    def end(self):
        stdout, stderr = self.process.communicate(timeout=60)
        return self.process.returncode, stdout.decode().split("\n")[:-1], stderr.decode()


def signals():
    running = Running("signals", 5)
    for name in ("SIGTERM", "SIGINT", "SIGUSR1", "SIGHUP", "SIGWINCH"):
        running.process.send_signal(signal.Signals[name])
        check_equal(running.process.stdout.readline().decode(), f"{name}\n", "what the program got")
    check_equal(running.end()[0], 0, "status")
    running = Running("tally", 2)
    for name in ("SIGTERM", "SIGUSR2"):
        running.process.send_signal(signal.Signals[name])
    check_equal(running.end()[1], ["SIGTERM 1", "SIGUSR2 1", "end"], "signals that it got")
    running = Running("tally", 2, options=["-q", "--on", "USR2", "-o", path_in("on.pb.gz")])
    running.process.send_signal(signal.SIGUSR2)
    check_equal(running.end()[1], ["end"], "signals that it got")
    running = Running("work", 100)
    running.process.send_signal(signal.SIGTERM)
    check_equal(running.end()[0], -signal.SIGTERM, "status of one that SIGTERM ends")
    say("  each signal gets there once; that of --on does not")


def ignored_signals():
    """Those end no call that waits without a time."""
    for options in ([], ["--children"]):
        result = heapsnap("run", "-q", *options, "--", target_path("ignored_signals"))
        check_equal((result.status, result.stdout, result.stderr), (0, "", ""), f"with {options}")
    say("  ignored signals end no waiting call")


def in_terminal(words, options, prefix=(), program=PROGRAM):
    """A child that is the leader of a terminal of its own, and runs the command there in the foreground, as a shell does. Returns its id and the
    terminal."""
    shell, terminal = pty.fork()
    if shell == 0:
        command = os.fork()
        if command == 0:
            os.setpgid(0, 0)
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            os.tcsetpgrp(0, os.getpgrp())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            started = [*prefix, HEAPSNAP, "run", "-q", *options, "--", program, *words]
            os.execvp(started[0], started)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        while True:
            _, status = os.waitpid(command, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                print(f"status {os.waitstatus_to_exitcode(status)}", flush=True)
                os._exit(0)
            print("stopped", flush=True)
            os.tcsetpgrp(0, os.getpgrp())
            os.read(0, 100)
            os.tcsetpgrp(0, command)
            os.killpg(command, signal.SIGCONT)
            print("in the foreground", flush=True)
    return shell, terminal


def read_until(terminal, text, seconds=60):
    got, end = b"", time.monotonic() + seconds
    while text not in got:
        check(time.monotonic() < end, f"{text} did not come: {got}")
        try:
            got += os.read(terminal, 1000)
        except OSError:
            break
    check(text in got, f"{text} did not come: {got}")
    return got


def terminal():
    for options in ([], ["--children"]):
        shell, tty = in_terminal(["tally", "2", "return", "3"], options)
        read_until(tty, b"ready")
        os.write(tty, b"\x03")  # Ctrl-C
        text = read_until(tty, b"status")
        check(b"SIGINT 1\r\nend" in text, f"Ctrl-C: {text}")
        os.waitpid(shell, 0)
        os.close(tty)
        shell, tty = in_terminal(["work", "6", "return", "3"], options)
        read_until(tty, b"ready")
        for _ in range(40):  # right after the job goes on: it is not to be taken back by what the tool does then
            os.write(tty, b"\x1a")  # Ctrl-Z
            read_until(tty, b"stopped")
            os.write(tty, b"fg\n")
            read_until(tty, b"in the foreground")
        text = read_until(tty, b"status 3")
        check(b"stopped" not in text, f"stopped once more: {text}")
        os.waitpid(shell, 0)
        os.close(tty)
    say("  Ctrl-C comes once; Ctrl-Z stops the job, and it goes on in the foreground")


def stopped():
    running = Running("work", "0.2", "stop", "return", "2")
    program = running.program()
    wait_until(lambda: status_fields(program, program, ["State"])["State"][0] in "tT", "stopped")
    time.sleep(0.3)
    check(running.process.poll() is None, "it ended")
    os.kill(program, signal.SIGCONT)
    check_equal(running.end()[0], 2, "status")
    say("  one that is stopped by SIGSTOP stands until SIGCONT comes")


def meanwhile():
    base = path_in("out.pb.gz")
    result = run("work", "6", options=["-q", "-o", base, "--every", "1s"])
    check_equal(result.status, 0, str(result))
    names = sorted(os.listdir(os.path.dirname(base)))
    check(len(names) >= 2 and names[0] == "out.1.pb.gz" and names[1] == "out.2.pb.gz", f"profiles: {names}")
    for name in names:
        check_equal(live(os.path.join(os.path.dirname(base), name)).get("kept_in_work"), (1000, 100000), name)
    base = path_in("out.pb.gz")
    running = Running("work", 3, options=["-q", "-o", base, "--on", "SIGUSR2"])
    running.process.send_signal(signal.SIGUSR2)
    wait_until(lambda: os.path.exists(base.replace("out", "out.1")), "the profile is there")
    check_equal(running.end(), (0, [], ""), "the end")
    say("  profiles by time and by signal")


def views():
    path = path_in("end.collapsed")
    result = run("say", "x", options=["--by", "function", "--focus", "^in_constructor$", "--at-exit", path])
    check("in_constructor" in result.stderr and "first" not in result.stderr and "--focus" in result.stderr, f"rows of --focus: {result}")
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    check(any(line.endswith(";in_constructor 7001") for line in lines) and any(";first" in line for line in lines), f"the whole profile, collapsed: {lines}")
    check("main" in run("say", "x", options=["--tree"]).stderr, "a tree")
    result = run("say", "x", options=["--at-exit", path, "--format", "json"])
    with open(path, encoding="utf-8") as file:
        check(file.read(1) == "{", f"--format: {result}")
    result = run("say", "ran", options=["--by", "age"])
    check_equal((result.status, result.stdout), (125, ""), str(result))
    say("  rows and formats as of a dump")


def refused():
    path = path_in("end.pb.gz")
    for arguments, status, words in ((["--", "./no/such/program"], 127, "No such file"), (["--", "/etc/passwd"], 126, "Permission denied"),
                                     (["--at-exit", "/no/such/folder/x", "--", PROGRAM, "say", "ran"], 125, "No such file"),
                                     (["--", target_path("no_allocator"), "ran"], 125, "not run"),
                                     ([], 2, "command is missing"), (["--every", "1s", "--", "true"], 2, "-o"), (["-o", path, "--at-exit", path, "--", "true"], 2, "--every"),
                                     (["--json", "--", "true"], 2, "json"), (["--every", "soon", "--", "true"], 2, "expects a time"),
                                     (["--on", "KILL", "-o", path, "--", "true"], 2, "signal"), (["--at-exit", "-", "--", "true"], 2, "standard output")):
        result = heapsnap("run", *arguments)
        check_equal((result.status, "ran" in result.stdout), (status, False), str(result))
        check(words in result.stderr, f"does not say {words!r}: {result}")
        say(f"  {status}: {result.stderr.splitlines()[0]}")
    check(not os.path.exists(path), "a profile of nothing")
    result = heapsnap("run", "-q", "--children", "--", HEAPSNAP, "run", "--", "true")
    check_equal((result.status, "already traced by process" in result.stderr), (125, True), str(result))
    small = path_in("small")
    code = bytes.fromhex("b80100000031dbcd80")  # exit(0)
    with open(small, "wb") as file:
        file.write(b"\x7fELF\1\1\1" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0x8048054, 52, 0, 0, 52, 32, 1, 0, 0, 0)
                   + struct.pack("<8I", 1, 0, 0x8048000, 0x8048000, 84 + len(code), 84 + len(code), 5, 4096) + code)
    os.chmod(small, 0o755)
    try:
        subprocess.run([small], check=True)
    except OSError as error:
        leave_out(f"a kernel that executes 32-bit programs: {error}")
        return
    result = heapsnap("run", "--", small)
    check_equal((result.status, "32-bit program" in result.stderr), (125, True), str(result))


def anyway():
    result = run("say", "ran", "return", "6", options=["--anyway", "--allocator", "no_such_function=malloc"])
    check_equal((result.status, result.stdout), (6, "ran\n"), str(result))
    check("not recorded" in result.stderr, str(result))


def steps():
    """It fails, and is killed, at each step: the command has not run then, and nothing is left of it."""
    ran = 0
    for kind in ("FAIL", "KILL"):
        for step in range(1, 40):
            result = run("say", "ran", "return", "6", options=["-q"], environment={f"HEAPSNAP_{kind}_AT": str(step)}, again=False)
            if result.stdout == "ran\n":
                ran += 1
                break
            check_equal((result.status, result.stdout), (125 if kind == "FAIL" else -9, ""), str(result))
            left = lambda: subprocess.run(["pgrep", "-f", f"^{PROGRAM} say ran"], capture_output=True, text=True, check=False).stdout
            wait_until(lambda: not left(), f"step {step}: the command is left", 10)
        check(step > 10, f"no more than {step} steps")
    check_equal(ran, 2, "it never ran")
    wait_until(lambda: not subprocess.run(["pgrep", "-x", "heapsnap-keeper"], capture_output=True, check=False).stdout, "a keeper is left", 10)
    say(f"  {step} steps")


def killed():
    """Who kills heapsnap does not end the command, which stays attached."""
    running = Running("work", 3)
    program = running.program()
    running.process.kill()
    running.process.wait()
    wait_until(lambda: status_fields(program, program, ["TracerPid"])["TracerPid"] == "0", "nobody traces it")
    check(heapsnap("status", program, "--json").json, "status")
    check_equal(heapsnap("detach", program).status, 0, "detach")
    os.kill(program, signal.SIGTERM)


def signal_masks():
    """Signals are blocked and ignored in the command as they were, those too by which it is held before it begins."""
    mask = ["grep", "^Sig[BI]", "/proc/self/status"]
    for how in (["SIGTRAP"], ["SIGURG", "SIGTRAP"], ["SIGURG", "SIGWINCH", "SIGTRAP"]):  # of the last the breakpoint is met
        for blocks in (True, False):
            each = ", ".join(f"signal.{name}" for name in how)
            act = f"signal.pthread_sigmask(signal.SIG_BLOCK, [{each}])" if blocks else f"[signal.signal(number, signal.SIG_IGN) for number in ({each},)]"
            before = f"import os, signal, sys; {act}; os.execvp(sys.argv[1], sys.argv[1:])"
            outputs = [subprocess.run([sys.executable, "-c", before, *tool, *mask], capture_output=True, text=True, timeout=60, check=False)
                       for tool in ([], [HEAPSNAP, "run", "-q", "--"], [HEAPSNAP, "run", "-q", "--children", "--"])]
            numbers = [int(line.split()[1], 16) for line in outputs[0].stdout.splitlines()]
            check(all(numbers[0 if blocks else 1] >> (getattr(signal, name) - 1) & 1 for name in how), f"{how} not as they were to be: {outputs[0]}")
            for output in outputs[1:]:
                check_equal((output.stdout, output.returncode), (outputs[0].stdout, 0), f"{how}, {'blocked' if blocks else 'ignored'}: {output.stderr}")
    say("  signals that are blocked or ignored stay so")


def ended_early():
    """A signal that ends heapsnap while the command is on its way ends both."""
    for request in (1, 2, 3):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = start([HEAPSNAP, "run", "-q", "--", PROGRAM, "sleep", "100"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, env={**os.environ, "HEAPSNAP_STOP_AT_REQUEST": str(request)})
            wait_until(lambda: status_fields(process.pid, process.pid, ["State"])["State"].startswith("T"), "heapsnap stops itself")
            process.send_signal(number)
            process.send_signal(signal.SIGCONT)
            check_equal(process.wait(60), 125, f"status, with {number} at request {request}")
    say("  a signal on the way ends both")


def little_live():
    """Where nearly all was freed before the end, it is said who allocated most."""
    line = r"^Little is live at the end; most was allocated by work: \S+ MiB of \S+ MiB \(--sort alloc-bytes; what was live at the peak: --at-peak FILE\)\.$"
    for options, words, is_said in (([], ["work", "0.5"], True), (["--sort", "alloc-bytes"], ["work", "0.5"], False),
                                     (["--focus", "work"], ["work", "0.5"], False), ([], ["return", "0"], False)):
        result = heapsnap("run", *options, "--", PROGRAM, *words)
        check_equal((result.status, bool(re.search(line, result.stderr, re.MULTILINE))), (0, is_said), str(result))
    say("  little live at the end: who allocated most")


def first_process():
    """As the first process of a container it waits for processes whose parents have ended, and hands signals on."""
    if os.geteuid() != 0:
        leave_out("root")
        return
    prefix = ["unshare", "--pid", "--fork", "--mount-proc"]
    for option in ([], ["--children"]):
        shell, tty = in_terminal(["tally", "2", "return", "3"], option, prefix)
        read_until(tty, b"ready")
        os.write(tty, b"\x03")  # Ctrl-C
        text = read_until(tty, b"status 3")
        check(b"SIGINT 1\r\nend" in text, f"Ctrl-C, {option}: {text}")
        os.waitpid(shell, 0)
        os.close(tty)
        shell, tty = in_terminal(["-c", ": > /dev/tty; echo tty $?"], option, prefix, "sh")
        read_until(tty, b"tty 0\r\nstatus 0")
        os.waitpid(shell, 0)
        os.close(tty)
    left = "for i in 1 2 3; do sh -c 'sleep 0.1 &'; done; sleep 1; grep -hs '^State' /proc/[0-9]*/status"
    for option in ([], ["--children"]):
        result = heapsnap("run", "-q", *option, "--", "sh", "-c", left, prefix=prefix)
        check_equal(result.status, 0, str(result))
        states = result.stdout.splitlines()
        check(len(states) >= 3 and not [state for state in states if "zombie" in state], f"processes that nobody waits for: {states}")
        numbers = [signal.SIGUSR1, signal.SIGWINCH, signal.SIGQUIT, signal.SIGUSR2, signal.SIGTERM]
        # Not by pause(2): a signal that comes right before it is not told until another one comes.
        listener = ("import signal, sys\nnumbers = {int(number) for number in sys.argv[1:]}\nsignal.pthread_sigmask(signal.SIG_BLOCK, numbers)\n"
                    "print('ready', flush=True)\nwhile True:\n    print(int(signal.sigwait(numbers)), flush=True)")
        # And as another one, which does not see the PID of who sends from outside.
        for wrapper in ([], ["sh", "-c", '"$@"; true', "sh"]):
            process = start([*prefix, *wrapper, HEAPSNAP, "run", "-q", *option, "--", sys.executable, "-c", listener,
                             *[str(number.value) for number in numbers]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            check_equal(process.stdout.readline(), b"ready\n", "first line")
            tool = first = only_child(process.pid)
            if wrapper:
                tool = only_child(first)
            for number in numbers:
                os.kill(tool, number)
                check_equal(process.stdout.readline(), f"{number.value}\n".encode(), f"{number} arrives, {wrapper} {option}")
            os.kill(first, signal.SIGKILL)
            process.communicate(timeout=60)
    say("  as the first process of a container")


def ordinary_user():
    if os.geteuid() != 0:
        leave_out("root")
        return
    program, directory = copy_for_everybody(), temporary_directory()
    os.chmod(directory, 0o777)
    target = os.path.join(directory, "run_command")
    subprocess.run(["cp", PROGRAM, target], check=True)
    path = os.path.join(directory, "end.pb.gz")
    result = subprocess.run([*as_user(1234), program, "run", "-q", "--exact", "--at-exit", path, "--every", "300ms", "-o", os.path.join(directory, "out.pb.gz"), "--",
                             target, "work", "1", "raise", "9"], capture_output=True, text=True, timeout=60, check=False)
    check_equal(result.returncode, -9, f"status: {result.stderr}")
    check(os.path.exists(path), f"no profile of its end: {result.stderr}")
    check_equal(live(path).get("kept_in_work"), (1000, 100000), "its heap at its end")
    check(glob.glob(os.path.join(directory, "out.*.pb.gz")), "no profile meanwhile")
    os.unlink(path)
    tool = start([*as_user(1234), program, "run", "-q", "--exact", "--at-exit", path, "--every", "300ms", "-o", os.path.join(directory, "out.pb.gz"), "--",
                  target, "work", "30"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                 env={**os.environ, "HEAPSNAP_STOP_AT": "copy the table"})
    wait_until(lambda: status_fields(tool.pid, tool.pid, ["State"])["State"].startswith("T"), "heapsnap stops while the command is frozen")
    os.kill(only_child(tool.pid), signal.SIGKILL)
    tool.send_signal(signal.SIGCONT)
    said = tool.communicate(timeout=60)[1]
    check_equal(tool.returncode, -9, f"killed while it was frozen: {said}")
    check(os.path.exists(path), f"no profile of its end, killed while it was frozen: {said}")
    su = subprocess.run([*as_user(1234), program, "run", "--", "su", "-c", "true"], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
    check_equal(su.returncode, 125, su.stderr)
    check("set-user-ID" in su.stderr, su.stderr)
    say("  an ordinary user's, with profiles meanwhile; not a set-user-ID program")


run_cases([beginning, ends, threads, executes, streams, signals, ignored_signals, terminal, stopped, meanwhile, views, refused, anyway, steps, killed, signal_masks, ended_early, little_live, first_process, ordinary_user], "run")

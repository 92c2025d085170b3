# SPDX-License-Identifier: Apache-2.0
"""What bad input gets: a clear one-line error, the right exit status, the target as it was, no partial file."""

import ctypes
import os
import random
import re
import signal
import subprocess
import sys
import time

import harness
from harness import (Target, Unharmed, attach, attach_state, check, check_equal, check_refused, detach, dump, heapsnap, is_attached, part_of, repetitions, root,
                     run_cases, say, start, status_fields, stop, temporary_directory, wait_until)
from odd_processes import start_32_bits, start_tracer

PYTHON = sys.executable
NOBODY = 65534
TIMES = repetitions(36, 90)  # that a command is killed or interrupted, or its target is, at some moment
LIBC = ctypes.CDLL(None, use_errno=True)


def empty(directory):
    check_equal(sorted(os.listdir(directory)), [], f"files left in {directory}")


def wrong_usage():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    cases = [
        [], ["frobnicate"], ["--frobnicate"], ["attach"], ["detach"], ["dump"], ["dump", "-o", path], ["report"], ["report", "a", "b"], ["diff", "a"],
        ["profile", "1"], ["profile", "--for", "1s"], ["profile", "1", "--for", "soon"],
        ["dump", "1", "-o", ""], ["attach", "1", "--name", "x"], ["detach", "1", "--all"], ["status", "1", "--user", "0"],
        ["attach", "1", "--frobnicate"], ["attach", "1", "--depth"], ["attach", "1", "--depth", "0"],
        ["attach", "1", "--depth", "257"], ["attach", "1", "--depth", "many"], ["attach", "1", "--depth", "-3"],
        *(["attach", "1", option, value] for option in ("--sample", "--samples-per-word", "--budget")
          for value in ("0", "-1", "", "many", "nan", "1e99", "99999999999999999999")),
        ["attach", "1", "--exact", "--budget", "3"], ["attach", "1", "--stop-recording"], ["set"], ["set", "1"], ["set", "--name", "(", "--exact"],
        ["attach", "1", "--max-memory", "lots"], ["attach", "1", "--max-memory", "0"], ["attach", "1", "--max-memory", "1000K"], ["attach", "1", "--max-memory", "12Q"], ["attach", "1", "--max-memory", "-1"],
    ]
    for arguments in cases:
        result = heapsnap(*arguments)
        check_refused(result, status=2)
        check_equal(result.stdout, "", f"standard output of {result}")
    for text in ["abc", "12x", "0", "-5", "", "99999999999999999999", "1.5", " 7"]:
        result = heapsnap("attach", "--", text) if text.startswith("-") else heapsnap("attach", text)
        check(result.status == 2 and result.stderr.startswith("heapsnap: "), str(result))
    check(not os.path.exists(path), "a file was made")


def help_and_version():
    for arguments in [["--help"]] + [[command, "--help"] for command in ("check", "attach", "run", "set", "dump", "profile", "why", "report", "diff", "detach", "status")]:
        result = heapsnap(*arguments)
        check_equal(result.status, 0, str(result))
        check("usage" in result.stdout.lower() and "heapsnap" in result.stdout, f"no usage text: {result}")
        check_equal(result.stderr, "", f"standard error of {result}")
    check(re.search("--depth.*default 256", heapsnap("attach", "--help").stdout, re.S), "attach --help does not explain --depth")
    result = heapsnap("--version")
    check(result.status == 0 and re.fullmatch(r"heapsnap \d+\.\d+\.\d+ \(commit .*, ABI \d+\)\n", result.stdout), str(result))
    say("  help of every command, version")


def json_errors():
    child = subprocess.Popen(["/bin/true"])
    child.wait()
    result = heapsnap("attach", child.pid, "--json")
    check_refused(result, str(child.pid))
    check(isinstance(result.json["error"]["code"], str) and result.json["error"]["message"] in result.stderr, str(result))
    for pid in (child.pid, "no-such-name-9"):
        codes = {command: heapsnap(command, pid, *rest, "--json").json["error"]["code"] for command, *rest in
                 (("attach",), ("dump", "-o", os.path.join(temporary_directory(), "out.pb.gz")), ("set", "--exact"), ("detach",), ("status",))}
        check_equal(set(codes.values()), {"not_found"}, f"codes of what is not there: {codes}")
    check_equal(heapsnap("attach", child.pid, "--no-such-option", "--json").json["error"]["code"], "usage", "code of wrong usage")


def no_such_process():
    child = subprocess.Popen(["/bin/true"])
    child.wait()
    directory = temporary_directory()
    for arguments in [["attach", child.pid], ["detach", child.pid], ["dump", child.pid, "-o", directory + "/out.pb.gz"],
                      ["set", child.pid, "--exact"], ["status", child.pid]]:
        check_refused(heapsnap(*arguments), str(child.pid), "no.*process|not.*exist")
    empty(directory)


def kernel_thread():
    def is_kernel_thread(pid):
        try:
            return not os.path.exists(f"/proc/{pid}/exe") and "VmSize" not in harness.read_text(f"/proc/{pid}/status") \
                and status_fields(pid, pid, ["State"])["State"][0] not in "ZX"
        except (OSError, KeyError):
            return False
    pids = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if is_kernel_thread(pid)]
    if not pids:
        say("  no kernel thread is visible here: not tried")
        return
    check_refused(heapsnap("attach", min(pids)), "kernel thread")


def zombie():
    child = subprocess.Popen(["/bin/true"])
    wait_until(lambda: status_fields(child.pid, child.pid, ["State"])["State"][0] == "Z", "the child is a zombie")
    check_refused(heapsnap("attach", child.pid), "zombie|exit|ended|dead")
    child.wait()


def thread_id_is_no_process():
    target = Target("many_threads", 2)
    tid = harness.other_thread(target.pid)
    attach(target.pid)
    for command in ["attach"], ["dump", "-o", temporary_directory() + "/out.pb.gz"], ["set", "--exact"], ["status"], ["detach"]:
        check_refused(heapsnap(*command, tid), rf"{tid} is a thread of process {target.pid} \(many_threads\): give that id instead")
    detach(target.pid)
    target.end()


def process_of_32_bits():
    process = start_32_bits()
    if not process:
        return
    before = Unharmed(process.pid)
    check_refused(heapsnap("attach", process.pid), "32.bit")
    before.check_after()
    stop(process)


def already_traced():
    target = Target("many_threads", 2)
    tracer = start_tracer(target.pid)
    check_refused(heapsnap("attach", target.pid), str(tracer.pid), "python")
    tracer.stdin.close()
    tracer.wait()
    attach(target.pid)
    detach(target.pid)
    target.end()


def not_permitted():
    if not root():
        return
    program = harness.copy_for_everybody()

    def as_nobody(*arguments):
        return heapsnap(*arguments, program=program, prefix=harness.as_user(NOBODY))

    mine = Target("many_threads", 2)
    before = Unharmed(mine.pid)
    check_refused(as_nobody("attach", mine.pid), "uid|user", "root|sudo|CAP_SYS_PTRACE")
    before.check_after()

    # No capability: the target has more than the tool.
    process = start(["setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace", program, "attach", str(mine.pid)],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    stdout, stderr = process.communicate(timeout=harness.COMMAND_TIMEOUT)
    if process.returncode == 1:
        check_refused(harness.Result(["attach"], 1, stdout, stderr.decode()), "CAP_SYS_PTRACE|capabilit")
    else:
        say(f"  without CAP_SYS_PTRACE: status {process.returncode} {stderr.decode().strip()!r}: this process had no more than the tool")
        heapsnap("detach", mine.pid)
    before.check_after()
    mine.end()

    # The same uid, but not dumpable.
    script = ("import ctypes, sys\n"
              "ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n"  # PR_SET_DUMPABLE
              "print('ready', flush=True)\n"
              "sys.stdin.read()\n")
    hidden = start([*harness.as_user(NOBODY), PYTHON, "-c", script],
                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    check_equal(hidden.stdout.readline(), b"ready\n", "answer")
    check_refused(as_nobody("attach", hidden.pid), "dumpable")
    stop(hidden)

    # The same uid: works, or Yama forbids it.
    theirs = start([*harness.as_user(NOBODY), PYTHON, "-c",
                    "import sys; print('ready', flush=True); sys.stdin.read()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    check_equal(theirs.stdout.readline(), b"ready\n", "answer")
    before = Unharmed(theirs.pid)
    result = as_nobody("attach", theirs.pid)
    yama = "/proc/sys/kernel/yama/ptrace_scope"
    if os.path.exists(yama) and harness.read_text(yama).strip() != "0":
        check_refused(result, "Yama|ptrace_scope")
    else:
        check_equal(result.status, 0, str(result))
        locked = temporary_directory()  # root's, mode 0755
        check_refused(as_nobody("dump", theirs.pid, "-o", locked + "/out.pb.gz"), "permission|write")
        empty(locked)
        theirs_directory = temporary_directory()
        os.chown(theirs_directory, NOBODY, NOBODY)
        result = as_nobody("dump", theirs.pid, "-o", theirs_directory + "/out.pb.gz")
        check_equal(result.status, 0, str(result))
        check_equal(as_nobody("detach", theirs.pid).status, 0, "detach as another user")
        say("  without privilege, the same uid: attach, dump, detach work")
    before.check_after(memory_may_change=True)
    stop(theirs)


def nothing_to_hook():
    for name, words in [("no_allocator", ["allocator|malloc"]), ("unhookable", ["short|hook"])]:
        target = Target(name)
        before = Unharmed(target.pid)
        check_refused(heapsnap("attach", target.pid), *words)
        before.check_after()
        target.end()


def one_function_cannot_be_hooked():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("short_hook")
    before = Unharmed(target.pid)
    report = attach(target.pid)
    check(report["hooks_refused"] >= 1, f"no hook was refused: {report}")
    check_equal(target.ask("allocate"), "allocated", "answer")
    report = dump(target.pid, path)
    refused = [line for line in report["ledger"] if "hook" in line["name"] and line["loss"] and line["value"]]
    check(refused, f"the ledger does not name the function that could not be hooked: {report['ledger']}")
    say(f"  in the ledger: {refused}")
    detach(target.pid)
    before.check_after(memory_may_change=True)
    target.end()


def own_names():
    """A program's own valloc and cfree, with arguments of their own, are not the C library's and stay unhooked."""
    target = Target("own_names")
    check_equal(target.ask("call"), "right", "before attach")
    attach(target.pid)
    check_equal(target.ask("call"), "right", "while attached")
    detach(target.pid)
    check_equal(target.ask("call"), "right", "after detach")
    target.end()


def closed_streams():
    """The numbers of closed standard streams go to files that the tool opens; no message may be written into those."""
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("many_threads", 3)
    before = Unharmed(target.pid)
    for closed in ("0<&- 2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"):
        for command in ("attach -v", f"dump -v -o {path}", "detach -v"):
            shell = start(["sh", "-c", f'exec "$0" {command} "$1" {closed}', harness.HEAPSNAP, str(target.pid)])
            check_equal(shell.wait(timeout=harness.COMMAND_TIMEOUT), 0, f"heapsnap {command} {closed}")
        before.check_after(memory_may_change=True)
    target.end()


def wrong_order():
    directory = temporary_directory()
    path = os.path.join(directory, "out.pb.gz")
    target = Target("many_threads", 3)
    check_equal(target.ask("allocate"), "allocated", "answer")
    before = Unharmed(target.pid)
    check_refused(heapsnap("dump", target.pid, "-o", path), "not attached", str(target.pid))
    result = heapsnap("detach", target.pid)
    check_refused(result, f"process {target.pid} is not attached: nothing of heapsnap is in it, and there is nothing to do")
    check("heapsnap attach" not in result.stderr, str(result))
    check_equal(attach_state(target.pid), None, "status")
    before.check_after()
    empty(directory)

    attach(target.pid)
    check_refused(heapsnap("attach", target.pid), "attached already|already attached")
    for arguments in (["status", target.pid], ["status"]):
        state = next((each for each in harness.heapsnap_ok(*arguments)["processes"] if each["pid"] == target.pid), None)
        check(state, f"{arguments} does not name the process")
        check_equal((state["name"], state["state"]), ("many_threads", "attached"), "status")
        check(state["hooks"] > 0 and 0 < state["region_used_bytes"] <= state["max_bytes"], f"status: {state}")
    check_equal(target.ask("allocate"), "allocated", "answer")
    dump(target.pid, path)
    detach(target.pid)
    check_refused(heapsnap("detach", target.pid), "not attached")
    before.check_after()
    target.end()


def bad_output():
    directory = temporary_directory()
    target = Target("ground_truth", 4, 1, harness.target_path("libtruth_plugin.so"))
    attach(target.pid)
    target.ask_json("go")
    before_memory = Unharmed(target.pid)

    check_refused(heapsnap("dump", target.pid, "-o", directory + "/missing/out.pb.gz"), "missing")
    check_refused(heapsnap("dump", target.pid, "-o", directory), "directory")
    check_refused(heapsnap("dump", target.pid, "-o", f"{directory}/{256 * 'x'}"), "too long")
    empty(directory)

    # What is no profile stays, also behind a link. A link to a profile is replaced, not followed.
    precious = os.path.join(directory, "precious")
    with open(precious, "w") as file:
        file.write("precious")
    os.symlink(precious, directory + "/out.pb.gz")
    check_refused(heapsnap("dump", target.pid, "-o", directory + "/out.pb.gz"), "is no profile")
    check_equal(harness.read_text(precious), "precious", "the file behind the link")
    check(os.path.islink(directory + "/out.pb.gz"), "the link is gone")
    dump(target.pid, directory + "/first.pb.gz")
    facts = lambda: (lambda found: (found.st_ino, found.st_mode, found.st_uid, found.st_size, found.st_mtime_ns))(os.stat(directory + "/first.pb.gz"))
    first = facts()
    os.unlink(directory + "/out.pb.gz")
    os.symlink("first.pb.gz", directory + "/out.pb.gz")
    dump(target.pid, directory + "/out.pb.gz")
    check(not os.path.islink(directory + "/out.pb.gz"), "the link is still there")
    check_equal(facts(), first, "the file behind the link")  # but for the time of access: whether it is a profile is looked at

    # Standard output, whole and with a full device behind it.
    result = heapsnap("dump", target.pid, "-o", "-")
    check_equal(result.status, 0, str(result)[:500])
    check(result.stdout_bytes[:2] == b"\x1f\x8b", "standard output is not gzip")
    with open("/dev/full", "wb") as full:
        check_refused(heapsnap("dump", target.pid, "-o", "-", stdout=full), "space")

    if os.geteuid() == 0:
        disk_full(target)
    before_memory.check_after()
    check_equal(target.ask("finish"), "ok", "contents of the blocks")
    detach(target.pid)
    target.end()


def disk_full(target):
    mount = temporary_directory()
    if LIBC.mount(b"tmpfs", mount.encode(), b"tmpfs", 0, b"size=64k") != 0:
        say(f"  cannot mount a small file system ({os.strerror(ctypes.get_errno())}): not tried")
        return
    try:
        try:
            with open(mount + "/filler", "wb", buffering=0) as file:
                while file.write(bytes(4096)):
                    pass
        except OSError:
            pass
        result = heapsnap("dump", target.pid, "-o", mount + "/out.pb.gz")
        check_refused(result, "space")
        check_equal(os.listdir(mount), ["filler"], "files on the full disk")
    finally:
        LIBC.umount2(mount.encode(), 2)  # MNT_DETACH


def target_dies():
    directory = temporary_directory()
    outcomes = {}
    for number in range(part_of(TIMES)):
        command = ("attach", "dump", "detach")[number % 3]
        target = Target("cycles", 8)
        if command != "attach":
            attach(target.pid)
        arguments = [command, str(target.pid)] + (["-o", directory + "/out.pb.gz"] if command == "dump" else [])
        process = start([harness.HEAPSNAP, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(random.random() * 0.05)
        target.process.kill()
        stdout, stderr = process.communicate(timeout=harness.COMMAND_TIMEOUT)
        result = harness.Result(arguments, process.returncode, stdout, stderr.decode())
        check(result.status in (0, 1), str(result))
        if result.status == 1:
            lines = result.stderr.splitlines()
            check(len(lines) == 1 and lines[0].startswith("heapsnap: "), f"not one line: {result}")
        left = os.listdir(directory)
        check(left == (["out.pb.gz"] if command == "dump" and result.status == 0 else []), f"{left} is left: {result}")
        for name in left:
            os.unlink(os.path.join(directory, name))
        outcomes[command, result.status] = outcomes.get((command, result.status), 0) + 1
        target.process.wait()
    say(f"  killed during each command; status: {outcomes}")


def interrupted():
    directory = temporary_directory()
    target = Target("cycles", 8)
    check_equal(target.ask("pause"), "paused", "answer")
    before = Unharmed(target.pid)
    check_equal(target.ask("continue"), "continued", "answer")
    outcomes = {}
    for number in range(part_of(TIMES)):
        command = ("attach", "dump", "detach")[number % 3]
        if command == "attach" and attach_state(target.pid):
            detach(target.pid)
        if command != "attach" and not is_attached(target.pid):
            attach(target.pid)
        arguments = [command, str(target.pid)] + (["-o", directory + "/out.pb.gz"] if command == "dump" else [])
        process = start([harness.HEAPSNAP, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.002 + random.random() * 0.05)
        process.send_signal(random.choice([signal.SIGINT, signal.SIGTERM]))
        stdout, stderr = process.communicate(timeout=harness.COMMAND_TIMEOUT)
        result = harness.Result(arguments, process.returncode, stdout, stderr.decode())
        # A signal that comes before the handlers are there ends the tool in the usual way, before it did anything.
        check(result.status in (0, 1, -signal.SIGINT, -signal.SIGTERM), str(result))
        if command != "detach" or result.status == 0:
            check_equal(is_attached(target.pid), (command == "dump") or (command == "attach" and result.status == 0),
                        f"attached after {result}")
        left = os.listdir(directory)
        check(left == (["out.pb.gz"] if command == "dump" and result.status == 0 else []), f"{left} is left: {result}")
        for name in left:
            os.unlink(os.path.join(directory, name))
        if command == "detach" and attach_state(target.pid) == "detach unfinished":
            detach(target.pid)  # half-way: the next one finishes
        if not is_attached(target.pid):
            check_equal(target.ask("pause"), "paused", "answer")
            before.check_after(memory_may_change=True)
            check_equal(target.ask("continue"), "continued", "answer")
        check(target.alive(), f"the target died after {result}")
        outcomes[command, result.status] = outcomes.get((command, result.status), 0) + 1
    if attach_state(target.pid):
        detach(target.pid)
    check(target.end().startswith("ok "), "the target did not end well")
    say(f"  interrupted {part_of(TIMES)} times; status: {outcomes}")


def more_than_all():
    """More memory than the kernel would give one mapping is refused before anything is touched; check says it too. Another test may set overcommit_memory to 2."""
    most = 120 << 30
    if harness.read_text("/proc/sys/vm/overcommit_memory").strip() == "1" or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >= most // 2:
        harness.leave_out("vm.overcommit_memory is 1, or there is too much memory")
        return
    target = Target("many_threads", 2)
    before = Unharmed(target.pid)
    for command in ("attach", "check"):
        result = heapsnap(command, target.pid, "--max-memory", "120G")
        check(result.status == 1 and re.search(r"(limit of one mapping|commit limit) .*ask for less", result.stdout if command == "check" else result.stderr), str(result))
    before.check_after()
    target.end()


run_cases([wrong_usage, more_than_all, help_and_version, json_errors, no_such_process, kernel_thread, zombie, thread_id_is_no_process, process_of_32_bits,
           already_traced, not_permitted, nothing_to_hook, one_function_cannot_be_hooked, own_names, closed_streams, wrong_order, bad_output,
           target_dies, interrupted], "bad input")

# SPDX-License-Identifier: Apache-2.0
"""A number of a descriptor means something in one table only, and only as long as nobody exchanges what it stands for. Programs in which it means
something else: nothing but the tool's own files is written, closed or reported.
usage: descriptors.py [CASE...]"""

import contextlib
import fcntl
import os
import re
import shutil
import signal
import stat
import struct
import subprocess
import termios

from harness import (HEAPSNAP, Result, Target, Unharmed, as_user, attach, attach_state, check, check_equal, check_refused, detach, dump, got_no_processor,
                     heapsnap, heapsnap_ok, only_child, process_state, read_text, root, run_cases, say, start, target_path, temporary_directory, thread_ids,
                     wait_until)

NOBODY = 65534
SECRET = b"only root may write this\n"
ATTACHES = 12


def make_target(*options, user=True):
    """The program, in a folder that is its own, with a file that is root's alone."""
    folder = temporary_directory()
    path = os.path.join(folder, "secret")
    with open(path, "wb") as file:
        file.write(SECRET)
    os.chmod(path, 0o600)
    own = os.path.join(folder, "own")
    os.mkdir(own)
    os.mkfifo(os.path.join(own, "pipe"))
    shutil.copy(target_path("descriptor_tables"), folder)
    if user:
        for name in (own, os.path.join(own, "pipe")):
            os.chown(name, NOBODY, NOBODY)
    prefix = as_user(NOBODY) if user else []
    return Target("descriptor_tables", command=[*prefix, "sh", "-c", f"cd {own} && exec ../descriptor_tables {path} {' '.join(options)}"]), path


def files_of(pid):
    """(thread, number, link, path below /proc) of each descriptor of each thread."""
    for tid in thread_ids(pid):
        for number in os.listdir(f"/proc/{pid}/task/{tid}/fd"):
            path = f"/proc/{pid}/task/{tid}/fd/{number}"
            try:
                yield tid, int(number), os.readlink(path), path
            except FileNotFoundError:
                pass


def ours(pid):
    return [(tid, number, link) for tid, number, link, _ in files_of(pid) if re.fullmatch(r"/memfd:heapsnap-code-[0-9a-f]{32} \(deleted\)", link)]


def check_untouched(path):
    with open(path, "rb") as file:
        check(file.read() == SECRET, "root's file was written")
    check_equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, "mode of root's file")


def own_table():
    """The number that a thread with a table of its own has got stands for root's file in the main thread's."""
    if not root():
        return
    target, path = make_target()
    check_equal(target.ask("own 1"), "made", "answer")
    for _ in range(3):
        attach(target.pid)
        check_untouched(path)
        check_equal(ours(target.pid), [], "memory files that are left open")
        dump(target.pid, os.path.join(os.path.dirname(path), "out.pb.gz"))
        detach(target.pid)
    check_untouched(path)
    target.end()


def check_swapped(pid):
    """What the sharer has put in the place of our files was not written to."""
    for _, _, link, path in files_of(pid):
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode) and re.search(r"/own/#\d+ \(deleted\)$", link):
            check_equal(os.stat(path).st_size, 0, f"size of {link}")
        if stat.S_ISFIFO(mode) and link.endswith("/own/pipe"):
            pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            waiting = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]
            os.close(pipe)
            check_equal(waiting, 0, "bytes in the pipe")


def sharers():
    """A process that shares the table and is seen: nothing is made there. A memory of its own makes no difference."""
    if not root():
        return
    target, path = make_target()
    check_equal(target.ask("own 1"), "made", "answer")
    check_equal(target.ask("swap path"), "swaps", "answer")
    check("attach would refuse: process" in heapsnap("check", target.pid).stdout, "check does not say it")
    check_refused(heapsnap("attach", target.pid), "shares the descriptors")
    check_equal(target.ask("swapped"), "0 0", "descriptors that were exchanged")
    check_equal(attach_state(target.pid), None, "state")
    check_untouched(path)
    target.end()


def sharers_of_another():
    """A process shares the table of a thread that waits; the busy one, which will mostly make the calls, has another. As check says: refused."""
    if not root():
        return
    target, path = make_target()
    check_equal(target.ask("own 2"), "made", "answer")
    check_equal(target.ask("swap path"), "swaps", "answer")
    check_equal(target.ask("busy 1"), "busy", "answer")
    check("attach would refuse: process" in heapsnap("check", target.pid).stdout, "check does not say it")
    check_refused(heapsnap("attach", target.pid), "shares the descriptors")
    check_equal(target.ask("swapped"), "0 0", "descriptors that were exchanged")
    check_equal(attach_state(target.pid), None, "state")
    check_untouched(path)
    target.end()


def attach_while_exchanged(tool, inner):
    """An attach that waits, where it is about to map its memory file, until that was exchanged."""
    process = start([*tool, HEAPSNAP, "attach", "1", "--exact"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                    env={**os.environ, "HEAPSNAP_STOP_AT": "map code"})
    children = f"/proc/{process.pid}/task/{process.pid}/children"
    # If it was refused at once, nsenter may have ended with it.
    found = wait_until(lambda: [process.pid] if process.poll() is not None else read_text(children).split(), "heapsnap begins")
    worker = int(found[0])
    # It may have seen an exchange before it came to its step, and ended.
    wait_until(lambda: process_state(worker) in "TZX", "heapsnap at its step")
    # Ours has the code in it, those of the sharer are empty. No longer than the target may stand still.
    wait_until(lambda: process_state(worker) != "T" or not any(os.stat(path).st_size for _, _, link, path in files_of(inner) if "/memfd:heapsnap-code-" in link),
               "the exchange")
    while process.poll() is None:  # nsenter stops with it
        for stopped in (worker, process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(stopped, signal.SIGCONT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
    return Result(["attach", "1"], process.returncode, b"", process.stderr.read().decode())


def unseen_sharers():
    """The process that shares the table is in a PID namespace that the tool does not see, and exchanges the descriptor as soon as it is there."""
    if not root():
        return
    for kind in ("path", "file", "pipe", "memory"):
        target, path = make_target("outside", user=False)
        inner = only_child(target.pid)
        tool = ["nsenter", "--target", str(inner), "--pid", "--", "unshare", "--mount-proc"]
        check_equal(target.ask("share 1"), "made", "answer")
        attach_inside = heapsnap("attach", 1, prefix=tool)
        check_equal(attach_inside.status, 0, str(attach_inside))
        check_equal(heapsnap("detach", 1, prefix=tool).status, 0, "detach before the exchange")
        check_equal(target.ask(f"swap {kind}"), "swaps", "answer")
        refused = starved = 0
        for _ in range(ATTACHES):
            result = heapsnap("attach", 1, "--exact", prefix=tool)
            check_untouched(path)
            check_swapped(inner)
            if got_no_processor(result):  # beside two processes that never rest: says nothing of the exchange
                say(f"  {result.stderr.strip()}")
                starved += 1
            else:
                check(result.status in (0, 1) and (result.status == 0 or "another process changes its descriptors" in result.stderr), str(result))
                refused += result.status
            if result.status == 0:
                check_equal(heapsnap("detach", 1, prefix=tool).status, 0, "detach")
            # A new memory file of the same name is told from ours by nothing, and so is what is then in it.
            check(kind == "memory" or "not attached" in heapsnap("status", 1, prefix=tool).stderr, "status after detach")
        # However busy the machine is, once at least: at the worst moment.
        for _ in range(10):
            result = attach_while_exchanged(tool, inner)
            if result.status == 0:  # the sharer got no processor meanwhile
                check_equal(heapsnap("detach", 1, prefix=tool).status, 0, "detach")
            elif not got_no_processor(result):  # nor within what the target may stand still
                break
            say(f"  again: nothing was exchanged in time: {result.stderr.strip()}")
        check(result.status == 1 and "another process changes its descriptors" in result.stderr, f"nothing was exchanged while heapsnap waited: {result}")
        check_untouched(path)
        check_swapped(inner)
        number, lost = map(int, target.ask("swapped").split())
        check(number > 0, "nothing was exchanged")
        check(starved < ATTACHES, "each attach got no processor")
        say(f"  {kind}: {number} exchanged, {refused} of {ATTACHES - starved} attaches refused, {lost} closed between proof and call")
        check(target.alive(), "the target ended")
        target.end()


def kill_after(step, target):
    """Kills an attach at the step of that name."""
    result = heapsnap("attach", target.pid, "--exact", "-v", environment={"HEAPSNAP_FAIL_AT": "1000"})
    number = re.search(rf"step (\d+): {step}$", result.stderr, re.M)
    check(number, f"no such step: {result}")
    heapsnap_ok("detach", target.pid)
    heapsnap("attach", target.pid, "--exact", environment={"HEAPSNAP_KILL_AT": number[1]})


def left():
    """What a killed attach has left in a thread's own table is found there and closed by a thread that has it; what only looks like it is not."""
    if not root():
        return
    target, path = make_target(user=False)
    check_equal(target.ask("own 3"), "made", "answer")
    decoys = target.ask("decoys")
    check(int(decoys) >= 5, f"{decoys} decoys")
    check_equal(attach_state(target.pid), None, "state beside decoys")
    check("not attached" in heapsnap("detach", target.pid).stderr, "detach beside decoys")
    before = Unharmed(target.pid)
    known = {link for _, _, link in ours(target.pid)}
    # Each thread's table in turn, whatever their order.
    for owner, other in ((0, 0), (0, 1), (1, 2), (2, 0)):
        check_equal(target.ask(f"busy {owner}"), "busy", "answer")
        kill_after("map code", target)
        found = [entry for entry in ours(target.pid) if entry[2] not in known]
        check_equal(len(found), 1, f"threads that have a memory file of ours: {found}")
        check(attach_state(target.pid), "status says nothing of the rest")
        # The thread that has it waits, and another one is where calls are made.
        check_equal(target.ask(f"busy {other}"), "busy", "answer")
        result = heapsnap_ok("detach", target.pid)
        check(result["verified"], f"detach: {result}")
        check_equal([entry for entry in ours(target.pid) if entry[2] not in known], [], "memory files of ours")
        check_equal(attach_state(target.pid), None, "state")
        before.check_after(memory_may_change=True)
    check_equal(target.ask("busy 0"), "busy", "answer")
    check_equal(target.ask("decoys left"), decoys, "decoys left")
    check_untouched(path)
    target.end()


def left_beside_sharer():
    """A process has the same descriptors, and runs: what was left among them cannot be closed, and detach does not say that it is done."""
    if not root():
        return
    target, path = make_target(user=False)
    check_equal(target.ask("own 1"), "made", "answer")
    for _ in range(20):  # until it was the busy thread that made the calls, and has the file: it is its table that will be shared
        kill_after("map code", target)
        found = ours(target.pid)
        check_equal(len(found), 1, "memory files of ours")
        if found[0][0] != target.pid:
            break
        detach(target.pid)
    check(found[0][0] != target.pid, "the busy thread never made the calls")
    threads = thread_ids(target.pid)
    check_equal(target.ask("swap nothing"), "swaps", "answer")
    sharer = int(next(children for children in (read_text(f"/proc/{target.pid}/task/{tid}/children").split() for tid in threads) if children)[0])
    result = heapsnap("detach", target.pid, "--json")
    check_refused(result, f"the hooks are out of process {target.pid}, but its code stays mapped: process {sharer} ")
    check(attach_state(target.pid), "status says nothing of the rest")
    os.kill(sharer, signal.SIGKILL)
    wait_until(lambda: read_text(f"/proc/{sharer}/stat").rsplit(")", 1)[1].split()[0] == "Z", "the sharer has ended")
    detach(target.pid)
    check_equal((ours(target.pid), attach_state(target.pid)), ([], None), "what is left")
    check_untouched(path)
    target.end()


run_cases([own_table, sharers, sharers_of_another, unseen_sharers, left, left_beside_sharer], "descriptors")

# SPDX-License-Identifier: Apache-2.0
"""Settings are changed while attached: what is said of them, what is recorded from then on, and what bad input gets."""

import os
import re
import subprocess

import harness
import profiles
from harness import (Target, Unharmed, attach, attach_state, check, check_equal, check_refused, detach, dump, heapsnap, heapsnap_ok, root,
                     run_cases, say, start, stop, temporary_directory, wait_until)

NOBODY = 65534
EXACT = {"mode": "exact", "depth": 256}


def settings(pid):
    """As status has them, without the time."""
    result = heapsnap_ok("status", pid)["processes"][0]["settings"]
    check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", result.pop("since")), "since when")
    return result


def change(pid, *options):
    """One change; returns what is in force after it."""
    before = settings(pid)
    report = heapsnap_ok("set", pid, *options)
    check_equal((report["command"], report["pid"], report["before"]), ("set", pid, before), "what set says of before")
    check(report["threads"] >= 1 and report["stopped_us"] > 0, f"threads, time: {report}")
    check_equal(settings(pid), report["after"], "what status says after set")
    return report["after"]


def words_and_fields():
    target = Target("many_threads", 3)
    before = Unharmed(target.pid)
    attach(target.pid, "--exact")
    check_equal(settings(target.pid), EXACT, "after attach --exact")
    interval = {"mode": "interval", "interval_bytes": 524288, "depth": 256}
    check_equal(change(target.pid, "--sample", "512K"), interval, "sample")
    check_equal(change(target.pid, "--stop-recording"), dict(interval, mode="stopped", before="interval"), "stop")
    check_equal(change(target.pid, "--stop-recording"), dict(interval, mode="stopped", before="interval"), "stop again")
    check_equal(change(target.pid, "--depth", "20"), dict(interval, mode="stopped", before="interval", depth=20), "depth")
    check_equal(change(target.pid, "--start-recording"), dict(interval, depth=20), "start")
    check_equal(change(target.pid, "--start-recording"), dict(interval, depth=20), "start again")
    words = {"mode": "words", "interval_bytes": 80000, "samples_per_word": 0.0001, "depth": 20}
    check_equal(change(target.pid, "--samples-per-word", "1e-4"), words, "samples per word")
    budget = {"mode": "budget", "budget_percent": 2.5, "depth": 256}
    check_equal(change(target.pid, "--budget", "2.5", "--depth", "256"), budget, "budget")
    check_equal(change(target.pid, "--stop-recording"), dict(budget, mode="stopped", before="budget"), "stop with a budget")
    check_equal(change(target.pid, "--start-recording"), budget, "start with a budget")
    check_equal(change(target.pid, "--sample", "1"), EXACT, "sample 1")
    check_equal(change(target.pid, "--stop-recording"), dict(EXACT, mode="stopped", before="exact"), "stop where all was recorded")
    check_equal(change(target.pid, "--exact"), EXACT, "new settings where nothing was recorded")

    result = heapsnap("set", target.pid, "--sample", "64K", "--depth", "9")
    check_equal((result.status, result.stderr), (0, ""), str(result))
    check(re.search(r"every allocation.* 256 frames\n.*one sample in 64.0 KiB.* 9 frames", result.stdout), str(result))
    result = heapsnap("set", target.pid, "--samples-per-word", "1e-4", "-q")
    check_equal((result.stdout, result.stderr), ("", ""), "what -q prints")
    result = heapsnap("status", target.pid)
    check(re.search(r"records 0.0001 samples per word, one in 78.1 KiB.* 9 frames, since 2.*Z", result.stdout), str(result))
    state = heapsnap_ok("status", target.pid)["processes"][0]
    check(0 < state["region_used_pages"] < state["max_pages"] and 0 < state["region_used_percent"] < 100, f"how full: {state}")
    # 4096 by their hash, and as many more as fit into a quarter of the region, of eight pages each.
    slots = 4096 + min(65536, state["max_pages"] // 4 // 8)
    check_equal((state["region_used_bytes"], state["thread_slots"]), (4096 * state["region_used_pages"], slots), "how full")
    check_equal(target.ask("allocate"), "allocated", "answer")
    check_equal(heapsnap_ok("status", target.pid)["processes"][0]["thread_slots_used"], 1, "thread slots after one thread has allocated")
    before.check_attached()
    detach(target.pid)
    before.check_after(memory_may_change=True)
    for options, expected in ((["--sample", "8K"], {"mode": "interval", "interval_bytes": 8192, "depth": 256}),
                              (["--samples-per-word", "0.5"], {"mode": "words", "interval_bytes": 16, "samples_per_word": 0.5, "depth": 256}),
                              (["--exact", "--depth", "3"], dict(EXACT, depth=3))):
        attach(target.pid, *options)
        check_equal(settings(target.pid), expected, f"after attach {options}")
        detach(target.pid)
    target.end()


def what_is_recorded():
    """Blocks that are made while nothing is recorded are missing, all others are there; the depth holds from the next call on."""
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("fork_child")
    attach(target.pid, "--exact")

    def live(expected):
        report = dump(target.pid, path)
        site = profiles.by_innermost(path).get("site_parent_before", profiles.Values())
        check_equal((site.live_objects, site.live_bytes), (expected, 100 * expected), "blocks of site_parent_before")
        return report

    def allocate():
        check_equal(target.ask("allocate"), "allocated", "answer")
    allocate()
    live(50)
    change(target.pid, "--stop-recording")
    allocate()
    live(50)
    change(target.pid, "--start-recording")
    allocate()
    live(100)
    change(target.pid, "--sample", "100")  # blocks of the interval's size and more are recorded always
    allocate()
    live(150)
    for setting, words in (("--stop-recording", "nothing new is recorded now"), ("--start-recording", "now 1 sample every 100 B")):
        change(target.pid, setting)
        result = heapsnap("dump", target.pid, "-o", path)
        check(words in result.stdout, f"{words}: {result}")
    change(target.pid, "--sample", "2G")
    allocate()
    live(150)
    change(target.pid, "--exact")
    allocate()
    live(200)
    check(max(len(stack) for stack in profiles.stacks(path, "site_parent_before")) > 2, "stacks before the depth is changed")
    detach(target.pid)

    attach(target.pid, "--exact")
    change(target.pid, "--depth", "2")
    allocate()
    report = live(50)
    cuts = [line["value"] for line in report["ledger"] if line["name"] == "stack_cut_depth_limit"]
    check(cuts and cuts[0] >= 50, f"stacks cut by the depth: {report['ledger']}")
    change(target.pid, "--depth", "256")
    allocate()
    check_equal([line["value"] for line in live(100)["ledger"] if line["name"] == "stack_cut_depth_limit"], cuts, "stacks cut after that")
    detach(target.pid)
    target.end()


def not_attached():
    target = Target("many_threads", 3)
    check_equal(target.ask("allocate"), "allocated", "answer")
    before = Unharmed(target.pid)
    check_refused(heapsnap("set", target.pid, "--exact"), "not attached", str(target.pid), f"heapsnap attach {target.pid}")
    result = heapsnap("set", target.pid, "--exact", "--json")
    check_equal((result.status, result.json["error"]["code"]), (1, "not_found"), str(result))
    before.check_after()
    check_refused(heapsnap("set", harness.other_thread(target.pid), "--exact"), str(target.pid))
    attach(target.pid)
    detach(target.pid)
    check_refused(heapsnap("set", target.pid, "--sample", "4K"), "not attached")
    before.check_after(memory_may_change=True)
    target.end()

    child = subprocess.Popen(["/bin/true"])
    wait_until(lambda: harness.status_fields(child.pid, child.pid, ["State"])["State"][0] == "Z", "the child is a zombie")
    check_refused(heapsnap("set", child.pid, "--exact"), "zombie|exit|ended|dead")
    child.wait()
    check_refused(heapsnap("set", child.pid, "--exact"), "no.*process|not.*exist")
    for text in ["abc", "0", "", "1.5", "99999999999999999999"]:
        result = heapsnap("set", text, "--exact")
        check(result.status == 1 and result.stderr.startswith("heapsnap: "), str(result))


def half_attached():
    """What a killed attach or detach has left is no attached process: nothing is changed, detach clears it away."""
    target = Target("many_threads", 3)
    check_equal(target.ask("allocate"), "allocated", "answer")
    before = Unharmed(target.pid)
    tried = 0
    for step in range(1, 200):
        killed = heapsnap("attach", target.pid, environment={"HEAPSNAP_KILL_AT": str(step)})
        state = attach_state(target.pid)
        if killed.status == 0:
            break
        if state == "attach unfinished":
            check_refused(heapsnap("set", target.pid, "--exact"), "not attached|unfinished")
            check_equal(attach_state(target.pid), state, "state after set")
            tried += 1
        if state:
            detach(target.pid)
        before.check_after(memory_may_change=True, settle=20)
    check(tried > 3, f"an attach was left unfinished only {tried} times")
    target.end()


def inherited():
    """A forked child has hooks, but no region."""
    target = Target("fork_child")
    attach(target.pid)
    child = int(target.ask("stay"))
    check_refused(heapsnap("set", child, "--exact"), "not attached")
    change(target.pid, "--sample", "4K")
    detach(target.pid)
    os.kill(child, 9)
    target.end()


def not_permitted():
    if not root():
        return
    program = harness.copy_for_everybody()

    def as_nobody(*arguments):
        return heapsnap(*arguments, program=program, prefix=harness.as_user(NOBODY))

    mine = Target("many_threads", 2)
    attach(mine.pid, "--exact")
    check_refused(as_nobody("set", mine.pid, "--sample", "4K"), "uid|user", "root|sudo|CAP_SYS_PTRACE")
    check_equal(settings(mine.pid), EXACT, "settings after a refusal")
    detach(mine.pid)
    mine.end()

    theirs = start([*harness.as_user(NOBODY), "/usr/bin/python3", "-c", "import sys; print('ready', flush=True); sys.stdin.read()"],
                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    check_equal(theirs.stdout.readline(), b"ready\n", "answer")
    result = as_nobody("attach", theirs.pid, "--exact")
    if result.status == 0:
        # Without the right to open the region's file everything goes through the target's memory.
        for options in (["--sample", "4K"], ["--stop-recording"], ["--start-recording"], ["--exact"]):
            check_equal(as_nobody("set", theirs.pid, *options).status, 0, f"set {options} as another user")
        check_equal(settings(theirs.pid), EXACT, "settings")
        check_equal(as_nobody("detach", theirs.pid).status, 0, "detach as another user")
    else:
        say(f"  attach as another user is refused here: {result.stderr.strip()}")
    stop(theirs)


def wrong_usage():
    target = Target("many_threads", 2)
    attach(target.pid, "--exact")
    for options in ([], ["--json"], ["--sample"], ["--sample", "0"], ["--sample", "-4096"], ["--sample", "lots"], ["--sample", "3G"],
                    ["--samples-per-word", "0"], ["--samples-per-word", "-1"], ["--samples-per-word", "nan"], ["--samples-per-word", "5"],
                    ["--budget", "0"], ["--budget", "-3"], ["--budget", "101"], ["--budget", "much"], ["--depth", "0"], ["--depth", "300"],
                    ["--exact", "--sample", "4K"], ["--exact", "--stop-recording"], ["--max-memory", "10M"], ["-o", "x", "--exact"]):
        result = heapsnap("set", target.pid, *options)
        check_refused(result, status=2)
        if "--json" in options:
            check_equal(result.json["error"]["code"], "usage", str(result))
        else:
            check_equal(result.stdout, "", f"standard output of {result}")
    check_refused(heapsnap("set", "--exact"), "PID", status=2)
    check_equal(settings(target.pid), EXACT, "settings after wrong usage")
    detach(target.pid)
    target.end()
    result = heapsnap("set", "--help")
    check(result.status == 0 and "--stop-recording" in result.stdout, str(result))


run_cases([words_and_fields, what_is_recorded, not_attached, half_attached, inherited, not_permitted, wrong_usage], "set")

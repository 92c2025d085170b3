# SPDX-License-Identifier: Apache-2.0
"""Dumps that stop nobody, of a process at full load: no snapshot shows what the definition in docs/consistency.md forbids. And what a dump says of
the way it took, what it does when it cannot have it, and that dumps at one time do not disturb each other.
usage: running_dump.py [DUMPS]"""

import os
import sys
import threading

import harness
import profiles
from harness import Target, attach, check, check_equal, check_refused, detach, dump, heapsnap, run_test, say, temporary_directory

THREADS, STANDING = 6, 20000
PLACES = 64  # of each kind; test/targets/list_moves.c
RELEASED = 17000  # at once: more than the log of a region of 8 MiB has entries, 16,384


def live(sites, name):
    return sites.get(name, profiles.Values()).live_objects


def check_snapshot(path, what, standing=STANDING):
    sites = profiles.by_innermost(path)
    first, second = live(sites, "pair_first"), live(sites, "pair_second")
    counts = {name: live(sites, name) for name in ("pair_first", "pair_second", "changed", "moved", "gap", "standing")}
    check_equal(counts["changed"], PLACES, f"{what}: blocks that are only ever reallocated ({counts})")
    check(PLACES <= counts["moved"] <= 2 * PLACES, f"{what}: blocks of which there are one or two in each place: {counts}")
    check(counts["gap"] <= PLACES, f"{what}: blocks of which there is one or none in each place: {counts}")
    check(second <= first <= PLACES, f"{what}: the second of a pair without the first: {counts}")
    check_equal(counts["standing"], standing, f"{what}: blocks that nobody touches")
    for name, values in sites.items():
        check(values.alloc_objects >= values.live_objects, f"{what}: more live than allocated at {name}: {values}")


def comments(path):
    return profiles.read(path).comments


def check_ran(report, what):
    check_equal((report["stopped"], report["stopped_because"], report["stopped_us"]), (False, "", 0), f"{what}: {report['stopped_because']}")



def many_dumps(target, dumps, directory):
    records, log_records = 0, 0
    for i in range(dumps):
        path = os.path.join(directory, f"{i}.pb.gz")
        report = dump(target.pid, path)
        check_ran(report, f"dump {i}")
        check_snapshot(path, f"dump {i}")
        records += report["live_objects"]
        log_records += report["log_records"]
        os.unlink(path)
    check(log_records > 0, "no block went while a dump copied: the process has no load")
    say(f"  {dumps} dumps, {records} blocks in them, {log_records} of them from the log: none wrong")


def both_ways_agree(target, directory):
    """And each says which it was."""
    running, stopped = (os.path.join(directory, name) for name in ("running.pb.gz", "stopped.pb.gz"))
    dump(target.pid, running)
    check_snapshot(running, "running")
    report = dump(target.pid, stopped, "--stop")
    check_equal((report["stopped"], report["stopped_because"]), (True, "asked for"), "dump --stop")
    check(report["stopped_us"] > 0, f"dump --stop stopped nobody: {report}")
    check_snapshot(stopped, "stopped")
    check(any("no thread was stopped" in text for text in comments(running)), f"comments: {comments(running)}")
    check(any("process was stopped" in text and "asked for" in text for text in comments(stopped)), f"comments: {comments(stopped)}")
    said = heapsnap("dump", target.pid, "-o", running)
    check("no pause; copied concurrently" in said.stdout + said.stderr, str(said))
    check_refused(heapsnap("attach", target.pid, "--stop"), "--stop is only valid with dump", status=2)


def at_one_time(target, directory):
    """They take turns."""
    failures = []

    def one(number):
        try:
            for i in range(4):
                path = os.path.join(directory, f"at_once.{number}.{i}.pb.gz")
                dump(target.pid, path)
                check_snapshot(path, f"dump {i} of {number}")
        except harness.Failure as failure:
            failures.append(failure)
    threads = [threading.Thread(target=one, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(not failures, "\n".join(map(str, failures)))


def killed(target, directory):
    """A dump that is killed at each of its steps leaves nothing that the next one minds."""
    path, steps = os.path.join(directory, "killed.pb.gz"), 0
    for variable in ("HEAPSNAP_KILL_AT", "HEAPSNAP_KILL_AT_REQUEST"):
        for step in range(1, 100):
            result = heapsnap("dump", target.pid, "-o", path, environment={variable: str(step)})
            if result.status == 0:
                break
            check_equal(result.status, -9, str(result))
            steps += 1
            report = dump(target.pid, path)
            check_ran(report, f"the dump after one that was killed at {variable} {step}")
            check_snapshot(path, f"after {variable} {step}")
            os.unlink(path)
        check(step > 2, f"{variable} has no effect")
    say(f"  killed at {steps} steps and requests, each followed by a good dump")


def no_right(target, directory):
    """Who may not open the region has the threads stopped, and is told."""
    path = os.path.join(directory, "no_right.pb.gz")
    without = ["setpriv", "--bounding-set=-sys_admin,-checkpoint_restore", "--inh-caps=-sys_admin,-checkpoint_restore"]
    report = dump(target.pid, path, prefix=without)
    check_equal(report["stopped"], True, "a dump that cannot open the region")
    check("memory" in report["stopped_because"], report["stopped_because"])
    check_snapshot(path, "without the right to open the region")


def log_full(directory):
    """More goes while a dump copies than the log has room for: it begins anew, and if the log gets full again, stops the threads. It says so."""
    path, target = os.path.join(directory, "full.pb.gz"), Target("list_moves", THREADS, 3 * RELEASED)
    attach(target.pid, "--exact", "--max-memory", "8M")
    check_equal(target.ask("begin"), "begun", "answer")
    releases = []

    def release():
        if releases:
            check_equal(target.ask(f"release {releases.pop()}"), "released", "answer")
    releases = [RELEASED]
    report = harness.heapsnap_stopping("read the log", release, "dump", target.pid, "-o", path)
    check_ran(report, "a dump whose log got full once")
    check_equal(report["copies"], 2, "copies of a dump whose log got full once")
    check_snapshot(path, "the log got full once", 2 * RELEASED)
    releases = [RELEASED, RELEASED]
    report = harness.heapsnap_stopping("read the log", release, "dump", target.pid, "-o", path)
    check_equal((report["stopped"], report["copies"], releases), (True, 2, []), f"a dump whose log got full twice: {report}")
    check("log overflowed" in report["stopped_because"], report["stopped_because"])
    check(any("process was stopped" in text and "log overflowed" in text for text in comments(path)), f"comments: {comments(path)}")
    check_snapshot(path, "the log got full twice", 0)
    report = dump(target.pid, path)
    check_ran(report, "the dump after it")
    check_equal(report["copies"], 1, "copies of the dump after it")
    detach(target.pid)
    check_equal(target.end(), "ok\n", "end of the target")
    say("  log_full: ok")


def main():
    dumps = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    directory = temporary_directory()
    target = Target("list_moves", THREADS, STANDING)
    attach(target.pid, "--exact")
    check_equal(target.ask("begin"), "begun", "answer")
    many_dumps(target, dumps, directory)
    for case in (both_ways_agree, at_one_time, killed, no_right):
        case(target, directory)
        say(f"  {case.__name__}: ok")
    detach(target.pid)
    check_equal(target.end(), "ok\n", "end of the target")
    log_full(directory)


run_test(main, "dumps that stop nobody")

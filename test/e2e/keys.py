# SPDX-License-Identifier: Apache-2.0
"""Which blocks a snapshot is of (--older-than and the like), and what is said of them (--labels, --by): compared with a program that knows the threads, sizes
and ages of its blocks. usage: keys.py [CASE...]"""

import os
import re
import time

import pprof_reader
from harness import Target, attach, check, check_equal, check_refused, detach, dump, heapsnap, heapsnap_ok, run_cases, say, temporary_directory

SMALL, LARGE = 100, 5000
BATCH = 16  # most allocations that one reading of the clock is for (inject/hook/block_events.c)


def begin(*options):
    target = Target("keys")
    attach(target.pid, *options)
    return target


def kept(target, *commands):
    for command in commands:
        check_equal(target.ask(command), "freed" if command.startswith("free") else "kept", command)


def end(target):
    detach(target.pid)
    target.send("quit")
    target.end()


def live(value):
    return value["live_objects"], value["live_bytes"]


def rows(value):
    return {row["name"]: live(row) for row in value["rows"]}


def selected(target, *options):
    """What is selected; all that is recorded is said beside it, and all three parts make the whole."""
    value = heapsnap_ok("report", target.pid, *options)
    check(value["selection"], f"no selection: {value}")
    check(value["live_objects"] + value["undecided_objects"] <= value["recorded_objects"], f"more than there is: {value}")
    return value


def sizes_and_threads():
    target = begin()
    kept(target, f"first 1000 {SMALL}", f"second 500 {LARGE}", f"second 50 {SMALL}")
    value = selected(target, "--min-size", LARGE)
    check_equal((live(value), value["recorded_objects"], value["undecided_objects"]), ((500, 500 * LARGE), 1550, 0), "large ones")
    check_equal(value["selection"], "of at least 5000 bytes", "in words")
    check_equal(live(selected(target, "--thread", "first")), (1000, 1000 * SMALL), "of the first")
    check_equal(live(selected(target, "--thread", "second", "--min-size", "4K")), (500, 500 * LARGE), "of both kinds")
    by_name = {open(f"/proc/{target.pid}/task/{tid}/comm", encoding="ascii").read().strip(): tid for tid in os.listdir(f"/proc/{target.pid}/task")}
    check_equal(live(selected(target, "--thread", by_name["second"])), (550, 500 * LARGE + 50 * SMALL), "by its id")
    check_equal(rows(heapsnap_ok("report", target.pid, "--by", "thread")),
                {f"first ({by_name['first']})": (1000, 1000 * SMALL), f"second ({by_name['second']})": (550, 500 * LARGE + 50 * SMALL)}, "rows by thread")
    check_equal(rows(heapsnap_ok("report", target.pid, "--by", "size")),
                {"4 KiB..8 KiB": (500, 500 * LARGE), "64 B..127 B": (1050, 1050 * SMALL)}, "rows by size")
    shown = heapsnap("report", target.pid, "--by", "thread", "--min-size", "4K").stdout
    check(re.search(r"^Only blocks of at least 4096 bytes:\n  selected +2.4 MiB  in 500 blocks; nothing else is shown$", shown, re.M), shown)
    check(re.search(r"^  recorded live +2.5 MiB  in 1,550 blocks", shown, re.M), f"the whole is not shown: {shown}")
    check_equal(target.ask("end"), "ended", "the second")
    check_refused(heapsnap("report", target.pid, "--thread", "second"), "no thread 'second'", "known by its id alone")
    check_equal(live(selected(target, "--thread", by_name["second"])), (550, 500 * LARGE + 50 * SMALL), "one that has ended, by its id")
    check_equal(set(rows(heapsnap_ok("report", target.pid, "--by", "thread"))), {f"first ({by_name['first']})", by_name["second"]}, "one has ended")
    end(target)


def ages():
    """Each block that is said to be of an age is; what is left out as not proven is of one reading of the clock."""
    target = begin()
    kept(target, f"first 1000 {SMALL}", f"second 5 {SMALL}")
    old = time.monotonic()
    time.sleep(2.5)
    young = time.monotonic()
    kept(target, f"first 300 {LARGE}")
    value = selected(target, "--older-than", f"{(time.monotonic() - young) * 1000 + 1000:.0f}ms")
    check(1000 - BATCH <= value["live_objects"] <= 1000 and value["live_bytes"] == value["live_objects"] * SMALL, f"older ones: {value}")
    check(value["undecided_objects"] <= 2 * BATCH and value["live_objects"] + value["undecided_objects"] >= 1005, f"of one reading: {value}")
    value = selected(target, "--younger-than", f"{time.monotonic() - young + 1:.3f}s")
    check(300 - BATCH <= value["live_objects"] <= 300 and value["live_bytes"] == value["live_objects"] * LARGE, f"younger ones: {value}")
    value = selected(target, "--older-than", "1h")
    check_equal((live(value), value["undecided_objects"], value["recorded_objects"]), ((0, 0), 0, 1305), "none is that old")
    check_equal(live(selected(target, "--younger-than", f"{time.monotonic() - old + 3600:.0f}s")), (1305, 1005 * SMALL + 300 * LARGE), "all are that young")
    found = rows(heapsnap_ok("report", target.pid, "--by", "age"))
    check(set(found) <= {"unknown", "under 1 s", "1 s..10 s", "10 s..1 min"}, f"rows by age: {found}")
    check(found.get("unknown", (0, 0))[0] <= 4 * BATCH, f"too many are not known: {found}")
    check_equal(sum(count for count, _ in found.values()), 1305, "all of them")
    shown = heapsnap("report", target.pid, "--older-than", "1500ms").stdout
    check(re.search(r"^Only blocks older than 1.5 s:$", shown, re.M) and "left out" in shown, shown)
    end(target)


def since():
    """To the block, also where no clock could tell."""
    target = begin()
    folder = temporary_directory()
    first, stopped, other = (os.path.join(folder, name) for name in ("first.pb.gz", "stopped.pb.gz", "other.pb.gz"))
    kept(target, f"first 1003 {SMALL}")
    dump(target.pid, first)
    kept(target, f"first 77 {LARGE}", f"second 9 {LARGE}")
    value = selected(target, "--since-dump", first)
    check_equal((live(value), value["undecided_objects"], value["recorded_objects"]), ((86, 86 * LARGE), 0, 1089), "since the first")
    dump(target.pid, stopped, "--stop")
    kept(target, f"first 500 {SMALL}")
    value = selected(target, "--since-dump", stopped)
    check(500 - BATCH <= value["live_objects"] <= 500 and value["undecided_objects"] <= 2 * BATCH, f"since the second: {value}")
    kept(target, "free 500")
    value = selected(target, "--since-dump", first)
    check_equal(live(value), (86, 86 * LARGE), "what was freed is gone")
    detach(target.pid)
    attach(target.pid)
    check_refused(heapsnap("report", target.pid, "--since-dump", first), "attach before this one")
    with open(other, "wb") as file:
        file.write(b"nonsense")
    check_refused(heapsnap("report", target.pid, "--since-dump", other), "cannot read")
    end(target)


def labels():
    target = begin()
    folder = temporary_directory()
    path, plain = os.path.join(folder, "labels.pb.gz"), os.path.join(folder, "plain.pb.gz")
    kept(target, f"first 1000 {SMALL}", f"second 500 {LARGE}", f"second 50 {SMALL}", "free 50")
    dump(target.pid, path, "--labels", "thread,size,age")
    dump(target.pid, plain)
    for unit in ("thread", "size"):
        check_equal(rows(heapsnap_ok("report", path, "--by", unit)), rows(heapsnap_ok("report", target.pid, "--by", unit)), f"by {unit}, from a file")
        check_refused(heapsnap("report", plain, "--by", unit), f"does not say the {unit} of its blocks", f"--labels {unit}")
    check_equal(sum(count for count, _ in rows(heapsnap_ok("report", path, "--by", "age")).values()), 1500, "all of them, by age")
    for options in ((), ("--by", "function"), ("--tree",)):
        with_labels, without = (heapsnap_ok("report", file, *options) for file in (path, plain))
        for value in with_labels, without:
            for key in ("file", "stacks", "stack_count", "time_ns", "duration_ns", "ledger"):
                value.pop(key, None)
        check_equal(with_labels, without, f"labels change nothing else: {options}")
    check_equal(live(heapsnap_ok("diff", plain, path)), (0, 0), "nor in a difference")
    text = pprof_reader.run("-sample_index=inuse_space", "-tags", path)
    check(re.search(r"thread:.*\n.*second \(\d+\)", text) and re.search(r"size:.*\n.*4kB", text) and re.search(r"age:", text), f"pprof's tags: {text}")
    focused = pprof_reader.run("-sample_index=inuse_space", "-top", "-unit=B", "-tagfocus=second", path)
    check(f"{500 * LARGE}B" in focused, f"pprof's -tagfocus: {focused}")
    end(target)


def files():
    """A file says which blocks alone it has, in all formats that can."""
    target = begin()
    folder = temporary_directory()
    path, as_json = os.path.join(folder, "part.pb.gz"), os.path.join(folder, "part.json")
    kept(target, f"first 1000 {SMALL}", f"second 500 {LARGE}")
    dump(target.pid, path, "--min-size", "4K")
    dump(target.pid, as_json, "--min-size", "4K", "--labels", "size,thread")
    value = heapsnap_ok("report", path)
    check_equal((value["selection"], live(value), value["recorded_objects"]), ("of at least 4096 bytes", (500, 500 * LARGE), 1500), "read back")
    check("Only blocks of at least 4096 bytes:" in heapsnap("report", path).stdout, "report says it")
    profile = pprof_reader.decode(path)
    check(len(profile.comments) <= 5 and profile.comments[0].endswith("; only blocks of at least 4096 bytes"), f"comments: {profile.comments}")
    difference, whole = os.path.join(folder, "difference.pb.gz"), os.path.join(folder, "whole.pb.gz")
    dump(target.pid, whole)
    for first, words in ((path, "of at least 4096 bytes"), (whole, "of at least 4096 bytes in the later profile, of all kinds in the earlier one")):
        check_equal(heapsnap_ok("diff", first, path, "-o", difference)["selection"], words, "a difference of parts")
        check(f"\nOnly blocks {words}.\n" in heapsnap("diff", first, path).stdout, "diff says it")
        check(f"\nOnly blocks {words}.\n" in heapsnap("report", difference).stdout, "report of the difference says it")
    with open(as_json, encoding="utf-8") as file:
        text = file.read()
    check('"selection":"of at least 4096 bytes"' in text and '"size_class":4096' in text and '"thread":"second (' in text, text[:1000])
    end(target)


def estimates():
    """Where not every block is recorded, a part is estimated without bias, as the whole is."""
    target = begin("--sample", "2K")
    kept(target, f"first 20000 {SMALL}", f"second 2000 {LARGE}")
    for options, expected in ((("--thread", "first"), 20000 * SMALL), (("--min-size", LARGE), 2000 * LARGE)):
        value = selected(target, *options)
        error = max(value["live_bytes_error"], 1)
        check(value["estimate"] and abs(value["live_bytes"] - expected) < 6 * error + 4096, f"{options}: {value['live_bytes']} ±{error}, not {expected}")
        say(f"  {options}: {value['live_bytes']} ±{error} of {expected}")
    end(target)


def survivors():
    """To the block: what was live in the first dump and still is in the second, whatever came and went meanwhile."""
    target = begin()
    folder = temporary_directory()
    old, new, plain, stopped, later = (os.path.join(folder, name) for name in ("old.pb.gz", "new.pb.gz", "plain.pb.gz", "stopped.pb.gz", "later.pb.gz"))
    kept(target, f"first 1000 {SMALL}", f"second 203 {LARGE}", f"first 100 {SMALL}")
    dump(target.pid, old)
    dump(target.pid, stopped, "--stop")
    kept(target, "free 150", f"first 400 {SMALL}", f"second 7 {LARGE}")  # all of the last 100, and 50 of those before
    dump(target.pid, new, "--labels", "dump,thread")
    dump(target.pid, plain)
    expected = 1153, 1000 * SMALL + 153 * LARGE
    value = heapsnap_ok("diff", old, new, "--survivors")
    check_equal((live(value), value["recorded_objects"], value["command"]), (expected, 1560, "diff"), "survivors")
    check_equal((value["live_objects_before"], value["live_bytes_before"]), (1303, 1100 * SMALL + 203 * LARGE), "of how many")
    check(0 < value["seconds"] < 600, f"how much later: {value['seconds']}")
    check_equal(sum(count for count, _ in rows(heapsnap_ok("diff", old, new, "--survivors", "--by", "thread")).values()), 1153, "by thread")
    shown = heapsnap("diff", old, new, "--survivors").stdout
    check(re.search(r"^Survivors after [0-9.]+ m?s: 1,153 of the 1,303 blocks that were live in the first dump, 844.7 KiB of 1.1 MiB$", shown, re.M)
          and re.search(r"^Only blocks of the first dump that are still live:\n  selected +844.7 KiB  in 1,153 blocks", shown, re.M), shown)
    check_refused(heapsnap("diff", old, plain, "--survivors"), "--labels dump")
    check_refused(heapsnap("diff", stopped, new, "--survivors"), "without --stop")
    check_refused(heapsnap("diff", new, old, "--survivors"), "earlier dump first")
    heapsnap_ok("diff", old, new, "--survivors", "-o", plain)
    value = heapsnap_ok("report", plain)
    check_equal((live(value), value["selection"]), (expected, "of the first dump that are still live"), "written")
    detach(target.pid)
    attach(target.pid)
    kept(target, f"first 5 {SMALL}")
    dump(target.pid, later, "--labels", "dump")
    check_refused(heapsnap("diff", old, later, "--survivors"), "different attaches")
    end(target)


def changes():
    """A difference by what both dumps say of their blocks; what one of them does not say is refused."""
    target = begin()
    folder = temporary_directory()
    old, new, sizes, plain, written = (os.path.join(folder, name) for name in ("old.pb.gz", "new.pb.gz", "sizes.pb.gz", "plain.pb.gz", "d.pb.gz"))
    kept(target, f"first 100 {SMALL}", f"second 20 {LARGE}")
    dump(target.pid, old, "--labels", "thread,size,age")
    time.sleep(1.5)
    kept(target, "free 10", f"first 30 {LARGE}", f"second 7 {SMALL}")
    dump(target.pid, new, "--labels", "thread,size,age")
    dump(target.pid, sizes, "--labels", "size")
    dump(target.pid, plain)
    by_name = {open(f"/proc/{target.pid}/task/{tid}/comm", encoding="ascii").read().strip(): tid for tid in os.listdir(f"/proc/{target.pid}/task")}
    by_thread, by_size, by_age = (rows(heapsnap_ok("diff", old, new, "--by", unit)) for unit in ("thread", "size", "age"))
    check_equal(by_thread, {f"first ({by_name['first']})": (30, 30 * LARGE), f"second ({by_name['second']})": (-3, 7 * SMALL - 10 * LARGE)}, "by thread")
    check_equal(list(by_size.items()), [("64 B..127 B", (7, 7 * SMALL)), ("4 KiB..8 KiB", (20, 20 * LARGE))], "by size, smallest first")
    check(set(by_age) <= {"unknown", "under 1 s", "1 s..10 s", "10 s..1 min"}, f"by age: {by_age}")
    check_equal((sum(count for count, _ in by_age.values()), sum(size for _, size in by_age.values())), (27, 20 * LARGE + 7 * SMALL), "by age, in all")
    shown = heapsnap("diff", old, new, "--by", "thread").stdout
    check(re.search(r"^ *\+146\.5 KiB +\+30  first \(", shown, re.M), shown)
    heapsnap_ok("diff", old, new, "--by", "thread", "-o", written)
    check_equal(rows(heapsnap_ok("report", written, "--by", "thread")), by_thread, "a difference that was written has the labels")
    check_equal(rows(heapsnap_ok("diff", old, sizes, "--by", "size")), by_size, "each says more than what is asked for")
    check_refused(heapsnap("diff", old, sizes, "--by", "thread"), f"{sizes} does not say the thread of its blocks: write both with dump --labels thread")
    check_refused(heapsnap("diff", plain, new, "--by", "age"), f"{plain} does not say the age of its blocks")
    check_refused(heapsnap("diff", plain, plain, "--by", "size"), "neither profile says the size of its blocks")
    end(target)


def words():
    for arguments in (("--older-than", "soon"), ("--younger-than", "0"), ("--min-size", "0"), ("--thread", ""), ("--since-dump", ""), ("--labels", "colour"),
                      ("--labels", "thread,"), ("--older-than", "10s", "--younger-than", "10s")):
        check_refused(heapsnap("dump", os.getpid(), *arguments), f"{arguments[0]}", status=2)
    check_refused(heapsnap("report", "x.pb.gz", "--older-than", "1s"), "need a process", status=2)
    check_refused(heapsnap("diff", "a", "b", "--older-than", "1s"), "only valid with dump", status=2)


run_cases([sizes_and_threads, ages, since, labels, files, estimates, survivors, changes, words], "keys")

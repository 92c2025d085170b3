# SPDX-License-Identifier: Apache-2.0
"""By which function each live block was made, and whose function that is (--labels kind,allocator, --by kind and allocator): compared with a program that knows
it. usage: kinds.py [CASE...]"""

import collections
import json
import os
import re

import pprof_reader
from harness import Target, attach, check, check_equal, check_refused, detach, dump, heapsnap, heapsnap_ok, leave_out, run_cases, target_path, temporary_directory

JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
LIBC = "libc.so.6"
PER_SAMPLE = 1024


def begin(*options, program="kinds", preload=None):
    target = Target(program, command=["env", f"LD_PRELOAD={preload}", target_path(program)] if preload else None)
    attach(target.pid, *options)
    return target


def keep(target, tells_arrays=False):
    """The account: kind -> objects and bytes. libstdc++'s operator new[] jumps to operator new, and no frame of it is left to tell; jemalloc's is the same code."""
    account = collections.defaultdict(lambda: (0, 0))
    *lines, _ = target.ask_json("keep")
    for line in lines:
        kind = line["kind"] if tells_arrays else line["kind"].removesuffix("[]")
        objects, size = account[kind]
        account[kind] = objects + line["objects"], size + line["bytes"]
    return dict(account)


def rows(value):
    return {row["name"]: (row["live_objects"], row["live_bytes"]) for row in value["rows"]}


def whole(account):
    return tuple(map(sum, zip(*account.values())))


def end(target):
    check_equal(target.ask("drop"), "dropped", "answer")
    check_equal(heapsnap_ok("report", target.pid)["live_objects"], 0, "blocks when all are given back")
    detach(target.pid)
    target.end()


def blocks():
    target = begin("--exact")
    account = keep(target)
    check_equal(rows(heapsnap_ok("report", target.pid, "--by", "kind")), account, "by kind")
    check_equal(rows(heapsnap_ok("report", target.pid, "--by", "allocator")), {LIBC: whole(account)}, "by allocator")
    shown = heapsnap("report", target.pid, "--by", "kind").stdout
    check(re.search(r"^ +[0-9.]+ KiB +75 +operator new$", shown, re.M), shown)
    end(target)


def of_another_allocator():
    if not os.path.exists(JEMALLOC):
        leave_out(f"there is no {JEMALLOC}")
        return
    target = begin("--exact", preload=JEMALLOC)
    account = keep(target)
    check_equal(rows(heapsnap_ok("report", target.pid, "--by", "kind")), account, "by kind")
    libc = {"reallocarray": account.pop("reallocarray")}  # jemalloc has none; the C library's calls jemalloc's realloc
    check_equal(rows(heapsnap_ok("report", target.pid, "--by", "allocator")),
                {os.path.basename(JEMALLOC): whole(account), LIBC: whole(libc)}, "by allocator")
    end(target)


def own_operators():
    """Of operators that call malloc the stack tells."""
    target = begin("--exact", program="kinds_own_operators")
    account = keep(target, tells_arrays=True)
    check_equal(rows(heapsnap_ok("report", target.pid, "--by", "kind")), account, "by kind")
    check_equal(rows(heapsnap_ok("report", target.pid, "--by", "allocator")), {LIBC: whole(account)}, "by allocator")
    end(target)


def watched():
    """Operators without a frame of ours: the hook that sees the block is that of the place where they return."""
    target = Target("watched")
    attach(target.pid, "--exact")
    held = json.loads(target.ask("hold"))
    found = rows(heapsnap_ok("report", target.pid, "--by", "kind"))
    check_equal(whole(found), (held["blocks"], held["bytes"]), "all of them")
    check_equal({kind: objects for kind, (objects, _) in found.items()}, dict.fromkeys(("operator new", "operator new[]"), held["blocks"] // 2), "by kind")
    check_equal(rows(heapsnap_ok("report", target.pid, "--by", "allocator")), {"watched": whole(found)}, "by allocator")
    detach(target.pid)
    target.end()


def files():
    """All that is written and read again says the same."""
    target = begin("--exact")
    folder = temporary_directory()
    path, plain, as_json, old = (os.path.join(folder, name) for name in ("kinds.pb.gz", "plain.pb.gz", "kinds.json", "old.pb.gz"))
    dump(target.pid, old, "--labels", "kind,allocator")
    account = keep(target)
    dump(target.pid, path, "--labels", "kind,allocator")
    dump(target.pid, as_json, "--labels", "allocator,kind")
    dump(target.pid, plain)
    check_equal(rows(heapsnap_ok("report", path, "--by", "kind")), account, "by kind, from a file")
    check_equal(rows(heapsnap_ok("report", path, "--by", "allocator")), {LIBC: whole(account)}, "by allocator, from a file")
    check_equal(rows(heapsnap_ok("diff", old, path, "--by", "kind")), account, "a difference")
    check_refused(heapsnap("report", plain, "--by", "kind"), "does not say the kind of its blocks", "--labels kind")
    check_refused(heapsnap("diff", old, plain, "--by", "allocator"), "does not say the allocator of its blocks")
    for options in ((), ("--by", "function"), ("--tree",)):
        with_labels, without = (heapsnap_ok("report", file, *options) for file in (path, plain))
        for value in with_labels, without:
            for key in ("file", "stacks", "stack_count", "time_ns", "duration_ns", "ledger"):
                value.pop(key, None)
        check_equal(with_labels, without, f"labels change nothing else: {options}")
    with open(as_json, encoding="utf-8") as file:
        text = file.read()
    check('"kind":"posix_memalign","allocator":"libc.so.6"' in text and '"kind":"operator new","allocator":"libc.so.6"' in text, text[:2000])
    tags = pprof_reader.run("-sample_index=inuse_objects", "-tags", path)
    check(re.search(r"kind:.*\n(.*\n)*.*operator new", tags) and re.search(r"allocator:.*\n.*libc.so.6", tags), f"pprof's tags: {tags}")
    focused = pprof_reader.run("-sample_index=inuse_space", "-top", "-unit=B", "-tagfocus=kind=^reallocarray$", path)
    check(f"{account['reallocarray'][1]}B" in focused, f"pprof's -tagfocus: {focused}")
    end(target)


def estimates():
    """A block is sampled by other ways than where all are recorded; a kind's estimate is unbiased all the same."""
    target = begin("--sample", PER_SAMPLE)
    account = keep(target)
    found = heapsnap_ok("report", target.pid, "--by", "kind")
    for row in found["rows"]:
        truth = account[row["name"]][1]
        check(abs(row["live_bytes"] - truth) < 6 * row["live_bytes_error"] + 6 * PER_SAMPLE, f"{row['name']}: {row['live_bytes']}, not {truth}")
    missing = [name for name, (_, size) in account.items() if size > 20 * PER_SAMPLE and name not in rows(found)]
    check(not missing, f"no row: {missing}")
    check_equal(rows(found)["operator new"], account["operator new"], "blocks of more than the interval are all recorded")
    end(target)


run_cases([blocks, of_another_allocator, own_operators, watched, files, estimates], "kinds")

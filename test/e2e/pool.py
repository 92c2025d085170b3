# SPDX-License-Identifier: Apache-2.0
"""Functions that the user adds: the blocks of pools of the program's own are seen, each once; a name that is nowhere, or in two places, is
refused before anything is touched."""

import os

import profiles
from harness import (Target, Unharmed, attach, check, check_equal, check_refused, detach, dump, heapsnap, run_test, say, temporary_directory)

POOL = ["--allocator", "pool_alloc=alloc(_,size)", "--allocator", "pool_free=free(_,block)"]
ALL = POOL + ["--allocator", "pool_realloc=realloc(_,_,block,count,size)", "--allocator", "pool_drop=free(_,block,_)",
              "--allocator", "take_block=alloc(size,*block)", "--allocator", "give_block=free"]


def work(target):
    *account, _ = target.ask_json("work")
    return {line["site"]: profiles.Values(line["calls"], 0, line["objects"], line["bytes"]) for line in account}


def live(path):
    """Without the bytes allocated since attach, of which the program keeps no account."""
    return {name: profiles.Values(values.alloc_objects, 0, values.live_objects, values.live_bytes)
            for name, values in profiles.by_innermost(path).items()}


def ledger(report, name):
    return next(line["value"] for line in report["ledger"] if line["name"] == name)


def check_everything(target, path):
    before = Unharmed(target.pid)
    attach(target.pid, *ALL)
    before.check_attached()
    account = work(target)
    report = dump(target.pid, path)
    check_equal(live(path), account, "sites")
    check_equal([ledger(report, name) for name in ("unknown_frees", "replaced", "failed_allocations")], [0, 0, 116],
                "unknown frees, replaced blocks, failed reallocations")
    check_equal(target.ask("finish"), "ok", "answer")
    report = dump(target.pid, path)
    check_equal((report["live_objects"], ledger(report, "unknown_frees")), (0, 0), "live blocks and unknown frees at the end")
    detach(target.pid)
    before.check_after(memory_may_change=True)
    return account


def check_without(target, path):
    """Neither is seen where it is not asked for."""
    attach(target.pid)
    work(target)
    dump(target.pid, path)
    sites = live(path)
    check("site_pool_alloc" not in sites and "site_malloc" in sites, f"sites without --allocator: {sites}")
    check_equal(target.ask("finish"), "ok", "answer")
    detach(target.pid)


def check_refusals(target):
    before = Unharmed(target.pid)
    check_refused(heapsnap("attach", target.pid, *POOL, "--allocator", "pool_destroy=free(block)"), "pool_destroy", "no module")
    check_refused(heapsnap("attach", target.pid, *POOL, "--allocator", "cannot_be_hooked=malloc"), "cannot_be_hooked of", "cannot be moved")
    check_refused(heapsnap("attach", target.pid, "--allocator", "pool_alloc=alloc(_)"), "no argument size", status=2)
    check_refused(heapsnap("attach", target.pid, "--allocator", "pool_alloc"), "NAME=KIND", status=2)
    before.check_after()


def check_copies(target):
    """Copies that the compiler has made for some callers are named, until they are hooked themselves."""
    told = heapsnap("check", target.pid, *POOL).stdout
    check("made 1 copy of hooked functions" in told and "not be seen: pool_alloc.constprop.0: name" in told, told)
    check("constprop" not in heapsnap("check", target.pid).stdout, "a copy of a function that is not hooked")
    told = heapsnap("check", target.pid, *POOL, "--allocator", "pool_alloc.constprop.0=alloc(size)").stdout
    check("copy of hooked" not in told and "pool_alloc.constprop.0" in told, told)


def main():
    target = Target("pool")
    work(target)
    check_equal(target.ask("finish"), "ok", "answer")
    path = os.path.join(temporary_directory(), "out.pb.gz")
    check_refusals(target)
    check_copies(target)
    account = check_everything(target, path)
    check_without(target, path)
    target.end()
    say(f"sites of pools: {sorted(account)}")


run_test(main, "pool")

# SPDX-License-Identifier: Apache-2.0
"""One program, linked in every way that programs are (test/targets/linkings.cmake): what is live equals its own account, site by site, with
names and whole stacks from main and from each thread; it is unharmed. And those that must be refused, with what would help.
usage: linkings.py [PROGRAM...]"""

import os
import re
import sys

import profiles
from harness import (Target, Unharmed, attach, check, check_equal, check_refused, detach, dump, heapsnap, leave_out, run_test, say, target_path,
                     temporary_directory, wait_until)

THREADS = 5
ROUNDS = 4
CHAIN = ["all_sites", *["middle"] * 6]  # between an allocating function and main's or the thread's own


class Linking:
    """`ends`: names that the outermost frames below main and below the thread's function may have; "0x" stands for any code without a symbol."""

    def __init__(self, name, ends, thread_ends=None):
        self.name, self.ends, self.thread_ends = name, ends, thread_ends or ends


GLIBC = Linking("", ["_start"], ["clone3", "__clone3"])
LINKINGS = [
    Linking("linked_no_pie", GLIBC.ends, GLIBC.thread_ends),
    Linking("linked_dynsym", ["_start"], GLIBC.thread_ends),
    Linking("linked_static", GLIBC.ends, GLIBC.thread_ends),
    Linking("linked_static_pie", GLIBC.ends, GLIBC.thread_ends),
    Linking("linked_musl", ["0x", "__libc_start_main"], ["0x", "pthread_create"]),
    Linking("linked_musl_static", ["libc_start_main_stage2"], ["start"]),
    Linking("linked_musl_static_pie", ["libc_start_main_stage2"], ["start"]),
]
RUST = ["linked_rust", "linked_rust_v0", "linked_rust_jemalloc"]
REFUSED = {
    "linked_static_stripped": ["no allocation function", "static program with no symbols", "not stripped"],
    "linked_musl_stripped": ["no allocation function", "static program with no symbols", "not stripped"],
    "linked_go": ["Go program", "allocator of its own", "runtime/pprof"],
}


def is_one_of(name, ends):
    return any(name.startswith(end) for end in ends) or ("0x" in ends and not profiles.is_named(name))


def go(target):
    """What it says is live after another round."""
    truth = {}
    for line in target.ask_lines("go")[:-1]:
        site, objects, size = line.split()
        if int(objects):
            truth[site] = (int(objects), int(size))
    return truth


def short(name):
    """The last part of a Rust path."""
    return name if "<" in name else name.rsplit("::", 1)[-1]


def site_of(stack):
    return next((index for index, name in enumerate(stack) if short(name).startswith("site_")), None)


def live_sites(samples):
    sites = {}
    for stack, values in samples:
        index = site_of(stack)
        if index is not None and values.live_objects:
            site = short(stack[index])
            objects, size = sites.get(site, (0, 0))
            sites[site] = (objects + values.live_objects, size + values.live_bytes)
    return sites


def check_stack(stack, linking):
    names = list(stack[site_of(stack) + 1:])
    # Of Rust's library, the containers stay, and what is between them and the allocator goes.
    inner = [name for name in stack[:site_of(stack)] if not re.search(r"Vec|vec::|Box|boxed::", name)]
    check_equal(inner, [], f"frames of the allocator in {stack}")
    check_equal([short(name) for name in names[:len(CHAIN)]], CHAIN, f"chain below the site in {stack}")
    rest = [short(name) for name in names[len(CHAIN):]]
    if "thread_entry" in rest:
        check_equal(rest[0], "thread_entry", f"frames of the thread in {stack}")
        ends = linking.thread_ends
    else:
        check("main" in rest, f"neither main nor a thread's function in {stack}")
        ends = linking.ends
    check(is_one_of(stack[-1], ends), f"the outermost frame is {stack[-1]}, not one of {ends}: {stack}")
    return "thread_entry" in rest


def ledger_value(report, name):
    return next(line["value"] for line in report["ledger"] if line["name"] == name)


def more_of_c(target, path, linking):
    """Threads that get each other's memory are told apart; a walk from a signal handler reaches what was interrupted."""
    check_equal(target.ask("handle"), "handled", "answer")
    check_equal(target.ask("series"), "ended", "answer")
    report = dump(target.pid, path)
    check_equal(ledger_value(report, "threads"), 6, "threads seen: main and five")
    found = [stack for stack in profiles.stacks(path, "site_in_handler")]
    check_equal(len(found), 1, "stacks of the signal handler")
    names = [name for name in found[0] if name in ("site_in_handler", "on_signal", "interrupted", "handle", "main")]
    check_equal(names, ["site_in_handler", "on_signal", "interrupted", "handle", "main"], f"frames of {found[0]}")
    check(is_one_of(found[0][-1], linking.ends), f"outermost frame of {found[0]}")
    check_equal({line["name"]: line["value"] for line in report["ledger"] if line["loss"] and line["value"]}, {}, "losses")
    say("  " + " < ".join(found[0]))


def go_through(linking):
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target(linking.name, THREADS)
    check_equal(target.ask("begin"), "begun", "answer")
    earlier = go(target)
    before = Unharmed(target.pid)
    for _ in range(2):  # the second time with what the first one has left, if anything
        value = attach(target.pid)
        # A static PIE of glibc tells debuggers of its modules, as a loader does.
        check_equal((value["static"], value["static"] or value["libraries_followed"]), ("static" in linking.name, True), "static, libraries followed")
        before.check_attached()
        for _ in range(ROUNDS):
            truth = go(target)
        report = dump(target.pid, path)
        samples = [sample for sample in profiles.samples(path)]
        expected = {site: (truth[site][0] - earlier[site][0], truth[site][1] - earlier[site][1]) for site in truth}
        check_equal(live_sites(samples), expected, "live objects and bytes by site")
        stacks = [stack for stack, values in samples if site_of(stack) is not None]
        check_equal({check_stack(stack, linking) for stack in stacks}, {False, True}, "stacks of main, and of threads")
        losses = {line["name"]: line["value"] for line in report["ledger"] if line["loss"] and line["value"]}
        check_equal(losses, {}, "losses")
        check_equal(ledger_value(report, "threads"), THREADS + 1, "threads seen")
        detach(target.pid)
        earlier = truth
        check_equal(target.ask("check"), "ok", "contents of the blocks")
        before.check_after(memory_may_change=True)
    if not linking.name.startswith("linked_rust"):
        attach(target.pid)
        more_of_c(target, path, linking)
        detach(target.pid)
    target.end()
    say(f"{linking.name}: {sum(objects for objects, _ in truth.values())} live objects in {len(truth)} sites equal; for example "
        + " < ".join(stacks[0]))


def settled(pid):
    """What it looks like, once it has done with starting (Go makes threads, with all signals blocked at first)."""
    last = [Unharmed(pid)]

    def is_same():
        earlier, last[0] = last[0], Unharmed(pid)
        return not earlier.differences(last[0], memory_may_change=True)
    wait_until(is_same, f"pid {pid} stays as it is", 30)
    return last[0]


def refuse(name, words):
    target = Target(name)
    before = settled(target.pid)
    check_refused(heapsnap("attach", target.pid), *words)
    # Go's runtime starts threads of its own, and blocks their signals, whenever it likes.
    found = [line for line in before.differences(Unharmed(target.pid), memory_may_change=True)
             if not ("go" in name and re.match("(thread|signals of thread) ", line))]
    check_equal(found, [], f"{name} is not as it was")
    if "go" in name:
        check_equal(target.ask("line"), "ok", "answer")
    else:
        check_equal(target.ask("check"), "ok", "answer")
    target.end()


def c_in_go():
    """Go's own allocations are not seen, which every dump says; those of its C code are."""
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("linked_cgo")
    check_equal(target.ask("warm up"), "ok", "answer")
    attach(target.pid)
    for _ in range(ROUNDS):
        check_equal(target.ask("line"), "ok", "answer")
    report = dump(target.pid, path)
    check_equal(live_sites(profiles.samples(path)), {"site_in_c": (10 * ROUNDS, 10000 * ROUNDS)}, "live blocks of C")
    check([line for line in report["ledger"] if line["name"] == "go_heap" and line["loss"]], f"the ledger is silent: {report['ledger']}")
    detach(target.pid)
    check_equal(target.ask("line"), "ok", "answer")
    target.end()
    say(f"linked_cgo: {10 * ROUNDS} blocks of its C code; the ledger says what is not seen")


def loaded_later():
    """musl's loader tells of a library that is loaded while attached."""
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("dlopen_musl", target_path("libmusl_plugin.so"))
    before = Unharmed(target.pid)
    check_equal(attach(target.pid)["libraries_followed"], True, "libraries_followed")
    for _ in range(4):
        check_equal(target.ask("keep"), "done", "answer")
    report = dump(target.pid, path)
    site = profiles.by_innermost(path)["loop_plugin_allocate"]
    check_equal((site.live_objects, site.live_bytes), (12, 12000), "live blocks of the library")
    for stack in profiles.stacks(path, "loop_plugin_allocate"):
        check("load_and_allocate" in stack and "main" in stack, f"a stack from the library does not lead to main: {stack}")
    check_equal(ledger_value(report, "modules_lost"), 0, "modules lost")
    detach(target.pid)
    found = before.differences(Unharmed(target.pid), memory_may_change=True)
    check_equal([line for line in found if "libmusl_plugin.so" not in line], [], "not as it was")
    target.end()
    say("dlopen_musl: 12 blocks of a library that was loaded while attached")


def main():
    programs = {linking.name: lambda linking=linking: go_through(linking) for linking in LINKINGS}
    programs.update({name: lambda name=name: go_through(Linking(name, *GLIBC_RUST)) for name in RUST})
    programs.update({name: lambda name=name, words=words: refuse(name, words) for name, words in REFUSED.items()})
    programs["linked_cgo"] = c_in_go
    programs["dlopen_musl"] = loaded_later
    for name in sys.argv[1:] or programs:
        if not os.path.exists(target_path(name)):
            leave_out(f"{name} was not built (its compiler is not installed)")
            continue
        programs[name]()


GLIBC_RUST = (GLIBC.ends, GLIBC.thread_ends)
run_test(main, "linkings")

# SPDX-License-Identifier: Apache-2.0
"""A forked child works, is not recorded, and leaves the parent's profile exact. It can be detached from, which takes out what it has
inherited, or attached to by itself, whatever has become of its parent meanwhile; and so can its own children."""

import os
import signal

import profiles
from harness import (Target, Unharmed, attach, check, check_equal, detach, dump, heapsnap, mappings, read_text, run_test, say,
                     temporary_directory, wait_until)


def cpu_ticks(pid):
    """User time of a process that must be running, in clock ticks."""
    fields = read_text(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()
    check(fields[0] in "RSD", f"the child is in state {fields[0]}")
    return int(fields[11])


def goes_on(pid):
    ticks = cpu_ticks(pid)
    wait_until(lambda: cpu_ticks(pid) != ticks, f"process {pid} works")


def end(pid):
    os.kill(pid, signal.SIGKILL)


def has_ours(pid):
    return any("heapsnap-" in mapping.name or mapping.is_region() for mapping in mappings(pid))


def check_by_itself(child, clean, path):
    """Attach, dump and detach of a child, after which its text is that of a process that heapsnap has never seen."""
    attach(child)
    goes_on(child)
    report = dump(child, path)
    check(report["alloc_objects"] > 0, f"the child's allocations are not in its own profile: {report}")
    sites = profiles.by_innermost(path)
    check("site_child" in sites, f"site_child is not in the child's own profile: {sorted(sites)}")
    detach(child)
    check_clean(child, clean)


def check_clean(child, clean):
    check(not has_ours(child), "something of heapsnap is left in the child")
    now = Unharmed(child)
    check_equal(now.text, clean.text, "the child's text")
    check_equal(now.private_pages, clean.private_pages, "private pages of the child's text")
    goes_on(child)


def main():
    target = Target("fork_child")
    check_equal(target.ask("spawn"), "child 0", "before attach")
    clean_child = int(target.ask("stay"))  # has never had anything of heapsnap in it
    clean = Unharmed(clean_child)
    before = Unharmed(target.pid)
    path = os.path.join(temporary_directory(), "out.pb.gz")
    attach(target.pid)
    check_equal(target.ask("allocate"), "allocated", "answer")
    rounds = 3
    for _ in range(rounds):
        check_equal(target.ask("fork"), "child 0", "status of the forked child")
        check_equal(target.ask("spawn"), "child 0", "status of the spawned child")
    first, second, third, fourth, grandparent = (int(target.ask("stay")) for _ in range(5))
    grandchild = int(target.ask("stay again"))  # forked by a child
    check(has_ours(first), "the child has not inherited what this test is about")

    child = heapsnap("status", first, "--json").json["processes"][0]
    check_equal((child["state"], child.get("since")), ("idle hooks", None), "status of a child, which nobody has attached")
    listed = {each["pid"]: each for each in heapsnap("status", "--json").json["processes"]}
    check_equal((listed[first]["state"], listed[target.pid]["state"]), ("idle hooks", "attached"), "status of all")
    check("since" in listed[target.pid] and "since" not in listed[first], "since when")
    check(f"heapsnap detach {first}" in heapsnap("status", first).stdout, "status does not say what takes them out")

    # A child is detached from, and attached to by itself, while its parent is attached.
    value = detach(first)
    check_equal(value["threads_inside"], 0, "threads inside")
    check_clean(first, clean)
    check_equal(heapsnap("status", first).status, 1, "status of a child without hooks")
    check_by_itself(first, clean, path)
    check_by_itself(second, clean, path)
    check_by_itself(grandchild, clean, path)
    goes_on(grandparent)

    # A stopped one stays stopped.
    os.kill(third, signal.SIGSTOP)
    wait_until(lambda: read_text(f"/proc/{third}/stat").rsplit(")", 1)[1].split()[0] == "T", "the child is stopped")
    result = heapsnap("detach", third, "--json")
    if result.status != 0:  # stopped on its way through a hook, where only it can leave
        check_equal((result.status, result.json["threads_inside"]), (1, 1), str(result))
        check("when the process, which is stopped by a signal, goes on" in result.stderr, str(result))
    wait_until(lambda: read_text(f"/proc/{third}/stat").rsplit(")", 1)[1].split()[0] == "T", "the child is still stopped")
    os.kill(third, signal.SIGCONT)
    if result.status != 0:
        detach(third)
    check_clean(third, clean)

    # None of this was the parent's business.
    dump(target.pid, path)
    sites = profiles.by_innermost(path)
    none = profiles.Values()
    check_equal((sites["site_parent_before"].live_objects, sites["site_parent_before"].live_bytes), (50, 5000), "site_parent_before")
    check_equal((sites["site_parent_after"].live_objects, sites["site_parent_after"].live_bytes),
                (2 * rounds * 50, 2 * rounds * 50 * 200), "site_parent_after")
    check_equal(sites.get("site_child", none), none, "the child's allocations in the parent's profile")
    before.check_attached()
    detach(target.pid)
    before.check_after(memory_may_change=True, settle=20)

    # The parent's hooks are out and its code is unmapped; the child's are its own.
    check(has_ours(fourth), "the child has lost something with its parent's detach")
    goes_on(fourth)
    check_by_itself(fourth, clean, path)

    # A parent whose attach was killed half-way: some hooks are in, some are not, and none records.
    checked = 0
    for step in range(12, 40):
        killed = heapsnap("attach", target.pid, environment={"HEAPSNAP_KILL_AT": str(step)})
        if killed.status == -signal.SIGKILL:
            child = int(target.ask("stay"))
            detach(target.pid)
            if has_ours(child):
                detach(child)
                checked += 1
            check_clean(child, clean)
            end(child)
        elif killed.status == 0:
            detach(target.pid)
            break
    check(checked >= 8, f"only {checked} children had something of a half-made attach")
    before.check_after(memory_may_change=True, settle=20)

    check_equal(target.ask("fork"), "child 0", "a fork after detach")
    for child in (clean_child, first, second, third, fourth, grandparent, grandchild):
        goes_on(child)
        end(child)
    target.end()
    say(f"{rounds} forked and {rounds} spawned children worked; the parent's profile is exact; six children and a grandchild were cleaned and "
        f"attached to by themselves, {checked} of parents whose attach was killed")


run_test(main, "fork")

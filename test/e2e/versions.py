# SPDX-License-Identifier: Apache-2.0
"""Two heapsnaps of different layout versions on one process: this one, and the next, which build_next.py makes of it. What the earlier one attached the later one
reads, and does not change; what the later one attached the earlier one says it cannot read; each detaches what the other attached, or has left half done. And the
same of regions whose header is made to say so, with nonsense behind the part that never changes."""

import hashlib
import os
import re

import profiles
from harness import (HEAPSNAP, Target, Unharmed, attach, attach_state, check, check_equal, check_refused, detach, dump, heapsnap, heapsnap_ok, is_attached,
                     mappings, run_cases, say, temporary_directory)
from region import Region

NEXT = os.environ.get("HEAPSNAP_NEXT", "")
STEPS_MAX = 1000
ABI_VERSION = 8  # offset in the header
PARTS = 512      # where what is not for ever begins: the places of parts, which only tools read
OLDEST = 13      # the first version whose regions have a part that never changes


def try_dump(pid, **how):
    path = os.path.join(temporary_directory(), "out.pb.gz")
    result = heapsnap("dump", pid, "-o", path, **how)
    check(not os.path.exists(path), f"a dump that fails leaves a file: {result}")
    return result


class VersionedRegion(Region):
    def version(self):
        return int.from_bytes(self.get(ABI_VERSION, 4), "little")

    def set_version(self, version):
        self.put(ABI_VERSION, version.to_bytes(4, "little"))


def check_all_but_detach(pid, *words):
    """Of this heapsnap."""
    check_refused(try_dump(pid), f"^heapsnap: process {pid}: ", *words)
    check_refused(heapsnap("set", pid, "--sample", "64K"), f"^heapsnap: process {pid}: ", *words)
    result = heapsnap("status", pid)
    check(all(re.search(word, result.stdout) for word in ["unreadable", *words]), str(result))
    check_equal(attach_state(pid), "unreadable", "state")


def newer():
    target = Target("many_threads", 2)
    check_equal(target.ask("allocate"), "allocated", "answer")
    before = Unharmed(target.pid)
    attach(target.pid)
    region = VersionedRegion(target.pid)
    region.set_version(region.version() + 1)
    region.put(PARTS, b"\xff" * 144)
    check_all_but_detach(target.pid, "is too old to read", r"detach")
    check_refused(heapsnap("attach", target.pid), "already attached")
    check_equal(target.ask("allocate"), "allocated", "answer while attached")
    detach(target.pid)
    before.check_after(memory_may_change=True)
    check_equal(target.ask("allocate"), "allocated", "answer after detach")
    target.end()


def unfinished():
    """What a killed attach of another version has left is cleared away by the next attach."""
    target = Target("many_threads", 2)
    before = Unharmed(target.pid)
    attach(target.pid)
    region = VersionedRegion(target.pid)
    region.set_version(region.version() + 7)
    region.put(12, (1).to_bytes(4, "little"))  # attaching
    attach(target.pid)
    check(is_attached(target.pid), "not attached")
    detach(target.pid)
    before.check_after(memory_may_change=True)
    target.end()


def older():
    """A region from before there was such a part is left alone."""
    target = Target("many_threads", 2)
    attach(target.pid)
    region = VersionedRegion(target.pid)
    version = region.version()
    region.set_version(OLDEST - 1)
    check_refused(heapsnap("detach", target.pid), f"older heapsnap .ABI {OLDEST - 1}.", "detach with it")
    check_all_but_detach(target.pid, "older heapsnap")
    check_refused(heapsnap("attach", target.pid), "older heapsnap")
    region.set_version(version)
    detach(target.pid)
    target.end()


class Holder:
    """Three threads that have allocated what they have an account of, and do nothing now."""

    def __init__(self, program, *options):
        self.target = Target("sampled", 3)
        self.pid = self.target.pid
        self.before = Unharmed(self.pid)
        attach(self.pid, *options, program=program)
        *lines, _ = self.target.ask_json("hold")
        self.truth = {line["site"]: (line["blocks"], line["bytes"]) for line in lines if line["stay"]}

    def dumped(self, program):
        """What a dump says but for its times."""
        path = os.path.join(temporary_directory(), "out.pb.gz")
        report = dump(self.pid, path, program=program)
        sites = {name: (values.live_objects, values.live_bytes) for name, values in profiles.by_innermost(path).items()}
        stacks = sorted((stack, values.tuple()) for stack, values in profiles.samples(path))
        return {"sites": sites, "stacks": stacks, "ledger": report["ledger"], "samples": report["samples"]}

    def check_sites(self, program):
        sites = self.dumped(program)["sites"]
        check_equal({name: sites.get(name) for name in self.truth}, self.truth, "live objects and bytes, and the account")

    def check_works(self):
        check_equal(self.target.ask("free"), "freed", "answer")
        self.target.ask_json("hold")

    def detach(self, program):
        detach(self.pid, program=program)
        self.before.check_after(memory_may_change=True)
        check_equal(attach_state(self.pid), None, "status after detach")
        self.check_works()


def settings(pid, program):
    (process,) = heapsnap_ok("status", pid, program=program)["processes"]
    check_equal(process["state"], "attached", "state")
    return process["settings"]


def next_alone():
    """The next heapsnap is one: what follows is not for its mistakes."""
    check(NEXT, "HEAPSNAP_NEXT (the program that build_next.py makes) must be set in the environment")
    holder = Holder(NEXT, "--exact")
    holder.check_sites(NEXT)
    after = heapsnap_ok("set", holder.pid, "--sample", "4K", program=NEXT)["after"]
    check_equal({key: value for key, value in settings(holder.pid, NEXT).items() if key != "since"}, after, "settings")
    holder.check_works()
    holder.detach(NEXT)
    holder.target.end()


def earlier_read(*options):
    holder = Holder(HEAPSNAP, *options)
    ours, theirs = holder.dumped(HEAPSNAP), holder.dumped(NEXT)
    for what, value in ours.items():
        check_equal(theirs[what], value, f"{what} of the next heapsnap's dump, and of ours")
    if options == ("--exact",):
        holder.check_sites(NEXT)
    check_equal(settings(holder.pid, NEXT), settings(holder.pid, HEAPSNAP), "settings, as status has them")
    before = settings(holder.pid, HEAPSNAP)
    check_refused(heapsnap("set", holder.pid, "--sample", "64K", program=NEXT), "change nothing", "detach, then attach again")
    check_refused(heapsnap("attach", holder.pid, program=NEXT), "already attached")
    check_equal(settings(holder.pid, HEAPSNAP), before, "settings after a refused set")
    holder.check_works()
    holder.detach(NEXT)
    for program in (NEXT, HEAPSNAP):  # and once more, with nothing of the other
        attach(holder.pid, program=program)
        holder.detach(program)
    holder.target.end()


def earlier_exact():
    earlier_read("--exact")


def earlier_sampled():
    earlier_read("--sample", "4K")


def working(first, second):
    """Eight threads that allocate at full speed and check every block."""
    target = Target("cycles", 8)
    check_equal(target.ask("pause"), "paused", "answer")
    before = Unharmed(target.pid)
    check_equal(target.ask("continue"), "continued", "answer")
    for _ in range(3):
        attach(target.pid, program=first)
        if second == NEXT:
            dump(target.pid, os.path.join(temporary_directory(), "out.pb.gz"), program=second)
        detach(target.pid, program=second)
    check_equal(target.ask("pause"), "paused", "answer")
    before.check_after(memory_may_change=True)
    check_equal(target.ask("continue"), "continued", "answer")
    target.end()


def earlier_at_work():
    working(HEAPSNAP, NEXT)


def later_at_work():
    working(NEXT, HEAPSNAP)


def region_digest(pid):
    """Of all of it that is not a hole."""
    region = next(mapping for mapping in mappings(pid) if mapping.is_region())
    digest, at = hashlib.sha256(), 0
    with open(f"/proc/{pid}/map_files/{region.start:x}-{region.end:x}", "rb", buffering=0) as file:
        while True:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:  # nothing behind it
                return digest.hexdigest()
            content = os.pread(file.fileno(), 4096, at)
            if any(content):  # a page that was only looked at is no change
                digest.update(at.to_bytes(8, "little") + content)
            at += 4096


def later_refused():
    """And nothing is touched."""
    target = Target("many_threads", 4)
    before = Unharmed(target.pid)
    attach(target.pid, program=NEXT)
    attached, region = Unharmed(target.pid), region_digest(target.pid)
    check_all_but_detach(target.pid, r"attached by heapsnap \d+\.\d+\.\d+ .ABI \d+.", "this heapsnap .* is too old to read that", "use heapsnap .*, or detach it")
    for command in ("attach", "check"):  # neither advises a dump that this heapsnap would refuse
        result = heapsnap(command, target.pid)
        check(result.status == 1 and re.search(f"process {target.pid} is already attached: it was attached by heapsnap .*use heapsnap .*, or detach it", result.stdout + result.stderr),
              str(result))
        check("heapsnap dump" not in result.stdout + result.stderr, str(result))
    attached.check_after()
    check_equal(region_digest(target.pid), region, "the region")
    check_equal(target.ask("allocate"), "allocated", "answer while attached")
    detach(target.pid)
    before.check_after()
    check_equal(target.ask("allocate"), "allocated", "answer after detach")
    target.end()


def cleared_away(target, before, first, second, by_attach, what):
    """Whether there was something."""
    check_equal(target.ask("allocate"), "allocated", f"answer when {what}")
    state = attach_state(target.pid, program=second)
    if by_attach and attach_state(target.pid, program=first) != "attached":
        attach(target.pid, program=second)
        state = "attached"
    result = heapsnap("detach", target.pid, program=second)
    if result.status:
        check_refused(result, "not attached")
    check_equal(result.status == 0, state is not None, f"{what}: whether there was something to detach, as status had it")
    before.check_after(settle=20)
    check_equal(target.ask("allocate"), "allocated", f"answer after {what}")
    return state is not None


def killed(first, second):
    """One is killed at each step of attach and of detach; the other clears away what it left."""
    target = Target("many_threads", 4)
    check_equal(target.ask("allocate"), "allocated", "answer")
    before = Unharmed(target.pid)
    for command in ("attach", "detach"):
        left = 0
        for step in range(1, STEPS_MAX):
            if command == "detach":
                attach(target.pid, program=first)
            result = heapsnap(command, target.pid, program=first, environment={"HEAPSNAP_KILL_AT": str(step)})
            if result.status == 0:
                break
            check_equal(result.status, -9, str(result))
            left += cleared_away(target, before, first, second, step % 2 == 0, f"{command} was killed at step {step}")
        if command == "attach":
            detach(target.pid, program=second)
        before.check_after(settle=20)
        check(step > 5 and left > 2, f"{command}: {step - 1} steps, of which {left} left something")
        say(f"  {command}: killed at {step - 1} steps, something was left at {left}")
    target.end()


def earlier_killed():
    killed(HEAPSNAP, NEXT)


def later_killed():
    killed(NEXT, HEAPSNAP)


run_cases([newer, unfinished, older, next_alone, earlier_exact, earlier_sampled, earlier_at_work, earlier_killed, later_refused, later_at_work, later_killed],
          "versions")

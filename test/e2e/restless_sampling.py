# SPDX-License-Identifier: Apache-2.0
"""The programs of restless.py, with what is recorded changed all the time: samples, everything, nothing, budgets, depths, and changes whose
tool is killed; and dumped while they run, some dumps killed. The programs' own checks hold, what was recorded while everything was is exact in each
dump, no release is missed, and detach is clean.
usage: restless_sampling.py [SEED [BEHAVIOUR...]]"""

import os
import random
import sys

import profiles
from harness import Target, Unharmed, check, check_equal, heapsnap, repetitions, run_test, say, target_path, temporary_directory
from restless_cases import GROUPS, finish, run

# Each for a reason: processes that inherit hooks, threads that come and go or are cancelled in an allocation, handlers that interrupt the recorder,
# libraries that come and go.
BEHAVIOURS = ["fork", "threads", "cancel", "altstack", "flood", "library"]
CHANGES = repetitions(4, 12)
# A wait that the kernel ends for every stop is only repeated by a tool that lives (docs/target-safety.md), and this program expects that.
NOT_KILLED = ["flood"]
OTHERS = [["--sample", "100"], ["--sample", "4K"], ["--sample", "512K"], ["--samples-per-word", "0.01"], ["--budget", "1"], ["--budget", "50"],
          ["--stop-recording"], ["--start-recording"], ["--depth", "3"]]


class Deck:
    """Each of the values once, in any order, and then again: with few changes none is left out by chance."""

    def __init__(self, values, choose):
        self.values, self.choose, self.left = values, choose, []

    def take(self):
        if not self.left:
            self.left = self.choose.sample(self.values, len(self.values))
        return self.left.pop()


def check_kept(report, path, kept, what):
    """A budget may downsample what was recorded while everything was; until then that is exact."""
    site = profiles.by_innermost(path).get("restless_kept", profiles.Values())
    downsampled = sum(line["value"] for line in report["ledger"] if line["name"] == "downsampled")
    if not downsampled:
        check_equal((site.live_objects, site.live_bytes), (100 * kept, 7000 * kept), f"{what}: blocks of restless_kept")
    return not downsampled


def dump_running(pid, path, kept, what, kill_at):
    """Two dumps at most: one that is killed, and one that must be right. No thread is stopped for it. Returns how many were killed, and whether
    what was kept could be counted."""
    killed = 0
    if kill_at:
        variable = "HEAPSNAP_KILL_AT_REQUEST" if kill_at % 2 else "HEAPSNAP_KILL_AT"
        result = heapsnap("dump", pid, "-o", path, environment={variable: str(kill_at)})
        check(result.status in (0, -9), str(result))
        killed = result.status == -9
    report = run(["dump", pid, "-o", path])
    check(report["stopped_because"] == "" or "threads have ended" in report["stopped_because"], f"{what}: {report['stopped_because']}")
    return killed, check_kept(report, path, kept, what)


def go_through(group, name, path, choose, changes):
    target = Target(f"restless_{group}", name, target_path("libloop_plugin.so"), ready=None)
    first = target.line()
    if first != "ready":
        say(f"  {name} is left out: {first}")
        return

    def expect(question, answer):
        check_equal(target.ask(question, seconds=120), answer, f"what {name} answers to {question}")

    for question, answer in (("start", "started"), ("work", "right"), ("stop", "stopped")):
        expect(question, answer)
    before = Unharmed(target.pid)
    expect("start", "started")
    run(["attach", target.pid], "--sample", "1000")
    kept = killed = counted = 0
    dumps = []
    for _ in range(CHANGES):
        counted += run(["set", target.pid], *changes.take())["bloom_in_use"]
        expect("work", "right")
        if choose.random() < 0.4 and name not in NOT_KILLED:
            result = heapsnap("set", target.pid, *choose.choice(OTHERS), environment={"HEAPSNAP_KILL_AT": str(choose.randrange(1, 9))})
            check(result.status in (0, -9) or "did not stop in time" in result.stderr, str(result))
            killed += result.status == -9
            expect("work", "right")
        dumps.append(dump_running(target.pid, path, kept, name, choose.choice((0, 0, choose.randrange(1, 9)))))
        run(["set", target.pid], "--exact", "--depth", "64")
        expect("keep", "kept")
        kept += 1
        dumps.append(dump_running(target.pid, path, kept, name, choose.choice((0, 0, choose.randrange(1, 9)))))
    expect("work", "right")
    report = run(["dump", target.pid, "-o", path])
    check_kept(report, path, kept, name)
    # A block whose release was missed is found again when its address is. A signal handler may interrupt the recorder; nothing else is lost.
    lost = {line["name"]: line["value"] for line in report["ledger"] if line["value"] and line["name"] != "lost_signal_reentry"
            and (line["name"] == "replaced" or line["name"].startswith("lost_"))}
    check(not lost, f"{name}: {lost}")
    finish(target.pid)
    expect("work", "right")
    expect("stop", "stopped")
    before.check_after(memory_may_change=True, settle=20)
    target.end()
    say(f"  {name}: {2 * CHANGES} changes, {counted} with the filter counted, {killed} killed; {len(dumps)} dumps while it ran, "
        f"{sum(exact for _, exact in dumps)} of them exact, {sum(killed for killed, _ in dumps)} others killed")
    return counted


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(1 << 30)
    say(f"seed {seed}")
    path = os.path.join(temporary_directory(), "out.pb.gz")
    choose = random.Random(seed)
    changes, counted = Deck(OTHERS, choose), 0
    for name in sys.argv[2:] or BEHAVIOURS:
        group = next(group for group, names in GROUPS.items() if name in names)
        counted += go_through(group, name, path, choose, changes) or 0
    check(counted, "the filter was never counted")


run_test(main, "restless sampling")

# SPDX-License-Identifier: Apache-2.0
"""A workload with and without each mode, measured in turn: base, mode, base, mode and so on through all rounds. The machine may do other
things beside; what it does, it does to both, and the ratio of two neighbours is what counts."""

import contextlib
import os
import time

from figures import added, plain, ratio_text, summary, text
from harness import Failure, say, temporary_directory
from workloads import Skipped


SLOW_SECONDS = 20  # a turn that takes longer is not repeated


class Measured:
    """What was measured of one mode, by part of the workload."""

    def __init__(self):
        self.base, self.cost, self.ratio, self.processor = {}, {}, {}, []

    def add(self, base, cost, base_processor, processor):
        for part in base:
            self.base.setdefault(part, []).append(base[part])
            self.cost.setdefault(part, []).append(cost[part])
            self.ratio.setdefault(part, []).append(cost[part] / base[part])
        if base_processor > 0:
            self.processor.append(processor / base_processor)


class Instances:
    """The running programs of one workload: one for each setting, which lives through all rounds unless it is one for a single use."""

    def __init__(self, workload, directory):
        self.workload, self.directory, self.running = workload, directory, {}

    def get(self, mode, base):
        """The program under the mode's base, or under the mode itself."""
        setting = mode.base if base or mode.comes else mode.setting(self.directory)
        instance = self.running.get(setting.name)
        if instance is None or instance.one_shot:
            instance = self.running[setting.name] = self.workload.begin(setting)
        return instance

    def drop(self, mode):
        """After a failure: nobody knows in what state they are."""
        for name in {mode.base.name, mode.name}:
            instance = self.running.pop(name, None)
            if instance:
                with contextlib.suppress(Failure, OSError):
                    instance.end()

    def end(self):
        for instance in self.running.values():
            instance.end()
        self.running.clear()


def measure_once(instance):
    """The costs, and the seconds of processor for each operation."""
    before = instance.processor()
    costs = instance.measure()
    return costs, (instance.processor() - before) / instance.operations


def measure_pair(instances, mode):
    """The base and right after it the mode."""
    instance = instances.get(mode, base=True)
    base, base_processor = measure_once(instance)
    if instance.one_shot or not mode.comes:
        instance = instances.get(mode, base=False)
    with mode.comes_to(instance.pid) if mode.comes else contextlib.nullcontext():
        if mode.comes:
            instance.settle()
        for _ in range(0 if instance.one_shot else mode.settle):
            instance.measure()
        cost, processor = measure_once(instance)
    mode.after_measurement(instances.directory)
    return base, cost, base_processor, processor


def rows_of(workload, mode, measured):
    for part in measured.cost:
        yield {"workload": workload.name, "part": part, "title": workload.title + (f", {part}" if part else ""), "group": workload.group,
               "unit": workload.unit, "mode": mode.name, "base": workload.allocator if mode.base.name == "installed" else mode.base.name,
               "base_cost": summary(measured.base[part]), "cost": summary(measured.cost[part]), "ratio": summary(measured.ratio[part]),
               "processor_ratio": summary(measured.processor) if measured.processor else None}


def say_row(row, titles):
    say(f"  {titles[row['mode']]:<42} {row['part']:<6} {row['base']:<9} {text(row['base_cost']) + ' ' + row['unit']:>30} "
        f"{text(row['cost']) + ' ' + row['unit']:>34} {plain(added(row)):>8} {ratio_text(row['ratio']):>24} {ratio_text(row['processor_ratio']):>24}")


def measure(workload, modes, rounds):
    """Rows of what was measured, and {"workload", "mode", "reason"} of what could not be. Prints each."""
    say(f"\n{workload.title}: median (least..most)")
    say(f"  {'mode':<42} {'part':<6} {'base':<9} {'base':>30} {'with it':>34} {'added':>8} {'ratio':>24} {'of processor time':>24}")
    results, failed = {mode.name: Measured() for mode in modes}, []
    instances = Instances(workload, temporary_directory())
    tried = [mode for mode in modes if (workload.for_scale or not mode.only_for_scale) and workload.group in (mode.only_groups or (workload.group,))
             and workload.name in (mode.only_workloads or (workload.name,))]
    started = time.monotonic()
    for number in range(min(rounds, workload.most_rounds)):
        for mode in list(tried):
            if number >= mode.most_rounds:
                continue
            begun = time.monotonic()
            try:
                results[mode.name].add(*measure_pair(instances, mode))
            except Skipped as skipped:
                failed.append({"workload": workload.name, "mode": mode.name, "reason": str(skipped)})
                tried.remove(mode)
            except Failure as failure:
                failed.append({"workload": workload.name, "mode": mode.name, "reason": f"failed: {failure}"})
                tried.remove(mode)
                instances.drop(mode)
            if mode in tried and time.monotonic() - begun > SLOW_SECONDS:
                tried.remove(mode)
    instances.end()
    for name in os.listdir(instances.directory):
        with contextlib.suppress(OSError):
            os.unlink(f"{instances.directory}/{name}")
    titles = {mode.name: mode.title for mode in modes}
    rows = [row for mode in modes for row in rows_of(workload, mode, results[mode.name])]
    for row in rows:
        say_row(row, titles)
    for each in failed:
        say(f"  {titles[each['mode']]:<42} left out: {each['reason']}")
    say(f"  {time.monotonic() - started:.0f} s")
    return rows, failed

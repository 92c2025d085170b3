# SPDX-License-Identifier: Apache-2.0
"""Questions that the tests ask of a profile: what is live at which site."""

import os
import re

import pprof_reader
from harness import Failure, check

SAMPLE_INDEXES = {"alloc_objects": "alloc_objects", "alloc_space": "alloc_bytes", "inuse_objects": "live_objects",
                  "inuse_space": "live_bytes"}


class Values:
    """The four values of a stack or a site. (How many were temporary: temporaries.py.)"""

    def __init__(self, alloc_objects=0, alloc_bytes=0, live_objects=0, live_bytes=0):
        self.alloc_objects, self.alloc_bytes = alloc_objects, alloc_bytes
        self.live_objects, self.live_bytes = live_objects, live_bytes

    def __add__(self, other):
        return Values(*(a + b for a, b in zip(self.tuple(), other.tuple())))

    def tuple(self):
        return self.alloc_objects, self.alloc_bytes, self.live_objects, self.live_bytes

    def __eq__(self, other):
        return isinstance(other, Values) and self.tuple() == other.tuple()

    def __repr__(self):
        return (f"<allocated {self.alloc_objects} objects, {self.alloc_bytes} bytes; "
                f"live {self.live_objects}, {self.live_bytes}>")


def read(path):
    """The decoded profile, which follows the rules for every file that heapsnap writes."""
    try:
        profile = pprof_reader.decode(path)
        pprof_reader.check_rules(profile)
    except (AssertionError, ValueError, KeyError, IndexError) as error:
        raise Failure(f"{path} is no good profile: {error!r}") from None
    return profile


def pprof(path, *arguments):
    """What the real pprof prints; a complaint is a failure."""
    try:
        return pprof_reader.run("-symbolize=none", *arguments, path)
    except pprof_reader.PprofError as error:
        raise Failure(str(error)) from None


def samples(path):
    """Each stack as a tuple of function names, innermost first (inlined ones too; "0x..." where there is no name), with its values."""
    return [(tuple(names), Values(*values[:4])) for names, values in read(path).stacks()]


def is_named(name):
    """Whether a symbol has given this name, and neither an address nor the nearest symbol before it."""
    return not name.startswith("0x") and not re.fullmatch(r"near .+\+0x[0-9a-f]+", name)


def by_innermost(path):
    """Sums by the function that called the allocator."""
    sites = {}
    for stack, values in samples(path):
        name = stack[0] if stack else ""
        sites[name] = sites.get(name, Values()) + values
    return sites


def stacks(path, innermost):
    return [stack for stack, _ in samples(path) if stack and stack[0] == innermost]


def by_innermost_with_pprof(path):
    """The same sums, made by the real pprof: the flat values of -top, where it hides no frame."""
    with pprof_reader.whole(path) as copy:
        return _flat_values(copy)


def _flat_values(path):
    sites = {}
    for index, field in SAMPLE_INDEXES.items():
        unit = ["-unit=B"] if field.endswith("bytes") else []
        output = pprof(path, "-top", f"-sample_index={index}", "-nodecount=1000000", "-nodefraction=0", "-edgefraction=0", *unit)
        for line in output.split("flat%", 1)[1].splitlines()[1:]:
            flat, _, _, _, _, name = line.split(None, 5)
            match = re.fullmatch(r"(-?\d+)B?", flat)
            check(match, f"pprof -top prints a value with a unit of its own: {line!r}")
            values = sites.setdefault(name.replace(" (inline)", ""), Values())
            setattr(values, field, getattr(values, field) + int(match[1]))
    return sites


def function_names(path):
    return {function.name for function in read(path).functions}


def system_names(path):
    return {function.system_name for function in read(path).functions}


def source_files(path):
    """(function, base name of its source file) of every location with a line."""
    return {(line.function.name, os.path.basename(line.function.filename))
            for location in read(path).locations for line in location.lines if line.line > 0}


def check_reader_is_content(path):
    """The real pprof reads it without a complaint, and sees what the bytes say."""
    for option in ("-top", "-traces"):
        check(pprof(path, option), f"pprof {option} prints nothing")
    ours = read(path)
    try:
        theirs = pprof_reader.read_raw(path)
    except pprof_reader.PprofError as error:
        raise Failure(str(error)) from None
    for what in ("sample_types", "default_sample_type", "comments", "period_type", "period"):
        check(getattr(ours, what) == getattr(theirs, what),
              f"{what}: pprof sees {getattr(theirs, what)!r}, the file says {getattr(ours, what)!r}")
    check(len(ours.samples) == len(theirs.samples), f"pprof sees {len(theirs.samples)} samples of {len(ours.samples)}")
    for name, _ in ours.sample_types:
        check(ours.total(name) == theirs.total(name), f"{name}: pprof's sum is {theirs.total(name)}, the file's {ours.total(name)}")

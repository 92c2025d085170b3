# SPDX-License-Identifier: Apache-2.0
"""Two independent views of a profile file: what the real pprof says about it, and its bytes decoded here.

    run(*arguments)   any report of the real pprof, which must not complain; HEAPSNAP_PPROF in the environment names it
    whole(path)       in a with statement: the path of a copy that has no drop_frames, so that pprof hides nothing
    read_raw(path)    what `pprof -raw` prints, parsed
    decode(path)      the message profile.proto, decoded without a library
    stacks(path)      [(names of the functions, innermost first, values)] of decode(path)

read_raw and decode give a Profile, so that one can be compared with the other.
"""

import contextlib
import gzip
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass, field


@dataclass
class Mapping:
    id: int
    start: int
    limit: int
    offset: int
    filename: str
    build_id: str
    flags: frozenset  # of "FN", "FL", "LN", "IN": has functions, files, lines, inlined frames


@dataclass(frozen=True)
class Function:
    name: str
    system_name: str
    filename: str
    start_line: int


@dataclass
class Line:
    function: Function
    line: int


@dataclass
class Location:
    id: int
    address: int
    mapping_id: int  # 0 = none
    lines: list      # innermost inlined function first


@dataclass
class Sample:
    locations: list  # ids, innermost first
    values: list
    labels: dict = field(default_factory=dict)  # {key: (number, unit)}; heapsnap writes no other kind


@dataclass
class Profile:
    sample_types: list = field(default_factory=list)  # ("inuse_space", "bytes")
    default_sample_type: str = ""
    period_type: tuple = ("", "")
    period: int = 0
    time_nanos: int = 0  # only decode() knows this one
    duration_nanos: int = 0  # and this one
    samples: list = field(default_factory=list)
    locations: list = field(default_factory=list)
    functions: list = field(default_factory=list)
    mappings: list = field(default_factory=list)
    comments: list = field(default_factory=list)
    drop_frames: str = ""  # only decode() knows these two
    keep_frames: str = ""

    def total(self, sample_type):
        """The sum of one sample type over all samples."""
        index = [name for name, _ in self.sample_types].index(sample_type)
        return sum(sample.values[index] for sample in self.samples)

    def stacks(self):
        """[(names of functions, inlined ones too, innermost first, values)]; an address without a name as its number."""
        by_id = {location.id: location for location in self.locations}
        return [(tuple(name for each in sample.locations for name in
                       ([line.function.name for line in by_id[each].lines] or [hex(by_id[each].address)])), sample.values)
                for sample in self.samples]

    def parts(self):
        """What stands in the comments for programs."""
        return [part.replace("||", "|") for comment in self.comments for beginning in ("#process: ", "#ledger: ")
                if comment.startswith(beginning) for part in comment[len(beginning):].split(" | ")]

    def comment(self, name):
        """The value of a part "name: value (text)" of a comment, with or without "LOSS: " before it; of a fact, "name (text)", "1". None: there is none."""
        for comment in self.parts():
            match = re.match(r"(?:LOSS: )?" + re.escape(name) + r"(?:: (.*?)(?: \(.*\))?| \(.*\))$", comment)
            if match:
                return match[1] or "1"
        return None


class PprofError(Exception):
    pass


def run(*arguments):
    """What pprof prints; an exit status or a word on standard error is an error."""
    words = [os.environ["HEAPSNAP_PPROF"], *map(str, arguments)]
    environment = dict(os.environ, PPROF_TMPDIR="/nonexistent", HOME="/nonexistent")
    result = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    if result.returncode != 0 or result.stderr.strip():
        raise PprofError(f"{' '.join(words)}: exit status {result.returncode}: {result.stderr.strip()}")
    return result.stdout


def _parse_line(text):
    # "name file:line s=start(system_name)"; with a column in newer versions "file:line:column".
    match = re.fullmatch(r"(?P<name>.*) (?P<file>\S*?):(?P<line>-?\d+)(?::\d+)? "
                         r"s=(?P<start>-?\d+)(?:\((?P<system>.*)\))?", text)
    if not match:
        raise PprofError(f"cannot parse line {text!r}")
    function = Function(match["name"], match["system"] or match["name"], match["file"], int(match["start"]))
    return Line(function, int(match["line"]))


def parse_raw(text):
    profile = Profile()
    section = "header"
    location = None
    for row in text.splitlines():
        if row in ("Samples:", "Locations", "Mappings"):
            section = row.rstrip(":")
            expect_types = section == "Samples"
            continue
        if section == "header":
            key, _, value = row.partition(": ")
            if key == "Comment":
                profile.comments.append(value)
            elif key == "PeriodType":
                profile.period_type = tuple(value.split())
            elif key == "Period":
                profile.period = int(value)
        elif section == "Samples" and expect_types:
            expect_types = False
            for word in row.split():
                name, unit = word.split("/")
                if unit.endswith("[dflt]"):
                    unit = unit[:-len("[dflt]")]
                    profile.default_sample_type = name
                profile.sample_types.append((name, unit))
        elif section == "Samples":
            values, colon, locations = row.partition(":")
            # Rows without values hold labels of the sample above: "key:[number unit]", several of them.
            if not re.fullmatch(r"[\s\d-]+", values):
                profile.samples[-1].labels = {key: (int(number), unit) for key, number, unit in
                                              re.findall(r"(\S+):\[(-?\d+) (\w+)\]", row)}
            elif colon:
                profile.samples.append(Sample([int(word) for word in locations.split()],
                                              [int(word) for word in values.split()]))
        elif section == "Locations":
            match = re.match(r"\s+(\d+): 0x([0-9a-f]+) (?:M=(\d+) )?(?:\[F\] ?)?(.*)$", row)
            if match:
                location = Location(int(match[1]), int(match[2], 16), int(match[3] or 0), [])
                profile.locations.append(location)
                row = match[4]
            if row.strip():
                location.lines.append(_parse_line(row.strip()))
        elif section == "Mappings":
            match = re.match(r"(\d+): 0x([0-9a-f]+)/0x([0-9a-f]+)/0x([0-9a-f]+) (.*?)"
                             r"((?: ?\[(?:FN|FL|LN|IN)\])*)$", row)
            if not match:
                raise PprofError(f"cannot parse mapping {row!r}")
            # "file build_id"; both may be empty, and a file name may have spaces.
            file, _, build_id = match[5].rstrip().rpartition(" ")
            if not re.fullmatch(r"[0-9a-f]{2,}", build_id):
                file, build_id = match[5].strip(), ""
            flags = frozenset(re.findall(r"\[(\w\w)\]", match[6]))
            profile.mappings.append(Mapping(int(match[1]), *(int(match[i], 16) for i in (2, 3, 4)), file, build_id, flags))
    profile.functions = list(dict.fromkeys(line.function for each in profile.locations for line in each.lines))
    return profile


@contextlib.contextmanager
def whole(path):
    with gzip.open(path) as file:
        data = file.read()
    with tempfile.NamedTemporaryFile(suffix=".pb.gz") as copy:
        # The last of several values of a field is the one that counts: drop_frames, keep_frames = 0.
        copy.write(gzip.compress(data + bytes([7 << 3, 0, 8 << 3, 0]), 1))
        copy.flush()
        yield copy.name


def read_raw(path):
    with whole(path) as copy:
        return parse_raw(run("-symbolize=none", "-raw", copy))


# The wire format (protobuf.dev, "Encoding"): a field is a varint key, number << 3 | type, and its value.

def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value & (1 << 64) - 1, at


def _fields(data):
    """{field number: [values]}; numbers as int, the rest as bytes."""
    fields = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 0:
            value, at = _varint(data, at)
        elif key & 7 == 2:
            size, at = _varint(data, at)
            value = data[at:at + size]
            if len(value) != size:
                raise ValueError("field is cut")
            at += size
        else:
            raise ValueError(f"wire type {key & 7}")
        fields.setdefault(key >> 3, []).append(value)
    return fields


def _signed(value):
    return value - (1 << 64) if value >> 63 else value


def _numbers(values):
    """A repeated number, packed or not."""
    numbers = []
    for value in values:
        if isinstance(value, int):
            numbers.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = _varint(value, at)
            numbers.append(number)
    return numbers


def decode(path):
    with gzip.open(path) as file:
        top = _fields(file.read())
    strings = [text.decode("utf-8") for text in top.get(6, [])]
    if not strings or strings[0] != "" or len(set(strings)) != len(strings):
        raise ValueError("the string table does not begin with an empty string, or holds one twice")

    def number(fields, index):
        return _signed(fields.get(index, [0])[0])

    def value_type(data):
        fields = _fields(data)
        return strings[number(fields, 1)], strings[number(fields, 2)]

    profile = Profile(
        sample_types=[value_type(data) for data in top.get(1, [])],
        default_sample_type=strings[number(top, 14)],
        period_type=value_type(top.get(11, [b""])[0]),
        period=number(top, 12),
        time_nanos=number(top, 9),
        duration_nanos=number(top, 10),
        comments=[strings[index] for index in _numbers(top.get(13, []))],
        drop_frames=strings[number(top, 7)],
        keep_frames=strings[number(top, 8)],
    )
    for data in top.get(2, []):
        fields = _fields(data)
        values = [_signed(value) for value in _numbers(fields.get(2, []))]
        labels = {}
        for label_data in fields.get(3, []):
            label = _fields(label_data)
            key = strings[number(label, 1)]
            if key in labels or number(label, 2):
                raise ValueError(f"label {key} is there twice, or is a text")
            labels[key] = (number(label, 3), strings[number(label, 4)])
        profile.samples.append(Sample(_numbers(fields.get(1, [])), values, labels))
    for data in top.get(3, []):
        fields = _fields(data)
        names = {7: "FN", 8: "FL", 9: "LN", 10: "IN"}
        flags = frozenset(names[index] for index in names if number(fields, index))
        profile.mappings.append(Mapping(number(fields, 1), *(fields.get(i, [0])[0] for i in (2, 3, 4)),
                                        strings[number(fields, 5)], strings[number(fields, 6)], flags))
    functions = {}
    for data in top.get(5, []):
        fields = _fields(data)
        functions[number(fields, 1)] = Function(*(strings[number(fields, i)] for i in (2, 3, 4)), number(fields, 5))
    profile.functions = list(functions.values())
    for data in top.get(4, []):
        fields = _fields(data)
        lines = []
        for line_data in fields.get(4, []):
            line = _fields(line_data)
            lines.append(Line(functions[number(line, 1)], number(line, 2)))
        profile.locations.append(Location(number(fields, 1), fields.get(3, [0])[0], number(fields, 2), lines))
    return profile


def stacks(path):
    return decode(path).stacks()


LABEL_UNITS = {"n_samples": "count", "samples": "count", "inuse_objects_error": "count", "inuse_space_error": "bytes"}


def check_rules(profile):
    """What must hold for every file that heapsnap writes; raises AssertionError with the rule that does not."""
    types = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")]
    assert profile.sample_types in (types, [*types, ("temporary_objects", "count")]), profile.sample_types
    assert profile.default_sample_type == "inuse_space"
    assert profile.period_type == ("space", "bytes")
    assert [location.id for location in profile.locations] == list(range(1, len(profile.locations) + 1))
    assert [mapping.id for mapping in profile.mappings] == list(range(1, len(profile.mappings) + 1))
    seen = set()
    for sample in profile.samples:
        assert sample.locations and len(sample.values) == len(profile.sample_types) and any(sample.values), sample
        assert all(1 <= location <= len(profile.locations) for location in sample.locations), sample
        assert set(sample.labels) <= set(LABEL_UNITS), sample
        assert all(number >= 0 and unit == LABEL_UNITS[key] for key, (number, unit) in sample.labels.items()), sample
        key = (*sample.locations, sample.labels.get("n_samples"))
        assert key not in seen, "two samples with one stack and one number of samples per block"
        seen.add(key)
    errors = ["samples" in sample.labels for sample in profile.samples]
    assert all(errors) or not any(errors), "some samples have errors, some have not"
    for location in profile.locations:
        assert location.mapping_id <= len(profile.mappings), location

# SPDX-License-Identifier: Apache-2.0
"""pprof files with given stacks, for tests of what is shown of them. Written by hand: the file is the same on every machine."""

import gzip

SAMPLE_TYPES = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")]

COMMENTS = ("heapsnap: 0.1.0", "program: /usr/bin/shop", "pid: 42")


def _varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def _field(number, value):
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _message(*fields):
    return b"".join(_field(number, value) for number, value in fields if value not in (0, b""))


def write(path, stacks, comments=COMMENTS, time_ns=1700000000 * 10**9, duration_ns=3 * 10**9, period=1):
    """`stacks`: [(frames, values)]; frames innermost first, each (function, file, line), values in the order of SAMPLE_TYPES."""
    strings, functions, locations, fields = [""], {}, {}, []

    def text(value):
        if value not in strings:
            strings.append(value)
        return strings.index(value)

    for name, unit in SAMPLE_TYPES:
        fields.append((1, _message((1, text(name)), (2, text(unit)))))
    for frames, values in stacks:
        ids = []
        for function, file, line in frames:
            number = functions.setdefault((function, file), len(functions) + 1)
            ids.append(locations.setdefault((number, line), len(locations) + 1))
        fields.append((2, _field(1, b"".join(map(_varint, ids))) + _field(2, b"".join(map(_varint, values)))))
    fields.append((3, _message((1, 1), (2, 0x400000), (3, 0x500000), (5, text("/usr/bin/shop")))))
    for (function, line), number in locations.items():
        fields.append((4, _message((1, number), (2, 1), (3, 0x400000 + 16 * number), (4, _message((1, function), (2, line))))))
    for (name, file), number in functions.items():
        fields.append((5, _message((1, number), (2, text(name)), (3, text(name)), (4, text(file)))))
    fields += [(11, _message((1, text("space")), (2, text("bytes")))), (9, time_ns), (10, duration_ns), (12, period)]
    fields += [(13, text(comment)) for comment in comments]
    fields += [(6, string.encode()) for string in strings]
    with open(path, "wb") as file:
        file.write(gzip.compress(b"".join(_field(number, value) for number, value in fields), mtime=0))

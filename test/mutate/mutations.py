# SPDX-License-Identifier: Apache-2.0
"""The list of mutations: read from the text files beside this one, and applied to a source text. Pure, but for the reading.

A mutation names the file, the function and the text in it, never a line, so that it goes on to apply while the code around it changes:

    name  guard-on-other-stack
    file  attach/region/inside.c
    in    inside_check
    tests e2e.stepped e2e.interrupted
    why   detach can unmap under a hook that a handler on an alternate stack has interrupted
    <<<<
        if (guard_map && guard_map != stack)
    ====
        if (false && guard_map != stack)
    >>>>

`in` is `-` where the text stands outside of a function. The text must occur exactly once in the function (or file): as whole lines, whose
indentation does not count, or, where it is of one line, as a part of one. `tests` are those that should notice. A line `lives` says why no test can notice (the
program that comes out does the same): such a mutation is printed with its reason, and counts for neither side."""

import glob
import os
import re

FIELDS = ("name", "file", "in", "tests", "why")


class BadMutation(Exception):
    """A mutation that cannot be read or does not apply; the text says why."""


class Mutation:
    def __init__(self, fields, old, new, source):
        self.name, self.file, self.function = fields["name"], fields["file"], fields["in"]
        self.tests, self.why, self.lives = fields["tests"].split(), fields["why"], fields.get("lives", "")
        self.old, self.new, self.source = old, new, source
        self.room = self.file.split("/")[0]


def parse(text, source):
    """The mutations of one file. Raises BadMutation."""
    result, fields, block, blocks = [], {}, None, []
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{source}:{number}"
        if block is not None and line not in ("====", ">>>>"):
            block.append(line)
        elif line == "<<<<":
            block = []
        elif line == "====":
            blocks, block = [block], []
        elif line == ">>>>":
            missing = [field for field in FIELDS if not fields.get(field)]
            if missing or not blocks:
                raise BadMutation(f"{where}: without {', '.join(missing) or 'a text to replace'}")
            result.append(Mutation(fields, blocks[0], block, where))
            fields, block, blocks = {}, None, []
        elif line.strip() and not line.startswith("#"):
            field, _, value = line.partition(" ")
            if field not in (*FIELDS, "lives") or field in fields:
                raise BadMutation(f"{where}: what is {line!r}?")
            fields[field] = value.strip()
    if fields or block is not None:
        raise BadMutation(f"{source}: ends in the middle of a mutation")
    return result


def read_all(folder=os.path.dirname(os.path.abspath(__file__))):
    result = []
    for path in sorted(glob.glob(os.path.join(folder, "*.mutations"))):
        with open(path, encoding="utf-8") as file:
            result += parse(file.read(), os.path.basename(path))
    names = [mutation.name for mutation in result]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadMutation(f"names that stand twice: {', '.join(twice)}")
    return result


def function_lines(lines, name):
    """First and last line (exclusive) of a function's definition, which begins in the first column and ends with `}` there. Raises BadMutation."""
    found = []
    head = re.compile(rf"^(?:__attribute__\(\(.*?\)\) )?[A-Za-z_][^(]*\b{re.escape(name)}\(")
    for start, line in enumerate(lines):
        if not head.match(line):
            continue
        if line.rstrip().endswith("}"):  # all on one line
            found.append((start, start + 1))
            continue
        end = start
        while end < len(lines) and not lines[end].startswith(("{", "}")) and not lines[end].rstrip().endswith(";"):
            end += 1
        if end == len(lines) or not lines[end].startswith("{"):
            continue  # a declaration, or a call
        while not lines[end].startswith("}"):
            end += 1
        found.append((start, end + 1))
    if len(found) != 1:
        raise BadMutation(f"{len(found)} functions named {name}")
    return found[0]


def apply_to_part(mutation, lines, low, high):
    """Where the text is a part of one line. None: it is not, or not just once."""
    old, new = mutation.old[0].strip(), mutation.new[0].strip() if mutation.new else ""
    places = [at for at in range(low, high) if old in lines[at]]
    if len(places) != 1 or lines[places[0]].count(old) != 1:
        return None
    return lines[:places[0]] + [lines[places[0]].replace(old, new)] + lines[places[0] + 1:]


def apply(mutation, text):
    """The mutated text. Raises BadMutation where it does not apply exactly once."""
    lines = text.split("\n")
    low, high = (0, len(lines)) if mutation.function == "-" else function_lines(lines, mutation.function)
    old = [line.strip() for line in mutation.old]
    places = [at for at in range(low, high - len(old) + 1) if [line.strip() for line in lines[at:at + len(old)]] == old]
    mutated = None
    if len(places) == 1:
        mutated = lines[:places[0]] + mutation.new + lines[places[0] + len(old):]
    elif not places and len(old) == 1 and len(mutation.new) <= 1:
        mutated = apply_to_part(mutation, lines, low, high)
    if mutated is None:
        raise BadMutation(f"{mutation.source}: {mutation.name}: its text does not stand just once in {mutation.file}, {mutation.function}")
    if mutated == lines:
        raise BadMutation(f"{mutation.source}: {mutation.name}: changes nothing")
    return "\n".join(mutated)

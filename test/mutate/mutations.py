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

`in` is `-` where the text stands outside of a function. The text must occur exactly once in the function (or file), as whole lines or else as a part of
some; white space, comments and joints of string literals do not count. `tests` are those that should notice. A line `lives` says why no test can notice (the
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


def squeezed(text):
    """The text without white space, comments to the end of a line, and joints of string literals, none of which a formatter leaves alone; and the place in
    `text` of each character that is left."""
    kept, in_string, at = [], False, 0
    while at < len(text):
        char = text[at]
        if in_string and char == "\\":
            kept += [at, at + 1]
            at += 2
            continue
        if char == "'" and not in_string:  # a character, which may be a quote
            end = re.compile(r"'(\\.|[^'\\])*'").match(text, at)
            if end:
                kept += range(at, end.end())
                at = end.end()
                continue
        if char == '"':
            in_string = not in_string
            if in_string and kept and text[kept[-1]] == '"':  # goes on with the literal before
                kept.pop()
                at += 1
                continue
        elif not in_string and text.startswith("//", at):
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
            continue
        if in_string or not char.isspace():
            kept.append(at)
        at += 1
    return "".join(text[place] for place in kept), kept


def occurrences(part, whole):
    found, at = [], whole.find(part)
    while at >= 0:
        found.append(at)
        at = whole.find(part, at + 1)
    return found


def apply(mutation, text):
    """The mutated text. Raises BadMutation where it does not apply exactly once."""
    lines = text.split("\n")
    low, high = (0, len(lines)) if mutation.function == "-" else function_lines(lines, mutation.function)
    before, part, behind = ("\n".join(lines[:low] + [""] * (low > 0)), "\n".join(lines[low:high]), "\n".join([""] + lines[high:]))
    old, _ = squeezed("\n".join(mutation.old))
    whole, places = squeezed(part)

    def is_whole_lines(at):
        begin, end = places[at], places[at + len(old) - 1] + 1
        return not part[part.rfind("\n", 0, begin) + 1:begin].strip() and not squeezed(part[end:].partition("\n")[0])[0]

    found = occurrences(old, whole) if old else []
    as_lines = [at for at in found if is_whole_lines(at)]
    if len(as_lines) == 1:
        found = as_lines
    if len(found) != 1:
        raise BadMutation(f"{mutation.source}: {mutation.name}: its text does not stand just once in {mutation.file}, {mutation.function}")
    begin, end = places[found[0]], places[found[0] + len(old) - 1] + 1
    new = "\n".join(mutation.new)
    mutated = before + part[:begin] + new.strip() + part[end:] + behind
    if squeezed(mutated)[0] == squeezed(text)[0]:
        raise BadMutation(f"{mutation.source}: {mutation.name}: changes nothing")
    return mutated

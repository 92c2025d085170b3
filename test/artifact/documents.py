# SPDX-License-Identifier: Apache-2.0
"""documents.py ROOT CTEST BUILD: whether each test that the documents name is a test that runs, and each file is there. Each rule is
first seen to fail.

A promise in docs/ stands beside the test that shows it; a test that was renamed or dropped must not leave the promise behind."""

import fnmatch
import glob
import os
import re
import subprocess
import sys

from listed_tests import listed_tests, log_is_whole, log_of_run

GROUPS = "unit|e2e|unharmed|artifact|unwind|fuzz|bench|model|readers"
NAMED = re.compile(rf"`((?:{GROUPS})\.[a-z0-9_]+)`(?!\s*\()")
FILE_NAME = re.compile(r"\.(c|h|py|md)$")
IN_BACKQUOTES = re.compile(r"`([\w./*-]+\.(?:c|h|S|cc|py|md|proto|pml|lds|json))`")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
COLUMNS_MAX = 120
OF_OTHERS = {"mm/mlock.c", "sys/ptrace.h", ".speedscope.json"}  # of Linux, of the C library, the end of a name


def named_tests(text):
    """Number of the line and name of each test in backquotes. Several may share one pair: `e2e.redis`, `nginx` names only the first."""
    for number, line in enumerate(text.splitlines(), 1):
        for match in NAMED.finditer(line):
            if not FILE_NAME.search(match[1]):
                yield number, match[1]


def unknown_tests(path, text, tests):
    return [f"{path}:{number}: there is no test {name}" for number, name in named_tests(text) if name not in tests]


def unknown_files(path, text, files):
    """Names of files in backquotes that no file has. A name may be shortened from the left, and have a * in it."""
    return [f"{path}:{number}: there is no file {match[1]}" for number, line in enumerate(text.splitlines(), 1)
            for match in IN_BACKQUOTES.finditer(line)
            if match[1] not in OF_OTHERS and not any(fnmatch.fnmatchcase("/" + file, "*/" + match[1]) for file in files)]


def broken_links(path, text, files):
    """Links that lead to no file of the tree, relative to the document; those to the net are not looked at."""
    return [f"{path}:{number}: a link leads to {match[1]}, which is not there" for number, line in enumerate(text.splitlines(), 1)
            for match in LINK.finditer(line) if os.path.normpath(os.path.join(os.path.dirname(path), match[1])) not in files]


def long_lines(path, text):
    """Rows of tables and what a program has printed cannot be wrapped."""
    return [f"{path}:{number}: {len(line)} columns, more than {COLUMNS_MAX}" for number, line in enumerate(text.splitlines(), 1)
            if len(line) > COLUMNS_MAX and not line.lstrip().startswith("|") and not line.startswith(6 * " ")]


def not_in_index(index, names):
    return [f"docs/README.md does not name {name}" for name in names if f"]({name})" not in index]


def pitfall_rows(text):
    """The rows of the table of pitfalls: number -> last column, where the tests stand."""
    section = text.split("## Pitfalls", 1)
    rows = re.findall(r"^\| (\d+) \|(.*)\|$", section[1], re.M) if len(section) == 2 else []
    return {int(number): columns.split("|")[-1] for number, columns in rows}


def pitfalls_without_test(text, count):
    rows = pitfall_rows(text)
    missing = [f"pitfall {number} has no row" for number in range(1, count + 1) if number not in rows]
    return missing + [f"pitfall {number} names no test and does not say `none`" for number, tests in rows.items()
                      if not NAMED.search(tests) and "none:" not in tests]


def see_the_rules_fail():
    assert unknown_tests("a.md", "x `unit.gone_test` y", {"unit.here_test"}), "an unknown test is not seen"
    assert not unknown_tests("a.md", "`unit.here_test`, `unit.a.c`", {"unit.here_test"})
    assert unknown_files("a.md", "see `attach/gone.c`", ["attach/here.c"]), "an unknown file is not seen"
    assert unknown_files("a.md", "see `ere.c`", ["attach/here.c"]), "a part of a name is taken for a name"
    assert not unknown_files("a.md", "`here.c`, `attach/here.c`, `arch/*/a.S`, `<name>/b.c`", ["attach/here.c", "arch/x/a.S"])
    assert broken_links("docs/a.md", "[x](gone.md)", ["gone.md", "docs/b.md"]), "a broken link is not seen"
    assert not broken_links("docs/a.md", "[x](b.md), [y](../c.md), ![z](b.md), [n](https://a.example/x)", ["docs/b.md", "c.md"])
    assert long_lines("a.md", "x" * 121 + "\n") and not long_lines("a.md", "x" * 120 + "\n  | " + "x" * 120), "a long line is not seen"
    assert not_in_index("[a.md](a.md)", ["a.md", "b.md"]) == ["docs/README.md does not name b.md"], "a document outside the index is not seen"
    assert log_is_whole(None, None) and log_is_whole((1, 5), (1, 5)) and log_is_whole((1, 5), (1, 9))
    assert not log_is_whole((1, 5), None) and not log_is_whole((1, 5), (2, 9)) and not log_is_whole((1, 5), (1, 4)), "a log begun anew is not seen"
    table = "## Pitfalls\n| 1 | text | `unit.a_test` |\n| 2 | text | later |\n"
    assert pitfalls_without_test(table, 3) == ["pitfall 3 has no row", "pitfall 2 names no test and does not say `none`"]


def main():
    root, ctest, build = sys.argv[1:]
    see_the_rules_fail()
    log = log_of_run(build)
    tests = {test["name"] for test in listed_tests(ctest, build)}
    assert log_is_whole(log, log_of_run(build)), "the log of the ctest that this is a part of was begun anew"
    with open(os.path.join(root, "test/fuzz/CMakeLists.txt"), encoding="utf-8") as file:  # a build of its own
        text = file.read()
    tests |= {f"fuzz.{name}" for name in re.findall(r"^hs_fuzzer\((\w+)", text, re.M)} | set(re.findall(r"NAME (fuzz\.\w+)", text))
    bad = []
    files = subprocess.run(["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    files += ["out.pb.gz", "build/bench.json", "build-mutate/result.json"]  # what commands make
    for path in sorted(glob.glob(os.path.join(root, "docs", "*.md")) + glob.glob(os.path.join(root, "*.md"))):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        name = os.path.relpath(path, root)
        bad += unknown_tests(name, text, tests) + unknown_files(name, text, files) + broken_links(name, text, files)
        bad += long_lines(name, text)
        if name == "docs/README.md":
            bad += not_in_index(text, [document for document in sorted(os.listdir(os.path.join(root, "docs")))
                                       if document.endswith(".md") and document != "README.md"])
        if path.endswith("target-safety.md"):
            bad += pitfalls_without_test(text, 36)
    print("\n".join(bad))
    sys.exit(1 if bad else 0)


main()

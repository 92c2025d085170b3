# SPDX-License-Identifier: Apache-2.0
"""mutations_test.py ROOT CTEST BUILD: whether each mutation of the list still applies to the tree as it is, once, and names tests that exist.
The whole list is tried by ./dev mutate, which takes hours. Each rule is first seen to fail."""

import os
import sys

import mutations
from mutations import BadMutation, Mutation, apply, parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "artifact"))

from listed_tests import listed_tests, log_is_whole, log_of_run  # noqa: E402

LEAST = 150
FIELDS = {"name": "n", "file": "a/b.c", "in": "f", "tests": "unit.x", "why": "w"}
TEXT = "static int f(int a);\n\nstatic int f(int a)\n{\n\tif (a)\n\t\treturn 1;\n\treturn f(a);\n}\n\nint g(void)\n{\n\tif (a)\n\t\treturn 1;\n}\n"


def fails(call):
    try:
        call()
    except BadMutation:
        return True
    return False


def see_the_rules_work():
    def made(old, new, function="f"):
        return Mutation({**FIELDS, "in": function}, old, new, "here")
    assert apply(made(["if (a)"], ["\tif (!a)"]), TEXT) == TEXT.replace("{\n\tif (a)", "{\n\tif (!a)", 1)
    assert apply(made(["if (a)"], ["\tif (!a)"], "g"), TEXT).count("!a") == 1
    assert apply(made(["return f("], ["return -f("]), TEXT) == TEXT.replace("return f(", "return -f(")
    assert apply(made(["if (a) // why", "return 1;"], ["return 2;"]), TEXT) == TEXT.replace("{\n\tif (a)\n\t\treturn 1", "{\n\treturn 2", 1), "lines that are laid another way"
    assert apply(made(['s("a" "b //");'], ["t();"], "-"), 's("a"\n\t "b //");\n') == "t();\n", "a literal in two parts"
    assert fails(lambda: apply(made(['s("a b");'], ["t();"], "-"), 's("ab");\n')), "white space within a literal counts"
    assert fails(lambda: apply(made(["if (b)"], ["x"]), TEXT)), "a text that is not there"
    assert fails(lambda: apply(made(["a"], ["b"]), TEXT)), "a part that stands in two lines"
    assert fails(lambda: apply(made(["if (a)"], ["x"], "-"), TEXT)), "a text that stands twice"
    assert fails(lambda: apply(made(["if (a)"], ["x"], "h"), TEXT)), "no such function"
    assert fails(lambda: apply(made(["if (a)"], ["\tif (a)"]), TEXT)), "nothing is changed"
    whole = "name n\nfile a/b.c\nin f\ntests unit.x\nwhy w\n<<<<\n\ta\n====\n\tb\n>>>>\n"
    assert parse(whole, "s")[0].old == ["\ta"] and parse(whole, "s")[0].new == ["\tb"]
    assert fails(lambda: parse(whole.replace("why w\n", ""), "s")), "a field is missing"
    assert fails(lambda: parse(whole.replace(">>>>\n", ""), "s")), "the end is missing"


def complaints(root, tests):
    every = mutations.read_all()
    if len(every) < LEAST:
        yield f"{len(every)} mutations are fewer than {LEAST}"
    for mutation in every:
        yield from (f"{mutation.source}: {mutation.name}: there is no test {test}" for test in mutation.tests if test not in tests)
        try:
            with open(os.path.join(root, mutation.file), encoding="utf-8") as file:
                apply(mutation, file.read())
        except (BadMutation, FileNotFoundError) as error:
            yield str(error)


def main():
    root, ctest, build = sys.argv[1:]
    see_the_rules_work()
    log = log_of_run(build)
    bad = list(complaints(root, {test["name"] for test in listed_tests(ctest, build)}))
    assert log_is_whole(log, log_of_run(build)), "the log of the ctest that this is a part of was begun anew"
    print("\n".join(bad))
    sys.exit(1 if bad else 0)


main()

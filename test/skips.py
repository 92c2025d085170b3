# SPDX-License-Identifier: Apache-2.0
"""skips.py LIST JUNIT...: of what ctest has written with --output-junit, which tests were skipped, and why. Fails where a reason is not in the list.

A test that leaves something out prints `SKIPPED: reason` for each thing, and ends with the status 77. A line of the list is `test: reason`; `*` at the end
of a reason stands for whatever follows. skips.py --self-test LIST: this program itself, on results made for it."""

import fnmatch
import os
import re
import sys
import tempfile
import xml.etree.ElementTree

REASON = re.compile(r"^\s*SKIPPED: (.*\S)", re.MULTILINE)


def read_list(path):
    """The pairs of test and reason. Raises ValueError for a line that is none."""
    allowed = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip() and not line.startswith("#"):
                test, colon, reason = line.strip().partition(": ")
                if not colon or not reason.strip("* "):
                    raise ValueError(f"{path}:{number}: not 'test: reason'")
                allowed.append((test, reason))
    return allowed


def is_allowed(test, reason, allowed):
    return any(test == name and fnmatch.fnmatchcase(reason, pattern.replace("[", "[[]").replace("?", "[?]")) for name, pattern in allowed)


def skipped(path):
    """Each skipped test and its reasons."""
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("skipped") is not None:
            yield case.get("name"), list(dict.fromkeys(REASON.findall(case.findtext("system-out") or "")))


def judge(paths, allowed):
    """What is wrong, a line each; prints what was skipped with leave."""
    faults = []
    for path in paths:
        for test, reasons in skipped(path):
            if not reasons:
                faults.append(f"{test} was skipped and does not say why")
            for reason in reasons:
                if is_allowed(test, reason, allowed):
                    print(f"skipped, as test/allowed_skips.txt says: {test}: {reason}")
                else:
                    faults.append(f"{test} was skipped for a reason that is not in test/allowed_skips.txt: {reason}")
    return faults


def result_of(name, output, status="notrun", element="<skipped message='SKIP_RETURN_CODE=77'/>"):
    return f"<testcase name='{name}' classname='{name}' status='{status}'>{element}<system-out>{output}</system-out></testcase>"


# The test cases of a run, and how many faults they are with the list below.
LIST = "# a comment\n\nunit.a: no kernel\nunit.b: the archive * cannot be reached\n"
EXAMPLES = [
    ([result_of("unit.a", "1 check", "run", "")], 0),
    ([result_of("unit.a", "x\nSKIPPED: no kernel\n1 check")], 0),
    ([result_of("unit.b", "  SKIPPED: the archive http://debian cannot be reached")], 0),
    ([result_of("unit.a", "1 check")], 1),  # does not say why
    ([result_of("unit.a", "SKIPPED: not root")], 1),
    ([result_of("unit.c", "SKIPPED: no kernel")], 1),  # another test's reason
    ([result_of("unit.a", "SKIPPED: no kernel\nSKIPPED: not root")], 1),
    ([result_of("unit.a", "SKIPPED: no kernel of ours")], 1),
    ([result_of("unit.b", "SKIPPED: archive")], 1),
    ([result_of("unit.a", "SKIPPED: not root"), result_of("unit.b", "")], 2),
    ([result_of("unit.a", "SKIPPED: not root", "run", "")], 0),  # passed: only ctest's word counts
]
BAD_LISTS = ["unit.a\n", "unit.a: *\n", "unit.a: \n"]


def self_test(list_path):
    right = True
    with tempfile.TemporaryDirectory(prefix="heapsnap-skips-") as folder:
        path = os.path.join(folder, "list")
        for text in BAD_LISTS:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            try:
                read_list(path)
                print(f"the list {text!r} is not refused")
                right = False
            except ValueError:
                pass
        with open(path, "w", encoding="utf-8") as file:
            file.write(LIST)
        allowed = read_list(path)
        for cases, faults in EXAMPLES:
            with open(os.path.join(folder, "junit.xml"), "w", encoding="utf-8") as file:
                file.write(f"<testsuite>{''.join(cases)}</testsuite>")
            found = judge([file.name], allowed)
            if len(found) != faults:
                print(f"{cases}: {found}, which are not {faults} faults")
                right = False
    print(f"{len(read_list(list_path))} reasons in the list")
    return right


def main():
    if sys.argv[1] == "--self-test":
        return 0 if self_test(sys.argv[2]) else 1
    faults = judge(sys.argv[2:], read_list(sys.argv[1]))
    for fault in faults:
        print(fault)
    return 1 if faults else 0


sys.exit(main())

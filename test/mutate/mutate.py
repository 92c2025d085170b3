# SPDX-License-Identifier: Apache-2.0
"""Changes the program in small ways, one at a time, and asks the tests that should notice. Prints score and survivors.

Works in a copy of the tree below build-mutate/, so that the tree and its build stay as they are. What the noticing tests said goes to build-mutate/noticed/. A mutation that the compiler refuses is no
mutation: it is printed as such, and makes the exit status 1. So is one that does not apply any more."""

import argparse
import errno
import json
import os
import shutil
import subprocess
import sys
import time

import mutations
from mutations import BadMutation

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORK = os.path.join(ROOT, "build-mutate")
TREE = os.path.join(WORK, "tree")
BUILD = os.path.join(TREE, "build")
JOBS = str(os.cpu_count() or 2)
PREPARE = r"e2e\.build_pprof"  # a fixture that others need


def say(text):
    print(text, flush=True)


def arguments():
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="TEXT", action="append", help="mutations whose name or file has TEXT in it; may be repeated")
    parser.add_argument("--resume", action="store_true", help="leave out those that build-mutate/result.json has already, for the same commit")
    parser.add_argument("--list", action="store_true", help="print the mutations and their tests")
    parser.add_argument("--timeout", type=int, default=300, metavar="SECONDS", help="of one test; 300 unless told")
    parser.add_argument("--commit", default="", help="what is mutated, for the result")
    return parser.parse_args()


def run(command, log, **others):
    while True:
        with open(os.path.join(WORK, log), "w", encoding="utf-8") as file:
            try:
                return subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False, **others).returncode
            except OSError as error:  # e2e.promised_memory, perhaps another tree's, lets the machine promise no more memory for a while
                if error.errno != errno.ENOMEM:
                    raise
        time.sleep(5)


def write_if_changed(path, data):
    try:
        with open(path, "rb") as file:
            if file.read() == data:
                return
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def copy_tree():
    """What git tracks, as it is now. Files that are the same keep their time, so that little is built anew."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=True).stdout.decode().split("\0")
    for name in filter(None, listed):
        source, copy = os.path.join(ROOT, name), os.path.join(TREE, name)
        if os.path.isfile(source):
            with open(source, "rb") as file:
                write_if_changed(copy, file.read())
            os.chmod(copy, os.stat(source).st_mode)


def build(programs=()):
    """These programs and what they are made of; everything where none is named."""
    if not os.path.exists(os.path.join(BUILD, "CMakeCache.txt")):
        if run(["cmake", "-S", TREE, "-B", BUILD, "-DHEAPSNAP_TESTS=ON"], "cmake.log") != 0:
            return False
    return run(["cmake", "--build", BUILD, "-j", JOBS, *(["--target", *sorted(programs)] if programs else [])], "build.log") == 0


def known_tests():
    """What each test runs of the build, by the test's name. Nothing: not known."""
    listed = json.loads(subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1"], capture_output=True, check=True).stdout)
    result = {}
    for test in listed["tests"]:
        words = list(test.get("command", ()))
        for line in test.get("properties", ()):
            if line["name"] == "ENVIRONMENT":
                words += [word.partition("=")[2] for word in line["value"]]
        ours = [word for word in words if word.startswith(BUILD + os.sep) and os.path.isfile(word) and os.access(word, os.X_OK)]
        result[test["name"]] = {os.path.basename(word) for word in ours} - {"pprof"}  # a test builds that one
    return result


def fails(test, timeout):
    pattern = f"^({test.replace('.', chr(92) + '.')}|{PREPARE})$"
    return run(["ctest", "--test-dir", BUILD, "--no-tests=error", "--output-on-failure", "--timeout", str(timeout), "-R", pattern], "test.log") != 0


def baseline(chosen, programs, timeout):
    """Tests that fail without any mutation would notice everything."""
    tests = sorted({test for mutation in chosen for test in mutation.tests})
    unknown = set(tests) - set(programs)
    if unknown:
        raise BadMutation(f"tests that do not exist: {', '.join(sorted(unknown))}")
    say(f"without a mutation: {len(tests)} tests")
    failing = [test for test in tests if fails(test, timeout)]
    if failing:
        raise BadMutation(f"fail without a mutation: {', '.join(failing)}")


def judge(mutation, programs, timeout):
    """What became of it: (verdict, what says so). Each test's programs are built before it: to build every test anew takes longer than the tests."""
    path = os.path.join(TREE, mutation.file)
    with open(path, encoding="utf-8") as file:
        original = file.read()
    try:
        write_if_changed(path, mutations.apply(mutation, original).encode())
        for test in mutation.tests:
            if not build(programs[test]):
                return "not built", "the compiler refuses it: build-mutate/build.log"
            if fails(test, timeout):
                os.makedirs(os.path.join(WORK, "noticed"), exist_ok=True)
                shutil.copy(os.path.join(WORK, "test.log"), os.path.join(WORK, "noticed", f"{mutation.name}.log"))
                return "noticed", test
        return "survived", ""
    finally:
        write_if_changed(path, original.encode())


def load_results(commit):
    try:
        with open(os.path.join(WORK, "result.json"), encoding="utf-8") as file:
            result = json.load(file)
    except (FileNotFoundError, ValueError):
        return {}
    return result["mutations"] if result.get("commit") == commit else {}


def save_results(commit, results):
    with open(os.path.join(WORK, "result.json"), "w", encoding="utf-8") as file:
        json.dump({"commit": commit, "mutations": results}, file, indent=1)
        file.write("\n")


def report(chosen, results):
    """The score by room, then who survived. Returns the exit status."""
    counts = {}
    for mutation in chosen:
        verdict = results[mutation.name][0]
        for room in (mutation.room, "all"):
            counts.setdefault(room, {}).setdefault(verdict, []).append(mutation)
    for room, verdicts in sorted(counts.items()):
        noticed, survived = len(verdicts.get("noticed", ())), len(verdicts.get("survived", ()))
        percent = f"{100 * noticed / (noticed + survived):.0f} %" if noticed + survived else "-"
        say(f"{room:10} {noticed:4} of {noticed + survived:4} noticed  {percent}")
    for mutation in counts.get("all", {}).get("survived", ()):
        say(f"survived: {mutation.name} ({mutation.file}, {mutation.function}): {mutation.why}")
    for mutation in counts.get("all", {}).get("lives", ()):
        say(f"cannot be noticed: {mutation.name} ({mutation.file}, {mutation.function}): {mutation.lives}")
    bad = [name for verdict in ("not built", "does not apply") for name in counts.get("all", {}).get(verdict, ())]
    for mutation in bad:
        say(f"{results[mutation.name][0]}: {mutation.name}: {results[mutation.name][1]}")
    return 1 if bad else 0


def main():
    options = arguments()
    every = mutations.read_all()
    chosen = [mutation for mutation in every if not options.only or any(text in mutation.name or text in mutation.file for text in options.only)]
    if options.list:
        for mutation in chosen:
            say(f"{mutation.name:34} {mutation.file:32} {' '.join(mutation.tests)}")
        return 0
    os.makedirs(WORK, exist_ok=True)
    results = load_results(options.commit) if options.resume else {}
    copy_tree()
    say(f"building {os.path.relpath(BUILD, ROOT)}")
    if not build():
        raise BadMutation("the tree does not build without a mutation: build-mutate/build.log")
    programs = known_tests()
    left = [mutation for mutation in chosen if mutation.name not in results]
    baseline([mutation for mutation in left if not mutation.lives], programs, options.timeout)
    for number, mutation in enumerate(left, 1):
        began = time.monotonic()
        try:
            verdict = ("lives", mutation.lives) if mutation.lives else judge(mutation, programs, options.timeout)
        except BadMutation as error:
            verdict = ("does not apply", str(error))
        results[mutation.name] = verdict
        save_results(options.commit, results)
        say(f"{number:4}/{len(left)} {verdict[0]:10} {mutation.name} {'by ' + verdict[1] if verdict[0] == 'noticed' else ''} {time.monotonic() - began:.0f} s")
    return report(chosen, results)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BadMutation as error:
        sys.exit(f"mutate: {error}")

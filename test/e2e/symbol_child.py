# SPDX-License-Identifier: Apache-2.0
"""A file that makes the process that reads it crash, or say what is not so, costs the symbols of that module and nothing else, and is
told in all places."""

import os

import pprof_reader
from harness import Target, attach, check, check_equal, detach, dump, heapsnap, run_test, say, temporary_directory


def functions(path):
    """Whether functions of the program and of the C library have names."""
    names = {function.name for function in pprof_reader.decode(path).functions}
    return "main" in names, any(name.startswith("__libc_start") for name in names)


def lost(value):
    return [line for line in value["ledger"] if line["name"] == "symbols_lost"]


def went_wrong(pid, path, kind, says):
    result = heapsnap("dump", pid, "-o", path, "--json", "--no-cache", environment={"HEAPSNAP_TEST_SYMBOL_CHILD": f"{kind}:libc.so"})
    check_equal(result.status, 0, str(result))
    lines = lost(result.json)
    check_equal(len(lines), 1, f"lines of the ledger for lost symbols: {lines}")
    check(lines[0]["loss"] and lines[0]["value"] == 1 and "libc.so" in lines[0]["text"] and says in lines[0]["text"], f"{lines}")
    warnings = [line for line in result.json["warnings"] if "no symbols of" in line]
    check(not result.stderr, f"a command that succeeds says something beside its JSON: {result}")
    check(len(warnings) == 1 and "libc.so" in warnings[0] and says in warnings[0], f"no warning: {result}")
    comments = [comment for comment in pprof_reader.decode(path).parts() if "symbols_lost" in comment]
    check(len(comments) == 1 and comments[0].startswith("LOSS: ") and "libc.so" in comments[0], f"comments: {comments}")
    check_equal(functions(path), (True, False), f"the program's functions have names, the C library's have none ({kind})")
    say(f"  {warnings[0]}")


def main():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("ground_truth", 4, 1, os.path.join(os.environ["HEAPSNAP_TARGETS"], "libtruth_plugin.so"))
    attach(target.pid)
    target.ask_json("go")
    check_equal(lost(dump(target.pid, path)), [], "symbols lost of files that are in order")
    check_equal(functions(path), (True, True), "functions of the program and of the C library have names")
    went_wrong(target.pid, path, "crash", "was killed by signal 4")
    went_wrong(target.pid, path, "rubbish", "sent an invalid answer")
    detach(target.pid)
    check_equal(target.ask("finish"), "ok", "contents of the blocks")
    target.end()


run_test(main, "symbol child")

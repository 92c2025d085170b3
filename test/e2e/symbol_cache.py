# SPDX-License-Identifier: Apache-2.0
"""What symbol files say is kept on disk, and says the same when it is used: then no file is read. What is damaged is read again; --no-cache
neither uses nor keeps anything; no file of root's comes into another user's home."""

import os
import shutil

import pprof_reader
from harness import Target, attach, check, check_equal, detach, heapsnap, run_test, say, temporary_directory

CRASH = {"HEAPSNAP_TEST_SYMBOL_CHILD": "crash:"}  # of every process that reads a file


def names_of(path):
    """All that a profile says of its code."""
    profile = pprof_reader.decode(path)
    return sorted((function.name, function.system_name, function.filename, function.start_line) for function in profile.functions)


def take(pid, path, *options, **environment):
    result = heapsnap("dump", pid, "-o", path, "--json", *options, environment=environment)
    check_equal(result.status, 0, str(result))
    lost = [line for line in result.json["ledger"] if line["name"] == "symbols_lost"]
    return names_of(path), len(lost), result.json["symbolize_us"]


def kept(folder):
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def main():
    directory = temporary_directory()
    path, cache = os.path.join(directory, "out.pb.gz"), os.path.join(directory, "cache")
    folder = os.path.join(cache, "heapsnap")
    os.mkdir(cache)
    target = Target("ground_truth", 4, 1, os.path.join(os.environ["HEAPSNAP_TARGETS"], "libtruth_plugin.so"))
    attach(target.pid)
    target.ask_json("go")

    expected, lost, cold_us = take(target.pid, path, "--no-cache", XDG_CACHE_HOME=cache)
    check(lost == 0 and any(name == "main" for name, _, _, _ in expected), f"functions have names: {expected}")
    check_equal(kept(cache), [], "files that --no-cache has kept")

    for readers in "1", "2", "4":
        names, lost, _ = take(target.pid, path, "--no-cache", XDG_CACHE_HOME=cache, HEAPSNAP_TEST_SYMBOL_READERS=readers)
        check_equal((names, lost), (expected, 0), f"names by {readers} processes at once")

    names, lost, _ = take(target.pid, path, XDG_CACHE_HOME=cache)
    check_equal((names, lost), (expected, 0), "names that are kept")
    files = kept(folder)
    check(len(files) >= 2 and all(name.endswith(".symbols") for name in files), f"kept: {files}")
    check_equal([os.stat(os.path.join(folder, name)).st_mode & 0o777 for name in files], [0o600] * len(files), "modes of what is kept")
    check_equal(os.stat(folder).st_mode & 0o777, 0o700, "mode of the folder")

    names, lost, warm_us = take(target.pid, path, XDG_CACHE_HOME=cache, **CRASH)
    check_equal((names, lost), (expected, 0), "names that were kept, without a process that reads a file")
    say(f"  {len(expected)} functions: {cold_us} us, then {warm_us} us")

    names, lost, _ = take(target.pid, path, "--no-cache", XDG_CACHE_HOME=cache, **CRASH)
    check(lost >= 2 and names != expected, "--no-cache uses what is kept")

    for number, name in enumerate(files):
        with open(os.path.join(folder, name), "r+b") as file:
            data = file.read()
            file.seek(0)
            if number % 2:
                file.truncate(len(data) // 2)
            else:
                file.write(bytes([byte ^ 0xff for byte in data]))
    _, lost, _ = take(target.pid, path, XDG_CACHE_HOME=cache, **CRASH)
    check(lost >= 2, "damaged files are used")
    names, lost, _ = take(target.pid, path, XDG_CACHE_HOME=cache)
    check_equal((names, lost), (expected, 0), "names after damage")
    names, lost, _ = take(target.pid, path, XDG_CACHE_HOME=cache, **CRASH)
    check_equal((names, lost), (expected, 0), "names that were kept again")

    if os.geteuid() == 0:  # as sudo may leave the environment
        home = os.path.join(directory, "home")
        os.mkdir(home)
        os.chown(home, 1000, 1000)
        roots_own = "/var/cache/heapsnap"
        was_there = os.path.isdir(roots_own)
        names, lost, _ = take(target.pid, path, XDG_CACHE_HOME=os.path.join(home, ".cache"))
        if not was_there:
            shutil.rmtree(roots_own, ignore_errors=True)
        check_equal((names, lost), (expected, 0), "names with another user's home")
        check_equal(os.listdir(home), [], "what is in another user's home")
    detach(target.pid)
    check_equal(target.ask("finish"), "ok", "contents of the blocks")
    target.end()


run_test(main, "symbol cache")

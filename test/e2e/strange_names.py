# SPDX-License-Identifier: Apache-2.0
"""Names that a terminal acts on: of a process, a thread, its program, its libraries, functions and made code. Whatever command is run, what it prints has
them as visible escapes, JSON and profiles are strictly valid UTF-8, names in other scripts stay readable, and different names stay different."""

import gzip
import json
import os
import shutil
import unicodedata

import pprof_reader
from harness import (HEAPSNAP, Result, Target, check, check_equal, got_no_processor, other_thread, run_test, say, start, target_path,
                     temporary_directory)

OWN = ("--own", "^f")  # functions that only allocate for their caller are no sites otherwise
PLACEHOLDER = b"strange_name_placeholder_0123456789"
COMM = b"\x1b]0;P\x07\x9b31m\xe2\x80\xae\xff"  # 15 bytes are what a name of a thread has room for
FOLDER = "d\u00e9p\u00f4t \u4e2d".encode()
PROGRAM = b"prog\x1b[31m\xc2\x9b1m\x7f\n\xe2\x80\xa8"
# Two that are one when each strange byte becomes a "?".
LIBRARIES = [b"lib\x1b]0;pwned\x07\xe2\x80\xae\xe2\x81\xa6\xff\xc0\x9b.so", b"lib\x1b]0;pwned\x07\xe2\x80\xad\xe2\x81\xa7\xfe\xc0\x9b.so"]
FUNCTIONS = [b"f\x1b[2J\xc2\x9b\x9b\xe2\x80\xae\xef\xbb\xbf\xed\xa0\x80\xff_\xc3\xa9\xce\xb1_" + end for end in (b"1", b"2")]
SHOWN = ["f\\x1b[2J\\u009b\\x9b\\u202e\\ufeff\\xed\\xa0\\x80\\xff_\u00e9\u03b1_" + end for end in ("1", "2")]
MADE = b"made\x1b[31m\xc2\x9b\xe2\x80\xae\xff"


def check_shown(output, what):
    """Of text for people: whole characters, of which none is a control or hides something; lines end with a newline and with nothing else."""
    try:
        text = output.decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        check(False, f"{what}: no UTF-8: {error}: {output!r}")
    for character in text.replace("\n", ""):
        check(unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp"), f"{what}: U+{ord(character):04X} in {output!r}")
    return text


def run(*arguments, status=0):
    """Runs heapsnap with its own bytes kept. Returns what it shows, and what it writes as JSON."""
    for _ in range(5):
        process = start([HEAPSNAP, *map(str, arguments)], stdin=-3, stdout=-1, stderr=-1)
        output, errors = process.communicate(timeout=60)
        if not got_no_processor(Result(arguments, process.returncode, output, errors.decode("utf-8", "replace"))):
            break
        say(f"  again: {errors!r}")
    what = f"heapsnap {' '.join(map(str, arguments))}"
    shown = check_shown(errors, what)
    check_equal(process.returncode, status, f"{what}: {shown}")
    if "--json" not in arguments:
        return check_shown(output, what) + shown, None
    check_shown(output, what)
    return shown, json.loads(output.decode("utf-8", "strict"))


def make_library(path, function):
    with open(target_path("libstrange_library.so"), "rb") as file:
        code = file.read()
    check(len(function) <= len(PLACEHOLDER) and PLACEHOLDER in code, "the library has the placeholder")
    with open(path, "wb") as file:
        file.write(code.replace(PLACEHOLDER, function + b"x" * (len(PLACEHOLDER) - len(function))))
    os.chmod(path, 0o755)


def strings_of_profile(path):
    """Every string of the message, raw: fields 6 of profile.proto."""
    with gzip.open(path) as file:
        data = file.read()
    found, at = [], 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = number()
        if key & 7 == 0:
            number()
            continue
        check_equal(key & 7, 2, "wire type")
        size = number()
        if key >> 3 == 6:
            found.append(data[at:at + size])
        at += size
    return found


def check_profile(path):
    strings = strings_of_profile(path)
    check(len(strings) > 10, "strings of the profile")
    shown = [check_shown(text, "a string of the profile") for text in strings]
    for i, name in enumerate(SHOWN):
        check(any(text.startswith(name) for text in shown), f"{name!r} is not in the profile: {shown}")
        check(any(values[:4] == [1, 4001 + i, 1, 4001 + i] and names[0].startswith(name) for names, values in pprof_reader.decode(path).stacks()),
              f"{name} has not made the block of {4001 + i} bytes: {pprof_reader.decode(path).stacks()}")
    libraries = {text for text in shown if text.startswith("/") and "/lib\\x1b]0;pwned" in text}
    check_equal(len(libraries), 2, f"names of two libraries, {libraries}")
    check(all("d\u00e9p\u00f4t \u4e2d" in text for text in libraries), f"the folder is readable: {libraries}")
    pprof_reader.run("-raw", path)


def try_names():
    folder = os.path.join(temporary_directory().encode(), FOLDER)
    os.mkdir(folder)
    program = os.path.join(folder, PROGRAM)
    shutil.copy(target_path("strange_names"), program)
    libraries = [os.path.join(folder, name) for name in LIBRARIES]
    for library, function in zip(libraries, FUNCTIONS):
        make_library(library, function)
    target = Target("strange_names", command=[program, COMM, *libraries])
    path = os.path.join(temporary_directory(), "out.pb.gz")
    perf_map = f"/tmp/perf-{target.pid}.map"
    try:
        with open(perf_map, "wb") as file:
            file.write(b"1000 100000000 " + MADE + b"\n")
        pid, thread = target.pid, other_thread(target.pid)
        name = "\\x1b]0;P\\x07\\x9b31m\\u202e\\xff"
        shown, _ = run("check", pid)
        check(name in shown and "d\u00e9p\u00f4t \u4e2d/prog\\x1b[31m\\u009b1m\\x7f\\x0a\\u2028" in shown, f"names in check: {shown}")
        check("pwned" in shown, f"the library that cannot be hooked is named: {shown}")
        _, value = run("check", pid, "--json")
        check_equal(value["name"], "\x1b]0;P\x07\\x9b31m\u202e\\xff", "name in JSON: characters as they are, bytes that are none as text")
        check(name in run("check", thread, status=1)[0], "the name of a thread's process")
        run("check", thread, "--json", status=1)
        run("dump", pid, "-o", path, status=1)
        check("pwned" in run("attach", pid, "--exact", "-v")[0], "attach warns by the library's name")
        run("attach", pid, status=1)
        run("attach", pid, "--json", status=1)
        check_equal(target.ask("go"), "done", "answer")
        shown, _ = run("status", pid)
        check(name in shown, f"name in status: {shown}")
        for arguments in (["status"], ["status", "--json"], ["status", pid, "--json"], ["set", pid, "--exact", "-v"]):
            run(*arguments)
        shown, _ = run("dump", pid, "-v", *OWN, "-o", path)
        check(all(name in shown for name in SHOWN), f"names of functions in the table of dump: {shown}")
        check_profile(path)
        _, value = run("dump", pid, "-v", "--json", "--stop", *OWN, "-o", path)
        functions = {site["function"] for site in value["sites"]}
        check(any(function.startswith("f\x1b[2J\x9b\\x9b\u202e\ufeff\\xed\\xa0\\x80\\xff_\u00e9\u03b1_2") for function in functions),
              f"a function in JSON: {functions}")
        check_profile(path)
        run("detach", pid, "-v", "--json")
        run("detach", pid, status=1)
        target.end()
    finally:
        if os.path.lexists(perf_map):
            os.unlink(perf_map)


def try_arguments():
    """What the tool is given itself, by a script, say."""
    for arguments in ([b"\x1b[31m"], [b"status", b"\xc2\x9b1"], [b"dump", b"1", b"-o", b"/no/\x1b]0;x\x07/\xff"], [b"attach", b"1", b"--\x9b"],
                      [b"attach", b"1", b"--depth", b"\xe2\x80\xae"], [b"attach", b"1", b"--allocator", b"\x1b=\x07"],
                      [b"dump", b"\xff", b"--json", b"-o", b"\x1b"]):
        process = start([HEAPSNAP, *arguments], stdin=-3, stdout=-1, stderr=-1)
        output, errors = process.communicate(timeout=60)
        check(process.returncode in (1, 2) and errors, f"{arguments}: {process.returncode}")
        check_shown(errors, str(arguments))
        check_shown(output, str(arguments))
        if b"--json" in arguments:
            json.loads(output.decode("utf-8", "strict"))
        say(f"  {errors.splitlines()[0].decode()}")


def main():
    try_arguments()
    try_names()


run_test(main, "strange names")

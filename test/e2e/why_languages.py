# SPDX-License-Identifier: Apache-2.0
"""`heapsnap why` on planted problems in Rust, in Python with a C extension, in node, and in one of two processes. usage: why_languages.py [CASE...]"""

import os
import shutil
import signal

from harness import Target, check, check_equal, heapsnap, leave_out, run_cases, stop, target_path, temporary_directory
from leak_watch import check_row, line_of, look, rows_of, why, why_steady

PYTHON = "/usr/bin/python3"
# Grows by the clock, as planted_leaks.cc does: `grow` says by how many bytes. Each loop is a line of its own.
PYTHON_PROGRAM = """
import sys, time
sys.path.insert(0, sys.argv[1])
import planted_extension
kept = []
def extension():
    planted_extension.remember(4000)
    for size in (100, 200, 300):
        planted_extension.forget(size)
    return 4000
def objects():
    kept.append((len(kept), str(len(kept))))  # a tuple and a string: less than 512 bytes each
    return 150
def strings():
    kept.append("x" * 4000)
    return 4000
grow = {"extension": extension, "objects": objects, "strings": strings}[sys.argv[2]]
print("ready", flush=True)
began, grown = time.monotonic(), 0
while True:
    while grown < (time.monotonic() - began) * (2 << 20) and grown < 256 << 20:
        grown += grow()
    time.sleep(0.005)
"""
NODE_PROGRAM = """
const kept = [];
const grow = { buffers() { kept.push(Buffer.allocUnsafeSlow(4000).fill(1)); return 4000; },
               objects() { kept.push({ number: kept.length, text: 'x'.repeat(10) + kept.length }); return 100; } }[process.argv[2]];
const began = process.hrtime.bigint();
let grown = 0;
function step() {
    while (grown < Number(process.hrtime.bigint() - began) / 1e9 * (2 << 20) && grown < 256 << 20)
        grown += grow();
    setTimeout(step, 5);
}
console.log('ready');
step();
"""


def end(target):
    check(target.alive(), "the target has died")
    stop(target.process, signal.SIGKILL)


def rust():
    program = target_path("planted_leaks_rust")
    if not os.path.exists(program):
        leave_out("no program in Rust was built")
        return
    for name, words, function, kinds in (("one_of_forty", "line of the site", "site", ["steady-leak"]),
                                         ("unbounded_cache", "line of the cache", "remember", ["steady-leak", "growth"]),
                                         ("growing_vector", "line of the vector", "record", ["grows-in-steps", "outside-malloc", "undecided"])):
        target = Target("planted_leaks_rust", name)
        result = why_steady(target) if name != "growing_vector" else why(target)
        check(look(result)[0] in kinds, str(result["verdict"]))
        check_row(result, line_of(words, "planted_leaks.rs"), function, "planted_leaks.rs")
        end(target)
    target = Target("planted_leaks_rust", "nothing")
    check_equal(look(why(target)), ["nothing-grows"], "verdict")
    end(target)


def python(what):
    folder = temporary_directory()
    script = os.path.join(folder, "grows.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(PYTHON_PROGRAM)
    if os.path.exists(target_path("libplanted_extension.so")):
        os.symlink(target_path("libplanted_extension.so"), os.path.join(folder, "planted_extension.so"))
    return Target(what, command=[PYTHON, script, folder, what])


def python_extension():
    """The line of the extension, and not the interpreter."""
    if not os.path.exists(target_path("libplanted_extension.so")):
        leave_out("no extension of Python was built")
        return
    target = python("extension")
    result = why_steady(target)
    check(look(result)[0] == "steady-leak", str(result["verdict"]))
    check_row(result, line_of("line of the extension", "planted_extension.c"), "make_entry", "planted_extension.c")
    check_equal(result["verdict"][0]["site"]["file"].rsplit("/", 1)[-1], "planted_extension.c", "site of the verdict")
    end(target)


def python_objects():
    """Of these malloc sees arenas at most: that they are not in what was recorded is said, and where they are."""
    if not os.path.exists(target_path("libplanted_extension.so")):
        leave_out("no extension of Python was built")
        return
    target = python("objects")
    result = heapsnap("why", target.pid, "--for", "6s")
    check_equal(result.status, 0, str(result))
    check("Python keeps objects of up to 512 bytes in memory that it maps itself" in result.stdout, str(result))
    check("Steady leak at one site" not in result.stdout, f"a verdict that the figures do not bear: {result}")
    end(target)


def node(what):
    program = shutil.which("node") or shutil.which("nodejs")
    if not program:
        leave_out("no node here")
        return None
    script = os.path.join(temporary_directory(), "grows.js")
    with open(script, "w", encoding="utf-8") as file:
        file.write(NODE_PROGRAM)
    return Target(what, command=[program, script, what])


def node_buffers():
    target = node("buffers")
    if not target:
        return
    result = why(target)  # its garbage collector makes it grow by leaps
    check(look(result)[0] in ("steady-leak", "growth", "undecided"), str(result["verdict"]))
    check(any("node::Buffer" in row[2] or "v8::ArrayBuffer" in row[2] or "ArrayBuffer" in row[2] for row in rows_of(result)), f"what made the buffers: {rows_of(result)}")
    end(target)


def node_objects():
    target = node("objects")
    if not target:
        return
    result = heapsnap("why", target.pid, "--for", "6s")
    check_equal(result.status, 0, str(result))
    check("V8 keeps JavaScript's objects in memory that it maps itself" in result.stdout, str(result))
    check("Steady leak at one site" not in result.stdout, f"a verdict that the figures do not bear: {result}")
    end(target)


def two_processes():
    """Of a process and its child one grows: which one is said, and of the other that it does not."""
    grows, rests = Target("planted_leaks", "one_of_forty"), Target("planted_leaks", "nothing")
    refusal = heapsnap("why", "--name", "^planted_leaks$", "--for", "1s")
    check_equal(refusal.status, 1, str(refusal))
    check(all(f"{target.pid} " in refusal.stderr for target in (grows, rests)), f"both are listed: {refusal}")
    check_equal(look(why(rests)), ["nothing-grows"], "the one that rests")
    result = why_steady(grows)
    check_equal(look(result)[0], "steady-leak", "the one that grows")
    check_row(result, line_of("line of the site"), "site<17>")
    end(grows)
    end(rests)


run_cases([rust, python_extension, python_objects, node_buffers, node_objects, two_processes], "why in other languages")

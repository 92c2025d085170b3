# SPDX-License-Identifier: Apache-2.0
"""A profile in the real pprof and in a plain decoder: sample types, the default, mappings, build ids, lines, comments."""

import os
import re
import subprocess

import harness
import profiles
from harness import Target, attach, check, check_equal, detach, dump, heapsnap, run_test, say, target_path, temporary_directory


def build_id(path):
    output = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    match = re.search(r"Build ID: ([0-9a-f]+)", output)
    return match[1] if match else ""


def ledger_shown(*arguments):
    """The lines below "ledger:", and the one of truth before it."""
    result = heapsnap(*arguments, "--ledger")
    check_equal(result.status, 0, str(result))
    lines = (result.stdout + result.stderr).splitlines()
    at = lines.index("ledger:")
    return [line for line in lines[at - 1:] if re.match(r"ledger:|  (LOSS|    ) +[0-9]* |Nothing|Incomplete", line)]


def check_comments(path, pid):
    """At most five; the two for programs are not in a report's head. What they say comes back."""
    profile = profiles.read(path)
    check(len(profile.comments) <= 5, f"comments: {profile.comments}")
    head = profiles.pprof(path, "-top").split("flat%", 1)[0]
    check(f", PID {pid}\n" in head and "#" not in head and head.count("\n") <= 12, f"head of a report: {head}")
    check(not [part for part in profile.parts() if ": 0 (" in part and "stopped_ns" not in part], f"zeros among the comments: {profile.comments}")


def main():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("ground_truth", 3, 77, target_path("libtruth_plugin.so"))
    attach(target.pid)
    target.ask_json("go")
    report = dump(target.pid, path, "--own", "^site_")  # they only allocate for their caller, by their code
    maps = harness.mappings(target.pid)
    profiles.check_reader_is_content(path)

    profile = profiles.read(path)  # sample types and default, among other rules
    check(re.search(r"Type: inuse_space", profiles.pprof(path, "-top")), "pprof -top does not show inuse_space by default")

    main_program = os.path.realpath(target_path("ground_truth"))
    check_equal(profile.mappings[0].filename, main_program, "the first mapping's file")
    first = profiles.pprof(path, "-raw").split("Mappings\n", 1)[1].splitlines()[0]
    check(main_program in first, f"the first mapping that pprof -raw prints: {first!r}")
    checked = 0
    for mapping in profile.mappings:
        if os.path.isfile(mapping.filename):
            check_equal(mapping.build_id, build_id(mapping.filename), f"build id of {mapping.filename}")
            checked += bool(mapping.build_id)
        check([each for each in maps if each.start <= mapping.start < each.end],
              f"mapping {mapping.filename} at {mapping.start:x} is not in /proc/PID/maps")
    check(checked >= 3, f"only {checked} mappings with a build id")

    for location in profile.locations:
        check(location.mapping_id or not location.address, f"location {location.address:x} has no mapping")
    top = profiles.pprof(path, "-top", "-lines", "-nodecount=100000")
    check(re.search(r"site_malloc_a .*ground_truth\.c:\d+", top), f"no source line of site_malloc_a:\n{top[:3000]}")
    check(("truth_library_allocate", "plugin.c") in profiles.source_files(path), "no source file of truth_library_allocate")
    traces = profiles.pprof(path, "-traces")
    check("site_recursive" in traces and "work" in traces, "the traces do not lead to the thread's function")
    for stack, _ in profiles.samples(path):
        if stack[0].startswith("site_"):
            check("work" in stack, f"a stack does not lead to the thread's function: {stack}")
    locations = {location.id: location for location in profile.locations}
    for sample in profile.samples:
        # The innermost location, as the function that it lies in: what is inlined there (ld.so has such a malloc) is no frame.
        innermost = locations[sample.locations[0]]
        name = innermost.lines[-1].function.name if innermost.lines else ""
        check(name not in ("malloc", "__libc_malloc", "calloc", "realloc", "free"), f"the allocator's own frame is in a stack: {name}")

    check(profile.time_nanos > 0 and profile.duration_nanos > 0, "no time or duration")
    for line in report["ledger"]:
        check_equal(profile.comment(line["name"]), str(line["value"]) if line["value"] else None, f"ledger line {line['name']} among the comments")
    check_comments(path, target.pid)
    shown = ledger_shown("dump", target.pid, "-o", path)
    check(len(shown) > 5, f"the ledger is short: {shown}")
    check_equal(ledger_shown("report", path), shown, "what a report says of the ledger, and the dump")
    check_equal(target.ask("finish"), "ok", "contents of the blocks")
    detach(target.pid)
    target.end()
    say(f"{len(profile.samples)} samples, {len(profile.locations)} locations, "
        f"{len(profile.mappings)} mappings ({checked} build ids as readelf says); pprof -top, -traces, -raw without a complaint")


run_test(main, "reader")

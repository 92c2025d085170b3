# SPDX-License-Identifier: Apache-2.0
"""A target that writes lies over its own region while the tool reads it: every command ends in time, with a result or one line that
says what is wrong, and never in a crash. And the region cannot be cut or grown under the tool."""

import os
import sys

from harness import Target, attach, check, check_equal, check_refused, detach, dump, heapsnap, run_test, say, temporary_directory

ROUNDS = 3
PARTS = ["pages", "root", "wide", "samples", "buckets", "slots", "strings", "modules", "hooks", "header", "all"]


def sane(result):
    check(result.status in (0, 1), f"neither a result nor an error: {result}")
    for report in ("AddressSanitizer", "runtime error", "LeakSanitizer"):
        check(report not in result.stderr, str(result))
    errors = [line for line in result.stderr.splitlines() if line.startswith("heapsnap: ") and "warning" not in line]
    check(result.status == 0 or len(errors) == 1, f"not one line: {result}")
    return result


def main():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("scribbler")
    attach(target.pid)
    check_equal(target.ask("seals"), "sealed", "the region's file")
    for part in PARTS:
        results = []
        for _ in range(ROUNDS):
            check_equal(target.ask(f"scribble {part}"), "scribbling", "answer")
            for command in (["dump", target.pid, "-o", path], ["status", target.pid], ["status"], ["set", target.pid, "--sample", "4K"],
                            ["set", target.pid, "--exact"], ["dump", target.pid, "-o", path, "--json"]):
                results.append(sane(heapsnap(*command)))
            check_equal(target.ask("rest"), "rests", "answer")
        done = sum(result.status == 0 for result in results)
        reasons = sorted({line for result in results for line in result.stderr.splitlines() if result.status and "heapsnap: " in line})
        say(f"{part}: {done} of {len(results)} with a result{''.join(f'; {line}' for line in reasons[:3])}")
    # As it was, everything is in order again.
    report = dump(target.pid, path)
    check(report["live_objects"] >= 99, f"the honest region again: {report}")
    detach(target.pid)
    check(target.alive(), "the target ended")
    target.process.stdin.close()

    # Detach, with a journal and all else that changes: what it does to the target is the target's own doing.
    for part in ("hooks", "header", "all"):
        target = Target("scribbler")
        attach(target.pid)
        check_equal(target.ask(f"scribble {part}"), "scribbling", "answer")
        result = sane(heapsnap("detach", target.pid))
        say(f"detach, {part}: status {result.status}")
        target.process.kill()
        target.process.wait()


    impostor()


IMPOSTOR = """
import mmap, os, sys
fd = os.memfd_create("heapsnap-region")
os.truncate(fd, 1 << 30)
memory = mmap.mmap(fd, 1 << 30)
print("ready", flush=True)
sys.stdin.read()
print(os.stat(fd).st_blocks)
"""


def impostor():
    """Memory that has our region's name and could be cut: it is not written to, and said to be something else."""
    if os.geteuid() != 0:
        say("not root: files are not opened through map_files, so an impostor is not tried")
        return
    target = Target("impostor", command=[sys.executable, "-c", IMPOSTOR])
    path = os.path.join(temporary_directory(), "out.pb.gz")
    for command in (["dump", target.pid, "-o", path], ["set", target.pid, "--exact"], ["detach", target.pid]):
        check_refused(heapsnap(*command), "something else")
    check("something else" in str(heapsnap("status", target.pid)), "status does not say that it is something else")
    check_equal(target.end().strip(), "0", "blocks of the impostor's file")


run_test(main, "liar")

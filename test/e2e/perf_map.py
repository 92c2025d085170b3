# SPDX-License-Identifier: Apache-2.0
"""Code that the program makes itself: frames have the names that it gives in perf-PID.map, if that file is its own."""

import os

import pprof_reader
from harness import Target, attach, check, check_equal, detach, dump, mappings, run_test, say, temporary_directory

BYTES = 12345
SOMEBODY = 65534


def frames(path):
    """The stack of the block that made code asked for, innermost first."""
    profile = pprof_reader.decode(path)
    found = [names for names, values in profile.stacks() if BYTES in values]
    check_equal(len(found), 1, f"stacks with {BYTES} bytes: {profile.stacks()}")
    return found[0]


def far_code():
    """The program's code has a hole: its frames are behind those of made code all the same."""
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("made_code_far", temporary_directory())
    texts = [mapping for mapping in mappings(target.pid) if mapping.name.endswith("/made_code_far") and "x" in mapping.permissions]
    check(len(texts) >= 2 and texts[0].end < texts[-1].start, f"its code has no hole: {texts}")
    attach(target.pid)
    check_equal(target.ask("go"), "done", "answer")
    dump(target.pid, path)
    detach(target.pid)
    target.end()
    names = frames(path)
    say(" < ".join(names))
    check(names[-1] == "_start" and "main" in names, f"a stack that ends early: {names}")


def main():
    far_code()
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("made_code")
    perf_map = f"/tmp/perf-{target.pid}.map"
    try:
        attach(target.pid)
        check_equal(target.ask("go"), "done", "answer")
        dump(target.pid, path)
        names = frames(path)
        say(" < ".join(names))
        check_equal(names[:3], ("made_inner", "made_outer (with a space)", "main"), "frames of made code, and their caller")

        if os.geteuid() == 0:  # a file of somebody else, a link, a pipe
            os.chown(perf_map, SOMEBODY, SOMEBODY)
            dump(target.pid, path)
            check(frames(path)[0].startswith("0x"), f"a name from another user's file: {frames(path)}")
            os.chown(perf_map, 0, 0)
        os.rename(perf_map, perf_map + ".real")
        os.symlink(perf_map + ".real", perf_map)
        dump(target.pid, path)
        check(frames(path)[0].startswith("0x"), f"a name from behind a link: {frames(path)}")
        os.unlink(perf_map)
        os.mkfifo(perf_map)
        dump(target.pid, path)
        check(frames(path)[0].startswith("0x"), f"a name from a pipe: {frames(path)}")
        os.unlink(perf_map)
        with open(perf_map, "wb") as file:
            file.write(os.urandom(1 << 20))
        dump(target.pid, path)
        detach(target.pid)
        target.end()
    finally:
        for name in (perf_map, perf_map + ".real"):
            if os.path.lexists(name):
                os.unlink(name)


run_test(main, "perf map")

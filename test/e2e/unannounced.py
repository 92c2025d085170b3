# SPDX-License-Identifier: Apache-2.0
"""Code that goes without anybody saying so, and a library without an ELF header in memory: the payload must not read what is not there."""

import os
import re

import profiles
from harness import Target, attach, check, check_equal, detach, dump, mappings, run_test, say, target_path, temporary_directory


def go_through(mode, library):
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("unannounced", mode, library)
    if mode == "own":
        check([mapping for mapping in mappings(target.pid) if mapping.name == os.path.realpath(library)], f"{library} is not mapped")
    attach(target.pid)
    check_equal(target.ask("go"), "ok", "answer")
    dump(target.pid, path)
    blocks = sum(values.live_objects for _, values in profiles.samples(path) if values.live_bytes == 12345)
    check_equal(blocks, 1, "the block of the new code in the profile")
    check_equal(target.ask("again"), "ok", "answer")
    detach(target.pid)
    check_equal(target.ask("after"), "ok", "answer")
    target.end()


def main():
    libm = next(mapping.name for mapping in mappings(os.getpid()) if re.search(r"/libm[.-]", mapping.name))
    go_through("own", libm)
    go_through("loader", target_path("libheadless.so"))
    say("a library that its program mapped and unmapped by itself; a library without a header in memory")


run_test(main, "unannounced")

# SPDX-License-Identifier: Apache-2.0
"""Functions that only allocate for their caller are found by their code, and are no site: however the program was built, of a process, of its file, and when
the answers come from the cache. What only looks like one stays a site. usage: wrappers.py [CASE...]"""

import os

import pprof_reader
from harness import Target, attach, check, check_equal, detach, dump, heapsnap_ok, run_cases, say, target_path, temporary_directory

WRAPPERS = ("get_or_end", "counted", "with_head", "for_many", "larger", "again_and_again", "through_another")
OTHERS = ("make_item", "make_plain_item", "copy_of", "empty_text", "numbers", "grow", "registered")
TAIL = ("through_another", "make_plain_item", "numbers")  # end in a jump where the compiler optimizes: then they are on no stack
WHY = "its code only allocates for its caller"


def skipped(report):
    """What was skipped to get to each site: names, classes, reasons."""
    result = {}
    for site in report["sites"]:
        name = site["path"][0]["function"]
        frames = []
        for frame in site["stack"]:
            if frame["function"] == name:
                break
            frames.append((frame["function"], frame["class"], frame["why"]))
        result[name] = frames
    return result


def check_sites(report, what, gone):
    sites = skipped(report)
    for name in WRAPPERS:
        check(name not in sites, f"{what}: {name} is a site: {sorted(sites)}")
        frames = sites.get(f"call_{name}", [])
        check(name in gone or (name, "wrapper", WHY) in frames, f"{what}: what is skipped to get to call_{name}: {frames}, of {sorted(sites)}")
    for name in OTHERS:
        check(name in gone or name in sites and f"call_{name}" not in sites, f"{what}: {name} is no site: {sorted(sites)}")


def try_program(name):
    gone = TAIL if name.endswith("o2") else ()
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target(name)
    attach(target.pid)
    check_equal(target.ask("go"), "done", "answer")
    check_sites(heapsnap_ok("report", target.pid, "--no-cache", "--limit", "100"), "read anew", gone)
    check_sites(heapsnap_ok("report", target.pid, "--limit", "100"), "kept", gone)
    dump(target.pid, path)
    check_sites(heapsnap_ok("report", target.pid, "--limit", "100"), "out of the cache", gone)
    detach(target.pid)
    target.end()
    report = heapsnap_ok("report", path, "--limit", "100")
    check_sites(report, "read back", gone)
    own = heapsnap_ok("report", path, "--limit", "100", "--own", "^counted$")
    check("counted" in skipped(own), f"what the user calls own: {sorted(skipped(own))}")
    profile = pprof_reader.decode(path)
    for wrapper in WRAPPERS:
        check(wrapper in gone or wrapper in profile.drop_frames, f"pprof is not told to hide {wrapper}: {profile.drop_frames}")
    for other in OTHERS:
        check(other not in profile.drop_frames, f"pprof is told to hide {other}: {profile.drop_frames}")
    say(f"  {len(WRAPPERS)} wrappers, {len(OTHERS)} others")


def plain():
    try_program("wrappers_o0")


def optimized():
    try_program("wrappers_o2")


def static():
    try_program("wrappers_static_o0")


def static_optimized():
    try_program("wrappers_static_o2")


run_cases([plain, optimized, static, static_optimized], "wrappers")

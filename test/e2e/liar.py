# SPDX-License-Identifier: Apache-2.0
"""A target that writes lies over its own region while the tool reads it: every command ends in time, with a result or one line that
says what is wrong, and never in a crash. And the region cannot be cut or grown under the tool."""

import os
import struct
import sys

from harness import Target, Unharmed, attach, check, check_equal, check_refused, detach, dump, heapsnap, part_of, run_test, say, temporary_directory
from region import Region

ROUNDS = part_of(3)
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
    journal_bounds()
    impostor()


IMPOSTOR = """
import ctypes, mmap, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
kind, place, size = sys.argv[1], 0x200000000000, 1 << 30
fd = os.memfd_create("heapsnap-region" if kind == "named" else "dev/zero") if kind != "anonymous" else -1
if fd >= 0:
    os.truncate(fd, size)
MAP_FIXED_NOREPLACE = 0x100000
start = libc.mmap(place, size, 3, mmap.MAP_SHARED | MAP_FIXED_NOREPLACE | (mmap.MAP_ANONYMOUS if fd < 0 else 0), fd, 0)
assert start == place, ctypes.get_errno()
memory = (ctypes.c_char * size).from_address(place)
if kind == "named":
    with open(sys.argv[2], "rb") as file:
        header = bytearray(file.read())
    struct.pack_into("<IQQ", header, 12, 3, size, place)  # state: detaching; size, region_address
    memory[:len(header)] = bytes(header)
else:
    memory[:8] = b"HEAPSNAP"
before = bytes(memory[:65536])
print("ready", flush=True)
sys.stdin.read()
print(before == memory[:65536])
"""


HOOK_COUNT, HOOKS, RECORD = 116, 376, 128  # offsets in the stable header: hook_count, layout.hooks; bytes of a hook_record


def journal_bounds():
    """A record of the journal that names the end of all addresses, or nothing: detach does the others, and ends."""
    for address, size in ((2**64 - 16, 5), (0, 0), (2**47 - 1, 5)):
        for state in (1, 2):  # applied, removed
            target = Target("many_threads", 2)
            before = Unharmed(target.pid)
            attach(target.pid)
            region = Region(target.pid)
            count = struct.unpack("<I", region.get(HOOK_COUNT, 4))[0]
            at = struct.unpack("<Q", region.get(HOOKS, 8))[0] + (count - 1) * RECORD
            honest = region.get(at, RECORD)
            lie = bytearray(honest)
            struct.pack_into("<Q", lie, 0, address)
            struct.pack_into("<I", lie, 24, state)
            lie[36], lie[38] = size, 1  # size, page_was_clean
            region.put(at, bytes(lie) + honest)
            region.put(HOOK_COUNT, struct.pack("<I", count + 1))
            region.close()
            detach(target.pid)
            before.check_after(settle=20)
            target.end()


def honest_header():
    """The beginning of a region, up to the end of its journal, in a file."""
    path = os.path.join(temporary_directory(), "header")
    target = Target("many_threads", 1)
    attach(target.pid)
    region = Region(target.pid)
    with open(path, "wb") as file:
        file.write(region.get(0, 1 << 16))
    region.close()
    detach(target.pid)
    target.end()
    return path


def impostor():
    """Memory that looks like our region, and is something else or has a header that says nothing of use: it is not written to, and not unmapped."""
    path, header = os.path.join(temporary_directory(), "out.pb.gz"), honest_header()
    for kind in ("named", "file", "anonymous"):
        target = Target("impostor", command=[sys.executable, "-c", IMPOSTOR, kind, header])
        for command in (["dump", target.pid, "-o", path], ["set", target.pid, "--exact"], ["detach", target.pid]):
            check_refused(heapsnap(*command), "not attached")
        check("not attached" in str(heapsnap("status", target.pid)), "status does not say that it is not attached")
        attach(target.pid)  # anybody may have given it a file with that name
        detach(target.pid)
        check_equal(target.end().strip(), "True", f"the impostor's memory is as it was, {kind}")


run_test(main, "liar")

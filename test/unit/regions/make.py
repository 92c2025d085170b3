# SPDX-License-Identifier: Apache-2.0
"""make.py: keeps regions that the present tool makes, for the test that later versions still read them (region_layout_test.c, docs/abi.md, A new version).
Of test/targets/userland, whose own account says what lives. To be run once for each ABI version, as its last act, with the environment of the e2e tests:
  HEAPSNAP=build/heapsnap HEAPSNAP_TARGETS=. python3 test/unit/regions/make.py
VERSION_NAME.gz has, after the region's size, each of its pages that is not zero: offset, u64, and 4096 bytes. VERSION_NAME.txt has what the target says."""

import gzip
import os
import re
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))

from harness import Target, heapsnap_ok, mappings, run_test, temporary_directory  # pylint: disable=wrong-import-position

PAGE = 4096
THREADS = 5
KEPT, MADE = 16, 100  # blocks of each thread, as userland.c has them; their sizes are 8, 16, 24, ...
RULES = 512 + 3 * 16  # where the header says where the part is that is the payload's own: region_header.rules
INTERVAL = 64         # of the sampled one: blocks of so many bytes are all recorded


def pages(pid):
    """Offset and content of every page that is not zero, but for the payload's cache of rules."""
    region = next(mapping for mapping in mappings(pid) if mapping.is_region())
    size = region.end - region.start
    with open(f"/proc/{pid}/map_files/{region.start:x}-{region.end:x}", "rb") as file:
        file.seek(RULES)
        rules, rules_size = struct.unpack("<QQ", file.read(16))
        offset = 0
        while True:
            try:
                offset = os.lseek(file.fileno(), offset, os.SEEK_DATA) & ~(PAGE - 1)
            except OSError:  # nothing behind it
                return
            content = os.pread(file.fileno(), PAGE, offset)
            if any(content) and not rules <= offset < rules + rules_size:
                yield offset, content
            offset += PAGE
            if offset >= size:
                return


def keep(name, pid, lines):
    region = next(mapping for mapping in mappings(pid) if mapping.is_region())
    data = struct.pack("<Q", region.end - region.start) + b"".join(struct.pack("<Q", offset) + content for offset, content in pages(pid))
    with open(os.path.join(HERE, f"{name}.gz"), "wb") as file:
        file.write(gzip.compress(data, 9, mtime=0))
    with open(os.path.join(HERE, f"{name}.txt"), "w", encoding="ascii") as file:
        file.writelines(f"{line}\n" for line in lines)
    print(f"{name}: {len(data)} bytes, {os.path.getsize(os.path.join(HERE, f'{name}.gz'))} compressed")


def work(target):
    """The account: site -> live objects and bytes."""
    *lines, _ = target.ask_json("work")
    return {line["site"]: (line["objects"], line["bytes"]) for line in lines}


def make(version, name, arguments, least):
    program = os.path.join(temporary_directory(), "userland")
    subprocess.run(["gcc", "-O2", "-g", "-D_GNU_SOURCE", "-pthread", "-o", program, os.path.join(ROOT, "test", "targets", "userland.c")], check=True)
    target = Target("userland", command=[program, str(THREADS)])
    work(target)  # then every thread runs
    heapsnap_ok("attach", target.pid, *arguments)
    account = work(target)
    total = sum(objects for objects, _ in account.values())
    lines = [f"threads {THREADS + 1}", "program /userland"]
    lines += [f"block {8 * (1 + i)} {total // KEPT}" for i in range(KEPT) if 8 * (1 + i) >= least]
    if least == 0:
        lines += [f"site {objects} {size}" for objects, size in account.values()]
        made, made_bytes = MADE + KEPT, sum(8 * (1 + i) for i in range(MADE)) + sum(8 * (1 + i) for i in range(KEPT))
        lines.append(f"allocated {made * (THREADS + 1)} {made_bytes * (THREADS + 1)}")
    keep(f"{version}_{name}", target.pid, lines)
    heapsnap_ok("detach", target.pid)
    target.end()


def main():
    with open(os.path.join(ROOT, "inject", "abi", "limits.h"), encoding="utf-8") as file:
        version = re.search(r"#define HS_ABI_VERSION (\d+)", file.read())[1]
    make(version, "exact", [], 0)
    make(version, "sampled", ["--sample", INTERVAL], INTERVAL)


run_test(main, "make_region")

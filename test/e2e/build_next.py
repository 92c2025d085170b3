# SPDX-License-Identifier: Apache-2.0
"""build_next.py SOURCE FOLDER COMPILER: builds FOLDER/build/heapsnap, the heapsnap that comes after this one: of the next layout version, and of the next minor
version. Each part of its regions lies elsewhere, and header and slots have other fields in another order; the part that never changes is as it is. A change whose
text the sources no longer have fails. Where nothing has changed since the last time, this takes a second."""

import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mutate"))

from mutate import write_if_changed  # pylint: disable=wrong-import-position
from mutations import BadMutation, Mutation, apply  # pylint: disable=wrong-import-position

WHAT_IT_IS_BUILT_OF = ["CMakeLists.txt", "base", "unwind", "inject", "attach", "snapshot", "views", "proto", "lib", "cli", "packaging", "docs/man"]
LIMITS, REGION, SLOT = "inject/abi/limits.h", "inject/abi/region.h", "inject/thread_state.h"

# File, what stands there once, and what is to stand there. White space and comments do not count.
CHANGES = [
    # Every part lies elsewhere, and slots are further apart.
    (REGION, "#define HS_HEADER_SIZE 16384u", "#define HS_HEADER_SIZE 24576u"),
    (REGION, "#define HS_SLOT_STRIDE 32768u", "#define HS_SLOT_STRIDE 36864u"),
    (SLOT, "struct kept_stack kept[HS_KEPT_STACKS];", "struct kept_stack kept[HS_KEPT_STACKS]; uint8_t further_apart[4096];"),
    # The header.
    (REGION, "struct region_part modules, strings, threads, rules, log, buckets, root, samples, pages;",
     "uint64_t inserted[37]; struct region_part pages, samples, root, buckets, log, rules, threads, strings, modules;"),
    (REGION, "uint32_t depth; uint32_t pid; uint64_t max_pages;", "uint64_t max_pages; uint32_t inserted_too; uint32_t pid; uint32_t depth;"),
    (REGION, "uint32_t epoch; uint32_t log_limit;", "uint32_t log_limit; uint32_t epoch;"),
    (REGION, "_Alignas(64) uint64_t next_page; _Alignas(64) uint64_t free_batches;", "_Alignas(64) uint64_t free_batches; _Alignas(64) uint64_t next_page;"),
    (REGION, "_Alignas(64) uint32_t module_count; uint32_t module_generation;", "_Alignas(64) uint32_t module_generation; uint32_t module_count;"),
    (REGION, "_Alignas(64) uint32_t thread_count; uint32_t extra_slot_count;", "_Alignas(64) uint32_t extra_slot_count; uint32_t thread_count;"),
    (REGION, "uint64_t lost_no_slot; uint64_t lost_no_thread_pointer;", "uint64_t lost_no_thread_pointer; uint64_t lost_no_slot;"),
    (REGION, "uint64_t forgotten_guards[HS_FORGOTTEN_GUARDS]; uint32_t guards_lost; uint64_t used_slots[HS_THREAD_SLOTS / 64];",
     "uint64_t used_slots[HS_THREAD_SLOTS / 64]; uint32_t guards_lost; uint64_t forgotten_guards[HS_FORGOTTEN_GUARDS];"),
    # The slot: what each call looks at begins on the next cache line, with another field.
    (REGION, "_Alignas(64) uint64_t thread_pointer; uint64_t guard; uint64_t interval; uint32_t in_original; uint32_t own_call[9];",
     "uint64_t inserted[8]; uint64_t interval; uint64_t thread_pointer; uint64_t guard; uint32_t in_original; uint32_t own_call[9];"),
    (REGION, "offsetof(struct shared_slot, pending) == 64", "offsetof(struct shared_slot, pending) == 128"),
    (REGION, "uint64_t pending_address; uint64_t pending_new_address; uint64_t stack_low, stack_high; uint32_t pending_count; uint32_t left_count;",
     "uint64_t pending_address; uint64_t stack_low, stack_high; uint64_t pending_new_address; uint32_t left_count; uint32_t pending_count;"),
    (REGION, "_Alignas(64) uint64_t counters[HS_COUNTER_SLOTS]; uint64_t cut_counters[16]; struct totals_entry totals[HS_TOTALS_ENTRIES];",
     "struct totals_entry totals[HS_TOTALS_ENTRIES]; uint64_t cut_counters[16]; uint64_t counters[HS_COUNTER_SLOTS];"),
]


def raised(pattern, text):
    """What `pattern` matches, which begins with something that stays and ends with a number: with the next number."""
    found = re.search(pattern, text)
    if not found:
        raise BadMutation(f"nothing that matches {pattern!r}")
    return found[0], found[1] + str(int(found[2]) + 1)


def changed(path, text):
    """The text of the next heapsnap's file."""
    changes = [(old, new) for file, old, new in CHANGES if file == path]
    if path == LIMITS:
        changes.append(raised(r"(#define HS_ABI_VERSION )(\d+)", text))
    if path == "CMakeLists.txt":
        changes.append(raised(r"(project\(heapsnap VERSION \d+\.)(\d+)", text))
    for old, new in changes:
        fields = {"name": repr(old), "file": path, "in": "-", "tests": "", "why": ""}
        text = apply(Mutation(fields, [old], [new], "build_next.py"), text)
    return text


def files_below(root):
    for place in WHAT_IT_IS_BUILT_OF:
        if os.path.isfile(os.path.join(root, place)):
            yield place
        for folder, _, names in os.walk(os.path.join(root, place)):
            yield from (os.path.relpath(os.path.join(folder, name), root) for name in names)


def main():
    source, folder, compiler = sys.argv[1:]
    copy, build = os.path.join(folder, "source"), os.path.join(folder, "build")
    wanted = set(files_below(source))
    unknown = {file for file, _, _ in CHANGES} - wanted
    if unknown:
        raise BadMutation(f"no such file: {unknown}")
    for path in sorted(wanted):
        like = os.path.join(source, path)
        with open(like, "rb") as file:
            content = file.read()
        if path.endswith((".h", "CMakeLists.txt")):
            content = changed(path, content.decode()).encode()
        write_if_changed(os.path.join(copy, path), content)  # then ninja need not look at what has not
        shutil.copymode(like, os.path.join(copy, path))
    for path in set(files_below(copy)) - wanted:
        os.remove(os.path.join(copy, path))
    # Not optimized, but for the payload, which always is: that is built in half the time.
    subprocess.run(["cmake", "-S", copy, "-B", build, "-G", "Ninja", f"-DCMAKE_C_COMPILER={compiler}", "-DHEAPSNAP_TESTS=OFF", "-DHEAPSNAP_PAGE=OFF",
                    "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS_RELEASE=-O0"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", build, "--target", "heapsnap"], check=True)
    subprocess.run([os.path.join(build, "heapsnap"), "--version"], check=True)


try:
    main()
except (BadMutation, subprocess.CalledProcessError) as error:
    sys.exit(f"build_next.py: {error}")

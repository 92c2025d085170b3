# SPDX-License-Identifier: Apache-2.0
"""arch_stub.py SOURCE COMPILER: the generic files compile with another architecture's headers (arch_stub/, with values of aarch64), so that what one of them
knows of x86-64 does not; and the tables of docs/adding-an-architecture.md name the files that are there. Nothing is run, and no code is made: the compiler is that of this machine."""

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = ["-std=c17", "-fsyntax-only", "-D_GNU_SOURCE", "-DHEAPSNAP_VERSION=\"0\"", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
PAYLOAD = ["-ffreestanding", "-DHS_PAYLOAD"]
HALLS = ["unwind", "inject", "attach"]


def link(source, root):
    """An include root as of hs_link_place in CMakeLists.txt, with the stub in the place of the chosen architecture's folder."""
    for folder in ["base"]:
        os.symlink(os.path.join(source, folder), os.path.join(root, folder))
    for hall in HALLS:
        os.makedirs(os.path.join(root, hall, "arch"))
        for name in os.listdir(os.path.join(source, hall)):
            if name != "arch":
                os.symlink(os.path.join(source, hall, name), os.path.join(root, hall, name))
        for folder in [os.path.join(source, hall, "arch"), os.path.join(HERE, "arch_stub", hall)]:
            for name in os.listdir(folder):
                if name.endswith(".h"):
                    os.symlink(os.path.join(folder, name), os.path.join(root, hall, "arch", name))


def sources(source):
    for hall in HALLS:
        for folder, folders, names in os.walk(os.path.join(source, hall)):
            if "arch" in folders:
                folders.remove("arch")
            yield from sorted(os.path.join(folder, name) for name in names if name.endswith(".c"))


def compile_one(compiler, root, source, path):
    flags = PAYLOAD if os.path.relpath(path, source).startswith("inject") else []
    run = subprocess.run([compiler, *FLAGS, *flags, "-I", root, path], capture_output=True, text=True, check=False)
    return run.stderr if run.returncode else ""


def headers(folder):
    """Those that generic files may include: the others are for the sources of their folder."""
    return {name for name in os.listdir(folder) if name.endswith(".h") and name not in ("instruction.h", "value_state.h", "value_step.h")}


def files_of(source, hall):
    """The code in a hall's arch/ and in its one architecture's folder."""
    folders = [os.path.join(source, hall, "arch"), os.path.join(source, hall, "arch/x86_64")]
    return {name for folder in folders if os.path.isdir(folder) for name in os.listdir(folder) if name.endswith((".h", ".c", ".S"))}


def files_in_guide(source, hall):
    """The code that the first column of the hall's table names."""
    with open(os.path.join(source, "docs/adding-an-architecture.md"), encoding="utf-8") as file:
        section = re.search(rf"^## `{hall}/arch/<name>/`.*?(?=^## )", file.read(), re.M | re.S)
    rows = re.findall(r"^\|([^|]*)\|", section[0], re.M) if section else []
    return {name for row in rows for name in re.findall(r"`([^`]+\.[hcS])`", row)}


# What a generic file must not know, and what of it does not compile.
BAD = ['#include "unwind/cfi.h"\nint f(void);\nint f(void) { return CFI_RBX; }\n',
       '#include "attach/arch/registers.h"\nuint64_t f(const arch_registers *r);\nuint64_t f(const arch_registers *r) { return r->rip; }\n',
       '#include "inject/arch/entry_frame.h"\nuint64_t f(const struct entry_frame *e);\nuint64_t f(const struct entry_frame *e) { return e->r12; }\n',
       '#include "attach/arch/x86_64/jump.h"\n']
GOOD = '#include "attach/arch/registers.h"\nuint64_t f(const arch_registers *r);\nuint64_t f(const arch_registers *r) { return registers_pc(r); }\n'


def main():
    source, compiler = sys.argv[1:]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="heapsnap-arch-") as folder:
        root = os.path.join(folder, "root")
        os.mkdir(root)
        link(source, root)
        for i, text in enumerate(BAD + [GOOD]):
            path = os.path.join(folder, f"example_{i}.c")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            if bool(compile_one(compiler, root, source, path)) != (text in BAD):
                print(f"this {'compiles' if text in BAD else 'does not compile'}:\n{text}")
                failed += 1
        for hall in HALLS:
            wanted, here = (headers(place) for place in [os.path.join(source, hall, "arch/x86_64"), os.path.join(HERE, "arch_stub", hall)])
            if wanted != here:
                print(f"{hall}/arch/x86_64 has headers that arch_stub/{hall} has not, or the other way round: {sorted(wanted ^ here)}")
                failed += 1
            told, there = files_in_guide(source, hall), files_of(source, hall)
            if told != there:
                print(f"docs/adding-an-architecture.md: {hall}: missing {sorted(there - told)}, not there {sorted(told - there)}")
                failed += 1
        paths = list(sources(source))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for path, text in zip(paths, pool.map(lambda path: compile_one(compiler, root, source, path), paths)):
                if text:
                    print(f"{os.path.relpath(path, source)}: {text}")
                    failed += 1
    print(f"{len(paths)} generic files, {failed} failures")
    return 1 if failed or len(paths) < 100 else 0


sys.exit(main())

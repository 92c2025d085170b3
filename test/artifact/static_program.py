# SPDX-License-Identifier: Apache-2.0
"""static_program.py PROGRAM NM READELF: the program of a release needs no other file, and has nothing in it that loads one. Each check is first seen to fail on
a program for which it is not true: /bin/sh, and for the symbols a made-up list."""

import re
import subprocess
import sys

SIZE_MAX = 4 << 20  # bytes, stripped: it was 2.6 MB when this was written
LOADS = re.compile(r"\b_*(libc_)?(dlopen|dlsym|dlmopen|dl_open)(_mode)?\b")


def said(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def needs_others(readelf, program):
    """The program headers and entries that name an interpreter or a library."""
    return re.findall(r"INTERP|\(NEEDED\).*", said(readelf, "-lWd", program))


def is_position_independent(readelf, program):
    return "DYN (Position-Independent Executable file)" in said(readelf, "-hW", program)


def loaders(symbols):
    return sorted({line.split()[-1] for line in symbols.splitlines() if LOADS.search(line.split()[-1])})


def loaded_bytes(readelf, program):
    """What is mapped of the file, and so what strip leaves."""
    return sum(int(size, 16) for size in re.findall(r"^\s+LOAD\s+\S+\s+\S+\s+\S+\s+(0x\w+)", said(readelf, "-lW", program), re.M))


def main():
    program, nm, readelf = sys.argv[1:]
    assert needs_others(readelf, "/bin/sh"), "/bin/sh needs a library"
    for name in ("dlopen", "__libc_dlopen_mode", "_dl_open", "___dlsym"):
        assert loaders(f"0000000000000001 t main\n0000000000000000 T {name}") == [name], name
    assert loaders("0000000000000001 t hs_dlopen_seen") == []
    wrong = [f"needs {other}" for other in needs_others(readelf, program)]
    wrong += [f"has {name}" for name in loaders(said(nm, program))]
    if not is_position_independent(readelf, program):
        wrong.append("is not position independent")
    size = loaded_bytes(readelf, program)
    if not 1 << 20 < size <= SIZE_MAX:
        wrong.append(f"has {size} bytes to load")
    print("\n".join(wrong) or f"{size} bytes, needs no other file")
    return 1 if wrong else 0


sys.exit(main())

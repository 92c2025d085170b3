# SPDX-License-Identifier: Apache-2.0
"""tidy.py SOURCE BUILD CLANG_TIDY [--all]: the code that ships, as .clang-tidy says; first, files made to be found, each by the check that it is for.

Without --all the static analyzer is left out: it takes 20 minutes of two processors, the rest one or two."""

import concurrent.futures
import json
import os
import shlex
import subprocess
import sys
import tempfile

FOLDERS = ("base", "unwind", "inject", "attach", "snapshot", "views", "proto", "lib", "cli")
FAST = "--checks=-clang-analyzer-*"
# gcc's alone, or its own headers, in whose place clang's are to be taken.
GCC_ONLY = ("-fno-tree-loop-distribute-patterns", "-fconserve-stack")
BAD = {
    "bugprone-suspicious-semicolon": "int f(int a)\n{\n\tif (a > 2);\n\t\ta++;\n\treturn a;\n}\n",
    "bugprone-branch-clone": "int f(int a)\n{\n\tif (a > 2)\n\t\treturn 1;\n\telse\n\t\treturn 1;\n}\n",
    "misc-redundant-expression": "int f(int a, int b)\n{\n\treturn a + b > b + a || (a & 1) == 2;\n}\n",
    "cert-env33-c": "int system(const char *);\nint f(void)\n{\n\treturn system(\"ls\");\n}\n",
    "readability-inconsistent-declaration-parameter-name": "int f(int one);\nint f(int two)\n{\n\treturn two;\n}\n",
    "clang-analyzer-core.NullDereference": "int f(int a)\n{\n\tint *p = a ? &a : 0;\n\tif (a)\n\t\treturn 1;\n\treturn *p;\n}\n",
}


def folder_built_in(entry, build):
    """The first folder of the object's path in the build: who compiles it. make runs the compiler in that folder, ninja at the top."""
    arguments = shlex.split(entry["command"])
    output = os.path.join(entry["directory"], arguments[arguments.index("-o") + 1])
    return os.path.relpath(output, build).split("/")[0]


def commands(source, build):
    """The compiler's command for each file that ships; of the payload's, the one for the payload."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    chosen = {}
    for entry in entries:
        path = os.path.relpath(entry["file"], source)
        folder = path.split("/")[0]
        if folder not in FOLDERS or folder_built_in(entry, build) != folder or not path.endswith(".c"):
            continue
        if path not in chosen or "-DHS_PAYLOAD" in entry["command"]:
            chosen[path] = entry
    return chosen


def for_clang(entry, source):
    arguments = [argument for argument in shlex.split(entry["command"]) if argument not in GCC_ONLY]
    folder, _, name = os.path.relpath(entry["file"], source).partition("/")
    if "-nostdinc" in arguments:
        at = arguments.index("-nostdinc")
        arguments[at:at + 3] = ["-nostdlibinc"]  # and `-isystem` of gcc's headers
    elif folder != "unwind" and (folder, name) != ("base", "error.c"):
        arguments[1:1] = ["-I", source, "-include", os.path.join(source, "test/artifact/analyzer.h")]
    return {"directory": entry["directory"], "file": entry["file"], "arguments": arguments}


def run(tidy, source, database, files, checks):
    found = subprocess.run([tidy, "-p", database, f"--config-file={source}/.clang-tidy", "--quiet", *checks, *files], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, check=False)
    return found.returncode, found.stdout


def bad_files_are_found(tidy, source, checks):
    right = True
    with tempfile.TemporaryDirectory(prefix="heapsnap-tidy-") as folder:
        for check, text in BAD.items():
            if checks and check.startswith("clang-analyzer"):
                continue
            path = os.path.join(folder, "bad.c")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            with open(os.path.join(folder, "compile_commands.json"), "w", encoding="utf-8") as file:
                json.dump([{"directory": folder, "file": path, "arguments": ["cc", "-c", path]}], file)
            status, output = run(tidy, source, folder, [path], checks)
            if status == 0 or check not in output:
                print(f"{check} does not find this (status {status}):\n{text}{output}")
                right = False
    return right


def main():
    source, build, tidy = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
    checks = [] if "--all" in sys.argv[4:] else [FAST]
    right = bad_files_are_found(tidy, source, checks)
    entries = [for_clang(entry, source) for entry in commands(source, build).values()]
    if len(entries) < 150:
        print(f"only {len(entries)} files: is this the whole build?")
        right = False
    with tempfile.TemporaryDirectory(prefix="heapsnap-tidy-") as database:
        with open(os.path.join(database, "compile_commands.json"), "w", encoding="utf-8") as file:
            json.dump(entries, file)
        groups = [[entry["file"] for entry in entries[first:first + 5]] for first in range(0, len(entries), 5)]
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            for status, output in pool.map(lambda files: run(tidy, source, database, files, checks), groups):
                if status:
                    print(output)
                    right = False
    print(f"{len(entries)} files" + (", without the static analyzer" if checks else ""))
    return 0 if right else 1


sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""format.py ROOT CLANG_FORMAT: whether every C and C++ file is as .clang-format says. First it is seen to complain of a line that is not."""

import subprocess
import sys


def is_formatted(root, tool, text):
    made = subprocess.run([tool, "--style=file", "--assume-filename=base/a.c"], cwd=root, input=text, capture_output=True, text=True, check=True)
    return made.stdout == text


def main():
    root, tool = sys.argv[1:]
    assert is_formatted(root, tool, "int a(void);\n") and not is_formatted(root, tool, "int  a( void );\n")
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.c", "*.h", "*.cc", "*.cpp"],
                            capture_output=True, text=True, check=True).stdout
    names = [name for name in listed.split("\0") if name]
    run = subprocess.run([tool, "--style=file", "--dry-run", "-Werror", *names], cwd=root, capture_output=True, text=True, check=False)
    sys.stdout.write(run.stderr)
    print(f"{len(names)} files; ./dev format mends what differs")
    return 1 if run.returncode or not names else 0


sys.exit(main())

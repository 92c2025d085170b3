# SPDX-License-Identifier: Apache-2.0
"""Processes that attach must refuse, made where no program of test/targets can be one: of 32 bits, or traced."""

import os
import struct
import subprocess
import sys

from harness import check_equal, say, start, status_fields, temporary_directory, wait_until


def start_32_bits():
    """A program of 32 bits that sleeps. None, and said, where the kernel runs no such programs."""
    path = os.path.join(temporary_directory(), "program32")
    code = b"\xb8\x1d\x00\x00\x00\xcd\x80\xeb\xf7"  # again: mov $pause, %eax; int $0x80; jmp again
    base, size = 0x08048000, 52 + 32 + len(code)
    header = struct.pack("<16sHHIIIIIHHHHHH", b"\x7fELF\x01\x01\x01", 2, 3, 1, base + 84, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    segment = struct.pack("<IIIIIIII", 1, 0, base, base, size, size, 5, 0x1000)
    with open(path, "wb") as file:
        file.write(header + segment + code)
    os.chmod(path, 0o755)
    try:
        process = start([path])
    except OSError as error:
        say(f"  this kernel runs no 32-bit programs ({error}): not tried")
        return None
    wait_until(lambda: status_fields(process.pid, process.pid, ["State"])["State"][0] == "S", "it sleeps")
    return process


def start_tracer(pid):
    """A python that traces this thread, until its standard input is closed."""
    script = ("import ctypes, sys\n"
              "libc = ctypes.CDLL(None, use_errno=True)\n"
              "libc.ptrace.argtypes = [ctypes.c_long] * 4\n"
              f"print(libc.ptrace(0x4206, {pid}, 0, 0), flush=True)\n"  # PTRACE_SEIZE
              "sys.stdin.read()\n")
    tracer = start([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    check_equal(tracer.stdout.readline(), b"0\n", "PTRACE_SEIZE")
    return tracer

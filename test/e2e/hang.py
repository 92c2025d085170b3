# SPDX-License-Identifier: Apache-2.0
"""What can be seen from outside of a process that does not end: so that a test that fails once in a thousand runs says enough."""

import os
import stat


def _text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError as error:
        return f"({error.strerror})"


def _threads(pid):
    for tid in sorted(os.listdir(f"/proc/{pid}/task"), key=int):
        folder = f"/proc/{pid}/task/{tid}"
        fields = dict(line.split(":", 1) for line in _text(f"{folder}/status").splitlines() if ":" in line)
        said = " ".join(f"{name} {fields.get(name, '?').strip()}" for name in ("State", "TracerPid", "SigPnd", "ShdPnd", "SigBlk"))
        yield f"thread {tid}: {said}; in {_text(f'{folder}/wchan')}; call {_text(f'{folder}/syscall')}; {' < '.join(_text(f'{folder}/stack').split())}"


def output_of(stream):
    """What /proc calls the pipe that the test reads from by `stream`. The process that it comes from may be gone."""
    return os.readlink(f"/proc/self/fd/{stream.fileno()}")


def _may_write_to(link, output):
    try:
        return os.readlink(link) == output and os.lstat(link).st_mode & stat.S_IWUSR  # of a pipe's two ends, that which is written to
    except OSError:
        return False


def _holders(pid, output):
    """Other processes that can write to `output`: whoever reads it to its end waits for them too."""
    for other in filter(str.isdigit, os.listdir("/proc")):
        folder = f"/proc/{other}/fd"
        try:
            names = [name for name in os.listdir(folder) if _may_write_to(f"{folder}/{name}", output)]
        except OSError:
            continue
        if names and int(other) != pid:
            yield f"its output {output} is held by {other} ({_text(f'/proc/{other}/comm')}) as {', '.join(names)}"


def _of_heapsnap(line):
    """Whether a line of maps may be heapsnap's: its code, its region, code of no file."""
    fields = line.split(maxsplit=5)
    return "memfd:heapsnap" in line or "/dev/zero" in line or len(fields) == 5 and "x" in fields[1]


def describe(pid, output):
    """Lines about the process, its threads, what of heapsnap it has, and who else holds its output (output_of)."""
    try:
        lines = list(_threads(pid))
    except OSError as error:
        lines = [f"no threads: {error.strerror}"]
    return lines + list(filter(_of_heapsnap, _text(f"/proc/{pid}/maps").splitlines())) + list(_holders(pid, output))

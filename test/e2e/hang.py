# SPDX-License-Identifier: Apache-2.0
"""What can be seen from outside of a process that does not end: so that a test that fails once in a thousand runs says enough."""

import os


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


def _holders(pid):
    """Other processes that hold what the process has for standard output: its reader waits for them too."""
    try:
        output = os.readlink(f"/proc/{pid}/fd/1")
    except OSError:
        return
    for other in filter(str.isdigit, os.listdir("/proc")):
        try:
            names = [name for name in os.listdir(f"/proc/{other}/fd") if os.readlink(f"/proc/{other}/fd/{name}") == output]
        except OSError:
            continue
        if names and int(other) != pid:
            yield f"its output {output} is held by {other} ({_text(f'/proc/{other}/comm')}) as {', '.join(names)}"


def describe(pid):
    """Lines about the process, its threads, what of heapsnap it has, and who else holds its output."""
    try:
        lines = list(_threads(pid))
    except OSError as error:
        lines = [f"no threads: {error.strerror}"]
    lines += [line for line in _text(f"/proc/{pid}/maps").splitlines() if "heapsnap" in line or "/dev/zero" in line]
    return lines + list(_holders(pid))

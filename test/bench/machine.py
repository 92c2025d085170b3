# SPDX-License-Identifier: Apache-2.0
"""On what something was measured."""

import os
import platform
import re
import subprocess

from harness import HEAPSNAP, read_text

PACKAGES = ("libc6", "libjemalloc2", "libgoogle-perftools4", "heaptrack", "bpftrace", "valgrind", "redis-server", "python3", "sqlite3", "clang")


def package_versions():
    result = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\\n", *PACKAGES], capture_output=True, text=True, check=False)
    return dict(line.split(" ", 1) for line in result.stdout.splitlines() if " " in line)


def description():
    model = re.search(r"^model name\s*: (.*)$", read_text("/proc/cpuinfo"), re.M)
    memory = re.search(r"^MemTotal:\s*(\d+) kB$", read_text("/proc/meminfo"), re.M)
    version = subprocess.run([HEAPSNAP, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return {"architecture": platform.machine(), "processor": model[1] if model else "", "processors": len(os.sched_getaffinity(0)),
            "memory_bytes": int(memory[1]) * 1024 if memory else 0, "kernel": platform.release(), "heapsnap": version,
            "hypervisor": "hypervisor" in read_text("/proc/cpuinfo"), "packages": package_versions()}

# SPDX-License-Identifier: Apache-2.0
"""The table of modes: heapsnap's own, and the peers, each at its best setting.

A mode is compared with its base: the same program with the same allocator without a profiler. Some come to a running process (`comes_to`
is a context in which they are there); the others must be there from its start, so their process is another one than the base's.
`left_out` is the reason why a mode cannot run here. To add a mode, put it into MODES or PEERS."""

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import time

from harness import Failure, attach, check, detach, heapsnap, heapsnap_ok, mappings, read_text, start, stop, target_path

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
JEMALLOC = f"{LIBRARIES}/libjemalloc.so.2"
TCMALLOC = f"{LIBRARIES}/libtcmalloc.so.4"
HEAPTRACK = "/usr/lib/heaptrack/libheaptrack_preload.so"
NOBODY = 4194304  # a number that no process has: the kernel's PID_MAX_LIMIT


class Setting:
    """How a program is started: variables, and what stands before it."""

    def __init__(self, name, environment=None, prefix=()):
        self.name, self.environment, self.prefix = name, environment or {}, list(prefix)

    def with_environment(self, more):
        return Setting(self.name, {**self.environment, **more}, self.prefix)


INSTALLED = Setting("installed")  # the program's own allocator
WITH_JEMALLOC = Setting("jemalloc", {"LD_PRELOAD": JEMALLOC})
WITH_TCMALLOC = Setting("tcmalloc", {"LD_PRELOAD": TCMALLOC})


class Mode:
    comes = False  # whether it comes to a running process
    base = INSTALLED
    most_rounds = 1000
    only_for_scale = False
    only_groups = None  # of workloads
    only_workloads = None
    left_out = None
    steps = True  # whether all that it does is done by the process itself, so that its instructions can be counted
    settle = 0  # measurements that are made and thrown away first

    def __init__(self, name, title):
        self.name, self.title = name, title

    def setting(self, directory):
        """With what the program is started, for those who must be there from its start."""
        return self.base

    @contextlib.contextmanager
    def comes_to(self, pid):
        yield

    def after_measurement(self, directory):
        """Clears away what it has written."""


# heapsnap


class Attached(Mode):
    comes = True

    def __init__(self, name, title, *options, settle=0, only_workloads=None):
        super().__init__(name, title)
        self.options, self.settle, self.only_workloads = options, settle, only_workloads
        self.left_out = unknown_option(options)

    @contextlib.contextmanager
    def comes_to(self, pid):
        attach(pid, *self.options)
        try:
            yield
        finally:
            if not is_dead(pid):
                detach(pid)


class Detached(Attached):
    """What stays behind: nothing, it is hoped."""

    @contextlib.contextmanager
    def comes_to(self, pid):
        attach(pid, *self.options)
        detach(pid)
        yield


def is_dead(pid):
    try:
        return read_text(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def unknown_option(options):
    """Why this heapsnap does not take these options of attach; None when it does. Asked of no process, which is another error."""
    if not options:
        return None
    result = heapsnap("attach", NOBODY, *options)
    if result.status == 2:
        return f"heapsnap does not know {' '.join(options)}: {result.stderr.splitlines()[0]}"
    return None


def heapsnap_modes():
    knows_exact = unknown_option(("--exact",)) is None
    return [
        Attached("exact", "heapsnap, exact", *(["--exact"] if knows_exact else [])),
        Attached("sample", "heapsnap, sampled at 512 KiB", "--sample", "524288"),
        Attached("budget", "heapsnap, budget of 3 %", "--budget", "3", settle=4),
        # Of the programs only clang has stacks that are cut at 64 frames.
        Attached("shallow", "heapsnap, exact, 64 frames at most", *(["--exact"] if knows_exact else []), "--depth", "64", only_workloads=("compile",)),
        Detached("detached", "heapsnap, after detach", *(["--exact"] if knows_exact else [])),
    ]


# Peers


class Started(Mode):
    """A library that is preloaded, or a program that runs ours."""

    def __init__(self, name, title, base, environment=None, prefix=(), needs=None, most_rounds=1000, only_for_scale=False, steps=True):
        super().__init__(name, title)
        self.base, self.environment, self.prefix = base, environment or {}, prefix
        self.most_rounds, self.only_for_scale, self.steps = most_rounds, only_for_scale, steps
        if needs and not os.path.exists(needs):
            self.left_out = f"{needs} is not installed"

    def setting(self, directory):
        def filled(text):
            return text.replace("{directory}", directory)
        return Setting(self.name, {name: filled(value) for name, value in {**self.base.environment, **self.environment}.items()},
                       [filled(word) for word in self.prefix])

    def after_measurement(self, directory):
        # Kept open and written on at its old place: what was written is a hole now.
        for name in os.listdir(directory):
            if name.startswith("heaptrack."):
                os.truncate(f"{directory}/{name}", 0)


class Jemalloc(Started):
    def __init__(self, name, title, interval, **how):
        super().__init__(name, title, WITH_JEMALLOC, {"MALLOC_CONF": f"prof:true,lg_prof_sample:{interval}"}, needs=JEMALLOC, **how)
        if not self.left_out:
            result = subprocess.run(["/usr/bin/env", f"LD_PRELOAD={JEMALLOC}", "MALLOC_CONF=prof:true", "/bin/true"], stderr=subprocess.PIPE,
                                    text=True, check=False)
            if "Invalid" in result.stderr:
                self.left_out = f"this jemalloc was built without profiling: {result.stderr.splitlines()[0]}"


class Bpftrace(Mode):
    """A probe at malloc with the stack that the kernel walks, added up in the kernel. free is not looked at.

    The kernel puts the probe's breakpoint over the first byte of malloc as it is in memory, but then runs the instruction that stands there in
    the file: in a process where heapsnap has patched malloc that is the end. So nobody may be attached to anything meanwhile."""
    comes, steps = True, False
    most_rounds = 3

    def __init__(self):
        super().__init__("bpftrace", "bpftrace, probe at malloc with stacks")
        self.program = shutil.which("bpftrace", path="/usr/bin:/usr/sbin")
        self.left_out = self.reason()

    def reason(self):
        if not self.program:
            return "bpftrace is not installed"
        if os.geteuid() != 0:
            return "bpftrace needs root"
        result = subprocess.run([self.program, "-e", "BEGIN { exit(); }"], capture_output=True, text=True, check=False, timeout=60)
        return f"bpftrace does not work here: {(result.stderr or result.stdout).strip()[:200]}" if result.returncode else None

    @contextlib.contextmanager
    def comes_to(self, pid):
        attached = heapsnap_ok("status")["processes"]
        check(not attached, f"a probe would end processes that heapsnap is attached to: {[process['pid'] for process in attached]}")
        library = allocator_library(pid)
        process = start([self.program, "-q", "-B", "line", "-p", str(pid), "-e", f'uprobe:{library}:malloc {{ @calls = count(); @stacks[ustack()] = sum(arg0); }} '
                         'BEGIN { printf("ready\\n"); } END { clear(@stacks); }'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            wait_for_line(process, "ready", 120)
            yield
        finally:
            process.send_signal(signal.SIGINT)
            try:
                rest = process.communicate(timeout=60)[0]
            except subprocess.TimeoutExpired:
                stop(process, signal.SIGKILL)
                raise Failure("bpftrace did not end within 60 s") from None
        calls = re.search(r"@calls: (\d+)", rest.decode("utf-8", "replace"))
        check(calls and int(calls[1]) > 0, f"bpftrace saw no call of malloc: {rest[-500:]}")


def wait_for_line(process, wanted, seconds):
    """Reads what a process prints until there is such a line."""
    end, output = time.monotonic() + seconds, b""
    while wanted not in output.decode("utf-8", "replace").splitlines():
        readable = select.select([process.stdout], [], [], max(0, end - time.monotonic()))[0]
        data = os.read(process.stdout.fileno(), 65536) if readable else b""
        check(data, f"{process.args[0]} did not print {wanted!r} within {seconds} s: {output!r}")
        output += data


def allocator_library(pid):
    """The file whose malloc a process uses."""
    names = [mapping.name for mapping in mappings(pid) if "x" in mapping.permissions and mapping.inode]
    for pattern in (r"libjemalloc|libtcmalloc", r"/libc[.-]"):
        for name in names:
            if re.search(pattern, os.path.basename(name) if pattern[0] != "/" else name):
                return os.path.realpath(name)
    return os.path.realpath(f"/proc/{pid}/exe")


class Plain(Started):
    """No profiler: about as many instructions as heapsnap adds to a tight pair of 13 frames when it records all, which do nothing (plain.c)."""
    only_groups = ("pair", "tight")

    def __init__(self):
        super().__init__("plain", "no profiler, 304 plain instructions more", INSTALLED, {"LD_PRELOAD": target_path("libplain.so")},
                         needs=target_path("libplain.so"))


def peer_modes():
    return [
        Jemalloc("jemalloc-sample", "jemalloc, sampled at 512 KiB", 19),
        Jemalloc("jemalloc-exact", "jemalloc, exact", 0, most_rounds=3),
        Started("tcmalloc-sample", "gperftools' tcmalloc, sampled at 512 KiB", WITH_TCMALLOC, {"TCMALLOC_SAMPLE_PARAMETER": "524288"}, needs=TCMALLOC),
        # Its dumps by themselves are switched off, and what it says.
        Started("tcmalloc-exact", "gperftools' heap profiler", WITH_TCMALLOC, {"HEAPPROFILE": "{directory}/heapprofile",
                "HEAP_PROFILE_ALLOCATION_INTERVAL": "0", "HEAP_PROFILE_INUSE_INTERVAL": "0", "PERFTOOLS_VERBOSE": "-1"},
                needs=TCMALLOC, most_rounds=3),
        # What `heaptrack --raw` does, but for the program that compresses its output.
        Started("heaptrack", "heaptrack, from the start", INSTALLED, {"LD_PRELOAD": HEAPTRACK, "DUMP_HEAPTRACK_OUTPUT": "{directory}/heaptrack.raw"},
                needs=HEAPTRACK, most_rounds=3),
        Bpftrace(),
        Plain(),
        Started("dhat", "valgrind --tool=dhat", INSTALLED, prefix=["/usr/bin/valgrind", "--quiet", "--tool=dhat", "--dhat-out-file={directory}/dhat.out",
                "--num-callers=30"], needs="/usr/bin/valgrind", most_rounds=1, only_for_scale=True, steps=False),
    ]

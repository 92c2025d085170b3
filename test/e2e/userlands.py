# SPDX-License-Identifier: Apache-2.0
"""userlands.py SUITE: programs of another Debian, in its root, attached from outside: blocks exact and named, threads made before and after attach, unusual
stacks, the tool killed at its steps, detach. Then the same by the static program (HEAPSNAP_STATIC) that runs in that root. The roots are kept in
HEAPSNAP_CHROOTS.
userlands.py empty: the static program in a root that has nothing but /proc, on a static program there and on programs outside."""

import os
import shutil
import subprocess
import sys
import tempfile

import harness
import profiles
from harness import (Target, Unharmed, attach, attach_state, check, check_equal, detach, dump, heapsnap, heapsnap_ok, run_test, say, temporary_directory,
                     wait_until)

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "..", "targets")
THREADS = 6
SKIPPED = 77


def skip(reason):
    say(f"SKIPPED: {reason}")
    sys.exit(SKIPPED)


def make_root(suite):
    folder = os.environ["HEAPSNAP_CHROOTS"]
    result = subprocess.run([os.path.join(HERE, "make_chroot.sh"), suite, folder], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode == SKIPPED:
        skip(result.stdout.strip())
    check_equal(result.returncode, 0, f"make_chroot.sh {suite}: {result.stdout}")
    return os.path.join(folder, suite)


class Root:
    """The root with a folder for programs in it, which goes when the test ends."""

    def __init__(self, path):
        self.path = path
        self.folder = tempfile.mkdtemp(prefix="heapsnap-test-", dir=os.path.join(path, "tmp"))
        os.chmod(self.folder, 0o755)

    def build(self, name, *options):
        # The compiler's own folder of libraries would come before the root's.
        libraries = os.path.join(self.path, "usr/lib/x86_64-linux-gnu")
        subprocess.run(["gcc", f"--sysroot={self.path}", f"-B{libraries}", f"-L{libraries}", "-O2", "-g", "-D_GNU_SOURCE", "-pthread", *options, "-o",
                        os.path.join(self.folder, name), os.path.join(SOURCES, f"{name}.c"), "-ldl"], check=True)

    def start(self, name, *arguments, **options):
        program = os.path.join("/", os.path.relpath(os.path.join(self.folder, name), self.path))
        return Target(name, command=["chroot", self.path, program, *map(str, arguments)], **options)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def put_tool_inside(self):
        """From now on the tests' heapsnap is the static program, inside this root, with /proc and nothing else mounted there. A file below the root is named
        from outside, as everywhere in the tests."""
        inside = os.path.join(self.folder, "heapsnap")
        shutil.copy(os.environ["HEAPSNAP_STATIC"], inside)
        proc = os.path.join(self.path, "proc")
        if os.path.islink(proc):  # so made by a debootstrap that may not mount
            os.unlink(proc)
        os.makedirs(proc, exist_ok=True)
        tool = os.path.join(temporary_directory(), "heapsnap-inside")
        with open(tool, "w", encoding="utf-8") as file:
                file.write(INSIDE.format(root=self.path, program=inside[len(self.path):]))
        os.chmod(tool, 0o755)
        harness.HEAPSNAP = tool
        harness.tool_root = self.path


# The mount is in a namespace of its own, which ends with the tool.
INSIDE = """#!/bin/bash
root={root}
exec unshare --mount --propagation private bash -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" {program} "${{@#$root}}"
"""


class EmptyRoot(Root):
    """A folder with an empty /proc, and what the test puts there."""

    def __init__(self):
        super().__init__(self.make())

    @staticmethod
    def make():
        path = temporary_directory()
        os.mkdir(os.path.join(path, "tmp"))
        os.chmod(path, 0o755)
        return path

    def build(self, name, *options):
        subprocess.run(["gcc", "-O2", "-g", "-D_GNU_SOURCE", "-pthread", "-static", *options, "-o", os.path.join(self.folder, name),
                        os.path.join(SOURCES, f"{name}.c")], check=True)


def work(target):
    *account, _ = target.ask_json("work")
    return {line["site"]: (line["objects"], line["bytes"]) for line in account}


def live(path):
    """Of the program's own sites. What the C library takes for threads that are made meanwhile lives as well."""
    return {name: (values.live_objects, values.live_bytes) for name, values in profiles.by_innermost(path).items()
            if values.live_objects and name.startswith("site_")}


def exact(root, directory):
    target = root.start("userland", THREADS)
    work(target)  # then every thread runs
    path = os.path.join(directory, "out.pb.gz")
    before = Unharmed(target.pid)
    attach(target.pid)
    before.check_attached()
    for more in (False, True):
        if more:
            check_equal(target.ask("more"), "made", "answer")
        account = work(target)
        report = dump(target.pid, path)
        check_equal(live(path), account, f"sites, threads made {'after' if more else 'before'} attach")
        if not more:
            check_equal(report["live_objects"], sum(objects for objects, _ in account.values()), "live blocks")
    check_equal(target.ask("finish"), "done", "answer")
    dump(target.pid, path)
    check_equal(live(path), {}, "sites at the end")
    detach(target.pid)
    work(target)
    before = Unharmed(target.pid)
    attach(target.pid)
    work(target)
    detach(target.pid)
    before.check_after(memory_may_change=True)
    target.end()
    say("  exact, with names; threads made before and after attach")


def stacks(root):
    for kind in ("guarded", "bare", "served", "coroutines"):
        target = root.start("stacks", kind, THREADS, ready=None)
        if target.line() == "unsupported":
            say(f"  left out: no {kind} stacks here")
            continue
        attach(target.pid)
        check_equal(target.ask("more"), "made", "answer")
        detach(target.pid)
        count = int(target.ask("count"))
        wait_until(lambda target=target, count=count: int(target.ask("count")) > count + 20 * THREADS, "the threads go on")
        target.end()
    say("  unusual stacks")


def killed(root):
    target = root.start("userland", THREADS)
    work(target)
    before = Unharmed(target.pid)
    steps = {"attach": 0, "detach": 0}
    for command, others in (("attach", 1), ("detach", 1)):
        step = 1
        while True:
            if command == "detach" and attach_state(target.pid) is None:
                attach(target.pid)
            result = heapsnap(command, target.pid, environment={"HEAPSNAP_KILL_AT": str(step)})
            work(target)
            if result.status == 0:
                break
            check_equal(result.status, -9, str(result))
            steps[command] += 1
            step += 3 * others  # some of them: all of them are killed at in e2e.killed_at_each_step
    if attach_state(target.pid) is not None:
        detach(target.pid)
    check(min(steps.values()) >= 2, f"steps: {steps}")
    work(target)
    before.check_after(memory_may_change=True)
    target.end()
    say(f"  killed at {steps['attach']} steps of attach, {steps['detach']} of detach")


def started(root):
    """Programs that heapsnap starts are recorded from their beginning, and go on if it is killed while their loader is at work."""
    command = ["chroot", root.path, "/bin/sh", "-c", "/bin/true; echo $?; /bin/true; echo $?"]
    result = heapsnap("run", "--children", "--", *command)
    check_equal((result.status, result.stdout, len(result.stderr.split("(true) has ended"))), (0, "0\n0\n", 3), f"recorded: {result}")
    killed_at = []
    for request in range(200, 2000, 40):  # from before the first of them on
        result = heapsnap("run", "-q", "--children", "--", *command, environment={"HEAPSNAP_KILL_AT_REQUEST": str(request)}, again=False)
        check_equal(result.stdout, "0\n0\n", f"killed at request {request}")
        if result.status == 0:
            break
        killed_at.append(request)
    check(len(killed_at) > 5, f"killed at {killed_at}")
    say(f"  started, and heapsnap killed at {len(killed_at)} requests")


def commands(root):
    """Each command, and names with lines."""
    check("static" in heapsnap("--version").stdout, "the tool is not the static program")
    target = root.start("userland", THREADS)
    path = os.path.join(root.folder, "out.pb.gz")
    before = Unharmed(target.pid)
    check(heapsnap_ok("check", target.pid)["would_attach"], "check")
    attach(target.pid)
    check_equal(attach_state(target.pid), "attached", "status")
    account = work(target)
    heapsnap_ok("set", target.pid, "--depth", "8")
    dump(target.pid, path)
    check_equal(live(path), account, "sites")
    check({(site, "userland.c") for site in account} <= profiles.source_files(path), f"no file and line of the sites: {profiles.source_files(path)}")
    detach(target.pid)
    before.check_after(memory_may_change=True)
    target.end()
    say("  check, attach, status, set, dump with names and lines, detach")


def inside(root):
    if "HEAPSNAP_STATIC" not in os.environ:
        skip("no static program was built")
    root.put_tool_inside()
    say("  the static program inside:")
    commands(root)
    exact(root, root.folder)
    killed(root)


def empty():
    if os.geteuid() != 0:
        skip("another root needs root")
    root = EmptyRoot()
    root.build("userland")
    inside(root)
    check_equal(sorted(os.listdir(root.path)), ["proc", "tmp"], "the root")
    for name in ("many_threads", "cpp_program"):
        target = Target(name, *([3] if name == "many_threads" else []))
        before = Unharmed(target.pid)
        attach(target.pid)
        dump(target.pid, os.path.join(root.folder, "out.pb.gz"))
        detach(target.pid)
        before.check_after(memory_may_change=True)
        target.end()
    say("  programs outside of it")


def main():
    suite = sys.argv[1]
    if suite == "empty":
        empty()
        return
    if os.geteuid() != 0:
        skip("a root of another Debian needs root")
    if not shutil.which("debootstrap"):
        skip("debootstrap is not installed")
    root = Root(make_root(suite))
    try:
        for name in ("userland", "stacks"):
            root.build(name)
        libc = subprocess.run(["chroot", root.path, "/bin/sh", "-c", "ldd --version"], stdout=subprocess.PIPE, text=True, check=False).stdout
        say(f"  {suite}: {libc.splitlines()[0] if libc else 'of an unknown C library'}")
        exact(root, temporary_directory())
        stacks(root)
        killed(root)
        started(root)
        inside(root)
    finally:
        root.remove()


run_test(main, "userlands")

# SPDX-License-Identifier: Apache-2.0
"""Libraries whose files a tool without privilege cannot have: replaced, as a package upgrade does, removed, unreadable, under other names. It reads them in the
process's memory, and where it cannot, it concludes nothing from what they do not show.
usage: lost_files.py [CASE...]"""

import os
import shutil

import harness
import profiles
from harness import Target, Unharmed, attach, check, check_equal, check_refused, detach, dump, heapsnap, leave_out, root, run_cases, say, temporary_directory

NOBODY = 65534
KEPT = (100, 100000)  # what `keep` of surroundings leaves in the program, and in its library
JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
WAYS = ("there", "replaced", "removed", "unreadable")


def copy(source, directory, name=None):
    path = os.path.join(directory, name or os.path.basename(source))
    shutil.copy(source, path)
    os.chmod(path, 0o755)
    return path


def lose(path, way):
    if way == "replaced":
        shutil.copy(path, path + ".new")
        os.rename(path + ".new", path)
    elif way == "removed":
        os.unlink(path)
    elif way == "unreadable":
        os.chmod(path, 0o700)


class Place:
    """A process of a user without privilege, and a tool of that user; or both as root of a user namespace."""

    def __init__(self, is_namespace):
        self.directory = temporary_directory()
        os.chmod(self.directory, 0o777)
        user = harness.as_user(NOBODY)
        self.before = [*user, "unshare", "--user", "--map-root-user"] if is_namespace else user
        self.program = harness.copy_for_everybody()
        self.is_namespace = is_namespace
        self.name = "root of a user namespace" if is_namespace else "a user"

    def start(self, program, *arguments, environment=()):
        return Target(os.path.basename(program), command=[*self.before, "env", *environment, program, *arguments])

    def how(self, pid):
        into = ["nsenter", f"--target={pid}", "--user", "--preserve-credentials"] if self.is_namespace else []
        return {"program": self.program, "prefix": [*harness.as_user(NOBODY), *into]}


def places():
    return [Place(False), Place(True)]


def write_same(pid, name):
    """As a debugger that sets a breakpoint and takes it away: the page is the process's own from then on."""
    for mapping in harness.mappings(pid):
        if name in mapping.name and "x" in mapping.permissions:
            with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
                byte = os.pread(memory.fileno(), 1, mapping.start)
                check_equal(os.pwrite(memory.fileno(), byte, mapping.start), 1, "bytes written")
            return
    raise harness.Failure(f"{name} has no code in pid {pid}")


def throwing_library():
    """A malloc that calls through a pointer must not get a frame of heapsnap's below it, whether or not the one library that throws can be read."""
    if not root():
        return
    for place in places():
        for way in (*WAYS, "replaced, and written to"):
            program = copy(harness.target_path("pointed_malloc"), place.directory)
            library = copy(harness.target_path("libthrowing_hook.so"), place.directory)
            target = place.start(program, library)
            how = place.how(target.pid)
            lose(library, way.split(",")[0])
            if "written" in way:
                write_same(target.pid, "libthrowing_hook.so")
            check_equal((target.ask("work"), target.ask("throw")), ("right", "caught"), "what it does before")
            before = Unharmed(target.pid)
            check_refused(heapsnap("attach", target.pid, "--exact", **how), "cannot be followed everywhere")
            report = heapsnap("check", target.pid, **how)
            check_equal(report.status, 1, str(report))
            check_equal("libthrowing_hook.so (" in report.stdout + report.stderr, "written" in way, f"whether check names it as unread: {report}")
            check_equal((target.ask("throw"), target.ask("work")), ("caught", "right"), f"what it does after, its library {way}")
            before.check_after(memory_may_change=True)
            target.end()
            say(f"  {place.name}: the library {way}")


def check_seen(target, how, directory):
    path = os.path.join(directory, "out.pb.gz")
    check_equal(target.ask("keep"), "kept", "blocks to be kept")
    dump(target.pid, path, **how)
    total = sum((values for _, values in profiles.samples(path)), profiles.Values())
    check(total.live_objects >= 2 * KEPT[0] and total.live_bytes >= 2 * KEPT[1], f"{total} are live")


def lost_allocator():
    """Its hooks are written, its blocks are seen, and no page but its own text stays private."""
    if not root():
        return
    if not os.path.exists(JEMALLOC):
        return leave_out("there is no jemalloc")
    for place in places():
        for way in WAYS:
            program = copy(harness.target_path("surroundings"), place.directory)
            copy(harness.target_path("libsurroundings_library.so"), place.directory)
            allocator = copy(JEMALLOC, place.directory, "liballocator.so")
            target = place.start(program, "threads=2", environment=[f"LD_LIBRARY_PATH={place.directory}", f"LD_PRELOAD={allocator}"])
            how = place.how(target.pid)
            lose(allocator, way)
            lose(program, way)
            check_equal(target.ask("work"), "right", "work before attach")
            before = Unharmed(target.pid)
            attach(target.pid, "--exact", **how)
            before.check_attached()
            check_seen(target, how, place.directory)
            check_equal(target.ask("work"), "right", "work while attached")
            detach(target.pid, **how)
            check_equal(target.ask("work"), "right", "work after detach")
            found = before.differences(Unharmed(target.pid), True)
            check(all(line.startswith("private pages of text") and "liballocator.so" in line for line in found), f"not as it was: {found}")
            check_equal(found != [], way != "there", f"whether private pages stay: {found}")
            if way != "there":  # they need not be what the file has, for all that can be known
                check_refused(heapsnap("attach", target.pid, "--exact", **how), "liballocator.so", "cannot be read", "root")
                attach(target.pid, "--exact")
                check_equal(target.ask("work"), "right", "work while attached by root")
                detach(target.pid)
            target.end()
            say(f"  {place.name}: the allocator and the program {way}")


def unread_allocator():
    """Refused, with its name, and untouched; not a profile of what nobody calls."""
    if not root():
        return
    if not os.path.exists(JEMALLOC):
        return leave_out("there is no jemalloc")
    place = Place(False)
    program = copy(harness.target_path("surroundings"), place.directory)
    copy(harness.target_path("libsurroundings_library.so"), place.directory)
    allocator = copy(JEMALLOC, place.directory, "liballocator.so")
    target = place.start(program, "threads=2", environment=[f"LD_LIBRARY_PATH={place.directory}", f"LD_PRELOAD={allocator}"])
    how = place.how(target.pid)
    lose(allocator, "removed")
    write_same(target.pid, "liballocator.so")
    before = Unharmed(target.pid)
    check_refused(heapsnap("attach", target.pid, **how), "allocates by .*liballocator.so", "cannot be read", "root")
    report = heapsnap("check", target.pid, **how)
    check(report.status == 1 and "liballocator.so (" in report.stdout + report.stderr, f"check: {report}")
    before.check_after(memory_may_change=True)
    attach(target.pid, "--exact")
    check_seen(target, {}, place.directory)
    detach(target.pid)
    before.check_after(memory_may_change=True)
    target.end()


run_cases([throwing_library, lost_allocator, unread_allocator], "lost_files")

# SPDX-License-Identifier: Apache-2.0
"""What a process may be shut into: seccomp, namespaces, other roots, other users, limits, denied protections. Each case attaches, checks
what the dump says of known allocations, detaches, and sees the process as it was and at work; or is refused, untouched.
usage: surroundings.py [CASE...]"""

import os
import shutil
import subprocess

import harness
import profiles
from harness import (Target, Unharmed, attach, attach_state, check, check_equal, check_refused, detach, dump, has_program, heapsnap, only_child, root,
                     run_cases, say, temporary_directory)

PROGRAM = "surroundings"
KEPT = (100, 100000)  # blocks and bytes that "keep" leaves, in the program and in its library
SITES = {"surroundings_keep": "surroundings.c", "surroundings_library_allocate": "plugin.c"}
THREADS = "threads=2"
NOBODY = 65534
NEEDED = "read,write,exit_group,futex,clock_nanosleep,rt_sigreturn"


class Inside:
    """A process that answers through `target`, and the tool's way to it. `pid`: as the tool knows it; `outside`: as this test does."""

    def __init__(self, target, pid=None, outside=None, prefix=()):
        self.target, self.prefix = target, list(prefix)
        self.outside = outside or target.pid
        self.pid = pid or self.outside
        self.how = {"prefix": self.prefix}


def shut_in(*options, **how):
    return Inside(Target(PROGRAM, *options, **how))


def check_kept(path, lines=True):
    sites = profiles.by_innermost(path)
    for name in SITES:
        values = sites.get(name)
        check(values, f"nothing is named {name}: {sorted(sites)}")
        check_equal((values.live_objects, values.live_bytes), KEPT, f"what {name} has kept")
    if lines:
        files = profiles.source_files(path)
        for site in SITES.items():
            check(site in files, f"{site} is not among the lines: {sorted(files)}")


def go_through(inside, directory=None, lines=True):
    target, path = inside.target, os.path.join(directory or temporary_directory(), "out.pb.gz")
    check_equal(target.ask("work"), "right", "work before attach")
    before = Unharmed(inside.outside)
    attach(inside.pid, **inside.how)
    check_equal(target.ask("keep"), "kept", "blocks to be kept")
    check_equal(target.ask("work"), "right", "work while attached")
    before.check_attached()
    dump(inside.pid, path, **inside.how)
    check_kept(path, lines)
    check_equal(target.ask("work"), "right", "work after the dump")
    detach(inside.pid, **inside.how)
    before.check_after(memory_may_change=True)
    check_equal(target.ask("work"), "right", "work after detach")
    check(target.ask("count") != "wrong", "a thread found its memory changed or its sleep cut short")
    target.end()


def refused(inside, *words, **how):
    check_equal(inside.target.ask("work"), "right", "work")
    before = Unharmed(inside.outside)
    check_refused(heapsnap("attach", inside.pid, **{**inside.how, **how}), *words)
    before.check_after(memory_may_change=True)
    check_equal(inside.target.ask("work"), "right", "work after the refusal")
    inside.target.end()


# seccomp


def seccomp_strict():
    target = Target(PROGRAM, "strict")
    check_equal(target.ask("work"), "right", "work")
    before = Unharmed(target.pid)
    check_refused(heapsnap("attach", target.pid), "strict seccomp")
    before.check_after()
    check_equal(target.ask("work"), "right", "work after the refusal")
    target.end()


FORBIDDEN = ["memfd_create", "mmap", "munmap", "madvise", "mprotect", "munlock", "prctl", "ftruncate", "fcntl", "close", "restart_syscall",
             "memfd_create,mmap,munmap,madvise,mprotect,munlock,prctl,close,restart_syscall"]


def seccomp_filters():
    """Filters that kill for each of the calls that heapsnap makes; they rest while it does. One lets nothing through but what the program
    needs itself: were a hook to make any system call, the program would be dead."""
    if not root():
        return
    for names in FORBIDDEN:
        go_through(shut_in(THREADS, f"deny={names}"))
        say(f"  suspended: a filter that kills for {names}")
    go_through(shut_in(THREADS, f"allow={NEEDED}"))
    go_through(shut_in(THREADS, "fail=mmap,memfd_create"))
    say(f"  suspended: a filter that kills for everything but {NEEDED}; one that makes calls fail")
    go_through(shut_in("deny=memfd_create", THREADS, "fail=fcntl", "deny=mmap"))
    go_through(shut_in(THREADS, "deny-here=rt_sigreturn,mmap,memfd_create"))
    say("  suspended: three filters, one behind the other; one in the main thread alone, that is not to be taken as the carrier")


def seccomp_not_suspended():
    """Where the filter could not be suspended, nothing is tried."""
    if not root():
        return
    refused(shut_in(THREADS, "allow=read,write,exit_group,futex,clock_nanosleep"), "rt_sigreturn")
    for what, prefix, words in [
            ("without CAP_SYS_ADMIN", ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"], ["CAP_SYS_ADMIN"]),
            ("a tool with a filter of its own", [harness.target_path(PROGRAM), "fail=ftruncate", "run"], ["filtered itself"])]:
        refused(shut_in(THREADS, f"allow={NEEDED}"), *words, prefix=prefix)
        say(f"  refused: {what}")
    program = harness.copy_for_everybody()
    inside = shut_in(f"user={NOBODY}", THREADS, f"allow={NEEDED}")
    refused(inside, "CAP_SYS_ADMIN", program=program, prefix=harness.as_user(NOBODY))
    say("  refused: another user, on a process of its own")


def seccomp_killed():
    """The tool is killed at its steps and requests: the filter is awake again, and must find nothing to kill for."""
    if not root():
        return
    target = Target(PROGRAM, THREADS, "allow=" + NEEDED)
    check_equal(target.ask("work"), "right", "work")
    before = Unharmed(target.pid)
    path = os.path.join(temporary_directory(), "out.pb.gz")
    killed = 0
    for variable, numbers in [("HEAPSNAP_KILL_AT", range(1, 40)), ("HEAPSNAP_KILL_AT_REQUEST", range(1, 400, 9))]:
        ended = set()
        for number in numbers:
            for command in ("attach", "dump", "detach"):
                if command in ended:
                    continue
                if command != "attach" and attach_state(target.pid) != "attached":
                    attach(target.pid)
                if command == "attach" and attach_state(target.pid):
                    detach(target.pid)
                result = heapsnap(command, target.pid, *(["-o", path] if command == "dump" else []), environment={variable: str(number)})
                check(result.status in (0, -9), str(result))
                if result.status == 0:
                    ended.add(command)
                killed += result.status == -9
                check(target.alive(), f"the target died when {command} was killed at {variable}={number}")
                check_equal(set(harness.tracer(target.pid).values()), {"0"}, "tracer")
                check_equal(target.ask("work"), "right", f"work after {command} was killed")
        check_equal(ended, {"attach", "dump", "detach"} if variable == "HEAPSNAP_KILL_AT" else ended, "commands that ended by themselves")
    if attach_state(target.pid):
        detach(target.pid)
    before.check_after(memory_may_change=True)
    target.end()
    say(f"  killed {killed} times")


# Namespaces and roots


def inner_pid(pid):
    """Its number in the innermost of its PID namespaces."""
    return int(harness.status_fields(pid, pid, ["NSpid"])["NSpid"].split()[-1])


def copies(directory):
    """The program and its library, with their debug information, where nothing else leads to them."""
    for name in (PROGRAM, "libsurroundings_library.so"):
        shutil.copy(harness.target_path(name), directory)
    return [os.path.join(directory, name) for name in (PROGRAM, "libsurroundings_library.so")]


def from_directory(directory, *options, before=()):
    """The copies in `directory`, run through `before`."""
    return Target(PROGRAM, command=[*before, "env", f"LD_LIBRARY_PATH={directory}", os.path.join(directory, PROGRAM), *options])


def shell(script, *arguments):
    """A command that runs `script` with $1..., and whatever else is appended to the command as "$@" after a shift for each."""
    return ["sh", "-euc", f'{script}\nshift {len(arguments)}\nexec "$@"', "sh", *map(str, arguments)]


def containers():
    """The program in PID, mount and user namespaces: the tool outside, and inside with it."""
    if not root():
        return
    container = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount", "--mount-proc"]
    for where in ("outside", "inside"):
        target = Target(PROGRAM, command=[*container, harness.target_path(PROGRAM), THREADS])
        pid = only_child(target.pid)
        check(inner_pid(pid) != pid, "it has the same number inside")
        inside = Inside(target, pid=pid)
        if where == "inside":
            inside = Inside(target, pid=inner_pid(pid), outside=pid,
                            prefix=["nsenter", f"--target={pid}", "--user", "--pid", "--mount", "--preserve-credentials"])
        go_through(inside)
        say(f"  the tool {where}: the process is {pid} outside, {inside.pid} to the tool")
    # One that a user has made without privilege, and looks into from outside.
    directory = temporary_directory()
    copies(directory)
    target = from_directory(directory, THREADS, before=[*harness.as_user(NOBODY), *container])
    go_through_as(NOBODY, Inside(target, pid=only_child(target.pid)))
    say("  a user's own, without privilege")


def mount_namespaces():
    """Files that exist only in the process's own mount namespace, and ones in whose place others stand outside."""
    if not root():
        return
    for other_files in (False, True):
        directory, hidden = temporary_directory(), temporary_directory()
        copies(hidden)
        if other_files:
            for name in os.listdir(hidden):
                shutil.copy(harness.target_path("libtruth_plugin.so"), os.path.join(directory, name))
        target = from_directory(directory, THREADS, before=["unshare", "--mount", *shell(
            'mount -t tmpfs none "$1"; cp "$2"/* "$1"', directory, hidden)])
        shutil.rmtree(hidden)
        check_equal(sorted(os.listdir(directory)), [PROGRAM, "libsurroundings_library.so"][::-1] if other_files else [], "what is there outside")
        go_through(Inside(target))
        say("  files of its mount namespace" + (", others outside" if other_files else ", none outside"))


def strange_roots():
    if not root():
        return
    # Its files are not under its root at all; and its root cannot be written, nor run from where scratch files go.
    go_through(shut_in(f"chroot={temporary_directory()}", THREADS))
    go_through(Inside(Target(PROGRAM, command=["unshare", "--mount", *shell(
        "mount -t tmpfs -o noexec none /dev/shm; mount --rbind / /; mount -o remount,ro,bind /"), harness.target_path(PROGRAM), THREADS])))
    say("  chroot; a root that is read-only with a noexec /dev/shm")
    for uid in (0, NOBODY):
        directory, layers = temporary_directory(), temporary_directory()
        for name in ("lower", "scratch"):
            os.mkdir(os.path.join(layers, name), 0o755)
        copies(os.path.join(layers, "lower"))
        target = from_directory(directory, f"user={uid}", THREADS, before=["unshare", "--mount", *shell(
            'mount -t tmpfs none "$2/scratch"; mkdir "$2/scratch/upper" "$2/scratch/work"; '
            'mount -t overlay -o "lowerdir=$2/lower,upperdir=$2/scratch/upper,workdir=$2/scratch/work" none "$1"', directory, layers)])
        if uid == 0:
            go_through(Inside(target))
        else:
            go_through_as(uid, Inside(target))
        say(f"  from an overlay, the tool as user {uid}")


def replaced_files():
    """A package upgrade while the process runs: other files in place of its own, and its own gone."""
    for way in ("removed", "replaced", "replaced, debug information apart"):
        directory = temporary_directory()
        paths = copies(directory)
        if "apart" in way:
            os.mkdir(directory + "/.debug")
            for path in paths:
                debug = os.path.join(directory, ".debug", os.path.basename(path) + ".debug")
                subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True)
                subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", path], check=True)
        target = from_directory(directory, THREADS)
        for path in paths:
            if way == "removed":
                os.unlink(path)
            else:
                shutil.copy(harness.target_path("libtruth_plugin.so"), path + ".new")
                os.rename(path + ".new", path)
        go_through(Inside(target))
        say(f"  files {way}")
        if way == "replaced" and os.geteuid() == 0:
            without_the_files(paths)


def without_the_files(paths):
    """Without the right to open what is mapped, names may be missing; wrong ones may not be there, and sums are as always."""
    copies(os.path.dirname(paths[0]))
    target = from_directory(os.path.dirname(paths[0]), f"user={NOBODY}", THREADS)
    for path in paths:
        shutil.copy(harness.target_path("libtruth_plugin.so"), path + ".new")
        os.rename(path + ".new", path)
    how = {"program": harness.copy_for_everybody(), "prefix": harness.as_user(NOBODY)}
    path = os.path.join(directory_of(NOBODY), "out.pb.gz")
    result = heapsnap("attach", "--exact", target.pid, **how)  # on a busy machine the default may be estimates by then
    if result.status == 0:
        check_equal(target.ask("keep"), "kept", "blocks to be kept")
        dump(target.pid, path, **how)
        named = {name for name in profiles.by_innermost(path) if profiles.is_named(name)}
        check(not [name for name in named if "truth_plugin" in name], f"names of the files that stand there now: {named}")
        total = sum((values for _, values in profiles.samples(path)), profiles.Values())
        check(total.live_bytes >= 2 * KEPT[1], f"{total} are live")
        detach(target.pid, **how)
        say(f"  without privilege: the names {sorted(named)}")
    else:
        check_refused(result)
    check_equal(target.ask("work"), "right", "work")
    target.end()


# Users


def directory_of(uid):
    directory = temporary_directory()
    os.chown(directory, uid, uid)
    return directory


def go_through_as(uid, inside):
    """With the tool as an ordinary user."""
    inside.how = {"program": harness.copy_for_everybody(), "prefix": [*harness.as_user(uid), *inside.prefix]}
    go_through(inside, directory_of(uid))


def users():
    if not root():
        return
    go_through(shut_in(f"user={NOBODY}", THREADS))
    go_through(shut_in(f"user={NOBODY}", THREADS, "not-dumpable"))
    say("  root, on another user's, dumpable and not")
    directory = temporary_directory()
    copies(directory)
    go_through_as(NOBODY, Inside(from_directory(directory, f"user={NOBODY}", THREADS)))
    say("  a user without privilege, on a process of its own")
    how = {"program": harness.copy_for_everybody(), "prefix": harness.as_user(NOBODY)}
    refused(shut_in(f"user={NOBODY}", THREADS, "not-dumpable"), "not dumpable", **how)
    refused(shut_in("user=65533", THREADS), "belongs to user 65533", **how)


def hidden_processes():
    """A /proc that hides others' processes, or has processes only."""
    if not root():
        return
    directory = temporary_directory()
    copies(directory)
    hide = ["unshare", "--mount", *shell("mount -t proc -o hidepid=2 none /proc")]
    only = ["unshare", "--mount", *shell("mount -t proc -o subset=pid none /proc")]
    inside = Inside(from_directory(directory, f"user={NOBODY}", THREADS))
    inside.how = {"program": harness.copy_for_everybody(), "prefix": [*hide, *harness.as_user(NOBODY)]}
    go_through(inside, directory_of(NOBODY))
    refused(shut_in(THREADS), "no process", program=harness.copy_for_everybody(), prefix=[*hide, *harness.as_user(NOBODY)])
    inside = shut_in(THREADS)
    inside.how = {"prefix": only}
    go_through(inside)


# Protections and limits


def denied_protections():
    go_through(shut_in("write-denied", "no-new-privs", THREADS))
    say("  memory-deny-write-execute")
    if not root():
        return
    noexec = ["unshare", "--pid", "--fork", "--mount", "--mount-proc", *shell("echo 2 >/proc/sys/vm/memfd_noexec")]
    if not os.path.exists("/proc/sys/vm/memfd_noexec"):
        say("  this kernel does not know vm.memfd_noexec: not tried")
        return
    for options in ([THREADS], ["write-denied", THREADS]):
        target = Target(PROGRAM, command=[*noexec, harness.target_path(PROGRAM), *options])
        pid = only_child(target.pid)
        attach(pid)
        code = [mapping for mapping in harness.mappings(pid) if "heapsnap-code" in mapping.name]
        check(not code, f"executable memfds were not forbidden: {code}")
        detach(pid)
        go_through(Inside(target, pid=pid))
    say("  vm.memfd_noexec=2, alone and with memory-deny-write-execute")
    target = Target(PROGRAM, command=[*noexec, harness.target_path(PROGRAM), THREADS])
    pid = only_child(target.pid)
    check_equal(target.ask("work"), "right", "work")
    before, steps = Unharmed(pid), 0
    while True:
        steps += 1
        check(steps < 100, "attach has more than 100 steps")
        result = heapsnap("attach", pid, environment={"HEAPSNAP_KILL_AT": str(steps)})
        check_equal(target.ask("work"), "right", f"work after attach was killed at step {steps}")
        if attach_state(pid):
            detach(pid)
        before.check_after(memory_may_change=True, settle=20)  # a thread that was left comes home when it gets a processor
        if result.status == 0:
            break
        check_equal(result.status, -9, str(result))
    check_equal(target.ask("work"), "right", "work after detach")
    target.end()
    say(f"  so too when the tool is killed at each of {steps - 1} steps")


def denied_writes():
    """Where the kernel forbids writing to text through /proc/PID/mem (proc_mem.force_override, Linux 6.12): as if each such write failed."""
    if not has_program("strace"):
        return
    inside = shut_in(THREADS)
    trace = os.path.join(temporary_directory(), "trace")
    inside.how = {"prefix": ["strace", "-f", "-o", trace, "-P", f"/proc/{inside.pid}/mem", "-e", "trace=pwrite64", "-e",
                             "inject=pwrite64:error=EIO"]}
    go_through(inside)
    check("INJECTED" in harness.read_text(trace), "no write was made to fail")


def limits():
    refused(shut_in("no-tsc"), "time-stamp counter disabled")
    refused(shut_in(THREADS, "files=12", "descriptors=all"), "open files")
    refused(shut_in(THREADS, "files=0"), "open files")
    go_through(shut_in(THREADS, "file-size=1"))
    # The tool's own limit: the region is a file, and so is the profile.
    refused(shut_in(THREADS), "too large|limit", prefix=["prlimit", "--fsize=4096"])
    inside, path = shut_in(THREADS), os.path.join(temporary_directory(), "out.pb.gz")
    attach(inside.pid)
    check_equal(inside.target.ask("keep"), "kept", "blocks to be kept")
    check_refused(heapsnap("dump", inside.pid, "-o", path, prefix=["prlimit", "--fsize=100"]), "too large|limit")
    check_equal(os.listdir(os.path.dirname(path)), [], "files")
    dump(inside.pid, path)
    check_kept(path)
    detach(inside.pid)
    inside.target.end()


run_cases([seccomp_strict, seccomp_filters, seccomp_not_suspended, seccomp_killed, containers, mount_namespaces, strange_roots, replaced_files, users,
           hidden_processes, denied_protections, denied_writes, limits], "surroundings")

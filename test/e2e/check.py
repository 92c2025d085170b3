# SPDX-License-Identifier: Apache-2.0
"""heapsnap check: it touches nothing, finds what is there, and knows what attach would do: each case runs both and compares, word for word.
usage: check.py [CASE...]"""

import os
import re
import shutil
import signal
import subprocess

import harness
from harness import (Target, Unharmed, check, check_equal, heapsnap, only_child, root, run_cases, say, status_fields, stop, target_path,
                     temporary_directory, wait_until)
from odd_processes import start_32_bits, start_tracer

NOBODY = 65534
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
GLIBC = os.confstr("CS_GNU_LIBC_VERSION").split()[1]
OPTIONS = ("--max-memory", "64M")  # else the machine's free memory decides, which changes


def examine(pid, *options, **how):
    """The JSON of check; its exit status and its verdict must agree."""
    result = heapsnap("check", pid, "--json", *OPTIONS, *options, **how)
    value = result.json
    check_equal((value["command"], value["pid"]), ("check", pid), "check")
    refusals = [diagnostic for diagnostic in value["diagnostics"] if diagnostic["verdict"] == "refusal"]
    check_equal((value["would_attach"], result.status), (not refusals, 1 if refusals else 0), str(result))
    for diagnostic in value["diagnostics"]:
        check(diagnostic["message"] and diagnostic["verdict"] in ("refusal", "warning"), f"diagnostic: {diagnostic}")
    return value


def words(diagnostic):
    return diagnostic["message"] + (": " + diagnostic["remedy"] if diagnostic["remedy"] else "")


def refusals_of(value):
    return [diagnostic for diagnostic in value["diagnostics"] if diagnostic["verdict"] == "refusal"]


def categories(value, verdict):
    return [diagnostic["category"] for diagnostic in value["diagnostics"] if diagnostic["verdict"] == verdict]


def agrees(pid, *refused_on, **how):
    """What check says, attach does. `refused_on`: the categories, in order; none = it goes ahead, and is detached again. Returns the JSON."""
    value = examine(pid, **how)
    check_equal(categories(value, "refusal"), list(refused_on), f"categories: {value['diagnostics']}")
    told = heapsnap("check", pid, *OPTIONS, **how).stdout
    for diagnostic in value["diagnostics"]:
        check(words(diagnostic) in told, f"people are not told {diagnostic}: {told}")
    result = heapsnap("attach", pid, "--json", *OPTIONS, **how)
    if refused_on:
        first = words(refusals_of(value)[0])
        check_equal(result.status, 1, f"check says: {first}; but {result}")
        check_equal(result.json["error"]["message"], first, "what attach says, and check")
        say(f"  {first}")
        return value
    check_equal(result.status, 0, str(result))
    for field in ("hooks", "hooks_refused", "modules", "threads", "libraries_followed"):
        check_equal(value[field], result.json[field], f"{field}, as check and attach count")
    check_equal(value["memory"]["region_bytes"], result.json["region_bytes"], "region")
    check_equal(heapsnap("detach", pid, **how).status, 0, "detach")
    allocators = ", ".join(f"{each['family']} {each['hooks']}{' (in use)' if each['in_use'] else ''}" for each in value["allocators"])
    say(f"  {value['name']}: {value['libc']['name']} {value['libc']['version']}{' static' if value['libc']['static'] else ''}; {allocators}")
    return value


def idle(target):
    """The process of a Target that stands still: compared before and after the check."""
    wait_until(lambda: status_fields(target.pid, target.pid, ["State"])["State"][0] == "S", "it sleeps")
    before = Unharmed(target.pid)
    examine(target.pid)
    before.check_after()
    return target.pid


# What it sees.


def plain():
    target = Target("many_threads", 8)
    value = agrees(idle(target))
    check_equal(value["diagnostics"], [], "diagnostics")
    check_equal((value["name"], value["executable"], value["state"]), ("many_threads", target_path("many_threads"), "S"), "process")
    check_equal(value["threads"], len(harness.thread_ids(target.pid)), "threads")
    check_equal((value["threads_stopped"], value["threads_uninterruptible"], value["shadow_stacks"]), (0, 0, 0), "threads")
    check_equal(value["seccomp"], {"mode": "none", "threads": 0, "can_suspend": False}, "seccomp")
    check_equal((value["attached"], value["program_32_bit"], value["kernel_thread"], value["mdwe"]), (False, False, False, "unknown"), "kind")
    check_equal(value["libc"], {"name": "glibc", "version": GLIBC, "static": False, "go": False}, "libc")
    check_equal(set(value["namespaces"].values()), {"same"}, "namespaces")
    check_equal(value["pid_inside"], target.pid, "its own number")
    check_equal((value["tracing"]["allowed"], value["tracing"]["reason"], value["tracing"]["tracer"]), (True, "", 0), "tracing")
    check_equal([(each["family"], each["in_use"], each["hooks_refused"]) for each in value["allocators"]], [("glibc", True, 0)], "allocators")
    names = {each["name"] for each in value["functions"] if each["verdict"] == "ok"}
    check({"malloc", "calloc", "realloc", "free", "posix_memalign"} <= names, f"functions: {names}")
    # Each address is a place in the module's text.
    for function in value["functions"]:
        mapping = next((each for each in harness.mappings(target.pid) if each.start <= function["address"] < each.end), None)
        check(mapping and mapping.name == function["module"] and "x" in mapping.permissions, f"{function} lies in {mapping}")
    check_equal(value["memory"]["region_bytes"], 64 << 20, "region")
    check(value["memory"]["address_space_bytes"] > 64 << 20 and 1 << 20 < value["memory"]["fixed_bytes"] < 16 << 20, f"{value['memory']}")
    for_people(target.pid, value)
    target.end()


def for_people(pid, value):
    result = heapsnap("check", pid, *OPTIONS)
    check_equal((result.status, result.stderr), (0, ""), str(result))
    lines = result.stdout.splitlines()
    check(len(lines) <= 24, f"more than a screen: {result}")
    check_equal(lines[-1], f"attach would go ahead: {value['hooks']} hooks in 1 allocator, {value['threads']} threads", "the last line")
    for function in value["functions"]:
        if function["verdict"] == "ok" and function["name"] != "_dl_debug_state":
            check(re.search(rf"\b{re.escape(function['name'])}\b", result.stdout), f"{function['name']} is not named: {result}")
    result = heapsnap("check", pid, "-q")
    check_equal((result.status, result.stdout, result.stderr), (0, "", ""), "check -q")


def linkings():
    """Programs linked in other ways, where this machine can build them."""
    expected = {  # libc, static, Go, family of the allocators in use
        "linked_musl": ("musl", False, False, "musl"), "linked_musl_static": ("musl", True, False, "musl"),
        "linked_static": ("glibc", True, False, "glibc"), "linked_static_pie": ("glibc", True, False, "glibc"),
        "linked_no_pie": ("glibc", False, False, "glibc"), "linked_rust": ("glibc", False, False, "glibc"),
        "linked_rust_jemalloc": ("glibc", False, False, None),
    }
    for name, (libc, static, go, family) in expected.items():
        if not os.path.exists(target_path(name)):
            harness.leave_out(f"{name} was not built")
            continue
        target = Target(name, 2)
        value = agrees(target.pid)
        check_equal((value["libc"]["name"], value["libc"]["static"], value["libc"]["go"]), (libc, static, go), f"libc of {name}")
        if libc == "musl" and not static:
            check(re.fullmatch(r"1\.\d+\.\d+", value["libc"]["version"]), f"version of musl: {value['libc']}")
        families = [each["family"] for each in value["allocators"]]
        check("jemalloc" in families if family is None else families == [family], f"allocators of {name}: {value['allocators']}")
        target.end()
    for name, go in [("linked_go", True), ("linked_static_stripped", False), ("linked_musl_stripped", False)]:
        if os.path.exists(target_path(name)):
            target = Target(name, 2)
            value = agrees(target.pid, *categories(examine(target.pid), "refusal"))
            check_equal(value["libc"]["go"], go, f"libc of {name}")
            target.end()


def preloaded():
    for family, library in [("jemalloc", "libjemalloc.so.2"), ("tcmalloc", "libtcmalloc_minimal.so.4"), ("mimalloc", "libmimalloc.so.2")]:
        path = os.path.join(LIBRARIES, library)
        if not os.path.exists(path):
            harness.leave_out(f"no {library}")
            continue
        target = Target("many_threads", command=["env", f"LD_PRELOAD={path}", target_path("many_threads"), "3"])
        value = agrees(target.pid)
        check_equal({each["family"]: each["in_use"] for each in value["allocators"]}, {family: True, "glibc": False}, "allocators")
        target.end()


def nothing_to_hook():
    target = Target("no_allocator")
    agrees(idle(target), "allocator")
    target.end()
    target = Target("unhookable")
    value = agrees(idle(target), "allocator")
    refused = [each for each in value["functions"] if each["verdict"] not in ("ok", "forwards")]
    check(refused and all(each["reason"] for each in refused), f"no function is named: {value['functions']}")
    target.end()
    target = Target("short_hook")
    value = agrees(idle(target))
    check(value["hooks_refused"] >= 1, f"nothing is refused: {value}")
    result = heapsnap("check", target.pid)
    check_equal(result.stdout.count("not hooked "), value["hooks_refused"], f"functions said to be not hooked: {result}")
    target.end()


# Kinds and rights.


def no_process():
    child = subprocess.Popen(["/bin/true"])
    wait_until(lambda: status_fields(child.pid, child.pid, ["State"])["State"][0] == "Z", "the child is a zombie")
    value = agrees(child.pid, "process")
    check_equal((value["name"], value["state"]), ("true", "Z"), "the zombie")
    child.wait()
    value = agrees(child.pid, "process")
    check("name" not in value and "threads" not in value, f"facts of no process: {value}")
    target = Target("many_threads", 2)
    agrees(harness.other_thread(target.pid), "process")
    target.end()
    if os.path.exists("/proc/2/status") and "Kthread:\t1" in harness.read_text("/proc/2/status"):
        value = agrees(2, "process")
        check_equal(value["kernel_thread"], True, "kernel thread")
    else:
        say("  no kernel thread is visible here: not tried")
    for text in ("0", "x", "1x", ""):
        check_equal(heapsnap("check", text).status, 1, f"status of check {text!r}")
    for arguments in ([], ["1", "2"], ["1", "--depth", "4"], ["1", "-o", "x"], ["1", "--frobnicate"]):
        check_equal(heapsnap("check", *arguments).status, 2, f"status of check {arguments}")


def main_thread_ended():
    """A process whose main thread has ended is one like any other, whether that was before attach or after."""
    target, path = Target("main_thread_ends"), os.path.join(temporary_directory(), "out.pb.gz")
    check_equal(target.ask("work"), "right", "work before attach")
    harness.attach(target.pid)
    check_equal(target.ask("end main"), "right", "answer")
    wait_until(lambda: status_fields(target.pid, target.pid, ["State"])["State"][0] == "Z", "the main thread ends")
    check_equal(target.ask("work"), "right", "work while attached")
    check(harness.dump(target.pid, path)["alloc_objects"] > 0, "nothing was allocated")
    harness.detach(target.pid)
    thread = harness.other_thread(target.pid)  # /proc shows the rest only below a thread that lives
    check(not [each for each in harness.mappings(thread) if "heapsnap" in each.name], "something is left")
    before = Unharmed(thread)
    value = agrees(target.pid)
    check_equal((value["state"], value["threads"], value["diagnostics"]), ("Z", 1, []), "what check says")
    check_equal(target.ask("work"), "right", "work afterwards")
    harness.attach(target.pid)
    before.check_attached()
    check_equal(target.ask("work"), "right", "work while attached again")
    harness.dump(target.pid, path)
    check_equal(harness.attach_state(target.pid), "attached", "status")
    harness.detach(target.pid)
    before.check_after()
    target.end()


def other_bits():
    process = start_32_bits()
    if not process:
        return
    value = agrees(process.pid, "program")
    check_equal(value["program_32_bit"], True, "32 bits")
    stop(process)


def run_by_another():
    """Under valgrind, code is translated and mappings are placed by another program. A program that is given to the loader runs by itself."""
    process = subprocess.Popen(["valgrind", "--tool=none", "-q", "sleep", "1000"], stdin=subprocess.DEVNULL)
    try:
        wait_until(lambda: "/libc.so" in harness.read_text(f"/proc/{process.pid}/maps"), "its C library is loaded", 60)
        wait_until(lambda: status_fields(process.pid, process.pid, ["State"])["State"][0] == "S", "it sleeps", 60)
        value = agrees(process.pid, "program")
        check("valgrind" in refusals_of(value)[0]["message"] and "sleep" in refusals_of(value)[0]["message"], f"{value['diagnostics']}")
        check_equal(process.poll(), None, "it lives")
    finally:
        process.kill()
        process.wait()
    process = subprocess.Popen(["/lib64/ld-linux-x86-64.so.2", shutil.which("sleep"), "1000"], stdin=subprocess.DEVNULL)
    try:
        wait_until(lambda: "/libc.so" in harness.read_text(f"/proc/{process.pid}/maps"), "its C library is loaded", 60)
        wait_until(lambda: status_fields(process.pid, process.pid, ["State"])["State"][0] == "S", "it sleeps", 60)
        agrees(process.pid)
    finally:
        process.kill()
        process.wait()


def traced():
    target = Target("many_threads", 2)
    tracer = start_tracer(target.pid)
    value = agrees(target.pid, "tracer")
    check_equal(value["tracing"]["tracer"], tracer.pid, "the tracer")
    check(value["tracing"]["tracer_name"].startswith("python"), f"the tracer's name: {value['tracing']}")
    check(value["functions"], "that it is traced is no reason not to look at it")
    tracer.stdin.close()
    tracer.wait()
    agrees(target.pid)
    target.end()


def rights():
    if not root():
        return
    how = {"program": harness.copy_for_everybody(), "prefix": harness.as_user(NOBODY)}
    mine = Target("many_threads", 2)
    before = Unharmed(mine.pid)
    value = agrees(mine.pid, "permission", **how)
    check_equal((value["tracing"]["allowed"], value["tracing"]["reason"]), (False, "user"), "tracing")
    check("libc" not in value and "functions" not in value, f"nobody has looked into it: {value}")
    check_equal(value["threads"], 3, "threads")
    before.check_after()
    tracer = start_tracer(mine.pid)
    agrees(mine.pid, "tracer", "permission", **how)  # both categories
    tracer.stdin.close()
    tracer.wait()
    without = ["setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace"]
    value = agrees(mine.pid, *categories(examine(mine.pid, prefix=without), "refusal"), prefix=without)
    check_equal(value["tracing"]["reason"], "" if value["tracing"]["allowed"] else "capabilities", "tracing")  # allowed: this test had no more
    mine.end()
    hidden = Target("surroundings", f"user={NOBODY}", "not-dumpable")
    value = agrees(hidden.pid, "permission", **how)
    check_equal(value["tracing"]["reason"], "dumpable", "tracing")
    agrees(hidden.pid)  # as root
    hidden.end()
    theirs = Target("surroundings", f"user={NOBODY}")
    yama = "/proc/sys/kernel/yama/ptrace_scope"
    scope = int(harness.read_text(yama)) if os.path.exists(yama) else None
    value = agrees(theirs.pid, *(["permission"] if scope else []), **how)
    check_equal(value["tracing"].get("yama_scope"), scope, "Yama")
    check("copy" in categories(value, "warning"), f"no warning that dumps will stop it: {value['diagnostics']}")
    check("copy" not in categories(agrees(theirs.pid), "warning"), "root is warned of what root's dumps do not do")
    theirs.end()


def seccomp():
    target = Target("surroundings", "strict")
    value = agrees(target.pid, "seccomp")
    check_equal(value["seccomp"], {"mode": "strict", "threads": 1, "can_suspend": False}, "seccomp")
    target.end()
    if not root():
        return
    target = Target("surroundings", "threads=2", "deny=memfd_create,mmap")
    value = agrees(target.pid)
    check_equal((value["seccomp"]["mode"], value["seccomp"]["can_suspend"]), ("filter", True), "seccomp")
    value = agrees(target.pid, "seccomp", prefix=["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"])
    check_equal(value["seccomp"]["can_suspend"], False, "seccomp")
    target.end()


# States and limits.


def stopped():
    target = Target("many_threads", 3)
    os.kill(target.pid, signal.SIGSTOP)
    wait_until(lambda: all(status_fields(target.pid, tid, ["State"])["State"][0] == "T" for tid in harness.thread_ids(target.pid)), "it stops")
    value = agrees(target.pid)
    check_equal(categories(value, "warning"), ["threads"], "warnings")
    check_equal((value["threads_stopped"], value["state"]), (4, "T"), "stopped threads")
    # A thread that is released goes back to its stop by itself.
    wait_until(lambda: status_fields(target.pid, target.pid, ["State"])["State"][0] == "T", "it is stopped after attach and detach")
    os.kill(target.pid, signal.SIGCONT)
    target.end()


def waiting():
    """A thread that waits for its vfork child is told of; and a process that runs in the same memory."""
    target = Target("shared_memory")
    check_equal(target.ask("vfork"), "waits", "vfork")
    wait_until(lambda: any(status_fields(target.pid, tid, ["State"])["State"][0] == "D" for tid in harness.thread_ids(target.pid)),
               "a thread waits for its vfork child")
    value = examine(target.pid)
    check("threads" in categories(value, "warning"), f"warnings: {value['diagnostics']}")
    check_equal(value["threads_uninterruptible"], 1, "threads that cannot be stopped")
    check_equal(target.ask("go on"), "went on", "go on")
    wait_until(lambda: examine(target.pid)["diagnostics"] == [], "the child is gone", 20)
    target.ask("share")
    agrees(target.pid, "memory_sharers")
    check_equal(target.ask("end"), "ended", "end")
    target.end()


def attached():
    target = Target("many_threads", 3)
    harness.attach(target.pid)
    value = agrees(target.pid, "attached")
    check_equal(value["attached"], True, "attached")
    for command in ("dump", "detach"):
        check(f"heapsnap {command} {target.pid}" in value["diagnostics"][0]["message"], f"{command} is not named: {value['diagnostics']}")
    harness.detach(target.pid)
    check_equal(agrees(target.pid)["attached"], False, "attached")
    # What a killed attach has left, with hooks and without.
    for step in range(1, 40):
        killed = heapsnap("attach", target.pid, environment={"HEAPSNAP_KILL_AT": str(step)})
        if killed.status == 0:
            harness.detach(target.pid)
            break
        value = examine(target.pid)
        check_equal((value["would_attach"], value["attached"]), (True, False), f"after an attach was killed at step {step}")
        left = harness.attach_state(target.pid) is not None
        check_equal(categories(value, "warning"), ["attached"] if left else [], f"warnings after step {step}: {value['diagnostics']}")
        if left:
            harness.attach(target.pid)
            harness.detach(target.pid)
    check(step > 10, f"only {step} steps")
    target.end()


def inherited():
    parent = Target("fork_child")
    harness.attach(parent.pid)
    child = int(parent.ask("stay"))
    value = examine(child)
    check_equal((value["would_attach"], categories(value, "warning")), (True, ["attached"]), f"a forked child: {value['diagnostics']}")
    harness.attach(child)
    harness.detach(child)
    check_equal(examine(child)["diagnostics"], [], "diagnostics afterwards")
    os.kill(child, signal.SIGKILL)
    harness.detach(parent.pid)
    parent.end()


def limits():
    tight, wide = 150 << 20, 1 << 30
    for limit, refused_on in [(tight, ["memory"]), (wide, [])]:
        target = Target("many_threads", command=["prlimit", f"--as={limit}", target_path("many_threads"), "1"])
        value = agrees(target.pid, *refused_on)
        check_equal(value["limits"]["address_space"], limit, "limit")
        check(0 < value["limits"]["address_space_used"] < limit, f"limits: {value['limits']}")
        target.end()
    cgroup()


def removed(group):
    try:
        os.rmdir(group)
    except OSError:
        return False
    return True


def cgroup():
    """A group with a memory limit, of the version that this machine has."""
    if not root():
        return
    for folder, name, version in [("/sys/fs/cgroup/memory", "memory.limit_in_bytes", 1), ("/sys/fs/cgroup", "memory.max", 2)]:
        group = os.path.join(folder, f"heapsnap-test-{os.getpid()}")
        try:
            os.mkdir(group)
        except OSError:
            continue
        target = None
        try:
            with open(os.path.join(group, name), "w") as file:
                file.write(str(256 << 20))
            target = Target("many_threads", 1)
            with open(os.path.join(group, "cgroup.procs"), "w") as file:
                file.write(str(target.pid))
            value = heapsnap("check", target.pid, "--json").json
            check_equal((value["limits"]["cgroup_version"], value["limits"]["cgroup"]), (version, 256 << 20), "the group's limit")
            check(value["memory"]["region_bytes"] <= 64 << 20, f"a quarter of what is left at most: {value['memory']}")
            say(f"  cgroups of version {version}")
            return
        except OSError as error:
            say(f"  cgroups of version {version}: {error}")
        finally:
            if target:
                target.end()
            wait_until(lambda: removed(group), "the group can be removed")
    say("  no cgroup with a memory limit can be made here: not tried")


def namespaces():
    if not root():
        return
    outer = Target("many_threads", command=["unshare", "--pid", "--fork", "--mount", "--uts", target_path("many_threads"), "1"])
    pid = only_child(outer.pid)
    value = agrees(pid)
    differing = {name for name, answer in value["namespaces"].items() if answer == "differs"}
    check_equal((differing, value["pid_inside"]), ({"pid", "mnt", "uts"}, 1), "namespaces")
    outer.end()


# It touches nothing.

FORBIDDEN = {"ptrace", "kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal", "pidfd_getfd", "process_vm_writev",
             "process_madvise", "pwrite64", "pwritev", "pwritev2", "sendfile", "splice", "ftruncate", "truncate", "unlink", "unlinkat", "rename",
             "renameat", "renameat2", "mkdir", "mkdirat", "link", "linkat", "symlink", "symlinkat", "chmod", "fchmod", "fchmodat", "chown",
             "setns", "fork", "vfork", "sched_setaffinity", "setpriority", "memfd_create"}


def touches_nothing():
    target = Target("many_threads", 3)
    before = Unharmed(target.pid)
    path = os.path.join(temporary_directory(), "trace")
    try:
        result = heapsnap("check", target.pid, prefix=["strace", "-f", "-y", "-qq", "-o", path])  # -y: what a descriptor is of
    except FileNotFoundError:
        harness.leave_out("no strace")
        target.end()
        return
    check_equal(result.status, 0, str(result))
    seen = set()
    lines = harness.read_text(path).splitlines()
    own = {line.split(" ", 1)[0] for line in lines}  # strace shows the tool and those that it has made
    for line in lines:
        match = re.match(r"\d+ +(\w+)\((.*)", line)
        if not match:
            continue
        name, rest = match.groups()
        seen.add(name)
        # The process that asks kcmp(2) for the tool (task_compare.c) takes a priority for itself: 0 is who calls. One without an answer is ended.
        is_own = (name == "setpriority" and rest.startswith("PRIO_PROCESS, 0,")) or (name == "kill" and rest.split(",")[0] in own)
        check(name not in FORBIDDEN or is_own, f"check makes this call: {line}")
        check(name != "write" or re.match(r"[12]<", rest), f"check writes: {line}")
        check(name != "prlimit64" or rest.startswith("0,"), f"check changes another's limits: {line}")
        # The right to write to its memory is asked for, below the process's folder; nothing is written.
        check(name not in ("open", "openat", "creat") or not re.search(r"O_(CREAT|TRUNC|WRONLY|RDWR)", rest) or
              re.match(rf'\d+</proc/{target.pid}>, "mem", O_RDWR', rest), f"check opens for writing: {line}")
    check({"openat", "read"} <= seen, f"strace has seen only {seen}")
    before.check_after()
    target.end()
    say(f"  {len(seen)} kinds of system calls, none of which changes anything")


run_cases([plain, linkings, preloaded, nothing_to_hook, no_process, main_thread_ended, other_bits, run_by_another, traced, rights, seccomp, stopped, waiting,
           attached, inherited, limits, namespaces, touches_nothing], "check")

# SPDX-License-Identifier: Apache-2.0
"""Several processes in one command, by numbers and by what they are; and the files that are written of them. usage: processes.py [CASE...]"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import harness
from harness import (HEAPSNAP, Target, check, check_equal, check_refused, heapsnap, heapsnap_ok, is_attached, leave_out, process_state, read_text, root,
                     run_cases, say, start, stop, target_path, temporary_directory, wait_until)

SOMEBODY = 65534
CONTAINER = "4f5e1a7c9b2d" * 5 + "0011"
CGROUP_MOUNTS = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"]  # of version 2; beside version 1 and alone


class Named:
    """So many processes of a name that nobody else has."""

    def __init__(self, count, prefix=()):
        self.folder = temporary_directory()
        self.name = f"hs{os.getpid() % 100000}x{len(harness._children)}"
        self.program = os.path.join(self.folder, self.name)
        shutil.copy(target_path("many_threads"), self.program)
        os.chmod(self.program, 0o755)
        self.targets = [self.start(*prefix) for _ in range(count)]

    def start(self, *prefix):
        return Target(self.name, command=[*prefix, self.program, "2"])

    @property
    def pids(self):
        return [target.pid for target in self.targets]

    def attached(self):
        return [is_attached(pid) for pid in self.pids]

    def end(self):
        for target in self.targets:
            if target.alive():
                target.end()


def objects(result):
    """Lines of JSON, one object each."""
    return [json.loads(line) for line in result.stdout.splitlines()]


def pids_of(result):
    return [value.get("pid") or value["error"].get("pid") for value in objects(result)]


def several_numbers():
    some = Named(3)
    a, b, c = some.pids
    result = heapsnap("attach", a, b, "--exact")  # several numbers need no --all
    check_equal(result.status, 0, str(result))
    check_equal([line for line in result.stdout.splitlines() if line.startswith("process ")], [f"process {pid} ({some.name}):" for pid in (a, b)],
                "headings")
    check_equal(some.attached(), [True, True, False], "attached")
    # One that fails does not keep the others from being done.
    result = heapsnap("dump", c, b, a, "--json")
    check_equal(result.status, 1, str(result))
    check_equal(pids_of(result), [c, b, a], "objects")
    check_equal([value.get("command") for value in objects(result)], [None, "dump", "dump"], "objects")
    check_equal(objects(result)[0]["error"]["code"], "not_found", "the one that is not attached")
    result = heapsnap("status", a, b, a, "--json")  # each once
    check_equal((result.status, [value["processes"][0]["pid"] for value in objects(result)]), (0, [a, b]), str(result))
    check(all(value["processes"][0]["memory"]["rss"] > 0 for value in objects(result)), f"memory of the processes: {result}")
    check_equal(heapsnap("set", a, b, "--budget", "3%").status, 0, "set of two")
    result = heapsnap("detach", a, b)
    check_equal((result.status, some.attached()), (0, [False] * 3), str(result))
    # A number that is none keeps all from being begun; one that stands for nobody is an error of its own.
    check_refused(heapsnap("attach", a, "x"), "no process with PID 'x'", status=2)
    check_equal(some.attached(), [False] * 3, "attached beside a wrong number")
    child = subprocess.Popen(["/bin/true"])
    child.wait()
    result = heapsnap("check", child.pid, a)
    check_equal(result.status, 1, str(result))
    check("attach would go ahead" in result.stdout, str(result))
    some.end()


def by_name():
    some = Named(3)
    name = f"^{some.name}"
    for command in (["attach"], ["attach", "--json"]):  # --name is a part of this command line too, which never means itself
        result = heapsnap(*command, "--name", some.name)
        check_equal(result.status, 1, str(result))
        lines = result.stderr.splitlines()
        check_equal(lines[0], "heapsnap: 3 processes match: give the PID of one, or --all for all of them", "refusal")
        check_equal([line.split()[0] for line in lines[1:]], list(map(str, some.pids)), "listed")
    check_equal([process["pid"] for process in result.json["error"]["processes"]], some.pids, "listed for programs")
    check_equal(some.attached(), [False] * 3, "attached without --all")
    result = heapsnap("check", "--name", some.name, "--json")
    check_equal((result.status, pids_of(result)), (0, some.pids), str(result))
    for command in (["dump"], ["status"], ["set", "--exact"], ["detach"]):
        check_refused(heapsnap(*command, "--name", name), f"no process that matches --name '\\{name}' is attached: {some.pids[0]} \\({some.name}\\), {some.pids[1]}")
    heapsnap_ok("attach", some.pids[1])
    # What is not attached is not meant, but said.
    result = heapsnap("dump", "--name", name, "--json")
    check_equal((result.status, pids_of(result)), (0, [some.pids[1]]), str(result))
    check_equal((result.json["warnings"], result.stderr), ([f"not attached, and so left out: {some.pids[0]} ({some.name}), {some.pids[2]} ({some.name})"], ""), "said")
    check("warning: not attached, and so left out: " in heapsnap("dump", "--name", name).stderr, "said without --json")
    result = heapsnap("attach", "--name", name, "--all", "--json")
    check_equal((result.status, pids_of(result)), (1, some.pids), str(result))
    check("already" in objects(result)[1]["error"]["message"], str(result))
    check_equal(some.attached(), [True] * 3, "attached with --all")
    check_equal(heapsnap("set", "--name", name, "--exact").status, 1, "set of several without --all")
    result = heapsnap("detach", "--name", f"{some.program} 2$", "--all", "--json")  # the command line
    check_equal((result.status, pids_of(result), some.attached()), (0, some.pids, [False] * 3), str(result))
    check_refused(heapsnap("attach", "--name", name + "-not", "--all"), "no process matches --name")
    some.end()


def of_one():
    """Commands that have one result take a filter that means one process."""
    some = Named(2)
    for words in (("why", "--for", "1s"), ("profile", "--for", "1s")):
        result = heapsnap(*words, "--name", some.name)
        lines = result.stderr.splitlines()
        check_equal((result.status, lines[0]), (1, "heapsnap: 2 processes match: give the PID of one"), str(result))
        check_equal([line.split()[0] for line in lines[1:]], list(map(str, some.pids)), "listed")
    check_refused(heapsnap("report", "--name", some.name), "is attached: ")
    check_refused(heapsnap("why", "--name", some.name, "--all"), "only valid with", status=2)
    heapsnap_ok("attach", some.pids[0])
    check_equal(heapsnap_ok("report", "--name", some.name)["pid"], some.pids[0], "report")
    heapsnap_ok("attach", some.pids[1])
    check_equal(heapsnap("report", "--name", some.name).stderr.splitlines()[0], "heapsnap: 2 processes match: give the PID of one", "two")
    heapsnap_ok("detach", some.pids[0])
    heapsnap_ok("detach", some.pids[1])
    some.targets.pop().end()
    for words in (("why", "--for", "500ms"), ("profile", "--for", "500ms")):
        result = heapsnap(*words, "--name", some.name)
        check_equal((result.status, result.stdout.splitlines()[0]), (0, f"process {some.pids[0]} ({some.name}):"), str(result))
    check_equal(some.attached(), [False], "attached")
    some.end()


def all_alone():
    """detach --all means all that are attached: in a PID namespace, since it would find what other tests have attached."""
    if not root():
        return
    script = """
        sleep 1000 & one=$!
        sleep 1000 & two=$!
        sleep 1000 & three=$!
        "$0" detach --all
        "$0" attach $one > attached.txt
        "$0" attach $two >> attached.txt
        echo attached $one and $two
        "$0" detach --all
        "$0" status
        kill $one $two $three
        """
    result = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-euc", script, HEAPSNAP], cwd=temporary_directory(),
                            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    check_equal((result.returncode, result.stderr), (0, ""), str(result))
    pids = re.search(r"^attached (\d+) and (\d+)$", result.stdout, re.M).groups()
    check_equal(re.findall(r"^detached from (\d+):", result.stdout, re.M), list(pids), "what was detached from")
    check_equal(result.stdout.splitlines()[0], "no process is attached", "the first one")
    check_equal(result.stdout.splitlines()[-1], "no process is attached", "status")
    refused = heapsnap("detach", "1", "--all")
    check_refused(refused, "PID 1 and --all cannot be combined", status=2)


def never_itself():
    """Neither heapsnap, nor its parents, nor kernel threads, nor those that have ended."""
    name = f"hs-unheard-{os.getpid()}"
    code = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
    process = start([sys.executable, "-c", code, "sh", "-c", '"$@"; exit $?', "sh", HEAPSNAP, "check", "--name", name], stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, errors = process.communicate(timeout=60)
    check_equal((process.returncode, errors.decode()), (1, f"heapsnap: no process matches --name '{name}'\n"), "a search from within what has the words")
    program = os.path.join(temporary_directory(), f"z{os.getpid()}")
    shutil.copy("/bin/true", program)
    zombie = subprocess.Popen([program])
    wait_until(lambda: process_state(zombie.pid) == "Z", "a zombie")
    check_refused(heapsnap("check", "--name", f"^z{os.getpid()}$"), "no process matches")
    zombie.wait()
    some = Named(1)
    other = start([HEAPSNAP, "attach", "--name", f"{some.name}.*"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                  env={**os.environ, "HEAPSNAP_STOP_AT": "plan"})  # another heapsnap, with the words
    os.waitid(os.P_PID, other.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    check_equal(process_state(other.pid), "T", "another heapsnap")
    result = heapsnap("check", "--name", some.name, "--json")
    check_equal(pids_of(result), some.pids, str(result))
    while other.poll() is None:
        other.send_signal(signal.SIGCONT)
        time.sleep(0.01)
    check_equal(is_attached(some.pids[0]), True, "what the other has done")
    some.end()
    result = heapsnap("check", "--name", "^(kthreadd|ksoftirqd/0|kworker/0:0)$")
    check_refused(result, "no process matches")


def by_user():
    if not root():
        return
    some = Named(2, ["setpriv", f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups"])
    mine = some.start()
    name = f"^{some.name}|{some.name} 2"
    for user in ("65534", "nobody"):
        result = heapsnap("check", "--name", name, "--user", user, "--json")
        check_equal((result.status, pids_of(result)), (0, some.pids), str(result))
    result = heapsnap("check", "--name", name, "--user", "root", "--json")
    check_equal((result.status, pids_of(result)), (0, [mine.pid]), str(result))
    check_refused(heapsnap("check", "--user", "no-such-user"), "no user 'no-such-user'", "--user \\$\\(id -u")
    # Who is not root is told of others by the command itself.
    program = harness.copy_for_everybody()
    result = heapsnap("attach", "--name", name, "--user", "0", program=program, prefix=harness.as_user(SOMEBODY))
    check_equal((result.status, result.stdout), (1, f"process {mine.pid} ({some.name}):\n"), str(result))  # which one it is
    check("run it as that user or as root" in result.stderr, str(result))
    some.end()
    mine.end()


def by_group():
    """In a group of version 2, if one can be made here: its processes are chosen by path and by container."""
    if not root():
        return
    mount = next((mount for mount in CGROUP_MOUNTS if os.path.exists(os.path.join(mount, "cgroup.procs")) and os.access(mount, os.W_OK)), None)
    group = os.path.join(mount or "/", f"heapsnap-test-{os.getpid()}")
    below = os.path.join(group, f"docker-{CONTAINER}.scope")
    try:
        check(mount, "no cgroup of version 2")
        os.makedirs(below)
    except (OSError, harness.Failure) as error:
        leave_out(f"no cgroup of version 2 can be made: {error}")
        return
    some = Named(2)
    try:
        for folder, target in zip((group, below), some.targets):
            with open(os.path.join(folder, "cgroup.procs"), "w", encoding="ascii") as file:
                file.write(str(target.pid))
        path = read_text(f"/proc/{some.pids[0]}/cgroup").splitlines()[-1].split(":", 2)[2]
        for given in (path, path + "/", path[1:], group):
            result = heapsnap("check", "--cgroup", given, "--json")
            check_equal((result.status, pids_of(result)), (0, some.pids), str(result))
        for option, given in (("--cgroup", os.path.join(path, os.path.basename(below))), ("--container", CONTAINER), ("--container", CONTAINER[:12]),
                              ("--container", "docker://" + CONTAINER)):
            result = heapsnap("check", option, given, "--json")
            check_equal((result.status, pids_of(result)), (0, some.pids[1:]), str(result))
        check_refused(heapsnap("check", "--cgroup", path + "-not"), "no process matches --cgroup")
        check_refused(heapsnap("check", "--container", CONTAINER[:11] + "f"), "no process matches --container")
        heapsnap_ok("attach", "--container", CONTAINER)  # it is one only
        heapsnap_ok("detach", "--container", CONTAINER)
    finally:
        some.end()
        for folder in (below, group):
            wait_until(lambda folder=folder: not read_text(os.path.join(folder, "cgroup.procs")), "the group is empty")
            os.rmdir(folder)


def that_end():
    """A process that is meant by a filter and ends before its turn is no failure; by its number it is."""
    some = Named(3)
    check_equal(heapsnap("attach", "--name", f"^{some.name}", "--all").status, 0, "attach")

    def run(*arguments):
        process = start([HEAPSNAP, *map(str, arguments), "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        env={**os.environ, "HEAPSNAP_STOP_AT": "read the log"})
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)  # in the dump of the first
        check_equal(process_state(process.pid), "T", "heapsnap in the first dump")
        return process

    def finish(process):
        while process.poll() is None:
            if process_state(process.pid) == "T":
                process.send_signal(signal.SIGCONT)
            time.sleep(0.01)
        output, errors = process.communicate()
        return harness.Result([], process.returncode, output, errors.decode())

    process = run("dump", "--name", f"^{some.name}")
    stop(some.targets[1].process, signal.SIGKILL)
    result = finish(process)
    check_equal((result.status, pids_of(result)), (0, some.pids), str(result))
    check_equal(objects(result)[1]["error"]["code"], "gone", str(result))
    process = run("dump", some.pids[0], some.pids[2])
    stop(some.targets[2].process, signal.SIGKILL)
    result = finish(process)
    check_equal((result.status, pids_of(result)), (1, [some.pids[0], some.pids[2]]), str(result))
    some.end()
    some = Named(2)  # in the middle of its turn
    check_equal(heapsnap("attach", *some.pids).status, 0, "attach")
    process = run("dump", "--name", f"^{some.name}")
    stop(some.targets[0].process, signal.SIGKILL)
    result = finish(process)
    check_equal((result.status, pids_of(result), "error" in objects(result)[0]), (0, some.pids, True), str(result))
    some.end()
    result = heapsnap("dump", "--name", f"^{some.name}")
    check_refused(result, "no process matches")


def interrupted():
    """After an interrupt no other process is begun, and how many is said."""
    some = Named(3)
    process = start([HEAPSNAP, "attach", *map(str, some.pids)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    env={**os.environ, "HEAPSNAP_STOP_AT": "plan"})
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    check_equal(process_state(process.pid), "T", "heapsnap in the first attach")
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    _, errors = process.communicate(timeout=60)
    check_equal(process.returncode, 1, errors)
    check(b"interrupted by SIGINT" in errors and b"interrupted; not begun: 2 of 3 processes" in errors, errors)
    check_equal(some.attached(), [False] * 3, "attached after an interrupt")
    some.end()


NAME = re.compile(r"(.*)/(\w+)\.(\d+)\.\d{8}T\d{6}Z\.pb\.gz")


def into_a_folder():
    some = Named(2)
    folder = temporary_directory()
    check_equal(heapsnap("attach", *some.pids).status, 0, "attach")
    for arguments in ([*some.pids, "-o", os.path.join(folder, "one.pb.gz")], ["--name", f"^{some.name}", "-o", os.path.join(folder, "one.pb.gz")],
                      ["--name", f"^{some.name}", "-o", "-"], [*some.pids, "-o", folder]):
        check_refused(heapsnap("dump", *arguments), "-o DIR/", status=2)
    check_equal(heapsnap("dump", *some.pids, "-o", os.path.join(folder, "x"), "--json").json["error"]["code"], "usage", "code")
    check_equal(os.listdir(folder), [], "files of dumps that were refused")
    result = heapsnap("dump", "--name", f"^{some.name}", "-o", folder + "/", "--json")
    check_equal((result.status, pids_of(result)), (0, some.pids), str(result))
    for value, pid in zip(objects(result), some.pids):
        match = NAME.fullmatch(value["output"])
        check(match, f"name of the file: {value['output']}")
        check_equal((match[1], match[2], int(match[3])), (folder, some.name, pid), "folder, program, PID")
        check_equal(os.stat(value["output"]).st_size, value["bytes"], "size")
        check_equal(heapsnap("report", value["output"]).status, 0, "report")
    check_equal(len(os.listdir(folder)), 2, "files")
    result = heapsnap("dump", some.pids[0], "-o", folder + "/")  # one process too
    check_equal(result.status, 0, str(result))
    check(re.search(rf"^{folder}/{some.name}\.{some.pids[0]}\.\d+T\d+Z\.pb\.gz: ", result.stdout, re.M), str(result))
    for format, ending in (("json", "json"), ("collapsed", "collapsed"), ("speedscope", "speedscope.json"), ("text", "txt"), ("pprof", "pb.gz")):
        result = heapsnap_ok("dump", some.pids[0], "-o", temporary_directory() + "/", "--format", format)
        check(re.search(rf"/{some.name}\.{some.pids[0]}\.\d+T\d+Z\.{ending}$", result["output"]), str(result["output"]))
    check_refused(heapsnap("dump", some.pids[0], "-o", folder + "/none/"), "create the directory")
    some.end()


def what_is_replaced():
    """A profile is, whoever has made it; nothing else is, by whatever name."""
    some = Named(1)
    folder = temporary_directory()
    path = os.path.join(folder, "out.pb.gz")
    heapsnap_ok("attach", some.pids[0])
    for _ in range(2):
        heapsnap_ok("dump", some.pids[0], "-o", path)
    with open(path, "wb"):
        pass
    heapsnap_ok("dump", some.pids[0], "-o", path)  # over an empty one, as mktemp makes it
    for content in (b"dear diary", subprocess.run(["gzip"], input=b"dear diary", stdout=subprocess.PIPE, check=True).stdout):
        with open(path, "wb") as file:
            file.write(content)
        check_refused(heapsnap("dump", some.pids[0], "-o", path), "already exists, and is no profile that could be replaced")
        with open(path, "rb") as file:
            check_equal(file.read(), content, "what was there")
    check_equal(os.listdir(folder), ["out.pb.gz"], "files")
    for name in ("out.json", "out.collapsed", "out.speedscope.json", "out.txt"):  # each over what it is, and over each other
        path = os.path.join(folder, name)
        for format in ((), ("--format", "json"), ("--format", "collapsed"), ("--format", "speedscope"), ("--format", "text"), ()):
            heapsnap_ok("dump", some.pids[0], "-o", path, *format)
        with open(path, "wb") as file:
            file.write(b"bread 2\nmilk 1\n")
        check_refused(heapsnap("dump", some.pids[0], "-o", path), "is no profile that could be replaced")
    some.end()


def called_by_sudo():
    """The file belongs to who has called sudo where the folder does; no text of the environment gives it to anybody else."""
    if not root():
        return
    some = Named(1)
    heapsnap_ok("attach", some.pids[0])
    theirs, ours = temporary_directory(), temporary_directory()
    os.chown(theirs, SOMEBODY, SOMEBODY)

    def owner_of(folder, user, group):
        path = os.path.join(folder, "out.pb.gz")
        result = heapsnap("dump", some.pids[0], "-o", path, environment={"SUDO_UID": user, "SUDO_GID": group})
        check_equal(result.status, 0, str(result))
        status = os.stat(path)
        return status.st_uid, status.st_gid, status.st_mode & 0o777

    for user, group in (("-1", "-1"), ("", ""), ("4294967295", "0"), ("nobody", "nogroup"), ("0", "0")):
        check_equal(owner_of(theirs, user, group), (0, 0, 0o600), f"owner with SUDO_UID={user}")
    for _ in range(2):  # over root's, and over their own
        check_equal(owner_of(theirs, str(SOMEBODY), str(SOMEBODY)), (SOMEBODY, SOMEBODY, 0o600), "owner in their folder")
    check_equal(owner_of(ours, str(SOMEBODY), str(SOMEBODY)), (0, 0, 0o600), "owner in root's folder")
    path = os.path.join(theirs, "link.pb.gz")
    os.symlink(os.path.join(ours, "out.pb.gz"), path)
    os.chown(path, SOMEBODY, SOMEBODY, follow_symlinks=False)
    check_refused(heapsnap("dump", some.pids[0], "-o", path, environment={"SUDO_UID": str(SOMEBODY), "SUDO_GID": str(SOMEBODY)}),
                  "already exists: a symbolic link that belongs to user 65534")
    some.end()
    say("  owners of files under sudo")


run_cases([several_numbers, by_name, of_one, all_alone, never_itself, by_user, by_group, that_end, interrupted, into_a_folder, what_is_replaced, called_by_sudo], "processes")

# SPDX-License-Identifier: Apache-2.0
"""heapsnap run --children: processes that are forked and execute no program are recorded once they have lived for half a second, and are harmed by
that no more than by an attach.
usage: run_forked.py [CASE...]"""

import glob
import os
import signal
import subprocess
import time

from harness import (HEAPSNAP, as_user, check, check_equal, copy_for_everybody, heapsnap, is_attached, leave_out, run_cases, say, start,
                     target_path, temporary_directory, wait_until)
from profiles import by_innermost

PROGRAM = target_path("run_forked")


class Family:
    """heapsnap with the program and its workers, which wait for the end of their input."""

    def __init__(self, words, workers, options=(), prefix=(), heapsnap_path=HEAPSNAP, program=PROGRAM):
        self.directory = temporary_directory()
        os.chmod(self.directory, 0o777)
        self.tool = start([*prefix, heapsnap_path, "run", "--exact", "--children", *options, "--at-exit", self.directory + "/", "--", program, *words],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.workers = [int(self.tool.stdout.readline().split()[1]) for _ in range(workers)]

    def wait_until_attached(self):
        for worker in self.workers:
            wait_until(lambda pid=worker: is_attached(pid), "a worker is recorded")

    def go_on(self):
        self.tool.stdin.close()
        self.tool.stdin = None

    def end(self, dones):
        """To the end of all; returns what heapsnap has said."""
        self.go_on()
        for _ in range(dones):
            check_equal(self.tool.stdout.readline(), b"done\n", f"a worker has worked: {self.workers}")
        for worker in self.workers:
            os.kill(worker, signal.SIGUSR1)
        said = self.tool.communicate(timeout=60)[1].decode()
        check_equal(self.tool.returncode, 0, said)
        return said

    def live(self, worker):
        files = glob.glob(f"{self.directory}/run_forked.{worker}.*.pb.gz")
        check_equal(len(files), 1, f"profile of {worker}: {os.listdir(self.directory)}")
        return {name: (values.live_objects, values.live_bytes) for name, values in by_innermost(files[0]).items()}


def kinds():
    """One worker, many, with threads, of a worker: all that they keep after they are attached to, at no cost to what they wait in."""
    for words, workers, forked in ((["1"], 1, 1), (["5"], 5, 5), (["2", "threads"], 2, 2), (["2", "reads"], 2, 2), (["2", "nested"], 2, 4)):
        family = Family(words, workers)
        family.wait_until_attached()
        said = family.end(workers)
        expected = {"in_worker": (1000, 100000), **({"in_thread": (30, 1500)} if "threads" in words else {})}
        for worker in family.workers:
            found = family.live(worker)
            check_equal({name: found.get(name) for name in expected}, expected, f"worker of {words}: {said}")
        late = f"{forked} process{'es' if forked > 1 else ''} (executed no program"
        check(f": {forked} recorded.\n" in said and late in said, f"{words}: {said}")
        check(said.endswith(f"Nothing lost of {forked + 1} recorded processes.\n"), said)
    say("  forked workers are recorded once they have lived for half a second")


def snapshots():
    """Profiles meanwhile, too; and one that executes a program later is recorded anew, from its beginning."""
    directory = temporary_directory()
    family = Family(["1"], 1, options=["--every", "200ms", "-o", directory + "/"])
    worker = family.workers[0]
    wait_until(lambda: len(glob.glob(f"{directory}/run_forked.{worker}.*.pb.gz")) >= 2, "two profiles of a worker")
    family.end(1)
    check_equal(family.live(worker).get("in_worker"), (1000, 100000), "at its end")
    family = Family(["1", "exec", target_path("run_command"), "return", "4"], 1)
    family.wait_until_attached()
    family.go_on()
    said = family.tool.communicate(timeout=60)[1].decode()
    files = glob.glob(f"{family.directory}/run_command.{family.workers[0]}.*.pb.gz")
    check_equal((family.tool.returncode, len(files)), (0, 1), f"{os.listdir(family.directory)} {said}")
    found = {name: values.live_objects for name, values in by_innermost(files[0]).items()}
    check_equal((found.get("in_constructor"), found.get("first")), (1, 1), said)
    check("half a second" not in said, said)
    directory = temporary_directory()
    family = Family(["1", "spawn", target_path("run_command"), "return", "4"], 1, options=["--every", "100ms", "-o", directory + "/"])
    wait_until(lambda: glob.glob(f"{directory}/run_forked.{family.workers[0]}.*.pb.gz"), "a profile of the worker")
    said = family.end(1)
    check_equal(len(glob.glob(f"{family.directory}/run_command.*.pb.gz")), 1, f"what another thread has started: {said}")
    say("  snapshots; a program executed later, and one that another thread starts")


def sharing():
    """One that waits for a child which shares its memory is attached to when that has ended; the child never."""
    family = Family(["1", "vfork"], 1)
    family.wait_until_attached()
    said = family.end(1)
    check_equal(family.live(family.workers[0]).get("in_worker"), (1000, 100000), said)
    check("started 2 processes, with those of its children: 1 recorded, 1 not: executed no program." in said, said)
    say("  a vfork child is left alone")


def first_of_namespace():
    """The first process of a PID namespace gets nothing of what the kernel keeps from it, and no waiting call of it ends by that."""
    if os.geteuid() != 0:
        leave_out("root")
        return
    family = Family(["1", "init"], 1)
    family.wait_until_attached()
    time.sleep(1)  # in which signals come; whether they do so while it waits decides nothing but what is tried
    said = family.end(1)
    check_equal(family.live(family.workers[0]).get("in_worker"), (1000, 100000), said)
    say("  a namespace's first process")


def filtered():
    """A worker with a seccomp filter of its own is not recorded, which is told."""
    family = Family(["1", "filter"], 1)
    wait_until(lambda: b"is not recorded: it has a seccomp filter" in family.tool.stderr.readline(), "it is told")
    said = family.end(1)
    check("1 could not be." in said, said)
    say("  a filter of its own: told")


def short():
    """Those that end sooner are never attached to."""
    for _ in range(5):
        result = heapsnap("run", "--exact", "--children", "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do ( : ); done")
        if "started 8 processes, with those of its children: 8 not: executed no program." in result.stderr:
            break  # else one of them got no processor for half a second
    else:
        check(False, str(result))
    say("  short ones are not attached to")


def killed():
    """heapsnap is killed before, while and after it attaches: the workers do as they would."""
    for i in range(12):
        family = Family(["4", "threads"], 4)
        time.sleep(0.4 + 0.05 * i)
        if i >= 8:
            family.wait_until_attached()
        family.tool.kill()
        family.go_on()
        for _ in family.workers:
            check_equal(family.tool.stdout.readline(), b"done\n", "a worker goes on")
        for worker in family.workers:
            os.kill(worker, signal.SIGUSR1)
        said = family.tool.communicate(timeout=60)[1]  # until the last of them has ended
        check_equal((family.tool.returncode, said), (-signal.SIGKILL, b""), "the program says of which worker the end was another one")
    say("  heapsnap is killed: they go on")


def ordinary_user():
    """So too for an ordinary user."""
    if os.geteuid() != 0:
        leave_out("root")
        return
    program = os.path.join(temporary_directory(), "run_forked")
    os.chmod(os.path.dirname(program), 0o755)
    subprocess.run(["cp", PROGRAM, program], check=True)
    family = Family(["2", "threads"], 2, prefix=as_user(1234), heapsnap_path=copy_for_everybody(), program=program)
    family.wait_until_attached()
    said = family.end(2)
    for worker in family.workers:
        check_equal(family.live(worker).get("in_worker"), (1000, 100000), said)
    say("  of an ordinary user")


run_cases([kinds, snapshots, sharing, first_of_namespace, filtered, short, killed, ordinary_user], "run_forked")

# SPDX-License-Identifier: Apache-2.0
"""The table of the suite: programs that are attached to, and for each how to see that it works.

To add one: write a function that starts it and returns a Subject (or refuses to, with a reason, by raising Skipped), and put a Row into
the table at the end. What the suite does with it stands in suite.py."""

import os

from harness import Target, Unharmed, check, check_equal, may_read_thread_pointers, only_child, target_path, thread_ids, wait_until
from real_load import find


class Skipped(Exception):
    """The program cannot run on this machine; the text says why and is printed."""


class Subject:
    """A running process, and what it says of itself."""
    memory_may_change = False  # whether it takes and gives back memory while it stands still
    attach_options = []

    def __init__(self, pid):
        self.pid = pid
        self.before = None

    def begin(self):
        """To be called once it is warm: what it looks like from now on is what it must look like after detach."""
        self.pause()
        self.before = Unharmed(self.pid)
        self.go_on()
        return self

    def pause(self):
        """Lets it stand still, so that it can be compared."""

    def go_on(self):
        """Undoes pause."""

    def check_works(self):
        """Must see it do its work, with right results."""
        raise NotImplementedError

    def check_unchanged(self):
        self.pause()
        # A thread that a killed tool has left comes home when it gets a processor.
        self.before.check_after(memory_may_change=self.memory_may_change, settle=20)
        self.go_on()

    def end(self):
        """It must end well."""


class Asked(Subject):
    """A program that does a piece of work when it is asked to, and answers always the same."""

    def __init__(self, target, question, answer, memory_may_change=False, pid=None):
        super().__init__(pid or target.pid)
        self.target, self.question, self.answer, self.memory_may_change = target, question, answer, memory_may_change
        self.check_works()
        self.begin()

    def check_works(self):
        check_equal(self.target.ask(self.question), self.answer, f"what {self.target.name} answers to {self.question}")

    def end(self):
        self.target.end()


class Counting(Subject):
    """Threads at full speed that check every block; knows "pause", "continue" and "count"."""
    memory_may_change = True

    def __init__(self, target):
        super().__init__(target.pid)
        self.target, self.operations = target, 0
        self.begin()

    def pause(self):
        check_equal(self.target.ask("pause"), "paused", "answer")

    def go_on(self):
        check_equal(self.target.ask("continue"), "continued", "answer")

    def check_works(self):
        def more():
            now = int(self.target.ask("count"))
            return now if now > self.operations else None
        self.operations = wait_until(more, f"{self.target.name} does more operations", 60)

    def end(self):
        rest = self.target.end()
        check(rest.startswith("ok "), f"{self.target.name} said {rest!r}")


def cycles():
    return Counting(Target("cycles", 4))


def preloaded(library):
    """Threads at full speed with another allocator."""
    return lambda: Counting(Target("cycles", command=["env", f"LD_PRELOAD={library}", target_path("cycles"), "4"]))


def many_threads():
    return Asked(Target("many_threads", 12), "allocate", "allocated")


# Shut in: test/targets/surroundings.c, with threads that allocate and threads that sleep.


def shut_in(*options):
    def begin():
        if os.geteuid() != 0:
            raise Skipped("not root")
        return Asked(Target("surroundings", *options), "work", "right", memory_may_change=True)
    return begin


def in_namespaces(*unshare, first=""):
    """In PID and mount namespaces of its own, and what `unshare` adds; `first` is run there before."""
    def begin():
        if os.geteuid() != 0:
            raise Skipped("not root")
        target = Target("surroundings", command=["unshare", "--pid", "--fork", "--mount", "--mount-proc", *unshare, "sh", "-euc",
                                                 f'{first}\nexec "$@"', "sh", target_path("surroundings"), "threads=2"])
        return Asked(target, "work", "right", memory_may_change=True, pid=only_child(target.pid))
    return begin


def no_executable_memfd():
    if not os.path.exists("/proc/sys/vm/memfd_noexec"):
        raise Skipped("this kernel does not know vm.memfd_noexec")
    return in_namespaces(first="echo 2 >/proc/sys/vm/memfd_noexec")()


# Programs of others.


def sqlite():
    target = Target("sqlite3", command=[find("sqlite3"), "-batch"], ready=None)
    target.send("CREATE TABLE numbers (n INTEGER, text TEXT);")
    work = ("BEGIN; WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 500) INSERT INTO numbers SELECT n, hex(n * n) FROM c; "
            "COMMIT; SELECT count(*), sum(n), group_concat(text) FROM (SELECT * FROM numbers WHERE n < 4); DELETE FROM numbers;")
    return Asked(target, work, "3|6|31,34,39", memory_may_change=True)


def musl_pictures():
    if not os.path.exists(target_path("png_program")):
        raise Skipped("built only where musl-tools and libstb-dev are installed")
    target = Target("png_program")
    return Asked(target, "work 5", target.ask("work 5"), memory_may_change=True)


def python_with(library):
    def begin():
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_load.py")
        target = Target("python3", command=["env", "PYTHONMALLOC=malloc", f"LD_PRELOAD={library}", find("python3"), script])
        return Asked(target, "work 1", target.ask("work 1"), memory_may_change=True)
    return begin


def busybox():
    target = Target("busybox", command=[find("busybox"), "sh", "-c", "while read line; do echo $line; done"], ready=None)
    return Asked(target, "anything", "anything")


class Row:
    """`refused`: words of the reason, where an attach must be refused."""

    def __init__(self, group, name, start, refused=None):
        self.group, self.name, self.start, self.refused = group, name, start, refused


class Silent(Subject):
    """A program that only waits: alive is all that can be seen of it."""

    def __init__(self, target):
        super().__init__(target.pid)
        self.target = target
        self.begin()

    def check_works(self):
        check(self.target.alive(), f"{self.target.name} has ended")


def silent(name, *arguments):
    return lambda: Silent(Target(name, *arguments))


# Threads and stacks of unusual kinds.


class OnStacks(Subject):
    """The program of stacks.py: threads that allocate and sleep in turn."""
    memory_may_change = True
    THREADS = 6

    def __init__(self, kind):
        self.target = Target("stacks", kind, self.THREADS, ready=None)
        super().__init__(self.target.pid)
        if self.target.line() == "unsupported":
            raise Skipped(f"this kernel has no {kind} stacks")
        self.begin()

    def check_works(self):
        before = int(self.target.ask("count"))
        wait_until(lambda: int(self.target.ask("count")) > before + 2 * self.THREADS, "the threads go on", 60)

    def end(self):
        self.target.end()


def on_stacks(kind):
    return lambda: OnStacks(kind)


class Guarding(Silent):
    """The program of unharmed.frame_test: it has filled what lies around its stacks, and looks at that when it ends."""
    memory_may_change = True  # its stacks are used further down

    def end(self):
        self.target.end()


def guarding(*arguments):
    return lambda: Guarding(Target("ptrace_stacks", *arguments))


class Lives(Subject):
    """Commands that make threads which end again, each with its answer."""
    memory_may_change = True

    def __init__(self, program, *asked):
        if not os.path.exists(target_path(program)):
            raise Skipped(f"{program} was not built: its compiler is not installed")
        self.target, self.asked = Target(program), asked
        super().__init__(self.target.pid)
        self.check_works()
        self.begin()

    def check_works(self):
        for question, answer in self.asked:
            check_equal(self.target.ask(question), answer, f"what {self.target.name} answers to {question}")
        wait_until(lambda: len(thread_ids(self.pid)) == 1, "the threads end", 60)

    def end(self):
        self.target.end()


def lives(program, *asked):
    return lambda: Lives(program, *asked)


def foreign(how):
    def begin():
        if how in ("nowhere", "none") and not may_read_thread_pointers():
            raise Skipped("no FSGSBASE here")
        subject = Lives("foreign_threads", (f"start {how} 6 100", "300"), ("finish", "ok"))
        subject.attach_options = ["--allocator", "take_block=alloc(size)", "--allocator", "give_block=free"]
        return subject
    return begin


class Linked(Subject):
    """The program of linkings.py: a round of allocations in each thread is what it does, its own check of all blocks how one sees that."""
    memory_may_change = True

    def __init__(self, name):
        if not os.path.exists(target_path(name)):
            raise Skipped(f"{name} was not built: its compiler is not installed")
        self.target = Target(name, 3)
        super().__init__(self.target.pid)
        check_equal(self.target.ask("begin"), "begun", "answer")
        self.check_works()
        self.begin()

    def check_works(self):
        self.target.ask_lines("go")
        check_equal(self.target.ask("check"), "ok", "contents of the blocks")
        check_equal(self.target.ask("free"), "freed", "answer")

    def end(self):
        self.target.end()


def linked(name):
    return lambda: Linked(name)


TABLE = [
    Row("glibc", "threads at full speed", cycles),
    Row("glibc", "threads that wait", many_threads),
    Row("glibc", "no allocator", silent("no_allocator"), refused=["no allocation function"]),
    Row("glibc", "functions that cannot be hooked", silent("unhookable"), refused=["cannot be hooked"]),
    Row("glibc", "functions on two pages", silent("two_pages"), refused=["lie on two pages"]),
    Row("allocators", "jemalloc", preloaded("libjemalloc.so.2")),
    Row("allocators", "tcmalloc", preloaded("libtcmalloc.so.4")),
    Row("allocators", "mimalloc", preloaded("libmimalloc.so.2")),
    Row("surroundings", "a seccomp filter for the program's own calls alone",
        shut_in("threads=2", "allow=read,write,exit_group,futex,clock_nanosleep,rt_sigreturn")),
    Row("surroundings", "another user, memory-deny-write-execute, no new privileges",
        shut_in("user=65534", "write-denied", "no-new-privs", "threads=2")),
    Row("surroundings", "no executable memory files", no_executable_memfd),
    Row("surroundings", "a container", in_namespaces("--user", "--map-root-user")),
    Row("surroundings", "strict seccomp", shut_in("strict"), refused=["strict seccomp"]),
    Row("surroundings", "no descriptor left", shut_in("files=12", "descriptors=all"), refused=["open files"]),
    Row("real", "sqlite3", sqlite),
    Row("real", "a static program with musl", musl_pictures),
    Row("real", "python3 with tcmalloc", python_with("libtcmalloc_minimal.so.4")),
    Row("real", "python3 with mimalloc", python_with("libmimalloc.so.2")),
    Row("real", "busybox, static and without symbols", busybox, refused=["static program with no symbols"]),
    Row("linkings", "fixed address", linked("linked_no_pie")),
    Row("linkings", "static", linked("linked_static")),
    Row("linkings", "static-PIE", linked("linked_static_pie")),
    Row("linkings", "stripped, .dynsym only", linked("linked_dynsym")),
    Row("linkings", "musl", linked("linked_musl")),
    Row("linkings", "musl static", linked("linked_musl_static")),
    Row("linkings", "musl static-PIE", linked("linked_musl_static_pie")),
    Row("linkings", "Rust", linked("linked_rust")),
    Row("stacks", "side by side, guards that split no mapping", on_stacks("guarded")),
    Row("stacks", "side by side, no guards", on_stacks("bare")),
    Row("stacks", "pages that another thread provides", on_stacks("served")),
    Row("stacks", "in shared memory", on_stacks("shared")),
    Row("stacks", "coroutines that never return", on_stacks("coroutines")),
    Row("stacks", "a main stack that has grown deep", guarding("deep", "201")),
    Row("stacks", "a growing coroutine's stack beside another", guarding("coroutine")),
    Row("stacks", "the stack pointer in a table of data", guarding("table")),
    Row("stacks", "handlers on an alternate stack", guarding("handler")),
    Row("lives", "many short ones", lives("many_lives", ("detached 300", "done"))),
    Row("lives", "many short ones, musl", lives("many_lives_musl", ("detached 300", "done"))),
    Row("lives", "threads and coroutines that leave blocks", lives("short_threads", ("threads 20", "done"), ("coroutines 20", "done"))),
    Row("lives", "operators new that are watched", lives("watched", ("threads", "ok"))),
    Row("lives", "threads of no libc, at a page's end", foreign("edge")),
    Row("lives", "threads of no libc, with a pointer that leads nowhere", foreign("nowhere")),
    Row("lives", "threads of no libc, without a pointer", foreign("none")),
]

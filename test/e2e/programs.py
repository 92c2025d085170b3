# SPDX-License-Identifier: Apache-2.0
"""The table of the suite: programs that are attached to, and for each how to see that it works.

To add one: write a function that starts it and returns a Subject (or refuses to, with a reason, by raising Skipped), and put a Row into
the table at the end. What the suite does with it stands in suite.py."""

from harness import Target, Unharmed, check, check_equal, wait_until


class Skipped(Exception):
    """The program cannot run on this machine; the text says why and is printed."""


class Subject:
    """A running process, and what it says of itself."""
    memory_may_change = False  # whether it takes and gives back memory while it stands still

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
        self.before.check_after(memory_may_change=self.memory_may_change)
        self.go_on()

    def end(self):
        """It must end well."""


class Asked(Subject):
    """A program that does a piece of work when it is asked to, and answers always the same."""

    def __init__(self, target, question, answer, memory_may_change=False):
        super().__init__(target.pid)
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


def many_threads():
    return Asked(Target("many_threads", 12), "allocate", "allocated")


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


TABLE = [
    Row("glibc", "threads at full speed", cycles),
    Row("glibc", "threads that wait", many_threads),
    Row("glibc", "no allocator", silent("no_allocator"), refused=["no allocation function"]),
    Row("glibc", "functions that cannot be hooked", silent("unhookable"), refused=["cannot be hooked"]),
]

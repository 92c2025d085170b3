# SPDX-License-Identifier: Apache-2.0
"""Programs that do a piece of work whose result can be checked: a compiler, a database, a Rust program, one that is static with musl.
usage: real_work.py PROGRAM"""

import errno
import filecmp
import os
import re
import signal
import subprocess
import sys

import harness
import profiles
from harness import (Failure, Target, Unharmed, attach, check, check_equal, check_refused, detach, dump, heapsnap, leave_out, run_test, say, start,
                     temporary_directory, wait_until)
from real_load import Client, attach_dump_detach, find


# clang: reads its input from a pipe, so that it can be attached to before it has any.

SOURCE = """
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>
template <int N> struct part {
	std::map<int, std::vector<std::string>> found;
	std::size_t look(const std::string &text) {
		for (std::size_t i = 0; i + N < text.size(); i++) found[i % N].push_back(text.substr(i, N));
		for (auto &each : found)
			std::sort(each.second.begin(), each.second.end(), [](auto &a, auto &b) { return a.size() + N < b.size(); });
		std::function<std::size_t()> count = [this] { return found.size() + N; };
		return count();
	}
};
template <int N> std::size_t all(const std::string &text) {
	if constexpr (N > 0) { part<N> one; return one.look(text) + all<N - 1>(text); } else return 0;
}
int main(int, char **arguments) { return (int)all<PARTS>(arguments[0]); }
"""


class Compilation:
    def __init__(self, output):
        self.output = output
        self.process = start([find("clang++"), "-std=c++17", "-O1", "-g", "-x", "c++", "-", "-c", "-o", output], stdin=subprocess.PIPE)
        self.pid = self.process.pid

        def reads_its_input():
            check(self.process.poll() is None, "clang ended")
            return any(mapping.name.endswith("libstdc++.so.6") or "clang" in mapping.name for mapping in harness.mappings(self.pid)) and \
                "pipe" in harness.read_text(f"/proc/{self.pid}/wchan")
        wait_until(reads_its_input, "clang reads its input", 60)

    def begin(self, parts):
        self.process.stdin.write(SOURCE.replace("PARTS", str(parts)).encode())
        self.process.stdin.close()
        self.process.stdin = None

    def processor_time(self):
        return int(harness.read_text(f"/proc/{self.pid}/stat").rsplit(")", 1)[1].split()[11]) / os.sysconf("SC_CLK_TCK")

    def works(self, seconds):
        """Waits until it has used so much more of a processor."""
        goal = self.processor_time() + seconds
        wait_until(lambda: self.process.poll() is not None or self.processor_time() >= goal, "clang works", 60)

    def is_ending(self):
        """Or has ended: its memory goes a while before it can be waited for."""
        try:
            return self.process.poll() is not None or "VmSize" not in harness.read_text(f"/proc/{self.pid}/status")
        except (FileNotFoundError, ProcessLookupError):
            return True

    def end(self):
        check_equal(self.process.wait(240), 0, "exit status of clang")


def attached_meanwhile(parts, directory):
    """Attach, dump, detach while it compiles. None when it was done before that."""
    compilation = Compilation(directory + "/meanwhile.o")
    before = Unharmed(compilation.pid)
    compilation.begin(parts)
    try:
        for step in (lambda: attach(compilation.pid), lambda: dump(compilation.pid, directory + "/meanwhile.pb.gz"),
                     lambda: detach(compilation.pid)):
            compilation.works(0.1)
            step()
    except Failure:
        if not compilation.is_ending():
            raise
        compilation.end()
        return None
    compilation.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: compilation.process.poll() is not None or
               harness.status_fields(compilation.pid, compilation.pid, ["State"])["State"][0] == "T", "clang stands still")
    if compilation.process.poll() is not None:
        return None
    # It has opened its source's headers and mapped some since.
    differences = [line for line in before.differences(Unharmed(compilation.pid), True) if not re.match("descriptor|maps: new: .* /usr/", line)]
    compilation.process.send_signal(signal.SIGCONT)
    check(not differences, f"clang is not as it was: {differences}")
    return compilation


PARTS = 8


def clang():
    directory, parts = temporary_directory(), PARTS
    first = Compilation(directory + "/untouched.o")
    first.begin(parts)

    # Attached before there is a source, left attached to the end.
    whole = Compilation(directory + "/attached.o")
    attach(whole.pid)
    whole.begin(parts)
    whole.works(0.2)
    dump(whole.pid, directory + "/whole.pb.gz")
    names = {name for name in profiles.function_names(directory + "/whole.pb.gz") if name.startswith(("clang::", "llvm::"))}
    check(len(names) > 50, f"clang's functions are not named: {sorted(names)}")
    profiles.check_reader_is_content(directory + "/whole.pb.gz")

    meanwhile = None
    while not meanwhile:
        meanwhile = attached_meanwhile(parts, directory)
        if not meanwhile:
            parts *= 2
            check(parts < 100, "clang is always done before it can be detached from")
            first = Compilation(directory + "/untouched.o")
            first.begin(parts)
    whole.end()
    first.end()
    meanwhile.end()
    check(filecmp.cmp(first.output, meanwhile.output, shallow=False), "not the object file that an untouched clang makes")
    if parts == PARTS:
        check(filecmp.cmp(first.output, whole.output, shallow=False), "not the object file that an untouched clang makes")
    say(f"clang: {len(names)} functions of clang and llvm; the same object file of {parts} parts, attached or not")


# sqlite3


def sqlite():
    """The shell, with transactions in a file; a copy in Python says what each answer must be."""
    directory = temporary_directory()
    target = Target("sqlite3", command=[find("sqlite3"), "-batch", directory + "/data.db"], ready=None)
    check_equal(target.ask("PRAGMA journal_mode=WAL;"), "wal", "journal mode")
    target.send("CREATE TABLE items (number INTEGER PRIMARY KEY, name TEXT, size INTEGER); CREATE INDEX by_name ON items (name);")
    items = {}

    def ask(number):
        names = {number * 50 + i: f"item {(number * 50 + i) * 7919 % 10007} " + "x" * (i * number % 300) for i in range(50)}
        items.update(names)
        target.send("BEGIN;" + "".join(f"INSERT INTO items VALUES ({key}, '{name}', {len(name)});" for key, name in names.items()) + "COMMIT;")
        if number % 5 == 0:
            for key in [key for key in items if key % 3 == number % 3]:
                del items[key]
            target.send(f"DELETE FROM items WHERE number % 3 = {number % 3};")
        expected = f"{len(items)}|{sum(map(len, items.values()))}|{max(items.values())}"
        check_equal(target.ask("SELECT count(*), sum(size), max(name) FROM items;"), expected, "count, sum and last name")
        sample = sorted(items.values())[:3]
        check_equal(target.ask("SELECT group_concat(name, ';') FROM (SELECT name FROM items ORDER BY name LIMIT 3);"), ";".join(sample), "names")

    for number in range(10):
        ask(number)
    before = Unharmed(target.pid)
    client = Client(lambda number: ask(number + 10))
    attach_dump_detach(target.pid, lambda: client.wait_for_more(20), before, r"sqlite3_", directory)
    answers = client.finish()
    before.check_after(memory_may_change=True)
    check_equal(target.ask("PRAGMA integrity_check;"), "ok", "integrity check")
    target.end()
    say(f"sqlite3: {answers} transactions with right answers, integrity_check says ok")


# ripgrep: Rust. Between the directories that it searches it reads pipes, where it waits: what happens while it works is no chance.


def make_hay(directory, seed):
    os.mkdir(directory)
    for i in range(1500):
        with open(f"{directory}/file {seed} {i}", "w") as file:
            file.write("".join(f"hay {i * line % 1009}\n" for line in range(i % 20)) + (f"a needle {i} in it\n" if i % 3 == 0 else ""))


def open_when_read(path):
    """The pipe, once the program has come to it."""
    def attempt():
        try:
            return os.fdopen(os.open(path, os.O_WRONLY | os.O_NONBLOCK), "w")
        except OSError as error:
            check(error.errno == errno.ENXIO, f"{path}: {error}")
            return None
    return wait_until(attempt, f"{path} is read", 60)


def rust():
    directory = temporary_directory()
    places = [f"{directory}/{name}" for name in ("hay 1", "pipe 1", "hay 2", "pipe 2", "hay 3", "pipe 3", "hay 4")]
    pipes = [place for place in places if "pipe" in place]
    for number, place in enumerate(places):
        if place in pipes:
            os.mkfifo(place)
        else:
            make_hay(place, number)

    def search(output):
        with open(output, "w") as file:
            return start([find("rg"), "--threads=1", "--with-filename", "--line-number", r"needle (\d+) in", *places], stdout=file)

    def found(process, output):
        check_equal(process.wait(60), 0, "exit status of ripgrep")
        return sorted(harness.read_text(output).splitlines())

    untouched = search(directory + "/untouched")
    for pipe in pipes:
        with open_when_read(pipe) as file:
            file.write("needle 1 in a pipe\n")
    expected = found(untouched, directory + "/untouched")
    check_equal(len(expected), 4 * 500 + 3, "lines found")

    process = search(directory + "/attached")
    with open_when_read(pipes[0]) as file:
        before = Unharmed(process.pid)
        report = attach(process.pid)
        file.write("needle 1 in a pipe\n")
    dump(process.pid, directory + "/first.pb.gz")  # while it works
    with open_when_read(pipes[1]) as file:
        before.check_attached(descriptors_may_change=True)
        dump(process.pid, directory + "/second.pb.gz")
        file.write("needle 1 in a pipe\n")
    detach(process.pid)  # while it works
    with open_when_read(pipes[2]) as file:
        # It reads another pipe now.
        differences = [line for line in before.differences(Unharmed(process.pid), True) if not re.match("descriptor .*/pipe ", line)]
        check(not differences, f"ripgrep is not as it was: {differences}")
        file.write("needle 1 in a pipe\n")
    check_equal(found(process, directory + "/attached"), expected, "what it found")
    profile = directory + "/second.pb.gz"
    profiles.check_reader_is_content(profile)
    total = sum((values for _, values in profiles.samples(profile)), profiles.Values())
    check(total.alloc_objects > 1500, f"less than an allocation for each of 1500 files: {total}")
    check(any(mapping.filename.endswith("/rg") for mapping in profiles.read(profile).mappings), "ripgrep is not among the mappings")
    say(f"ripgrep: {report['hooks']} hooks, {total.alloc_objects} allocations in one directory; the same {len(expected)} lines found")


# musl, and static


def musl():
    if not os.path.exists(harness.target_path("png_program")):
        leave_out("built only where musl-tools and libstb-dev are installed")
        return
    directory = temporary_directory()
    target = Target("png_program")
    expected = target.ask("work 20")
    check(expected.startswith("right "), expected)
    before = Unharmed(target.pid)
    client = Client(lambda number: check_equal(target.ask("work 20"), expected, "pictures"))
    attach_dump_detach(target.pid, lambda: client.wait_for_more(10), before, r"stbi_", directory, threads_may_change=True)
    answers = client.finish()
    before.check_after(memory_may_change=True)

    # Attached while it rests, everything that a piece of work allocates is seen, and seen to be freed.
    attach(target.pid)
    check_equal(target.ask("work 20"), expected, "pictures")
    ledger = {line["name"]: line["value"] for line in dump(target.pid, directory + "/rest.pb.gz")["ledger"]}
    check(ledger["allocations"] > 1000, f"too few allocations: {ledger}")
    check_equal((ledger["frees"] + ledger["reallocations"], ledger["unknown_frees"]), (ledger["allocations"], 0), f"ends of blocks: {ledger}")
    detach(target.pid)
    target.end()
    say(f"static with musl: {answers} times 40 pictures, all right")


def busybox():
    """Static and without any symbols: nothing says where its allocator is."""
    target = Target("busybox", command=[find("busybox"), "sh", "-c", "while read line; do echo $line; done"], ready=None)
    check_equal(target.ask("before"), "before", "echo")
    before = Unharmed(target.pid)
    check_refused(heapsnap("attach", target.pid), "static|symbol")
    before.check_after()
    check_equal(target.ask("after"), "after", "echo")
    target.end()


PROGRAMS = {function.__name__: function for function in [clang, sqlite, rust, musl, busybox]}


def main():
    for name in sys.argv[1:]:
        PROGRAMS[name]()


run_test(main, f"real work: {' '.join(sys.argv[1:])}")

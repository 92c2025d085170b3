# SPDX-License-Identifier: Apache-2.0
"""The table of workloads: programs that are measured with and without a profiler.

A workload starts an instance, which does the same work at each measure() and returns the cost of its parts: less is better. It checks
the results of its work, and raises Failure when they are wrong. To add one, write both and put a line into WORKLOADS."""

import os
import signal
import subprocess
import time

from harness import Target, check, check_equal, connect_when_ready, free_port, mappings, read_text, start, stop, target_path, wait_until

PROCESSORS = len(os.sched_getaffinity(0))
MEASURE_MS = 250


class Skipped(Exception):
    """It cannot run on this machine; the text says why and is printed."""


def find(program):
    for folder in ("/usr/bin", "/usr/sbin", "/usr/local/bin"):
        if os.access(f"{folder}/{program}", os.X_OK):
            return f"{folder}/{program}"
    raise Skipped(f"{program} is not installed")


def command_line(setting, *arguments):
    """How a program is started under a setting: its environment, what stands before it, itself."""
    return ["/usr/bin/env", *[f"{name}={value}" for name, value in setting.environment.items()], *setting.prefix, *arguments]


def processor_seconds(pid):
    """Of all threads that live. They all live while a measurement goes on."""
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            total += int(read_text(f"/proc/{pid}/task/{tid}/schedstat").split()[0])
        except FileNotFoundError:
            continue
    return total / 1e9


class Instance:
    """A running program under one setting."""
    one_shot = False  # whether it ends with its first measurement
    operations = 1  # of the last measurement, where their number is not always the same
    pid = None

    def settle(self):
        """What it does once a profiler has come to it, before it is measured: its heap is then known to the profiler."""

    def measure(self):
        """{part: cost in the workload's unit}"""
        raise NotImplementedError

    def processor(self):
        return processor_seconds(self.pid)

    def end(self):
        """Must end by itself, and well."""


class Asked(Instance):
    """One of the C programs, which measure themselves. It runs for a given time, so it makes as many operations as it can."""

    def __init__(self, setting, name, *arguments, mean=False, settles=False):
        self.target = Target(name, command=command_line(setting, target_path(name), *map(str, arguments)))
        self.pid, self.mean, self.settles = self.target.pid, mean, settles

    def settle(self):
        if self.settles:
            check_equal(self.target.ask("replace", 300), "done", "answer")

    def measure(self):
        median, mean, operations = map(float, self.target.ask(f"measure {MEASURE_MS}", 300).split())
        self.operations = operations
        return {"": mean if self.mean else median}

    def end(self):
        self.target.end()


class Workload:
    unit = "ns"
    group = ""
    allocator = "glibc"  # the one that the program uses when nobody says otherwise
    most_rounds = 1000
    for_scale = False  # whether the very slow profilers are tried on it too

    def begin(self, setting):
        """An instance under this setting, ready and warm. Raises Skipped."""
        raise NotImplementedError


class Pairs(Workload):
    """Of random sizes: a free is seldom followed by a malloc that takes the same block."""
    size, kind, what = 0, "pair", "malloc+free pair"

    def __init__(self, frames, live, threads=1):
        self.name = f"{self.kind}-{frames}-{live}" + (f"-{threads}" if threads > 1 else "")
        self.title = f"{self.what}, {frames} frames, {live:,} live" + (f", {threads} threads" if threads > 1 else "")
        self.frames, self.live, self.threads, self.group = frames, live, threads, self.kind
        self.for_scale = (frames, live, threads) == (13, 100000, 1)

    def begin(self, setting):
        instance = Asked(setting, "pair", self.frames, self.live, self.threads, self.size, mean=self.threads > 1, settles=True)
        instance.settle()
        return instance


class TightPairs(Pairs):
    """The least that a pair can cost: all of one size, so malloc gives back the block that was freed just before, which the caches hold."""
    size, kind, what = 64, "tight", "tight pair of 64 bytes"


class Exchange(Workload):
    name, title, group = "exchange", "producer and consumer, 13 frames", "calls"

    def begin(self, setting):
        return Asked(setting, "exchange", 13, mean=True)


class Growth(Workload):
    name, title, group = "growth", "buffers grown by realloc, 13 frames", "calls"

    def begin(self, setting):
        return Asked(setting, "growth", 13)


class RedisServer(Instance):
    REQUESTS = 200000
    TESTS = ("set", "lpush", "hset")

    def __init__(self, setting, directory):
        self.client, self.port = find("redis-benchmark"), free_port()
        with open(f"{directory}/redis.log", "w", encoding="utf-8") as log:
            self.process = start(command_line(setting, find("redis-server"), "--bind", "127.0.0.1", "--port", str(self.port), "--save", "",
                                              "--appendonly", "no", "--dir", directory, "--daemonize", "no"), stdout=log, stderr=log)
        self.connection = connect_when_ready(self.port, self.process, 120)
        self.connection.settimeout(120)
        self.pid = self.process.pid

    def ask(self, *words):
        self.connection.sendall("".join([f"*{len(words)}\r\n", *[f"${len(word)}\r\n{word}\r\n" for word in words]]).encode())
        answer = b""
        while not answer.endswith(b"\r\n"):
            data = self.connection.recv(65536)
            check(data, "the server closed the connection")
            answer += data
        return answer.decode().strip()

    def run(self, name):
        client = start([self.client, "-h", "127.0.0.1", "-p", str(self.port), "--csv", "-t", name, "-P", "16", "-c", "20", "-n",
                        str(self.REQUESTS), "-r", "100000"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output = client.communicate(timeout=600)[0].decode()
        lines = [line for line in output.splitlines() if line.startswith('"') and not line.startswith('"test"')]
        check(client.returncode == 0 and len(lines) == 1, f"redis-benchmark {name}: {output}")
        return float(lines[0].split(",")[1].strip('"'))

    def measure(self):
        costs = {name: 1e9 / self.run(name) for name in self.TESTS}
        check_equal(self.ask("llen", "mylist"), f":{self.REQUESTS}", "length of the list")
        check_equal(self.ask("flushall", "sync"), "+OK", "answer")
        return costs

    def end(self):
        self.connection.close()
        stop(self.process, seconds=60)


class Redis(Workload):
    name, title, group, most_rounds = "redis", "redis-server under redis-benchmark, pipeline 16", "programs", 5
    allocator = "jemalloc"

    def __init__(self, directory):
        self.directory = directory

    def begin(self, setting):
        return RedisServer(setting, self.directory)


class Python(Instance):
    def __init__(self, setting):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_work.py")
        self.target = Target("python3", command=command_line(setting, find("python3"), "-S", script))
        self.pid = self.target.pid

    def measure(self):
        seconds, checksum = self.target.ask("work", 1200).split()
        check_equal(checksum, PythonProgram.CHECKSUM, "checksum of the work in Python")
        return {"": float(seconds) * 1000}

    def end(self):
        self.target.end()


class PythonProgram(Workload):
    unit, group, most_rounds = "ms", "programs", 5
    CHECKSUM = "c5ce7a9a-6c10c6af-88573"

    def __init__(self, name, title, **environment):
        self.name, self.title, self.environment = name, title, environment

    def begin(self, setting):
        instance = Python(setting.with_environment(self.environment))
        instance.measure()
        return instance


class SqliteShell(Instance):
    ROWS = 40000

    def __init__(self, setting):
        # -batch and a pipe: the shell writes each answer at once.
        self.target = Target("sqlite3", command=command_line(setting, find("sqlite3"), "-batch", ":memory:"), ready=None)
        self.pid = self.target.pid

    def measure(self):
        started = time.monotonic()
        self.target.send(f"""
            CREATE TABLE items (number INTEGER PRIMARY KEY, name TEXT, size INTEGER); CREATE INDEX by_name ON items (name);
            WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {self.ROWS})
                INSERT INTO items SELECT n, printf('item %d', n * 7919 % 10007), n % 1009 FROM numbers;
            UPDATE items SET size = size + length(name) WHERE number % 3 = 0;
            CREATE TABLE words AS SELECT group_concat(name || size, ';') AS line FROM items GROUP BY number / 7 ORDER BY 1;
            DELETE FROM items WHERE number > {self.ROWS};""")
        answer = self.target.ask("SELECT count(*), sum(length(line)), max(line) FROM words;", 1200)
        elapsed = time.monotonic() - started
        check_equal(answer, Sqlite.ANSWER, "answer of sqlite3")
        self.target.send("DROP TABLE items; DROP TABLE words;")
        return {"": elapsed * 1000}

    def end(self):
        self.target.end()


class Sqlite(Workload):
    name, title, unit, group, most_rounds = "sqlite", "sqlite3, in memory", "ms", "programs", 5
    ANSWER = "5715|506189|item 9995206;item 7907207;item 5819217;item 3731209;item 1643210;item 9562220;item 7474212"

    def begin(self, setting):
        instance = SqliteShell(setting)
        instance.measure()
        return instance


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


class Compilation(Instance):
    """clang reads its source from a pipe, so a profiler can come to it before it has any."""
    one_shot = True

    def __init__(self, setting, output):
        self.output, self.seconds = output, None
        self.process = start(command_line(setting, find("clang++"), "-std=c++17", "-O1", "-x", "c++", "-", "-c", "-o", output),
                             stdin=subprocess.PIPE)
        self.pid = self.process.pid

        def reads_its_input():
            check(self.process.poll() is None, "clang ended")
            return any("libLLVM" in mapping.name for mapping in mappings(self.pid)) and "pipe" in read_text(f"/proc/{self.pid}/wchan")
        wait_until(reads_its_input, "clang reads its input", 240)

    def begin(self, parts):
        self.process.stdin.write(SOURCE.replace("PARTS", str(parts)).encode())
        self.process.stdin.close()
        self.process.stdin = None

    def works(self, seconds):
        """Waits until it has used so much of a processor."""
        wait_until(lambda: self.process.poll() is not None or processor_seconds(self.pid) >= seconds, "clang works", 60)
        check(self.process.poll() is None, "clang was done before it could be looked at")

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: read_text(f"/proc/{self.pid}/stat").rsplit(")", 1)[1].split()[0] == "T", "clang stands still")

    def measure(self):
        before, started = processor_seconds(self.pid), time.monotonic()
        self.begin(CppCompile.PARTS)
        _, status, usage = os.wait4(self.pid, 0)
        elapsed = time.monotonic() - started
        self.process.returncode = os.waitstatus_to_exitcode(status)
        check_equal(self.process.returncode, 0, "exit status of clang")
        check(os.path.getsize(self.output) > 1000, "clang wrote nothing")
        self.seconds = usage.ru_utime + usage.ru_stime - before
        return {"": elapsed * 1000}

    def processor(self):
        return 0.0 if self.seconds is None else self.seconds

    def end(self):
        stop(self.process, signal.SIGKILL)


class CppCompile(Workload):
    name, title, unit, group, most_rounds = "compile", "clang++ compiles C++", "ms", "programs", 5
    PARTS = 8

    def __init__(self, directory):
        self.directory = directory

    def begin(self, setting):
        return Compilation(setting, f"{self.directory}/out.o")


def all_workloads(directory):
    pairs = [Pairs(frames, live) for frames in (5, 13, 29) for live in (1000, 100000, 1000000)]
    pairs += [Pairs(13, 100000, threads) for threads in (2, 2 * PROCESSORS if PROCESSORS > 1 else 4)]
    tight = [TightPairs(frames, live) for frames, live in ((13, 1000), (13, 100000), (29, 100000))]
    return [*pairs, *tight, Exchange(), Growth(), Redis(directory), PythonProgram("python", "python3"),
            PythonProgram("python-malloc", "python3 without an allocator of its own", PYTHONMALLOC="malloc"), Sqlite(), CppCompile(directory)]

# SPDX-License-Identifier: Apache-2.0
# Longer than 500 lines: what each test begins with, from one import.
"""What every end-to-end test needs: targets started and ended by their pid, the heapsnap program run with a time limit, and a
snapshot of all that detach promises to leave as it was."""

import array
import atexit
import hashlib
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import hang

HEAPSNAP = os.environ.get("HEAPSNAP", "")
TARGETS = os.environ.get("HEAPSNAP_TARGETS", "")
_cache = tempfile.mkdtemp(prefix="heapsnap-test-cache-")
atexit.register(shutil.rmtree, _cache, True)
os.environ["XDG_CACHE_HOME"] = _cache # what is kept of symbols is no test's to find
tool_root = ""  # where heapsnap runs in another root: files are named from outside
COMMAND_TIMEOUT = 240  # seconds for one run of heapsnap

_children = []
_directories = []
_left_out = []  # reasons
SKIPPED = 77  # exit status of a test that has left something out (CMakeLists.txt, SKIP_RETURN_CODE)


class Failure(Exception):
    """A check that did not hold."""


def check(condition, message):
    if not condition:
        raise Failure(message)


def check_equal(actual, expected, what):
    if actual != expected:
        raise Failure(f"{what}: is {actual!r}, not {expected!r}")


def repetitions(short, long):
    """How often something is done that has no end: as often as each run of all tests can bear, or, with HEAPSNAP_TEST_LONG=1, `long` times."""
    return long if os.environ.get("HEAPSNAP_TEST_LONG") == "1" else short


def part_of(count):
    """Of so many that are alike: all, or a third with HEAPSNAP_TEST_SHORT=1, where each run of the tool is slow (./dev test, sanitizer builds)."""
    return count // 3 if os.environ.get("HEAPSNAP_TEST_SHORT") == "1" else count


def say(text):
    print(text, flush=True)


def temporary_directory():
    path = tempfile.mkdtemp(prefix="heapsnap-test-")
    os.chmod(path, 0o755)
    _directories.append(path)
    return path


def target_path(name):
    return os.path.join(TARGETS, name)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(condition, what, seconds=80.0):
    """For events that cannot be waited for: asks again until the condition holds, fails after a bound."""
    end = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise Failure(f"timeout: {what}")
        time.sleep(0.01)


def connect_when_ready(port, process, seconds=80.0):
    def attempt():
        check(process.poll() is None, f"{process.args[0]} ended with {process.poll()} before it listened")
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=10)
        except ConnectionRefusedError:
            return None
    return wait_until(attempt, f"port {port} accepts connections", seconds)


def start(arguments, **options):
    """A background process in its own session; it is ended when the test ends, whatever happens."""
    _ending.put_off()
    try:
        process = subprocess.Popen(arguments, start_new_session=True, **options)
        _children.append(process)
    finally:
        _ending.go_on()
    return process


def stop(process, with_signal=signal.SIGTERM, seconds=10.0):
    """Ends a process by its pid and returns its exit status."""
    if process.poll() is None:
        process.send_signal(with_signal)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return process.returncode


def end_everything():
    """Ends all that was started and removes what was made."""
    for process in reversed(_children):
        if process.poll() is None:
            # Its session: servers with workers, clients with threads. The leader still lives, so the number is still its own.
            try:
                os.killpg(process.pid, signal.SIGCONT)
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(3)
            except (subprocess.TimeoutExpired, ProcessLookupError):
                pass
            if process.poll() is None:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                try:
                    stream.close()
                except OSError:
                    pass
    for path in _directories:
        shutil.rmtree(path, ignore_errors=True)
    _children.clear()
    _directories.clear()


class Ending:
    """Signals that end this program by sys.exit, so that atexit runs; not between a process's beginning and the line that notes it, where nobody
    would end that process."""

    def __init__(self):
        self.put_off_count = 0
        self.number = 0  # of a signal that came meanwhile

    def handle(self, number, _frame):
        if self.put_off_count:
            self.number = number
        else:
            sys.exit(128 + number)

    def put_off(self):
        self.put_off_count += 1

    def go_on(self):
        self.put_off_count -= 1
        if self.number and not self.put_off_count:
            number, self.number = self.number, 0
            signal.raise_signal(number)


_ending = Ending()
atexit.register(end_everything)
for _number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(_number, _ending.handle)


class Target:
    """A program that is spoken to over its standard input and output: one of test/targets, or any `command`."""

    def __init__(self, name, *arguments, ready="ready", command=None):
        self.name = name
        self.process = start(command or [target_path(name), *map(str, arguments)], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
        self.pid = self.process.pid
        self._buffer = b""
        if ready:
            check_equal(self.line(), ready, f"first line of {name}")

    def _describe(self):
        say("\n".join(hang.describe(self.pid, hang.output_of(self.process.stdout))))

    def send(self, text):
        try:
            self.process.stdin.write(text.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failure(f"{self.name} died: {self.process.wait()}") from None

    def line(self, seconds=60.0):
        end = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            left = end - time.monotonic()
            readable = left > 0 and select.select([self.process.stdout], [], [], left)[0]
            if not readable:
                self._describe()
                raise Failure(f"{self.name} (pid {self.pid}) did not answer within {seconds} s")
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                raise Failure(f"{self.name} ended with {self.process.wait()}")
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line.decode()

    def ask(self, text, seconds=60.0):
        self.send(text)
        return self.line(seconds)

    def ask_lines(self, text, last="end"):
        """The lines of an answer of several, up to and with the one that begins with `last`."""
        lines = [self.ask(text)]
        while not lines[-1].startswith(last):
            lines.append(self.line())
        return lines

    def ask_json(self, text):
        """The lines of an answer of several, each a JSON object; that of the last one has "end" in it."""
        return [json.loads(line) for line in self.ask_lines(text, '{"end"')]

    def end(self, seconds=60.0):
        """Closes its input; it must then end with status 0. Returns the rest of what it printed."""
        self.process.stdin.close()
        self.process.stdin = None
        try:
            rest, _ = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self._describe()
            raise Failure(f"{self.name} (pid {self.pid}) did not end within {seconds} s") from None
        check_equal(self.process.returncode, 0, f"exit status of {self.name}")
        return (self._buffer + (rest or b"")).decode()

    def alive(self):
        return self.process.poll() is None


class Result:
    def __init__(self, arguments, status, stdout, stderr):
        self.arguments, self.status, self.stdout_bytes, self.stderr = arguments, status, stdout, stderr

    @property
    def stdout(self):
        return self.stdout_bytes.decode("utf-8", "replace")

    @property
    def json(self):
        try:
            value = json.loads(self.stdout)
        except ValueError as error:
            raise Failure(f"{self}: standard output is not one JSON value: {error}") from None
        check(isinstance(value, dict), f"{self}: JSON is no object")
        return value

    def __str__(self):
        return (f"heapsnap {' '.join(self.arguments)}: status {self.status}\n  stdout: {self.stdout[-2000:]!r}\n"
                f"  stderr: {self.stderr[-2000:]!r}")


def copy_for_everybody():
    """The program where every user can run it."""
    path = os.path.join(temporary_directory(), "heapsnap")
    shutil.copy(HEAPSNAP, path)
    os.chmod(path, 0o755)
    return path


def as_user(uid):
    """What to write before a command, to run it as an ordinary user. Needs root."""
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]


def _run_heapsnap(*arguments, environment=None, timeout=COMMAND_TIMEOUT, prefix=(), program=None, **options):
    arguments = [str(argument) for argument in arguments]
    options.setdefault("stdout", subprocess.PIPE)
    process = start([*prefix, program or HEAPSNAP, *arguments], stdin=subprocess.DEVNULL,
                    stderr=subprocess.PIPE, env={**os.environ, **(environment or {})}, **options)
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Failure(f"heapsnap {' '.join(arguments)} did not end within {timeout} s") from None
    _children.remove(process)
    return Result(arguments, process.returncode, stdout or b"", stderr.decode("utf-8", "replace"))


def run_stopping(step, meanwhile, *arguments, again=True):
    """Runs heapsnap, which stops whenever it comes to the step of that name: then `meanwhile` is called, and it goes on. `again`: up to five times, if the
    target got no processor; not where what `meanwhile` has done makes the next run another one."""
    arguments = [*map(str, arguments), "--json"]
    for _ in range(5 if again else 1):
        process = start([HEAPSNAP, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        env={**os.environ, "HEAPSNAP_STOP_AT": step})
        while process.returncode is None and os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT).si_code == os.CLD_STOPPED:
            # This stop is then seen no more. Its end cannot be waited for: the next stop would hide it.
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG)
            meanwhile()
            process.send_signal(signal.SIGCONT)  # looks whether it has ended: its watchdog wakes it, too
        stdout, stderr = process.communicate()
        _children.remove(process)
        result = Result(arguments, process.returncode, stdout, stderr.decode("utf-8", "replace"))
        if not again or not got_no_processor(result):
            break
        say(f"  again: {result.stderr.strip()}")
    return result


def heapsnap_stopping(step, meanwhile, *arguments):
    """So too; it must succeed. Returns the JSON object."""
    result = run_stopping(step, meanwhile, *arguments)
    check_equal(result.status, 0, str(result))
    return result.json


TOO_LONG = "gave up: the process had been stopped for"
NO_PROCESSOR = [TOO_LONG, "did not stop in time", "faster than they can be stopped", "the kernel did not say in time"]
KILLED = "its limit, and was killed"  # by its watchdog: what is said of a tool that gets none, too


def says_no_processor(text):
    return any(words in text for words in NO_PROCESSOR)


def ran_out_of_time(text):
    """So too, or that the watchdog has killed it."""
    return says_no_processor(text) or KILLED in text


def got_no_processor(result):
    """Whether a target may have got none for as long as the tool waits or lets it stand. Then the tool says that it is to be tried again. No load tells
    whether that is so: a virtual machine's processors are taken away from outside. So it may say that, but not each time of several."""
    return result.status != 0 and says_no_processor(result.stderr)


def heapsnap(*arguments, again=True, **options):
    """Runs it to its end. `again`: up to five times, if the target got no processor; not where that is what a test wants to see, nor where what each run says
    counts."""
    result = _run_heapsnap(*arguments, **options)
    for _ in range(4 if again else 0):
        if not got_no_processor(result):
            break
        say(f"  again: {result.stderr.strip()}")
        result = _run_heapsnap(*arguments, **options)
    return result


def heapsnap_ok(*arguments, **options):
    """Runs with --json, must succeed; returns the JSON object."""
    result = heapsnap(*arguments, "--json", **options)
    check_equal(result.status, 0, str(result))
    return result.json


SAMPLING = ("--sample", "--samples-per-word", "--budget", "--exact")


def attach(pid, *options, **how):
    """Every allocation is recorded unless the options say something else: under full load the default does not, and tests count blocks."""
    exact = [] if any(str(option).split("=")[0] in SAMPLING for option in options) else ["--exact"]
    value = heapsnap_ok("attach", pid, *exact, *options, **how)
    check_equal((value["command"], value["pid"]), ("attach", pid), "attach")
    check(value["hooks"] > 0, f"attach reports no hooks: {value}")
    return value


def dump(pid, path, *options, **how):
    value = heapsnap_ok("dump", pid, "-o", path, *options, **how)
    check_equal((value["command"], value["pid"], value["output"]), ("dump", pid, str(path).removeprefix(tool_root)), "dump")
    check_equal(value["bytes"], os.stat(path).st_size, "size of the profile")
    check_equal(os.stat(path).st_mode & 0o777, 0o600, "mode of the profile")
    check(not [name for name in os.listdir(os.path.dirname(path)) if name.startswith(os.path.basename(path) + ".")
               or name.startswith("." + os.path.basename(path))], "a temporary file is left beside the profile")
    return value


def detach(pid, *options, **how):
    value = heapsnap_ok("detach", pid, *options, **how)
    check_equal((value["command"], value["pid"], value["verified"]), ("detach", pid, True), f"detach: {value}")
    return value


def check_refused(result, *words, status=1):
    """A clear one-line error, with what was asked for in it, and the exit status."""
    check_equal(result.status, status, str(result))
    lines = [line for line in result.stderr.splitlines() if line]
    errors = [line for line in lines if line.startswith("heapsnap: ")]
    check(errors and (status != 1 or len(lines) == 1), f"not one line that begins with 'heapsnap: ': {result}")
    for word in words:
        check(re.search(word, result.stderr, re.I), f"the error does not say {word!r}: {result}")
    say(f"  {errors[0]}")


# What a process looks like from outside.

_MAP = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) (\S+) (\d+) *(.*)")


class Mapping:
    def __init__(self, line):
        match = _MAP.match(line)
        check(match, f"cannot read this line of maps: {line!r}")
        self.start, self.end = int(match[1], 16), int(match[2], 16)
        self.permissions, self.offset, self.device = match[3], int(match[4], 16), match[5]
        self.inode, self.name = int(match[6]), match[7]

    def is_plain_memory(self):
        """Memory that a program takes and gives back by itself."""
        return self.inode == 0 and "x" not in self.permissions and "s" not in self.permissions and self.name in ("", "[heap]", "[stack]")

    def is_region(self):
        """heapsnap's region: shared anonymous memory where nothing else lies."""
        return self.name == "/dev/zero (deleted)" and 0x100000000000 <= self.start < 0x400000000000

    def __str__(self):
        return f"{self.start:x}-{self.end:x} {self.permissions} {self.offset:x} {self.device} {self.inode} {self.name}"


def read_text(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def mappings(pid):
    return [Mapping(line) for line in read_text(f"/proc/{pid}/maps").splitlines()]


def thread_ids(pid):
    return sorted(map(int, os.listdir(f"/proc/{pid}/task")))


PF_EXITING = 0x4  # include/linux/sched.h


def living_threads(pid):
    """The main thread, and of the others those that do not end: one that was joined is listed for a moment yet (pthread_join is told by mm_release, within exit)."""
    found = []
    for tid in thread_ids(pid):
        try:
            flags = int(read_text(f"/proc/{pid}/task/{tid}/stat").rsplit(")", 1)[1].split()[6])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if tid == pid or not flags & PF_EXITING:
            found.append(tid)
    return found


def process_state(pid):
    """The letter of its main thread in /proc/PID/stat; X also of one that is gone, be it between open and read."""
    try:
        return read_text(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def waits_for_ever(pid):
    """Whether the process is in pause(2), call 34, as a tool is that was made to hang (HEAPSNAP_HANG_AT)."""
    try:
        return read_text(f"/proc/{pid}/syscall").split()[0] == "34"
    except (OSError, IndexError):
        return False


def other_thread(pid):
    """One that is not the main thread. Its id may be the lower one: ids begin again when there are no more."""
    return next(tid for tid in thread_ids(pid) if tid != pid)


# glibc opens this for a moment whenever a thread makes an arena of its own (get_nprocs, from arena_get2).
OPENED_BY_MALLOC = "/sys/devices/system/cpu/online"
SERVED = "/www/"  # nginx opens each of these files for as long as it sends it


def only_child(pid):
    return int(wait_until(lambda: read_text(f"/proc/{pid}/task/{pid}/children").split(), "a child")[0])


def descriptors(pid):
    result = {}
    for number in os.listdir(f"/proc/{pid}/fd"):
        try:
            link = os.readlink(f"/proc/{pid}/fd/{number}")
        except FileNotFoundError:
            continue
        # redis opens its own stat file for a moment, to see how much memory it has
        if link not in (OPENED_BY_MALLOC, f"/proc/{pid}/stat") and SERVED not in link:
            result[int(number)] = link
    return result


def status_fields(pid, tid, names):
    fields = dict(line.split(":", 1) for line in read_text(f"/proc/{pid}/task/{tid}/status").splitlines())
    return {name: fields[name].strip() for name in names if name in fields}


def tracer(pid):
    return {tid: status_fields(pid, tid, ["TracerPid"])["TracerPid"] for tid in thread_ids(pid)}


def _text_private_pages(pid):
    """For each executable file mapping, the smaps values that show whether a page of it was ever written."""
    result, name = {}, None
    for line in read_text(f"/proc/{pid}/smaps").splitlines():
        if _MAP.match(line):
            mapping = Mapping(line)
            name = str(mapping) if "x" in mapping.permissions and mapping.inode else None
        elif name and line.split(":")[0] in ("Anonymous", "Swap", "Locked"):
            key, value = line.split(":")
            # What is locked is counted in shares of the processes that map the page.
            result[f"{name} {key}"] = str(value.strip() != "0 kB") if key == "Locked" else value.strip()
    return result


class Unharmed:
    """All that detach promises to leave as it was, read from outside. Take one before attach and one after detach, while the
    target does the same thing (nothing, best)."""

    SIGNALS = ["SigBlk", "SigIgn", "SigCgt", "ShdPnd", "SigPnd", "TracerPid"]
    ALL_BLOCKED = "fffffffffffbfeff"  # but SIGKILL and SIGSTOP, which cannot be

    def __init__(self, pid):
        self.pid = pid
        self.maps = mappings(pid)
        self.text = {}
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for mapping in self.maps:
                if "x" not in mapping.permissions or mapping.name == "[vsyscall]":
                    continue
                digest, position = hashlib.sha256(), mapping.start
                while position < mapping.end:
                    data = os.pread(memory.fileno(), min(mapping.end - position, 1 << 20), position)
                    check(data, f"cannot read {mapping} of pid {pid}")
                    digest.update(data)
                    position += len(data)
                self.text[f"{mapping.start:x} {mapping.name}"] = digest.hexdigest()
        check(self.text, f"pid {pid} has no text")
        self.private_pages = _text_private_pages(pid)
        self.descriptors = descriptors(pid)
        self.threads = []
        self.signals = {}
        wait_until(self._read_signals, f"no thread of pid {pid} is in the middle of making a thread")

    def _read_signals(self):
        """False while glibc blocks even its own signals in a thread, which pthread_create does for moments, in the new thread too. The kernel's workers always do."""
        self.threads = living_threads(self.pid)
        try:
            fields = {tid: status_fields(self.pid, tid, [*self.SIGNALS, "Name"]) for tid in self.threads}
        except (FileNotFoundError, ProcessLookupError):  # a thread has ended since
            return False
        names = {tid: of_thread.pop("Name") for tid, of_thread in fields.items()}
        self.signals = fields
        return all(fields[tid]["SigBlk"] != self.ALL_BLOCKED or names[tid].startswith("iou-") for tid in fields)

    def differences(self, after, memory_may_change):
        """Lines that say what is not as before."""
        found = []

        def compare(what, old, new):
            for key in sorted(set(old) | set(new), key=str):
                if old.get(key) != new.get(key):
                    found.append(f"{what} {key}: {old.get(key, 'was not there')} -> {new.get(key, 'is not there')}")

        def lines(maps):
            return [str(mapping) for mapping in maps if not (memory_may_change and mapping.is_plain_memory())]

        old, new = lines(self.maps), lines(after.maps)
        found += [f"maps: gone: {line}" for line in old if line not in new]
        found += [f"maps: new: {line}" for line in new if line not in old]
        compare("text", self.text, after.text)
        compare("private pages of text", self.private_pages, after.private_pages)
        compare("descriptor", self.descriptors, after.descriptors)
        compare("thread", dict.fromkeys(self.threads, "runs"), dict.fromkeys(after.threads, "runs"))
        compare("signals of thread", self.signals, after.signals)
        return found

    def check_after(self, memory_may_change=False, settle=0.0):
        """Compares the process as it is now. `settle`: seconds within which it must become equal (a server that closes the
        connections of a client that has left)."""
        end = time.monotonic() + settle
        while True:
            found = self.differences(Unharmed(self.pid), memory_may_change)
            if not found:
                return
            if time.monotonic() >= end:
                raise Failure(f"pid {self.pid} is not as it was:\n  " + "\n  ".join(found))
            time.sleep(0.05)

    def check_attached(self, descriptors_may_change=False, threads_may_change=False):
        """While attached: nothing writable and executable, no extra thread, no descriptor left behind, no tracer."""
        for mapping in mappings(self.pid):
            check(not ("w" in mapping.permissions and "x" in mapping.permissions),
                  f"writable and executable while attached: {mapping}")
        if not threads_may_change:
            check_equal(living_threads(self.pid), self.threads, "threads while attached")
        now = descriptors(self.pid)
        if not descriptors_may_change:
            check_equal(now, self.descriptors, "descriptors while attached")
        left = [link for number, link in now.items() if "memfd:" in link and self.descriptors.get(number) != link]
        check(not left, f"a descriptor is left behind while attached: {left}")
        check_equal(set(tracer(self.pid).values()), {"0"}, "TracerPid while attached")


def attach_state(pid, **how):
    """What status says of a process: "attached", "attach unfinished", "detach unfinished", "unreadable"; None when it is not attached."""
    result = heapsnap("status", pid, "--json", **how)
    if result.status == 1 and "not attached" in result.stderr:
        return None
    check_equal(result.status, 0, str(result))
    for process in result.json["processes"]:
        if process["pid"] == pid:
            return process["state"]
    return None


def is_attached(pid):
    return attach_state(pid) == "attached"


def leave_out(reason):
    """Says that something is not tried, because this user or machine lacks what it needs. The test then does not count as passed."""
    say(f"  SKIPPED: {reason}")
    _left_out.append(reason)


def root():
    """Whether this is root; if not, leaves out what needs it."""
    if os.geteuid() != 0:
        leave_out("not root")
    return os.geteuid() == 0


def has_program(name):
    """Whether the program is installed; if not, leaves out what needs it."""
    if not shutil.which(name):
        leave_out(f"no {name}")
    return bool(shutil.which(name))


def may_read_thread_pointers():
    """Whether programs may read the thread pointer by an instruction (FSGSBASE; bit 1 of AT_HWCAP2, getauxval(3)). Where they may not, the payload
    reads memory there, and a thread whose pointer leads nowhere dies (docs/target-safety.md, known gaps)."""
    with open("/proc/self/auxv", "rb") as file:
        values = array.array("Q", file.read())
    return dict(zip(values[::2], values[1::2])).get(26, 0) & 2 != 0


def run_test(function, name):
    """Runs a test; its verdict is the exit status of the program."""
    if not (HEAPSNAP and TARGETS):
        sys.exit("HEAPSNAP (the program) and HEAPSNAP_TARGETS (the directory of test programs) must be set in the environment")
    started = time.monotonic()
    try:
        function()
    except Failure as failure:
        say(f"FAILED: {name}: {failure}")
        sys.exit(1)
    if _left_out:
        say(f"{name}: all of it that was tried holds; left out: {'; '.join(dict.fromkeys(_left_out))}")
        sys.exit(SKIPPED)
    say(f"passed: {name}, {time.monotonic() - started:.1f} s")


def try_cases(functions, chosen):
    """Calls those functions whose names are chosen, or all. One that fails keeps none from being tried; then the whole fails."""
    cases = {function.__name__: function for function in functions}
    check(set(chosen) <= set(cases), f"no such case: {chosen}; there are {list(cases)}")
    failures = []
    for name in chosen or cases:
        say(f"{name.replace('_', ' ')}:")
        try:
            cases[name]()
        except Failure as failure:
            say(f"  FAILED: {failure}")
            failures.append(name)
    check(not failures, f"failed: {', '.join(failures)}")


def run_cases(functions, name):
    """Runs a test of several cases, each a function: those that the command line names, or all."""
    run_test(lambda: try_cases(functions, sys.argv[1:]), name)

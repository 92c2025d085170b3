# SPDX-License-Identifier: Apache-2.0
"""--debuginfod: debug information that is missing is fetched from a server, here one of this test, when it is asked for and never else; what is fetched is
believed by its build id alone; a server that has nothing, hangs or fails, and ^C, cost the names and nothing more."""

import http.server
import os
import re
import shutil
import signal
import subprocess
import threading
import time

import pprof_reader
from harness import HEAPSNAP, Target, attach, check, check_equal, check_refused, detach, has_program, heapsnap, heapsnap_ok, root, run_test, say, start, target_path, \
    temporary_directory, wait_until

CRASH = {"HEAPSNAP_TEST_SYMBOL_CHILD": "crash:"}  # of every process that reads a file


class Server:
    """What it is asked for, and what it answers: files by path, all else is not there; or it never answers."""

    def __init__(self):
        self.asked, self.files, self.hangs, self.goes_on = [], {}, False, threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                if outer.hangs:
                    outer.goes_on.wait(120)
                    return
                data = outer.files.get(self.path)
                self.send_response(200 if data else 404)
                self.send_header("Content-Length", str(len(data or b"")))
                self.end_headers()
                self.wfile.write(data or b"")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}/"


class Case:
    """A stripped program that runs, its debug information, and the server."""

    def __init__(self):
        self.directory = temporary_directory()
        self.program, self.debug = os.path.join(self.directory, "stripped"), os.path.join(self.directory, "debug")
        subprocess.run(["objcopy", "--only-keep-debug", target_path("ground_truth"), self.debug], check=True)
        subprocess.run(["objcopy", "--strip-all", target_path("ground_truth"), self.program], check=True)
        notes = subprocess.run(["readelf", "-n", self.program], capture_output=True, text=True, check=True).stdout
        self.build_id = re.search(r"Build ID: ([0-9a-f]+)", notes)[1]
        self.path = f"/buildid/{self.build_id}/debuginfo"
        self.server = Server()
        self.target = Target("stripped ground_truth", command=[self.program, "4", "1", target_path("libtruth_plugin.so")])
        attach(self.target.pid)
        self.target.ask_json("go")
        self.output = os.path.join(self.directory, "out.pb.gz")
        self.symbols = os.path.join(self.directory, "cache")
        os.mkdir(self.symbols)
        self.fetched = None
        self.new_folder()

    def new_folder(self):
        """Nothing was fetched yet."""
        self.fetched = os.path.join(temporary_directory(), "fetched")
        self.server.asked.clear()

    def environment(self, **more):
        return {"DEBUGINFOD_URLS": self.server.url(), "DEBUGINFOD_CACHE_PATH": self.fetched, "XDG_CACHE_HOME": self.symbols, **more}

    def names(self):
        """Of functions of the stripped program, with file and line."""
        return sorted(function.name for function in pprof_reader.decode(self.output).functions if function.filename.endswith("ground_truth.c"))

    def dump(self, *options, **more):
        return heapsnap_ok("dump", self.target.pid, "-o", self.output, *options, environment=self.environment(**more))


def not_asked(case):
    """Without the option there is no name, the line about that says what would help, and nobody is asked."""
    result = heapsnap("dump", case.target.pid, "-o", case.output, environment=case.environment())
    check_equal((result.status, case.names(), case.server.asked), (0, [], []), str(result))
    check(re.search(r"^Code without symbols: .*\bin stripped.*--debuginfod", result.stdout, re.M), str(result))


def refused(case):
    environment = case.environment()
    check_refused(heapsnap("dump", case.target.pid, "--debuginfod", environment={**environment, "DEBUGINFOD_URLS": " "}), "DEBUGINFOD_URLS")
    check_refused(heapsnap("dump", case.target.pid, "--debuginfod", environment={**environment, "PATH": "/nowhere"}), "debuginfod-find", "not installed")
    check_refused(heapsnap("report", case.output, "--debuginfod", environment=environment), "needs a process", status=2)
    check_refused(heapsnap("report", case.output, "--no-cache", environment=environment), "needs a process", status=2)
    check_refused(heapsnap("dump", case.target.pid, "--debuginfod-time", "5s", environment=environment), "--debuginfod", status=2)
    check_equal(case.server.asked, [], "what the server was asked for")


def not_there(case):
    result = case.dump("--debuginfod")
    check_equal((case.names(), case.server.asked.count(case.path), result["warnings"]), ([], 1, []), f"{result}")
    case.dump("--debuginfod", **CRASH)  # and what was kept without is still used
    check_equal(case.names(), [], "names")


def no_folder(case):
    result = case.dump("--debuginfod", DEBUGINFOD_CACHE_PATH=os.path.join(case.directory, "not", "there", "at all"))
    check(len(result["warnings"]) == 1 and "cannot be made" in result["warnings"][0], f"{result['warnings']}")


def too_slow(case):
    case.new_folder()
    case.server.hangs = True
    began = time.monotonic()
    result = case.dump("--debuginfod", "--debuginfod-time", "1s")
    check_equal((case.names(), len(case.server.asked)), ([], 1), f"{result}")
    check(any("within 1 s" in warning for warning in result["warnings"]), f"{result['warnings']}")
    say(f"  {time.monotonic() - began:.1f} s")
    case.server.hangs = False


def interrupted(case):
    """It goes on without; the child is gone."""
    case.new_folder()
    case.server.hangs = True
    process = start([HEAPSNAP, "dump", str(case.target.pid), "-o", case.output, "--debuginfod", "--no-cache"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    env={**os.environ, **case.environment()})
    wait_until(lambda: case.server.asked, "the server is asked")
    child = subprocess.run(["pgrep", "-P", str(process.pid), "debuginfod-find"], capture_output=True, text=True).stdout.split()
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    check_equal((process.returncode, case.names()), (0, []), f"{stdout} {stderr}")
    check(b"going on without" in stderr, f"{stderr}")
    check(child and not os.path.exists(f"/proc/{child[0]}"), f"the child {child} is left")
    case.server.hangs = False


def another_file(case):
    """One with another build id, which is as good a file as any."""
    case.new_folder()
    with open(target_path("libtruth_plugin.so"), "rb") as file:
        case.server.files[case.path] = file.read()
    result = case.dump("--debuginfod")
    check_equal((case.names(), case.server.asked.count(case.path)), ([], 1), "names, and how often the file was asked for")
    check(any("is another file's" in warning for warning in result["warnings"]), f"{result['warnings']}")
    check(os.path.getsize(os.path.join(case.fetched, case.build_id, "debuginfo")) > 0, "nothing was fetched")


def fetched(case):
    """What was kept without names gives way; later commands need neither the option nor the server."""
    case.new_folder()
    with open(case.debug, "rb") as file:
        case.server.files[case.path] = file.read()
    case.dump("--debuginfod")
    names = case.names()
    check("main" in names, f"{names}")
    check_equal(case.server.asked.count(case.path), 1, "how often the file was asked for")
    asked = len(case.server.asked)
    time.sleep(2.5)  # files that have just been changed are not kept by (file_trail.h)
    case.dump()
    check_equal((case.names(), len(case.server.asked)), (names, asked), "names by what was fetched before")
    case.dump("--debuginfod", **CRASH)
    check_equal(case.names(), names, "names that were kept")
    result = heapsnap("report", case.target.pid, "--debuginfod", "--no-cache", "--by", "function", "--all-frames", "--cumulative", environment=case.environment())
    check(result.status == 0 and re.search(r"\bsite_realloc_move\b", result.stdout), str(result))


def of_others(case):
    """The child has no rights but the user's, or those of the one who has run sudo; what it says is shown, and no terminal acts on it."""
    case.new_folder()
    folder = temporary_directory()
    script, said = os.path.join(folder, "debuginfod-find"), os.path.join(folder, "said")
    with open(script, "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\n{{ echo \"$@\"; cat /proc/self/status; ls /proc/self/fd; }} >{said}\nprintf 'x\\nno \\033[1m luck' >&2\nexit 1\n")
    os.chmod(script, 0o755)
    os.chmod(folder, 0o777)
    for user in [None] + ([1000] if root() else []):
        more = {"SUDO_UID": str(user), "SUDO_GID": str(user)} if user else {}
        result = case.dump("--debuginfod", PATH=f"{folder}:{os.environ['PATH']}", **more)
        with open(said, encoding="ascii") as file:
            text = file.read()
        check_equal(text.splitlines()[0].split()[0], "debuginfo", "what it is told")
        fields = dict(re.findall(r"^(\w+):\s*(.*)$", text, re.M))
        check_equal((int(fields["CapEff"], 16), int(fields["CapPrm"], 16), int(fields["CapInh"], 16), fields["NoNewPrivs"]), (0, 0, 0, "1"), "its rights")
        check_equal(set(fields["Uid"].split()), {str(os.getuid() if user is None else user)}, "its user")
        check_equal(len([line for line in text.splitlines() if re.fullmatch(r"\d+", line)]), 4, "its descriptors, with that of ls")
        check(any(r"no \x1b[1m luck" in warning for warning in result["warnings"]), f"{result['warnings']}")
        os.remove(said)


def main():
    if not has_program("debuginfod-find"):
        return
    case = Case()
    for step in (not_asked, refused, not_there, no_folder, too_slow, interrupted, another_file, fetched, of_others):
        say(f"{step.__name__.replace('_', ' ')}:")
        step(case)
    detach(case.target.pid)
    check_equal(case.target.ask("finish"), "ok", "contents of the blocks")
    case.target.end()


run_test(main, "debuginfod")

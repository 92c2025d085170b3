# SPDX-License-Identifier: Apache-2.0
"""Sites of real programs are their own code: of the first ten, by what was allocated, none is a library's frame. What was skipped to get to them, and by
which rule, goes to the log. usage: own_code.py [CASE...]"""

import os
import re
import subprocess
import urllib.request

from harness import HEAPSNAP, check, check_equal, connect_when_ready, free_port, heapsnap, heapsnap_ok, leave_out, run_cases, say, start, target_path, temporary_directory
from real_load import find, nginx_configuration

SITES = 10
SKIPPED_SHOWN = 12  # of a program


def recorded(directory, command, work=lambda process: None, options=(), **settings):
    """The JSON of what a command has allocated from its beginning to its end."""
    profile = os.path.join(directory, "end.pb.gz")
    process = start([HEAPSNAP, "run", "--exact", "-q", "--at-exit", profile, "--", *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **settings)
    work(process)
    errors = process.communicate(timeout=120)[1].decode(errors="replace")
    check_equal(process.returncode, 0, f"{command}: {errors}")
    return heapsnap_ok("report", profile, "--sort", "alloc-bytes", *options)


def check_sites(report, classes=("own",)):
    sites, skipped = report["sites"][:SITES], {}
    check_equal(len(sites), SITES, "sites")
    for site in sites:
        first = site["path"][0]
        for frame in site["stack"]:
            if (frame["function"], frame["line"]) == (first["function"], first["line"]):
                first.update(frame)
                break
            skipped[frame["function"] or frame["module"]] = f"{frame['class']}: {frame['why']}"
        say(f"  {site['alloc_bytes']:>12} {first['class']:8} {site['name']}   via {site['via']}")
    for name, why in sorted(skipped.items())[:SKIPPED_SHOWN]:
        say(f"    skipped {name}: {why}")
    wrong = [(site["name"], site["path"][0]["class"], site["path"][0]["why"]) for site in sites if site["path"][0]["class"] not in classes]
    check(not wrong, f"sites that are not the program's own code: {wrong}")


def redis():
    directory, port = temporary_directory(), free_port()

    def work(process):
        connection = connect_when_ready(port, process)
        subprocess.run([find("redis-benchmark"), "-p", str(port), "-q", "-n", "2000", "-d", "200", "-t", "set,get,incr,lpush,sadd,hset,zadd,mset"],
                       check=True, stdout=subprocess.DEVNULL, timeout=120)
        connection.sendall(b"*2\r\n$8\r\nSHUTDOWN\r\n$6\r\nNOSAVE\r\n")

    check_sites(recorded(directory, [find("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", directory], work))


def nginx():
    directory, port = temporary_directory(), free_port()
    os.mkdir(os.path.join(directory, "www"))
    with open(os.path.join(directory, "www", "index.html"), "w", encoding="utf-8") as file:
        file.write("x" * 10000)
    configuration = nginx_configuration(directory, port)
    with open(configuration, encoding="utf-8") as file:
        text = file.read().replace("master_process on", "master_process off")
    with open(configuration, "w", encoding="utf-8") as file:
        file.write(text)

    def work(process):
        connect_when_ready(port, process).close()
        for _ in range(20):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/index.html", timeout=20) as answer:
                check_equal(len(answer.read()), 10000, "the page")
        subprocess.run([find("nginx"), "-c", configuration, "-s", "quit"], check=True, stderr=subprocess.DEVNULL, timeout=60)

    check_sites(recorded(directory, [find("nginx"), "-c", configuration], work))


def clang():
    """Its code is in libraries that lie among the system's: docs/own-code.md says what to do then."""
    directory = temporary_directory()
    source = os.path.join(directory, "a.cc")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <map>\n#include <string>\nstd::map<std::string, int> m;\nint f() { return m[\"a\"]; }\n")
    command = [find("clang"), "-cc1", "-triple", "x86_64-pc-linux-gnu", "-emit-obj", "-O1", "-fcxx-exceptions", "-fexceptions", "-x", "c++",
               *(word for folder in include_folders() for word in ("-internal-isystem", folder)), "-o", os.path.join(directory, "a.o"), source]
    check_sites(recorded(directory, command, options=("--own", "libclang|libLLVM")))
    whole = ("report", os.path.join(directory, "end.pb.gz"), "--sort", "alloc-bytes")
    text = heapsnap(*whole).stdout
    hint = re.search(r"^One site holds (\d+) %, .* --own '(.*)'$", text, re.MULTILINE)
    check(hint and int(hint[1]) >= 80 and "libclang-cpp" in hint[2], f"the hint that these are clang's own: {text}")
    text = heapsnap(*whole, "--own", hint[2]).stdout
    check("--own" not in text, f"a hint that has been taken: {text}")


def include_folders():
    text = subprocess.run([find("clang"), "-E", "-x", "c++", "-v", "/dev/null"], check=True, capture_output=True, text=True, timeout=60).stderr
    return [line.strip() for line in text.split("search starts here:\n")[-1].split("End of search list")[0].splitlines()]


def rust():
    program = target_path("linked_rust")
    if not os.path.exists(program):
        leave_out("no program in Rust was built")
        return

    def work(process):
        for _ in range(3):
            process.stdin.write(b"begin\ngo\n")
        process.stdin.flush()
        process.stdin.close()
        process.stdin = None

    check_sites(recorded(temporary_directory(), [program], work, stdin=subprocess.PIPE))


def python():
    """Where a script runs, its sites are the functions of the interpreter that it has called, and no container's or library's inside."""
    directory = temporary_directory()
    script = "import json\nkept = [json.loads(json.dumps({str(i): [i] * 50 for i in range(200)})) for _ in range(50)]\nx = sorted(str(i) * 300 for i in range(2000))\n"
    report = recorded(directory, ["/usr/bin/python3", "-c", script], options=(), env={**os.environ, "PYTHONMALLOC": "malloc"})
    check_sites(report, ("own", "runtime"))


run_cases([redis, nginx, clang, rust, python], "own code")

# SPDX-License-Identifier: Apache-2.0
"""The payload's unwinder against libunwind-ptrace on frozen threads of programs at work. usage: compare.py UNWIND_COMPARE [PROGRAM...]"""

import http.client
import json
import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import harness
from harness import Target, check, connect_when_ready, free_port, run_test, say, start, stop, temporary_directory, wait_until
from real_load import find, nginx_configuration

STACKS = 1000      # of each program
LEAST = 2000       # in all
SHARE = 0.999      # of them must be the same


def compare(program, pid, stacks=STACKS):
    run = start([sys.argv[1], str(pid), str(stacks)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output, _ = run.communicate()   # it ends itself when it gets no further
    say(f"{program}, pid {pid}:\n{output.rstrip()}")
    check(run.returncode in (0, 1), f"{program}: the comparison could not be made, status {run.returncode}")
    return json.loads(output.splitlines()[-1])


def redis():
    directory, port = temporary_directory(), free_port()
    server = start([find("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                    "--dir", directory, "--daemonize", "no", "--logfile", directory + "/log"], stdout=subprocess.DEVNULL)
    connect_when_ready(port, server).close()
    load = start([find("redis-benchmark"), "-h", "127.0.0.1", "-p", str(port), "-r", "20000", "-d", "200", "-l", "-q", "-P", "8",
                  "-t", "set,get,incr,lpush,lpop,sadd,hset,spop,zadd,mset,lrange"], stdout=subprocess.DEVNULL)
    result = compare("redis-server", server.pid)
    check(load.poll() is None, "redis-benchmark ended")
    stop(load)
    stop(server)
    return result


def nginx():
    directory, port = temporary_directory(), free_port()
    os.mkdir(directory + "/www")
    for i in range(8):
        with open(f"{directory}/www/file{i}", "w") as file:
            file.write(f"file {i} " * (i * 4000 + 1))
    configuration = nginx_configuration(directory, port)
    master = start([find("nginx"), "-c", configuration, "-e", directory + "/error.log"])
    connect_when_ready(port, master).close()
    worker = int(wait_until(lambda: harness.read_text(f"/proc/{master.pid}/task/{master.pid}/children").split(), "a worker")[0])
    ends, failures = threading.Event(), []

    def ask(number):
        try:
            while not ends.is_set():
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
                for _ in range(10):
                    number += 1
                    connection.request("GET", f"/file{number % 8}", headers={"Accept-Encoding": "gzip" if number % 3 else "identity"})
                    connection.getresponse().read()
                connection.close()
        except Exception as error:
            failures.append(error)

    clients = [threading.Thread(target=ask, args=(i,), daemon=True) for i in range(2)]
    for client in clients:
        client.start()
    try:
        result = compare("nginx worker", worker)
    finally:
        ends.set()
        for client in clients:
            client.join(40)
    check(not failures, f"a client failed: {failures}")
    stop(master)
    return result


def python():
    script = os.path.join(os.path.dirname(os.path.abspath(harness.__file__)), "python_load.py")
    target = Target("python3", command=[find("python3"), script])
    target.send("work 1000000")
    result = compare("python3", target.pid)
    stop(target.process)
    return result


def own(name, *arguments, stacks=STACKS):
    target = Target(name, *arguments)
    result = compare(name, target.pid, stacks)
    target.end()
    return result


PROGRAMS = {"redis": redis, "nginx": nginx, "python": python, "cycles": lambda: own("cycles", 8),
            "cpp_program": lambda: own("cpp_program"), "hard_stacks": lambda: own("hard_stacks"),
            "hard_stacks_static_pie": lambda: own("hard_stacks_static_pie", stacks=300)}


def main():
    names = sys.argv[2:] or list(PROGRAMS)
    if not os.path.exists(harness.target_path("cpp_program")) and not sys.argv[2:]:
        names.remove("cpp_program")
        harness.leave_out("cpp_program was not built")
    results = [PROGRAMS[name]() for name in names]
    total = {key: sum(result[key] for result in results) for key in results[0]}
    say(f"all programs: {total['equal']} of {total['stacks']} stacks with the same frames, {total['mismatches']} differences "
        f"without explanation; walks by reuse {total['reuse']}, by rules {total['rules']}, with all registers {total['registers']}")
    check(total["mismatches"] == 0, "there are differences without an explanation")
    check(total["equal"] >= SHARE * total["stacks"], f"fewer than {100 * SHARE} % are the same")
    check(len(names) < 4 or total["stacks"] >= LEAST, f"fewer than {LEAST} stacks were compared")
    for way in ("reuse", "rules", "registers"):
        check(total[way] > 0, f"no walk took the way: {way}")


run_test(main, "unwind compare")

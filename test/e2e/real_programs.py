# SPDX-License-Identifier: Apache-2.0
"""Attach, work, dump twice, detach, work on: with a real program and clients that count and check every answer.
usage: real_programs.py PROGRAM"""

import http.client
import os
import re
import shutil
import socket
import subprocess
import sys

import harness
import profiles
import python_load
from harness import (Unharmed, check, check_equal, connect_when_ready, free_port, only_child, run_test, say, start, stop, temporary_directory,
                     wait_until)
from real_load import Client, attach_dump_detach, find, nginx_configuration

# redis


class RedisConnection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.file = self.socket.makefile("rb")

    def command(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        line = self.file.readline()
        check(line.endswith(b"\r\n"), f"the server closed the connection: {line!r}")
        kind, rest = line[:1], line[1:-2]
        check(kind != b"-", f"the server says: {rest!r}")
        if kind == b"$":
            size = int(rest)
            return None if size < 0 else self.file.read(size + 2)[:-2]
        return rest

    def close(self):
        self.file.close()
        self.socket.close()


def redis(container=()):
    directory, port = temporary_directory(), free_port()
    server = start([*container, find("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", directory,
                    "--daemonize", "no", "--logfile", directory + "/log"], stdout=subprocess.DEVNULL)
    connect_when_ready(port, server).close()
    pid = only_child(server.pid) if container else server.pid
    benchmark = [find("redis-benchmark"), "-h", "127.0.0.1", "-p", str(port), "-r", "20000", "-d", "200", "-t",
                 "set,get,incr,lpush,lpop,sadd,hset,spop,zadd,mset"]

    def ask(connection, number):
        value = f"value {number} " * (number % 60 + 1)
        check_equal(connection.command("SET", f"own:{number % 500}", value), b"OK", "SET")
        check_equal(connection.command("GET", f"own:{number % 500}"), value.encode(), "GET")
        if number % 10 == 0:
            check_equal(connection.command("DEL", f"own:{number % 500}"), b"1", "DEL")

    subprocess.run(benchmark + ["-q", "-n", "5000"], check=True, stdout=subprocess.DEVNULL, timeout=120)  # warm
    control = RedisConnection(port)
    run_id = re.search(rb"run_id:(\w+)", control.command("INFO", "server"))[1]
    before = Unharmed(pid)  # the control connection among the descriptors

    connection = RedisConnection(port)
    client = Client(lambda number: ask(connection, number))
    load = start(benchmark + ["-q", "-n", "8000" if container else "40000", "-c", "20"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    attach_dump_detach(pid, lambda: client.wait_for_more(300), before,
                       r"z(try)?(malloc|calloc|realloc)|sds|createObject|createStringObject|createEmbedded|dict", directory,
                       descriptors_may_change=True)
    output = load.communicate(timeout=300)[0].decode(errors="replace")
    check_equal(load.returncode, 0, f"redis-benchmark: {output[-2000:]}")
    check(not re.search("error|refused|reset", output, re.I), f"redis-benchmark complains: {output[-2000:]}")
    answers = client.finish()
    connection.close()
    check_equal(control.command("PING"), b"PONG", "PING")
    check_equal(re.search(rb"run_id:(\w+)", control.command("INFO", "server"))[1], run_id, "run id: the same server")
    check(server.poll() is None, "the server ended")
    before.check_after(memory_may_change=True, settle=5)
    control.close()
    if container:
        control = RedisConnection(port)
        control.socket.sendall(b"SHUTDOWN NOSAVE\r\n")
        check_equal(server.wait(60), 0, "exit status of the container")
    else:
        check_equal(stop(server), 0, "exit status of the server")
    say(f"redis-server: {answers} own requests with right answers, redis-benchmark without an error")


# nginx


def nginx():
    directory, port = temporary_directory(), free_port()
    os.mkdir(directory + "/www")
    bodies = {f"/file{i}": (f"file {i} " * (i * 400 + 1)).encode() for i in range(8)}
    for name, body in bodies.items():
        with open(directory + "/www" + name, "wb") as file:
            file.write(body)
    bodies["/text"] = b"a text from the configuration"
    configuration = nginx_configuration(directory, port, 'location = /text { return 200 "a text from the configuration"; }')
    master = start([find("nginx"), "-c", configuration, "-e", directory + "/error.log"])
    connect_when_ready(port, master).close()
    worker = int(wait_until(lambda: harness.read_text(f"/proc/{master.pid}/task/{master.pid}/children").split(), "a worker")[0])

    names = sorted(bodies)

    def ask_new_connection(number):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        ask(connection, number)
        connection.close()

    def ask(connection, number):
        name = names[number % len(names)]
        connection.request("GET", name, headers={"Accept-Encoding": "identity"})
        response = connection.getresponse()
        body = response.read()
        check_equal((response.status, body), (200, bodies[name]), name)

    for number in range(100):  # warm
        ask_new_connection(number)

    def closed_connections():
        """The worker has noticed that the warming clients are gone: the listener and its own pairs are all that is left."""
        connections = harness.read_text(f"/proc/{worker}/net/tcp").splitlines()[1:]
        inodes = {fields[9] for fields in map(str.split, connections) if fields[1].endswith(f":{port:04X}") and fields[3] != "0A"}
        return not [link for link in harness.descriptors(worker).values() if link[8:-1] in inodes]

    wait_until(closed_connections, "the worker has closed the connections")
    before = Unharmed(worker)

    def idle():
        return harness.descriptors(worker) == before.descriptors

    kept = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    clients = [Client(ask_new_connection), Client(lambda number: ask(kept, number))]
    load = None
    if shutil.which("ab", path="/usr/bin:/usr/sbin"):
        load = start([find("ab"), "-q", "-c", "8", "-n", "30000", f"http://127.0.0.1:{port}/file3"], stdout=subprocess.PIPE,
                     stderr=subprocess.STDOUT)

    def work():
        for client in clients:
            client.wait_for_more(100)

    attach_dump_detach(worker, work, before, r"ngx_(alloc|calloc|palloc|pnalloc|pcalloc|memalign|create_pool|http_)", directory,
                       descriptors_may_change=True)
    answers = sum(client.finish() for client in clients)
    kept.close()
    if load:
        output = load.communicate(timeout=300)[0].decode(errors="replace")
        check_equal(load.returncode, 0, f"ab: {output[-2000:]}")
        check(re.search(r"Complete requests:\s+30000\n", output) and re.search(r"Failed requests:\s+0\n", output)
              and "Non-2xx" not in output, f"ab complains: {output[-2000:]}")
    wait_until(idle, "the worker has closed the connections")
    check_equal(harness.read_text(f"/proc/{master.pid}/task/{master.pid}/children").split(), [str(worker)], "the same worker")
    before.check_after(memory_may_change=True, settle=5)
    check_equal(stop(master), 0, "exit status of nginx")
    errors = [line for line in harness.read_text(directory + "/error.log").splitlines() if re.search(r"\[(alert|crit|emerg|error)\]", line)]
    check(not errors, f"nginx complains: {errors}")
    say(f"nginx: {answers} own requests with the right bodies" + (", 30000 requests of ab, none failed" if load else ""))


def redis_in_container():
    """PID, mount and user namespaces of its own; the tool is outside."""
    redis(["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount", "--mount-proc"])


# python


def python(preload=None):
    """With `preload`, that library is its allocator, for every single object."""
    directory = temporary_directory()
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_load.py")
    setting = ["env", "PYTHONMALLOC=malloc", f"LD_PRELOAD={preload}"] if preload else []
    target = harness.Target("python3", command=[*setting, find("python3"), script])
    if preload:
        check(any(preload in mapping.name for mapping in harness.mappings(target.pid)), f"{preload} is not loaded")
    rounds = 20 if preload else 40
    expected = " ".join(python_load.checksum(seed, rounds) for seed in range(python_load.THREADS))
    check_equal(target.ask(f"work {rounds}"), expected, "checksums before attach")
    before = Unharmed(target.pid)
    client = Client(lambda number: check_equal(target.ask(f"work {rounds}"), expected, "checksums"))
    paths = attach_dump_detach(target.pid, lambda: client.wait_for_more(2), before, r"_?Py", directory)
    # Each piece of work keeps 200 strings of some 1000 bytes; between two of them that were waited for lies a whole one.
    for path, pieces in zip(paths, (1, 3)):
        live = sum(values.live_bytes for _, values in profiles.samples(path))
        check(live >= pieces * 200 * 1000, f"{live} bytes are live after {pieces} whole pieces of work")
    answers = client.finish()
    before.check_after(memory_may_change=True)
    check_equal(target.ask(f"work {rounds}"), expected, "checksums after detach")
    target.end()
    say(f"python3: {answers * python_load.THREADS} checksums of work with documents, compression and a database, all right")


PROGRAMS = {"redis": redis, "redis_in_container": redis_in_container, "nginx": nginx, "python": python,
            "python_tcmalloc": lambda: python("libtcmalloc_minimal.so.4"), "python_mimalloc": lambda: python("libmimalloc.so.2")}


def main():
    PROGRAMS[sys.argv[1]]()


run_test(main, f"real programs: {sys.argv[1]}")

# SPDX-License-Identifier: Apache-2.0
"""Attach, work, dump twice, detach, work on: with a real program and clients that count and check every answer.
usage: real_programs.py redis|nginx|python"""

import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import threading

import harness
import profiles
import python_load
from harness import (Unharmed, attach, check, check_equal, connect_when_ready, detach, dump, free_port, run_test, say, start, stop,
                     temporary_directory, wait_until)

DUMPS = ("first.pb.gz", "second.pb.gz")


def find(program):
    path = shutil.which(program, path="/usr/bin:/usr/sbin:/usr/local/bin")
    check(path, f"{program} is not installed")
    return path


class Client(threading.Thread):
    """Asks and checks until it is told to stop. Counts requests and right answers; keeps the first thing that went wrong."""

    def __init__(self, ask):
        super().__init__(daemon=True)
        self.ask, self.ends = ask, threading.Event()
        self.requests, self.answers, self.error = 0, 0, None
        self.start()

    def run(self):
        try:
            while not self.ends.is_set():
                self.requests += 1
                self.ask(self.requests)
                self.answers += 1
        except Exception as error:  # whatever it is, it is what the test must show
            self.error = error

    def wait_for_more(self, count):
        goal = self.answers + count
        wait_until(lambda: self.error or self.answers >= goal, f"{count} more answers", 60)
        check(self.error is None, f"a client failed: {self.error!r}")

    def finish(self):
        self.ends.set()
        self.join(60)
        check(not self.is_alive(), "a client got no answer")
        check(self.error is None, f"a client failed: {self.error!r}")
        check_equal(self.answers, self.requests, "answers and requests")
        return self.answers


def attach_dump_detach(pid, work, before, expected, directory, **may_change):
    """Two dumps with work before, between and after. Returns the paths of the profiles."""
    report = attach(pid)
    say(f"  attached: {report['hooks']} hooks, {report['hooks_refused']} refused, {report['modules']} modules, "
        f"{report['threads']} threads, stopped {report['stopped_us']} us")
    paths = [os.path.join(directory, name) for name in DUMPS]
    for path in paths:
        work()
        before.check_attached(**may_change)
        result = dump(pid, path)
        say(f"  dump: {result['live_objects']} live objects, {result['live_bytes']} bytes, {len(result['sites'])} sites, "
            f"{result['bytes']} bytes of file, stopped {result['stopped_us']} us, {result['total_us']} us in all; losses: "
            + str([f"{line['text']}: {line['value']}" for line in result["ledger"] if line["loss"] and line["value"]]))
    work()
    result = detach(pid)
    say(f"  detached, verified: stopped {result['stopped_us']} us, waited {result['waited_ms']} ms")
    work()
    for path in paths:
        profiles.check_reader_is_content(path)
        names = profiles.function_names(path)
        found = sorted(name for name in names if re.match(expected, name))
        check(found, f"no function like {expected} among {len(names)}: {sorted(names)[:50]}")
        stacks = profiles.samples(path)
        named = sum(values.alloc_bytes for stack, values in stacks if stack and not stack[0].startswith("0x"))
        total = sum(values.alloc_bytes for _, values in stacks)
        check(total > 0, "nothing was allocated")
        say(f"  profile: {len(stacks)} stacks, {len(names)} functions, {100 * named / total:.1f} % of bytes have a named site, {found[:4]}")
    return paths


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


def redis():
    directory, port = temporary_directory(), free_port()
    server = start([find("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", directory,
                    "--daemonize", "no", "--logfile", directory + "/log"], stdout=subprocess.DEVNULL)
    connect_when_ready(port, server).close()
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
    before = Unharmed(server.pid)  # the control connection among the descriptors

    connection = RedisConnection(port)
    client = Client(lambda number: ask(connection, number))
    load = start(benchmark + ["-q", "-n", "40000", "-c", "20"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    attach_dump_detach(server.pid, lambda: client.wait_for_more(300), before,
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
    user = "user root;" if os.geteuid() == 0 else ""
    with open(directory + "/nginx.conf", "w") as file:
        file.write(f"""
daemon off; master_process on; worker_processes 1; {user}
pid {directory}/pid; error_log {directory}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log {directory}/access.log;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy; fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
  gzip on; gzip_types text/plain; gzip_min_length 1;
  server {{
    listen 127.0.0.1:{port};
    root {directory}/www;
    location = /text {{ return 200 "a text from the configuration"; }}
  }}
}}
""")
    master = start([find("nginx"), "-c", directory + "/nginx.conf", "-e", directory + "/error.log"])
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


# python


def python():
    directory = temporary_directory()
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_load.py")
    target = harness.Target("python3", command=[find("python3"), script])
    rounds = 40
    expected = " ".join(python_load.checksum(seed, rounds) for seed in range(python_load.THREADS))
    check_equal(target.ask(f"work {rounds}"), expected, "checksums before attach")
    before = Unharmed(target.pid)
    client = Client(lambda number: check_equal(target.ask(f"work {rounds}"), expected, "checksums"))
    attach_dump_detach(target.pid, lambda: client.wait_for_more(2), before, r"_?Py", directory)
    answers = client.finish()
    before.check_after(memory_may_change=True)
    check_equal(target.ask(f"work {rounds}"), expected, "checksums after detach")
    target.end()
    say(f"python3: {answers * python_load.THREADS} checksums of JSON work, all right")


def main():
    {"redis": redis, "nginx": nginx, "python": python}[sys.argv[1]]()


run_test(main, f"real programs: {sys.argv[1]}")

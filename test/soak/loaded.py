# SPDX-License-Identifier: Apache-2.0
"""Real programs that work for clients all the time, as subjects of a soak."""

import http.client
import os
import shutil
import threading

import python_load
from harness import (Target, check, check_equal, connect_when_ready, descriptors, free_port, read_text, start, stop, temporary_directory,
                     wait_until)
from programs import Counting, Skipped, Subject


def find(program):
    path = shutil.which(program, path="/usr/bin:/usr/sbin:/usr/local/bin")
    if not path:
        raise Skipped(f"{program} is not installed")
    return path


class Client(threading.Thread):
    """Asks without end and checks each answer. Keeps the first thing that went wrong."""

    def __init__(self, ask):
        super().__init__(daemon=True)
        self.ask, self.ends, self.stands, self.goes = ask, threading.Event(), threading.Event(), threading.Event()
        self.answers, self.error = 0, None
        self.goes.set()
        self.start()

    def run(self):
        try:
            while not self.ends.is_set():
                self.ask(self.answers)
                self.answers += 1
                if not self.goes.is_set():
                    self.stands.set()
                    self.goes.wait()
                    self.stands.clear()
        except Exception as error:  # whatever it is, it is what must be told
            self.error = error
            self.stands.set()


class Served(Subject):
    """A program with clients that keep their connections. It stands still when they do."""
    memory_may_change = True

    def __init__(self, pid, asks, finish):
        super().__init__(pid)
        self.clients, self.finish = [Client(ask) for ask in asks], finish
        self.check_works()
        self.settle()
        self.begin()

    def settle(self):
        """Warm: what it opens and maps while it works is there."""
        goal = self.clients[0].answers + 200
        wait_until(lambda: self.clients[0].error or self.clients[0].answers >= goal, "warm", 60)

    def check_works(self):
        for client in self.clients:
            goal = client.answers + 3
            wait_until(lambda: client.error or client.answers >= goal, "the clients get answers", 60)
            check(client.error is None, f"a client failed: {client.error!r}")

    def pause(self):
        for client in self.clients:
            client.goes.clear()
        for client in self.clients:
            check(client.stands.wait(60), "a client gets no answer")
            check(client.error is None, f"a client failed: {client.error!r}")

    def go_on(self):
        for client in self.clients:
            client.goes.set()

    def check_unchanged(self):
        self.pause()
        self.before.check_after(memory_may_change=True, settle=10)
        self.go_on()

    def end(self):
        for client in self.clients:
            client.ends.set()
        for client in self.clients:
            client.goes.set()
            client.join(60)
            check(not client.is_alive() and client.error is None, f"a client failed: {client.error!r}")
        self.finish()


def redis():
    directory, port = temporary_directory(), free_port()
    server = start([find("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", directory,
                    "--daemonize", "no", "--logfile", directory + "/log"])

    def connection(seed):
        stream = connect_when_ready(port, server)
        file = stream.makefile("rb")

        def command(*words):
            words = [word.encode() for word in words]
            stream.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
            line = file.readline()
            check(line.endswith(b"\r\n") and not line.startswith(b"-"), f"the server says {line!r}")
            return file.read(int(line[1:]) + 2)[:-2] if line.startswith(b"$") else line[1:-2]

        def ask(number):
            key, value = f"key:{seed}:{number % 700}", f"value {number} " * (number % 90 + 1)
            check_equal(command("SET", key, value), b"OK", "SET")
            check_equal(command("GET", key), value.encode(), "GET")
            check_equal(command("HSET", f"hash:{seed}", str(number % 300), value) in (b"0", b"1"), True, "HSET")
            check_equal(command("HGET", f"hash:{seed}", str(number % 300)), value.encode(), "HGET")
            if number % 3 == 0:
                check_equal(command("DEL", key), b"1", "DEL")
        return ask

    return Served(server.pid, [connection(seed) for seed in range(2)], lambda: check_equal(stop(server), 0, "exit status of redis"))


def nginx():
    directory, port = temporary_directory(), free_port()
    os.mkdir(directory + "/www")
    bodies = [(f"file {i} " * (i * 400 + 1)).encode() for i in range(8)]
    for i, body in enumerate(bodies):
        with open(f"{directory}/www/file{i}", "wb") as file:
            file.write(body)
    user = "user root;" if os.geteuid() == 0 else ""
    with open(directory + "/nginx.conf", "w") as file:
        file.write(f"""
daemon off; master_process on; worker_processes 1; {user}
pid {directory}/pid; error_log {directory}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 1000000;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy; fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
  gzip on; gzip_types text/plain; gzip_min_length 1;
  server {{ listen 127.0.0.1:{port}; root {directory}/www; }}
}}
""")
    master = start([find("nginx"), "-c", directory + "/nginx.conf", "-e", directory + "/error.log"])
    connect_when_ready(port, master).close()
    worker = int(wait_until(lambda: read_text(f"/proc/{master.pid}/task/{master.pid}/children").split(), "a worker")[0])
    wait_until(lambda: len([link for link in descriptors(worker).values() if link.startswith("socket")]) <= 2, "the first connection is closed")

    def connection(seed):
        kept = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

        def ask(number):
            i = (number + seed) % len(bodies)
            kept.request("GET", f"/file{i}", headers={"Accept-Encoding": "identity" if number % 2 else "gzip"})
            response = kept.getresponse()
            body = response.read()
            check_equal((response.status, body == bodies[i] or number % 2 == 0), (200, True), f"file {i}")
        return ask

    return Served(worker, [connection(seed) for seed in range(2)], lambda: check_equal(stop(master), 0, "exit status of nginx"))


def python():
    script = os.path.join(os.path.dirname(os.path.abspath(python_load.__file__)), "python_load.py")
    target = Target("python3", command=[find("python3"), script])
    rounds = 3
    expected = " ".join(python_load.checksum(seed, rounds) for seed in range(python_load.THREADS))
    subject = None

    def ask(_number):
        check_equal(target.ask(f"work {rounds}"), expected, "checksums")

    class Python(Served):
        def settle(self):
            wait_until(lambda: self.clients[0].error or self.clients[0].answers >= 10, "warm", 60)

        def check_works(self):
            goal = self.clients[0].answers + 1
            wait_until(lambda: self.clients[0].error or self.clients[0].answers >= goal, "python answers", 60)
            check(self.clients[0].error is None, f"a checksum is wrong: {self.clients[0].error!r}")

    subject = Python(target.pid, [ask], target.end)
    return subject


def eight_threads():
    return Counting(Target("cycles", 8))


LOADED = [("eight threads at full speed", eight_threads), ("redis with clients", redis), ("nginx with clients", nginx),
          ("python3 with threads", python)]

# SPDX-License-Identifier: Apache-2.0
"""What the tests with real programs have in common: programs found and started, clients that check every answer, the course of a test."""

import os
import re
import shutil
import threading

import profiles
from harness import attach, check, check_equal, detach, dump, say, wait_until

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
    """Two dumps with work before, between and after. `expected`: what the name of some function must match; None where the program has no
    symbols. Returns the paths of the profiles."""
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
        found = sorted(name for name in names if re.match(expected or "", name))
        check(found or not expected, f"no function like {expected} among {len(names)}: {sorted(names)[:50]}")
        stacks = profiles.samples(path)
        named = sum(values.alloc_bytes for stack, values in stacks if stack and profiles.is_named(stack[0]))
        total = sum(values.alloc_bytes for _, values in stacks)
        check(total > 0, "nothing was allocated")
        say(f"  profile: {len(stacks)} stacks, {len(names)} functions, {100 * named / total:.1f} % of bytes have a named site, {found[:4]}")
    return paths


def nginx_configuration(directory, port, more=""):
    """Writes a configuration for one worker that serves `directory`/www on loopback; returns its path."""
    path = directory + "/nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""
    with open(path, "w") as file:
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
    {more}
  }}
}}
""")
    return path

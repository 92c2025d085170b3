# SPDX-License-Identifier: Apache-2.0
"""Every command of docs/tutorial.md, in turn, as a reader would type it: it works, and says what the text says. Times are shorter, the port is a free one."""

import os
import re
import subprocess
import sys

from harness import HEAPSNAP, check, check_equal, free_port, leave_out, run_test, say, start, stop, temporary_directory

TUTORIAL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/tutorial.md")
# What a command's output must have, beside ending well.
SAYS = {
    "heapsnap why": [r"^Process \d+ watched for ", r"^Steady leak|^.*grow", r"dbAdd", r"< hsetCommand"],
    "heapsnap attach": [r"^attached to \d+"],
    "heapsnap dump": [r"^Process RSS ", r"dbAdd", r"\.pb\.gz: "],
    "heapsnap diff": [r"^ *\+.*dbAdd"],
    "heapsnap report second.pb.gz --by": [r"dbAdd"],
    "heapsnap report second.pb.gz --tree": [r"main"],
    "heapsnap report second.pb.gz --focus": [r"dbAdd"],
    "heapsnap status": [r"redis"],
    "heapsnap detach": [r"no mapping of heapsnap left +yes"],
}


def commands(text):
    """The lines of its blocks; one that ends in | or is inside of a loop goes on in the next."""
    for block in re.findall(r"^```sh\n(.*?)^```$", text, re.S | re.M):
        yield from block.replace("|\n", "| ").splitlines()


class Shell:
    """One bash for all commands, which keeps its variables."""

    def __init__(self, directory):
        tools = os.path.join(directory, "bin")
        os.mkdir(tools)
        os.symlink(HEAPSNAP, os.path.join(tools, "heapsnap"))
        environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
        self.process = start(["bash"], cwd=directory, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, command):
        self.process.stdin.write(f"{command}\necho \"-- ended: $?\"\n".encode())
        self.process.stdin.flush()
        lines = []
        while True:
            line = self.process.stdout.readline().decode()
            check(line, f"the shell ended at: {command}")
            match = re.match(r"-- ended: (\d+)$", line)
            if match:
                return int(match[1]), "".join(lines)
            lines.append(line)


def main():
    for program in ("redis-server", "redis-cli"):
        if subprocess.run(["which", program], stdout=subprocess.DEVNULL, check=False).returncode:
            leave_out(f"no {program}")
            return
    with open(TUTORIAL, encoding="utf-8") as file:
        text = file.read()
    port = str(free_port())
    shell, seen = Shell(temporary_directory()), set()
    for command in commands(text):
        command = command.replace("6390", port).replace("--for 20s", "--for 6s").replace("sleep 5", "sleep 1")
        status, output = shell.run(command)
        check_equal(status, 0, f"exit status of {command!r}: {output}")
        for words, patterns in SAYS.items():
            if command.startswith(words):
                seen.add(words)
                for pattern in patterns:
                    check(re.search(pattern, output, re.M), f"{command!r} does not say {pattern!r}:\n{output}")
    check_equal(sorted(set(SAYS) - seen), [], "commands that the tutorial does not have")
    for program in set(re.findall(r"^heapsnap (\w+)", "\n".join(commands(text)), re.M)):
        say(f"  heapsnap {program}")
    stop(shell.process)


run_test(main, "tutorial")

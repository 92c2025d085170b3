# SPDX-License-Identifier: Apache-2.0
"""node: stacks go through V8's builtins and the code that it makes, up to the program's beginning."""

import os
import shutil
import subprocess

from harness import attach, check, check_equal, detach, heapsnap_ok, leave_out, run_test, say, start, stop, temporary_directory, wait_until

# Answers a line with a line when the blocks are there, all of them from code that has been compiled by then.
SCRIPT = """
const keep = [];
function block(i) { keep.push(Buffer.allocUnsafeSlow(1000 + i % 7)); }
function blocks(count) { for (let i = 0; i < count; i++) block(i); if (keep.length > 50000) keep.length = 0; }
process.stdin.on('data', () => { blocks(2000); process.stdout.write('done\\n'); });
blocks(20000);
process.stdout.write('ready\\n');
"""


def main():
    program = shutil.which("node") or shutil.which("nodejs")
    if not program:
        leave_out("no node here")
        return
    script = os.path.join(temporary_directory(), "blocks.js")
    with open(script, "w") as file:
        file.write(SCRIPT)
    node = start([program, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    check_equal(node.stdout.readline(), b"ready\n", "node's first line")
    attach(node.pid, "--exact")
    for _ in range(10):
        node.stdin.write(b"go\n")
        node.stdin.flush()
        check_equal(node.stdout.readline(), b"done\n", "node's answer")
    ledger = {line["name"]: line["value"] for line in heapsnap_ok("dump", node.pid)["ledger"]}
    cut = sum(ledger.get(f"stack_cut_{reason}", 0) for reason in ("no_unwind_info", "out_of_bounds", "no_progress", "bad_unwind_info"))
    say(f"  {ledger['allocations']} allocations recorded, {cut} stacks end early")
    check(ledger["allocations"] >= 20000, f"too few allocations: {ledger}")
    check(cut < ledger["allocations"] / 20, f"{cut} of {ledger['allocations']} stacks end early")
    detach(node.pid)
    node.stdin.write(b"go\n")
    node.stdin.flush()
    check_equal(node.stdout.readline(), b"done\n", "node's answer after the detach")
    stop(node)


run_test(main, "node")

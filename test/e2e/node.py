# SPDX-License-Identifier: Apache-2.0
"""node: stacks go through V8's builtins and the code that it makes, up to the program's beginning."""

import os
import shutil
import subprocess

from harness import attach, check, check_equal, detach, heapsnap_ok, leave_out, run_cases, say, start, stop, temporary_directory

NODE = shutil.which("node") or shutil.which("nodejs")

# Answers a line with a line when the blocks are there.
SCRIPT = """
const keep = [];
function block(i) { keep.push(Buffer.allocUnsafeSlow(1000 + i % 7)); }
function blocks(count) { for (let i = 0; i < count; i++) block(i); if (keep.length > 50000) keep.length = 0; }
process.stdin.on('data', () => { blocks(2000); process.stdout.write('done\\n'); });
blocks(20000);
process.stdout.write('ready\\n');
"""


def result_of(*options):
    """What a dump says of node with these options, after some twenty thousand blocks."""
    folder = temporary_directory()
    script = os.path.join(folder, "blocks.js")
    with open(script, "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    node = start([NODE, *options, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder)
    try:
        check_equal(node.stdout.readline(), b"ready\n", "node's first line")
        attach(node.pid, "--exact")
        for _ in range(10):
            node.stdin.write(b"go\n")
            node.stdin.flush()
            check_equal(node.stdout.readline(), b"done\n", "node's answer")
        result = heapsnap_ok("dump", node.pid)
        detach(node.pid)
        node.stdin.write(b"go\n")
        node.stdin.flush()
        check_equal(node.stdout.readline(), b"done\n", "node's answer after the detach")
    finally:
        stop(node)
        if "--perf-basic-prof" in options:
            os.unlink(f"/tmp/perf-{node.pid}.map")
    ledger = {line["name"]: line["value"] for line in result["ledger"]}
    cut = sum(ledger.get(f"stack_cut_{reason}", 0) for reason in ("no_unwind_info", "out_of_bounds", "no_progress", "bad_unwind_info"))
    say(f"  {ledger['allocations']} allocations recorded, {cut} stacks end early")
    check(ledger["allocations"] >= 20000, f"too few allocations: {ledger}")
    check(cut < ledger["allocations"] / 100, f"{cut} of {ledger['allocations']} stacks end early")
    return result


def stack_of_blocks(result):
    """The names of the frames that nearly all blocks have."""
    sites = sorted(result["sites"], key=lambda site: site["live_objects"])
    check(sites[-1]["live_objects"] >= 20000, f"too few blocks at one site: {sites[-1]}")
    say(f"  {sites[-1]['function']} {sites[-1]['file']}:{sites[-1]['line']}")
    names = [frame["function"] for frame in sites[-1]["stack"]]
    say(" < ".join(names))
    check_equal(names[-1], "_start", "the outermost frame")
    return sites[-1], names


def compiled():
    """All blocks are of code that has been compiled by then."""
    result_of()


def interpreted():
    """Nothing is optimized: node's functions are called through a builtin in its own file, which code that V8 made has called."""
    stack_of_blocks(result_of("--no-opt"))


def named():
    """V8 makes code for each interpreted function, and so has a name for all."""
    site, names = stack_of_blocks(result_of("--perf-basic-prof", "--interpreted-frames-native-stack"))
    check((site["function"], os.path.basename(site["file"]), site["line"]) in (("JS:block", "blocks.js", 3), ("JS:blocks", "blocks.js", 4)), f"the function that makes the blocks: {site}")
    check("JS:onStreamRead" in names, f"a function of node's own: {names}")
    check(any("CEntry" in name or "CallApiCallback" in name for name in names), "V8's builtin between made code and node's")


def no_node():
    leave_out("no node here")


run_cases([compiled, interpreted, named] if NODE else [no_node], "node")

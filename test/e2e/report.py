# SPDX-License-Identifier: Apache-2.0
"""What report and diff show of profiles, in all their forms: rows by site, function and the like, trees, parts of the stacks, orders; differences, as text and
as a file, which the real pprof sees as it sees its own; JSON; and of a process what a dump of it shows.
usage: report.py [CASE...]"""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios

import made_profile
import pprof_reader
import profiles
from harness import HEAPSNAP, Target, attach, check, check_equal, check_refused, detach, dump, heapsnap, run_cases, say, target_path, temporary_directory
from report_expected import (DIFFERENCE, DIFF_HEAD, DIFFS, END, ESTIMATED, ESTIMATES, EXACT, HANDLE, HEAD, LATER, LOG, MIB, PUSH, PUT, REPORTS, STACKS,
                             TERMINALS)


def make():
    folder = temporary_directory()
    old, new = os.path.join(folder, "old.pb.gz"), os.path.join(folder, "new.pb.gz")
    made_profile.write(old, STACKS)
    made_profile.write(new, LATER, time_ns=1700000030 * 10**9, duration_ns=33 * 10**9)
    return old, new


def output(*arguments):
    result = heapsnap(*arguments)
    check_equal((result.status, result.stderr), (0, ""), str(result))
    return result.stdout


def on_terminal(columns, *arguments, status=0):
    """What is shown on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([HEAPSNAP, *arguments], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        text = b""
        while True:
            try:
                data = os.read(ours, 65536)
            except OSError:  # EIO: nobody has the other end any more
                break
            if not data:
                break
            text += data
    os.close(ours)
    check_equal(process.returncode, status, f"exit status: {text}")
    return text.decode().replace("\r\n", "\n")


def rows():
    old, _ = make()
    for arguments, expected in REPORTS:
        check_equal(output("report", old, *arguments), HEAD + expected + END, f"report {' '.join(arguments)}")
    say(f"  {len(REPORTS)} ways to look at a profile")


def changes():
    old, new = make()
    for arguments, expected in DIFFS:
        check_equal(output("diff", old, new, *arguments), DIFF_HEAD + expected, f"diff {' '.join(arguments)}")
    check_equal(output("diff", old, old), "Recorded live 33.0 MiB in 51 blocks, before 33.0 MiB in 51: 0 B, 0 blocks\n", "what did not change")
    other = os.path.join(os.path.dirname(old), "other.pb.gz")  # another attach has no rate, and is no reason for one
    made_profile.write(other, LATER, time_ns=1700000030 * 10**9, duration_ns=9 * 10**9)
    text = output("diff", old, other)
    check("30 s between the two\n" in text and "different attaches" in text and "B/s" not in text, f"two attaches: {text}")


def estimates():
    old, new = make()
    comments = (*made_profile.COMMENTS, *ESTIMATED)
    made_profile.write(old, STACKS, comments=comments, period=65536)
    made_profile.write(new, LATER, comments=comments, period=65536, time_ns=1700000030 * 10**9, duration_ns=33 * 10**9)
    written = os.path.join(os.path.dirname(old), "written.pb.gz")
    output("diff", old, new, "-o", written)
    exact, exact_new = (os.path.join(os.path.dirname(old), name) for name in ("exact.pb.gz", "exact_new.pb.gz"))
    made_profile.write(exact, STACKS, comments=(*made_profile.COMMENTS, *EXACT))
    made_profile.write(exact_new, LATER, comments=(*made_profile.COMMENTS, *EXACT), time_ns=1700000030 * 10**9, duration_ns=33 * 10**9)
    paths = {"old": old, "new": new, "written": written, "exact": exact, "exact_new": exact_new}
    for words, expected in ESTIMATES:
        check_equal(output(*(paths.get(word, word) for word in words)), expected, f"estimates: {' '.join(words)}")


def terminals():
    old, new = make()
    for columns, words, expected in TERMINALS:
        words = [{"old": old, "new": new}.get(word, word) for word in words]
        check_equal(on_terminal(columns, *words), expected, f"on {columns} columns: {words}")
        check(PUSH[0] not in on_terminal(columns, *words) and "[" in on_terminal(columns, *words, "--tree", "--all-frames"), "names are short")
    check("/src/shop/cache.cpp:18" in on_terminal(80, "report", old, "--wide"), "--wide does not show whole names")


def files():
    """What diff writes: the real pprof sees in it what it sees of the two with -diff_base, and heapsnap the same as before it was written."""
    old, new = make()
    path = os.path.join(os.path.dirname(old), "d.pb.gz")
    text = output("diff", old, new, "-o", path, "--limit", "1", "--focus", "Cache")  # all of it is in the file
    check(re.search(rf"^{path}: [0-9]+ B$", text, re.M), f"the file is not told of: {text}")
    check_equal(os.stat(path).st_mode & 0o777, 0o600, "mode of the file")
    decoded = pprof_reader.decode(path)
    check_equal(sorted((names[1], tuple(values)) for names, values in decoded.stacks()),
                sorted([(PUSH[0], (30, 40 * MIB, 15, 15 * MIB)), (LOG[0], (1000, 100 * MIB, -15, -3 * MIB // 2)), ("main", (1, 100, 1, 100))]),
                "the stacks of the file")
    for index in profiles.SAMPLE_INDEXES:
        with pprof_reader.whole(path) as all_frames:
            ours, theirs = (dict(flat_values(index, *words)) for words in ((all_frames,), ("-base", old, new)))
        check_equal(ours, theirs, f"{index}: what pprof sees of the file, and of the two")
    check_equal(output("report", path), DIFFERENCE, "the difference as a profile")
    for arguments in (("--by", "function"), ("--tree",), ("--bottom-up", "--by", "line"), ("--cumulative", "--sort", "alloc-blocks")):
        check_equal(output("report", path, *arguments).splitlines()[2:-1], output("diff", old, new, *arguments).splitlines()[2:],
                    f"a difference that was written, by {arguments}")
    result = heapsnap("diff", old, new, "-o", "-")  # the file alone
    with open(path, "rb") as file:
        check_equal(result.stdout_bytes, file.read(), "the difference on standard output")
    check("Recorded live 46.5 MiB" in result.stderr, f"what is said beside it: {result}")
    check_refused(heapsnap("diff", old, new, "-o", os.path.join(path, "x")), "cannot")
    check_refused(heapsnap("diff", old, os.path.join(path, "x"), "-o", path), "cannot read")
    with open(path, "rb") as file:
        check_equal(result.stdout_bytes, file.read(), "the file after a diff that failed")


def converted():
    """A profile in another format, and in its own: what it says stays."""
    old, _ = make()
    folder = os.path.dirname(old)
    copy, stacks = os.path.join(folder, "copy.pb.gz"), os.path.join(folder, "old.collapsed")
    text = output("report", old, "-o", copy)
    check_equal(text.splitlines()[-1].split(":")[0], copy, "the file is not told of")
    check_equal(output("report", copy), output("report", old), "the copy")
    result = heapsnap("report", old, "-o", stacks, "--json")
    check_equal((result.status, result.json["output"], result.json["bytes"]), (0, stacks, os.path.getsize(stacks)), str(result))
    with open(stacks, encoding="utf-8") as file:
        lines = file.read().splitlines()
    check(lines and all(re.search(r" \d+$", line) for line in lines) and any(PUSH[0] in line for line in lines), f"collapsed stacks: {lines}")
    result = heapsnap("report", old, "-o", "-", "--format", "collapsed")
    check_equal((result.status, result.stdout.splitlines()), (0, lines), "on standard output")
    check("Profile of" in result.stderr, str(result))
    check_refused(heapsnap("report", old, "-o", os.path.join(folder, "x.svg")), "no format of heapsnap ends as", status=2)
    check_refused(heapsnap("report", old, "--name", "x"), "cannot be combined", status=2)
    check_equal(sorted(os.listdir(folder)), ["copy.pb.gz", "new.pb.gz", "old.collapsed", "old.pb.gz"], "files")


def flat_values(index, *words):
    """(function, flat value) as pprof -top prints them."""
    text = profiles.pprof(words[-1], "-top", f"-sample_index={index}", "-nodefraction=0", "-nodecount=1000", "-unit=B", *words[:-1])
    for line in text.split("flat%", 1)[1].splitlines()[1:]:
        flat, _, _, cumulative, _, name = line.split(None, 5)
        yield name, (flat, cumulative)


def objects():
    """JSON: every row and whole stacks, and nothing beside it."""
    old, new = make()

    def ask(*arguments):
        result = heapsnap(*arguments, "--json")
        check_equal((result.status, result.stderr), (0, ""), str(result))
        return result.json

    frames = [{"function": function, "file": file, "line": line, "module": "shop"} for function, file, line in STACKS[0][0][1:]]
    value = ask("report", old)
    check_equal((value["live_bytes"], value["difference"], len(value["sites"]), len(value["stacks"])), (33 * MIB, False, 3, 3), "report")
    check_equal([stack["live_bytes"] for stack in value["stacks"]], [30 * MIB, 2 * MIB, MIB], "stacks, most first")
    check_equal(value["stacks"][0]["frames"], frames, "the largest stack")
    stack = value["sites"][0]["stack"]
    check_equal([{key: frame[key] for key in frames[0]} for frame in stack], frames, "the stack of the largest site")
    check_equal([(frame["class"], frame["why"]) for frame in stack],
                [("container", "pattern std::vector::*")] + 3 * [("own", "no rule knows it")], "whose code its frames are")
    check("shown" not in value, "something is shown of all")
    value = ask("report", old, "--focus", "log", "--by", "function", "--sort", "alloc-blocks", "--limit", "1")
    check_equal((value["shown"]["stacks"], value["shown"]["live_bytes"], value["live_bytes"]), (2, 3 * MIB, 33 * MIB), "shown")
    check_equal([(row["function"], row["alloc_objects"], row["cumulative"]["live_bytes"]) for row in value["rows"]], [(LOG[0], 5001, 3 * MIB)], "rows")
    check_equal([stack["alloc_objects"] for stack in value["stacks"]], [5000], "as many stacks as rows are asked for")
    nodes = ask("report", old, "--tree")["nodes"]
    check_equal([(node["parent"], node["name"], node["cumulative"]["live_bytes"]) for node in nodes],
                [(-1, "[all]", 33 * MIB), (0, "main", 33 * MIB), (1, "shop::Server::handle", 32 * MIB), (2, "shop::Cache::put", 30 * MIB),
                 (2, "shop::log", 2 * MIB), (1, "shop::log", MIB)], "nodes of a tree")
    value = ask("diff", old, new)
    check_equal([(change["function"], change["live_bytes"]) for change in value["changes"]],
                [(PUT[0], 15 * MIB), (LOG[0], -3 * MIB // 2), ("main", 100), (LOG[0], 0)], "changes")
    check_equal((value["live_bytes_before"], value["live_bytes_after"], value["live_objects_before"], value["live_objects_after"], value["live_objects"]),
                (33 * MIB, 46.5 * MIB + 100, 51, 52, 1), "of how much")
    check_equal((value["seconds"], round(value["live_bytes_rate"]), value["changes"][0]["live_bytes_rate"]), (30, round((13.5 * MIB + 100) / 30), MIB / 2), "rates")
    check_equal([(change["live_objects"], change["live_objects_before"], change["live_objects_after"]) for change in value["changes"]],
                [(15, 30, 45), (-15, 20, 5), (1, 0, 1), (0, 1, 1)], "blocks")
    check_equal([frame["function"] for frame in value["changes"][0]["path"]], [PUT[0], HANDLE[0], "main"], "the way to a change")
    check_equal([stack["live_bytes"] for stack in value["stacks"]], [15 * MIB, -3 * MIB // 2, 100], "stacks of a difference")
    check_equal(value["stacks"][0]["frames"], frames, "the stack that changed most")
    value = ask("diff", old, new, "--by", "function", "--limit", "1")
    check_equal([(row["function"], row["live_bytes"]) for row in value["rows"]], [(PUT[0], 15 * MIB)], "rows of a difference")


def nothing():
    """What matches nothing says so, and is no failure."""
    old, new = make()
    for words, text in ((("report", old, "--focus", "nobody"), "no stack has a function, file or module that --focus matches"),
                        (("report", old, "--focus", "^SHOP::cache"), "upper and lower case count, without that some would"),
                        (("diff", old, new, "--focus", "^SHOP::cache"), "upper and lower case count"),
                        (("report", old, "--ignore", "main"), "each stack has a function, file or module that --ignore matches"),
                        (("diff", old, new, "--focus", "nobody"), "no stack has"), (("diff", old, new, "--focus", "nobody", "--by", "line"), "no stack has")):
        result = heapsnap(*words, "--json")
        check_equal((result.status, result.stderr, len(result.json["warnings"])), (0, "", 1), str(result))
        check(text in result.json["warnings"][0], str(result))
        check(("case" in text) == ("case" in result.json["warnings"][0]), str(result))
    check_equal(heapsnap("report", old, "--focus", "Cache", "--json").json["warnings"], [], "something matches")
    refused = heapsnap("diff", old, "424242")  # a number is a file here, and where there is none a process was meant
    check_equal(refused.status, 1, str(refused))
    check("heapsnap dump 424242 -o new.pb.gz" in refused.stderr, str(refused))


def others():
    """Files that heapsnap writes and does not read: each is called by its name."""
    old, _ = make()
    folder = os.path.dirname(old)
    for name, words in (("x.json", "a JSON profile of heapsnap's"), ("x.collapsed", "collapsed stacks"), ("x.speedscope.json", "a speedscope profile"),
                        ("x.html", "a page")):
        path = os.path.join(folder, name)
        format_of = ("--format", "speedscope") if "speedscope" in name else ()
        if heapsnap("report", old, "-o", path, *format_of).status != 0 and name == "x.html":
            say("  a heapsnap that writes no pages")
            continue
        check_refused(heapsnap("report", path), f"cannot read {re.escape(path)}: it is {words}.*, and no pprof file")
    path = os.path.join(folder, "said.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(output("report", old, "--json"))
    check_refused(heapsnap("report", path), "it is what heapsnap --json prints, and no pprof file")
    check_refused(heapsnap("diff", old, path), "it is what heapsnap --json prints, and no pprof file")


def messages():
    """What is refused, or warned of, fits a terminal as results do; elsewhere it is one line."""
    old, new = make()
    for columns, words in ((80, ("diff", old, new, "--by", "thread")), (100, ("report", old, "--by", "age")), (80, ("report", "/no/such/file.pb.gz")),
                           (80, ("diff", old, new, "--older-than", "1s"))):
        result = heapsnap(*words)
        text = on_terminal(columns, *words, status=result.status)
        check(result.status != 0 and all(len(line) <= columns for line in text.splitlines()), f"wider than {columns}: {text}")
        check_equal(" ".join(text.split()), " ".join(result.stderr.split()), "the same words")
        check_equal(len(on_terminal(columns, *words, "--wide", status=result.status).splitlines()), len(result.stderr.splitlines()), "--wide")


def refusals():
    old, new = make()
    for unit in ("thread", "size", "age"):
        check_refused(heapsnap("report", old, "--by", unit), f"does not say the {unit} of its blocks")
        result = heapsnap("diff", old, new, "--by", unit, "--json")
        check_equal((result.status, result.json["error"]["code"]), (1, "not_found"), str(result))
    for arguments in (("--by", "stack"), ("--sort", "size"), ("--focus", "("), ("--tree", "--by", "site"), ("--tree", "--cumulative")):
        check_equal(heapsnap("report", old, *arguments).status, 2, f"status of report {' '.join(arguments)}")


def streams():
    """Results stand on standard output, of every command; where the profile does, beside it. What cannot be written has not been told."""
    folder = temporary_directory()
    path = os.path.join(folder, "out.pb.gz")
    target = Target("many_threads", 2)
    for arguments, begin in ((("check",), "many_threads"), (("attach", "--exact"), "attached to"), (("set", "--depth", "9"), "from now on"), (("dump",), "Process RSS"),
                             (("dump", "-o", path), "Process RSS"), (("status",), "many_threads"), (("report",), "Process RSS")):
        text = output(arguments[0], target.pid, *arguments[1:])
        check(begin.lower() in text.lower(), f"{arguments} prints: {text}")
    check_equal(output("status", target.pid, "-q"), "", "what -q prints")
    for name in ("-", "/dev/stdout", "/dev/fd/1"):
        result = heapsnap("dump", target.pid, "-o", name)
        check(result.status == 0 and result.stdout_bytes.startswith(b"\x1f\x8b") and "Process RSS" in result.stderr, f"a dump into {name}: {result}")
    with open("/dev/full", "wb") as full:
        for arguments, status in ((("report", path), 1), (("status",), 1), (("dump", target.pid), 1), (("dump", target.pid, "-o", path), 0), (("report", path, "--json"), 1)):
            result = heapsnap(*arguments, stdout=full)
            check_equal(result.status, status, f"nothing can be written: {result}")
            check(not status or "standard output cannot be written" in result.stderr, f"it is not said: {result}")
    reader, writer = os.pipe()
    os.close(reader)
    result = heapsnap("report", path, stdout=writer)
    os.close(writer)
    check_equal((result.status, result.stderr), (1, ""), f"nobody reads it: {result}")
    check("detached from" in output("detach", target.pid), "detach")
    target.end()


def named():
    """A process is called by its own name, and not by its program's file: in a file, a difference, and as status does."""
    folder = temporary_directory()
    link, old, new, exported = (os.path.join(folder, name) for name in ("another", "old.pb.gz", "new.pb.gz", "x.json"))
    os.symlink(target_path("many_threads"), link)
    target = Target(link, 2)
    attach(target.pid)
    dump(target.pid, old)
    dump(target.pid, new)
    check_equal(output("report", old).split("(")[0], "Profile of another ", "the first line")
    check(f"{target.pid} another: attached" in output("status", target.pid), "status says the same")
    output("diff", old, new, "-o", new)
    check_equal(output("report", new).split("(")[0], "Difference of two profiles of another ", "of a difference")
    output("report", old, "-o", exported)
    with open(exported, encoding="utf-8") as file:
        value = json.load(file)
    check_equal((value["name"], value["program"]), ("another", os.path.realpath(target_path("many_threads"))), "in JSON")
    detach(target.pid)
    target.end()


def processes():
    """Digits alone are a process: what a dump of it shows is shown, and no file is made."""
    folder = temporary_directory()
    target = Target("ground_truth", 1, 7, target_path("libtruth_plugin.so"))
    check_refused(heapsnap("report", target.pid), "not attached")
    attach(target.pid)
    target.ask_json("go")
    path = os.path.join(folder, str(target.pid))
    total = dump(target.pid, path)["live_bytes"]
    for arguments in ((), ("--by", "function"), ("--tree",), ("--sort", "alloc-bytes", "--limit", "0")):
        shown = [output("report", target.pid, *arguments), output("report", path, *arguments)]
        # not how long ago, nor what the whole process has
        shown = [[line for line in text.splitlines() if not re.match(r"Process|Profile|  (not )?recorded|no pause", line)] for text in shown]
        check_equal(*shown, f"of the process and of its file, {arguments}")
    result = heapsnap("report", target.pid, "--json")
    check_equal((result.json["command"], result.json["live_bytes"], result.json["output"]), ("report", total, ""), "JSON of a process")
    check(result.json["stacks"] and all(stack["frames"] for stack in result.json["stacks"]), "stacks of a process")
    of_file = heapsnap("report", path, "--json").json
    own = {"memory", "samples", "stopped", "stopped_because", "stopped_us", "log_records", "copies", "copy_us", "symbolize_us", "total_us"}, {"file", "difference"}
    check_equal((set(result.json) - set(of_file), set(of_file) - set(result.json)), own, "what is said of a process alone, and of a file")
    for key in sorted(set(of_file) & set(result.json) - {"output", "bytes", "time_ns", "duration_ns"}):
        if not isinstance(of_file[key], list):  # stacks and sites have samples, the ledger zeros, that a file leaves out
            check_equal(of_file[key], result.json[key], f"{key}, of the process and of its file")
    named = subprocess.run([HEAPSNAP, "report", f"./{target.pid}", "--json"], cwd=folder, capture_output=True, check=True)
    check_equal(json.loads(named.stdout)["file"], f"./{target.pid}", "a file that has a number's name")
    check_equal(os.listdir(folder), [str(target.pid)], "files")
    check_refused(heapsnap("report", "0"), "no process", status=2)
    check_equal(target.ask("finish"), "ok", "contents of the blocks")
    detach(target.pid)
    target.end()


run_cases([rows, changes, estimates, terminals, files, converted, objects, nothing, others, messages, refusals, streams, named, processes], "report")

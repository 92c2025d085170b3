# SPDX-License-Identifier: Apache-2.0
"""`heapsnap why` on planted problems: it names the line in its first three rows, or says rightly that it is not in what was recorded. However it ends, the
process is left as it was found: attached or not. usage: why.py [CASE...]"""

import contextlib
import fcntl
import json
import os
import re
import signal
import struct
import subprocess
import termios
import time

from harness import (HEAPSNAP, Result, Target, Unharmed, attach, attach_state, check, check_equal, check_refused, detach, got_no_processor, heapsnap, heapsnap_ok,
                     run_cases, say, start, stop, temporary_directory, wait_until)
import pprof_reader
from leak_watch import TIME, check_row, line_of, look, why, why_steady


def planted(name):
    return Target("planted_leaks", name)


def end(target):
    check(target.alive(), "the target has died")
    stop(target.process, signal.SIGKILL)


def one_of_forty():
    target = planted("one_of_forty")
    result = why_steady(target)
    check(look(result)[0] == "steady-leak", str(result["verdict"]))
    check_row(result, line_of("line of the site"), "site<17>")
    check_equal(result["verdict"][0]["site"]["line"], line_of("line of the site"), "line of the verdict")
    check(len([site for site in result["sites"] if site["temporary_rate"] > 0]) >= 39, "the other sites are temporary")
    end(target)


def unbounded_cache():
    target = planted("unbounded_cache")
    result = why_steady(target)
    check(look(result)[0] in ("steady-leak", "growth"), str(result["verdict"]))
    check_row(result, line_of("line of the cache"), "remember")
    end(target)


def growing_vector():
    target = planted("growing_vector")
    process = start([HEAPSNAP, "why", str(target.pid), "--for", TIME, "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: process.poll() is not None or attach_state(target.pid) == "attached", "the process is attached")
    target.send("go")
    result = finish(process)
    check_equal(result.status, 0, str(result))
    kinds = look(result.json)
    check(kinds[0] in ("grows-in-steps", "outside-malloc", "undecided"), str(result.json["verdict"]))
    check_row(result.json, line_of("line of the vector"), "record")
    end(target)


def fragmentation(name="fragmentation"):
    target = planted(name)
    result = why_steady(target)
    check_equal(look(result)[0], "fragmentation", str(result["verdict"]))
    check_row(result, line_of("line of the holes"), "operator()")
    end(target)


def fragmentation_in_thread():
    fragmentation("fragmentation_in_thread")


def mapped():
    target = planted("mapped")
    result = why_steady(target)
    check_equal(look(result)[0], "outside-malloc", str(result["verdict"]))
    check(result["explained_share"] < 0.1, str(result["explained_share"]))
    end(target)


def before_attach():
    target = planted("before_attach")
    check_equal(target.line(), "grown", "answer")
    result = why(target)
    check_equal(look(result), ["nothing-grows"], str(result["verdict"]))
    check(any(re.search(r"^6\d\.\d MiB is not in what was recorded: it is older than the attach", reason) for reason in result["verdict"][0]["reasons"]),
          str(result["verdict"]))
    end(target)


def site_at(result, line):
    """What is said of the planted line."""
    return next(site for site in result["sites"] if (os.path.basename(site["file"]), site["line"]) == ("planted_leaks.cc", line))


def cohorts_of(site):
    """Of blocks that were born in each interval between two cuts: bytes a second that are live at the end, oldest first."""
    return [cohort["live_bytes"] / (cohort["to"] - cohort["from"]) for cohort in site["cohorts"][1:]]


def why_even(target, words):
    """Of a line that allocates by the clock, exact: again, up to five times, where the process got no processor for a while, or there were too few cuts."""
    for _ in range(5):
        result = why(target, "--exact", time="9s")
        site = site_at(result, line_of(words))
        rates = [cohort["alloc_bytes"] / (cohort["to"] - cohort["from"]) for cohort in site["cohorts"][1:]]
        if len(rates) >= 6 and min(rates) > 0.7 * max(rates):
            break
        say(f"  again: {len(rates) + 1} cuts, {[round(rate) for rate in rates]} bytes a second")
    return result, site


def leak_in_churn():
    """64 KiB a second stay of the 20 MiB that one line allocates: what is live there wanders by more than that, but of its older blocks nothing else is left."""
    target = planted("leak_in_churn")
    result, site = why_even(target, "line of the messages")
    check_equal((look(result)[0], site["survival"]), ("steady-leak", "stays"), str(result["verdict"]))
    check_row(result, line_of("line of the messages"), "message")
    check(40 << 10 < site["kept_rate"] < 90 << 10, f"{site['kept_rate']} of 64 KiB a second; by birth {cohorts_of(site)}")
    check(result["verdict"][0]["rate"] == site["kept_rate"], str(result["verdict"]))
    check(site["alloc_rate"] > 100 * site["kept_rate"], f"allocated {site['alloc_rate']}")
    check_equal(site["cohorts"][-1]["live_bytes"], site["cohorts"][-1]["live_bytes_then"], "the last cohort")
    end(target)


def wandering_churn():
    """Nothing stays, however much is live at a time: no leak, and the line does not say so."""
    target = planted("wandering_churn")
    result, site = why_even(target, "line of the messages")
    check("steady-leak" not in look(result), str(result["verdict"]))
    check(site["survival"] in ("goes", "unsure"), site["survival"])
    check_equal(site["kept_rate"], 0, "bytes that stay")
    check_equal([cohort["live_bytes"] for cohort in site["cohorts"] if cohort["to"] < result["seconds"] - 4], [0] * sum(cohort["to"] < result["seconds"] - 4 for cohort in site["cohorts"]),
                "what was born long before the end")
    end(target)


def bounded_cache():
    """Full after a while: a new entry takes the place of any older one, so old cohorts go."""
    target = planted("bounded_cache")
    process = start([HEAPSNAP, "why", str(target.pid), "--for", "9s", "--exact", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: process.poll() is not None or attach_state(target.pid) == "attached", "the process is attached")
    target.send("go")
    result = finish(process)
    check_equal(result.status, 0, str(result))
    check(look(result.json)[0] in ("levelled-off", "undecided", "nothing-grows"), str(result.json["verdict"]))
    check_row(result.json, line_of("line of the entries"), "entry")
    site = site_at(result.json, line_of("line of the entries"))
    check_equal((site["survival"], site["kept_rate"]), ("goes", 0), "what stays")
    rates = cohorts_of(site)
    check(rates[-1] > 3 * rates[0], f"older ones go: {rates}")
    end(target)


def warm_cache():
    """What is new stays for longer than the watch, and takes the place of what is older: in the records alone it grows. Older frees are counted with --exact alone."""
    for options, known in (((), "is not known: --exact counts them"), (("--exact",), r"^\d+ blocks from before the attach were freed since")):
        target = planted("warm_cache")
        check_equal(target.line(), "grown", "answer")
        result = why(target, *options)
        check_equal(look(result), ["exchange"], str(result["verdict"]))
        check(any(re.search(known, reason) for reason in result["verdict"][0]["reasons"]), str(result["verdict"]))
        end(target)


def nothing():
    target = planted("nothing")
    result = why(target)
    check_equal(look(result), ["nothing-grows"], str(result["verdict"]))
    end(target)


def finish(process):
    stdout, stderr = process.communicate(timeout=240)
    return Result(["why"], process.returncode, stdout, stderr.decode("utf-8", "replace"))


def text():
    """What people see, with a profile kept. On a slow machine the budget may let the first blocks be sampled, and the figures say less."""
    target = planted("one_of_forty")
    path = os.path.join(temporary_directory(), "last.pb.gz")
    result = heapsnap("why", target.pid, "--for", TIME, "-o", path)
    check_equal(result.status, 0, str(result))
    for words in (r"^Process \d+ watched for .* in \d+ snapshots: anonymous memory ", r"^(Steady leak|Growth|Undecided)", r"^  - ",
                  r"^Sites (whose recorded blocks grow|that may grow; too little or too uneven to say):$",
                  r"^ +\+\S+ [KM]iB/s .*site<17>.*planted_leaks.cc:\d+", r"^Allocated and freed again:$",
                  r"^The process grows by ", rf"^{re.escape(path)}: \S+ [KM]iB$", r"^detached from "):
        check(re.search(words, result.stdout, re.M), f"{words!r} is not said: {result}")
    check_equal(result.stderr, "", "standard error")
    pprof_reader.decode(path)
    end(target)


def other_format():
    """-o to standard output, in the format that is asked for: what is said goes to standard error."""
    target = Target("cycles", 2)
    result = heapsnap("why", target.pid, "--for", "600ms", "--exact", "-o", "-", "--format", "collapsed")
    check_equal(result.status, 0, str(result))
    check(result.stdout and all(line.rsplit(" ", 1)[1].isdigit() for line in result.stdout.splitlines()), str(result))
    check("watched for" in result.stderr and "detached from" in result.stderr, str(result))
    check(target.end().startswith("ok "), "the target's blocks")


def attached_before():
    target = Target("cycles", 2)
    attach(target.pid)
    result = heapsnap_ok("why", target.pid, "--for", "1s")
    check_equal((result["was_attached"], "detach" in result), (True, False), "why")
    check_equal(attach_state(target.pid), "attached", "state")
    heapsnap_ok("set", target.pid, "--stop-recording")
    check_refused(heapsnap("why", target.pid, "--for", "1s"), "nothing new is recorded", "--start-recording")
    check_equal(attach_state(target.pid), "attached", "state")
    detach(target.pid)
    check(target.end().startswith("ok "), "the target's blocks")


def sleeps_in_ppoll(pid):
    with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
        return file.read().split()[0] == "271"


def begin(target, *arguments, environment=None):
    """heapsnap why in the background, once it waits between two cuts."""
    while True:
        process = start([HEAPSNAP, "why", str(target.pid), "--for", "1h", "--json", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, env={**os.environ, **(environment or {})})
        wait_until(lambda: process.poll() is not None or (attach_state(target.pid) == "attached" and sleeps_in_ppoll(process.pid)), "heapsnap waits")
        if process.poll() is None:
            return process
        result = finish(process)
        check(got_no_processor(result), str(result))
        say(f"  again: {result.stderr.strip()}")


def interrupted():
    """A signal ends the watch: what there is is judged, and the process is left."""
    target = Target("cycles", 2)
    check_equal(target.ask("pause"), "paused", "answer")
    before = Unharmed(target.pid)
    check_equal(target.ask("continue"), "continued", "answer")
    process = begin(target)
    process.send_signal(signal.SIGINT)
    result = finish(process)
    check_equal((result.status, result.json["interrupted"], result.json["detach"]["verified"]), (0, True, True), str(result))
    check_equal((result.json["end"], "not-enough-data" in [finding["kind"] for finding in result.json["verdict"]]),
                ("interrupted", len(result.json["cuts"]) < 3 or result.json["seconds"] < 0.5), f"end and verdict of {result.json['cuts']}")
    check_equal(attach_state(target.pid), None, "state")
    check_equal(target.ask("pause"), "paused", "answer")
    before.check_after(memory_may_change=True)
    check_equal(target.ask("continue"), "continued", "answer")
    check(target.end().startswith("ok "), "the target's blocks")


def signal_in_a_cut():
    """It ends the work, and the process is left all the same: no file, no verdict."""
    target = Target("cycles", 2)
    path = os.path.join(temporary_directory(), "last.pb.gz")
    result = heapsnap("why", target.pid, "--for", "1h", "-o", path, environment={"HEAPSNAP_STOP_AT": "symbolize", "HEAPSNAP_STOP_SIGNAL": str(int(signal.SIGTERM))})
    check_equal((result.status, result.stdout), (1, ""), str(result))
    check("interrupted by SIGTERM" in result.stderr and "nothing of heapsnap is left" in result.stderr, str(result))
    check_equal(attach_state(target.pid), None, "state")
    check(not os.path.exists(path), "a file is there")
    check(target.end().startswith("ok "), "the target's blocks")


def target_ends():
    """What was seen before is judged, and written."""
    path = os.path.join(temporary_directory(), "last.pb.gz")
    for seconds in (4, 8, 16):  # of cuts that are dear by chance there are fewer
        target = planted("one_of_forty")
        process = begin(target, "-o", path)
        time.sleep(seconds)
        stop(target.process, signal.SIGKILL)
        result = finish(process)
        if result.json.get("error", {}).get("code") == "gone":
            say(f"  again: it had ended after {seconds} s, before it was looked at")
            continue
        check_equal((result.status, result.stderr, result.json.get("end"), "detach" in result.json), (0, "", "process-ended", False), str(result))
        pprof_reader.decode(path)
        if len(result.json["cuts"]) >= 5:
            break
        say(f"  again: {len(result.json['cuts'])} cuts in {result.json['seconds']:.1f} s")
    check("not-enough-data" not in look(result.json), str(result.json["verdict"]))
    check_row(result.json, line_of("line of the site"), "site<17>")


def target_executes():
    """Likewise: of the new program nothing is known, and nothing is done to it."""
    target = Target("", command=["bash", "-c", "echo ready; while read -r word; do [ $word = go ] && exec sleep 1000; done"])
    process = begin(target)
    target.send("go")
    result = finish(process)
    check_equal((result.status, result.json["end"], "detach" in result.json), (0, "process-left", False), str(result))
    check_equal(attach_state(target.pid), None, "state")
    end(target)


def attached_again():
    """By another command, after that has detached it: that attach is not judged with the first one, and stays."""
    target = Target("cycles", 2)
    process = begin(target)
    detach(target.pid)
    attach(target.pid)
    result = finish(process)
    check_equal((result.status, result.json["end"], "detach" in result.json), (0, "process-left", False), str(result))
    check(attach_state(target.pid) is not None, "the other command's attach is gone")
    detach(target.pid)
    end(target)


def page():
    """With the verdict and the moments in it; or, of a heapsnap without a page, refused before the process is touched."""
    target = Target("cycles", 2)
    path = os.path.join(temporary_directory(), "growth.html")
    result = heapsnap("why", target.pid, "--for", "1s", "--page", path, "--json")
    if "built without its page" in result.stderr:
        check_refused(result, "built without its page")
        check_equal(attach_state(target.pid), None, "state")
    else:
        check_equal(result.status, 0, str(result))
        with open(path, encoding="utf-8") as file:
            text = file.read()
        check(json.dumps(result.json["verdict"][0]["text"])[1:-1] in text, "the verdict is not in the page")
    check(target.end().startswith("ok "), "the target's blocks")


def fitted():
    """On a terminal of 80 columns no line is longer, whatever the names are."""
    target = planted("unbounded_cache")
    mine, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = start([HEAPSNAP, "why", str(target.pid), "--for", "1s"], stdin=subprocess.DEVNULL, stdout=its, stderr=its)
    os.close(its)
    output = b""
    with contextlib.suppress(OSError):  # the other end is closed: EIO
        while data := os.read(mine, 65536):
            output += data
    os.close(mine)
    check_equal(process.wait(), 0, f"exit status: {output}")
    lines = [re.sub("^.*\x1b\\[K", "", line) for line in output.decode().replace("\r\n", "\n").splitlines()]
    check(any("remember" in line for line in lines), f"the site is not there: {lines}")
    check_equal([line for line in lines if len(line) > 80], [], "lines of more than 80 columns")
    end(target)


def wrong_usage():
    for arguments in (("why",), ("why", "1", "--for", "0"), ("why", "1", "--page", "x.pb.gz"), ("why", "1", "--stop"), ("dump", "1", "--page", "x.html")):
        check_equal(heapsnap(*arguments).status, 2, str(arguments))


run_cases([one_of_forty, unbounded_cache, growing_vector, fragmentation, fragmentation_in_thread, mapped, before_attach, leak_in_churn, wandering_churn, bounded_cache, warm_cache, nothing, text, other_format, attached_before, interrupted, signal_in_a_cut,
           target_ends, target_executes, attached_again, page, fitted, wrong_usage], "why")

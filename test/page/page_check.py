# SPDX-License-Identifier: Apache-2.0
"""page_check.py BROWSER MADE_PAGE FOLDER: what people see and do on the page, in a real browser. Pages of profiles that are made by hand, and screenshots of
them, stay in FOLDER. Times are printed, and none of them decides."""

import os
import subprocess
import sys
import time

from browsers import BROWSERS

READY_S = 120  # for a page of 100,000 stacks, on a machine that is busy
SEEN_S = 20  # for what a key or a click has done
# Frames that are drawn: name, left, top, width, colour; and the text that a pointer over it shows.
FRAMES = """return [...document.querySelectorAll('#flame g.frame')].map((frame) => {
	const rect = frame.querySelector('rect'), at = rect.getBoundingClientRect();
	return { name: frame.getAttribute('name'), label: frame.querySelector('div').textContent, title: frame.querySelector('title').textContent,
		x: at.x, y: at.y, width: at.width, height: at.height, fill: rect.getAttribute('fill'), cursor: frame.classList.contains('cursor'), fade: frame.classList.contains('fade') };
})"""


class Check:
    def __init__(self, browser, folder):
        self.browser, self.folder, self.failed, self.count = browser, folder, 0, 0

    def __call__(self, what, right, seen=None):
        self.count += 1
        if not right:
            self.failed += 1
            print(f"FAILED: {what}: {seen}")

    def equal(self, what, actual, expected):
        self(what, actual == expected, f"{actual!r}, not {expected!r}")

    def open(self, name):
        """Opens a page, and waits for it. Returns what it says of itself: ms until it was ready, and ms without a breath."""
        self.browser.open(os.path.join(self.folder, name + ".html"))
        return self.wait("the page is ready", f"return location.href.endsWith('/{name}.html') && document.documentElement.dataset.ready", READY_S)

    def wait(self, what, script, seconds=SEEN_S):
        """Until the script's value is true; returns it."""
        until = time.monotonic() + seconds
        while True:
            try:
                value = self.browser.run(script)
            except RuntimeError:  # between two documents
                value = None
            if value:
                self.count += 1
                return value
            if time.monotonic() > until:
                self(what, False, "it does not come to be")
                return None
            time.sleep(0.05)

    def text(self, selector):
        return self.browser.run(f"return document.querySelector({selector!r})?.innerText")

    def frames(self):
        return self.browser.run(FRAMES)

    def frame(self, name):
        found = [frame for frame in self.frames() if frame["name"] == name]
        self(f"there is a frame {name}", found, "none")
        return max(found, key=lambda each: each["width"], default=None)

    def type(self, text):
        self.browser.key("/")
        for letter in text:
            self.browser.key(letter)

    def press(self, *keys):
        for key in keys:
            self.browser.key(key)

    def click(self, box):
        self.browser.click(box["x"] + min(box["width"] / 2, 30), box["y"] + box["height"] / 2)

    def click_on(self, selector):
        box = self.browser.run(f"""const element = document.querySelector({selector!r}); element.scrollIntoView({{ block: 'nearest' }});
            const at = element.getBoundingClientRect(); return {{ x: at.x, y: at.y, width: at.width, height: at.height }}""")
        self.click(box)

    def shot(self, name):
        self.browser.screenshot(os.path.join(self.folder, f"{name}.{type(self.browser).__name__.lower()}.png"))

    def no_errors(self, where):
        self.equal(f"{where}: the console and the network are quiet", self.browser.errors(), [])


def head_and_frames(check):
    check.equal("title", check.browser.run("return document.title"), "shopd \u2013 heapsnap")
    check.equal("meta", check.browser.run("return [...document.querySelectorAll('#meta li')].map((each) => each.textContent)"),
                ["process 4711", "2026-07-25 17:20:00 UTC", "recorded for 62 min", "every allocation recorded"])
    check("the process, and what of it is recorded", check.text("#shown").startswith(
        "Process RSS 398 MiB (anonymous 391 MiB). Recorded: 38.2 MiB in 75,710 blocks, allocated since the attach 62 min before"), check.text("#shown"))
    check("what is not", "Not recorded: 353 MiB: blocks older than the attach" in check.text("#shown"), check.text("#shown"))
    check.equal("nothing is lost", check.text("#truth"), "Nothing lost.")
    check("the verdict", check.text("#verdict").startswith("Steady leak: shop::Cache::put"), check.text("#verdict"))
    check.equal("and its reasons", check.browser.run("return [...document.querySelectorAll('#verdict li')].map((each) => each.textContent)"),
                ["it grows all the time", "its blocks stay"])
    frames = check.frames()
    check.equal("frames", len(frames), 24)
    whole = max(frame["width"] for frame in frames)
    check("the graph is as wide as the window", whole > 1100, whole)
    largest = check.frame("shop::Cache::put")
    check.equal("the largest frame's label", largest["label"], "shop::Cache::put")
    check.equal("the largest frame's text", largest["title"], "shop::Cache::put(std::string const&, shop::Cart)\ncache.cpp:118\n20.2 MiB, 52.9 %")
    check("the largest frame's width", abs(largest["width"] / whole - 0.529) < 0.003, largest["width"] / whole)
    check("own code is coloured, the library is quiet", largest["fill"] != check.frame("json::parse")["fill"])
    check("root on top", check.frame("all")["y"] < check.frame("main")["y"])


def top(check):
    rows = check.browser.run("return [...document.querySelectorAll('#top li')].map((row) => [...row.children].map((each) => each.textContent))")
    check.equal("the largest sites", [row[:2] for row in rows[:2]], [["20.2 MiB", "shop::Cache::put"], ["7.00 MiB", "shop::Orders::load"]])
    check.equal("how it came there", rows[0][2], "cache.cpp:118  via std::string, unordered_map  \u2039 shop::Session::open \u2039 shop::Server::handle \u2039 shop::Server::run \u2039 main")
    check.equal("all eight", len(rows), 8)


def searching(check):
    plain = check.frame("shop::Orders::load")["fill"]
    check.type("ORDERS")
    check.wait("the search", "return document.getElementById('found').textContent.startsWith('2 frames')")
    check.equal("what is found", check.text("#found"), "2 frames, 9.00 MiB, 23.5 %")
    fills = {frame["name"]: frame["fill"] for frame in check.frames()}
    check("what is found is highlighted", fills["shop::Orders::load"] != plain and list(fills.values()).count(fills["shop::Orders::load"]) == 1, fills)
    check.shot("search")
    check.press("Escape")
    check.wait("the search ends", "return document.getElementById('found').textContent === ''")
    check.equal("no highlight is left", check.frame("shop::Orders::load")["fill"], plain)
    check.type("zzz")
    check.wait("nothing is found", "return document.getElementById('found').textContent === 'nothing found'")
    check.press("Escape")


def zooming(check):
    whole = check.frame("all")["width"]
    check.click(check.frame("shop::Orders::load"))
    frame = check.frame("shop::Orders::load")
    check("zoom by a click", abs(frame["width"] - whole) < 1, frame["width"])
    check("what is above fades", check.frame("main")["fade"] and not frame["fade"])
    check("others are gone", "shop::Tls::accept" not in {each["name"] for each in check.frames()})
    check("the details", check.text("#details").startswith("shop::Orders::load(std::istream&)") and "/src/shop/orders.cpp:201 in shopd" in check.text("#details"), check.text("#details"))
    check.press("Escape")
    check("zoomed out", check.frame("shop::Orders::load")["width"] < whole / 2)
    # main, Server::run, handle, then its second child: Orders::load, of the same name as before.
    check.click(check.frame("all"))
    check.press("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight")
    check("the keyboard's frame", [each["name"] for each in check.frames() if each["cursor"]] == ["shop::Orders::load"], [each["name"] for each in check.frames() if each["cursor"]])
    check.press("ArrowRight", "Enter")
    check("zoom by the keyboard", abs(check.frame("shop::Tls::accept")["width"] - whole) < 1, check.frame("shop::Tls::accept")["width"])
    check.press("ArrowUp", "Enter")
    check("to its caller", abs(check.frame("shop::Server::handle")["width"] - whole) < 1 and "shop::Session::open" in {each["name"] for each in check.frames()}, check.frames())
    check.press("Escape", "i")
    check("root at the bottom", check.frame("all")["y"] > check.frame("main")["y"] > check.frame("shop::Cache::put")["y"])
    check.press("i")
    check("root on top again", check.frame("all")["y"] < check.frame("main")["y"])


def sample_types(check):
    for key, name, text in [("t", "Live blocks", "47.6k, 62.9 %"), ("t", "Allocated bytes", "41.0 MiB, 7.9 %"), ("t", "Allocated blocks", "95.0k, 4.9 %"), ("t", "Temporary blocks", "23.7k, 2.6 %"), ("t", "Live bytes", "20.2 MiB, 52.9 %")]:
        check.press(key)
        check.equal("the sample type", check.browser.run("const type = document.getElementById('type'); return type.options[type.selectedIndex].text"), name)
        check.equal(f"{name} of the leak", check.frame("shop::Cache::put")["title"].split("\n")[2], text)
    check.press("t", "t")
    check("another type, another widest frame", check.frame("shop::Log::line")["width"] > check.frame("shop::Cache::put")["width"])
    check.press("t", "t", "t")


def table(check):
    rows = "return [...document.querySelectorAll('#sites tr.site')].map((row) => row.innerText.split('\\t').map((each) => each.trim()))"
    check.press("2")
    check.wait("the table", "return document.querySelectorAll('#sites tr.site').length === 8")
    check.equal("its first row", check.browser.run(rows)[0], ["20.2 MiB", "47.6k", "41.0 MiB", "95.0k", "23.7k", "shop::Cache::put", "cache.cpp:118", "std::string, unordered_map",
                                                              "shop::Session::open \u2039 shop::Server::handle \u2039 shop::Server::run \u2039 main", "1"])
    check.shot("table")
    check.click_on("#sites th:nth-child(4) button")
    check.wait("sorted by another column", "return document.querySelector('#sites tr.site td.site').textContent === 'shop::Log::line'")
    check.click_on("#sites tr.site")
    check.wait("the stack of a site", "return document.querySelectorAll('#sites tr.details li').length === 6")
    check.equal("its own code", check.browser.run("return [...document.querySelectorAll('#sites tr.details li.own .name')].map((each) => each.textContent)")[0],
                "shop::Log::line(char const*, ...)")
    check.type("plugin")
    check.wait("the table is searched", "return document.querySelectorAll('#sites tr.site').length === 1")
    check.press("Escape")
    check.wait("all sites again", "return document.querySelectorAll('#sites tr.site').length === 8")
    check.click_on("#sites tr.details button")
    check.wait("from the table to the graph", "return Boolean(document.querySelector('#tab-flame:not([hidden]) .cursor'))")
    check.equal("the frame of the site", [each["name"] for each in check.frames() if each["cursor"]], ["xmalloc"])
    check.press("Escape")


def other_tabs(check):
    check.press("3")
    cells = check.browser.run("""return [...document.querySelectorAll('#modules-map .cell')].map((cell) => ({ text: cell.innerText,
        area: cell.offsetWidth * cell.offsetHeight })).sort((a, b) => b.area - a.area)""")
    check.equal("cells of the tree map", len(cells), 8)
    check.equal("the largest cell", cells[0]["text"], "shop::Cache::put\n20.2 MiB")
    check("areas are as values", abs(cells[0]["area"] / sum(cell["area"] for cell in cells) - 0.529) < 0.03, cells)
    check.equal("the module", check.text("#modules-map .module"), "shopd 38.2 MiB \u00b7 100 %")
    check.shot("modules")
    check.press("4")
    check.equal("growth", check.browser.run("return [...document.querySelectorAll('#growth-legend li')].map((each) => each.textContent)"),
                ["RSS 301 MiB \u2192 336 MiB (+35.0 MiB, +35.0 MiB a minute)", "Recorded live 4.00 MiB \u2192 37.0 MiB (+33.0 MiB, +33.0 MiB a minute)"])
    check.equal("two lines of seven points", check.browser.run("return [document.querySelectorAll('#growth-chart path.line').length, document.querySelectorAll('#growth-chart circle').length]"), [2, 14])
    check.shot("growth")
    check.press("5")
    facts = check.text("#facts")
    check("facts", all(each in facts for each in ["/usr/local/bin/shopd", "5f1d0c3b9a7e42d8", "40,074,240"]), facts)
    check("the ledger", "1,904,233" in check.text("#ledger-lines") and "stacks that end early" not in check.text("#ledger-lines"), check.text("#ledger-lines"))
    check("licences", check.browser.run("return document.querySelector('#tab-ledger pre').textContent").count("Permission to use, copy, modify") >= 1)
    check.shot("ledger")
    check.press("1")


def dark(check):
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = check.browser.run(ground)
    check.browser.dark(True)
    check.wait("dark as the system says", "return document.documentElement.dataset.theme === 'dark'")
    check("the page is dark", check.browser.run(ground) != light, light)
    check.shot("dark")
    check.click_on("#theme")
    check.equal("light by the button", check.browser.run(ground), light)
    check.press("d")
    check("dark by the key", check.browser.run(ground) != light)
    check.browser.dark(False)
    check.wait("light as the system says", "return document.documentElement.dataset.theme === 'light'")


def shop(check):
    check.open("shop")
    check.shot("shop")
    for part in [head_and_frames, top, searching, zooming, sample_types, table, other_tabs, dark]:
        part(check)
    check.no_errors("shop")


def channels(fill):
    return [int(part) for part in fill[4:-1].split(",")]


def difference(check):
    check.open("diff")
    check("what changed", check.text("#shown").startswith("What changed since shopd at 12:00: +14.0 MiB"), check.text("#shown"))
    red, _, blue = channels(check.frame("shop::Cache::put")["fill"])
    check("red grew", red > blue + 60, (red, blue))
    red, _, blue = channels(check.frame("shop::Orders::load")["fill"])
    check("blue shrank", blue > red + 60, (red, blue))
    check.equal("a negative value", check.frame("shop::Orders::load")["title"], "shop::Orders::load(std::istream&)\norders.cpp:201\n\u22127.00 MiB")
    check.press("2")
    check.wait("the table", "return document.querySelectorAll('#sites tr.site').length === 8")
    check.equal("by size of change", check.browser.run("return [...document.querySelectorAll('#sites td.number:first-child')].map((each) => each.textContent).slice(0, 3)"),
                ["+20.2 MiB", "\u22127.00 MiB", "\u22124.00 MiB"])
    check.shot("diff")
    check.press("3")
    check.equal("cells of the tree map", check.browser.run("return document.querySelectorAll('#modules-map .cell').length"), 8)
    check.no_errors("diff")


def hostile(check):
    check.open("hostile")
    name = "</script><script>document.title='taken'</script>"
    check.equal("the title is a text", check.browser.run("return document.title"), name + " \u2013 heapsnap")
    check.equal("the heading is a text", check.text("#title"), name)
    check.equal("the largest frame", check.frame(name)["label"], name)
    for shown in ["\\u202e\\u2028 turned", "a\\x1b[31m\\xff\"'`${document.title='taken'}", "__proto__", "constructor", "<%DATA%>", "<!--<script>", "]]>&lt;b&gt;"]:
        check.frame(shown)
    for tab in "2345":
        check.press(tab)
    check.press("2")
    check.wait("the table", "return document.querySelectorAll('#sites tr.site').length === 9")
    check.click_on("#sites tr.site")
    check.wait("a stack", "return document.querySelectorAll('#sites tr.details li').length === 2")
    check.equal("one script, no image", check.browser.run("return [document.scripts.length, document.images.length, document.querySelectorAll('iframe, object, embed, link').length]"), [1, 0, 0])
    check.no_errors("hostile")


def large(check):
    began = time.monotonic()
    ready = check.open("large")
    print(f"100,000 stacks, {os.path.getsize(os.path.join(check.folder, 'large.html')) >> 20} MiB: shown after {time.monotonic() - began:.1f} s; the page's own work took "
          f"{str(ready).split(' ', maxsplit=1)[0]} ms, of which at most {str(ready).rsplit(' ', maxsplit=1)[-1]} ms in one piece")
    frames = check.frames()
    check("as many frames as can be seen", 100 < len(frames) <= 4001, len(frames))
    check("it says what is not drawn", "narrower frames not drawn" in check.text("#hidden"), check.text("#hidden"))
    check.shot("large")
    for what, act, seen in [
            ("search", lambda: check.type("function_3999"), "return document.getElementById('found').textContent.includes('frame')"),
            ("another sample type", lambda: check.press("Escape", "t"), "return document.getElementById('type').value === '1'"),
            ("zoom", lambda: check.click(max(check.frames(), key=lambda each: each["y"])), "return !document.getElementById('reset').disabled"),
            ("table", lambda: check.press("2"), "return document.querySelectorAll('#sites tr.site').length === 200"),
            ("modules", lambda: check.press("3"), "return document.querySelectorAll('#modules-map .cell').length > 1000")]:
        began = time.monotonic()
        act()
        check.wait(what, seen, READY_S)
        print(f"  {what}: {time.monotonic() - began:.2f} s")
    check.no_errors("large")


def empty(check):
    check.open("empty")
    check("it says so", check.browser.run("return !document.getElementById('flame-empty').hidden"))
    for tab in "2345":
        check.press(tab)
    check.no_errors("empty")


def cut(check):
    """Files that were cut say so, wherever it was: between two blocks, and within one."""
    with open(os.path.join(check.folder, "shop.html"), encoding="utf-8") as file:
        text = file.read()
    blocks = [i for i in range(len(text)) if text.startswith('<script type="application/json"', i)]
    for name, length in [("none", blocks[0]), ("between", blocks[3]), ("within", blocks[3] + 100)]:
        with open(os.path.join(check.folder, f"cut_{name}.html"), "w", encoding="utf-8") as file:
            file.write(text[:length])
        check.browser.open(os.path.join(check.folder, f"cut_{name}.html"))
        check.wait(f"cut: {name}", f"return location.href.endsWith('/cut_{name}.html') && document.getElementById('failure')?.textContent.includes('is not complete')")


def main():
    name, made_page, folder = sys.argv[1:]
    browser_class = BROWSERS[name]
    if not browser_class.program():
        print(f"SKIPPED: {name} is not installed")
        return 77
    folder = os.path.join(os.path.abspath(folder), name)  # the two may run at the same time
    os.makedirs(folder, exist_ok=True)
    for case in ["shop", "diff", "hostile", "large", "empty"]:
        print(subprocess.run([made_page, case, os.path.join(folder, case + ".html")], check=True, stdout=subprocess.PIPE, text=True).stdout, end="")
    browser = browser_class()
    try:
        print(browser.version)
        check = Check(browser, folder)
        for case in [shop, difference, hostile, large, empty, cut]:
            case(check)
    finally:
        browser.close()
    os.remove(os.path.join(folder, "large.html"))
    print(f"{check.count} checks, {check.failed} failed; screenshots are in {folder}")
    return 1 if check.failed else 0


sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""publish.py JSON DOCS: from what bench.py has written, the document of figures and its pictures. Nothing in them is written by hand."""

import json
import os
import sys
import textwrap

from figures import added, plain, ratio_text, text
from plot import bars

OURS = ("exact", "sample", "budget", "detached")
STOPS = ("attach", "dump", "detach", "bare")
MIB = 1 << 20
GROUPS = (("pair", "malloc+free pairs", "Blocks of 16 to 511 bytes, random; each pair frees a random live block and allocates another. Nanoseconds for a pair."),
          ("tight", "Tight pairs", "All blocks have 64 bytes: malloc gives back the block that was freed just before. This is the least that a pair can cost, so the ratios are the largest."),
          ("calls", "Other calls", "Blocks freed by another thread; buffers that grow by realloc. Nanoseconds for a block, and for a step."),
          ("programs", "Programs", "Redis: nanoseconds for a request, as redis-benchmark sees it (it shares the processors); others: milliseconds for the same work."))


def table(header, rows):
    if not rows:
        return ""
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in [header, ["---"] * len(header), *rows]) + "\n"


def by_place(result, group):
    """{(title of the workload and its part): {mode: row}}, in the order of the measurements."""
    places = {}
    for row in result["costs"]:
        if row["group"] == group:
            places.setdefault(row["title"], {})[row["mode"]] = row
    return places


def cost_tables(result, group):
    places = by_place(result, group)
    names = [mode["name"] for mode in result["modes"] if any(mode["name"] in rows for rows in places.values())]
    own, peers = [name for name in names if name in OURS], [name for name in names if name not in OURS]
    yield from ratio_table(places, own, "ratio", "Ratio to the base, by the clock", True)
    if group == "programs":
        yield from ratio_table(places, own, "processor_ratio", "The same, of the processor time of the program alone", False)
    yield from ratio_table(places, peers, "ratio", "Peers: ratio to the same allocator without it", False)
    if group != "programs" and own:
        rows = [[title, *[plain(added(rows[name])) if name in rows else "-" for name in names]] for title, rows in places.items()]
        yield "Added, in ns, of the medians:\n\n" + table(["", *names], rows)


def ratio_table(places, names, what, title, with_base):
    if not names:
        return
    rows = []
    for place, modes in places.items():
        first = next((modes[name] for name in names if name in modes), None)
        base = [f"{text(first['base_cost'])} {first['unit']}, {first['base']}" if first else "-"] if with_base else []
        rows.append([place, *base, *[ratio_text(modes[name][what]) if name in modes else "-" for name in names]])
    yield f"{title}:\n\n" + table(["", *(["base"] if with_base else []), *names], rows)


def own_tables(result):
    if result.get("stop"):
        stops = [name for name in STOPS if any(f"{name}_ms" in row for row in result["stop"])]
        bare = " Bare is a program that stops every thread by ptrace, reads its registers, releases it, and does nothing else." if "bare" in stops else ""
        yield (f"## How long threads are stopped\n\nMilliseconds, of programs whose threads sleep, unless the row says otherwise.{bare}\n\n" + table(
            ["threads", *stops], [[threads_of(row), *[text(row[f"{name}_ms"]) if f"{name}_ms" in row else "-" for name in stops]]
                                  for row in result["stop"]]))
    if result.get("first"):
        yield ("## Right after attach\n\nProcessor time that heapsnap with the default budget adds to a program that does nothing but allocate, in % of the program's "
               "own. Each process was attached to once.\n\n" + table(
                   ["from", "to", "added", "processes", "6 more than in the last window"],
                   [[f"{row['from_ms']} ms", f"{row['to_ms']} ms", text({**row["share"], **{key: 100 * row["share"][key] for key in ("median", "least", "most")}}),
                     row["share"]["count"], row["far_above_the_last"]] for row in result["first"]]))
    if result.get("memory"):
        yield ("## Memory in the target\n\nResident memory. \"The heap\" is what the C library took for these blocks.\n\n" + table(
            ["mode", "live blocks", "bytes each", "stacks", "asked for", "the heap", "heapsnap, all", "the region for a block", "of asked for", "of the heap"],
            [[row["mode"], f"{row['live']:,}", row["size"], f"{row['stacks']:,}", f"{row['asked_bytes'] / MIB:.0f} MiB", f"{row['heap_bytes'] / MIB:.0f} MiB",
              f"{row['heapsnap_bytes'] / MIB:.2f} MiB", f"{row['region_bytes'] / row['live']:.2f} B", f"{row['region_bytes'] / row['asked_bytes']:.3f}",
              f"{row['region_bytes'] / row['heap_bytes']:.3f}"] for row in result["memory"]]))
    if result.get("dump"):
        times = ("total", "stopped", "copy", "symbolize", "processor")
        yield ("## Dumps\n\nMilliseconds. `fill` allocates its blocks from as many stacks as the row says. clang is stopped in the middle of its work and "
               "has stacks through libLLVM, libclang-cpp and libstdc++.\n\n" + table(
                   ["of", "live blocks", "stacks", *times, "peak of the tool", "file"],
                   [[row["of"], f"{row['live']:,}", f"{row['stacks']:,}", *[text(row[f"{name}_ms"]) for name in times],
                     f"{row['peak_bytes']['median'] / MIB:.0f} MiB", f"{row['bytes'] / 1024:.0f} KiB"] for row in result["dump"]]))
    if result.get("instructions"):
        frames = sorted({row["frames"] for row in result["instructions"]})
        names = list(dict.fromkeys(row["mode"] for row in result["instructions"]))
        cells = {(row["mode"], row["frames"]): f"{plain(row['median'])}, {plain(row['mean'])}" for row in result["instructions"]}
        yield ("## Instructions\n\nOf a tight pair with 1,000 live blocks, counted one by one: the median pair's, and the mean.\n\n" + table(
            ["", *[f"{number} frames" for number in frames]], [[name, *[cells.get((name, number), "-") for number in frames]] for name in names]))


def left_out(result):
    lines = [f"- {mode['title']}: {mode['left_out']}" for mode in result["modes"] if mode["left_out"]]
    lines += [f"- {each['mode']} on {each['workload']}: {each['reason']}" for each in result["failed"]]
    return "## Left out\n\n" + "\n".join(line.replace("\n", " ") for line in lines) + "\n" if lines else ""


def document(result):
    machine = result["machine"]
    virtual = ", virtual" if machine["hypervisor"] else ""
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    parts = ["# Figures\n", "`test/bench/publish.py` writes this page; `performance.md` says what the figures mean. Each is the median (least..most) of several "
             "rounds, base and mode in turn. A ratio is that of two neighbours.\n",
             f"Commit {result['commit'] or 'unknown'}, {result['date']}, up to {result['rounds']} rounds{', quick' if result['quick'] else ''}.",
             f"{machine['processor']}, {machine['processors']} processors{virtual}, {machine['memory_bytes'] / (1 << 30):.0f} GiB, Linux {machine['kernel']}.",
             f"{packages}.\n", table(["mode", ""], [[mode["name"], mode["title"]] for mode in result["modes"] if not mode["left_out"]])]
    for group, title, meaning in GROUPS:
        tables = list(cost_tables(result, group))
        if tables:
            parts += [f"## {title}\n\n{meaning}\n", *tables]
    parts += list(own_tables(result)) + [left_out(result)]
    return wrapped("\n".join(part for part in parts if part))


def wrapped(document_text):
    """Rows of tables cannot be."""
    return "\n".join(line if line.startswith("|") else textwrap.fill(line, 120, break_long_words=False, break_on_hyphens=False)
                     for line in document_text.split("\n"))


def threads_of(row):
    """The text of a row of stop times; most programs' threads sleep."""
    kind = row.get("that", "sleep")
    return f"{row['threads']}" + ("" if kind == "sleep" else f" that {kind}")


def pictures(result):
    """{name: text of an SVG}"""
    titles = {mode["name"]: mode["title"] for mode in result["modes"]}
    subtitle = f"ratio to the same program and allocator without it; commit {result['commit']}"
    pair = [row for row in result["costs"] if row["workload"] == "pair-13-100000"]
    found = {}
    if pair:
        rows = [(titles[row["mode"]], row["ratio"], row["mode"] in OURS) for row in sorted(pair, key=lambda row: row["ratio"]["median"])]
        found["performance-pair.svg"] = bars("malloc+free pair, 13 frames, 100,000 live blocks", subtitle, [("", rows)], lambda value: f"{value:.2f}", 1)
    groups = [(place, [(titles[mode], row["ratio"], mode in OURS) for mode, row in modes.items() if mode != "detached"])
              for place, modes in by_place(result, "programs").items()]
    if groups:
        found["performance-programs.svg"] = bars("Programs", subtitle, groups, lambda value: f"{value:.2f}", 1)
    if result.get("dump"):
        rows = [(f"{row['of']}: {row['live']:,} live, {row['stacks']:,} stacks", row["total_ms"], True) for row in result["dump"]]
        found["performance-dump.svg"] = bars("A dump, from start to end", f"ms; commit {result['commit']}", [("", rows)], plain)
    return found


def publish(result, docs):
    with open(os.path.join(docs, "performance-figures.md"), "w", encoding="utf-8") as file:
        file.write(document(result))
    for name, content in pictures(result).items():
        with open(os.path.join(docs, name), "w", encoding="utf-8") as file:
            file.write(content)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as source:
        publish(json.load(source), sys.argv[2])

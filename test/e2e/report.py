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

MALLOC = ("malloc", "", 0)
PUSH = ("std::vector<int, std::allocator<int> >::push_back(int const&)", "/usr/include/c++/12/bits/stl_vector.h", 99)
PUT, LOG = ("shop::Cache::put(int)", "/src/shop/cache.cpp", 18), ("shop::log(char const*)", "/src/shop/log.cpp", 7)
HANDLE, MAIN = ("shop::Server::handle()", "/src/shop/server.cpp", 30), ("main", "/src/shop/main.cpp", 40)
MIB = 1 << 20
STACKS = [([MALLOC, PUSH, PUT, HANDLE, MAIN], (70, 80 * MIB, 30, 30 * MIB)),
          ([MALLOC, LOG, HANDLE, MAIN], (5000, 500 * MIB, 20, 2 * MIB)),
          ([MALLOC, LOG, MAIN], (1, MIB, 1, MIB))]
LATER = [([MALLOC, PUSH, PUT, HANDLE, MAIN], (100, 120 * MIB, 45, 45 * MIB)),
         ([MALLOC, LOG, HANDLE, MAIN], (6000, 600 * MIB, 5, MIB // 2)),
         ([MALLOC, MAIN], (1, 100, 1, 100)),
         ([MALLOC, LOG, MAIN], (1, MIB, 1, MIB))]

HEAD = "Profile of shop (PID 42), taken 2023-11-14T22:13:20Z\n  recorded live   33.0 MiB  in 51 blocks, allocated since attach (3 s before)\n"
END = "Nothing lost.\n"


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


def on_terminal(columns, *arguments):
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
    check_equal(process.returncode, 0, f"exit status: {text}")
    return text.decode().replace("\r\n", "\n")


# What is shown between the first lines and the last one.
REPORTS = [
    ([], """\
  30.0 MiB     30 blocks  shop::Cache::put(int)  /src/shop/cache.cpp:18   via vector
        < shop::Server::handle < main
   2.0 MiB     20 blocks  shop::log(char const*)  /src/shop/log.cpp:7
        < shop::Server::handle < main
   1.0 MiB      1 block   shop::log(char const*)  /src/shop/log.cpp:7
        < main
"""),
    (["--by", "function"], """\
      live  blocks cumulative  function
  30.0 MiB      30   30.0 MiB  shop::Cache::put(int)  /src/shop/cache.cpp
   3.0 MiB      21    3.0 MiB  shop::log(char const*)  /src/shop/log.cpp
"""),
    (["--by", "line", "--sort", "name"], """\
      live  blocks cumulative  line
  30.0 MiB      30   30.0 MiB  shop::Cache::put(int)  /src/shop/cache.cpp:18
   3.0 MiB      21    3.0 MiB  shop::log(char const*)  /src/shop/log.cpp:7
"""),
    (["--by", "file", "--all-frames"], """\
      live  blocks cumulative  file
  30.0 MiB      30   30.0 MiB  /usr/include/c++/12/bits/stl_vector.h
   3.0 MiB      21    3.0 MiB  /src/shop/log.cpp
"""),
    (["--by", "module"], """\
      live  blocks cumulative  module
  33.0 MiB      51   33.0 MiB  shop
"""),
    (["--cumulative", "--limit", "2"], """\
cumulative  blocks     itself  function
  33.0 MiB      51        0 B  main  /src/shop/main.cpp
  32.0 MiB      50        0 B  shop::Server::handle()  /src/shop/server.cpp
2 more (--limit 0 for all)
"""),
    (["--tree"], """\
      live   share  blocks  roots > what they call
  33.0 MiB 100.0 %      51  [all]
  33.0 MiB 100.0 %      51    main
  32.0 MiB  97.0 %      50      shop::Server::handle()
  30.0 MiB  90.9 %      30        shop::Cache::put(int)
   2.0 MiB   6.1 %      20        shop::log(char const*)
   1.0 MiB   3.0 %       1      shop::log(char const*)
"""),
    (["--bottom-up", "--by", "file"], """\
      live   share  blocks  what allocated < its callers
  33.0 MiB 100.0 %      51  [all]
  30.0 MiB  90.9 %      30    /src/shop/cache.cpp < /src/shop/server.cpp < /src/shop/main.cpp
   3.0 MiB   9.1 %      21    /src/shop/log.cpp
   2.0 MiB   6.1 %      20      /src/shop/server.cpp < /src/shop/main.cpp
   1.0 MiB   3.0 %       1      /src/shop/main.cpp
"""),
    (["--sort", "alloc-bytes", "--limit", "1"], """\
 allocated                site
 500.0 MiB  5,000 blocks  shop::log(char const*)  /src/shop/log.cpp:7
        < shop::Server::handle < main
  81.0 MiB in 2 other sites (--limit 0 for all)
"""),
    (["--by", "function", "--sort", "alloc-blocks", "--limit", "1"], """\
 allocated  blocks cumulative  function
 501.0 MiB   5,001  501.0 MiB  shop::log(char const*)  /src/shop/log.cpp
  80.0 MiB in 1 more (--limit 0 for all)
"""),
    (["--focus", "Cache"], """\
  shown           30.0 MiB  in 30 blocks, 1 of 3 stacks (--focus, --ignore)
  30.0 MiB     30 blocks  shop::Cache::put(int)  /src/shop/cache.cpp:18   via vector
        < shop::Server::handle < main
"""),
    (["--ignore", "Cache", "--ignore", "std::", "--by", "function"], """\
  shown            3.0 MiB  in 21 blocks, 2 of 3 stacks (--focus, --ignore)
      live  blocks cumulative  function
   3.0 MiB      21    3.0 MiB  shop::log(char const*)  /src/shop/log.cpp
"""),
    (["--focus", "Cache", "--focus", "log", "--ignore", "Server"], """\
  shown            1.0 MiB  in 1 block, 1 of 3 stacks (--focus, --ignore)
   1.0 MiB      1 block   shop::log(char const*)  /src/shop/log.cpp:7
        < main
"""),
    (["--focus", "nobody", "--tree"], """\
  shown                0 B  in 0 blocks, 0 of 3 stacks (--focus, --ignore)
"""),
    (["--tree", "--all-frames", "--by", "line", "--sort", "alloc-blocks"], """\
 allocated   share  blocks  roots > what they call
 581.0 MiB 100.0 %   5,071  [all]
 581.0 MiB 100.0 %   5,071    main /src/shop/main.cpp:40
 580.0 MiB  99.8 %   5,070      shop::Server::handle() /src/shop/server.cpp:30
 500.0 MiB  86.1 %   5,000        shop::log(char const*) /src/shop/log.cpp:7
  80.0 MiB  13.8 %      70        shop::Cache::put(int) /src/shop/cache.cpp:18 > std::vector<int, std::allocator<int> >::push_back(int const&) /usr/include/c++/12/bits/stl_vector.h:99
   1.0 MiB   0.2 %       1      [1 more]
"""),
    (["--tree", "--all-frames", "--by", "line", "--sort", "alloc-blocks", "--limit", "0"], """\
 allocated   share  blocks  roots > what they call
 581.0 MiB 100.0 %   5,071  [all]
 581.0 MiB 100.0 %   5,071    main /src/shop/main.cpp:40
 580.0 MiB  99.8 %   5,070      shop::Server::handle() /src/shop/server.cpp:30
 500.0 MiB  86.1 %   5,000        shop::log(char const*) /src/shop/log.cpp:7
  80.0 MiB  13.8 %      70        shop::Cache::put(int) /src/shop/cache.cpp:18 > std::vector<int, std::allocator<int> >::push_back(int const&) /usr/include/c++/12/bits/stl_vector.h:99
   1.0 MiB   0.2 %       1      shop::log(char const*) /src/shop/log.cpp:7
"""),
]

DIFF_HEAD = "Recorded live 46.5 MiB, before 33.0 MiB: +13.5 MiB\n"
DIFFS = [
    ([], """\
  +15.0 MiB   45.0 MiB  shop::Cache::put(int)  /src/shop/cache.cpp:18   via vector
   -1.5 MiB  512.0 KiB  shop::log(char const*)  /src/shop/log.cpp:7
     +100 B      100 B  main  /src/shop/main.cpp:40
"""),
    (["--limit", "1"], """\
  +15.0 MiB   45.0 MiB  shop::Cache::put(int)  /src/shop/cache.cpp:18   via vector
2 more (--limit 0 for all)
"""),
    (["--by", "function"], """\
      live  blocks cumulative  function
 +15.0 MiB     +15  +15.0 MiB  shop::Cache::put(int)  /src/shop/cache.cpp
  -1.5 MiB     -15   -1.5 MiB  shop::log(char const*)  /src/shop/log.cpp
    +100 B      +1  +13.5 MiB  main  /src/shop/main.cpp
"""),
    (["--cumulative", "--limit", "2"], """\
cumulative  blocks     itself  function
 +15.0 MiB     +15  +15.0 MiB  shop::Cache::put(int)  /src/shop/cache.cpp
 +13.5 MiB      +1     +100 B  main  /src/shop/main.cpp
2 more (--limit 0 for all)
"""),
    (["--tree"], """\
      live  blocks  roots > what they call
 +13.5 MiB      +1  [all]
 +13.5 MiB      +1    main
    +100 B      +1      [itself]
 +13.5 MiB       0      shop::Server::handle()
 +15.0 MiB     +15        shop::Cache::put(int)
  -1.5 MiB     -15        shop::log(char const*)
"""),
    (["--bottom-up"], """\
      live  blocks  what allocated < its callers
 +13.5 MiB      +1  [all]
 +15.0 MiB     +15    shop::Cache::put(int) < shop::Server::handle() < main
  -1.5 MiB     -15    shop::log(char const*) < shop::Server::handle() < main
    +100 B      +1    [1 more]
"""),
    (["--sort", "alloc-bytes"], """\
  allocated     in all  site
 +100.0 MiB  600.0 MiB  shop::log(char const*)  /src/shop/log.cpp:7
  +40.0 MiB  120.0 MiB  shop::Cache::put(int)  /src/shop/cache.cpp:18   via vector
     +100 B      100 B  main  /src/shop/main.cpp:40
"""),
    (["--sort", "name"], """\
     +100 B      100 B  main  /src/shop/main.cpp:40
  +15.0 MiB   45.0 MiB  shop::Cache::put(int)  /src/shop/cache.cpp:18   via vector
   -1.5 MiB  512.0 KiB  shop::log(char const*)  /src/shop/log.cpp:7
"""),
    (["--focus", "handle"], """\
  shown 45.5 MiB, before 32.0 MiB: +13.5 MiB (--focus, --ignore)
  +15.0 MiB   45.0 MiB  shop::Cache::put(int)  /src/shop/cache.cpp:18   via vector
   -1.5 MiB  512.0 KiB  shop::log(char const*)  /src/shop/log.cpp:7
"""),
]

# On a terminal of so many columns, names are short and fitted.
TERMINALS = [
    (80, ["report", "old", "--tree"], """\
Profile of shop (PID 42), taken 2023-11-14T22:13:20Z
  recorded live   33.0 MiB  in 51 blocks, allocated since attach (3 s before)
      live   share  blocks  roots > what they call
  33.0 MiB 100.0 %      51  [all]
  33.0 MiB 100.0 %      51    main
  32.0 MiB  97.0 %      50      shop::Server::handle
  30.0 MiB  90.9 %      30        shop::Cache::put
   2.0 MiB   6.1 %      20        shop::log
   1.0 MiB   3.0 %       1      shop::log
Nothing lost.
"""),
    (80, ["report", "old", "--by", "line"], """\
Profile of shop (PID 42), taken 2023-11-14T22:13:20Z
  recorded live   33.0 MiB  in 51 blocks, allocated since attach (3 s before)
      live  blocks cumulative  line
  30.0 MiB      30   30.0 MiB  shop::Cache::put  cache.cpp:18
   3.0 MiB      21    3.0 MiB  shop::log  log.cpp:7
Nothing lost.
"""),
    (80, ["diff", "old", "new"], """\
Recorded live 46.5 MiB, before 33.0 MiB: +13.5 MiB
  +15.0 MiB   45.0 MiB  shop::Cache::put  cache.cpp:18   via vector
   -1.5 MiB  512.0 KiB  shop::log  log.cpp:7
     +100 B      100 B  main  main.cpp:40
"""),
    (80, ["report", "old", "--bottom-up", "--all-frames"], """\
Profile of shop (PID 42), taken 2023-11-14T22:13:20Z
  recorded live   33.0 MiB  in 51 blocks, allocated since attach (3 s before)
      live   share  blocks  what allocated < its callers
  33.0 MiB 100.0 %      51  [all]
  30.0 MiB  90.9 %      30    std::vector<int>::push_b…op::Server::handle < main
   3.0 MiB   9.1 %      21    shop::log
   2.0 MiB   6.1 %      20      shop::Server::handle < main
   1.0 MiB   3.0 %       1      main
Nothing lost.
"""),
]

DIFFERENCE = """\
Difference of two profiles of shop (PID 42), the later one taken 2023-11-14T22:13:50Z
  recorded live  +13.5 MiB  in +1 block, within 30 s
 +15.0 MiB    +15 blocks  shop::Cache::put(int)  /src/shop/cache.cpp:18   via vector
        < shop::Server::handle < main
  -1.5 MiB    -15 blocks  shop::log(char const*)  /src/shop/log.cpp:7
        < shop::Server::handle < main
    +100 B     +1 block   main  /src/shop/main.cpp:40
Nothing lost.
"""

# The same stacks as estimates: an error bar for each number, or a "~".
ESTIMATED = ("sampling_interval: 65536 (x)", "sampling_interval_most: 65536 (x)", "samples: 480 (x)", "inuse_objects_error: 5 (x)", "inuse_space_error: 1500000 (x)")
ESTIMATES = [
    (["report", "old"], """\
Profile of shop (PID 42), taken 2023-11-14T22:13:20Z
  recorded live   33.0 MiB  in 51 blocks, allocated since attach (3 s before)
  30.0 MiB ±4.5 %        30 blocks  shop::Cache::put(int)  /src/shop/cache.cpp:18   via vector
        < shop::Server::handle < main
   2.0 MiB ±18 %         20 blocks  shop::log(char const*)  /src/shop/log.cpp:7
        < shop::Server::handle < main
   1.0 MiB ±25 %          1 block   shop::log(char const*)  /src/shop/log.cpp:7
        < main
Estimates (±4.3 % of all live bytes, from 480 recorded blocks); now 1 sample every 64.0 KiB.
Nothing lost.
"""),
    (["report", "old", "--by", "function", "--limit", "1"], """\
Profile of shop (PID 42), taken 2023-11-14T22:13:20Z
  recorded live   33.0 MiB  in 51 blocks, allocated since attach (3 s before)
      live            blocks cumulative  function
  30.0 MiB ±4.5 %         30  ~30.0 MiB  shop::Cache::put(int)  /src/shop/cache.cpp
  ~3.0 MiB in 1 more (--limit 0 for all)
Estimates (±4.3 % of all live bytes, from 480 recorded blocks); now 1 sample every 64.0 KiB.
Nothing lost.
"""),
    (["report", "old", "--tree", "--limit", "1"], """\
Profile of shop (PID 42), taken 2023-11-14T22:13:20Z
  recorded live   33.0 MiB  in 51 blocks, allocated since attach (3 s before)
      live             share  blocks  roots > what they call
  33.0 MiB ±4.3 %    100.0 %      51  [all]
  33.0 MiB ±4.3 %    100.0 %      51    main
  32.0 MiB ±4.4 %     97.0 %      50      shop::Server::handle()
  30.0 MiB ±4.5 %     90.9 %      30        shop::Cache::put(int)
   2.0 MiB ±18 %       6.1 %      20        [1 more]
   1.0 MiB ±25 %       3.0 %       1      [1 more]
Estimates (±4.3 % of all live bytes, from 480 recorded blocks); now 1 sample every 64.0 KiB.
Nothing lost.
"""),
    (["report", "old", "--sort", "alloc-bytes", "--limit", "1"], """\
Profile of shop (PID 42), taken 2023-11-14T22:13:20Z
  recorded live   33.0 MiB  in 51 blocks, allocated since attach (3 s before)
 allocated                site
~500.0 MiB ~5,000 blocks  shop::log(char const*)  /src/shop/log.cpp:7
        < shop::Server::handle < main
 ~81.0 MiB in 2 other sites (--limit 0 for all)
Estimates (±4.3 % of all live bytes, from 480 recorded blocks); now 1 sample every 64.0 KiB.
Nothing lost.
"""),
    (["diff", "old", "new"], """\
Recorded live 46.5 MiB, before 33.0 MiB: +13.5 MiB ±2.0 MiB
  +15.0 MiB ±2.0 MiB    ~45.0 MiB  shop::Cache::put(int)  /src/shop/cache.cpp:18   via vector
   -1.5 MiB ±391.3 KiB ~512.0 KiB  shop::log(char const*)  /src/shop/log.cpp:7
     +100 B ±90.5 KiB      ~100 B  ? main  /src/shop/main.cpp:40
?: within two standard errors, and so perhaps chance
"""),
    (["diff", "old", "new", "--by", "function", "--ignore", "Cache"], """\
Recorded live 46.5 MiB, before 33.0 MiB: +13.5 MiB ±2.0 MiB
  shown 1.5 MiB, before 3.0 MiB: -1.5 MiB ±391.3 KiB (--focus, --ignore)
      live            blocks cumulative  function
  -1.5 MiB ±391.3 KiB     -15  ~-1.5 MiB  shop::log(char const*)  /src/shop/log.cpp
    +100 B ±90.5 KiB      +1  ~-1.5 MiB  main  /src/shop/main.cpp
"""),
    (["diff", "old", "new", "--sort", "alloc-bytes", "--limit", "1"], """\
Recorded live 46.5 MiB, before 33.0 MiB: +13.5 MiB ±2.0 MiB
  allocated     in all  site
~+100.0 MiB ~600.0 MiB  shop::log(char const*)  /src/shop/log.cpp:7
2 more (--limit 0 for all)
"""),
    (["report", "written"], """\
Difference of two profiles of shop (PID 42), the later one taken 2023-11-14T22:13:50Z
  recorded live  +13.5 MiB  in +1 block, within 30 s
 +15.0 MiB ±2.0 MiB     +15 blocks  shop::Cache::put(int)  /src/shop/cache.cpp:18   via vector
        < shop::Server::handle < main
  -1.5 MiB ±391.3 KiB    -15 blocks  shop::log(char const*)  /src/shop/log.cpp:7
        < shop::Server::handle < main
    +100 B ±90.5 KiB     +1 block   main  /src/shop/main.cpp:40
Estimates (±2.0 MiB of all live bytes, as if the two were independent).
Nothing lost.
"""),
    (["report", "written", "--tree"], """\
Difference of two profiles of shop (PID 42), the later one taken 2023-11-14T22:13:50Z
  recorded live  +13.5 MiB  in +1 block, within 30 s
      live            blocks  roots > what they call
 +13.5 MiB ±2.0 MiB       +1  [all]
 +13.5 MiB ±2.0 MiB       +1    main
    +100 B ±90.5 KiB      +1      [itself]
 +13.5 MiB ±2.0 MiB        0      shop::Server::handle()
 +15.0 MiB ±2.0 MiB      +15        shop::Cache::put(int)
  -1.5 MiB ±391.3 KiB     -15        shop::log(char const*)
Estimates (±2.0 MiB of all live bytes, as if the two were independent).
Nothing lost.
"""),
]


def rows():
    old, _ = make()
    for arguments, expected in REPORTS:
        check_equal(output("report", old, *arguments), HEAD + expected + END, f"report {' '.join(arguments)}")
    say(f"  {len(REPORTS)} ways to look at a profile")


def changes():
    old, new = make()
    for arguments, expected in DIFFS:
        check_equal(output("diff", old, new, *arguments), DIFF_HEAD + expected, f"diff {' '.join(arguments)}")
    check_equal(output("diff", old, old), "Recorded live 33.0 MiB, before 33.0 MiB: 0 B\n", "what did not change")


def estimates():
    old, new = make()
    comments = (*made_profile.COMMENTS, *ESTIMATED)
    made_profile.write(old, STACKS, comments=comments, period=65536)
    made_profile.write(new, LATER, comments=comments, period=65536, time_ns=1700000030 * 10**9, duration_ns=33 * 10**9)
    written = os.path.join(os.path.dirname(old), "written.pb.gz")
    output("diff", old, new, "-o", written)
    for words, expected in ESTIMATES:
        check_equal(output(*({"old": old, "new": new, "written": written}.get(word, word) for word in words)), expected, f"estimates: {' '.join(words)}")


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
        ours, theirs = (dict(flat_values(index, *words)) for words in ((path,), ("-base", old, new)))
        check_equal(ours, theirs, f"{index}: what pprof sees of the file, and of the two")
    check_equal(output("report", path), DIFFERENCE, "the difference as a profile")
    for arguments in (("--by", "function"), ("--tree",), ("--bottom-up", "--by", "line"), ("--cumulative", "--sort", "alloc-blocks")):
        check_equal(output("report", path, *arguments).splitlines()[2:-1], output("diff", old, new, *arguments).splitlines()[1:],
                    f"a difference that was written, by {arguments}")
    result = heapsnap("diff", old, new, "-o", "-")  # the file alone
    with open(path, "rb") as file:
        check_equal(result.stdout_bytes, file.read(), "the difference on standard output")
    check("Recorded live 46.5 MiB" in result.stderr, f"what is said beside it: {result}")
    check_refused(heapsnap("diff", old, new, "-o", os.path.join(path, "x")), "cannot")
    check_refused(heapsnap("diff", old, os.path.join(path, "x"), "-o", path), "cannot read")
    with open(path, "rb") as file:
        check_equal(result.stdout_bytes, file.read(), "the file after a diff that failed")


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
    check_equal(value["sites"][0]["stack"], frames, "the stack of the largest site")
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
    check_equal([frame["function"] for frame in value["changes"][0]["path"]], [PUT[0], HANDLE[0], "main"], "the way to a change")
    check_equal([stack["live_bytes"] for stack in value["stacks"]], [15 * MIB, -3 * MIB // 2, 100], "stacks of a difference")
    check_equal(value["stacks"][0]["frames"], frames, "the stack that changed most")
    value = ask("diff", old, new, "--by", "function", "--limit", "1")
    check_equal([(row["function"], row["live_bytes"]) for row in value["rows"]], [(PUT[0], 15 * MIB)], "rows of a difference")


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
    named = subprocess.run([HEAPSNAP, "report", f"./{target.pid}", "--json"], cwd=folder, capture_output=True, check=True)
    check_equal(json.loads(named.stdout)["file"], f"./{target.pid}", "a file that has a number's name")
    check_equal(os.listdir(folder), [str(target.pid)], "files")
    check_refused(heapsnap("report", "0"), "no process")
    check_equal(target.ask("finish"), "ok", "contents of the blocks")
    detach(target.pid)
    target.end()


run_cases([rows, changes, estimates, terminals, files, objects, refusals, streams, processes], "report")

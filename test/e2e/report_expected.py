# SPDX-License-Identifier: Apache-2.0
"""Stacks, and what heapsnap shows of them: for report.py."""

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
  shown            nothing  no stack has a function, file or module that --focus matches
"""),
    (["--ignore", "main"], """\
  shown            nothing  each stack has a function, file or module that --ignore matches
"""),
    (["--focus", "Cache", "--ignore", "main"], """\
  shown            nothing  no stack has a function, file or module that --focus matches, and none that --ignore does
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

DIFF_HEAD = """\
Recorded live 46.5 MiB in 52 blocks, before 33.0 MiB in 51: +13.5 MiB, +1 block
30 s between the two: +460.8 KiB/s
"""
DIFFS = [
    ([], """\
     change  blocks        now         rate  site
  +15.0 MiB     +15   45.0 MiB +512.0 KiB/s  shop::Cache::put(int)  /src/shop/cache.cpp:18   via vector
        < shop::Server::handle < main
   -1.5 MiB     -15  512.0 KiB  -51.2 KiB/s  shop::log(char const*)  /src/shop/log.cpp:7
        < shop::Server::handle < main
     +100 B      +1      100 B       +3 B/s  main  /src/shop/main.cpp:40
"""),
    (["--limit", "1"], """\
     change  blocks        now         rate  site
  +15.0 MiB     +15   45.0 MiB +512.0 KiB/s  shop::Cache::put(int)  /src/shop/cache.cpp:18   via vector
        < shop::Server::handle < main
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
  allocated  blocks     in all         rate  site
 +100.0 MiB  +1,000  600.0 MiB   +3.3 MiB/s  shop::log(char const*)  /src/shop/log.cpp:7
        < shop::Server::handle < main
  +40.0 MiB     +30  120.0 MiB   +1.3 MiB/s  shop::Cache::put(int)  /src/shop/cache.cpp:18   via vector
        < shop::Server::handle < main
     +100 B      +1      100 B       +3 B/s  main  /src/shop/main.cpp:40
"""),
    (["--sort", "name"], """\
     change  blocks        now         rate  site
     +100 B      +1      100 B       +3 B/s  main  /src/shop/main.cpp:40
  +15.0 MiB     +15   45.0 MiB +512.0 KiB/s  shop::Cache::put(int)  /src/shop/cache.cpp:18   via vector
        < shop::Server::handle < main
   -1.5 MiB     -15  512.0 KiB  -51.2 KiB/s  shop::log(char const*)  /src/shop/log.cpp:7
        < shop::Server::handle < main
"""),
    (["--focus", "handle"], """\
  shown 45.5 MiB in 50 blocks, before 32.0 MiB in 50: +13.5 MiB, 0 blocks (--focus, --ignore)
     change  blocks        now         rate  site
  +15.0 MiB     +15   45.0 MiB +512.0 KiB/s  shop::Cache::put(int)  /src/shop/cache.cpp:18   via vector
        < shop::Server::handle < main
   -1.5 MiB     -15  512.0 KiB  -51.2 KiB/s  shop::log(char const*)  /src/shop/log.cpp:7
        < shop::Server::handle < main
"""),
    (["--focus", "nobody"], """\
  shown nothing: no stack has a function, file or module that --focus matches
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
Recorded live 46.5 MiB in 52 blocks, before 33.0 MiB in 51: +13.5 MiB, +1 block
30 s between the two: +460.8 KiB/s
     change  blocks        now         rate  site
  +15.0 MiB     +15   45.0 MiB +512.0 KiB/s  shop::Cache::put  cache.cpp:18
        < shop::Server::handle < main
   -1.5 MiB     -15  512.0 KiB  -51.2 KiB/s  shop::log  log.cpp:7
        < shop::Server::handle < main
     +100 B      +1      100 B       +3 B/s  main  main.cpp:40
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

# The same stacks as estimates: an error bar for each number, or a "~"; and where all were recorded as they are, but others may not have been, a "≥".
EXACT = ("sampling_interval: 1 (x)", "sampling_interval_most: 65536 (x)", "samples: 51 (x)", "inuse_objects_error: 5 (x)", "inuse_space_error: 65536 (x)",
         "recorded_exactly: 1 (x)")
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
Recorded live 46.5 MiB in 52 blocks, before 33.0 MiB in 51: +13.5 MiB ±2.0 MiB, +1 block
30 s between the two: +460.8 KiB/s ±69.1 KiB/s
     change             blocks        now          rate  site
  +15.0 MiB ±2.0 MiB       +15  ~45.0 MiB ~+512.0 KiB/s  shop::Cache::put(int)  /src/shop/cache.cpp:18   via vector
        < shop::Server::handle < main
   -1.5 MiB ±391.3 KiB     -15 ~512.0 KiB  ~-51.2 KiB/s  shop::log(char const*)  /src/shop/log.cpp:7
        < shop::Server::handle < main
1 more (--limit 0 for all)
"""),
    (["diff", "old", "new", "--limit", "0"], """\
Recorded live 46.5 MiB in 52 blocks, before 33.0 MiB in 51: +13.5 MiB ±2.0 MiB, +1 block
30 s between the two: +460.8 KiB/s ±69.1 KiB/s
     change             blocks        now          rate  site
  +15.0 MiB ±2.0 MiB       +15  ~45.0 MiB ~+512.0 KiB/s  shop::Cache::put(int)  /src/shop/cache.cpp:18   via vector
        < shop::Server::handle < main
   -1.5 MiB ±391.3 KiB     -15 ~512.0 KiB  ~-51.2 KiB/s  shop::log(char const*)  /src/shop/log.cpp:7
        < shop::Server::handle < main
    about 0 ±90.5 KiB       +1     ~100 B       ~+3 B/s  ? main  /src/shop/main.cpp:40
?: within two standard errors, and so perhaps chance
"""),
    (["diff", "old", "new", "--by", "function", "--ignore", "Cache"], """\
Recorded live 46.5 MiB in 52 blocks, before 33.0 MiB in 51: +13.5 MiB ±2.0 MiB, +1 block
30 s between the two: +460.8 KiB/s ±69.1 KiB/s
  shown 1.5 MiB in 7 blocks, before 3.0 MiB in 21: -1.5 MiB ±391.3 KiB, -14 blocks (--focus, --ignore)
      live            blocks cumulative  function
  -1.5 MiB ±391.3 KiB     -15  ~-1.5 MiB  shop::log(char const*)  /src/shop/log.cpp
   ~+100 B in 1 more (--limit 0 for all)
"""),
    (["diff", "old", "new", "--sort", "alloc-bytes", "--limit", "1"], """\
Recorded live 46.5 MiB in 52 blocks, before 33.0 MiB in 51: +13.5 MiB ±2.0 MiB, +1 block
30 s between the two: +460.8 KiB/s ±69.1 KiB/s
  allocated  blocks     in all         rate  site
~+100.0 MiB ~+1,000 ~600.0 MiB  ~+3.3 MiB/s  shop::log(char const*)  /src/shop/log.cpp:7
        < shop::Server::handle < main
2 more (--limit 0 for all)
"""),
    (["report", "written"], """\
Difference of two profiles of shop (PID 42), the later one taken 2023-11-14T22:13:50Z
  recorded live  +13.5 MiB  in +1 block, within 30 s
 +15.0 MiB ±2.0 MiB     +15 blocks  shop::Cache::put(int)  /src/shop/cache.cpp:18   via vector
        < shop::Server::handle < main
  -1.5 MiB ±391.3 KiB    -15 blocks  shop::log(char const*)  /src/shop/log.cpp:7
        < shop::Server::handle < main
   ~+100 B in 1 other site (--limit 0 for all)
Estimates (±2.0 MiB of all live bytes, as if the two were independent).
Nothing lost.
"""),
    (["report", "written", "--tree"], """\
Difference of two profiles of shop (PID 42), the later one taken 2023-11-14T22:13:50Z
  recorded live  +13.5 MiB  in +1 block, within 30 s
      live            blocks  roots > what they call
 +13.5 MiB ±2.0 MiB       +1  [all]
 +13.5 MiB ±2.0 MiB       +1    main
   about 0 ±90.5 KiB      +1      [itself]
 +13.5 MiB ±2.0 MiB        0      shop::Server::handle()
 +15.0 MiB ±2.0 MiB      +15        shop::Cache::put(int)
  -1.5 MiB ±391.3 KiB     -15        shop::log(char const*)
Estimates (±2.0 MiB of all live bytes, as if the two were independent).
Nothing lost.
"""),
    (["report", "exact"], """\
Profile of shop (PID 42), taken 2023-11-14T22:13:20Z
  recorded live   33.0 MiB  in 51 blocks, allocated since attach (3 s before)
 ≥30.0 MiB               30 blocks  shop::Cache::put(int)  /src/shop/cache.cpp:18   via vector
        < shop::Server::handle < main
  ≥2.0 MiB               20 blocks  shop::log(char const*)  /src/shop/log.cpp:7
        < shop::Server::handle < main
  ≥1.0 MiB                1 block   shop::log(char const*)  /src/shop/log.cpp:7
        < main
Recorded exactly; about 64.0 KiB more may be live (≥), of which no sample was taken; now every allocation is recorded.
Nothing lost.
"""),
    (["report", "exact", "--by", "function", "--limit", "1"], """\
Profile of shop (PID 42), taken 2023-11-14T22:13:20Z
  recorded live   33.0 MiB  in 51 blocks, allocated since attach (3 s before)
      live            blocks cumulative  function
 ≥30.0 MiB                30  ≥30.0 MiB  shop::Cache::put(int)  /src/shop/cache.cpp
  ≥3.0 MiB in 1 more (--limit 0 for all)
Recorded exactly; about 64.0 KiB more may be live (≥), of which no sample was taken; now every allocation is recorded.
Nothing lost.
"""),
    (["diff", "exact", "exact_new"], """\
Recorded live 46.5 MiB in 52 blocks, before 33.0 MiB in 51: +13.5 MiB, +1 block
30 s between the two: +460.8 KiB/s
     change             blocks        now          rate  site
  +15.0 MiB recorded       +15  ≥45.0 MiB  +512.0 KiB/s  shop::Cache::put(int)  /src/shop/cache.cpp:18   via vector
        < shop::Server::handle < main
   -1.5 MiB recorded       -15 ≥512.0 KiB   -51.2 KiB/s  shop::log(char const*)  /src/shop/log.cpp:7
        < shop::Server::handle < main
     +100 B recorded        +1     ≥100 B        +3 B/s  main  /src/shop/main.cpp:40
recorded: exactly so much; what was not recorded may differ by about 90.5 KiB
"""),
    (["diff", "exact", "exact_new", "--by", "function", "--limit", "1"], """\
Recorded live 46.5 MiB in 52 blocks, before 33.0 MiB in 51: +13.5 MiB, +1 block
30 s between the two: +460.8 KiB/s
      live            blocks cumulative  function
 +15.0 MiB recorded      +15  +15.0 MiB  shop::Cache::put(int)  /src/shop/cache.cpp
  -1.5 MiB in 2 more (--limit 0 for all)
recorded: exactly so much; what was not recorded may differ by about 90.5 KiB
"""),
]

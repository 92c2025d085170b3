// SPDX-License-Identifier: Apache-2.0
// What why_print_test.c expects.
static const struct {
	unsigned short columns;
	const char *text;
} expected[][2] = {
	{ { 80, "Process 4242 watched for 60 s in 7 cuts (then it ended): anonymous memory 181.0\n"
		"  MiB, +131.0 MiB since the first\n"
		"Steady leak at one site: shop::Cache::put (cache.cpp:18) grows by 2.0 MiB/s\n"
		"  - it grows all the time (2.0 MiB/s in the first half, 2.0 MiB/s in the\n"
		"    second), and makes 100 % of what grows\n"
		"  - its blocks stay: all that was live after 30 s is live still\n"
		"  - the process's anonymous memory grows with it, by 2.1 MiB/s\n"
		"Sites whose recorded blocks grow:\n"
		"   +2.0 MiB/s ±<0.1 %    shop::Cache::put  cache.cpp:18\n"
		"        120.0 MiB live in 120k blocks; all that was live half-way stays\n"
		"        < shop::Server<shop::Protocol<int, shop::Framing<…>>>::handle_request <\n"
		"          ...\n"
		"Sites that have grown, and do not any more:\n"
		" +187.7 KiB/s            shop::Table::load  table.cpp:7\n"
		"        12.0 MiB live in 1,200 blocks; all that was live half-way stays\n"
		"        < main\n"
		"Allocated and freed again:\n"
		"   80.0 MiB/s    40.0k blocks/s  shop::parse_message  parse.cpp:40\n"
		"The process grows by 2.1 MiB/s; what is recorded, by 2.1 MiB/s, is 100 % of\n"
		"  that.\n"
		"Nothing lost.\n"
		"last.pb.gz: 4.0 KiB\n" },
	  { 120,
	    "Process 4242 watched for 60 s in 7 cuts (then it ended): anonymous memory 181.0 MiB, +131.0 MiB since the first\n"
	    "Steady leak at one site: shop::Cache::put (cache.cpp:18) grows by 2.0 MiB/s\n"
	    "  - it grows all the time (2.0 MiB/s in the first half, 2.0 MiB/s in the second), and makes 100 % of what grows\n"
	    "  - its blocks stay: all that was live after 30 s is live still\n"
	    "  - the process's anonymous memory grows with it, by 2.1 MiB/s\n"
	    "Sites whose recorded blocks grow:\n"
	    "   +2.0 MiB/s ±<0.1 %    shop::Cache::put  cache.cpp:18\n"
	    "        120.0 MiB live in 120k blocks; all that was live half-way stays\n"
	    "        < shop::Server<shop::Protocol<int, shop::Framing<…>>>::handle_request < main\n"
	    "Sites that have grown, and do not any more:\n"
	    " +187.7 KiB/s            shop::Table::load  table.cpp:7\n"
	    "        12.0 MiB live in 1,200 blocks; all that was live half-way stays\n"
	    "        < main\n"
	    "Allocated and freed again:\n"
	    "   80.0 MiB/s    40.0k blocks/s  shop::parse_message  parse.cpp:40\n"
	    "The process grows by 2.1 MiB/s; what is recorded, by 2.1 MiB/s, is 100 % of that.\n"
	    "Nothing lost.\n"
	    "last.pb.gz: 4.0 KiB\n" } },
	{ { 80, "Process 4242 watched for 60 s in 7 cuts: anonymous memory 50.0 MiB, 0 B since\n"
		"  the first\n"
		"Nothing grows\n"
		"  - the process's anonymous memory changed by 0 B in 60 s, to 50.0 MiB\n"
		"  - no site's live bytes rise steadily; recorded live is 3.0 MiB\n"
		"  - 47.0 MiB is not in what was recorded: it is older than the attach, freed but\n"
		"    kept by malloc, or mapped\n"
		"Estimates (±3.2 % of all live bytes, from 3 recorded blocks); now every\n"
		"  allocation is recorded.\n"
		"Nothing lost.\n"
		"last.pb.gz: 4.0 KiB\n" },
	  { 120,
	    "Process 4242 watched for 60 s in 7 cuts: anonymous memory 50.0 MiB, 0 B since the first\n"
	    "Nothing grows\n"
	    "  - the process's anonymous memory changed by 0 B in 60 s, to 50.0 MiB\n"
	    "  - no site's live bytes rise steadily; recorded live is 3.0 MiB\n"
	    "  - 47.0 MiB is not in what was recorded: it is older than the attach, freed but kept by malloc, or mapped\n"
	    "Estimates (±3.2 % of all live bytes, from 3 recorded blocks); now every allocation is recorded.\n"
	    "Nothing lost.\n"
	    "last.pb.gz: 4.0 KiB\n" } },
};

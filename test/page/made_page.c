// SPDX-License-Identifier: Apache-2.0
// made_page CASE FILE: writes a page of a profile that is made by hand, for test/page/page_check.py. 77: this program
// has no page.
#include "made_named.h"
#include "proto/page/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KIB = 1024, MIB = 1 << 20 };

static const struct page_point series[] = {
	{ 0, 301u * MIB, 4 * MIB },   { 10, 305u * MIB, 9 * MIB },  { 20, 312u * MIB, 15 * MIB },
	{ 30, 316u * MIB, 19 * MIB }, { 40, 324u * MIB, 26 * MIB }, { 50, 329u * MIB, 31 * MIB },
	{ 60, 336u * MIB, 37 * MIB },
};

static struct ledger_line ledger[] = {
	{ (char *)(uintptr_t) "allocations", (char *)(uintptr_t) "allocations seen", 1904233, false, false },
	{ (char *)(uintptr_t) "frees", (char *)(uintptr_t) "blocks freed that were recorded", 1851201, false, false },
	{ (char *)(uintptr_t) "stack_cut_no_unwind_info",
	  (char *)(uintptr_t) "stacks that end early, in code without unwind information", 0, true, false },
	{ (char *)(uintptr_t) "table_full", (char *)(uintptr_t) "records that did not fit", 0, true, false },
};

static struct profile_mapping mapping = { .file = (char *)(uintptr_t) "/usr/local/bin/shopd",
					  .build_id = (char *)(uintptr_t) "5f1d0c3b9a7e42d8" };

static void set_head(struct made_named *made)
{
	made->profile.pid = 4711;
	made->profile.time_ns = 1785000000000000000;
	made->profile.duration_ns = 3720000000000;
	made->profile.memory = (struct profile_memory){ true, 398u << 20, 391u << 20, 0, 0 };
	made->profile.program = (char *)(uintptr_t) "shopd";
	made->profile.mappings = &mapping;
	made->profile.mapping_count = 1;
	made->profile.ledger = ledger;
	made->profile.ledger_count = sizeof(ledger) / sizeof(ledger[0]);
}

// A shop that forgets its carts. `sign` is -1 where every second site has shrunk.
//
// Longer than 60 lines: places and stacks, a line each
static void make_shop(struct made_named *made, int sign)
{
	static const struct {
		const char *name, *full, *file, *module;
		int64_t line;
		enum frame_class class;
	} places[] = {
		{ "std::string", "std::__cxx11::basic_string<char>::_M_create(unsigned long&, unsigned long)",
		  "basic_string.tcc", "libstdc++.so.6", 144, FRAME_CONTAINER },
		{ "std::unordered_map::emplace",
		  "std::unordered_map<std::string, shop::Cart>::emplace<std::string&, shop::Cart>(std::string&, shop::Cart&&)",
		  "hashtable.h", "shopd", 2110, FRAME_CONTAINER },
		{ "shop::Cache::put", "shop::Cache::put(std::string const&, shop::Cart)", "/src/shop/cache.cpp",
		  "shopd", 118, FRAME_OWN },
		{ "shop::Session::open", "shop::Session::open(shop::Request const&)", "/src/shop/session.cpp", "shopd",
		  64, FRAME_OWN },
		{ "shop::Server::handle", "shop::Server::handle(int)", "/src/shop/server.cpp", "shopd", 240,
		  FRAME_OWN },
		{ "shop::Server::run", "shop::Server::run()", "/src/shop/server.cpp", "shopd", 88, FRAME_OWN },
		{ "main", "main", "/src/shop/main.cpp", "shopd", 31, FRAME_OWN },
		{ "__libc_start_main", "__libc_start_main", "", "libc.so.6", 0, FRAME_RUNTIME },
		{ "json::parse", "json::parse(std::string_view)", "/src/json/parse.cpp", "libjson.so", 77,
		  FRAME_LIBRARY },
		{ "shop::Orders::load", "shop::Orders::load(std::istream&)", "/src/shop/orders.cpp", "shopd", 201,
		  FRAME_OWN },
		{ "SSL_new", "SSL_new", "", "libssl.so.3", 0, FRAME_LIBRARY },
		{ "shop::Tls::accept", "shop::Tls::accept(int)", "/src/shop/tls.cpp", "shopd", 55, FRAME_OWN },
		{ "xmalloc", "xmalloc", "/src/base/xmalloc.c", "shopd", 9, FRAME_WRAPPER },
		{ "shop::Log::line", "shop::Log::line(char const*, ...)", "/src/shop/log.cpp", "shopd", 42, FRAME_OWN },
		{ "libruby-3.1.so+0xd89a3", "libruby-3.1.so+0xd89a3", "", "libruby-3.1.so", 0, FRAME_UNKNOWN },
		{ "shop::Plugin::call", "shop::Plugin::call(char const*)", "/src/shop/plugin.cpp", "shopd", 133,
		  FRAME_OWN },
	};
	static const struct {
		uint32_t stack[10], count;
		const char *via;
		int64_t bytes, blocks, alloc_bytes, alloc_blocks;
	} stacks[] = {
		{ { 0, 1, 2, 3, 4, 5, 6, 7 },
		  8,
		  "std::string, unordered_map",
		  20 * MIB + 217 * KIB,
		  47600,
		  41 * MIB,
		  95000 },
		{ { 0, 8, 9, 4, 5, 6, 7 }, 7, "std::string, json::parse", 7 * MIB, 9100, 96 * MIB, 301000 },
		{ { 0, 8, 9, 6, 7 }, 5, "std::string, json::parse", 2 * MIB, 800, 2 * MIB, 800 },
		{ { 10, 11, 4, 5, 6, 7 }, 6, "SSL_new", 4 * MIB, 410, 19 * MIB, 2100 },
		{ { 12, 13, 4, 5, 6, 7 }, 6, "xmalloc", 640 * KIB, 2200, 310 * MIB, 1400000 },
		{ { 12, 13, 3, 4, 5, 6, 7 }, 7, "xmalloc", 90 * KIB, 300, 44 * MIB, 100000 },
		{ { 14, 15, 4, 5, 6, 7 }, 6, "", 3 * MIB + 300 * KIB, 7000, 9 * MIB, 12000 },
		{ { 1, 3, 4, 5, 6, 7 }, 6, "unordered_map", 1 * MIB, 8300, 1 * MIB + 10, 8301 },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		made_place(made, places[i].name, places[i].full, places[i].file, places[i].line, places[i].module,
			   places[i].class);
	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
		const int64_t times = i % 2 ? sign : 1;

		made_site(made,
			  made_sample(made, stacks[i].stack, stacks[i].count,
				      &(struct profile_values){
					      stacks[i].alloc_blocks * times, stacks[i].alloc_bytes * times,
					      stacks[i].blocks * times, stacks[i].bytes * times, 0, 0, 0,
					      (stacks[i].alloc_blocks - stacks[i].blocks) / 2 * times }),
			  stacks[i].via);
	}
	made->profile.has_temporaries = true;
	set_head(made);
}

// Names that are markup, script, or what a terminal would act on.
static void make_hostile(struct made_named *made)
{
	static const char *const names[] = {
		"</script><script>document.title='taken'</script>",
		"<img src=x onerror=\"document.title='taken'\">",
		"<!--<script>",
		"]]>&lt;b&gt;",
		"\xe2\x80\xae\xe2\x80\xa8 turned",
		"a\x1b[31m\xff\"'`${document.title='taken'}",
		"__proto__",
		"constructor",
		"<%DATA%>",
	};
	enum { COUNT = sizeof(names) / sizeof(names[0]) };

	for (uint32_t i = 0; i < COUNT; i++)
		made_place(made, names[i], NULL, names[(i + 1) % COUNT], 1, names[(i + 2) % COUNT], FRAME_OWN);
	for (uint32_t i = 0; i < COUNT; i++)
		made_site(made,
			  made_sample(
				  made, (uint32_t[]){ i, (i + 1) % COUNT }, 2,
				  &(struct profile_values){ .live_objects = 1, .live_bytes = 4000 - 100 * (int64_t)i }),
			  names[i]);
	made_sample(made, NULL, 0, &(struct profile_values){ .live_objects = 1, .live_bytes = 10 });
	set_head(made);
	made->profile.program = (char *)(uintptr_t)names[0];
}

// 10^5 stacks of 16 to 31 frames, few of which are alike near their ends. The numbers are those of a fixed generator.
static void make_large(struct made_named *made)
{
	enum { PLACES = 4000, STACKS = 100000, DEPTH = 31 };
	static char names[PLACES][64];
	uint64_t state = 1;
	uint32_t stack[DEPTH];

	for (uint32_t i = 0; i < PLACES; i++) {
		snprintf(names[i], sizeof(names[i]), "app::Module%u::function_%u", i / 40, i);
		made_place(made, names[i], NULL, "/src/app/module.cpp", 10 + i, "app",
			   i % 3 == 0   ? FRAME_OWN
			   : i % 3 == 1 ? FRAME_LIBRARY
					: FRAME_CONTAINER);
	}
	for (uint32_t i = 0; i < STACKS; i++) {
		const uint32_t depth = 16 + i % 16;

		for (uint32_t j = 0; j < depth; j++) { // the outermost third is shared by many
			state = state * 6364136223846793005u + 1442695040888963407u;
			stack[depth - 1 - j] = (uint32_t)((state >> 33) % (j < depth / 3 ? 2 + j : PLACES));
		}
		made_site(made,
			  made_sample(made, stack, depth,
				      &(struct profile_values){ 20, 4000 + i, 1 + i % 9, 64 + (int64_t)(state >> 52), 0,
								0, 0, 0 }),
			  "");
	}
	set_head(made);
}

int main(int argc, char **argv)
{
	static char text[] = "Steady leak: shop::Cache::put (cache.cpp:118) grows by 33 MiB a minute, and nothing that "
			     "it put there was freed.",
		    reasons[][32] = { "it grows all the time", "its blocks stay" };
	static const struct verdict verdict = {
		.findings = { { .text = text, .reasons = { reasons[0], reasons[1] }, .reason_count = 2 } },
		.count = 1,
	};
	struct made_named *made = made_named_create();
	struct page_options options = { 0 };
	struct hs_error *error;
	char *data = NULL;
	size_t size = 0;
	FILE *file;

	if (argc != 3 || !made)
		return 2;
	if (!page_is_built())
		return 77;
	if (strcmp(argv[1], "shop") == 0) {
		make_shop(made, 1);
		options.verdict = &verdict;
		options.series = series;
		options.series_count = sizeof(series) / sizeof(series[0]);
	} else if (strcmp(argv[1], "diff") == 0) {
		make_shop(made, -1);
		options.compared_with = "shopd at 12:00";
	} else if (strcmp(argv[1], "hostile") == 0) {
		make_hostile(made);
	} else if (strcmp(argv[1], "large") == 0) {
		make_large(made);
	} else if (strcmp(argv[1], "empty") == 0) {
		set_head(made);
	} else {
		return 2;
	}
	error = page_encode(&made->named, &made->sites, &options, &data, &size);
	file = error ? NULL : fopen(argv[2], "w");
	if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
		fprintf(stderr, "cannot write %s: %s\n", argv[2], error ? error->message : "the file");
		return 1;
	}
	printf("%s: %zu bytes, %zu samples\n", argv[1], size, made->profile.sample_count);
	free(data);
	made_named_free(made);
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
// A profile made by hand for tests of sites and of what is printed of them:
//
//   stack 0   malloc, vector::push_back, Cache::put:18, Server::handle:7, main:40    600 B in 6 blocks
//   stack 1   malloc, vector::push_back, Cache::put:18, Other::handle:9, main:40     300 B in 3 blocks
//   stack 2   malloc, string::assign, Cache::put:18, Server::handle:7, main:40       100 B in 1 block
//   stack 3   plain.so+0x1234, start_thread                                           50 B in 2 blocks
//   stack 4   malloc                                                                   7 B in 1 block
//   stack 5   (unknown)                                                                3 B in 3 blocks
//   stack 6   xmalloc, Server::handle:7, main:40                                      nothing live, 9 B allocated
#ifndef HEAPSNAP_TEST_UNIT_MADE_PROFILE_H
#define HEAPSNAP_TEST_UNIT_MADE_PROFILE_H

#include "snapshot/heap_profile.h"

#define FUNCTION(text, path)                                                                                           \
	{                                                                                                              \
		.name = (char[]){ text }, .system_name = (char[]){ "" }, .file = (char[]) { path }                     \
	}

static struct profile_function made_functions[] = {
	FUNCTION("malloc", ""),
	FUNCTION("std::vector<int, std::allocator<int> >::push_back(int const&)",
		 "/usr/include/c++/12/bits/stl_vector.h"),
	FUNCTION("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::assign(char const*)",
		 ""),
	FUNCTION("shop::Cache::put(int)", "/src/shop/leak.cpp"),
	FUNCTION("shop::Server::handle()", "/src/shop/server.cpp"),
	FUNCTION("shop::Other::handle()", "/src/shop/server.cpp"),
	FUNCTION("main", "/src/shop/main.cpp"),
	FUNCTION("start_thread", ""),
	FUNCTION("xmalloc", ""),
};
enum { F_MALLOC, F_PUSH, F_ASSIGN, F_PUT, F_HANDLE, F_OTHER, F_MAIN, F_THREAD, F_XMALLOC };

static struct profile_line made_lines[] = {
	{ F_MALLOC, 0 }, { F_PUSH, 99 },  { F_PUT, 18 }, // these two in one location: the first inlined
	{ F_ASSIGN, 5 }, { F_PUT, 18 },   { F_HANDLE, 7 },  { F_OTHER, 9 },
	{ F_MAIN, 40 },  { F_THREAD, 0 }, { F_XMALLOC, 0 },
};

static struct profile_module made_modules[] = {
	{ .path = (char[]){ "/opt/shop" }, .is_main = true },
	{ .path = (char[]){ "/opt/lib/plain.so" }, .load_bias = 0x7f0000000000 },
	{ .path = (char[]){ "/usr/lib/x86_64-linux-gnu/libc.so.6" } },
};

static struct profile_location made_locations[] = {
	{ .first_line = 0, .line_count = 1, .module = 2, .is_allocator = true }, // malloc
	{ .first_line = 1, .line_count = 2 },                                    // push_back in put
	{ .first_line = 3, .line_count = 1 },                                    // assign
	{ .first_line = 4, .line_count = 1 },                                    // put
	{ .first_line = 5, .line_count = 1 },                                    // Server::handle
	{ .first_line = 6, .line_count = 1 },                                    // Other::handle
	{ .first_line = 7, .line_count = 1 },                                    // main
	{ .address = 0x7f0000001234, .module = 1 },
	{ .first_line = 8, .line_count = 1, .module = 2 }, // start_thread
	{ .first_line = 9, .line_count = 1 },              // xmalloc
};

static uint32_t made_frames[] = {
	0, 1, 4, 6,    // stack 0
	0, 1, 5, 6,    // stack 1
	0, 2, 3, 4, 6, // stack 2
	7, 8,          // stack 3
	0,             // stack 4
	9, 4, 6,       // stack 6
};

static struct profile_sample made_samples[] = {
	{ 0, 4, 0, { 0 }, { 6, 600, 6, 600, 6, 1, 100, 0 } }, { 4, 4, 0, { 0 }, { 3, 300, 3, 300, 3, 0, 0, 0 } },
	{ 8, 5, 0, { 0 }, { 1, 100, 1, 100, 1, 0, 44, 0 } },  { 13, 2, 0, { 0 }, { 2, 50, 2, 50, 2, 0, 0, 0 } },
	{ 15, 1, 0, { 0 }, { 1, 7, 1, 7, 1, 0, 0, 0 } },      { 0, 0, 0, { 0 }, { 3, 3, 3, 3, 3, 0, 0, 0 } },
	{ 16, 3, 0, { 0 }, { 1, 9, 0, 0, 0, 0, 0, 0 } },
};

static const struct heap_profile made_profile = {
	.functions = made_functions,
	.function_count = 9,
	.lines = made_lines,
	.line_count = 10,
	.modules = made_modules,
	.module_count = 3,
	.locations = made_locations,
	.location_count = 10,
	.frames = made_frames,
	.frame_count = 19,
	.samples = made_samples,
	.sample_count = 7,
	.total = { 17, 1069, 16, 1060, 16, 1, 144 },
};

#endif

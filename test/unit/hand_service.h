// SPDX-License-Identifier: Apache-2.0
#ifndef HEAPSNAP_TEST_UNIT_HAND_SERVICE_H
#define HEAPSNAP_TEST_UNIT_HAND_SERVICE_H

#include "hand_profile.h"

// A small service. Two lines of one function, code without a symbol, and a name that two files have.
static const struct hand_place service_places[] = {
	{ "malloc", "malloc", "", 0, "libc.so.6", FRAME_ALLOCATOR },                                    // a
	{ "vector::push_back", "std::vector<int>::push_back", "vector.h", 99, "app", FRAME_CONTAINER }, // b
	{ "Cache::put", "Cache::put(int)", "cache.cpp", 18, "app", FRAME_OWN },                         // c
	{ "Cache::put", "Cache::put(int)", "cache.cpp", 25, "app", FRAME_OWN },                         // d
	{ "serve", "serve(int)", "serve.cpp", 7, "app", FRAME_OWN },                                    // e
	{ "main", "main", "main.cpp", 3, "app", FRAME_OWN },                                            // f
	{ "libz.so+0x2010", NULL, "", 0x2010, "libz.so", FRAME_UNKNOWN },                               // g
	{ "serve", "serve(int)", "other.cpp", 70, "app", FRAME_OWN },                                   // h
};

#define SERVICE_PLACES (sizeof(service_places) / sizeof(service_places[0]))

// live bytes: 216 in 24 blocks
static const struct hand_sample service_samples[] = {
	{ "abcef", 100, 10, 1000, 100, 900 },
	{ "adef", 50, 5, 50, 5, 400 },
	{ "aef", 20, 2, 4000, 1, 0 },
	{ "agf", 30, 3, 30, 3, 2500 },
	{ "aefef", 8, 1, 8, 1, 0 },
	{ "a", 4, 1, 4, 1, 0 },
	{ "", 2, 1, 2, 1, 0 },
	{ "ahf", 2, 1, 2, 1, 0 },
};

#define SERVICE_SAMPLES (sizeof(service_samples) / sizeof(service_samples[0]))

#endif

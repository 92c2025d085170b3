// SPDX-License-Identifier: Apache-2.0
// Profiles from text (made_message.h), decoded.
#ifndef HEAPSNAP_TEST_UNIT_MADE_PPROF_H
#define HEAPSNAP_TEST_UNIT_MADE_PPROF_H

#include "error_check.h"
#include "made_message.h"
#include "proto/pprof/pprof_decoder.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static struct made_message message;

// Frees the error.
static inline bool fails_with(struct hs_error *error, const char *part)
{
	const bool result = error && error->code == HS_ERROR_BAD_DATA && strstr(error->message, part);

	if (!result)
		fprintf(stderr, "error: %s\n", error ? error->message : "(none)");
	hs_error_destroy(error);
	return result;
}

static inline struct hs_error *decode(const char *text, struct heap_profile *ret)
{
	uint8_t *exact;
	struct hs_error *error;

	message.size = 0;
	made_message_add(&message, text);
	exact = malloc(message.size + 1); // so that a sanitizer sees what is read behind the end
	if (!exact)
		abort();
	memcpy(exact, message.data, message.size);
	error = pprof_decode(exact, message.size, ret);
	free(exact);
	return error;
}

// Texts 1 to 6 of most profiles here.
#define TEXTS "6: 6:inuse_space 6:bytes 6:main 6:/bin/app 6:main.c 6:ab12 "
// Sample type, mapping, function, location of the smallest ones.
#define TYPE     "1{1=1 2=2} "
#define MAPPING  "3{1=1 2=0x1000 3=0x2000 4=0x400 5=4 6=6} "
#define FUNCTION "5{1=1 2=3 3=3 4=5 5=9} "
#define LOCATION "4{1=1 2=1 3=0x1010 4{1=1 2=12}} "
#define SAMPLE   "2{1=1 2=100} "
#define WHOLE    TYPE SAMPLE MAPPING LOCATION FUNCTION TEXTS

#endif

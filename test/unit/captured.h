// SPDX-License-Identifier: Apache-2.0
// What a piece of code writes to standard output and standard error.
#ifndef HEAPSNAP_TEST_UNIT_CAPTURED_H
#define HEAPSNAP_TEST_UNIT_CAPTURED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
	char text[2][20000]; // output, errors
	int saved[2], files[2];
} captured;

static inline void capture_begin(void)
{
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		captured.saved[i] = dup(i + 1);
		captured.files[i] = memfd_create("captured", MFD_CLOEXEC);
		if (captured.saved[i] < 0 || dup2(captured.files[i], i + 1) < 0)
			exit(1);
	}
}

static inline void capture_end(void)
{
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		ssize_t size = pread(captured.files[i], captured.text[i], sizeof(captured.text[i]) - 1, 0);

		captured.text[i][size > 0 ? size : 0] = 0;
		dup2(captured.saved[i], i + 1);
		close(captured.saved[i]);
		close(captured.files[i]);
	}
}

static inline const char *captured_output(void) { return captured.text[0]; }
static inline const char *captured_errors(void) { return captured.text[1]; }

#endif

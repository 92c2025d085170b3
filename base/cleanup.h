// SPDX-License-Identifier: Apache-2.0
// Scope guards for the tool's own memory and descriptors. Not for the state of the target: its undoing can fail.
#ifndef HEAPSNAP_BASE_CLEANUP_H
#define HEAPSNAP_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void hs_cleanup_free_pointer(void *pointer) { free(*(void **)pointer); }
static inline void hs_cleanup_close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
static inline void hs_cleanup_fclose_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define HS_CLEANUP_FREE   __attribute__((cleanup(hs_cleanup_free_pointer)))
#define HS_CLEANUP_CLOSE  __attribute__((cleanup(hs_cleanup_close_fd)))
#define HS_CLEANUP_FCLOSE __attribute__((cleanup(hs_cleanup_fclose_file)))

// Gives the pointer or descriptor to the caller and disarms the guard.
#define HS_STEAL_POINTER(variable)                                                                                     \
	__extension__({                                                                                                \
		__auto_type hs_stolen_ = (variable);                                                                   \
		(variable) = NULL;                                                                                     \
		hs_stolen_;                                                                                            \
	})
#define HS_STEAL_FD(variable)                                                                                          \
	__extension__({                                                                                                \
		int hs_stolen_ = (variable);                                                                           \
		(variable) = -1;                                                                                       \
		hs_stolen_;                                                                                            \
	})

#endif

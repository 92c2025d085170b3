// SPDX-License-Identifier: Apache-2.0
// The directory that an output file goes into, and the file's name there.
//
// The tool may be run by root, with a path through directories in which others may write: they exchange a directory and
// a link at the moment that suits them. So each part of the path is opened once, without following, and what is decided
// is decided by that very handle; all that is done later is relative to the last one. A link is read through its handle
// and its text walked in the same way. It is followed only when nobody but the user or root can have put it there: it
// is theirs, and so is the directory that it stands in, in which others can make at most names of their own (sticky).
#ifndef HEAPSNAP_PROTO_OUTPUT_PLACE_H
#define HEAPSNAP_PROTO_OUTPUT_PLACE_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

// What users other than root and the tool's own can do with the names in a directory.
enum place_control {
	PLACE_OWN,    // nothing
	PLACE_SHARED, // make new ones and take away their own, as in /tmp
	PLACE_FOREIGN // anything
};

struct output_place {
	int directory_fd; // O_PATH
	const char *name; // points into the path
	enum place_control control;
};

// Pure. A group may write without being others when it is root's or the user's own, by its number (user private
// groups).
enum place_control place_control(const struct stat *directory, uid_t user);

// Pure: whether a link of this owner, in such a directory, may be followed.
bool place_may_follow(uid_t link_owner, enum place_control control, uid_t user);

// `path` has to live as long as *ret. A last part that is no name of a file is for the caller to see. On success
// directory_fd is the caller's (close); on failure there is none. HS_ERROR_REFUSED, HS_ERROR_SYSTEM,
// HS_ERROR_NO_MEMORY.
struct hs_error *output_place_open(const char *path, struct output_place *ret) HS_MUST_CHECK;

// An HS_ERROR_SYSTEM: "<what> <path>: <reason>; <what the user can do about it>". The caller owns it.
struct hs_error *output_error(int error_number, const char *what, const char *path) HS_MUST_CHECK;

#endif

// SPDX-License-Identifier: Apache-2.0
// The names of our memory files in a target, and how they are known again by another run of the tool.
//
//   heapsnap-code-NNNNNNNNNNNNNNNNTTTTTTTTTTTTTTTT
//                 |               SipHash-2-4 of N under the 16 bytes at the target's AT_RANDOM
//                 64 bits, random for each file
//
// A name alone proves nothing: a process can be handed memory files of any name, by its clients (SCM_RIGHTS), and keep
// or map them. What the client cannot know are the bytes that the kernel has put at AT_RANDOM for this program
// (create_elf_tables in fs/binfmt_elf.c): only the program itself and who may trace it can read them. A forked child
// has the same, an exec makes new ones. So a right T proves that the file was made by heapsnap for this program or an
// ancestor of it, and its content, which is sealed, with it.
//
// A program that has none, or has cleared them (Go's runtime since 1.22 does at its start), has no secret. Of its files
// only those are known that the region's header names, by N: what an attach leaves there that is killed before the
// header is written, stays.
#ifndef HEAPSNAP_ATTACH_PROCESS_CODE_NAMES_H
#define HEAPSNAP_ATTACH_PROCESS_CODE_NAMES_H

#include "attach/process/memory.h"
#include "base/error.h"
#include "base/keyed_hash.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// As /proc/PID/maps and /proc/PID/fd show it after "/memfd:"; a hyphen and 32 hexadecimal digits follow.
#define HS_CODE_NAME      "heapsnap-code"
#define HS_CODE_NAME_SIZE 64

struct code_names {
	bool has_key;
	struct hash_key key;
	uint64_t nonce;  // of the file that the region's header names; 0 = none
	uid_t owners[5]; // whose our files can be: the target's user, also before it changed its rights, and the root
			 // of its user namespace
	size_t owner_count;
};

// What cannot be read is not there: then fewer names are known as ours. Not while the target stands still: `ret` is
// good until it is another program.
void code_names_read(const struct target_memory *memory, struct code_names *ret);
// The secret alone, by files that are read at any time: enough to make names.
void code_names_read_key(const struct target_memory *memory, struct code_names *ret);

// A fresh name for one file, and its nonce.
struct hs_error *code_names_make(const struct code_names *names, char ret[HS_CODE_NAME_SIZE],
				 uint64_t *nonce_ret) HS_MUST_CHECK;

// Pure: whether a file of that name, as /proc/PID/maps gives it without " (deleted)", was made by heapsnap for this
// program. A file of any name that only looks like one may be somebody else's.
bool code_names_have(const struct code_names *names, const char *name);

// Pure: whether it is the name of the file that the region's header names.
bool code_names_of_region(const struct code_names *names, const char *name);

// Pure: whether the name has the form of ours, nothing more.
bool code_names_look_alike(const char *name);

// Pure: whether a file of ours can be of user `uid`. Of one that the region's header names, nothing is asked.
bool code_names_owner_fits(const struct code_names *names, const char *name, uid_t uid);

#endif

// SPDX-License-Identifier: Apache-2.0
// What the tool and the child that reads symbol files for it say to each other, a message at a time. Each begins with
// its type (u32); numbers are little endian. What the child says is checked like anything that a target may have made.
//
//     child                                  tool
//     FIND_MODULE                       ──►  opens what may be the module's file
//                                       ◄──  CANDIDATE and a descriptor, or NO_CANDIDATE
//     VERDICT (is it the right one?)    ──►  the next one if not
//     FIND_DEBUG: a build id, a name    ──►  likewise
//     ITEMS: functions and locations    ──►
//     DONE, or FAILED and why           ──►
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_SYMBOL_MESSAGES_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_SYMBOL_MESSAGES_H

#include <stdint.h>

enum symbol_message {
	SYMBOL_FIND_MODULE = 1, // nothing
	SYMBOL_FIND_DEBUG,      // u32 size of the build id, the build id; the rest: the name in the file's debug link,
				// without a 0 byte
	SYMBOL_VERDICT,         // u32: 1 = the candidate is taken, 0 = another one
	SYMBOL_ITEMS,           // items, to the end
	SYMBOL_DONE,            // u32: how many ITEMS messages there were; u32 1 = what names more has been stripped
	SYMBOL_FAILED,          // u32: 1 = the module has no file; the rest: why, a line of text without a 0 byte
	SYMBOL_CANDIDATE,       // u32: 1 = it is the file that the target has mapped; with a descriptor
	SYMBOL_NO_CANDIDATE,    // u32: 0
};

// Items begin with their kind (u32). Functions are numbered in the order in which they come, from 0, and named before
// they are used.
enum symbol_item {
	// u32 sizes of name, system_name, file; u64 start line; the three texts, without 0 bytes
	SYMBOL_ITEM_FUNCTION = 1,
	// u32 index of the address that was asked for, u32 symbol_flag, u32 count; then of each line, innermost first:
	// u32 function, u64 line
	SYMBOL_ITEM_LOCATION,
};

enum symbol_flag {
	SYMBOL_HAS_INLINED = 1,
	SYMBOL_IS_WRAPPER = 4, // only allocates for its caller, by its code
	SYMBOL_IS_GUESS = 2,   // one line, 0, of a function without a file that profile_guess_base knows
};

enum {
	SYMBOL_MESSAGE_MAX = 65536, // bytes
	SYMBOL_TEXT_MAX = 16383,    // bytes; a function fits one message
	SYMBOL_BUILD_ID_MAX = 64,
	SYMBOL_LINK_MAX = 4095,
	SYMBOL_REASON_MAX = 512,
};

#endif

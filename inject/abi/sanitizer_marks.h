// SPDX-License-Identifier: Apache-2.0
// Functions that a sanitizer must leave alone, by the reason. No other file names no_sanitize (artifact.lint). They are
// no part of the layout; they stand here because both sides have such functions.
#ifndef HEAPSNAP_INJECT_ABI_SANITIZER_MARKS_H
#define HEAPSNAP_INJECT_ABI_SANITIZER_MARKS_H

// Reads what another thread or process may be writing at that moment, and uses it only after a proof that it was whole.
// The comment of the function, or of its file, has the proof.
#define HS_RACES __attribute__((no_sanitize("thread")))

// Reads frames of the stack that are not its own, between whose variables the address sanitizer has forbidden zones.
#define HS_READS_OTHER_FRAMES __attribute__((no_sanitize("address")))

// Runs where a sanitizer's notes are not its own: in a process that shares the tool's memory, and in what that calls.
#define HS_NOT_INSTRUMENTED __attribute__((no_sanitize("address", "thread", "undefined")))

#endif

// SPDX-License-Identifier: Apache-2.0
// A hash of texts that come from a target: with a key that nobody knows, so that nobody can choose texts that meet in
// one place and make a table slow. SipHash-1-3; and a proof of who knows a key, SipHash-2-4 (Aumasson and Bernstein,
// "SipHash: a fast short-input PRF", 2012).
#ifndef HEAPSNAP_BASE_KEYED_HASH_H
#define HEAPSNAP_BASE_KEYED_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash_key {
	uint64_t words[2];
};

// A random key.
struct hash_key hash_key_make(void);
uint64_t keyed_hash(const struct hash_key *key, const void *data, size_t size);
// What nobody can compute, or tell from random bits, without the key, whatever they have seen of other data.
uint64_t keyed_proof(const struct hash_key *key, const void *data, size_t size);

#endif

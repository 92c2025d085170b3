// SPDX-License-Identifier: Apache-2.0
#include "base/keyed_hash.h"

#include <string.h>
#include <sys/random.h>

struct hash_key hash_key_make(void)
{
	struct hash_key key;

	if (getrandom(&key, sizeof(key), GRND_NONBLOCK) != (ssize_t)sizeof(key))
		key = (struct hash_key){ { 0, 0 } }; // early at boot: slower at worst
	return key;
}

static uint64_t rotate(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

static void mix(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

static void mix_times(uint64_t v[4], int rounds)
{
	for (int i = 0; i < rounds; i++)
		mix(v);
}

static inline uint64_t hash(const struct hash_key *key, const void *data, size_t size, int rounds, int last_rounds)
{
	uint64_t v[4] = {
		key->words[0] ^ UINT64_C(0x736f6d6570736575),
		key->words[1] ^ UINT64_C(0x646f72616e646f6d),
		key->words[0] ^ UINT64_C(0x6c7967656e657261),
		key->words[1] ^ UINT64_C(0x7465646279746573),
	};
	const uint8_t *bytes = data;
	uint64_t word, last = (uint64_t)size << 56;

	for (; size >= sizeof(word); bytes += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		v[3] ^= word;
		mix_times(v, rounds);
		v[0] ^= word;
	}
	for (size_t i = 0; i < size; i++)
		last |= (uint64_t)bytes[i] << (8 * i);
	v[3] ^= last;
	mix_times(v, rounds);
	v[0] ^= last;
	v[2] ^= 0xff;
	mix_times(v, last_rounds);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t keyed_hash(const struct hash_key *key, const void *data, size_t size) { return hash(key, data, size, 1, 3); }

uint64_t keyed_proof(const struct hash_key *key, const void *data, size_t size) { return hash(key, data, size, 2, 4); }

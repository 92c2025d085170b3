// SPDX-License-Identifier: Apache-2.0
#include "base/keyed_hash.h"
#include "check.h"

// Keys and texts as in the test vectors of SipHash's authors: bytes that count up. The first value is that of SipHash-1-3 for no bytes.
static void test_value(void)
{
	const struct hash_key key = { { UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908) } };

	CHECK_EQUAL(keyed_hash(&key, "", 0), UINT64_C(0xabac0158050fc4dc));
}

static void test_key_and_bytes_matter(void)
{
	struct hash_key key = hash_key_make(), other = hash_key_make();
	char text[64] = { 0 };
	uint64_t hash = keyed_hash(&key, text, sizeof(text));
	int same = 0;

	CHECK(memcmp(&key, &other, sizeof(key)) != 0);
	CHECK(keyed_hash(&other, text, sizeof(text)) != hash);
	for (size_t i = 0; i < sizeof(text); i++) {
		text[i] = 1;
		same += keyed_hash(&key, text, sizeof(text)) == hash;
		text[i] = 0;
		same += keyed_hash(&key, text, i) == hash; // a shorter text
	}
	CHECK_EQUAL(same, 0);
	CHECK(keyed_hash(&key, text, sizeof(text)) == hash);
}

int main(void)
{
	test_value();
	test_key_and_bytes_matter();
	return CHECK_RESULT();
}

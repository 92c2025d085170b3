// SPDX-License-Identifier: Apache-2.0
#include "base/keyed_hash.h"
#include "check.h"

// Keys and texts as in the test vectors of SipHash's authors: bytes that count up. The first value is that of
// SipHash-1-3 for no bytes.
static void test_value(void)
{
	const struct hash_key key = { { UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908) } };

	CHECK_EQUAL(keyed_hash(&key, "", 0), UINT64_C(0xabac0158050fc4dc));
}

// SipHash-2-4: from vectors_sip64 in vectors.h of the authors' code (github.com/veorq/SipHash), for 0, 1, 2 .. bytes;
// that for 15 is in appendix A of the paper too.
static void test_proof(void)
{
	const struct hash_key key = { { UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908) } };
	static const struct {
		size_t size;
		uint64_t value;
	} vectors[] = {
		{ 0, UINT64_C(0x726fdb47dd0e0e31) }, { 1, UINT64_C(0x74f839c593dc67fd) },
		{ 7, UINT64_C(0xab0200f58b01d137) }, { 8, UINT64_C(0x93f5f5799a932462) },
		{ 9, UINT64_C(0x9e0082df0ba9e4b0) }, { 15, UINT64_C(0xa129ca6149be45e5) },
	};
	uint8_t bytes[16];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
		CHECK_EQUAL(keyed_proof(&key, bytes, vectors[i].size), vectors[i].value);
	CHECK(keyed_hash(&key, bytes, 15) != keyed_proof(&key, bytes, 15));
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
	test_proof();
	test_key_and_bytes_matter();
	return CHECK_RESULT();
}

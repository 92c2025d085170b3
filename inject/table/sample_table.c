// SPDX-License-Identifier: Apache-2.0
#include "inject/table/sample_table.h"

static uint64_t *bucket_of(uint64_t key)
{
	return (uint64_t *)region_at(HS_OFFSET_SAMPLES) + (uint64_t)sample_bucket(key) * HS_SAMPLE_BUCKET_ENTRIES;
}

uint64_t *sample_table_find(uint64_t address)
{
	uint64_t key = sample_key(address), *bucket = bucket_of(key);

	for (unsigned i = 0; i < HS_SAMPLE_BUCKET_ENTRIES; i++) {
		uint64_t entry = __atomic_load_n(&bucket[i], __ATOMIC_ACQUIRE);

		if (entry && sample_entry_tag(entry) == sample_tag(key))
			return &bucket[i];
	}
	return NULL;
}

bool sample_table_has_room(uint64_t address)
{
	const uint64_t *bucket = bucket_of(sample_key(address));

	for (unsigned i = 0; i < HS_SAMPLE_BUCKET_ENTRIES; i++)
		if (!__atomic_load_n(&bucket[i], __ATOMIC_RELAXED))
			return true;
	return false;
}

bool sample_table_put(uint64_t address, uint32_t ref)
{
	uint64_t key = sample_key(address), *bucket = bucket_of(key);

	if (HS_UNLIKELY(ref >> HS_SAMPLE_REF_BITS))
		return false;
	// Before there is anything to be found: who is given the block later sees this as well.
	if (HS_UNLIKELY(!sample_table_is_used()))
		__atomic_store_n(&region()->samples_used, 1, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < HS_SAMPLE_BUCKET_ENTRIES; i++) {
		uint64_t empty = 0;

		if (__atomic_compare_exchange_n(&bucket[i], &empty, sample_entry(sample_tag(key), ref), false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

uint32_t sample_table_take(uint64_t *entry, uint64_t address)
{
	uint32_t ref;

	do {
		ref = sample_table_ref(entry, address);
	} while (ref && !sample_table_exchange(entry, address, ref, 0));
	return ref;
}

bool sample_table_exchange(uint64_t *entry, uint64_t address, uint32_t expected, uint32_t ref)
{
	uint64_t tag = sample_tag(sample_key(address)), seen = sample_entry(tag, expected);

	if (HS_UNLIKELY(ref >> HS_SAMPLE_REF_BITS))
		return false;
	return __atomic_compare_exchange_n(entry, &seen, ref ? sample_entry(tag, ref) : 0, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

// SPDX-License-Identifier: Apache-2.0
#include "attach/region/table_walk.h"

#include <string.h>

bool table_pages_init(const struct region_header *header, uint64_t size, struct table_pages *ret)
{
	uint64_t end = header->next_page < header->max_pages ? header->next_page : header->max_pages;

	ret->first = header->first_page;
	ret->end = end < size / HS_PAGE_SIZE ? end : size / HS_PAGE_SIZE;
	if (ret->end >= ret->first)
		return true;
	ret->end = ret->first;
	return false;
}

enum { PAGE_ENTRIES = HS_PAGE_SIZE / sizeof(uint32_t) };

uint32_t table_skip_empty_pages(const uint32_t *table, uint32_t index, uint32_t count)
{
	static const uint8_t zeros[HS_PAGE_SIZE];

	while (index < count && index % PAGE_ENTRIES == 0 && memcmp(table + index, zeros, sizeof(zeros)) == 0)
		index += PAGE_ENTRIES;
	return index;
}

// Whether the `count` pages of a table that another one names may be followed: each page belongs to one table, so a
// walk that meets more tables than there are pages is led in circles. *left counts down; *end_ret = it is over.
static bool may_follow(const struct table_walk *walk, uint32_t page, uint64_t count, uint64_t *left, bool *end_ret)
{
	bool is_there;

	if (!page)
		return false;
	is_there = table_pages_hold(&walk->pages, page, count);
	*end_ret = is_there && *left == 0;
	if (is_there && *left > 0) {
		--*left;
		return true;
	}
	if (walk->astray)
		walk->astray(walk->context, page);
	return false;
}

static const uint32_t *table_bytes(const struct table_walk *walk, enum table_level level, uint64_t offset,
				   uint32_t count)
{
	return walk->bytes(walk->context, level, offset, count * sizeof(uint32_t));
}

struct leaf_walk {
	const struct table_walk *walk;
	void (*visit)(const struct table_leaf *, void *);
	void *context;
	uint64_t middles_left, leaves_left;
};

// False = the walk is over.
static bool walk_middle(struct leaf_walk *leaves, uint32_t page, uint32_t root_index)
{
	const uint32_t *middle =
		table_bytes(leaves->walk, TABLE_LEVEL_middle, (uint64_t)page * HS_PAGE_SIZE, HS_MIDDLE_ENTRIES);
	bool is_over = false;

	for (uint32_t i = 0; middle && (i = table_skip_empty_pages(middle, i, HS_MIDDLE_ENTRIES)) < HS_MIDDLE_ENTRIES;
	     i++) {
		struct table_leaf leaf = { .address = leaf_address(root_index, i),
					   .is_wide = leaf_is_wide(root_index) };

		if (may_follow(leaves->walk, middle[i], HS_LEAF_PAGES, &leaves->leaves_left, &is_over)) {
			leaf.entries = table_bytes(leaves->walk, TABLE_LEVEL_leaf, (uint64_t)middle[i] * HS_PAGE_SIZE,
						   HS_LEAF_ENTRIES);
			if (!leaf.entries)
				return false;
			leaves->visit(&leaf, leaves->context);
		}
		if (is_over)
			return false;
	}
	return middle;
}

void table_walk_leaves(const struct table_walk *walk, void (*visit)(const struct table_leaf *, void *), void *context)
{
	struct leaf_walk leaves = { walk, visit, context, table_pages_count(&walk->pages) / HS_MIDDLE_PAGES,
				    table_pages_count(&walk->pages) };
	const uint32_t *root = table_bytes(walk, TABLE_LEVEL_root, walk->layout->root.offset, HS_ROOT_ENTRIES);
	bool is_over = false;

	for (uint32_t i = 0;
	     root && !is_over && (i = table_skip_empty_pages(root, i, HS_ROOT_ENTRIES)) < HS_ROOT_ENTRIES; i++)
		if (may_follow(walk, root[i], HS_MIDDLE_PAGES, &leaves.middles_left, &is_over))
			is_over = !walk_middle(&leaves, root[i], i);
}

void table_walk_samples(const struct table_walk *walk, void (*visit)(const uint64_t *entries, uint32_t bucket, void *),
			void *context)
{
	static const uint64_t empty[HS_SAMPLE_BUCKET_ENTRIES];
	const uint64_t *table =
		walk->bytes(walk->context, TABLE_LEVEL_samples, walk->layout->samples.offset, HS_SAMPLE_TABLE_SIZE);

	for (uint32_t bucket = 0; table && bucket < HS_SAMPLE_BUCKETS; bucket++) {
		const uint64_t *entries = table + (size_t)bucket * HS_SAMPLE_BUCKET_ENTRIES;

		if (memcmp(entries, empty, sizeof(empty)) != 0)
			visit(entries, bucket, context);
	}
}

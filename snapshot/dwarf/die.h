// SPDX-License-Identifier: Apache-2.0
// Debugging information entries (DIE; DWARF 5 §2.1): one at a place, its attributes, and the walk through a tree of
// them. Pure; bytes may be hostile.
#ifndef HEAPSNAP_SNAPSHOT_DWARF_DIE_H
#define HEAPSNAP_SNAPSHOT_DWARF_DIE_H

#include "snapshot/dwarf/unit.h"

struct die {
	struct debug_unit *unit;
	const struct abbreviation *abbreviation;
	uint64_t offset; // in .debug_info
	uint64_t values; // of its attributes' values
};

// The entry at `offset` of an opened unit; false when there is none.
bool die_at(struct debug_unit *unit, uint64_t offset, struct die *ret);

// The attributes of an entry one after the other. Of each the value has to be read or left out:
//   for (struct die_attributes a = die_attributes_of(&die); die_attributes_next(&a);)
//       if (a.name == DW_AT_name) value = die_attributes_read(&a); else die_attributes_skip(&a);
struct die_attributes {
	struct debug_unit *unit;
	const struct abbreviation_attribute *next, *end;
	struct span_reader reader;
	uint16_t name; // of the present one, which stands before the next
};

static inline struct die_attributes die_attributes_of(const struct die *die)
{
	const struct abbreviation_attribute *first =
		abbreviation_attributes(die->unit->abbreviations, die->abbreviation);

	return (struct die_attributes){
		.unit = die->unit,
		.next = first,
		.end = first ? first + die->abbreviation->attribute_count : NULL,
		.reader = span_reader_make(&die->unit->file->sections.info, die->values, die->unit->end),
	};
}

static inline bool die_attributes_next(struct die_attributes *attributes)
{
	if (attributes->next == attributes->end || attributes->reader.failed)
		return false;
	attributes->name = attributes->next->name;
	attributes->next++;
	return true;
}

static inline struct form_value die_attributes_read(struct die_attributes *attributes)
{
	return form_read(&attributes->reader, attributes->next[-1].form, attributes->next[-1].implicit,
			 &attributes->unit->forms);
}

static inline void die_attributes_skip(struct die_attributes *attributes)
{
	abbreviation_skip_value(&attributes->reader, &attributes->next[-1], &attributes->unit->forms.format);
}

// A walk through the entries below one, parents before children.
struct die_walk {
	struct debug_unit *unit;
	struct span_reader reader;
	size_t depth;       // of the present entry below the one where the walk began: 1 = its child
	size_t next_depth;  // of the next one; 0 = the walk is over
	struct die present; // entry
};

// Begins one. The unit must be open.
struct die_walk die_walk_below(const struct die *parent);
// The next entry, which becomes the present one; NULL at the end. Valid until the next call.
const struct die *die_walk_next(struct die_walk *walk);
// Leaves out what is below the present entry. pre: die_walk_next has just given it
void die_walk_leave(struct die_walk *walk);

#endif

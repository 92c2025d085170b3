// SPDX-License-Identifier: Apache-2.0
#include "snapshot/dwarf/die.h"

bool die_at(struct debug_unit *unit, uint64_t offset, struct die *ret)
{
	struct span_reader reader = span_reader_make(&unit->file->sections.info, offset, unit->end);
	const uint64_t code = span_reader_uleb(&reader);
	const struct abbreviation *abbreviation =
		reader.failed || code == 0 ? NULL : abbreviations_find(unit->abbreviations, code);

	*ret = (struct die){ unit, abbreviation, offset, reader.offset };
	return abbreviation && offset >= unit->first_entry;
}

static void pass_values(struct die_walk *walk, const struct abbreviation *abbreviation)
{
	const struct abbreviation_attribute *attribute;

	if (abbreviation->size != FORM_SIZE_VARIES) {
		span_reader_take(&walk->reader, (uint64_t)abbreviation->size);
		return;
	}
	attribute = abbreviation_attributes(walk->unit->abbreviations, abbreviation);
	for (uint32_t i = 0; i < abbreviation->attribute_count && !walk->reader.failed; i++, attribute++)
		abbreviation_skip_value(&walk->reader, attribute, &walk->unit->forms.format);
}

struct die_walk die_walk_below(const struct die *parent)
{
	struct die_walk walk = {
		.unit = parent->unit,
		.present = { .unit = parent->unit },
		.reader = span_reader_make(&parent->unit->file->sections.info, parent->values, parent->unit->end),
	};

	pass_values(&walk, parent->abbreviation);
	walk.next_depth = parent->abbreviation->has_children ? 1 : 0;
	return walk;
}

// Reads the next entry, or the end of a list of siblings (the present entry has no abbreviation then). False at the end
// of the walk.
static bool step(struct die_walk *walk)
{
	const uint64_t offset = walk->reader.offset;
	const uint64_t code = walk->next_depth > 0 ? span_reader_uleb(&walk->reader) : 0;
	const struct abbreviation *abbreviation = code ? abbreviations_find(walk->unit->abbreviations, code) : NULL;

	if (walk->next_depth == 0 || walk->reader.failed || (code && !abbreviation)) {
		walk->next_depth = 0;
		return false;
	}
	walk->present.abbreviation = abbreviation;
	if (!abbreviation) {
		walk->next_depth--;
		return true;
	}
	walk->present.offset = offset;
	walk->present.values = walk->reader.offset;
	pass_values(walk, abbreviation);
	walk->depth = walk->next_depth;
	walk->next_depth += abbreviation->has_children;
	return true;
}

const struct die *die_walk_next(struct die_walk *walk)
{
	while (step(walk))
		if (walk->present.abbreviation)
			return &walk->present;
	return NULL;
}

// Siblings are always further on, so a walk comes to an end.
static bool jump_to_sibling(struct die_walk *walk)
{
	const int32_t before = walk->present.abbreviation->sibling;
	struct span_reader reader;
	uint64_t sibling;

	if (before < 0)
		return false;
	reader = span_reader_make(walk->reader.span, walk->present.values + (uint64_t)before, walk->reader.end);
	sibling = walk->unit->offset + span_reader_unsigned(&reader, 4);
	if (reader.failed || sibling <= walk->reader.offset || sibling > walk->reader.end)
		return false;
	walk->reader.offset = sibling;
	walk->next_depth = walk->depth;
	return true;
}

void die_walk_leave(struct die_walk *walk)
{
	const size_t depth = walk->depth;

	if (walk->next_depth <= depth || jump_to_sibling(walk))
		return;
	while (walk->next_depth > depth && step(walk))
		if (walk->present.abbreviation && walk->next_depth > walk->depth)
			jump_to_sibling(walk);
	walk->depth = depth;
}

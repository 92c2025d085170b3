// SPDX-License-Identifier: Apache-2.0
#include "snapshot/dwarf/function_origin.h"

#include "snapshot/dwarf/constants.h"
#include "snapshot/dwarf/line_table.h"

// An inlined call refers to its abstract instance, and that to its declaration. Bounds against circles.
enum {
	REFERENCES_MAX = 16,
	TYPES_MAX = 4, // from the object: a constant pointer to a constant lambda
};

// An attribute, and the unit that says it. Zeroed = not found.
struct said {
	struct form_value value;
	struct debug_unit *unit;
};

// What is looked for, of an entry and of those that it refers to.
struct gathered {
	struct said linkage_name, name, line, file, object, type;
};

// The entry that a value refers to. *found_ret false: none.
static struct hs_error *follow(const struct said *said, struct die *ret, bool *found_ret)
{
	struct debug_file *file = said->value.class == FORM_ENTRY          ? said->unit->file
				  : said->value.class == FORM_SHARED_ENTRY ? said->unit->file->shared
									   : NULL;
	struct debug_unit *unit = file ? debug_file_unit(file, said->value.number) : NULL;
	struct hs_error *error = unit ? debug_unit_open(unit) : NULL;

	*found_ret = !error && unit && die_at(unit, said->value.number, ret);
	return error;
}

// What the entry itself says, where nothing is known yet, and which one it refers to.
static void gather(const struct die *die, struct gathered *all, struct said *reference)
{
	struct said origin = { 0 }, specification = { 0 };

	for (struct die_attributes attributes = die_attributes_of(die); die_attributes_next(&attributes);) {
		struct said *said = attributes.name == DW_AT_linkage_name || attributes.name == DW_AT_MIPS_linkage_name
					    ? &all->linkage_name
				    : attributes.name == DW_AT_name            ? &all->name
				    : attributes.name == DW_AT_decl_line       ? &all->line
				    : attributes.name == DW_AT_decl_file       ? &all->file
				    : attributes.name == DW_AT_object_pointer  ? &all->object
				    : attributes.name == DW_AT_type            ? &all->type
				    : attributes.name == DW_AT_abstract_origin ? &origin
				    : attributes.name == DW_AT_specification   ? &specification
									       : NULL;

		if (!said || said->unit)
			die_attributes_skip(&attributes);
		else
			*said = (struct said){ die_attributes_read(&attributes), die->unit };
	}
	*reference = origin.unit ? origin : specification;
}

static struct hs_error *gather_all(const struct die *die, struct gathered *ret)
{
	struct hs_error *error = NULL;
	struct die present = *die;
	bool found = true;

	*ret = (struct gathered){ 0 };
	for (int i = 0; i < REFERENCES_MAX && found && !error; i++) {
		struct said reference;

		gather(&present, ret, &reference);
		error = follow(&reference, &present, &found);
	}
	return error;
}

// Where the lambda stands whose call it is; 0 = it is none. gcc says that of the lambda's type, not of its operator().
static struct hs_error *read_line_of_lambda(const struct gathered *function, uint64_t *ret)
{
	struct gathered all;
	struct die die;
	bool found;
	struct hs_error *error = follow(&function->object, &die, &found);

	for (int i = 0; i <= TYPES_MAX && found && !error; i++) {
		error = gather_all(&die, &all);
		if (error)
			break;
		if (die.abbreviation->tag == DW_TAG_structure_type || die.abbreviation->tag == DW_TAG_class_type) {
			*ret = all.line.value.number;
			break;
		}
		error = follow(&all.type, &die, &found);
	}
	return error;
}

struct hs_error *function_origin_read(const struct die *die, struct function_origin *ret)
{
	struct line_table *lines = NULL;
	struct gathered all;
	struct hs_error *error = gather_all(die, &all);

	*ret = (struct function_origin){ 0 };
	if (error)
		return error;
	ret->linkage_name = all.linkage_name.value.text;
	ret->name = all.name.value.text;
	ret->line = all.line.value.number;
	if (!all.line.unit)
		error = read_line_of_lambda(&all, &ret->line);
	if (!error && all.file.unit)
		error = line_table_of(all.file.unit, &lines);
	return error || !lines ? error : line_table_file(lines, all.file.value.number, &ret->file);
}

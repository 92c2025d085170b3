// SPDX-License-Identifier: Apache-2.0
#include "views/block_attributes.h"

#include "snapshot/size_age.h"
#include "views/profile_merge.h"

#include <string.h>

// Labels are numbers from 1 on, 0 is absent.
static uint32_t value_of(uint32_t label) { return label ? label : ATTRIBUTE_ABSENT; }

static struct hs_error *copy_text(const char *text, char **ret)
{
	*ret = strdup(text);
	return *ret ? NULL : &hs_error_no_memory;
}

static struct hs_error *label_text(const struct heap_profile *profile, uint32_t value, char **ret)
{
	return copy_text(value <= profile->label_text_count ? profile->label_texts[value - 1] : "unknown", ret);
}

static uint32_t thread_value(const struct heap_profile *profile, const struct profile_sample *sample)
{
	(void)profile;
	return value_of(sample->labels.thread);
}

static uint32_t size_value(const struct heap_profile *profile, const struct profile_sample *sample)
{
	(void)profile;
	return value_of(sample->labels.size);
}

static struct hs_error *size_text(const struct heap_profile *profile, uint32_t value, char **ret)
{
	(void)profile;
	return copy_text(size_class_text(value).text, ret);
}

static uint32_t age_value(const struct heap_profile *profile, const struct profile_sample *sample)
{
	(void)profile;
	return value_of(sample->labels.age);
}

static struct hs_error *age_text(const struct heap_profile *profile, uint32_t value, char **ret)
{
	(void)profile;
	return copy_text(age_class_text(value).text, ret);
}

static uint32_t kind_value(const struct heap_profile *profile, const struct profile_sample *sample)
{
	(void)profile;
	return value_of(sample->labels.kind);
}

static uint32_t allocator_value(const struct heap_profile *profile, const struct profile_sample *sample)
{
	(void)profile;
	return value_of(sample->labels.allocator);
}

const struct sample_attribute thread_attribute = { "thread", thread_value, label_text, false },
			      size_attribute = { "size", size_value, size_text, true },
			      age_attribute = { "age", age_value, age_text, true },
			      kind_attribute = { "kind", kind_value, label_text, false },
			      allocator_attribute = { "allocator", allocator_value, label_text, false };

bool attribute_is_said(const struct sample_attribute *attribute, const struct heap_profile *profile)
{
	bool has_live = false;

	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct profile_sample *sample = &profile->samples[i];

		if (attribute->value(profile, sample) != ATTRIBUTE_ABSENT)
			return true;
		has_live |= sample->values.live_bytes != 0 || sample->values.live_objects != 0;
	}
	return !has_live;
}

unsigned attribute_label(const struct sample_attribute *attribute)
{
	static const struct {
		const struct sample_attribute *attribute;
		enum merge_label label;
	} labels[] = { { &thread_attribute, MERGE_THREAD },
		       { &size_attribute, MERGE_SIZE },
		       { &age_attribute, MERGE_AGE },
		       { &kind_attribute, MERGE_KIND },
		       { &allocator_attribute, MERGE_ALLOCATOR } };
	size_t i = 0;

	while (labels[i].attribute != attribute)
		i++;
	return labels[i].label;
}

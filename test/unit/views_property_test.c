// SPDX-License-Identifier: Apache-2.0
// What must hold of any profile: sums of rows are totals, and a difference added to one profile is the other.
#include "check.h"
#include "hand_profile.h"
#include "views/call_tree.h"
#include "views/diff.h"
#include "views/report.h"
#include "views/values.h"

enum { PLACES = 20, SAMPLES_MOST = 60, DEPTH_MOST = 12 };

struct random_profile {
	char names[PLACES][16], files[PLACES][16], modules[PLACES][16];
	struct hand_place places[PLACES];
	char stacks[SAMPLES_MOST][DEPTH_MOST + 1];
	struct hand_sample samples[SAMPLES_MOST];
	struct hand_profile hand;
};

// xorshift64: the same profiles in each run
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int64_t below(uint64_t *state, uint64_t limit) { return (int64_t)(next_random(state) % limit); }

static void make_random(struct random_profile *random, uint64_t seed, bool is_signed)
{
	uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	const size_t sample_count = (size_t)below(&state, SAMPLES_MOST + 1);
	const uint64_t used = 1 + (uint64_t)below(&state, PLACES);

	for (int i = 0; i < PLACES; i++) {
		const bool has_symbol = below(&state, 4) > 0;

		snprintf(random->names[i], sizeof(random->names[i]), "f%d", (int)below(&state, PLACES / 2));
		snprintf(random->files[i], sizeof(random->files[i]), "%s", below(&state, 3) ? "x.c" : "");
		snprintf(random->modules[i], sizeof(random->modules[i]), "m%d", (int)below(&state, 4));
		random->places[i] = (struct hand_place){
			.name = random->names[i],
			.full_name = has_symbol ? random->names[i] : NULL,
			.file = has_symbol ? random->files[i] : "",
			.line = 0x1000 + below(&state, 3),
			.module = random->modules[i],
			.class = (enum frame_class)below(&state, FRAME_CLASS_COUNT),
		};
	}
	for (size_t i = 0; i < sample_count; i++) {
		const int64_t depth = below(&state, DEPTH_MOST + 1), sign = is_signed && below(&state, 2) ? -1 : 1;

		for (int64_t j = 0; j < depth; j++)
			random->stacks[i][j] = (char)('a' + below(&state, used));
		random->stacks[i][depth] = '\0';
		random->samples[i] = (struct hand_sample){
			.stack = random->stacks[i],
			.live_bytes = sign * below(&state, 1 << 20),
			.live_objects = sign * below(&state, 1 << 10),
			.alloc_bytes = sign * below(&state, 1 << 30),
			.alloc_objects = below(&state, 1 << 20),
			.variance = (double)below(&state, 1 << 20) * 100, // whole numbers: their sums are exact
		};
	}
	hand_make(&random->hand, random->places, PLACES, random->samples, sample_count,
		  UINT64_C(0x100000000) * (1 + (uint64_t)below(&state, 100)));
}

static bool are_equal(const struct profile_values *a, const struct profile_values *b)
{
	return a->alloc_objects == b->alloc_objects && a->alloc_bytes == b->alloc_bytes &&
	       a->live_objects == b->live_objects && a->live_bytes == b->live_bytes &&
	       a->live_records == b->live_records && a->live_bytes_variance == b->live_bytes_variance &&
	       a->live_objects_variance == b->live_objects_variance;
}

static void check_report(const struct random_profile *random, const struct report_options *options)
{
	struct report report;
	struct profile_values sum = { 0 };

	CHECK(!report_make(&random->hand.named, options, &report));
	for (size_t i = 0; i < report.count; i++)
		profile_values_add(&sum, &report.rows[i].values);
	profile_values_add(&sum, &report.others);
	CHECK(are_equal(&sum, &report.total));
	CHECK(are_equal(&sum, &random->hand.profile.total));
	CHECK(!options->limit || report.count <= options->limit);
	for (size_t i = 1; i < report.count && options->order != ORDER_NAME; i++)
		CHECK(report.rows[i - 1].size >= report.rows[i].size);
	report_deinit(&report);
}

// Each node is what it has itself and what its children have; a child comes right after its parent or a sibling's tree.
static void check_tree(const struct random_profile *random, const struct tree_options *options)
{
	struct call_tree tree;
	struct profile_values *below_it;

	CHECK(!call_tree_make(&random->hand.named, options, &tree));
	CHECK(are_equal(&tree.nodes[0].cumulative, &random->hand.profile.total));
	below_it = calloc(tree.count, sizeof(*below_it));
	for (size_t i = 1; i < tree.count && below_it; i++) {
		const struct tree_node *node = &tree.nodes[i];

		CHECK(node->parent < i && node->depth == tree.nodes[node->parent].depth + 1);
		CHECK(node->depth <= tree.nodes[i - 1].depth + 1);
		profile_values_add(&below_it[node->parent], &node->cumulative);
	}
	for (size_t i = 0; i < tree.count && below_it; i++) {
		profile_values_add(&below_it[i], &tree.nodes[i].values);
		CHECK(tree.nodes[i].is_cut || tree.nodes[i].is_rest ||
		      are_equal(&below_it[i], &tree.nodes[i].cumulative));
	}
	free(below_it);
	call_tree_deinit(&tree);
}

static void check_views(const struct random_profile *random, uint64_t seed)
{
	uint64_t state = seed + 1;

	for (unsigned unit = UNIT_FUNCTION; unit <= UNIT_MODULE; unit++) {
		for (unsigned order = 0; order < ORDER_COUNT; order++) {
			const struct report_options rows = {
				.unit = (enum place_unit)unit,
				.order = (enum values_order)order,
				.is_cumulative = below(&state, 2),
				.limit = (size_t)below(&state, 5),
				.share_least = (double)below(&state, 3) / 20,
				.hidden = (unsigned)next_random(&state),
			};
			const struct tree_options tree = {
				.unit = rows.unit,
				.order = rows.order,
				.is_from_leaf = below(&state, 2),
				.limit = rows.limit,
				.depth_limit = (uint32_t)below(&state, 6),
				.share_least = rows.share_least,
				.hidden = rows.hidden,
			};

			check_report(random, &rows);
			check_tree(random, &tree);
		}
	}
}

// One way to write a stack down, whatever profile it is in.
static void write_stack(const struct heap_profile *profile, const struct profile_sample *sample, char *text,
			size_t room)
{
	size_t at = 0;

	text[0] = '\0';
	for (uint32_t f = 0; f < sample->frame_count && at < room; f++) {
		const struct profile_location *location = &profile->locations[profile->frames[sample->first_frame + f]];
		const struct profile_line *line = &profile->lines[location->first_line];
		const struct profile_mapping *mapping = &profile->mappings[location->mapping];
		const struct profile_function *function = &profile->functions[line->function];

		if (location->line_count)
			at += (size_t)snprintf(text + at, room - at, "%s %s %s %d;", function->name, function->file,
					       function->file[0] ? "" : mapping->file, (int)line->line);
		else
			at += (size_t)snprintf(text + at, room - at, "%s %d;", mapping->file,
					       (int)(location->address - mapping->start + mapping->file_offset));
	}
}

struct stack_sum {
	char text[400];
	struct profile_values values;
};

// pre: there is room for all
static void add_to_sums(struct stack_sum *sums, size_t *count, const struct heap_profile *profile)
{
	for (size_t i = 0; i < profile->sample_count; i++) {
		char text[sizeof(sums->text)];
		size_t at = 0;

		write_stack(profile, &profile->samples[i], text, sizeof(text));
		while (at < *count && strcmp(sums[at].text, text) != 0)
			at++;
		if (at == *count) {
			sums[at] = (struct stack_sum){ 0 };
			memcpy(sums[at].text, text, sizeof(text));
			++*count;
		}
		profile_values_add(&sums[at].values, &profile->samples[i].values);
	}
}

// diff(a, b) + a = b, stack by stack; and no stack is in a difference twice.
static void check_diff(const struct random_profile *a, const struct random_profile *b)
{
	static struct stack_sum left[4 * SAMPLES_MOST], right[4 * SAMPLES_MOST], alone[4 * SAMPLES_MOST];
	size_t left_count = 0, right_count = 0, alone_count = 0;
	struct profile_diff diff;

	CHECK(!profile_diff_make(&a->hand.profile, &b->hand.profile, &diff));
	add_to_sums(alone, &alone_count, &diff.profile);
	CHECK_EQUAL(alone_count, diff.profile.sample_count);
	add_to_sums(left, &left_count, &diff.profile);
	add_to_sums(left, &left_count, &a->hand.profile);
	add_to_sums(right, &right_count, &b->hand.profile);
	for (size_t i = 0; i < left_count; i++) {
		struct profile_values other = { 0 };
		size_t at = 0;

		while (at < right_count && strcmp(left[i].text, right[at].text) != 0)
			at++;
		if (at < right_count)
			other = right[at].values;
		other = values_subtract(&left[i].values, &other);
		CHECK(values_are_zero(&other));
	}
	for (size_t i = 0; i < diff.profile.frame_count; i++)
		CHECK(diff.profile.frames[i] < diff.profile.location_count);
	profile_diff_deinit(&diff);
}

int main(void)
{
	static struct random_profile a, b;

	for (uint64_t seed = 1; seed <= CHECK_TIMES(200, 40); seed++) {
		struct profile_diff diff;

		make_random(&a, seed, seed % 2);
		make_random(&b, seed / 2 + 1000, false);
		if (seed % 3) { // the same code in both
			hand_free(&b.hand);
			hand_make(&b.hand, a.places, PLACES, b.samples, 1 + seed % SAMPLES_MOST, 0x7000000000);
		}
		check_views(&a, seed);
		check_diff(&a, &b);
		check_diff(&b, &a);
		CHECK(!profile_diff_make(&a.hand.profile, &a.hand.profile, &diff));
		CHECK_EQUAL(diff.profile.sample_count, 0);
		CHECK(values_are_zero(&diff.profile.total));
		profile_diff_deinit(&diff);
		hand_free(&a.hand);
		hand_free(&b.hand);
	}
	return CHECK_RESULT();
}

// SPDX-License-Identifier: Apache-2.0
// made_formats FOLDER: the profile of made_profile.h in each format that other programs read, as the tool writes it.
// Its names have what formats stumble over: inlined functions, code without a name, a stack without frames, a
// semicolon, a number at the end.
#include "base/error.h"
#include "lib/profile_writer.h"
#include "made_profile.h"
#include "proto/output_file.h"
#include "views/frame_rules.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const names[] = { "out.pb.gz", "out.folded", "out.speedscope.json", "out.json" };

// Of a symbolized program and a library without symbols. The profile has modules, the file mappings.
static struct profile_mapping mappings[] = {
	{ 0x400000, 0x500000, 0, (char[]){ "/opt/shop" }, (char[]){ "ab12" }, true, true, true, true },
	{ 0x7f0000000000, 0x7f0000100000, 0, (char[]){ "/opt/lib/plain.so" }, (char[]){ "" }, false, false, false,
	  false },
};

static void must(struct hs_error *error)
{
	if (!error)
		return;
	fprintf(stderr, "made_formats: %s\n", error->message);
	exit(1);
}

static void write_all(const struct named_profile *named, const char *folder)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct profile_writing writing = { .profile = named->profile, .named = named };
		struct profile_writer writer;
		uint64_t size;
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		must(profile_writer_open(path, PROFILE_BY_NAME, &writer));
		must(profile_writer_write(&writer, &writing, &size));
	}
}

int main(int argc, char **argv)
{
	struct heap_profile profile = made_profile;
	struct frame_rules *rules = NULL;
	struct named_profile named;

	if (argc != 2)
		return 2;
	profile.mappings = mappings;
	profile.mapping_count = 2;
	profile.program = (char[]){ "shop" };
	profile.pid = 42;
	profile.period = 1;
	for (uint32_t i = 0; i < profile.location_count; i++) {
		struct profile_location *location = &profile.locations[i];

		location->mapping = location->line_count ? 0 : 1;
		if (location->line_count)
			location->address = 0x400000 + 16 * i;
	}
	made_functions[F_OTHER].name = (char[]){ "<[u8; 32] as shop::Other>::handle 7" };
	must(frame_rules_create(&rules));
	must(named_profile_make(&profile, rules, &named));
	write_all(&named, argv[1]);
	named_profile_deinit(&named);
	frame_rules_destroy(rules);
	return 0;
}

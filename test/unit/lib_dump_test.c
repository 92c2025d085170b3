// SPDX-License-Identifier: Apache-2.0
// What a dump leaves where it fails (lib/dump.h): the snapshot and the encoder stand before those of the libraries.
#include "base/process.h"
#include "check.h"
#include "lib/dump.h"
#include "output_folder.h"
#include "proto/pprof/pprof_encoder.h"
#include "snapshot/snapshot.h"

static const struct process process_42 = { .pid = 42, .folder = -1, .pidfd = -1 };
static bool snapshot_fails;
static int snapshots;

struct hs_error *heap_copy_take(const struct process *process, enum heap_copy_way way, struct heap_copy **ret)
{
	(void)process;
	(void)way;
	snapshots++;
	*ret = NULL;
	return snapshot_fails ? hs_error_create(HS_ERROR_GONE, "the process has ended") : NULL;
}

struct hs_error *heap_copy_select(struct heap_copy *copy, const struct process *process,
				  const struct block_selection *selection)
{
	(void)copy;
	(void)process;
	(void)selection;
	return NULL;
}

struct hs_error *heap_copy_digest(struct heap_copy *copy, const struct symbol_options *symbols,
				  struct heap_profile *ret, struct snapshot_timing *timing)
{
	(void)copy;
	(void)symbols;
	*ret = (struct heap_profile){ .pid = 42 };
	*timing = (struct snapshot_timing){ .stopped_ns = 7 };
	return NULL;
}

void heap_copy_destroy(struct heap_copy *copy) { (void)copy; }

// There is no memory to encode in.
struct hs_error *pprof_encode(const struct heap_profile *profile, const struct pprof_options *options,
			      uint8_t **data_ret, size_t *size_ret)
{
	(void)profile;
	(void)options;
	(void)data_ret;
	(void)size_ret;
	return &hs_error_no_memory;
}

// A dump that fails in its last part has stopped nobody for it, and leaves no file, no descriptor and no result.
static void test_failure(const char *text)
{
	const struct hs_dump_options options = { .output = in_directory("out") };
	struct hs_dump_result result = { .file_bytes = 3 };
	int lowest = dup(STDIN_FILENO);

	close(lowest);
	CHECK(fails_with(hs_dump(&process_42, &options, &result), text));
	CHECK_EQUAL(result.file_bytes, 0);
	CHECK(!result.profile.pid);
	CHECK_EQUAL(count_entries(), 0);
	CHECK_EQUAL(dup(STDIN_FILENO), lowest);
	close(lowest);
}

// An output that cannot be written does not cost the target a stop.
static void test_output_first(void)
{
	const struct hs_dump_options options = { .output = in_directory("not/there") };
	struct hs_dump_result result;
	int before = snapshots;

	CHECK(fails_with(hs_dump(&process_42, &options, &result), "not"));
	CHECK_EQUAL(snapshots, before);
}

int main(void)
{
	CHECK(mkdtemp(directory) != NULL);
	test_failure("memory");
	snapshot_fails = true;
	test_failure("ended");
	test_output_first();
	CHECK(rmdir(directory) == 0);
	return CHECK_RESULT();
}

// SPDX-License-Identifier: Apache-2.0
// Which program counters lie inside bytes that will be replaced; and applying and undoing, in the memory of this very
// process.
#include "attach/hook/hook_apply.h"
#include "attach/ptrace/frozen_maps.h"
#include "base/log.h"
#include "check.h"
#include "held_process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static bool inside(const struct hook_plan *plan, uint64_t pc)
{
	struct frozen_thread thread = { 0 };

	thread.registers.rip = pc;
	return hook_thread_is_inside(plan, &thread);
}

static void test_inside(void)
{
	struct planned_hook hooks[] = {
		{ .record = { .address = 0x1000, .covered = 7, .size = 5 } },
		{ .record = { .address = 0x2000, .covered = 9, .size = 5, .verdict = VERDICT_branch_inside } },
		{ .record = { .address = UINT64_MAX - 3, .covered = 4 } },
	};
	const struct hook_plan plan = { .hooks = hooks, .count = 3 };
	const struct hook_plan none = { 0 };

	CHECK(!inside(&plan, 0xfff));
	CHECK(!inside(&plan, 0x1000)); // runs into the jump
	CHECK(inside(&plan, 0x1001));
	CHECK(inside(&plan, 0x1005)); // behind the jump, still replaced
	CHECK(inside(&plan, 0x1006));
	CHECK(!inside(&plan, 0x1007));
	CHECK(!inside(&plan, 0x2001)); // refused
	CHECK(inside(&plan, UINT64_MAX));
	CHECK(!inside(&plan, 0));
	CHECK(!inside(&none, 0x1001));
}

enum { HOOKS = 4, STEP = 64 };

struct journal {
	uint32_t states[HOOKS];
	const uint8_t *text;
	int wrong_order; // text changed before the journal said so
	size_t last;
	bool backwards;
};

static struct hs_error *save(const struct hook_record *record, size_t index, void *context)
{
	struct journal *journal = context;
	const uint8_t *now = journal->text + index * STEP;

	// Written to the journal before the text is; taken from it after the text is restored.
	if (record->state == HOOK_APPLIED && memcmp(now, record->old_bytes, record->size) != 0)
		journal->wrong_order++;
	if (record->state == HOOK_REMOVED && memcmp(now, record->new_bytes, record->size) == 0)
		journal->wrong_order++;
	if (journal->backwards ? index > journal->last : index < journal->last)
		journal->wrong_order++;
	journal->last = index;
	journal->states[index] = record->state;
	return NULL;
}

// Longer than 60 lines: one life of a hook, step by step.
static void test_apply_and_undo(void)
{
	struct hook_record hooks[HOOKS] = { 0 };
	struct journal journal = { 0 };
	struct frozen_thread thread = { .tid = getpid() };
	const struct frozen_process frozen = { .threads = &thread, .count = 1 };
	struct target_memory memory;
	size_t foreign = 99;
	struct hs_error *error;
	uint8_t *text = mmap(NULL, HS_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(text != MAP_FAILED);
	CHECK(target_memory_open(held_process(getpid()), &memory) == NULL);
	memset(text, 0x90, HS_PAGE_SIZE);
	for (size_t i = 0; i < HOOKS; i++) {
		hooks[i].address = (uint64_t)(text + i * STEP);
		hooks[i].size = 5;
		memset(hooks[i].old_bytes, 0x90, 5);
		memset(hooks[i].new_bytes, 0xe0 + (int)i, 5);
	}
	hooks[1].verdict = VERDICT_too_short;
	hooks[1].state = HOOK_REFUSED;
	journal.text = text;

	CHECK(hook_apply(hooks, HOOKS, &memory, getpid(), save, &journal) == NULL);
	CHECK_EQUAL(journal.wrong_order, 0);
	CHECK_EQUAL(hooks[0].state, HOOK_APPLIED);
	CHECK_EQUAL(hooks[1].state, HOOK_REFUSED);
	CHECK(text[0] == 0xe0 && text[4] == 0xe0 && text[5] == 0x90);
	CHECK_EQUAL(text[STEP], 0x90);
	CHECK_EQUAL(text[3 * STEP], 0xe3);

	// One is somebody else's by now, one is back already.
	text[2 * STEP + 1] = 0xcc;
	memset(text + 3 * STEP, 0x90, 5);
	journal.backwards = true;
	CHECK(hook_undo(hooks, HOOKS, &memory, &frozen, save, &journal, &foreign) == NULL);
	CHECK_EQUAL(foreign, 1);
	CHECK_EQUAL(journal.wrong_order, 0);
	CHECK_EQUAL(text[0], 0x90);
	CHECK_EQUAL(text[2 * STEP], 0xe2);
	CHECK_EQUAL(text[2 * STEP + 1], 0xcc);
	CHECK_EQUAL(text[3 * STEP], 0x90);
	for (size_t i = 0; i < HOOKS; i++)
		CHECK_EQUAL(hooks[i].state, i == 1 ? HOOK_REFUSED : i == 2 ? HOOK_APPLIED : HOOK_REMOVED);

	// Bytes that are no longer the planned ones: refused before the journal or the text is touched.
	hooks[0].state = HOOK_PLANNED;
	journal = (struct journal){ .text = text };
	text[4] = 0xcc;
	error = hook_apply(hooks, 1, &memory, getpid(), save, &journal);
	CHECK(error && error->code == HS_ERROR_REFUSED);
	hs_error_destroy(error);
	CHECK_EQUAL(hooks[0].state, HOOK_PLANNED);
	CHECK_EQUAL(journal.states[0], 0);
	CHECK_EQUAL(text[0], 0x90);

	// Its module is gone, and a damaged journal names more bytes than a hook has.
	munmap(text, HS_PAGE_SIZE);
	hooks[0].state = hooks[2].state = hooks[3].state = HOOK_APPLIED;
	hooks[2].size = sizeof(hooks[2].old_bytes) + 1;
	hooks[3].size = 0;
	// text: anything readable
	journal = (struct journal){ .text = (const uint8_t *)hooks, .last = HOOKS, .backwards = true };
	CHECK(hook_undo(hooks, HOOKS, &memory, &frozen, save, &journal, &foreign) == NULL);
	CHECK_EQUAL(hooks[0].state, HOOK_REMOVED);
	CHECK_EQUAL(hooks[2].state, HOOK_APPLIED);
	CHECK_EQUAL(hooks[3].state, HOOK_APPLIED);
	CHECK_EQUAL(foreign, 0);
	target_memory_close(&memory);
}

// Whether a hook's pages are their file's own: also the second one of a hook that crosses into it.
static void test_clean_pages(void)
{
	static const struct {
		int changed; // page; -1 = none
		size_t offset;
		bool clean;
	} cases[] = {
		{ -1, 0, true },
		{ -1, HS_PAGE_SIZE - 2, true },
		{ 0, 0, false },
		{ 0, HS_PAGE_SIZE - 2, false },
		{ 1, HS_PAGE_SIZE - 2, false },
		{ 1, HS_PAGE_SIZE - 5, true },
		{ 1, HS_PAGE_SIZE - 4, false },
		{ 1, HS_PAGE_SIZE, false },
		{ 0, HS_PAGE_SIZE, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hook_record hooks[2] = { { .size = 5, .page_was_clean = 7 },
						{ .size = 5, .page_was_clean = 7, .verdict = VERDICT_too_short } };
		int fd = memfd_create("pages", MFD_CLOEXEC);
		uint8_t *pages;

		CHECK(ftruncate(fd, 2 * HS_PAGE_SIZE) == 0);
		pages = mmap(NULL, 2 * HS_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
		CHECK(pages != MAP_FAILED && pages[0] == 0 && pages[HS_PAGE_SIZE] == 0); // they are there
		if (cases[i].changed >= 0)
			pages[(size_t)cases[i].changed * HS_PAGE_SIZE] = 1;
		hooks[0].address = hooks[1].address = (uint64_t)pages + cases[i].offset;
		CHECK(hook_note_clean_pages(held_process(getpid()), hooks, 2) == NULL);
		CHECK_EQUAL(hooks[0].page_was_clean, cases[i].clean);
		CHECK_EQUAL(hooks[1].page_was_clean, 7); // was not planned
		munmap(pages, 2 * HS_PAGE_SIZE);
		close(fd);
	}
}

static char warning[256];

static void keep_warning(enum hs_log_level level, const char *message)
{
	if (level == HS_LOG_WARNING)
		snprintf(warning, sizeof(warning), "%s", message);
}

// A copy of which nothing can be seen stays, and that is said: it is not taken for none.
static void test_unread_copy(void)
{
	HS_CLEANUP_PROCESS struct process self = PROCESS_CLOSED;
	const struct hook_record hook = {
		.address = (uint64_t)test_inside, .size = 5, .page_was_clean = true, .state = HOOK_REMOVED
	};
	struct target_memory memory;
	struct frozen_process frozen = { .process = &self };
	struct remote_caller caller = { .frozen = &frozen, .memory = &memory };

	CHECK(!process_open(getpid(), &self));
	CHECK(!target_memory_open(&self, &memory));
	close(memory.pagemap);
	memory.pagemap = open("/dev/null", O_RDONLY | O_CLOEXEC); // it ends before any page
	hs_log_set_sink(keep_warning);
	CHECK(!hook_drop_copies(&hook, 1, &caller));
	hs_log_set_sink(NULL);
	CHECK(strstr(warning, "private copies of its pages stay (1)"));
	frozen_maps_forget(&frozen);
	target_memory_close(&memory);
}

int main(void)
{
	test_unread_copy();
	test_inside();
	test_clean_pages();
	test_apply_and_undo();
	return CHECK_RESULT();
}

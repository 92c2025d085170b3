// SPDX-License-Identifier: Apache-2.0
// Longer than 500 lines: one walk compared with another: reading, walking, judging a difference.
// Freezes a process again and again, and walks each thread's stack twice: with libunwind-ptrace, and with the payload's
// own code in this process, on a copy of the stack at the same address. Both must find the same frames. usage:
// unwind_compare PID COUNT COUNT stacks of threads that have run since the freeze before are compared, and those of the
// other threads besides. Prints counts, each difference, and a last line of JSON. Exit status: 0 = every difference
// explained, 1 = not, 2 = could not compare.
//
// The payload is entered as a hook is: called by a frame of the stack (by frame 1: the innermost one was interrupted,
// not called), with what the hook's entry pushes laid below that frame's stack pointer.
#include "../unit/held_process.h"
#include "difference.h"
#include "mirror.h"
#include "reference.h"

#include "attach/elf/file_cache.h"
#include "attach/guard/refused_reads.h"
#include "inject/hook/thread_slot.h"
#include "inject/walk/modules.h"
#include "inject/walk/unwind.h"
#include "unwind/unwind_rule.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { IDLE_SECONDS_MAX = 40, FREEZE_MS = 5000, LAYOUTS_MAX = 8, THREADS_MAX = 256, PRINTED_MAX = 10 };

#define PASSES(X)                                                                                                      \
	X(as_left, "slot as the freeze before left it")                                                                \
	X(again, "the same stack again")                                                                               \
	X(from_outside, "from a frame further out")                                                                    \
	X(back_inside, "and from the inner one again")                                                                 \
	X(others_slot, "slot with another thread's walk")                                                              \
	X(all_registers, "every rule taken for one that needs all registers")

enum pass {
#define X(name, text) PASS_##name,
	PASSES(X)
#undef X
		PASS_COUNT
};
static const char *const pass_texts[PASS_COUNT] = {
#define X(name, text) text,
	PASSES(X)
#undef X
};

// The ways of inject/walk/unwind.c. A walk that takes several counts for the last.
enum way { WAY_REUSE, WAY_RULES, WAY_REGISTERS, WAY_COUNT };

struct tally {
	uint64_t freezes, clashes, readings; // readings: of the list of modules
	uint64_t no_caller, no_slot;         // stacks that cannot be walked from a caller, or not in the payload
	uint64_t no_information;             // stacks interrupted in code without unwind information
	uint64_t in_vdso, rewritten;         // stacks that libunwind cannot walk: see is_in_vdso and is_rewritten
	uint64_t unmoved;                    // stacks of threads that have not run in between
	uint64_t frames;                     // of libunwind, in the stacks that count
	uint64_t verdicts[VERDICT_OF_COUNT]; // of the stacks that count
	uint64_t unmoved_verdicts[VERDICT_OF_COUNT];
	uint64_t ways[PASS_COUNT][WAY_COUNT];
};

// One thread of one freeze.
struct sample {
	pid_t tid;
	bool moved;
	struct reference_stack reference;
	size_t first;                     // the frame that calls the payload
	struct mirrored_range stack, tcb; // tcb: where it is not in the same pages
	struct thread_slot *slot;
	enum verdict verdict;
};

struct comparison {
	struct target_info target;
	struct target_memory memory;
	struct proc_maps maps;
	struct module_list modules;
	struct mirror mirror;
	uint64_t last_registers[THREADS_MAX]; // digest, by the number of the thread in the history of threads
	uint64_t *stacks;                     // digests of those that count, for the number of different ones
	size_t stack_count, wanted;
	size_t printed; // differences
	struct tally tally;
};

static struct comparison comparison;
static struct sample samples[THREADS_MAX];
static struct thread_slot spare_slot; // for walks that must leave the threads' slots alone

// Not region_at(): the compiler may take the payload's view of its configuration for constant, and this file changes
// it.
static void *part_at(uint64_t offset) { return (uint8_t *)comparison.mirror.region + offset; }

static uint64_t digest(uint64_t before, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < size; i++) // FNV-1a
		before = (before ^ bytes[i]) * UINT64_C(0x100000001b3);
	return before;
}

static void walk(enum pass pass, struct sample *sample, size_t from, struct thread_slot *slot)
{
	const struct reference_frame *frame = &sample->reference.frames[from];
	struct entry_frame *entry = (struct entry_frame *)(frame->sp - sizeof(*entry));
	struct entry_frame before = *entry;
	uint64_t reuses = slot->shared.counters[COUNTER_walk_reuses], slow = slot->shared.counters[COUNTER_slow_walks];
	size_t count = sample->reference.count - from;
	struct payload_stack stack;
	enum verdict verdict = VERDICT_OF_mismatch;
	uint32_t node;

	*entry = (struct entry_frame){ .r15 = frame->r15,
				       .r14 = frame->r14,
				       .r13 = frame->r13,
				       .r12 = frame->r12,
				       .rbx = frame->rbx,
				       .fp = frame->rbp,
				       .return_address = frame->pc };
	slot->shared.interval = 1; // so that stacks are kept
	node = unwind_to_node(slot, entry);
	*entry = before; // for a walk from the inside, these words belong to a frame
	comparison.tally.ways[pass][slot->shared.counters[COUNTER_slow_walks] != slow      ? WAY_REGISTERS
				    : slot->shared.counters[COUNTER_walk_reuses] != reuses ? WAY_REUSE
											   : WAY_RULES]++;
	if (payload_stack_read(node, &stack))
		verdict = difference_find(&stack, frame, count, sample->reference.end, &comparison.modules);
	if (verdict != VERDICT_OF_equal && sample->verdict == VERDICT_OF_equal && comparison.printed++ < PRINTED_MAX) {
		printf("  thread %d, stack pointer 0x%" PRIx64 " (%s): %s\n", sample->tid, frame->sp, pass_texts[pass],
		       verdict_texts[verdict]);
		place_print("innermost", sample->reference.frames[0].pc, true, &comparison.modules);
		difference_print(&stack, frame, count, sample->reference.end, &comparison.modules);
	}
	if (verdict > sample->verdict)
		sample->verdict = verdict;
}

// Whether the frame called something: its return address is the word below its stack pointer.
static bool is_caller(const struct sample *sample, size_t index)
{
	const struct reference_frame *frame = &sample->reference.frames[index];

	return !frame->pc_is_exact && frame->sp % 8 == 0 &&
	       frame->sp >= sample->stack.low + sizeof(struct entry_frame) && frame->sp <= sample->stack.high &&
	       *(const uint64_t *)(frame->sp - 8) == frame->pc;
}

// Then nobody knows the caller and its registers. Seen of glibc's clone3, between its system call and the first
// instruction of the new thread, whose stack is still empty.
static bool is_without_information(const struct sample *sample)
{
	return UNWIND_KIND(modules_decode_rule(sample->reference.frames[0].pc, true)) == UNWIND_FRAME_POINTER;
}

// libunwind-ptrace reads unwind information from files, and the vdso has none (libunwind 1.6.2 then guesses by rbp, and
// takes the caller's stack pointer to be 16 bytes too low). The vdso calls nothing, so it is only ever the innermost
// frame.
static bool is_in_vdso(const struct sample *sample)
{
	const struct module *module = module_at(sample->reference.frames[0].pc, &comparison.modules);

	return module && module->is_vdso;
}

// libgcc throws an exception by writing the registers of the frame that catches it over those that its own functions
// have saved, then returning from them (uw_install_context_1 and the end of _Unwind_RaiseException). Nothing is called
// meanwhile, and what stands on the stack is no chain of frames: libunwind gets lost, and there is nothing to compare
// with.
static bool is_rewritten(const struct sample *sample)
{
	const struct reference_stack *reference = &sample->reference;
	const struct module *module = module_at(reference->frames[0].pc, &comparison.modules);

	return module && strstr(module->path, "/libgcc_s.so") &&
	       !frame_is_outermost(reference->frames[reference->count - 1].pc, false);
}

// The thread's used stack, and its control block, from which the payload learns of the stack. sample->stack stays empty
// when the stack pointer is nowhere.
static struct hs_error *mirror_thread(const struct user_regs_struct *registers, struct sample *sample)
{
	const struct comparison *c = &comparison;
	const struct proc_map *map = proc_maps_find(&c->maps, registers->rsp);
	uint64_t tcb = registers->fs_base, tcb_end = tcb + c->modules.tcb_size;
	uint64_t low, high;
	struct hs_error *error;

	if (!map)
		return NULL;
	high = tcb > registers->rsp && tcb_end <= map->end ? tcb_end : map->end;
	low = registers->rsp - sizeof(struct entry_frame); // frame 1's stack pointer may be 8 bytes up
	error = mirror_range(&c->memory, &c->maps, low, high, &sample->stack);
	if (!error && tcb && (tcb < sample->stack.low || tcb_end > sample->stack.high))
		error = mirror_range(&c->memory, &c->maps, tcb, tcb_end, &sample->tcb);
	return error;
}

static void release_sample(struct sample *sample)
{
	mirror_range_release(&sample->stack);
	mirror_range_release(&sample->tcb);
}

// *usable_ret: the stack can be compared.
static struct hs_error *take_sample(const struct frozen_thread *thread, struct sample *sample, bool *usable_ret)
{
	struct comparison *c = &comparison;
	uint64_t registers = digest(0, &thread->registers, sizeof(thread->registers));
	struct hs_error *error;

	*usable_ret = false;
	sample->tid = thread->tid;
	sample->verdict = VERDICT_OF_equal;
	error = mirror_thread(&thread->registers, sample);
	if (error)
		return error;
	sample->slot =
		sample->stack.high ? thread_slot_claim_at(thread->registers.fs_base, thread->registers.rsp) : NULL;
	if (!sample->slot) {
		c->tally.no_slot++;
		return NULL;
	}
	sample->moved = c->last_registers[sample->slot->thread % THREADS_MAX] != registers;
	c->last_registers[sample->slot->thread % THREADS_MAX] = registers;
	reference_walk(thread->tid, &sample->reference);
	for (sample->first = 1; sample->first < sample->reference.count; sample->first++)
		if (is_caller(sample, sample->first))
			break;
	if (is_without_information(sample))
		c->tally.no_information++;
	else if (is_in_vdso(sample))
		c->tally.in_vdso++;
	else if (sample->first >= sample->reference.count)
		c->tally.no_caller++;
	else if (is_rewritten(sample))
		c->tally.rewritten++;
	else
		*usable_ret = true;
	return NULL;
}

static void lend_walk(const struct thread_slot *walked, const struct thread_slot *bounds)
{
	spare_slot.walk_count = walked->walk_count;
	spare_slot.walk_generation = walked->walk_generation;
	spare_slot.kept_generation = walked->kept_generation;
	memcpy(spare_slot.kept, walked->kept, sizeof(spare_slot.kept));
	spare_slot.shared.stack_low = bounds->shared.stack_low;
	spare_slot.shared.stack_high = bounds->shared.stack_high;
	memcpy(spare_slot.walk, walked->walk, sizeof(spare_slot.walk));
	memcpy(spare_slot.checks, walked->checks, sizeof(spare_slot.checks));
}

static void walk_by_rules_and_reuse(struct sample *sample, const struct sample *other)
{
	size_t outer = sample->first + 2;

	walk(PASS_as_left, sample, sample->first, sample->slot);
	walk(PASS_again, sample, sample->first, sample->slot);
	if (outer < sample->reference.count && is_caller(sample, outer)) {
		walk(PASS_from_outside, sample, outer, sample->slot);
		walk(PASS_back_inside, sample, sample->first, sample->slot);
	}
	if (other) {
		lend_walk(other->slot, sample->slot);
		walk(PASS_others_slot, sample, sample->first, &spare_slot);
	}
}

// Every rule that is cached says "all registers" while the samples are walked once more.
static void walk_with_all_registers(size_t count)
{
	static struct rule_entry kept[HS_RULE_CACHE_ENTRIES];
	const uint64_t kind = UINT64_C(15) << 60, slow = (uint64_t)UNWIND_SLOW << 60;
	struct rule_entry *rules = part_at(HS_OFFSET_RULES);

	memcpy(kept, rules, sizeof(kept));
	for (size_t i = 0; i < HS_RULE_CACHE_ENTRIES; i++) {
		uint64_t changed = (rules[i].rule & ~kind) | slow;

		if (!rules[i].rule)
			continue;
		rules[i].check ^= rules[i].rule ^ changed; // check is the key, exclusive-or the rule
		rules[i].rule = changed;
	}
	for (size_t i = 0; i < count; i++) {
		lend_walk(samples[i].slot, samples[i].slot);
		spare_slot.walk_count = 0;
		spare_slot.kept_generation = 0;
		walk(PASS_all_registers, &samples[i], samples[i].first, &spare_slot);
	}
	memcpy(rules, kept, sizeof(kept));
}

static void count_sample(const struct sample *sample)
{
	struct comparison *c = &comparison;
	uint64_t pcs = 0;

	if (!sample->moved) {
		c->tally.unmoved++;
		c->tally.unmoved_verdicts[sample->verdict]++;
		return;
	}
	c->tally.verdicts[sample->verdict]++;
	c->tally.frames += sample->reference.count - sample->first;
	for (size_t i = sample->first; i < sample->reference.count; i++)
		pcs = digest(pcs, &sample->reference.frames[i].pc, sizeof(pcs));
	if (c->stack_count < c->wanted)
		c->stacks[c->stack_count++] = pcs;
}

// Reads the modules again when they have changed; then the payload begins anew with an empty region.
static struct hs_error *follow_modules(const struct frozen_process *frozen)
{
	struct comparison *c = &comparison;
	struct proc_maps maps;
	struct hs_error *error = proc_maps_read(held_process(c->target.pid), &maps);
	bool same;

	if (error)
		return error;
	same = c->mirror.region && modules_same_text(&c->maps, &maps);
	proc_maps_deinit(&c->maps);
	c->maps = maps;
	if (same)
		return NULL;
	c->tally.readings++;
	mirror_close(&c->mirror);
	modules_deinit(&c->modules);
	memset(&spare_slot, 0, sizeof(spare_slot));
	if (!reference_reset())
		return &hs_error_no_memory;
	error = modules_read(held_process(c->target.pid), &c->maps, &c->memory, &c->modules);
	if (!error)
		error = search_tables_make(&c->memory, &c->modules);
	if (!error)
		error = mirror_open(&c->target, &c->maps, &c->modules, &c->memory, frozen, &c->mirror);
	return error;
}

// While the target stands still no file is read (attach/guard/refused_reads.h): what its modules need is read before.
static struct hs_error *read_ahead(void)
{
	struct comparison *c = &comparison;
	struct module_list modules;
	struct proc_maps maps;
	struct hs_error *error = proc_maps_read(held_process(c->target.pid), &maps);

	if (error)
		return error;
	if (!c->mirror.region || !modules_same_text(&c->maps, &maps)) {
		error = modules_read(held_process(c->target.pid), &maps, &c->memory, &modules);
		if (!error) {
			error = search_tables_make(&c->memory, &modules);
			modules_deinit(&modules);
		}
	}
	proc_maps_deinit(&maps);
	return error;
}

static struct hs_error *compare_frozen(const struct frozen_process *frozen)
{
	struct hs_error *error = follow_modules(frozen);
	size_t count = 0;

	if (refused_reads_any()) { // loaded since: the next time
		mirror_close(&comparison.mirror);
		hs_error_destroy(error);
		return NULL;
	}

	if (!error && frozen->count > THREADS_MAX)
		error = hs_error_create(HS_ERROR_REFUSED, "more than %d threads", THREADS_MAX);
	for (size_t i = 0; i < frozen->count && !error; i++) {
		bool usable;

		error = take_sample(&frozen->threads[i], &samples[count], &usable);
		if (usable)
			count++;
		else
			release_sample(&samples[count]);
	}
	if (!error) {
		for (size_t i = 0; i < count; i++)
			walk_by_rules_and_reuse(&samples[i], i ? &samples[i - 1] : NULL);
		walk_with_all_registers(count);
		for (size_t i = 0; i < count; i++)
			count_sample(&samples[i]);
	}
	for (size_t i = 0; i < count; i++)
		release_sample(&samples[i]);
	return error;
}

static uint64_t counted(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < VERDICT_OF_COUNT; i++)
		sum += comparison.tally.verdicts[i];
	return sum;
}

static struct hs_error *compare_all(void)
{
	struct comparison *c = &comparison;
	struct timespec since, now, pause = { 0 }; // since: the last stack that counts
	struct hs_error *error = NULL;
	uint64_t stacks = 0;

	file_cache_begin();
	clock_gettime(CLOCK_MONOTONIC, &since);
	while (counted() < c->wanted && !error) {
		struct frozen_process frozen;

		clock_gettime(CLOCK_MONOTONIC, &now);
		if (counted() > stacks) {
			stacks = counted();
			since = now;
		}
		if (now.tv_sec - since.tv_sec > IDLE_SECONDS_MAX)
			return hs_error_create(HS_ERROR_TIMEOUT,
					       "only %" PRIu64
					       " stacks of threads that have run, and none more within %d s",
					       stacks, IDLE_SECONDS_MAX);
		error = read_ahead();
		if (!error)
			error = threads_freeze_memory(&c->memory, FREEZE_MS, &frozen);
		if (error && error->code == HS_ERROR_TIMEOUT) { // no processor for a thread, or for this tool
			printf("  once more: %s\n", error->message);
			hs_error_destroy(error);
			error = NULL;
			continue;
		}
		if (error)
			break;
		c->tally.freezes++;
		error = compare_frozen(&frozen);
		error = hs_error_join(error, threads_thaw(&frozen));
		// out of step with whatever the target does
		pause.tv_nsec = 200000 + (long)(c->tally.freezes % 7) * 300000;
		nanosleep(&pause, NULL);
	}
	return error;
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static size_t different_stacks(void)
{
	struct comparison *c = &comparison;
	size_t count = 0;

	qsort(c->stacks, c->stack_count, sizeof(*c->stacks), by_value);
	for (size_t i = 0; i < c->stack_count; i++)
		count += i == 0 || c->stacks[i] != c->stacks[i - 1];
	return count;
}

static void print_tally(void)
{
	const struct tally *tally = &comparison.tally;
	uint64_t stacks = counted();

	printf("  %" PRIu64 " stacks in %" PRIu64 " freezes, %zu different, %.1f frames each; %" PRIu64
	       " of threads that had not run\n",
	       stacks, tally->freezes, different_stacks(), (double)tally->frames / (double)(stacks ? stacks : 1),
	       tally->unmoved);
	printf("  not compared: %" PRIu64 " without a caller, %" PRIu64 " without a slot, %" PRIu64
	       " without unwind information, %" PRIu64 " in the vdso, %" PRIu64 " rewritten for an exception\n",
	       tally->no_caller, tally->no_slot, tally->no_information, tally->in_vdso, tally->rewritten);
	printf("  modules read %" PRIu64 " times, %" PRIu64 " clashes of addresses\n", tally->readings, tally->clashes);
	for (int i = 0; i < PASS_COUNT; i++)
		printf("  %-50s reuse %6" PRIu64 ", rules %6" PRIu64 ", all registers %6" PRIu64 "\n", pass_texts[i],
		       tally->ways[i][WAY_REUSE], tally->ways[i][WAY_RULES], tally->ways[i][WAY_REGISTERS]);
	for (int i = 0; i < VERDICT_OF_COUNT; i++)
		if (tally->verdicts[i] + tally->unmoved_verdicts[i])
			printf("  %s: %" PRIu64 " (and %" PRIu64 " that had not run)\n", verdict_texts[i],
			       tally->verdicts[i], tally->unmoved_verdicts[i]);
	printf("{\"stacks\": %" PRIu64 ", \"equal\": %" PRIu64 ", \"mismatches\": %" PRIu64 ", \"reuse\": %" PRIu64
	       ", \"rules\": %" PRIu64 ", \"registers\": %" PRIu64 "}\n",
	       stacks, tally->verdicts[VERDICT_OF_equal],
	       tally->verdicts[VERDICT_OF_mismatch] + tally->unmoved_verdicts[VERDICT_OF_mismatch],
	       tally->ways[PASS_again][WAY_REUSE], tally->ways[PASS_as_left][WAY_RULES],
	       tally->ways[PASS_all_registers][WAY_REGISTERS]);
}

// A new life of this program is at other addresses.
static void start_over(char **argv, const struct hs_error *error)
{
	char number[16];
	char *arguments[] = { argv[0], argv[1], argv[2], number, NULL };

	printf("  clash: %s; starting over with another layout\n", error->message);
	fflush(stdout);
	snprintf(number, sizeof(number), "%" PRIu64, comparison.tally.clashes + 1);
	if (comparison.tally.clashes < LAYOUTS_MAX)
		execv("/proc/self/exe", arguments);
	printf("  no layout fits (is address space randomization off?)\n");
}

int main(int argc, char **argv)
{
	struct comparison *c = &comparison;
	struct hs_error *error;
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: unwind_compare PID COUNT\n");
		return 2;
	}
	pid = atoi(argv[1]);
	c->wanted = strtoul(argv[2], NULL, 10);
	c->tally.clashes = argc > 3 ? strtoul(argv[3], NULL, 10) : 0; // before an execv of itself
	c->memory.fd = -1;
	c->stacks = calloc(c->wanted + 1, sizeof(*c->stacks));
	error = c->stacks ? NULL : &hs_error_no_memory;
	if (!error)
		error = target_examine(held_process(pid), &c->target);
	if (!error)
		error = target_memory_open(held_process(pid), &c->memory);
	if (!error)
		error = compare_all();
	if (error && mirror_is_clash(error))
		start_over(argv, error);
	if (error)
		fprintf(stderr, "unwind_compare: %s\n", error->message);
	else
		print_tally();
	hs_error_destroy(error);
	mirror_close(&c->mirror);
	modules_deinit(&c->modules);
	proc_maps_deinit(&c->maps);
	target_memory_close(&c->memory);
	target_info_deinit(&c->target);
	free(c->stacks);
	return error                                                                                     ? 2
	       : c->tally.verdicts[VERDICT_OF_mismatch] + c->tally.unmoved_verdicts[VERDICT_OF_mismatch] ? 1
													 : 0;
}

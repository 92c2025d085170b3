// SPDX-License-Identifier: Apache-2.0
// Walking the stack of the calling thread.
//
// Context: in a hook. Reads the stack only between the hook's own frame and the stack's known upper end, and unwind
// information only of modules that are there (inject/walk/modules.h). Three ways, each falling back to the next:
//   1. the frames that are as they were at the thread's last walk are taken from there, after checking every word that
//      the walk would have read (independent loads, where walking is a chain of dependent ones). While every allocation
//      is recorded, some whole stacks are kept as well (unwind_kept);
//   2. packed rules from the rule cache, executed on three registers;
//   3. all callee-saved registers and full rows, for the frames that need them (rare: assembly, lazy binding).
#include "inject/walk/unwind.h"

#include "inject/table/record.h"
#include "inject/table/stack_table.h"
#include "inject/walk/modules.h"
#include "unwind/unwind_rule.h"

// What a walk found, innermost frame first, in slot->fresh.
struct walk {
	struct thread_slot *slot;
	const struct memory_span *stack;
	uint32_t generation; // of modules, when it began
	uint32_t count;      // fresh frames
	uint32_t reused;     // frames of the last walk that still stand; 0 = none
	uint32_t cut;        // enum cut_reason + 1; 0 = complete
	bool repeatable;     // all words that it read are known
	uint32_t top;        // in the end: slot->walk[top - 1] is the innermost frame; 0 = it is not kept there
	uint64_t end_check;  // address of the return address 0 that ended the walk; 0 = it ended otherwise
};

static uint64_t load_word(uint64_t address) { return *(const uint64_t *)address; }

// Rules are kept by program counter and module generation. The two halves of an entry may come from two writers; then
// their exclusive or is no key that anybody asks for.
static uint64_t cached_rule(uint64_t pc, bool exact, uint32_t generation, struct thread_slot *slot)
{
	struct rule_entry *rules = region_at(HS_OFFSET_RULES);
	uint64_t key = (pc ^ (uint64_t)exact << 63) + (uint64_t)generation * UINT64_C(0x9e3779b97f4a7c15);
	struct rule_entry *entry = &rules[(pc * UINT64_C(0x9e3779b97f4a7c15)) >> 48 & (HS_RULE_CACHE_ENTRIES - 1)];
	uint64_t rule = __atomic_load_n(&entry->rule, __ATOMIC_RELAXED);

	if (HS_LIKELY((__atomic_load_n(&entry->check, __ATOMIC_RELAXED) ^ rule) == key && rule))
		return rule;
	rule = modules_decode_rule(pc, exact);
	count_up(slot->shared.counters, COUNTER_rule_misses, 1);
	if (rule) {
		__atomic_store_n(&entry->rule, rule, __ATOMIC_RELAXED);
		__atomic_store_n(&entry->check, key ^ rule, __ATOMIC_RELAXED);
	}
	return rule;
}

// Whether all words that the last walk read for its frames [0, top] are what they were. Independent loads: an order
// cheaper than walking, where each frame waits for the one before.
static bool still_stands(const struct thread_slot *slot, uint32_t top)
{
	const struct walk_check *check = slot->checks;
	const struct walk_check *end = check + slot->walk[top].checks;
	uint64_t difference = 0;

	for (; check < end; check++)
		difference |= load_word(check->address) ^ check->value;
	return difference == 0;
}

static enum cut_reason reason_of_step(enum step_result result)
{
	switch (result) {
	case STEP_OUT_OF_BOUNDS:
		return CUT_out_of_bounds;
	case STEP_NO_PROGRESS:
		return CUT_no_progress;
	default:
		return CUT_bad_unwind_info;
	}
}

// Whether only the C library's start code can be further out than a frame without unwind information at `sp`: so little
// is left of the stack. In musl, whose build leaves that information out, the code that calls main or a thread's
// function is such a frame, and it uses the frame pointer for something else.
static bool is_start_code(const struct thread_slot *slot, uint64_t sp)
{
	const uint64_t most = UNWIND_START_CODE_MAX;
	bool is_main = slot_key(slot) == payload_header.config.main_thread_pointer;
	uint64_t start = is_main ? payload_header.config.main_stack_start : slot->shared.stack_high;

	// Above it: a loader that was run as a program takes its own arguments off.
	return start && start - sp + most <= 2 * most;
}

// Whether what a frame pointer has led to may be a caller: a call stands before the return address. Code made at run
// time cannot be looked at, it may be gone. It is believed to have called other such code. It has called code of a
// loaded object (V8's builtins, in the program's file, have no unwind information) only if the chain of frame pointers
// comes to a call of a loaded object further out: what was no frame pointer does not lead there.
static bool is_caller(const struct walk *walk, const struct walk_registers *caller, bool from_module)
{
	struct walk_registers at = *caller;

	for (unsigned i = 0; i < HS_DEPTH_MAX; i++) {
		uint64_t outer = cached_rule(at.pc, false, walk->generation, walk->slot), cfa;
		bool exact;

		if (!outer || UNWIND_MODULE(outer))
			return modules_follows_call(at.pc);
		if (!from_module)
			return true;
		if (at.pc < HS_PAGE_SIZE || at.pc - walk->stack->address < walk->stack->size ||
		    unwind_step_rare(outer, walk->stack, &at, &cfa, &exact) != STEP_OK)
			return false;
	}
	return false;
}

// Way 3. Starts over from the hook's entry, because only there all registers are known. Rare: compiled for its size.
__attribute__((cold)) static void walk_in_full(struct thread_slot *slot, const struct entry_frame *entry,
					       const struct memory_span *stack, uint32_t depth, struct walk *walk)
{
	struct full_registers registers = { .known = (1u << CFI_REGISTERS) - 1 };

	arch_entry_registers(entry, registers.value);
	walk->count = 0;
	walk->reused = 0;
	walk->cut = 0;
	walk->repeatable = false;
	count_up(slot->shared.counters, COUNTER_slow_walks, 1);
	while (walk->count < depth) {
		struct walked_frame *frame = &slot->fresh[walk->count];
		bool exact = registers.pc_is_exact;
		uint64_t sp = registers.value[CFI_SP];
		enum step_result result;
		uint32_t module;
		bool is_guess = false;

		frame->pc = registers.value[CFI_RA];
		result = modules_step_full(stack, &registers, &module, &is_guess, &walk->cut);
		if (result == STEP_OK && is_guess) {
			const struct walk_registers caller = { registers.value[CFI_RA], registers.value[CFI_SP],
							       registers.value[CFI_FP] };

			if (!is_caller(walk, &caller, module & HS_FRAME_MODULE_MASK)) {
				result = STEP_BAD;
				walk->cut = CUT_no_unwind_info + 1;
			}
		}
		frame->node = module | (exact ? HS_FRAME_EXACT_PC : 0);
		frame->flags = frame->checks = 0;
		walk->count++;
		if (result == STEP_END)
			return;
		if (result != STEP_OK) {
			if (!walk->cut)
				walk->cut = reason_of_step(result) + 1;
			else if (walk->cut == CUT_no_unwind_info + 1 && module & HS_FRAME_MODULE_MASK &&
				 is_start_code(slot, sp))
				walk->cut = 0;
			return;
		}
		if (registers.value[CFI_RA] == 0)
			return;
	}
	walk->cut = CUT_depth_limit + 1;
}

// Until keep_walk has all frames, a fresh frame's `flags` hold how its rule treats fp, and `checks` how many words
// below its canonical frame address it has saved fp (0 = it has not).
enum fresh_flags { FRESH_READS_FP = 1, FRESH_DEREFERENCES = 2 };

// pre: frame->flags and ->checks are 0; `after` is the caller, at the canonical frame address of the frame.
// Returns false when the caller was guessed by a frame pointer, and wrongly.
static bool note_rule(uint64_t rule, const struct walk_registers *before, const struct walk_registers *after,
		      struct walked_frame *frame, struct walk *walk)
{
	uint64_t distance = (after->sp - before->fp) / 8;

	switch (UNWIND_KIND(rule)) {
	case UNWIND_FP:
		frame->flags = FRESH_READS_FP;
		// fall through
	case UNWIND_SP:
		frame->checks = (uint16_t)unwind_rule_slot(rule);
		return true;
	case UNWIND_FRAME_POINTER:
		if (!is_caller(walk, after, UNWIND_MODULE(rule)))
			return false;
		// fall through
	case UNWIND_FP_DEREF:
		frame->flags =
			UNWIND_KIND(rule) == UNWIND_FP_DEREF ? FRESH_READS_FP | FRESH_DEREFERENCES : FRESH_READS_FP;
		frame->checks = (uint16_t)distance; // fp is saved where it points
		if (distance > UINT16_MAX)
			walk->repeatable = false;
		return true;
	case UNWIND_SIGNAL:
		// no call has put it there: it is the first byte of the code that the handler returns to
		frame->node |= HS_FRAME_EXACT_PC;
		// fall through
	default:
		walk->repeatable = false;
		return true;
	}
}

// The frame found last has no unwind information, and its frame pointer leads nowhere.
static void end_without_info(uint64_t rule, const struct walk_registers *at, struct thread_slot *slot,
			     struct walk *walk)
{
	if (!UNWIND_MODULE(rule) || !is_start_code(slot, at->sp)) {
		walk->cut = CUT_no_unwind_info + 1;
		return;
	}
	slot->fresh[walk->count - 1].flags = FRESH_READS_FP;
	if (at->fp >= at->sp)
		walk->repeatable = false; // more than the frame pointer itself was looked at
}

// A walk by rules that cannot go on. Returns false when all registers are needed.
static bool end_walk(enum step_result result, uint64_t rule, const struct walk_registers *at, struct thread_slot *slot,
		     struct walk *walk)
{
	enum unwind_kind kind = UNWIND_KIND(rule);

	if (kind == UNWIND_SIGNAL)
		slot->fresh[walk->count - 1].node |= HS_FRAME_EXACT_PC; // as in note_rule
	switch (result) {
	case STEP_SLOW:
		return false;
	case STEP_END:
		if (kind == UNWIND_SP || kind == UNWIND_FP) // a return address of 0 was read: it must still be there
			walk->end_check = (kind == UNWIND_SP ? at->sp : at->fp) + unwind_rule_offset(rule) - 8;
		else if (kind == UNWIND_FRAME_POINTER && at->fp == 0)
			slot->fresh[walk->count - 1].flags = FRESH_READS_FP;
		else if (kind != UNWIND_END)
			walk->repeatable = false;
		return true;
	default:
		if (kind == UNWIND_FRAME_POINTER || kind == UNWIND_NO_INFO)
			end_without_info(rule, at, slot, walk);
		else
			walk->cut = reason_of_step(result) + 1;
		return true;
	}
}

// Ways 1 and 2. fresh[i].node holds the upper bits of the frame word until the nodes are known.
// Returns false when a frame needs way 3.
static bool walk_by_rules(struct thread_slot *slot, const struct entry_frame *entry, const struct memory_span *stack,
			  uint32_t depth, struct walk *walk)
{
	uint32_t candidate = slot->walk_generation == walk->generation ? slot->walk_count : 0;
	struct walk_registers registers = { entry->return_address, (uint64_t)(&entry->return_address + 1), entry->fp };
	bool exact = false;

	for (;;) {
		struct walked_frame *frame = &slot->fresh[walk->count];
		struct walk_registers before;
		enum step_result result;
		uint64_t rule, cfa;

		while (candidate && slot->walk[candidate - 1].sp < registers.sp)
			candidate--;
		if (candidate) {
			const struct walked_frame *last = &slot->walk[candidate - 1];

			if (last->sp == registers.sp && last->pc == registers.pc && !exact &&
			    (last->fp == registers.fp || !(last->flags & WALKED_FP_MATTERS)) &&
			    walk->count + candidate <= depth && still_stands(slot, candidate - 1)) {
				walk->reused = candidate;
				return true;
			}
		}
		if (HS_UNLIKELY(walk->count == depth)) {
			walk->cut = CUT_depth_limit + 1;
			return true;
		}
		rule = cached_rule(registers.pc, exact, walk->generation, slot);
		before = registers;
		frame->sp = before.sp;
		frame->pc = before.pc;
		frame->fp = before.fp;
		frame->node = UNWIND_MODULE(rule) | (exact ? HS_FRAME_EXACT_PC : 0);
		frame->flags = frame->checks = 0;
		walk->count++;
		if (HS_UNLIKELY(!rule)) {
			walk->cut = CUT_loader_busy + 1;
			return true;
		}
		result = unwind_step(rule, stack, &registers, &cfa, &exact);
		if (HS_UNLIKELY(result != STEP_OK))
			return end_walk(result, rule, &before, slot, walk);
		if (!note_rule(rule, &before, &registers, frame, walk)) {
			end_without_info(rule, &before, slot, walk);
			return true;
		}
	}
}

static void add_check(struct thread_slot *slot, uint32_t *count, uint64_t address, struct walk *walk)
{
	if (*count == HS_WALK_CHECKS) {
		walk->repeatable = false;
		return;
	}
	slot->checks[*count].address = address;
	slot->checks[*count].value = load_word(address);
	(*count)++;
}

// Moves a fresh frame to the kept walk, below its caller (the frame kept last), with the words that its step has read:
// the return address always, saved fp and what it led to only where that matters to the caller or further out.
static void keep_frame(struct thread_slot *slot, const struct walked_frame *fresh, uint32_t kept, struct walk *walk)
{
	const struct walked_frame *caller = kept ? &slot->walk[kept - 1] : NULL;
	bool caller_needs_fp = caller && caller->flags & WALKED_FP_MATTERS;
	uint32_t checks = caller ? caller->checks : 0;
	struct walked_frame *frame = &slot->walk[kept];

	*frame = *fresh;
	if (caller && walk->repeatable) {
		uint64_t cfa = caller->sp;

		add_check(slot, &checks, cfa - 8, walk);
		if (caller_needs_fp && fresh->checks)
			add_check(slot, &checks, cfa - fresh->checks * UINT64_C(8), walk);
	}
	if (fresh->flags & FRESH_DEREFERENCES)
		walk->repeatable = false; // its canonical frame address came from memory; rare enough to walk each time
	frame->flags = caller_needs_fp || fresh->flags & FRESH_READS_FP ? WALKED_FP_MATTERS : 0;
	frame->checks = (uint16_t)checks;
}

// Names the frames outermost first, and keeps them for the next walk.
static uint32_t keep_walk(struct thread_slot *slot, struct walk *walk)
{
	uint32_t kept = walk->reused;
	uint32_t node = kept ? slot->walk[kept - 1].node : 0;

	if (walk->count == 0) { // all of it stands
		walk->top = kept;
		return node;
	}
	if (HS_UNLIKELY(walk->cut)) {
		count_up(slot->shared.counters, COUNTER_stack_cuts, 1);
		slot->shared.cut_counters[walk->cut - 1]++;
		walk->repeatable = false;
		node = stack_table_node(slot, 0, (uint64_t)HS_FRAME_CUT << HS_FRAME_MODULE_SHIFT | (walk->cut - 1));
		if (!node)
			node = stack_table_full_node();
	}
	slot->walk_count = 0; // a longjmp out of here must not leave half a walk
	for (uint32_t i = walk->count; i-- > 0;) {
		struct walked_frame *frame = &slot->fresh[i];
		uint64_t word = (frame->pc & HS_FRAME_PC_MASK) | (uint64_t)frame->node << HS_FRAME_MODULE_SHIFT;

		node = stack_table_node(slot, node, word);
		if (HS_UNLIKELY(!node)) {
			count_up(slot->shared.counters, COUNTER_stack_cuts, 1);
			slot->shared.cut_counters[CUT_stack_table_full]++;
			return stack_table_full_node();
		}
		frame->node = node;
		keep_frame(slot, frame, kept, walk);
		if (HS_UNLIKELY(kept == 0 && walk->end_check && walk->repeatable)) {
			uint32_t checks = slot->walk[0].checks;

			add_check(slot, &checks, walk->end_check, walk);
			slot->walk[0].checks = (uint16_t)checks;
		}
		kept++;
	}
	if (walk->repeatable) {
		slot->walk_generation = walk->generation;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		slot->walk_count = walk->top = kept;
	}
	return node;
}

enum { KEPT_WORDS_MAX = 4 * HS_KEPT_WORDS };

// Writes the word at `address` as the one with this number. False when there is no room, or it lies too far from `sp`.
static bool keep_word(struct kept_stack *kept, uint32_t number, uint64_t sp, uint64_t address, uint64_t value)
{
	int64_t place = (int64_t)(address - sp) / 8;

	if (number == KEPT_WORDS_MAX || place != (int16_t)place || address % 8)
		return false;
	kept->words[number / 4].places[number % 4] = (int16_t)place;
	kept->words[number / 4].values[number % 4] = value;
	return true;
}

// Keeps a whole stack: slot->walk[top - 1] is its innermost frame, the one that called the hook.
static void keep_stack(struct thread_slot *slot, uint32_t top, const struct entry_frame *entry, uint32_t generation)
{
	const struct walked_frame *innermost = &slot->walk[top - 1];
	struct kept_stack *kept = kept_stack_at(slot, innermost->sp, innermost->pc);
	uint32_t count = 0;

	if (slot->kept_generation != generation) {
		for (uint32_t i = 0; i < HS_KEPT_STACKS; i++)
			slot->kept[i].sp = 0;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		slot->kept_generation = generation;
	}
	// One of two that are taken, by chance.
	if (kept->sp && (!kept_stack_neighbour(kept)->sp || slot->ticks_left & 1))
		kept = kept_stack_neighbour(kept);
	kept->sp = 0; // a longjmp out of here must not leave half a stack
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (innermost->flags & WALKED_FP_MATTERS)
		(void)keep_word(kept, count++, innermost->sp, (uint64_t)&entry->fp, innermost->fp);
	for (uint32_t i = 0; i < innermost->checks; i++)
		if (!keep_word(kept, count++, innermost->sp, slot->checks[i].address, slot->checks[i].value))
			return;
	if (count == 0)
		return;
	for (; count % 4; count++) {
		kept->words[count / 4].places[count % 4] = kept->words[count / 4].places[0];
		kept->words[count / 4].values[count % 4] = kept->words[count / 4].values[0];
	}
	kept->pc = innermost->pc;
	kept->node = innermost->node;
	kept->totals = (uint16_t)(offsetof(struct thread_slot, shared.totals) +
				  totals_index(innermost->node) * sizeof(struct totals_entry));
	kept->end = (uint16_t)(offsetof(struct kept_stack, words) + count / 4 * sizeof(struct kept_words));
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	kept->sp = innermost->sp;
}

uint32_t unwind_to_node(struct thread_slot *slot, const struct entry_frame *entry)
{
	uint64_t low = (uint64_t)&entry->return_address;
	struct memory_span stack = { (const uint8_t *)low, low, slot->shared.stack_high - low };
	const struct kept_stack *kept = slot->shared.interval == 1 ? unwind_kept(slot, entry) : NULL;
	uint32_t depth = region()->depth, node;
	struct walk walk;

	if (kept) {
		count_up(slot->shared.counters, COUNTER_walk_reuses, 1);
		return kept->node;
	}
	walk.slot = slot;
	walk.stack = &stack;
	walk.generation = __atomic_load_n(&region()->module_generation, __ATOMIC_ACQUIRE);
	walk.count = walk.reused = walk.cut = walk.top = 0;
	walk.repeatable = true;
	walk.end_check = 0;

	if (HS_UNLIKELY(low < slot->shared.stack_low || low + 8 > slot->shared.stack_high)) {
		// On a coroutine's or a signal handler's own stack nothing above the return address is known to be
		// mapped.
		uint64_t rule = cached_rule(entry->return_address, false, walk.generation, slot);

		slot->fresh[0].pc = entry->return_address;
		slot->fresh[0].node = UNWIND_MODULE(rule);
		walk.count = 1;
		walk.cut = CUT_foreign_stack + 1;
		return keep_walk(slot, &walk);
	}
	if (!walk_by_rules(slot, entry, &stack, depth, &walk))
		walk_in_full(slot, entry, &stack, depth, &walk);
	if (walk.reused)
		count_up(slot->shared.counters, COUNTER_walk_reuses, 1);
	node = keep_walk(slot, &walk);
	if (walk.top && slot->shared.interval == 1)
		keep_stack(slot, walk.top, entry, walk.generation);
	return node;
}

bool unwind_is_thread_end(struct thread_slot *slot, uint64_t place)
{
	enum { FRAMES_MAX = 8 };
	uint32_t generation = __atomic_load_n(&region()->module_generation, __ATOMIC_ACQUIRE), module = 0;
	struct memory_span stack = { (const uint8_t *)place, place, slot->shared.stack_high - place };
	struct walk_registers registers = { load_word(place), place + 8, 0 };
	bool exact = false;

	for (unsigned i = 0; i < FRAMES_MAX; i++) {
		uint64_t rule = cached_rule(registers.pc, false, generation, slot), cfa;
		enum unwind_kind kind = UNWIND_KIND(rule);
		enum step_result result;

		if (!UNWIND_MODULE(rule) || (module && module != UNWIND_MODULE(rule)))
			return false;
		module = UNWIND_MODULE(rule);
		if (kind == UNWIND_END)
			return i > 0;
		if (kind != UNWIND_SP) // fp is not known here
			return false;
		result = unwind_step(rule, &stack, &registers, &cfa, &exact);
		if (result != STEP_OK)
			return result == STEP_END;
	}
	return false;
}

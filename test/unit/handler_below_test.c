// SPDX-License-Identifier: Apache-2.0
// Calls below a hook on the same stack: those of the allocator's own, and those of a signal handler, which are told by
// the kernel's frame (reentry_within).
#define CODE UINT64_C(0x600000000000) // where the payload's image is
enum { CODE_SIZE = 0x8000 };

#define PAYLOAD_CONFIG .code = CODE

#include "inject/arch/handler_frame.h"
#include "reentry_slot.h"

#include <signal.h>

static struct thread_slot *interrupted;
static uint64_t interrupted_guard;
static enum nesting nesting_in_handler, expected_in_handler;

static uint64_t page_begin(uint64_t address) { return address & ~(uint64_t)(HS_PAGE_SIZE - 1); }

static void on_signal(int number, siginfo_t *info, void *context)
{
	uint64_t place = (uint64_t)number, frame = (uint64_t)context - 8; // behind the restorer's address

	(void)info;
	expected_in_handler =
		frame + 240 <= page_begin((uint64_t)&place) + HS_PAGE_SIZE ||
				frame + 168 >= page_begin(interrupted_guard - 1) ||
				page_begin(interrupted_guard - 1) - page_begin((uint64_t)&place) <= HS_PAGE_SIZE
			? HANDLERS
			: NESTED;
	nesting_in_handler = reentry_enter(interrupted, (uint64_t)&place, &malloc_island);
}

// A call deeper in the stack, with a large frame of its own in between.
static __attribute__((noinline)) enum nesting enter_deeper(struct thread_slot *slot)
{
	volatile uint64_t gap[2 * ARCH_SIGNAL_FRAME_MIN / sizeof(uint64_t)];
	uint64_t place;

	for (size_t i = 0; i < sizeof(gap) / sizeof(gap[0]); i++)
		gap[i] = 0x33; // the selector of each frame, but nothing else
	return reentry_enter(slot, (uint64_t)&place, &malloc_island);
}

// What lies in the pages between the two ends may be a guard page: nothing is read there. In those of the ends a frame
// is found wherever it lies.
static void test_signal_frame_pages(void)
{
	enum { PAGES = 5, HEAD = 440, FLOATING_POINT = 512 };
	uint8_t *pages = mmap(NULL, PAGES * HS_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint64_t first = (uint64_t)pages, cs = 0x33;

	if (pages == MAP_FAILED)
		exit(1);
	for (uint64_t end_pages = 1; end_pages <= 2; end_pages++) // of the guard: with and without pages in between
		for (uint64_t low = first; low < first + HS_PAGE_SIZE; low += 136) {
			const uint64_t last = first + (end_pages == 1 ? 1 : PAGES - 1) * HS_PAGE_SIZE,
				       high = last + HS_PAGE_SIZE - 8;
			unsigned found = 0, expected = 0;

			for (uint64_t frame = ((low + 7) & ~UINT64_C(63)) + 56;
			     frame + HEAD + FLOATING_POINT + 128 < high; frame += 64) {
				uint64_t registers = (frame + HEAD + 63) & ~UINT64_C(63),
					 sp = registers + FLOATING_POINT;
				bool in_pages =
					frame + 240 <= first + HS_PAGE_SIZE || frame + 168 >= last || end_pages == 1;

				memset(pages, 0, PAGES * HS_PAGE_SIZE);
				memcpy((void *)(frame + 168), &sp, sizeof(sp));
				memcpy((void *)(frame + 192), &cs, sizeof(cs));
				memcpy((void *)(frame + 232), &registers, sizeof(registers));
				if (end_pages > 1)
					mprotect(pages + HS_PAGE_SIZE, (PAGES - 2) * HS_PAGE_SIZE, PROT_NONE);
				expected += in_pages;
				found += arch_has_signal_frame(low, high);
				mprotect(pages, PAGES * HS_PAGE_SIZE, PROT_READ | PROT_WRITE);
			}
			CHECK(expected > 0);
			CHECK_EQUAL(found, expected);
		}
	munmap(pages, PAGES * HS_PAGE_SIZE);
}

// A hook runs, or a call is watched, with its return address at `guard`.
static void interrupt(struct thread_slot *slot, uint64_t *guard, bool is_watched, bool in_handler)
{
	reentry_leave(slot);
	guard[-6] = CODE;
	payload_region_state.hook_trust[OPERATOR] = 0;
	slot->shared.in_original = 0;
	if (is_watched) {
		CHECK(watch(slot, guard));
	} else {
		CHECK_EQUAL(reentry_enter(slot, (uint64_t)guard, &operator_island), OUTERMOST);
		reentry_enter_original(slot);
	}
	interrupted = slot;
	interrupted_guard = (uint64_t)guard;
	if (in_handler)
		raise(SIGUSR1);
	CHECK_EQUAL(in_handler ? nesting_in_handler : enter_deeper(slot), in_handler ? expected_in_handler : NESTED);
	// a frame that is left over looks the same, and then the call is the allocator's
	CHECK_EQUAL(trust(), HS_TRUST_NEVER);
}

// What runs below a hook on the thread's own stack: calls of the allocator's own, or of a signal handler, whose frame,
// the kernel's own, lies between. At every place in a page.
static __attribute__((noinline)) unsigned check_handler_below(size_t padding)
{
	volatile uint8_t *pad = __builtin_alloca(padding + 1);
	uint64_t words[64] = { 0 };
	struct thread_slot *slot =
		slot_begin((const void *)((uint64_t)words - (1 << 20)), words + sizeof(words) / sizeof(words[0]));

	pad[0] = 0;
	for (unsigned way = 0; way < 4; way++)
		interrupt(slot, &words[63], way / 2, way % 2);
	payload_region_deinit(&made);
	return expected_in_handler == HANDLERS;
}

static void test_handler_on_own_stack(void)
{
	const struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	unsigned found = 0;

	sigaction(SIGUSR1, &action, NULL);
	for (size_t padding = 0; padding < HS_PAGE_SIZE; padding += 128)
		found += check_handler_below(padding);
	CHECK(found > 0);
}

int main(void)
{
	payload_configure_image(CODE_SIZE);
	test_signal_frame_pages();
	test_handler_on_own_stack();
	return CHECK_RESULT();
}

// SPDX-License-Identifier: Apache-2.0
// Layout: arch/x86/include/asm/sigframe.h, include/uapi/asm/{ucontext,sigcontext}.h; what sigreturn accepts:
// restore_sigcontext in arch/x86/kernel/signal_64.c, check_xstate_in_sigframe in arch/x86/kernel/fpu/signal.c.
#include "attach/arch/sigframe.h"

#include <string.h>

#define FP_XSTATE_MAGIC1 0x46505853u
#define FP_XSTATE_MAGIC2 0x46505845u

// uc_flags, include/uapi/asm/ucontext.h
#define UC_FP_XSTATE         0x1u
#define UC_SIGCONTEXT_SS     0x2u
#define UC_STRICT_RESTORE_SS 0x4u

// Neither 0 nor SS_ONSTACK nor SS_DISABLE: do_sigaltstack refuses it, restore_altstack ignores that, and so the thread
// keeps the alternate stack that it has (kernel/signal.c).
#define SS_FLAGS_REFUSED 3

enum {
	XSAVE_LEGACY_SIZE = 512,
	XSAVE_HEADER_SIZE = 64,
	XSAVE_MINIMUM = XSAVE_LEGACY_SIZE + XSAVE_HEADER_SIZE,
	// NT_X86_XSTATE: u64 mask of the enabled features; in a frame: struct software_bytes
	XSAVE_SOFTWARE_OFFSET = 464,
	XSAVE_ALIGNMENT = 64,
};

#define XFEATURE_FP_SSE UINT64_C(0x3)
#define XFEATURE_PKRU   (UINT64_C(1) << 9)

struct signal_context {
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
	uint64_t rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2;
	uint64_t fpstate; // address
	uint64_t reserved[8];
};
_Static_assert(sizeof(struct signal_context) == 256, "struct sigcontext_64");

struct signal_frame {
	uint64_t restorer;
	uint64_t flags;
	uint64_t link;
	uint64_t stack_base;
	uint32_t stack_flags, stack_padding;
	uint64_t stack_size;
	struct signal_context context;
	uint64_t signal_mask;
	uint8_t info[128];
};
_Static_assert(offsetof(struct signal_frame, context) == 8 + 40, "struct ucontext");
_Static_assert(offsetof(struct signal_frame, signal_mask) == 8 + 296, "struct ucontext");
_Static_assert(sizeof(struct signal_frame) == 8 + 304 + 128, "struct rt_sigframe");
_Static_assert(offsetof(struct signal_frame, info) == HS_SIGFRAME_INFO_OFFSET, "struct rt_sigframe");
_Static_assert(offsetof(struct signal_frame, context.rip) == HS_SIGFRAME_PC_OFFSET, "struct rt_sigframe");
_Static_assert(offsetof(struct signal_frame, context.rsp) == HS_SIGFRAME_SP_OFFSET, "struct rt_sigframe");
_Static_assert(offsetof(struct signal_frame, context.cs) == HS_SIGFRAME_CS_OFFSET, "struct rt_sigframe");
_Static_assert(offsetof(struct signal_frame, context.fpstate) == HS_SIGFRAME_FLOATING_POINT_OFFSET,
	       "struct rt_sigframe");
_Static_assert(sizeof(struct signal_frame) == HS_SIGFRAME_FIXED_SIZE, "struct rt_sigframe");
_Static_assert(offsetof(struct signal_frame, context.err) <= HS_SIGFRAME_HEAD_SIZE, "the head has the selectors");

bool sigframe_may_be(const uint8_t head[HS_SIGFRAME_HEAD_SIZE], uint64_t *restorer_ret)
{
	uint16_t cs;

	memcpy(restorer_ret, head, sizeof(*restorer_ret));
	memcpy(&cs, head + offsetof(struct signal_frame, context.cs), sizeof(cs));
	return cs == HS_USER_CS;
}

bool sigframe_runs_on_alternate(const uint8_t head[HS_SIGFRAME_HEAD_SIZE], uint64_t frame, uint64_t sp)
{
	uint64_t base, size;

	memcpy(&base, head + offsetof(struct signal_frame, stack_base), sizeof(base));
	memcpy(&size, head + offsetof(struct signal_frame, stack_size), sizeof(size));
	return frame >= base && frame - base < size && sp >= base && sp - base < size;
}

bool sigframe_returns_to(const uint8_t *bytes, size_t size, uint64_t low, uint64_t high)
{
	const size_t cs_from_rsp = offsetof(struct signal_context, cs) - offsetof(struct signal_context, rsp);

	for (size_t at = 0; at + cs_from_rsp + sizeof(uint16_t) <= size; at += sizeof(uint64_t)) {
		uint64_t stack_pointer;
		uint16_t cs;

		memcpy(&stack_pointer, bytes + at, sizeof(stack_pointer));
		memcpy(&cs, bytes + at + cs_from_rsp, sizeof(cs));
		if (cs == HS_USER_CS && stack_pointer >= low && stack_pointer < high)
			return true;
	}
	return false;
}

struct software_bytes {
	uint32_t magic1;
	uint32_t extended_size; // with the second magic word
	uint64_t features;
	uint32_t xstate_size;
	uint32_t padding[7];
};
_Static_assert(sizeof(struct software_bytes) == 48, "struct _fpx_sw_bytes");

static uint64_t read_u64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

// The smallest area that holds every feature in `features`. 0 = the layout does not know one of them.
static size_t area_size(uint64_t features, const struct extended_layout *layout)
{
	size_t size = XSAVE_MINIMUM;

	for (unsigned i = 2; i < 64; i++) {
		if (!(features >> i & 1))
			continue;
		if (layout->size[i] == 0)
			return 0;
		if ((size_t)layout->offset[i] + layout->size[i] > size)
			size = (size_t)layout->offset[i] + layout->size[i];
	}
	return size;
}

static struct hs_error *bad_xstate(const char *what)
{
	return hs_error_create(HS_ERROR_BAD_DATA, "the thread's extended state cannot be kept: %s", what);
}

bool sigframe_is_allowed(const uint8_t *xstate, size_t size, const struct extended_layout *layout)
{
	const uint32_t of_key_0 = 3; // access disabled, writing disabled
	uint32_t pkru;

	if (layout->size[9] < sizeof(pkru) || size < sizeof(pkru) || layout->offset[9] > size - sizeof(pkru))
		return true;
	memcpy(&pkru, xstate + layout->offset[9], sizeof(pkru));
	return (pkru & of_key_0) == 0;
}

struct hs_error *sigframe_build(const struct sigframe_request *request, struct sigframe *ret)
{
	const struct user_regs_struct *r = request->registers;
	struct software_bytes software = { .magic1 = FP_XSTATE_MAGIC1 };
	const uint32_t magic2 = FP_XSTATE_MAGIC2;
	uint64_t features, fpstate, address;
	size_t size, fpstate_offset;

	if (request->extended_size < XSAVE_MINIMUM)
		return bad_xstate("it is too short");
	// Features in use, and the protection keys, whose initial value in the kernel is not the processor's: sigreturn
	// resets what is left out. Features not in use (AMX) would need more room than the thread's state has in the
	// kernel.
	features = read_u64(request->extended + XSAVE_LEGACY_SIZE) | XFEATURE_FP_SSE;
	if (request->layout->size[9] != 0)
		features |= XFEATURE_PKRU & read_u64(request->extended + XSAVE_SOFTWARE_OFFSET);
	size = area_size(features, request->layout);
	if (size == 0)
		return bad_xstate("it has a feature that the processor does not describe");
	if (size > request->extended_size)
		return bad_xstate("it is shorter than its features");
	if (size + sizeof(magic2) + sizeof(struct signal_frame) + 2 * XSAVE_ALIGNMENT > sizeof(ret->bytes))
		return bad_xstate("it is too large");

	// The kernel's own alignment: get_sigframe in arch/x86/kernel/signal.c.
	fpstate = (request->top - size - sizeof(magic2)) & ~(uint64_t)(XSAVE_ALIGNMENT - 1);
	address = ((fpstate - sizeof(struct signal_frame)) & ~UINT64_C(15)) - 8;
	fpstate_offset = (size_t)(fpstate - address);

	struct signal_frame frame = {
		.restorer = request->restorer,
		.flags = UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS,
		.stack_flags = SS_FLAGS_REFUSED,
		.context = {
			.r8 = r->r8, .r9 = r->r9, .r10 = r->r10, .r11 = r->r11,
			.r12 = r->r12, .r13 = r->r13, .r14 = r->r14, .r15 = r->r15,
			.rdi = r->rdi, .rsi = r->rsi, .rbp = r->rbp, .rbx = r->rbx,
			.rdx = r->rdx, .rax = r->rax, .rcx = r->rcx, .rsp = r->rsp,
			.rip = r->rip, .eflags = r->eflags,
			.cs = (uint16_t)r->cs, .ss = (uint16_t)r->ss,
			.fpstate = fpstate,
		},
		.signal_mask = request->signal_mask,
	};

	software.extended_size = (uint32_t)(size + sizeof(magic2));
	software.features = features;
	software.xstate_size = (uint32_t)size;

	ret->address = address;
	ret->size = fpstate_offset + size + sizeof(magic2);
	memset(ret->bytes, 0, ret->size);
	memcpy(ret->bytes, &frame, sizeof(frame));
	memcpy(ret->bytes + fpstate_offset, request->extended, size);
	memcpy(ret->bytes + fpstate_offset + XSAVE_SOFTWARE_OFFSET, &software, sizeof(software));
	memcpy(ret->bytes + fpstate_offset + size, &magic2, sizeof(magic2));
	return NULL;
}

bool sigframe_is_ours(const uint8_t head[HS_SIGFRAME_HEAD_SIZE])
{
	struct signal_frame frame;

	_Static_assert(offsetof(struct signal_frame, context) <= HS_SIGFRAME_HEAD_SIZE, "the head has the flags");
	memcpy(&frame, head, offsetof(struct signal_frame, context));
	return frame.flags == (UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS) && !frame.link &&
	       !frame.stack_base && frame.stack_flags == SS_FLAGS_REFUSED && !frame.stack_padding && !frame.stack_size;
}

bool sigframe_find(const uint8_t *bytes, size_t size, uint64_t address, size_t *begin_ret, size_t *end_ret)
{
	size_t first = (size_t)(-address & 7);

	for (size_t at = first; at + sizeof(struct signal_frame) <= size; at += 8) {
		struct software_bytes software;
		struct signal_frame frame;
		uint64_t state;

		if (!sigframe_is_ours(bytes + at))
			continue;
		memcpy(&frame, bytes + at, sizeof(frame));
		state = frame.context.fpstate - address; // an offset
		if (at < HS_SIGFRAME_WORDS_BELOW || state < at || state > size || size - state < XSAVE_MINIMUM)
			continue;
		memcpy(&software, bytes + state + XSAVE_SOFTWARE_OFFSET, sizeof(software));
		if (software.magic1 != FP_XSTATE_MAGIC1 || software.extended_size > size - state)
			continue;
		*begin_ret = at - HS_SIGFRAME_WORDS_BELOW;
		*end_ret = (size_t)state + software.extended_size;
		return true;
	}
	return false;
}

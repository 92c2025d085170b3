// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/hold_place.h"

#include "attach/arch/breakpoint.h"
#include "attach/ptrace/home_call.h"
#include "attach/ptrace/ptrace_call.h"

#include <signal.h>
#include <string.h>

enum { WORD = sizeof(uint64_t), WORDS = GUARDED_TRAP_SIZE / WORD };

static struct hs_error *write_word(pid_t tid, const struct hold_place *place, const uint8_t *code, int number)
{
	uint64_t word;

	memcpy(&word, code + number * WORD, WORD);
	return ptrace_poke(tid, place->address + (uint64_t)number * WORD, word);
}

// *mask_ret: the thread's mask where SIGTRAP is blocked in it, else 0.
static struct hs_error *read_mask(pid_t tid, uint64_t *mask_ret)
{
	uint64_t mask;
	struct hs_error *error = ptrace_get_signal_mask(tid, &mask);

	*mask_ret = !error && (mask >> (SIGTRAP - 1) & 1) ? mask : 0;
	return error;
}

struct hs_error *hold_place_block_again(pid_t tid, const struct hold_place *place)
{
	return place->mask ? ptrace_set_signal_mask(tid, place->mask) : NULL;
}

struct hs_error *hold_place_set_breakpoint(pid_t tid, const struct target_memory *memory, struct hold_place *place)
{
	struct hs_error *error;
	uint64_t word;

	if (!place->address)
		return NULL;
	error = target_memory_read(memory, place->address, place->code, WORD);
	if (!error && !place->mask)
		error = read_mask(tid, &place->mask);
	if (error)
		return error;
	place->is_set = true;
	memcpy(&word, place->code, WORD);
	return ptrace_poke(tid, place->address, breakpoint_in_word(word));
}

static struct home_code home_code(const struct hold_place *place)
{
	return (struct home_code){ place->address + place->trap.call, place->address + place->trap.restorer };
}

static struct hs_error *set_handler(pid_t tid, const struct target_memory *memory, struct hold_place *place)
{
	const struct home_code code = home_code(place);
	uint8_t action[HS_KERNEL_SIGACTION_SIZE];

	arch_kernel_sigaction(place->address + place->trap.past, code.restorer, action);
	return home_call_handle_trap(tid, memory, &code, action, place->old_action);
}

static struct hs_error *unset_handler(pid_t tid, const struct target_memory *memory, const struct hold_place *place)
{
	const struct home_code code = home_code(place);
	uint8_t ours[HS_KERNEL_SIGACTION_SIZE];

	return home_call_handle_trap(tid, memory, &code, place->old_action, ours);
}

static struct hs_error *write_code(pid_t tid, const struct hold_place *place)
{
	struct hs_error *error = NULL;

	for (int i = WORDS; i-- > 0 && !error;)
		error = write_word(tid, place, place->trap.idle, i);
	return error;
}

static struct hs_error *take_code(pid_t tid, const struct hold_place *place)
{
	struct hs_error *error = NULL;

	for (int i = 0; i < WORDS; i++)
		error = hs_error_join(error, write_word(tid, place, place->code, i));
	return error;
}

struct hs_error *hold_place_set_guarded(pid_t tid, const struct target_memory *memory, struct hold_place *place,
					bool *fits_ret)
{
	struct hs_error *error;
	uint64_t mask;

	*fits_ret = false;
	if (!place->address)
		return NULL;
	error = read_mask(tid, &mask);
	if (!error && !mask)
		error = target_memory_read(memory, place->address, place->code, GUARDED_TRAP_SIZE);
	if (error || mask || !arch_guarded_trap(place->code, &place->trap))
		return error;
	error = write_code(tid, place);
	if (!error)
		error = set_handler(tid, memory, place);
	if (error && (error->code == HS_ERROR_REMOTE || error->code == HS_ERROR_FAULT)) { // it was not made
		hs_error_destroy(error);
		return take_code(tid, place);
	}
	if (error)
		return error; // it may be under way, and needs the code
	*fits_ret = place->is_guarded = place->is_set = true;
	return write_word(tid, place, place->trap.set, 0);
}

struct hs_error *hold_place_take(pid_t tid, const struct target_memory *memory, struct hold_place *place)
{
	struct hs_error *error;

	if (!place->is_set)
		return NULL;
	place->is_set = false;
	if (!place->is_guarded)
		return write_word(tid, place, place->code, 0);
	error = write_word(tid, place, place->trap.idle, 0);
	if (!error)
		error = unset_handler(tid, memory, place);
	return error ? error : take_code(tid, place); // a handler that stays needs it
}

static bool is_trap(const struct stop *stop)
{
	return stop->kind == STOP_SIGNAL && !stop->event && stop->signal == SIGTRAP;
}

static bool is_inside(const struct hold_place *place, const struct stop *stop, const arch_registers *registers)
{
	if (place->is_guarded)
		return registers_pc(registers) > place->address &&
		       registers_pc(registers) < place->address + GUARDED_TRAP_SIZE;
	return is_trap(stop) && breakpoint_met(registers) == place->address;
}

struct hs_error *hold_place_is_met(pid_t tid, const struct hold_place *place, const struct stop *stop, bool *ret)
{
	arch_registers registers;
	struct hs_error *error;

	*ret = false;
	if (!place->is_set || !is_trap(stop))
		return NULL;
	error = ptrace_get_registers(tid, &registers);
	*ret = !error && is_inside(place, stop, &registers);
	return error;
}

struct hs_error *hold_place_leave(pid_t tid, const struct hold_place *place, const struct stop *stop)
{
	arch_registers registers;
	struct hs_error *error;

	if (!place->is_set)
		return NULL;
	error = ptrace_get_registers(tid, &registers);
	if (error || !is_inside(place, stop, &registers))
		return error;
	registers_set_pc(&registers, place->address);
	error = ptrace_set_registers(tid, &registers);
	return error ? error : hold_place_block_again(tid, place);
}

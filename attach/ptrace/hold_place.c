// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/hold_place.h"

#include "attach/arch/breakpoint.h"
#include "attach/ptrace/ptrace_call.h"

#include <signal.h>
#include <string.h>

enum { WORD = sizeof(uint64_t), WORDS = RAISE_CODE_SIZE / WORD };

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

// A signal that is ignored by default and comes at once; 0 = all of them are blocked. SIGURG: programs expect it at any
// time, if they handle it at all.
static struct hs_error *choose_signal(pid_t tid, int *ret)
{
	static const int signals[] = { SIGURG, SIGWINCH };
	uint64_t mask;
	struct hs_error *error = ptrace_get_signal_mask(tid, &mask);

	*ret = 0;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]) && !error && !*ret; i++)
		if (!(mask >> (signals[i] - 1) & 1))
			*ret = signals[i];
	return error;
}

struct hs_error *hold_place_set_raising(pid_t tid, const struct target_memory *memory, struct hold_place *place,
					bool *fits_ret)
{
	uint8_t code[RAISE_CODE_SIZE];
	struct hs_error *error;
	int signal;

	*fits_ret = false;
	if (!place->address)
		return NULL;
	error = choose_signal(tid, &signal);
	if (!error)
		error = target_memory_read(memory, place->address, place->code, RAISE_CODE_SIZE);
	if (error || !arch_raise_code(place->code, signal, code))
		return error;
	*fits_ret = place->is_set = true;
	place->signal = signal;
	// The first one last: until then the function returns.
	for (int i = WORDS; i-- > 0 && !error;)
		error = write_word(tid, place, code, i);
	return error;
}

struct hs_error *hold_place_take(pid_t tid, struct hold_place *place)
{
	struct hs_error *error = NULL;

	if (!place->is_set)
		return NULL;
	place->is_set = false;
	for (int i = 0; i < (place->signal ? WORDS : 1); i++)
		error = hs_error_join(error, write_word(tid, place, place->code, i));
	return error;
}

static bool is_delivery(const struct stop *stop, int signal)
{
	return stop->kind == STOP_SIGNAL && !stop->event && stop->signal == signal;
}

struct hs_error *hold_place_is_met(pid_t tid, const struct hold_place *place, const struct stop *stop, bool *ret)
{
	arch_registers registers;
	struct hs_error *error;

	*ret = false;
	if (!place->is_set || !is_delivery(stop, place->signal ? place->signal : SIGTRAP))
		return NULL;
	error = ptrace_get_registers(tid, &registers);
	if (error)
		return error;
	*ret = place->signal ? arch_raise_code_has_raised(registers_pc(&registers) - place->address)
			     : breakpoint_met(&registers) == place->address;
	return NULL;
}

bool hold_place_has(const struct hold_place *place, uint64_t pc)
{
	return pc > place->address && pc - place->address < RAISE_CODE_SIZE;
}

// Where it stands in the place: at its beginning, and its stack as it was there.
static bool go_back(const struct hold_place *place, const struct stop *stop, arch_registers *registers)
{
	const uint64_t pc = registers_pc(registers);

	if (place->signal) {
		if (!hold_place_has(place, pc))
			return false;
		registers_set_sp(registers, registers_sp(registers) + arch_raise_code_pushed(pc - place->address));
	} else if (!is_delivery(stop, SIGTRAP) || breakpoint_met(registers) != place->address) {
		return false;
	}
	registers_set_pc(registers, place->address);
	return true;
}

struct hs_error *hold_place_leave(pid_t tid, const struct hold_place *place, const struct stop *stop)
{
	arch_registers registers;
	struct hs_error *error;

	if (!place->is_set)
		return NULL;
	error = ptrace_get_registers(tid, &registers);
	if (error || !go_back(place, stop, &registers))
		return error;
	error = ptrace_set_registers(tid, &registers);
	return error ? error : hold_place_block_again(tid, place);
}

// SPDX-License-Identifier: Apache-2.0
// Functions that only allocate for their caller, under names that nobody knows, and functions that look like them but
// want the memory themselves. Each line of input: calls each of them, by a function of its own that says which it is.
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

#define OUT_OF_LINE __attribute__((noipa))

static volatile size_t bytes_given, calls;
static void (*volatile out_of_memory)(size_t size);
static void *kept[64];
static int kept_count;

OUT_OF_LINE void keep(void *block)
{
	if (kept_count < 64)
		kept[kept_count++] = block;
}

OUT_OF_LINE void say_and_end(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	exit(3);
}

// Those that hand on.

OUT_OF_LINE void *get_or_end(size_t size)
{
	void *block = malloc(size ? size : 1);

	if (!block) {
		fprintf(stderr, "no %zu bytes\n", size);
		abort();
	}
	return block;
}

OUT_OF_LINE void *counted(size_t size)
{
	void *block = malloc(size);

	if (!block) {
		if (out_of_memory)
			out_of_memory(size);
		return NULL;
	}
	bytes_given += size;
	calls++;
	return block;
}

OUT_OF_LINE void *with_head(size_t size)
{
	size_t *block;

	if (size > SIZE_MAX - 16)
		say_and_end("too many: %zu\n", size);
	block = malloc(size + 16);
	if (!block)
		return NULL;
	block[0] = size;
	return block + 2;
}

OUT_OF_LINE void *for_many(size_t count, size_t size)
{
	void *block;

	if (size && count > SIZE_MAX / size) {
		errno = ENOMEM;
		return NULL;
	}
	block = malloc(count * size);
	if (block)
		memset(block, 0, count * size);
	return block;
}

OUT_OF_LINE void *larger(void *block, size_t size)
{
	void *moved = realloc(block, size);

	if (!moved)
		say_and_end("no %zu bytes\n", size);
	return moved;
}

OUT_OF_LINE void *again_and_again(const char *who, size_t size)
{
	void *block;

	while (!(block = malloc(size)))
		fprintf(stderr, "%s waits for %zu bytes\n", who, size);
	return block;
}

OUT_OF_LINE void *through_another(size_t size) { return get_or_end(size); }

// Those that do not.

struct item {
	struct item *next;
	int value;
};

OUT_OF_LINE struct item *make_item(int value)
{
	struct item *item = malloc(sizeof(*item));

	item->next = NULL;
	item->value = value;
	return item;
}

OUT_OF_LINE void *make_plain_item(void) { return malloc(sizeof(struct item)); }

OUT_OF_LINE char *copy_of(const char *text)
{
	const size_t size = strlen(text) + 1;
	char *copy = malloc(size);

	if (copy)
		memcpy(copy, text, size);
	return copy;
}

OUT_OF_LINE char *empty_text(size_t size)
{
	char *text = malloc(size);

	text[0] = 0;
	return text;
}

OUT_OF_LINE int *numbers(int count) { return malloc((size_t)count * sizeof(int)); }

struct stack {
	void *data;
	size_t room;
};

OUT_OF_LINE void *grow(struct stack *stack, size_t room)
{
	stack->data = realloc(stack->data, room);
	stack->room = room;
	return stack->data;
}

OUT_OF_LINE void *registered(size_t size)
{
	void *block = malloc(size);

	keep(block);
	return block;
}

// Who calls them.

#define CALLER(name, call)                                                                                             \
	OUT_OF_LINE void call_##name(void)                                                                             \
	{                                                                                                              \
		keep(call);                                                                                            \
		calls++;                                                                                               \
	}

CALLER(get_or_end, get_or_end(1001))
CALLER(counted, counted(1002))
CALLER(with_head, with_head(1003))
CALLER(for_many, for_many(2, 502))
CALLER(larger, larger(NULL, 1005))
CALLER(again_and_again, again_and_again("who", 1006))
CALLER(through_another, through_another(1007))
CALLER(make_item, make_item(1))
CALLER(make_plain_item, make_plain_item())
CALLER(copy_of, copy_of("a text that is to be copied"))
CALLER(empty_text, empty_text(1008))
CALLER(numbers, numbers(250))

OUT_OF_LINE void call_grow(void)
{
	static struct stack stack;

	grow(&stack, 1009);
	calls++;
}

OUT_OF_LINE void call_registered(void)
{
	registered(1010);
	calls++;
}

int main(void)
{
	say_ready();
	while (next_command()) {
		call_get_or_end();
		call_counted();
		call_with_head();
		call_for_many();
		call_larger();
		call_again_and_again();
		call_through_another();
		call_make_item();
		call_make_plain_item();
		call_copy_of();
		call_empty_text();
		call_numbers();
		call_grow();
		call_registered();
		puts("done");
	}
	return 0;
}

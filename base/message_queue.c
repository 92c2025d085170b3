// SPDX-License-Identifier: Apache-2.0
#include "base/message_queue.h"

#include <stdio.h>
#include <string.h>

void message_queue_put(struct message_queue *queue, enum hs_log_level level, const char *format, va_list arguments)
{
	size_t limit = sizeof(queue->bytes) - (level == HS_LOG_WARNING ? 0 : HS_MESSAGE_WARNINGS_SIZE);
	size_t room = queue->used < limit ? limit - queue->used : 0;
	size_t most = room > HS_MESSAGE_SIZE_MAX + 1 ? HS_MESSAGE_SIZE_MAX + 1 : room; // with the level
	char *place = queue->bytes + queue->used;
	int length = most > 2 ? vsnprintf(place + 1, most - 1, format, arguments) : -1;

	if (length < 0 || ((size_t)length > most - 2 && most <= HS_MESSAGE_SIZE_MAX)) {
		queue->dropped++;
		return;
	}
	place[0] = (char)level;
	queue->used += 1 + strlen(place + 1) + 1;
}

void message_queue_flush(struct message_queue *queue, hs_log_sink *sink)
{
	char text[64];

	for (size_t at = 0; sink && at < queue->used; at += 1 + strlen(queue->bytes + at + 1) + 1)
		sink((enum hs_log_level)queue->bytes[at], queue->bytes + at + 1);
	queue->used = 0;
	if (queue->dropped && sink) {
		snprintf(text, sizeof(text), "%lu messages were dropped (buffer full)", queue->dropped);
		sink(HS_LOG_WARNING, text);
	}
	queue->dropped = 0;
}

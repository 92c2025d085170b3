// SPDX-License-Identifier: Apache-2.0
// Messages that wait for a better moment: a bounded list in memory of its own, so that noting one neither waits nor
// asks for memory.
#ifndef HEAPSNAP_BASE_MESSAGE_QUEUE_H
#define HEAPSNAP_BASE_MESSAGE_QUEUE_H

#include "base/log.h"

#include <stdarg.h>
#include <stddef.h>

// Bytes for all, and for one. The last part is kept for warnings.
enum { HS_MESSAGE_QUEUE_SIZE = 256 << 10, HS_MESSAGE_SIZE_MAX = 2048, HS_MESSAGE_WARNINGS_SIZE = 32 << 10 };

struct message_queue {
	size_t used;
	unsigned long dropped;             // for want of room
	char bytes[HS_MESSAGE_QUEUE_SIZE]; // each: its level, its text, a 0
};

// A message that is too long is cut.
void message_queue_put(struct message_queue *queue, enum hs_log_level level, const char *format, va_list arguments)
	HS_PRINTF(3, 0);
// Hands all of them on in their order, then how many were dropped, and is empty.
void message_queue_flush(struct message_queue *queue, hs_log_sink *sink);

#endif

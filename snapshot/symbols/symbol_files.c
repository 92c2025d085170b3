// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/symbol_files.h"

#include "snapshot/symbols/symbol_messages.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// The tool's next candidate: its descriptor, -1 = there is none (or no tool).
static int receive_candidate(int socket, bool *is_mapped_ret)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	uint32_t words[2] = { 0 };
	struct iovec part = { .iov_base = words, .iov_len = sizeof(words) };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)
	};
	int fd;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != sizeof(words) || words[0] != SYMBOL_CANDIDATE)
		return -1;

	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
	    header->cmsg_len != CMSG_LEN(sizeof(int)))
		return -1;
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	*is_mapped_ret = words[1] == 1;
	return fd;
}

static int find(int socket, const void *request, size_t size, module_file_accept *accept, void *context)
{
	bool is_mapped = false;
	int fd;

	if (send(socket, request, size, MSG_NOSIGNAL) != (ssize_t)size)
		return -1;
	while ((fd = receive_candidate(socket, &is_mapped)) >= 0) {
		uint32_t verdict[2] = { SYMBOL_VERDICT, accept(fd, is_mapped, context) };

		if (send(socket, verdict, sizeof(verdict), MSG_NOSIGNAL) == sizeof(verdict) && verdict[1])
			return fd;
		close(fd);
	}
	return -1;
}

int symbol_files_find(int socket, module_file_accept *accept, void *context)
{
	uint32_t type = SYMBOL_FIND_MODULE;

	return find(socket, &type, sizeof(type), accept, context);
}

int symbol_files_find_debug(int socket, const uint8_t *build_id, size_t build_id_size, const char *link,
			    module_file_accept *accept, void *context)
{
	uint8_t request[8 + SYMBOL_BUILD_ID_MAX + SYMBOL_LINK_MAX];
	uint32_t head[2] = { SYMBOL_FIND_DEBUG, (uint32_t)build_id_size };
	size_t link_size = link ? strlen(link) : 0;

	if (build_id_size > SYMBOL_BUILD_ID_MAX || link_size > SYMBOL_LINK_MAX)
		return -1;
	memcpy(request, head, sizeof(head));
	if (build_id_size)
		memcpy(request + sizeof(head), build_id, build_id_size);
	if (link_size)
		memcpy(request + sizeof(head) + build_id_size, link, link_size);
	return find(socket, request, sizeof(head) + build_id_size + link_size, accept, context);
}

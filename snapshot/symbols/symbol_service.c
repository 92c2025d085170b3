// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/symbol_service.h"

#include "base/byte_cursor.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "snapshot/symbols/debuginfod.h"
#include "snapshot/symbols/symbol_messages.h"

#include <string.h>
#include <unistd.h>

// A module has one file, one debug file and one that dwz made.
enum { REQUESTS_MAX = 16 };

struct symbol_talk {
	const struct module_files *files;
	const struct symbol_question *question;
	struct sandbox sandbox;
	uint64_t deadline_ns, spent_ns; // what was spent on debuginfod before it
	uint32_t requests, messages;
	struct symbol_answer *answer;
	struct file_trail *trail;
	struct hs_error *error; // of a candidate that was offered
	uint8_t message[SYMBOL_MESSAGE_MAX];
};

static struct hs_error *bad(const char *what)
{
	return hs_error_create(HS_ERROR_BAD_DATA, "sent an invalid answer: %s", what);
}

// Later by the time that was spent on debuginfod since, which no child can help.
static uint64_t deadline(const struct symbol_talk *talk)
{
	return talk->deadline_ns + debuginfod_spent(talk->files->debuginfod) - talk->spent_ns;
}

// A message, its type read.
static struct hs_error *receive(struct symbol_talk *talk, uint32_t *type_ret, struct byte_cursor *rest_ret)
{
	size_t size;
	struct hs_error *error =
		sandbox_receive(&talk->sandbox, deadline(talk), talk->message, sizeof(talk->message), &size);

	if (error)
		return error;
	*rest_ret = byte_cursor_make(talk->message, size);
	return byte_cursor_u32(rest_ret, type_ret) ? NULL : bad("a message without a type");
}

// For module_files: offers one file. After an error no other file is offered.
static bool offer_candidate(int fd, bool is_mapped, void *context)
{
	struct symbol_talk *talk = context;
	uint32_t candidate[2] = { SYMBOL_CANDIDATE, is_mapped }, type, verdict;
	struct byte_cursor rest;

	if (talk->error)
		return false;
	talk->error = sandbox_send(&talk->sandbox, candidate, sizeof(candidate), fd);
	if (!talk->error)
		talk->error = receive(talk, &type, &rest);
	if (!talk->error && (type != SYMBOL_VERDICT || !byte_cursor_u32(&rest, &verdict)))
		talk->error = bad("no verdict on a file");
	if (!talk->error && talk->trail)
		talk->error = file_trail_add_file(talk->trail, fd, is_mapped, verdict == 1);
	return !talk->error && verdict == 1;
}

// `fd` is what module_files found, which the child has already.
static struct hs_error *end_offers(struct symbol_talk *talk, int fd)
{
	uint32_t none[2] = { SYMBOL_NO_CANDIDATE, 0 };

	if (fd >= 0) {
		close(fd);
		return NULL;
	}
	return talk->error ? HS_STEAL_POINTER(talk->error) : sandbox_send(&talk->sandbox, none, sizeof(none), -1);
}

static int find_file(struct symbol_talk *talk)
{
	const struct symbol_question *question = talk->question;

	if (talk->trail)
		talk->error = file_trail_add_module(talk->trail);
	if (question->module)
		return module_files_find(talk->files, question->module, offer_candidate, talk);
	return offer_candidate(question->perf_map, false, talk) ? dup(question->perf_map) : -1;
}

// The child gives a name; which files that may be, and whether they are opened, is decided here and in module_files.c.
static struct hs_error *find_debug(struct symbol_talk *talk, struct byte_cursor *request)
{
	uint8_t build_id[SYMBOL_BUILD_ID_MAX];
	char link[SYMBOL_LINK_MAX + 1];
	uint32_t build_id_size;
	size_t link_size;

	if (!talk->question->module || !byte_cursor_u32(request, &build_id_size) || build_id_size > sizeof(build_id) ||
	    !byte_cursor_bytes(request, build_id, build_id_size))
		return bad("a request that is cut off");
	link_size = byte_cursor_left(request);
	if (link_size > SYMBOL_LINK_MAX || memchr(request->position, 0, link_size))
		return bad("a file name that is none");
	memcpy(link, request->position, link_size);
	link[link_size] = 0;
	if (talk->trail)
		talk->error = file_trail_add_debug(talk->trail, build_id, build_id_size, link);

	return end_offers(talk,
			  module_files_find_debug(talk->files, build_id, build_id_size, talk->question->module->path,
						  link_size ? link : NULL, offer_candidate, talk));
}

static struct hs_error *failed(struct byte_cursor *rest)
{
	char reason[SYMBOL_REASON_MAX + 1] = { 0 };
	uint32_t is_missing;
	size_t size;

	if (!byte_cursor_u32(rest, &is_missing))
		return bad("no reason");
	size = byte_cursor_left(rest);
	if (size > SYMBOL_REASON_MAX)
		return bad("no reason");
	memcpy(reason, rest->position, size);
	for (char *c = reason; *c; c++)
		if (*c < ' ')
			*c = '?';
	return is_missing == 1 ? hs_error_create(HS_ERROR_NOT_FOUND, "%s", reason)
			       : hs_error_create(HS_ERROR_BAD_DATA, "says: %s", reason);
}

struct hs_error *symbol_talk_step(struct symbol_talk *talk, bool *is_over_ret)
{
	struct byte_cursor rest;
	uint32_t type, said, stripped;
	struct hs_error *error = receive(talk, &type, &rest);

	*is_over_ret = error;
	if (error)
		return error;
	switch (type) {
	case SYMBOL_FIND_MODULE:
		error = talk->requests++ == REQUESTS_MAX ? bad("too many files wanted")
							 : end_offers(talk, find_file(talk));
		break;
	case SYMBOL_FIND_DEBUG:
		error = talk->requests++ == REQUESTS_MAX ? bad("too many files wanted") : find_debug(talk, &rest);
		break;
	case SYMBOL_ITEMS:
		talk->messages++;
		error = symbol_answer_take(talk->answer, rest.position, byte_cursor_left(&rest));
		break;
	case SYMBOL_DONE:
		*is_over_ret = true;
		if (!byte_cursor_u32(&rest, &said) || !byte_cursor_u32(&rest, &stripped) || said != talk->messages)
			return bad("an answer with gaps");
		talk->answer->is_stripped = stripped == 1;
		return NULL;
	case SYMBOL_FAILED:
		error = failed(&rest);
		break;
	default:
		error = bad("a message of no kind");
	}
	*is_over_ret = error;
	return error;
}

struct hs_error *symbol_talk_begin(const struct module_files *files, const struct symbol_question *question,
				   const struct sandbox_limits *limits, uint64_t deadline_ns,
				   struct symbol_answer *answer, struct file_trail *trail, struct symbol_talk **ret)
{
	struct symbol_talk *talk = calloc(1, sizeof(*talk));
	struct hs_error *error;

	*ret = NULL;
	if (!talk)
		return &hs_error_no_memory;
	talk->files = files;
	talk->question = question;
	talk->deadline_ns = deadline_ns;
	talk->spent_ns = debuginfod_spent(files->debuginfod);
	talk->answer = answer;
	talk->trail = trail;
	error = symbol_answer_init(question->count, answer);
	if (!error)
		error = sandbox_start(symbol_reader_run, (void *)(uintptr_t)question, limits, &talk->sandbox);
	if (error) {
		symbol_answer_deinit(answer);
		free(talk);
		return error;
	}
	*ret = talk;
	return NULL;
}

int symbol_talk_socket(const struct symbol_talk *talk) { return talk->sandbox.socket; }

bool symbol_talk_is_late(const struct symbol_talk *talk) { return hs_monotonic_ns() >= deadline(talk); }

struct hs_error *symbol_talk_end(struct symbol_talk *talk, struct hs_error *error)
{
	char ending[SANDBOX_ENDING_SIZE];

	hs_error_destroy(talk->error);
	sandbox_end(&talk->sandbox, ending);
	if (error && error->code == HS_ERROR_GONE && *ending) {
		hs_error_destroy(error);
		error = hs_error_create(HS_ERROR_GONE, "%s", ending);
	}
	if (error)
		symbol_answer_deinit(talk->answer);
	free(talk);
	return error;
}

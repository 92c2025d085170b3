// SPDX-License-Identifier: Apache-2.0
// Longer than 500 lines: the cases share one planning of a live process.
// Plans hooks for live processes and prints each verdict. The build gives the paths of the variants of
// hook_plan_child.c as CHILD_*.
#include "attach/hook/hook_plan.h"
#include "attach/hook/hook_verdict.h"
#include "attach/hook/payload_image.h"
#include "attach/ptrace/memory_write.h"
#include "base/log.h"
#include "check.h"
#include "held_process.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JEMALLOC         "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
#define TCMALLOC         "/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4"
#define TCMALLOC_MINIMAL "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4"
#define MIMALLOC         "/usr/lib/x86_64-linux-gnu/libmimalloc.so.2"
#define REDIS            "/usr/bin/redis-server"
#define PYTHON           "/usr/bin/python3"

#define STATE UINT64_C(0x700000000000) // of the state pages

#define KIB(n) ((uint64_t)(n) << 10)
#define GIB(n) ((uint64_t)(n) << 30)

struct child {
	pid_t pid;
	int input, output; // our ends of its standard input and output
};

// Starts a program and waits until it has written `ready`.
static struct child start(const char *const arguments[], const char *preload, const char *ready)
{
	struct child child = { -1, -1, -1 };
	int input[2], output[2];
	char text[4096] = "";
	size_t used = 0;

	if (pipe(input) < 0 || pipe(output) < 0)
		return child;
	fflush(NULL);
	child.pid = fork();
	if (child.pid == 0) {
		dup2(input[0], 0);
		dup2(output[1], 1);
		close(input[0]), close(input[1]), close(output[0]), close(output[1]);
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		execv(arguments[0], (char *const *)(uintptr_t)arguments);
		_exit(127);
	}
	close(input[0]);
	close(output[1]);
	child.input = input[1];
	child.output = output[0];
	while (used < sizeof(text) - 1 && !strstr(text, ready)) {
		struct pollfd wait = { .fd = child.output, .events = POLLIN };
		ssize_t count =
			poll(&wait, 1, 20000) == 1 ? read(child.output, text + used, sizeof(text) - 1 - used) : 0;

		if (count <= 0)
			break;
		used += (size_t)count;
	}
	CHECK(strstr(text, ready) != NULL);
	return child;
}

static void stop(struct child *child)
{
	int status;

	kill(child->pid, SIGKILL);
	waitpid(child->pid, &status, 0);
	close(child->input);
	close(child->output);
}

struct planning {
	struct proc_maps maps;
	struct target_memory memory;
	struct module_list modules;
	struct hook_plan plan;
	struct hook_goals goals;
	double milliseconds;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

// Returns the error of hook_plan_make.
static struct hs_error *plan(const struct child *child, struct planning *ret)
{
	struct hs_error *error;
	double begin;

	*ret = (struct planning){ .goals.state = STATE };
	for (unsigned i = 0; i < HOOK_KIND_COUNT; i++)
		ret->goals.entries[i] = 0x600000000000 + i * 64; // far from everything: entries may be anywhere
	error = proc_maps_read(held_process(child->pid), &ret->maps);
	if (!error)
		error = target_memory_open(held_process(child->pid), &ret->memory);
	CHECK(error == NULL);
	if (error)
		return error;
	begin = now();
	error = modules_read(held_process(child->pid), &ret->maps, &ret->memory, &ret->modules);
	CHECK(error == NULL);
	if (!error)
		error = hook_plan_make(&ret->modules, &ret->maps, &ret->memory, &(struct hook_additions){ 0 },
				       &ret->goals, &(struct diagnostics){ 0 }, &ret->plan);
	ret->milliseconds = now() - begin;
	return error;
}

static void release(struct planning *planning)
{
	hook_plan_deinit(&planning->plan);
	modules_deinit(&planning->modules);
	target_memory_close(&planning->memory);
	proc_maps_deinit(&planning->maps);
}

static void print_plan(const char *name, const struct planning *planning)
{
	printf("%s: %.1f ms, %zu modules\n", name, planning->milliseconds, planning->modules.count);
	for (size_t i = 0; i < planning->plan.count; i++) {
		const struct hook_record *record = &planning->plan.hooks[i].record;
		const char *path = planning->modules.items[record->module].path;
		const char *slash = strrchr(path, '/');

		printf("  %-16s %-15s %2u of %s\n", record->name, hook_verdict_name(record->verdict), record->covered,
		       slash ? slash + 1 : path);
	}
}

static unsigned order(uint16_t kind) { return kind == HOOK_loader_event ? 0 : hook_kind_only_releases(kind) ? 1 : 2; }

static uint64_t jump_target(uint64_t address, const uint8_t *jump)
{
	int32_t distance;

	memcpy(&distance, jump + 1, sizeof(distance));
	return address + 5 + (uint64_t)(int64_t)distance;
}

// What must hold for every hook that will be applied.
static void check_hook(const struct planning *planning, size_t index)
{
	// lea -23(%rip),%r11 ; jmp *(%r11), and the same behind mov %r11,-120(%rsp).
	static const uint8_t plain[] = { 0x4c, 0x8d, 0x1d, 0xe9, 0xff, 0xff, 0xff, 0x41,
					 0xff, 0x23, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc };
	static const uint8_t keeping[] = { 0x4c, 0x89, 0x5c, 0x24, 0x88, 0x4c, 0x8d, 0x1d,
					   0xe4, 0xff, 0xff, 0xff, 0x41, 0xff, 0x23, 0xcc };
	const struct planned_hook *hook = &planning->plan.hooks[index];
	const struct island_area *area = &planning->plan.areas[hook->island_area];
	const struct hook_record *record = &hook->record;
	const struct payload_header *image = (const struct payload_header *)payload_image;
	uint8_t bytes[16];

	CHECK_EQUAL(record->state, HOOK_PLANNED);
	CHECK(hook->island_area < planning->plan.area_count && hook->island_slot < area->slots);
	CHECK_EQUAL(record->island, area->address + hook->island_slot * sizeof(struct hook_island));
	CHECK(target_memory_read(&planning->memory, record->address, bytes, sizeof(bytes)) == NULL);
	CHECK_EQUAL(record->size, 5);
	CHECK(record->covered >= 5);
	CHECK(memcmp(bytes, record->old_bytes, record->covered < 16 ? record->covered : 16) == 0);
	CHECK_EQUAL(record->new_bytes[0], 0xe9);
	CHECK_EQUAL(hook->island.begin,
		    image->island_head[record->kind] ? image->island_begin[record->kind] : HS_ISLAND_STUB_OFFSET);
	CHECK_EQUAL(jump_target(record->address, record->new_bytes), record->island + hook->island.begin);
	CHECK(memcmp(record->new_bytes + 5, record->old_bytes + 5, 11) == 0);
	CHECK(record->address == record->function || record->address == record->function + 4);
	CHECK_EQUAL(hook->island.entry, planning->goals.entries[record->kind]);
	CHECK_EQUAL(hook->island.hook_index, index);
	CHECK_EQUAL(hook->island.address, record->address);
	CHECK_EQUAL(hook->island.kind, record->kind);
	CHECK_EQUAL(hook->island.size, record->size);
	CHECK(memcmp(hook->island.old_bytes, record->old_bytes, sizeof(record->old_bytes)) == 0);
	CHECK(memcmp(hook->island.stub, hook_kind_keeps_registers((enum hook_kind)record->kind) ? keeping : plain,
		     sizeof(plain)) == 0);
	CHECK(memcmp(hook->island.trampoline, hook->relocation.bytes, hook->relocation.size) == 0);
	if (record->kind == HOOK_loader_event)
		CHECK(hook->relocation.size == 1 && hook->relocation.bytes[0] == 0xc3);
	for (size_t i = 0; i < index; i++) {
		const struct hook_record *other = &planning->plan.hooks[i].record;

		CHECK(other->address + 5 <= record->address || record->address + record->covered <= other->address);
		CHECK(other->verdict != VERDICT_ok || other->island != record->island);
	}
}

static void check_area(const struct planning *planning, const struct island_area *area)
{
	uint64_t end = area->address + area->pages * 4096;

	CHECK(area->address % 4096 == 0 && area->pages * 32 >= area->slots && area->slots > 0);
	for (size_t i = 0; i < planning->maps.count; i++) {
		const struct proc_map *map = &planning->maps.items[i];

		CHECK(end + KIB(64) <= map->start || map->end + KIB(64) <= area->address);
		if (strcmp(map->name, "[heap]") == 0)
			CHECK(end <= map->start || area->address >= map->end + GIB(1));
	}
}

static void check_plan(const struct planning *planning)
{
	const struct hook_plan *plan = &planning->plan;

	for (size_t i = 0; i < plan->count; i++) {
		if (plan->hooks[i].record.verdict == VERDICT_ok)
			check_hook(planning, i);
		else
			CHECK_EQUAL(plan->hooks[i].record.state, HOOK_REFUSED);
		if (i > 0)
			CHECK(order(plan->hooks[i - 1].record.kind) <= order(plan->hooks[i].record.kind));
	}
	for (size_t i = 0; i < plan->area_count; i++)
		check_area(planning, &plan->areas[i]);
}

// The verdict of a function of the module whose path contains `part`; -1 = not in the plan.
static int verdict_of(const struct planning *planning, const char *part, const char *function)
{
	for (size_t i = 0; i < planning->plan.count; i++) {
		const struct hook_record *record = &planning->plan.hooks[i].record;

		if (strcmp(record->name, function) == 0 && strstr(planning->modules.items[record->module].path, part))
			return (int)record->verdict;
	}
	return -1;
}

static void check_all_hooked(const struct planning *planning, const char *part, const char *const functions[])
{
	for (size_t i = 0; functions[i]; i++) {
		int verdict = verdict_of(planning, part, functions[i]);

		if (verdict != VERDICT_ok)
			fprintf(stderr, "%s of %s:\n", functions[i], part);
		CHECK_EQUAL(verdict, VERDICT_ok);
	}
}

static const char *const libc_functions[] = { "malloc",         "calloc",        "realloc", "reallocarray", "free",
					      "posix_memalign", "aligned_alloc", "valloc",  "pvalloc",      NULL };
static const char *const jemalloc_functions[] = { "malloc",
						  "calloc",
						  "realloc",
						  "free",
						  "posix_memalign",
						  "aligned_alloc",
						  "memalign",
						  "valloc",
						  "mallocx",
						  "rallocx",
						  "xallocx",
						  "dallocx",
						  "sdallocx",
						  "_Znwm",
						  "_ZnwmSt11align_val_t",
						  "_ZnamSt11align_val_tRKSt9nothrow_t",
						  "_ZdlPvm",
						  "_ZdaPvmSt11align_val_t",
						  NULL };
static const char *const tcmalloc_functions[] = { "malloc",
						  "calloc",
						  "realloc",
						  "free",
						  "posix_memalign",
						  "aligned_alloc",
						  "valloc",
						  "pvalloc",
						  "tc_malloc_skip_new_handler",
						  "tc_free_sized",
						  "tc_new",
						  "tc_new_nothrow",
						  "tc_new_aligned",
						  "tc_new_aligned_nothrow",
						  "tc_delete_nothrow",
						  "tc_delete_aligned",
						  "tc_delete_sized_aligned",
						  "tc_delete_aligned_nothrow",
						  NULL };
static const char *const mimalloc_functions[] = { "malloc",
						  "calloc",
						  "realloc",
						  "free",
						  "mi_malloc_small",
						  "mi_zalloc",
						  "mi_mallocn",
						  "mi_reallocn",
						  "mi_reallocf",
						  "mi_rezalloc",
						  "mi_recalloc",
						  "mi_expand",
						  "mi_strdup",
						  "mi_malloc_aligned",
						  "mi_heap_malloc",
						  "mi_heap_realloc_aligned_at",
						  "mi_new",
						  "mi_new_nothrow",
						  "mi_new_aligned",
						  "mi_new_n",
						  "mi_new_realloc",
						  "mi_heap_alloc_new",
						  NULL };

// Returns false when the plan failed.
static bool plan_and_check(const char *name, const struct child *child, struct planning *planning)
{
	struct hs_error *error = plan(child, planning);

	CHECK(error == NULL);
	if (error) {
		fprintf(stderr, "%s: %s\n", name, error->message);
		hs_error_destroy(error);
		release(planning);
		return false;
	}
	print_plan(name, planning);
	check_plan(planning);
	return true;
}

static void check_program(const char *name, const char *const arguments[], const char *preload, const char *ready,
			  const char *part, const char *const functions[])
{
	struct child child;
	struct planning planning;

	if (access(arguments[0], X_OK) < 0 || (preload && access(preload, R_OK) < 0)) {
		CHECK_LEFT_OUT("%s is not installed", name);
		return;
	}
	child = start(arguments, preload, ready);
	if (plan_and_check(name, &child, &planning)) {
		check_all_hooked(&planning, part, functions);
		if (planning.modules.loader_event)
			CHECK_EQUAL(verdict_of(&planning, "", "_dl_debug_state"), VERDICT_ok);
		release(&planning);
	}
	stop(&child);
}

static uint16_t find_free_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&address, size) < 0 || getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		address.sin_port = 0;
	close(fd);
	return ntohs(address.sin_port);
}

static void check_redis(void)
{
	char port[8];

	snprintf(port, sizeof(port), "%u", find_free_port());
	check_program("redis-server",
		      (const char *[]){ REDIS, "--port", port, "--bind", "127.0.0.1", "--save", "", NULL }, NULL,
		      "Ready to accept connections", "libjemalloc", jemalloc_functions);
}

static void check_refusal(const struct child *child, const char *message)
{
	struct planning planning;
	struct hs_error *error = plan(child, &planning);
	bool refused = false;

	CHECK(error != NULL);
	if (error) {
		CHECK_EQUAL(error->code, HS_ERROR_REFUSED);
		printf("refused: %s\n", error->message);
		CHECK(strstr(error->message, message) != NULL);
		hs_error_destroy(error);
	}
	// What was judged can be shown; where there was nothing to judge, the list is empty.
	for (size_t i = 0; i < planning.plan.count; i++)
		refused |= planning.plan.hooks[i].record.verdict != VERDICT_ok;
	CHECK(refused || planning.plan.count == 0);
	release(&planning);
}

// Somebody else's breakpoint at the start of a function.
static void break_function(const struct child *child, const char *function)
{
	struct planning planning;

	if (!plan_and_check("before a foreign breakpoint", child, &planning))
		return;
	for (size_t i = 0; i < planning.plan.count; i++) {
		const struct hook_record *record = &planning.plan.hooks[i].record;

		if (strcmp(record->name, function) == 0)
			CHECK(target_memory_write(&planning.memory, record->address, "\xcc", 1, 0) == NULL);
	}
	release(&planning);
}

static void check_foreign_patch(const char *program)
{
	struct child child = start((const char *[]){ program, NULL }, NULL, "r");
	struct planning planning;

	break_function(&child, "malloc");
	if (plan_and_check("malloc patched", &child, &planning)) {
		CHECK_EQUAL(verdict_of(&planning, "libc.so", "malloc"), VERDICT_changed);
		CHECK_EQUAL(verdict_of(&planning, "libc.so", "calloc"), VERDICT_ok);
		release(&planning);
	}
	break_function(&child, "realloc"); // it releases blocks, so some would never be seen to go
	check_refusal(&child, "free, malloc, realloc, reallocarray in ");
	stop(&child);
}

// The program's own malloc is the one in use, so it does not help that libc's could be hooked.
static void check_unhookable(const char *program)
{
	struct child child = start((const char *[]){ program, NULL }, NULL, "r");

	check_refusal(&child, "free, malloc, realloc in ");
	stop(&child);
}

static void check_beliefs(const char *program)
{
	struct child child = start((const char *[]){ program, NULL }, NULL, "r");
	struct planning planning;

	if (plan_and_check("beliefs", &child, &planning)) {
		CHECK_EQUAL(verdict_of(&planning, program, "free_sized"), VERDICT_ok);
		CHECK_EQUAL(verdict_of(&planning, program, "free_aligned_sized"), VERDICT_ok);
		CHECK_EQUAL(verdict_of(&planning, program, "cfree"), VERDICT_forwards);
		CHECK_EQUAL(verdict_of(&planning, program, "rallocx"), -1);
		CHECK_EQUAL(verdict_of(&planning, program, "mi_zalloc"), -1);
		for (size_t i = 0; i < planning.plan.count; i++) {
			const struct planned_hook *hook = &planning.plan.hooks[i];

			if (strcmp(hook->record.name, "free_aligned_sized") == 0)
				CHECK(hook->record.kind == HOOK_release && hook->island.layout.block == 1 &&
				      hook->island.layout.size == 3 && !hook->island.companion);
		}
		release(&planning);
	}
	stop(&child);
}

// Code that could be moved, but for what is around it.
static void check_surroundings(const char *program)
{
	static const struct {
		const char *function;
		enum hook_verdict verdict;
	} cases[] = {
		{ "memalign", VERDICT_branch_inside },
		{ "reallocarray", VERDICT_branch_inside },
		{ "valloc", VERDICT_too_short },
		{ "pvalloc", VERDICT_two_pages },
		{ "aligned_alloc", VERDICT_ok },
		{ "posix_memalign", VERDICT_not_text },
		{ "malloc", VERDICT_ok },
		{ "free", VERDICT_ok },
	};
	struct child child = start((const char *[]){ program, NULL }, NULL, "r");
	struct planning planning;

	if (plan_and_check("surroundings", &child, &planning)) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			int verdict = verdict_of(&planning, program, cases[i].function);

			if (verdict != (int)cases[i].verdict)
				fprintf(stderr, "%s:\n", cases[i].function);
			CHECK_EQUAL(verdict, cases[i].verdict);
		}
		release(&planning);
	}
	stop(&child);
}

static void print_message(enum hs_log_level level, const char *message)
{
	if (level == HS_LOG_WARNING)
		printf("warning: %s\n", message);
}

int main(void)
{
	static const char *const own_functions[] = { "malloc", "calloc", "realloc", "free", NULL };
	struct child bare;

	alarm(400); // before ctest gives up, under the thread sanitizer on a busy machine as well
	signal(SIGPIPE, SIG_IGN);
	hs_log_set_sink(print_message);
	check_program("libc", (const char *[]){ CHILD_PLAIN, NULL }, NULL, "r", "libc.so", libc_functions);
	check_program("static", (const char *[]){ CHILD_STATIC, NULL }, NULL, "r", CHILD_STATIC, own_functions);
	check_program("static-pie", (const char *[]){ CHILD_STATIC_PIE, NULL }, NULL, "r", CHILD_STATIC_PIE,
		      own_functions);
	check_program("own allocator", (const char *[]){ CHILD_OWN, NULL }, NULL, "r", CHILD_OWN, own_functions);
	check_beliefs(CHILD_OWN);
	check_unhookable(CHILD_UNHOOKABLE);
	check_surroundings(CHILD_AROUND);
	check_program("jemalloc", (const char *[]){ CHILD_PLAIN, NULL }, JEMALLOC, "r", "libjemalloc",
		      jemalloc_functions);
	check_program("tcmalloc", (const char *[]){ CHILD_PLAIN, NULL }, TCMALLOC, "r", "libtcmalloc",
		      tcmalloc_functions);
	check_program("tcmalloc minimal", (const char *[]){ CHILD_PLAIN, NULL }, TCMALLOC_MINIMAL, "r", "libtcmalloc",
		      tcmalloc_functions);
	check_program("mimalloc", (const char *[]){ CHILD_PLAIN, NULL }, MIMALLOC, "r", "libmimalloc",
		      mimalloc_functions);
	check_redis();
	check_program("python3", (const char *[]){ PYTHON, "-c", "print('ready', flush=True); input()", NULL }, NULL,
		      "ready", "libc.so", libc_functions);
	check_foreign_patch(CHILD_PLAIN);
	bare = start((const char *[]){ CHILD_NONE, NULL }, NULL, "r");
	check_refusal(&bare, "no allocation function found in any module");
	check_refusal(&bare, "name its allocation functions with --allocator NAME=KIND");
	stop(&bare);
	return CHECK_RESULT();
}

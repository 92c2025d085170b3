// SPDX-License-Identifier: Apache-2.0
#include "base/process.h"
#include "check.h"
#include "snapshot/profile/thread_names.h"

#include <sys/prctl.h>
#include <unistd.h>

static const struct {
	const char *status;
	bool is_good;
	uint32_t tid;
	const char *name;
} cases[] = {
	{ "Name:\tworker\nNSpid:\t77\t5\n", true, 5, "worker" },
	{ "Name:\tworker\n", true, 77, "worker" }, // before Linux 4.1
	{ "Name:\ta b\\nc\\\\d\nNSpid:\t77\n", true, 77, "a b\nc\\d" },
	{ "Name:\t\nNSpid:\t77\n", true, 77, "" },
	{ "Name:\tfifteen letters and more\nNSpid:\t77\n", true, 77, "fifteen letters" },
	{ "Name:\tcut\\", true, 77, "cut\\" },
	{ "NSpid:\t77\n", false, 0, "" },
	{ "", false, 0, "" },
};

static void test_of_this_process(void)
{
	struct process process;
	struct thread_names names;
	const struct thread_name *found;

	prctl(PR_SET_NAME, "named");
	CHECK(!process_open(getpid(), &process));
	CHECK(!thread_names_read(&process, &names));
	CHECK_EQUAL(names.count, 1);
	found = thread_names_find(&names, names.count ? names.items[0].tid : 0);
	CHECK_STRING(found ? found->name : "", "named");
	CHECK_EQUAL(found ? found->shown : 0, getpid());
	CHECK(!thread_names_find(&names, UINT32_MAX));
	CHECK(!thread_names_find(&names, 0));
	thread_names_deinit(&names);
	process_close(&process);
	CHECK(!thread_names_read(&PROCESS_CLOSED, &names)); // it has ended
	CHECK_EQUAL(names.count, 0);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct thread_name name = { 0 };

		CHECK_EQUAL(thread_name_parse(cases[i].status, 77, &name), cases[i].is_good);
		CHECK_EQUAL(name.tid, cases[i].tid);
		CHECK_STRING(name.name, cases[i].name);
	}
	test_of_this_process();
	return CHECK_RESULT();
}

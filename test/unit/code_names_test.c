// SPDX-License-Identifier: Apache-2.0
// Which names of memory files are known as ours, by the secret of this process, and which not.
#include "check.h"
#include "held_process.h"

#include "attach/process/code_names.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#define FORGED "/memfd:heapsnap-code-0123456789abcdef0123456789abcdef"

static void read_names(pid_t pid, struct code_names *ret)
{
	struct target_memory memory;

	CHECK(target_memory_open(held_process(pid), &memory) == NULL);
	code_names_read(&memory, ret);
	target_memory_close(&memory);
}

static void make_link(const struct code_names *names, char ret[HS_CODE_NAME_SIZE + 8], uint64_t *nonce_ret)
{
	char name[HS_CODE_NAME_SIZE];

	CHECK(code_names_make(names, name, nonce_ret) == NULL);
	snprintf(ret, HS_CODE_NAME_SIZE + 8, "/memfd:%s", name);
}

static void test_form(void)
{
	CHECK(code_names_look_alike(FORGED));
	CHECK(!code_names_look_alike(FORGED "0"));
	CHECK(!code_names_look_alike("/memfd:heapsnap-code-0123456789abcdef0123456789abcde"));
	CHECK(!code_names_look_alike("/memfd:heapsnap-code-0123456789abcdef0123456789abcdeg"));
	CHECK(!code_names_look_alike("/memfd:heapsnap-code-0123456789ABCDEF0123456789abcdef"));
	CHECK(!code_names_look_alike("/memfd:heapsnap-code-0123456789abcdef")); // up to layout version 10
	CHECK(!code_names_look_alike("/memfd:heapsnap-code"));
	CHECK(!code_names_look_alike("/memfd:heapsnap-other-0123456789abcdef0123456789abcdef"));
	CHECK(!code_names_look_alike(""));
}

static void test_secret(void)
{
	struct code_names names, other;
	char link[HS_CODE_NAME_SIZE + 8], changed[HS_CODE_NAME_SIZE + 8];
	uint64_t nonce, next;

	read_names(getpid(), &names);
	CHECK(names.has_key);
	CHECK(memcmp(&names.key, (const void *)getauxval(AT_RANDOM), sizeof(names.key)) == 0);
	make_link(&names, link, &nonce);
	CHECK(code_names_look_alike(link));
	CHECK(code_names_have(&names, link));
	CHECK(!code_names_have(&names, FORGED));
	make_link(&names, changed, &next);
	CHECK(strcmp(link, changed) != 0 && next != nonce);
	for (size_t i = strlen("/memfd:heapsnap-code-"); i < strlen(link); i++) {
		snprintf(changed, sizeof(changed), "%s", link);
		changed[i] = changed[i] == '0' ? '1' : '0';
		CHECK(!code_names_have(&names, changed));
	}
	other = names;
	other.key.words[1] ^= 1; // another program's
	CHECK(!code_names_have(&other, link));
	other.has_key = false;
	CHECK(!code_names_have(&other, link));
	CHECK(!code_names_of_region(&other, link));
	other.nonce = nonce; // the region's header names it
	CHECK(code_names_have(&other, link));
	CHECK(code_names_of_region(&other, link));
	CHECK(!code_names_of_region(&other, FORGED));
	other.nonce = next;
	CHECK(!code_names_have(&other, link));
	CHECK(!code_names_of_region(&other, link));
}

// Who has no secret cannot be lied to about it.
static void test_none(void)
{
	uint8_t *bytes = (uint8_t *)getauxval(AT_RANDOM), kept[16];
	const struct hash_key zero = { 0 };
	struct code_names names;
	char link[HS_CODE_NAME_SIZE + 8];
	uint64_t nonce;

	memcpy(kept, bytes, sizeof(kept));
	memset(bytes, 0, sizeof(kept)); // as Go's runtime does
	read_names(getpid(), &names);
	memcpy(bytes, kept, sizeof(kept));
	CHECK(!names.has_key);
	make_link(&names, link, &nonce);
	CHECK(code_names_look_alike(link));
	CHECK(!code_names_have(&names, link));
	snprintf(link, sizeof(link), "/memfd:heapsnap-code-%016" PRIx64 "%016" PRIx64, nonce,
		 keyed_proof(&zero, &nonce, sizeof(nonce)));
	CHECK(!code_names_have(&names, link));
	snprintf(link, sizeof(link), "/memfd:heapsnap-code-%016x%016" PRIx64, 0,
		 keyed_proof(&zero, &names.nonce, sizeof(names.nonce)));
	CHECK(!code_names_have(&names, link)); // no region's
}

static void test_child(void)
{
	struct code_names names, of_child;
	char link[HS_CODE_NAME_SIZE + 8];
	uint64_t nonce;
	pid_t child;

	read_names(getpid(), &names);
	make_link(&names, link, &nonce);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	read_names(child, &of_child);
	CHECK(code_names_have(&of_child, link));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void test_owners(void)
{
	struct code_names names;
	char link[HS_CODE_NAME_SIZE + 8];
	uint64_t nonce;

	read_names(getpid(), &names);
	make_link(&names, link, &nonce);
	CHECK(code_names_owner_fits(&names, link, geteuid()));
	CHECK(code_names_owner_fits(&names, link, 0));
	CHECK(!code_names_owner_fits(&names, link, geteuid() + 12345));
	names.nonce = nonce;
	CHECK(code_names_owner_fits(&names, link, geteuid() + 12345));
	CHECK(!code_names_owner_fits(&names, FORGED, geteuid() + 12345));
}

int main(void)
{
	test_form();
	test_secret();
	test_none();
	test_child();
	test_owners();
	return CHECK_RESULT();
}

// SPDX-License-Identifier: Apache-2.0
// Answers on disk: what is stored comes back, what is damaged or of other files does not.
#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "held_process.h"
#include "snapshot/symbols/cache_folder.h"
#include "snapshot/symbols/file_trail.h"
#include "snapshot/symbols/stored_symbols.h"
#include "snapshot/symbols/symbol_messages.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/symbol_cache_test.XXXXXX";

static const char *in_folder(const char *name)
{
	static char paths[4][256];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(in_folder(name), "w");

	CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static const struct {
	const char *cache_home, *home, *base; // NULL = none
} bases[] = {
	{ "/c", "/h", "/c" },      { NULL, "/h", "/h/.cache" },
	{ "", "/h", "/h/.cache" }, { "c", "/h", "/h/.cache" }, // relative paths do not count
	{ NULL, NULL, NULL },      { "c", "h", NULL },
	{ NULL, "", NULL },        { "/0123456789012345678901234567", NULL, NULL }, // no room
};

static void test_bases(void)
{
	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
		char buffer[24];
		const char *base = cache_base(bases[i].cache_home, bases[i].home, buffer, sizeof(buffer));

		CHECK_STRING(base ? base : "(none)", bases[i].base ? bases[i].base : "(none)");
	}
}

// Two functions, three addresses: inlined, a guess, nothing.
static void make_stored(struct stored_symbols *ret)
{
	static const uint8_t build_id[] = { 1, 2, 3 }, trail[] = "trail";
	static const struct answer_location locations[] = {
		{ .first_line = 0, .line_count = 2, .is_answered = true, .has_inlined = true },
		{ .first_line = 2, .line_count = 1, .is_answered = true, .is_guess = true },
		{ .first_line = 3, .line_count = 0, .is_answered = true },
	};
	uint32_t number;

	*ret = (struct stored_symbols){ build_id, trail, sizeof(build_id), sizeof(trail), NULL, 3, { NULL } };
	ret->addresses = calloc(3, sizeof(uint64_t));
	CHECK(!symbol_answer_init(3, &ret->answer));
	for (uint32_t i = 0; i < 3; i++) {
		ret->addresses[i] = 0x1000 + i;
		ret->answer.locations[i] = locations[i];
	}
	CHECK(!function_table_add(&ret->answer.functions, &(struct function_text){ "f(int)", "_Z1fi", "f.cc", 10 },
				  &number));
	CHECK(!function_table_add(&ret->answer.functions, &(struct function_text){ "main", "main", "", 0 }, &number));
	CHECK(!function_table_add(&ret->answer.functions,
				  &(struct function_text){ "near f(int)+0x9", "near _Z1fi+0x9", "", 0 }, &number));
	ret->answer.lines = calloc(3, sizeof(*ret->answer.lines));
	ret->answer.line_count = ret->answer.line_room = 3;
	ret->answer.lines[0] = (struct profile_line){ 0, 12 };
	ret->answer.lines[1] = (struct profile_line){ 1, 3 };
	ret->answer.lines[2] = (struct profile_line){ 2, 0 };
	ret->answer.is_stripped = true;
}

static bool decodes(const uint8_t *data, size_t size)
{
	struct stored_symbols read;
	struct hs_error *error = stored_symbols_decode(data, size, &read);
	const bool is_good = !error;

	if (error)
		CHECK_EQUAL(error->code, HS_ERROR_BAD_DATA);
	else
		stored_symbols_deinit(&read);
	hs_error_destroy(error);
	return is_good;
}

static void test_stored(void)
{
	struct stored_symbols stored, read;
	size_t size = 0, taken = 0;
	uint8_t *data = NULL;

	make_stored(&stored);
	CHECK(!stored_symbols_encode(&stored, &data, &size));
	CHECK(!stored_symbols_decode(data, size, &read));
	CHECK_EQUAL(read.count, 3);
	CHECK(read.build_id_size == 3 && memcmp(read.build_id, stored.build_id, 3) == 0);
	CHECK(read.trail_size == 6 && memcmp(read.trail, "trail", 6) == 0);
	CHECK(read.answer.is_stripped);
	for (size_t i = 0; i < 3; i++) {
		CHECK_EQUAL(read.addresses[i], 0x1000 + i);
		CHECK_EQUAL(read.answer.locations[i].line_count, stored.answer.locations[i].line_count);
		CHECK_EQUAL(read.answer.locations[i].has_inlined, i == 0);
		CHECK_EQUAL(read.answer.locations[i].is_guess, i == 1);
	}
	CHECK_STRING(read.answer.functions.items[read.answer.lines[0].function].file, "f.cc");
	CHECK_EQUAL(read.answer.lines[1].line, 3);
	CHECK_STRING(read.answer.functions.items[read.answer.lines[2].function].system_name, "near _Z1fi+0x9");
	stored_symbols_deinit(&read);

	// cut off anywhere, and each bit of each byte changed
	for (size_t cut = 0; cut < size; cut++)
		taken += decodes(data, cut);
	for (size_t i = 0; i < size * 8; i++) {
		data[i / 8] ^= (uint8_t)(1 << i % 8);
		taken += decodes(data, size);
		data[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	CHECK_EQUAL(taken, 0);
	CHECK(decodes(data, size));
	free(data);
	stored.addresses[2] = stored.addresses[0]; // not in order
	CHECK(!stored_symbols_encode(&stored, &data, &size));
	CHECK(!decodes(data, size));
	free(data);
	stored_symbols_deinit(&stored);
}

static void check_read(const struct cache_folder *cache, const char *name, size_t limit, const char *expected)
{
	size_t size = 0;
	char *data = (char *)cache_folder_read(cache, name, limit, &size);

	CHECK_EQUAL(data ? size : 0, expected ? strlen(expected) : 0);
	CHECK(!data == !expected && (!data || memcmp(data, expected, size) == 0));
	free(data);
}

static void write_kept(const struct cache_folder *cache, const char *name, char letter, size_t size, uint64_t most)
{
	uint8_t *data = malloc(size);

	memset(data, letter, size);
	cache_folder_write(cache, name, data, size, most);
	free(data);
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL); // so that their times differ
}

static bool is_there(const char *name) { return access(in_folder(name), F_OK) == 0; }

static void test_folder(void)
{
	struct cache_folder cache = cache_folder_open_in(in_folder("base/"));
	struct stat status;

	CHECK(cache.fd >= 0);
	CHECK(stat(in_folder("base"), &status) == 0 && (status.st_mode & 07777) == 0700);
	CHECK(stat(in_folder("base/heapsnap"), &status) == 0 && (status.st_mode & 07777) == 0700);
	check_read(&cache, "a", 100, NULL);
	cache_folder_write(&cache, "a", (const uint8_t *)"first", 5, 1 << 20);
	cache_folder_write(&cache, "a", (const uint8_t *)"second", 6, 1 << 20);
	check_read(&cache, "a", 100, "second");
	check_read(&cache, "a", 5, NULL); // too large
	CHECK(stat(in_folder("base/heapsnap/a"), &status) == 0 && (status.st_mode & 07777) == 0600);

	// a link is no file of the folder
	write_file("elsewhere", "x");
	CHECK(symlink("../../elsewhere", in_folder("base/heapsnap/link")) == 0);
	check_read(&cache, "link", 100, NULL);
	CHECK(unlink(in_folder("base/heapsnap/link")) == 0);
	CHECK(mkfifo(in_folder("base/heapsnap/fifo"), 0600) == 0);
	check_read(&cache, "fifo", 100, NULL); // nobody is waited for
	CHECK(unlink(in_folder("base/heapsnap/fifo")) == 0);

	// the one that was not read for longest goes, and what a killed tool has left
	const struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };

	write_file("base/heapsnap/.new.1.2", "left");
	write_file("base/heapsnap/.new.3.4", "in work");
	CHECK(utimensat(AT_FDCWD, in_folder("base/heapsnap/.new.1.2"), old, 0) == 0);
	write_kept(&cache, "b", 'b', 40000, 1 << 20);
	write_kept(&cache, "c", 'c', 40000, 1 << 20);
	check_read(&cache, "a", 100, "second");
	size_t size;

	free(cache_folder_read(&cache, "b", 1 << 20, &size));
	write_kept(&cache, "d", 'd', 40000, 100000);
	CHECK(is_there("base/heapsnap/a") && is_there("base/heapsnap/b") && is_there("base/heapsnap/d"));
	CHECK(!is_there("base/heapsnap/c") && !is_there("base/heapsnap/.new.1.2"));
	CHECK(is_there("base/heapsnap/.new.3.4"));
	cache_folder_close(&cache);
}

// Folders that are not one's own, or that others may enter, are not used, and nothing is made in them.
static void test_strangers(void)
{
	struct cache_folder cache;

	CHECK(chmod(in_folder("base/heapsnap"), 0750) == 0);
	CHECK_EQUAL(cache_folder_open_in(in_folder("base")).fd, -1);
	CHECK(chmod(in_folder("base/heapsnap"), 0700) == 0);
	CHECK(rename(in_folder("base/heapsnap"), in_folder("base/other")) == 0);
	CHECK(symlink("other", in_folder("base/heapsnap")) == 0);
	CHECK_EQUAL(cache_folder_open_in(in_folder("base")).fd, -1);
	CHECK(unlink(in_folder("base/heapsnap")) == 0);
	CHECK_EQUAL(cache_folder_open_in(in_folder("elsewhere")).fd, -1); // no folder
	CHECK_EQUAL(cache_folder_open_in(in_folder("not/there")).fd, -1);
	if (geteuid() != 0) {
		CHECK_LEFT_OUT("not root");
		return;
	}
	// root by sudo, with the home of the user who called it
	CHECK(mkdir(in_folder("home"), 0755) == 0 && chown(in_folder("home"), 1000, 1000) == 0);
	CHECK_EQUAL(cache_folder_open_in(in_folder("home/.cache")).fd, -1);
	CHECK(!is_there("home/.cache"));
	CHECK_EQUAL(cache_folder_open_in(in_folder("home")).fd, -1);
	CHECK(!is_there("home/heapsnap"));
	CHECK(chown(in_folder("base/other"), 1000, 1000) == 0);
	CHECK(rename(in_folder("base/other"), in_folder("base/heapsnap")) == 0);
	// Nor one that a link leads to, which another user may have set: root would make a folder where they choose.
	CHECK(mkdir(in_folder("roots"), 0755) == 0 && symlink(in_folder("roots"), in_folder("link")) == 0);
	CHECK_EQUAL(cache_folder_open_in(in_folder("link")).fd, -1);
	CHECK(!is_there("roots/heapsnap"));
	cache = cache_folder_open_in(in_folder("base"));
	CHECK_EQUAL(cache.fd, -1);
}

static bool take(int fd, bool is_mapped, void *context)
{
	struct file_trail *trail = context;

	CHECK(!file_trail_add_file(trail, fd, is_mapped, true));
	return true;
}

static void make_trail(const struct module_files *files, const struct profile_module *module, struct file_trail *ret)
{
	*ret = (struct file_trail){ .size = 0 };
	CHECK(!file_trail_add_module(ret));

	int fd = module_files_find(files, module, take, ret);

	CHECK(fd >= 0);
	if (fd >= 0)
		close(fd);
	CHECK(!file_trail_add_debug(ret, (const uint8_t *)"\x12\x34", 2, "symbol_cache_test.debug"));
}

static void settle(void) { nanosleep(&(struct timespec){ .tv_sec = 2, .tv_nsec = 100000000 }, NULL); }

static void test_trail(void)
{
	struct profile_module module = { .path = (char *)(uintptr_t)in_folder("module"), .unloaded = true };
	char path[256];
	struct module_files files;
	struct file_trail trail, young;

	snprintf(path, sizeof(path), "%s", module.path);
	module.path = path;
	write_file("module", "\177ELF, of a kind");
	module_files_open(held_process(getpid()), &files);
	make_trail(&files, &module, &young);
	CHECK(young.is_useless); // changed just now
	file_trail_deinit(&young);
	settle();
	make_trail(&files, &module, &trail);
	CHECK(!trail.is_useless);
	CHECK(file_trail_is_met(trail.bytes, trail.size, &files, &module));
	CHECK(!file_trail_is_met(trail.bytes, 0, &files, &module));
	for (size_t cut = 1; cut < trail.size; cut++) // behind the file, the debug file is not looked for
		CHECK_EQUAL(file_trail_is_met(trail.bytes, cut, &files, &module), cut == 4 + 12 + 40);

	// a debug file that is there now
	write_file("symbol_cache_test.debug", "\177ELF");
	CHECK(!file_trail_is_met(trail.bytes, trail.size, &files, &module));
	CHECK(unlink(in_folder("symbol_cache_test.debug")) == 0);
	CHECK(file_trail_is_met(trail.bytes, trail.size, &files, &module));

	// the same name, size and time of another file, and the same file with other content and its old times
	struct stat before;

	CHECK(stat(path, &before) == 0);
	write_file("module", "\177ELF, of A kind");
	CHECK(utimensat(AT_FDCWD, path, (struct timespec[2]){ before.st_atim, before.st_mtim }, 0) == 0);
	settle();
	CHECK(!file_trail_is_met(trail.bytes, trail.size, &files, &module));
	CHECK(unlink(path) == 0);
	CHECK(!file_trail_is_met(trail.bytes, trail.size, &files, &module));
	file_trail_deinit(&trail);
	module_files_close(&files);
}

int main(void)
{
	CHECK(mkdtemp(folder) != NULL);
	test_bases();
	test_stored();
	test_folder();
	test_strangers();
	test_trail();

	char command[300];

	snprintf(command, sizeof(command), "rm -r '%s'", folder);
	CHECK(system(command) == 0);
	return CHECK_RESULT();
}

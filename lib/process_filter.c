// SPDX-License-Identifier: Apache-2.0
#include "lib/process_filter.h"

#include "base/cleanup.h"

#include <stdint.h>
#include <string.h>

// Digits of a container's id: what people type is cut to 12 by docker ps and crictl ps; ids have 64, of some runtimes
// 32. Shorter runs of such digits are parts of other things (the pod's UUID, say).
enum { CONTAINER_LEAST = 12, CONTAINER_MOST = 64, CONTAINER_ID_LEAST = 32 };

static const char mount_point[] = "/sys/fs/cgroup";

static bool is_digit(char character) { return character >= '0' && character <= '9'; }
static bool is_hex(char character) { return is_digit(character) || (character >= 'a' && character <= 'f'); }
static bool is_letter(char character) { return (character | 32) >= 'a' && (character | 32) <= 'z'; }

static struct hs_error *init_name(struct process_filter *ret, const char *text)
{
	char reason[128];
	int status;

	if (!*text)
		return hs_error_create(HS_ERROR_BAD_DATA, "--name expects a regular expression, got ''");
	status = regcomp(&ret->name, text, REG_EXTENDED | REG_NOSUB);
	if (status == REG_ESPACE)
		return &hs_error_no_memory;
	if (status != 0) {
		regerror(status, &ret->name, reason, sizeof(reason));
		return hs_error_create(HS_ERROR_BAD_DATA, "--name expects a regular expression, got '%s': %s", text,
				       reason);
	}
	ret->has_name = true;
	return NULL;
}

// Where groups are mounted, there is a folder for each hierarchy of version 1, and perhaps one for version 2
// (cgroups(7)); where only version 2 is in use it is mounted there itself.
static struct hs_error *init_cgroup(struct process_filter *ret, const char *text)
{
	const size_t mount_size = sizeof(mount_point) - 1;
	const bool is_mounted =
		strncmp(text, mount_point, mount_size) == 0 && (text[mount_size] == '/' || !text[mount_size]);
	size_t size = 0;

	if (!*text)
		return hs_error_create(HS_ERROR_BAD_DATA, "--cgroup expects the path of a control group, got ''");
	text += is_mounted ? mount_size : 0;
	ret->cgroup = malloc(strlen(text) + 2);
	if (!ret->cgroup)
		return &hs_error_no_memory;
	ret->cgroup[size++] = '/';
	for (; *text; text++)
		if (*text != '/' || ret->cgroup[size - 1] != '/')
			ret->cgroup[size++] = *text;
	if (ret->cgroup[size - 1] == '/')
		size--;
	ret->cgroup[size] = 0;
	if (is_mounted && size)
		ret->mounted_size = 1 + strcspn(ret->cgroup + 1, "/");
	return NULL;
}

// kubectl and crictl put the runtime's name before it: containerd://0123456789ab...
static struct hs_error *init_container(struct process_filter *ret, const char *text)
{
	const char *scheme = strstr(text, "://"), *digits = scheme ? scheme + 3 : text;
	const size_t size = strlen(digits);
	bool is_good = size >= CONTAINER_LEAST && size <= CONTAINER_MOST;

	ret->container = strdup(digits);
	if (!ret->container)
		return &hs_error_no_memory;
	for (size_t i = 0; i < size && is_good; i++) {
		if (ret->container[i] >= 'A' && ret->container[i] <= 'F')
			ret->container[i] |= 32;
		is_good = is_hex(ret->container[i]);
	}
	if (is_good)
		return NULL;
	return hs_error_create(HS_ERROR_BAD_DATA,
			       "--container expects the id of a container, at least its first %d hexadecimal digits, "
			       "got '%s'",
			       CONTAINER_LEAST, text);
}

struct hs_error *process_filter_init(struct process_filter *ret, const struct hs_process_filter *given)
{
	struct hs_error *error = NULL;

	*ret = (struct process_filter){ .has_name = false };
	if (given->name)
		error = init_name(ret, given->name);
	if (!error && given->cgroup)
		error = init_cgroup(ret, given->cgroup);
	if (!error && given->container)
		error = init_container(ret, given->container);
	if (!error && given->user && (!*given->user || strpbrk(given->user, ":\n")))
		error = hs_error_create(HS_ERROR_BAD_DATA, "--user expects the name or the number of a user, got '%s'",
					given->user);
	return error;
}

void process_filter_deinit(struct process_filter *filter)
{
	if (filter->has_name)
		regfree(&filter->name);
	free(filter->cgroup);
	free(filter->container);
	*filter = (struct process_filter){ .has_name = false };
}

struct hs_error *hs_process_filter_check(const struct hs_process_filter *filter)
{
	struct process_filter ready;
	struct hs_error *error = process_filter_init(&ready, filter);

	process_filter_deinit(&ready);
	return error;
}

bool process_filter_has_name(const struct process_filter *filter, const char *name, const char *command_line)
{
	return regexec(&filter->name, name, 0, NULL, 0) == 0 || regexec(&filter->name, command_line, 0, NULL, 0) == 0;
}

// A line of /proc/PID/cgroup: "number:controllers:path"; version 2 has number 0 and no controllers.
struct group {
	const char *controllers, *path;
	size_t controllers_size, path_size;
};

// False: that was the last one. Lines that are none have an empty path.
static bool next_group(const char **text, struct group *ret)
{
	const char *line = *text, *end = line + strcspn(line, "\n");
	const char *first = memchr(line, ':', (size_t)(end - line)),
		   *second = first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;

	if (!*line)
		return false;
	*text = end + (*end == '\n');
	*ret = (struct group){ .controllers = end, .path = end };
	if (second)
		*ret = (struct group){ .controllers = first + 1,
				       .controllers_size = (size_t)(second - first - 1),
				       .path = second + 1,
				       .path_size = (size_t)(end - second - 1) };
	return true;
}

// Whether the group is `path` or one below it. pre: `path` has no slash at its end
static bool is_below(const struct group *group, const char *path)
{
	const size_t size = strlen(path);

	return group->path_size >= size && group->path_size > 0 && memcmp(group->path, path, size) == 0 &&
	       (group->path_size == size || group->path[size] == '/');
}

static bool is_word(const char *text, size_t size, const char *word, size_t word_size)
{
	return size == word_size && memcmp(text, word, size) == 0;
}

// Whether the folder of that name has the group's hierarchy: "memory" or "cpu,cpuacct"; one without controllers has its
// own name ("name=systemd"), and version 2 is mounted as "unified" beside version 1.
static bool is_hierarchy(const struct group *group, const char *name, size_t size)
{
	static const char named[] = "name=", unified[] = "unified";
	const char *controllers = group->controllers, *end = controllers + group->controllers_size;

	if (group->controllers_size == 0)
		return is_word(name, size, unified, sizeof(unified) - 1);
	if (group->controllers_size > sizeof(named) - 1 && memcmp(controllers, named, sizeof(named) - 1) == 0)
		controllers += sizeof(named) - 1;
	if (is_word(controllers, (size_t)(end - controllers), name, size))
		return true;
	while (controllers < end) {
		const char *comma = memchr(controllers, ',', (size_t)(end - controllers));
		const char *stop = comma ? comma : end;

		if (is_word(controllers, (size_t)(stop - controllers), name, size))
			return true;
		controllers = stop + 1;
	}
	return false;
}

bool process_filter_has_cgroup(const struct process_filter *filter, const char *text)
{
	struct group group;

	while (next_group(&text, &group)) {
		if (is_below(&group, filter->cgroup))
			return true;
		if (filter->mounted_size && is_hierarchy(&group, filter->cgroup + 1, filter->mounted_size - 1) &&
		    is_below(&group, filter->cgroup + filter->mounted_size))
			return true;
	}
	return false;
}

// Where the run of hexadecimal digits ends.
static size_t end_of_run(const struct group *group, size_t at)
{
	while (at < group->path_size && is_hex(group->path[at]))
		at++;
	return at;
}

// Names are as different as runtimes are: <id>, docker-<id>.scope, cri-containerd-<id>.scope, crio-<id>,
// libpod-<id>.scope, kubepods-...:cri-containerd:<id>. What they share is that the id is a word of its own. Beside a
// container's group may be one of its monitor, which is none of its processes: libpod-conmon-<id>.scope.
static bool is_of_container(const struct group *group, const char *id)
{
	static const char monitor[] = "conmon-";
	const size_t id_size = strlen(id);
	bool is_monitor = false;

	for (size_t at = 0, next; at < group->path_size; at = next) {
		const char *text = group->path + at;
		const size_t end = end_of_run(group, at);

		next = end > at ? end : at + 1;
		if (*text == '/')
			is_monitor = false;
		else if (group->path_size - at >= sizeof(monitor) - 1 &&
			 memcmp(text, monitor, sizeof(monitor) - 1) == 0)
			is_monitor = true;
		if (is_monitor || end - at < CONTAINER_ID_LEAST || end - at < id_size)
			continue;
		if (at > 0 && (is_letter(text[-1]) || is_digit(text[-1])))
			continue;
		if (end < group->path_size && (is_letter(group->path[end]) || is_digit(group->path[end])))
			continue;
		if (memcmp(text, id, id_size) == 0)
			return true;
	}
	return false;
}

bool process_filter_has_container(const struct process_filter *filter, const char *text)
{
	struct group group;

	while (next_group(&text, &group))
		if (is_of_container(&group, filter->container))
			return true;
	return false;
}

void process_command_line(char *text, size_t size)
{
	while (size > 0 && (text[size - 1] == 0 || text[size - 1] == ' '))
		size--;
	for (size_t i = 0; i < size; i++)
		if (text[i] == 0)
			text[i] = ' ';
	text[size] = 0;
}

static bool number_up_to(const char *text, char end, uid_t *ret)
{
	uint64_t value = 0;

	if (!is_digit(*text))
		return false;
	for (; is_digit(*text); text++) {
		value = value * 10 + (uint64_t)(*text - '0');
		if (value >= UINT32_MAX)
			return false;
	}
	*ret = (uid_t)value;
	return *text == end;
}

bool user_number(const char *text, uid_t *ret) { return number_up_to(text, 0, ret); }

// A line is "name:password:number:..."
bool user_number_of_name(const char *passwd, const char *name, uid_t *ret)
{
	const size_t size = strlen(name);

	for (const char *line = passwd; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *password = line + size + 1, *number;

		if (strncmp(line, name, size) != 0 || line[size] != ':')
			continue;
		number = password + strcspn(password, ":\n");
		if (*number == ':' && number_up_to(number + 1, ':', ret))
			return true;
	}
	return false;
}

// SPDX-License-Identifier: Apache-2.0
// Programs that grow, each in its own way, at 2 MiB a second of the clock, however little processor time they get; and
// some that only seem to. usage: planted_leaks WHICH, see `problems` below. They run until they are killed, or have
// made 256 MiB.
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace
{

constexpr std::size_t RATE = 2 << 20, MOST = 256 << 20; // bytes a second, bytes
constexpr int SITES = 40, LEAKING = 17;

double now()
{
	timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// Calls `grow` until that has grown as the clock says. It returns by how many bytes.
template <class Grow> [[noreturn]] void grow_for_ever(Grow grow, double rate = RATE, std::size_t most = MOST)
{
	const double began = now();
	std::size_t grown = 0;

	for (;;) {
		while (grown < most && static_cast<double>(grown) < (now() - began) * rate)
			grown += grow();
		usleep(5000);
	}
}

void *volatile kept; // what is written here must be there

// Writes to all of it.
void *touch(void *block, std::size_t size)
{
	kept = std::memset(block, 1, size);
	return block;
}

// A site each; all come and go but those of one.
template <int number> __attribute__((noinline)) void *site()
{
	const std::size_t size = 4000 + 8 * number;

	return touch(std::malloc(size), size); // line of the site
}

template <int number> void call_all()
{
	void *block = site<number>();

	if (number != LEAKING)
		std::free(block);
	if constexpr (number + 1 < SITES)
		call_all<number + 1>();
}

void one_of_forty()
{
	grow_for_ever([] {
		call_all<0>();
		return std::size_t{ 4000 + 8 * LEAKING };
	});
}

std::unordered_map<std::uint64_t, std::string> cache;

__attribute__((noinline)) void remember(std::uint64_t key)
{
	cache[key] = std::string(1000, 'x'); // line of the cache
}

void unbounded_cache()
{
	std::uint64_t key = 0;

	grow_for_ever([&key] {
		remember(key++);
		return std::size_t{ 1100 };
	});
}

struct session {
	std::vector<std::uint64_t> history;
};

__attribute__((noinline)) void record(session &session, std::uint64_t event)
{
	session.history.push_back(event); // line of the vector
}

// One vector, from the moment on when it is told so: each second it is half as large again as before, so that a watch
// of some seconds sees it replaced several times. From 256 KiB to 64 MiB.
void growing_vector()
{
	session session;
	char byte;
	const bool is_told = read(0, &byte, 1) == 1;
	const double began = now();
	double length = 32 << 10;

	for (std::uint64_t event = 0; is_told && session.history.size() < (64 << 20) / 8; event++) {
		while (static_cast<double>(session.history.size()) > length) {
			usleep(5000);
			length = (32 << 10) * std::exp2((now() - began) * 0.585);
		}
		record(session, event);
	}
	pause();
}

// Buffers of which a few bytes are kept, once the next one stands behind it: what is given back is too small for
// another.
void fragmentation()
{
	constexpr std::size_t BUFFER = 4000, KEPT = 24;
	void *previous = nullptr;

	grow_for_ever([&previous] {
		void *buffer = touch(std::malloc(BUFFER), BUFFER);

		kept = std::realloc(previous, KEPT); // line of the holes
		previous = buffer;
		return BUFFER;
	});
}

// The same where malloc has another arena.
void fragmentation_in_thread() { std::thread(fragmentation).join(); }

void mapped()
{
	grow_for_ever([] {
		constexpr std::size_t SIZE = 128 << 10;
		void *memory = mmap(nullptr, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		std::memset(memory, 1, SIZE);
		std::free(touch(std::malloc(100), 100));
		return SIZE;
	});
}

void before_attach()
{
	for (int i = 0; i < 64 << 10; i++)
		touch(std::malloc(1000), 1000);
	std::puts("grown");
	for (;;) {
		std::free(touch(std::malloc(1000), 1000));
		usleep(1000);
	}
}

// What is to be freed later, and when: the blocks themselves are the list.
class later
{
      public:
	void free_at(double time, void *block)
	{
		list *const item = new (block) list{ slots[number(time)] };

		slots[number(time)] = item;
	}

	void free_due()
	{
		for (const std::size_t end = number(now()); at != end; at = (at + 1) % SLOTS)
			while (list *const item = slots[at]) {
				slots[at] = item->next;
				std::free(item);
			}
	}

      private:
	static constexpr std::size_t SLOTS = 512; // of 10 ms: more than any block lives

	struct list {
		list *next;
	};

	static std::size_t number(double time) { return static_cast<std::size_t>(time * 100) % SLOTS; }

	list *slots[SLOTS] = {};
	std::size_t at = number(now());
};

// The same each time.
std::uint32_t random_number()
{
	static std::uint32_t number = 1;

	number = number * 1664525 + 1013904223;
	return number >> 8;
}

double random_share() { return random_number() / 16777216.0; }

constexpr std::size_t MESSAGE = 4096;
constexpr double CHURN = 20 << 20; // bytes a second

__attribute__((noinline)) void *message()
{
	return touch(std::malloc(MESSAGE), MESSAGE); // line of the messages
}

// Messages that live for 0.1 to 2 s; one in 320 is forgotten, which makes 64 KiB a second.
void leak_in_churn()
{
	static later later;
	unsigned count = 0;

	grow_for_ever(
		[&count] {
			void *const block = message();

			if (++count % 320 != 0)
				later.free_at(now() + 0.1 + 1.9 * random_share(), block);
			later.free_due();
			return MESSAGE;
		},
		CHURN, SIZE_MAX);
}

// The same, but none is forgotten; and for some seconds they live longer than for others.
void wandering_churn()
{
	static later later;

	grow_for_ever(
		[] {
			const double longest = 1.05 + 0.95 * std::sin(now() * 2);

			later.free_at(now() + 0.1 + longest * random_share(), message());
			later.free_due();
			return MESSAGE;
		},
		CHURN, SIZE_MAX);
}

constexpr std::size_t ENTRY = 4000;

__attribute__((noinline)) void *entry()
{
	return touch(std::malloc(ENTRY), ENTRY); // line of the entries
}

// From the moment on when it is told so: 12 MiB, full after 1.5 s; a new entry then takes the place of any other.
void bounded_cache()
{
	constexpr std::size_t ENTRIES = (12 << 20) / ENTRY;
	static void *entries[ENTRIES];
	std::size_t count = 0;
	char byte;

	if (read(0, &byte, 1) == 1)
		grow_for_ever(
			[&count] {
				void *&place = entries[count < ENTRIES ? count : random_number() % ENTRIES];

				count++;
				std::free(place);
				place = entry();
				return ENTRY;
			},
			8 << 20, SIZE_MAX);
}

// 64 MiB that were there before: a new entry takes the place of the oldest one.
void warm_cache()
{
	constexpr std::size_t ENTRIES = (64 << 20) / ENTRY;
	static void *entries[ENTRIES];
	std::size_t count = 0;

	for (void *&place : entries)
		place = entry();
	std::puts("grown");
	grow_for_ever(
		[&count] {
			void *&place = entries[count++ % ENTRIES];

			std::free(place);
			place = entry();
			return ENTRY;
		},
		RATE, SIZE_MAX);
}

void nothing()
{
	std::vector<void *> ring(1000);

	for (std::size_t i = 0;; i++) {
		std::free(ring[i % ring.size()]);
		ring[i % ring.size()] = touch(std::malloc(300 + i % 7), 300);
		if (i % 10 == 0)
			usleep(1000);
	}
}

const struct {
	const char *name;
	void (*run)();
} problems[] = {
	{ "one_of_forty", one_of_forty },
	{ "unbounded_cache", unbounded_cache },
	{ "growing_vector", growing_vector },
	{ "fragmentation", fragmentation },
	{ "fragmentation_in_thread", fragmentation_in_thread },
	{ "mapped", mapped },
	{ "before_attach", before_attach },
	{ "leak_in_churn", leak_in_churn },
	{ "wandering_churn", wandering_churn },
	{ "bounded_cache", bounded_cache },
	{ "warm_cache", warm_cache },
	{ "nothing", nothing },
};

} // namespace

int main(int count, char **arguments)
{
	setvbuf(stdout, nullptr, _IOLBF, 0);
	std::puts("ready");
	for (const auto &problem : problems)
		if (count > 1 && std::strcmp(problem.name, arguments[1]) == 0)
			problem.run();
	return 2;
}

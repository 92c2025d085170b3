// SPDX-License-Identifier: Apache-2.0
// Containers, strings, threads, and exceptions that cross frames which allocate. Commands on standard input: "count"
// prints rounds so far; at end of input "ok ROUNDS" and exit status 0. A wrong result: message and abort.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace shop
{

struct item {
	std::string name;
	std::vector<int> parts;
};

std::atomic<unsigned long> rounds;
std::atomic<bool> ends;

[[noreturn]] void fail(const char *what)
{
	std::fprintf(stderr, "cpp_program: %s\n", what);
	std::abort();
}

class catalogue
{
      public:
	__attribute__((noipa)) void add_item(int number)
	{
		auto fresh = std::make_unique<item>();
		fresh->name = "item number " + std::to_string(number) + " with a name that does not fit in place";
		fresh->parts.assign(static_cast<size_t>(number % 50 + 1), number);
		items_[number] = std::move(fresh);
	}
	long sum() const
	{
		long total = 0;
		for (const auto &entry : items_)
			for (int part : entry.second->parts)
				total += part;
		return total;
	}

      private:
	std::map<int, std::unique_ptr<item>> items_;
};

__attribute__((noipa)) int throw_deep(int depth)
{
	std::string local(100 + static_cast<size_t>(depth), 'x'); // must be destroyed on the exit point
	if (depth == 0)
		throw std::runtime_error("a message long enough to be allocated on the heap, " + local);
	return throw_deep(depth - 1) + static_cast<int>(local.size());
}

__attribute__((noipa)) void huge_allocation()
{
	volatile size_t size = static_cast<size_t>(1) << 62;
	char *block = static_cast<char *>(::operator new(size));
	block[0] = 0;
	fail("an allocation of 4 EiB succeeded");
}

void one_round(int seed)
{
	catalogue books;
	long expected = 0;
	for (int i = 0; i < 40; i++) {
		books.add_item(seed + i);
		expected += static_cast<long>((seed + i) % 50 + 1) * (seed + i);
	}
	if (books.sum() != expected)
		fail("wrong sum");
	try {
		throw_deep(10);
		fail("no exception");
	} catch (const std::runtime_error &error) {
		if (std::string(error.what()).find("long enough") == std::string::npos)
			fail("wrong exception");
	}
	try {
		huge_allocation();
	} catch (const std::bad_alloc &) {
	}
	std::function<std::string(int)> closure = [text = std::string(200, 'y')](int i) {
		return text + std::to_string(i);
	};
	if (closure(seed).size() < 201)
		fail("wrong closure");
	rounds++;
}

} // namespace shop

int main()
{
	std::vector<std::thread> threads;
	std::atomic<int> started = 0;
	for (int i = 0; i < 3; i++)
		threads.emplace_back([i, &started] {
			started++;
			for (int seed = i; !shop::ends; seed = (seed + 1) % 1000)
				shop::one_round(seed);
		});
	while (started < 3)
		std::this_thread::yield();
	shop::catalogue lasting; // grows with each command, so that something is live
	std::puts("ready");
	std::fflush(stdout);
	int number = 0;
	for (std::string line; std::getline(std::cin, line);) {
		for (int i = 0; i < 100; i++)
			lasting.add_item(number++);
		std::printf("%lu\n", shop::rounds.load());
		std::fflush(stdout);
	}
	shop::ends = true;
	for (auto &thread : threads)
		thread.join();
	std::printf("ok %lu\n", shop::rounds.load());
	return 0;
}

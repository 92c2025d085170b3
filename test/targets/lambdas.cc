// SPDX-License-Identifier: Apache-2.0
// Threads that begin with lambdas, inlined into what std::thread is made of: no symbol is theirs. Each keeps blocks of
// its own size, and the program ends.
#include <cstdlib>
#include <functional>
#include <thread>

void *volatile kept[300];

int main()
{
	std::thread first([] {
		for (int i = 0; i < 100; i++)
			kept[i] = malloc(1111); // first
	});
	first.join();

	std::thread second([] {
		for (int i = 100; i < 150; i++)
			kept[i] = malloc(2222); // second
		for (int i = 150; i < 200; i++)
			kept[i] = malloc(2222); // second again
	});
	second.join();

	std::function<void()> third = [] {
		for (int i = 200; i < 300; i++)
			kept[i] = malloc(3333); // third
	};
	std::thread(third).join();
	return 0;
}

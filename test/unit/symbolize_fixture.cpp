// SPDX-License-Identifier: Apache-2.0
// A library whose calls of a callback stand in functions of known names and lines; symbolize_test asks for them.
// Compiled with -g -O2. The test knows how far a call stands behind its function's head.
// clang-format off
#define INLINED static inline __attribute__((always_inline))
#define OUT_OF_LINE __attribute__((noinline))

typedef void *callback();

extern "C" {
extern const int fixture_inner_line, fixture_middle_line, fixture_outer_line, fixture_method_line;
void *fixture_outer(callback *call);
void *fixture_method(callback *call);
void *fixture_local(callback *call);
void *fixture_lambda(callback *call);
void *fixture_hidden(callback *call);
}

// A call that is no tail call: something is left to do after it.
INLINED void *keep(void *address)
{
	__asm__ volatile("" : "+r"(address));
	return address;
}

const int fixture_inner_line = __LINE__ + 3;
INLINED void *inner(callback *call)
{
	return keep(call());
}

const int fixture_middle_line = __LINE__ + 3;
INLINED void *middle(callback *call)
{
	return keep(inner(call));
}

const int fixture_outer_line = __LINE__ + 3;
void *fixture_outer(callback *call)
{
	return keep(middle(call));
}

namespace fixture {

class Box {
public:
	OUT_OF_LINE void *fill(callback *call, int count);
	int filled = 0;
};

const int method_line = __LINE__ + 4;
void *Box::fill(callback *call, int count)
{
	filled += count;
	return keep(call());
}

} // namespace fixture

const int fixture_method_line = fixture::method_line;
void *fixture_method(callback *call)
{
	fixture::Box box;

	return keep(box.fill(call, 3));
}

namespace {
OUT_OF_LINE void *local_function(callback *call)
{
	return keep(call());
}
} // namespace

void *fixture_local(callback *call)
{
	return keep(local_function(call));
}

void *fixture_lambda(callback *call)
{
	auto lambda = [&](int) OUT_OF_LINE { return keep(call()); };

	return keep(lambda(1));
}

// Not exported, and behind what is: in the stripped file it has no name, but neighbours.
__attribute__((noinline, visibility("hidden"))) void *hidden_function(callback *call)
{
	return keep(call());
}

void *fixture_hidden(callback *call)
{
	return keep(hidden_function(call));
}

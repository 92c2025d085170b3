// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "views/qualified_name.h"
#include "views/short_name.h"

#include <stdlib.h>
#include <time.h>

#define STRING     "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
#define LIB_STRING "std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char> >"

struct name_case {
	const char *name, *expected;
};

static const struct name_case templates[] = {
	{ STRING "::reserve(unsigned long)", "std::string::reserve" },
	{ STRING "::basic_string(char const*, std::allocator<char> const&)", "std::string::string" },
	{ STRING "::~basic_string()", "std::string::~string" },
	{ "std::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> >::append(wchar_t const*)",
	  "std::wstring::append" },
	{ "std::basic_string<char, app::Traits, std::allocator<char> >::f()",
	  "std::basic_string<char, app::Traits>::f" },
	{ "std::basic_ostream<char, std::char_traits<char> >& std::endl<char, std::char_traits<char> >"
	  "(std::basic_ostream<char, std::char_traits<char> >&)",
	  "std::endl<char, std::char_traits<char>>" },
	{ LIB_STRING "::basic_string(char const*)", "std::string::string" },
	{ "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>"
	  "(__gnu_cxx::__normal_iterator<int*, std::vector<int, std::allocator<int> > >, int const&)",
	  "std::vector<int>::_M_realloc_insert<int const&>" },
	{ "std::vector<" STRING ", std::allocator<" STRING " > >::push_back(" STRING "&&)",
	  "std::vector<std::string>::push_back" },
	{ "std::__1::vector<" LIB_STRING ", std::__1::allocator<" LIB_STRING " > >::push_back(int)",
	  "std::vector<std::string>::push_back" },
	{ "std::unordered_map<" STRING ", shop::Item, std::hash<" STRING " >, std::equal_to<" STRING " >, "
	  "std::allocator<std::pair<" STRING " const, shop::Item> > >::operator[](" STRING " const&)",
	  "std::unordered_map<std::string, shop::Item>::operator[]" },
	{ "std::map<int, long, std::less<int>, std::allocator<std::pair<int const, long> > >::at(int const&)",
	  "std::map<int, long>::at" },
	{ "std::map<int, long, std::greater<int>, std::allocator<std::pair<int const, long> > >::at(int const&)",
	  "std::map<int, long, std::greater<int>>::at" },
	{ "std::unique_ptr<shop::Item, std::default_delete<shop::Item> >::~unique_ptr()",
	  "std::unique_ptr<shop::Item>::~unique_ptr" },
	{ "std::_Hashtable<int, std::pair<int const, long>, std::allocator<std::pair<int const, long> >, "
	  "std::__detail::_Select1st, std::equal_to<int>, std::hash<int>, std::__detail::_Mod_range_hashing, "
	  "std::__detail::_Default_ranged_hash, std::__detail::_Prime_rehash_policy, "
	  "std::__detail::_Hashtable_traits<false, false, true> >::_M_rehash(unsigned long)",
	  "std::_Hashtable<int, std::pair<int const, long>>::_M_rehash" },
	{ "std::__shared_count<(__gnu_cxx::_Lock_policy)2>::__shared_count<int>(int)",
	  "std::__shared_count::__shared_count<int>" },
	{ "app::A<app::B<app::C<app::D<int> >, int> >::f()", "app::A<app::B<app::C<…>, int>>::f" },
	{ "std::vector<std::map<" STRING ", std::vector<int, std::allocator<int> >, std::less<" STRING " >, "
	  "std::allocator<int> >, std::allocator<int> >::size()",
	  "std::vector<std::map<std::string, std::vector<…>>>::size" },
	{ "std::pair<std::less<int>, std::less<int> >::pair()", "std::pair<std::less<int>, std::less<int>>::pair" },
	{ "app::Map<int, std::less<int> >::f()", "app::Map<int, std::less<int>>::f" },
	{ "app::f<>()", "app::f<>" },
	{ "app::A<app::B<app::C<>, app::D<int> > >::f()", "app::A<app::B<app::C<>, app::D<…>>>::f" },
	{ "app::run<main::{lambda()}>()", "app::run<main::{lambda}>" },
	{ "std::array<int, 4ul>::at(unsigned long)", "std::array<int, 4ul>::at" },
	{ "std::enable_if<((sizeof (int))<(8)), int>::type app::f<int>(int)", "app::f<int>" },
	{ "void app::foo<(1)<(2)>()", "app::foo<(1)<(2)>" },
	{ "void app::foo<((1)>(2))>()", "app::foo<((1)>(2))>" },
	{ "void app::foo(app::X<(a<b)>)", "app::foo" },
	{ "void app::call<&app::A::operator()<int>, &app::B::operator<< >(int)",
	  "app::call<&app::A::operator()<int>, &app::B::operator<<>" },
};

static const struct name_case functions[] = {
	{ "main", "main" },
	{ "void f<int>(int)", "f<int>" },
	{ "shop::Cache::put(" STRING " const&)", "shop::Cache::put" },
	{ "unsigned long const* const& app::f<int>(int) const &", "app::f<int>" },
	{ "decltype ((declval<int>)()) app::f<int>(int)", "app::f<int>" },
	{ "decltype(auto) app::f<int>(int)", "app::f<int>" },
	{ "auto app::f<int>(int)", "app::f<int>" },
	{ "app::X::operator()(int) const", "app::X::operator()" },
	{ "app::X::operator()<int>(int) const", "app::X::operator()<int>" },
	{ "app::operator<(app::X const&, app::X const&)", "app::operator<" },
	{ "bool app::operator< <int>(app::X const&)", "app::operator< <int>" },
	{ "std::basic_ostream<char, std::char_traits<char> >& app::operator<< <int>(int)", "app::operator<< <int>" },
	{ "std::ostream& app::operator<<(std::ostream&, app::X)", "app::operator<<" },
	{ "app::X::operator->() const", "app::X::operator->" },
	{ "app::X::operator new[](unsigned long)", "app::X::operator new[]" },
	{ "operator new(unsigned long)", "operator new" },
	{ "operator delete(void*, unsigned long)", "operator delete" },
	{ "app::X::operator bool() const", "app::X::operator bool" },
	{ "app::X::operator std::vector<int, std::allocator<int> >() const", "app::X::operator std::vector<int>" },
	{ "app::operator\"\" _km(long double)", "app::operator\"\" _km" },
	{ "operator_table::f<int>(int)", "operator_table::f<int>" },
	{ "(anonymous namespace)::f(int)", "f" },
	{ "app::(anonymous namespace)::X::f(int)", "app::X::f" },
	{ "operator()", "{lambda}" },
	{ "f(int)::{lambda(auto:1)#1}::operator()(int) const", "f::{lambda#1}" },
	{ "auto f(int)::{lambda(auto:1)#2}::operator()<int>(int) const", "f::{lambda#2}" },
	{ "main::{lambda()#1}::_FUN()", "main::{lambda#1}" },
	{ "app::X::f(int) const::{lambda(int)#1}::operator()(int) const::{lambda()#2}::operator()() const",
	  "app::X::f::{lambda#1}::operator()::{lambda#2}" },
	{ "main::'lambda'(int)::operator()(int) const", "main::'lambda'" },
	{ "f(int)::Local::g(int)", "f::Local::g" },
	{ "std::_Function_handler<void (), main::{lambda()#1}>::_M_invoke(std::_Any_data const&)",
	  "std::_Function_handler<void (), main::{lambda#1}>::_M_invoke" },
	{ "void app::run<app::f(int) const::{lambda(int)#1}>(int)", "app::run<app::f::{lambda#1}>" },
	{ "std::function<int (" STRING ", int)>::operator()(int) const",
	  "std::function<int (std::string, int)>::operator()" },
	{ "app::f[abi:cxx11](int)", "app::f" },
	{ "app::f(int) [clone .isra.0]", "app::f" },
	{ "app::f(int) const [clone .constprop.0] [clone .cold]", "app::f" },
	{ "non-virtual thunk to app::X::f(int)", "app::X::f" },
	{ "grow.isra.0", "grow" },
	{ "grow.constprop.0.cold", "grow" },
	{ "grow.part.12", "grow" },
	{ "grow.partial", "grow.partial" },
	{ "malloc@plt", "malloc@plt" },
};

static const struct name_case rust_names[] = {
	{ "app::cache::put::h0123456789abcdef", "app::cache::put" },
	{ "app::cache::h0123456789abcdeg", "app::cache::h0123456789abcdeg" },
	{ "core::ptr::drop_in_place<alloc::vec::Vec<u8>>", "core::ptr::drop_in_place<alloc::vec::Vec<u8>>" },
	{ "core::ptr::drop_in_place::<alloc::vec::Vec<u8>>", "core::ptr::drop_in_place::<alloc::vec::Vec<u8>>" },
	{ "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop::h0123456789abcdef",
	  "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop" },
	{ "<alloc::vec::Vec<u8, alloc::alloc::Global>>::push", "<alloc::vec::Vec<u8>>::push" },
	{ "app[3c1c0]::main::{closure#0}", "app::main::{closure}" },
	{ "app::main::{{closure}}", "app::main::{closure}" },
	{ "app::main::{{closure}}::{{closure}}::h0123456789abcdef", "app::main::{closure}::{closure}" },
	{ "app::x::<impl core::fmt::Debug for app::X>::fmt", "app::x::<impl core::fmt::Debug for app::X>::fmt" },
	{ "core::ops::function::FnOnce::call_once{{vtable.shim}}", "core::ops::function::FnOnce::call_once" },
	{ "<F as core::ops::function::FnOnce<(A,B)>>::call_once",
	  "<F as core::ops::function::FnOnce<(A,B)>>::call_once" },
	{ "app::call::<fn(u8) -> u8>", "app::call::<fn(u8) -> u8>" },
};

// What is not understood stays.
static const char *const stays[] = {
	"",
	"-[Store put:with:]",
	"main.(*Cache).Put",
	"github.com/some/thing.Run",
	"app::f<int",
	"app::f(int",
	"app::>f",
	"app::",
	"::",
	"a b ",
	"void (*app::f<int>(int))(char)",
	"int app::X::*f",
	"int*",
	"app::f(int) strange",
	"<",
	"<>",
	"operator",
	"_ZN3appclsIiEEvT_",
	"f(int)::{lambda(",
	"app::f<(>)",
	"std::vector<std::vector<int>::f()",
};

static void check_name(const char *name, const char *expected)
{
	char *text = NULL;

	CHECK(!short_name(name, &text));
	CHECK_STRING(text, expected);
	free(text);
}

static void check_cases(const struct name_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check_name(cases[i].name, cases[i].expected);
}

// Each beginning and each end of a name: nothing is read behind the end, and what comes is some text.
static void test_cut_names(const struct name_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(cases[i].name);

		for (size_t cut = 0; cut <= size; cut++) {
			char *copy = strndup(cases[i].name, cut), *text = NULL;

			CHECK(copy && !short_name(copy, &text));
			free(copy);
			free(text);
			text = NULL;
			CHECK(!short_name(cases[i].name + cut, &text));
			free(text);
		}
	}
}

static char *repeated(const char *first, const char *open, size_t count, const char *close, const char *last)
{
	size_t size = strlen(first) + count * (strlen(open) + strlen(close)) + strlen(last);
	char *text = malloc(size + 1), *at = text;

	if (!text)
		abort();
	at = stpcpy(at, first);
	for (size_t i = 0; i < count; i++)
		at = stpcpy(at, open);
	for (size_t i = 0; i < count; i++)
		at = stpcpy(at, close);
	stpcpy(at, last);
	return text;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// Names that are long and deep, each many times: quadratic time would take minutes.
static void test_hostile_names(void)
{
	static const struct {
		const char *first, *open;
		size_t count;
		const char *close, *last, *expected; // NULL = as it is
	} cases[] = {
		{ "f", "<a", 4000, ">", "", "f<a<a<…>>>" },
		{ "f", "<", 4000, ">", "", "f<<<…>>>" },
		{ "f", "(", 4000, ")", "", "f" },
		{ "f<int", "(", 4000, ")>", "", NULL },
		{ "f<", "a(", 8000, ")", ">", NULL },
		{ "f<", "a(", 4000, ")", "", NULL },
		{ "f", "<(", 4000, ")>", "", "f<(<(<…>)>)>" },
		{ "f", "<", 9000, ">", "", NULL },
		{ "f", "<", 8000, "", "", NULL },
		{ "f", "::a", 8000, "", "", NULL },
		{ "f", ">", 8000, "", "", NULL },
		{ "f<(", "<", 8000, "", "", NULL },
		{ "f", " a", 8000, "", "", "a" },
		{ "f<a", ",a", 8000, "", "", NULL },
		{ "<", "&", 8000, "", "", NULL },
		{ "", "operator", 2000, "", "", "" },
	};
	double begin = seconds();

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *name = repeated(cases[i].first, cases[i].open, cases[i].count, cases[i].close, cases[i].last);

		for (int round = 0; round < CHECK_TIMES(50, 5); round++) {
			char *text = NULL;

			CHECK(!short_name(name, &text));
			if (cases[i].expected && cases[i].expected[0])
				CHECK_STRING(text, cases[i].expected);
			else if (!cases[i].expected)
				CHECK_STRING(text, name);
			free(text);
		}
		free(name);
	}
	CHECK(seconds() - begin < 5);
}

static void test_parts(void)
{
	static const char text[] =
		"std::vector<int>& shop::Cache<int, char>::find(int)::X::g(long, char) const [clone .cold]";
	struct qualified_name name;
	struct name_text list, item;

	CHECK(name_parse(name_of(text, strlen(text)), &name));
	CHECK_EQUAL(name.count, 5);
	CHECK(name_is(name.return_type, "std::vector<int>&"));
	CHECK(name_is(name.parts[1].word, "Cache"));
	CHECK(name_is(name.parts[1].arguments, "int, char"));
	CHECK(name_is(name.parts[2].parameters, "int"));
	CHECK(name_is(name.parts[4].parameters, "long, char"));
	CHECK(name_is(name.path, "shop::Cache<int, char>::find(int)::X::g"));
	CHECK(name_is(name.suffix, " [clone .cold]"));
	list = name.parts[4].parameters;
	CHECK(name_next_item(&list, &item) && name_is(item, "long"));
	CHECK(name_next_item(&list, &item) && name_is(item, "char"));
	CHECK(!name_next_item(&list, &item));
}

#define CASES(cases) (cases), sizeof(cases) / sizeof((cases)[0])

int main(void)
{
	check_cases(CASES(templates));
	check_cases(CASES(functions));
	check_cases(CASES(rust_names));
	for (size_t i = 0; i < sizeof(stays) / sizeof(stays[0]); i++)
		check_name(stays[i], stays[i]);
	test_cut_names(CASES(templates));
	test_cut_names(CASES(functions));
	test_cut_names(CASES(rust_names));
	test_hostile_names();
	test_parts();
	return CHECK_RESULT();
}

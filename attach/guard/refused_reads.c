// SPDX-License-Identifier: Apache-2.0
#include "attach/guard/refused_reads.h"

#include <errno.h>
#include <inttypes.h>

enum { PAGES_MAX = 64 };

static struct {
	bool is_on;
	bool any; // files, or pages of them
	uint64_t pages[PAGES_MAX];
	size_t page_count; // 0 = none
	uint64_t unobtainable[PAGES_MAX];
	size_t unobtainable_count;
} refused;

void refused_reads_begin(void)
{
	refused.is_on = true;
	refused.any = false;
	refused.page_count = 0;
}

void refused_reads_end(void) { refused.is_on = false; }

struct hs_error *refused_reads_file(void)
{
	if (!refused.is_on)
		return NULL;
	refused.any = true;
	return refused_reads_error();
}

struct hs_error *refused_reads_page(uint64_t address)
{
	for (size_t i = 0; i < refused.unobtainable_count; i++)
		if (refused.unobtainable[i] == address)
			return hs_error_fault(EFAULT, address, "the page at 0x%" PRIx64 " cannot be read", address);
	refused.any = true;
	if (refused.page_count < PAGES_MAX)
		refused.pages[refused.page_count++] = address;
	return refused_reads_error();
}

void refused_reads_page_is_unobtainable(uint64_t address)
{
	if (refused.unobtainable_count < PAGES_MAX)
		refused.unobtainable[refused.unobtainable_count++] = address;
}

size_t refused_reads_pages(const uint64_t **ret)
{
	*ret = refused.pages;
	return refused.page_count;
}

bool refused_reads_any(void) { return refused.any; }

struct hs_error *refused_reads_error(void)
{
	if (refused.page_count > 0)
		return hs_error_create(
			HS_ERROR_REFUSED,
			"a page of a file that the process has mapped is not in memory, and none is read of a file while "
			"the process is stopped; try again");
	return hs_error_create(
		HS_ERROR_REFUSED,
		"the process has mapped a file since it was examined, and no file is read while it is stopped; try again");
}

// SPDX-License-Identifier: Apache-2.0
// What a series of figures does over time: rises, stays, levels off; with how sure that is. Pure.
#ifndef HEAPSNAP_VIEWS_TREND_H
#define HEAPSNAP_VIEWS_TREND_H

#include <stdbool.h>
#include <stddef.h>

enum { TREND_LEAST = 3, TREND_MOST = 64 }; // values

struct trend {
	double first, last, most; // values
	double seconds;           // from the first to the last
	double gained;            // last - first
	double fallen;            // the most by which a value is below an earlier one
	size_t intervals, risen;  // from value to value, and in how many of them there was more than noise to gain
	double largest;           // the most gained in one
	// A second: the median of the slopes between all two values (Theil and Sen), and never outside of early and
	// late.
	double rate;
	// Its standard error: of how far the values lie from a line, and of how far each may be off by itself.
	double error;
	double early, late; // rates of the first half and of the last one; both have the middle value, or the two there
	bool rises, falls;  // by more than three standard errors, and from first to last by half as much at least
	bool levels_off;    // has risen, and has not any more in the second half
	bool is_known;      // there are values enough; else only first to gained are filled
};

// `errors`: standard error of each value, NULL = exact; those of one series may depend on each other in any way.
// pre: seconds rise; count <= TREND_MOST
struct trend trend_make(const double *seconds, const double *values, const double *errors, size_t count);

#endif

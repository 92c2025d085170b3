// SPDX-License-Identifier: Apache-2.0
// What pprof is told to hide, by a profile's drop_frames and keep_frames. Pure.
//
// pprof goes along a stack from its root and takes away the first frame whose name drop_frames matches and keep_frames
// does not, with all that it calls. So "std::vector<.*>::emplace_back" as such would hide a constructor of the user's
// that emplace_back calls. What is made here hides allocators, wrappers and containers and nothing else: patterns are
// those that match a function of the profile, and a function that calls anything else in any stack is to be kept.
#ifndef HEAPSNAP_VIEWS_DROP_FRAMES_H
#define HEAPSNAP_VIEWS_DROP_FRAMES_H

#include "base/error.h"
#include "views/frame_rules.h"
#include "views/named_profile.h"

// Regular expressions of RE2, which match whole names as pprof shortens them; owned; NULL = none is needed.
struct drop_frames {
	char *drop, *keep;
};

// *ret is owned by the caller. What is hidden is by name alone:
// functions that modules, files or rules of the user's give their class stay. So does what a pattern matches whose
// functions that are to be kept have longer names than a file should be burdened with. HS_ERROR_NO_MEMORY.
struct hs_error *drop_frames_make(const struct named_profile *named, struct drop_frames *ret) HS_MUST_CHECK;
void drop_frames_deinit(struct drop_frames *frames);

#endif

// SPDX-License-Identifier: Apache-2.0
// What the tool has changed of what it was started with, for a program that it starts itself: that gets all of it as
// it was.
#ifndef HEAPSNAP_BASE_INHERITED_STATE_H
#define HEAPSNAP_BASE_INHERITED_STATE_H

// Once, before anything of it is changed: standard streams, limits, signals.
void inherited_state_note(void);

// In a child that is about to execute a program. Async-signal-safe. Signals that the tool handles get their default
// action. What cannot be set back stays. pre: noted
void inherited_state_restore(void);

#endif

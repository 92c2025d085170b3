// SPDX-License-Identifier: Apache-2.0
// What writer and reader of profiles call alike.
#ifndef HEAPSNAP_PROTO_PPROF_PPROF_NAMES_H
#define HEAPSNAP_PROTO_PPROF_PPROF_NAMES_H

// How a sample that has no frame at all is shown. It must not be lost, and one without a location has no name.
#define PPROF_NO_STACK "[stack unknown]"

#endif

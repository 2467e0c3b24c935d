/*
 * tests/replay/net_trace.h - a net file run without data, as a trace in memory.
 */
#ifndef TESTS_REPLAY_NET_TRACE_H
#define TESTS_REPLAY_NET_TRACE_H

#include "replay/trace/trace.h"

/* `toggles`: "name=value name=value", or NULL. The caller frees it. Fails the running test where the net does not run. */
struct rpl_trace *net_trace(const char *path, const char *toggles);

#endif

/* tests/replay/net_trace.h - runs a net file without data into a trace in memory. */
#ifndef TESTS_REPLAY_NET_TRACE_H
#define TESTS_REPLAY_NET_TRACE_H

#include "replay/trace/trace.h"

/*
 * `toggles`: "name=value name=value", or NULL. The caller frees the trace. Fails the running test if the net cannot be
 * run.
 */
struct rpl_trace *net_trace(const char *path, const char *toggles);

#endif

/*
 * tests/store/old/old_trace.h - a trace as the program wrote it before version 6 of the format.
 */
#ifndef TESTS_STORE_OLD_OLD_TRACE_H
#define TESTS_STORE_OLD_OLD_TRACE_H

/*
 * Store the events and tensors of the trace at `path` as version 5 did, with its views and version number. Fails the
 * running test where that fails.
 */
void old_trace_make(const char *path);

#endif

/*
 * tests/facts/record.h - recordings in files, as the record command makes them, and what-if questions to them.
 *
 * For:            test_whatif.c and the random nets of tests/property.
 * Must not know:  which nets are run.
 * Invariant:      a recording has been written to a file and read again before it is asked, as a user's has.
 */
#ifndef TESTS_FACTS_RECORD_H
#define TESTS_FACTS_RECORD_H

#include "tests/facts/facts.h"

/* The trace of a recording with `toggles` on cpu (has_data) or meta; the caller's. Fails the test where the net does not run. */
struct rpl_trace *facts_record(const struct facts_net *net, const char *toggles, bool has_data);

/* The answer of a what-if with `pairs`, the caller's; NULL where it is refused, and `err` says why. */
struct rpl_trace *facts_whatif(struct rpl_trace *base, const char *pairs, struct vs_error *err);

#endif

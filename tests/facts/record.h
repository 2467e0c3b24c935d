/*
 * tests/facts/record.h - recordings in files, as the record command makes them, and what-ifs of them.
 *
 * For:            test_whatif.c and the random nets of tests/property.
 * Must not know:  which nets are run.
 * Invariant:      a recording has been written to a file and read again before a what-if, as a user's has.
 */
#ifndef TESTS_FACTS_RECORD_H
#define TESTS_FACTS_RECORD_H

#include "tests/facts/facts.h"

/*
 * The trace of a recording with `toggles` on cpu (has_data) or meta; the caller frees it. Fails the test if the net
 * cannot be run.
 */
struct rpl_trace *facts_record(const struct facts_net *net, const char *toggles, bool has_data);

/*
 * The result of a what-if with the toggles `pairs`, freed by the caller; NULL if it is refused, with the reason in
 * `err`.
 */
struct rpl_trace *facts_whatif(struct rpl_trace *base, const char *pairs, struct vs_error *err);

#endif

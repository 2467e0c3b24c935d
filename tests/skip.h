/*
 * tests/skip.h - skips a test with a reason: tools/run-tests.sh and `make check` print all reasons at the end.
 */
#ifndef TESTS_SKIP_H
#define TESTS_SKIP_H

#include "base/attr.h"

/* Skips the running test. why: what is missing on this machine or in this build, one line. Does not return. */
void tests_skip(const char *why, ...) VS_PRINTF(1, 2);

#endif

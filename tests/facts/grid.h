/*
 * tests/facts/grid.h - the nets and toggles that the facts are checked with.
 *
 * For:            the test programs of this folder.
 * Must not know:  what is checked.
 * Invariant:      every file in sample_nets/ has a row (checked by tests/facts/test_devices.c), every toggle occurs.
 */
#ifndef TESTS_FACTS_GRID_H
#define TESTS_FACTS_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/facts/facts.h"

/*
 * A net, made small enough for real arithmetic.
 *
 * small    constants of the file to change ("LAYERS=2 TOKENS=16"), "" for none
 * toggles  toggles to run it with
 */
struct facts_sample {
    const char *path;
    const char *small;
    const char *toggles;
};

/* One row per file in sample_nets. With FACTS_FULL=1 in the environment only the batch is made smaller. */
extern const struct facts_sample FACTS_SAMPLES[];
extern const size_t FACTS_SAMPLE_COUNT;
struct facts_net facts_sample_read(const struct facts_sample *sample);

/* Small nets of tests/nets and sample_nets, which are run with every toggle. */
extern const char *const FACTS_SMALL[];
extern const size_t FACTS_SMALL_COUNT;

/* Of the toggles of each of these nets one in so many is run, another one with each net (tests_share). */
#define FACTS_SHARE 3

/*
 * Toggle settings number `i`: first each toggle alone, then some combinations ("amp=fp16 checkpoint=blocks"). `buf`
 * has FACTS_PAIRS_MAX bytes. Returns false past the end.
 */
#define FACTS_PAIRS_MAX 2048
bool facts_pairs(size_t i, char *buf);

#endif

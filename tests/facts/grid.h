/*
 * tests/facts/grid.h - which nets and toggles the facts are checked on.
 *
 * For:            the test programs of this folder.
 * Must not know:  what is checked.
 * Invariant:      every file in sample_nets/ has a row (tests/facts/test_devices.c looks), every toggle comes up.
 */
#ifndef TESTS_FACTS_GRID_H
#define TESTS_FACTS_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/facts/facts.h"

/*
 * A net, made small enough for real arithmetic: `small` are constants of the file ("LAYERS=2 TOKENS=16"), "" changes none.
 * toggles: what to run it with.
 */
struct facts_sample {
    const char *path;
    const char *small;
    const char *toggles;
};

/* One row a file in sample_nets. With FACTS_FULL=1 in the environment nothing is made smaller but the batch. */
extern const struct facts_sample FACTS_SAMPLES[];
extern const size_t FACTS_SAMPLE_COUNT;
struct facts_net facts_sample_read(const struct facts_sample *sample);

/* Small nets of tests/nets and sample_nets on which every toggle is tried. */
extern const char *const FACTS_SMALL[];
extern const size_t FACTS_SMALL_COUNT;

/*
 * Toggle settings number `i`: each toggle alone, then some together ("amp=fp16 checkpoint=blocks"). `buf` has FACTS_PAIRS_MAX
 * bytes. False past the end.
 */
#define FACTS_PAIRS_MAX 1024
bool facts_pairs(size_t i, char *buf);

#endif

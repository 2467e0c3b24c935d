/*
 * tests/property/netgen.h - generates random nets in the net language, and random toggles for them.
 *
 * For:            test_random_nets.c. It also wrote the nets in tests/nets/random, whose figures were measured with
 *                 PyTorch.
 * Must not know:  the engine.
 * Invariant:      the text is a pure function of the seed, and also runs under PyTorch.
 */
#ifndef TESTS_PROPERTY_NETGEN_H
#define TESTS_PROPERTY_NETGEN_H

#include <stddef.h>
#include <stdint.h>

/*
 * The net of `seed`, freed by the caller (vs_free): a stem, two to four blocks of random ops on images, sequences or
 * vectors, and a head.
 */
char *netgen_net(uint64_t seed);

/*
 * Up to four toggles with random values, "amp=fp16 checkpoint=blocks"; "" for none. `buf` has NETGEN_TOGGLES_MAX
 * bytes.
 */
#define NETGEN_TOGGLES_MAX 256
void netgen_toggles(uint64_t seed, char *buf);

#endif

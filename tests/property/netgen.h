/*
 * tests/property/netgen.h - random nets in the net language, and random toggles for them.
 *
 * For:            test_random_nets.c; the nets in tests/nets/random that real PyTorch has measured were written by it.
 * Must not know:  the engine.
 * Invariant:      the text is a pure function of the seed. It also runs under PyTorch.
 */
#ifndef TESTS_PROPERTY_NETGEN_H
#define TESTS_PROPERTY_NETGEN_H

#include <stddef.h>
#include <stdint.h>

/* The net of `seed`, the caller's (vs_free): a stem, two to four blocks of random ops over images, sequences or vectors, a head. */
char *netgen_net(uint64_t seed);

/* Up to four toggles with random values, "amp=fp16 checkpoint=blocks"; "" for none. buf of NETGEN_TOGGLES_MAX bytes. */
#define NETGEN_TOGGLES_MAX 256
void netgen_toggles(uint64_t seed, char *buf);

#endif

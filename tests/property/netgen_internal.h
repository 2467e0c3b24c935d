/*
 * tests/property/netgen_internal.h - shared by the parts of netgen: the random numbers, and the text around the
 * blocks.
 *
 * Must not know:  the engine.
 * Invariant:      random numbers come only from netgen_draw, so the text is a pure function of the seed.
 */
#ifndef TESTS_PROPERTY_NETGEN_INTERNAL_H
#define TESTS_PROPERTY_NETGEN_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum { IMAGE = 1, SEQUENCE = 2, VECTOR = 4, ANY = 7 };

struct gen {
    uint64_t random;
    struct vs_text modules; /* lines of __init__ of the block being written */
    struct vs_text forward;
    int module_count;
    int kind; /* IMAGE, SEQUENCE, VECTOR */
};

/* A random number from 0 to below - 1. */
uint32_t netgen_draw(struct gen *g, uint32_t below);
void netgen_seed(struct gen *g, uint64_t seed);

/* Add the functions and classes of netgen_helpers.def that `body` calls, directly or through others. */
void netgen_add_helpers(struct vs_text *out, const char *body);

/* Add loss(), optimizer() and train_step(), each with some probability. */
void netgen_add_training(struct gen *g, struct vs_text *out);

#endif

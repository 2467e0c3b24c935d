/*
 * tests/engine/rig.h - a context with an observer that records all events, for tests of the engine.
 *
 * For:            tests/engine/autograd/test_autograd.c and other tests of the engine.
 * Must not know:  what any test is about.
 * Invariant:      a rig that is released has no live storage, no saved byte and no failure left; otherwise the test
 *                 fails.
 */
#ifndef TESTS_ENGINE_RIG_H
#define TESTS_ENGINE_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/event.h"
#include "engine/autograd/autograd.h"
#include "engine/core/engine_internal.h"

struct rig {
    struct eng *e;
    struct eng_observer observer;
    struct vs_event *events;
    size_t count, cap;
    char **strings;
    size_t string_count, string_cap;
    struct vs_location *locations;
    size_t location_count, location_cap;
    uint64_t tensors; /* announced so far */
    struct vs_tensor_desc last_tensor;
    bool is_meta;
};

/* A context on cpu, or on meta (no kernels), with unlimited device memory. */
void rig_init(struct rig *rig, bool is_meta);
/* As rig_init, with a device of `capacity` bytes. */
void rig_init_small(struct rig *rig, uint64_t capacity);
/* A context on a device plugin, which must outlive it. */
void rig_init_on(struct rig *rig, const struct eng_device *device);
void rig_release(struct rig *rig);

/* The text of a string id; "" for 0. */
const char *rig_string(const struct rig *rig, uint64_t id);
/* Discards the events so far. */
void rig_clear(struct rig *rig);
/* The number of events of this kind since the last clear. */
size_t rig_count(const struct rig *rig, enum vs_event_kind kind);
/*
 * The allocator events since the last clear as text: "+24 -24@1 " is an allocation of 24 bytes and the free of the
 * first block (blocks count from 1 since the last clear; "-24@0" is one allocated before). `with_saves` adds "s24@1 "
 * (saved) and "u24@1 " (saved tensor released). buf has `size` bytes and is returned.
 */
const char *rig_memory_text(const struct rig *rig, bool with_saves, char *buf, size_t size);

/*
 * A program whose events under PyTorch are known: tests/golden/oracle/autograd_cases.txt has them under `name`, made by
 * tests/oracle/autograd_cases.py. x and y are leaves [2,3], w is one of [3,3], all float32, h is a leaf [2,3] of
 * float16.
 */
struct rig_program {
    const char *name;
    void (*run)(struct eng *e, struct eng_tensor *x, struct eng_tensor *y, struct eng_tensor *w,
                struct eng_tensor *h);
};
/* Runs each on cpu and on meta, names those that differ, and fails the test if one does. */
void rig_run_programs(const struct rig_program *programs, size_t count);

/*
 * Takes the context's failure, which must exist, and returns its status. Its text must contain `text_part` (NULL: any).
 */
enum vs_status rig_take_failure(struct rig *rig, const char *text_part);

/* A dense device tensor with the given values (row-major), NULL: zeros. Any floating dtype or int64. */
struct eng_tensor *rig_tensor(struct rig *rig, enum vs_dtype dtype, int ndim, const int64_t *sizes,
                              const double *values);
/* A leaf with values of the test formula (key), float64, that requires grad. */
struct eng_tensor *rig_leaf(struct rig *rig, int ndim, const int64_t *sizes, uint32_t key);

/* Element i (row-major by the tensor's own sizes) as a double, whatever its strides and dtype. 0 on meta. */
double rig_value(const struct eng_tensor *t, int64_t i);
void rig_set_value(struct eng_tensor *t, int64_t i, double value);

/*
 * Value i of a formula key: exact in 24 bits, in [-1, 1). The random word, and the value. See tests/oracle/README.md.
 */
uint32_t rig_formula_word(uint32_t key, uint32_t i);
double rig_formula(uint32_t key, uint32_t i);

/* t.sum() over all elements, a new tensor. */
struct eng_tensor *rig_sum(struct rig *rig, struct eng_tensor *t);
/* Runs backward from a scalar; fails the test if the engine fails. */
void rig_backward(struct rig *rig, struct eng_tensor *loss);

#endif

/*
 * tests/engine/rig.h - a context with an observer that writes everything down, for tests of the engine.
 *
 * For:            tests/engine/autograd/test_autograd.c and its neighbours.
 * Must not know:  what any test is about.
 * Invariant:      a rig that is released has no live storage, no saved byte and no failure left, or the test fails.
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
    uint64_t tensors; /* told of so far */
    bool is_meta;
};

/* cpu, or meta (no kernels). Device memory without end. */
void rig_init(struct rig *rig, bool is_meta);
/* As rig_init on a device of `capacity` bytes. */
void rig_init_small(struct rig *rig, uint64_t capacity);
/* A context on a device of its own, which must outlive it. */
void rig_init_on(struct rig *rig, const struct eng_device *device);
void rig_release(struct rig *rig);

/* The text of a string id; "" for 0. */
const char *rig_string(const struct rig *rig, uint64_t id);
/* Forget the events so far. */
void rig_clear(struct rig *rig);
/* How many events of this kind since the last clear. */
size_t rig_count(const struct rig *rig, enum vs_event_kind kind);
/*
 * The events of allocation since the last clear as text: "+24 -24@1 " is 24 bytes taken and the block of the first alloc given back
 * (blocks count from 1 since the last clear; "-24@0" was there before). `with_saves` adds "s24@1 " and "u24@1 ". buf of `size` bytes; returned.
 */
const char *rig_memory_text(const struct rig *rig, bool with_saves, char *buf, size_t size);

/*
 * A program whose events PyTorch's are known: tests/golden/oracle/autograd_cases.txt has them under `name`, made by
 * tests/oracle/autograd_cases.py. x and y are leaves [2,3], w is one of [3,3], all float32, h is a leaf [2,3] of float16.
 */
struct rig_program {
    const char *name;
    void (*run)(struct eng *e, struct eng_tensor *x, struct eng_tensor *y, struct eng_tensor *w,
                struct eng_tensor *h);
};
/* Runs each on the CPU device and on meta, says which ones differ, fails the test if one does. */
void rig_run_programs(const struct rig_program *programs, size_t count);

/* The failure's status; it is taken, and must be there. `text_part` must be in its words (NULL: anything). */
enum vs_status rig_take_failure(struct rig *rig, const char *text_part);

/* A dense tensor on the device with the values given (row-major); values may be NULL for zeros. Any floating dtype or i64. */
struct eng_tensor *rig_tensor(struct rig *rig, enum vs_dtype dtype, int ndim, const int64_t *sizes,
                              const double *values);
/* A leaf with values of the test formula (key), float64, that requires grad. */
struct eng_tensor *rig_leaf(struct rig *rig, int ndim, const int64_t *sizes, uint32_t key);

/* Element i (row-major by the tensor's own sizes) as a double, whatever strides and dtype. 0 on meta. */
double rig_value(const struct eng_tensor *t, int64_t i);
void rig_set_value(struct eng_tensor *t, int64_t i, double value);

/* Value i of key: exact in 24 bits, in [-1, 1). The word itself, and the value. See tests/oracle/README.md. */
uint32_t rig_formula_word(uint32_t key, uint32_t i);
double rig_formula(uint32_t key, uint32_t i);

/* t.sum(), the sum over everything, new. */
struct eng_tensor *rig_sum(struct rig *rig, struct eng_tensor *t);
/* Backward from a scalar; fails the test if the engine fails. */
void rig_backward(struct rig *rig, struct eng_tensor *loss);

#endif

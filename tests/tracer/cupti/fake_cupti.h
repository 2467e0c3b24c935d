/*
 * tests/tracer/cupti/fake_cupti.h - a simulated table of CUPTI's functions: calls are counted, and one can be made to
 * fail. The test defines the work of the device; it becomes records in the buffers that the caller supplied, and these
 * are delivered from another thread when the test requests it.
 *
 * For:            tests of tracer/cupti/, and the library of twin/cupti_library.c, which a whole run loads in place of
 *                 CUPTI.
 * Must not know:  what is done with the records.
 * Invariant:      as in CUPTI, the record that links a call with its op is directly before the record of the call;
 *                 records of device work are in separate buffers.
 */
#ifndef TESTS_TRACER_FAKE_CUPTI_H
#define TESTS_TRACER_FAKE_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef VS_CUPTI

#include "tracer/cupti/cupti_api.h"

enum fake_cupti_call {
#define CUPTI_API(name, args) FAKE_##name,
#include "tracer/cupti/cupti_api.def"
#undef CUPTI_API
    FAKE_CUPTI_COUNT
};

const char *fake_cupti_name(enum fake_cupti_call call);
const struct cupti_api *fake_cupti_api(void);

/* Everything as at the start: no calls, no buffers; the `nth` (from 1; 0: none) call of `call` gives `failure`. */
void fake_cupti_begin(enum fake_cupti_call call, uint64_t nth, CUptiResult failure);
uint64_t fake_cupti_calls(enum fake_cupti_call call);
bool fake_cupti_has_failed(void);
/* Kinds that are on, a subscriber, ids pushed and not popped, buffers not delivered. */
uint64_t fake_cupti_left(void);

/* The thread calls a function of CUDA's (runtime, number `id`). Returns the correlation id. */
uint32_t fake_cupti_call(CUpti_CallbackId id);
/* The same, and the device runs, copies or fills something for `ns`. ns 0: no time was taken. */
uint32_t fake_cupti_launch(const char *name, uint64_t ns);
uint32_t fake_cupti_copy(CUpti_ActivityMemcpyKind kind, uint64_t bytes, uint64_t ns);
uint32_t fake_cupti_fill(uint64_t bytes, uint64_t ns);
/* cudaMalloc, cudaFree; from_driver: by cuMemAlloc_v2, cuMemFree_v2 of the library `source`. */
void fake_cupti_malloc(uint64_t address, uint64_t bytes);
void fake_cupti_free(uint64_t address, uint64_t bytes);
void fake_cupti_memory(CUpti_ActivityMemoryOperationType operation, CUpti_ActivityMemoryKind kind,
                       uint64_t address, uint64_t bytes, bool from_driver, const char *source);
void fake_cupti_pool(uint64_t bytes);
/* cuMemCreate: the subscriber is called, at its entry and exit. */
void fake_cupti_create(uint64_t bytes, CUresult result);
/* Any record, into the device's buffer. Kinds that the fake does not know have FAKE_CUPTI_ODD_BYTES. */
#define FAKE_CUPTI_ODD_BYTES 16u
void fake_cupti_record(const void *record, size_t bytes);

/* Number of records that did not fit: reported with the next buffer that is delivered. */
void fake_cupti_drop(uint64_t count);
/* The buffer being filled with what the device did ends so many bytes early. */
void fake_cupti_cut(size_t bytes);

/* All buffers are delivered by another thread; FAKE_NEWEST_FIRST: those of the device first, and the last one first. */
enum fake_cupti_order { FAKE_OLDEST_FIRST, FAKE_NEWEST_FIRST };
void fake_cupti_deliver(enum fake_cupti_order order);
/* One buffer, as it is; it is given back by the callback. */
void fake_cupti_deliver_buffer(const void *bytes, size_t count);

#endif

#endif

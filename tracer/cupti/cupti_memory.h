/*
 * tracer/cupti/cupti_memory.h - compares the memory that CUPTI reports with the memory that the engine's device
 * requested. The rest is foreign.
 *
 * For:            cupti_session.c.
 * Must not know:  CUPTI, files, threads.
 * Invariant:      each reported allocation and free is matched with one request at the same address (and of the same
 *                 size, for allocations), in either order; otherwise it is foreign.
 */
#ifndef TRC_CUPTI_MEMORY_H
#define TRC_CUPTI_MEMORY_H

#include "store/work.h"
#include "tracer/cupti/cupti_record.h"

struct cupti_memory;

/*
 * seen     reported allocations and frees
 * foreign  of these, the ones without a request, at the end
 * unseen   requests without a report, at the end: a record was dropped
 * pools    memory pools created: the engine creates none
 */
struct cupti_memory_counts {
    uint64_t seen;
    uint64_t foreign;
    uint64_t unseen;
    uint64_t pools;
};

/* The name of a CUDA function, by its callback id. */
typedef const char *cupti_call_name_fn(void *user, uint32_t call, bool is_driver);

struct cupti_memory *cupti_memory_new(void) VS_MUST_USE;
void cupti_memory_free(struct cupti_memory *m);

/* The device requested this; `bytes` of a free are ignored. */
void cupti_memory_asked(struct cupti_memory *m, bool is_taken, uint64_t address, uint64_t bytes);
/* CUPTI reported TAKEN, GIVEN or POOL, with its call. The record's name must be valid as long as `m`. */
void cupti_memory_seen(struct cupti_memory *m, const struct cupti_record *record);

/* The device created physical memory with cuMemCreate. It has no address and is matched by size. */
void cupti_memory_created_asked(struct cupti_memory *m, uint64_t bytes);
void cupti_memory_created_seen(struct cupti_memory *m, uint64_t op_seq, uint64_t bytes);

/*
 * No more reports will come. Return the foreign memory by function, library and op, for store/work.h. The caller frees
 * the array with vs_free(); its strings are borrowed from the records and from `name`.
 */
void cupti_memory_end(struct cupti_memory *m, cupti_call_name_fn *name, void *user,
                      struct sto_foreign **out, size_t *count);

const struct cupti_memory_counts *cupti_memory_counts(const struct cupti_memory *m);

#endif

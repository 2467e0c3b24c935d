/*
 * tracer/cupti/cupti_memory.h - memory that CUPTI saw against memory that our device asked for: what is left over is foreign.
 *
 * For:            cupti_session.c.
 * Must not know:  CUPTI, files, threads.
 * Invariant:      each allocation and each free that was seen answers to one that was asked for, at the same address and, of allocations, of as
 *                 many bytes, whichever was told first; or it is foreign.
 */
#ifndef TRC_CUPTI_MEMORY_H
#define TRC_CUPTI_MEMORY_H

#include "store/work.h"
#include "tracer/cupti/cupti_record.h"

struct cupti_memory;

/*
 * seen     allocations and frees
 * foreign  of these, the ones that nobody asked for, at the end
 * unseen   asked for and not seen, at the end: a record was dropped
 * pools    memory pools that were made: the engine has none
 */
struct cupti_memory_counts {
    uint64_t seen;
    uint64_t foreign;
    uint64_t unseen;
    uint64_t pools;
};

/* The name of a function of CUDA's, by its number. */
typedef const char *cupti_call_name_fn(void *user, uint32_t call, bool is_driver);

struct cupti_memory *cupti_memory_new(void) VS_MUST_USE;
void cupti_memory_free(struct cupti_memory *m);

/* Our device did that; `bytes` of a free do not matter. */
void cupti_memory_asked(struct cupti_memory *m, bool is_taken, uint64_t address, uint64_t bytes);
/* TAKEN, GIVEN or POOL, with its call. Its name must live as long as `m`. */
void cupti_memory_seen(struct cupti_memory *m, const struct cupti_record *record);

/* Physical memory by cuMemCreate, which has no address: by its size alone. */
void cupti_memory_created_asked(struct cupti_memory *m, uint64_t bytes);
void cupti_memory_created_seen(struct cupti_memory *m, uint64_t op_seq, uint64_t bytes);

/*
 * Nothing comes any more: what is foreign, by function, library and op, for store/work.h. The caller's, by vs_free; its texts are borrowed
 * from whoever gave them.
 */
void cupti_memory_end(struct cupti_memory *m, cupti_call_name_fn *name, void *user,
                      struct sto_foreign **out, size_t *count);

const struct cupti_memory_counts *cupti_memory_counts(const struct cupti_memory *m);

#endif

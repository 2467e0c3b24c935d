/*
 * store/tensors_internal.h - the tensors of an open trace, read on demand.
 *
 * For:            store/reader.c.
 * Must not know:  the meaning of a tensor to a user.
 * Invariant:      opening reads no tensor if their ids are consecutive, as a recorder assigns them.
 */
#ifndef STO_TENSORS_INTERNAL_H
#define STO_TENSORS_INTERNAL_H

#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "store/chunk_internal.h"
#include "store/db_internal.h"

/* A tensor as stored; id 0: there is no tensor with that id. */
struct sto_tensor_row {
    uint64_t block;
    uint64_t offset;
    uint32_t id;
    uint32_t shape;
    uint32_t name;
};

struct sto_tensors;

/* `db` and `chunks` are borrowed. Call inside a transaction. *out is NULL on failure. */
VS_MUST_USE enum vs_status sto_tensors_open(const struct sto_db *db, struct sto_chunks *chunks,
                                            struct sto_tensors **out, struct vs_error *err);
void sto_tensors_close(struct sto_tensors *tensors);

/* List the blocks that were written since. Call inside a transaction. */
VS_MUST_USE enum vs_status sto_tensors_refresh(struct sto_tensors *tensors, struct vs_error *err);

/* The largest id. */
uint32_t sto_tensors_count(const struct sto_tensors *tensors);

/*
 * The row with this id, borrowed until the next call. VS_E_NOT_FOUND: there is none. VS_E_DAMAGED: it cannot be
 * read.
 */
VS_MUST_USE enum vs_status sto_tensors_get(struct sto_tensors *tensors, uint32_t id,
                                           const struct sto_tensor_row **out, struct vs_error *err);

/* A number n >= id - 1 such that no tensor with an id from `id` to n has a name. `id` >= 1. */
uint32_t sto_tensors_nameless_to(struct sto_tensors *tensors, uint32_t id);

#endif

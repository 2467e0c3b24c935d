/*
 * store/tensors_internal.h - the tensors of an open trace, read when they are asked for.
 *
 * For:            store/reader.c.
 * Must not know:  what a tensor is to a user.
 * Invariant:      opening reads no tensor, as long as their ids count up, which those of a recorder do.
 */
#ifndef STO_TENSORS_INTERNAL_H
#define STO_TENSORS_INTERNAL_H

#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "store/chunk_internal.h"
#include "store/db_internal.h"

/* A tensor as its record has it; id 0: there is none with that id. */
struct sto_tensor_row {
    uint64_t block;
    uint64_t offset;
    uint32_t id;
    uint32_t shape;
    uint32_t name;
};

struct sto_tensors;

/* `db` and `chunks` are borrowed. *out is NULL on failure. */
VS_MUST_USE enum vs_status sto_tensors_open(const struct sto_db *db, struct sto_chunks *chunks,
                                            struct sto_tensors **out, struct vs_error *err);
void sto_tensors_close(struct sto_tensors *tensors);

/* Take in what came since. The caller is inside a transaction, here and at the open. */
VS_MUST_USE enum vs_status sto_tensors_refresh(struct sto_tensors *tensors, struct vs_error *err);

/* The largest id. */
uint32_t sto_tensors_count(const struct sto_tensors *tensors);

/* The row with this id, borrowed until the next refresh; VS_E_NOT_FOUND: there is none. VS_E_DAMAGED: it cannot be read. */
VS_MUST_USE enum vs_status sto_tensors_get(struct sto_tensors *tensors, uint32_t id,
                                           const struct sto_tensor_row **out, struct vs_error *err);

#endif

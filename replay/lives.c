/*
 * replay/lives.c - see lives.h.
 *
 * Must not know:  cursors.
 * Invariant:      none but the index's own.
 */
#include "replay/lives.h"

#include <inttypes.h>

#include "replay/index_internal.h"

enum vs_status rpl_life_get(struct rpl_index *index, uint64_t id, struct rpl_life *out,
                            struct vs_error *err)
{
    const struct rpl_row *row = NULL;
    enum vs_status st = VS_OK;

    if (id >= 1 && id <= index->rows.count)
        st = rpl_index_row(index, (size_t)id - 1, &row, err);
    if (st)
        return st;
    if (!row || !row->alloc_seq)
        return vs_fail(err, VS_E_NOT_FOUND, "there is no block %" PRIu64 " in this trace", id);
    *out = (struct rpl_life){
        .id = id,
        .alloc_seq = row->alloc_seq,
        .free_seq = row->free_seq,
        .last_use_seq = row->last_use_seq,
        .requested = row->requested,
        .bytes = row->bytes,
        .tensor = row->tensor,
        .place = row->place,
        .name = row->name,
    };
    return VS_OK;
}

uint64_t rpl_life_count(const struct rpl_index *index)
{
    return index->rows.count;
}

enum vs_status rpl_node_name(struct rpl_index *index, uint64_t node, uint32_t *name,
                             struct vs_error *err)
{
    *name = 0;
    if (node < 1 || node > index->nodes.count)
        return VS_OK;
    return rpl_index_node_name(index, (size_t)node - 1, name, err);
}

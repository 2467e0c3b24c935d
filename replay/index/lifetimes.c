/*
 * replay/index/lifetimes.c - see lifetimes.h.
 *
 * Must not know:  cursors.
 */
#include "replay/index/lifetimes.h"

#include <inttypes.h>

#include "replay/index/index_internal.h"
#include "replay/trace/pack.h"

/* Searching this many chunks in memory for a block costs less than computing which blocks each of them touches. */
#define TOUCHED_LATER 64

enum vs_status rpl_lifetime_get(struct rpl_index *index, uint64_t id, struct rpl_lifetime *out,
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
    *out = (struct rpl_lifetime){
        .id = id,
        .alloc_seq = row->alloc_seq,
        .free_seq = row->free_seq,
        .last_use_seq = row->last_use_seq,
        .requested = row->requested,
        .bytes = row->bytes,
        .tensor = row->tensor,
        .location = row->location,
        .name = row->name,
    };
    return VS_OK;
}

uint64_t rpl_lifetime_count(const struct rpl_index *index)
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

enum vs_status rpl_index_touches(struct rpl_index *index, size_t chunk, uint64_t block,
                                 uint64_t alloc_seq, bool *out, struct vs_error *err)
{
    struct rpl_blob blob = {NULL, 0};
    struct rpl_unpack in;
    uint64_t id = 0;
    enum vs_status st;

    *out = rpl_index_chunk_of(alloc_seq) == chunk;
    if (*out || rpl_index_chunk_of(alloc_seq) > chunk)
        return VS_OK;
    if (!rpl_index_has_detail(index) && index->chunks.count <= TOUCHED_LATER) {
        *out = true;
        return VS_OK;
    }
    st = rpl_index_detail(index, err);
    if (st)
        return st;
    st = rpl_index_blob(index, RPL_PART_TOUCHED, chunk, &blob, err);
    if (st || !rpl_unpack_init(&in, blob.bytes, blob.len))
        return st;
    while (id < block && in.at < in.end && !in.is_bad)
        id += rpl_unpack_uint(&in);
    *out = id == block;
    return VS_OK;
}

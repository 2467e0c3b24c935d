/*
 * replay/index/index_save.c - stores an index as parts of the file; index_store.c reads it.
 *
 * Must not know:  SQL; how an index is computed.
 * Invariant:      the head is stored last: without it the other parts are not used.
 */
#include "base/mem.h"
#include "replay/index/event_classes.h"
#include "replay/index/index_internal.h"
#include "replay/index/index_pack.h"
#include "replay/index/unused_internal.h"
#include "replay/trace/pack.h"
#include "replay/trace/trace_internal.h"
#include "store/derived.h"

/* Memory of a scratch is given back after so many groups are written. */
#define DROP_GROUPS 32

static void chunks_pack(const struct rpl_chunk *chunks, size_t first, size_t count,
                        struct rpl_pack *out)
{
    struct rpl_chunk before = {.step = 0};

    for (size_t v = 0; v < RPL_VERB_COUNT; v++) {
        before.stops[v].before = chunks[first].stops[v].before;
        rpl_pack_uint(out, before.stops[v].before);
    }
    for (size_t i = first; i < first + count; i++)
        rpl_index_pack_chunk(&chunks[i], i > first ? &chunks[i - 1] : &before, out);
}

/* Append the items from `number` * group on to `out`. */
static void group_pack(const struct rpl_index *index, enum rpl_part part, size_t level,
                       size_t number, struct rpl_pack *out)
{
    static const struct rpl_node no_node;
    static const struct rpl_row no_row;
    const struct rpl_pages *pages = part == RPL_PART_LIFETIMES ? &index->rows
                                    : part == RPL_PART_CHUNKS || part == RPL_PART_FILTERS
                                        ? &index->chunks
                                    : part == RPL_PART_NODES ? &index->nodes
                                                             : &index->levels[level];
    size_t first = number * pages->group;
    size_t count = rpl_group_count(pages->count, pages->group, number);

    rpl_pack_clear(out);
    if (part == RPL_PART_CHUNKS)
        chunks_pack(pages->items, first, count, out);
    for (size_t i = first; part != RPL_PART_CHUNKS && i < first + count; i++) {
        if (part == RPL_PART_FILTERS) {
            rpl_index_pack_filters(&rpl_index_chunks(index)[i], out);
        } else if (part == RPL_PART_LIFETIMES) {
            const struct rpl_row *rows = pages->items;

            rpl_index_pack_row(&rows[i], i > first ? &rows[i - 1] : &no_row, out);
        } else if (part == RPL_PART_NODES) {
            const uint32_t *names = pages->items;

            rpl_pack_int(out, (int64_t)names[i] - (i > first ? names[i - 1] : 0));
        } else {
            const struct rpl_node *nodes = pages->items;

            rpl_index_pack_node(&nodes[i], i > first ? &nodes[i - 1] : &no_node,
                                rpl_index_node_first(level, i), out);
        }
    }
    rpl_pack_seal(out);
}

static enum vs_status groups_save(struct sto_derived_writer *w, const struct rpl_index *index,
                                  enum rpl_part part, size_t level, const struct rpl_pages *pages,
                                  struct rpl_pack *pack, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t g = 0; !st && g * pages->group < pages->count; g++) {
        group_pack(index, part, level, g, pack);
        st = sto_derived_put(w, rpl_part_id(part, level, g), pack->bytes, pack->len, err);
        if (g % DROP_GROUPS == 0)
            rpl_scratch_drop(index->scratch);
    }
    return st;
}

/* Their state at the beginning, and the blocks from before that they are about. */
static enum vs_status blobs_save(struct sto_derived_writer *w, const struct rpl_index *index,
                                 struct vs_error *err)
{
    const struct rpl_chunk *chunks = rpl_index_chunks(index);
    enum vs_status st = VS_OK;

    for (size_t i = 0; !st && i < index->chunks.count; i++) {
        if (i % DROP_GROUPS == 0)
            rpl_scratch_drop(index->scratch);
        if (chunks[i].has_keyframe)
            st = sto_derived_put(w, rpl_part_id(RPL_PART_KEYFRAME, 0, i), index->keyframes[i].bytes,
                                 index->keyframes[i].len, err);
        if (!st)
            st = sto_derived_put(w, rpl_part_id(RPL_PART_TOUCHED, 0, i), index->touched[i].bytes,
                                 index->touched[i].len, err);
    }
    return st;
}

static enum vs_status peaks_save(struct sto_derived_writer *w, const struct rpl_index *index,
                                 struct rpl_pack *pack, struct vs_error *err)
{
    rpl_pack_clear(pack);
    for (size_t i = 0; i < index->peak_count; i++)
        rpl_pack_uint(pack, index->peaks[i] - (i ? index->peaks[i - 1] : 0));
    rpl_pack_seal(pack);
    return sto_derived_put(w, rpl_part_id(RPL_PART_PEAKS, 0, 0), pack->bytes, pack->len, err);
}

static enum vs_status names_save(struct sto_derived_writer *w, const struct rpl_index *index,
                                 struct rpl_pack *pack, struct vs_error *err)
{
    rpl_pack_clear(pack);
    for (size_t i = 0; i < index->name_count; i++)
        rpl_pack_uint(pack, index->names[i]);
    rpl_pack_seal(pack);
    return sto_derived_put(w, rpl_part_id(RPL_PART_NAMES, 0, 0), pack->bytes, pack->len, err);
}

static enum vs_status unused_save(struct sto_derived_writer *w, struct rpl_index *index,
                                  struct rpl_pack *pack, struct vs_error *err)
{
    const struct rpl_unused *unused;
    enum vs_status st = rpl_unused_get(index, &unused, err);

    if (st)
        return st;
    rpl_pack_clear(pack);
    rpl_unused_pack(unused, pack);
    rpl_pack_seal(pack);
    return sto_derived_put(w, rpl_part_id(RPL_PART_UNUSED, 0, 0), pack->bytes, pack->len, err);
}

static enum vs_status event_classes_save(struct sto_derived_writer *w,
                                         const struct rpl_index *index, struct rpl_pack *pack,
                                         struct vs_error *err)
{
    rpl_pack_clear(pack);
    rpl_event_classes_pack(index->event_classes, pack);
    rpl_pack_seal(pack);
    return sto_derived_put(w, rpl_part_id(RPL_PART_EVENT_CLASSES, 0, 0), pack->bytes, pack->len,
                           err);
}

enum vs_status rpl_index_save(struct rpl_index *index, struct vs_error *err)
{
    struct vs_error ignored = VS_ERROR_INIT;
    struct sto_derived_writer *w = NULL;
    struct rpl_pack pack = {NULL, 0, 0};
    enum vs_status st;

    VS_ASSERT(!index->is_paged && index->reader);
    st = sto_derived_begin(sto_reader_path(index->reader), &w, err);
    if (st)
        return st;
    st = groups_save(w, index, RPL_PART_CHUNKS, 0, &index->chunks, &pack, err);
    if (!st)
        st = groups_save(w, index, RPL_PART_FILTERS, 0, &index->chunks, &pack, err);
    if (!st)
        st = blobs_save(w, index, err);
    if (!st)
        st = peaks_save(w, index, &pack, err);
    if (!st)
        st = names_save(w, index, &pack, err);
    if (!st)
        st = unused_save(w, index, &pack, err);
    if (!st)
        st = event_classes_save(w, index, &pack, err);
    if (!st)
        st = groups_save(w, index, RPL_PART_LIFETIMES, 0, &index->rows, &pack, err);
    if (!st)
        st = groups_save(w, index, RPL_PART_NODES, 0, &index->nodes, &pack, err);
    for (size_t i = 0; !st && i < RPL_LEVEL_COUNT; i++)
        st = groups_save(w, index, RPL_PART_LEVEL, i, &index->levels[i], &pack, err);
    rpl_pack_clear(&pack);
    rpl_index_head_pack(index, &pack);
    if (!st)
        /* Last: without it the other parts are not used. */
        st = sto_derived_put(w, rpl_part_id(RPL_PART_HEAD, 0, 0), pack.bytes, pack.len, err);
    if (st)
        /* Report the first failure. */
        (void)!sto_derived_end(w, false, &ignored);
    else
        st = sto_derived_end(w, true, err);
    index->is_stored = !st;
    rpl_pack_release(&pack);
    return st;
}

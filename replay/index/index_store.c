/*
 * replay/index/index_store.c - reads a stored index, a group of its items at a time; index_save.c stores it.
 *
 * Must not know:  SQL; how an index is computed.
 * Invariant:      what is read is what was written, or the index is computed again: damaged bytes are never used.
 */
#include <string.h>

#include "base/mem.h"
#include "replay/index/event_classes.h"
#include "replay/index/index_internal.h"
#include "replay/index/index_pack.h"
#include "replay/index/unused_internal.h"
#include "replay/trace/pack.h"
#include "replay/trace/trace_internal.h"
#include "store/derived.h"

/* ---- groups ---- */

/* The stops before the first chunk, by verb; then the chunks. */
static void chunks_unpack(struct rpl_chunk *chunks, size_t first, size_t count, uint64_t events,
                          struct rpl_unpack *in)
{
    struct rpl_chunk before = {.step = 0};

    for (size_t v = 0; v < RPL_VERB_COUNT; v++)
        before.stops[v].before = rpl_unpack_uint(in);
    for (size_t i = first; i < first + count; i++)
        rpl_index_unpack_chunk(in, i > first ? &chunks[i - 1] : &before,
                               rpl_group_count(events, RPL_CHUNK_EVENTS, i), &chunks[i]);
}

static void group_unpack(struct rpl_pages *pages, enum rpl_part part, size_t level, size_t number,
                         uint64_t events, struct rpl_unpack *in)
{
    static const struct rpl_node no_node;
    static const struct rpl_row no_row;
    size_t first = number * pages->group;
    size_t count = rpl_group_count(pages->count, pages->group, number);

    if (part == RPL_PART_CHUNKS)
        chunks_unpack(pages->items, first, count, events, in);
    for (size_t i = first; part != RPL_PART_CHUNKS && i < first + count; i++) {
        if (part == RPL_PART_LIFETIMES) {
            struct rpl_row *rows = pages->items;

            rpl_index_unpack_row(in, i > first ? &rows[i - 1] : &no_row, events, &rows[i]);
        } else if (part == RPL_PART_NODES) {
            uint32_t *names = pages->items;

            names[i] = (uint32_t)((int64_t)(i > first ? names[i - 1] : 0) + rpl_unpack_int(in));
        } else {
            struct rpl_node *nodes = pages->items;

            rpl_index_unpack_node(in, i > first ? &nodes[i - 1] : &no_node,
                                  rpl_index_node_first(level, i), events, &nodes[i]);
        }
    }
}

/* ---- reading ---- */

/*
 * Read a part and verify its checksum. VS_E_NOT_FOUND: it does not exist or is damaged. Borrowed until the next one.
 */
static enum vs_status part_open(struct rpl_index *index, uint64_t id, struct rpl_unpack *out,
                                struct vs_error *err)
{
    size_t len = 0;
    enum vs_status st;

    st = sto_derived_get(index->reader, id, &index->bytes, &len, &index->bytes_cap, err);
    if (!st && !rpl_unpack_init(out, index->bytes, len))
        st = vs_fail(err, VS_E_NOT_FOUND, "the stored index of the trace is damaged");
    return st;
}

/* The stored index is unusable: compute all of it, and store it. */
static enum vs_status rebuild(struct rpl_index *index, struct vs_error *err)
{
    struct vs_error ignored = VS_ERROR_INIT;
    uint64_t count = index->event_count;
    enum vs_status st;

    rpl_index_build_begin(index, NULL);
    st = rpl_index_build(index, count, NULL, NULL, err);
    if (!st)
        /* It is in memory even if it could not be stored. */
        (void)!rpl_index_save(index, &ignored);
    return st;
}

/* An array of `count` items of which none has been read. */
static void pages_expect(struct rpl_index *index, struct rpl_pages *pages, size_t item_bytes,
                         size_t group, uint64_t count)
{
    size_t cap = 0;

    vs_free(pages->is_there);
    *pages = (struct rpl_pages){.item_bytes = item_bytes,
                                .group = group,
                                .count = (size_t)count,
                                .scratch = index->scratch};
    pages->items = rpl_scratch_reserve(index->scratch, NULL, pages->count + 1, &cap, item_bytes);
    pages->is_there = vs_calloc(pages->count / group + 1, sizeof(bool));
}

/* Read the group of item `i`. VS_E_NOT_FOUND: it does not exist or is damaged. */
static enum vs_status group_read(struct rpl_index *index, struct rpl_pages *pages,
                                 enum rpl_part part, size_t level, size_t i, struct vs_error *err)
{
    const size_t number = i / pages->group;
    struct rpl_unpack in;
    enum vs_status st;

    st = part_open(index, rpl_part_id(part, level, number), &in, err);
    if (!st) {
        group_unpack(pages, part, level, number, index->event_count, &in);
        if (!rpl_unpack_is_done(&in))
            st = vs_fail(err, VS_E_NOT_FOUND, "the stored index of the trace is damaged");
        pages->is_there[number] = true;
        pages->loaded++;
    }
    return st;
}

static enum vs_status group_need(struct rpl_index *index, struct rpl_pages *pages,
                                 enum rpl_part part, size_t level, size_t i, struct vs_error *err)
{
    enum vs_status st;

    VS_ASSERT(i < pages->count);
    if (!pages->is_there || pages->is_there[i / pages->group])
        return VS_OK;
    st = group_read(index, pages, part, level, i, err);
    return st == VS_E_NOT_FOUND ? rebuild(index, err) : st;
}

/* The same, of an array of which RPL_PAGES_BYTES at most stay in memory; then all of it is removed. */
static enum vs_status group_need_few(struct rpl_index *index, struct rpl_pages *pages,
                                     enum rpl_part part, size_t level, size_t i,
                                     struct vs_error *err)
{
    if (pages->is_there && !pages->is_there[i / pages->group] &&
        (pages->loaded + 1) * pages->group * pages->item_bytes > RPL_PAGES_BYTES) {
        rpl_scratch_clear(pages->scratch, pages->items);
        memset(pages->is_there, 0, pages->count / pages->group + 1);
        pages->loaded = 0;
    }
    return group_need(index, pages, part, level, i, err);
}

enum vs_status rpl_index_node(struct rpl_index *index, size_t level, size_t i,
                              const struct rpl_node **out, struct vs_error *err)
{
    enum vs_status st = group_need_few(index, &index->levels[level], RPL_PART_LEVEL, level, i, err);

    *out = (const struct rpl_node *)index->levels[level].items + i;
    return st;
}

enum vs_status rpl_index_row(struct rpl_index *index, size_t i, const struct rpl_row **out,
                             struct vs_error *err)
{
    enum vs_status st = group_need_few(index, &index->rows, RPL_PART_LIFETIMES, 0, i, err);

    *out = (const struct rpl_row *)index->rows.items + i;
    return st;
}

enum vs_status rpl_index_node_name(struct rpl_index *index, size_t i, uint32_t *out,
                                   struct vs_error *err)
{
    enum vs_status st = group_need_few(index, &index->nodes, RPL_PART_NODES, 0, i, err);

    *out = st ? 0 : ((const uint32_t *)index->nodes.items)[i];
    return st;
}

enum vs_status rpl_index_chunk(struct rpl_index *index, size_t chunk, const struct rpl_chunk **out,
                               struct vs_error *err)
{
    enum vs_status st = group_need(index, &index->chunks, RPL_PART_CHUNKS, 0, chunk, err);

    *out = (const struct rpl_chunk *)index->chunks.items + chunk;
    return st;
}

/* VS_E_NOT_FOUND: they do not exist or are damaged. */
static enum vs_status filters_read(struct rpl_index *index, size_t group, struct vs_error *err)
{
    struct rpl_chunk *chunks = index->chunks.items;
    const size_t first = group * RPL_CHUNK_GROUP;
    const size_t count = rpl_group_count(index->chunks.count, RPL_CHUNK_GROUP, group);
    struct rpl_unpack in;
    enum vs_status st = part_open(index, rpl_part_id(RPL_PART_FILTERS, 0, group), &in, err);

    for (size_t i = first; !st && i < first + count; i++)
        rpl_index_unpack_filters(&in, &chunks[i]);
    if (!st && !rpl_unpack_is_done(&in))
        st = VS_E_NOT_FOUND;
    index->has_filters[group] = !st;
    return st;
}

enum vs_status rpl_index_filters(struct rpl_index *index, size_t chunk,
                                 const struct rpl_chunk **out, struct vs_error *err)
{
    enum vs_status st = rpl_index_chunk(index, chunk, out, err);

    if (st || !index->is_paged || index->has_filters[chunk / RPL_CHUNK_GROUP])
        return st;
    st = filters_read(index, chunk / RPL_CHUNK_GROUP, err);
    if (st == VS_E_NOT_FOUND)
        st = rebuild(index, err);
    *out = (const struct rpl_chunk *)index->chunks.items + chunk;
    return st;
}

enum vs_status rpl_index_peaks(struct rpl_index *index, struct vs_error *err)
{
    struct rpl_unpack in;
    uint64_t seq = 0;
    enum vs_status st;

    if (index->has_peaks)
        return VS_OK;
    st = part_open(index, rpl_part_id(RPL_PART_PEAKS, 0, 0), &in, err);
    if (!st) {
        index->peaks = vs_realloc(index->peaks, index->peak_count + 1, sizeof(*index->peaks));
        index->peak_cap = index->peak_count + 1;
        for (size_t i = 0; i < index->peak_count; i++)
            index->peaks[i] = seq += rpl_unpack_uint(&in);
        in.is_bad |= seq > index->event_count;
        index->has_peaks = true;
        if (!rpl_unpack_is_done(&in))
            st = VS_E_NOT_FOUND;
    }
    return st == VS_E_NOT_FOUND ? rebuild(index, err) : st;
}

/* Read from the file. VS_E_NOT_FOUND: it does not exist or is damaged. */
static enum vs_status unused_load(struct rpl_index *index, struct vs_error *err)
{
    struct rpl_unpack in;
    enum vs_status st = part_open(index, rpl_part_id(RPL_PART_UNUSED, 0, 0), &in, err);

    if (st)
        return st;
    index->unused = rpl_unused_unpack(&in);
    return index->unused ? VS_OK : VS_E_NOT_FOUND;
}

enum vs_status rpl_unused_get(struct rpl_index *index, const struct rpl_unused **out,
                              struct vs_error *err)
{
    enum vs_status st = VS_OK;

    if (!index->unused && index->is_paged) {
        st = unused_load(index, err);
        if (st == VS_E_NOT_FOUND)
            st = rebuild(index, err);
    }
    if (!st && !index->unused)
        st = rpl_index_detail(index, err);
    if (!st && !index->unused)
        st = rpl_unused_find(index, &index->unused, err);
    *out = index->unused;
    return st;
}

/* Read from the file. VS_E_NOT_FOUND: it does not exist or is damaged. */
static enum vs_status event_classes_load(struct rpl_index *index, struct vs_error *err)
{
    struct rpl_unpack in;
    enum vs_status st = part_open(index, rpl_part_id(RPL_PART_EVENT_CLASSES, 0, 0), &in, err);

    if (st)
        return st;
    index->event_classes = rpl_event_classes_unpack(&in, index->event_count);
    return index->event_classes ? VS_OK : VS_E_NOT_FOUND;
}

enum vs_status rpl_event_classes_get(struct rpl_index *index, const struct rpl_event_classes **out,
                                     struct vs_error *err)
{
    enum vs_status st = VS_OK;

    if (!index->event_classes && index->is_paged) {
        st = event_classes_load(index, err);
        if (st == VS_E_NOT_FOUND)
            st = rebuild(index, err);
    }
    *out = index->event_classes && !index->event_classes->is_full ? index->event_classes : NULL;
    return st;
}

enum vs_status rpl_index_blob(struct rpl_index *index, enum rpl_part part, size_t chunk,
                              struct rpl_blob *out, struct vs_error *err)
{
    size_t len = 0;
    enum vs_status st = VS_OK;

    if (index->is_paged) {
        struct rpl_unpack in;

        st = sto_derived_get(index->reader, rpl_part_id(part, 0, chunk), &index->bytes, &len,
                             &index->bytes_cap, err);
        if (!st && rpl_unpack_init(&in, index->bytes, len)) {
            *out = (struct rpl_blob){index->bytes, len};
            return VS_OK;
        }
        if (st && st != VS_E_NOT_FOUND)
            return st;
        st = rebuild(index, err);
    }
    *out = part == RPL_PART_KEYFRAME ? index->keyframes[chunk] : index->touched[chunk];
    return st;
}

/* ---- the head ---- */

static const uint64_t HEAD[] = {RPL_INDEX_VERSION, RPL_CHUNK_EVENTS, RPL_PIECE_EVENTS,
                                RPL_FAN,           RPL_LEVEL_COUNT,  VS_CATEGORY_COUNT};

void rpl_index_head_pack(const struct rpl_index *index, struct rpl_pack *out)
{
    const struct rpl_facts *f = &index->facts;
    const uint64_t facts[] = {f->allocated_max, f->max_seq, f->max_is_recompute, f->reserved_max,
                              f->oom_seq,       f->flops,   f->recompute_flops,  f->steps};

    for (size_t i = 0; i < sizeof(HEAD) / sizeof(HEAD[0]); i++)
        rpl_pack_uint(out, HEAD[i]);
    rpl_pack_uint(out, index->event_count);
    rpl_pack_uint(out, sto_reader_fingerprint(index->reader));
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        rpl_pack_uint(out, facts[i]);
    rpl_pack_uint(out, index->chunks.count);
    rpl_pack_uint(out, index->rows.count);
    rpl_pack_uint(out, index->nodes.count);
    rpl_pack_uint(out, index->peak_count);
    rpl_pack_uint(out, index->name_count);
    for (size_t i = 0; i < RPL_LEVEL_COUNT; i++)
        rpl_pack_uint(out, index->levels[i].count);
    rpl_pack_seal(out);
}

/* False: it is the index of other events, or has another version. */
static bool head_unpack(struct rpl_index *index, struct rpl_unpack *in)
{
    struct rpl_facts *f = &index->facts;
    uint64_t *const facts[] = {&f->allocated_max,   &f->max_seq, &f->max_is_recompute,
                               &f->reserved_max,    &f->oom_seq, &f->flops,
                               &f->recompute_flops, &f->steps};
    uint64_t count = rpl_trace_event_count(index->trace);
    uint64_t level_count = (count + RPL_PIECE_EVENTS - 1) / RPL_PIECE_EVENTS;
    uint64_t chunks;
    uint64_t rows;
    uint64_t nodes;

    for (size_t i = 0; i < sizeof(HEAD) / sizeof(HEAD[0]); i++)
        if (rpl_unpack_uint(in) != HEAD[i])
            return false;
    if (rpl_unpack_uint(in) != count ||
        rpl_unpack_uint(in) != sto_reader_fingerprint(index->reader))
        return false;
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        *facts[i] = rpl_unpack_uint(in);
    if (f->max_seq > count || f->oom_seq > count)
        return false;
    index->event_count = count;
    chunks = rpl_unpack_uint(in);
    rows = rpl_unpack_uint(in);
    nodes = rpl_unpack_uint(in);
    index->peak_count = (size_t)rpl_unpack_uint(in);
    index->name_count = (size_t)rpl_unpack_uint(in);
    if (chunks != rpl_index_chunk_of(count) + 1 || rows > count + RPL_NUMBER_GAP_MAX ||
        nodes > count + RPL_NUMBER_GAP_MAX || index->peak_count > count ||
        index->name_count > rpl_trace_tensor_count(index->trace))
        return false;
    index->scratch = rpl_scratch_new(NULL);
    pages_expect(index, &index->chunks, sizeof(struct rpl_chunk), RPL_CHUNK_GROUP, chunks);
    pages_expect(index, &index->rows, sizeof(struct rpl_row), RPL_ROW_GROUP, rows);
    pages_expect(index, &index->nodes, sizeof(uint32_t), RPL_NODE_NAME_GROUP, nodes);
    for (size_t i = 0; i < RPL_LEVEL_COUNT; i++) {
        pages_expect(index, &index->levels[i], sizeof(struct rpl_node), RPL_NODE_GROUP,
                     level_count);
        if (rpl_unpack_uint(in) != level_count)
            return false;
        level_count = level_count > 1 ? (level_count + RPL_FAN - 1) / RPL_FAN : 0;
    }
    return rpl_unpack_is_done(in);
}

/* The last chunk, which is always in memory: the totals of a trace are those behind it. */
static enum vs_status chunks_load(struct rpl_index *index, struct vs_error *err)
{
    vs_free(index->has_filters);
    index->has_filters =
        vs_calloc(index->chunks.count / RPL_CHUNK_GROUP + 1, sizeof(*index->has_filters));
    return group_read(index, &index->chunks, RPL_PART_CHUNKS, 0, index->chunks.count - 1, err);
}

static enum vs_status names_load(struct rpl_index *index, struct vs_error *err)
{
    struct rpl_unpack in;
    enum vs_status st = part_open(index, rpl_part_id(RPL_PART_NAMES, 0, 0), &in, err);

    if (st)
        return st;
    index->names = vs_realloc(index->names, index->name_count + 1, sizeof(*index->names));
    index->name_cap = index->name_count + 1;
    for (size_t i = 0; i < index->name_count; i++)
        index->names[i] = (uint32_t)rpl_unpack_uint(&in);
    return rpl_unpack_is_done(&in)
               ? VS_OK
               : vs_fail(err, VS_E_NOT_FOUND, "the stored index of the trace is damaged");
}

enum vs_status rpl_index_head_load(struct rpl_index *index, struct vs_error *err)
{
    struct rpl_unpack in;
    enum vs_status st;

    st = part_open(index, rpl_part_id(RPL_PART_HEAD, 0, 0), &in, err);
    if (!st && !head_unpack(index, &in))
        st = vs_fail(err, VS_E_NOT_FOUND, "the stored index belongs to other events");
    return st;
}

enum vs_status rpl_index_load(struct rpl_index *index, struct vs_error *err)
{
    enum vs_status st = rpl_index_head_load(index, err);

    if (!st)
        st = chunks_load(index, err);
    if (!st)
        st = names_load(index, err);
    if (st)
        return st;
    index->is_paged = index->is_stored = true;
    index->has_peaks = false;
    return VS_OK;
}

enum vs_status rpl_index_reload(struct rpl_index *index, struct vs_error *err)
{
    enum vs_status st;

    rpl_index_build_begin(index, NULL);
    rpl_builder_free(index->builder);
    index->builder = NULL;
    rpl_event_classes_free(index->event_classes);
    index->event_classes = NULL;
    st = rpl_index_load(index, err);
    if (st != VS_E_NOT_FOUND)
        return st;
    /* another process has changed it since */
    rpl_index_build_begin(index, NULL);
    return rpl_index_build(index, rpl_trace_event_count(index->trace), NULL, NULL, err);
}

/*
 * replay/index_store.c - an index as parts in the file, and back, a group of items at a time.
 *
 * Must not know:  SQL; how an index is made.
 * Invariant:      what is read is what was written, or the index is made again: bytes that do not fit are never used.
 */
#include <string.h>

#include "base/mem.h"
#include "replay/index_internal.h"
#include "replay/pack.h"
#include "replay/trace_internal.h"
#include "store/derived.h"

static uint64_t part_id(enum rpl_part part, size_t level, size_t number)
{
    return ((uint64_t)part + level) << 32 | number;
}

static int64_t change(uint64_t before, uint64_t now)
{
    return (int64_t)(now - before);
}

/* ---- nodes of the pyramid ---- */

static uint64_t node_first(size_t level, size_t i)
{
    uint64_t events = RPL_PIECE_EVENTS;

    for (size_t l = 0; l < level; l++)
        events *= RPL_FAN;
    return 1 + events * i;
}

static void node_pack(const struct rpl_node *n, const struct rpl_node *before, uint64_t first,
                      struct rpl_pack *out)
{
    uint64_t changed = 0;

    for (size_t c = 0; c < VS_CATEGORY_COUNT; c++)
        changed |= (uint64_t)(n->by_category[c] != before->by_category[c]) << c;
    rpl_pack_uint(out, n->time_ns - before->time_ns);
    rpl_pack_uint(out, n->max_seq - first);
    rpl_pack_uint(out, changed);
    for (size_t c = 0; c < VS_CATEGORY_COUNT; c++)
        if (changed >> c & 1)
            rpl_pack_bytes(out, before->by_category[c], n->by_category[c]);
    rpl_pack_bytes(out, n->allocated_max, n->allocated_min);
    rpl_pack_bytes(out, before->reserved_max, n->reserved_max);
    rpl_pack_bytes(out, n->reserved_max, n->reserved_min);
    rpl_pack_int(out, n->step - before->step);
    rpl_pack_uint(out, n->phase);
}

/* Here and below: a number of an event that there is not makes the part a damaged one. */
static void node_unpack(struct rpl_unpack *in, const struct rpl_node *before, uint64_t first,
                        uint64_t count, struct rpl_node *n)
{
    uint64_t changed;

    *n = *before;
    n->time_ns += rpl_unpack_uint(in);
    n->max_seq = first + rpl_unpack_uint(in);
    changed = rpl_unpack_uint(in);
    n->allocated_max = 0;
    for (size_t c = 0; c < VS_CATEGORY_COUNT; c++) {
        if (changed >> c & 1)
            n->by_category[c] = rpl_unpack_bytes(in, n->by_category[c]);
        n->allocated_max += n->by_category[c];
    }
    n->allocated_min = rpl_unpack_bytes(in, n->allocated_max);
    n->reserved_max = rpl_unpack_bytes(in, n->reserved_max);
    n->reserved_min = rpl_unpack_bytes(in, n->reserved_max);
    n->step += rpl_unpack_int(in);
    n->phase = (uint8_t)rpl_unpack_uint(in);
    in->is_bad |= n->phase >= VS_PHASE_COUNT || n->max_seq < first || n->max_seq > count;
}

/* ---- lives ---- */

/* How long after `start`, 0 for never. */
static uint64_t after(uint64_t start, uint64_t then)
{
    return then ? then - start + 1 : 0;
}

static void row_pack(const struct rpl_row *r, const struct rpl_row *before, struct rpl_pack *out)
{
    rpl_pack_int(out, change(before->alloc_seq, r->alloc_seq));
    rpl_pack_uint(out, after(r->alloc_seq, r->free_seq));
    rpl_pack_uint(out, after(r->alloc_seq, r->last_use_seq));
    rpl_pack_uint(out, after(r->last_use_seq ? r->last_use_seq : r->alloc_seq, r->idle_seq));
    rpl_pack_uint(out, r->requested);
    rpl_pack_int(out, change(r->requested, r->bytes));
    rpl_pack_int(out, (int64_t)r->tensor - before->tensor);
    rpl_pack_int(out, (int64_t)r->place - before->place);
    rpl_pack_uint(out, r->name);
}

static void row_unpack(struct rpl_unpack *in, const struct rpl_row *before, uint64_t count,
                       struct rpl_row *r)
{
    uint64_t n;

    *r = *before;
    r->alloc_seq += (uint64_t)rpl_unpack_int(in);
    n = rpl_unpack_uint(in);
    r->free_seq = n ? r->alloc_seq + n - 1 : 0;
    n = rpl_unpack_uint(in);
    r->last_use_seq = n ? r->alloc_seq + n - 1 : 0;
    n = rpl_unpack_uint(in);
    r->idle_seq = n ? (r->last_use_seq ? r->last_use_seq : r->alloc_seq) + n - 1 : 0;
    r->requested = rpl_unpack_uint(in);
    r->bytes = r->requested + (uint64_t)rpl_unpack_int(in);
    r->tensor = (uint32_t)((int64_t)r->tensor + rpl_unpack_int(in));
    r->place = (uint32_t)((int64_t)r->place + rpl_unpack_int(in));
    r->name = (uint32_t)rpl_unpack_uint(in);
    in->is_bad |= r->alloc_seq > count || r->free_seq > count || r->last_use_seq > count ||
                  r->idle_seq > count;
}

/* ---- chunks ---- */

static void chunk_pack(const struct rpl_chunk *c, const struct rpl_chunk *before,
                       struct rpl_pack *out)
{
    rpl_pack_bytes(out, before->allocated, c->allocated);
    rpl_pack_bytes(out, before->requested, c->requested);
    rpl_pack_bytes(out, before->reserved, c->reserved);
    rpl_pack_int(out, c->step - before->step);
    rpl_pack_uint(out, c->phase);
    rpl_pack_uint(out, c->place);
    for (size_t v = 0; v < RPL_VERB_COUNT; v++) {
        rpl_pack_uint(out, c->stops[v].count);
        rpl_pack_uint(out, c->stops[v].first);
        rpl_pack_uint(out, c->stops[v].last);
    }
    for (size_t k = 0; k < VS_CATEGORY_COUNT; k++)
        rpl_pack_uint(out, c->alloc_max[k]);
    rpl_pack_uint(out, c->kinds);
    for (size_t k = 0; k < RPL_PLACE_BITS / 64; k++)
        rpl_pack_uint(out, c->places[k]);
    for (size_t k = 0; k < RPL_LINE_BITS / 64; k++)
        rpl_pack_uint(out, c->lines[k]);
    rpl_pack_uint(out, c->module);
    rpl_pack_uint(out, c->module_len);
    rpl_pack_uint(out, (uint64_t)c->is_inside | (uint64_t)c->is_outside << 1 |
                           (uint64_t)c->has_frame << 2);
}

static void chunk_unpack(struct rpl_unpack *in, const struct rpl_chunk *before, size_t events,
                         struct rpl_chunk *c)
{
    uint64_t flags;

    c->allocated = rpl_unpack_bytes(in, before->allocated);
    c->requested = rpl_unpack_bytes(in, before->requested);
    c->reserved = rpl_unpack_bytes(in, before->reserved);
    c->step = before->step + rpl_unpack_int(in);
    c->phase = (uint8_t)rpl_unpack_uint(in);
    in->is_bad |= c->phase >= VS_PHASE_COUNT;
    c->place = (uint32_t)rpl_unpack_uint(in);
    for (size_t v = 0; v < RPL_VERB_COUNT; v++) {
        c->stops[v].count = (uint32_t)rpl_unpack_uint(in);
        c->stops[v].first = (uint32_t)rpl_unpack_uint(in);
        c->stops[v].last = (uint32_t)rpl_unpack_uint(in);
        in->is_bad |= c->stops[v].first > c->stops[v].last || c->stops[v].last >= events;
        c->stops[v].before = before->stops[v].before + before->stops[v].count;
    }
    for (size_t k = 0; k < VS_CATEGORY_COUNT; k++)
        c->alloc_max[k] = rpl_unpack_uint(in);
    c->kinds = (uint32_t)rpl_unpack_uint(in);
    for (size_t k = 0; k < RPL_PLACE_BITS / 64; k++)
        c->places[k] = rpl_unpack_uint(in);
    for (size_t k = 0; k < RPL_LINE_BITS / 64; k++)
        c->lines[k] = rpl_unpack_uint(in);
    c->module = (uint32_t)rpl_unpack_uint(in);
    c->module_len = (uint32_t)rpl_unpack_uint(in);
    flags = rpl_unpack_uint(in);
    c->is_inside = flags & 1;
    c->is_outside = flags >> 1 & 1;
    c->has_frame = flags >> 2 & 1;
}

/* ---- groups ---- */

/* How many items of a group there are. */
static size_t group_count(size_t count, size_t group, size_t number)
{
    size_t left = count - number * group;

    return left < group ? left : group;
}

/* Items `number` * group … into `out`. */
static void group_pack(const struct rpl_index *index, enum rpl_part part, size_t level,
                       size_t number, struct rpl_pack *out)
{
    static const struct rpl_node no_node;
    static const struct rpl_row no_row;
    const struct rpl_pages *pages = part == RPL_PART_LIVES   ? &index->rows
                                    : part == RPL_PART_NODES ? &index->nodes
                                                             : &index->levels[level];
    size_t first = number * pages->group;
    size_t count = group_count(pages->count, pages->group, number);

    rpl_pack_clear(out);
    for (size_t i = first; i < first + count; i++) {
        if (part == RPL_PART_LIVES) {
            const struct rpl_row *rows = pages->items;

            row_pack(&rows[i], i > first ? &rows[i - 1] : &no_row, out);
        } else if (part == RPL_PART_NODES) {
            const uint32_t *names = pages->items;

            rpl_pack_int(out, (int64_t)names[i] - (i > first ? names[i - 1] : 0));
        } else {
            const struct rpl_node *nodes = pages->items;

            node_pack(&nodes[i], i > first ? &nodes[i - 1] : &no_node, node_first(level, i), out);
        }
    }
    rpl_pack_seal(out);
}

static void group_unpack(struct rpl_pages *pages, enum rpl_part part, size_t level, size_t number,
                         uint64_t events, struct rpl_unpack *in)
{
    static const struct rpl_node no_node;
    static const struct rpl_row no_row;
    size_t first = number * pages->group;
    size_t count = group_count(pages->count, pages->group, number);

    for (size_t i = first; i < first + count; i++) {
        if (part == RPL_PART_LIVES) {
            struct rpl_row *rows = pages->items;

            row_unpack(in, i > first ? &rows[i - 1] : &no_row, events, &rows[i]);
        } else if (part == RPL_PART_NODES) {
            uint32_t *names = pages->items;

            names[i] = (uint32_t)((int64_t)(i > first ? names[i - 1] : 0) + rpl_unpack_int(in));
        } else {
            struct rpl_node *nodes = pages->items;

            node_unpack(in, i > first ? &nodes[i - 1] : &no_node, node_first(level, i), events,
                        &nodes[i]);
        }
    }
}

/* ---- reading ---- */

/* A part that is there and whole. VS_E_NOT_FOUND: it is not. Borrowed until the next one. */
static enum vs_status part_open(struct rpl_index *index, uint64_t id, struct rpl_unpack *out,
                                struct vs_error *err)
{
    size_t len = 0;
    enum vs_status st;

    st = sto_derived_get(index->reader, id, &index->bytes, &len, &index->bytes_cap, err);
    if (!st && !rpl_unpack_init(out, index->bytes, len))
        st = vs_fail(err, VS_E_NOT_FOUND, "what was derived from the trace is damaged");
    return st;
}

/* What is in the file is of no use after all: make all of it, and put it there. */
static enum vs_status rebuild(struct rpl_index *index, struct vs_error *err)
{
    struct vs_error ignored = VS_ERROR_INIT;
    uint64_t count = index->event_count;
    enum vs_status st;

    rpl_index_build_begin(index);
    st = rpl_index_build(index, count, NULL, NULL, err);
    if (!st)
        (void)!rpl_index_save(index, &ignored); /* in memory it serves as well */
    return st;
}

static enum vs_status group_need(struct rpl_index *index, struct rpl_pages *pages,
                                 enum rpl_part part, size_t level, size_t i, struct vs_error *err)
{
    size_t number = i / pages->group;
    struct rpl_unpack in;
    enum vs_status st;

    VS_ASSERT(i < pages->count);
    if (!pages->is_there || pages->is_there[number])
        return VS_OK;
    st = part_open(index, part_id(part, level, number), &in, err);
    if (!st) {
        group_unpack(pages, part, level, number, index->event_count, &in);
        if (!rpl_unpack_is_done(&in))
            st = VS_E_NOT_FOUND;
        pages->is_there[number] = true;
    }
    return st == VS_E_NOT_FOUND ? rebuild(index, err) : st;
}

enum vs_status rpl_index_node(struct rpl_index *index, size_t level, size_t i,
                              const struct rpl_node **out, struct vs_error *err)
{
    enum vs_status st = group_need(index, &index->levels[level], RPL_PART_LEVEL, level, i, err);

    *out = (const struct rpl_node *)index->levels[level].items + i;
    return st;
}

enum vs_status rpl_index_row(struct rpl_index *index, size_t i, const struct rpl_row **out,
                             struct vs_error *err)
{
    enum vs_status st = group_need(index, &index->rows, RPL_PART_LIVES, 0, i, err);

    *out = (const struct rpl_row *)index->rows.items + i;
    return st;
}

enum vs_status rpl_index_node_name(struct rpl_index *index, size_t i, uint32_t *out,
                                   struct vs_error *err)
{
    enum vs_status st = group_need(index, &index->nodes, RPL_PART_NODES, 0, i, err);

    *out = st ? 0 : ((const uint32_t *)index->nodes.items)[i];
    return st;
}

enum vs_status rpl_index_peaks(struct rpl_index *index, struct vs_error *err)
{
    struct rpl_unpack in;
    uint64_t seq = 0;
    enum vs_status st;

    if (index->has_peaks)
        return VS_OK;
    st = part_open(index, part_id(RPL_PART_PEAKS, 0, 0), &in, err);
    if (!st) {
        index->peaks = vs_alloc((index->peak_count + 1) * sizeof(*index->peaks));
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

static void changes_cache(struct rpl_index *index, size_t chunk, const struct rpl_blob *blob)
{
    if (!index->changes)
        index->changes = vs_calloc(index->chunk_count, sizeof(*index->changes));
    index->changes[chunk] = (struct rpl_blob){vs_alloc(blob->len), blob->len};
    memcpy(index->changes[chunk].bytes, blob->bytes, blob->len);
}

enum vs_status rpl_index_blob(struct rpl_index *index, enum rpl_part part, size_t chunk,
                              struct rpl_blob *out, struct vs_error *err)
{
    size_t len = 0;
    enum vs_status st = VS_OK;

    if (index->is_paged && part == RPL_PART_CHANGES && index->changes &&
        index->changes[chunk].bytes) {
        *out = index->changes[chunk];
        return VS_OK;
    }
    if (index->is_paged) {
        struct rpl_unpack in;

        st = sto_derived_get(index->reader, part_id(part, 0, chunk), &index->bytes, &len,
                             &index->bytes_cap, err);
        if (!st && rpl_unpack_init(&in, index->bytes, len)) {
            *out = (struct rpl_blob){index->bytes, len};
            if (part == RPL_PART_CHANGES)
                changes_cache(index, chunk, out);
            return VS_OK;
        }
        if (st && st != VS_E_NOT_FOUND)
            return st;
        st = rebuild(index, err);
    }
    *out = part == RPL_PART_FRAME     ? index->frames[chunk]
           : part == RPL_PART_TOUCHED ? index->touched[chunk]
                                      : index->changes[chunk];
    return st;
}

/* ---- the head ---- */

static const uint64_t HEAD[] = {RPL_INDEX_VERSION, RPL_CHUNK_EVENTS, RPL_PIECE_EVENTS,
                                RPL_FAN,           RPL_LEVEL_COUNT,  VS_CATEGORY_COUNT};

static void head_pack(const struct rpl_index *index, struct rpl_pack *out)
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
    rpl_pack_uint(out, index->chunk_count);
    rpl_pack_uint(out, index->rows.count);
    rpl_pack_uint(out, index->nodes.count);
    rpl_pack_uint(out, index->peak_count);
    rpl_pack_uint(out, index->name_count);
    for (size_t i = 0; i < RPL_LEVEL_COUNT; i++)
        rpl_pack_uint(out, index->levels[i].count);
    rpl_pack_seal(out);
}

/* An array of `count` items of which none is there yet. */
static void pages_expect(struct rpl_pages *pages, size_t item_bytes, size_t group, uint64_t count)
{
    vs_free(pages->items);
    vs_free(pages->is_there);
    *pages = (struct rpl_pages){.item_bytes = item_bytes, .group = group, .count = (size_t)count};
    pages->items = vs_calloc(pages->count + 1, item_bytes);
    pages->is_there = vs_calloc(pages->count / group + 1, sizeof(bool));
}

/* False: it is of other events, or of another version. */
static bool head_unpack(struct rpl_index *index, struct rpl_unpack *in)
{
    struct rpl_facts *f = &index->facts;
    uint64_t *const facts[] = {&f->allocated_max,   &f->max_seq, &f->max_is_recompute,
                               &f->reserved_max,    &f->oom_seq, &f->flops,
                               &f->recompute_flops, &f->steps};
    uint64_t count = rpl_trace_event_count(index->trace);
    uint64_t level_count = (count + RPL_PIECE_EVENTS - 1) / RPL_PIECE_EVENTS;
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
    index->chunk_count = (size_t)rpl_unpack_uint(in);
    rows = rpl_unpack_uint(in);
    nodes = rpl_unpack_uint(in);
    index->peak_count = (size_t)rpl_unpack_uint(in);
    index->name_count = (size_t)rpl_unpack_uint(in);
    if (index->chunk_count != rpl_index_chunk_of(count) + 1 || rows > count + RPL_NUMBER_GAP_MAX ||
        nodes > count + RPL_NUMBER_GAP_MAX || index->peak_count > count ||
        index->name_count > rpl_trace_tensor_count(index->trace))
        return false;
    pages_expect(&index->rows, sizeof(struct rpl_row), RPL_ROW_GROUP, rows);
    pages_expect(&index->nodes, sizeof(uint32_t), RPL_NODE_NAME_GROUP, nodes);
    for (size_t i = 0; i < RPL_LEVEL_COUNT; i++) {
        pages_expect(&index->levels[i], sizeof(struct rpl_node), RPL_NODE_GROUP, level_count);
        if (rpl_unpack_uint(in) != level_count)
            return false;
        level_count = level_count > 1 ? (level_count + RPL_FAN - 1) / RPL_FAN : 0;
    }
    return rpl_unpack_is_done(in);
}

static enum vs_status chunks_load(struct rpl_index *index, struct vs_error *err)
{
    static const struct rpl_chunk none = {.step = 0};
    size_t count = index->chunk_count;
    struct rpl_unpack in;
    enum vs_status st = VS_OK;

    vs_free(index->chunks);
    index->chunks = vs_calloc(count, sizeof(*index->chunks));
    index->chunk_cap = count;
    for (size_t i = 0; !st && i < count; i++) {
        if (i % RPL_CHUNK_GROUP == 0)
            st = part_open(index, part_id(RPL_PART_CHUNKS, 0, i / RPL_CHUNK_GROUP), &in, err);
        if (!st)
            chunk_unpack(&in, i ? &index->chunks[i - 1] : &none, rpl_index_chunk_events(index, i),
                         &index->chunks[i]);
        if (!st && (i + 1 == count || (i + 1) % RPL_CHUNK_GROUP == 0) && !rpl_unpack_is_done(&in))
            st = vs_fail(err, VS_E_NOT_FOUND, "what was derived from the trace is damaged");
    }
    return st;
}

static enum vs_status names_load(struct rpl_index *index, struct vs_error *err)
{
    struct rpl_unpack in;
    enum vs_status st = part_open(index, part_id(RPL_PART_NAMES, 0, 0), &in, err);

    if (st)
        return st;
    index->names = vs_realloc(index->names, index->name_count + 1, sizeof(*index->names));
    index->name_cap = index->name_count + 1;
    for (size_t i = 0; i < index->name_count; i++)
        index->names[i] = (uint32_t)rpl_unpack_uint(&in);
    return rpl_unpack_is_done(&in)
               ? VS_OK
               : vs_fail(err, VS_E_NOT_FOUND, "what was derived from the trace is damaged");
}

enum vs_status rpl_index_load(struct rpl_index *index, struct vs_error *err)
{
    struct rpl_unpack in;
    enum vs_status st;

    st = part_open(index, part_id(RPL_PART_HEAD, 0, 0), &in, err);
    if (!st && !head_unpack(index, &in))
        st = vs_fail(err, VS_E_NOT_FOUND, "what was derived is of other events");
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

/* ---- writing ---- */

static enum vs_status groups_save(struct sto_derived_writer *w, const struct rpl_index *index,
                                  enum rpl_part part, size_t level, const struct rpl_pages *pages,
                                  struct rpl_pack *pack, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t g = 0; !st && g * pages->group < pages->count; g++) {
        group_pack(index, part, level, g, pack);
        st = sto_derived_put(w, part_id(part, level, g), pack->bytes, pack->len, err);
    }
    return st;
}

static enum vs_status chunks_save(struct sto_derived_writer *w, const struct rpl_index *index,
                                  struct rpl_pack *pack, struct vs_error *err)
{
    static const struct rpl_chunk none = {.step = 0};
    enum vs_status st = VS_OK;

    rpl_pack_clear(pack);
    for (size_t i = 0; !st && i < index->chunk_count; i++) {
        chunk_pack(&index->chunks[i], i ? &index->chunks[i - 1] : &none, pack);
        if (i + 1 < index->chunk_count && (i + 1) % RPL_CHUNK_GROUP != 0)
            continue;
        rpl_pack_seal(pack);
        st = sto_derived_put(w, part_id(RPL_PART_CHUNKS, 0, i / RPL_CHUNK_GROUP), pack->bytes,
                             pack->len, err);
        rpl_pack_clear(pack);
    }
    for (size_t i = 0; !st && i < index->chunk_count; i++) {
        if (index->chunks[i].has_frame)
            st = sto_derived_put(w, part_id(RPL_PART_FRAME, 0, i), index->frames[i].bytes,
                                 index->frames[i].len, err);
        if (!st)
            st = sto_derived_put(w, part_id(RPL_PART_TOUCHED, 0, i), index->touched[i].bytes,
                                 index->touched[i].len, err);
        if (!st)
            st = sto_derived_put(w, part_id(RPL_PART_CHANGES, 0, i), index->changes[i].bytes,
                                 index->changes[i].len, err);
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
    return sto_derived_put(w, part_id(RPL_PART_PEAKS, 0, 0), pack->bytes, pack->len, err);
}

static enum vs_status names_save(struct sto_derived_writer *w, const struct rpl_index *index,
                                 struct rpl_pack *pack, struct vs_error *err)
{
    rpl_pack_clear(pack);
    for (size_t i = 0; i < index->name_count; i++)
        rpl_pack_uint(pack, index->names[i]);
    rpl_pack_seal(pack);
    return sto_derived_put(w, part_id(RPL_PART_NAMES, 0, 0), pack->bytes, pack->len, err);
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
    head_pack(index, &pack);
    st = sto_derived_put(w, part_id(RPL_PART_HEAD, 0, 0), pack.bytes, pack.len, err);
    if (!st)
        st = chunks_save(w, index, &pack, err);
    if (!st)
        st = peaks_save(w, index, &pack, err);
    if (!st)
        st = names_save(w, index, &pack, err);
    if (!st)
        st = groups_save(w, index, RPL_PART_LIVES, 0, &index->rows, &pack, err);
    if (!st)
        st = groups_save(w, index, RPL_PART_NODES, 0, &index->nodes, &pack, err);
    for (size_t i = 0; !st && i < RPL_LEVEL_COUNT; i++)
        st = groups_save(w, index, RPL_PART_LEVEL, i, &index->levels[i], &pack, err);
    if (st)
        (void)!sto_derived_end(w, false, &ignored); /* the first failure is the one to tell */
    else
        st = sto_derived_end(w, true, err);
    index->is_stored = !st;
    rpl_pack_release(&pack);
    return st;
}

/*
 * replay/index/index_pack.c - see index_pack.h.
 *
 * Must not know:  files, groups.
 * Invariant:      unpacking reads what packing wrote, and accepts only values that the trace can have.
 */
#include "replay/index/index_pack.h"

static int64_t change(uint64_t before, uint64_t now)
{
    return (int64_t)(now - before);
}

/* ---- nodes of the pyramid ---- */

uint64_t rpl_index_node_first(size_t level, size_t i)
{
    uint64_t events = RPL_PIECE_EVENTS;

    for (size_t l = 0; l < level; l++)
        events *= RPL_FAN;
    return 1 + events * i;
}

void rpl_index_pack_node(const struct rpl_node *n, const struct rpl_node *before, uint64_t first,
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

void rpl_index_unpack_node(struct rpl_unpack *in, const struct rpl_node *before, uint64_t first,
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

/* ---- lifetimes ---- */

/* The number of events from `start` to `then`; 0 encodes never. */
static uint64_t after(uint64_t start, uint64_t then)
{
    return then ? then - start + 1 : 0;
}

void rpl_index_pack_row(const struct rpl_row *r, const struct rpl_row *before, struct rpl_pack *out)
{
    rpl_pack_int(out, change(before->alloc_seq, r->alloc_seq));
    rpl_pack_uint(out, after(r->alloc_seq, r->free_seq));
    rpl_pack_uint(out, after(r->alloc_seq, r->last_use_seq));
    rpl_pack_uint(out, after(r->last_use_seq ? r->last_use_seq : r->alloc_seq, r->unused_seq));
    rpl_pack_uint(out, r->requested);
    rpl_pack_int(out, change(r->requested, r->bytes));
    rpl_pack_int(out, (int64_t)r->tensor - before->tensor);
    rpl_pack_int(out, (int64_t)r->location - before->location);
    rpl_pack_uint(out, r->name);
}

void rpl_index_unpack_row(struct rpl_unpack *in, const struct rpl_row *before, uint64_t count,
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
    r->unused_seq = n ? (r->last_use_seq ? r->last_use_seq : r->alloc_seq) + n - 1 : 0;
    r->requested = rpl_unpack_uint(in);
    r->bytes = r->requested + (uint64_t)rpl_unpack_int(in);
    r->tensor = (uint32_t)((int64_t)r->tensor + rpl_unpack_int(in));
    r->location = (uint32_t)((int64_t)r->location + rpl_unpack_int(in));
    r->name = (uint32_t)rpl_unpack_uint(in);
    in->is_bad |= r->alloc_seq > count || r->free_seq > count || r->last_use_seq > count ||
                  r->unused_seq > count;
}

/* ---- chunks ---- */

void rpl_index_pack_chunk(const struct rpl_chunk *c, const struct rpl_chunk *before,
                          struct rpl_pack *out)
{
    rpl_pack_bytes(out, before->allocated, c->allocated);
    rpl_pack_bytes(out, before->requested, c->requested);
    rpl_pack_bytes(out, before->reserved, c->reserved);
    rpl_pack_int(out, c->step - before->step);
    rpl_pack_uint(out, c->phase);
    rpl_pack_uint(out, c->location);
    for (size_t v = 0; v < RPL_VERB_COUNT; v++) {
        rpl_pack_uint(out, c->stops[v].count);
        rpl_pack_uint(out, c->stops[v].first);
        rpl_pack_uint(out, c->stops[v].last);
    }
    for (size_t k = 0; k < VS_CATEGORY_COUNT; k++)
        rpl_pack_uint(out, c->alloc_max[k]);
    rpl_pack_uint(out, c->kinds);
    rpl_pack_uint(out, c->module);
    rpl_pack_uint(out, c->module_len);
    rpl_pack_uint(out, (uint64_t)c->is_inside | (uint64_t)c->is_outside_modules << 1 |
                           (uint64_t)c->has_keyframe << 2);
}

void rpl_index_unpack_chunk(struct rpl_unpack *in, const struct rpl_chunk *before, size_t events,
                            struct rpl_chunk *c)
{
    uint64_t flags;

    c->allocated = rpl_unpack_bytes(in, before->allocated);
    c->requested = rpl_unpack_bytes(in, before->requested);
    c->reserved = rpl_unpack_bytes(in, before->reserved);
    c->step = before->step + rpl_unpack_int(in);
    c->phase = (uint8_t)rpl_unpack_uint(in);
    in->is_bad |= c->phase >= VS_PHASE_COUNT;
    c->location = (uint32_t)rpl_unpack_uint(in);
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
    c->module = (uint32_t)rpl_unpack_uint(in);
    c->module_len = (uint32_t)rpl_unpack_uint(in);
    flags = rpl_unpack_uint(in);
    c->is_inside = flags & 1;
    c->is_outside_modules = flags >> 1 & 1;
    c->has_keyframe = flags >> 2 & 1;
}

void rpl_index_pack_filters(const struct rpl_chunk *c, struct rpl_pack *out)
{
    for (size_t k = 0; k < RPL_LOCATION_BITS / 64; k++)
        rpl_pack_uint(out, c->locations[k]);
    for (size_t k = 0; k < RPL_LINE_BITS / 64; k++)
        rpl_pack_uint(out, c->lines[k]);
}

void rpl_index_unpack_filters(struct rpl_unpack *in, struct rpl_chunk *c)
{
    for (size_t k = 0; k < RPL_LOCATION_BITS / 64; k++)
        c->locations[k] = rpl_unpack_uint(in);
    for (size_t k = 0; k < RPL_LINE_BITS / 64; k++)
        c->lines[k] = rpl_unpack_uint(in);
}

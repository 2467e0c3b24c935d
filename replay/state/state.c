/*
 * replay/state/state.c - see state.h.
 *
 * Must not know:  files, drawing.
 * Invariant:      only blocks that are in use, and tensors on the host (block 0), have holders.
 */
#include "replay/state/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void rpl_state_init(struct rpl_state *state)
{
    memset(state, 0, sizeof(*state));
    rpl_live_init(&state->live);
    rpl_holders_init(&state->holders);
}

void rpl_state_release(struct rpl_state *state)
{
    rpl_live_release(&state->live);
    rpl_holders_release(&state->holders);
    vs_free(state->segments);
    memset(state, 0, sizeof(*state));
}

uint64_t rpl_state_bytes(const struct rpl_state *state)
{
    const struct rpl_live *live = &state->live;
    const struct rpl_holders *holders = &state->holders;

    return live->block_cap * sizeof(*live->blocks) + vs_table_bytes(&live->by_id) +
           live->open_cap * sizeof(*live->open) +
           holders->cap * (sizeof(*holders->items) + sizeof(*holders->links)) +
           holders->list_cap * sizeof(*holders->lists) + vs_table_bytes(&holders->by_block) +
           state->segment_cap * sizeof(*state->segments);
}

void rpl_state_clear(struct rpl_state *state)
{
    rpl_live_clear(&state->live);
    rpl_holders_clear(&state->holders);
    state->segment_count = 0;
    state->seq = 0;
}

/* ---- segments ---- */

static void segment_insert(struct rpl_state *state, size_t at, struct rpl_segment segment)
{
    state->segments = vs_grow(state->segments, state->segment_count, &state->segment_cap,
                              sizeof(*state->segments));
    memmove(&state->segments[at + 1], &state->segments[at],
            (state->segment_count - at) * sizeof(*state->segments));
    state->segments[at] = segment;
    state->segment_count++;
}

static void segment_remove(struct rpl_state *state, size_t at)
{
    memmove(&state->segments[at], &state->segments[at + 1],
            (state->segment_count - at - 1) * sizeof(*state->segments));
    state->segment_count--;
}

/*
 * Remove the addresses first … end - 1 from all segments. Returns the index of the first segment at or after `first`.
 */
static size_t range_cut(struct rpl_state *state, uint64_t first, uint64_t end)
{
    size_t i = 0;

    for (size_t until = state->segment_count; i < until;) {
        size_t mid = i + (until - i) / 2;

        if (state->segments[mid].address + state->segments[mid].bytes <= first)
            i = mid + 1;
        else
            until = mid;
    }
    while (i < state->segment_count && state->segments[i].address < end) {
        struct rpl_segment *s = &state->segments[i];
        uint64_t s_end = s->address + s->bytes;

        if (s->address < first) {
            struct rpl_segment rest = *s;

            s->bytes = first - s->address;
            i++;
            if (s_end > end) {
                rest.address = end;
                rest.bytes = s_end - end;
                segment_insert(state, i, rest);
            }
        } else if (s_end > end) {
            s->bytes = s_end - end;
            s->address = end;
        } else {
            segment_remove(state, i);
        }
    }
    return i;
}

/* Merge segment `i` with adjacent mapped parts of expandable segments. */
static void mapped_merge(struct rpl_state *state, size_t i)
{
    struct rpl_segment *a = &state->segments[i];
    const struct rpl_segment *b = a + 1;

    if (i + 1 < state->segment_count && a->is_mapped && b->is_mapped &&
        a->is_small == b->is_small && a->stream == b->stream && a->pool == b->pool &&
        a->address + a->bytes == b->address) {
        a->bytes += b->bytes;
        segment_remove(state, i + 1);
    }
}

void rpl_state_segment(struct rpl_state *state, const struct vs_event *event)
{
    uint64_t end = event->segment.bytes > UINT64_MAX - event->segment.address
                       ? UINT64_MAX
                       : event->segment.address + event->segment.bytes;
    size_t at = range_cut(state, event->segment.address, end);
    bool is_map = event->kind == VS_EV_SEGMENT_MAP;

    if ((event->kind != VS_EV_SEGMENT_ALLOC && !is_map) || end == event->segment.address)
        return;
    segment_insert(state, at,
                   (struct rpl_segment){
                       .address = event->segment.address,
                       .bytes = end - event->segment.address,
                       .stream = event->segment.stream,
                       .pool = event->segment.private_pool,
                       .is_small = event->segment.size_pool == VS_SEGMENT_SMALL,
                       .is_mapped = is_map,
                   });
    mapped_merge(state, at);
    if (at)
        mapped_merge(state, at - 1);
}

/* ---- events ---- */

/* True if the event changes the live set as well as holders or segments. */
static bool is_in_both(const struct vs_event *event)
{
    return event->kind == VS_EV_FREE || event->kind == VS_EV_SAVE || event->kind == VS_EV_UNSAVE ||
           (event->kind >= VS_EV_SEGMENT_ALLOC && event->kind <= VS_EV_SEGMENT_UNMAP);
}

enum vs_status rpl_state_apply(struct rpl_state *state, const struct vs_event *event,
                               struct vs_error *err)
{
    uint64_t seq = ++state->seq;
    enum vs_status st;

    /* Half of all events are holds and drops; they do not change the live set. */
    if (event->kind == VS_EV_HOLD) {
        if (!event->hold.block || rpl_live_block(&state->live, event->hold.block))
            rpl_holders_take(&state->holders, seq, event);
        return VS_OK;
    }
    if (event->kind == VS_EV_DROP) {
        rpl_holders_drop(&state->holders, event);
        return VS_OK;
    }
    if (!is_in_both(event))
        return rpl_live_apply(&state->live, seq, event, err);
    st = rpl_live_apply(&state->live, seq, event, err);
    if (st)
        return st;
    if (event->kind == VS_EV_SAVE) {
        if (!event->save.block || rpl_live_block(&state->live, event->save.block))
            rpl_holders_take(&state->holders, seq, event);
    } else if (event->kind == VS_EV_UNSAVE) {
        rpl_holders_drop(&state->holders, event);
    } else if (event->kind == VS_EV_FREE) {
        rpl_holders_free(&state->holders, event->free.block);
    } else {
        rpl_state_segment(state, event);
    }
    return VS_OK;
}

/* ---- packing ---- */

/* Only traces imported from PyTorch have streams and private pools. */
static bool has_owner(const struct rpl_segment *segment)
{
    return segment->stream || segment->pool;
}

size_t rpl_state_size(const struct rpl_state *state)
{
    return state->live.block_count + state->holders.count;
}

static int by_id(const void *a, const void *b)
{
    const struct rpl_block *x = *(const struct rpl_block *const *)a;
    const struct rpl_block *y = *(const struct rpl_block *const *)b;

    return x->id < y->id ? -1 : x->id > y->id;
}

/* The live blocks by ascending number; the caller frees the array. */
static const struct rpl_block **blocks_sorted(const struct rpl_live *live)
{
    const struct rpl_block **blocks = vs_alloc((live->block_count + 1) * sizeof(void *));

    for (size_t i = 0; i < live->block_count; i++)
        blocks[i] = &live->blocks[i];
    qsort(blocks, live->block_count, sizeof(*blocks), by_id);
    return blocks;
}

static int64_t change(uint64_t before, uint64_t now)
{
    return (int64_t)(now - before);
}

/* The number of events since `then`; 0 encodes never. */
static uint64_t ago(uint64_t now, uint64_t then)
{
    return then ? now - then + 1 : 0;
}

static void block_pack(const struct rpl_block *b, const struct rpl_block *before, uint64_t seq,
                       struct rpl_pack *out)
{
    rpl_pack_uint(out, b->id - before->id);
    rpl_pack_uint(out, b->requested);
    rpl_pack_int(out, change(b->requested, b->bytes));
    rpl_pack_bytes(out, before->address, b->address);
    rpl_pack_int(out, change(before->alloc_seq, b->alloc_seq));
    rpl_pack_int(out, (int64_t)b->tensor - before->tensor);
    rpl_pack_int(out, (int64_t)b->alloc_location - before->alloc_location);
    rpl_pack_uint(out, ago(seq, b->last_use_seq));
    rpl_pack_uint(out, b->last_use_location);
    rpl_pack_uint(out, b->saves);
    rpl_pack_uint(out, b->category);
}

static void held_pack(const struct rpl_held *h, const struct rpl_held *before, uint64_t seq,
                      struct rpl_pack *out)
{
    rpl_pack_uint(out, h->block - before->block);
    rpl_pack_uint(out, h->holder.kind);
    rpl_pack_uint(out, ago(seq, h->holder.since_seq));
    rpl_pack_int(out, (int64_t)h->holder.tensor - before->holder.tensor);
    rpl_pack_int(out, (int64_t)h->holder.name - before->holder.name);
    rpl_pack_int(out, (int64_t)h->holder.scope - before->holder.scope);
    rpl_pack_int(out, (int64_t)h->holder.location - before->holder.location);
    rpl_pack_uint(out, h->holder.node);
}

/* Pack the holders of a block; `before` is the holder packed before them. */
static struct rpl_held chain_pack(const struct rpl_state *state, uint64_t block,
                                  struct rpl_held before, struct rpl_pack *out)
{
    const struct rpl_holders *h = &state->holders;

    for (size_t i = rpl_holders_first(h, block); i != SIZE_MAX; i = rpl_holders_next(h, i)) {
        held_pack(&h->items[i], &before, state->seq, out);
        before = h->items[i];
    }
    return before;
}

void rpl_state_pack(const struct rpl_state *state, struct rpl_pack *out)
{
    const struct rpl_live *live = &state->live;
    const struct rpl_block **blocks = blocks_sorted(live);
    struct rpl_block before = {.id = 0};
    struct rpl_held held = {.block = 0};
    uint64_t address = 0;

    rpl_pack_int(out, live->step);
    rpl_pack_uint(out, live->phase);
    rpl_pack_uint(out, live->reserved);
    rpl_pack_uint(out, live->segments);
    rpl_pack_uint(out, live->open_count);
    for (size_t i = 0; i < live->open_count; i++) {
        rpl_pack_uint(out, ago(state->seq, live->open[i].seq));
        rpl_pack_uint(out, live->open[i].is_recompute);
    }
    rpl_pack_uint(out, state->segment_count);
    for (size_t i = 0; i < state->segment_count; i++) {
        const struct rpl_segment *s = &state->segments[i];

        rpl_pack_bytes(out, address, s->address);
        rpl_pack_uint(out, s->bytes);
        rpl_pack_uint(out, (uint64_t)s->is_small | (uint64_t)s->is_mapped << 1 |
                               (uint64_t)has_owner(s) << 2);
        if (has_owner(s)) {
            rpl_pack_uint(out, s->stream);
            rpl_pack_uint(out, s->pool);
        }
        address = s->address;
    }
    rpl_pack_uint(out, live->block_count);
    for (size_t i = 0; i < live->block_count; i++) {
        block_pack(blocks[i], &before, state->seq, out);
        before = *blocks[i];
    }
    rpl_pack_uint(out, state->holders.count);
    held = chain_pack(state, 0, held, out);
    for (size_t i = 0; i < live->block_count; i++)
        held = chain_pack(state, blocks[i]->id, held, out);
    vs_free(blocks);
}

/* ---- unpacking ---- */

static uint64_t then(struct rpl_unpack *in, uint64_t now)
{
    uint64_t ago_plus = rpl_unpack_uint(in);

    if (ago_plus > now + 1)
        in->is_bad = true;
    return ago_plus ? now + 1 - ago_plus : 0;
}

static uint32_t moved(struct rpl_unpack *in, uint32_t before)
{
    return (uint32_t)((int64_t)before + rpl_unpack_int(in));
}

static struct rpl_block block_unpack(struct rpl_unpack *in, const struct rpl_block *before,
                                     uint64_t seq)
{
    struct rpl_block b = *before;

    b.id += rpl_unpack_uint(in);
    b.requested = rpl_unpack_uint(in);
    b.bytes = b.requested + (uint64_t)rpl_unpack_int(in);
    b.address = rpl_unpack_bytes(in, b.address);
    b.alloc_seq += (uint64_t)rpl_unpack_int(in);
    b.tensor = moved(in, b.tensor);
    b.alloc_location = moved(in, b.alloc_location);
    b.last_use_seq = then(in, seq);
    b.last_use_location = (uint32_t)rpl_unpack_uint(in);
    b.saves = (uint32_t)rpl_unpack_uint(in);
    b.category = (uint8_t)rpl_unpack_uint(in);
    in->is_bad |= b.alloc_seq < 1 || b.alloc_seq > seq;
    return b;
}

static struct rpl_held held_unpack(struct rpl_unpack *in, const struct rpl_held *before,
                                   uint64_t seq)
{
    struct rpl_held h = *before;
    uint64_t kind;

    h.block += rpl_unpack_uint(in);
    kind = rpl_unpack_uint(in);
    if (kind >= VS_HOLDER_COUNT) {
        in->is_bad = true;
        kind = 0;
    }
    h.holder.kind = (enum vs_holder)kind;
    h.holder.since_seq = then(in, seq);
    h.holder.tensor = moved(in, h.holder.tensor);
    h.holder.name = moved(in, h.holder.name);
    h.holder.scope = moved(in, h.holder.scope);
    h.holder.location = moved(in, h.holder.location);
    h.holder.node = rpl_unpack_uint(in);
    return h;
}

static void open_unpack(struct rpl_state *state, struct rpl_unpack *in)
{
    struct rpl_live *live = &state->live;
    uint64_t count = rpl_unpack_uint(in);

    for (uint64_t i = 0; i < count && !in->is_bad; i++) {
        struct rpl_open open = {.seq = then(in, state->seq)};

        open.is_recompute = rpl_unpack_uint(in) != 0;
        live->open = vs_grow(live->open, live->open_count, &live->open_cap, sizeof(*live->open));
        live->open[live->open_count++] = open;
        live->recompute_depth += open.is_recompute;
    }
}

static void segments_unpack(struct rpl_state *state, struct rpl_unpack *in)
{
    uint64_t count = rpl_unpack_uint(in);
    uint64_t address = 0;

    for (uint64_t i = 0; i < count && !in->is_bad; i++) {
        struct rpl_segment s;
        uint64_t flags;

        s.address = address = rpl_unpack_bytes(in, address);
        s.bytes = rpl_unpack_uint(in);
        flags = rpl_unpack_uint(in);
        s.is_small = flags & 1;
        s.is_mapped = flags >> 1 & 1;
        s.stream = flags >> 2 & 1 ? rpl_unpack_uint(in) : 0;
        s.pool = flags >> 2 & 1 ? rpl_unpack_uint(in) : 0;
        segment_insert(state, state->segment_count, s);
    }
}

bool rpl_state_unpack(struct rpl_state *state, uint64_t seq, struct rpl_unpack *in)
{
    struct rpl_live *live = &state->live;
    struct rpl_block block = {.id = 0};
    struct rpl_held held = {.block = 0};
    uint64_t phase;
    uint64_t count;

    rpl_state_clear(state);
    state->seq = seq;
    live->step = rpl_unpack_int(in);
    phase = rpl_unpack_uint(in);
    live->phase = phase < VS_PHASE_COUNT ? (enum vs_phase)phase : VS_PHASE_SETUP;
    live->reserved = rpl_unpack_uint(in);
    live->segments = rpl_unpack_uint(in);
    open_unpack(state, in);
    segments_unpack(state, in);
    count = rpl_unpack_uint(in);
    for (uint64_t i = 0; i < count && !in->is_bad; i++) {
        block = block_unpack(in, &block, seq);
        if (!in->is_bad && !rpl_live_put(live, &block))
            in->is_bad = true;
    }
    count = rpl_unpack_uint(in);
    for (uint64_t i = 0; i < count && !in->is_bad; i++) {
        held = held_unpack(in, &held, seq);
        rpl_holders_add(&state->holders, &held);
    }
    if (!rpl_unpack_is_done(in)) {
        rpl_state_clear(state);
        return false;
    }
    return true;
}

/*
 * replay/inspect/frame.c - see frame.h.
 *
 * Must not know:  drawing.
 * Invariant:      each holder that is a variable of the program goes into exactly one frame.
 */
#include "replay/inspect/frame.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/table.h"

static bool is_variable(enum vs_holder kind)
{
    return kind == VS_HOLD_LOCAL || kind == VS_HOLD_ARGS || kind == VS_HOLD_ATTR ||
           kind == VS_HOLD_ITEM;
}

/* Whether the variable belongs to a function (otherwise to an object). */
static bool is_call(enum vs_holder kind)
{
    return kind == VS_HOLD_LOCAL || kind == VS_HOLD_ARGS;
}

/* Frames by scope while they are filled: a deep net has hundreds. */
struct by_scope {
    struct rpl_frames *out;
    struct vs_table table;
};

static struct rpl_frame *frame_of(struct by_scope *by, uint32_t scope, bool is_function)
{
    const uint64_t hash = vs_hash_mix(is_function, scope);
    struct vs_probe probe = vs_probe(hash);
    struct rpl_frames *out = by->out;
    struct rpl_frame *frame;

    while (vs_table_next(&by->table, &probe)) {
        frame = &out->frames[probe.item];
        if (frame->scope == scope && frame->is_function == is_function)
            return frame;
    }
    vs_table_add(&by->table, hash, out->count);
    if (out->count == out->cap) {
        size_t cap = out->cap ? out->cap * 2 : 8;

        out->frames = vs_realloc(out->frames, cap, sizeof(*out->frames));
        memset(out->frames + out->cap, 0, (cap - out->cap) * sizeof(*out->frames));
        out->cap = cap;
    }
    frame = &out->frames[out->count++];
    frame->scope = scope;
    frame->is_function = is_function;
    frame->count = 0;
    frame->bytes = 0;
    frame->is_current = false;
    return frame;
}

/* Add holder `i` of the cursor, which is `held`. */
static void variable_add(struct by_scope *by, const struct rpl_cursor *cursor, size_t i,
                         const struct rpl_held *held)
{
    const struct rpl_holder *h = &held->holder;
    const struct rpl_block *block = rpl_live_block(rpl_cursor_live(cursor), held->block);
    struct rpl_frame *frame = frame_of(by, h->scope, is_call(h->kind));

    if (frame->count == frame->cap)
        frame->variables =
            vs_grow(frame->variables, frame->count, &frame->cap, sizeof(*frame->variables));
    frame->variables[frame->count++] = (struct rpl_variable){
        .name = h->name,
        .kind = h->kind,
        .tensor = h->tensor,
        .block = held->block,
        .bytes = block ? block->bytes : 0,
        .sharers = held->block ? (uint32_t)rpl_cursor_held_count(cursor, i) : 1,
        .since_seq = h->since_seq,
        .location = h->location,
    };
}

/* Bytes of the distinct blocks that the frame's variables hold. */
static uint64_t bytes_of(const struct rpl_frame *frame, struct vs_keyed *keys)
{
    uint64_t bytes = 0;
    size_t count = 0;

    for (size_t i = 0; i < frame->count; i++) {
        if (frame->variables[i].sharers > 1)
            keys[count++] = (struct vs_keyed){frame->variables[i].block, i};
        else
            bytes += frame->variables[i].bytes;
    }
    vs_sort_keyed(keys, count);
    for (size_t i = 0; i < count; i++)
        if (!i || keys[i].key != keys[i - 1].key)
            bytes += frame->variables[keys[i].item].bytes;
    return bytes;
}

/* In the order of binding; no event binds two variables. */
static void variables_sort(struct rpl_frame *frame, struct vs_keyed *keys)
{
    struct rpl_variable *sorted;
    size_t in_order = 1;

    while (in_order < frame->count &&
           frame->variables[in_order - 1].since_seq <= frame->variables[in_order].since_seq)
        in_order++;
    if (in_order >= frame->count)
        return;
    sorted = vs_alloc(frame->cap * sizeof(*sorted));
    for (size_t i = 0; i < frame->count; i++)
        keys[i] = (struct vs_keyed){frame->variables[i].since_seq, i};
    vs_sort_keyed(keys, frame->count);
    for (size_t i = 0; i < frame->count; i++)
        sorted[i] = frame->variables[keys[i].item];
    vs_free(frame->variables);
    frame->variables = sorted;
}

/* When a name of the frame was bound last. */
static uint64_t latest(const struct rpl_frame *frame)
{
    return frame->variables[frame->count - 1].since_seq;
}

static int frames_order(const void *a, const void *b)
{
    const struct rpl_frame *x = a;
    const struct rpl_frame *y = b;

    if (x->is_current != y->is_current)
        return x->is_current ? -1 : 1;
    if (x->is_function != y->is_function)
        return x->is_function ? -1 : 1;
    if (latest(x) != latest(y))
        return latest(x) > latest(y) ? -1 : 1;
    return x->scope < y->scope ? -1 : x->scope > y->scope;
}

void rpl_frames_fill(struct rpl_frames *out, const struct rpl_cursor *cursor)
{
    struct rpl_here here = rpl_cursor_here(cursor);
    const struct rpl_trace *trace = rpl_index_trace(rpl_cursor_index(cursor));
    uint32_t func = rpl_trace_location(trace, here.event.location)->func;
    size_t count;
    const struct rpl_held *held = rpl_cursor_held(cursor, &count);
    struct vs_keyed *keys = vs_alloc((count + 1) * sizeof(*keys));
    struct by_scope by = {.out = out};

    out->count = 0;
    for (size_t i = 0; i < count; i++)
        if (is_variable(held[i].holder.kind))
            variable_add(&by, cursor, i, &held[i]);
    vs_table_release(&by.table);
    for (size_t i = 0; i < out->count; i++) {
        struct rpl_frame *frame = &out->frames[i];

        frame->is_current = frame->is_function && func && frame->scope == func;
        frame->bytes = bytes_of(frame, keys);
        variables_sort(frame, keys);
    }
    vs_free(keys);
    if (out->count)
        qsort(out->frames, out->count, sizeof(*out->frames), frames_order);
}

void rpl_frames_release(struct rpl_frames *frames)
{
    for (size_t i = 0; i < frames->cap; i++)
        vs_free(frames->frames[i].variables);
    vs_free(frames->frames);
    memset(frames, 0, sizeof(*frames));
}

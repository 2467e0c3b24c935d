/*
 * export/stack.c - see stack.h.
 *
 * Must not know:  the output format.
 * Invariant:      equal frames are stored once, so frames can be compared by address.
 */
#include "export/stack.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "replay/index/cursor.h"
#include "replay/index/lifetimes.h"
#include "replay/inspect/block_text.h"

/* Greatest depth of a stack: phase, category and the components of a module path. */
#define FRAMES_MAX 64

/* A stack that is being built: frame numbers in order of creation. */
struct draft {
    const struct exp_frame *frames[FRAMES_MAX];
    size_t count;
};

struct making {
    struct exp_stacks *out;
    struct rpl_index *index;
    struct rpl_trace *trace;
    const struct exp_frame **frames;
    size_t frame_count;
    size_t frame_cap;
    struct vs_table by_hash; /* of the frames */
    size_t stack_cap;
};

/* ---- frames ---- */

static bool frame_same(const struct exp_frame *a, const struct exp_frame *b)
{
    return a->line == b->line && strcmp(a->name, b->name) == 0 && strcmp(a->file, b->file) == 0;
}

/* Find or add the frame with these values; the texts are copied if it is new. */
static const struct exp_frame *frame_get(struct making *m, const char *name, const char *file,
                                         uint32_t line)
{
    const struct exp_frame wanted = {name, file, line};
    const uint64_t hash = vs_hash_mix(vs_hash_mix(vs_hash_text(name), vs_hash_text(file)), line);
    struct vs_probe probe = vs_probe(hash);
    struct exp_frame *made;

    while (vs_table_next(&m->by_hash, &probe))
        if (frame_same(m->frames[probe.item], &wanted))
            return m->frames[probe.item];
    made = vs_arena_alloc(m->out->arena, sizeof(*made));
    *made = (struct exp_frame){vs_arena_strndup(m->out->arena, name, strlen(name)),
                               vs_arena_strndup(m->out->arena, file, strlen(file)), line};
    vs_table_add(&m->by_hash, hash, m->frame_count);
    m->frames = vs_grow(m->frames, m->frame_count, &m->frame_cap, sizeof(*m->frames));
    return m->frames[m->frame_count++] = made;
}

static void frame_add(struct making *m, struct draft *draft, const char *name, const char *file,
                      uint32_t line)
{
    if (draft->count < FRAMES_MAX)
        draft->frames[draft->count++] = frame_get(m, name, file, line);
}

static void module_add(struct making *m, struct draft *draft, const char *path)
{
    struct vs_text part = {NULL, 0, 0};

    while (*path) {
        size_t len = strcspn(path, ".");

        vs_text_clear(&part);
        vs_text_add_n(&part, path, len);
        frame_add(m, draft, vs_text_get(&part), "", 0);
        path += len + (path[len] == '.');
    }
    vs_text_release(&part);
}

/* "layer1.0.conv1.weight f32[64, 3, 7, 7]". */
static enum vs_status tensor_add(struct making *m, struct draft *draft,
                                 const struct rpl_block *block, struct vs_error *err)
{
    struct vs_text text = {NULL, 0, 0};
    struct rpl_lifetime life;
    enum vs_status st = rpl_lifetime_get(m->index, block->id, &life, err);

    if (!st && life.name)
        vs_text_addf(&text, "%s ", rpl_trace_string(m->trace, life.name));
    if (!st && block->tensor)
        rpl_shape_text(m->trace, block->tensor, &text);
    if (text.len)
        frame_add(m, draft, vs_text_get(&text), "", 0);
    vs_text_release(&text);
    return st;
}

static enum vs_status draft_make(struct making *m, struct draft *draft,
                                 const struct rpl_block *block, struct vs_error *err)
{
    const struct vs_location *location = rpl_trace_location(m->trace, block->alloc_location);
    const char *source = rpl_trace_source_name(m->trace);

    draft->count = 0;
    frame_add(m, draft, vs_category_name((enum vs_category)block->category), "", 0);
    if (!rpl_trace_is_imported(m->trace) && location->phase < VS_PHASE_COUNT)
        frame_add(m, draft, vs_phase_name((enum vs_phase)location->phase), "", 0);
    module_add(m, draft, rpl_trace_string(m->trace, location->module));
    if (location->func)
        frame_add(m, draft, rpl_trace_string(m->trace, location->func), source ? source : "",
                  location->line);
    if (location->op)
        frame_add(m, draft, rpl_trace_string(m->trace, location->op), "", 0);
    return tensor_add(m, draft, block, err);
}

/* ---- in order ---- */

static int by_text(const void *a, const void *b)
{
    const struct exp_frame *x = a;
    const struct exp_frame *y = b;
    int order = strcmp(x->name, y->name);

    if (!order)
        order = strcmp(x->file, y->file);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Frames are in one array by then, in order. */
static int by_frames(const void *a, const void *b)
{
    const struct exp_stack *x = a;
    const struct exp_stack *y = b;
    size_t i = 0;

    while (i < x->frame_count && i < y->frame_count && x->frames[i] == y->frames[i])
        i++;
    if (i < x->frame_count && i < y->frame_count)
        return x->frames[i] < y->frames[i] ? -1 : 1;
    return (x->frame_count > y->frame_count) - (x->frame_count < y->frame_count);
}

/* All frames into one array; stacks then point there. */
static void frames_sort(struct making *m)
{
    struct exp_stacks *out = m->out;

    out->frames = vs_alloc((m->frame_count + 1) * sizeof(*out->frames));
    for (size_t i = 0; i < m->frame_count; i++)
        out->frames[out->frame_count++] = *m->frames[i];
    qsort(out->frames, out->frame_count, sizeof(*out->frames), by_text);
    for (size_t i = 0; i < out->stack_count; i++)
        for (size_t j = 0; j < out->stacks[i].frame_count; j++) {
            const struct exp_frame **frame = &out->stacks[i].frames[j];

            *frame = bsearch(*frame, out->frames, out->frame_count, sizeof(*out->frames), by_text);
        }
}

/* Merge equal stacks. */
static void stacks_sort(struct exp_stacks *out)
{
    size_t kept = 0;

    if (!out->stack_count)
        return;
    qsort(out->stacks, out->stack_count, sizeof(*out->stacks), by_frames);
    for (size_t i = 1; i < out->stack_count; i++) {
        if (by_frames(&out->stacks[kept], &out->stacks[i]) == 0)
            out->stacks[kept].bytes += out->stacks[i].bytes;
        else
            out->stacks[++kept] = out->stacks[i];
    }
    out->stack_count = kept + 1;
}

/* ---- the whole ---- */

static void stack_add(struct making *m, const struct draft *draft, uint64_t bytes)
{
    struct exp_stacks *out = m->out;
    size_t size = draft->count * sizeof(draft->frames[0]);
    struct exp_stack *stack;

    out->stacks = vs_grow(out->stacks, out->stack_count, &m->stack_cap, sizeof(*out->stacks));
    stack = &out->stacks[out->stack_count++];
    stack->frames = vs_arena_alloc(out->arena, size);
    memcpy(stack->frames, draft->frames, size);
    stack->frame_count = draft->count;
    stack->bytes = bytes;
}

enum vs_status exp_stacks_fill(struct exp_stacks *out, struct rpl_index *index,
                               const struct exp_position *position, struct vs_error *err)
{
    struct making m = {.out = out, .index = index, .trace = rpl_index_trace(index)};
    struct rpl_cursor *cursor = rpl_cursor_new(index);
    struct draft draft;
    enum vs_status st;

    memset(out, 0, sizeof(*out));
    out->arena = vs_arena_new();
    st = exp_position_seq(index, position, &out->seq, err);
    if (!st)
        st = rpl_cursor_seek(cursor, out->seq, err);
    for (size_t i = 0; !st && i < rpl_cursor_live(cursor)->block_count; i++) {
        const struct rpl_block *block = &rpl_cursor_live(cursor)->blocks[i];

        st = draft_make(&m, &draft, block, err);
        if (!st && block->bytes)
            stack_add(&m, &draft, block->bytes);
    }
    frames_sort(&m);
    stacks_sort(out);
    vs_free(m.frames);
    vs_table_release(&m.by_hash);
    rpl_cursor_free(cursor);
    return st;
}

void exp_stacks_release(struct exp_stacks *stacks)
{
    vs_free(stacks->frames);
    vs_free(stacks->stacks);
    vs_arena_free(stacks->arena);
    memset(stacks, 0, sizeof(*stacks));
}

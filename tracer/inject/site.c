/*
 * tracer/inject/site.c - see site.h.
 */
#include "tracer/inject/site.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"

#define OP_MAX 320

/* frames: their texts are interned, so equal texts have equal pointers. */
struct inj_stack {
    size_t count;
    uint32_t id;
    struct inj_frame frames[];
};

/* ---- stacks ---- */

void inj_sink_release(struct inj_sink *sink)
{
    for (size_t i = 0; i < sink->stack_count; i++)
        vs_free(sink->stacks[i]);
    vs_free(sink->stacks);
    vs_table_release(&sink->by_hash);
    sink->stacks = NULL;
    sink->stack_count = sink->stack_cap = 0;
}

static uint64_t stack_hash(const struct inj_site *site)
{
    uint64_t hash = site->frame_count;

    for (size_t i = 0; i < site->frame_count; i++) {
        hash = vs_hash_mix(hash, (uint64_t)(uintptr_t)site->frames[i].text);
        hash = vs_hash_mix(hash, site->frames[i].line);
    }
    return hash;
}

static bool stack_is(const struct inj_stack *stack, const struct inj_site *site)
{
    if (stack->count != site->frame_count)
        return false;
    for (size_t i = 0; i < stack->count; i++)
        if (stack->frames[i].text != site->frames[i].text ||
            stack->frames[i].line != site->frames[i].line)
            return false;
    return true;
}

static struct inj_stack *stack_new(uint32_t id, const struct inj_site *site)
{
    const size_t bytes = site->frame_count * sizeof(*site->frames);
    struct inj_stack *stack = vs_calloc(1, sizeof(*stack) + bytes);

    stack->count = site->frame_count;
    stack->id = id;
    memcpy(stack->frames, site->frames, bytes);
    return stack;
}

static void frames_emit(struct inj_sink *sink, const struct inj_stack *stack)
{
    const struct eng_observer *to = sink->observer;

    for (size_t i = 0; i < stack->count; i++)
        sink->frame(to->user, stack->id, (uint32_t)i, to->string(to->user, stack->frames[i].text),
                    stack->frames[i].line);
}

/* Return the stack of the site, adding it if it is new. */
static const struct inj_stack *stack_get(struct inj_sink *sink, const struct inj_site *site)
{
    const uint64_t hash = stack_hash(site);
    struct vs_probe probe = vs_probe(hash);
    struct inj_stack *stack;

    while (vs_table_next(&sink->by_hash, &probe))
        if (stack_is(sink->stacks[probe.item], site))
            return sink->stacks[probe.item];
    vs_table_add(&sink->by_hash, hash, sink->stack_count);
    sink->stacks = vs_grow(sink->stacks, sink->stack_count, &sink->stack_cap, sizeof(stack));
    stack = stack_new((uint32_t)sink->stack_count + 1, site);
    sink->stacks[sink->stack_count++] = stack;
    frames_emit(sink, stack);
    return stack;
}

void inj_site_stack_emit(struct inj_sink *sink, const struct inj_site *site)
{
    if (site->frame_count)
        sink->stack(sink->observer->user, stack_get(sink, site)->id);
}

/* ---- locations ---- */

const struct inj_frame *inj_site_frame(const struct inj_site *site)
{
    const struct inj_frame *native = NULL;

    for (size_t i = 0; i < site->frame_count; i++) {
        const struct inj_frame *frame = &site->frames[i];

        if (frame->is_own && frame->is_python)
            return frame;
        if (frame->is_own && !native)
            native = frame;
    }
    if (native)
        return native;
    return site->frame_count ? &site->frames[0] : NULL;
}

static uint32_t text_id(const struct eng_observer *to, const char *text)
{
    return text && *text ? to->string(to->user, text) : 0;
}

uint32_t inj_site_location(struct inj_sink *sink, const struct inj_site *site)
{
    const struct eng_observer *to = sink->observer;
    const struct inj_frame *frame = inj_site_frame(site);
    struct vs_location location = {.phase = site->phase,
                                   .module = text_id(to, site->module),
                                   .func = frame ? text_id(to, frame->text) : 0,
                                   .line = frame ? frame->line : 0};
    char op[OP_MAX];

    snprintf(op, sizeof(op), "%s%s%s", site->call, *site->kernel ? " after " : "", site->kernel);
    location.op = text_id(to, op);
    return to->location(to->user, &location);
}

/*
 * tracer/inject/site.c - see site.h.
 */
#include "tracer/inject/site.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define OP_MAX 320
#define SLOTS_AT_START 256

/* frames: their texts are kept, so equal texts are equal pointers. */
struct inj_stack {
    uint64_t hash;
    size_t count;
    uint32_t id;
    struct inj_frame frames[];
};

/* ---- stacks ---- */

void inj_sink_release(struct inj_sink *sink)
{
    for (size_t i = 0; i < sink->slot_count; i++)
        vs_free(sink->slots[i]);
    vs_free(sink->slots);
    sink->slots = NULL;
    sink->slot_count = 0;
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

static bool stack_is(const struct inj_stack *stack, uint64_t hash, const struct inj_site *site)
{
    if (stack->hash != hash || stack->count != site->frame_count)
        return false;
    for (size_t i = 0; i < stack->count; i++)
        if (stack->frames[i].text != site->frames[i].text ||
            stack->frames[i].line != site->frames[i].line)
            return false;
    return true;
}

static void slots_double(struct inj_sink *sink)
{
    const size_t count = sink->slot_count ? sink->slot_count * 2 : SLOTS_AT_START;
    struct inj_stack **slots = vs_calloc(count, sizeof(struct inj_stack *));

    for (size_t i = 0; i < sink->slot_count; i++) {
        size_t at = sink->slots[i] ? (size_t)sink->slots[i]->hash & (count - 1) : 0;

        while (sink->slots[i] && slots[at])
            at = (at + 1) & (count - 1);
        if (sink->slots[i])
            slots[at] = sink->slots[i];
    }
    vs_free(sink->slots);
    sink->slots = slots;
    sink->slot_count = count;
}

static struct inj_stack *stack_new(uint64_t hash, uint32_t id, const struct inj_site *site)
{
    const size_t bytes = site->frame_count * sizeof(*site->frames);
    struct inj_stack *stack = vs_calloc(1, sizeof(*stack) + bytes);

    stack->hash = hash;
    stack->count = site->frame_count;
    stack->id = id;
    memcpy(stack->frames, site->frames, bytes);
    return stack;
}

static void frames_tell(struct inj_sink *sink, const struct inj_stack *stack)
{
    const struct eng_observer *to = sink->observer;

    for (size_t i = 0; i < stack->count; i++)
        sink->frame(to->user, stack->id, (uint32_t)i, to->string(to->user, stack->frames[i].text),
                    stack->frames[i].line);
}

void inj_site_stack_tell(struct inj_sink *sink, const struct inj_site *site)
{
    const uint64_t hash = stack_hash(site);
    size_t at;

    if (!site->frame_count)
        return;
    if (((size_t)sink->stack_count + 1) * 2 > sink->slot_count)
        slots_double(sink);
    at = (size_t)hash & (sink->slot_count - 1);
    while (sink->slots[at] && !stack_is(sink->slots[at], hash, site))
        at = (at + 1) & (sink->slot_count - 1);
    if (!sink->slots[at]) {
        sink->slots[at] = stack_new(hash, ++sink->stack_count, site);
        frames_tell(sink, sink->slots[at]);
    }
    sink->stack(sink->observer->user, sink->slots[at]->id);
}

/* ---- places ---- */

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

uint32_t inj_site_place(struct inj_sink *sink, const struct inj_site *site)
{
    const struct eng_observer *to = sink->observer;
    const struct inj_frame *frame = inj_site_frame(site);
    struct vs_place place = {.phase = site->phase,
                             .module = text_id(to, site->module),
                             .func = frame ? text_id(to, frame->text) : 0,
                             .line = frame ? frame->line : 0};
    char op[OP_MAX];

    snprintf(op, sizeof(op), "%s%s%s", site->call, *site->kernel ? " after " : "", site->kernel);
    place.op = text_id(to, op);
    return to->place(to->user, &place);
}

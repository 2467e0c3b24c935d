/*
 * tests/import/recording.c - see recording.h.
 */
#include "tests/import/recording.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "recording/snapshot_python.h"
#include "tracer/intern.h"

static void flag_add(struct vs_callstack *about, const char *word, size_t len)
{
    static const struct {
        const char *word;
        uint8_t flag;
    } FLAGS[] = {
        {"!cpp", VS_STACK_HAS_CPP},           {"!engine", VS_STACK_ENGINE},
        {"!release", VS_STACK_RELEASE},       {"!cast", VS_STACK_CAST},
        {"!set_data", VS_STACK_SET_DATA},     {"!op", VS_STACK_INSIDE_OP},
        {"!accumulate", VS_STACK_ACCUMULATE},
    };

    if (len == 10 && memcmp(word, "!workspace", 10) == 0) {
        about->cls = VS_MEM_WORKSPACE;
        return;
    }
    for (size_t i = 0; i < sizeof(FLAGS) / sizeof(FLAGS[0]); i++)
        if (strlen(FLAGS[i].word) == len && memcmp(FLAGS[i].word, word, len) == 0) {
            about->flags |= FLAGS[i].flag;
            return;
        }
    vs_die("recording: no stack says `%.*s`", (int)len, word);
}

static uint32_t frame_add(struct vs_memlist *list, const char *text, size_t len)
{
    const char *func = memchr(text, ' ', len);
    const char *line = func ? memchr(func + 1, ' ', len - (size_t)(func + 1 - text)) : NULL;
    struct vs_text file = {NULL, 0, 0};
    struct vs_frame frame = {.line = 0};

    VS_ASSERT(line);
    frame.kind = (uint8_t)rec_python_file(text, (size_t)(func - text), &file);
    frame.file = vs_memlist_string(list, vs_text_get(&file), file.len);
    frame.func = vs_memlist_string(list, func + 1, (size_t)(line - func - 1));
    frame.line = (uint32_t)strtoul(line + 1, NULL, 10);
    vs_text_release(&file);
    return vs_callstacks_frame(&list->stacks, &frame);
}

static void stack_set(struct vs_memlist *list, struct vs_mem_event *event, const char *text)
{
    struct vs_callstack about = {.op = 0};
    uint32_t frames[32] = {0};
    size_t count = 0;

    while (text) {
        const size_t len = strcspn(text, "|");

        if (text[0] == '!')
            flag_add(&about, text, len);
        else if (len)
            frames[count++] = frame_add(list, text, len);
        VS_ASSERT(count < 32);
        text = text[len] ? text + len + 1 : NULL;
    }
    event->stack = vs_callstacks_add(&list->stacks, frames, count, &about);
    event->cls = about.cls;
    if (count) {
        event->file = list->stacks.frames[frames[0] - 1].file;
        event->line = list->stacks.frames[frames[0] - 1].line;
    }
}

static void event_add(struct recording *r, enum vs_mem_kind kind, uint64_t address, uint64_t bytes,
                      const char *stack)
{
    struct vs_mem_event *event = vs_memlist_add_event(&r->list, kind, address, bytes, 0);

    event->time_us = r->list.event_count;
    if (stack)
        stack_set(&r->list, event, stack);
}

void recording_alloc(struct recording *r, uint64_t address, uint64_t bytes, const char *stack)
{
    event_add(r, VS_MEM_ALLOC, address, bytes, stack);
}

void recording_free(struct recording *r, uint64_t address, uint64_t bytes, const char *stack)
{
    event_add(r, VS_MEM_FREE_REQUESTED, address, bytes, stack);
    event_add(r, VS_MEM_FREE_COMPLETED, address, bytes, stack);
}

void recording_note(struct recording *r, const char *name, bool is_end)
{
    struct vs_mem_note note = {.time_us = r->list.event_count + 1,
                               .name = vs_memlist_string(&r->list, name, strlen(name)),
                               .is_end = is_end};

    vs_memlist_add_note(&r->list, note);
}

void recording_release(struct recording *r)
{
    vs_memlist_release(&r->list);
}

static struct vs_event *made(struct imp_import *out, enum vs_event_kind kind, uint64_t block,
                             const struct vs_mem_event *from, size_t number)
{
    struct vs_event *event;

    out->events = vs_grow(out->events, out->event_count, &out->event_cap, sizeof(*out->events));
    event = &out->events[out->event_count++];
    memset(event, 0, sizeof(*event));
    event->kind = (uint8_t)kind;
    event->alloc.block = block;
    event->alloc.requested_bytes = event->alloc.block_bytes = from->bytes;
    event->alloc.address = from->address;
    out->from = vs_grow(out->from, out->from_count, &out->from_cap, sizeof(*out->from));
    out->from[out->from_count++] = (uint32_t)number;
    return event;
}

/* The block that event `at` frees, 0: it was allocated before. */
static uint64_t block_of(const struct imp_import *out, uint64_t address, bool wants_old)
{
    for (size_t i = out->event_count; i-- > 0;)
        if (out->events[i].kind == VS_EV_ALLOC && out->events[i].alloc.address == address &&
            (out->from[i] == 0) == wants_old)
            return out->events[i].alloc.block;
    return 0;
}

static bool is_allocated_before(const struct recording *r, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (r->list.events[i].kind == VS_MEM_ALLOC &&
            r->list.events[i].address == r->list.events[at].address)
            return true;
    return false;
}

void recording_import(const struct recording *r, struct imp_import *out)
{
    uint64_t blocks = 0;

    memset(out, 0, sizeof(*out));
    out->intern = trc_intern_new();
    for (size_t i = 0; i < r->list.event_count; i++)
        if (r->list.events[i].kind == VS_MEM_FREE_REQUESTED && !is_allocated_before(r, i))
            made(out, VS_EV_ALLOC, ++blocks, &r->list.events[i], 0);
    out->start_events = out->event_count;
    for (size_t i = 0; i < r->list.event_count; i++) {
        const struct vs_mem_event *event = &r->list.events[i];

        if (event->kind == VS_MEM_ALLOC)
            made(out, VS_EV_ALLOC, ++blocks, event, i + 1);
        else if (event->kind == VS_MEM_FREE_REQUESTED)
            made(out, VS_EV_FREE, block_of(out, event->address, !is_allocated_before(r, i)), event,
                 i + 1);
    }
}

void recording_old(struct imp_import *import, uint64_t address, uint64_t bytes, size_t count)
{
    struct imp_import old = {.events = import->events,
                             .event_count = import->event_count,
                             .from = import->from,
                             .from_count = import->from_count};

    import->events = NULL;
    import->from = NULL;
    import->event_count = import->event_cap = import->from_count = import->from_cap = 0;
    for (size_t i = 0; i < count; i++) {
        const struct vs_mem_event from = {.address = address + i * bytes, .bytes = bytes};

        made(import, VS_EV_ALLOC, i + 1, &from, 0);
    }
    import->start_events = count;
    for (size_t i = 0; i < old.event_count; i++) {
        const struct vs_mem_event from = {.address = old.events[i].alloc.address,
                                          .bytes = old.events[i].alloc.requested_bytes};

        made(import, (enum vs_event_kind)old.events[i].kind, old.events[i].alloc.block + count,
             &from, old.from[i]);
    }
    vs_free(old.events);
    vs_free(old.from);
}

/*
 * base/recorded/memlist.c - see memlist.h.
 */
#include "base/recorded/memlist.h"

#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"

struct vs_memlist_strings {
    struct vs_arena *arena;
    const char **texts; /* by id - 1 */
    size_t count, cap;
    struct vs_table by_hash;
};

const char *vs_mem_kind_name(enum vs_mem_kind kind)
{
    static const char *const NAMES[] = {
        [VS_MEM_ALLOC] = "alloc",
        [VS_MEM_FREE_REQUESTED] = "free_requested",
        [VS_MEM_FREE_COMPLETED] = "free_completed",
        [VS_MEM_SEGMENT_ALLOC] = "segment_alloc",
        [VS_MEM_SEGMENT_FREE] = "segment_free",
        [VS_MEM_SEGMENT_MAP] = "segment_map",
        [VS_MEM_SEGMENT_UNMAP] = "segment_unmap",
        [VS_MEM_OOM] = "oom",
        [VS_MEM_SNAPSHOT] = "snapshot",
        [VS_MEM_OTHER] = "other",
    };

    VS_ASSERT(kind < VS_MEM_KIND_COUNT);
    return NAMES[kind];
}

const char *vs_mem_class_name(enum vs_mem_class cls)
{
    static const char *const NAMES[] = {
        [VS_MEM_TENSOR] = "tensor",       [VS_MEM_WORKSPACE] = "workspace",
        [VS_MEM_REDUCTION] = "reduction", [VS_MEM_SORT] = "sort",
        [VS_MEM_SCRATCH] = "scratch",
    };

    VS_ASSERT(cls < VS_MEM_CLASS_COUNT);
    return NAMES[cls];
}

const char *vs_mem_did_name(enum vs_mem_did_kind kind)
{
    static const char *const NAMES[] = {
        [VS_MEM_DID_OP_BEGIN] = "op_begin",
        [VS_MEM_DID_OP_END] = "op_end",
        [VS_MEM_DID_USE] = "use",
        [VS_MEM_DID_SAVE] = "save",
        [VS_MEM_DID_UNSAVE] = "unsave",
        [VS_MEM_DID_GRADIENT] = "gradient",
        [VS_MEM_DID_UNGRADIENT] = "ungradient",
        [VS_MEM_DID_CAST] = "cast",
        [VS_MEM_DID_CACHE] = "cache",
        [VS_MEM_DID_UNCACHE] = "uncache",
        [VS_MEM_DID_RERUN_BEGIN] = "rerun_begin",
        [VS_MEM_DID_RERUN_END] = "rerun_end",
    };

    VS_ASSERT(kind < VS_MEM_DID_COUNT);
    return NAMES[kind];
}

void vs_memlist_release(struct vs_memlist *list)
{
    vs_free(list->events);
    vs_free(list->segments);
    vs_free(list->blocks);
    vs_free(list->notes);
    vs_free(list->facts);
    vs_free(list->did);
    vs_free(list->contexts);
    vs_callstacks_release(&list->stacks);
    vs_free(list->conf);
    if (list->strings) {
        vs_arena_free(list->strings->arena);
        vs_free(list->strings->texts);
        vs_table_release(&list->strings->by_hash);
        vs_free(list->strings);
    }
    memset(list, 0, sizeof(*list));
}

struct vs_mem_event *vs_memlist_add_event(struct vs_memlist *list, enum vs_mem_kind kind,
                                          uint64_t address, uint64_t bytes, uint64_t stream)
{
    struct vs_mem_event *event;

    list->events =
        vs_grow(list->events, list->event_count, &list->event_cap, sizeof(*list->events));
    event = &list->events[list->event_count++];
    memset(event, 0, sizeof(*event));
    event->kind = (uint8_t)kind;
    event->address = address;
    event->bytes = bytes;
    event->stream = stream;
    return event;
}

struct vs_mem_segment *vs_memlist_add_segment(struct vs_memlist *list)
{
    struct vs_mem_segment *segment;

    list->segments =
        vs_grow(list->segments, list->segment_count, &list->segment_cap, sizeof(*list->segments));
    segment = &list->segments[list->segment_count++];
    memset(segment, 0, sizeof(*segment));
    segment->first_block = list->block_count;
    return segment;
}

void vs_memlist_add_block(struct vs_memlist *list, struct vs_mem_block block)
{
    VS_ASSERT(list->segment_count);
    list->blocks =
        vs_grow(list->blocks, list->block_count, &list->block_cap, sizeof(*list->blocks));
    list->blocks[list->block_count++] = block;
    list->segments[list->segment_count - 1].block_count++;
}

void vs_memlist_add_note(struct vs_memlist *list, struct vs_mem_note note)
{
    list->notes = vs_grow(list->notes, list->note_count, &list->note_cap, sizeof(*list->notes));
    list->notes[list->note_count++] = note;
}

uint32_t vs_memlist_add_facts(struct vs_memlist *list, const struct vs_mem_facts *facts)
{
    list->facts = vs_grow(list->facts, list->facts_count, &list->facts_cap, sizeof(*list->facts));
    list->facts[list->facts_count++] = *facts;
    return (uint32_t)list->facts_count;
}

const struct vs_mem_facts *vs_memlist_facts(const struct vs_memlist *list,
                                            const struct vs_mem_event *event)
{
    return event->facts ? &list->facts[event->facts - 1] : NULL;
}

uint32_t vs_memlist_string(struct vs_memlist *list, const char *text, size_t len)
{
    struct vs_memlist_strings *strings = list->strings;
    struct vs_probe probe;
    uint64_t hash;

    len = strnlen(text, len);
    if (!len)
        return 0;
    if (!strings) {
        strings = list->strings = vs_calloc(1, sizeof(*strings));
        strings->arena = vs_arena_new();
    }
    hash = vs_hash_bytes(text, len);
    probe = vs_probe(hash);
    while (vs_table_next(&strings->by_hash, &probe)) {
        const char *there = strings->texts[probe.item];

        if (strncmp(there, text, len) == 0 && !there[len])
            return probe.item + 1;
    }
    vs_table_add(&strings->by_hash, hash, strings->count);
    strings->texts =
        vs_grow(strings->texts, strings->count, &strings->cap, sizeof(*strings->texts));
    strings->texts[strings->count++] = vs_arena_strndup(strings->arena, text, len);
    return (uint32_t)strings->count;
}

const char *vs_memlist_text(const struct vs_memlist *list, uint32_t id)
{
    return id && list->strings && id <= list->strings->count ? list->strings->texts[id - 1] : "";
}

size_t vs_memlist_segment_addresses(const struct vs_memlist *list, uint64_t **out)
{
    size_t count = 0, cap = 0;

    *out = NULL;
    for (size_t i = 0; i < list->event_count && list->has_addresses; i++)
        if (list->events[i].kind == VS_MEM_SEGMENT_ALLOC) {
            *out = vs_grow(*out, count, &cap, sizeof(**out));
            (*out)[count++] = list->events[i].address;
        }
    return count;
}

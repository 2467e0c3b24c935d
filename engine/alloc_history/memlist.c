/*
 * engine/alloc_history/memlist.c - see memlist.h.
 */
#include "engine/alloc_history/memlist.h"

#include <string.h>

#include "base/mem.h"
#include "engine/alloc_history/replay.h"
#include "engine/alloc_history/rewind.h"

/* The allocator's kind for a kind of the list; ENG_RECORD_SNAPSHOT + 1 if it has none. */
static unsigned kind_of(enum vs_mem_kind kind)
{
    switch (kind) {
    case VS_MEM_ALLOC:
        return ENG_ALLOC_EV_ALLOC;
    case VS_MEM_FREE_REQUESTED:
        return ENG_ALLOC_EV_FREE_REQUESTED;
    case VS_MEM_FREE_COMPLETED:
        return ENG_ALLOC_EV_FREE_COMPLETED;
    case VS_MEM_SEGMENT_ALLOC:
        return ENG_ALLOC_EV_SEGMENT_ALLOC;
    case VS_MEM_SEGMENT_FREE:
        return ENG_ALLOC_EV_SEGMENT_FREE;
    case VS_MEM_SEGMENT_MAP:
        return ENG_ALLOC_EV_SEGMENT_MAP;
    case VS_MEM_SEGMENT_UNMAP:
        return ENG_ALLOC_EV_SEGMENT_UNMAP;
    case VS_MEM_OOM:
        return ENG_ALLOC_EV_OOM;
    case VS_MEM_SNAPSHOT:
        return ENG_RECORD_SNAPSHOT;
    case VS_MEM_OTHER:
    case VS_MEM_KIND_COUNT:
        break;
    }
    return ENG_RECORD_SNAPSHOT + 1;
}

static enum eng_block_state state_of(enum vs_mem_block_state state)
{
    switch (state) {
    case VS_MEM_INACTIVE:
        return ENG_BLOCK_INACTIVE;
    case VS_MEM_ALLOCATED:
        return ENG_BLOCK_ALLOCATED;
    case VS_MEM_PENDING_FREE:
        break;
    }
    return ENG_BLOCK_PENDING_FREE;
}

static void add_segment(const struct vs_memlist *list, const struct vs_mem_segment *from,
                        struct eng_record_state *state)
{
    struct eng_record_segment *to = eng_record_state_add_segment(state);

    to->address = from->address;
    to->bytes = from->bytes;
    to->stream = from->stream;
    to->pool.graph = from->pool_graph;
    to->pool.user = from->pool_user;
    to->is_small = from->is_small;
    to->is_expandable = from->is_expandable;
    for (size_t i = from->first_block; i < from->first_block + from->block_count; i++)
        eng_record_state_add_block(
            state, (struct eng_record_block){list->blocks[i].bytes, list->blocks[i].requested,
                                             state_of(list->blocks[i].state)});
}

enum vs_status eng_record_of_list(const struct vs_memlist *list, struct eng_record *out,
                                  struct vs_error *err)
{
    memset(out, 0, sizeof(*out));
    eng_alloc_conf_init(&out->conf);
    for (size_t i = 0; i < list->segment_count; i++)
        add_segment(list, &list->segments[i], &out->final);
    for (size_t i = 0; i < list->event_count; i++) {
        const struct vs_mem_event *from = &list->events[i];
        unsigned kind = kind_of((enum vs_mem_kind)from->kind);

        if (kind > ENG_RECORD_SNAPSHOT)
            continue;
        out->events = vs_grow(out->events, out->event_count, &out->event_cap, sizeof(*out->events));
        out->events[out->event_count++] =
            (struct eng_record_event){from->address, from->bytes, from->stream, kind, 0};
    }
    return list->conf ? eng_alloc_conf_parse(list->conf, &out->conf, err) : VS_OK;
}

void eng_record_release(struct eng_record *record)
{
    eng_record_state_release(&record->final);
    vs_free(record->events);
    memset(record, 0, sizeof(*record));
}

enum vs_status eng_record_peaks_of(const struct vs_memlist *list, struct eng_record_peaks *out,
                                   struct vs_error *err)
{
    struct eng_record record;
    struct eng_record_state start = {.segments = NULL};
    struct eng_replay_options options;
    struct eng_replay *replay = NULL;
    const struct eng_alloc_stats *stats;
    enum vs_status st = eng_record_of_list(list, &record, err);

    if (!st && list->has_state)
        st = eng_record_rewind(&record.final, record.events, record.event_count, &record.conf,
                               &start, err);
    options = (struct eng_replay_options){.start = &start,
                                          .events = record.events,
                                          .event_count = record.event_count,
                                          .conf = &record.conf};
    if (!st)
        st = eng_replay_new(&options, &replay, err);
    if (!st)
        st = eng_replay_run(replay, err);
    if (!st) {
        stats = eng_alloc_stats_get(eng_replay_alloc(replay));
        out->allocated = stats->allocated_bytes[ENG_STAT_ALL].peak;
        out->requested = stats->requested_bytes[ENG_STAT_ALL].peak;
        out->reserved = stats->reserved_bytes[ENG_STAT_ALL].peak;
    }
    eng_replay_free(replay);
    eng_record_state_release(&start);
    eng_record_release(&record);
    return st;
}

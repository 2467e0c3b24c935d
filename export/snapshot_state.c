/*
 * export/snapshot_state.c - the segments and blocks at the end of a trace, and the allocator's settings.
 *
 * Must not know:  pickle opcodes, events.
 * Invariant:      the blocks of a segment cover it without gaps or overlaps.
 */
#include <stdio.h>
#include <string.h>

#include "export/snapshot_internal.h"
#include "replay/inspect/space.h"

/* ---- segments and blocks ---- */

/* Sums over the blocks of a segment. */
struct sums {
    uint64_t allocated;
    uint64_t requested;
};

static void block_put(struct snapshot *s, const struct rpl_part *part,
                      const struct rpl_block *block)
{
    bool is_workspace = block && block->category == VS_CAT_WORKSPACE;

    exp_pickle_item(&s->p, &s->list);
    exp_pickle_dict(&s->p);
    exp_snapshot_uint(s, WORD_ADDRESS, part->address);
    exp_snapshot_uint(s, WORD_SIZE, part->bytes);
    exp_snapshot_uint(s, WORD_REQUESTED_SIZE, block ? block->requested : 0);
    exp_snapshot_word(s, WORD_STATE);
    exp_snapshot_word(s, block ? WORD_ACTIVE_ALLOCATED : WORD_INACTIVE);
    exp_snapshot_word(s, WORD_FRAMES);
    if (block && exp_snapshot_has_frames(s, block->alloc_location))
        exp_snapshot_frames(s, block->alloc_location,
                            is_workspace ? EXP_FRAMES_WORKSPACE : EXP_FRAMES_TENSOR);
    else
        exp_snapshot_no_frames(s);
    exp_pickle_dict_end(&s->p);
}

static struct sums sums_of(const struct rpl_space *space, size_t i, const struct rpl_live *live)
{
    struct sums sums = {0, 0};

    for (size_t j = space->first_part[i]; j < space->first_part[i + 1]; j++) {
        const struct rpl_part *part = &space->parts[j];

        if (part->block == SIZE_MAX)
            continue;
        sums.allocated += part->bytes;
        sums.requested += live->blocks[part->block].requested;
    }
    return sums;
}

static void segment_state_put(struct snapshot *s, const struct rpl_space *space, size_t i,
                              const struct rpl_live *live)
{
    const struct rpl_segment *segment = &space->segments[i];
    struct exp_range range = exp_ranges_find(&s->d->ranges, segment->address);
    struct sums sums = sums_of(space, i, live);

    exp_pickle_dict(&s->p);
    exp_snapshot_uint(s, WORD_DEVICE, s->d->device);
    exp_snapshot_uint(s, WORD_ADDRESS, segment->address);
    exp_snapshot_uint(s, WORD_TOTAL_SIZE, segment->bytes);
    exp_snapshot_uint(s, WORD_ALLOCATED_SIZE, sums.allocated);
    exp_snapshot_uint(s, WORD_ACTIVE_SIZE, sums.allocated);
    exp_snapshot_uint(s, WORD_REQUESTED_SIZE, sums.requested);
    exp_snapshot_uint(s, WORD_STREAM, range.stream);
    exp_snapshot_word(s, WORD_SEGMENT_TYPE);
    exp_snapshot_word(s, segment->is_small ? WORD_SMALL : WORD_LARGE);
    exp_snapshot_word(s, WORD_SEGMENT_POOL_ID);
    exp_pickle_uint(&s->p, VS_POOL_GRAPH(range.pool));
    exp_pickle_uint(&s->p, VS_POOL_USER(range.pool));
    exp_pickle_pair(&s->p);
    exp_snapshot_word(s, WORD_IS_EXPANDABLE);
    exp_pickle_bool(&s->p, segment->is_mapped);
    exp_snapshot_word(s, WORD_FRAMES);
    exp_snapshot_no_frames(s);
    exp_snapshot_word(s, WORD_BLOCKS);
    exp_pickle_list(&s->p, &s->list);
    for (size_t j = space->first_part[i]; j < space->first_part[i + 1]; j++) {
        size_t block = space->parts[j].block;

        block_put(s, &space->parts[j], block == SIZE_MAX ? NULL : &live->blocks[block]);
    }
    exp_pickle_list_end(&s->p, &s->list);
    exp_pickle_dict_end(&s->p);
}

static enum vs_status device_segments_put(struct snapshot *s, struct exp_pickle_list *segments,
                                          struct vs_error *err)
{
    struct rpl_cursor *cursor = rpl_cursor_new(s->d->index);
    struct rpl_space space = {.parts = NULL};
    enum vs_status st = rpl_cursor_seek(cursor, rpl_index_event_count(s->d->index), err);

    if (!st) {
        rpl_space_fill(&space, cursor);
        for (size_t i = 0; i < space.segment_count; i++) {
            exp_pickle_item(&s->p, segments);
            segment_state_put(s, &space, i, rpl_cursor_live(cursor));
        }
    }
    rpl_space_release(&space);
    rpl_cursor_free(cursor);
    return st;
}

enum vs_status exp_snapshot_segments(struct snapshot *s, struct vs_error *err)
{
    struct exp_pickle_list segments;
    enum vs_status st = VS_OK;

    exp_snapshot_word(s, WORD_SEGMENTS);
    exp_pickle_list(&s->p, &segments);
    for (size_t i = 0; i < s->device_count && !st; i++) {
        s->d = &s->devices[i];
        st = device_segments_put(s, &segments, err);
    }
    exp_pickle_list_end(&s->p, &segments);
    return st;
}

/* ---- settings ---- */

const char *exp_snapshot_conf(const struct rpl_trace *trace)
{
    const char *text = rpl_trace_meta(trace, "alloc_conf");

    if (text)
        return text;
    for (size_t i = 0; i < rpl_trace_toggle_count(trace); i++) {
        struct rpl_toggle toggle = rpl_trace_toggle(trace, i);

        if (strcmp(toggle.name, "alloc-conf") == 0 && strcmp(toggle.value, "default") != 0)
            return toggle.value;
    }
    return "";
}

static void divisions_put(struct snapshot *s)
{
    char name[8];

    exp_snapshot_word(s, WORD_ROUNDUP);
    exp_pickle_dict(&s->p);
    for (unsigned i = 0; i < ENG_ROUNDUP_INTERVALS; i++) {
        snprintf(name, sizeof(name), "%u", 1u << i);
        exp_pickle_text(&s->p, name);
        exp_pickle_uint(&s->p, s->conf.roundup_divisions[i]);
    }
    exp_pickle_dict_end(&s->p);
}

void exp_snapshot_settings(struct snapshot *s, const struct rpl_trace *trace)
{
    const struct eng_alloc_conf *conf = &s->conf;

    exp_snapshot_word(s, WORD_ALLOCATOR_SETTINGS);
    exp_pickle_dict(&s->p);
    exp_snapshot_word(s, WORD_CONF);
    exp_pickle_text(&s->p, exp_snapshot_conf(trace));
    exp_snapshot_word(s, WORD_MAX_SPLIT);
    if (conf->max_split_bytes == ENG_NO_LIMIT)
        exp_pickle_int(&s->p, -1);
    else
        exp_pickle_uint(&s->p, conf->max_split_bytes);
    exp_snapshot_word(s, WORD_GC_THRESHOLD);
    exp_pickle_double(&s->p, conf->gc_threshold);
    exp_snapshot_word(s, WORD_EXPANDABLE);
    exp_pickle_bool(&s->p, conf->expandable_segments);
    divisions_put(s);
    exp_pickle_dict_end(&s->p);
}

/*
 * replay/ranks/ranks_json.c - the summary over ranks as JSON; see ranks.h.
 *
 * Invariant:      member names are a contract with scripts (docs/formats/json.md): new ones may be added, existing
 *                 ones never change.
 */
#include "replay/ranks/ranks.h"
#include "replay/ranks/skew.h"
#include "replay/report/report.h"

/* "rank": its number, or null. */
static void number_json(const char *key, const struct rpl_rank *rank, struct vs_json *json)
{
    vs_json_key(json, key);
    if (rank->number == RPL_NO_RANK)
        vs_json_null(json);
    else
        vs_json_int(json, rank->number);
}

static void collectives_json(const struct rpl_rank *rank, struct vs_json *json)
{
    const char *list = rpl_trace_meta(rank->trace, "collectives");
    struct rpl_collective collective;

    vs_json_key(json, "collectives");
    vs_json_array(json);
    while (rpl_collective_next(&list, &collective)) {
        struct vs_text name = {NULL, 0, 0};

        vs_text_add_n(&name, collective.name, (size_t)collective.name_len);
        vs_json_object_flat(json);
        vs_json_put_string(json, "name", vs_text_get(&name));
        vs_json_put_uint(json, "count", collective.count);
        vs_json_put_uint(json, "bytes", collective.bytes);
        vs_json_end(json);
        vs_text_release(&name);
    }
    vs_json_end(json);
}

/* "phases": of the step in which the rank with the highest peak has it. */
static void phases_json(const struct rpl_ranks *ranks, size_t i, struct vs_json *json)
{
    vs_json_key(json, "phases");
    vs_json_array(json);
    for (int phase = 0; phase < VS_PHASE_COUNT; phase++) {
        const struct rpl_phase *p = rpl_ranks_phase(ranks, i, (enum vs_phase)phase);

        if (!p)
            continue;
        vs_json_object_flat(json);
        vs_json_put_string(json, "phase", vs_phase_name((enum vs_phase)phase));
        vs_json_put_uint(json, "allocated", p->allocated_peak);
        vs_json_put_uint(json, "reserved", p->reserved_peak);
        vs_json_end(json);
    }
    vs_json_end(json);
}

static void rank_json(const struct rpl_ranks *ranks, size_t i, struct vs_json *json)
{
    const struct rpl_rank *rank = &ranks->items[i];

    vs_json_object(json);
    vs_json_put_string(json, "trace", rank->path);
    number_json("rank", rank, json);
    vs_json_put_bool(json, "complete", rpl_trace_is_complete(rank->trace));
    vs_json_put_uint(json, "events", rank->sum.events);
    vs_json_put_uint(json, "allocator_events", rank->events);
    vs_json_put_string(json, "events_as", ranks->items[rank->like].path);
    vs_json_put_bool(json, "oom", rank->sum.oom.event != 0);
    collectives_json(rank, json);
    vs_json_key(json, "peak");
    rpl_peak_json(rank->trace, &rank->sum.peak, json);
    phases_json(ranks, i, json);
    vs_json_end(json);
}

/* what: "line" or "block" */
static void change_json(const struct rpl_rank_change *change, const char *what,
                        struct vs_json *json)
{
    vs_json_object_flat(json);
    vs_json_put_string(json, what, change->text);
    vs_json_put_string(json, "category", vs_category_name(change->category));
    vs_json_put_uint(json, "a", change->a);
    vs_json_put_uint(json, "b", change->b);
    vs_json_put_int(json, "delta", (int64_t)(change->b - change->a));
    vs_json_put_uint(json, "blocks_a", change->blocks_a);
    vs_json_put_uint(json, "blocks_b", change->blocks_b);
    vs_json_end(json);
}

static void diff_json(const struct rpl_ranks *ranks, const struct rpl_rank_diff *diff,
                      struct vs_json *json)
{
    const struct rpl_rank *a = &ranks->items[diff->a];
    const struct rpl_rank *b = &ranks->items[diff->b];

    vs_json_object(json);
    vs_json_put_string(json, "trace_a", a->path);
    vs_json_put_string(json, "trace_b", b->path);
    number_json("rank_a", a, json);
    number_json("rank_b", b, json);
    vs_json_put_int(json, "allocated_delta",
                    (int64_t)(b->sum.peak.allocated - a->sum.peak.allocated));
    vs_json_put_int(json, "reserved_delta", (int64_t)(b->sum.peak.reserved - a->sum.peak.reserved));
    vs_json_put_uint(json, "first", diff->first);
    vs_json_put_uint(json, "event_a", diff->seq_a);
    vs_json_put_uint(json, "event_b", diff->seq_b);
    vs_json_put_uint(json, "common_a", diff->common_a);
    vs_json_put_uint(json, "common_b", diff->common_b);
    vs_json_key(json, "lines");
    vs_json_array(json);
    for (size_t i = 0; i < diff->change_count; i++)
        change_json(&diff->changes[i], "line", json);
    vs_json_end(json);
    vs_json_key(json, "blocks");
    vs_json_array(json);
    for (size_t i = 0; i < diff->block_count; i++)
        change_json(&diff->blocks[i], "block", json);
    vs_json_end(json);
    vs_json_end(json);
}

void rpl_ranks_json(const struct rpl_ranks *ranks, struct vs_json *json)
{
    struct rpl_mistakes mistakes = {.count = 0};

    vs_json_object(json);
    vs_json_key(json, "ranks");
    vs_json_array(json);
    for (size_t i = 0; i < ranks->count; i++)
        rank_json(ranks, i, json);
    vs_json_end(json);
    vs_json_put_string(json, "highest", ranks->items[ranks->highest].path);
    vs_json_put_string(json, "lowest", ranks->items[ranks->lowest].path);
    vs_json_put_string(json, "highest_reserved", ranks->items[ranks->highest_reserved].path);
    vs_json_key(json, "differences");
    vs_json_array(json);
    for (size_t i = 0; i < ranks->diff_count; i++)
        diff_json(ranks, &ranks->diffs[i], json);
    vs_json_end(json);
    rpl_shared_json(ranks, json);
    rpl_skew_find(ranks, &mistakes);
    rpl_mistakes_json(&mistakes, json);
    rpl_mistakes_release(&mistakes);
    vs_json_end(json);
}

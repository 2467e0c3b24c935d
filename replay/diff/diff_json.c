/*
 * replay/diff/diff_json.c - the difference as JSON; see diff.h.
 *
 * Must not know:  where the text goes.
 * Invariant:      member names are a contract with scripts (docs/formats/json.md): new ones may be added, existing
 *                 ones never change.
 */
#include "base/json.h"
#include "replay/diff/diff.h"
#include "replay/inspect/block_text.h"
#include "replay/report/report.h"

/* The tensor of one side; null if that side has none. */
static void alloc_json(const struct rpl_diff_side *side, const char *key,
                       const struct rpl_alloc *alloc, struct vs_json *json)
{
    const struct vs_location *location;
    struct vs_text shape = {NULL, 0, 0};

    vs_json_key(json, key);
    if (!alloc) {
        vs_json_null(json);
        return;
    }
    location = rpl_trace_location(side->trace, alloc->location);
    rpl_shape_text(side->trace, alloc->tensor, &shape);
    vs_json_object_flat(json);
    vs_json_put_uint(json, "block", alloc->block);
    vs_json_put_string(json, "shape", vs_text_get(&shape));
    vs_json_put_int(json, "step", alloc->step);
    vs_json_put_string(json, "phase", vs_phase_name((enum vs_phase)location->phase));
    vs_json_put_string(json, "module", rpl_trace_string(side->trace, location->module));
    vs_json_put_string(json, "op", rpl_trace_string(side->trace, location->op));
    vs_json_put_uint(json, "line", location->line);
    vs_json_put_uint(json, "allocated_at", alloc->seq);
    vs_json_put_uint(json, "freed_at", alloc->free_seq);
    vs_json_end(json);
    vs_text_release(&shape);
}

static void row_json(const struct rpl_diff *diff, const struct rpl_diff_row *row,
                     struct vs_json *json)
{
    vs_json_object_flat(json);
    vs_json_put_string(json, "key", row->key);
    vs_json_put_string(json, "category", vs_category_name(row->category));
    vs_json_put_uint(json, "a", row->a);
    vs_json_put_uint(json, "b", row->b);
    vs_json_put_int(json, "delta", (int64_t)(row->b - row->a));
    vs_json_put_uint(json, "blocks_a", row->blocks_a);
    vs_json_put_uint(json, "blocks_b", row->blocks_b);
    if (diff->options.by == RPL_DIFF_LINE) {
        vs_json_put_uint(json, "line_a", row->line_a);
        vs_json_put_uint(json, "line_b", row->line_b);
    }
    if (diff->options.by == RPL_DIFF_TENSOR) {
        vs_json_put_string(json, "cause", rpl_diff_cause_name(row->cause));
        alloc_json(&diff->a, "tensor_a", row->alloc_a, json);
        alloc_json(&diff->b, "tensor_b", row->alloc_b, json);
    }
    vs_json_end(json);
}

static void causes_json(const struct rpl_diff_part *part, struct vs_json *json)
{
    vs_json_key(json, "causes");
    vs_json_object(json);
    for (int i = 0; i < RPL_DIFF_CAUSE_COUNT; i++) {
        const struct rpl_diff_sum *sum = &part->causes[i];

        vs_json_key(json, rpl_diff_cause_name((enum rpl_diff_cause)i));
        vs_json_object_flat(json);
        vs_json_put_uint(json, "a", sum->a);
        vs_json_put_uint(json, "b", sum->b);
        vs_json_put_int(json, "delta", (int64_t)(sum->b - sum->a));
        vs_json_put_uint(json, "blocks_a", sum->blocks_a);
        vs_json_put_uint(json, "blocks_b", sum->blocks_b);
        vs_json_end(json);
    }
    vs_json_end(json);
}

static void rows_json(const struct rpl_diff *diff, const struct rpl_diff_part *part,
                      struct vs_json *json)
{
    causes_json(part, json);
    vs_json_key(json, "rows");
    vs_json_array(json);
    for (size_t i = 0; i < part->row_count; i++)
        row_json(diff, &part->rows[i], json);
    vs_json_end(json);
}

static void part_json(const struct rpl_diff *diff, const char *key,
                      const struct rpl_diff_part *part, struct vs_json *json)
{
    vs_json_key(json, key);
    vs_json_object(json);
    if (part == &diff->step)
        vs_json_put_int(json, "step", diff->options.step);
    vs_json_put_uint(json, "a", part->a);
    vs_json_put_uint(json, "b", part->b);
    vs_json_put_int(json, "delta", (int64_t)(part->b - part->a));
    rows_json(diff, part, json);
    vs_json_end(json);
}

static void toggles_json(const struct rpl_diff *diff, struct vs_json *json)
{
    vs_json_key(json, "toggles");
    vs_json_array(json);
    for (size_t i = 0; i < diff->toggle_count; i++) {
        vs_json_object_flat(json);
        vs_json_put_string(json, "name", diff->toggles[i].name);
        vs_json_put_string(json, "a", diff->toggles[i].a);
        vs_json_put_string(json, "b", diff->toggles[i].b);
        vs_json_end(json);
    }
    vs_json_end(json);
}

static void lines_json(const struct rpl_diff *diff, struct vs_json *json)
{
    vs_json_key(json, "lines");
    vs_json_array(json);
    for (size_t i = 0; i < diff->line_count; i++) {
        vs_json_object_flat(json);
        vs_json_put_uint(json, "a", diff->lines[i].a);
        vs_json_put_uint(json, "b", diff->lines[i].b);
        vs_json_put_string(json, "text", diff->lines[i].text);
        vs_json_end(json);
    }
    vs_json_end(json);
}

/* null where it is not known whether anything leaks. */
static void leak_json(const struct rpl_diff_side *side, const char *key, struct vs_json *json)
{
    const struct rpl_leak *leak = &side->leak;

    vs_json_key(json, key);
    if (!leak->at) {
        vs_json_null(json);
        return;
    }
    vs_json_object(json);
    vs_json_put_uint(json, "bytes_per_step", leak->bytes / leak->steps);
    vs_json_key(json, "owner");
    rpl_leak_owner_json(side->trace, &side->leak_owner, json);
    vs_json_end(json);
}

static void allocations_json(const struct rpl_diff *diff, struct vs_json *json)
{
    vs_json_key(json, "allocations");
    vs_json_object_flat(json);
    vs_json_put_uint(json, "a", diff->align.a.alloc_count);
    vs_json_put_uint(json, "b", diff->align.b.alloc_count);
    vs_json_put_uint(json, "paired", diff->paired);
    vs_json_put_uint(json, "moved", diff->moved);
    vs_json_put_uint(json, "only_a", diff->only_a);
    vs_json_put_uint(json, "only_b", diff->only_b);
    vs_json_end(json);
}

void rpl_diff_json(const struct rpl_diff *diff, struct vs_text *out)
{
    struct vs_json json;

    vs_json_init(&json, out);
    vs_json_object(&json);
    vs_json_put_bool(&json, "same", diff->is_same);
    vs_json_key(&json, "a");
    rpl_peak_json(diff->a.trace, &diff->a.at, &json);
    vs_json_key(&json, "b");
    rpl_peak_json(diff->b.trace, &diff->b.at, &json);
    vs_json_put_int(&json, "delta_allocated", (int64_t)(diff->live.b - diff->live.a));
    vs_json_put_string(&json, "by", rpl_diff_by_name(diff->options.by));
    rows_json(diff, &diff->live, &json);
    part_json(diff, "step", &diff->step, &json);
    part_json(diff, "saved", &diff->saved, &json);
    toggles_json(diff, &json);
    lines_json(diff, &json);
    allocations_json(diff, &json);
    vs_json_key(&json, "leaks");
    vs_json_object(&json);
    leak_json(&diff->a, "a", &json);
    leak_json(&diff->b, "b", &json);
    vs_json_end(&json);
    vs_json_end(&json);
}

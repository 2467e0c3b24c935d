/*
 * replay/diff_json.c - the difference for programs; see diff.h.
 *
 * Must not know:  where the text goes.
 * Invariant:      the names of the fields are a contract with scripts (docs/json.md): they are added to, never changed.
 */
#include "base/json.h"
#include "replay/diff.h"
#include "replay/report.h"

static void row_json(const struct rpl_diff *diff, const struct rpl_diff_row *row,
                     struct vs_json *json)
{
    vs_json_object_flat(json);
    vs_json_put_string(json, "key", row->key);
    vs_json_put_string(json, "category", vs_category_name(row->category));
    if (diff->by == RPL_DIFF_LINE) {
        vs_json_put_uint(json, "line_a", row->line_a);
        vs_json_put_uint(json, "line_b", row->line_b);
    }
    vs_json_put_uint(json, "a", row->a);
    vs_json_put_uint(json, "b", row->b);
    vs_json_put_int(json, "delta", (int64_t)(row->b - row->a));
    vs_json_put_uint(json, "blocks_a", row->blocks_a);
    vs_json_put_uint(json, "blocks_b", row->blocks_b);
    vs_json_end(json);
}

static void rows_json(const struct rpl_diff *diff, const struct rpl_diff_part *part,
                      struct vs_json *json)
{
    vs_json_key(json, "rows");
    vs_json_array(json);
    for (size_t i = 0; i < part->row_count; i++)
        row_json(diff, &part->rows[i], json);
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
    vs_json_put_int(&json, "delta_allocated", (int64_t)(diff->moment.b - diff->moment.a));
    vs_json_put_string(&json, "by", rpl_diff_by_name(diff->by));
    rows_json(diff, &diff->moment, &json);
    toggles_json(diff, &json);
    vs_json_end(&json);
}

/*
 * cli/mcp/tool_compare.c - the tools `diff` and `whatif`: two runs side by side.
 *
 * Must not know:  the protocol.
 * Invariant:      a what-if of a net is a run of it without data; a program is never run.
 */
#include <string.h>

#include "cli/mcp/mcp.h"
#include "replay/diff/diff.h"
#include "replay/report/dropped.h"
#include "replay/report/figures.h"
#include "replay/report/report.h"
#include "whatif/rerun.h"
#include "whatif/whatif.h"

#define TOP 15
#define TOP_MAX 50
#define TEXT_MAX 300

/* ---- diff ---- */

struct sides {
    struct rpl_trace *traces[2];
    struct rpl_index *indexes[2];
    struct rpl_diff diff;
};

static enum vs_status sides_open(struct sides *sides, const struct mcp_call *call,
                                 const struct rpl_diff_options *options, struct vs_error *err)
{
    static const char *const NAMES[] = {"a", "b"};
    enum vs_status st = VS_OK;

    for (int i = 0; i < 2 && !st; i++) {
        if (!mcp_arg_has(call, NAMES[i]))
            st = vs_fail(err, VS_E_USAGE, "the argument `%s` must name a trace file", NAMES[i]);
        if (!st)
            st = mcp_arg_trace(call, NAMES[i], &sides->traces[i], err);
        if (!st)
            st = rpl_index_open(sides->traces[i], mcp_goes_on, (void *)(uintptr_t)call,
                                &sides->indexes[i], err);
    }
    return st ? st
              : rpl_diff_fill(&sides->diff, sides->indexes[0], sides->indexes[1], options, err);
}

static void sides_release(struct sides *sides)
{
    rpl_diff_release(&sides->diff);
    for (int i = 0; i < 2; i++) {
        rpl_index_free(sides->indexes[i]);
        rpl_trace_free(sides->traces[i]);
    }
}

static void put_row(const struct rpl_diff *diff, const struct rpl_diff_row *row,
                    struct vs_json *json)
{
    struct vs_text text = {NULL, 0, 0};

    vs_json_object(json);
    rpl_diff_row_text(diff, row, &text);
    mcp_put_clipped(json, "what", vs_text_get(&text), TEXT_MAX);
    vs_json_put_string(json, "category", vs_category_name(row->category));
    vs_json_put_uint(json, "a", row->a);
    vs_json_put_uint(json, "b", row->b);
    vs_json_put_int(json, "delta", (int64_t)(row->b - row->a));
    if (row->alloc_a)
        vs_json_put_uint(json, "allocated_at_event_a", row->alloc_a->seq);
    if (row->alloc_b)
        vs_json_put_uint(json, "allocated_at_event_b", row->alloc_b->seq);
    vs_json_end(json);
    vs_text_release(&text);
}

static void put_part(const struct rpl_diff *diff, const char *key, const struct rpl_diff_part *part,
                     size_t top, struct vs_json *json)
{
    vs_json_key(json, key);
    vs_json_object(json);
    vs_json_put_uint(json, "a", part->a);
    vs_json_put_uint(json, "b", part->b);
    vs_json_put_int(json, "delta", (int64_t)(part->b - part->a));
    if (part->event_a)
        vs_json_put_uint(json, "event_a", part->event_a);
    if (part->event_b)
        vs_json_put_uint(json, "event_b", part->event_b);
    vs_json_key(json, "rows");
    vs_json_array(json);
    for (size_t i = 0; i < part->row_count && i < top; i++)
        put_row(diff, &part->rows[i], json);
    vs_json_end(json);
    vs_json_put_uint(json, "rows_in_all", part->row_count);
    vs_json_end(json);
}

static enum vs_status by_get(const struct mcp_call *call, enum rpl_diff_by *out,
                             struct vs_error *err)
{
    struct vs_text by = {NULL, 0, 0};
    enum vs_status st = VS_OK;

    *out = RPL_DIFF_LINE;
    if (mcp_arg_has(call, "by"))
        st = mcp_arg_text(call, "by", &by, err);
    if (!st && by.len && !rpl_diff_by_parse(vs_text_get(&by), out))
        st = vs_fail(err, VS_E_USAGE,
                     "the argument `by` must be one of: category, module, line, tensor");
    vs_text_release(&by);
    return st;
}

static enum vs_status diff_run(const struct mcp_call *call, struct vs_json *json,
                               struct vs_error *err)
{
    struct sides sides = {.traces = {NULL, NULL}};
    struct rpl_diff_options options = {.at = RPL_DIFF_AT_PEAK, .step = RPL_DIFF_STEP_LAST};
    uint64_t top;
    enum vs_status st = mcp_arg_count(call, "top", TOP, TOP_MAX, &top, err);

    if (!st)
        st = by_get(call, &options.by, err);
    if (!st)
        st = sides_open(&sides, call, &options, err);
    if (!st) {
        vs_json_put_bool(json, "is_same", sides.diff.is_same);
        put_part(&sides.diff, "peak", &sides.diff.live, (size_t)top, json);
        put_part(&sides.diff, "step", &sides.diff.step, (size_t)top, json);
    }
    sides_release(&sides);
    return st;
}

const struct mcp_tool mcp_tool_diff = {
    .name = "diff",
    .title = "Difference of two runs",
    .description =
        "What differs between two traces: what is allocated at their peaks (`peak`), and what a "
        "training step allocates in all (`step`). The rows are the largest changes, by line of "
        "the program unless `by` says otherwise; all rows of a part add up to its a and b.",
    .schema =
        "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"string\", \"description\": "
        "\"path of the trace before\"}, \"b\": {\"type\": \"string\", \"description\": \"path of "
        "the trace after\"}, \"by\": {\"type\": \"string\", \"enum\": [\"category\", \"module\", "
        "\"line\", \"tensor\"]}, \"top\": {\"type\": \"integer\", \"minimum\": 0, \"maximum\": "
        "50, \"description\": \"rows of each part; 15\"}}, \"required\": [\"a\", \"b\"]}",
    .run = diff_run,
};

/* ---- whatif ---- */

#define SET "$.params.arguments.set"

/* The toggles of the argument `set`. */
struct setting {
    struct vs_toggles set;
    struct vs_error *err;
    enum vs_status status;
    size_t count;
};

static bool on_member(void *user, const char *key, enum sto_json_type type, const char *value)
{
    struct setting *s = user;

    s->count++;
    if (type == STO_JSON_TEXT || type == STO_JSON_INTEGER || type == STO_JSON_BOOL)
        s->status = vs_toggles_set_named(&s->set, key, value, s->err);
    else
        s->status =
            vs_fail(s->err, VS_E_USAGE, "the value of `%s` must be a string or a number", key);
    return s->status == VS_OK;
}

/* Nothing here runs a program: that is said, with what the user can do. */
static enum vs_status net_check(const struct mcp_call *call, const struct rpl_trace *trace,
                                const struct vs_toggles *set, struct vs_error *err)
{
    struct vs_text command = {NULL, 0, 0};
    struct vs_text pair = {NULL, 0, 0};
    enum vs_status st;

    if (!wif_rerun_is_needed(trace, set))
        return VS_OK;
    vs_text_add(&command, "vramscope whatif ");
    st = mcp_add_path(call, &command, err);
    for (size_t i = 0; !st && i < VS_TOGGLE_COUNT; i++)
        if (vs_toggles_is_set(set, (enum vs_toggle)i)) {
            vs_text_clear(&pair);
            vs_text_addf(&pair, "%s=%s", vs_toggle_info((enum vs_toggle)i)->name,
                         vs_toggles_get(set, (enum vs_toggle)i));
            vs_text_add(&command, " --set ");
            mcp_add_word(vs_text_get(&pair), &command);
        }
    if (!st)
        st = vs_fail(err, VS_E_UNSUPPORTED,
                     "this trace is of a program, which would have to run again, and this server "
                     "starts none. alloc-conf, target and capacity can be changed without it; for "
                     "the others the user runs in a terminal: %s",
                     vs_text_get(&command));
    vs_text_release(&pair);
    vs_text_release(&command);
    return st;
}

static void put_peak(const char *key, const struct rpl_trace *trace, const struct rpl_summary *sum,
                     struct vs_json *json)
{
    vs_json_key(json, key);
    vs_json_object(json);
    vs_json_put_uint(json, "allocated", sum->peak.allocated);
    vs_json_put_uint(json, "reserved", sum->peak.reserved);
    vs_json_put_uint(json, "event", sum->peak.event);
    vs_json_put_int(json, "step", sum->peak.step);
    vs_json_put_string(json, "phase", vs_phase_name(sum->peak.phase));
    vs_json_key(json, "at");
    mcp_location_json(trace, sum->peak.location, json);
    vs_json_put_uint(json, "flops", sum->flops);
    vs_json_put_uint(json, "recompute_flops", sum->recompute_flops);
    vs_json_put_bool(json, "out_of_memory", sum->oom.event != 0);
    vs_json_end(json);
}

static enum vs_status run_and_put(struct rpl_trace *trace, const struct vs_toggles *set,
                                  uint64_t capacity, const struct mcp_call *call,
                                  struct vs_json *json, struct vs_error *err)
{
    struct rpl_trace *run = rpl_trace_new();
    struct rpl_trace *whole = rpl_trace_new();
    struct rpl_summary before = {.events = 0};
    struct rpl_summary after = {.events = 0};
    const char *refused = NULL;
    enum vs_status st = VS_OK;

    /* a what-if has all steps: so has what it is compared with */
    if (rpl_has_dropped(trace) && rpl_trace_source_text(trace))
        st = wif_run_observed(trace, NULL, wif_capacity(trace), mcp_goes_on,
                              (void *)(uintptr_t)call, whole, err);
    if (!st)
        st = rpl_figures_summary(rpl_trace_event_count(whole) ? whole : trace, &before, err);
    if (!st)
        st = wif_run_observed(trace, set, capacity ? capacity : wif_capacity(trace), mcp_goes_on,
                              (void *)(uintptr_t)call, run, err);
    if (!st)
        st = rpl_summary_fill(&after, run, err);
    if (!st) {
        put_peak("recorded", rpl_trace_event_count(whole) ? whole : trace, &before, json);
        put_peak("result", run, &after, json);
        vs_json_put_int(json, "delta_allocated",
                        (int64_t)(after.peak.allocated - before.peak.allocated));
        refused = rpl_trace_meta(run, "refused");
        if (refused)
            mcp_put_clipped(json, "not_applied", refused, 1000);
    }
    rpl_summary_release(&before);
    rpl_summary_release(&after);
    rpl_trace_free(run);
    rpl_trace_free(whole);
    return st;
}

static enum vs_status whatif_run(const struct mcp_call *call, struct vs_json *json,
                                 struct vs_error *err)
{
    struct setting s = {.err = err, .status = VS_OK};
    struct rpl_trace *trace = NULL;
    uint64_t capacity = 0;
    enum vs_status st = mcp_arg_size(call, "capacity", &capacity, err);

    if (!st) {
        sto_json_members(call->reader, SET, on_member, &s);
        st = s.status;
    }
    if (!st &&
        (capacity ? mcp_arg_has(call, "set") && sto_json_type(call->reader, SET) != STO_JSON_OBJECT
                  : !s.count))
        st = vs_fail(err, VS_E_USAGE,
                     "the argument `set` must be an object of toggles and values, such as "
                     "{\"amp\": \"bf16\"}");
    if (!st)
        st = mcp_arg_trace(call, "trace", &trace, err);
    if (!st)
        st = net_check(call, trace, &s.set, err);
    if (!st)
        st = run_and_put(trace, &s.set, capacity, call, json, err);
    rpl_trace_free(trace);
    vs_toggles_release(&s.set);
    return st;
}

const struct mcp_tool mcp_tool_whatif = {
    .name = "whatif",
    .title = "The peak with other settings",
    .description =
        "The peak that the recorded net would have with other toggles or another capacity: the "
        "net in the trace runs again without data. Of a recorded program or an imported snapshot "
        "only alloc-conf, target and capacity can be changed, because no program is started.",
    .schema = "{\"type\": \"object\", \"properties\": {\"trace\": {\"type\": \"string\", "
              "\"description\": \"path of the trace file\"}, \"set\": {\"type\": \"object\", "
              "\"description\": \"toggles and their values\", \"additionalProperties\": {\"type\": "
              "[\"string\", \"integer\", \"boolean\"]}}, \"capacity\": {\"type\": [\"string\", "
              "\"integer\"], \"description\": \"of the device: 24G, or bytes\"}}}",
    .run = whatif_run,
};

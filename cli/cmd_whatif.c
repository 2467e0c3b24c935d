/*
 * cli/cmd_whatif.c - what a recorded net would need with other toggles.
 *
 * For:            `vramscope whatif`.
 * Must not know:  how the answer is found; that is replay/whatif.h.
 * Invariant:      the trace is only read, nothing is written anywhere.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/cmds.h"
#include "replay/cost.h"
#include "replay/report.h"
#include "replay/tries.h"
#include "replay/whatif.h"

/* A change to more than this many times as much says nothing in per cent. */
#define TIMES_MAX 10

static const struct cli_option OPTIONS[] = {
    {"set", 's', "TOGGLE=VALUE", true, "a toggle to change; may be given more than once"},
    {"capacity", 0, "SIZE", false, "memory of the device, such as 8G (default: as recorded)"},
    {"each", 0, NULL, false, "try every toggle alone, on top of what --set says"},
    {"json", 0, NULL, false, "print JSON; docs/json.md lists the fields"},
    {NULL, 0, NULL, false, NULL},
};

/*
 * One answer. label: what was changed ("checkpoint=blocks"); failed: it could not be run, err says why. idle: why a toggle that was tried
 * alone changes nothing, or NULL.
 */
struct answer {
    char *label;
    bool failed;
    struct vs_error err;
    struct rpl_summary sum;
    struct rpl_cost cost;
    char *refused;
    char *idle;
    double milliseconds;
};

/* trace: as recorded, costs: its times; memory: of the last what-if; set: of --set; capacity: of --capacity, or as recorded. */
struct session {
    struct rpl_trace *trace;
    struct rpl_trace *memory;
    struct rpl_summary baseline;
    struct rpl_costs *costs;
    struct vs_toggles set;
    uint64_t capacity;
    struct answer *answers;
    size_t answer_count;
    size_t answer_cap;
};

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Run with `set` and keep the answer as `label`. */
static struct answer *ask(struct session *s, const struct vs_toggles *set, const char *label)
{
    struct answer *answer;
    double start = now_ms();
    const char *refused;

    s->answers = vs_grow(s->answers, s->answer_count, &s->answer_cap, sizeof(*s->answers));
    answer = &s->answers[s->answer_count++];
    memset(answer, 0, sizeof(*answer));
    answer->label = vs_strdup(label);
    answer->failed = rpl_whatif_run_on(s->trace, set, s->capacity, s->memory, &answer->err) ||
                     rpl_summary_fill(&answer->sum, s->memory, &answer->err) ||
                     rpl_cost_fill(s->costs, s->memory, &answer->cost, &answer->err);
    answer->milliseconds = now_ms() - start;
    refused = answer->failed ? NULL : rpl_trace_meta(s->memory, "refused");
    answer->refused = refused ? vs_strdup(refused) : NULL;
    return answer;
}

/* "a=1 b=2": what is set, in the order of the table. */
static void add_set(const struct vs_toggles *set, struct vs_text *out)
{
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        if (vs_toggles_is_set(set, (enum vs_toggle)i))
            vs_text_addf(out, "%s%s=%s", out->len ? " " : "",
                         vs_toggle_info((enum vs_toggle)i)->name,
                         vs_toggles_get(set, (enum vs_toggle)i));
}

/* The value in force in the recording. */
static const char *recorded_value(const struct session *s, enum vs_toggle toggle)
{
    const char *name = vs_toggle_info(toggle)->name;

    if (vs_toggles_is_set(&s->set, toggle))
        return vs_toggles_get(&s->set, toggle);
    for (size_t i = 0; i < rpl_trace_toggle_count(s->trace); i++)
        if (strcmp(rpl_trace_toggle(s->trace, i).name, name) == 0)
            return rpl_trace_toggle(s->trace, i).value;
    return vs_toggle_info(toggle)->initial;
}

/* Called after each run, while the trace in memory is still that of the answer. */
typedef void each_fn(struct session *s, const struct answer *answer, void *user);

static void ask_value(struct session *s, enum vs_toggle toggle, const char *value, each_fn *each,
                      void *user)
{
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text label = {NULL, 0, 0};
    struct answer *answer;
    const char *idle;
    enum vs_status st;

    vs_toggles_copy(&set, &s->set);
    st = vs_toggles_set(&set, toggle, value, &err);
    VS_ASSERT(st == VS_OK); /* what is tried is legal: tests/base/test_toggle.c */
    vs_text_addf(&label, "%s=%s", vs_toggle_info(toggle)->name, value);
    answer = ask(s, &set, vs_text_get(&label));
    idle = answer->failed ? NULL : rpl_whatif_idle(s->memory, toggle, value);
    answer->idle = idle ? vs_strndup(idle, strcspn(idle, "\n")) : NULL;
    each(s, answer, user);
    vs_text_release(&label);
    vs_toggles_release(&set);
}

/* Without a net there are only the settings of the allocator to try. */
static void ask_each_conf(struct session *s, each_fn *each, void *user)
{
    const char *conf;

    for (size_t i = 0; (conf = rpl_tries_conf(i)) != NULL; i++)
        if (strcmp(conf, recorded_value(s, VS_TOGGLE_ALLOC_CONF)) != 0)
            ask_value(s, VS_TOGGLE_ALLOC_CONF, conf, each, user);
}

static void ask_each(struct session *s, each_fn *each, void *user)
{
    char value[VS_TOGGLE_VALUE_MAX];

    if (rpl_trace_is_imported(s->trace) && !rpl_trace_is_program(s->trace)) {
        ask_each_conf(s, each, user);
        return;
    }
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        enum vs_toggle toggle = (enum vs_toggle)i;
        const char *now = recorded_value(s, toggle);

        for (size_t n = 0; vs_toggle_try(toggle, now, n, value); n++)
            ask_value(s, toggle, value, each, user);
    }
}

static int64_t delta_of(const struct session *s, const struct answer *answer)
{
    return (int64_t)(answer->sum.peak.allocated - s->baseline.peak.allocated);
}

/* ---- JSON ---- */

/* All a step. */
static void cost_json(const struct rpl_cost *cost, struct vs_json *json)
{
    vs_json_key(json, "gpu_cost");
    if (!cost->is_measured) {
        vs_json_null(json);
        return;
    }
    vs_json_object_flat(json);
    vs_json_put_double(json, "recompute_ns", cost->rerun_ns);
    vs_json_put_double(json, "first_ns", cost->first_ns);
    vs_json_put_double(json, "share", rpl_cost_share(cost));
    vs_json_put_double(json, "recomputed_ops", cost->rerun_ops);
    vs_json_put_double(json, "unmeasured_ops", cost->unmeasured);
    vs_json_end(json);
}

static void answer_json(const struct session *s, const struct answer *answer, struct vs_json *json)
{
    if (answer->failed) {
        vs_json_put_string(json, "error", answer->err.text);
        return;
    }
    vs_json_key(json, "result");
    rpl_peak_json(s->memory, &answer->sum.peak, json);
    vs_json_put_int(json, "delta_allocated", delta_of(s, answer));
    rpl_bound_json(s->memory, &answer->sum, json);
    vs_json_put_bool(json, "out_of_memory", answer->sum.oom.event != 0);
    vs_json_put_uint(json, "recompute_flops", answer->sum.recompute_flops);
    vs_json_put_uint(json, "total_flops", answer->sum.flops);
    cost_json(&answer->cost, json);
    vs_json_put_uint(json, "events", answer->sum.events);
    vs_json_put_double(json, "milliseconds", answer->milliseconds);
    vs_json_put_string(json, "refused", answer->refused);
}

static void baseline_json(const struct session *s, struct vs_json *json)
{
    vs_json_key(json, "baseline");
    rpl_peak_json(s->trace, &s->baseline.peak, json);
}

static void set_json(const struct vs_toggles *set, struct vs_json *json)
{
    vs_json_key(json, "set");
    vs_json_object_flat(json);
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        if (vs_toggles_is_set(set, (enum vs_toggle)i))
            vs_json_put_string(json, vs_toggle_info((enum vs_toggle)i)->name,
                               vs_toggles_get(set, (enum vs_toggle)i));
    vs_json_end(json);
}

/* ---- text ---- */

static void add_row(struct vs_text *out, const char *name, uint64_t before, uint64_t after)
{
    char a[VS_BYTES_TEXT_MAX];
    char b[VS_BYTES_TEXT_MAX];
    char d[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "  %-14s%14s%14s%14s", name, vs_bytes_text(before, a),
                 vs_bytes_text(after, b), vs_bytes_delta_text((int64_t)(after - before), d));
    if (before && after / before < TIMES_MAX)
        vs_text_addf(out, "  %+6.1f %%", 100.0 * ((double)after - (double)before) / (double)before);
    vs_text_add_char(out, '\n');
}

static void add_where(const struct rpl_trace *trace, const struct rpl_peak *peak, const char *word,
                      struct vs_text *out)
{
    const struct vs_place *place = rpl_trace_place(trace, peak->place);
    const char *module = rpl_trace_string(trace, place->module);
    const char *op = rpl_trace_string(trace, place->op);

    vs_text_addf(out, "  %s: ", word);
    if (peak->step >= 0)
        vs_text_addf(out, "step %" PRId64 ", ", peak->step);
    vs_text_addf(out, "%s, %s", vs_phase_name(peak->phase), *op ? op : "between ops");
    if (*module)
        vs_text_addf(out, " of %s", module);
    if (rpl_trace_is_imported(trace) && place->func)
        vs_text_addf(out, ", %s", rpl_trace_string(trace, place->func));
    if (place->line)
        vs_text_addf(out, ", line %" PRIu32, place->line);
    vs_text_add(out, peak->is_recompute ? ", in a checkpoint's re-run\n" : "\n");
}

static void add_arithmetic(const struct answer *answer, struct vs_text *out)
{
    const struct rpl_summary *sum = &answer->sum;

    if (sum->recompute_flops)
        vs_text_addf(out, "arithmetic: %.3g GFLOP, of these %.3g (%.1f %%) done a second time\n",
                     (double)sum->flops / 1e9, (double)sum->recompute_flops / 1e9,
                     100.0 * (double)sum->recompute_flops / (double)sum->flops);
    else
        vs_text_addf(out, "arithmetic: %.3g GFLOP, nothing done twice\n", (double)sum->flops / 1e9);
}

/* By the times of their first runs; nothing where none were recorded. */
static void add_time(const struct session *s, const struct answer *answer, struct vs_text *out)
{
    const struct rpl_cost *cost = &answer->cost;
    const char *why = rpl_trace_meta(s->trace, "cupti");

    if (!answer->sum.recompute_flops)
        return;
    if (!cost->is_measured) {
        if (why)
            vs_text_addf(out, "time of that on the GPU: not known: the recording has none (%s)\n",
                         why);
        return;
    }
    vs_text_addf(out,
                 "time of that on the GPU: %.3f ms a step more to %.3f (%.1f %% of both), as "
                 "recorded of the first runs\n",
                 cost->rerun_ns / 1e6, cost->first_ns / 1e6, 100.0 * rpl_cost_share(cost));
    if (cost->unmeasured > 0)
        vs_text_addf(out, "  without %.3g of the %.3g ops: not recorded at these sizes\n",
                     cost->unmeasured, cost->rerun_ops);
}

static void add_refused(const struct answer *answer, struct vs_text *out)
{
    const char *line = answer->refused;

    if (!line)
        return;
    vs_text_add(out, "not applied:\n");
    while (*line) {
        size_t len = strcspn(line, "\n");

        vs_text_addf(out, "  %.*s\n", (int)len, line);
        line += len + (line[len] == '\n');
    }
}

static void add_answer(const struct session *s, const struct answer *answer, struct vs_text *out)
{
    const struct rpl_peak *before = &s->baseline.peak;
    const struct rpl_peak *after = &answer->sum.peak;
    char events[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%s\n\n  %-14s%14s%14s%14s\n", answer->label, "peak", "as recorded",
                 "what if", "change");
    add_row(out, "allocated", before->allocated, after->allocated);
    add_row(out, "requested", before->requested, after->requested);
    add_row(out, "reserved", before->reserved, after->reserved);
    vs_text_add(out, "\n");
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++)
        if (before->by_category[i] || after->by_category[i])
            add_row(out, vs_category_name((enum vs_category)i), before->by_category[i],
                    after->by_category[i]);
    vs_text_add(out, "\n");
    add_where(s->trace, before, "was at", out);
    add_where(s->memory, after, "now at", out);
    if (answer->sum.oom.event)
        vs_text_add(out, "  the device runs out of memory there\n");
    if (!answer->sum.bound.is_tensors_only)
        rpl_bound_text(s->memory, &answer->sum, out);
    vs_text_add(out, "\n");
    if (!rpl_trace_is_imported(s->trace))
        add_arithmetic(answer, out);
    add_time(s, answer, out);
    add_refused(answer, out);
    vs_text_addf(out, "%s events in %.1f ms\n", vs_bytes_exact_text(answer->sum.events, events),
                 answer->milliseconds);
}

static int by_peak(const void *a, const void *b)
{
    const struct answer *x = a;
    const struct answer *y = b;

    if (x->failed != y->failed)
        return x->failed ? 1 : -1;
    if (x->sum.peak.allocated != y->sum.peak.allocated)
        return x->sum.peak.allocated < y->sum.peak.allocated ? -1 : 1;
    return strcmp(x->label, y->label);
}

static void add_each(const struct session *s, struct vs_text *out)
{
    bool is_measured = s->answer_count && s->answers[0].cost.is_measured;
    char a[VS_BYTES_TEXT_MAX];
    char d[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "as recorded: peak %s%s", vs_bytes_text(s->baseline.peak.allocated, a),
                 s->answer_count ? "; each line is one change to it\n\n" : "\n");
    vs_text_addf(out, "  %-36s%12s%14s%10s%12s%13s%s\n", "toggle", "peak", "change", "", "reserved",
                 "recomputed", is_measured ? "     on GPU" : "");
    for (size_t i = 0; i < s->answer_count; i++) {
        const struct answer *answer = &s->answers[i];
        double base = (double)s->baseline.peak.allocated;

        if (answer->failed) {
            /* the toggle stands there already */
            const char *again = strstr(answer->err.text, answer->label);
            const char *why = again ? again + strlen(answer->label) : answer->err.text;

            why += strspn(why, ": ");
            vs_text_addf(out, "  %-36s%.*s\n", answer->label, (int)strcspn(why, "\n"), why);
            continue;
        }
        if (answer->idle) {
            vs_text_addf(out, "  %-36sno effect: %s\n", answer->label, answer->idle);
            continue;
        }
        vs_text_addf(out, "  %-36s%12s%14s", answer->label,
                     vs_bytes_text(answer->sum.peak.allocated, a),
                     vs_bytes_delta_text(delta_of(s, answer), d));
        vs_text_addf(out, "  %+6.1f %%",
                     base > 0.0 ? 100.0 * (double)delta_of(s, answer) / base : 0.0);
        vs_text_addf(out, "%12s", vs_bytes_text(answer->sum.peak.reserved, a));
        if (answer->sum.recompute_flops)
            vs_text_addf(out, "%11.1f %%",
                         100.0 * (double)answer->sum.recompute_flops / (double)answer->sum.flops);
        if (answer->sum.recompute_flops && is_measured)
            vs_text_addf(out, "%+8.3f ms", answer->cost.rerun_ns / 1e6);
        vs_text_add(out, answer->sum.oom.event ? "  out of memory\n" : "\n");
    }
}

/* ---- the command ---- */

static void each_json(struct session *s, const struct answer *answer, void *user)
{
    struct vs_json *json = user;

    vs_json_object(json);
    vs_json_put_string(json, "toggle", answer->label);
    answer_json(s, answer, json);
    vs_json_put_string(json, "no_effect", answer->idle);
    vs_json_end(json);
}

static void each_kept(struct session *s, const struct answer *answer, void *user)
{
    (void)s;
    (void)answer;
    (void)user;
}

static void print_each(struct session *s, bool json, struct vs_text *out)
{
    struct vs_json j;

    if (!json) {
        ask_each(s, each_kept, NULL);
        qsort(s->answers, s->answer_count, sizeof(*s->answers), by_peak);
        add_each(s, out);
        return;
    }
    vs_json_init(&j, out);
    vs_json_object(&j);
    set_json(&s->set, &j);
    baseline_json(s, &j);
    vs_json_key(&j, "each");
    vs_json_array(&j);
    ask_each(s, each_json, &j);
    vs_json_end(&j);
    vs_json_end(&j);
}

static void print_one(struct session *s, const struct answer *answer, bool json,
                      struct vs_text *out)
{
    struct vs_json j;

    if (!json) {
        add_answer(s, answer, out);
        return;
    }
    vs_json_init(&j, out);
    vs_json_object(&j);
    set_json(&s->set, &j);
    baseline_json(s, &j);
    answer_json(s, answer, &j);
    vs_json_end(&j);
}

static enum vs_status session_open(const struct cli_args *args, struct session *s,
                                   struct vs_error *err)
{
    const char *capacity = cli_args_value(args, "capacity");
    const char *pair;
    enum vs_status st = VS_OK;

    memset(s, 0, sizeof(*s));
    for (size_t i = 0; (pair = cli_args_value_at(args, "set", i)) != NULL && !st; i++)
        st = vs_toggles_set_pair(&s->set, pair, err);
    if (st) {
        err->status = VS_E_USAGE;
        return VS_E_USAGE;
    }
    if (!cli_args_has(args, "each") && !cli_args_has(args, "set") && !capacity)
        return vs_fail(err, VS_E_USAGE,
                       "whatif: --set TOGGLE=VALUE says what to change; --each tries every toggle");
    if (capacity && (!vs_bytes_parse(capacity, &s->capacity) || !s->capacity))
        return vs_fail(err, VS_E_USAGE,
                       "whatif: --capacity cannot be `%s`; a size such as 8G or 512M is right",
                       capacity);
    st = rpl_trace_open(args->positionals[0], &s->trace, err);
    if (!st && !capacity && !rpl_trace_meta_uint(s->trace, "capacity", &s->capacity))
        s->capacity = 0;
    if (!st)
        st = rpl_summary_fill(&s->baseline, s->trace, err);
    if (!st)
        st = rpl_costs_new(s->trace, &s->costs, err);
    s->memory = rpl_trace_new();
    return st;
}

static void answers_release(struct session *s)
{
    for (size_t i = 0; i < s->answer_count; i++) {
        vs_free(s->answers[i].label);
        vs_free(s->answers[i].refused);
        vs_free(s->answers[i].idle);
        rpl_summary_release(&s->answers[i].sum);
    }
    s->answer_count = 0;
}

static void session_close(struct session *s)
{
    answers_release(s);
    vs_free(s->answers);
    rpl_summary_release(&s->baseline);
    rpl_costs_free(s->costs);
    vs_toggles_release(&s->set);
    rpl_trace_free(s->memory);
    rpl_trace_free(s->trace);
}

static int run(const struct cli_args *args)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    struct vs_text label = {NULL, 0, 0};
    struct session s;
    bool json = cli_args_has(args, "json");
    int status;

    if (session_open(args, &s, &err)) {
        status = cli_fail(&err);
        goto out;
    }
    if (cli_args_has(args, "each")) {
        /* a net that cannot be run at all is said once */
        const struct answer *first = ask(&s, &s.set, "");

        if (first->failed) {
            status = cli_fail(&first->err);
            goto out;
        }
        answers_release(&s);
        print_each(&s, json, &text);
    } else {
        const struct answer *answer;

        add_set(&s.set, &label);
        if (cli_args_has(args, "capacity"))
            vs_text_addf(&label, "%scapacity=%s", label.len ? " " : "",
                         cli_args_value(args, "capacity"));
        answer = ask(&s, &s.set, vs_text_get(&label));
        if (answer->failed) {
            status = cli_fail(&answer->err);
            goto out;
        }
        print_one(&s, answer, json, &text);
    }
    status = cli_print(&text);
out:
    vs_text_release(&text);
    vs_text_release(&label);
    session_close(&s);
    return status;
}

const struct cli_cmd cli_cmd_whatif = {
    .name = "whatif",
    .usage = "TRACE --set TOGGLE=VALUE … | --each [--capacity SIZE] [--json]",
    .summary = "Show the peak the recorded net would have with other toggles",
    .help = "The net stored in the trace is run again without data, with its toggles, seed and "
            "capacity and what --set changes. The\n"
            "answer equals a new recording, event for event. An imported trace has no net, but its "
            "requests can be run through the\n"
            "allocator again: alloc-conf, target and --capacity can be changed.\n\n"
            "  vramscope whatif trace.db --set checkpoint=blocks --set amp=bf16\n"
            "  vramscope whatif imported.db --set alloc-conf=expandable_segments:True "
            "--capacity 24G\n",
    .options = OPTIONS,
    .positionals_min = 1,
    .positionals_max = 1,
    .run = run,
};

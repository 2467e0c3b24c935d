/*
 * replay/report/check.c - see check.h.
 *
 * Must not know:  arguments, where the text goes.
 * Invariant:      growth is computed from whole steps only.
 */
#include "replay/report/check.h"
#include "replay/report/figures.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "replay/index/index.h"
#include "replay/inspect/block_text.h"

/* Growth after the first steps is not counted: they allocate gradients and optimizer state. */
#define STEPS_BEFORE 2
#define LEAK_SHOWN 5

static const struct {
    const char *name;
    const char *text;
} LIMITS[RPL_LIMIT_COUNT] = {
    {"peak", "highest allocated"},
    {"reserved", "highest reserved"},
    {"growth_per_step", "growth per step"},
};

static uint64_t end_of(const struct rpl_step_figures *step)
{
    return step->phase_count ? step->phases[step->phase_count - 1].allocated_end : 0;
}

/* Find the largest growth of a whole step. */
static enum vs_status growth_fill(struct rpl_check *check, struct vs_error *err)
{
    const struct rpl_summary *sum = &check->sum;
    struct rpl_limit_answer *answer = &check->limits[RPL_LIMIT_GROWTH];
    size_t end = sum->step_count;
    const struct rpl_step_figures *before = NULL;
    size_t seen = 0;

    if (end && !rpl_trace_is_complete(check->trace))
        end--;
    for (size_t i = 0; i < end; i++) {
        const struct rpl_step_figures *step = &sum->steps[i];

        if (step->step < 0)
            continue;
        if (seen >= STEPS_BEFORE && end_of(step) > end_of(before) &&
            end_of(step) - end_of(before) > answer->actual) {
            answer->actual = end_of(step) - end_of(before);
            check->growth_step = step->step;
        }
        before = step;
        seen++;
    }
    if (seen > STEPS_BEFORE)
        return VS_OK;
    return vs_fail(err, VS_E_NOT_FOUND,
                   "growth per step needs %d whole training steps, and the trace has %zu: record "
                   "with --steps %d or more",
                   STEPS_BEFORE + 1, seen, STEPS_BEFORE + 1);
}

static enum vs_status leak_fill(struct rpl_leak *leak, struct rpl_trace *trace,
                                struct vs_error *err)
{
    struct rpl_index *index;
    enum vs_status st = rpl_index_open(trace, NULL, NULL, &index, err);

    if (!st)
        st = rpl_alive_leak(index, leak, err);
    rpl_index_free(index);
    return st;
}

enum vs_status rpl_check_fill(struct rpl_check *out, struct rpl_trace *trace, struct vs_error *err)
{
    struct rpl_limit_answer *growth = &out->limits[RPL_LIMIT_GROWTH];
    enum vs_status st = rpl_figures_summary(trace, &out->sum, err);

    out->trace = trace;
    out->growth_step = -1;
    if (out->sum.oom.event) /* the last step is incomplete, and the check fails anyway */
        growth->is_set = false;
    if (!st && growth->is_set)
        st = growth_fill(out, err);
    if (st)
        return st;
    out->limits[RPL_LIMIT_PEAK].actual = out->sum.peak.allocated;
    out->limits[RPL_LIMIT_RESERVED].actual = out->sum.peak.reserved;
    out->passed = !out->sum.oom.event;
    for (size_t i = 0; i < RPL_LIMIT_COUNT; i++) {
        out->limits[i].passed = out->limits[i].actual <= out->limits[i].max;
        if (out->limits[i].is_set && !out->limits[i].passed)
            out->passed = false;
    }
    if (growth->is_set && !growth->passed)
        st = leak_fill(&out->leak, trace, err);
    return st;
}

void rpl_check_release(struct rpl_check *check)
{
    rpl_summary_release(&check->sum);
    memset(check, 0, sizeof(*check));
}

/* ---- text and JSON ---- */

static void add_limit(const struct rpl_check *check, enum rpl_limit which, struct vs_text *out)
{
    const struct rpl_limit_answer *limit = &check->limits[which];
    char buf[VS_BYTES_TEXT_MAX];

    if (!limit->is_set)
        return;
    vs_text_addf(out, "%s  %s: %s", limit->passed ? "ok    " : "FAILED", LIMITS[which].text,
                 vs_bytes_text(limit->actual, buf));
    vs_text_addf(out, " (%s bytes)", vs_bytes_exact_text(limit->actual, buf));
    if (which == RPL_LIMIT_GROWTH && check->growth_step >= 0)
        vs_text_addf(out, " in step %" PRId64, check->growth_step);
    vs_text_addf(out, ", limit %s\n", vs_bytes_text(limit->max, buf));
}

static void add_leak(const struct rpl_check *check, struct vs_text *out)
{
    const struct rpl_leak *leak = &check->leak;
    char buf[VS_BYTES_TEXT_MAX];

    if (!leak->at || !leak->count)
        return;
    vs_text_addf(out,
                 "        allocated by a step and alive a step later: %" PRIu64 " tensors, %s\n",
                 (uint64_t)leak->count, vs_bytes_text(leak->bytes, buf));
    for (size_t i = 0; i < leak->block_count && i < LEAK_SHOWN; i++) {
        vs_text_addf(out, "        %s  ", vs_bytes_text(leak->blocks[i].bytes, buf));
        rpl_block_text(check->trace, &leak->blocks[i], 0, out);
        vs_text_add_char(out, '\n');
    }
}

void rpl_check_text(const struct rpl_check *check, const char *name, struct vs_text *out)
{
    vs_text_addf(out, "%s: %s\n", name, check->passed ? "within the limits" : "over a limit");
    for (int i = 0; i < RPL_LIMIT_COUNT; i++)
        add_limit(check, (enum rpl_limit)i, out);
    add_leak(check, out);
    if (check->sum.oom.event)
        vs_text_addf(out, "FAILED  out of memory at event %" PRIu64 "\n", check->sum.oom.event);
}

void rpl_check_json(const struct rpl_check *check, struct vs_text *out)
{
    struct vs_json json;

    vs_json_init(&json, out);
    vs_json_object(&json);
    vs_json_put_bool(&json, "passed", check->passed);
    vs_json_put_bool(&json, "out_of_memory", check->sum.oom.event != 0);
    for (size_t i = 0; i < RPL_LIMIT_COUNT; i++) {
        const struct rpl_limit_answer *limit = &check->limits[i];

        vs_json_key(&json, LIMITS[i].name);
        if (!limit->is_set) {
            vs_json_null(&json);
            continue;
        }
        vs_json_object_flat(&json);
        vs_json_put_bool(&json, "passed", limit->passed);
        vs_json_put_uint(&json, "actual", limit->actual);
        vs_json_put_uint(&json, "max", limit->max);
        if (i == RPL_LIMIT_GROWTH)
            vs_json_put_int(&json, "step", check->growth_step);
        vs_json_end(&json);
    }
    vs_json_end(&json);
}

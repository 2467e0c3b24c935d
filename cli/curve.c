/*
 * cli/curve.c - see curve.h.
 *
 * Must not know:  how a run is made.
 * Invariant:      points ascend by value; failed ones are not part of the line.
 */
#include "cli/curve.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "replay/report/summary.h"
#include "whatif/whatif.h"

/* The values of the curve: an eighth of the recorded one, doubled up to four times it. */
#define SMALLEST_PART 8

static bool is_count(enum vs_toggle toggle)
{
    return strcmp(vs_toggle_info(toggle)->legal, "N") == 0;
}

/* The recorded value of the toggle. */
static uint64_t value_now(const struct rpl_trace *base, const struct vs_toggles *set,
                          enum vs_toggle toggle)
{
    const char *name = vs_toggle_info(toggle)->name;
    const char *text = vs_toggle_info(toggle)->initial;

    for (size_t i = 0; i < rpl_trace_toggle_count(base); i++)
        if (strcmp(rpl_trace_toggle(base, i).name, name) == 0)
            text = rpl_trace_toggle(base, i).value;
    if (vs_toggles_is_set(set, toggle))
        text = vs_toggles_get(set, toggle);
    return strtoull(text, NULL, 10);
}

static void points_choose(struct cli_curve *out, uint64_t now)
{
    uint64_t value = now >= SMALLEST_PART ? now / SMALLEST_PART : 1;

    while (out->point_count < CLI_CURVE_POINTS_MAX && (value <= 4 * now || out->point_count < 2)) {
        out->points[out->point_count++] = (struct cli_curve_point){.value = value};
        value *= 2;
    }
}

static enum vs_status point_run(struct cli_curve_point *point, struct rpl_trace *base,
                                const struct vs_toggles *set, enum vs_toggle toggle,
                                struct rpl_trace *memory, struct vs_error *err)
{
    struct rpl_summary sum = {.events = 0};
    struct vs_toggles with = {{NULL}};
    char value[24];
    enum vs_status st;

    snprintf(value, sizeof(value), "%" PRIu64, point->value);
    vs_toggles_copy(&with, set);
    st = vs_toggles_set(&with, toggle, value, err);
    if (!st)
        st = wif_run_on(base, &with, WIF_NO_LIMIT, memory, err);
    if (!st)
        st = rpl_summary_fill(&sum, memory, err);
    point->failed = st == VS_E_VALUE || st == VS_E_RAISED || st == VS_E_SHAPE;
    if (!st) {
        point->allocated = sum.peak.allocated;
        point->reserved = sum.peak.reserved;
    }
    rpl_summary_release(&sum);
    vs_toggles_release(&with);
    return point->failed ? VS_OK : st;
}

/* Fit a line to the points by least squares. */
static enum vs_status line_fit(struct cli_curve *out, struct vs_error *err)
{
    double n = 0.0;
    double x = 0.0;
    double y = 0.0;
    double xx = 0.0;
    double xy = 0.0;

    for (size_t i = 0; i < out->point_count; i++) {
        const double value = (double)out->points[i].value;
        const double bytes = (double)out->points[i].allocated;

        if (out->points[i].failed)
            continue;
        n += 1.0;
        x += value;
        y += bytes;
        xx += value * value;
        xy += value * bytes;
    }
    if (n < 2.0)
        return vs_fail(err, VS_E_VALUE,
                       "whatif: fewer than two values of %s can be run, so there is no curve",
                       vs_toggle_info(out->toggle)->name);
    out->slope = (n * xy - x * y) / (n * xx - x * x);
    out->constant = (y - out->slope * x) / n;
    for (size_t i = 0; i < out->point_count; i++) {
        const struct cli_curve_point *point = &out->points[i];
        const double on_line = out->constant + out->slope * (double)point->value;

        if (!point->failed && point->allocated)
            out->off =
                fmax(out->off, fabs((double)point->allocated - on_line) / (double)point->allocated);
    }
    return VS_OK;
}

enum vs_status cli_curve_fill(struct cli_curve *out, struct rpl_trace *base,
                              const struct vs_toggles *set, const char *name, struct vs_error *err)
{
    struct rpl_trace *memory = NULL;
    enum vs_status st = VS_OK;

    memset(out, 0, sizeof(*out));
    if (!vs_toggle_find(name, &out->toggle) || !is_count(out->toggle))
        return vs_fail(err, VS_E_USAGE,
                       "whatif: --curve cannot be `%s`; give a toggle that is a count: batch, "
                       "accumulate, steps, world",
                       name);
    points_choose(out, value_now(base, set, out->toggle));
    memory = rpl_trace_new();
    for (size_t i = 0; i < out->point_count && !st; i++)
        st = point_run(&out->points[i], base, set, out->toggle, memory, err);
    rpl_trace_free(memory);
    return st ? st : line_fit(out, err);
}

static void add_amount(struct vs_text *out, double bytes)
{
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%s%s", bytes < 0.0 ? "-" : "",
                 vs_bytes_text((uint64_t)llround(fabs(bytes)), buf));
}

void cli_curve_text(const struct cli_curve *curve, struct vs_text *out)
{
    const char *name = vs_toggle_info(curve->toggle)->name;

    vs_text_addf(out, "%12s%14s%14s\n", name, "allocated", "reserved");
    for (size_t i = 0; i < curve->point_count; i++) {
        const struct cli_curve_point *point = &curve->points[i];
        char allocated[VS_BYTES_TEXT_MAX];
        char reserved[VS_BYTES_TEXT_MAX];

        if (point->failed)
            vs_text_addf(out, "%12" PRIu64 "  cannot be run\n", point->value);
        else
            vs_text_addf(out, "%12" PRIu64 "%14s%14s\n", point->value,
                         vs_bytes_text(point->allocated, allocated),
                         vs_bytes_text(point->reserved, reserved));
    }
    vs_text_add(out, "\nallocated is about ");
    add_amount(out, curve->constant);
    vs_text_add(out, " and ");
    add_amount(out, curve->slope);
    vs_text_addf(out, " for each unit of %s; no point is more than %.1f %% off this line\n", name,
                 100.0 * curve->off);
}

void cli_curve_json(const struct cli_curve *curve, struct vs_text *out)
{
    struct vs_json json;

    vs_json_init(&json, out);
    vs_json_object(&json);
    vs_json_put_string(&json, "toggle", vs_toggle_info(curve->toggle)->name);
    vs_json_key(&json, "curve");
    vs_json_array(&json);
    for (size_t i = 0; i < curve->point_count; i++) {
        vs_json_object_flat(&json);
        vs_json_put_uint(&json, "value", curve->points[i].value);
        vs_json_put_bool(&json, "failed", curve->points[i].failed);
        vs_json_put_uint(&json, "allocated", curve->points[i].allocated);
        vs_json_put_uint(&json, "reserved", curve->points[i].reserved);
        vs_json_end(&json);
    }
    vs_json_end(&json);
    vs_json_put_double(&json, "slope", curve->slope);
    vs_json_put_double(&json, "constant", curve->constant);
    vs_json_put_double(&json, "off", curve->off);
    vs_json_end(&json);
}

enum vs_status cli_curve_print(struct rpl_trace *base, const struct vs_toggles *set,
                               const char *name, bool json, struct vs_text *out,
                               struct vs_error *err)
{
    struct cli_curve curve;
    enum vs_status st = cli_curve_fill(&curve, base, set, name, err);

    if (!st && json)
        cli_curve_json(&curve, out);
    else if (!st)
        cli_curve_text(&curve, out);
    return st;
}

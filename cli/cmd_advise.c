/*
 * cli/cmd_advise.c - `advise`: what would help the run of a trace.
 *
 * For:            `vramscope advise`.
 * Must not know:  how a placement of checkpoints is found; that is whatif/curve.h.
 * Invariant:      each figure is of a run with the toggle beside it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/cmds.h"
#include "whatif/curve.h"

static const struct cli_option OPTIONS[] = {
    {"curve", 0, NULL, false,
     "peak against recomputation: the placements of checkpoints between no checkpoint and the "
     "least peak"},
    {"points", 0, "N", false, "points of the curve, 2 to 200 (default 16)"},
    {"capacity", 0, "SIZE", false,
     "memory of the device, such as 24G: also the cheapest placement whose peak is within it"},
    {"json", 0, NULL, false, "print JSON; docs/formats/json.md lists the fields"},
    {NULL, 0, NULL, false, NULL},
};

#define POINTS_MAX 200
#define BAR 30

/* What is printed. capacity: 0 if not given; fit: the placement within it; fit_why: why there is none, or NULL. */
struct advice {
    struct wif_curve curve;
    uint64_t capacity;
    struct wif_placement fit;
    char *fit_why;
};

static void advice_release(struct advice *advice)
{
    wif_curve_release(&advice->curve);
    wif_placement_release(&advice->fit);
    vs_free(advice->fit_why);
}

/* ---- text ---- */

static double share(const struct wif_placement *p)
{
    return p->total_flops ? 100.0 * (double)p->recompute_flops / (double)p->total_flops : 0.0;
}

static void point_text(const struct wif_point *point, uint64_t most, struct vs_text *out)
{
    const struct wif_placement *p = &point->placement;
    char peak[VS_BYTES_TEXT_MAX];
    int bar = most ? (int)((double)p->peak / (double)most * BAR + 0.5) : 0;

    vs_text_addf(out, "  %-18s %10s  %7.1f %%  %7.1f %%  %.*s\n", point->value,
                 vs_bytes_text(p->peak, peak),
                 most ? 100.0 * ((double)p->peak - (double)most) / (double)most : 0.0, share(p),
                 bar, "##############################");
}

static void advice_text(const struct advice *advice, const char *name, struct vs_text *out)
{
    const struct wif_curve *curve = &advice->curve;
    uint64_t most = curve->points[0].placement.peak;
    char a[VS_BYTES_TEXT_MAX];
    char b[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%s: peak against recomputation, each a run of the net\n\n", name);
    vs_text_addf(out, "  %-18s %10s  %9s  %9s\n", "checkpoint", "peak", "change", "recomputed");
    for (size_t i = 0; i < curve->count; i++)
        point_text(&curve->points[i], most, out);
    if (curve->count == 1)
        vs_text_add(out, "\nNo placement of checkpoints lowers the peak of this net.\n");
    else
        vs_text_addf(out, "\nTo take one: vramscope whatif %s --set checkpoint=%s\n", name,
                     curve->points[curve->count / 2].value);
    if (advice->fit_why)
        vs_text_addf(out, "\nwithin %s: %s\n", vs_bytes_text(advice->capacity, a), advice->fit_why);
    else if (advice->capacity)
        vs_text_addf(out, "\nwithin %s: peak %s, %.1f %% recomputed\n",
                     vs_bytes_text(advice->capacity, a), vs_bytes_text(advice->fit.peak, b),
                     share(&advice->fit));
}

/* ---- JSON ---- */

static void placement_json(const char *value, uint64_t budget, const struct wif_placement *p,
                           struct vs_json *json)
{
    vs_json_object(json);
    vs_json_key(json, "set");
    vs_json_object_flat(json);
    vs_json_put_string(json, "checkpoint", value);
    vs_json_end(json);
    vs_json_put_uint(json, "budget", budget);
    vs_json_put_uint(json, "peak", p->peak);
    vs_json_put_uint(json, "recompute_flops", p->recompute_flops);
    vs_json_put_uint(json, "total_flops", p->total_flops);
    vs_json_put_string(json, "placement", p->regions);
    vs_json_end(json);
}

static void advice_json(const struct advice *advice, struct vs_text *out)
{
    const struct wif_curve *curve = &advice->curve;
    struct vs_json json;
    char value[VS_TOGGLE_VALUE_MAX];

    vs_json_init(&json, out);
    vs_json_object(&json);
    vs_json_put_uint(&json, "format", 1);
    vs_json_key(&json, "curve");
    vs_json_array(&json);
    for (size_t i = 0; i < curve->count; i++)
        placement_json(curve->points[i].value, curve->points[i].budget, &curve->points[i].placement,
                       &json);
    vs_json_end(&json);
    vs_json_key(&json, "within_capacity");
    if (advice->capacity && !advice->fit_why) {
        snprintf(value, sizeof(value), "auto:%" PRIu64, advice->capacity);
        placement_json(value, advice->capacity, &advice->fit, &json);
    } else {
        vs_json_null(&json);
    }
    vs_json_end(&json);
}

/* ---- the command ---- */

static enum vs_status options_check(const struct cli_args *args, struct advice *advice,
                                    size_t *points, struct vs_error *err)
{
    const char *capacity = cli_args_value(args, "capacity");

    if (!cli_args_has(args, "curve"))
        return vs_fail(err, VS_E_USAGE, "advise: nothing is asked; --curve is one question");
    if (capacity && (!vs_bytes_parse(capacity, &advice->capacity) || advice->capacity == 0))
        return vs_fail(err, VS_E_USAGE,
                       "advise: --capacity cannot be `%s`; a size like 24G or 800M is right",
                       capacity);
    if (cli_args_count(args, "points", WIF_CURVE_POINTS, POINTS_MAX, points, err))
        return err->status;
    if (*points < 2)
        return vs_fail(err, VS_E_USAGE, "advise: --points cannot be `%zu`; legal: 2 to %d", *points,
                       POINTS_MAX);
    return VS_OK;
}

/* No placement within the capacity is an answer. */
static enum vs_status fit_fill(struct advice *advice, struct rpl_trace *trace, struct vs_error *err)
{
    struct vs_error why = VS_ERROR_INIT;
    enum vs_status st;

    if (!advice->capacity)
        return VS_OK;
    st = wif_place(trace, NULL, advice->capacity, NULL, NULL, &advice->fit, &why);
    if (st == VS_E_VALUE)
        advice->fit_why = vs_strdup(why.text);
    else if (st)
        return vs_fail(err, st, "%s", why.text);
    return VS_OK;
}

static int run(const struct cli_args *args)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    struct advice advice = {.capacity = 0};
    struct rpl_trace *trace = NULL;
    size_t points = 0;
    int status;

    if (options_check(args, &advice, &points, &err) ||
        rpl_trace_open(args->positionals[0], &trace, &err) ||
        wif_curve_fill(&advice.curve, trace, NULL, points, NULL, NULL, &err) ||
        fit_fill(&advice, trace, &err)) {
        status = cli_fail(&err);
        goto out;
    }
    if (cli_args_has(args, "json"))
        advice_json(&advice, &text);
    else
        advice_text(&advice, args->positionals[0], &text);
    status = cli_print(&text);
out:
    vs_text_release(&text);
    advice_release(&advice);
    rpl_trace_free(trace);
    return status;
}

const struct cli_cmd cli_cmd_advise = {
    .name = "advise",
    .usage = "TRACE --curve [--points N] [--capacity SIZE] [--json]",
    .summary = "Say what would help the run of a trace: checkpoints, by what they save and cost",
    .help = "Each row is a run of the recorded net with the toggle in its first column: its peak, "
            "and the "
            "share of the arithmetic that is run again. Any of them can be used with record, "
            "whatif and "
            "in the TUI.\n\n"
            "  vramscope advise trace.db --curve --capacity 24G\n",
    .options = OPTIONS,
    .positionals_min = 1,
    .positionals_max = 1,
    .run = run,
};

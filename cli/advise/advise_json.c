/*
 * cli/advise/advise_json.c - advice as JSON; see advise.h.
 */
#include <string.h>

#include "base/json.h"
#include "cli/advise/advise.h"

static const char *const PRICES[] = {
    [WIF_PRICE_NONE] = "none",
    [WIF_PRICE_TIME] = "time",
    [WIF_PRICE_NUMBERS] = "numbers",
    [WIF_PRICE_TRAINING] = "training",
};

static const char *const FINDINGS[] = {
    [WIF_FINDING_LEAK] = "leak",
    [WIF_FINDING_KEPT] = "kept",
    [WIF_FINDING_UNREAD] = "unread",
};

static void put_uint_or_null(struct vs_json *json, const char *key, uint64_t n)
{
    vs_json_key(json, key);
    if (n)
        vs_json_uint(json, n);
    else
        vs_json_null(json);
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

static void edits_json(const struct wif_edits *edits, struct vs_json *json)
{
    vs_json_key(json, "lines");
    vs_json_array(json);
    for (size_t i = 0; i < edits->count; i++) {
        vs_json_object_flat(json);
        vs_json_put_string(json, "edit", edits->items[i].replaces ? "replace" : "add_after");
        vs_json_put_uint(json, "line", edits->items[i].line);
        vs_json_put_string(json, "text", edits->items[i].text);
        vs_json_end(json);
    }
    vs_json_end(json);
}

static void figures_json(const struct wif_advise *advise, const struct wif_figures *run,
                         struct vs_json *json)
{
    vs_json_put_uint(json, "peak", run->peak);
    vs_json_put_int(json, "delta", (int64_t)(run->peak - advise->base.peak));
    vs_json_put_uint(json, "reserved", run->reserved);
    vs_json_put_uint(json, "recompute_flops", run->recompute_flops);
    vs_json_put_uint(json, "total_flops", run->flops);
    vs_json_put_uint(json, "moved", run->moved);
    wif_cost_json(&run->cost, json);
    vs_json_key(json, "fits");
    if (advise->capacity)
        vs_json_bool(json, run->fits);
    else
        vs_json_null(json);
}

static void advice_json(const struct wif_advise *advise, const struct wif_advice *advice,
                        const struct rpl_trace *trace, struct vs_json *json)
{
    vs_json_object(json);
    vs_json_put_string(json, "kind", advice->edits.count ? "lines" : "toggles");
    set_json(&advice->set, json);
    edits_json(&advice->edits, json);
    vs_json_put_string(json, "label", advice->label);
    vs_json_put_string(json, "text", advice->text);
    vs_json_put_string(json, "costs", advice->costs);
    vs_json_put_string(json, "price", PRICES[advice->price]);
    vs_json_put_string(json, "file", advice->line ? rpl_trace_source_name(trace) : NULL);
    vs_json_put_uint(json, "line", advice->line);
    figures_json(advise, &advice->run, json);
    vs_json_put_bool(json, "headline", advice->is_headline);
    put_uint_or_null(json, "max_batch", advice->batch);
    if (advice->by)
        vs_json_put_string(json, "by", advice->by);
    vs_json_end(json);
}

static void list_json(const char *key, const struct wif_advise *advise,
                      const struct wif_advice *items, size_t count, const struct rpl_trace *trace,
                      struct vs_json *json)
{
    vs_json_key(json, key);
    vs_json_array(json);
    for (size_t i = 0; i < count; i++)
        advice_json(advise, &items[i], trace, json);
    vs_json_end(json);
}

static void finding_json(const struct wif_finding *finding, const struct rpl_trace *trace,
                         struct vs_json *json)
{
    vs_json_object(json);
    vs_json_put_string(json, "kind", FINDINGS[finding->kind]);
    vs_json_put_string(json, "text", finding->text);
    vs_json_put_string(json, "file", finding->line ? rpl_trace_source_name(trace) : NULL);
    vs_json_put_uint(json, "line", finding->line);
    vs_json_put_uint(json, "bytes", finding->bytes);
    vs_json_put_uint(json, "gain", finding->gain);
    vs_json_end(json);
}

void cli_advise_json(const struct wif_advise *advise, const struct rpl_trace *trace,
                     const struct cli_program_whatif *program, struct vs_text *out)
{
    struct vs_json json;

    vs_json_init(&json, out);
    vs_json_object(&json);
    vs_json_put_uint(&json, "format", 1);
    put_uint_or_null(&json, "capacity", advise->capacity);
    vs_json_key(&json, "baseline");
    if (advise->base.peak) {
        vs_json_object(&json);
        figures_json(advise, &advise->base, &json);
        vs_json_end(&json);
    } else {
        vs_json_null(&json);
    }
    put_uint_or_null(&json, "max_batch", advise->batch);
    list_json("advice", advise, advise->items, advise->count, trace, &json);
    list_json("dominated", advise, advise->dominated, advise->dominated_count, trace, &json);
    rpl_mistakes_json(&advise->mistakes, &json);
    vs_json_key(&json, "findings");
    vs_json_array(&json);
    for (size_t i = 0; i < advise->finding_count; i++)
        finding_json(&advise->findings[i], trace, &json);
    vs_json_end(&json);
    vs_json_put_string(&json, "cannot", advise->cannot);
    if (program)
        cli_program_whatif_json(program, &json);
    vs_json_end(&json);
}

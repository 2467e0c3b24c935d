/*
 * cli/mcp/tool_advise.c - the tool `advise`: what would lower the peak of a run.
 *
 * Must not know:  the protocol; how advice is found.
 * Invariant:      at most ITEMS_MAX changes and findings, the best first.
 */
#include "cli/mcp/mcp.h"
#include "whatif/advise/advise.h"

#define ITEMS_MAX 10
#define TEXT_MAX 400

static const char *const PRICES[] = {
    [WIF_PRICE_NONE] = "nothing",
    [WIF_PRICE_TIME] = "time",
    [WIF_PRICE_NUMBERS] = "other rounding",
    [WIF_PRICE_TRAINING] = "other training",
};

static const char *const FINDINGS[] = {
    [WIF_FINDING_LEAK] = "leak",
    [WIF_FINDING_KEPT] = "kept",
    [WIF_FINDING_UNREAD] = "unread",
};

static bool on_next(void *user, size_t tried, const char *next)
{
    (void)next;
    return mcp_goes_on(user, tried, 0);
}

static void put_change(const struct wif_advise *advise, const struct wif_advice *item,
                       struct vs_json *json)
{
    vs_json_object(json);
    mcp_put_clipped(json, "change", item->label, TEXT_MAX);
    mcp_put_clipped(json, "text", item->text, TEXT_MAX);
    vs_json_put_string(json, "price", PRICES[item->price]);
    vs_json_put_uint(json, "peak", item->run.peak);
    vs_json_put_int(json, "delta", (int64_t)(item->run.peak - advise->base.peak));
    if (advise->capacity)
        vs_json_put_bool(json, "fits", item->run.fits);
    if (item->line)
        vs_json_put_uint(json, "line", item->line);
    vs_json_end(json);
}

static void put_finding(const struct wif_finding *finding, struct vs_json *json)
{
    vs_json_object(json);
    vs_json_put_string(json, "kind", FINDINGS[finding->kind]);
    mcp_put_clipped(json, "text", finding->text, TEXT_MAX);
    if (finding->line)
        vs_json_put_uint(json, "line", finding->line);
    vs_json_put_uint(json, "bytes", finding->bytes);
    vs_json_put_uint(json, "gain", finding->gain);
    vs_json_end(json);
}

static void put_advise(const struct wif_advise *advise, struct vs_json *json)
{
    vs_json_put_uint(json, "peak", advise->base.peak);
    vs_json_key(json, "findings");
    vs_json_array(json);
    for (size_t i = 0; i < advise->finding_count && i < ITEMS_MAX; i++)
        put_finding(&advise->findings[i], json);
    vs_json_end(json);
    vs_json_put_uint(json, "findings_in_all", advise->finding_count);
    rpl_mistakes_json(&advise->mistakes, json);
    vs_json_key(json, "changes");
    vs_json_array(json);
    for (size_t i = 0; i < advise->count && i < ITEMS_MAX; i++)
        put_change(advise, &advise->items[i], json);
    vs_json_end(json);
    vs_json_put_uint(json, "changes_in_all", advise->count);
    mcp_put_clipped(json, "cannot", advise->cannot, TEXT_MAX);
}

static enum vs_status run(const struct mcp_call *call, struct vs_json *json, struct vs_error *err)
{
    struct wif_advise_options options = {.next = on_next, .user = (void *)(uintptr_t)call};
    struct wif_advise advise = {.items = NULL};
    struct rpl_trace *trace = NULL;
    enum vs_status st = mcp_arg_size(call, "capacity", &options.capacity, err);

    if (!st)
        st = mcp_arg_trace(call, "trace", &trace, err);
    if (!st)
        st = wif_advise_fill(&advise, trace, &options, err);
    if (!st)
        put_advise(&advise, json);
    wif_advise_release(&advise);
    rpl_trace_free(trace);
    return st;
}

const struct mcp_tool mcp_tool_advise = {
    .name = "advise",
    .title = "What would lower the peak",
    .description =
        "What would help a run: likely mistakes of a program, findings of the trace (leaks, "
        "tensors that are kept too long, "
        "parameters that nothing reads), and changes, each of which was run on the recorded net, "
        "with the peak it gives and its price. Takes some fifty runs of a net: seconds to a "
        "minute.",
    .schema = "{\"type\": \"object\", \"properties\": {\"trace\": {\"type\": \"string\", "
              "\"description\": \"path of the trace file\"}, \"capacity\": {\"type\": [\"string\", "
              "\"integer\"], \"description\": \"of the device: 24G, or bytes\"}}}",
    .run = run,
};

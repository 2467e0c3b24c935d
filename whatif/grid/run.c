/*
 * whatif/grid/run.c - see run.h.
 *
 * Must not know:  files of results, processes.
 */
#include "whatif/grid/run.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "lang/run/inplace_checks.h"
#include "lang/run/library.h"
#include "lang/run/plan.h"
#include "lang/run/run.h"
#include "whatif/whatif.h"

struct wif_grid_runner {
    const struct wif_grid_net *net;
    struct lang_library *library;
    struct lang_inplace_checks *inplace_checks;
    struct lang_plans *plans;
};

enum vs_status wif_grid_runner_new(const struct wif_grid_net *net, struct wif_grid_runner **out,
                                   struct vs_error *err)
{
    struct wif_grid_runner *runner = vs_calloc(1, sizeof(*runner));
    enum vs_status st = lang_library_new(&runner->library, err);

    runner->net = net;
    runner->inplace_checks = lang_inplace_checks_new();
    runner->plans = lang_plans_new();
    if (st)
        wif_grid_runner_free(runner);
    else
        *out = runner;
    return st;
}

void wif_grid_runner_free(struct wif_grid_runner *runner)
{
    if (!runner)
        return;
    lang_plans_free(runner->plans);
    lang_inplace_checks_free(runner->inplace_checks);
    lang_library_free(runner->library);
    vs_free(runner);
}

/* Output of the net belongs to no result. */
static void on_print(void *user, const char *text, size_t len)
{
    (void)user;
    (void)text;
    (void)len;
}

static enum vs_status run(struct wif_grid_runner *runner, const struct vs_toggles *toggles,
                          uint64_t capacity, struct lang_result *result, struct vs_error *err)
{
    const struct wif_grid_net *net = runner->net;
    struct lang_settings settings = {.file_name = net->file_name,
                                     .text = net->text,
                                     .len = net->len,
                                     .toggles = toggles,
                                     .capacity = capacity,
                                     .seed = net->seed,
                                     .library = runner->library,
                                     .inplace_checks = runner->inplace_checks,
                                     .plans = runner->plans,
                                     .print = on_print};

    return lang_run(&settings, result, err);
}

static uint64_t processes_of(const struct vs_toggles *toggles)
{
    return vs_toggles_is(toggles, VS_TOGGLE_SHARD, "off")
               ? 1
               : vs_toggles_count(toggles, VS_TOGGLE_WORLD);
}

/* How many processes share a batch. */
static uint64_t sharing_of(const struct vs_toggles *toggles)
{
    if (vs_toggles_is(toggles, VS_TOGGLE_SHARD, "tp") ||
        vs_toggles_is(toggles, VS_TOGGLE_SHARD, "pp"))
        return processes_of(toggles);
    return vs_toggles_is(toggles, VS_TOGGLE_SHARD, "fsdp")
               ? vs_toggles_count(toggles, VS_TOGGLE_CP) * vs_toggles_count(toggles, VS_TOGGLE_TP)
               : 1;
}

static void collectives_fill(const struct lang_result *result, struct sto_result *out)
{
    for (size_t i = 0; i < result->collective_count; i++) {
        const struct lang_collective *from = &result->collectives[i];
        struct sto_collective *to = &out->collectives[out->collective_count];

        if (!from->step_count || out->collective_count == STO_RESULT_COLLECTIVES_MAX)
            continue;
        snprintf(to->name, sizeof(to->name), "%s", from->name);
        to->count = from->step_count;
        to->bytes = from->step_bytes;
        to->sent = from->step_sent;
        out->collective_count++;
    }
}

static void notes_fill(const struct lang_result *result, struct sto_result *out)
{
    size_t len = 0;

    for (size_t i = 0; i < result->refusal_count && len < sizeof(out->notes); i++)
        len += (size_t)snprintf(out->notes + len, sizeof(out->notes) - len, "%s%s %s: %s",
                                i ? "\n" : "", result->refusals[i].toggle, result->refusals[i].path,
                                result->refusals[i].reason);
}

static void result_fill(const struct lang_result *result, bool fits, struct sto_result *out)
{
    out->fits = fits;
    out->batch = vs_toggles_count(&result->toggles, VS_TOGGLE_BATCH);
    out->processes = processes_of(&result->toggles);
    out->sharing = sharing_of(&result->toggles);
    out->parameters = result->parameters;
    out->allocated = result->peak_allocated;
    out->requested = result->peak_requested;
    out->reserved = result->peak_reserved;
    if (result->has_peak) {
        out->step = result->peak_phase.step;
        out->phase = result->peak_phase.phase;
    }
    out->steps = result->steps_begun;
    out->total_flops = result->total_flops;
    out->recompute_flops = result->recompute_flops;
    out->host_bytes = result->host_bytes;
    collectives_fill(result, out);
    notes_fill(result, out);
}

void wif_grid_run(struct wif_grid_runner *runner, const struct vs_toggles *toggles,
                  struct sto_result *out)
{
    struct vs_error err = VS_ERROR_INIT;
    struct lang_result result = {0};
    enum vs_status st = run(runner, toggles, runner->net->capacity, &result, &err);
    const bool fits = st != VS_E_OOM;

    memset(out, 0, sizeof(*out));
    if (!fits) {
        err = (struct vs_error)VS_ERROR_INIT;
        lang_result_release(&result);
        st = run(runner, toggles, WIF_NO_LIMIT, &result, &err);
    }
    if (st) {
        out->is_refused = true;
        snprintf(out->reason, sizeof(out->reason), "%.*s",
                 (int)vs_utf8_cut(err.text, STO_RESULT_TEXT_MAX - 1), err.text);
    } else {
        result_fill(&result, fits, out);
    }
    lang_result_release(&result);
}

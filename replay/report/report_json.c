/*
 * replay/report/report_json.c - the report as JSON; see report.h.
 *
 * Must not know:  where the text goes.
 * Invariant:      scripts rely on the names of the fields (docs/formats/json.md): new ones may be added, none changes.
 */
#include "replay/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/json.h"
#include "base/text.h"
#include "replay/inspect/block_module.h"
#include "replay/inspect/block_text.h"
#include "replay/report/by_value.h"
#include "replay/report/report_internal.h"
#include "replay/report/simulated.h"
#include "replay/report/warnings.h"
#include "replay/trace/scripts.h"

/* Module path, function, line, source line and op of a location. */
static void location_json(const struct rpl_trace *trace, uint32_t id, struct vs_json *json)
{
    const struct vs_location *location = rpl_trace_location(trace, id);
    size_t len;
    const char *text = rpl_location_source(trace, location, &len);
    struct vs_text line = {NULL, 0, 0};

    vs_json_put_string(json, "module", rpl_trace_string(trace, location->module));
    vs_json_put_string(json, "function", rpl_trace_string(trace, location->func));
    vs_json_put_uint(json, "line", location->line);
    vs_text_add_n(&line, text, len);
    vs_json_put_string(json, "source_line", vs_text_get(&line));
    vs_text_release(&line);
    vs_json_put_string(json, "op", rpl_trace_string(trace, location->op));
}

static void categories_json(const uint64_t *by_category, struct vs_json *json)
{
    vs_json_key(json, "by_category");
    vs_json_object_flat(json);
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++)
        vs_json_put_uint(json, vs_category_name((enum vs_category)i), by_category[i]);
    vs_json_end(json);
}

void rpl_peak_json(const struct rpl_trace *trace, const struct rpl_peak *peak, struct vs_json *json)
{
    vs_json_object(json);
    vs_json_put_uint(json, "allocated", peak->allocated);
    vs_json_put_uint(json, "requested", peak->requested);
    vs_json_put_uint(json, "active", peak->active);
    vs_json_put_uint(json, "reserved", peak->reserved);
    vs_json_put_uint(json, "event", peak->event);
    vs_json_put_uint(json, "requested_at_event", peak->requested_there);
    vs_json_put_uint(json, "reserved_at_event", peak->reserved_there);
    vs_json_put_int(json, "step", peak->step);
    vs_json_put_string(json, "phase", vs_phase_name(peak->phase));
    location_json(trace, peak->location, json);
    vs_json_put_bool(json, "recompute", peak->is_recompute);
    categories_json(peak->by_category, json);
    vs_json_end(json);
}

static void oom_json(const struct rpl_report *report, struct vs_json *json)
{
    const struct rpl_oom *oom = &report->sum.oom;

    vs_json_key(json, "oom");
    if (!oom->event) {
        vs_json_null(json);
        return;
    }
    vs_json_object(json);
    vs_json_put_uint(json, "event", oom->event);
    vs_json_put_uint(json, "requested", oom->requested);
    vs_json_put_uint(json, "segment", oom->segment);
    vs_json_put_uint(json, "device_free", oom->device_free);
    vs_json_put_uint(json, "allocated", oom->allocated);
    vs_json_put_uint(json, "reserved", oom->reserved);
    vs_json_put_int(json, "step", oom->step);
    vs_json_put_string(json, "phase", vs_phase_name(oom->phase));
    location_json(report->trace, oom->location, json);
    categories_json(report->by_category, json);
    vs_json_end(json);
}

/* Written only if there is a row. */
static void by_values_json(const struct rpl_trace *trace, struct vs_json *json)
{
    struct rpl_by_value rows[RPL_BY_VALUE_MAX];
    size_t count = rpl_by_values(trace, rows);

    if (!count)
        return;
    vs_json_key(json, "by_values");
    vs_json_array(json);
    for (size_t i = 0; i < count; i++) {
        vs_json_object(json);
        vs_json_put_string(json, "name", rows[i].name);
        vs_json_put_string(json, "what", rows[i].what);
        vs_json_end(json);
    }
    vs_json_end(json);
}

void rpl_uncertainty_json(const struct rpl_trace *trace, const struct rpl_summary *sum,
                          struct vs_json *json)
{
    const struct rpl_uncertainty *uncertainty = &sum->uncertainty;

    vs_json_key(json, "bound");
    vs_json_object(json);
    vs_json_put_bool(json, "tensors_only", uncertainty->is_tensors_only);
    vs_json_put_bool(json, "is_lower", uncertainty->is_tensors_only || uncertainty->allocs);
    vs_json_put_uint(json, "unmodelled_allocations", uncertainty->allocs);
    vs_json_key(json, "unmodelled");
    if (uncertainty->allocs) {
        vs_json_object(json);
        vs_json_put_string(json, "what", uncertainty->what);
        vs_json_put_uint(json, "margin", sum->peak.allocated - uncertainty->highest);
        vs_json_put_uint(json, "event", uncertainty->event);
        location_json(trace, uncertainty->location, json);
        vs_json_end(json);
    } else {
        vs_json_null(json);
    }
    by_values_json(trace, json);
    vs_json_end(json);
}

/* Ops that had to use a slower algorithm because its workspace did not fit: a string each. */
static void shortages_json(const struct rpl_report *report, struct vs_json *json)
{
    const char *line = rpl_trace_meta(report->trace, "shortages");
    struct vs_text text = {NULL, 0, 0};

    vs_json_key(json, "shortages");
    vs_json_array(json);
    while (line && *line) {
        size_t len = strcspn(line, "\n");

        vs_text_clear(&text);
        vs_text_add_n(&text, line, len);
        vs_json_string(json, vs_text_get(&text));
        line += len + (line[len] == '\n');
    }
    vs_json_end(json);
    vs_text_release(&text);
}

static void fit_json(const struct rpl_report *report, struct vs_json *json)
{
    const struct vs_target *target = rpl_target(report->trace);
    const uint64_t capacity = rpl_capacity(report->trace);

    vs_json_key(json, "fit");
    if (!capacity) {
        vs_json_null(json);
        return;
    }
    vs_json_object_flat(json);
    vs_json_put_string(json, "target", target ? target->name : NULL);
    vs_json_put_string(json, "title",
                       target ? target->title : rpl_trace_meta(report->trace, "gpu_played"));
    vs_json_put_uint(json, "capacity", capacity);
    vs_json_put_uint(json, "reserved", report->sum.peak.reserved);
    vs_json_put_bool(json, "fits", !report->sum.oom.event);
    vs_json_end(json);
}

static void phase_json(const struct rpl_phase *phase, struct vs_json *json)
{
    vs_json_object_flat(json);
    vs_json_put_string(json, "phase", vs_phase_name(phase->phase));
    vs_json_put_uint(json, "allocated_end", phase->allocated_end);
    vs_json_put_uint(json, "allocated_peak", phase->allocated_peak);
    vs_json_put_uint(json, "requested_end", phase->requested_end);
    vs_json_put_uint(json, "requested_peak", phase->requested_peak);
    vs_json_put_uint(json, "reserved_end", phase->reserved_end);
    vs_json_put_uint(json, "reserved_peak", phase->reserved_peak);
    vs_json_end(json);
}

static void steps_json(const struct rpl_summary *sum, struct vs_json *json)
{
    vs_json_key(json, "steps");
    vs_json_array(json);
    for (size_t i = 0; i < sum->step_count; i++) {
        vs_json_object(json);
        vs_json_put_int(json, "step", sum->steps[i].step);
        vs_json_put_double(json, "loss", sum->steps[i].loss);
        vs_json_key(json, "phases");
        vs_json_array(json);
        for (size_t k = 0; k < sum->steps[i].phase_count; k++)
            phase_json(&sum->steps[i].phases[k], json);
        vs_json_end(json);
        vs_json_end(json);
    }
    vs_json_end(json);
    vs_json_key(json, "recomputed_ops");
    vs_json_array_flat(json);
    for (size_t i = 0; i < sum->step_count; i++)
        if (sum->steps[i].step >= 0)
            vs_json_uint(json, sum->steps[i].recomputed_ops);
    vs_json_end(json);
}

static void device_json(const struct rpl_summary *sum, struct vs_json *json)
{
    vs_json_object_flat(json);
    vs_json_put_uint(json, "device", sum->device);
    vs_json_put_uint(json, "events", sum->alloc_events);
    vs_json_put_uint(json, "segments", sum->end_segments);
    vs_json_put_uint(json, "blocks", sum->end_blocks);
    vs_json_put_uint(json, "reserved", sum->end_reserved);
    vs_json_put_uint(json, "allocated", sum->end_allocated);
    vs_json_put_uint(json, "peak_allocated", sum->peak.allocated);
    vs_json_put_uint(json, "peak_requested", sum->peak.requested);
    vs_json_put_uint(json, "peak_reserved", sum->peak.reserved);
    vs_json_end(json);
}

/* An entry for each device; for devices other than the report's, this reads all events. */
static void devices_json(const struct rpl_report *report, struct vs_json *json)
{
    const size_t count = rpl_trace_device_count(report->trace);

    vs_json_key(json, "devices");
    vs_json_array(json);
    for (size_t i = 0; i < count || !i; i++) {
        struct rpl_summary sum = {.events = 0};
        struct rpl_trace *trace = NULL;
        struct vs_error ignored = VS_ERROR_INIT; /* the file was valid when this trace was opened */

        if (!count || i == rpl_trace_device_now(report->trace))
            device_json(&report->sum, json);
        else if (!rpl_trace_open_device(report->trace, i, &trace, &ignored) &&
                 !rpl_summary_fill(&sum, trace, &ignored))
            device_json(&sum, json);
        rpl_summary_release(&sum);
        rpl_trace_free(trace);
    }
    vs_json_end(json);
}

/* A figure that is null where it is not known. */
static void known_json(bool is_known, const char *key, uint64_t value, struct vs_json *json)
{
    if (is_known) {
        vs_json_put_uint(json, key, value);
        return;
    }
    vs_json_key(json, key);
    vs_json_null(json);
}

static void saved_json(const struct rpl_trace *trace, const struct rpl_saved *saved,
                       struct vs_json *json)
{
    vs_json_key(json, "saved");
    if (!rpl_trace_has_saves(trace)) {
        vs_json_null(json);
        return;
    }
    vs_json_object_flat(json);
    vs_json_put_uint(json, "tensors", saved->tensors);
    vs_json_put_uint(json, "bytes", saved->bytes);
    vs_json_put_uint(json, "bytes_all", saved->bytes_all);
    vs_json_put_bool(json, "at_loss", saved->is_at_loss);
    vs_json_end(json);
}

static void shape_json(const struct rpl_trace *trace, uint32_t tensor, struct vs_json *json)
{
    struct vs_tensor_desc desc;

    if (!rpl_trace_tensor(trace, tensor, &desc)) {
        vs_json_put_string(json, "dtype", NULL);
        vs_json_put_string(json, "shape", NULL);
        return;
    }
    vs_json_put_string(json, "dtype", vs_dtype_name((enum vs_dtype)desc.dtype));
    vs_json_key(json, "shape");
    vs_json_array_flat(json);
    for (unsigned i = 0; i < desc.ndim; i++)
        vs_json_int(json, desc.sizes[i]);
    vs_json_end(json);
}

static void holders_json(const struct rpl_trace *trace, const struct rpl_why *why,
                         struct vs_json *json)
{
    struct vs_text text = {NULL, 0, 0};

    vs_json_key(json, "holders");
    vs_json_array(json);
    for (size_t i = 0; i < why->holder_count; i++) {
        vs_text_clear(&text);
        rpl_holder_text(trace, &why->holders[i], &text);
        vs_json_string(json, vs_text_get(&text));
    }
    vs_json_end(json);
    vs_text_release(&text);
}

/* The module that a block belongs to, or null, and why something about it is not known: a sentence each. */
static void module_json(const struct rpl_trace *trace, const struct rpl_why *why,
                        struct vs_json *json)
{
    struct vs_text text = {NULL, 0, 0};
    const bool has_module = rpl_block_module(trace, why, &text);

    vs_json_put_string(json, "belongs_to", has_module ? vs_text_get(&text) : NULL);
    vs_json_key(json, "unknown");
    vs_json_array(json);
    vs_text_clear(&text);
    vs_text_add(&text, "shape: ");
    if (rpl_block_no_shape(trace, why, &text))
        vs_json_string(json, vs_text_get(&text));
    vs_text_clear(&text);
    vs_text_add(&text, "module: ");
    if (rpl_block_no_module(trace, why, &text))
        vs_json_string(json, vs_text_get(&text));
    vs_json_end(json);
    vs_text_release(&text);
}

/* `gain` UINT64_MAX: the member is left out. */
static void tensor_json(const struct rpl_trace *trace, const struct rpl_why *why, uint64_t gain,
                        struct vs_json *json)
{
    const struct rpl_block *block = &why->block;

    vs_json_object(json);
    vs_json_put_uint(json, "block", block->id);
    vs_json_put_uint(json, "bytes", block->bytes);
    vs_json_put_uint(json, "requested", block->requested);
    if (gain != UINT64_MAX)
        vs_json_put_uint(json, "gain", gain);
    vs_json_put_string(json, "category", vs_category_name((enum vs_category)block->category));
    vs_json_put_string(json, "name", rpl_why_name(trace, why));
    shape_json(trace, block->tensor, json);
    vs_json_put_uint(json, "allocated_at", block->alloc_seq);
    location_json(trace, block->alloc_location, json);
    module_json(trace, why, json);
    holders_json(trace, why, json);
    vs_json_put_uint(json, "last_use", block->last_use_seq);
    vs_json_put_uint(json, "last_use_line",
                     rpl_trace_location(trace, block->last_use_location)->line);
    vs_json_put_uint(json, "next_use", why->next_use_seq);
    vs_json_put_uint(json, "freed_at", why->free_seq);
    vs_json_end(json);
}

void rpl_why_json(const struct rpl_trace *trace, const struct rpl_why *why, struct vs_json *json)
{
    tensor_json(trace, why, UINT64_MAX, json);
}

static void alloc_sites_json(const struct rpl_report *report, struct vs_json *json)
{
    vs_json_key(json, "by_line");
    rpl_alloc_sites_json(&report->lines, report->trace, RPL_ALLOC_SITES_BY_LINE, report->top, json);
    vs_json_key(json, "by_module");
    rpl_alloc_sites_json(&report->modules, report->trace, RPL_ALLOC_SITES_BY_MODULE, report->top,
                         json);
    vs_json_key(json, "by_layers");
    rpl_alloc_sites_json(&report->layers, report->trace, RPL_ALLOC_SITES_BY_LAYERS, report->top,
                         json);
}

static void head_json(const struct rpl_report *report, struct vs_json *json)
{
    struct rpl_trace *trace = report->trace;
    const char *kind = rpl_trace_meta(trace, "source_kind");
    const char *name = rpl_trace_source_name(trace);

    vs_json_put_uint(json, "format", 1);
    vs_json_key(json, "source");
    vs_json_object_flat(json);
    vs_json_put_string(json, "kind", kind ? kind : "net");
    vs_json_put_string(json, "name", name ? name : rpl_trace_meta(trace, "source_name"));
    vs_json_end(json);
    vs_json_put_string(json, "device", rpl_trace_meta(trace, "device"));
    if (rpl_trace_meta(trace, "why_cpu"))
        vs_json_put_string(json, "why_cpu", rpl_trace_meta(trace, "why_cpu"));
    if (rpl_trace_meta(trace, "torch"))
        vs_json_put_string(json, "torch", rpl_trace_meta(trace, "torch"));
    rpl_simulated_json(trace, json);
    rpl_report_derived_json(trace, json);
    rpl_report_observed_json(trace, json);
    vs_json_put_bool(json, "complete", rpl_trace_is_complete(trace));
    rpl_report_dropped_json(trace, json);
    rpl_report_partial_json(trace, json);
    vs_json_key(json, "toggles");
    vs_json_object(json);
    for (size_t i = 0; i < rpl_trace_toggle_count(trace); i++) {
        struct rpl_toggle toggle = rpl_trace_toggle(trace, i);

        vs_json_put_string(json, toggle.name, toggle.value);
    }
    vs_json_end(json);
    vs_json_put_uint(json, "events", report->sum.events);
    known_json(!rpl_trace_is_imported(trace), "parameters", report->sum.parameters, json);
}

static void kept_json(const struct rpl_report *report, struct vs_json *json)
{
    vs_json_key(json, "kept");
    if (report->is_future_unknown) {
        vs_json_null(json);
        return;
    }
    vs_json_object(json);
    vs_json_put_uint(json, "tensors", report->kept.total_count);
    vs_json_put_uint(json, "bytes", report->kept.total);
    vs_json_put_uint(json, "gain", report->kept.gain);
    vs_json_key(json, "list");
    vs_json_array(json);
    for (size_t i = 0; i < report->kept.count; i++)
        tensor_json(report->trace, &report->kept_why[i], report->kept.items[i].gain, json);
    vs_json_end(json);
    vs_json_end(json);
}

void rpl_leak_owner_json(const struct rpl_trace *trace, const struct rpl_leak_owner *owner,
                         struct vs_json *json)
{
    const struct rpl_holder *holder = &owner->holder;
    const struct vs_location *location = rpl_trace_location(trace, holder->location);
    struct vs_text text = {NULL, 0, 0};

    if (!owner->is_known) {
        vs_json_null(json);
        return;
    }
    rpl_holder_text(trace, holder, &text);
    vs_json_object_flat(json);
    vs_json_put_string(json, "name", rpl_trace_string(trace, holder->name));
    vs_json_put_string(json, "scope", rpl_trace_string(trace, holder->scope));
    vs_json_put_uint(json, "line", location->line);
    vs_json_put_string(json, "text", vs_text_get(&text));
    vs_json_put_uint(json, "block", owner->block);
    vs_json_put_uint(json, "bytes", owner->bytes);
    vs_json_end(json);
    vs_text_release(&text);
}

static void leak_json(const struct rpl_report *report, struct vs_json *json)
{
    const struct rpl_leak *leak = &report->leak;

    vs_json_key(json, "leak");
    if (!leak->at) {
        vs_json_null(json);
        return;
    }
    vs_json_object(json);
    vs_json_put_uint(json, "event", leak->at);
    vs_json_put_uint(json, "blocks", leak->count);
    vs_json_put_uint(json, "bytes", leak->bytes);
    vs_json_put_uint(json, "steps", leak->steps);
    vs_json_put_uint(json, "bytes_per_step", leak->bytes / leak->steps);
    vs_json_key(json, "owner");
    rpl_leak_owner_json(report->trace, &report->leak_owner, json);
    vs_json_key(json, "list");
    vs_json_array(json);
    for (size_t i = 0; i < leak->block_count; i++)
        tensor_json(report->trace, &report->leak_why[i], UINT64_MAX, json);
    vs_json_end(json);
    vs_json_end(json);
}

void rpl_report_members_json(const struct rpl_report *report, struct vs_json *json)
{
    const struct rpl_summary *sum = &report->sum;
    const bool has_arithmetic = rpl_trace_has_arithmetic(report->trace);

    head_json(report, json);
    vs_json_key(json, "peak");
    rpl_peak_json(report->trace, &sum->peak, json);
    rpl_uncertainty_json(report->trace, &report->sum, json);
    shortages_json(report, json);
    rpl_warnings_json(report->trace, json);
    rpl_mistakes_json(&report->mistakes, json);
    fit_json(report, json);
    rpl_account_json(&report->account, json);
    oom_json(report, json);
    steps_json(sum, json);
    saved_json(report->trace, &sum->saved, json);
    known_json(has_arithmetic, "total_flops", sum->flops, json);
    known_json(has_arithmetic, "recompute_flops", sum->recompute_flops, json);
    rpl_report_arithmetic_json(report->trace, json);
    rpl_casts_json(&sum->casts, rpl_trace_has_uses(report->trace), json);
    rpl_report_work_json(report, json);
    devices_json(report, json);
    alloc_sites_json(report, json);
    rpl_parameters_json(&report->parameters, json);
    rpl_traffic_json(&report->traffic, report->trace, json);
    vs_json_key(json, "largest");
    vs_json_array(json);
    for (size_t i = 0; i < report->largest_count; i++)
        tensor_json(report->trace, &report->largest[i], UINT64_MAX, json);
    vs_json_end(json);
    kept_json(report, json);
    leak_json(report, json);
    vs_json_key(json, "driver");
    rpl_non_pytorch_json(report->non_pytorch, report->top, json);
}

void rpl_report_json(const struct rpl_report *report, struct vs_text *out)
{
    struct vs_json json;

    vs_json_init(&json, out);
    vs_json_object(&json);
    rpl_report_members_json(report, &json);
    vs_json_end(&json);
}

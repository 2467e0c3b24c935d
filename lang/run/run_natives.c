/*
 * lang/run/run_natives.c - functions of the module torch for the built-in loop (lang/prelude/train.py): torch._step,
 * torch._mark and others.
 *
 * For:            lang/run/run.c.
 * Must not know:  how the loop is written.
 * Invariant:      none of these functions creates, holds or releases a tensor.
 *
 * docs/internals/prelude.md describes them.
 */
#include <string.h>

#include "base/mem.h"
#include "engine/device/kernels.h"
#include "lang/interp/call.h"
#include "lang/run/run_internal.h"
#include "lang/value/object.h"
#include "lang/value/vm.h"

static struct lang_run_state *run_of(const struct lang_call *call)
{
    return call->builtin->closure.as.opaque->data;
}

static bool phase_named(const char *name, enum vs_phase *out)
{
    for (int i = 0; i < VS_PHASE_COUNT; i++) {
        if (name && strcmp(vs_phase_name((enum vs_phase)i), name) == 0) {
            *out = (enum vs_phase)i;
            return true;
        }
    }
    return false;
}

/* ---- steps and phases ---- */

void lang_run_step_close(struct lang_run_state *run)
{
    struct lang_result *result = run->result;
    struct eng_counters now = eng_counters_get(run->eng);

    result->events = now.events;
    if (run->step < 0 || result->step_count == 0)
        return;
    struct lang_run_step *step = &result->steps[result->step_count - 1];
    step->loss_known = run->has_loss;
    step->loss = run->step_loss;
    step->recomputed_ops = now.recomputed_ops - run->at_start.recomputed_ops;
    step->recomputed_kernels = now.recomputed_kernels - run->at_start.recomputed_kernels;
    if (result->recomputed_count &&
        result->recomputed[result->recomputed_count - 1].ops == step->recomputed_ops) {
        result->recomputed[result->recomputed_count - 1].steps++;
        return;
    }
    result->recomputed = vs_grow(result->recomputed, result->recomputed_count,
                                 &result->recomputed_cap, sizeof(*result->recomputed));
    result->recomputed[result->recomputed_count++] =
        (struct lang_recomputed){step->recomputed_ops, 1};
}

static void step_begin(struct lang_run_state *run, int64_t step)
{
    struct lang_result *result = run->result;

    lang_run_step_close(run);
    run->step = step;
    run->has_loss = false;
    run->step_loss = 0.0;
    run->scaler_calls = 0;
    run->at_start = eng_counters_get(run->eng);
    lang_run_collectives_step(result);
    if (!run->settings->all_steps)
        result->phase_count = result->step_count = result->loss_count = 0;
    if (run->step >= 0) {
        result->steps_begun++;
        result->steps =
            vs_grow(result->steps, result->step_count, &result->step_cap, sizeof(*result->steps));
        result->steps[result->step_count++] = (struct lang_run_step){.step = run->step};
    }
}

static bool native_step(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_step", 1))
        return false;
    step_begin(run_of(call), call->args[0].as.i);
    eng_location_step(run_of(call)->eng, call->args[0].as.i);
    *out = lang_none();
    return true;
}

static bool native_phase(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    enum vs_phase phase = VS_PHASE_SETUP;

    if (!lang_args_exact(vm, call, "_phase", 1))
        return false;
    if (!phase_named(lang_value_text(call->args[0]), &phase))
        return lang_fail(vm, VS_E_VALUE, "no such phase");
    eng_location_phase(run_of(call)->eng, phase);
    *out = lang_none();
    return true;
}

static void peak_note(struct lang_result *result, const struct lang_run_phase *phase)
{
    if (!result->has_peak || phase->allocated_peak > result->peak_allocated) {
        result->has_peak = true;
        result->peak_allocated = phase->allocated_peak;
        result->peak_phase = *phase;
    }
    if (phase->requested_peak > result->peak_requested)
        result->peak_requested = phase->requested_peak;
    if (phase->reserved_peak > result->peak_reserved)
        result->peak_reserved = phase->reserved_peak;
}

bool lang_run_phase_end(struct lang_run_state *run, enum vs_phase which, uint32_t micro)
{
    struct lang_result *result = run->result;
    struct eng_alloc *alloc = eng_alloc_of(run->eng);
    const struct eng_alloc_stats *stats = eng_alloc_stats_get(alloc);
    struct lang_run_phase phase = {.step = run->step, .phase = which, .micro = micro};

    phase.allocated_end = stats->allocated_bytes[ENG_STAT_ALL].current;
    phase.allocated_peak = stats->allocated_bytes[ENG_STAT_ALL].peak;
    phase.requested_end = stats->requested_bytes[ENG_STAT_ALL].current;
    phase.requested_peak = stats->requested_bytes[ENG_STAT_ALL].peak;
    phase.reserved_end = stats->reserved_bytes[ENG_STAT_ALL].current;
    phase.reserved_peak = stats->reserved_bytes[ENG_STAT_ALL].peak;
    eng_alloc_reset_peak(alloc);
    peak_note(result, &phase);
    result->phases =
        vs_grow(result->phases, result->phase_count, &result->phase_cap, sizeof(*result->phases));
    result->phases[result->phase_count++] = phase;
    if (run->settings->progress) {
        struct lang_progress progress = {
            .step = run->step,
            .steps = (int64_t)vs_toggles_count(&result->toggles, VS_TOGGLE_STEPS),
            .phase = phase.phase,
            .loss_known = run->has_loss,
            .loss = run->step_loss};

        if (!run->settings->progress(run->settings->user, &progress))
            return lang_fail(run->vm, VS_E_STOPPED, "stopped");
    }
    return true;
}

static bool native_mark(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    enum vs_phase phase = VS_PHASE_SETUP;

    if (!lang_args_exact(vm, call, "_mark", 2))
        return false;
    if (!phase_named(lang_value_text(call->args[0]), &phase))
        return lang_fail(vm, VS_E_VALUE, "no such phase");
    *out = lang_none();
    return lang_run_phase_end(run_of(call), phase, (uint32_t)call->args[1].as.i);
}

static bool native_done(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    (void)vm;
    eng_observer_stop(run_of(call)->eng);
    *out = lang_none();
    return true;
}

/* ---- figures ---- */

/* Reads the only number in v; false where v has not exactly one, or has no data. */
static bool number_of(struct lang_run_state *run, struct lang_value v, double *out)
{
    struct eng_scalar scalar;

    if (lang_is_number(v)) {
        *out = lang_number(v);
        return true;
    }
    if (v.kind != LANG_TENSOR || eng_numel(v.as.tensor) != 1 || !eng_has_data(run->eng) ||
        !eng_item(run->eng, v.as.tensor, &scalar))
        return false;
    *out = scalar.f;
    return true;
}

static bool native_note_loss(struct lang_vm *vm, const struct lang_call *call,
                             struct lang_value *out)
{
    struct lang_run_state *run = run_of(call);
    struct lang_result *result = run->result;
    struct lang_run_loss loss = {.step = run->step};

    if (!lang_args_exact(vm, call, "_note_loss", 1))
        return false;
    *out = lang_none();
    if (!number_of(run, call->args[0], &loss.value))
        return lang_check_engine(vm);
    if (result->loss_count > 0 && result->losses[result->loss_count - 1].step == run->step)
        loss.micro = result->losses[result->loss_count - 1].micro + 1;
    result->losses =
        vs_grow(result->losses, result->loss_count, &result->loss_cap, sizeof(*result->losses));
    result->losses[result->loss_count++] = loss;
    run->step_loss += loss.value;
    run->has_loss = true;
    return true;
}

void lang_run_saved_note(struct lang_run_state *run, bool before_backward)
{
    struct eng_counters counters = eng_counters_get(run->eng);

    if (run->is_saved_exact && !before_backward)
        return;
    run->is_saved_exact = before_backward;
    run->result->saved_known = true;
    run->result->saved_tensors = counters.saved_tensors;
    run->result->saved_bytes = counters.saved_bytes;
    run->result->saved_bytes_all = counters.saved_bytes_all;
}

/* The last loss of the run has ended. */
static bool native_note_saved(struct lang_vm *vm, const struct lang_call *call,
                              struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_note_saved", 0))
        return false;
    lang_run_saved_note(run_of(call), true);
    *out = lang_none();
    return true;
}

/* ---- a step of the net's own ---- */

/* Elements of the first tensor of a batch; 0: there is none. */
static uint64_t batch_elems(struct lang_value batch)
{
    while ((batch.kind == LANG_TUPLE && batch.as.tuple->count > 0) ||
           (batch.kind == LANG_LIST && batch.as.list->count > 0))
        batch = batch.kind == LANG_TUPLE ? batch.as.tuple->items[0] : batch.as.list->items[0];
    return batch.kind == LANG_TENSOR ? (uint64_t)eng_numel(batch.as.tensor) : 0;
}

/* torch._own_step_begin(batch): a batch where several optimizers share it, else None */
static bool native_own_step_begin(struct lang_vm *vm, const struct lang_call *call,
                                  struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_own_step_begin", 1))
        return false;
    lang_own_step_begin(run_of(call), batch_elems(call->args[0]));
    *out = lang_none();
    return true;
}

static bool native_own_step_end(struct lang_vm *vm, const struct lang_call *call,
                                struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_own_step_end", 0))
        return false;
    lang_own_step_end(run_of(call));
    *out = lang_none();
    return true;
}

static bool native_own_step_close(struct lang_vm *vm, const struct lang_call *call,
                                  struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_own_step_close", 0))
        return false;
    *out = lang_none();
    return lang_own_step_close(run_of(call));
}

static bool native_own_step_refuse(struct lang_vm *vm, const struct lang_call *call,
                                   struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_own_step_refuse", 0))
        return false;
    lang_own_step_refuse(run_of(call));
    *out = lang_none();
    return true;
}

/* torch._own_step_parts(): the highest number of parts that were accumulated for one step of an optimizer */
static bool native_own_step_parts(struct lang_vm *vm, const struct lang_call *call,
                                  struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_own_step_parts", 0))
        return false;
    *out = lang_int((int64_t)run_of(call)->own_step.most_backwards);
    return true;
}

static bool native_new_gradients(struct lang_vm *vm, const struct lang_call *call,
                                 struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_new_gradients", 0))
        return false;
    *out = lang_bool(lang_own_step_take_new_gradients(run_of(call)));
    return true;
}

static bool native_note_parameters(struct lang_vm *vm, const struct lang_call *call,
                                   struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_note_parameters", 1))
        return false;
    run_of(call)->result->parameters = (uint64_t)call->args[0].as.i;
    *out = lang_none();
    return true;
}

static bool native_note_inplace(struct lang_vm *vm, const struct lang_call *call,
                                struct lang_value *out)
{
    struct lang_result *result = run_of(call)->result;
    struct lang_value *items = NULL;
    uint32_t count = 0;

    if (!lang_args_exact(vm, call, "_note_inplace", 1))
        return false;
    *out = lang_none();
    if (!lang_items(call->args[0], &items, &count))
        return lang_fail(vm, VS_E_TYPE, "_note_inplace: not a list");
    for (uint32_t i = 0; i < count; i++) {
        result->inplace = vs_grow(result->inplace, result->inplace_count, &result->inplace_cap,
                                  sizeof(*result->inplace));
        result->inplace[result->inplace_count++] = vs_strdup(lang_value_text(items[i]));
    }
    return true;
}

void lang_run_refusal_add(struct lang_run_state *run, const char *toggle, const char *path,
                          const char *reason)
{
    struct lang_result *result = run->result;

    result->refusals = vs_grow(result->refusals, result->refusal_count, &result->refusal_cap,
                               sizeof(*result->refusals));
    result->refusals[result->refusal_count++] = (struct lang_refusal){
        .toggle = vs_strdup(toggle), .path = vs_strdup(path), .reason = vs_strdup(reason)};
}

static bool native_note_refused(struct lang_vm *vm, const struct lang_call *call,
                                struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_note_refused", 3))
        return false;
    lang_run_refusal_add(run_of(call), lang_value_text(call->args[0]),
                         lang_value_text(call->args[1]), lang_value_text(call->args[2]));
    *out = lang_none();
    return true;
}

static bool native_note_placement(struct lang_vm *vm, const struct lang_call *call,
                                  struct lang_value *out)
{
    struct lang_result *result = run_of(call)->result;

    if (!lang_args_exact(vm, call, "_note_placement", 1))
        return false;
    vs_free(result->placement);
    result->placement = vs_strdup(lang_value_text(call->args[0]));
    *out = lang_none();
    return true;
}

static bool native_note_segments(struct lang_vm *vm, const struct lang_call *call,
                                 struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_note_segments", 1))
        return false;
    run_of(call)->result->segments_max = (uint64_t)call->args[0].as.i;
    *out = lang_none();
    return true;
}

/* ---- the optimizer of the net ---- */

#define STATE_DEPTH 4 /* levels of nested containers that are searched */

static void state_mark(struct lang_value v, int depth)
{
    struct lang_value *items = NULL;
    struct lang_entry *entry;
    uint32_t count = 0;
    uint32_t at = 0;

    if (v.kind == LANG_TENSOR) {
        uint8_t category = v.as.tensor->storage->category;

        if (category == VS_CAT_OTHER || category == VS_CAT_TEMPORARY ||
            category == VS_CAT_ACTIVATION)
            eng_set_category(v.as.tensor, VS_CAT_OPTIMIZER);
    }
    if (depth == 0)
        return;
    if ((v.kind == LANG_LIST || v.kind == LANG_TUPLE) && lang_items(v, &items, &count)) {
        for (uint32_t i = 0; i < count; i++)
            state_mark(items[i], depth - 1);
    } else if (v.kind == LANG_DICT) {
        while ((entry = lang_dict_next(v.as.dict, &at)) != NULL)
            state_mark(entry->value, depth - 1);
    }
}

/* All tensors in attributes of an optimizer count as its state, whatever their names. */
static bool native_note_state(struct lang_vm *vm, const struct lang_call *call,
                              struct lang_value *out)
{
    struct lang_entry *entry;
    uint32_t at = 0;

    if (!lang_args_exact(vm, call, "_note_state", 1))
        return false;
    *out = lang_none();
    if (call->args[0].kind != LANG_INSTANCE)
        return true;
    while ((entry = lang_dict_next(call->args[0].as.instance->attrs, &at)) != NULL)
        state_mark(entry->value, STATE_DEPTH);
    return true;
}

/* ---- the gradient scaler ---- */

static bool native_found_inf(struct lang_vm *vm, const struct lang_call *call,
                             struct lang_value *out)
{
    struct lang_run_state *run = run_of(call);
    double value = 0.0;

    if (!lang_args_exact(vm, call, "_found_inf", 1))
        return false;
    if (eng_has_data(run->eng)) {
        if (!number_of(run, call->args[0], &value))
            return lang_check_engine(vm) && lang_fail(vm, VS_E_TYPE, "_found_inf: not a number");
    } else {
        for (size_t i = 0; i < run->settings->skip_count; i++) {
            if (run->settings->skips[i].step == run->step &&
                run->settings->skips[i].call == run->scaler_calls)
                value = 1.0;
        }
    }
    run->scaler_calls++;
    *out = lang_float(value);
    return true;
}

static bool native_event_scale(struct lang_vm *vm, const struct lang_call *call,
                               struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_event_scale", 2))
        return false;
    eng_emit_scale(run_of(call)->eng, (uint64_t)lang_number(call->args[0]),
                   (uint64_t)lang_number(call->args[1]));
    *out = lang_none();
    return true;
}

static bool native_event_skip(struct lang_vm *vm, const struct lang_call *call,
                              struct lang_value *out)
{
    struct lang_run_state *run = run_of(call);

    (void)vm;
    if (run->result->step_count > 0)
        run->result->steps[run->result->step_count - 1].skipped = true;
    eng_emit_skip_step(run->eng, run->scaler_calls - 1);
    *out = lang_none();
    return true;
}

/* ---- tests ---- */

static bool native_dump(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    struct lang_run_state *run = run_of(call);

    if (!lang_args_exact(vm, call, "_dump", 4))
        return false;
    if (run->settings->dump && call->args[2].kind == LANG_TENSOR)
        run->settings->dump(run->settings->user, lang_value_text(call->args[0]),
                            lang_value_text(call->args[1]), call->args[2].as.tensor,
                            lang_number(call->args[3]));
    *out = lang_none();
    return true;
}

bool lang_run_legal_values(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    char legal[VS_TOGGLE_LEGAL_MAX];
    enum vs_toggle toggle;

    if (!lang_args_exact(vm, call, "_legal_values", 1))
        return false;
    if (!vs_toggle_find(lang_value_text(call->args[0]), &toggle))
        return lang_fail(vm, VS_E_VALUE, "_legal_values: no such toggle");
    *out = lang_str(vm, vs_toggle_legal_text(toggle, legal));
    return true;
}

void lang_run_natives_add(struct lang_vm *vm, const struct lang_run_native *table, size_t count,
                          struct lang_value closure)
{
    struct lang_value torch = lang_library(vm, "torch");

    VS_ASSERT(torch.kind == LANG_NAMESPACE);
    for (size_t i = 0; i < count; i++) {
        struct lang_builtin *builtin = lang_builtin_new(vm, table[i].name, table[i].fn, NULL);

        builtin->closure = lang_keep(closure);
        lang_dict_put(vm, torch.as.space->names, lang_intern_text(vm, table[i].name),
                      lang_object(builtin));
    }
    lang_drop(vm, torch);
}

void lang_run_natives_register(struct lang_run_state *run)
{
    static const struct lang_run_native table[] = {
        {"_step", native_step},
        {"_phase", native_phase},
        {"_mark", native_mark},
        {"_done", native_done},
        {"_note_loss", native_note_loss},
        {"_note_saved", native_note_saved},
        {"_own_step_begin", native_own_step_begin},
        {"_own_step_end", native_own_step_end},
        {"_own_step_close", native_own_step_close},
        {"_own_step_refuse", native_own_step_refuse},
        {"_own_step_parts", native_own_step_parts},
        {"_new_gradients", native_new_gradients},
        {"_note_parameters", native_note_parameters},
        {"_note_inplace", native_note_inplace},
        {"_note_state", native_note_state},
        {"_note_refused", native_note_refused},
        {"_legal_values", lang_run_legal_values},
        {"_found_inf", native_found_inf},
        {"_event_scale", native_event_scale},
        {"_event_skip", native_event_skip},
        {"_inplace_check", lang_run_inplace_check},
        {"_inplace_blame", lang_run_inplace_blame},
        {"_stage_shapes", lang_run_stage_shapes},
        {"_placement", lang_run_placement},
        {"_note_placement", native_note_placement},
        {"_note_segments", native_note_segments},
        {"_plan_enter", lang_run_plan_enter},
        {"_plan_exit", lang_run_plan_exit},
        {"_dump", native_dump},
        {"_ready_expect", lang_run_ready_expect},
        {"_ready_order", lang_run_ready_order},
        {"_collective", lang_run_collective},
        {"_rank_count", lang_run_rank_count},
        {"_rank", lang_run_rank},
        {"_gather", lang_run_gather},
        {"_reduce_scatter", lang_run_reduce_scatter},
        {"_all_reduce", lang_run_all_reduce},
        {"_broadcast", lang_run_broadcast},
    };
    struct lang_opaque *held = lang_opaque_new(run->vm, "run", run, NULL);

    lang_run_natives_add(run->vm, table, sizeof(table) / sizeof(table[0]), lang_object(held));
    lang_drop_obj(run->vm, held);
}

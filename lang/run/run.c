/*
 * lang/run/run.c - see run.h.
 *
 * Must not know:  traces, terminals.
 * Invariant:      an observer gets no events of the cleanup after the last step or after an out-of-memory error.
 */
#include "lang/run/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/target.h"
#include "engine/context.h"
#include "lang/run/inplace_checks.h"
#include "lang/run/library.h"
#include "lang/run/plan.h"
#include "lang/run/run_internal.h"
#include "lang/value/object.h"
#include "lang/value/vm.h"

/* ---- toggles ---- */

/* A value of the file's `defaults` as text: strings unchanged, numbers in decimal digits, booleans as on and off. */
static bool default_text(struct lang_value value, char *buf, size_t size)
{
    if (value.kind == LANG_BOOL)
        snprintf(buf, size, "%s", value.as.i ? "on" : "off");
    else if (value.kind == LANG_INT)
        snprintf(buf, size, "%" PRId64, value.as.i);
    else if (value.kind == LANG_STR)
        snprintf(buf, size, "%s", lang_value_text(value));
    else
        return false;
    return true;
}

/* "zero_grad" or "zero-grad". */
static void toggle_name(const char *key, char *buf, size_t size)
{
    snprintf(buf, size, "%s", key);
    for (char *p = buf; *p; p++) {
        if (*p == '_')
            *p = '-';
    }
}

static enum vs_status default_apply(struct lang_run_state *run, const struct lang_entry *entry,
                                    double *lr, struct vs_error *err)
{
    const char *file = run->settings->file_name;
    const char *key = lang_value_text(entry->key);
    char name[64];
    char text[VS_TOGGLE_VALUE_MAX];
    enum vs_toggle toggle;
    enum vs_status st;

    if (key == NULL)
        return vs_fail(err, VS_E_VALUE, "%s: the keys of `defaults` must be strings", file);
    if (strcmp(key, "lr") == 0) {
        if (!lang_is_number(entry->value))
            return vs_fail(err, VS_E_VALUE, "%s: defaults: lr must be a number", file);
        *lr = lang_number(entry->value);
        return VS_OK;
    }
    toggle_name(key, name, sizeof(name));
    if (vs_toggle_find(name, &toggle) && vs_toggles_is_set(&run->result->toggles, toggle))
        return VS_OK; /* set explicitly */
    if (!default_text(entry->value, text, sizeof(text)))
        return vs_fail(err, VS_E_VALUE, "%s: defaults: %s must be a string or an integer", file,
                       key);
    st = vs_toggles_set_named(&run->result->toggles, name, text, err);
    if (st)
        vs_error_prefix(err, "%s: defaults", file);
    return st;
}

static double default_lr(const struct vs_toggles *toggles)
{
    return vs_toggles_is(toggles, VS_TOGGLE_OPTIMIZER, "adam") ||
                   vs_toggles_is(toggles, VS_TOGGLE_OPTIMIZER, "adamw")
               ? 0.001
               : 0.01;
}

static const char *alloc_conf_of(const struct vs_toggles *toggles)
{
    return vs_toggles_is(toggles, VS_TOGGLE_ALLOC_CONF, "default")
               ? NULL
               : vs_toggles_get(toggles, VS_TOGGLE_ALLOC_CONF);
}

/* Applies the file's allocator settings, which are read only after the engine has been created. */
static enum vs_status alloc_conf_apply(struct lang_run_state *run, struct vs_error *err)
{
    const char *text = alloc_conf_of(&run->result->toggles);
    struct eng_alloc_conf conf;
    enum vs_status st;

    if (text == NULL ||
        (run->settings->toggles && vs_toggles_is_set(run->settings->toggles, VS_TOGGLE_ALLOC_CONF)))
        return VS_OK;
    eng_alloc_conf_init(&conf);
    st = eng_alloc_conf_parse(text, &conf, err);
    if (st)
        vs_error_prefix(err, "%s: defaults: alloc-conf", run->settings->file_name);
    else
        eng_alloc_set_conf(eng_alloc_of(run->eng), &conf);
    return st;
}

/* The minor version of the toggle `torch`: 15 of "2.15". */
static int torch_minor(const struct vs_toggles *toggles)
{
    return atoi(strchr(vs_toggles_get(toggles, VS_TOGGLE_TORCH), '.') + 1);
}

/* What `workspace` says, or else the version that is followed. */
static enum eng_workspace_policy workspace_policy(const struct vs_toggles *toggles)
{
    static const char *const VERSIONS[] = {[ENG_WORKSPACE_PER_CALL] = "2.15",
                                           [ENG_WORKSPACE_KEPT] = "2.9",
                                           [ENG_WORKSPACE_KEPT_BOTH] = "2.11",
                                           [ENG_WORKSPACE_KEPT_AND_LT] = "2.6"};
    const int minor = torch_minor(toggles);
    size_t policy = 0;

    if (vs_toggles_is(toggles, VS_TOGGLE_WORKSPACE, "auto"))
        return minor > 11  ? ENG_WORKSPACE_PER_CALL
               : minor > 8 ? ENG_WORKSPACE_KEPT_BOTH
                           : ENG_WORKSPACE_KEPT_AND_LT;
    while (!vs_toggles_is(toggles, VS_TOGGLE_WORKSPACE, VERSIONS[policy]))
        policy++;
    return (enum eng_workspace_policy)policy;
}

/* Sets the target GPU; a capacity given on the command line takes precedence over the GPU's. */
static void target_apply(struct lang_run_state *run)
{
    const struct vs_toggles *toggles = &run->result->toggles;

    eng_set_torch(run->eng, torch_minor(toggles));
    eng_set_target(run->eng, vs_target_find(vs_toggles_get(toggles, VS_TOGGLE_TARGET)),
                   workspace_policy(toggles), !run->settings->capacity);
}

/* Toggles of programs alone have their defaults in a net. */
static enum vs_status program_toggles_check(const struct vs_toggles *toggles, struct vs_error *err)
{
    for (int i = 0; i < VS_TOGGLE_COUNT; i++) {
        const struct vs_toggle_info *info = vs_toggle_info((enum vs_toggle)i);

        if (info->flags & VS_TOGGLE_PROGRAM &&
            !vs_toggles_is(toggles, (enum vs_toggle)i, info->initial))
            return vs_fail(err, VS_E_VALUE,
                           "%s=%s: it is applied to programs alone (vramscope record -- python3 "
                           "train.py); the ops of a net run one by one",
                           info->name, vs_toggles_get(toggles, (enum vs_toggle)i));
    }
    return VS_OK;
}

/* Explicitly set values take precedence over the file's `defaults`, and these over the table's. */
static enum vs_status settle(struct lang_run_state *run, struct vs_error *err)
{
    struct lang_result *result = run->result;
    struct lang_value defaults = lang_global(run->vm, run->net, "defaults");
    bool own_optimizer = vs_toggles_is_set(&result->toggles, VS_TOGGLE_OPTIMIZER);
    enum vs_status st = VS_OK;
    double lr = -1.0;
    uint32_t at = 0;

    if (lang_is_bound(defaults) && defaults.kind != LANG_DICT)
        st = vs_fail(err, VS_E_VALUE, "%s: `defaults` must be a dict", run->settings->file_name);
    while (!st && defaults.kind == LANG_DICT) {
        const struct lang_entry *entry = lang_dict_next(defaults.as.dict, &at);

        if (entry == NULL)
            break;
        st = default_apply(run, entry, &lr, err);
    }
    lang_drop(run->vm, defaults);
    if (!st)
        st = program_toggles_check(&result->toggles, err);
    if (st)
        return st;
    /* the file's learning rate is for the file's optimizer only */
    result->lr = lr < 0 || own_optimizer ? default_lr(&result->toggles) : lr;
    for (int i = 0; i < VS_TOGGLE_COUNT; i++)
        result->is_default[i] = !vs_toggles_is_set(&result->toggles, (enum vs_toggle)i);
    return VS_OK;
}

static void hear_started(struct lang_run_state *run)
{
    if (run->settings->started)
        run->settings->started(run->settings->user, &run->result->toggles, run->result->is_default);
}

struct lang_value lang_run_toggles_dict(struct lang_vm *vm, const struct vs_toggles *toggles)
{
    struct lang_value dict = lang_value_dict(vm);

    for (int i = 0; i < VS_TOGGLE_COUNT; i++) {
        const struct vs_toggle_info *info = vs_toggle_info((enum vs_toggle)i);

        lang_value_set(vm, dict, info->name,
                       strcmp(info->legal, "N") == 0
                           ? lang_int((int64_t)vs_toggles_count(toggles, (enum vs_toggle)i))
                           : lang_value_str(vm, vs_toggles_get(toggles, (enum vs_toggle)i)));
    }
    return dict;
}

static void settings_fill(struct lang_run_state *run)
{
    run->dict = lang_run_toggles_dict(run->vm, &run->result->toggles);
    lang_value_set(run->vm, run->dict, "lr", lang_float(run->result->lr));
    lang_value_set(run->vm, run->dict, "formula", lang_bool(run->settings->formula));
    lang_value_set(run->vm, run->dict, "random", lang_int(0));
    lang_value_set(run->vm, run->dict, "dump", lang_bool(run->settings->dump != NULL));
    lang_value_set(run->vm, run->dict, "inplace_paths", lang_value_list(run->vm));
    lang_value_set(run->vm, run->dict, "placement",
                   run->nested ? lang_value_str(run->vm, run->nested->placement) : lang_none());
    lang_value_set(run->vm, run->dict, "marks", lang_bool(run->nested && run->nested->pass));
    lang_value_set(run->vm, run->dict, "reported", lang_value_dict(run->vm));
}

/* ---- running ---- */

static void hear_print(void *user, const char *text, size_t len)
{
    const struct lang_settings *settings = ((const struct lang_run_state *)user)->settings;

    if (settings->print)
        settings->print(settings->user, text, len);
    else
        fwrite(text, 1, len, stdout);
}

static void hear_warning(void *user, const struct lang_warning *warning)
{
    struct lang_run_state *run = user;
    struct lang_result *result = run->result;
    struct lang_warning kept = *warning;

    kept.text = vs_strdup(warning->text);
    result->warnings = vs_grow(result->warnings, result->warning_count, &result->warning_cap,
                               sizeof(*result->warnings));
    result->warnings[result->warning_count++] = kept;
    if (run->settings->warn)
        run->settings->warn(run->settings->user, &kept);
}

static bool hear_poll(void *user)
{
    return lang_run_poll_stop(((struct lang_run_state *)user)->settings);
}

bool lang_run_poll_stop(void *user)
{
    const struct lang_settings *settings = user;
    bool is_stopped = settings->stop(settings->user);

    return is_stopped;
}

enum vs_status lang_run_call_loop(struct lang_vm *vm, const char *function, struct lang_net *net,
                                  struct lang_value settings, struct lang_value third,
                                  struct lang_value *out, struct vs_error *err)
{
    struct lang_value library = lang_library(vm, "_train");
    struct lang_value callable = lang_unbound();
    struct lang_value args[3] = {lang_net_value(vm, net), settings, third};
    enum vs_status st = lang_get(vm, library, function, &callable, err);

    *out = lang_unbound();
    if (!st)
        st = lang_call(vm, callable, args, lang_is_bound(third) ? 3 : 2, out, err);
    lang_drop(vm, args[0]);
    lang_drop(vm, callable);
    lang_drop(vm, library);
    return st;
}

static enum vs_status check_net(struct lang_run_state *run, struct vs_error *err)
{
    static const char *const required[] = {"model", "batch"};

    for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
        struct lang_value value = lang_global(run->vm, run->net, required[i]);
        bool is_there = lang_is_bound(value);

        lang_drop(run->vm, value);
        if (!is_there)
            return vs_fail(err, VS_E_NAME,
                           "%s: there is no `def %s(%s):`; see docs/guide/net-language.md",
                           run->settings->file_name, required[i], i == 0 ? "" : "n");
    }
    return VS_OK;
}

/* ---- a complete run ---- */

static enum vs_status machine_new(struct lang_run_state *run, struct vs_error *err)
{
    struct lang_settings *settings = run->settings;
    struct lang_options options = {.user = run,
                                   .print = hear_print,
                                   .warn = hear_warning,
                                   .observed = settings->observer != NULL,
                                   .stop = settings->stop ? hear_poll : NULL,
                                   .library = settings->library};
    struct eng_options eng_options = {.kernels = settings->kernels,
                                      .device = settings->device,
                                      .observer = settings->observer,
                                      .capacity = settings->capacity,
                                      .alloc_conf = alloc_conf_of(&run->result->toggles),
                                      .seed = settings->seed,
                                      .segment_addresses = settings->segment_addresses,
                                      .segment_count = settings->segment_count,
                                      .stop = settings->stop ? lang_run_poll_stop : NULL,
                                      .stop_user = settings,
                                      .workspaces = settings->workspaces};
    enum vs_status st = eng_new(&eng_options, &run->eng, err);

    if (!st)
        st = lang_vm_new(run->eng, &options, &run->vm, err);
    if (st)
        return st;
    lang_run_natives_register(run);
    return VS_OK;
}

static enum vs_status run_all(struct lang_run_state *run, struct vs_error *err)
{
    const struct lang_settings *settings = run->settings;
    struct lang_value out = lang_unbound();
    enum vs_status st;

    st = machine_new(run, err);
    if (!st)
        st = lang_load(run->vm, settings->file_name, settings->text, settings->len, &run->net, err);
    if (!st)
        st = check_net(run, err);
    if (!st)
        st = settle(run, err);
    if (st)
        return st;
    target_apply(run);
    st = alloc_conf_apply(run, err);
    if (st)
        return st;
    hear_started(run);
    settings_fill(run);
    st = lang_run_call_loop(run->vm, "run", run->net, run->dict, lang_unbound(), &out, err);
    lang_drop(run->vm, out);
    return st;
}

/* ---- warnings that only the end of a run can give ---- */

/* Copies of autocast that are larger than the originals count from this share of the peak on. */
#define CAST_SHARE_MIN 100

/* A copy in half the bytes an element that is larger than its original: an expanded tensor was written out. */
static void warn_of_casts(struct lang_run_state *run)
{
    const struct eng_grown_cast *cast = eng_grown_cast_get(run->eng);
    char copy[VS_BYTES_TEXT_MAX], from[VS_BYTES_TEXT_MAX], text[256];

    if (!cast->bytes || cast->bytes < run->result->peak_allocated / CAST_SHARE_MIN)
        return;
    (void)snprintf(text, sizeof(text),
                   "autocast copies an expanded tensor and writes it out: %s instead of %s",
                   vs_bytes_text(cast->bytes, copy), vs_bytes_text(cast->from_bytes, from));
    lang_warn_at(run->vm, LANG_WARN_CAST_GROWS, text, cast->line);
}

static void warn_of_no_backward(struct lang_run_state *run)
{
    char bytes[VS_BYTES_TEXT_MAX], text[256];

    if (!run->result->saved_bytes || eng_counters_get(run->eng).backwards)
        return;
    (void)snprintf(text, sizeof(text), "autograd keeps %s for a backward that never runs",
                   vs_bytes_text(run->result->saved_bytes, bytes));
    lang_warn_at(run->vm, LANG_WARN_NO_BACKWARD, text, 0);
}

/* Collects the final figures, also after a failure. */
static void result_complete(struct lang_run_state *run)
{
    struct lang_result *result = run->result;
    struct eng_counters counters;

    lang_run_step_close(run);
    counters = eng_counters_get(run->eng);
    result->recompute_flops = counters.recompute_flops;
    result->total_flops = counters.total_flops;
    result->host_bytes = counters.host_bytes;
    result->has_oom = eng_oom_get(run->eng, &result->oom);
    result->workspace_notes = eng_workspaces_notes_make(run->eng);
}

static void run_release(struct lang_run_state *run)
{
    if (run->eng)
        eng_observer_stop(run->eng);
    if (run->vm)
        lang_drop(run->vm, run->dict);
    lang_vm_free(run->vm);
    eng_free(run->eng);
}

/* Runs with a parsed library, which is shared with the in-place checks and the nested runs. */
static enum vs_status run_with(struct lang_settings *settings, const struct lang_run_nested *nested,
                               struct lang_result *result, struct vs_error *err)
{
    struct lang_run_state run = {
        .settings = settings, .result = result, .step = -1, .nested = nested};
    enum vs_status st = run_all(&run, err);

    if (run.vm)
        result_complete(&run);
    if (run.vm)
        warn_of_casts(&run);
    if (run.vm && !st)
        warn_of_no_backward(&run);
    run_release(&run);
    return st;
}

enum vs_status lang_run_nested(struct lang_settings *settings, const struct lang_run_nested *nested,
                               struct lang_result *result, struct vs_error *err)
{
    vs_toggles_copy(&result->toggles, settings->toggles);
    return run_with(settings, nested, result, err);
}

enum vs_status lang_run(const struct lang_settings *settings, struct lang_result *result,
                        struct vs_error *err)
{
    struct lang_settings copy = *settings; /* callbacks want a pointer that is not const */
    struct lang_library *library = NULL;
    struct lang_inplace_checks *checks = NULL;
    struct lang_plans *plans = NULL;
    enum vs_status st = VS_OK;

    VS_ASSERT(settings->text != NULL && settings->file_name != NULL);
    if (settings->toggles)
        vs_toggles_copy(&result->toggles, settings->toggles);
    if (copy.library == NULL) {
        st = lang_library_new(&library, err);
        copy.library = library;
    }
    if (copy.inplace_checks == NULL)
        copy.inplace_checks = checks = lang_inplace_checks_new();
    if (copy.plans == NULL)
        copy.plans = plans = lang_plans_new();
    if (!st)
        st = run_with(&copy, NULL, result, err);
    lang_plans_free(plans);
    lang_inplace_checks_free(checks);
    lang_library_free(library);
    return st;
}

/* ---- results ---- */

void lang_result_release(struct lang_result *result)
{
    vs_toggles_release(&result->toggles);
    for (size_t i = 0; i < result->refusal_count; i++) {
        vs_free(result->refusals[i].toggle);
        vs_free(result->refusals[i].path);
        vs_free(result->refusals[i].reason);
    }
    for (size_t i = 0; i < result->inplace_count; i++)
        vs_free(result->inplace[i]);
    vs_free(result->inplace);
    for (size_t i = 0; i < result->collective_count; i++)
        vs_free(result->collectives[i].name);
    vs_free(result->collectives);
    vs_free(result->placement);
    for (size_t i = 0; i < result->warning_count; i++)
        vs_free((char *)(uintptr_t)result->warnings[i].text);
    vs_free(result->warnings);
    eng_workspaces_notes_release(&result->workspace_notes);
    vs_free(result->refusals);
    vs_free(result->losses);
    vs_free(result->recomputed);
    vs_free(result->steps);
    vs_free(result->phases);
    memset(result, 0, sizeof(*result));
}

/*
 * lang/run/stage_shapes.c - what a stage of a pipeline receives and sends, found by running the net on meta.
 *
 * Must not know:  how a net is cut (lang/prelude/pipeline.py).
 * Invariant:      the run whose result is asked for is not touched: the net runs on an engine of its own.
 */
#include "engine/context.h"
#include "lang/interp/call.h"
#include "lang/run/run_internal.h"
#include "lang/value/object.h"
#include "lang/value/vm.h"

static void ignore_print(void *user, const char *text, size_t len)
{
    (void)user, (void)text, (void)len;
}

static struct lang_value dict_make(struct lang_vm *vm, const struct vs_toggles *toggles)
{
    struct lang_value dict = lang_run_toggles_dict(vm, toggles);

    lang_value_set(vm, dict, "formula", lang_bool(false));
    return dict;
}

/* *text (of `into`, owned by the caller) is what the function returned. */
static enum vs_status shapes_find(const struct lang_run_state *run, struct lang_vm *into,
                                  struct lang_value *text, struct vs_error *err)
{
    struct lang_settings *settings = run->settings;
    struct eng_options eng_options = {.seed = settings->seed,
                                      .stop = settings->stop ? lang_run_poll_stop : NULL,
                                      .stop_user = settings};
    struct lang_options options = {.user = settings,
                                   .print = ignore_print,
                                   .stop = settings->stop ? lang_run_poll_stop : NULL,
                                   .library = settings->library};
    struct lang_value dict, found;
    struct lang_net *net = NULL;
    struct lang_vm *vm = NULL;
    struct eng *eng = NULL;
    enum vs_status st = eng_new(&eng_options, &eng, err);

    if (st)
        return st;
    st = lang_vm_new(eng, &options, &vm, err);
    if (!st)
        st = lang_load(vm, settings->file_name, settings->text, settings->len, &net, err);
    if (!st) {
        dict = dict_make(vm, &run->result->toggles);
        st = lang_run_call_loop(vm, "stage_shapes", net, dict, lang_unbound(), &found, err);
        if (!st)
            *text = lang_value_str(into, lang_value_text(found));
        lang_drop(vm, found);
        lang_drop(vm, dict);
    }
    lang_vm_free(vm);
    eng_free(eng);
    return st;
}

bool lang_run_stage_shapes(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    const struct lang_run_state *run = call->builtin->closure.as.opaque->data;
    struct vs_error err = VS_ERROR_INIT;

    if (!lang_args_exact(vm, call, "_stage_shapes", 0))
        return false;
    if (shapes_find(run, vm, out, &err))
        return lang_fail(vm, err.status, "%s", err.text);
    return true;
}

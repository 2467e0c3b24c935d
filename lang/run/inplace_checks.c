/*
 * lang/run/inplace_checks.c - in-place checks: which modules can work in place, found by running the net on meta.
 *
 * Must not know:  how the candidates are chosen (lang/prelude/toggles.py).
 * Invariant:      a check is given only CHECK_TOGGLES, so these toggles and the paths determine its result.
 */
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/context.h"
#include "lang/interp/call.h"
#include "lang/run/inplace_checks.h"
#include "lang/run/run_internal.h"
#include "lang/value/object.h"
#include "lang/value/vm.h"

static const enum vs_toggle CHECK_TOGGLES[] = {VS_TOGGLE_CHECKPOINT, VS_TOGGLE_CHECKPOINT_IMPL,
                                               VS_TOGGLE_PRESERVE_RNG};

/*
 * The result of a check.
 *
 * key     the values of CHECK_TOGGLES, the kind of check and the paths
 * why     the error; NULL: the check passed. For a blame check: why one run cannot show which module is at fault
 * blame   only of a blame check: for each path its error, or NULL where there is none; `count` entries
 */
struct outcome {
    char *key;
    uint64_t hash;
    char *why;
    char **blame;
    size_t count;
};

struct lang_inplace_checks {
    struct outcome *items;
    size_t count;
    size_t cap;
};

struct lang_inplace_checks *lang_inplace_checks_new(void)
{
    return vs_calloc(1, sizeof(struct lang_inplace_checks));
}

static void outcome_release(struct outcome *outcome)
{
    for (size_t i = 0; outcome->blame && i < outcome->count; i++)
        vs_free(outcome->blame[i]);
    vs_free(outcome->blame);
    vs_free(outcome->why);
    vs_free(outcome->key);
}

void lang_inplace_checks_free(struct lang_inplace_checks *checks)
{
    if (!checks)
        return;
    for (size_t i = 0; i < checks->count; i++)
        outcome_release(&checks->items[i]);
    vs_free(checks->items);
    vs_free(checks);
}

size_t lang_inplace_checks_count(const struct lang_inplace_checks *checks)
{
    return checks->count;
}

/* ---- one check ---- */

static void ignore_print(void *user, const char *text, size_t len)
{
    (void)user, (void)text, (void)len;
}

/* A list of the strings in `paths`, in another vm. */
static struct lang_value copy_paths(struct lang_vm *vm, struct lang_value paths)
{
    struct lang_value list = lang_value_list(vm);
    struct lang_value *items = NULL;
    uint32_t count = 0;

    if (lang_items(paths, &items, &count)) {
        for (uint32_t i = 0; i < count; i++)
            lang_value_append(vm, list, lang_value_str(vm, lang_value_text(items[i])));
    }
    return list;
}

static struct lang_value settings_dict(struct lang_vm *vm, const struct vs_toggles *toggles)
{
    struct lang_value dict = lang_value_dict(vm);

    for (size_t i = 0; i < sizeof(CHECK_TOGGLES) / sizeof(CHECK_TOGGLES[0]); i++)
        lang_value_set(vm, dict, vs_toggle_info(CHECK_TOGGLES[i])->name,
                       lang_value_str(vm, vs_toggles_get(toggles, CHECK_TOGGLES[i])));
    lang_value_set(vm, dict, "formula", lang_bool(false));
    return dict;
}

/*
 * Copies the first error text of each module at fault to `blame`. Fails where a module is at fault only together with
 * another one that will be refused or that comes after it.
 */
static enum vs_status blame_take(const struct eng *eng, char **blame, struct vs_error *err)
{
    const struct eng_blame *b;

    for (size_t i = 0; (b = eng_blame_at(eng, i)) != NULL; i++)
        if (!blame[b->writer - 1])
            blame[b->writer - 1] = vs_strdup(b->text);
    for (size_t i = 0; (b = eng_blame_at(eng, i)) != NULL; i++)
        if (b->with && (b->with > b->writer || blame[b->with - 1]))
            return vs_fail(err, VS_E_INPLACE, "%s", b->text);
    return VS_OK;
}

/*
 * Runs forward, loss and backward on a separate meta engine with the modules at `paths` (a list or tuple of strings,
 * borrowed, of any vm) working in place. Returns VS_OK where nothing failed, VS_E_STOPPED where the run was stopped
 * before it had a result, and otherwise the error in `err`.
 *
 * blame   NULL, or an array with one NULL entry for each path. Errors of all modules are then collected in this one run
 *         (eng_blame_begin). With VS_OK, a module with a text here would be refused with that text if the modules were
 *         checked one after the other, and the others would be kept. The caller frees the texts with vs_free, also
 *         after a failure.
 */
static enum vs_status check_run(struct lang_settings *settings, const struct vs_toggles *toggles,
                                struct lang_value paths, char **blame, struct vs_error *err)
{
    struct eng_options eng_options = {.seed = settings->seed,
                                      .stop = settings->stop ? lang_run_poll_stop : NULL,
                                      .stop_user = settings};
    struct lang_options options = {.user = settings,
                                   .print = ignore_print,
                                   .stop = settings->stop ? lang_run_poll_stop : NULL,
                                   .library = settings->library};
    struct lang_value dict = lang_unbound();
    struct lang_value list = lang_unbound();
    struct lang_value out = lang_unbound();
    struct lang_net *net = NULL;
    struct lang_vm *vm = NULL;
    struct eng *eng = NULL;
    enum vs_status st;

    st = eng_new(&eng_options, &eng, err);
    if (st)
        return st;
    st = lang_vm_new(eng, &options, &vm, err);
    if (blame)
        eng_blame_begin(eng);
    if (!st)
        lang_run_inplace_natives_register(vm);
    if (!st)
        st = lang_load(vm, settings->file_name, settings->text, settings->len, &net, err);
    if (!st) {
        dict = settings_dict(vm, toggles);
        list = copy_paths(vm, paths);
        st = lang_run_call_loop(vm, "check_inplace", net, dict, list, &out, err);
        lang_drop(vm, out);
        if (!st && blame)
            st = blame_take(eng, blame, err);
        lang_drop(vm, list);
        lang_drop(vm, dict);
    }
    lang_vm_free(vm);
    eng_free(eng);
    return st;
}

/* ---- known results ---- */

/* The message without "file:line:col: ", which is a location in the library's code, not in the net. */
static const char *without_location(const char *text)
{
    const char *p = text + strcspn(text, ": ");

    for (int i = 0; i < 2; i++) {
        size_t digits = *p == ':' ? strspn(p + 1, "0123456789") : 0;

        if (digits == 0)
            return text;
        p += 1 + digits;
    }
    return strncmp(p, ": ", 2) == 0 ? p + 2 : text;
}

/* The message without "file: ", which errors raised in backward begin with. */
static const char *without_file(const char *text, const char *file)
{
    size_t len = strlen(file);

    return strncmp(text, file, len) == 0 && strncmp(text + len, ": ", 2) == 0 ? text + len + 2
                                                                              : text;
}

static char *key_of(const struct vs_toggles *toggles, const struct lang_value *paths, size_t count,
                    bool is_blame)
{
    struct vs_text key = {NULL, 0, 0};
    char *copy;

    for (size_t i = 0; i < sizeof(CHECK_TOGGLES) / sizeof(CHECK_TOGGLES[0]); i++)
        vs_text_addf(&key, "%s\n", vs_toggles_get(toggles, CHECK_TOGGLES[i]));
    vs_text_add(&key, is_blame ? "blame\n" : "check\n");
    for (size_t i = 0; i < count; i++)
        vs_text_addf(&key, "%s\n", lang_value_text(paths[i]));
    copy = vs_strdup(vs_text_get(&key));
    vs_text_release(&key);
    return copy;
}

static const struct outcome *find_outcome(const struct lang_inplace_checks *checks,
                                          const struct outcome *like)
{
    for (size_t i = 0; i < checks->count; i++) {
        if (checks->items[i].hash == like->hash && strcmp(checks->items[i].key, like->key) == 0)
            return &checks->items[i];
    }
    return NULL;
}

/*
 * The result of the check of these paths (a list or tuple of strings), from an earlier run or from one made now.
 * is_blame: of a blame check. NULL: the check was stopped and has no result. Borrowed, until the next call.
 */
static const struct outcome *outcome_of(struct lang_run_state *run, struct lang_value paths,
                                        bool is_blame)
{
    struct lang_inplace_checks *checks = run->settings->inplace_checks;
    const struct vs_toggles *toggles = &run->result->toggles;
    const struct outcome *found;
    struct vs_error why = VS_ERROR_INIT;
    struct outcome now = {.key = NULL};
    struct lang_value *items = NULL;
    uint32_t count = 0;

    if (!lang_items(paths, &items, &count))
        count = 0;
    now.key = key_of(toggles, items, count, is_blame);
    now.hash = vs_hash_bytes(now.key, strlen(now.key));
    found = find_outcome(checks, &now);
    if (found)
        goto out;
    now.count = count;
    now.blame = is_blame ? vs_calloc(count + 1, sizeof(*now.blame)) : NULL;
    if (check_run(run->settings, toggles, paths, now.blame, &why)) {
        why.text[strcspn(why.text, "\n")] = '\0';
        now.why = vs_strdup(without_file(without_location(why.text), run->settings->file_name));
    }
    if (why.status == VS_E_STOPPED)
        goto out;
    checks->items = vs_grow(checks->items, checks->count, &checks->cap, sizeof(*checks->items));
    checks->items[checks->count] = now;
    found = &checks->items[checks->count++];
    now = (struct outcome){.key = NULL}; /* the list has it */
out:
    outcome_release(&now);
    return found;
}

/* ---- functions for the prelude ---- */

static bool is_list(struct lang_value v)
{
    return v.kind == LANG_LIST || v.kind == LANG_TUPLE;
}

bool lang_run_inplace_check(struct lang_vm *vm, const struct lang_call *call,
                            struct lang_value *out)
{
    const struct outcome *outcome;

    if (!lang_args_exact(vm, call, "_inplace_check", 1))
        return false;
    if (!is_list(call->args[0]))
        return lang_fail(vm, VS_E_TYPE, "_inplace_check: not a list");
    outcome = outcome_of(call->builtin->closure.as.opaque->data, call->args[0], false);
    if (!outcome)
        return lang_fail(vm, VS_E_STOPPED, "stopped");
    *out = outcome->why ? lang_value_str(vm, outcome->why) : lang_none();
    return true;
}

/*
 * A list with the error of each path, or None where it has none; None instead of the list where one run cannot show it.
 */
bool lang_run_inplace_blame(struct lang_vm *vm, const struct lang_call *call,
                            struct lang_value *out)
{
    const struct outcome *outcome;

    if (!lang_args_exact(vm, call, "_inplace_blame", 1))
        return false;
    if (!is_list(call->args[0]))
        return lang_fail(vm, VS_E_TYPE, "_inplace_blame: not a list");
    outcome = outcome_of(call->builtin->closure.as.opaque->data, call->args[0], true);
    if (!outcome)
        return lang_fail(vm, VS_E_STOPPED, "stopped");
    *out = outcome->why ? lang_none() : lang_value_list(vm);
    for (size_t i = 0; !outcome->why && i < outcome->count; i++)
        lang_value_append(vm, *out,
                          outcome->blame[i] ? lang_value_str(vm, outcome->blame[i]) : lang_none());
    return true;
}

/* ---- functions that observe modules during a check ---- */

static bool native_writer(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_writer", 1))
        return false;
    if (call->args[0].kind != LANG_INT)
        return lang_fail(vm, VS_E_TYPE, "_writer: not a number");
    *out = lang_int(eng_set_writer(lang_vm_eng(vm), (uint32_t)call->args[0].as.i));
    return true;
}

static bool native_overwritten(struct lang_vm *vm, const struct lang_call *call,
                               struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_overwritten", 1))
        return false;
    if (call->args[0].kind != LANG_TENSOR)
        return lang_fail(vm, VS_E_TYPE, "_overwritten: not a tensor");
    *out = lang_tensor(eng_overwritten(call->args[0].as.tensor));
    return true;
}

static bool native_watch(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_watch", 1))
        return false;
    if (call->args[0].kind != LANG_TENSOR)
        return lang_fail(vm, VS_E_TYPE, "_watch: not a tensor");
    eng_watch(call->args[0].as.tensor);
    *out = lang_none();
    return true;
}

static bool native_version_of(struct lang_vm *vm, const struct lang_call *call,
                              struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_version_of", 1))
        return false;
    if (call->args[0].kind != LANG_TENSOR)
        return lang_fail(vm, VS_E_TYPE, "_version_of: not a tensor");
    *out = lang_int(call->args[0].as.tensor->version->value);
    return true;
}

void lang_run_inplace_natives_register(struct lang_vm *vm)
{
    static const struct lang_run_native table[] = {
        {"_overwritten", native_overwritten},
        {"_version_of", native_version_of},
        {"_writer", native_writer},
        {"_watch", native_watch},
        {"_legal_values", lang_run_legal_values},
    };

    lang_run_natives_add(vm, table, sizeof(table) / sizeof(table[0]), lang_none());
}

/*
 * lang/value/vm_fail.c - records where a failure happened; stack space, budget and recursion limits.
 *
 * For:            lang/value/vm.h; and where a warning belongs.
 * Must not know:  what failed.
 * Invariant:      a message shows the innermost line of a net file, so that a failure inside the library is shown at
 *                 the net's call of it. Only a failure of the training loop itself shows the loop's line.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "lang/syntax/diag.h"
#include "lang/value/vm.h"

/* Statements between two polls of options.stop: about a millisecond. */
#define POLL_INTERVAL 512

#define CHAIN_MAX 5

/* The innermost frame of a net file; without one, the innermost frame. */
static const struct lang_frame *location_of_failure(const struct lang_vm *vm)
{
    for (const struct lang_frame *f = vm->frame; f != NULL; f = f->prev) {
        if (f->is_user)
            return f;
    }
    return vm->frame;
}

static struct lang_span span_of(const struct lang_frame *f)
{
    struct lang_span span = {0, 0, 0, 0};
    const struct lang_expr *e = f->at;

    if (e != NULL && e->kind == LANG_EXPR_CALL && e->u.call.func->kind == LANG_EXPR_ATTR &&
        e->u.call.func->u.attr.at.line != e->span.line)
        return e->u.call.func->u.attr
            .at; /* in a chain over several lines, the attribute in question */
    if (e != NULL && e->kind == LANG_EXPR_ATTR && e->u.attr.at.line != e->span.line)
        return e->u.attr.at;
    if (e != NULL)
        return e->span;
    if (f->stmt != NULL)
        span = f->stmt->span;
    return span;
}

static void append(struct lang_vm *vm, const char *fmt, ...) VS_PRINTF(2, 3);
static void append(struct lang_vm *vm, const char *fmt, ...)
{
    size_t len = strlen(vm->err.text);
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(vm->err.text + len, sizeof(vm->err.text) - len, fmt, ap);
    va_end(ap);
}

/* "  in module `features.2`" */
static void append_module(struct lang_vm *vm)
{
    const char *path = eng_module_get(vm->eng);

    if (path != NULL && path[0] != '\0')
        append(vm, "\n  in module `%s`", path);
}

/* "  called from `Net.forward`, net.py:20", for the frames of the net file outside `f`. */
static void append_chain(struct lang_vm *vm, const struct lang_frame *f)
{
    int shown = 0;

    for (f = f->prev; f != NULL && shown < CHAIN_MAX; f = f->prev) {
        struct lang_span span = span_of(f);

        if (!f->is_user)
            continue;
        append(vm, "\n  called from `%s`, %s:%" PRIu32, f->code->qualname->text,
               f->net->module->source->file, span.line);
        shown++;
    }
}

/* The frame of the training loop below `f` on the call stack. */
static const struct lang_frame *loop_of(const struct lang_frame *f)
{
    const struct lang_net *net;
    const struct lang_frame *found = f;

    while (f->prev != NULL)
        f = f->prev;
    net = f->net;
    for (f = found; f->net != net; f = f->prev)
        found = f->prev;
    return found;
}

/* A failure outside all calls of the net: in a setting, or in the loop's use of a result of the net. */
static void library_failv(struct lang_vm *vm, enum vs_status status, const struct lang_frame *f,
                          const char *hint, const char *fmt, va_list ap) VS_PRINTF(5, 0);
static void library_failv(struct lang_vm *vm, enum vs_status status, const struct lang_frame *f,
                          const char *hint, const char *fmt, va_list ap)
{
    (void)vs_failv(&vm->err, status, fmt, ap);
    for (const struct lang_net *net = vm->nets; net != NULL; net = net->next) {
        if (net->is_user)
            vs_error_prefix(&vm->err, "%s", net->module->source->file);
    }
    if (hint != NULL)
        append(vm, "\n  %s", hint);
    /* the library's own error messages are complete */
    if (f != NULL && (f->stmt == NULL || f->stmt->kind != LANG_STMT_RAISE)) {
        const struct lang_frame *loop = loop_of(f);
        struct lang_span span = span_of(loop);
        size_t len;
        const char *line = lang_source_line(loop->net->module->source, span.line, &len);
        size_t blank = 0;

        while (blank < len && line[blank] == ' ')
            blank++;
        append(vm, "\n  in the training loop, at `%.*s`", (int)(len - blank), line + blank);
    }
}

static void failv(struct lang_vm *vm, enum vs_status status, const char *hint, const char *fmt,
                  va_list ap) VS_PRINTF(4, 0);
static void failv(struct lang_vm *vm, enum vs_status status, const char *hint, const char *fmt,
                  va_list ap)
{
    const struct lang_frame *f = location_of_failure(vm);

    if (vm->failed)
        return;
    vm->failed = true;
    if (f == NULL || !f->is_user) {
        library_failv(vm, status, f, hint, fmt, ap);
        return;
    }
    (void)lang_diagv(&vm->err, status, f->net->module->source, span_of(f), hint, fmt, ap);
    append_module(vm);
    append_chain(vm, f);
}

void lang_fail_note(struct lang_vm *vm, enum vs_status status, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    failv(vm, status, NULL, fmt, ap);
    va_end(ap);
}

void lang_fail_hint_note(struct lang_vm *vm, enum vs_status status, const char *hint,
                         const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    failv(vm, status, hint, fmt, ap);
    va_end(ap);
}

bool lang_fail_engine(struct lang_vm *vm)
{
    struct vs_error err = VS_ERROR_INIT;

    VS_ASSERT(eng_failed(vm->eng) != NULL);
    if (eng_failed(vm->eng)->status == VS_E_STOPPED) {
        /* the engine stopped the recomputation of a checkpoint early, and clears this failure itself */
        if (!vm->failed)
            (void)vs_fail(&vm->err, VS_E_STOPPED, "stopped");
        vm->failed = true;
        return false;
    }
    (void)eng_failure_take(vm->eng, &err);
    return lang_fail(vm, err.status, "%s", err.text);
}

bool lang_check_engine(struct lang_vm *vm)
{
    return eng_failed(vm->eng) == NULL ? true : lang_fail_engine(vm);
}

enum vs_status lang_failure_take(struct lang_vm *vm, struct vs_error *err)
{
    struct vs_error unused = VS_ERROR_INIT;

    VS_ASSERT(vm->failed);
    *err = vm->err;
    vm->failed = false;
    vm->err = (struct vs_error)VS_ERROR_INIT;
    (void)eng_failure_take(vm->eng, &unused);
    return err->status;
}

/* ---- suggestions ---- */

const char *lang_suggest(struct lang_vm *vm, const struct lang_dict *names, const char *wrong)
{
    unsigned limit = vs_word_distance_limit(wrong) + 1; /* exclusive */
    const char *best = NULL;
    struct lang_entry *e;
    uint32_t at = 0;
    char text[128];
    int len;

    while (names != NULL && (e = lang_dict_next(names, &at)) != NULL) {
        unsigned d;

        if (e->key.kind != LANG_STR || e->key.as.str->text[0] == '_')
            continue;
        d = vs_word_distance(wrong, e->key.as.str->text);
        if (d < limit) {
            best = e->key.as.str->text;
            limit = d;
        }
    }
    if (best == NULL)
        return NULL;
    len = snprintf(text, sizeof(text), "did you mean `%.80s`?", best);
    return lang_intern(vm, text, (size_t)len)->text;
}

/* ---- the stack ---- */

bool lang_reserve(struct lang_vm *vm, size_t count)
{
    if ((size_t)(vm->stack_end - vm->sp) > count)
        return true;
    return lang_fail(vm, VS_E_UNSUPPORTED, "too many values at once: the machine's stack is full");
}

void lang_unwind(struct lang_vm *vm, struct lang_value *at)
{
    while (vm->sp > at)
        lang_drop(vm, *--vm->sp);
}

/* The next poll comes after POLL_INTERVAL statements, or when the budget is spent. */
static void poll_set(struct lang_vm *vm)
{
    vm->poll_interval = vm->options.stop ? POLL_INTERVAL : vm->budget;
    if (vm->budget && vm->budget < vm->poll_interval)
        vm->poll_interval = vm->budget;
    vm->until_poll = vm->poll_interval;
}

void lang_spend_begin(struct lang_vm *vm, uint64_t budget)
{
    vm->budget = budget ? budget + 1 : 0;
    poll_set(vm);
}

bool lang_budget_poll(struct lang_vm *vm)
{
    uint64_t passed = vm->poll_interval;
    bool is_spent = vm->budget && vm->budget == passed;

    vm->until_poll = vm->poll_interval = 1; /* the next call fails, too */
    if (is_spent) {
        vm->budget = 1;
        return lang_fail(vm, VS_E_STOPPED, "the run took more steps than its limit");
    }
    /* in the recomputation of a checkpoint the engine uses VS_E_STOPPED for stopping early */
    if (vm->options.stop && !vm->callbacks && vm->options.stop(vm->options.user))
        return lang_fail(vm, VS_E_STOPPED, "stopped");
    if (vm->budget)
        vm->budget -= passed;
    poll_set(vm);
    return true;
}

bool lang_check_depth(struct lang_vm *vm)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    uintptr_t bottom = (uintptr_t)vm->c_stack;
    uintptr_t used = here < bottom ? bottom - here : here - bottom;

    if (vm->depth < LANG_MAX_DEPTH && used < LANG_MAX_C_STACK)
        return true;
    return lang_fail(vm, VS_E_RAISED, "functions call each other too deeply (%u calls)", vm->depth);
}

/* ---- warnings ---- */

void lang_warn_at(struct lang_vm *vm, enum lang_warning_kind kind, const char *text, uint32_t line)
{
    struct lang_string *key = lang_intern_text(vm, text);
    struct lang_warning warning = {kind, line, key->text};

    if (lang_dict_find(vm->warned, key) != NULL)
        return;
    lang_dict_put(vm, vm->warned, key, lang_none());
    if (vm->options.warn != NULL)
        vm->options.warn(vm->options.user, &warning);
}

void lang_warn_of(struct lang_vm *vm, enum lang_warning_kind kind, const char *text)
{
    const struct lang_frame *f = location_of_failure(vm);

    lang_warn_at(vm, kind, text, f != NULL && f->is_user ? span_of(f).line : 0);
}

void lang_warn(struct lang_vm *vm, const char *text)
{
    lang_warn_of(vm, LANG_WARN_PYTORCH, text);
}

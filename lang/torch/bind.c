/*
 * lang/torch/bind.c - calls of ops: selection of the overload and conversion of the arguments.
 *
 * For:            lang/torch/bind.h.
 * Must not know:  what an op computes.
 * Invariant:      overloads are tried in the table's order; the first whose parameters take all arguments is run.
 */
#include "lang/torch/bind.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/autograd/autograd.h"
#include "lang/interp/interp.h"
#include "lang/syntax/diag.h"
#include "lang/torch/bind_arg.h"

#define OPERANDS_SHOWN 4 /* most operands of a list that a message shows */

/* One overload that is tried. `why`: the first argument that did not fit, and the number of those that did. */
struct attempt {
    struct lang_scratch scratch;
    struct eng_arg args[ENG_MAX_ARGS];
    bool given[ENG_MAX_ARGS];
    bool requires_grad;
};

/* Kinds of mismatch; a later kind makes a better message. */
enum misfit_kind {
    MISFIT_NONE,
    MISFIT_TOO_MANY,
    MISFIT_UNKNOWN,
    MISFIT_TWICE,
    MISFIT_MISSING,
    MISFIT_VALUE
};

struct misfit {
    enum misfit_kind what;
    int fitted;                    /* arguments that fitted before */
    const struct eng_param *param; /* of MISSING and VALUE */
    struct lang_value value;       /* of VALUE */
    const char *keyword;           /* of UNKNOWN and TWICE */
};

/* ---- keywords that PyTorch accepts for every op ---- */

/* NumPy's names for two of PyTorch's. */
static const char *alias_of(const char *name)
{
    if (strcmp(name, "axis") == 0)
        return "dim";
    if (strcmp(name, "keepdims") == 0)
        return "keepdim";
    return name;
}

/* Keywords that change nothing when they are left at their default. */
static bool is_keyword_without_effect(const char *name, struct lang_value v)
{
    static const char *const names[] = {"out",           "generator",    "layout",     "pin_memory",
                                        "memory_format", "non_blocking", "_stacklevel"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], name) == 0)
            return v.kind == LANG_NONE || v.kind == LANG_BOOL || lang_is_int(v);
    }
    return false;
}

static int find_param(const struct eng_param *params, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(params[i].name, name) == 0)
            return i;
    }
    name = alias_of(name);
    for (int i = 0; i < count; i++) {
        if (strcmp(params[i].name, name) == 0)
            return i;
    }
    return -1;
}

/* view(2, 3): the one positional parameter (self apart) is an int list and gets all of the integers. */
static bool takes_loose_ints(const struct lang_op_set *set, const struct eng_param *params,
                             int count, const struct lang_call *call)
{
    int first = set->is_method ? 1 : 0;

    if (first >= count || params[first].type != ENG_P_INTS || params[first].ints != 0)
        return false;
    if (first + 1 < count && !params[first + 1].keyword_only)
        return false;
    return call->arg_count > (uint32_t)first && lang_is_int(call->args[first]);
}

/* ---- one overload ---- */

static bool take(struct lang_vm *vm, struct attempt *a, const struct eng_param *params, int i,
                 struct lang_value v, struct misfit *why, bool *fits)
{
    if (!lang_arg_of(vm, &a->scratch, &params[i], v, &a->args[i], fits))
        return false;
    if (*fits) {
        a->given[i] = true;
        why->fitted++;
        return true;
    }
    *why = (struct misfit){
        .what = MISFIT_VALUE, .fitted = why->fitted, .param = &params[i], .value = v};
    return true;
}

static bool take_keywords(struct lang_vm *vm, struct attempt *a, const struct eng_param *params,
                          int count, const struct lang_call *call, struct misfit *why, bool *fits)
{
    for (uint32_t k = 0; k < call->kw.count && *fits; k++) {
        const char *name = lang_kwname(&call->kw, k)->text;
        struct lang_value v = call->args[call->arg_count + k];
        int i = find_param(params, count, name);

        if (i < 0 && is_keyword_without_effect(name, v))
            continue;
        if (i < 0 && strcmp(name, "requires_grad") == 0 && v.kind == LANG_BOOL &&
            find_param(params, count, "device") >= 0) {
            a->requires_grad = v.as.i != 0;
            continue;
        }
        if (i < 0 || a->given[i]) {
            why->what = i < 0 ? MISFIT_UNKNOWN : MISFIT_TWICE;
            why->keyword = name;
            *fits = false;
            return true;
        }
        if (!take(vm, a, params, i, v, why, fits))
            return false;
    }
    return true;
}

static bool fill_missing(struct attempt *a, const struct eng_param *params, int count,
                         struct misfit *why)
{
    for (int i = 0; i < count; i++) {
        if (a->given[i])
            continue;
        if (!params[i].has_default) {
            why->what = MISFIT_MISSING;
            why->param = &params[i];
            return false;
        }
        a->args[i] = params[i].value;
    }
    return true;
}

static bool try_overload(struct lang_vm *vm, const struct lang_op_set *set, enum eng_op_id id,
                         const struct lang_call *call, struct attempt *a, struct misfit *why,
                         bool *fits)
{
    int count;
    const struct eng_param *params = eng_op_params(vm->eng, id, &count);
    uint32_t positional = call->arg_count;

    a->scratch.used = 0;
    a->scratch.extra_count = 0;
    a->scratch.has_index = false;
    a->requires_grad = false;
    memset(a->given, 0, sizeof(a->given));
    *why = (struct misfit){.what = MISFIT_NONE};
    *fits = true;
    if (takes_loose_ints(set, params, count, call)) {
        int first = set->is_method ? 1 : 0;

        positional = (uint32_t)first;
        *fits = lang_arg_of_ints(&a->scratch, call->args + first, call->arg_count - positional,
                                 &a->args[first]);
        a->given[first] = true;
        if (!*fits) {
            why->what = MISFIT_VALUE;
            why->param = &params[first];
            why->value = call->args[call->arg_count - 1];
            return true;
        }
    }
    for (uint32_t i = 0; i < positional && *fits; i++) {
        if (i >= (uint32_t)count || params[i].keyword_only) {
            why->what = MISFIT_TOO_MANY;
            *fits = false;
            return true;
        }
        if (!take(vm, a, params, (int)i, call->args[i], why, fits))
            return false;
    }
    if (*fits && !take_keywords(vm, a, params, count, call, why, fits))
        return false;
    if (*fits)
        *fits = fill_missing(a, params, count, why);
    return true;
}

/* ---- results ---- */

/* The tensors of `ret`, which are handed over, as a tuple; one with the names `values` and `indices` for such ops. */
static struct lang_tuple *tuple_of(struct lang_vm *vm, const char *op, const struct eng_ret *ret)
{
    struct lang_tuple *t = lang_tuple_new(vm, ret->count);

    for (uint32_t i = 0; i < ret->count; i++)
        t->items[i] = lang_tensor(ret->tensors[i]);
    if (!ret->is_list && ret->count == 2 &&
        (strncmp(op, "max", 3) == 0 || strncmp(op, "min", 3) == 0 || strncmp(op, "topk", 4) == 0 ||
         strncmp(op, "sort", 4) == 0))
        t->head.flags = LANG_TUPLE_VALUES;
    return t;
}

/* Converts the results of an op to a value, which takes over the tensors' references. */
static struct lang_value value_of(struct lang_vm *vm, enum eng_op_id id, struct eng_ret *ret)
{
    struct lang_value v;

    if (ret->is_list || ret->count > 1)
        v = lang_object(tuple_of(vm, eng_op_get(id)->name, ret));
    else
        v = ret->count ? lang_tensor(ret->tensors[0]) : lang_none();
    ret->count = 0; /* handed over */
    eng_ret_release(ret);
    return v;
}

bool lang_op_run(struct lang_vm *vm, enum eng_op_id id, bool in_place, const struct eng_arg *args,
                 struct lang_value *out)
{
    struct eng_ret ret;
    bool ok =
        in_place ? eng_call_inplace(vm->eng, id, args, &ret) : eng_call(vm->eng, id, args, &ret);

    if (!ok)
        return vm->failed ? false : lang_op_failed(vm, id, args);
    if (args[0].kind == ENG_A_TENSORS)
        lang_spend_op(vm, args[0].count);
    *out = value_of(vm, id, &ret);
    return true;
}

/* ---- failures ---- */

/* The name in messages: the library calls some ops by internal names. */
static const char *shown_name(const struct lang_op_set *set)
{
    static const char inner[] = "torch._op.";

    return strncmp(set->name, inner, sizeof(inner) - 1) == 0 ? set->name + sizeof(inner) - 1
                                                             : set->name;
}

/* "torch.add(input, other, *, alpha=1)" */
static void add_signature(struct vs_text *text, const struct lang_op_set *set,
                          const struct eng_param *params, int count)
{
    bool star = false;

    vs_text_addf(text, "%s(", shown_name(set));
    for (int i = set->is_method ? 1 : 0, shown = 0; i < count; i++, shown++) {
        if (params[i].keyword_only && !star) {
            vs_text_add(text, shown == 0 ? "*" : ", *");
            star = true;
            shown++;
        }
        vs_text_addf(text, "%s%s%s", shown == 0 ? "" : ", ", params[i].name,
                     params[i].has_default ? "=" : "");
    }
    vs_text_add(text, ")");
}

static bool report_misfit(struct lang_vm *vm, const struct lang_op_set *set,
                          const struct misfit *why)
{
    struct vs_text forms = {NULL, 0, 0};

    for (uint32_t i = 0; i < set->count; i++) {
        int count;
        const struct eng_param *params = eng_op_params(vm->eng, set->ids[i], &count);

        vs_text_add(&forms, i == 0 ? "it is called as " : "\n               or ");
        add_signature(&forms, set, params, count);
    }
    switch (why->what) {
    case MISFIT_UNKNOWN:
    case MISFIT_TWICE:
        lang_fail_hint(vm, VS_E_TYPE, vs_text_get(&forms),
                       why->what == MISFIT_TWICE ? "%s(): the argument `%s` is given twice"
                                                 : "%s() has no parameter `%s`",
                       shown_name(set), why->keyword);
        break;
    case MISFIT_MISSING:
        lang_fail_hint(vm, VS_E_TYPE, vs_text_get(&forms), "%s() needs the argument `%s`",
                       shown_name(set), why->param->name);
        break;
    case MISFIT_VALUE:
        lang_fail_hint(vm, VS_E_TYPE, vs_text_get(&forms), "%s(): `%s` must be %s, not `%s`",
                       shown_name(set), why->param->name, lang_param_wants(why->param),
                       lang_type_name(vm, why->value));
        break;
    case MISFIT_NONE:
    case MISFIT_TOO_MANY:
        lang_fail_hint(vm, VS_E_TYPE, vs_text_get(&forms), "%s() has too many positional arguments",
                       shown_name(set));
        break;
    }
    vs_text_release(&forms);
    return false;
}

/* The text of an expression of the net, cut where it is long; "" where it takes several lines. */
static void add_source(struct vs_text *text, const struct lang_frame *f, const struct lang_expr *e)
{
    size_t len;
    const char *line = lang_source_line(f->net->module->source, e->span.line, &len);
    size_t from = e->span.col - 1;
    size_t to = e->span.end_col - 1;

    if (e->span.line != e->span.end_line || to > len || from >= to) {
        vs_text_add(text, "...");
        return;
    }
    vs_text_add_n(text, line + from, to - from > 40 ? 40 : to - from);
    if (to - from > 40)
        vs_text_add(text, "...");
}

/* Where the op was called by an expression of the net file itself: the expression that gave the argument `i`. */
static const struct lang_expr *source_of(const struct lang_frame *f, uint32_t i)
{
    const struct lang_expr *e = f->at;

    if (!f->is_user)
        return NULL;
    if (e == NULL && f->stmt != NULL && f->stmt->kind == LANG_STMT_AUGMENT && i < 2)
        return i == 0 ? f->stmt->u.augment.target : f->stmt->u.augment.value;
    if (e == NULL)
        return NULL;
    if (e->kind == LANG_EXPR_INDEX && i == 0)
        return e->u.index.value;
    if (e->kind == LANG_EXPR_BINARY && f->step < e->u.binary.count) {
        if (i == 1)
            return e->u.binary.steps[f->step].operand;
        return i == 0 && f->step == 0 ? e->u.binary.first : NULL;
    }
    if (e->kind == LANG_EXPR_CALL) {
        bool is_method = e->u.call.func->kind == LANG_EXPR_ATTR;
        struct lang_value space;
        const struct lang_expr *owner = is_method ? e->u.call.func->u.attr.value : NULL;

        /* in a.add(b) the first operand is not among the arguments */
        if (is_method && owner->kind == LANG_EXPR_NAME &&
            owner->u.name.scope == LANG_SCOPE_GLOBAL) {
            struct lang_value *v =
                lang_dict_find(f->net->space->names, f->net->names[owner->u.name.name->id]);

            space = v != NULL ? *v : lang_none();
            is_method = space.kind != LANG_NAMESPACE;
        }
        if (is_method && i == 0)
            return owner;
        i -= is_method ? 1 : 0;
        return i < e->u.call.args.count ? e->u.call.args.items[i] : NULL;
    }
    return NULL;
}

/* "`x` is [8, 4]"; `source` is the expression in the net, where it is known. */
static void add_operand(struct lang_vm *vm, struct vs_text *text, const char *name,
                        const struct lang_expr *source, const struct eng_tensor *t)
{
    char shape[ENG_SHAPE_TEXT_MAX];

    vs_text_add(text, text->len == 0 ? "" : ", ");
    vs_text_add_char(text, '`');
    if (source != NULL)
        add_source(text, vm->frame, source);
    else
        vs_text_add(text, name);
    vs_text_addf(text, "` is %s", eng_shape_text(t, shape));
}

/* The same for each tensor of a list. */
static void add_operands(struct lang_vm *vm, struct vs_text *text, const char *name,
                         const struct lang_expr *source, const struct eng_arg *arg)
{
    bool is_shown = source != NULL &&
                    (source->kind == LANG_EXPR_LIST || source->kind == LANG_EXPR_TUPLE) &&
                    source->u.list.count == arg->count;

    for (uint32_t k = 0; k < arg->count && k < OPERANDS_SHOWN; k++) {
        const struct lang_expr *item = is_shown ? source->u.list.items[k] : NULL;
        char place[64];

        snprintf(place, sizeof(place), "%s[%" PRIu32 "]", name, k);
        if (item != NULL && item->kind == LANG_EXPR_STARRED) {
            is_shown = false;
            item = NULL;
        }
        add_operand(vm, text, place, item, arg->v.tensors[k]);
    }
    if (arg->count > OPERANDS_SHOWN)
        vs_text_addf(text, " and %" PRIu32 " more", arg->count - OPERANDS_SHOWN);
}

bool lang_op_failed(struct lang_vm *vm, enum eng_op_id id, const struct eng_arg *args)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text operands = {NULL, 0, 0};
    const struct eng_param *params;
    int count;

    if (eng_failed(vm->eng) == NULL)
        return lang_fail(vm, VS_E_RAISED, "%s failed", eng_op_get(id)->name);
    if (eng_failed(vm->eng)->status == VS_E_STOPPED)
        return lang_fail_engine(vm);
    (void)eng_failure_take(vm->eng, &err);
    params = eng_op_params(vm->eng, id, &count);
    if (err.status == VS_E_SHAPE || err.status == VS_E_TYPE || err.status == VS_E_VALUE) {
        for (int i = 0; i < count; i++) {
            const struct lang_expr *source =
                vm->frame != NULL ? source_of(vm->frame, (uint32_t)i) : NULL;

            if (args[i].kind == ENG_A_TENSOR && args[i].v.tensor != NULL)
                add_operand(vm, &operands, params[i].name, source, args[i].v.tensor);
            else if (args[i].kind == ENG_A_TENSORS)
                add_operands(vm, &operands, params[i].name, source, &args[i]);
        }
    }
    lang_fail_hint(vm, err.status, operands.len > 0 ? vs_text_get(&operands) : NULL, "%s",
                   err.text);
    vs_text_release(&operands);
    return false;
}

/* ---- the native function ---- */

bool lang_op_native(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    const struct lang_op_set *set = call->builtin->data;
    struct misfit best = {.what = MISFIT_NONE, .fitted = -1};
    struct attempt a;
    struct misfit why;
    bool fits = false;

    for (uint32_t i = 0; i < set->count; i++) {
        bool ok = try_overload(vm, set, set->ids[i], call, &a, &why, &fits);

        if (ok && fits) {
            ok = lang_op_run(vm, set->ids[i], set->in_place, a.args, out);
            lang_scratch_release(vm, &a.scratch);
            if (ok && a.requires_grad && out->kind == LANG_TENSOR)
                eng_set_requires_grad(vm->eng, out->as.tensor, true);
            return ok;
        }
        lang_scratch_release(vm, &a.scratch);
        if (!ok)
            return false;
        if (why.fitted > best.fitted || (why.fitted == best.fitted && why.what > best.what))
            best = why;
    }
    return report_misfit(vm, set, &best);
}

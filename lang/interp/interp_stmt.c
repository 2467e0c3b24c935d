/*
 * lang/interp/interp_stmt.c - the simple statements and the for loop.
 *
 * For:            lang/interp/interp.h.
 * Must not know:  the engine's ops.
 * Invariant:      see interp.h; the order in which an assignment binds its targets is that of CPython 3.12's optimised
 *                 code.
 */
#include "lang/interp/attr.h"
#include "lang/interp/interp.h"
#include "lang/interp/iter.h"
#include "lang/interp/ops.h"
#include "lang/interp/text.h"

/* ---- assignment ---- */

/* Whether CPython's compiler folds the expression into a constant. */
static bool is_constant(const struct lang_expr *e)
{
    switch (e->kind) {
    case LANG_EXPR_NONE:
    case LANG_EXPR_TRUE:
    case LANG_EXPR_FALSE:
    case LANG_EXPR_ELLIPSIS:
    case LANG_EXPR_INT:
    case LANG_EXPR_FLOAT:
    case LANG_EXPR_STR:
        return true;
    case LANG_EXPR_UNARY:
        return is_constant(e->u.unary.operand);
    case LANG_EXPR_BINARY:
        for (uint32_t i = 0; i < e->u.binary.count; i++) {
            if (!is_constant(e->u.binary.steps[i].operand))
                return false;
        }
        return is_constant(e->u.binary.first);
    case LANG_EXPR_TUPLE:
        for (uint32_t i = 0; i < e->u.list.count; i++) {
            if (!is_constant(e->u.list.items[i]))
                return false;
        }
        return true;
    default:
        return false;
    }
}

static bool has_starred(const struct lang_exprs *exprs)
{
    for (uint32_t i = 0; i < exprs->count; i++) {
        if (exprs->items[i]->kind == LANG_EXPR_STARRED)
            return true;
    }
    return false;
}

/* `a, b = x, y`: CPython builds no tuple for two or three items. */
static bool is_swap(const struct lang_expr *target, const struct lang_expr *value)
{
    if ((target->kind != LANG_EXPR_TUPLE && target->kind != LANG_EXPR_LIST) ||
        value->kind != LANG_EXPR_TUPLE)
        return false;
    return target->u.list.count == value->u.list.count && value->u.list.count >= 1 &&
           value->u.list.count <= 3 && !has_starred(&target->u.list) &&
           !has_starred(&value->u.list) && !is_constant(value);
}

/*
 * Two or three distinct local variables on one line are bound from the last to the first, because the compiler removes
 * the swap on the stack (apply_static_swaps in CPython 3.12's flowgraph.c).
 */
static bool binds_backwards(const struct lang_exprs *targets)
{
    if (targets->count < 2)
        return false;
    for (uint32_t i = 0; i < targets->count; i++) {
        const struct lang_expr *t = targets->items[i];

        if (t->kind != LANG_EXPR_NAME || t->u.name.scope != LANG_SCOPE_LOCAL ||
            t->span.line != targets->items[0]->span.line)
            return false;
        for (uint32_t j = 0; j < i; j++) {
            if (targets->items[j]->u.name.slot == t->u.name.slot)
                return false;
        }
    }
    return true;
}

static bool exec_swap(struct lang_vm *vm, struct lang_frame *f, const struct lang_exprs *targets,
                      const struct lang_exprs *values)
{
    uint32_t n = values->count;
    bool backwards = binds_backwards(targets);
    bool is_bound = backwards && lang_comp_binds_first(values->items[n - 1], targets->items[n - 1]);
    struct lang_value first;

    for (uint32_t i = 0; i < n - is_bound; i++) {
        if (!lang_eval(vm, f, values->items[i]))
            return false;
    }
    if (is_bound && !lang_eval_comp_first(vm, f, values->items[n - 1], targets->items[n - 1]))
        return false;
    if (backwards) {
        for (uint32_t i = n - is_bound; i-- > 0;) {
            if (!lang_store(vm, f, targets->items[i]))
                return false;
        }
        return true;
    }
    first = vm->sp[-(int)n];
    vm->sp[-(int)n] = vm->sp[-1];
    vm->sp[-1] = first;
    for (uint32_t i = 0; i < n; i++) {
        if (!lang_store(vm, f, targets->items[i]))
            return false;
    }
    return true;
}

static bool exec_assign(struct lang_vm *vm, struct lang_frame *f, const struct lang_stmt *s)
{
    const struct lang_exprs *targets = &s->u.assign.targets;

    if (targets->count == 1 && is_swap(targets->items[0], s->u.assign.value))
        return exec_swap(vm, f, &targets->items[0]->u.list, &s->u.assign.value->u.list);
    if (targets->count == 1 && lang_comp_binds_first(s->u.assign.value, targets->items[0]))
        return lang_eval_comp_first(vm, f, s->u.assign.value, targets->items[0]);
    if (!lang_eval(vm, f, s->u.assign.value))
        return false;
    for (uint32_t i = 0; i < targets->count; i++) {
        if (i + 1 < targets->count)
            lang_push(vm, lang_keep(vm->sp[-1]));
        if (!lang_store(vm, f, targets->items[i]))
            return false;
    }
    return true;
}

/* ---- augmented assignment ---- */

/* [..., a, b] becomes [..., a op= b]. */
static bool apply_inplace(struct lang_vm *vm, struct lang_frame *f, const struct lang_stmt *s)
{
    struct lang_value result;

    if (!lang_eval(vm, f, s->u.augment.value))
        return false;
    f->at = NULL;
    lang_line(vm, f, s->span.line);
    if (!lang_inplace(vm, s->u.augment.op, vm->sp[-2], vm->sp[-1], &result))
        return false;
    lang_replace(vm, 2, result);
    return true;
}

static bool augment_attr(struct lang_vm *vm, struct lang_frame *f, const struct lang_stmt *s)
{
    const struct lang_expr *t = s->u.augment.target;
    struct lang_string *name = f->net->names[t->u.attr.name->id];
    struct lang_value v;

    if (!lang_eval(vm, f, t->u.attr.value))
        return false;
    lang_at(vm, f, t);
    if (!lang_getattr(vm, vm->sp[-1], name, &v))
        return false;
    lang_push(vm, v);
    if (!apply_inplace(vm, f, s))
        return false;
    lang_at(vm, f, t);
    if (!lang_setattr(vm, vm->sp[-2], name, vm->sp[-1]))
        return false;
    vm->sp -= 2;
    lang_drop(vm, vm->sp[1]); /* the value is dropped before the object */
    lang_drop(vm, vm->sp[0]);
    return true;
}

static bool augment_item(struct lang_vm *vm, struct lang_frame *f, const struct lang_stmt *s)
{
    const struct lang_expr *t = s->u.augment.target;
    struct lang_value v;

    if (!lang_eval(vm, f, t->u.index.value) || !lang_eval(vm, f, t->u.index.index))
        return false;
    lang_at(vm, f, t);
    if (!lang_getitem(vm, vm->sp[-2], vm->sp[-1], &v))
        return false;
    lang_push(vm, v);
    if (!apply_inplace(vm, f, s))
        return false;
    lang_at(vm, f, t);
    if (!lang_setitem(vm, vm->sp[-3], vm->sp[-2], vm->sp[-1]))
        return false;
    vm->sp -= 3;
    lang_drop(vm, vm->sp[2]);
    lang_drop(vm, vm->sp[0]);
    lang_drop(vm, vm->sp[1]);
    return true;
}

static bool exec_augment(struct lang_vm *vm, struct lang_frame *f, const struct lang_stmt *s)
{
    const struct lang_expr *t = s->u.augment.target;

    if (t->kind == LANG_EXPR_ATTR)
        return augment_attr(vm, f, s);
    if (t->kind == LANG_EXPR_INDEX)
        return augment_item(vm, f, s);
    return lang_load_name(vm, f, t) && apply_inplace(vm, f, s) &&
           lang_bind(vm, f, &t->u.name, lang_pop(vm));
}

/* ---- other simple statements ---- */

static bool exec_assert(struct lang_vm *vm, struct lang_frame *f, const struct lang_stmt *s)
{
    struct lang_value text;
    bool holds;

    if (!lang_eval_test(vm, f, s->u.assertion.test, &holds))
        return false;
    if (holds)
        return true;
    f->at = s->u.assertion.test;
    if (s->u.assertion.message == NULL)
        return lang_fail(vm, VS_E_RAISED, "the assertion failed");
    if (!lang_eval(vm, f, s->u.assertion.message) || !lang_to_str(vm, vm->sp[-1], &text))
        return false;
    f->at = s->u.assertion.test;
    lang_fail(vm, VS_E_RAISED, "AssertionError: %s", text.as.str->text);
    lang_drop(vm, text);
    return false;
}

static bool run_simple(struct lang_vm *vm, struct lang_frame *f, const struct lang_stmt *s)
{
    switch (s->kind) {
    case LANG_STMT_EXPR:
        if (!lang_eval(vm, f, s->u.expr))
            return false;
        lang_drop(vm, lang_pop(vm));
        return true;
    case LANG_STMT_ASSIGN:
        return exec_assign(vm, f, s);
    case LANG_STMT_AUGMENT:
        return exec_augment(vm, f, s);
    case LANG_STMT_ANNOTATE:
        if (s->u.annotate.value == NULL)
            return true;
        if (lang_comp_binds_first(s->u.annotate.value, s->u.annotate.target))
            return lang_eval_comp_first(vm, f, s->u.annotate.value, s->u.annotate.target);
        return lang_eval(vm, f, s->u.annotate.value) && lang_store(vm, f, s->u.annotate.target);
    case LANG_STMT_DEL:
        for (uint32_t i = 0; i < s->u.targets.count; i++) {
            if (!lang_delete(vm, f, s->u.targets.items[i]))
                return false;
        }
        return true;
    case LANG_STMT_ASSERT:
        return exec_assert(vm, f, s);
    case LANG_STMT_RAISE:
        return lang_exec_raise(vm, f, s);
    case LANG_STMT_DEF:
        return lang_exec_def(vm, f, s);
    case LANG_STMT_CLASS:
        return lang_exec_class(vm, f, s);
    case LANG_STMT_IMPORT:
    case LANG_STMT_IMPORT_FROM:
        return lang_exec_import(vm, f, s);
    case LANG_STMT_PASS:
    case LANG_STMT_GLOBAL:
    case LANG_STMT_NONLOCAL:
        return true;
    case LANG_STMT_RETURN:
    case LANG_STMT_IF:
    case LANG_STMT_FOR:
    case LANG_STMT_WHILE:
    case LANG_STMT_BREAK:
    case LANG_STMT_CONTINUE:
    case LANG_STMT_WITH:
        break;
    }
    vs_die("a statement of kind %d is not simple", (int)s->kind);
}

enum lang_flow lang_exec_simple(struct lang_vm *vm, struct lang_frame *f, const struct lang_stmt *s)
{
    return run_simple(vm, f, s) ? LANG_FLOW_NEXT : LANG_FLOW_FAILED;
}

/* ---- for ---- */

enum lang_flow lang_exec_for(struct lang_vm *vm, struct lang_frame *f, const struct lang_stmt *s)
{
    const struct lang_expr *iterable = s->u.for_loop.iter;
    struct lang_value *at = vm->sp;
    struct lang_value v;

    if (!lang_eval(vm, f, iterable))
        return LANG_FLOW_FAILED;
    lang_at(vm, f, iterable);
    if (!lang_iter_of(vm, vm->sp[-1], &v))
        return LANG_FLOW_FAILED;
    lang_replace(vm, 1, v);
    for (;;) {
        enum lang_flow flow;

        f->stmt = s;
        lang_at(vm, f, iterable);
        if (!lang_iter_next(vm, *at, &v))
            return LANG_FLOW_FAILED;
        if (!lang_is_bound(v))
            break;
        lang_push(vm, v);
        if (!lang_store(vm, f, s->u.for_loop.target))
            return LANG_FLOW_FAILED;
        flow = lang_exec_block(vm, f, &s->u.for_loop.body);
        if (flow == LANG_FLOW_FAILED)
            return flow;
        if (flow == LANG_FLOW_BREAK || flow == LANG_FLOW_RETURN) {
            lang_drop(vm, lang_pop(vm));
            return flow == LANG_FLOW_BREAK ? LANG_FLOW_NEXT : flow;
        }
    }
    lang_drop(vm, lang_pop(vm));
    return lang_exec_block(vm, f, &s->u.for_loop.otherwise);
}

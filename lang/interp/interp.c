/*
 * lang/interp/interp.c - frames, and the control-flow statements.
 *
 * For:            lang/interp/interp.h.
 * Must not know:  the engine's ops.
 * Invariant:      when a function returns, its result exists first; then its slots are released from the first to the
 *                 last, then the function itself.
 */
#include "lang/interp/interp.h"

#include <string.h>

/* ---- values of a stopped recomputation ---- */

/*
 * PyTorch stops the recomputation of a checkpoint early by raising an exception. Its traceback keeps the frames, and so
 * their variables, until the exception has been caught. They are then released from the innermost frame outwards, in
 * each from the first variable to the last.
 */
void lang_park(struct lang_vm *vm, struct lang_value taken)
{
    vm->parked = vs_grow(vm->parked, vm->parked_count, &vm->parked_cap, sizeof(*vm->parked));
    vm->parked[vm->parked_count++] = taken;
}

void lang_parked_clear(struct lang_vm *vm)
{
    struct lang_value *parked = vm->parked;
    size_t count = vm->parked_count;

    vm->parked = NULL;
    vm->parked_count = vm->parked_cap = 0;
    for (size_t i = 0; i < count; i++)
        lang_drop(vm, parked[i]);
    vs_free(parked);
}

/* ---- frames ---- */

static void emit_arguments(struct lang_vm *vm, const struct lang_frame *f)
{
    const struct lang_code *code = f->code->code;

    for (uint32_t i = 0; i < code->param_count; i++) {
        if (lang_can_hold(f->slots[i]))
            lang_hold(vm, f->slots[i], VS_HOLD_LOCAL, f->code->slot_names[i]->text, f->code->scope);
    }
}

bool lang_frame_enter(struct lang_vm *vm, struct lang_frame *f, const struct lang_rtcode *code,
                      struct lang_value *slots)
{
    f->prev = vm->frame;
    f->code = code;
    f->net = code->net;
    f->slots = slots;
    f->names = NULL;
    f->at = NULL;
    f->stmt = NULL;
    f->result = lang_none();
    f->step = 0;
    f->is_user = code->net->is_user;
    if (!lang_check_depth(vm) || !lang_reserve(vm, LANG_HEADROOM))
        return false;
    if (f->is_user) {
        f->line_before = vm->line;
        f->func_before = vm->func;
        vm->func = code->qualname->text;
        eng_location_func(vm->eng, vm->func);
    }
    vm->depth++;
    vm->frame = f;
    if (vm->observed)
        emit_arguments(vm, f);
    return true;
}

static void drop_slots(struct lang_vm *vm, struct lang_frame *f)
{
    uint32_t count = f->code->code->slot_count;
    bool stopped = vm->failed && vm->err.status == VS_E_STOPPED;

    for (uint32_t i = 0; i < count; i++) {
        struct lang_value v = f->slots[i];

        if (vm->observed && lang_can_hold(v))
            lang_unhold(vm, v, VS_HOLD_LOCAL, f->code->slot_names[i]->text, f->code->scope);
        f->slots[i] = lang_unbound();
        if (stopped && lang_is_bound(v))
            lang_park(vm, v);
        else
            lang_drop(vm, v);
    }
}

void lang_frame_pop(struct lang_vm *vm, struct lang_frame *f)
{
    vm->frame = f->prev;
    vm->depth--;
    if (!f->is_user)
        return;
    vm->func = f->func_before;
    eng_location_func(vm->eng, vm->func);
    if (vm->line != f->line_before) {
        vm->line = f->line_before;
        eng_location_line(vm->eng, vm->line);
    }
}

void lang_frame_leave(struct lang_vm *vm, struct lang_frame *f, bool ok)
{
    struct lang_value *stack = f->slots + f->code->code->slot_count;

    if (!ok) {
        lang_unwind(vm, stack);
        lang_drop(vm, f->result);
        f->result = lang_none();
    }
    VS_ASSERT(vm->sp == stack);
    drop_slots(vm, f);
    vm->sp = f->slots;
    lang_frame_pop(vm, f);
}

/* Creates own cells and stores captured ones; other slots without an argument are unbound already. */
static void make_cells(struct lang_vm *vm, const struct lang_function *func,
                       struct lang_value *slots)
{
    const struct lang_code *code = func->code->code;
    uint32_t first_free = code->slot_count - code->free_count;

    if (code->makes_cells) {
        for (uint32_t i = 0; i < first_free; i++) {
            if (code->slots[i].is_cell)
                slots[i] = lang_object(lang_slot_cell(vm, func->code, i, slots[i]));
        }
    }
    for (uint32_t i = 0; i < code->free_count; i++) {
        func->cells[i]->head.refs++;
        slots[first_free + i] = lang_object(func->cells[i]);
    }
}

static bool run_body(struct lang_vm *vm, struct lang_frame *f)
{
    const struct lang_code *code = f->code->code;
    enum lang_flow flow;

    if (code->kind == LANG_CODE_LAMBDA) {
        if (!lang_eval(vm, f, code->value))
            return false;
        f->result = lang_pop(vm);
        return true;
    }
    flow = lang_exec_block(vm, f, &code->body);
    return flow != LANG_FLOW_FAILED;
}

bool lang_run_function(struct lang_vm *vm, struct lang_value *at)
{
    const struct lang_function *func = at->as.function;
    struct lang_frame f;
    bool ok;

    if (!lang_frame_enter(vm, &f, func->code, at + 1)) {
        lang_unwind(vm, at);
        return false;
    }
    if (!func->code->is_plain)
        make_cells(vm, func, f.slots);
    ok = run_body(vm, &f);
    lang_frame_leave(vm, &f, ok);
    lang_drop(vm, *at);
    *at = f.result;
    vm->sp = ok ? at + 1 : at;
    return ok;
}

bool lang_run_module(struct lang_vm *vm, struct lang_net *net)
{
    const struct lang_rtcode *code = &net->codes[0];
    struct lang_value *slots = vm->sp;
    struct lang_frame f;
    bool ok;

    if (!lang_reserve(vm, code->code->slot_count))
        return false;
    for (uint32_t i = 0; i < code->code->slot_count; i++)
        lang_push(vm, code->code->slots[i].is_cell
                          ? lang_object(lang_slot_cell(vm, code, i, lang_unbound()))
                          : lang_unbound());
    if (!lang_frame_enter(vm, &f, code, slots)) {
        lang_unwind(vm, slots);
        return false;
    }
    f.names = net->space->names;
    ok = run_body(vm, &f);
    lang_frame_leave(vm, &f, ok);
    return ok;
}

/* ---- control flow ---- */

static enum lang_flow exec_if(struct lang_vm *vm, struct lang_frame *f, const struct lang_stmt *s)
{
    for (uint32_t i = 0; i < s->u.branch.count; i++) {
        const struct lang_clause *clause = &s->u.branch.clauses[i];
        bool yes;

        if (!lang_eval_test(vm, f, clause->test, &yes))
            return LANG_FLOW_FAILED;
        if (yes)
            return lang_exec_block(vm, f, &clause->body);
    }
    return lang_exec_block(vm, f, &s->u.branch.otherwise);
}

static enum lang_flow exec_while(struct lang_vm *vm, struct lang_frame *f,
                                 const struct lang_stmt *s)
{
    for (;;) {
        enum lang_flow flow;
        bool yes;

        if (!lang_eval_test(vm, f, s->u.while_loop.test, &yes))
            return LANG_FLOW_FAILED;
        if (!yes)
            return lang_exec_block(vm, f, &s->u.while_loop.otherwise);
        flow = lang_exec_block(vm, f, &s->u.while_loop.body);
        if (flow == LANG_FLOW_BREAK)
            return LANG_FLOW_NEXT;
        if (flow == LANG_FLOW_RETURN || flow == LANG_FLOW_FAILED)
            return flow;
    }
}

static enum lang_flow exec_return(struct lang_vm *vm, struct lang_frame *f,
                                  const struct lang_stmt *s)
{
    if (s->u.expr == NULL)
        return LANG_FLOW_RETURN;
    if (!lang_eval(vm, f, s->u.expr))
        return LANG_FLOW_FAILED;
    f->result = lang_pop(vm);
    return LANG_FLOW_RETURN;
}

static enum lang_flow exec_stmt(struct lang_vm *vm, struct lang_frame *f, const struct lang_stmt *s)
{
    f->stmt = s;
    f->at = NULL;
    lang_line(vm, f, s->span.line);
    if (!lang_spend(vm))
        return LANG_FLOW_FAILED;
    switch (s->kind) {
    case LANG_STMT_RETURN:
        return exec_return(vm, f, s);
    case LANG_STMT_IF:
        return exec_if(vm, f, s);
    case LANG_STMT_FOR:
        return lang_exec_for(vm, f, s);
    case LANG_STMT_WHILE:
        return exec_while(vm, f, s);
    case LANG_STMT_BREAK:
        return LANG_FLOW_BREAK;
    case LANG_STMT_CONTINUE:
        return LANG_FLOW_CONTINUE;
    case LANG_STMT_WITH:
        return lang_exec_with(vm, f, s);
    case LANG_STMT_EXPR:
    case LANG_STMT_ASSIGN:
    case LANG_STMT_AUGMENT:
    case LANG_STMT_ANNOTATE:
    case LANG_STMT_DEL:
    case LANG_STMT_PASS:
    case LANG_STMT_ASSERT:
    case LANG_STMT_RAISE:
    case LANG_STMT_DEF:
    case LANG_STMT_CLASS:
    case LANG_STMT_IMPORT:
    case LANG_STMT_IMPORT_FROM:
    case LANG_STMT_GLOBAL:
    case LANG_STMT_NONLOCAL:
        break;
    }
    return lang_exec_simple(vm, f, s);
}

enum lang_flow lang_exec_block(struct lang_vm *vm, struct lang_frame *f,
                               const struct lang_block *block)
{
    for (uint32_t i = 0; i < block->count; i++) {
        enum lang_flow flow = exec_stmt(vm, f, block->stmts[i]);

        if (flow != LANG_FLOW_NEXT)
            return flow;
    }
    return LANG_FLOW_NEXT;
}

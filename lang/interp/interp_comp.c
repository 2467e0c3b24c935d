/*
 * lang/interp/interp_comp.c - comprehensions and generator expressions.
 *
 * For:            lang/interp/interp.h, lang/interp/iter.h.
 * Must not know:  statements.
 * Invariant:      a comprehension's variables live in the enclosing frame (CPython 3.12), whose own variables are
 *                 restored before the result is used. A generator expression evaluates nothing but its first iterable
 *                 until its first item is requested.
 */
#include "base/error.h"
#include "lang/interp/interp.h"
#include "lang/interp/iter.h"
#include "lang/interp/ops.h"

static bool push_iter(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *iterable)
{
    struct lang_value it;

    if (!lang_eval(vm, f, iterable))
        return false;
    lang_at(vm, f, iterable);
    if (!lang_iter_of(vm, vm->sp[-1], &it))
        return false;
    lang_replace(vm, 1, it);
    return true;
}

/* Evaluates the conditions of one clause. */
static bool pass_conds(struct lang_vm *vm, struct lang_frame *f, const struct lang_comp_for *clause,
                       bool *out)
{
    *out = true;
    for (uint32_t i = 0; i < clause->conds.count && *out; i++) {
        if (!lang_eval_test(vm, f, clause->conds.items[i], out))
            return false;
    }
    return true;
}

/* ---- list and dict comprehensions ---- */

static bool add_element(struct lang_vm *vm, struct lang_frame *f, const struct lang_comp *comp,
                        struct lang_value result)
{
    if (!lang_eval(vm, f, comp->elt))
        return false;
    if (comp->kind == LANG_COMP_LIST) {
        lang_list_append(vm, result.as.list, lang_pop(vm));
        return true;
    }
    if (!lang_eval(vm, f, comp->value))
        return false;
    f->at = comp->elt;
    if (!lang_dict_store(vm, result.as.dict, vm->sp[-2], lang_keep(vm->sp[-1])))
        return false;
    lang_drop(vm, lang_pop(vm));
    lang_drop(vm, lang_pop(vm));
    return true;
}

/*
 * `for y in [f(x)]` after another clause: CPython's compiler creates no list but binds the one value. Returns the
 * expression of that value, NULL where the clause has another form.
 */
static const struct lang_expr *single_value(const struct lang_comp_for *clause)
{
    const struct lang_expr *e = clause->iter;

    if ((e->kind != LANG_EXPR_LIST && e->kind != LANG_EXPR_TUPLE) || e->u.list.count != 1 ||
        e->u.list.items[0]->kind == LANG_EXPR_STARRED)
        return NULL;
    return e->u.list.items[0];
}

static bool bind_single(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *value,
                        const struct lang_expr *target)
{
    if (lang_comp_binds_first(value, target))
        return lang_eval_comp_first(vm, f, value, target);
    return lang_eval(vm, f, value) && lang_store(vm, f, target);
}

static bool run_clauses(struct lang_vm *vm, struct lang_frame *f, const struct lang_comp *comp,
                        uint32_t level, struct lang_value *it, struct lang_value result);

/* After the target of a clause is bound: evaluates its conditions, then the inner clauses or the element. */
static bool run_inside(struct lang_vm *vm, struct lang_frame *f, const struct lang_comp *comp,
                       uint32_t level, struct lang_value result)
{
    const struct lang_expr *single;
    bool pass;

    if (!pass_conds(vm, f, &comp->fors[level], &pass))
        return false;
    if (!pass)
        return true;
    if (level + 1 == comp->for_count)
        return add_element(vm, f, comp, result);
    single = single_value(&comp->fors[level + 1]);
    if (single != NULL)
        return bind_single(vm, f, single, comp->fors[level + 1].target) &&
               run_inside(vm, f, comp, level + 1, result);
    if (!push_iter(vm, f, comp->fors[level + 1].iter) ||
        !run_clauses(vm, f, comp, level + 1, vm->sp - 1, result))
        return false;
    vm->sp--; /* its iterator has been released */
    return true;
}

/* Loops over a clause; its iterator is at `it` and is released when it is exhausted. */
static bool run_clauses(struct lang_vm *vm, struct lang_frame *f, const struct lang_comp *comp,
                        uint32_t level, struct lang_value *it, struct lang_value result)
{
    const struct lang_comp_for *clause = &comp->fors[level];
    struct lang_value item;

    for (;;) {
        lang_at(vm, f, clause->iter);
        if (!lang_iter_next(vm, *it, &item))
            return false;
        if (!lang_is_bound(item))
            break;
        lang_push(vm, item);
        if (!lang_store(vm, f, clause->target) || !run_inside(vm, f, comp, level, result))
            return false;
    }
    lang_drop(vm, *it);
    *it = lang_unbound();
    return true;
}

static void hide_slots(struct lang_vm *vm, struct lang_frame *f, const struct lang_comp *comp)
{
    for (uint32_t i = 0; i < comp->hidden_count; i++) {
        uint32_t slot = comp->hidden[i].slot;

        lang_push(vm, f->slots[slot]);
        f->slots[slot] = comp->hidden[i].make_cell
                             ? lang_object(lang_slot_cell(vm, f->code, slot, lang_unbound()))
                             : lang_unbound();
    }
}

/* Restores the hidden value of a slot, then drops what the comprehension left there. */
static void restore_slot(struct lang_vm *vm, struct lang_frame *f, uint32_t slot,
                         struct lang_value saved)
{
    struct lang_value left = f->slots[slot];

    f->slots[slot] = saved;
    if (vm->observed && lang_can_hold(left))
        lang_unhold(vm, left, VS_HOLD_LOCAL, f->code->slot_names[slot]->text, f->code->scope);
    lang_drop(vm, left);
}

/* Runs the comprehension; leaves the stack as [unbound, hidden values…, result]. */
static bool run_inline(struct lang_vm *vm, struct lang_frame *f, const struct lang_comp *comp)
{
    struct lang_value *at = vm->sp; /* [iterator, hidden values…, result] */
    struct lang_value result;

    if (!lang_reserve(vm, comp->hidden_count + LANG_HEADROOM) ||
        !push_iter(vm, f, comp->fors[0].iter))
        return false;
    hide_slots(vm, f, comp);
    result = comp->kind == LANG_COMP_LIST ? lang_object(lang_list_new(vm, 0))
                                          : lang_object(lang_dict_new(vm));
    lang_push(vm, result);
    return run_clauses(vm, f, comp, 0, at, result);
}

static bool eval_inline(struct lang_vm *vm, struct lang_frame *f, const struct lang_comp *comp)
{
    struct lang_value *at = vm->sp;
    struct lang_value result;

    if (!run_inline(vm, f, comp))
        return false;
    result = lang_pop(vm);
    for (uint32_t i = comp->hidden_count; i-- > 0;)
        restore_slot(vm, f, comp->hidden[i].slot, at[1 + i]);
    *at = result;
    vm->sp = at + 1;
    return true;
}

bool lang_comp_binds_first(const struct lang_expr *value, const struct lang_expr *target)
{
    const struct lang_comp *comp = &value->u.comp;

    if (value->kind != LANG_EXPR_COMP || comp->kind == LANG_COMP_GENERATOR ||
        comp->hidden_count == 0)
        return false;
    if (target->kind != LANG_EXPR_NAME || target->u.name.scope != LANG_SCOPE_LOCAL ||
        target->span.line != value->span.line)
        return false;
    for (uint32_t i = 0; i < comp->hidden_count; i++) {
        if (comp->hidden[i].slot == target->u.name.slot)
            return false;
    }
    return true;
}

bool lang_eval_comp_first(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *value,
                          const struct lang_expr *target)
{
    const struct lang_comp *comp = &value->u.comp;
    uint32_t last = comp->hidden_count - 1;
    struct lang_value *at = vm->sp;

    if (!run_inline(vm, f, comp))
        return false;
    lang_slot_set(vm, f, target->u.name.slot, lang_pop(vm));
    for (uint32_t i = last; i-- > 0;)
        restore_slot(vm, f, comp->hidden[i].slot, at[1 + i]);
    restore_slot(vm, f, comp->hidden[last].slot, at[1 + last]);
    vm->sp = at;
    return true;
}

/* ---- generator expressions ---- */

static bool make_generator(struct lang_vm *vm, struct lang_frame *f, const struct lang_comp *comp)
{
    const struct lang_rtcode *code = lang_net_code(f->net, comp->code);
    uint32_t slot_count = comp->code->slot_count;
    uint32_t first_free = slot_count - comp->code->free_count;
    struct lang_generator *g = lang_obj_new(vm, LANG_GENERATOR, sizeof(*g));

    g->code = code;
    g->slots = vs_calloc(slot_count, sizeof(g->slots[0]));
    g->loops = vs_calloc(comp->for_count, sizeof(g->loops[0]));
    for (uint32_t i = 0; i < comp->code->free_count; i++)
        g->slots[first_free + i] = lang_keep(f->slots[comp->code->captures[i]]);
    lang_push(vm, lang_object(g));
    if (!push_iter(vm, f, comp->fors[0].iter))
        return false;
    g->slots[0] = lang_pop(vm);
    for (uint32_t i = 1; i < first_free; i++) {
        if (comp->code->slots[i].is_cell)
            g->slots[i] = lang_object(lang_slot_cell(vm, code, i, lang_unbound()));
    }
    return true;
}

/* Binds the next value of the innermost active clause to its target; *ended: there is none. */
static bool step_clause(struct lang_vm *vm, struct lang_frame *f, struct lang_generator *g,
                        const struct lang_comp_for *clause, bool *ended)
{
    struct lang_value *it = &g->loops[g->loop_count - 1];
    struct lang_value item = lang_unbound();

    lang_at(vm, f, clause->iter);
    if (lang_is_bound(*it) &&
        !lang_iter_next(vm, *it, &item)) /* unbound: a single value, which has been used */
        return false;
    *ended = !lang_is_bound(item);
    if (*ended) {
        g->loop_count--;
        lang_drop(vm, *it);
        return true;
    }
    lang_push(vm, item);
    return lang_store(vm, f, clause->target);
}

/* Starts the next inner clause. *bound: its target is bound already. */
static bool start_clause(struct lang_vm *vm, struct lang_frame *f, struct lang_generator *g,
                         const struct lang_comp_for *clause, bool *bound)
{
    const struct lang_expr *single = single_value(clause);

    *bound = single != NULL;
    if (single != NULL) {
        if (!bind_single(vm, f, single, clause->target))
            return false;
        g->loops[g->loop_count++] = lang_unbound();
        return true;
    }
    if (!push_iter(vm, f, clause->iter))
        return false;
    g->loops[g->loop_count++] = lang_pop(vm);
    return true;
}

/* Continues until an element is on the stack (*found) or all loops have ended. */
static bool resume(struct lang_vm *vm, struct lang_frame *f, struct lang_generator *g,
                   const struct lang_comp *comp, bool *found)
{
    bool bound = false;
    bool ended;
    bool pass;

    *found = false;
    if (g->loop_count == 0)
        g->loops[g->loop_count++] = lang_keep(g->slots[0]);
    while (g->loop_count > 0) {
        uint32_t level = g->loop_count - 1;

        if (!bound) {
            if (!step_clause(vm, f, g, &comp->fors[level], &ended))
                return false;
            if (ended)
                continue;
        }
        bound = false;
        if (!pass_conds(vm, f, &comp->fors[level], &pass))
            return false;
        if (!pass)
            continue;
        if (level + 1 == comp->for_count) {
            *found = true;
            return lang_eval(vm, f, comp->elt);
        }
        if (!start_clause(vm, f, g, &comp->fors[level + 1], &bound))
            return false;
    }
    return true;
}

bool lang_generator_next(struct lang_vm *vm, struct lang_generator *g, struct lang_value *out)
{
    const struct lang_comp *comp = &g->code->code->value->u.comp;
    struct lang_value *at = vm->sp;
    struct lang_frame f;
    bool found;
    bool ok;

    *out = lang_unbound();
    if (g->is_done)
        return true;
    if (g->is_running)
        return lang_fail(vm, VS_E_VALUE, "this generator is already running");
    if (!lang_frame_enter(vm, &f, g->code, g->slots))
        return false;
    g->is_running = true;
    g->head.refs++;
    ok = resume(vm, &f, g, comp, &found);
    if (!ok)
        lang_unwind(vm, at);
    else if (found)
        *out = lang_pop(vm);
    lang_frame_pop(vm, &f);
    g->is_running = false;
    if (!ok || !found)
        lang_generator_finish(vm, g);
    lang_drop_obj(vm, g);
    return ok;
}

bool lang_eval_comp(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    if (e->u.comp.kind == LANG_COMP_GENERATOR)
        return make_generator(vm, f, &e->u.comp);
    return eval_inline(vm, f, &e->u.comp);
}

/*
 * lang/interp/interp.h - walking the tree: expressions leave one value on the stack, statements say where to go on.
 *
 * For:            the interp_*.c files and call.c.
 * Must not know:  the engine's ops.
 * Invariant:      every construct drops its operands where CPython 3.12's bytecode does (`python3.12 -m dis` shows it):
 *                 an operand stays on the stack until the result exists, then they go, lowest first. On failure
 *                 functions return at once and leave their operands for the frame, which drops them from the top.
 */
#ifndef LANG_INTERP_H
#define LANG_INTERP_H

#include "lang/interp/call.h"
#include "lang/value/hold.h"
#include "lang/value/vm.h"

/* Values an expression may have on the stack besides counted arguments: a few for each level of the tree. */
#define LANG_HEADROOM (LANG_MAX_HEIGHT * 8)

enum lang_flow {
    LANG_FLOW_NEXT,
    LANG_FLOW_BREAK,
    LANG_FLOW_CONTINUE,
    LANG_FLOW_RETURN, /* the value is in frame->result */
    LANG_FLOW_FAILED
};

/* ---- interp.c: frames and statements ---- */

/*
 * Call a function whose arguments have been bound: at[0] the function, at[1 …] its slots, stack above them. As
 * lang_call_at.
 */
VS_MUST_USE bool lang_run_function(struct lang_vm *vm, struct lang_value *at);
/* Run a file's top level. */
VS_MUST_USE bool lang_run_module(struct lang_vm *vm, struct lang_net *net);
VS_MUST_USE enum lang_flow lang_exec_block(struct lang_vm *vm, struct lang_frame *f,
                                           const struct lang_block *block);
/*
 * Set up and leave a frame over slots that lie on the stack. `leave` drops the slots; result stays in the frame. `pop`
 * only goes back to the frame before: the slots live on (generator expressions).
 */
VS_MUST_USE bool lang_frame_enter(struct lang_vm *vm, struct lang_frame *f,
                                  const struct lang_rtcode *code, struct lang_value *slots);
void lang_frame_leave(struct lang_vm *vm, struct lang_frame *f, bool ok);
void lang_frame_pop(struct lang_vm *vm, struct lang_frame *f);
/* Keep what a frame that was stopped held until the re-run is over. Taken. */
void lang_park(struct lang_vm *vm, struct lang_value taken);
void lang_parked_clear(struct lang_vm *vm);

/* ---- interp_stmt.c, interp_with.c, interp_def.c ---- */
VS_MUST_USE enum lang_flow lang_exec_simple(struct lang_vm *vm, struct lang_frame *f,
                                            const struct lang_stmt *s);
VS_MUST_USE enum lang_flow lang_exec_for(struct lang_vm *vm, struct lang_frame *f,
                                         const struct lang_stmt *s);
VS_MUST_USE enum lang_flow lang_exec_with(struct lang_vm *vm, struct lang_frame *f,
                                          const struct lang_stmt *s);
VS_MUST_USE bool lang_exec_def(struct lang_vm *vm, struct lang_frame *f, const struct lang_stmt *s);
VS_MUST_USE bool lang_exec_class(struct lang_vm *vm, struct lang_frame *f,
                                 const struct lang_stmt *s);
VS_MUST_USE bool lang_exec_import(struct lang_vm *vm, struct lang_frame *f,
                                  const struct lang_stmt *s);
VS_MUST_USE bool lang_exec_raise(struct lang_vm *vm, struct lang_frame *f,
                                 const struct lang_stmt *s);

/* ---- interp_name.c: names and targets ---- */
VS_MUST_USE bool lang_load_name(struct lang_vm *vm, struct lang_frame *f,
                                const struct lang_expr *e);
VS_MUST_USE bool lang_bind(struct lang_vm *vm, struct lang_frame *f, const struct lang_ref *ref,
                           struct lang_value taken);
/* Bind what is on top of the stack to a target; consumed. */
VS_MUST_USE bool lang_store(struct lang_vm *vm, struct lang_frame *f,
                            const struct lang_expr *target);
VS_MUST_USE bool lang_delete(struct lang_vm *vm, struct lang_frame *f,
                             const struct lang_expr *target);
/* A slot's value changes; the old one goes after the new one (taken) is in. */
void lang_slot_set(struct lang_vm *vm, struct lang_frame *f, uint32_t slot,
                   struct lang_value taken);
/* A new cell for slot `slot` of this code, holding `taken`. */
struct lang_cell *lang_slot_cell(struct lang_vm *vm, const struct lang_rtcode *code, uint32_t slot,
                                 struct lang_value taken) VS_MUST_USE;

/* ---- interp_expr.c, interp_call.c, interp_comp.c, interp_fstring.c ---- */
VS_MUST_USE bool lang_eval_any(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e);
static inline bool lang_eval(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    /* most are a local name */
    if (e->kind == LANG_EXPR_NAME && e->u.name.scope == LANG_SCOPE_LOCAL &&
        lang_is_bound(f->slots[e->u.name.slot])) {
        lang_push(vm, lang_keep(f->slots[e->u.name.slot]));
        return true;
    }
    return lang_eval_any(vm, f, e);
}
/* The truth of an expression, which is dropped as soon as it is known. */
VS_MUST_USE bool lang_eval_test(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e,
                                bool *out);
VS_MUST_USE bool lang_eval_call(struct lang_vm *vm, struct lang_frame *f,
                                const struct lang_expr *e);
VS_MUST_USE bool lang_eval_comp(struct lang_vm *vm, struct lang_frame *f,
                                const struct lang_expr *e);
/*
 * A comprehension whose value goes straight into a local (`x = [...]`): CPython's compiler exchanges that with the
 * first of the instructions that put the comprehension's variables back (apply_static_swaps in 3.12's flowgraph.c).
 * `binds_first` says whether it does, `first` evaluates and binds.
 */
bool lang_comp_binds_first(const struct lang_expr *value, const struct lang_expr *target);
VS_MUST_USE bool lang_eval_comp_first(struct lang_vm *vm, struct lang_frame *f,
                                      const struct lang_expr *value,
                                      const struct lang_expr *target);
VS_MUST_USE bool lang_eval_fstring(struct lang_vm *vm, struct lang_frame *f,
                                   const struct lang_expr *e);
VS_MUST_USE bool lang_eval_function(struct lang_vm *vm, struct lang_frame *f,
                                    const struct lang_code *code);
/* Items of a list, tuple or call with starred ones: a new list on top of the stack. */
VS_MUST_USE bool lang_eval_spread(struct lang_vm *vm, struct lang_frame *f,
                                  const struct lang_exprs *exprs);

/* The line CPython gives an expression's instruction: a call of a method is at the method's name. */
uint32_t lang_expr_line(const struct lang_expr *e);

/* Where we are now. */
static inline void lang_at(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    f->at = e;
    lang_line(vm, f, e->span.line);
}

#endif

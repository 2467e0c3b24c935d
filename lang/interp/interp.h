/*
 * lang/interp/interp.h - the tree-walking interpreter: an expression leaves one value on the stack, a statement
 * returns how control continues.
 *
 * For:            the interp_*.c files and call.c.
 * Must not know:  the engine's ops.
 * Invariant:      every construct drops its operands where CPython 3.12's bytecode does (`python3.12 -m dis` shows it):
 *                 operands stay on the stack until the result exists and are then dropped, lowest first. On failure
 *                 functions return at once and leave their operands on the stack; lang_frame_leave() drops them from
 *                 the top.
 */
#ifndef LANG_INTERP_H
#define LANG_INTERP_H

#include "lang/interp/call.h"
#include "lang/value/hold.h"
#include "lang/value/vm.h"

/* The most values that an expression has on the stack besides call arguments: a few per level of the tree. */
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
 * Runs a function whose arguments have been assigned: at[0] is the function, at[1 …] are its slots. Contract as for
 * lang_call_at().
 */
VS_MUST_USE bool lang_run_function(struct lang_vm *vm, struct lang_value *at);
/* Runs the top level of a file. */
VS_MUST_USE bool lang_run_module(struct lang_vm *vm, struct lang_net *net);
VS_MUST_USE enum lang_flow lang_exec_block(struct lang_vm *vm, struct lang_frame *f,
                                           const struct lang_block *block);
/*
 * Enter and leave a frame. `enter` makes `f` the current frame, with `slots`, which must outlive it; false with a
 * failure noted where calls are nested too deeply. `leave` drops all values above and in the slots and goes back to
 * the previous frame; f->result stays valid; ok: the code did not fail. `pop` only goes back to the previous frame and
 * keeps the slots (generator expressions).
 */
VS_MUST_USE bool lang_frame_enter(struct lang_vm *vm, struct lang_frame *f,
                                  const struct lang_rtcode *code, struct lang_value *slots);
void lang_frame_leave(struct lang_vm *vm, struct lang_frame *f, bool ok);
void lang_frame_pop(struct lang_vm *vm, struct lang_frame *f);
/*
 * A checkpoint stops its recomputation early. `park` keeps a value (taken) of a stopped frame until the recomputation
 * is over; `clear` drops all of them in the order in which they were kept.
 */
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
/* Pops the top of the stack and binds it to a target. */
VS_MUST_USE bool lang_store(struct lang_vm *vm, struct lang_frame *f,
                            const struct lang_expr *target);
VS_MUST_USE bool lang_delete(struct lang_vm *vm, struct lang_frame *f,
                             const struct lang_expr *target);
/* Stores `taken` in a slot, then drops the old value; emits the hold and drop events of the variable. */
void lang_slot_set(struct lang_vm *vm, struct lang_frame *f, uint32_t slot,
                   struct lang_value taken);
/* A new cell with value `taken` for the variable in slot `slot` of this code. */
struct lang_cell *lang_slot_cell(struct lang_vm *vm, const struct lang_rtcode *code, uint32_t slot,
                                 struct lang_value taken) VS_MUST_USE;

/* ---- interp_expr.c, interp_call.c, interp_comp.c, interp_fstring.c ---- */
VS_MUST_USE bool lang_eval_any(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e);
static inline bool lang_eval(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    /* fast path: most expressions are a local name */
    if (e->kind == LANG_EXPR_NAME && e->u.name.scope == LANG_SCOPE_LOCAL &&
        lang_is_bound(f->slots[e->u.name.slot])) {
        lang_push(vm, lang_keep(f->slots[e->u.name.slot]));
        return true;
    }
    return lang_eval_any(vm, f, e);
}
/* Evaluates an expression and sets *out to its truth value; the value is dropped at once. */
VS_MUST_USE bool lang_eval_test(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e,
                                bool *out);
VS_MUST_USE bool lang_eval_call(struct lang_vm *vm, struct lang_frame *f,
                                const struct lang_expr *e);
VS_MUST_USE bool lang_eval_comp(struct lang_vm *vm, struct lang_frame *f,
                                const struct lang_expr *e);
/*
 * `x = [...]` with a comprehension and a local x: CPython's compiler moves the store to x before the first instruction
 * that restores a variable hidden by the comprehension (apply_static_swaps in flowgraph.c of 3.12), which changes the
 * order in which values are freed. lang_comp_binds_first() says whether it does so here; lang_eval_comp_first() then
 * evaluates the comprehension and binds x in that order.
 */
bool lang_comp_binds_first(const struct lang_expr *value, const struct lang_expr *target);
VS_MUST_USE bool lang_eval_comp_first(struct lang_vm *vm, struct lang_frame *f,
                                      const struct lang_expr *value,
                                      const struct lang_expr *target);
VS_MUST_USE bool lang_eval_fstring(struct lang_vm *vm, struct lang_frame *f,
                                   const struct lang_expr *e);
VS_MUST_USE bool lang_eval_function(struct lang_vm *vm, struct lang_frame *f,
                                    const struct lang_code *code);
/* Evaluates the items of a list, tuple or call, some of which are starred, to a new list on top of the stack. */
VS_MUST_USE bool lang_eval_spread(struct lang_vm *vm, struct lang_frame *f,
                                  const struct lang_exprs *exprs);

/* The line that CPython records for an expression: for the call of a method, the line of the method's name. */
uint32_t lang_expr_line(const struct lang_expr *e);

/* Sets the current expression and line, for messages and the trace. */
static inline void lang_at(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    f->at = e;
    lang_line(vm, f, e->span.line);
}

#endif

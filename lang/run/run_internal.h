/*
 * lang/run/run_internal.h - the state of a run, shared by the files of lang/run/.
 *
 * For:            the .c files of lang/run/ only.
 * Must not know:  anything above lang/.
 * Invariant:      *result is filled while the run goes on, so that after a failure it holds everything up to the
 *                 failure.
 */
#ifndef LANG_RUN_INTERNAL_H
#define LANG_RUN_INTERNAL_H

#include "engine/core/engine.h"
#include "lang/run/lang.h"
#include "lang/run/own_step.h"
#include "lang/run/run.h"
#include "lang/value/object.h"

/*
 * at_start    the engine's counters at the beginning of the step
 * step        index of the current step, set by the loop; -1 during set-up
 * step_loss   sum of the losses of this step so far; valid where has_loss
 * is_saved_exact  the figures `saved` were taken where a backward() began
 * own_step    what the net's own train_step does
 * net, dict   the loaded net file; the dict of settings that is passed to the built-in loop
 */
struct lang_call;
struct lang_pass;

/*
 * A run that a search for placements makes (lang/run/plan.c).
 *
 * placement  applied instead of searching for one
 * pass       filled by the marks of all modules; NULL: no marks
 */
struct lang_run_nested {
    const char *placement;
    struct lang_pass *pass;
};
struct lang_run_state {
    struct lang_settings *settings;
    struct lang_result *result;
    struct eng *eng;
    struct lang_vm *vm;
    struct eng_counters at_start;
    int64_t step;
    bool has_loss;
    double step_loss;
    uint64_t scaler_calls; /* calls of GradScaler.step in this step */
    bool is_saved_exact;
    struct lang_own_step own_step;
    struct lang_net *net;
    struct lang_value dict;
    const struct lang_run_nested *nested; /* NULL: a run of its own */
};

/*
 * Adds the functions for the built-in loop to the module torch of run->vm. They keep `run`, which must outlive the vm.
 */
void lang_run_natives_register(struct lang_run_state *run);

/* Adds the functions that observe in-place modules to the module torch of the vm of an in-place check. */
void lang_run_inplace_natives_register(struct lang_vm *vm);

/* Ends the current step, if any: completes its figures. Once for each step. */
void lang_run_step_close(struct lang_run_state *run);

/*
 * Ends a phase: adds its figures to result->phases, restarts the peaks and reports progress. Returns false with a
 * failure noted where the run is to stop.
 */
VS_MUST_USE bool lang_run_phase_end(struct lang_run_state *run, enum vs_phase phase,
                                    uint32_t micro);
/*
 * A loss has ended: what autograd holds now is the run's `saved`, unless this is no longer the end of a loss that
 * backward() follows (before_backward) while there was one.
 */
void lang_run_saved_note(struct lang_run_state *run, bool before_backward);
/* Appends to result->refusals; the texts are copied. */
void lang_run_refusal_add(struct lang_run_state *run, const char *toggle, const char *path,
                          const char *reason);

/*
 * Calls a function of lang/prelude/train.py with (net, settings) and, where it is bound, a third argument; all are
 * borrowed. The caller owns *out. Fails with the status of the error that the function raised.
 */
VS_MUST_USE enum vs_status lang_run_call_loop(struct lang_vm *vm, const char *function,
                                              struct lang_net *net, struct lang_value settings,
                                              struct lang_value third, struct lang_value *out,
                                              struct vs_error *err);
/* A dict with the values of all toggles, numbers as numbers. The caller owns it. */
struct lang_value lang_run_toggles_dict(struct lang_vm *vm, const struct vs_toggles *toggles);
/* The `stop` callback of the engine and the vm: calls settings->stop; `user` is the struct lang_settings. */
bool lang_run_poll_stop(void *user);

/* As lang_run; settings has a library, in-place checks and plans. */
VS_MUST_USE enum vs_status lang_run_nested(struct lang_settings *settings,
                                           const struct lang_run_nested *nested,
                                           struct lang_result *result, struct vs_error *err);

/* ---- plan.c: functions of the module torch whose closure is the run; used by lang/prelude/toggles.py ---- */
/* torch._placement(): the text of the placement that the toggle `checkpoint` asks for */
VS_MUST_USE bool lang_run_placement(struct lang_vm *vm, const struct lang_call *call,
                                    struct lang_value *out);
/* torch._plan_enter(path, input), torch._plan_exit(input, output): marks; tensors or None */
VS_MUST_USE bool lang_run_plan_enter(struct lang_vm *vm, const struct lang_call *call,
                                     struct lang_value *out);
VS_MUST_USE bool lang_run_plan_exit(struct lang_vm *vm, const struct lang_call *call,
                                    struct lang_value *out);

/* ---- run_natives.c: functions of the module torch ---- */
struct lang_run_native {
    const char *name;
    lang_native_fn *fn;
};
/* Adds each function of the table to the module torch. `closure` (borrowed) is what each keeps as its closure. */
void lang_run_natives_add(struct lang_vm *vm, const struct lang_run_native *table, size_t count,
                          struct lang_value closure);
/* torch._legal_values(toggle): a sentence with the values that the toggle may have. */
VS_MUST_USE bool lang_run_legal_values(struct lang_vm *vm, const struct lang_call *call,
                                       struct lang_value *out);

/* ---- run_distributed.c: functions of the module torch whose closure is the run ---- */
/* torch._ready_expect(tensors), torch._ready_order(): engine/autograd/ready.h */
VS_MUST_USE bool lang_run_ready_expect(struct lang_vm *vm, const struct lang_call *call,
                                       struct lang_value *out);
VS_MUST_USE bool lang_run_ready_order(struct lang_vm *vm, const struct lang_call *call,
                                      struct lang_value *out);
/* torch._collective(name, bytes, sent): adds to result->collectives */
VS_MUST_USE bool lang_run_collective(struct lang_vm *vm, const struct lang_call *call,
                                     struct lang_value *out);
/* A step begins: the figures of the last one are zero. */
void lang_run_collectives_step(struct lang_result *result);

/*
 * ---- run_ranks.c: functions of the module torch whose closure is the run ----
 *
 * _rank_count(): how many processes train for real, 0: this one alone; _rank(): which of them this one is.
 * _gather(all): all parts of `all`, of which this process has filled its own; _reduce_scatter(own, all): own becomes
 * the mean of what all have for it; _all_reduce(t): the mean; _broadcast(t, root): what that rank has. Tensors are
 * dense; gradients in half precision are summed in float32 and rounded once.
 */
VS_MUST_USE bool lang_run_rank_count(struct lang_vm *vm, const struct lang_call *call,
                                     struct lang_value *out);
VS_MUST_USE bool lang_run_rank(struct lang_vm *vm, const struct lang_call *call,
                               struct lang_value *out);
VS_MUST_USE bool lang_run_gather(struct lang_vm *vm, const struct lang_call *call,
                                 struct lang_value *out);
VS_MUST_USE bool lang_run_reduce_scatter(struct lang_vm *vm, const struct lang_call *call,
                                         struct lang_value *out);
VS_MUST_USE bool lang_run_all_reduce(struct lang_vm *vm, const struct lang_call *call,
                                     struct lang_value *out);
VS_MUST_USE bool lang_run_broadcast(struct lang_vm *vm, const struct lang_call *call,
                                    struct lang_value *out);

/*
 * ---- inplace_checks.c: functions of the module torch whose closure is the run; used by lang/prelude/toggles.py ----
 */
VS_MUST_USE bool lang_run_inplace_check(struct lang_vm *vm, const struct lang_call *call,
                                        struct lang_value *out);
VS_MUST_USE bool lang_run_inplace_blame(struct lang_vm *vm, const struct lang_call *call,
                                        struct lang_value *out);

/*
 * stage_shapes.c: torch._stage_shapes(), whose closure is the run: what stage_shapes() of lang/prelude/train.py says
 * with the toggles of this run, on a device of its own without data.
 */
VS_MUST_USE bool lang_run_stage_shapes(struct lang_vm *vm, const struct lang_call *call,
                                       struct lang_value *out);

#endif

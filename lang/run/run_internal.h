/*
 * lang/run/run_internal.h - what run.c, run_natives.c and run_checks.c share: a run in progress.
 *
 * For:            lang/run*.c only.
 * Must not know:  anything above lang/.
 * Invariant:      result is filled as things happen, so that a run that fails leaves what it got to.
 */
#ifndef LANG_RUN_INTERNAL_H
#define LANG_RUN_INTERNAL_H

#include "engine/core/engine.h"
#include "lang/run/lang.h"
#include "lang/run/run.h"
#include "lang/value/object.h"

/*
 * at_start    the counters when the step began
 * step        as the loop said last; -1 before
 * step_loss   of this step so far, where has_loss
 * net, dict   the file; the settings the built-in loop gets
 */
struct lang_call;
struct lang_run_state {
    struct lang_settings *settings;
    struct lang_result *result;
    struct eng *eng;
    struct lang_vm *vm;
    struct eng_counters at_start;
    int64_t step;
    bool has_loss;
    double step_loss;
    uint64_t scaler_calls; /* of GradScaler.step, in this step */
    struct lang_net *net;
    struct lang_value dict;
};

/* Adds the loop's functions to the module torch of run->vm. They hold `run`, which must outlive the vm. */
void lang_run_natives_register(struct lang_run_state *run);

/* The same for the vm of a trial: what watches in-place modules. */
void lang_run_inplace_natives_register(struct lang_vm *vm);

/* The step that is open is over: what was counted in it is its. */
void lang_run_step_close(struct lang_run_state *run);

/*
 * Call a function of the loop's file with (net, settings) and, where bound, a third argument (lent). *out is the
 * caller's.
 */
VS_MUST_USE enum vs_status lang_run_call_loop(struct lang_vm *vm, const char *function,
                                              struct lang_net *net, struct lang_value settings,
                                              struct lang_value third, struct lang_value *out,
                                              struct vs_error *err);
/* The engine's and the vm's `stop`: settings->stop, `user` being the settings. */
bool lang_run_hear_stop(void *user);

/* ---- run_natives.c: functions of the module torch ---- */
struct lang_run_native {
    const char *name;
    lang_native_fn *fn;
};
/* Each holds `closure` (lent). */
void lang_run_natives_add(struct lang_vm *vm, const struct lang_run_native *table, size_t count,
                          struct lang_value closure);
/* torch._legal_values(toggle): what it may be set to, in words. */
VS_MUST_USE bool lang_run_legal_values(struct lang_vm *vm, const struct lang_call *call,
                                       struct lang_value *out);

/* ---- run_distributed.c: those of a run, which is their closure ---- */
/* torch._ready_expect(tensors), torch._ready_order(): engine/autograd/ready.h */
VS_MUST_USE bool lang_run_ready_expect(struct lang_vm *vm, const struct lang_call *call,
                                       struct lang_value *out);
VS_MUST_USE bool lang_run_ready_order(struct lang_vm *vm, const struct lang_call *call,
                                      struct lang_value *out);

/* ---- run_checks.c: those of a run, which is their closure; see lang/prelude/toggles.py ---- */
VS_MUST_USE bool lang_run_inplace_check(struct lang_vm *vm, const struct lang_call *call,
                                        struct lang_value *out);
VS_MUST_USE bool lang_run_inplace_blame(struct lang_vm *vm, const struct lang_call *call,
                                        struct lang_value *out);

#endif

/*
 * lang/run_internal.h - what run.c, run_natives.c, run_trials.c and run_repeat.c share: a run in progress.
 *
 * For:            lang/run*.c only.
 * Must not know:  anything above lang/.
 * Invariant:      result is filled as things happen, so that a run that fails leaves what it got to.
 */
#ifndef LANG_RUN_INTERNAL_H
#define LANG_RUN_INTERNAL_H

#include "engine/engine.h"
#include "lang/lang.h"
#include "lang/object.h"
#include "lang/run.h"

/*
 * at_start    the counters when the step began
 * step        as the loop said last; -1 before
 * step_loss   of this step so far, where has_loss
 * saved_of_step   what autograd held when the last loss of this step ended
 * repeat      lang/run_repeat.c
 */
struct lang_run_repeat;
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
    struct {
        bool is_known;
        uint64_t tensors;
        uint64_t bytes;
        uint64_t bytes_all;
    } saved_of_step;
    struct lang_run_repeat *repeat;
};

/* Adds the loop's functions to the module torch of run->vm. They hold `run`, which must outlive the vm. */
void lang_run_natives_register(struct lang_run_state *run);

/* The same for the vm of a trial: what watches in-place modules. */
void lang_run_trial_natives_register(struct lang_vm *vm);

/* The step that is open is over: what was counted in it is its. */
void lang_run_step_close(struct lang_run_state *run);

/* A step begins, but for its event; a phase is over (false: stopped, with a failure noted); what autograd held is that of the run. */
void lang_run_step_begin(struct lang_run_state *run, int64_t step);
VS_MUST_USE bool lang_run_phase_end(struct lang_run_state *run, enum vs_phase phase,
                                    uint32_t micro);
void lang_run_saved_note(struct lang_run_state *run);

/* ---- run_repeat.c ---- */
struct lang_run_repeat *lang_run_repeat_new(void) VS_MUST_USE;
void lang_run_repeat_free(struct lang_run_repeat *r);
/* A phase of a step that runs is over. */
void lang_run_repeat_mark(struct lang_run_state *run, enum vs_phase phase, uint32_t micro);
/*
 * Step `step` of `steps` is about to begin: *out says whether it and all after it have been told instead, since they repeat themselves. `call`:
 * of the loop's function, with the optimizer as third argument where only its counts of steps grow, None where that is not known. False: a failure.
 */
VS_MUST_USE bool lang_run_repeat_rest(struct lang_run_state *run, const struct lang_call *call,
                                      int64_t step, int64_t steps, bool *out);

/* The settings the prelude gets: a dict with every toggle, the caller's. */
struct lang_value lang_run_settings_dict(struct lang_vm *vm, const struct vs_toggles *toggles,
                                         double lr, bool formula, bool dump);

/* Call a function of the loop's file with (net, settings) and, where bound, a third argument (lent). */
VS_MUST_USE enum vs_status lang_run_call_loop(struct lang_vm *vm, const char *function,
                                              struct lang_net *net, struct lang_value settings,
                                              struct lang_value third, struct vs_error *err);
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

/* ---- run_trials.c: those of a run, which is their closure; see lang/prelude/toggles.py ---- */
VS_MUST_USE bool lang_run_inplace_trial(struct lang_vm *vm, const struct lang_call *call,
                                        struct lang_value *out);
VS_MUST_USE bool lang_run_inplace_blame(struct lang_vm *vm, const struct lang_call *call,
                                        struct lang_value *out);

#endif

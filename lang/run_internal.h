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
 * net, dict, started   the file; the settings the prelude gets; what its set-up has given
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
    struct lang_net *net;
    struct lang_value dict;
    struct lang_value started;
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

/* Call a function of the loop's file with (net, settings) and, where bound, a third argument (lent). *out is the caller's. */
VS_MUST_USE enum vs_status lang_run_call_loop(struct lang_vm *vm, const char *function,
                                              struct lang_net *net, struct lang_value settings,
                                              struct lang_value third, struct lang_value *out,
                                              struct vs_error *err);
/* The engine's and the vm's `stop`: settings->stop, `user` being the settings. */
bool lang_run_hear_stop(void *user);

/* ---- run_start.c: set-ups that are kept (lang/starts.h) ---- */

/* Of a run in progress. starts: NULL where it begins at its beginning and leaves nothing; stack: for its machine, NULL: one of its own */
struct lang_run_start {
    struct lang_starts *starts;
    char *key;
    struct lang_value *stack;
};
/*
 * A run begins: at the end of its set-up, where one like it is kept, told to the observer as if it had happened now; else NULL. In both cases what is got from
 * base/mem.h from now on is the run's own and goes with it, but for where it is said otherwise (vs_heap_enter(NULL)).
 */
struct lang_run_state *lang_start_begin(struct lang_settings *settings, struct lang_result *result,
                                        struct lang_run_start *at);
/* Its set-up is over: it may be kept. */
void lang_start_keep(struct lang_run_start *at, struct lang_run_state *run);
/* Its steps are over. False: what it owns has to be freed piece by piece before it is closed. */
VS_MUST_USE bool lang_start_end(struct lang_run_start *at);
void lang_start_close(struct lang_run_start *at);

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
/* torch._ready_expect(tensors), torch._ready_order(): engine/ready.h */
VS_MUST_USE bool lang_run_ready_expect(struct lang_vm *vm, const struct lang_call *call,
                                       struct lang_value *out);
VS_MUST_USE bool lang_run_ready_order(struct lang_vm *vm, const struct lang_call *call,
                                      struct lang_value *out);

/* ---- run_trials.c: those of a run, which is their closure; see lang/prelude/toggles.py ---- */
VS_MUST_USE bool lang_run_inplace_trial(struct lang_vm *vm, const struct lang_call *call,
                                        struct lang_value *out);
VS_MUST_USE bool lang_run_inplace_blame(struct lang_vm *vm, const struct lang_call *call,
                                        struct lang_value *out);

#endif

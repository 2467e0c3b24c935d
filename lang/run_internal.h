/*
 * lang/run_internal.h - what run.c and run_natives.c share: a run in progress.
 *
 * For:            lang/run*.c only.
 * Must not know:  anything above lang/.
 * Invariant:      result is filled as things happen, so that a run that fails leaves what it got to.
 */
#ifndef LANG_RUN_INTERNAL_H
#define LANG_RUN_INTERNAL_H

#include "engine/engine.h"
#include "lang/lang.h"
#include "lang/run.h"

/*
 * at_start    the counters when the step began
 * step        as the loop said last; -1 before
 * step_loss   of this step so far, where has_loss
 */
struct lang_run_state {
    struct lang_settings *settings;
    struct lang_result *result;
    struct eng *eng;
    struct lang_vm *vm;
    struct eng_counters at_start;
    int64_t step;
    bool has_loss;
    double step_loss;
};

/* Adds the loop's functions to the module torch of run->vm. They hold `run`, which must outlive the vm. */
void lang_run_natives_register(struct lang_run_state *run);

/* The same for the vm of a trial: what watches in-place modules. */
void lang_run_trial_natives_register(struct lang_vm *vm);

/* The step that is open is over: what was counted in it is its. */
void lang_run_step_close(struct lang_run_state *run);

/* The settings the prelude gets: a dict with every toggle, the caller's. */
struct lang_value lang_run_settings_dict(struct lang_vm *vm, const struct vs_toggles *toggles,
                                         double lr, bool formula, bool dump);

/*
 * A forward, loss and backward on a device without data of its own, the modules at `paths` (a list or tuple of strings, lent, of
 * any vm) in place. VS_OK: nothing went wrong. Otherwise `err` says what; VS_E_STOPPED: nothing was found out.
 *
 * blame   where not NULL: one text for each of the paths, NULL at first. What goes wrong is sought for all of them in this one run
 *         (eng_blame_begin): VS_OK then means that a module would be refused if tried after those before it that are kept, with the text
 *         it has here, and the others would not. Texts are the caller's, by vs_free, also after a failure.
 */
VS_MUST_USE enum vs_status lang_run_trial(struct lang_settings *settings,
                                          const struct vs_toggles *toggles, struct lang_value paths,
                                          char **blame, struct vs_error *err);

#endif

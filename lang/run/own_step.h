/*
 * lang/run/own_step.h - the phases of a step that the net's own train_step makes.
 *
 * For:            the functions of the module torch that lang/prelude/train.py calls around train_step.
 * Must not know:  how the loop is written.
 * Invariant:      phases follow from what train_step does, in whatever order and how often it does it; the rules are
 *                 those of docs/guide/net-language.md ("A step of its own").
 *
 * A step begins in phase `data`. The outermost call of a module with parameters is `forward`, what follows it `loss`.
 * `backward` begins with GradScaler.scale() or backward(), `optimizer` with step(), `zero_grad` with zero_grad(); each
 * lasts until another one begins. A copy from the host to the device begins `data` again, unless a forward has had no
 * backward() yet. After step() and zero_grad() it is `loss` again where a forward has had no backward()
 * yet, and after zero_grad() `data` again where nothing but the batch came before. torch.autograd.grad() is `backward`
 * while it runs. Within backward and zero_grad() nothing else begins: a module that a checkpoint runs again is part of
 * backward.
 *
 * With `amp` the loop enters an autocast region when a forward begins outside any region of the net. It leaves the
 * region when backward or step() begins, when train_step enters a region of its own, or when the step ends.
 */
#ifndef LANG_OWN_STEP_H
#define LANG_OWN_STEP_H

#include "base/event.h"
#include "engine/core/engine.h"
#include "lang/value/parts.h"

#define LANG_OWN_STEP_DEPTH                                                                        \
    8 /* parts within each other; those further inside belong to the outer ones */

struct lang_run_state;

/*
 * parts        reported to this
 * phase        the current one
 * active       parts that have begun and not ended, outermost first, and the phase before each
 * is_pending   a forward has ended, and no backward() has begun since
 * has_new_gradients  a backward() has ended since lang_own_step_take_new_gradients was called
 * is_open      the loop's autocast region is entered; `before` is the state to restore
 * regions      how often it was entered in the run
 * own_regions  how many regions train_step has entered itself, outside modules
 * scaled       how often GradScaler.scale was called; had_backward: backward() was, in the run
 * stepped      how many parts were a step of an optimizer
 * first        the module of the first forward since an optimizer's last step; NULL: there was none
 * batch_elems  elements of the step's batch where several optimizers share it, as in a GAN: its forwards of the whole
 *              batch are then one part in all; 0: every forward is a part
 * has_whole    this call of train_step has had a forward of the whole batch
 * has_forward  a forward of that module has begun since the last backward()
 * backwards    backward() of a forward of its own, since an optimizer's last step; most_backwards: the highest of these
 * counts       how many phases of each kind have ended in this step
 */
struct lang_own_step {
    struct lang_run_state *run;
    struct lang_parts parts;
    enum vs_phase phase;
    struct {
        enum lang_part part;
        enum vs_phase before;
    } active[LANG_OWN_STEP_DEPTH];
    uint32_t depth;
    bool is_pending;
    bool has_new_gradients;
    bool is_open;
    struct eng_autocast before;
    uint64_t regions;
    uint64_t own_regions;
    uint64_t scaled;
    bool had_backward;
    uint64_t stepped;
    const void *first;
    uint64_t batch_elems;
    bool has_whole;
    bool has_forward;
    uint64_t backwards, most_backwards;
    uint32_t counts[VS_PHASE_COUNT];
};

/* train_step is about to be called, in phase `data`: listens to parts from now on. */
void lang_own_step_begin(struct lang_run_state *run, uint64_t batch_elems);
/* train_step has returned: leaves the loop's autocast region and stops listening. The phase stays as it is. */
void lang_own_step_end(struct lang_run_state *run);
/* Ends the last phase of the step. Returns false with a failure noted where the run is to stop. */
VS_MUST_USE bool lang_own_step_close(struct lang_run_state *run);
/* Whether a backward() has ended since the last call of this function. */
bool lang_own_step_take_new_gradients(struct lang_run_state *run);
/*
 * The run is over: notes as refused those toggles that had no effect because of what train_step did, and warns of an
 * fp16 loss that it did not scale.
 */
void lang_own_step_refuse(struct lang_run_state *run);

#endif

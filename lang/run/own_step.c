/*
 * lang/run/own_step.c - see own_step.h.
 *
 * Must not know:  traces.
 * Invariant:      the loop's autocast region is entered and left while no region of the net is entered inside it by
 *                 train_step itself, so regions are always left in the reverse order.
 */
#include "lang/run/own_step.h"

#include <string.h>

#include "lang/run/run_internal.h"

/* ---- phases ---- */

static bool phase_close(struct lang_own_step *own)
{
    struct lang_run_state *run = own->run;

    if (vs_toggles_is(&run->result->toggles, VS_TOGGLE_EMPTY_CACHE, "phase"))
        eng_empty_cache(run->eng);
    return lang_run_phase_end(run, own->phase, own->counts[own->phase]++);
}

/* What the step computes in phase `data` is not the batch, so it does not count as such. */
static void category_choose(const struct lang_own_step *own)
{
    eng_category_default(own->run->eng,
                         own->phase == VS_PHASE_DATA ? VS_CAT_ACTIVATION : VS_CATEGORY_COUNT);
}

static bool phase_switch(struct lang_own_step *own, enum vs_phase next)
{
    if (own->phase == next)
        return true;
    if (own->phase == VS_PHASE_LOSS)
        lang_run_saved_note(own->run, next == VS_PHASE_BACKWARD);
    if (!phase_close(own))
        return false;
    own->phase = next;
    category_choose(own);
    eng_location_phase(own->run->eng, next);
    return true;
}

/* ---- the loop's autocast region ---- */

static void region_enter(struct lang_own_step *own)
{
    const struct vs_toggles *toggles = &own->run->result->toggles;
    bool is_fp16 = vs_toggles_is(toggles, VS_TOGGLE_AMP, "fp16");
    struct eng_autocast state = {
        .enabled = true, .cache_enabled = true, .dtype = is_fp16 ? VS_F16 : VS_BF16};

    if (vs_toggles_is(toggles, VS_TOGGLE_AMP, "off") || eng_autocast_depth(own->run->eng) > 0)
        return;
    own->before = eng_autocast_enter(own->run->eng, state);
    own->is_open = true;
    own->regions++;
}

static void region_leave(struct lang_own_step *own)
{
    if (own->is_open)
        eng_autocast_exit(own->run->eng, own->before);
    own->is_open = false;
}

/* ---- parts ---- */

static enum vs_phase phase_of(enum lang_part part)
{
    switch (part) {
    case LANG_PART_FORWARD:
        return VS_PHASE_FORWARD;
    case LANG_PART_SCALE:
    case LANG_PART_BACKWARD:
    case LANG_PART_GRAD:
        return VS_PHASE_BACKWARD;
    case LANG_PART_OPTIMIZER:
        return VS_PHASE_OPTIMIZER;
    case LANG_PART_ZERO_GRAD:
        return VS_PHASE_ZERO_GRAD;
    case LANG_PART_DATA:
    case LANG_PART_AUTOCAST:
        break;
    }
    return VS_PHASE_DATA;
}

/* Whether a part that begins now is within another one that it belongs to. */
static bool is_within(const struct lang_own_step *own, enum lang_part part)
{
    enum vs_phase around;

    if (own->depth == 0)
        return false;
    around = phase_of(own->active[own->depth - 1].part);
    return own->depth == LANG_OWN_STEP_DEPTH || around == phase_of(part) ||
           around == VS_PHASE_BACKWARD || around == VS_PHASE_ZERO_GRAD;
}

static void autocast_note(struct lang_own_step *own)
{
    if (own->depth > 0)
        return;
    region_leave(own);
    own->own_regions++;
}

/* Whether this forward and one before it in this call of train_step are of the whole batch. */
static bool is_whole_again(struct lang_own_step *own)
{
    const bool had = own->has_whole;

    if (!own->batch_elems || own->parts.input_elems < own->batch_elems)
        return false;
    own->has_whole = true;
    return had;
}

/*
 * Counts the parts of a batch that is accumulated: each has a forward of the same module and a backward(), and they
 * share a step. Two halves of a net that are trained one after the other are no such parts, and neither are the real
 * and the generated batch of a GAN.
 */
static void accumulation_note(struct lang_own_step *own, enum lang_part part)
{
    if (part == LANG_PART_FORWARD) {
        if (own->first == NULL)
            own->first = own->parts.module;
        if (own->first == own->parts.module && !is_whole_again(own))
            own->has_forward = true;
    } else if (part == LANG_PART_BACKWARD) {
        own->backwards += own->has_forward;
        own->has_forward = false;
    } else if (part == LANG_PART_OPTIMIZER) {
        if (own->backwards > own->most_backwards)
            own->most_backwards = own->backwards;
        own->backwards = 0;
        own->first = NULL;
    }
}

static bool part_begin(void *user, enum lang_part part, bool *has_begun)
{
    struct lang_own_step *own = user;

    if (part == LANG_PART_AUTOCAST) {
        autocast_note(own);
        return true;
    }
    if (part == LANG_PART_DATA)
        return own->depth > 0 || own->is_pending || phase_switch(own, VS_PHASE_DATA);
    if (is_within(own, part))
        return true;
    accumulation_note(own, part);
    if (part == LANG_PART_FORWARD)
        region_enter(own);
    else if (part != LANG_PART_ZERO_GRAD)
        region_leave(own);
    if (part == LANG_PART_SCALE) {
        own->scaled++;
        return phase_switch(own, VS_PHASE_BACKWARD);
    }
    own->active[own->depth].part = part;
    own->active[own->depth].before = own->phase;
    own->stepped += part == LANG_PART_OPTIMIZER;
    own->had_backward |= part == LANG_PART_BACKWARD;
    if (!phase_switch(own, phase_of(part)))
        return false;
    own->is_pending &= part != LANG_PART_BACKWARD;
    own->depth++;
    *has_begun = true;
    return true;
}

/* The phase after a part that began in phase `before` and has ended. */
static enum vs_phase phase_after(const struct lang_own_step *own, enum lang_part part,
                                 enum vs_phase before)
{
    enum vs_phase around =
        own->depth > 0 ? phase_of(own->active[own->depth - 1].part) : VS_PHASE_COUNT;

    if (part != LANG_PART_FORWARD && around == VS_PHASE_FORWARD)
        return around;
    if (own->is_pending)
        return VS_PHASE_LOSS;
    if (own->depth > 0)
        return around;
    if (part == LANG_PART_GRAD || (part == LANG_PART_ZERO_GRAD && before == VS_PHASE_DATA))
        return before;
    return phase_of(part);
}

static bool part_end(void *user)
{
    struct lang_own_step *own = user;
    enum lang_part part;

    VS_ASSERT(own->depth > 0);
    own->depth--;
    part = own->active[own->depth].part;
    own->is_pending |= part == LANG_PART_FORWARD;
    own->has_new_gradients |= part == LANG_PART_BACKWARD;
    return phase_switch(own, phase_after(own, part, own->active[own->depth].before));
}

/* ---- a step ---- */

void lang_own_step_begin(struct lang_run_state *run, uint64_t batch_elems)
{
    struct lang_own_step *own = &run->own_step;

    own->run = run;
    own->parts.user = own;
    own->parts.begin = part_begin;
    own->parts.end = part_end;
    own->parts.fills = vs_toggles_is(&run->result->toggles, VS_TOGGLE_ZERO_GRAD, "zeros");
    own->phase = VS_PHASE_DATA;
    own->depth = 0;
    own->is_pending = false;
    own->batch_elems = batch_elems;
    own->has_whole = false;
    memset(own->counts, 0, sizeof(own->counts));
    category_choose(own);
    run->vm->parts = &own->parts;
}

void lang_own_step_end(struct lang_run_state *run)
{
    region_leave(&run->own_step);
    run->vm->parts = NULL;
}

bool lang_own_step_close(struct lang_run_state *run)
{
    struct lang_own_step *own = &run->own_step;

    if (own->phase == VS_PHASE_LOSS)
        lang_run_saved_note(run, false);
    eng_category_default(run->eng, VS_CATEGORY_COUNT);
    return phase_close(own);
}

bool lang_own_step_take_new_gradients(struct lang_run_state *run)
{
    bool are_new = run->own_step.has_new_gradients;

    run->own_step.has_new_gradients = false;
    return are_new;
}

/* ---- what the run was not, found at its end ---- */

static void refuse(struct lang_run_state *run, enum vs_toggle toggle, const char *reason)
{
    lang_run_refusal_add(run, vs_toggle_info(toggle)->name,
                         vs_toggles_get(&run->result->toggles, toggle), reason);
}

void lang_own_step_refuse(struct lang_run_state *run)
{
    const struct lang_own_step *own = &run->own_step;
    const struct vs_toggles *toggles = &run->result->toggles;

    if (!vs_toggles_is(toggles, VS_TOGGLE_AMP, "off") && own->regions == 0)
        refuse(run, VS_TOGGLE_AMP,
               own->own_regions > 0
                   ? "train_step enters autocast itself; change its dtype or enabled= there"
                   : "train_step calls no module that has parameters");
    if (own->parts.fills && !own->parts.has_filled)
        refuse(run, VS_TOGGLE_ZERO_GRAD,
               "train_step calls no zero_grad() that leaves set_to_none to its default");
    if (vs_toggles_is(toggles, VS_TOGGLE_AMP, "fp16") && own->regions > 0 && own->had_backward &&
        own->scaled == 0)
        lang_warn_at(run->vm, LANG_WARN_UNSCALED_LOSS,
                     "amp=fp16: train_step calls backward() on a loss that it does not scale", 0);
    if (own->stepped == 0 && !vs_toggles_is(toggles, VS_TOGGLE_OPTIMIZER, "sgd"))
        refuse(run, VS_TOGGLE_OPTIMIZER, "train_step calls no step()");
}

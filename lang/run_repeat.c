/*
 * lang/run_repeat.c - the rest of a run, where each step to come begins as the one before it did: its events again, without running it.
 *
 * For:            lang/run_natives.c.
 * Must not know:  what events mean.
 * Invariant:      the events, and what the result says, are those of a run that goes on; whether that is so is compared (lang/moment.h), never
 *                 guessed. Without a way to read what was told (lang_settings.told) nothing is repeated.
 */
#include "base/mem.h"
#include "lang/call.h"
#include "lang/moment.h"
#include "lang/run_internal.h"
#include "lang/vm.h"

/* So often may a step not begin as the last one did before it is not looked at any more. */
#define MISSES_MAX 4
/* Events told between two asks whether to stop. */
#ifdef VS_STRESS
#define ASK_EVERY 64
#else
#define ASK_EVERY 4096
#endif

/* The end of a phase: after so many events of the step. */
struct mark {
    uint64_t events;
    enum vs_phase phase;
    uint32_t micro;
};

struct lang_run_repeat {
    struct eng_moment *last; /* when the step that runs began; NULL: unknown */
    struct mark *marks;      /* of the step that runs, where `last` is known */
    size_t mark_count;
    size_t mark_cap;
    int misses;
};

struct lang_run_repeat *lang_run_repeat_new(void)
{
    return vs_calloc(1, sizeof(struct lang_run_repeat));
}

void lang_run_repeat_free(struct lang_run_repeat *r)
{
    if (!r)
        return;
    eng_moment_free(r->last);
    vs_free(r->marks);
    vs_free(r);
}

static uint64_t told_count(const struct lang_run_state *run)
{
    const struct eng_told *told = run->settings->told;
    uint64_t count;

    told->events(told->user, &count);
    return count;
}

void lang_run_repeat_mark(struct lang_run_state *run, enum vs_phase phase, uint32_t micro)
{
    struct lang_run_repeat *r = run->repeat;

    if (!r->last)
        return;
    r->marks = vs_grow(r->marks, r->mark_count, &r->mark_cap, sizeof(*r->marks));
    r->marks[r->mark_count++] = (struct mark){
        .events = told_count(run) - eng_moment_events(r->last), .phase = phase, .micro = micro};
}

/* Some of the events of such a step, asking now and then whether to stop. False: that is so, and noted. */
static bool events_tell(struct lang_run_state *run, struct eng_moment *from, struct eng_moment *to,
                        int64_t step, uint64_t first, uint64_t last)
{
    const struct lang_options *options = &run->vm->options;

    while (first < last) {
        uint64_t end = last - first > ASK_EVERY ? first + ASK_EVERY : last;

        eng_repeat_events(from, to, step, first, end);
        first = end;
        if (options->stop && options->stop(options->user))
            return lang_fail(run->vm, VS_E_STOPPED, "stopped");
    }
    return true;
}

/* One step like that between the moments, whose marks become its own: segments that only one of them needed are events, too. */
static bool step_tell(struct lang_run_state *run, struct eng_moment *from, struct eng_moment *to,
                      int64_t step)
{
    struct lang_run_repeat *r = run->repeat;
    uint64_t begin = told_count(run);
    uint64_t done = 0;

    lang_run_step_begin(run, step);
    for (size_t i = 0; i < r->mark_count; i++) {
        if (!events_tell(run, from, to, step, done, r->marks[i].events))
            return false;
        done = r->marks[i].events;
        r->marks[i].events = told_count(run) - begin;
        if (!lang_run_phase_end(run, r->marks[i].phase, r->marks[i].micro))
            return false;
    }
    if (!events_tell(run, from, to, step, done, eng_moment_events(to) - eng_moment_events(from)))
        return false;
    eng_repeat_end(from, to);
    return true;
}

/* All steps from `step` on. False: stopped, with a failure noted. */
static bool rest_tell(struct lang_run_state *run, struct eng_moment *to, int64_t step,
                      int64_t steps)
{
    struct eng_moment *from = run->repeat->last;
    bool is_good = true;

    run->repeat->last = NULL; /* no step of these is one to go by */
    eng_repeat_begin(from, to);
    for (; is_good && step < steps; step++)
        is_good = step_tell(run, from, to, step);
    eng_moment_free(from);
    return is_good;
}

/* A loss that is a number, or a step that a scaler skips, is of one step alone. */
static bool may_repeat(const struct lang_run_state *run)
{
    return run->settings->told && !run->settings->skip_count && !run->settings->dump &&
           !run->has_loss && run->repeat->misses < MISSES_MAX;
}

bool lang_run_repeat_rest(struct lang_run_state *run, const struct lang_call *call, int64_t step,
                          int64_t steps, bool *out)
{
    struct lang_run_repeat *r = run->repeat;
    struct lang_moment_ask ask = {.above = call->args - 1,
                                  .counter = lang_intern_text(run->vm, "step"),
                                  .optimizer = call->args[2]};
    struct eng_moment *now = NULL;
    bool is_good = true;

    *out = false;
    /* the first step makes the optimizer's state; and the last one is not to be compared with any */
    if (!may_repeat(run) || step < 1 || (!r->last && step + 1 >= steps))
        return true;
    now = lang_moment_new(run->vm, run->settings->told, &ask);
    r->misses += !now;
    if (now && r->last && eng_moment_equal(r->last, now) && eng_repeat_possible(r->last, now)) {
        is_good = rest_tell(run, now, step, steps);
        eng_moment_free(now);
        *out = true;
        if (is_good && run->saved_of_step.is_known)
            lang_run_saved_note(run);
        return is_good;
    }
    r->misses += now && r->last;
    eng_moment_free(r->last);
    r->last = now;
    r->mark_count = 0;
    run->saved_of_step.is_known = false;
    return true;
}

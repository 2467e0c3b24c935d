/*
 * import/steps.c - see steps.h.
 */
#include "import/steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

/* begins: a step begins at this event. first: the first event that is not set-up. */
struct finding {
    const struct vs_memlist *list;
    const struct imp_phases *phases;
    const bool *calls;
    bool *begins;
    size_t first;
};

const char *imp_steps_by_name(enum imp_steps_by by)
{
    static const char *const NAMES[] = {
        [IMP_STEPS_NOT_FOUND] = "not found", [IMP_STEPS_PROFILER] = "profiler",
        [IMP_STEPS_OPTIMIZER] = "optimizer", [IMP_STEPS_BACKWARD] = "backward",
        [IMP_STEPS_CALLS] = "calls",         [IMP_STEPS_REPETITION] = "repetition",
    };

    return NAMES[by];
}

static uint8_t phase_at(const struct finding *f, size_t i)
{
    return f->phases->phases[i];
}

/* ---- steps by work ---- */

static bool profiler_find(struct finding *f)
{
    const struct vs_memlist *list = f->list;
    bool found = false;
    size_t at = 0;

    for (size_t i = 0; i < list->event_count; i++)
        for (; at < list->note_count && list->notes[at].time_us <= list->events[i].time_us; at++)
            if (!list->notes[at].is_end &&
                strncmp(vs_memlist_text(list, list->notes[at].name), "ProfilerStep#", 13) == 0)
                f->begins[i] = found = true;
    return found;
}

/*
 * A step ends with the last event of a sequence in phase `last`, or with the zero_grad after it; code in neither phase
 * begins the next step.
 */
static bool phase_find(struct finding *f, uint8_t last)
{
    bool had = false;
    bool found = false;

    for (size_t i = f->first; i < f->list->event_count; i++) {
        const uint8_t phase = phase_at(f, i);

        had = had || phase == last || (last == VS_PHASE_OPTIMIZER && f->phases->step_ends[i]);
        if (phase == last)
            continue;
        if (had && phase != VS_PHASE_ZERO_GRAD && phase != VS_PHASE_OPTIMIZER) {
            f->begins[i] = found = true;
            had = false;
        }
    }
    return found || had;
}

/* A call's batch is allocated before it. */
static bool calls_find(struct finding *f)
{
    bool found = false;

    for (size_t i = f->first; i < f->list->event_count; i++) {
        size_t at = i;

        if (!f->calls[i])
            continue;
        while (at > f->first && phase_at(f, at - 1) == VS_PHASE_DATA)
            at--;
        f->begins[at] = found = true;
    }
    return found;
}

/* ---- repetition ---- */

/* A hash of the size and the stack of an allocation; allocations with equal hashes are considered equal. */
static uint64_t key_of(const struct vs_mem_event *event)
{
    return vs_hash_mix(vs_hash_mix(event->stack, event->bytes), event->op);
}

/* Collect the allocations from `first` on: their keys, and their events. Returns their number. */
static size_t keys_of(const struct finding *f, uint64_t **keys, size_t **at)
{
    size_t count = 0;

    *keys = vs_alloc((f->list->event_count + 1) * sizeof(**keys));
    *at = vs_alloc((f->list->event_count + 1) * sizeof(**at));
    for (size_t i = f->first; i < f->list->event_count; i++)
        if (f->list->events[i].kind == VS_MEM_ALLOC) {
            (*keys)[count] = key_of(&f->list->events[i]);
            (*at)[count++] = i;
        }
    return count;
}

/*
 * The period of the longest suffix of the sequence that repeats at least twice; 0: that suffix is shorter than half of
 * the sequence. *from: where the suffix begins. Computed from the borders of the reversed sequence (Knuth, Morris and
 * Pratt).
 */
static size_t period_of(const uint64_t *keys, size_t count, size_t *from)
{
    size_t *border = vs_calloc(count + 1, sizeof(*border));
    size_t best = 0;
    size_t best_len = 0;

    for (size_t len = 2, k = 0; len <= count; len++) {
        while (k && keys[count - 1 - k] != keys[count - len])
            k = border[k];
        if (keys[count - 1 - k] == keys[count - len])
            k++;
        border[len] = k;
        if (len >= 2 * (len - k)) {
            best = len - k;
            best_len = len;
        }
    }
    vs_free(border);
    *from = count - best_len;
    return best_len * 2 >= count ? best : 0;
}

/*
 * Among the allocations of the last period, the one with the fewest bytes allocated before it: memory use is lowest
 * between steps.
 */
static size_t emptiest(const struct finding *f, const size_t *at, size_t count, size_t period)
{
    int64_t live = 0;
    int64_t least = INT64_MAX;
    size_t found = count - period;
    size_t next = count - period;

    for (size_t i = at[next]; i <= at[count - 1]; i++) {
        const struct vs_mem_event *event = &f->list->events[i];

        if (next < count && i == at[next]) {
            if (live < least) {
                least = live;
                found = next;
            }
            next++;
            live += (int64_t)event->bytes;
        } else if (event->kind == VS_MEM_FREE_REQUESTED) {
            live -= (int64_t)event->bytes;
        }
    }
    return found;
}

static bool repetition_find(struct finding *f)
{
    uint64_t *keys;
    size_t *at;
    const size_t count = keys_of(f, &keys, &at);
    size_t from = 0;
    const size_t period = count > 1 ? period_of(keys, count, &from) : 0;

    if (period)
        for (size_t i = emptiest(f, at, count, period);; i -= period) {
            f->begins[at[i]] = true;
            if (i < from + period)
                break;
        }
    vs_free(keys);
    vs_free(at);
    return period != 0;
}

/* ---- similarity of steps ---- */

static int by_key(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static size_t common_count(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count)
{
    size_t common = 0;

    for (size_t i = 0, j = 0; i < a_count && j < b_count;) {
        common += a[i] == b[j];
        if (a[i] == b[j]) {
            i++;
            j++;
        } else if (a[i] < b[j]) {
            i++;
        } else {
            j++;
        }
    }
    return common;
}

/* The sorted keys of each step, one step after the other. */
static void alike_fill(struct imp_steps *out, const struct finding *f)
{
    uint64_t *keys;
    size_t *at;
    const size_t count = keys_of(f, &keys, &at);
    size_t before = 0, before_count = 0;
    uint64_t common = 0, all = 0;

    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && out->steps[at[end]] == out->steps[at[i]];)
            end++;
        qsort(&keys[i], end - i, sizeof(*keys), by_key);
        if (before_count) {
            common += common_count(&keys[before], before_count, &keys[i], end - i);
            all += end - i;
        }
        before = i;
        before_count = end - i;
    }
    vs_free(keys);
    vs_free(at);
    out->has_alike = all != 0;
    out->alike = all ? (uint32_t)(common * 1000 / all) : 0;
}

/* ---- public functions ---- */

/* If fewer of 1000 allocations repeat, the calls are not steps but unrelated uses of one model. */
#define CALLS_ALIKE 500

/* The last event of a step's work; what a program does at its end is not part of a step. */
static size_t last_work(const struct finding *f)
{
    size_t last = f->list->event_count;

    while (last-- > 0)
        if (phase_at(f, last) == VS_PHASE_FORWARD || phase_at(f, last) == VS_PHASE_BACKWARD ||
            !f->phases->has_stacks)
            return last;
    return 0;
}

static void number(struct imp_steps *out, const struct finding *f, enum imp_steps_by by)
{
    const size_t last = last_work(f);
    int32_t step = -1;

    out->by = by;
    for (size_t i = 0; i < f->list->event_count; i++) {
        if (i == f->first || (i > f->first && f->begins[i] && i <= last))
            step++;
        out->steps[i] = step;
    }
    out->count = (uint32_t)(step + 1);
    alike_fill(out, f);
}

/* Find steps by what the program does; false: it does none of these. */
static bool find_by_work(struct imp_steps *out, struct finding *f)
{
    if (profiler_find(f))
        number(out, f, IMP_STEPS_PROFILER);
    else if (f->phases->has_optimizer && phase_find(f, VS_PHASE_OPTIMIZER))
        number(out, f, IMP_STEPS_OPTIMIZER);
    else if (f->phases->has_backward && phase_find(f, VS_PHASE_BACKWARD))
        number(out, f, IMP_STEPS_BACKWARD);
    else
        return false;
    return true;
}

static bool find_by_calls(struct imp_steps *out, struct finding *f)
{
    if (calls_find(f)) {
        number(out, f, IMP_STEPS_CALLS);
        if (out->alike >= CALLS_ALIKE)
            return true;
    }
    memset(f->begins, 0, f->list->event_count * sizeof(*f->begins));
    return false;
}

void imp_steps_fill(struct imp_steps *out, const struct vs_memlist *list,
                    const struct imp_phases *phases, const bool *calls)
{
    struct finding f = {.list = list, .phases = phases, .calls = calls};

    memset(out, 0, sizeof(*out));
    out->steps = vs_calloc(list->event_count + 1, sizeof(*out->steps));
    f.begins = vs_calloc(list->event_count + 1, sizeof(*f.begins));
    while (phases->has_stacks && f.first < list->event_count &&
           phase_at(&f, f.first) == VS_PHASE_SETUP)
        f.first++;
    if (!find_by_work(out, &f) && !find_by_calls(out, &f))
        number(out, &f, repetition_find(&f) ? IMP_STEPS_REPETITION : IMP_STEPS_NOT_FOUND);
    vs_free(f.begins);
}

void imp_steps_release(struct imp_steps *steps)
{
    vs_free(steps->steps);
    memset(steps, 0, sizeof(*steps));
}

/*
 * import/phases.c - see phases.h.
 */
#include "import/phases.h"

#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/mem.h"

/*
 * What runs at each event, after inconclusive events were resolved. set_up: events before this one, where something
 * else began for the first time, are the set-up, as far as user code makes parameters in them.
 */
struct settling {
    const struct vs_memlist *list;
    const struct imp_roles *roles;
    struct imp_phases *out;
    uint8_t *runs;   /* enum imp_run of each event */
    uint8_t *next;   /* for each event, the next conclusive run after it */
    uint8_t *beyond; /* the same, but for zero_grad, which may be between loss and backward */
    bool has_called; /* forward or loss ran conclusively since backward or the optimizer */
    size_t set_up;
    bool is_nameless; /* only user code and code that constructs or loads is running */
};

/* ---- stacks of frees ---- */

/* If every free has the same stack as its allocation, frees have no stacks of their own. O(events). */
static bool frees_have_stacks(const struct vs_memlist *list)
{
    size_t slots = 64;
    uint32_t *last; /* by a hash of the address: the last allocation there + 1 */
    bool found = false;

    while (slots < list->event_count)
        slots *= 2;
    last = vs_calloc(slots, sizeof(*last));
    for (size_t i = 0; i < list->event_count && !found; i++) {
        const struct vs_mem_event *event = &list->events[i];
        uint32_t *slot = &last[(size_t)vs_hash_mix(0, event->address) & (slots - 1)];

        if (event->kind == VS_MEM_ALLOC)
            *slot = (uint32_t)i + 1;
        else if (event->kind == VS_MEM_FREE_REQUESTED && event->stack && *slot &&
                 list->events[*slot - 1].address == event->address)
            found = list->events[*slot - 1].stack != event->stack;
    }
    vs_free(last);
    return found;
}

static bool is_free(const struct vs_mem_event *event)
{
    return event->kind == VS_MEM_FREE_REQUESTED || event->kind == VS_MEM_FREE_COMPLETED;
}

/* ---- what the stacks say ---- */

static enum imp_run run_of_phase(enum vs_phase phase)
{
    switch (phase) {
    case VS_PHASE_SETUP:
        return IMP_RUN_LOAD;
    case VS_PHASE_DATA:
        return IMP_RUN_DATA;
    case VS_PHASE_FORWARD:
        return IMP_RUN_FORWARD;
    case VS_PHASE_LOSS:
        return IMP_RUN_LOSS;
    case VS_PHASE_BACKWARD:
        return IMP_RUN_BACKWARD;
    case VS_PHASE_OPTIMIZER:
        return IMP_RUN_OPTIMIZER;
    case VS_PHASE_ZERO_GRAD:
        return IMP_RUN_ZERO_GRAD;
    case VS_PHASE_COUNT:
        break;
    }
    return IMP_RUN_NONE;
}

static void runs_fill(struct settling *s)
{
    for (size_t i = 0; i < s->list->event_count; i++) {
        const struct vs_mem_event *event = &s->list->events[i];
        const struct vs_mem_facts *facts = vs_memlist_facts(s->list, event);
        uint8_t run = imp_roles_stack(s->roles, event->stack)->run;

        /* a free by a destructor only shows where the user's code was, which is between phases */
        if (is_free(event) && (!s->out->has_free_stacks || run == IMP_RUN_OUTSIDE))
            run = IMP_RUN_NONE;
        if (facts && facts->phase)
            run = (uint8_t)run_of_phase((enum vs_phase)(facts->phase - 1));
        s->runs[i] = run;
        s->out->has_stacks |= run != IMP_RUN_NONE;
        s->out->has_forward |= run == IMP_RUN_FORWARD;
        s->out->has_backward |= run == IMP_RUN_BACKWARD;
        s->out->has_optimizer |= run == IMP_RUN_OPTIMIZER;
    }
}

/* ---- annotations ---- */

enum vs_phase imp_phase_of_note(const char *name, bool *is_step)
{
    static const struct {
        const char *word;
        enum vs_phase phase;
    } WORDS[] = {
        {"Optimizer.step#", VS_PHASE_OPTIMIZER},
        {"Optimizer.zero_grad#", VS_PHASE_ZERO_GRAD},
        {"enumerate(DataLoader)", VS_PHASE_DATA},
        {"zero_grad", VS_PHASE_ZERO_GRAD},
        {"forward", VS_PHASE_FORWARD},
        {"backward", VS_PHASE_BACKWARD},
        {"optimizer", VS_PHASE_OPTIMIZER},
        {"optimiser", VS_PHASE_OPTIMIZER},
        {"loss", VS_PHASE_LOSS},
        {"data", VS_PHASE_DATA},
    };

    *is_step = strncmp(name, "Optimizer.step#", 15) == 0;
    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++)
        if (strncasecmp(name, WORDS[i].word, strlen(WORDS[i].word)) == 0)
            return WORDS[i].phase;
    return VS_PHASE_COUNT;
}

/*
 * An annotated range determines the phase where stacks are inconclusive. Ranges may be cut off at either end, so an END
 * without its beginning is ignored.
 */
static void notes_apply(struct settling *s)
{
    const struct vs_memlist *list = s->list;
    enum imp_run open = IMP_RUN_NONE;
    uint32_t open_name = 0;
    size_t at = 0;

    for (size_t i = 0; i <= list->event_count; i++) {
        for (; at < list->note_count &&
               (i == list->event_count || list->notes[at].time_us <= list->events[i].time_us);
             at++) {
            const struct vs_mem_note *note = &list->notes[at];
            bool is_step;
            enum vs_phase phase = imp_phase_of_note(vs_memlist_text(list, note->name), &is_step);

            if (phase == VS_PHASE_COUNT)
                continue;
            s->out->step_ends[i] |= is_step && note->is_end;
            s->out->has_optimizer |= is_step;
            if (!note->is_end) {
                open = run_of_phase(phase);
                open_name = note->name;
            } else if (note->name == open_name) {
                open = IMP_RUN_NONE;
            }
        }
        if (i < list->event_count && open != IMP_RUN_NONE &&
            (s->runs[i] == IMP_RUN_NONE || s->runs[i] == IMP_RUN_OUTSIDE))
            s->runs[i] = (uint8_t)open;
    }
}

/* ---- inconclusive events ---- */

static bool decides(uint8_t run)
{
    return run != IMP_RUN_NONE && run != IMP_RUN_OUTSIDE;
}

static void next_fill(struct settling *s)
{
    uint8_t next = IMP_RUN_NONE;
    uint8_t beyond = IMP_RUN_NONE;

    for (size_t i = s->list->event_count; i-- > 0;) {
        s->next[i] = next;
        s->beyond[i] = beyond;
        if (decides(s->runs[i]))
            next = s->runs[i];
        if (decides(s->runs[i]) && s->runs[i] != IMP_RUN_ZERO_GRAD)
            beyond = s->runs[i];
    }
}

/* An op that only creates or moves a tensor: it makes a batch, in a program without modules. */
static bool makes_input(const struct vs_memlist *list, const struct vs_mem_event *event)
{
    static const char *const OPS[] = {"rand",   "normal", "empty", "zeros",    "ones",
                                      "full",   "arange", "to_",   "_to_copy", "copy_",
                                      "tensor", "cuda",   "clone"};
    const char *op = vs_memlist_text(list, event->op);

    for (size_t i = 0; i < sizeof(OPS) / sizeof(OPS[0]); i++)
        if (strncmp(op, OPS[i], strlen(OPS[i])) == 0)
            return true;
    return false;
}

static bool makes_graph(const struct settling *s, size_t i)
{
    const struct vs_mem_facts *facts = vs_memlist_facts(s->list, &s->list->events[i]);

    return facts && facts->makes_graph;
}

/* User code that makes a graph, or code of a known phase, begins the work; parameters are made before. */
static void set_up_find(struct settling *s)
{
    const struct vs_memlist *list = s->list;

    for (size_t i = 0; i < list->event_count; i++) {
        if ((decides(s->runs[i]) && s->runs[i] != IMP_RUN_LOAD) || makes_graph(s, i))
            break;
        if (list->events[i].category == VS_CAT_PARAMETER + 1)
            s->set_up = i + 1;
    }
}

/* Determine what runs in user code outside of all known functions, by what runs before and after. */
static enum imp_run neighbours_settle(const struct settling *s, size_t i, enum imp_run before)
{
    const enum imp_run next = (enum imp_run)s->next[i];

    switch (before) {
    case IMP_RUN_NONE:
    case IMP_RUN_OUTSIDE:
    case IMP_RUN_LOAD:
        if (next == IMP_RUN_LOAD)
            return IMP_RUN_LOAD;
        /* the program has no known functions at all, but it computes */
        if (next == IMP_RUN_NONE)
            return s->is_nameless ? IMP_RUN_FORWARD : IMP_RUN_LOAD;
        break;
    case IMP_RUN_FORWARD:
    case IMP_RUN_LOSS:
        if (!s->out->has_forward)
            return before; /* a program without modules */
        if (s->beyond[i] == IMP_RUN_BACKWARD || next == IMP_RUN_LOSS)
            return IMP_RUN_LOSS;
        return next == IMP_RUN_FORWARD && s->out->has_backward ? IMP_RUN_FORWARD : IMP_RUN_DATA;
    case IMP_RUN_BACKWARD:
    case IMP_RUN_ZERO_GRAD:
    case IMP_RUN_OPTIMIZER:
        if (next == IMP_RUN_OPTIMIZER)
            return next;
        if (next == IMP_RUN_NONE)
            return before;
        break;
    case IMP_RUN_DATA:
        break;
    }
    if (!s->out->has_forward && next == IMP_RUN_BACKWARD &&
        !makes_input(s->list, &s->list->events[i]))
        return IMP_RUN_FORWARD;
    return IMP_RUN_DATA;
}

static enum imp_run outside_settle(const struct settling *s, size_t i, enum imp_run before)
{
    if (i < s->set_up)
        return IMP_RUN_LOAD;
    if (!makes_graph(s, i))
        return neighbours_settle(s, i, before);
    return !s->has_called || s->beyond[i] == IMP_RUN_FORWARD ? IMP_RUN_FORWARD : IMP_RUN_LOSS;
}

static void called_note(struct settling *s, enum imp_run run)
{
    if (run == IMP_RUN_FORWARD || run == IMP_RUN_LOSS)
        s->has_called = true;
    else if (run == IMP_RUN_BACKWARD || run == IMP_RUN_OPTIMIZER)
        s->has_called = false;
}

static enum vs_phase phase_of(enum imp_run run)
{
    switch (run) {
    case IMP_RUN_DATA:
        return VS_PHASE_DATA;
    case IMP_RUN_FORWARD:
        return VS_PHASE_FORWARD;
    case IMP_RUN_LOSS:
        return VS_PHASE_LOSS;
    case IMP_RUN_BACKWARD:
        return VS_PHASE_BACKWARD;
    case IMP_RUN_OPTIMIZER:
        return VS_PHASE_OPTIMIZER;
    case IMP_RUN_ZERO_GRAD:
        return VS_PHASE_ZERO_GRAD;
    case IMP_RUN_NONE:
    case IMP_RUN_OUTSIDE:
    case IMP_RUN_LOAD:
        break;
    }
    return VS_PHASE_SETUP;
}

static void settle(struct settling *s)
{
    enum imp_run before = IMP_RUN_NONE;

    next_fill(s);
    set_up_find(s);
    for (size_t i = 0; i < s->list->event_count && s->is_nameless; i++)
        s->is_nameless = !decides(s->runs[i]) || s->runs[i] == IMP_RUN_LOAD;
    for (size_t i = 0; i < s->list->event_count; i++) {
        enum imp_run run = (enum imp_run)s->runs[i];

        if (s->out->step_ends[i]) { /* an optimizer that allocates nothing has no event */
            before = IMP_RUN_OPTIMIZER;
            s->has_called = false;
        }
        called_note(s, run);
        if (run == IMP_RUN_OUTSIDE)
            run = outside_settle(s, i, before);
        else if (run == IMP_RUN_NONE)
            run = before;
        s->out->phases[i] = (uint8_t)phase_of(run);
        before = run;
    }
}

void imp_phases_fill(struct imp_phases *out, const struct vs_memlist *list,
                     const struct imp_roles *roles)
{
    struct settling s = {.list = list, .roles = roles, .out = out};

    memset(out, 0, sizeof(*out));
    out->phases = vs_calloc(list->event_count + 1, sizeof(*out->phases));
    out->step_ends = vs_calloc(list->event_count + 1, sizeof(*out->step_ends));
    s.runs = vs_calloc(list->event_count + 1, sizeof(*s.runs));
    s.next = vs_calloc(list->event_count + 1, sizeof(*s.next));
    s.beyond = vs_calloc(list->event_count + 1, sizeof(*s.beyond));
    s.is_nameless = true;
    out->has_free_stacks = frees_have_stacks(list);
    runs_fill(&s);
    notes_apply(&s);
    settle(&s);
    vs_free(s.runs);
    vs_free(s.next);
    vs_free(s.beyond);
}

void imp_phases_release(struct imp_phases *phases)
{
    vs_free(phases->phases);
    vs_free(phases->step_ends);
    memset(phases, 0, sizeof(*phases));
}

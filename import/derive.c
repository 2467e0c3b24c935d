/*
 * import/derive.c - see derive.h.
 */
#include "import/derive.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "import/backward.h"
#include "import/between.h"
#include "import/categories.h"
#include "import/modules.h"
#include "import/phases.h"
#include "import/roles.h"
#include "import/steps.h"
#include "store/writer.h"
#include "tracer/intern.h"

/* Marks have the keys A to Z. */
#define IMP_MARKS_MAX 26

struct deriving {
    struct imp_import *import;
    const struct vs_memlist *list;
    struct imp_roles roles;
    struct imp_phases phases;
    struct imp_modules modules;
    struct imp_steps steps;
    uint32_t *funcs; /* by stack: id of its function's string + 1; 0: not created yet */
    uint32_t last_op,
        last_op_string; /* in the list and in the import: usually the next op is the same */
    struct imp_between between;
    size_t next_did; /* in the list */
};

/* ---- locations ---- */

/* "train.py:step": the name of the function alone would be ambiguous. */
static uint32_t func_of(struct deriving *d, const struct vs_mem_event *event)
{
    const char *file = vs_memlist_text(d->list, event->file);
    const char *func = vs_memlist_text(d->list, event->func);
    struct vs_text text = {NULL, 0, 0};
    /* the line of an event without frames may be that of the op that made the backward node */
    const bool is_of_stack =
        event->stack && vs_callstacks_get(&d->list->stacks, event->stack)->count;
    uint32_t id;

    if (is_of_stack && d->funcs[event->stack - 1])
        return d->funcs[event->stack - 1] - 1;
    vs_text_addf(&text, "%s%s%s", file, *file && *func ? ":" : "", func);
    id = imp_string(d->import, vs_text_get(&text));
    vs_text_release(&text);
    if (is_of_stack)
        d->funcs[event->stack - 1] = id + 1;
    return id;
}

static uint32_t op_of(struct deriving *d, const struct vs_mem_event *event)
{
    if (event->op != d->last_op) {
        d->last_op = event->op;
        d->last_op_string = imp_string(d->import, vs_memlist_text(d->list, event->op));
    }
    return d->last_op_string;
}

static uint32_t location_id(struct imp_import *import, const struct vs_location *location)
{
    uint32_t id;
    bool is_new;

    if (!location->func && !location->op && !location->phase)
        return 0;
    id = trc_intern_location(import->intern, location, &is_new);
    if (is_new) {
        import->locations = vs_grow(import->locations, import->location_count,
                                    &import->location_cap, sizeof(*import->locations));
        import->locations[import->location_count++] = *location;
    }
    return id;
}

static uint32_t location_of(struct deriving *d, size_t at)
{
    const struct vs_mem_event *event = &d->list->events[at];
    const struct vs_location location = {.phase = d->phases.phases[at],
                                         .module = d->modules.paths[at],
                                         .func = func_of(d, event),
                                         .line = event->line,
                                         .op = op_of(d, event)};

    return location_id(d->import, &location);
}

uint32_t imp_block_location(struct imp_import *import, const struct vs_memlist *list,
                            const struct vs_mem_block *block)
{
    const char *file = vs_memlist_text(list, block->file);
    const char *func = vs_memlist_text(list, block->func);
    struct vs_text text = {NULL, 0, 0};
    struct vs_location location = {.line = block->line,
                                   .module = imp_module_reported(import, list, block->stack),
                                   .op = imp_string(import, vs_memlist_text(list, block->op))};

    vs_text_addf(&text, "%s%s%s", file, *file && *func ? ":" : "", func);
    location.func = imp_string(import, vs_text_get(&text));
    vs_text_release(&text);
    return location_id(import, &location);
}

/* The phase of a context; `otherwise`: what runs there. */
static uint8_t phase_of_context(const struct deriving *d, const struct vs_mem_context *context,
                                uint8_t otherwise)
{
    if (context->phase)
        return (uint8_t)(context->phase - 1);
    return context->is_own && context->event ? d->phases.phases[context->event - 1] : otherwise;
}

/* Where something happened between events of the allocator. */
static uint32_t location_of_context(struct deriving *d, const struct vs_mem_context *context,
                                    uint8_t phase)
{
    const struct vs_mem_event *event = context->event ? &d->list->events[context->event - 1] : NULL;
    struct imp_import *import = d->import;
    const struct vs_location location = {
        .phase = phase,
        .module = context->has_module
                      ? imp_path_string(import, vs_memlist_text(d->list, context->module))
                      : 0,
        .func = event ? func_of(d, event) : 0,
        .line = event ? event->line : 0,
        .op = imp_string(import, vs_memlist_text(d->list, context->op))};

    return location_id(import, &location);
}

/* ---- tensors ---- */

/* What was observed of the tensor of an allocation; nothing is added where that is not known. */
static void tensor_add(struct deriving *d, size_t at, struct vs_event *event)
{
    const struct vs_mem_facts *facts = vs_memlist_facts(d->list, &d->list->events[at]);
    struct imp_import *import = d->import;
    struct vs_tensor_desc desc;

    if (!facts || !facts->has_tensor)
        return;
    desc = facts->tensor;
    desc.id = (uint32_t)import->tensor_count + 1;
    desc.block = event->alloc.block;
    desc.name = imp_string(import, vs_memlist_text(d->list, facts->name));
    import->tensors = vs_grow(import->tensors, import->tensor_count, &import->tensor_cap,
                              sizeof(*import->tensors));
    import->tensors[import->tensor_count++] = desc;
    event->alloc.tensor = desc.id;
}

/* ---- events ---- */

/* A copy of the events with added events for the beginnings of steps and phases. */
struct rewriting {
    struct vs_event *events;
    uint32_t *stacks;
    size_t count, cap, stack_cap;
    size_t note; /* first annotation that is after all events so far */
};

static struct vs_event *event_add(struct rewriting *r, const struct vs_event *event)
{
    r->events = vs_grow(r->events, r->count, &r->cap, sizeof(*r->events));
    r->stacks = vs_grow(r->stacks, r->count, &r->stack_cap, sizeof(*r->stacks));
    r->stacks[r->count] = 0;
    r->events[r->count] = *event;
    return &r->events[r->count++];
}

static void step_add(struct rewriting *r, int64_t step, const struct vs_event *before)
{
    struct vs_event event = {.kind = VS_EV_STEP,
                             .time_ns = before->time_ns,
                             .location = before->location,
                             .step = {.number_plus_one = (uint64_t)(step + 1)}};

    event_add(r, &event);
}

static void phase_add(struct rewriting *r, uint64_t phase, const struct vs_event *before)
{
    struct vs_event event = {.kind = VS_EV_PHASE,
                             .time_ns = before->time_ns,
                             .location = before->location,
                             .phase = {.phase = phase}};

    event_add(r, &event);
}

static bool is_marked(const struct imp_import *import, uint32_t name)
{
    for (size_t i = 0; i < import->mark_count; i++)
        if (import->marks[i].name == name)
            return true;
    return false;
}

/* Add a mark for each new name of a range that began before event `at` of the list, except for phases and steps. */
static void marks_add(struct deriving *d, struct rewriting *r, size_t at)
{
    const struct vs_memlist *list = d->list;
    struct imp_import *import = d->import;

    for (; r->note < list->note_count && list->notes[r->note].time_us <= list->events[at].time_us;
         r->note++) {
        const char *text = vs_memlist_text(list, list->notes[r->note].name);
        uint32_t name;
        bool is_step;

        if (list->notes[r->note].is_end || import->mark_count == IMP_MARKS_MAX ||
            imp_phase_of_note(text, &is_step) != VS_PHASE_COUNT ||
            strncmp(text, "ProfilerStep#", 13) == 0)
            continue;
        name = imp_string(import, text);
        if (!name || is_marked(import, name))
            continue;
        import->marks =
            vs_grow(import->marks, import->mark_count, &import->mark_cap, sizeof(*import->marks));
        import->marks[import->mark_count++] = (struct imp_mark){.event = r->count, .name = name};
    }
}

/* The stack, or 0 if it has no frame of Python. */
static uint32_t stack_with_frames(const struct deriving *d, uint32_t stack)
{
    return stack && vs_callstacks_get(&d->list->stacks, stack)->count ? stack : 0;
}

/* The call stack of an event; of a free its own one, not that of its allocation. 0: none. */
static uint32_t stack_of(const struct deriving *d, size_t at)
{
    const struct vs_mem_event *event = &d->list->events[at];
    const bool is_free =
        event->kind == VS_MEM_FREE_REQUESTED || event->kind == VS_MEM_FREE_COMPLETED;

    return is_free && !d->phases.has_free_stacks ? 0 : stack_with_frames(d, event->stack);
}

/* The step and the phase that run. */
struct running {
    int32_t step;
    uint8_t phase;
};

/* Begin the step and the phase of event `at` of the list, if they are new ones. */
static void running_begin(struct deriving *d, struct rewriting *r, struct running *now, size_t at,
                          const struct vs_event *before)
{
    const bool is_step = d->steps.steps[at] != now->step;

    if (is_step)
        step_add(r, d->steps.steps[at], before);
    if (d->phases.phases[at] != now->phase || (is_step && d->phases.has_stacks))
        phase_add(r, d->phases.phases[at], before);
    now->step = d->steps.steps[at];
    now->phase = d->phases.phases[at];
}

/* An op that a checkpoint ran again counts in its step. */
static void recomputed_note(struct imp_import *import, const struct running *now,
                            const struct vs_mem_did *did)
{
    if (now->step < 0 || !did->ops)
        return;
    while (import->recomputed_count <= (size_t)now->step) {
        import->recomputed = vs_grow(import->recomputed, import->recomputed_count,
                                     &import->recomputed_cap, sizeof(*import->recomputed));
        import->recomputed[import->recomputed_count++] = 0;
    }
    import->recomputed[now->step] += did->ops;
}

/*
 * What was done before event `at` of the list. The phase of that event begins with the first thing that belongs to it.
 */
static void between_add(struct deriving *d, struct rewriting *r, struct running *now, size_t at,
                        const struct vs_event *before)
{
    const struct vs_memlist *list = d->list;
    struct vs_event events[IMP_BETWEEN_MAX];

    for (; d->next_did < list->did_count && list->did[d->next_did].before <= at; d->next_did++) {
        const struct vs_mem_did *did = &list->did[d->next_did];
        const struct vs_mem_context *context = &list->contexts[did->context];
        uint32_t location;
        size_t count;

        if (at < list->event_count && d->phases.phases[at] != now->phase &&
            phase_of_context(d, context, now->phase) == d->phases.phases[at])
            running_begin(d, r, now, at, before);
        recomputed_note(d->import, now, did);
        count = imp_between_events(&d->between, did, events);
        if (!count)
            continue;
        location = location_of_context(d, context, phase_of_context(d, context, now->phase));
        for (size_t i = 0; i < count; i++) {
            events[i].time_ns = before->time_ns;
            events[i].location = location;
            event_add(r, &events[i]);
        }
    }
}

/*
 * The events of the initial state stay first and unchanged; steps and phases begin directly before their first event.
 */
static void events_rewrite(struct deriving *d)
{
    struct imp_import *import = d->import;
    const size_t list_end = d->list->event_count;
    struct rewriting r = {.events = NULL};
    struct running now = {.step = -1, .phase = VS_PHASE_SETUP};
    struct vs_event last = {.time_ns = 0};

    r.events = vs_reserve(NULL, import->event_count + import->event_count / 4 + 1, &r.cap,
                          sizeof(*r.events));
    imp_between_init(&d->between, import, d->list);
    for (size_t i = 0; i < import->event_count; i++) {
        const size_t at = import->from[i] ? import->from[i] - 1 : SIZE_MAX;
        struct vs_event *event = &import->events[i];

        if (at != SIZE_MAX) {
            event->location = location_of(d, at);
            if (event->kind == VS_EV_ALLOC)
                tensor_add(d, at, event);
            between_add(d, &r, &now, at, event);
            running_begin(d, &r, &now, at, event);
        }
        last = *event;
        event_add(&r, event);
        imp_between_note(&d->between, at, event);
        if (at != SIZE_MAX) {
            r.stacks[r.count - 1] = stack_of(d, at);
            marks_add(d, &r, at);
        } else if (import->start_stacks && i < import->start_events) {
            r.stacks[r.count - 1] = stack_with_frames(d, import->start_stacks[i]);
        }
    }
    between_add(d, &r, &now, list_end, &last);
    imp_between_release(&d->between);
    vs_free(import->events);
    import->events = r.events;
    import->event_count = r.count;
    import->event_cap = r.cap;
    import->stacks = r.stacks;
}

/* ---- call stacks ---- */

static uint32_t frame_func(struct imp_import *import, const struct vs_memlist *list,
                           const struct vs_frame *frame)
{
    struct vs_text text = {NULL, 0, 0};
    uint32_t id;

    vs_text_addf(&text, "%s:%s", vs_memlist_text(list, frame->file),
                 vs_memlist_text(list, frame->func));
    id = imp_string(import, vs_text_get(&text));
    vs_text_release(&text);
    return id;
}

/* The frames of all stacks that an event of the trace has; the outermost of more than a trace can keep are left out. */
static void frames_fill(struct deriving *d)
{
    const struct vs_callstacks *stacks = &d->list->stacks;
    struct imp_import *import = d->import;
    bool *used = vs_calloc(stacks->count + 1, sizeof(*used));
    uint32_t *funcs = vs_calloc(stacks->frame_count + 1, sizeof(*funcs));

    for (size_t i = 0; i < import->event_count; i++)
        used[import->stacks[i]] = true;
    for (uint32_t id = 1; id <= stacks->count; id++) {
        const struct vs_callstack *stack = vs_callstacks_get(stacks, id);

        for (uint32_t depth = 0; used[id] && depth < stack->count && depth < STO_FRAMES_MAX;
             depth++) {
            const uint32_t frame = stacks->pool[stack->first + depth];

            if (!funcs[frame - 1])
                funcs[frame - 1] = frame_func(import, d->list, &stacks->frames[frame - 1]);
            import->frames = vs_grow(import->frames, import->frame_count, &import->frame_cap,
                                     sizeof(*import->frames));
            import->frames[import->frame_count++] =
                (struct imp_frame){id, depth, funcs[frame - 1], stacks->frames[frame - 1].line};
        }
    }
    vs_free(used);
    vs_free(funcs);
}

static void about_fill(struct deriving *d)
{
    struct imp_derived *derived = &d->import->derived;

    derived->has_stacks = d->phases.has_stacks;
    derived->has_modules = d->modules.is_recorded && !d->list->has_derived_modules;
    for (size_t i = 0; i < d->list->stacks.count; i++)
        derived->has_cpp |= (d->list->stacks.items[i].flags & VS_STACK_HAS_CPP) != 0;
    derived->steps = d->steps.count;
    derived->steps_by = imp_steps_by_name(d->steps.by);
    derived->has_alike = d->steps.has_alike;
    derived->alike = d->steps.alike;
}

void imp_derive(struct imp_import *import, const struct vs_memlist *list)
{
    struct deriving d = {.import = import, .list = list};

    imp_roles_fill(&d.roles, list);
    imp_phases_fill(&d.phases, list, &d.roles);
    imp_modules_fill(&d.modules, import, list, &d.roles, d.phases.has_free_stacks);
    if (!d.modules.is_recorded)
        imp_backward_fill(&d.modules, list, &d.roles, &d.phases);
    imp_steps_fill(&d.steps, list, &d.phases, d.modules.calls);
    imp_categories_fill(import, list, &d.roles, &d.phases, &d.steps);
    d.funcs = vs_calloc(list->stacks.count + 1, sizeof(*d.funcs));
    events_rewrite(&d);
    frames_fill(&d);
    about_fill(&d);
    vs_free(d.funcs);
    imp_steps_release(&d.steps);
    imp_modules_release(&d.modules);
    imp_phases_release(&d.phases);
    imp_roles_release(&d.roles);
}

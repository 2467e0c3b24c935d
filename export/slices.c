/*
 * export/slices.c - see slices.h.
 *
 * Must not know:  counters and instant events.
 * Invariant:      every 'B' pushes an item to a stack of open slices, every 'E' pops one.
 */
#include "export/slices.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

#define PROCESS 1

void exp_slice_event(struct exp_slices *slices, char type, unsigned track, uint64_t time_ns)
{
    struct exp_out *out = slices->out;
    unsigned ns = (unsigned)(time_ns % 1000);
    char fraction[8];

    exp_put_text(out, slices->is_first ? "\n{\"ph\": \"" : ",\n{\"ph\": \"");
    slices->is_first = false;
    exp_put_char(out, type);
    exp_put_member(out, "\", \"pid\": ", PROCESS);
    if (track)
        exp_put_member(out, ", \"tid\": ", track);
    exp_put_member(out, ", \"ts\": ", time_ns / 1000);
    snprintf(fraction, sizeof(fraction), ".%03u", ns);
    exp_put_text(out, ns ? fraction : "");
}

size_t exp_slices_depth(const struct exp_slices *slices, enum exp_track track)
{
    return slices->open[track].count;
}

/* ---- names ---- */

static void name_put(struct exp_slices *slices, const char *what, unsigned track, const char *name)
{
    exp_slice_event(slices, 'M', track, 0);
    exp_put_text(slices->out, ", \"name\": \"");
    exp_put_text(slices->out, what);
    exp_put_text(slices->out, "\", \"args\": {\"name\": ");
    exp_put_json(slices->out, name);
    exp_put_text(slices->out, "}}");
}

static void order_put(struct exp_slices *slices, unsigned track)
{
    exp_slice_event(slices, 'M', track, 0);
    exp_put_member(slices->out,
                   ", \"name\": \"thread_sort_index\", \"args\": {\"sort_index\": ", track);
    exp_put_text(slices->out, "}}");
}

void exp_slices_begin(struct exp_slices *slices, struct rpl_trace *trace, struct exp_out *out,
                      const char *name)
{
    static const char *const NAMES[EXP_TRACK_COUNT] = {
        [EXP_TRACK_STEPS] = "steps and phases",
        [EXP_TRACK_MODULES] = "modules",
        [EXP_TRACK_OPS] = "ops",
    };

    memset(slices, 0, sizeof(*slices));
    slices->trace = trace;
    slices->out = out;
    slices->is_first = true;
    slices->step = -1;
    slices->ops_by_location = !rpl_trace_has_uses(trace);
    name_put(slices, "process_name", 0, name ? name : "vramscope");
    for (unsigned track = 1; track < EXP_TRACK_COUNT; track++) {
        name_put(slices, "thread_name", track, NAMES[track]);
        order_put(slices, track);
    }
}

void exp_slices_release(struct exp_slices *slices)
{
    for (size_t i = 0; i < EXP_TRACK_COUNT; i++)
        vs_free(slices->open[i].items);
    memset(slices, 0, sizeof(*slices));
}

/* ---- begin and end ---- */

/* The caller writes more arguments, and "}}" after them. */
static void begin(struct exp_slices *slices, enum exp_track track, struct exp_slice slice,
                  const char *name, uint64_t seq, uint64_t time_ns)
{
    struct exp_slice_stack *open = &slices->open[track];

    open->items = vs_grow(open->items, open->count, &open->cap, sizeof(*open->items));
    open->items[open->count++] = slice;
    exp_slice_event(slices, 'B', track, time_ns);
    exp_put_text(slices->out, ", \"name\": ");
    exp_put_json(slices->out, name);
    exp_put_member(slices->out, ", \"args\": {\"event\": ", seq);
}

/* End the innermost open slice. */
static void end(struct exp_slices *slices, enum exp_track track, uint64_t time_ns,
                uint64_t allocated)
{
    struct exp_slice_stack *open = &slices->open[track];
    uint64_t before = open->items[--open->count].allocated;

    exp_slice_event(slices, 'E', track, time_ns);
    exp_put_text(slices->out, ", \"args\": {\"allocated_change\": ");
    if (allocated < before)
        exp_put_char(slices->out, '-');
    exp_put_uint(slices->out, allocated < before ? before - allocated : allocated - before);
}

static void end_all(struct exp_slices *slices, enum exp_track track, size_t depth, uint64_t time_ns,
                    uint64_t allocated)
{
    while (slices->open[track].count > depth) {
        end(slices, track, time_ns, allocated);
        exp_put_text(slices->out, "}}");
    }
}

/* ---- steps and phases ---- */

static double loss_of(struct exp_slices *slices, int64_t step)
{
    size_t count = rpl_trace_step_count(slices->trace);

    while (slices->next_loss < count &&
           rpl_trace_step(slices->trace, slices->next_loss).step < step)
        slices->next_loss++;
    if (slices->next_loss < count && rpl_trace_step(slices->trace, slices->next_loss).step == step)
        return rpl_trace_step(slices->trace, slices->next_loss).loss;
    return (double)NAN;
}

/* Steps are the outermost slices of their track, phases those in them. */
static void steps_end(struct exp_slices *slices, uint64_t time_ns, uint64_t allocated)
{
    double loss = loss_of(slices, slices->step);
    char number[40];

    end_all(slices, EXP_TRACK_MODULES, 0, time_ns, allocated);
    slices->module = 0;
    end_all(slices, EXP_TRACK_STEPS, 1, time_ns, allocated);
    if (!slices->open[EXP_TRACK_STEPS].count)
        return;
    end(slices, EXP_TRACK_STEPS, time_ns, allocated);
    snprintf(number, sizeof(number), ", \"loss\": %.17g", loss);
    exp_put_text(slices->out, isfinite(loss) ? number : "");
    exp_put_text(slices->out, "}}");
}

static void step_begin(struct exp_slices *slices, uint64_t seq, const struct vs_event *event,
                       uint64_t allocated)
{
    char name[32] = "setup";

    steps_end(slices, event->time_ns, allocated);
    slices->step = vs_event_step(event);
    if (slices->step >= 0)
        snprintf(name, sizeof(name), "step %lld", (long long)slices->step);
    begin(slices, EXP_TRACK_STEPS,
          (struct exp_slice){event->step.number_plus_one, allocated, false}, name, seq,
          event->time_ns);
    exp_put_text(slices->out, "}}");
}

static void phase_begin(struct exp_slices *slices, uint64_t seq, const struct vs_event *event,
                        uint64_t allocated)
{
    bool is_in_step = slices->open[EXP_TRACK_STEPS].count > 0;

    end_all(slices, EXP_TRACK_MODULES, 0, event->time_ns, allocated);
    slices->module = 0;
    end_all(slices, EXP_TRACK_STEPS, 1, event->time_ns, allocated);
    if (!is_in_step || event->phase.phase >= VS_PHASE_COUNT)
        return;
    begin(slices, EXP_TRACK_STEPS, (struct exp_slice){event->phase.phase, allocated, false},
          vs_phase_name((enum vs_phase)event->phase.phase), seq, event->time_ns);
    exp_put_text(slices->out, "}}");
}

/* ---- modules ---- */

/* How many parts of the path two modules share, the model itself counted as one. */
static size_t shared_parts(const char *a, const char *b)
{
    size_t parts = 1;
    size_t i = 0;

    for (; a[i] && a[i] == b[i]; i++)
        parts += a[i] == '.';
    return parts + (i && (!a[i] || a[i] == '.') && (!b[i] || b[i] == '.'));
}

/* Component `depth` of a path, 0: the model itself; *end: the end of it. False: it has fewer. */
static bool part_get(const char *path, size_t depth, const char **start, size_t *len)
{
    *start = "model";
    *len = strlen(*start);
    if (!depth)
        return true;
    *start = path;
    while (--depth) {
        *start = strchr(*start, '.');
        if (!*start)
            return false;
        ++*start;
    }
    *len = strcspn(*start, ".");
    return *len > 0;
}

static void module_go(struct exp_slices *slices, uint64_t seq, const struct vs_event *event,
                      uint64_t allocated)
{
    uint32_t id = rpl_trace_location(slices->trace, event->location)->module;
    const char *path = rpl_trace_string(slices->trace, id);
    size_t keep = id && slices->module
                      ? shared_parts(rpl_trace_string(slices->trace, slices->module), path)
                      : 0;
    struct vs_text name = {NULL, 0, 0};
    const char *part;
    size_t len;

    if (id == slices->module)
        return;
    end_all(slices, EXP_TRACK_MODULES, keep, event->time_ns, allocated);
    slices->module = id;
    for (size_t depth = keep; id && part_get(path, depth, &part, &len); depth++) {
        vs_text_clear(&name);
        vs_text_add_n(&name, part, len);
        begin(slices, EXP_TRACK_MODULES, (struct exp_slice){id, allocated, false},
              vs_text_get(&name), seq, event->time_ns);
        vs_text_clear(&name);
        vs_text_add_n(&name, path, depth ? (size_t)(part - path) + len : 0);
        exp_put_text(slices->out, ", \"module\": ");
        exp_put_json(slices->out, vs_text_get(&name));
        exp_put_text(slices->out, "}}");
    }
    vs_text_release(&name);
}

/* ---- ops ---- */

static void location_put(struct exp_slices *slices, uint32_t id)
{
    const struct vs_location *location = rpl_trace_location(slices->trace, id);

    exp_put_text(slices->out, ", \"module\": ");
    exp_put_json(slices->out, rpl_trace_string(slices->trace, location->module));
    exp_put_text(slices->out, ", \"function\": ");
    exp_put_json(slices->out, rpl_trace_string(slices->trace, location->func));
    exp_put_member(slices->out, ", \"line\": ", location->line);
}

static void op_begin(struct exp_slices *slices, uint64_t seq, const struct vs_event *event,
                     uint64_t allocated)
{
    static const char *const ROLES[] = {"forward", "backward", "recompute"};

    begin(slices, EXP_TRACK_OPS, (struct exp_slice){event->op.name, allocated, false},
          rpl_trace_string(slices->trace, (uint32_t)event->op.name), seq, event->time_ns);
    location_put(slices, event->location);
    exp_put_member(slices->out, ", \"flops\": ", event->op.flops);
    if (event->op.role < sizeof(ROLES) / sizeof(ROLES[0])) {
        exp_put_text(slices->out, ", \"role\": ");
        exp_put_json(slices->out, ROLES[event->op.role]);
    }
    exp_put_text(slices->out, "}}");
}

static void recompute_begin(struct exp_slices *slices, uint64_t seq, const struct vs_event *event,
                            uint64_t allocated)
{
    struct vs_text name = {NULL, 0, 0};

    vs_text_addf(&name, "recompute %s",
                 rpl_trace_string(slices->trace, (uint32_t)event->recompute.name));
    begin(slices, EXP_TRACK_OPS, (struct exp_slice){event->recompute.name, allocated, true},
          vs_text_get(&name), seq, event->time_ns);
    location_put(slices, event->location);
    exp_put_text(slices->out, "}}");
    vs_text_release(&name);
}

/*
 * An end event closes the innermost open slice of its kind and all slices inside it; without such a slice it is
 * ignored.
 */
static void op_end(struct exp_slices *slices, const struct vs_event *event, uint64_t allocated)
{
    const struct exp_slice_stack *open = &slices->open[EXP_TRACK_OPS];
    bool is_recompute = event->kind == VS_EV_RECOMPUTE_END;
    const uint64_t name = is_recompute ? event->recompute.name : event->op.name;
    size_t i = open->count;

    while (i && (open->items[i - 1].is_recompute != is_recompute || open->items[i - 1].key != name))
        i--;
    if (i)
        end_all(slices, EXP_TRACK_OPS, i - 1, event->time_ns, allocated);
}

/* For an imported trace, which has no op events: one slice for consecutive events of the same op and line. */
static void op_go(struct exp_slices *slices, uint64_t seq, const struct vs_event *event,
                  uint64_t allocated)
{
    uint32_t op = rpl_trace_location(slices->trace, event->location)->op;

    if (event->location == slices->op_location)
        return;
    end_all(slices, EXP_TRACK_OPS, 0, event->time_ns, allocated);
    slices->op_location = event->location;
    if (!op)
        return;
    begin(slices, EXP_TRACK_OPS, (struct exp_slice){op, allocated, false},
          rpl_trace_string(slices->trace, op), seq, event->time_ns);
    location_put(slices, event->location);
    exp_put_text(slices->out, "}}");
}

/* ---- the whole ---- */

void exp_slices_follow(struct exp_slices *slices, uint64_t seq, const struct vs_event *event,
                       uint64_t allocated)
{
    if (event->kind == VS_EV_STEP)
        step_begin(slices, seq, event, allocated);
    else if (event->kind == VS_EV_PHASE)
        phase_begin(slices, seq, event, allocated);
    if (event->location)
        module_go(slices, seq, event, allocated);
    if (event->kind == VS_EV_OP_BEGIN)
        op_begin(slices, seq, event, allocated);
    else if (event->kind == VS_EV_RECOMPUTE_BEGIN)
        recompute_begin(slices, seq, event, allocated);
    else if (event->kind == VS_EV_OP_END || event->kind == VS_EV_RECOMPUTE_END)
        op_end(slices, event, allocated);
    else if (slices->ops_by_location)
        op_go(slices, seq, event, allocated);
}

void exp_slices_end(struct exp_slices *slices, uint64_t time_ns, uint64_t allocated)
{
    end_all(slices, EXP_TRACK_OPS, 0, time_ns, allocated);
    steps_end(slices, time_ns, allocated);
}

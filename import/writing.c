/*
 * import/writing.c - see writing.h.
 *
 * Must not know:  how an import is made.
 * Invariant:      ids of strings, locations and blocks are unique over all devices.
 */
#include "import/writing.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "base/toggle.h"
#include "import/partial.h"

/*
 * Where a device is written. suffix: of meta keys; "" for a single device. strings, places, blocks: numbers of ids used
 * by the previous devices.
 */
struct target {
    struct sto_writer *w;
    char suffix[24];
    uint32_t strings;
    uint32_t locations;
    uint32_t tensors;
    uint32_t stacks;
    uint64_t blocks;
};

static enum vs_status text_write(const struct target *t, const char *key, const char *value,
                                 struct vs_error *err)
{
    char name[64];

    snprintf(name, sizeof(name), "%s%s", key, t->suffix);
    return sto_writer_meta_set(t->w, name, value, err);
}

static enum vs_status number_write(const struct target *t, const char *key, uint64_t number,
                                   struct vs_error *err)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, number);
    return text_write(t, key, text, err);
}

/* Write which data were derived, and how. */
static enum vs_status derived_write(const struct imp_derived *derived, const struct target *t,
                                    struct vs_error *err)
{
    enum vs_status st = text_write(t, "derived",
                                   !derived->has_stacks   ? "step"
                                   : derived->has_modules ? "category,phase,step"
                                                          : "category,module,phase,step",
                                   err);

    if (!st && derived->has_stacks)
        st = text_write(t, "derived_from", derived->has_cpp ? "python,c++" : "python", err);
    if (!st)
        st = text_write(t, "steps_by", derived->steps_by, err);
    if (!st && derived->has_alike)
        st = number_write(t, "steps_alike", derived->alike, err);
    return st;
}

/* Write the only toggle that a recording contains. */
static enum vs_status conf_toggle_write(const char *conf, struct sto_writer *w,
                                        struct vs_error *err)
{
    const struct vs_toggle_info *info = vs_toggle_info(VS_TOGGLE_ALLOC_CONF);
    const bool is_set = conf && *conf;

    return sto_writer_toggle_add(w, info->name, is_set ? conf : info->initial, !is_set, err);
}

/* Write why the import is incomplete, and what was omitted: a line per reason. */
static enum vs_status partial_write(const struct imp_import *import, const struct target *t,
                                    struct vs_error *err)
{
    enum vs_status st = text_write(t, "partial", import->partial, err);

    for (int unsure = 0; unsure < 2 && !st; unsure++) {
        struct vs_text text = {NULL, 0, 0};
        const int end = unsure ? IMP_LOSS_COUNT : IMP_LOSS_DROPPED;

        for (int i = unsure ? IMP_LOSS_DROPPED : 0; i < end; i++)
            if (import->losses[i])
                vs_text_addf(&text, "%s%" PRIu64 " %s", text.len ? "\n" : "", import->losses[i],
                             imp_loss_text((enum imp_loss)i));
        if (text.len)
            st = text_write(t, unsure ? "unsure" : "dropped", vs_text_get(&text), err);
        vs_text_release(&text);
    }
    return st;
}

/* Write how the program was observed, if it was. */
static enum vs_status observed_write(const struct vs_memlist *list, const struct target *t,
                                     struct vs_error *err)
{
    const struct vs_mem_observed *observed = &list->observed;
    enum vs_status st = VS_OK;

    if (!observed->is_there)
        return VS_OK;
    st = number_write(t, "observed", observed->matched, err);
    if (!st)
        st = number_write(t, "observed_of", observed->total, err);
    if (!st)
        st = number_write(t, "observed_own", observed->own, err);
    if (!st)
        st = number_write(t, "observed_collected", observed->collected, err);
    if (!st && observed->ended)
        st = text_write(t, "observed_ended", vs_memlist_text(list, observed->ended), err);
    return st;
}

/* Of how many ops the arithmetic is known. */
static enum vs_status arithmetic_write(const struct vs_memlist *list, const struct target *t,
                                       struct vs_error *err)
{
    const struct vs_mem_arithmetic *arithmetic = &list->arithmetic;
    enum vs_status st;

    if (!arithmetic->is_there)
        return VS_OK;
    st = number_write(t, "arithmetic_ops", arithmetic->ops, err);
    if (!st)
        st = number_write(t, "arithmetic_unknown", arithmetic->unknown, err);
    if (!st && arithmetic->names)
        st = text_write(t, "arithmetic_unknown_ops", vs_memlist_text(list, arithmetic->names), err);
    return st;
}

/*
 * Write what was observed between the events of the allocator: how much, and whether what autograd saves is in it. Ops
 * that checkpoints ran again are a number for each step, with commas.
 */
static enum vs_status between_write(const struct imp_import *import, const struct vs_memlist *list,
                                    const struct target *t, struct vs_error *err)
{
    struct vs_text text = {NULL, 0, 0};
    enum vs_status st;

    if (!list->did_count)
        return VS_OK;
    st = number_write(t, "observed_between", list->did_count, err);
    if (!st)
        st = number_write(t, "observed_saves", list->has_saves, err);
    if (!st && list->saves_unknown)
        st = text_write(t, "observed_saves_unknown", vs_memlist_text(list, list->saves_unknown),
                        err);
    for (uint32_t i = 0; i < import->derived.steps; i++)
        vs_text_addf(&text, "%s%" PRIu64, i ? "," : "",
                     i < import->recomputed_count ? import->recomputed[i] : 0);
    if (!st && text.len)
        st = text_write(t, "recomputed_ops", vs_text_get(&text), err);
    vs_text_release(&text);
    return st ? st : arithmetic_write(list, t, err);
}

static enum vs_status meta_write(const struct imp_import *import, const struct vs_memlist *list,
                                 const char *name, const struct target *t, struct vs_error *err)
{
    enum vs_status st = sto_writer_meta_set(t->w, "source_kind", "imported", err);

    if (!st)
        st = sto_writer_meta_set(t->w, "source_name", name, err);
    if (!st)
        st = sto_writer_meta_set(t->w, "device", "cuda", err);
    if (!st && list->conf && *list->conf)
        st = sto_writer_meta_set(t->w, "alloc_conf", list->conf, err);
    if (!st)
        st = conf_toggle_write(list->conf, t->w, err);
    if (!st && import->capacity)
        st = number_write(t, "capacity", import->capacity, err);
    if (!st)
        st = number_write(t, "device_number", list->device, err);
    if (!st && list->event_count && list->events[0].time_us)
        st = number_write(t, "began_us", list->events[0].time_us, err);
    if (!st)
        st = number_write(t, "recorded_events", list->event_count, err);
    if (!st && list->other_count)
        st = number_write(t, "other_events", list->other_count, err);
    if (!st)
        st = number_write(t, "blocks_before", import->blocks_before, err);
    if (!st)
        st = number_write(t, "start_events", import->start_events, err);
    if (!st)
        st = number_write(t, "end_segments", import->end_segments, err);
    if (!st)
        st = number_write(t, "end_blocks", import->end_blocks, err);
    if (!st)
        st = observed_write(list, t, err);
    if (!st)
        st = between_write(import, list, t, err);
    if (!st && import->partial)
        st = partial_write(import, t, err);
    return st ? st : derived_write(&import->derived, t, err);
}

static uint32_t shifted(uint32_t id, uint32_t by)
{
    return id ? id + by : 0;
}

/* Offset the ids of strings, locations, tensors and blocks by those of the previous devices. */
static void events_shift(struct vs_event *events, size_t count, const struct target *t)
{
    for (size_t i = 0; i < count; i++) {
        struct vs_event *event = &events[i];
        uint64_t *strings[VS_EVENT_STRINGS_MAX];
        uint64_t *tensor;

        event->location = event->location ? event->location + t->locations : 0;
        if (vs_event_has_block(event))
            vs_event_block_set(event, vs_event_block(event) + t->blocks);
        if (event->kind == VS_EV_ALLOC)
            event->alloc.tensor = shifted(event->alloc.tensor, t->tensors);
        if (event->kind == VS_EV_CAST && event->cast.from_block)
            event->cast.from_block += t->blocks;
        tensor = vs_event_tensor(event);
        if (tensor && *tensor)
            *tensor += t->tensors;
        for (size_t k = vs_event_strings(event, strings); k-- > 0;)
            if (*strings[k])
                *strings[k] += t->strings;
    }
}

static enum vs_status tensors_write(const struct imp_import *import, const struct target *t,
                                    struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < import->tensor_count && !st; i++) {
        struct vs_tensor_desc desc = import->tensors[i];

        desc.id += t->tensors;
        desc.block += t->blocks;
        desc.name = shifted(desc.name, t->strings);
        st = sto_writer_tensor(t->w, &desc, err);
    }
    return st;
}

static enum vs_status frames_write(const struct imp_import *import, const struct target *t,
                                   struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < import->frame_count && !st; i++) {
        const struct imp_frame *frame = &import->frames[i];

        st = sto_writer_frame(t->w, t->stacks + frame->stack, frame->depth,
                              shifted(frame->func, t->strings), frame->line, err);
    }
    return st;
}

/* The events, each with its call stack if it has one. */
static enum vs_status events_write(const struct imp_import *import, const struct target *t,
                                   struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0, next; i < import->event_count && !st; i = next) {
        for (next = i + 1; next < import->event_count && !import->stacks[next]; next++)
            ;
        if (import->stacks[i])
            st = sto_writer_stack(t->w, t->stacks + import->stacks[i], err);
        if (!st)
            st = sto_writer_events(t->w, &import->events[i], next - i, err);
    }
    return st;
}

/* Write one device. Events and locations are changed in place: an import is written once. */
static enum vs_status one_write(struct imp_import *import, const struct vs_memlist *list,
                                const char *name, struct target *t, struct vs_error *err)
{
    enum vs_status st =
        t->suffix[0] ? sto_writer_device(t->w, list->device, t->blocks, err) : VS_OK;

    if (!st)
        st = meta_write(import, list, name, t, err);
    for (size_t i = 0; i < import->string_count && !st; i++)
        st = sto_writer_string(t->w, t->strings + (uint32_t)i + 1, import->strings[i], err);
    for (size_t i = 0; i < import->location_count; i++) {
        struct vs_location *location = &import->locations[i];

        location->module = shifted(location->module, t->strings);
        location->func = shifted(location->func, t->strings);
        location->op = shifted(location->op, t->strings);
    }
    if (!st)
        st = sto_writer_locations(t->w, t->locations + 1, import->locations, import->location_count,
                                  err);
    if (!st)
        st = tensors_write(import, t, err);
    if (t->suffix[0])
        events_shift(import->events, import->event_count, t);
    if (!st)
        st = frames_write(import, t, err);
    if (!st)
        st = events_write(import, t, err);
    t->strings += (uint32_t)import->string_count;
    t->locations += (uint32_t)import->location_count;
    t->tensors += (uint32_t)import->tensor_count;
    t->stacks += import->frame_count ? import->frames[import->frame_count - 1].stack : 0;
    t->blocks += import->blocks;
    return st;
}

/*
 * Write the annotations as marks with the keys A, B, … A trace of several devices has none, because the number of an
 * event would be ambiguous.
 */
static enum vs_status marks_write(const struct imp_import *only, struct sto_writer *w,
                                  struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < only->mark_count && !st; i++) {
        const char key[] = {(char)('A' + i), '\0'};

        st = sto_writer_mark(w, key, only->marks[i].event, only->strings[only->marks[i].name - 1],
                             err);
    }
    return st;
}

enum vs_status imp_write(struct imp_import *imports, const struct vs_memlist *lists, size_t count,
                         const char *name, struct sto_writer *writer, struct vs_error *err)
{
    struct target t = {.w = writer};
    size_t with_events = 0;
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < count; i++)
        with_events += imports[i].event_count > 0;
    for (size_t i = 0; i < count && !st; i++) {
        if (with_events && !imports[i].event_count)
            continue;
        if (with_events > 1)
            snprintf(t.suffix, sizeof(t.suffix), "@%" PRIu64, lists[i].device);
        st = one_write(&imports[i], &lists[i], name, &t, err);
        if (!st && with_events == 1)
            st = marks_write(&imports[i], t.w, err);
        if (!with_events)
            break;
    }
    return st;
}

/*
 * tracer/keep.c - see keep.h.
 *
 * Must not know:  threads, rings, SQL.
 * Invariant:      without a bound everything goes to the one trace, and nothing is kept in memory.
 */
#include "tracer/keep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "tracer/in_force.h"
#include "tracer/renumber.h"

/* So many events are renumbered at a time. */
#define BATCH 1024
/* A trace has numbers for so many nodes, and one an event of its start, that are met later. */
#define NODES_SPARE 1024
/* Descriptions of tensors that no event in force mentions are forgotten when there are so many more. */
#define TENSORS_SPARE 4096

/*
 * A trace being written. path: NULL: there is none. is_renumbered: it does not begin with the run. event_count: without
 * those of its start.
 */
struct part {
    char *path;
    bool is_renumbered;
    struct sto_writer *writer;
    uint64_t event_count;
    struct trc_numbers numbers;
};

/* meta: key and value; source: name and text; toggle: name and value. */
enum fact_kind { FACT_META, FACT_SOURCE, FACT_TOGGLE };
struct fact {
    enum fact_kind kind;
    bool is_default;
    char *key;
    char *value;
};

struct named {
    uint32_t id;
    const char *text;
};

struct located {
    uint32_t id;
    struct vs_location location;
};

/*
 * now, next  the trace at the path, and the one that will take its place
 * the rest   only with a bound. newest_*: the highest ids so far. tensors: the descriptions of those that events in
 *            force may mention; tensors_kept: how many were left when others were last forgotten
 */
struct trc_keep {
    uint64_t bound;
    char *path;
    struct part now;
    struct part next;
    struct trc_in_force *in_force;
    uint64_t event_count;
    uint64_t newest_block;
    uint64_t newest_tensor;
    uint64_t newest_node;
    struct fact *facts;
    size_t fact_count;
    size_t fact_cap;
    struct named *strings;
    size_t string_count;
    size_t string_cap;
    struct located *locations;
    size_t location_count;
    size_t location_cap;
    struct vs_tensor_desc *tensors;
    size_t tensor_count;
    size_t tensor_cap;
    size_t tensors_kept;
};

static void newest_note(struct trc_keep *k, struct vs_event *event)
{
    const struct trc_event_ids in = trc_event_ids(event);

    if (event->kind == VS_EV_ALLOC && event->alloc.block > k->newest_block)
        k->newest_block = event->alloc.block;
    if (in.node && *in.node > k->newest_node)
        k->newest_node = *in.node;
}

/* ---- tensors ---- */

static int by_tensor(const void *a, const void *b)
{
    const struct vs_tensor_desc *x = a;
    const struct vs_tensor_desc *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

/* The ids of the tensors that these events mention, as a set. */
static void tensors_mentioned(struct vs_event *events, size_t count, struct trc_ids *out)
{
    out->base = UINT64_MAX; /* all are old */
    for (size_t i = 0; i < count; i++) {
        const struct trc_event_ids in = trc_event_ids(&events[i]);

        trc_ids_add(out, in.tensor ? *in.tensor : in.short_tensor ? *in.short_tensor : 0);
    }
}

/* Forget the tensors that no event in force mentions; at a step no other has been described and not yet mentioned. */
static void tensors_sweep(struct trc_keep *k, struct vs_event *in_force, size_t count)
{
    struct trc_ids mentioned = {.old = NULL};
    size_t kept = 0;

    tensors_mentioned(in_force, count, &mentioned);
    for (size_t i = 0; i < k->tensor_count; i++)
        if (trc_ids_number(&mentioned, k->tensors[i].id))
            k->tensors[kept++] = k->tensors[i];
    trc_ids_release(&mentioned);
    k->tensor_count = k->tensors_kept = kept;
}

static enum vs_status tensor_write(const struct part *part, const struct vs_tensor_desc *desc,
                                   struct vs_error *err)
{
    struct vs_tensor_desc own = *desc;

    if (!part->is_renumbered)
        return sto_writer_tensor(part->writer, desc, err);
    own.id = (uint32_t)trc_ids_number(&part->numbers.tensors, desc->id);
    own.block = desc->block ? trc_ids_number(&part->numbers.blocks, desc->block) : 0;
    return sto_writer_tensor(part->writer, &own, err);
}

/* ---- beginning a trace ---- */

/* Strings, locations, and what was set of the recording so far. */
static enum vs_status facts_write(const struct trc_keep *k, const struct part *part,
                                  struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0; !st && i < k->fact_count; i++) {
        const struct fact *f = &k->facts[i];

        switch (f->kind) {
        case FACT_META:
            st = sto_writer_meta_set(part->writer, f->key, f->value, err);
            break;
        case FACT_SOURCE:
            st = sto_writer_source_add(part->writer, f->key, f->value, err);
            break;
        case FACT_TOGGLE:
            st = sto_writer_toggle_add(part->writer, f->key, f->value, f->is_default, err);
            break;
        }
    }
    for (size_t i = 0; !st && i < k->string_count; i++)
        st = sto_writer_string(part->writer, k->strings[i].id, k->strings[i].text, err);
    for (size_t i = 0; !st && i < k->location_count; i++)
        st = sto_writer_location(part->writer, k->locations[i].id, &k->locations[i].location, err);
    return st;
}

static enum vs_status number_write(const struct part *part, const char *key, uint64_t number,
                                   struct vs_error *err)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, number);
    return sto_writer_meta_set(part->writer, key, text, err);
}

/* The peak of the whole run so far, which a trace without its beginning may not have. */
static enum vs_status run_peak_write(const struct trc_keep *k, const struct part *part,
                                     struct vs_error *err)
{
    const struct trc_peak peak =
        k->in_force ? trc_in_force_peak(k->in_force) : (struct trc_peak){.event = 0};
    enum vs_status st;
    char step[24];

    if (!part->is_renumbered)
        return VS_OK;
    snprintf(step, sizeof(step), "%" PRId64, peak.step);
    st = number_write(part, "run_peak", peak.bytes, err);
    if (!st)
        st = number_write(part, "run_peak_event", peak.event, err);
    return st ? st : sto_writer_meta_set(part->writer, "run_peak_step", step, err);
}

/* Number what is there now from 1 on. The tensors are in order of their ids. */
static void ids_begin(const struct trc_keep *k, struct part *part, struct vs_event *start,
                      size_t count)
{
    part->is_renumbered = true;
    part->numbers.blocks.base = k->newest_block;
    part->numbers.tensors.base = k->newest_tensor;
    part->numbers.nodes.base = k->newest_node;
    for (size_t i = 0; i < k->tensor_count; i++)
        trc_ids_add(&part->numbers.tensors, k->tensors[i].id);
    for (size_t i = 0; i < count; i++) {
        const struct trc_event_ids in = trc_event_ids(&start[i]);

        if (in.block)
            trc_ids_add(&part->numbers.blocks, *in.block);
        if (in.node)
            trc_ids_add(&part->numbers.nodes, *in.node);
    }
    part->numbers.blocks.first_new = part->numbers.blocks.old_count + 1;
    part->numbers.tensors.first_new = part->numbers.tensors.old_count + 1;
    part->numbers.nodes.first_new = part->numbers.nodes.old_count + 1 + count + NODES_SPARE;
}

/* Write the state: of which blocks, tensors and nodes there is what. */
static enum vs_status start_write(struct trc_keep *k, struct part *part, struct vs_error *err)
{
    size_t count;
    struct vs_event *start = trc_in_force_events(k->in_force, &count);
    enum vs_status st;

    tensors_sweep(k, start, count);
    if (k->tensor_count)
        qsort(k->tensors, k->tensor_count, sizeof(*k->tensors), by_tensor);
    ids_begin(k, part, start, count);
    st = number_write(part, "start_events", count, err);
    if (!st)
        st = number_write(part, "dropped_events", k->event_count, err);
    for (size_t i = 0; !st && i < k->tensor_count; i++)
        st = tensor_write(part, &k->tensors[i], err);
    for (size_t i = 0; i < count; i++)
        trc_renumber(&part->numbers, &start[i]);
    if (!st)
        st = sto_writer_events(part->writer, start, count, err);
    vs_free(start);
    return st;
}

static enum vs_status next_begin(struct trc_keep *k, struct vs_error *err)
{
    const struct sto_writer_options options = {.force = true};
    struct part *part = &k->next;
    struct vs_text path = {NULL, 0, 0};
    enum vs_status st;

    vs_text_addf(&path, "%s.new-%ld-keep", k->path, (long)getpid());
    part->path = vs_text_take(&path);
    st = sto_writer_open(part->path, &options, &part->writer, err);
    if (!st)
        st = facts_write(k, part, err);
    return st ? st : start_write(k, part, err);
}

static void part_release(struct part *part)
{
    vs_free(part->path);
    trc_numbers_release(&part->numbers);
    *part = (struct part){.path = NULL};
}

/* The second trace takes the place of the first. */
static enum vs_status next_take(struct trc_keep *k, struct vs_error *err)
{
    enum vs_status st = sto_writer_close(k->now.writer, false, err);

    part_release(&k->now);
    k->now = k->next;
    k->next = (struct part){.path = NULL};
    if (!st)
        st = run_peak_write(k, &k->now, err);
    if (!st)
        st = sto_writer_move(k->now.writer, k->path, err);
    if (st)
        return st;
    vs_free(k->now.path);
    k->now.path = vs_strdup(k->path);
    return VS_OK;
}

/* A step begins: a trace may begin, or be done with. */
static enum vs_status step_begin(struct trc_keep *k, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    if (k->next.path && k->next.event_count >= k->bound)
        st = next_take(k, err);
    if (!st && !k->next.path && k->now.event_count >= k->bound)
        return next_begin(k, err);
    if (!st && k->tensor_count > 2 * k->tensors_kept + TENSORS_SPARE) {
        size_t count;
        struct vs_event *events = trc_in_force_events(k->in_force, &count);

        tensors_sweep(k, events, count);
        vs_free(events);
    }
    return st;
}

/* ---- what is recorded ---- */

static enum vs_status part_events(struct part *part, const struct vs_event *events, size_t count,
                                  struct vs_error *err)
{
    struct vs_event own[BATCH];
    enum vs_status st = VS_OK;

    part->event_count += count;
    if (!part->is_renumbered)
        return sto_writer_events(part->writer, events, count, err);
    while (!st && count) {
        const size_t n = count < BATCH ? count : BATCH;

        memcpy(own, events, n * sizeof(*own));
        for (size_t i = 0; i < n; i++)
            trc_renumber(&part->numbers, &own[i]);
        st = sto_writer_events(part->writer, own, n, err);
        events += n;
        count -= n;
    }
    return st;
}

static enum vs_status both_events(struct trc_keep *k, const struct vs_event *events, size_t count,
                                  struct vs_error *err)
{
    enum vs_status st = part_events(&k->now, events, count, err);

    k->event_count += count;
    return st || !k->next.path ? st : part_events(&k->next, events, count, err);
}

enum vs_status trc_keep_events(struct trc_keep *k, const struct vs_event *events, size_t count,
                               struct vs_error *err)
{
    size_t done = 0;
    enum vs_status st = VS_OK;

    if (!k->bound)
        return sto_writer_events(k->now.writer, events, count, err);
    for (size_t i = 0; !st && i < count; i++) {
        struct vs_event event = events[i];

        if (event.kind == VS_EV_STEP) {
            st = both_events(k, events + done, i - done, err);
            done = i;
            if (!st)
                st = step_begin(k, err);
        }
        newest_note(k, &event);
        trc_in_force_event(k->in_force, &event);
    }
    return st ? st : both_events(k, events + done, count - done, err);
}

enum vs_status trc_keep_tensor(struct trc_keep *k, const struct vs_tensor_desc *desc,
                               struct vs_error *err)
{
    enum vs_status st;

    if (!k->bound)
        return sto_writer_tensor(k->now.writer, desc, err);
    if (desc->id > k->newest_tensor)
        k->newest_tensor = desc->id;
    k->tensors = vs_grow(k->tensors, k->tensor_count, &k->tensor_cap, sizeof(*k->tensors));
    k->tensors[k->tensor_count++] = *desc;
    st = tensor_write(&k->now, desc, err);
    return st || !k->next.path ? st : tensor_write(&k->next, desc, err);
}

enum vs_status trc_keep_string(struct trc_keep *k, uint32_t id, const char *text,
                               struct vs_error *err)
{
    enum vs_status st = sto_writer_string(k->now.writer, id, text, err);

    if (st || !k->bound)
        return st;
    k->strings = vs_grow(k->strings, k->string_count, &k->string_cap, sizeof(*k->strings));
    k->strings[k->string_count++] = (struct named){id, text};
    return k->next.path ? sto_writer_string(k->next.writer, id, text, err) : VS_OK;
}

enum vs_status trc_keep_location(struct trc_keep *k, uint32_t id,
                                 const struct vs_location *location, struct vs_error *err)
{
    enum vs_status st = sto_writer_location(k->now.writer, id, location, err);

    if (st || !k->bound)
        return st;
    k->locations =
        vs_grow(k->locations, k->location_count, &k->location_cap, sizeof(*k->locations));
    k->locations[k->location_count++] = (struct located){id, *location};
    return k->next.path ? sto_writer_location(k->next.writer, id, location, err) : VS_OK;
}

/* Remember a fact for the traces to come, in the place of an earlier one of the same key. */
static void fact_keep(struct trc_keep *k, enum fact_kind kind, const char *key, const char *value,
                      bool is_default)
{
    size_t i = 0;

    while (i < k->fact_count && (k->facts[i].kind != kind || strcmp(k->facts[i].key, key) != 0))
        i++;
    if (i < k->fact_count) {
        vs_free(k->facts[i].value);
    } else {
        k->facts = vs_grow(k->facts, k->fact_count, &k->fact_cap, sizeof(*k->facts));
        k->facts[k->fact_count++] = (struct fact){.kind = kind, .key = vs_strdup(key)};
    }
    k->facts[i].value = vs_strdup(value);
    k->facts[i].is_default = is_default;
}

enum vs_status trc_keep_meta(struct trc_keep *k, const char *key, const char *value,
                             struct vs_error *err)
{
    enum vs_status st = sto_writer_meta_set(k->now.writer, key, value, err);

    if (st || !k->bound)
        return st;
    fact_keep(k, FACT_META, key, value, false);
    return k->next.path ? sto_writer_meta_set(k->next.writer, key, value, err) : VS_OK;
}

enum vs_status trc_keep_source(struct trc_keep *k, const char *name, const char *text,
                               struct vs_error *err)
{
    enum vs_status st = sto_writer_source_add(k->now.writer, name, text, err);

    if (st || !k->bound)
        return st;
    fact_keep(k, FACT_SOURCE, name, text, false);
    return k->next.path ? sto_writer_source_add(k->next.writer, name, text, err) : VS_OK;
}

enum vs_status trc_keep_toggle(struct trc_keep *k, const char *name, const char *value,
                               bool is_default, struct vs_error *err)
{
    enum vs_status st = sto_writer_toggle_add(k->now.writer, name, value, is_default, err);

    if (st || !k->bound)
        return st;
    fact_keep(k, FACT_TOGGLE, name, value, is_default);
    return k->next.path ? sto_writer_toggle_add(k->next.writer, name, value, is_default, err)
                        : VS_OK;
}

/* A step that a trace does not have is none of its rows. */
enum vs_status trc_keep_step(struct trc_keep *k, int64_t step, double loss, struct vs_error *err)
{
    enum vs_status st = sto_writer_step(k->now.writer, step, loss, err);

    return st || !k->next.path ? st : sto_writer_step(k->next.writer, step, loss, err);
}

enum vs_status trc_keep_frame(struct trc_keep *k, uint32_t stack, uint32_t depth, uint32_t func,
                              uint32_t line, struct vs_error *err)
{
    VS_ASSERT(!k->bound);
    return sto_writer_frame(k->now.writer, stack, depth, func, line, err);
}

enum vs_status trc_keep_stack(struct trc_keep *k, uint32_t stack, struct vs_error *err)
{
    VS_ASSERT(!k->bound);
    return sto_writer_stack(k->now.writer, stack, err);
}

enum vs_status trc_keep_commit(struct trc_keep *k, struct vs_error *err)
{
    enum vs_status st = run_peak_write(k, &k->now, err);

    if (!st)
        st = sto_writer_commit(k->now.writer, err);
    return st || !k->next.path ? st : sto_writer_commit(k->next.writer, err);
}

/* ---- opening and closing ---- */

enum vs_status trc_keep_open(const char *path, bool force, uint64_t events, struct trc_keep **out,
                             struct vs_error *err)
{
    const struct sto_writer_options options = {.force = force};
    struct trc_keep *k = vs_calloc(1, sizeof(*k));
    enum vs_status st = sto_writer_open(path, &options, &k->now.writer, err);

    *out = NULL;
    if (st) {
        vs_free(k);
        return st;
    }
    k->bound = events;
    k->path = vs_strdup(path);
    k->now.path = vs_strdup(path);
    if (events)
        k->in_force = trc_in_force_new();
    *out = k;
    return VS_OK;
}

struct sto_writer *trc_keep_writer(struct trc_keep *k)
{
    VS_ASSERT(!k->bound);
    return k->now.writer;
}

static void keep_free(struct trc_keep *k)
{
    part_release(&k->now);
    part_release(&k->next);
    trc_in_force_free(k->in_force);
    for (size_t i = 0; i < k->fact_count; i++) {
        vs_free(k->facts[i].key);
        vs_free(k->facts[i].value);
    }
    vs_free(k->facts);
    vs_free(k->strings);
    vs_free(k->locations);
    vs_free(k->tensors);
    vs_free(k->path);
    vs_free(k);
}

enum vs_status trc_keep_close(struct trc_keep *k, bool complete, struct vs_error *err)
{
    struct vs_error ignored = VS_ERROR_INIT;
    enum vs_status st;

    if (!k)
        return VS_OK;
    st = run_peak_write(k, &k->now, err);
    if (st)
        (void)!sto_writer_close(k->now.writer, false, &ignored);
    else
        st = sto_writer_close(k->now.writer, complete, err);
    (void)!sto_writer_close(k->next.writer, false, &ignored); /* of no use any more */
    if (k->next.path)
        unlink(k->next.path);
    if (strcmp(k->now.path, k->path) != 0) /* it could not take the place of the first */
        unlink(k->now.path);
    keep_free(k);
    return st;
}

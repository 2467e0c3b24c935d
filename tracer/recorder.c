/*
 * tracer/recorder.c - see recorder.h.
 *
 * Must not know:  SQL.
 * Invariant:      strings, locations, tensors and all other data pass through the same ring as the events, so that they
 *                 arrive in the order in which they were emitted. Only the thread that holds `writing` uses the writer.
 */
#include "tracer/recorder.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "tracer/intern.h"
#include "tracer/keep.h"
#include "tracer/ring.h"

#ifdef VS_STRESS
#define RING_SLOTS 16
#else
#define RING_SLOTS (1u << 18)
#endif
#define COMMIT_MS 500
#define EMPTY_SLEEP_NS 1000000

/* Slots processed between two readings of the clock. */
#define RUN_MAX 4096

/*
 * Records in the ring that are not events; the `kind` of their slot. Pointers are stored as numbers.
 *
 * string   e: id, a: text, owned by the intern table
 * location  e: id, a: phase, b: module, c: func, d: line, location: op
 * tensor   e: id, a: block, b: offset, location: name, aux: dtype, pad[0]: ndim; the following slots contain the 2 *
 *          ndim numbers of sizes and strides
 * meta     a: key, b: value; source: a: name, b: text; toggle: a: name, b: value, aux: is_default. Freed by the
 *          consumer.
 * step     a: step, b: the bits of the loss
 * frame    a: stack, b: depth, c: func, d: line; stack: a: that of the next event
 * stop     the writer thread ends
 */
enum record {
    RECORD_STRING = 192,
    RECORD_LOCATION,
    RECORD_TENSOR,
    RECORD_META,
    RECORD_SOURCE,
    RECORD_TOGGLE,
    RECORD_STEP,
    RECORD_FRAME,
    RECORD_STACK,
    RECORD_STOP
};

/* State of the writer thread. */
struct consumer {
    struct trc_keep *keep;
    uint64_t commit_ns;
    uint64_t last_commit_ns;
    bool is_commit_due; /* before the interval has passed */
    bool has_uncommitted;
    bool has_events;
    bool is_stopped;
    /* the tensor whose remaining slots are expected */
    struct vs_tensor_desc tensor;
    size_t tensor_bytes_missing;
    int64_t tensor_dims[2 * VS_MAX_DIMS];
    size_t tensor_bytes_got;
    trc_beside_fn *beside;
    void *beside_user;
    struct vs_error failure;
};

struct trc_recorder {
    struct eng_observer observer;
    struct trc_ring *ring;
    struct trc_intern *intern;
    uint64_t start_ns;
    uint64_t event_count;
    pthread_t thread;
    pthread_mutex_t
        writing; /* held while reading the ring and writing: by the writer thread, or by a thread that commits */
    struct consumer consumer;
};

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t pointer_pack(const void *ptr)
{
    return (uint64_t)(uintptr_t)ptr;
}

static char *text_unpack(uint64_t word)
{
    return (char *)(uintptr_t)word;
}

/* ---- the writer thread ---- */

static void tensor_begin(struct consumer *c, const struct vs_event *slot)
{
    c->tensor = (struct vs_tensor_desc){
        .block = slot->raw.a,
        .id = slot->raw.e,
        .name = slot->location,
        .dtype = slot->raw.aux,
        .ndim = (uint8_t)slot->raw.c,
        .offset_elems = slot->raw.b,
    };
    c->tensor_bytes_got = 0;
    c->tensor_bytes_missing = 2 * sizeof(int64_t) * c->tensor.ndim;
}

static enum vs_status tensor_end(struct consumer *c, struct vs_error *err)
{
    size_t ndim = c->tensor.ndim;

    memcpy(c->tensor.sizes, c->tensor_dims, ndim * sizeof(int64_t));
    memcpy(c->tensor.strides, c->tensor_dims + ndim, ndim * sizeof(int64_t));
    return trc_keep_tensor(c->keep, &c->tensor, err);
}

static enum vs_status tensor_go_on(struct consumer *c, const struct vs_event *slot,
                                   struct vs_error *err)
{
    size_t part = sizeof(*slot) < c->tensor_bytes_missing ? sizeof(*slot) : c->tensor_bytes_missing;

    memcpy((char *)c->tensor_dims + c->tensor_bytes_got, slot, part);
    c->tensor_bytes_got += part;
    c->tensor_bytes_missing -= part;
    return c->tensor_bytes_missing == 0 ? tensor_end(c, err) : VS_OK;
}

/* Write two texts that were copied for the ring, and free them. */
static enum vs_status texts_write(struct consumer *c, const struct vs_event *slot,
                                  struct vs_error *err)
{
    char *first = text_unpack(slot->raw.a);
    char *second = text_unpack(slot->raw.b);
    enum vs_status st;

    if (c->failure.status)
        st = VS_OK;
    else if (slot->kind == RECORD_META)
        st = trc_keep_meta(c->keep, first, second, err);
    else if (slot->kind == RECORD_SOURCE)
        st = trc_keep_source(c->keep, first, second, err);
    else
        st = trc_keep_toggle(c->keep, first, second, slot->raw.aux, err);
    vs_free(first);
    vs_free(second);
    return st;
}

static enum vs_status location_write(struct consumer *c, const struct vs_event *slot,
                                     struct vs_error *err)
{
    struct vs_location location = {(uint32_t)slot->raw.a, (uint32_t)slot->raw.b,
                                   (uint32_t)slot->raw.c, (uint32_t)slot->raw.d, slot->location};

    return trc_keep_location(c->keep, slot->raw.e, &location, err);
}

static enum vs_status loss_write(struct consumer *c, const struct vs_event *slot,
                                 struct vs_error *err)
{
    double loss;

    memcpy(&loss, &slot->raw.b, sizeof(loss));
    return trc_keep_step(c->keep, (int64_t)slot->raw.a, loss, err);
}

/* Process a slot that is not an event. After a failure only what must be freed or counted is processed. */
static enum vs_status record_take(struct consumer *c, const struct vs_event *slot,
                                  struct vs_error *err)
{
    if (c->tensor_bytes_missing > 0)
        return tensor_go_on(c, slot, err);
    switch ((enum record)slot->kind) {
    case RECORD_STRING:
        return trc_keep_string(c->keep, slot->raw.e, text_unpack(slot->raw.a), err);
    case RECORD_LOCATION:
        return location_write(c, slot, err);
    case RECORD_TENSOR:
        tensor_begin(c, slot);
        return c->tensor_bytes_missing == 0 ? tensor_end(c, err) : VS_OK;
    case RECORD_META:
    case RECORD_SOURCE:
    case RECORD_TOGGLE:
        return texts_write(c, slot, err);
    case RECORD_STEP:
        return loss_write(c, slot, err);
    case RECORD_FRAME:
        return trc_keep_frame(c->keep, (uint32_t)slot->raw.a, (uint32_t)slot->raw.b,
                              (uint32_t)slot->raw.c, (uint32_t)slot->raw.d, err);
    case RECORD_STACK:
        return trc_keep_stack(c->keep, (uint32_t)slot->raw.a, err);
    case RECORD_STOP:
        c->is_stopped = true;
        return VS_OK;
    }
    vs_die("tracer: a record of an unknown kind %d", slot->kind);
}

static void failure_keep(struct trc_recorder *rec, enum vs_status st, const struct vs_error *err)
{
    struct consumer *c = &rec->consumer;

    if (!st || c->failure.status)
        return;
    c->failure = *err;
    trc_ring_give_up(rec->ring);
}

/* Process the first slots of a run: consecutive events, or one other record. Returns how many. */
static size_t run_take(struct trc_recorder *rec, const struct vs_event *slots, size_t count)
{
    struct consumer *c = &rec->consumer;
    struct vs_error err = VS_ERROR_INIT;
    size_t events = 0;

    if (c->tensor_bytes_missing == 0)
        while (events < count && slots[events].kind < VS_EVENT_KIND_COUNT)
            events++;
    if (events == 0) {
        failure_keep(rec, record_take(c, slots, &err), &err);
        return 1;
    }
    if (!c->has_events)
        c->is_commit_due =
            true; /* so that the net and its toggles, which came before, are committed early */
    c->has_events = true;
    if (!c->failure.status)
        failure_keep(rec, trc_keep_events(c->keep, slots, events, &err), &err);
    return events;
}

static void beside_write(struct trc_recorder *rec)
{
    struct consumer *c = &rec->consumer;
    struct vs_error err = VS_ERROR_INIT;

    if (c->beside && !c->failure.status)
        failure_keep(rec, c->beside(c->beside_user, trc_keep_writer(c->keep), &err), &err);
}

/* Commit now, regardless of the interval. Call with `writing` held; does nothing after a failure. */
static void commit(struct trc_recorder *rec)
{
    struct consumer *c = &rec->consumer;
    struct vs_error err = VS_ERROR_INIT;

    if (c->failure.status)
        return;
    beside_write(rec);
    failure_keep(rec, trc_keep_commit(c->keep, &err), &err);
    c->last_commit_ns = now_ns();
    c->is_commit_due = false;
    c->has_uncommitted = false;
}

static void commit_if_due(struct trc_recorder *rec)
{
    struct consumer *c = &rec->consumer;

    if (c->has_uncommitted && (c->is_commit_due || now_ns() - c->last_commit_ns >= c->commit_ns))
        commit(rec);
}

/* Process at most `RUN_MAX` records of the ring; returns how many. Call with `writing` held. */
static size_t ring_take(struct trc_recorder *rec)
{
    size_t count;
    size_t done = 0;
    const struct vs_event *slots = trc_ring_peek(rec->ring, &count);

    count = count < RUN_MAX ? count : RUN_MAX;
    while (done < count)
        done += run_take(rec, slots + done, count - done);
    trc_ring_consume(rec->ring, count);
    rec->consumer.has_uncommitted |= count > 0;
    return count;
}

static void *writer_thread(void *arg)
{
    struct trc_recorder *rec = arg;
    struct consumer *c = &rec->consumer;
    const struct timespec pause = {0, EMPTY_SLEEP_NS};

    while (!c->is_stopped) {
        size_t count;

        pthread_mutex_lock(&rec->writing);
        count = ring_take(rec);
        if (!c->is_stopped) /* the writer may not exist otherwise */
            commit_if_due(rec);
        pthread_mutex_unlock(&rec->writing);
        if (count == 0)
            nanosleep(&pause, NULL);
    }
    return NULL;
}

/* ---- the training thread ---- */

static void on_emit(void *user, const struct vs_event *event)
{
    struct trc_recorder *rec = user;
    struct vs_event *slot = trc_ring_slot(rec->ring);

    *slot = *event;
    slot->time_ns = now_ns() - rec->start_ns;
    trc_ring_publish(rec->ring);
    rec->event_count++;
}

static void record_send(struct trc_recorder *rec, const struct vs_event *record)
{
    *trc_ring_slot(rec->ring) = *record;
    trc_ring_publish(rec->ring);
}

static uint32_t on_string(void *user, const char *text)
{
    struct trc_recorder *rec = user;
    const char *new_text;
    uint32_t id = trc_intern_string(rec->intern, text, &new_text);

    if (VS_UNLIKELY(new_text))
        record_send(rec, &(struct vs_event){.kind = RECORD_STRING,
                                            .raw = {.e = id, .a = pointer_pack(new_text)}});
    return id;
}

static uint32_t on_location(void *user, const struct vs_location *location)
{
    struct trc_recorder *rec = user;
    bool is_new;
    uint32_t id = trc_intern_location(rec->intern, location, &is_new);

    if (VS_UNLIKELY(is_new))
        record_send(rec, &(struct vs_event){.kind = RECORD_LOCATION,
                                            .raw = {.e = id,
                                                    .a = location->phase,
                                                    .b = location->module,
                                                    .c = location->func,
                                                    .d = location->line},
                                            .location = location->op});
    return id;
}

static void on_tensor(void *user, const struct vs_tensor_desc *desc)
{
    struct trc_recorder *rec = user;
    int64_t dims[2 * VS_MAX_DIMS];
    size_t ndim = desc->ndim;
    size_t bytes = 2 * ndim * sizeof(dims[0]);

    VS_ASSERT(ndim <= VS_MAX_DIMS);
    record_send(rec, &(struct vs_event){.kind = RECORD_TENSOR,
                                        .location = desc->name,
                                        .raw = {.a = desc->block,
                                                .b = desc->offset_elems,
                                                .c = desc->ndim,
                                                .e = desc->id,
                                                .aux = desc->dtype}});
    memcpy(dims, desc->sizes, ndim * sizeof(dims[0]));
    memcpy(dims + ndim, desc->strides, ndim * sizeof(dims[0]));
    for (size_t at = 0; at < bytes; at += sizeof(struct vs_event)) {
        size_t left = bytes - at;

        memcpy(trc_ring_slot(rec->ring), (const char *)dims + at,
               left < sizeof(struct vs_event) ? left : sizeof(struct vs_event));
        trc_ring_publish(rec->ring);
    }
}

static void recorder_free(struct trc_recorder *rec)
{
    if (!rec)
        return;
    trc_ring_free(rec->ring);
    trc_intern_free(rec->intern);
    pthread_mutex_destroy(&rec->writing);
    vs_free(rec);
}

static void thread_stop(struct trc_recorder *rec)
{
    record_send(rec, &(struct vs_event){.kind = RECORD_STOP});
    pthread_join(rec->thread, NULL);
}

enum vs_status trc_recorder_open(const char *path, const struct trc_recorder_options *options,
                                 struct trc_recorder **out, struct vs_error *err)
{
    static const struct trc_recorder_options defaults;
    struct trc_recorder *rec = NULL;
    bool is_running = false;
    enum vs_status st;
    int rc;

    *out = NULL;
    if (!options)
        options = &defaults;
    VS_ASSERT(!options->keep_events || !options->beside);
    rec = vs_calloc(1, sizeof(*rec));
    rec->ring = trc_ring_new(options->ring_slots ? options->ring_slots : RING_SLOTS);
    rec->intern = trc_intern_new();
    pthread_mutex_init(&rec->writing, NULL);
    rec->observer = (struct eng_observer){rec, on_emit, on_string, on_location, on_tensor};
    rec->consumer.beside = options->beside;
    rec->consumer.beside_user = options->beside_user;
    rec->consumer.commit_ns =
        UINT64_C(1000000) * (options->commit_ms ? options->commit_ms : COMMIT_MS);
    rec->consumer.last_commit_ns = rec->start_ns = now_ns();
    /*
     * Start the thread first: if that fails, no file may be created. The thread uses the writer only when the first
     * record arrives.
     */
    rc = pthread_create(&rec->thread, NULL, writer_thread, rec);
    if (rc != 0) {
        st = vs_fail(err, VS_E_IO, "%s: no thread can be started to write it: %s", path,
                     strerror(rc));
        goto out;
    }
    is_running = true;
    st = trc_keep_open(path, options->force, options->keep_events, &rec->consumer.keep, err);
    if (st)
        goto out;
    *out = rec;
    rec = NULL; /* handed over */
out:
    if (rec && is_running)
        thread_stop(rec);
    recorder_free(rec);
    return st;
}

const struct eng_observer *trc_recorder_observer(struct trc_recorder *rec)
{
    return &rec->observer;
}

static void texts_send(struct trc_recorder *rec, enum record kind, const char *first,
                       const char *second, bool flag)
{
    record_send(rec, &(struct vs_event){.kind = (uint8_t)kind,
                                        .raw = {.a = pointer_pack(vs_strdup(first)),
                                                .b = pointer_pack(vs_strdup(second)),
                                                .aux = flag}});
}

void trc_recorder_meta_set(struct trc_recorder *rec, const char *key, const char *value)
{
    texts_send(rec, RECORD_META, key, value, false);
}

void trc_recorder_source_add(struct trc_recorder *rec, const char *name, const char *text)
{
    texts_send(rec, RECORD_SOURCE, name, text, false);
}

void trc_recorder_toggle_add(struct trc_recorder *rec, const char *name, const char *value,
                             bool is_default)
{
    texts_send(rec, RECORD_TOGGLE, name, value, is_default);
}

void trc_recorder_frame(struct trc_recorder *rec, uint32_t stack, uint32_t depth, uint32_t func,
                        uint32_t line)
{
    record_send(rec, &(struct vs_event){.kind = RECORD_FRAME,
                                        .raw = {.a = stack, .b = depth, .c = func, .d = line}});
}

void trc_recorder_stack(struct trc_recorder *rec, uint32_t stack)
{
    record_send(rec, &(struct vs_event){.kind = RECORD_STACK, .raw = {.a = stack}});
}

void trc_recorder_step(struct trc_recorder *rec, int64_t step, double loss)
{
    struct vs_event record = {.kind = RECORD_STEP, .raw = {.a = (uint64_t)step}};

    memcpy(&record.raw.b, &loss, sizeof(loss));
    record_send(rec, &record);
}

void trc_recorder_hold(struct trc_recorder *rec)
{
    pthread_mutex_lock(&rec->writing);
}

void trc_recorder_go_on(struct trc_recorder *rec)
{
    pthread_mutex_unlock(&rec->writing);
}

void trc_recorder_commit(struct trc_recorder *rec)
{
    pthread_mutex_lock(&rec->writing);
    while (ring_take(rec) > 0)
        ;
    commit(rec);
    pthread_mutex_unlock(&rec->writing);
}

void trc_recorder_stats(const struct trc_recorder *rec, struct trc_recorder_stats *out)
{
    out->events = rec->event_count;
    out->failed = trc_ring_is_given_up(rec->ring);
    trc_ring_waits(rec->ring, &out->waits, &out->wait_ns);
}

enum vs_status trc_recorder_close(struct trc_recorder *rec, bool complete, struct vs_error *err)
{
    struct vs_error failure = VS_ERROR_INIT;
    enum vs_status st;

    if (!rec)
        return VS_OK;
    thread_stop(rec);
    beside_write(rec);
    failure = rec->consumer.failure;
    st = trc_keep_close(rec->consumer.keep, complete && !failure.status,
                        failure.status ? &(struct vs_error)VS_ERROR_INIT : err);
    if (failure.status) {
        *err = failure;
        st = failure.status;
    }
    recorder_free(rec);
    return st;
}

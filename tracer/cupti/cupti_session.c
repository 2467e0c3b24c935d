/*
 * tracer/cupti/cupti_session.c - see cupti_session.h.
 *
 * Must not know:  CUPTI's types.
 * Invariant:      the lock is held only to add up records, never while calling CUPTI, the recorder or the file.
 */
#include "tracer/cupti/cupti_session.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "store/work.h"
#include "store/writer.h"
#include "tracer/cupti/cupti_capture.h"
#include "tracer/cupti/cupti_memory.h"
#include "tracer/cupti/cupti_session_internal.h"
#include "tracer/cupti/cupti_work.h"

struct trc_cupti {
    struct cupti_source source;
    struct eng_observer observer;
    const struct eng_observer *inner;
    pthread_t thread;     /* the training thread */
    uint64_t event_count; /* events passed to `inner` */
    uint64_t *ops;        /* op_begin events without an end so far; the last one is the innermost */
    size_t op_count;
    size_t op_cap;
    bool is_stopped;
    bool is_deaf; /* pushing failed: ops are not reported to CUPTI any more */
    bool is_written;
    const char *trouble;
    FILE *capture;
    pthread_mutex_t lock; /* protects the members below */
    struct cupti_work *work;
    struct cupti_memory *memory;
    struct cupti_lost lost;
};

static void on_memory(void *user, const struct cupti_record *record)
{
    cupti_memory_seen(user, record);
}

struct trc_cupti *cupti_session_new(const struct cupti_source *source, FILE *capture)
{
    struct trc_cupti *c = vs_calloc(1, sizeof(*c));

    c->source = *source;
    c->thread = pthread_self();
    c->capture = capture;
    c->memory = cupti_memory_new();
    c->work = cupti_work_new(0, on_memory, c->memory);
    pthread_mutex_init(&c->lock, NULL);
    return c;
}

FILE *cupti_session_capture(const struct trc_cupti *c)
{
    return c->capture;
}

static void trouble_keep(struct trc_cupti *c, const char *what)
{
    if (what && !c->trouble)
        c->trouble = what;
}

const char *trc_cupti_trouble(const struct trc_cupti *c)
{
    return c->trouble;
}

/* ---- the current op ---- */

static void op_begin(struct trc_cupti *c)
{
    const char *trouble;

    c->ops = vs_grow(c->ops, c->op_count, &c->op_cap, sizeof(*c->ops));
    c->ops[c->op_count++] = c->event_count;
    if (c->is_deaf)
        return;
    trouble = c->source.push(c->source.user, c->event_count);
    c->is_deaf = trouble != NULL;
    trouble_keep(c, trouble);
}

/* If a call failed in between, CUPTI's stack is unknown, and it is left as it is. */
static void op_end(struct trc_cupti *c)
{
    const char *trouble;

    if (!c->op_count)
        return;
    c->op_count--;
    if (c->is_deaf)
        return;
    trouble = c->source.pop(c->source.user);
    c->is_deaf = trouble != NULL;
    trouble_keep(c, trouble);
}

static void on_emit(void *user, const struct vs_event *event)
{
    struct trc_cupti *c = user;

    c->inner->emit(c->inner->user, event);
    c->event_count++;
    if (event->kind == VS_EV_OP_BEGIN)
        op_begin(c);
    else if (event->kind == VS_EV_OP_END)
        op_end(c);
}

static uint32_t on_string(void *user, const char *text)
{
    const struct trc_cupti *c = user;

    return c->inner->string(c->inner->user, text);
}

static uint32_t on_location(void *user, const struct vs_location *location)
{
    const struct trc_cupti *c = user;

    return c->inner->location(c->inner->user, location);
}

static void on_tensor(void *user, const struct vs_tensor_desc *desc)
{
    const struct trc_cupti *c = user;

    c->inner->tensor(c->inner->user, desc);
}

const struct eng_observer *trc_cupti_observer(struct trc_cupti *c, const struct eng_observer *inner)
{
    c->inner = inner;
    c->observer = (struct eng_observer){c, on_emit, on_string, on_location, on_tensor};
    return &c->observer;
}

/* ---- records ---- */

void cupti_session_begin(struct trc_cupti *c)
{
    pthread_mutex_lock(&c->lock);
}

void cupti_session_take(struct trc_cupti *c, const struct cupti_record *record)
{
    cupti_work_take(c->work, record);
}

void cupti_session_end(struct trc_cupti *c, const struct cupti_lost *lost)
{
    c->lost.dropped += lost->dropped;
    c->lost.unknown += lost->unknown;
    c->lost.cut += lost->cut;
    cupti_work_settle(c->work, false);
    pthread_mutex_unlock(&c->lock);
}

void trc_cupti_asked(struct trc_cupti *c, bool is_taken, uint64_t address, uint64_t bytes)
{
    pthread_mutex_lock(&c->lock);
    cupti_memory_asked(c->memory, is_taken, address, bytes);
    pthread_mutex_unlock(&c->lock);
    cupti_capture_asked(c->capture, is_taken, address, bytes);
}

void trc_cupti_created(struct trc_cupti *c, uint64_t bytes)
{
    pthread_mutex_lock(&c->lock);
    cupti_memory_created_asked(c->memory, bytes);
    pthread_mutex_unlock(&c->lock);
    cupti_capture_created(c->capture, true, 0, bytes);
}

void cupti_session_created_seen(struct trc_cupti *c, uint64_t bytes)
{
    bool is_ours = pthread_equal(pthread_self(), c->thread);
    uint64_t op_seq = is_ours && c->op_count ? c->ops[c->op_count - 1] : 0;

    pthread_mutex_lock(&c->lock);
    cupti_memory_created_seen(c->memory, op_seq, bytes);
    pthread_mutex_unlock(&c->lock);
    cupti_capture_created(c->capture, false, op_seq, bytes);
}

void trc_cupti_stop(struct trc_cupti *c)
{
    if (!c || c->is_stopped)
        return;
    c->is_deaf = true;
    trouble_keep(c, c->source.stop(c->source.user));
    pthread_mutex_lock(&c->lock);
    cupti_work_settle(c->work, true);
    c->is_stopped = true;
    pthread_mutex_unlock(&c->lock);
}

/* ---- writing ---- */

static enum vs_status meta_number(struct sto_writer *w, const char *key, uint64_t value,
                                  struct vs_error *err)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, value);
    return sto_writer_meta_set(w, key, text, err);
}

/* Write the totals, after all records were resolved. */
static enum vs_status end_write(struct trc_cupti *c, struct sto_writer *w, struct vs_error *err)
{
    const struct cupti_work_counts *work = cupti_work_counts(c->work);
    const struct cupti_memory_counts *memory = cupti_memory_counts(c->memory);
    struct sto_foreign *foreign = NULL;
    size_t foreign_count = 0;
    enum vs_status st;

    cupti_memory_end(c->memory, c->source.call_name, c->source.user, &foreign, &foreign_count);
    st = sto_writer_foreign(w, foreign, foreign_count, err);
    vs_free(foreign);
    {
        const struct cupti_total totals[] = {
            {"cupti_records", work->records},     {"cupti_kernels", work->kernels},
            {"cupti_copies", work->copies},       {"cupti_fills", work->fills},
            {"cupti_device_ns", work->device_ns}, {"cupti_dropped", c->lost.dropped},
            {"cupti_unknown", c->lost.unknown},   {"cupti_cut", c->lost.cut},
            {"cupti_untimed", work->untimed},     {"cupti_untied", work->untied},
            {"cupti_memory", memory->seen},       {"cupti_foreign", memory->foreign},
            {"cupti_unseen", memory->unseen},     {"cupti_pools", memory->pools},
        };

        for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]) && !st; i++)
            st = meta_number(w, totals[i].name, totals[i].value, err);
        cupti_capture_totals(c->capture, totals, sizeof(totals) / sizeof(totals[0]));
    }
    if (!st)
        st = sto_writer_meta_set(w, "cupti", c->trouble ? c->trouble : "on", err);
    c->is_written = true;
    return st;
}

enum vs_status trc_cupti_write(void *user, struct sto_writer *w, struct vs_error *err)
{
    struct trc_cupti *c = user;
    struct sto_task *tasks;
    struct sto_work *work;
    size_t task_count;
    size_t work_count;
    bool is_stopped;
    enum vs_status st;

    pthread_mutex_lock(&c->lock);
    cupti_work_drain(c->work, &tasks, &task_count, &work, &work_count);
    is_stopped = c->is_stopped;
    pthread_mutex_unlock(&c->lock);
    st = sto_writer_tasks(w, tasks, task_count, err);
    if (!st)
        st = sto_writer_work(w, work, work_count, err);
    vs_free(tasks);
    vs_free(work);
    if (!st && is_stopped && !c->is_written)
        st = end_write(c, w, err);
    return st;
}

void trc_cupti_close(struct trc_cupti *c)
{
    if (!c)
        return;
    trc_cupti_stop(c);
    c->source.release(c->source.user);
    cupti_capture_close(c->capture);
    cupti_work_free(c->work);
    cupti_memory_free(c->memory);
    pthread_mutex_destroy(&c->lock);
    vs_free(c->ops);
    vs_free(c);
}

/*
 * store/writer.c - see writer.h.
 *
 * Must not know:  threads.
 * Invariant:      a transaction is open from sto_writer_open() to the commit in sto_writer_close(). Every commit writes
 *                 the incomplete last chunk, replacing what the previous commit wrote of it.
 */
#include "store/writer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/dtype.h"
#include "base/mem.h"
#include "store/codec/codec.h"
#include "store/create.h"
#include "store/db_internal.h"
#include "store/phases.h"
#include "store/shape.h"
#include "store/writer_internal.h"

/* Uncommitted data are in memory: this much causes a commit. */
#define PENDING_BYTES_MAX (16u << 20)

/* clang-format off */
enum statement {
    ST_META, ST_SOURCE, ST_TOGGLE, ST_STRING, ST_LOCATION, ST_SHAPE, ST_STEP, ST_LOSS, ST_PHASE,
    ST_DEVICE, ST_MARK, ST_FRAME, ST_STACK, ST_COUNT
};
/* clang-format on */

static const char *const statement_sql[ST_COUNT] = {
    [ST_META] = "INSERT OR REPLACE INTO meta VALUES (?, ?)",
    [ST_SOURCE] = "INSERT OR REPLACE INTO source VALUES (?, ?)",
    [ST_TOGGLE] = "INSERT OR REPLACE INTO toggle VALUES (?, ?, ?)",
    [ST_STRING] = "INSERT OR REPLACE INTO string VALUES (?, ?)",
    [ST_LOCATION] = "INSERT OR REPLACE INTO place VALUES (?, ?, ?, ?, ?, ?)",
    [ST_SHAPE] = "INSERT INTO shape VALUES (?, ?, ?, ?)",
    [ST_STEP] = "INSERT OR REPLACE INTO step VALUES (?, ?, ?, ?)",
    /* from the end: it is the loss of a recent step */
    [ST_LOSS] = ("UPDATE step SET loss = ? WHERE first_seq = "
                 "(SELECT first_seq FROM step WHERE step = ? ORDER BY first_seq DESC LIMIT 1)"),
    [ST_PHASE] = "INSERT OR REPLACE INTO phase_stat VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [ST_DEVICE] = "INSERT OR REPLACE INTO device VALUES (?, ?, ?, ?)",
    [ST_FRAME] = "INSERT INTO frame VALUES (?, ?, ?)",
    [ST_STACK] = "INSERT INTO event_stack VALUES (?, ?)",
    [ST_MARK] = "INSERT OR REPLACE INTO mark VALUES (?, ?, ?)",
};

/*
 * event_count    number of events written, including those in `chunk`
 * chunk          the last chunk_count of them, which do not fill a chunk yet
 * tensors, tensor_count  the same for tensors; see STO_KIND_TENSOR
 * pending_bytes  encoded since the last commit
 * failure        the first failure; VS_OK if there was none
 */
struct sto_writer {
    struct sto_db db;
    char *path;
    sqlite3_stmt *statements[ST_COUNT];
    struct sto_writer_chunks *chunks;
    struct sto_shapes *shapes;
    struct sto_phases phases;
    struct vs_event *chunk;
    size_t chunk_count;
    struct vs_event *tensors;
    size_t tensor_count;
    uint64_t event_count;
    struct sto_device device; /* first_seq 0: the trace has one device, and no row for it */
    size_t pending_bytes;
    struct vs_error failure;
};

static enum vs_status keep_failure(struct sto_writer *w, enum vs_status st, struct vs_error *err)
{
    if (st && !w->failure.status)
        w->failure = *err;
    return st;
}

static enum vs_status failure_repeat(const struct sto_writer *w, struct vs_error *err)
{
    *err = w->failure;
    return w->failure.status;
}

const struct sto_db *sto_writer_db(const struct sto_writer *w)
{
    return &w->db;
}

enum vs_status sto_writer_failure(const struct sto_writer *w, struct vs_error *err)
{
    return w->failure.status ? failure_repeat(w, err) : VS_OK;
}

enum vs_status sto_writer_keep(struct sto_writer *w, enum vs_status st, struct vs_error *err)
{
    return keep_failure(w, st, err);
}

static void bind_text(sqlite3_stmt *stmt, int at, const char *text)
{
    sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC);
}

/* Numbers are below 2^63, except for addresses and counters of imported files: these are stored as signed. */
static void bind_u64(sqlite3_stmt *stmt, int at, uint64_t n)
{
    sqlite3_bind_int64(stmt, at, (sqlite3_int64)n);
}

static enum vs_status run(struct sto_writer *w, enum statement which, struct vs_error *err)
{
    return keep_failure(w, sto_db_run(&w->db, w->statements[which], err), err);
}

static void connection_close(struct sto_writer *w)
{
    for (int i = 0; i < ST_COUNT; i++) {
        sqlite3_finalize(w->statements[i]);
        w->statements[i] = NULL;
    }
    if (w->chunks)
        sto_writer_chunks_pause(w->chunks);
    sto_db_close(&w->db);
}

static void writer_free(struct sto_writer *w)
{
    if (!w)
        return;
    connection_close(w);
    sto_writer_chunks_close(w->chunks);
    sto_shapes_free(w->shapes);
    vs_free(w->chunk);
    vs_free(w->tensors);
    vs_free(w->path);
    vs_free(w);
}

/*
 * SQLite deletes its rollback journal at each commit, and writes pages to the file only at a commit. So the file alone
 * is a valid database except during a commit, when the journal beside it restores the previous state.
 */
static enum vs_status connection_prepare(struct sto_writer *w, struct vs_error *err)
{
    enum vs_status st;

    st = sto_db_exec(
        &w->db,
        "PRAGMA journal_mode = DELETE; PRAGMA synchronous = NORMAL; PRAGMA cache_spill = 0;"
        "PRAGMA cache_size = -2048; BEGIN IMMEDIATE",
        err);
    for (int i = 0; !st && i < ST_COUNT; i++)
        st = sto_db_prepare(&w->db, statement_sql[i], &w->statements[i], err);
    if (st)
        return st;
    return w->chunks ? sto_writer_chunks_resume(w->chunks, err)
                     : sto_writer_chunks_open(&w->db, &w->chunks, err);
}

static enum vs_status first_meta_set(struct sto_writer *w, struct vs_error *err)
{
    char text[32];
    time_t now = time(NULL);
    struct tm tm;
    enum vs_status st;

    gmtime_r(&now, &tm);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    st = sto_writer_meta_set(w, "complete", "0", err);
    if (!st)
        st = sto_writer_meta_set(w, "created", text, err);
    return st;
}

enum vs_status sto_writer_open(const char *path, const struct sto_writer_options *options,
                               struct sto_writer **out, struct vs_error *err)
{
    struct sto_writer *w = NULL;
    enum vs_status st;

    *out = NULL;
    st = sto_create(path, options && options->force, err);
    if (st)
        return st;
    w = vs_calloc(1, sizeof(*w));
    w->path = vs_strdup(path);
    w->shapes = sto_shapes_new();
    w->chunk = vs_alloc(STO_CHUNK_EVENTS * sizeof(*w->chunk));
    w->tensors = vs_alloc(STO_CHUNK_EVENTS * sizeof(*w->tensors));
    sto_phases_init(&w->phases, 1);
    st = sto_db_open(&w->db, w->path, true, err);
    if (st)
        goto out;
    st = connection_prepare(w, err);
    if (st)
        goto out;
    st = sto_create_views(&w->db, err);
    if (st)
        goto out;
    st = first_meta_set(w, err);
    if (st)
        goto out;
    st = sto_writer_commit(w, err);
    if (st)
        goto out;
    *out = w;
    w = NULL; /* handed over */
out:
    writer_free(w);
    return st;
}

enum vs_status sto_writer_meta_set(struct sto_writer *w, const char *key, const char *value,
                                   struct vs_error *err)
{
    if (w->failure.status)
        return failure_repeat(w, err);
    bind_text(w->statements[ST_META], 1, key);
    bind_text(w->statements[ST_META], 2, value);
    return run(w, ST_META, err);
}

enum vs_status sto_writer_source_add(struct sto_writer *w, const char *name, const char *text,
                                     struct vs_error *err)
{
    if (w->failure.status)
        return failure_repeat(w, err);
    bind_text(w->statements[ST_SOURCE], 1, name);
    bind_text(w->statements[ST_SOURCE], 2, text);
    return run(w, ST_SOURCE, err);
}

enum vs_status sto_writer_toggle_add(struct sto_writer *w, const char *name, const char *value,
                                     bool is_default, struct vs_error *err)
{
    if (w->failure.status)
        return failure_repeat(w, err);
    bind_text(w->statements[ST_TOGGLE], 1, name);
    bind_text(w->statements[ST_TOGGLE], 2, value);
    sqlite3_bind_int(w->statements[ST_TOGGLE], 3, is_default);
    return run(w, ST_TOGGLE, err);
}

enum vs_status sto_writer_string(struct sto_writer *w, uint32_t id, const char *text,
                                 struct vs_error *err)
{
    if (w->failure.status)
        return failure_repeat(w, err);
    bind_u64(w->statements[ST_STRING], 1, id);
    bind_text(w->statements[ST_STRING], 2, text);
    return run(w, ST_STRING, err);
}

enum vs_status sto_writer_frame(struct sto_writer *w, uint32_t stack, uint32_t depth, uint32_t func,
                                uint32_t line, struct vs_error *err)
{
    sqlite3_stmt *stmt = w->statements[ST_FRAME];

    VS_ASSERT(depth < STO_FRAMES_MAX);
    if (w->failure.status)
        return failure_repeat(w, err);
    bind_u64(stmt, 1, (uint64_t)stack * STO_FRAMES_MAX + depth);
    bind_u64(stmt, 2, func);
    bind_u64(stmt, 3, line);
    return run(w, ST_FRAME, err);
}

enum vs_status sto_writer_stack(struct sto_writer *w, uint32_t stack, struct vs_error *err)
{
    if (w->failure.status)
        return failure_repeat(w, err);
    bind_u64(w->statements[ST_STACK], 1, sto_writer_event_count(w) + 1);
    bind_u64(w->statements[ST_STACK], 2, stack);
    return run(w, ST_STACK, err);
}

enum vs_status sto_writer_location(struct sto_writer *w, uint32_t id,
                                   const struct vs_location *location, struct vs_error *err)
{
    sqlite3_stmt *stmt = w->statements[ST_LOCATION];

    if (w->failure.status)
        return failure_repeat(w, err);
    bind_u64(stmt, 1, id);
    bind_u64(stmt, 2, location->phase);
    bind_u64(stmt, 3, location->module);
    bind_u64(stmt, 4, location->func);
    bind_u64(stmt, 5, location->line);
    bind_u64(stmt, 6, location->op);
    return run(w, ST_LOCATION, err);
}

static enum vs_status shape_write(struct sto_writer *w, uint32_t id, const struct sto_shape *shape,
                                  struct vs_error *err)
{
    char sizes[STO_SHAPE_TEXT_MAX];
    char strides[STO_SHAPE_TEXT_MAX];
    sqlite3_stmt *stmt = w->statements[ST_SHAPE];

    bind_u64(stmt, 1, id);
    bind_u64(stmt, 2, shape->dtype);
    bind_text(stmt, 3, sto_shape_text(shape->sizes, shape->ndim, sizes));
    bind_text(stmt, 4, sto_shape_text(shape->strides, shape->ndim, strides));
    return run(w, ST_SHAPE, err);
}

static enum vs_status step_write(struct sto_writer *w, const struct sto_step *step,
                                 struct vs_error *err)
{
    sqlite3_stmt *stmt = w->statements[ST_STEP];

    bind_u64(stmt, 1, step->first_seq);
    bind_u64(stmt, 2, step->last_seq);
    sqlite3_bind_int64(stmt, 3, step->step);
    if (isnan(step->loss))
        sqlite3_bind_null(stmt, 4);
    else
        sqlite3_bind_double(stmt, 4, step->loss);
    return run(w, ST_STEP, err);
}

static enum vs_status phase_write(struct sto_writer *w, const struct sto_phase_stat *s,
                                  struct vs_error *err)
{
    sqlite3_stmt *stmt = w->statements[ST_PHASE];

    bind_u64(stmt, 1, s->first_seq);
    bind_u64(stmt, 2, s->last_seq);
    sqlite3_bind_int64(stmt, 3, s->step);
    sqlite3_bind_int(stmt, 4, (int)s->phase);
    bind_u64(stmt, 5, s->allocated_end);
    bind_u64(stmt, 6, s->allocated_peak);
    bind_u64(stmt, 7, s->requested_end);
    bind_u64(stmt, 8, s->requested_peak);
    bind_u64(stmt, 9, s->reserved_end);
    bind_u64(stmt, 10, s->reserved_peak);
    bind_u64(stmt, 11, s->peak_seq);
    return run(w, ST_PHASE, err);
}

/*
 * Write the chunk, replacing what was written of it before. Its events stay in memory. is_complete: it will not be
 * written again.
 */
static enum vs_status chunk_write(struct sto_writer *w, bool is_complete, struct vs_error *err)
{
    if (w->chunk_count == 0)
        return VS_OK;
    return keep_failure(w,
                        sto_writer_chunks_events(w->chunks, w->event_count - w->chunk_count + 1,
                                                 w->chunk, w->chunk_count, is_complete,
                                                 &w->pending_bytes, err),
                        err);
}

static enum vs_status chunk_finish(struct sto_writer *w, struct vs_error *err)
{
    enum vs_status st;

    st = chunk_write(w, true, err);
    w->chunk_count = 0;
    if (!st && w->pending_bytes > PENDING_BYTES_MAX)
        st = sto_writer_commit(w, err);
    return st;
}

/* As chunk_write(), for tensors. */
static enum vs_status tensors_write(struct sto_writer *w, bool is_complete, struct vs_error *err)
{
    if (w->tensor_count == 0)
        return VS_OK;
    return keep_failure(w,
                        sto_writer_chunks_tensors(w->chunks, w->tensors, w->tensor_count,
                                                  is_complete, &w->pending_bytes, err),
                        err);
}

enum vs_status sto_writer_tensor(struct sto_writer *w, const struct vs_tensor_desc *desc,
                                 struct vs_error *err)
{
    struct sto_shape shape;
    bool is_new = false;
    uint32_t shape_id;
    enum vs_status st = VS_OK;

    if (w->failure.status)
        return failure_repeat(w, err);
    VS_ASSERT(desc->id > 0);
    shape_id = sto_shapes_intern(w->shapes, desc, &shape, &is_new);
    if (is_new)
        st = shape_write(w, shape_id, &shape, err);
    w->tensors[w->tensor_count++] = (struct vs_event){
        .kind = STO_KIND_TENSOR,
        .location = shape_id,
        .raw = {.a = desc->block, .c = desc->name, .d = desc->offset_elems, .e = desc->id},
    };
    if (!st && w->tensor_count == STO_CHUNK_EVENTS) {
        st = tensors_write(w, true, err);
        w->tensor_count = 0;
    }
    return st;
}

static enum vs_status border_pass(struct sto_writer *w, const struct vs_event *event,
                                  struct vs_error *err)
{
    struct sto_phases_ended ended;
    enum vs_status st = VS_OK;

    sto_phases_border(&w->phases, w->event_count, event, &ended);
    if (ended.has_stat)
        st = phase_write(w, &ended.stat, err);
    if (!st && ended.has_step)
        st = step_write(w, &ended.step, err);
    return st;
}

/*
 * Whether a chunk ends before the event. Long steps begin with a chunk of their own, so that the chunks of one are
 * those of the next, and can be their references.
 */
static bool is_cut_before(const struct sto_writer *w, const struct vs_event *event)
{
    return event->kind == VS_EV_STEP && w->chunk_count &&
           w->event_count + 1 - w->phases.step.first_seq >= STO_CHUNK_EVENTS;
}

enum vs_status sto_writer_events(struct sto_writer *w, const struct vs_event *events, size_t count,
                                 struct vs_error *err)
{
    enum vs_status st = VS_OK;

    if (w->failure.status)
        return failure_repeat(w, err);
    for (size_t i = 0; !st && i < count; i++) {
        const struct vs_event *event = &events[i];

        VS_ASSERT(event->kind < VS_EVENT_KIND_COUNT);
        if (is_cut_before(w, event)) {
            st = chunk_finish(w, err);
            if (st)
                break;
        }
        w->chunk[w->chunk_count++] = *event;
        w->event_count++;
        if (sto_phases_is_border((enum vs_event_kind)event->kind))
            st = border_pass(w, event, err);
        else
            sto_phases_count(&w->phases, w->event_count, event);
        if (!st && w->chunk_count == STO_CHUNK_EVENTS)
            st = chunk_finish(w, err);
    }
    return st;
}

/* Write the rows of the current device, phase interval and step as they are so far. */
static enum vs_status going_on_write(struct sto_writer *w, struct vs_error *err)
{
    sqlite3_stmt *stmt = w->statements[ST_DEVICE];
    enum vs_status st = VS_OK;

    if (w->phases.stat.last_seq)
        st = phase_write(w, &w->phases.stat, err);
    if (!st && w->phases.step.last_seq)
        st = step_write(w, &w->phases.step, err);
    if (st || !w->device.first_seq)
        return st;
    bind_u64(stmt, 1, w->device.number);
    bind_u64(stmt, 2, w->device.first_seq);
    bind_u64(stmt, 3, w->event_count);
    bind_u64(stmt, 4, w->device.blocks_before);
    return run(w, ST_DEVICE, err);
}

enum vs_status sto_writer_device(struct sto_writer *w, uint64_t number, uint64_t blocks_before,
                                 struct vs_error *err)
{
    enum vs_status st;

    if (w->failure.status)
        return failure_repeat(w, err);
    VS_ASSERT(w->device.first_seq || !w->event_count);
    VS_ASSERT(!w->device.first_seq || w->device.first_seq <= w->event_count);
    st = going_on_write(w, err);
    w->device = (struct sto_device){
        .number = number, .first_seq = w->event_count + 1, .blocks_before = blocks_before};
    sto_phases_init(&w->phases, w->event_count + 1);
    return st;
}

enum vs_status sto_writer_step(struct sto_writer *w, int64_t step, double loss,
                               struct vs_error *err)
{
    sqlite3_stmt *stmt = w->statements[ST_LOSS];

    if (w->failure.status)
        return failure_repeat(w, err);
    if (step == w->phases.step.step) {
        w->phases.step.loss = loss;
        return VS_OK;
    }
    if (isnan(loss))
        sqlite3_bind_null(stmt, 1);
    else
        sqlite3_bind_double(stmt, 1, loss);
    sqlite3_bind_int64(stmt, 2, step);
    return run(w, ST_LOSS, err);
}

enum vs_status sto_writer_mark(struct sto_writer *w, const char *key, uint64_t seq,
                               const char *note, struct vs_error *err)
{
    sqlite3_stmt *stmt = w->statements[ST_MARK];

    if (w->failure.status)
        return failure_repeat(w, err);
    bind_text(stmt, 1, key);
    bind_u64(stmt, 2, seq);
    bind_text(stmt, 3, note);
    return run(w, ST_MARK, err);
}

enum vs_status sto_writer_commit(struct sto_writer *w, struct vs_error *err)
{
    char events[24];
    enum vs_status st;

    if (w->failure.status)
        return failure_repeat(w, err);
    st = chunk_write(w, false, err);
    if (!st)
        st = tensors_write(w, false, err);
    if (!st)
        st = going_on_write(w, err);
    snprintf(events, sizeof(events), "%llu", (unsigned long long)w->event_count);
    if (!st)
        st = sto_writer_meta_set(w, "events", events, err);
    if (!st)
        st = keep_failure(w, sto_db_exec(&w->db, "COMMIT; BEGIN IMMEDIATE", err), err);
    w->pending_bytes = 0;
    return st;
}

/*
 * The connection is closed meanwhile: SQLite names the journal of a commit after the file as it was opened, and would
 * not find it beside the new name.
 */
enum vs_status sto_writer_move(struct sto_writer *w, const char *path, struct vs_error *err)
{
    enum vs_status st = sto_writer_commit(w, err);

    if (!st)
        st = sto_db_exec(&w->db, "COMMIT", err);
    if (st)
        return keep_failure(w, st, err);
    connection_close(w);
    if (rename(w->path, path) != 0)
        st = vs_fail(err, VS_E_IO, "%s: cannot be renamed to %s: %s", w->path, path,
                     strerror(errno));
    if (!st) {
        vs_free(w->path);
        w->path = vs_strdup(path);
        st = sto_db_open(&w->db, w->path, true, err);
    }
    if (!st)
        st = connection_prepare(w, err);
    return keep_failure(w, st, err);
}

uint64_t sto_writer_event_count(const struct sto_writer *w)
{
    return w->event_count;
}

enum vs_status sto_writer_close(struct sto_writer *w, bool complete, struct vs_error *err)
{
    enum vs_status st;

    if (!w)
        return VS_OK;
    if (w->failure.status) {
        st = failure_repeat(w, err);
        goto out;
    }
    st = sto_writer_meta_set(w, "complete", complete ? "1" : "0", err);
    if (!st)
        st = sto_writer_commit(w, err);
    if (!st)
        st = sto_db_exec(&w->db, "COMMIT", err);
out:
    writer_free(w);
    return st;
}

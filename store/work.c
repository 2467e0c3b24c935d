/*
 * store/work.c - see work.h.
 *
 * Must not know:  CUPTI, ops.
 * Invariant:      statements are prepared at each use: rows are written a few times per second at most.
 */
#include "store/work.h"

#include <string.h>

#include "store/reader_internal.h"
#include "store/writer_internal.h"

static const char *const KINDS[STO_TASK_KIND_COUNT] = {
    [STO_TASK_KERNEL] = "kernel", [STO_TASK_COPY] = "copy", [STO_TASK_FILL] = "fill"};

const char *sto_task_kind_name(enum sto_task_kind kind)
{
    return KINDS[kind];
}

static void bind_text(sqlite3_stmt *stmt, int at, const char *text)
{
    sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC);
}

static void bind_u64(sqlite3_stmt *stmt, int at, uint64_t n)
{
    sqlite3_bind_int64(stmt, at, (sqlite3_int64)n);
}

static uint64_t column_u64(sqlite3_stmt *stmt, int at)
{
    return (uint64_t)sqlite3_column_int64(stmt, at);
}

/* ---- writing ---- */

/* Bind row i of `rows` to the parameters. */
typedef void bind_fn(sqlite3_stmt *stmt, const void *rows, size_t i);

static enum vs_status insert(struct sto_writer *w, const char *sql, bind_fn *bind, const void *rows,
                             size_t count, struct vs_error *err)
{
    const struct sto_db *db = sto_writer_db(w);
    sqlite3_stmt *stmt = NULL;
    enum vs_status st = sto_writer_failure(w, err);

    if (st || !count)
        return st;
    st = sto_db_prepare(db, sql, &stmt, err);
    for (size_t i = 0; i < count && !st; i++) {
        bind(stmt, rows, i);
        st = sto_db_run(db, stmt, err);
    }
    sqlite3_finalize(stmt);
    return sto_writer_keep(w, st, err);
}

static void task_bind(sqlite3_stmt *stmt, const void *rows, size_t i)
{
    const struct sto_task *task = (const struct sto_task *)rows + i;

    bind_u64(stmt, 1, task->id);
    bind_text(stmt, 2, KINDS[task->kind]);
    bind_text(stmt, 3, task->name);
}

static void work_bind(sqlite3_stmt *stmt, const void *rows, size_t i)
{
    const struct sto_work *work = (const struct sto_work *)rows + i;

    VS_ASSERT(work->task < STO_TASKS_MAX);
    bind_u64(stmt, 1, work->op_seq * STO_TASKS_MAX + work->task);
    bind_u64(stmt, 2, work->count);
    bind_u64(stmt, 3, work->ns);
    bind_u64(stmt, 4, work->bytes);
}

static void foreign_bind(sqlite3_stmt *stmt, const void *rows, size_t i)
{
    const struct sto_foreign *foreign = (const struct sto_foreign *)rows + i;

    bind_text(stmt, 1, foreign->api);
    bind_text(stmt, 2, foreign->library);
    bind_u64(stmt, 3, foreign->op_seq);
    bind_u64(stmt, 4, foreign->allocs);
    bind_u64(stmt, 5, foreign->alloc_bytes);
    bind_u64(stmt, 6, foreign->frees);
    bind_u64(stmt, 7, foreign->free_bytes);
}

enum vs_status sto_writer_tasks(struct sto_writer *w, const struct sto_task *tasks, size_t count,
                                struct vs_error *err)
{
    return insert(w, "INSERT INTO task VALUES (?, ?, ?)", task_bind, tasks, count, err);
}

enum vs_status sto_writer_work(struct sto_writer *w, const struct sto_work *work, size_t count,
                               struct vs_error *err)
{
    return insert(w,
                  "INSERT INTO work VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                  "count = count + excluded.count, ns = ns + excluded.ns, "
                  "bytes = bytes + excluded.bytes",
                  work_bind, work, count, err);
}

enum vs_status sto_writer_foreign(struct sto_writer *w, const struct sto_foreign *foreign,
                                  size_t count, struct vs_error *err)
{
    return insert(w, "INSERT INTO foreign_memory VALUES (?, ?, ?, ?, ?, ?, ?)", foreign_bind,
                  foreign, count, err);
}

/* ---- reading ---- */

/* Pass a row to the callback. VS_E_DAMAGED: the row is invalid. */
typedef enum vs_status take_fn(const struct sto_db *db, sqlite3_stmt *stmt, void (*each)(void),
                               void *user, struct vs_error *err);

static enum vs_status read_all(struct sto_reader *r, const char *table, const char *sql,
                               take_fn *take, void (*each)(void), void *user, struct vs_error *err)
{
    const struct sto_db *db = sto_reader_db(r);
    sqlite3_stmt *stmt = NULL;
    bool has_row = false;
    enum vs_status st;

    st = sto_db_prepare(db, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", &stmt,
                        err);
    if (st)
        return st;
    bind_text(stmt, 1, table);
    st = sto_db_row(db, stmt, &has_row, err);
    sqlite3_finalize(stmt);
    stmt = NULL;
    if (!st && has_row)
        st = sto_db_prepare(db, sql, &stmt, err);
    while (!st && has_row) {
        st = sto_db_row(db, stmt, &has_row, err);
        if (!st && has_row)
            st = take(db, stmt, each, user, err);
    }
    sqlite3_finalize(stmt);
    return st;
}

static const char *column_text(sqlite3_stmt *stmt, int at)
{
    const char *text = (const char *)sqlite3_column_text(stmt, at);

    return text ? text : "";
}

static enum vs_status task_take(const struct sto_db *db, sqlite3_stmt *stmt, void (*each)(void),
                                void *user, struct vs_error *err)
{
    const char *kind = column_text(stmt, 1);
    struct sto_task task = {.id = (uint32_t)column_u64(stmt, 0), .name = column_text(stmt, 2)};

    while (task.kind < STO_TASK_KIND_COUNT && strcmp(KINDS[task.kind], kind) != 0)
        task.kind++;
    if (task.kind == STO_TASK_KIND_COUNT)
        return vs_fail(err, VS_E_DAMAGED, "%s: there is no kind of GPU work called `%s`", db->path,
                       kind);
    ((sto_task_fn *)each)(user, &task);
    return VS_OK;
}

static enum vs_status work_take(const struct sto_db *db, sqlite3_stmt *stmt, void (*each)(void),
                                void *user, struct vs_error *err)
{
    struct sto_work work = {.op_seq = column_u64(stmt, 0) / STO_TASKS_MAX,
                            .task = (uint32_t)(column_u64(stmt, 0) % STO_TASKS_MAX),
                            .count = column_u64(stmt, 1),
                            .ns = column_u64(stmt, 2),
                            .bytes = column_u64(stmt, 3)};

    (void)db;
    (void)err;
    ((sto_work_fn *)each)(user, &work);
    return VS_OK;
}

static enum vs_status foreign_take(const struct sto_db *db, sqlite3_stmt *stmt, void (*each)(void),
                                   void *user, struct vs_error *err)
{
    struct sto_foreign foreign = {.api = column_text(stmt, 0),
                                  .library = column_text(stmt, 1),
                                  .op_seq = column_u64(stmt, 2),
                                  .allocs = column_u64(stmt, 3),
                                  .alloc_bytes = column_u64(stmt, 4),
                                  .frees = column_u64(stmt, 5),
                                  .free_bytes = column_u64(stmt, 6)};

    (void)db;
    (void)err;
    ((sto_foreign_fn *)each)(user, &foreign);
    return VS_OK;
}

enum vs_status sto_reader_tasks(struct sto_reader *r, sto_task_fn *each, void *user,
                                struct vs_error *err)
{
    return read_all(r, "task", "SELECT id, kind, name FROM task ORDER BY id", task_take,
                    (void (*)(void))each, user, err);
}

enum vs_status sto_reader_work(struct sto_reader *r, sto_work_fn *each, void *user,
                               struct vs_error *err)
{
    return read_all(r, "work", "SELECT id, count, ns, bytes FROM work ORDER BY id", work_take,
                    (void (*)(void))each, user, err);
}

enum vs_status sto_reader_foreign(struct sto_reader *r, sto_foreign_fn *each, void *user,
                                  struct vs_error *err)
{
    return read_all(r, "foreign_memory",
                    "SELECT api, library, op_seq, allocs, alloc_bytes, frees, free_bytes "
                    "FROM foreign_memory ORDER BY alloc_bytes DESC, free_bytes DESC, api, library, "
                    "op_seq",
                    foreign_take, (void (*)(void))each, user, err);
}

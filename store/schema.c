/*
 * store/schema.c - see schema.h: the tables, with the meaning and unit of every column.
 *
 * Must not know:  how rows are written or read.
 * Invariant:      docs/formats/trace-format.md names every table and column defined here; a test compares them.
 */
#include "store/schema.h"

#include "base/dtype.h"
#include "base/event.h"

#include "store/view.h"

static const char *const tables[] = {
    /* clang-format off */
    "CREATE TABLE meta (\n"
    "    key   TEXT PRIMARY KEY, -- name of the entry, e.g. net, device, created, complete; see "
    "docs/formats/trace-format.md\n"
    "    value TEXT NOT NULL     -- its value; numbers in decimal, times as 2025-01-31T12:00:00Z\n"
    ") WITHOUT ROWID",

    "CREATE TABLE source (\n"
    "    name TEXT PRIMARY KEY, -- file name of a source file of the net; the first row is the net file\n"
    "    text TEXT NOT NULL     -- the whole file\n"
    ")",

    "CREATE TABLE toggle (\n"
    "    name       TEXT PRIMARY KEY, -- a toggle, as on the command line without the dashes\n"
    "    value      TEXT NOT NULL,    -- its value in this recording, as typed on the command line\n"
    "    is_default INTEGER NOT NULL  -- 1 where the value is the toggle's default, else 0\n"
    ")",

    "CREATE TABLE event_kind (\n"
    "    id   INTEGER PRIMARY KEY, -- number of the kind, as in event_block.kind\n"
    "    name TEXT NOT NULL UNIQUE, -- name of the kind, as in event.kind\n"
    "    text TEXT NOT NULL         -- what such an event tells\n"
    ")",

    "CREATE TABLE category (\n"
    "    id   INTEGER PRIMARY KEY, -- number of the category, as in event_number.aux\n"
    "    name TEXT NOT NULL,       -- name of the category, as in event.category\n"
    "    text TEXT NOT NULL        -- what blocks of this category are\n"
    ")",

    "CREATE TABLE phase (\n"
    "    id   INTEGER PRIMARY KEY, -- number of the phase, as in place.phase\n"
    "    name TEXT NOT NULL        -- name of the phase, as in event.phase\n"
    ")",

    "CREATE TABLE holder (\n"
    "    id   INTEGER PRIMARY KEY, -- number of the kind of holder, as in event_number.aux\n"
    "    name TEXT NOT NULL,       -- its name, as in event.holder\n"
    "    text TEXT NOT NULL        -- how a report names such a holder: %n its name, %s its scope, %l the line\n"
    ")",

    "CREATE TABLE dtype (\n"
    "    id    INTEGER PRIMARY KEY, -- number of the dtype, as in shape.dtype\n"
    "    name  TEXT NOT NULL,       -- PyTorch's name without the `torch.`\n"
    "    bytes INTEGER NOT NULL     -- bytes of an element\n"
    ")",

    "CREATE TABLE string (\n"
    "    id   INTEGER PRIMARY KEY, -- number by which events and places mention the string\n"
    "    text TEXT NOT NULL        -- the string: a module path, function, op, variable\n"
    ")",

    "CREATE TABLE place (\n"
    "    id     INTEGER PRIMARY KEY, -- number by which events mention the place\n"
    "    phase  INTEGER NOT NULL,    -- phase.id\n"
    "    module INTEGER NOT NULL,    -- string.id of the module path, such as layer1.0.conv1; 0: none\n"
    "    func   INTEGER NOT NULL,    -- string.id of the net file's function; 0: none\n"
    "    line   INTEGER NOT NULL,    -- line in the net file, from 1; 0: before the net ran\n"
    "    op     INTEGER NOT NULL     -- string.id of the innermost op or backward node; 0: between ops\n"
    ")",

    "CREATE TABLE shape (\n"
    "    id      INTEGER PRIMARY KEY, -- number by which tensors mention the shape\n"
    "    dtype   INTEGER NOT NULL,    -- dtype.id\n"
    "    sizes   TEXT NOT NULL,       -- a JSON array: elements along each dimension; [] for a scalar\n"
    "    strides TEXT NOT NULL        -- a JSON array: distance of neighbours along each dimension, in elements\n"
    ")",

    "CREATE TABLE step (\n"
    "    first_seq INTEGER PRIMARY KEY, -- first event of the step\n"
    "    last_seq  INTEGER NOT NULL,    -- last event of the step\n"
    "    step      INTEGER NOT NULL,    -- number of the training step, from 0; -1: the setup before it\n"
    "    loss      REAL                 -- the loss; NULL where none was computed\n"
    ")",

    "CREATE TABLE phase_stat (\n"
    "    first_seq      INTEGER PRIMARY KEY, -- first event of a stretch of one phase\n"
    "    last_seq       INTEGER NOT NULL,    -- last event of the stretch\n"
    "    step           INTEGER NOT NULL,    -- step.step\n"
    "    phase          INTEGER NOT NULL,    -- phase.id\n"
    "    allocated_end  INTEGER NOT NULL,    -- bytes of all live blocks after its last event\n"
    "    allocated_peak INTEGER NOT NULL,    -- the most bytes of live blocks inside it\n"
    "    requested_end  INTEGER NOT NULL,    -- bytes requested by all live blocks after its last event\n"
    "    requested_peak INTEGER NOT NULL,    -- highest number of requested bytes inside it\n"
    "    reserved_end   INTEGER NOT NULL,    -- bytes of all segments after its last event\n"
    "    reserved_peak  INTEGER NOT NULL,    -- the most bytes of segments inside it\n"
    "    peak_seq       INTEGER NOT NULL     -- first event after which allocated_peak was reached\n"
    ")",

    "CREATE TABLE event_block (\n"
    "    id        INTEGER PRIMARY KEY, -- number of the chunk, from 0, * 64 + kind\n"
    "    first_seq INTEGER NOT NULL,    -- first event of the chunk, over all kinds; of tensors: the first "
    "one's number\n"
    "    kind      INTEGER NOT NULL,    -- event_kind.id: a block holds the chunk's events of one kind; 63: tensors\n"
    "    count     INTEGER NOT NULL     -- how many these are\n"
    ")",

    "CREATE TABLE event_column (\n"
    "    id         INTEGER PRIMARY KEY, -- event_block.id * 16 + number of the field; no row: the field is always 0\n"
    "    base       INTEGER NOT NULL,    -- value = base + step * i + unit * word, for event i of the block, from 0\n"
    "    step       INTEGER NOT NULL,    -- see base\n"
    "    unit       INTEGER NOT NULL,    -- see base\n"
    "    width      INTEGER NOT NULL,    -- bytes an event in data, least significant first, 7 bits each; 0: "
    "word is 0\n"
    "    dict_width INTEGER NOT NULL,    -- bytes an entry in dict; 0: no dict\n"
    "    codes      INTEGER NOT NULL,    -- with a dict: field whose data number its entries, mostly the row's own\n"
    "    dict       BLOB,                -- words that data gives the numbers of; NULL: data holds the words\n"
    "    data       BLOB                 -- width bytes an event; NULL where another field's data are used\n"
    ")",

    "CREATE TABLE number (\n"
    "    i INTEGER PRIMARY KEY -- 0 to 127: what the views count the events of a block with\n"
    ")",
    /* clang-format on */
};

/* Since version 2. */
static const char *const beside_tables[] = {
    /* clang-format off */
    "CREATE TABLE derived (\n"
    "    id   INTEGER PRIMARY KEY, -- kind of part * 2^32 + its number; 0 tells what events the parts are "
    "derived from\n"
    "    data BLOB NOT NULL        -- packed; replay/ knows how, and makes it again where it is missing\n"
    ")",

    "CREATE TABLE mark (\n"
    "    key  TEXT PRIMARY KEY, -- the character it was set with\n"
    "    seq  INTEGER NOT NULL, -- event it stands after\n"
    "    note TEXT NOT NULL     -- what a user wrote there; empty: nothing\n"
    ") WITHOUT ROWID",
    /* clang-format on */
};

/* Since version 3: devices. */
static const char *const device_tables[] = {
    /* clang-format off */
    "CREATE TABLE IF NOT EXISTS device (\n"
    "    number        INTEGER NOT NULL,    -- as CUDA counts them\n"
    "    first_seq     INTEGER PRIMARY KEY, -- its first event; those of one device stand together\n"
    "    last_seq      INTEGER NOT NULL,    -- its last event\n"
    "    blocks_before INTEGER NOT NULL     -- blocks of the devices before: its own are numbered from there\n"
    ")",
    /* clang-format on */
};

/* Since version 4: GPU work. */
static const char *const work_tables[] = {
    /* clang-format off */
    "CREATE TABLE task (\n"
    "    id   INTEGER PRIMARY KEY, -- number by which work mentions the task\n"
    "    kind TEXT NOT NULL,       -- kernel, copy or fill\n"
    "    name TEXT NOT NULL        -- symbol of the kernel, direction of the copy\n"
    ")",

    "CREATE TABLE work (\n"
    "    id    INTEGER PRIMARY KEY, -- event.seq of the op_begin inside of which it was queued (0: of none) * "
    "65536 + task.id\n"
    "    count INTEGER NOT NULL,    -- how often the device ran the task for this op\n"
    "    ns    INTEGER NOT NULL,    -- how long in all, in ns\n"
    "    bytes INTEGER NOT NULL     -- bytes copied or filled; 0 of a kernel\n"
    ")",

    "CREATE TABLE foreign_memory (\n"
    "    api         TEXT NOT NULL,    -- function that was called\n"
    "    library     TEXT NOT NULL,    -- library that called it; empty: not known\n"
    "    op_seq      INTEGER NOT NULL, -- event.seq of the op_begin inside of which it was called; 0: of none\n"
    "    allocs      INTEGER NOT NULL, -- how often memory was taken\n"
    "    alloc_bytes INTEGER NOT NULL, -- bytes of these\n"
    "    frees       INTEGER NOT NULL, -- how often memory was given back\n"
    "    free_bytes  INTEGER NOT NULL  -- bytes of these\n"
    ")",

    "CREATE VIEW op_work AS SELECT w.id / 65536 AS seq, t.kind AS kind, t.name AS name,\n"
    " w.count AS count, w.ns AS ns, w.bytes AS bytes\n"
    "FROM work w JOIN task t ON t.id = w.id % 65536",
    /* clang-format on */
};

/* Since version 5: call stacks. */
static const char *const stack_tables[] = {
    /* clang-format off */
    "CREATE TABLE frame (\n"
    "    id   INTEGER PRIMARY KEY, -- number of the call stack, from 1, * 256 + depth: 0 the innermost frame, "
    "counting outwards\n"
    "    func INTEGER NOT NULL,    -- string.id of the function: file:function of Python, module!function else\n"
    "    line INTEGER NOT NULL     -- line in the file, from 1; 0: not known\n"
    ")",

    "CREATE TABLE event_stack (\n"
    "    seq   INTEGER PRIMARY KEY, -- event.seq\n"
    "    stack INTEGER NOT NULL     -- frame.id / 256: where it was called from\n"
    ")",

    "CREATE VIEW call_stack AS SELECT e.seq AS seq, f.id % 256 AS depth,\n"
    " s.text AS func, f.line AS line\n"
    "FROM event_stack e JOIN frame f ON f.id BETWEEN e.stack * 256 AND e.stack * 256 + 255 JOIN string s ON "
    "s.id = f.func",
    /* clang-format on */
};

/* Since version 6: chunks. */
static const char *const chunk_tables[] = {
    /* clang-format off */
    "CREATE TABLE event_chunk (\n"
    "    id        INTEGER PRIMARY KEY, -- number of the chunk, from 0, * 64; of tensors: event_block.id\n"
    "    count     INTEGER NOT NULL,    -- how many events, or tensors, it has\n"
    "    reference INTEGER,             -- event_chunk.id of the chunk that matches are taken from, too; NULL: none\n"
    "    first_id  INTEGER,             -- of tensors whose ids count up: the first one's; else NULL\n"
    "    has_names INTEGER NOT NULL,    -- 1: one of the tensors has a name; else 0\n"
    "    data      BLOB NOT NULL        -- the events, see docs/formats/trace-format.md; the table cell has them as "
    "numbers\n"
    ")",
    /* clang-format on */
};

/* A row of a table of names. `text` is NULL if the table has no such column. */
struct name_row {
    int id;
    const char *name;
    const char *text;
    int bytes;
};

static enum vs_status name_insert(const struct sto_db *db, sqlite3_stmt *stmt,
                                  const struct name_row *row, struct vs_error *err)
{
    sqlite3_bind_int(stmt, 1, row->id);
    sqlite3_bind_text(stmt, 2, row->name, -1, SQLITE_STATIC);
    if (row->text)
        sqlite3_bind_text(stmt, 3, row->text, -1, SQLITE_STATIC);
    else if (sqlite3_bind_parameter_count(stmt) > 2)
        sqlite3_bind_int(stmt, 3, row->bytes);
    return sto_db_run(db, stmt, err);
}

static enum vs_status names_insert(const struct sto_db *db, const char *sql,
                                   struct name_row (*row_at)(int), int count, struct vs_error *err)
{
    sqlite3_stmt *stmt = NULL;
    enum vs_status st;

    st = sto_db_prepare(db, sql, &stmt, err);
    for (int i = 0; !st && i < count; i++) {
        struct name_row row = row_at(i);

        row.id = i;
        st = name_insert(db, stmt, &row, err);
    }
    sqlite3_finalize(stmt);
    return st;
}

static struct name_row kind_row(int i)
{
    enum vs_event_kind kind = (enum vs_event_kind)i;

    return (struct name_row){.name = vs_event_kind_name(kind), .text = vs_event_kind_text(kind)};
}

static struct name_row category_row(int i)
{
    enum vs_category category = (enum vs_category)i;

    return (struct name_row){.name = vs_category_name(category),
                             .text = vs_category_text(category)};
}

static struct name_row phase_row(int i)
{
    return (struct name_row){.name = vs_phase_name((enum vs_phase)i)};
}

static struct name_row holder_row(int i)
{
    enum vs_holder holder = (enum vs_holder)i;

    return (struct name_row){.name = vs_holder_name(holder), .text = vs_holder_text(holder)};
}

static struct name_row dtype_row(int i)
{
    enum vs_dtype dtype = (enum vs_dtype)i;

    return (struct name_row){.name = vs_dtype_name(dtype), .bytes = (int)vs_dtype_bytes(dtype)};
}

static enum vs_status name_tables_fill(const struct sto_db *db, struct vs_error *err)
{
    enum vs_status st;

    st = names_insert(db, "INSERT INTO event_kind VALUES (?, ?, ?)", kind_row, VS_EVENT_KIND_COUNT,
                      err);
    if (!st)
        st = names_insert(db, "INSERT INTO category VALUES (?, ?, ?)", category_row,
                          VS_CATEGORY_COUNT, err);
    if (!st)
        st = names_insert(db, "INSERT INTO phase VALUES (?, ?)", phase_row, VS_PHASE_COUNT, err);
    if (!st)
        st = names_insert(db, "INSERT INTO holder VALUES (?, ?, ?)", holder_row, VS_HOLDER_COUNT,
                          err);
    if (!st)
        st = names_insert(db, "INSERT INTO dtype VALUES (?, ?, ?)", dtype_row, VS_DTYPE_COUNT, err);
    if (!st)
        st = sto_db_exec(
            db,
            "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 127) "
            "INSERT INTO number SELECT i FROM n",
            err);
    return st;
}

enum vs_status sto_schema_create(const struct sto_db *db, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0; !st && i < sizeof(tables) / sizeof(tables[0]); i++)
        st = sto_db_exec(db, tables[i], err);
    /*
     * without the views: sto_schema_devices() creates them; creating them twice took a third of the time of creating a
     * file
     */
    return st ? st : name_tables_fill(db, err);
}

enum vs_status sto_schema_beside(const struct sto_db *db, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0; !st && i < sizeof(beside_tables) / sizeof(beside_tables[0]); i++)
        st = sto_db_exec(db, beside_tables[i], err);
    return st;
}

enum vs_status sto_schema_work(const struct sto_db *db, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0; !st && i < sizeof(work_tables) / sizeof(work_tables[0]); i++)
        st = sto_db_exec(db, work_tables[i], err);
    return st;
}

enum vs_status sto_schema_stacks(const struct sto_db *db, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0; !st && i < sizeof(stack_tables) / sizeof(stack_tables[0]); i++)
        st = sto_db_exec(db, stack_tables[i], err);
    return st;
}

/* A trace that has no events yet gets none that are stored in columns. */
enum vs_status sto_schema_chunks(const struct sto_db *db, struct vs_error *err)
{
    sqlite3_int64 has_events = 0;
    enum vs_status st = VS_OK;

    for (size_t i = 0; !st && i < sizeof(chunk_tables) / sizeof(chunk_tables[0]); i++)
        st = sto_db_exec(db, chunk_tables[i], err);
    if (!st)
        st = sto_db_number(db, "SELECT EXISTS (SELECT 1 FROM event_block)", &has_events, err);
    if (!st && !has_events)
        st = sto_db_exec(db,
                         "DROP VIEW IF EXISTS cell; DROP TABLE IF EXISTS event_column; "
                         "DROP TABLE IF EXISTS number",
                         err);
    return st;
}

/* Recreates the view of events, which has the device since this version. */
enum vs_status sto_schema_devices(const struct sto_db *db, struct vs_error *err)
{
    enum vs_status st = VS_OK;
    char *views = NULL;

    for (size_t i = 0; !st && i < sizeof(device_tables) / sizeof(device_tables[0]); i++)
        st = sto_db_exec(db, device_tables[i], err);
    if (!st)
        st = sto_db_exec(db,
                         "DROP VIEW IF EXISTS block; DROP VIEW IF EXISTS tensor; "
                         "DROP VIEW IF EXISTS event; DROP VIEW IF EXISTS event_number; "
                         "DROP VIEW IF EXISTS cell",
                         err);
    if (st)
        return st;
    views = sto_view_sql(false);
    st = sto_db_exec(db, views, err);
    sqlite3_free(views);
    return st;
}

/*
 * store/view.c - the SQL text of the views.
 *
 * For:            see store/view.h.
 * Must not know:  connections, files.
 * Invariant:      uses only features of SQLite 3.35.
 *
 * `cell` decodes the columns of store/old/columns.h; in newer traces it is the table of store/cell.c. unicode() returns
 * the value of a byte below 128, but NULL for 0. A query pays only for the columns it reads: each is a LEFT JOIN by
 * rowid, which SQLite omits when it is unused, and the view is flattened into the query around it.
 */
#include "store/view.h"

#include <stdbool.h>

#include <sqlite3.h>

#include "base/error.h"

#include "store/old/columns.h"

static const char *const field_names[STO_FIELD_COUNT] = {
    [STO_FIELD_SEQ] = "seq", [STO_FIELD_TIME] = "time_ns", [STO_FIELD_LOCATION] = "place",
    [STO_FIELD_A] = "a",     [STO_FIELD_B] = "b",          [STO_FIELD_C] = "c",
    [STO_FIELD_D] = "d",     [STO_FIELD_E] = "e",          [STO_FIELD_AUX] = "aux",
};

/*
 * Append an expression for the number of `width` bytes (0 to STO_WIDTH_MAX) at byte offset `at` of the blob `data`; all
 * three are SQL expressions. Each byte is read only if the width includes it, in a condition nested inside that of the
 * previous byte. The bytes between the two largest widths share one condition, because SQLite's parser limits the
 * nesting. In SQL `|` and `<<` have equal precedence, hence the parentheses.
 *
 * SQLite parses the text whenever a trace is opened, so it is kept short.
 */
static void number_append(sqlite3_str *sql, const char *data, const char *at, const char *width)
{
    unsigned open = 0;

    for (unsigned k = 0; k < STO_WIDTH_MAX; k++) {
        if (k == 0 || sto_width_is_legal(k)) {
            sqlite3_str_appendf(sql, "%sCASE WHEN %s > %u THEN ", k ? " | (" : "(", width, k);
            open++;
        } else {
            sqlite3_str_appendall(sql, " | ");
        }
        sqlite3_str_appendf(sql, "(ifnull(unicode(substr(%s, %s + %u, 1)), 0) << %u)", data, at,
                            k + 1, STO_GROUP_BITS * k);
    }
    while (open--)
        sqlite3_str_appendall(sql, " ELSE 0 END)");
}

static bool has_dict(int field)
{
    return field != STO_FIELD_SEQ && field != STO_FIELD_TIME;
}

/* The column that contains the dictionary indices of field `f`: its own data, or those of the location or of b. */
static void codes_name(int f, char *out, int size)
{
    if (f == STO_FIELD_LOCATION)
        sqlite3_snprintf(size, out, "c%d.data", f);
    else if (f <= STO_FIELD_B)
        sqlite3_snprintf(size, out, "ifnull(c%d.data, c%d.data)", f, STO_FIELD_LOCATION);
    else
        sqlite3_snprintf(
            size, out,
            "CASE c%d.codes WHEN %d THEN c%d.data WHEN %d THEN c%d.data ELSE c%d.data END", f, f, f,
            STO_FIELD_LOCATION, STO_FIELD_LOCATION, STO_FIELD_B);
}

/* One row per event, with the columns that describe it and its dictionary indices (at most two bytes). */
static void inner_append(sqlite3_str *sql)
{
    static const char byte[] = "ifnull(unicode(substr(%s, (hi.i * 128 + lo.i) * %d + %d, 1)), 0)";

    sqlite3_str_appendall(sql, "SELECT b.first_seq AS first_seq, b.kind AS kind, "
                               "hi.i * 128 + lo.i AS i");
    for (int f = 0; f < STO_FIELD_COUNT; f++) {
        char data[96];

        sqlite3_str_appendf(sql,
                            ",\n c%d.base AS base%d, c%d.step AS step%d, c%d.unit AS unit%d, "
                            "c%d.width AS width%d, c%d.data AS data%d",
                            f, f, f, f, f, f, f, f, f, f);
        if (!has_dict(f))
            continue;
        codes_name(f, data, sizeof(data));
        sqlite3_str_appendf(sql, ",\n c%d.dict AS dict%d, c%d.dict_width AS dict_width%d,", f, f, f,
                            f);
        sqlite3_str_appendf(sql, " CASE c%d.width WHEN 1 THEN ", f);
        sqlite3_str_appendf(sql, byte, data, 1, 1);
        sqlite3_str_appendall(sql, " ELSE ");
        sqlite3_str_appendf(sql, byte, data, 2, 1);
        sqlite3_str_appendall(sql, " | (");
        sqlite3_str_appendf(sql, byte, data, 2, 2);
        sqlite3_str_appendf(sql, " << %d) END AS code%d", STO_GROUP_BITS, f);
    }
    sqlite3_str_appendall(sql, "\nFROM event_block b");
    for (int f = 0; f < STO_FIELD_COUNT; f++)
        sqlite3_str_appendf(sql, "\n LEFT JOIN event_column c%d ON c%d.id = b.id * %d + %d", f, f,
                            STO_COLUMN_IDS, f);
    sqlite3_str_appendall(sql, "\n CROSS JOIN number hi ON hi.i * 128 < b.count"
                               "\n CROSS JOIN number lo ON lo.i < b.count - hi.i * 128");
}

static void cell_append(sqlite3_str *sql)
{
    sqlite3_str_appendall(sql, "CREATE VIEW cell AS SELECT kind");
    for (int f = 0; f < STO_FIELD_COUNT; f++) {
        char data[16];
        char at[32];
        char width[16];

        sqlite3_str_appendf(sql, ",\n %sifnull(base%d + step%d * i + unit%d * (",
                            f == STO_FIELD_SEQ ? "first_seq + " : "", f, f, f);
        if (has_dict(f)) {
            sqlite3_snprintf(sizeof(data), data, "dict%d", f);
            sqlite3_snprintf(sizeof(at), at, "code%d * dict_width%d", f, f);
            sqlite3_snprintf(sizeof(width), width, "dict_width%d", f);
            sqlite3_str_appendf(sql, "CASE WHEN dict%d NOT NULL THEN ", f);
            number_append(sql, data, at, width);
            sqlite3_str_appendall(sql, " ELSE ");
        }
        sqlite3_snprintf(sizeof(data), data, "data%d", f);
        sqlite3_snprintf(sizeof(at), at, "i * width%d", f);
        sqlite3_snprintf(sizeof(width), width, "width%d", f);
        number_append(sql, data, at, width);
        sqlite3_str_appendf(sql, "%s), 0) AS %s", has_dict(f) ? " END" : "", field_names[f]);
    }
    sqlite3_str_appendall(sql, "\nFROM (");
    inner_append(sql);
    sqlite3_str_appendall(sql, ");\n");
}

/* The meaning of each field for each kind: the structs of struct vs_event (base/event.h), as SQL. */
#define TEXT_OF(id) "(SELECT text FROM string WHERE string.id = " id ")"
#define NAME_OF(table, id) "(SELECT name FROM " table " WHERE " table ".id = " id ")"
#define FOR(kinds, value) "CASE WHEN k.name IN (" kinds ") THEN " value " END"
#define BLOCKS "'alloc', 'free', 'free_completed'"
#define SEGMENTS "'segment_alloc', 'segment_free', 'segment_map', 'segment_unmap'"
#define SAVES "'save', 'unsave'"
#define HOLDS "'hold', 'drop'"
#define OPS "'op_begin', 'op_end'"
#define RECOMPUTES "'recompute_begin', 'recompute_end'"
#define STEP_OF_SEQ                                                                                \
    "(SELECT s.step FROM step s WHERE s.first_seq <= n.seq ORDER BY s.first_seq DESC LIMIT 1)"

static const struct {
    const char *name;
    const char *value;
} event_columns[] = {
    /* clang-format off */
    {"seq", "n.seq"},
    {"time_ns", "n.time_ns"},
    {"device", "ifnull((SELECT d.number FROM device d WHERE d.first_seq <= n.seq "
               "ORDER BY d.first_seq DESC LIMIT 1), 0)"},
    {"step", STEP_OF_SEQ},
    {"kind", "k.name"},
    {"phase", "CASE k.name WHEN 'phase' THEN " NAME_OF("phase", "n.a") " ELSE " NAME_OF("phase", "p.phase") " END"},
    {"module", TEXT_OF("p.module")},
    {"func", TEXT_OF("p.func")},
    {"line", "nullif(p.line, 0)"},
    {"op", "CASE WHEN k.name IN (" OPS ") THEN " TEXT_OF("n.a") " WHEN k.name = 'use' THEN " TEXT_OF("n.c")
           " ELSE " TEXT_OF("p.op") " END"},
    {"block", FOR(BLOCKS ", " SAVES ", " HOLDS ", 'category', 'cast', 'use'", "n.a")},
    {"tensor", "CASE WHEN k.name IN (" SAVES ", " HOLDS ", 'use') THEN n.b"
               " WHEN k.name = 'alloc' THEN nullif(n.e, 0) END"},
    {"size", FOR(BLOCKS ", " SEGMENTS ", 'oom'", "n.b")},
    {"block_size", FOR(BLOCKS ", 'oom'", "n.c")},
    {"stream", FOR(SEGMENTS ", 'oom'", "n.a")},
    {"address", FOR(BLOCKS ", " SEGMENTS, "n.d")},
    {"category", FOR("'alloc', 'category'", NAME_OF("category", "n.aux"))},
    {"pool", FOR(SEGMENTS, "CASE n.aux WHEN 1 THEN 'small' WHEN 2 THEN 'large' END")},
    {"node", "CASE WHEN k.name IN (" SAVES ") THEN n.c WHEN k.name IN (" OPS ") THEN nullif(n.b, 0) END"},
    {"flops", FOR(OPS, "n.c")},
    {"role", "CASE WHEN k.name IN (" OPS ") THEN"
             " CASE n.aux WHEN 0 THEN 'forward' WHEN 1 THEN 'backward' WHEN 2 THEN 'recompute' END"
             " WHEN k.name IN (" SAVES ") THEN CASE n.aux WHEN 0 THEN 'node' WHEN 1 THEN 'checkpoint' END END"},
    {"name", "CASE WHEN k.name IN (" HOLDS ") THEN " TEXT_OF("n.c")
             " WHEN k.name IN (" RECOMPUTES ") THEN " TEXT_OF("n.a") " END"},
    {"scope", FOR(HOLDS, TEXT_OF("n.d"))},
    {"holder", FOR(HOLDS, NAME_OF("holder", "n.aux"))},
    {"from_block", FOR("'cast'", "n.b")},
    {"from_dtype", FOR("'cast'", NAME_OF("dtype", "n.c"))},
    {"to_dtype", FOR("'cast'", NAME_OF("dtype", "n.d"))},
    {"scale", FOR("'scale'", "n.a")},
    {"old_scale", FOR("'scale'", "n.b")},
    {"device_free", FOR("'oom'", "n.d")},
    {"place", "nullif(n.place, 0)"},
    /* clang-format on */
};

static void event_append(sqlite3_str *sql, const char *create)
{
    sqlite3_str_appendf(sql, "%s event AS SELECT", create);
    for (size_t i = 0; i < sizeof(event_columns) / sizeof(event_columns[0]); i++)
        sqlite3_str_appendf(sql, "%s\n %s AS %s", i ? "," : "", event_columns[i].value,
                            event_columns[i].name);
    sqlite3_str_appendall(sql, "\nFROM event_kind k CROSS JOIN event_number n ON n.kind = k.id"
                               " LEFT JOIN place p ON p.id = n.place;\n");
}

static void tensor_append(sqlite3_str *sql, const char *create)
{
    sqlite3_str_appendf(
        sql,
        "%s tensor AS WITH t AS MATERIALIZED\n"
        " (SELECT e AS id, a AS block, b AS shape, c AS name, d AS offset\n"
        "  FROM cell WHERE kind = %d)\n"
        " SELECT t.id AS id, nullif(t.block, 0) AS block, n.text AS name,\n"
        " d.name AS dtype, s.sizes AS sizes, s.strides AS strides,\n"
        " t.offset AS offset\n"
        " FROM t JOIN shape s ON s.id = t.shape LEFT JOIN dtype d ON d.id = s.dtype\n"
        " LEFT JOIN string n ON n.id = t.name;\n",
        create, STO_KIND_TENSOR);
}

static const char block_view[] =
    "%s block AS WITH freed(block, seq) AS MATERIALIZED\n"
    " (SELECT n.a, n.seq FROM event_kind k CROSS JOIN event_number n ON n.kind = k.id\n"
    "  WHERE k.name = 'free')\n"
    " SELECT a.block AS id, a.seq AS alloc_seq, freed.seq AS free_seq, a.size AS size,\n"
    " a.block_size AS block_size, a.address AS address, a.category AS category,\n"
    " a.tensor AS tensor, a.step AS step, a.phase AS phase, a.module AS module,\n"
    " a.func AS func, a.line AS line, a.op AS op\n"
    " FROM event a LEFT JOIN freed ON freed.block = a.block WHERE a.kind = 'alloc';\n";

char *sto_view_sql(bool is_temp)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    const char *create = is_temp ? "CREATE TEMP VIEW" : "CREATE VIEW";
    char *text;

    if (!is_temp)
        cell_append(sql);
    sqlite3_str_appendf(sql, "%s event_number AS SELECT * FROM cell WHERE kind <> %d;\n", create,
                        STO_KIND_TENSOR);
    event_append(sql, create);
    tensor_append(sql, create);
    sqlite3_str_appendf(sql, block_view, create);
    text = sqlite3_str_finish(sql);
    if (!text)
        vs_die("out of memory");
    return text;
}

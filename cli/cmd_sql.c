/*
 * cli/cmd_sql.c - `sql`: runs an SQL query on a trace.
 *
 * For:            `vramscope sql`.
 * Must not know:  the tables; docs/formats/trace-format.md describes them.
 * Invariant:      the trace is only read.
 */
#include <stdio.h>

#include "base/json.h"
#include "cli/cmds.h"
#include "store/query.h"

static const struct cli_option OPTIONS[] = {
    {"json", 0, NULL, false, "print an array with one object per row"},
    {NULL, 0, NULL, false, NULL},
};

/* What is printed so far; `names` are the columns, of one statement. */
struct table {
    struct vs_text *out;
    struct vs_json json;
    const char *const *names;
    bool is_json;
    bool has_failed; /* nothing more can be printed */
};

static void text_columns(void *user, size_t count, const char *const *names)
{
    struct table *table = user;

    table->names = names;
    for (size_t i = 0; !table->is_json && i < count; i++)
        vs_text_addf(table->out, "%s%s", i ? "|" : "", names[i]);
    if (!table->is_json)
        vs_text_add_char(table->out, '\n');
}

/* As the sqlite3 shell does: fields apart by bars, NULL is nothing. */
static void text_row(struct table *table, size_t count, const struct sto_value *values)
{
    for (size_t i = 0; i < count; i++) {
        if (i)
            vs_text_add_char(table->out, '|');
        if (values[i].kind == STO_VALUE_BLOB)
            vs_text_addf(table->out, "<%zu bytes>", values[i].len);
        else
            vs_text_add(table->out, values[i].text);
    }
    vs_text_add_char(table->out, '\n');
}

static void json_value(struct vs_json *json, const struct sto_value *value)
{
    switch (value->kind) {
    case STO_VALUE_NULL:
        vs_json_null(json);
        break;
    case STO_VALUE_INTEGER:
        vs_json_int(json, value->integer);
        break;
    case STO_VALUE_REAL:
        vs_json_double(json, value->real);
        break;
    case STO_VALUE_TEXT:
        vs_json_string(json, value->text);
        break;
    case STO_VALUE_BLOB:
        vs_json_object_flat(json);
        vs_json_put_uint(json, "blob_bytes", value->len);
        vs_json_end(json);
        break;
    }
}

/* There may be many rows: the text is printed while it is built. */
static void row(void *user, size_t count, const struct sto_value *values)
{
    struct table *table = user;

    if (table->is_json) {
        vs_json_object_flat(&table->json);
        for (size_t i = 0; i < count; i++) {
            vs_json_key(&table->json, table->names[i]);
            json_value(&table->json, &values[i]);
        }
        vs_json_end(&table->json);
    } else {
        text_row(table, count, values);
    }
    if (table->out->len > 1 << 16) {
        if (!table->has_failed)
            table->has_failed = cli_print(table->out) != 0;
        vs_text_clear(table->out);
    }
}

static int run(const struct cli_args *args)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    struct table table = {.out = &text, .is_json = cli_args_has(args, "json")};
    struct sto_query_sink sink = {.user = &table, .columns = text_columns, .row = row};
    int status;

    vs_json_init(&table.json, &text);
    if (table.is_json)
        vs_json_array(&table.json);
    if (sto_query(args->positionals[0], args->positionals[1], &sink, &err)) {
        status = cli_fail(&err);
    } else {
        if (table.is_json)
            vs_json_end(&table.json);
        status = table.has_failed || cli_print(&text);
    }
    vs_text_release(&text);
    return status;
}

const struct cli_cmd cli_cmd_sql = {
    .name = "sql",
    .usage = "TRACE \"select …\" [--json]",
    .summary = "Query a trace in SQL, without the sqlite3 shell",
    .help =
        "The views `event`, `block` and `tensor`, and the tables beside them, are described in\n"
        "docs/formats/trace-format.md. A trace is an ordinary SQLite file: the sqlite3 shell works "
        "as\nwell, with the extension that is described there; without it the views of events say "
        "`no such table:\nmain.cell`.\n\n"
        "  vramscope sql trace.db \"select sum(size) from event where kind = 'alloc'\"\n",
    .options = OPTIONS,
    .positionals_min = 2,
    .positionals_max = 2,
    .run = run,
};

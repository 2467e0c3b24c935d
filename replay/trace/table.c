/*
 * replay/trace/table.c - see table.h.
 *
 * Must not know:  SQL; the statement is passed on as it is.
 * Invariant:      every cell is a text of its own.
 */
#include "replay/trace/table.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "replay/trace/trace_internal.h"
#include "store/query.h"

/* A query that runs. most: rows to keep. */
struct filling {
    struct rpl_table *table;
    size_t most;
    bool (*goes_on)(void *user);
    void *user;
};

void rpl_table_release(struct rpl_table *table)
{
    for (size_t i = 0; i < table->columns; i++)
        vs_free(table->names[i]);
    for (size_t i = 0; i < table->count * table->columns; i++)
        vs_free(table->cells[i]);
    vs_free(table->names);
    vs_free(table->is_number);
    vs_free(table->cells);
    memset(table, 0, sizeof(*table));
}

const char *rpl_table_cell(const struct rpl_table *table, size_t row, size_t column)
{
    VS_ASSERT(row < table->count && column < table->columns);
    return table->cells[row * table->columns + column];
}

static void on_columns(void *user, size_t count, const char *const *names)
{
    struct rpl_table *table = ((struct filling *)user)->table;

    table->columns = count;
    table->names = vs_calloc(count + 1, sizeof(*table->names));
    table->is_number = vs_calloc(count + 1, sizeof(*table->is_number));
    for (size_t i = 0; i < count; i++) {
        table->names[i] = vs_strdup(names[i]);
        table->is_number[i] = true;
    }
}

static char *cell_text(const struct sto_value *value)
{
    struct vs_text text = {NULL, 0, 0};

    if (value->kind != STO_VALUE_BLOB)
        return vs_strndup(value->text, value->len < RPL_CELL_MAX ? value->len : RPL_CELL_MAX);
    vs_text_addf(&text, "<%zu bytes>", value->len);
    return vs_text_take(&text);
}

static void on_row(void *user, size_t count, const struct sto_value *values)
{
    struct filling *filling = user;
    struct rpl_table *table = filling->table;

    if (table->count == filling->most) {
        table->has_more = true;
        return;
    }
    if (table->count == table->cap) {
        table->cap = table->cap ? 2 * table->cap : 64;
        table->cells = vs_realloc(table->cells, table->cap * (count + 1), sizeof(*table->cells));
    }
    for (size_t i = 0; i < count; i++) {
        table->cells[table->count * count + i] = cell_text(&values[i]);
        if (values[i].kind == STO_VALUE_TEXT || values[i].kind == STO_VALUE_BLOB)
            table->is_number[i] = false;
    }
    table->count++;
}

static bool on_progress(void *user)
{
    struct filling *filling = user;

    return !filling->table->has_more && (!filling->goes_on || filling->goes_on(filling->user));
}

enum vs_status rpl_table_query(struct rpl_table *out, const struct rpl_trace *trace,
                               const char *sql, size_t most, bool (*goes_on)(void *user),
                               void *user, struct vs_error *err)
{
    struct sto_reader *reader = rpl_trace_reader(trace);
    struct filling filling = {.table = out, .most = most, .goes_on = goes_on, .user = user};
    struct sto_query_sink sink = {
        .user = &filling, .columns = on_columns, .row = on_row, .goes_on = on_progress};
    enum vs_status st;

    rpl_table_release(out);
    if (!reader)
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "sql: this run is in memory; only a recorded trace can be queried");
    st = sto_query(sto_reader_path(reader), sql, &sink, err);
    return st == VS_E_STOPPED && out->has_more ? VS_OK : st;
}

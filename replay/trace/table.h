/*
 * replay/trace/table.h - the rows of an SQL query on a trace file, as texts.
 *
 * For:            the TUI's `:sql`.
 * Must not know:  how rows are shown.
 * Invariant:      the trace is only read; at most as many rows are kept as were asked for.
 */
#ifndef RPL_TABLE_H
#define RPL_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/trace/trace.h"

/* Bytes of a cell that are kept. */
#define RPL_CELL_MAX 400

/*
 * names      of its `columns` columns; is_number: every value of the column is a number or NULL
 * cells      count * columns of them, row by row; "" for NULL
 * has_more   the query had further rows, which were not read
 */
struct rpl_table {
    char **names;
    bool *is_number;
    size_t columns;
    char **cells;
    size_t count;
    size_t cap;
    bool has_more;
};

/* The text of a cell; borrowed. */
const char *rpl_table_cell(const struct rpl_table *table, size_t row, size_t column);

/*
 * Run the statement `sql` on the file of `trace`, and keep its first `most` rows in `out`, which is zero or was filled
 * before; the caller releases it, also after a failure. goes_on: called now and then; false stops the query; NULL: it
 * is never stopped.
 *
 * VS_E_UNSUPPORTED: the trace is in memory. VS_E_STOPPED: goes_on returned false. VS_E_USAGE: it is not one statement
 * that only reads; the text is SQLite's. Others: those of reading the file.
 */
VS_MUST_USE enum vs_status rpl_table_query(struct rpl_table *out, const struct rpl_trace *trace,
                                           const char *sql, size_t most,
                                           bool (*goes_on)(void *user), void *user,
                                           struct vs_error *err);
void rpl_table_release(struct rpl_table *table);

#endif

/*
 * store/query.h - runs one SQL statement on a trace, row by row.
 *
 * For:            `vramscope sql`, for machines without a sqlite3 shell.
 * Must not know:  how rows are displayed.
 * Invariant:      the trace is never changed: a statement that would write is refused before it runs.
 */
#ifndef STO_QUERY_H
#define STO_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"

enum sto_value_kind {
    STO_VALUE_NULL,
    STO_VALUE_INTEGER,
    STO_VALUE_REAL,
    STO_VALUE_TEXT,
    STO_VALUE_BLOB,
};

/* A field of a row. text: as SQLite formats it, NUL-terminated, "" for NULL; for a blob its `len` bytes. */
struct sto_value {
    enum sto_value_kind kind;
    int64_t integer;
    double real;
    const char *text;
    size_t len;
};

/*
 * columns  called once with the column names, before the first row
 * row      called for each row; the values are valid during the call
 * goes_on  called before each row and now and then between rows; false stops the query. NULL: it is never stopped
 */
struct sto_query_sink {
    void *user;
    void (*columns)(void *user, size_t count, const char *const *names);
    void (*row)(void *user, size_t count, const struct sto_value *values);
    bool (*goes_on)(void *user);
};

/*
 * Run `sql` on the trace at `path`.
 *
 * VS_E_STOPPED: goes_on returned false. VS_E_USAGE: not exactly one statement, invalid SQL, or a statement that writes;
 * the text is SQLite's. Errors of the file: see sto_reader_open(). Rows that were delivered before a failure remain
 * valid output.
 */
VS_MUST_USE enum vs_status sto_query(const char *path, const char *sql,
                                     const struct sto_query_sink *sink, struct vs_error *err);

/* The version of SQLite, "3.40.1". */
const char *sto_sqlite_version(void);

#endif

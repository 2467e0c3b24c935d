/*
 * tui/sql.h - the command `:sql`: a query on the recorded trace, and the rows that it gave.
 *
 * For:            commands.c, the view sql.
 * Must not know:  tables of a trace (docs/formats/trace-format.md), drawing.
 * Invariant:      the trace is only read, and at most TUI_SQL_ROWS rows are kept.
 */
#ifndef TUI_SQL_H
#define TUI_SQL_H

#include "replay/trace/table.h"
#include "tui/app.h"

#define TUI_SQL_ROWS 10000

/* text: the query; table: its rows; number: how many queries there were before it. */
struct tui_sql {
    char *text;
    struct rpl_table table;
    uint64_t number;
};

/* Run the query `words` and show its rows; <C-c> stops it. A failure is reported in the status line. */
void tui_sql_run(struct tui_app *app, const char *words);
void tui_sql_free(struct tui_sql *sql);

#endif

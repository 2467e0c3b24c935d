/*
 * tui/sql.c - see sql.h.
 *
 * Must not know:  terminals.
 * Invariant:      the rows of the latest query that ran stay until the next one that runs.
 */
#include "tui/sql.h"

#include <inttypes.h>

#include "base/mem.h"
#include "tui/waiting.h"

void tui_sql_free(struct tui_sql *sql)
{
    if (!sql)
        return;
    rpl_table_release(&sql->table);
    vs_free(sql->text);
    vs_free(sql);
}

/* How far a query has come is not known. */
static bool on_progress(void *user)
{
    return tui_waiting_show(user, 0, 1);
}

void tui_sql_run(struct tui_app *app, const char *words)
{
    struct rpl_table table = {.count = 0};
    struct tui_waiting waiting;
    struct vs_error err = VS_ERROR_INIT;
    uint64_t number = app->sql ? app->sql->number + 1 : 1;

    if (!*words) {
        tui_app_fail(app, "`:sql select kind, count(*) from event group by kind` needs a query; "
                          "`:sql select name from sqlite_master` lists the tables");
        return;
    }
    tui_waiting_init(&waiting, app, "querying");
    if (rpl_table_query(&table, app->base.trace, words, TUI_SQL_ROWS, on_progress, &waiting,
                        &err)) {
        tui_app_fail(app, "%s", err.text);
        rpl_table_release(&table);
        return;
    }
    tui_sql_free(app->sql);
    app->sql = vs_calloc(1, sizeof(*app->sql));
    *app->sql = (struct tui_sql){.text = vs_strdup(words), .table = table, .number = number};
    if (table.has_more)
        tui_app_say(app, "the first %d rows", TUI_SQL_ROWS);
    else
        tui_app_say(app, "%zu rows", table.count);
    tui_app_view(app, "sql");
}

/*
 * store/view.h - SQL views that decode the compact tables into plain rows, usable in any SQLite.
 *
 * For:            store/migrate.c, which creates them.
 * Must not know:  connections, files.
 * Invariant:      the view event_number returns what store/codec.c decodes (tests/store/test_view.c compares them).
 */
#ifndef STO_VIEW_H
#define STO_VIEW_H

#include <stdbool.h>

#include "base/attr.h"

/*
 * The SQL statements that create all views; is_temp: as temporary views of one connection, without `cell`, which is
 * then a table of that connection (store/query.c). The caller frees the text with sqlite3_free(). Calls vs_die() if
 * memory is exhausted.
 */
char *sto_view_sql(bool is_temp) VS_MUST_USE;

#endif

/*
 * store/view.h - the views that turn compact tables into plain rows, in SQL that any SQLite runs.
 *
 * For:            store/migrate.c, which creates them.
 * Must not know:  connections, files.
 * Invariant:      what the view event_number gives is what store/codec.c decodes (tests/store/test_view.c compares).
 */
#ifndef STO_VIEW_H
#define STO_VIEW_H

#include "base/attr.h"

/* The statements that create all views. The caller frees the text with sqlite3_free; dies where memory is gone. */
char *sto_view_sql(void) VS_MUST_USE;

#endif

/*
 * store/extension/extension.c - the table `cell` of traces for every program that uses SQLite.
 *
 * For:            `.load vramscope_sqlite` in the sqlite3 shell, load_extension() in other programs.
 * Must not know:  what is selected.
 * Invariant:      see sqlite_api.h.
 */
#include "store/extension/sqlite_api.h"

#include "store/cell.h"

/* The first version with all functions that are called (sqlite3_txn_state). */
#define OLDEST_SQLITE 3034000

const sqlite3_api_routines *sqlite3_api;

/* SQLite finds this function by the name of the file. It is called once for each connection. */
int sqlite3_vramscopesqlite_init(sqlite3 *handle, char **why, const sqlite3_api_routines *api);

int sqlite3_vramscopesqlite_init(sqlite3 *handle, char **why, const sqlite3_api_routines *api)
{
    SQLITE_EXTENSION_INIT2(api);
    if (sqlite3_libversion_number() < OLDEST_SQLITE) {
        *why = sqlite3_mprintf("vramscope: SQLite %s is too old, 3.34 is needed",
                               sqlite3_libversion());
        return SQLITE_ERROR;
    }
    return sto_cell_register(handle);
}

/*
 * store/cell.h - the SQL table `cell`: the events and tensors of a trace as numbers.
 *
 * For:            store/query.c; store/extension/, which brings it to other programs.
 * Must not know:  what is selected.
 * Invariant:      its rows are the events that store/reader.h returns, and the tensors.
 */
#ifndef STO_CELL_H
#define STO_CELL_H

#include <sqlite3.h>

/*
 * Make `cell` known to a connection to a trace: the views of the trace are made of it. Also the module of that name,
 * for CREATE VIRTUAL TABLE. Returns SQLite's result code. The path of the connection's file, which messages name, must
 * not change.
 */
int sto_cell_register(sqlite3 *handle);

#endif

/*
 * store/extension/sqlite_api.h - the SQLite of the program that loaded the extension, in the place of the linked one.
 *
 * For:            every file that is compiled for the extension: it is included before anything else.
 * Must not know:  traces.
 * Invariant:      every call of SQLite goes through the table that SQLite gave the extension: a program may have
 *                 linked a SQLite of its own, whose connections no other one can use.
 */
#ifndef STO_SQLITE_API_H
#define STO_SQLITE_API_H

#include <sqlite3ext.h>

SQLITE_EXTENSION_INIT3

#endif

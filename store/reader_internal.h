/*
 * store/reader_internal.h - the connection of a reader, for the other files of store/ that read beside it.
 *
 * For:            store/derived.c, store/marks.c.
 * Must not know:  events.
 * Invariant:      whoever uses the connection leaves no transaction open.
 */
#ifndef STO_READER_INTERNAL_H
#define STO_READER_INTERNAL_H

#include "store/db_internal.h"
#include "store/reader.h"

/* Borrowed; open for reading only, or for both. */
const struct sto_db *sto_reader_db(const struct sto_reader *r);

#endif

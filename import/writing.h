/*
 * import/writing.h - imports into a trace file, device by device.
 *
 * For:            `vramscope import`.
 * Must not know:  how an import is made.
 * Invariant:      strings, places and blocks of all devices have numbers of their own.
 */
#ifndef IMP_WRITING_H
#define IMP_WRITING_H

#include "import/import.h"
#include "store/writer.h"

/*
 * Everything into a new trace, device by device (those without events are left out, unless none has any); `name` is
 * where the lists came from. Afterwards the imports can only be released. Errors as those of store/writer.h.
 */
VS_MUST_USE enum vs_status imp_write(struct imp_import *imports, const struct vs_memlist *lists,
                                     size_t count, const char *name, struct sto_writer *writer,
                                     struct vs_error *err);

#endif

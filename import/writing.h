/*
 * import/writing.h - writes imports into a trace file, device by device.
 *
 * For:            `vramscope import`.
 * Must not know:  how an import is made.
 * Invariant:      ids of strings, locations and blocks are unique over all devices.
 */
#ifndef IMP_WRITING_H
#define IMP_WRITING_H

#include "import/import.h"
#include "store/writer.h"

/*
 * Write all imports into a new trace, device by device. Devices without events are omitted, unless none has any.
 * `name`: where the lists came from. Afterwards the imports can only be released. Errors: see store/writer.h.
 */
VS_MUST_USE enum vs_status imp_write(struct imp_import *imports, const struct vs_memlist *lists,
                                     size_t count, const char *name, struct sto_writer *writer,
                                     struct vs_error *err);

#endif

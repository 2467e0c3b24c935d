/*
 * cli/importer.h - converts a memory snapshot into a trace file, with all its devices and annotations.
 *
 * For:            the commands that import: `import`, and `record` of a program.
 * Must not know:  how snapshots are parsed (recording/memlist.h) and how their events become trace events
 *                 (import/importing.h).
 * Invariant:      no trace file is created before the whole snapshot has been parsed and converted.
 */
#ifndef CLI_IMPORTER_H
#define CLI_IMPORTER_H

#include <stdbool.h>

#include "base/error.h"
#include "base/toggle.h"
#include "import/importing.h"

#define CLI_ALL_DEVICES (-1)

/*
 * The parsed snapshot: lists[i] and imports[i] belong to the same device, for `count` devices. Zero-initialise.
 *
 * shown  index of the device that is shown first: the one with the most events, chosen among the devices that ran out
 *        of memory if there are any
 * toggles  applied to what was recorded, to be written; NULL: none. Borrowed
 */
struct cli_importer {
    struct vs_memlist *lists;
    struct imp_import *imports;
    size_t count;
    size_t shown;
    const struct vs_toggles *toggles;
};

/* Did the device run out of memory? */
bool cli_import_ran_out(const struct imp_import *import);

/* A row of the table meta of the trace. Both strings are borrowed. */
struct cli_fact {
    const char *key;
    const char *value;
};

/*
 * Read the snapshot at `path` ("-": standard input). `device`: the number of the device to import, or CLI_ALL_DEVICES.
 * is_strict: refuse a snapshot that the allocator cannot have produced, instead of importing the consistent part.
 * Call cli_importer_release on `out` after a failure, too. Errors: those of recording/memlist.h and of imp_make.
 */
VS_MUST_USE enum vs_status cli_importer_read(const char *path, int64_t device, bool is_strict,
                                             struct cli_importer *out, struct vs_error *err);
/*
 * Write the trace to the file `path`. May be called once; afterwards only the counters of `importer` are valid.
 *
 * name      what was recorded, for display
 * facts     further rows of meta; the last element has the key NULL
 * force     replace an existing file
 * is_whole  the snapshot covers the program to its end
 *
 * Errors: those of store/writer.h.
 */
VS_MUST_USE enum vs_status cli_importer_write(struct cli_importer *importer, const char *name,
                                              const struct cli_fact *facts, const char *path,
                                              bool force, bool is_whole, struct vs_error *err);
void cli_importer_release(struct cli_importer *importer);

#endif

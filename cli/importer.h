/*
 * cli/importer.h - a memory snapshot made a trace file, with all its devices and marks.
 *
 * For:            the commands that import: `import`, and `record` of a program.
 * Must not know:  how snapshots are read (recording/memlist.h) and what a trace makes of them (import/importing.h).
 * Invariant:      no trace is begun before the snapshot is understood, to its last event.
 */
#ifndef CLI_IMPORTER_H
#define CLI_IMPORTER_H

#include <stdbool.h>

#include "base/error.h"
#include "import/importing.h"

#define CLI_ALL_DEVICES (-1)

/*
 * What is imported: a list and an import a device. shown: the one that a reader looks at first: of those
 * that ran out of memory the one with the most events, where none did of all.
 * Zero-initialise.
 */
struct cli_importer {
    struct vs_memlist *lists;
    struct imp_import *imports;
    size_t count;
    size_t shown;
};

/* Did the device run out of memory? */
bool cli_import_ran_out(const struct imp_import *import);

/* A fact of meta. */
struct cli_fact {
    const char *key;
    const char *value;
};

/*
 * Read the snapshot at `path` ("-": standard input), all devices or one. is_strict: what the allocator cannot have made is refused instead of
 * imported in part. Release `out` also after a failure. Errors as those of recording/memlist.h and imp_make.
 */
VS_MUST_USE enum vs_status cli_importer_read(const char *path, int64_t device, bool is_strict,
                                             struct cli_importer *out, struct vs_error *err);
/*
 * Write the trace. name: what was recorded, for its readers; facts: ended by one without a key; is_whole: it goes to the end of what was recorded. Once; afterwards only what was counted
 * can be looked at. Errors as those of store/writer.h.
 */
VS_MUST_USE enum vs_status cli_importer_write(struct cli_importer *importer, const char *name,
                                              const struct cli_fact *facts, const char *path,
                                              bool force, bool is_whole, struct vs_error *err);
void cli_importer_release(struct cli_importer *importer);

#endif

/*
 * cli/export_whatifs.h - the what-ifs that a report shows beside a run.
 *
 * For:            cli/cmd_export.c.
 * Must not know:  how they are shown.
 * Invariant:      each row is a run of the net, not an estimate.
 */
#ifndef CLI_EXPORT_WHATIFS_H
#define CLI_EXPORT_WHATIFS_H

#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "export/export.h"

/* The net of a longer trace is not run again unless that is asked for. */
#define CLI_WHATIFS_EVENTS_MAX 500000

struct cli_whatifs;

/*
 * Run the net of `index` with each toggle alone and the best ones combined (whatif/sweep.h), and keep each row that
 * could be run and changes the peak. Where the trace has nothing that can be run again there are no rows, which is no
 * error. The caller frees *out; NULL on failure. Errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status cli_whatifs_run(struct rpl_index *index, struct cli_whatifs **out,
                                           struct vs_error *err);
void cli_whatifs_free(struct cli_whatifs *whatifs);

/* The rows, borrowed; *count is set to their number. */
const struct exp_whatif *cli_whatifs_rows(const struct cli_whatifs *whatifs, size_t *count);

#endif

/*
 * cli/advise/advise.h - advice and the curve of placements, as text and as JSON.
 *
 * For:            cmd_advise.c.
 * Must not know:  how advice is found; that is whatif/advise/advise.h and whatif/curve.h.
 * Invariant:      each figure is of a run with the change beside it, or says that it is of the trace.
 */
#ifndef CLI_ADVISE_H
#define CLI_ADVISE_H

#include <stdint.h>

#include "base/text.h"
#include "cli/whatif/program.h"
#include "replay/trace/trace.h"
#include "whatif/advise/advise.h"
#include "whatif/curve.h"

/* Append the advice for `trace`, which `name` names, 100 columns wide where labels allow it. */
void cli_advise_text(const struct wif_advise *advise, const struct rpl_trace *trace,
                     const char *name, struct vs_text *out);
/* Append it as a JSON object; docs/formats/json.md lists the fields. program: that ran again; NULL: none did. */
void cli_advise_json(const struct wif_advise *advise, const struct rpl_trace *trace,
                     const struct cli_program_whatif *program, struct vs_text *out);

/*
 * Peak against recomputation. capacity: 0 if not given; fit: the placement within it; fit_why: why there is none, or
 * NULL; owned.
 */
struct cli_placements {
    struct wif_curve curve;
    uint64_t capacity;
    struct wif_placement fit;
    char *fit_why;
};
void cli_placements_release(struct cli_placements *placements);
void cli_placements_text(const struct cli_placements *placements, const char *name,
                         struct vs_text *out);
void cli_placements_json(const struct cli_placements *placements, struct vs_text *out);

#endif

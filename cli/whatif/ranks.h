/*
 * cli/whatif/ranks.h - the ranks of a sharded net as text and JSON.
 *
 * For:            cli/whatif/cmd_whatif.c.
 * Must not know:  how ranks are run; that is whatif/ranks.h.
 * Invariant:      every figure is that of a run.
 */
#ifndef CLI_WHATIF_RANKS_H
#define CLI_WHATIF_RANKS_H

#include "base/attr.h"
#include "base/error.h"
#include "base/text.h"
#include "base/toggle.h"
#include "replay/trace/trace.h"

/*
 * Runs all different ranks of the net of `base` with `set`, and appends a row for each range of them, which of them
 * has the highest peak, and what it holds there that others do not. Errors: as wif_ranks_fill.
 */
VS_MUST_USE enum vs_status cli_whatif_ranks_print(struct rpl_trace *base,
                                                  const struct vs_toggles *set, uint64_t capacity,
                                                  bool json, struct vs_text *out,
                                                  struct vs_error *err);

#endif

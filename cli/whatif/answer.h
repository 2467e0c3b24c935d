/*
 * cli/whatif/answer.h - the result of one what-if, as text and as JSON.
 *
 * For:            `vramscope whatif`.
 * Must not know:  which toggles were set.
 */
#ifndef CLI_WHATIF_ANSWER_H
#define CLI_WHATIF_ANSWER_H

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "replay/report/summary.h"
#include "replay/trace/trace.h"
#include "whatif/cost.h"

/*
 * failed    the run failed, and err says why; the other members are zero
 * sum       figures of the run
 * cost      time of its recomputed ops
 * why       whatif/why.h; empty: nothing to say
 * refused   the parts that were not applied, a line each; NULL: all were
 */
struct cli_whatif_answer {
    bool failed;
    struct vs_error err;
    struct rpl_summary sum;
    struct wif_cost cost;
    struct vs_text why;
    char *refused;
    double milliseconds;
};

void cli_whatif_answer_release(struct cli_whatif_answer *answer);

/* The members of the JSON object that is open. `baseline` is the recorded run, `run` the trace of the what-if. */
void cli_whatif_answer_json(const struct rpl_summary *baseline, const struct rpl_trace *run,
                            const struct cli_whatif_answer *answer, struct vs_json *json);

/*
 * Append both peaks side by side, and what else is known. trace: the recorded one; base: the one of `baseline`, which
 * is another where the recorded one does not have all of its run; label: the toggles, as a heading.
 */
void cli_whatif_answer_text(const struct rpl_trace *trace, const struct rpl_summary *baseline,
                            const struct rpl_trace *base, const struct rpl_trace *run,
                            const char *label, const struct cli_whatif_answer *answer,
                            struct vs_text *out);

#endif

/*
 * cli/whatif/program.h - what-ifs of a recorded program: asks whether it may run again, and runs it.
 *
 * For:            `vramscope whatif`.
 * Must not know:  how the result is shown.
 * Invariant:      no program is started that the user has not agreed to.
 */
#ifndef CLI_PROGRAM_WHATIF_H
#define CLI_PROGRAM_WHATIF_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "base/temporary/folder.h"
#include "base/text.h"
#include "base/toggle.h"
#include "cli/args.h"
#include "cli/whatif/running.h"
#include "replay/trace/trace.h"

/*
 * A what-if of a program. Zero-initialise.
 *
 * command, changes  the command that runs again, and what changed in its scripts since (whatif/recipe.h)
 * folder            temporary, with the trace of the run, where that is not kept
 * running           begun as soon as the user has agreed
 */
struct cli_program_whatif {
    struct cli_running running;
    struct vs_text command;
    struct vs_text changes;
    struct vs_folder folder;
};

/*
 * Ask on the terminal whether the program of `base` may run. What changed in its scripts since is printed; both texts
 * are appended to run->command and run->changes. rerun: the user has said yes (--rerun), for a trace of somebody
 * else's, too. From then on, until cli_program_whatif_release, signals that end this process are held back
 * (cli/whatif/running.h; is_at_terminal: as there).
 *
 * VS_E_UNSUPPORTED: the trace is of no program, it was made by another user or elsewhere, or there is no terminal to
 * ask on. VS_E_STOPPED: the user said no.
 */
VS_MUST_USE enum vs_status cli_program_agree(struct cli_program_whatif *run,
                                             const struct rpl_trace *base, bool rerun,
                                             bool is_at_terminal, struct vs_error *err);

/*
 * Ask on the terminal, run the program with `set`, and open what was recorded.
 *
 * rerun    the user has said yes (--rerun), for a trace of somebody else's, too
 * path     where the trace of the run is kept; NULL: nowhere
 * *out     the caller frees it, before cli_program_whatif_release
 *
 * VS_E_REFUSED: the user said no, cannot be asked, or the trace was made by another user or elsewhere. Other errors: as
 * wif_rerun. VS_E_EXISTS: `path` is there already.
 */
VS_MUST_USE enum vs_status cli_program_whatif_run(struct cli_program_whatif *run,
                                                  const struct rpl_trace *base,
                                                  const struct vs_toggles *set, bool rerun,
                                                  const char *path, struct rpl_trace **out,
                                                  struct vs_error *err);
/*
 * The event of --at, of a command that has this option; where it was not given that of out of memory or of the peak.
 * VS_E_USAGE: there is no such event. Other errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status cli_event_get(const struct cli_args *args, struct rpl_trace *trace,
                                         uint64_t *out, struct vs_error *err);
/* The member `program` of the JSON object that is open: docs/formats/json.md. */
void cli_program_whatif_json(const struct cli_program_whatif *run, struct vs_json *json);
/* Where a signal came meanwhile, this process ends here, by that signal, with nothing temporary left. */
void cli_program_whatif_release(struct cli_program_whatif *run);

/* What is tried of no program, and why: a line for each toggle, or `not_tried`: [{"toggle", "reason"}]. */
void cli_program_not_tried_text(struct vs_text *out);
void cli_program_not_tried_json(struct vs_json *json);

#endif

/*
 * cli/record/record_standin.h - the simulated GPU of a recorded program: which one, and what it could not do.
 *
 * For:            `vramscope record` of a program.
 * Must not know:  how a GPU is simulated (docs/internals/standin.md).
 * Invariant:      only this file writes what tracer/python/vramscope_standin.py reads, and parses the file `standin` of
 *                 the recorder's folder.
 */
#ifndef CLI_RECORD_STANDIN_H
#define CLI_RECORD_STANDIN_H

#include <sys/types.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/record/launch.h"

#define CLI_RANK_FIGURES 4

/*
 * One rank that runs alone. world: of how many; 0: it is not so. figures: its environment's numbers as text.
 */
struct cli_rank {
    size_t world;
    size_t rank;
    char figures[CLI_RANK_FIGURES][24];
};

/*
 * Check --gpu, --gpus, --world and --rank, and append the settings for the program's processes to `out`. Where the
 * simulating library is missing nothing is appended, unless a GPU was asked for by name, or one rank of many.
 *
 * rank    what --world and --rank say
 *
 * VS_E_USAGE: there is no such GPU, or no such number of them, or no such rank. VS_E_UNSUPPORTED: the library is
 * missing.
 */
VS_MUST_USE enum vs_status cli_standin_settings(const struct cli_args *args, struct vs_text *out,
                                                struct cli_rank *rank, struct vs_error *err);

/* The environment that torchrun would give this rank; it borrows from `rank`. Nothing where no rank runs alone. */
void cli_standin_environment(const struct cli_rank *rank, struct cli_launch *launch);

/*
 * What a process asked of the simulated GPU that is not known, with " | " between, such as "cuDNN (workspaces of
 * convolutions)". Heap memory; NULL: nothing. folder: the recorder's.
 */
char *cli_standin_unknown(const char *folder, pid_t pid);
/*
 * Print on stderr, each once, what the simulated GPU could not do for the program's processes, and why none was
 * simulated.
 * folder: the recorder's.
 */
void cli_standin_say(const char *folder);

#endif

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

#include "base/attr.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/args.h"

/*
 * Check --gpu and --gpus, and append the settings for the program's processes to `out`. Where the simulating library is
 * missing nothing is appended, unless a GPU was asked for by name.
 *
 * VS_E_USAGE: there is no such GPU, or no such number of them. VS_E_UNSUPPORTED: the library is missing.
 */
VS_MUST_USE enum vs_status cli_standin_settings(const struct cli_args *args, struct vs_text *out,
                                                struct vs_error *err);

/*
 * Print on stderr, each once, what the simulated GPU could not do for the program's processes, and why none was
 * simulated.
 * folder: the recorder's.
 */
void cli_standin_say(const char *folder);

#endif

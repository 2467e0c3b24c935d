/*
 * cli/cmds.h - the table of commands.
 *
 * For:            main.c and the help text.
 * Must not know:  what a command does.
 * Invariant:      one row a command; adding one is its file and its row in cmds.c.
 */
#ifndef CLI_CMDS_H
#define CLI_CMDS_H

#include "cli/args.h"

struct rpl_trace;

extern const struct cli_cmd cli_cmd_record;
extern const struct cli_cmd cli_cmd_import;
extern const struct cli_cmd cli_cmd_report;
extern const struct cli_cmd cli_cmd_tui;
extern const struct cli_cmd cli_cmd_why;
extern const struct cli_cmd cli_cmd_python;
extern const struct cli_cmd cli_cmd_whatif;
extern const struct cli_cmd cli_cmd_sweep;
extern const struct cli_cmd cli_cmd_diff;
extern const struct cli_cmd cli_cmd_check;
extern const struct cli_cmd cli_cmd_export;
extern const struct cli_cmd cli_cmd_match;
extern const struct cli_cmd cli_cmd_sql;
extern const struct cli_cmd cli_cmd_toggles;
extern const struct cli_cmd cli_cmd_ops;
extern const struct cli_cmd cli_cmd_smi;
extern const struct cli_cmd cli_cmd_lesson;
extern const struct cli_cmd cli_cmd_advise;
extern const struct cli_cmd cli_cmd_doctor;
extern const struct cli_cmd cli_cmd_mcp;

/* Command number `i` (from 0), in the order of the help; NULL past the end. */
const struct cli_cmd *cli_cmd_at(size_t i);
const struct cli_cmd *cli_cmd_find(const char *name);
/* The command that `name` was probably meant to be, or NULL. */
const struct cli_cmd *cli_cmd_nearest(const char *name);

/*
 * The exit status that a failure means: 2 where the arguments were wrong, else 1. Prints "vramscope: text" on stderr.
 */
int cli_fail(const struct vs_error *err);
/*
 * Write a result to stdout; on a terminal without control characters (cli/printable.h). Returns the exit status: 1
 * where it could not be written (said on stderr).
 */
int cli_print(const struct vs_text *text);

/* The same of what was made of a trace. Where a part of it could not be read meanwhile, that is said instead. */
int cli_print_of(const struct rpl_trace *trace, const struct vs_text *text);

#endif

/*
 * cli/record/record_program.h - records a program that is not ours.
 *
 * For:            cli/record/cmd_record.c.
 * Must not know:  nets.
 * Invariant:      the program's exit status is ours, whatever becomes of the recording; its stdout is left to it.
 */
#ifndef CLI_RECORD_PROGRAM_H
#define CLI_RECORD_PROGRAM_H

#include "cli/args.h"

/* Run args->command, or the program of the first argument with args->command behind it. Returns the exit status. */
int cli_record_program(const struct cli_args *args);

#endif

/*
 * cli/record/record_program.h - records a program that is not a net, such as a PyTorch script.
 *
 * For:            cli/record/cmd_record.c.
 * Must not know:  nets.
 * Invariant:      the exit status is that of the program, even if the recording fails; nothing is written to its
 *                 stdout.
 */
#ifndef CLI_RECORD_PROGRAM_H
#define CLI_RECORD_PROGRAM_H

#include "cli/args.h"

/* Run and record args->command, or the program named by the first argument with args->command as its arguments.
 * Returns the exit status. */
int cli_record_program(const struct cli_args *args);

#endif

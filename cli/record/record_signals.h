/*
 * cli/record/record_signals.h - signals that end the recording of a net early.
 *
 * For:            cli/record/cmd_record.c.
 * Must not know:  what is recorded.
 * Invariant:      once a signal has come, cli_record_goes_on is false for the rest of the process.
 */
#ifndef CLI_RECORD_SIGNALS_H
#define CLI_RECORD_SIGNALS_H

#include <stdbool.h>

/*
 * ^C, SIGTERM and SIGHUP end the recording early; the same signal a second time kills the program. A result that cannot
 * be written (a pipe without a reader, a file over its size limit) is an error of the write, and must not end a
 * recording that may have taken hours.
 */
void cli_record_signals_set(void);

/* Whether no such signal has come; read between phases, and while the index is made. */
bool cli_record_goes_on(void);

#endif

/*
 * cli/record/launch.h - runs another program as if it had been started directly: terminal, signals, exit status.
 *
 * For:            `vramscope record` of a program.
 * Must not know:  what is recorded.
 * Invariant:      the program runs as it would without vramscope: it stays in the process group of vramscope, and so in
 *                 the shell's job, with the signal mask and dispositions that vramscope was started with.
 *
 * A signal that was sent to vramscope alone (by kill or a scheduler) is forwarded; a signal from the terminal reaches
 * the program anyway. If the program is stopped from the terminal, vramscope stops too, and continuing it continues
 * both.
 */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/error.h"

#define CLI_LAUNCH_SETTINGS_MAX 24

/*
 * The program to run. All pointers are borrowed.
 *
 * argv           its arguments, NULL-terminated; argv[0] is searched in PATH as a shell does
 * names, values  `count` environment variables that are set for it
 * results_to_stderr  its stdout is redirected to the stderr of vramscope
 * ends_with_us   it is killed when the thread that called cli_launch_run ends
 */
struct cli_launch {
    char *const *argv;
    const char *names[CLI_LAUNCH_SETTINGS_MAX];
    const char *values[CLI_LAUNCH_SETTINGS_MAX];
    size_t count;
    bool results_to_stderr;
    bool ends_with_us;
};

/* How it ended. status: its exit status, or 128 + signal; signal: the signal that ended it, or 0. */
struct cli_launch_end {
    pid_t pid;
    int status;
    int signal;
};

/*
 * Check whether the program exists and may be executed, without running it. Errors as those of cli_launch_run.
 */
VS_MUST_USE enum vs_status cli_launch_check(const struct cli_launch *launch,
                                            struct cli_launch_end *out, struct vs_error *err);

/*
 * Run the program and wait for its end. Signals that would terminate vramscope stay blocked afterwards, so that the
 * caller can finish the recording.
 *
 * VS_E_NOT_FOUND: there is no such program. VS_E_IO: it cannot be run. out->status is then 127 or 126, as in a shell.
 */
VS_MUST_USE enum vs_status cli_launch_run(const struct cli_launch *launch,
                                          struct cli_launch_end *out, struct vs_error *err);

#endif

/*
 * cli/record/record_signals.c - see record_signals.h.
 *
 * Must not know:  what is recorded.
 * Invariant:      a signal is set to its default when it has come.
 */
#include "cli/record/record_signals.h"

#include <signal.h>
#include <stddef.h>

/* Set by a signal handler, which gets no context. */
static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

bool cli_record_goes_on(void)
{
    return !interrupted;
}

void cli_record_signals_set(void)
{
    static const int ENDS[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction stop = {.sa_handler = on_interrupt,
                             .sa_flags = (int)SA_RESETHAND}; /* the flag is the sign bit */
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction old;

    for (size_t i = 0; i < sizeof(ENDS) / sizeof(ENDS[0]); i++)
        if (ENDS[i] != SIGHUP || (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN))
            sigaction(ENDS[i], &stop, NULL); /* except under nohup, which ignores SIGHUP */
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGXFSZ, &ignore, NULL);
}

/*
 * cli/whatif/running.c - see running.h.
 */
#include "cli/whatif/running.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"

static bool is_ignored(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void cli_running_begin(struct cli_running *running, bool is_at_terminal)
{
    static const int ENDS[] = {SIGTERM, SIGHUP, SIGINT};

    memset(running, 0, sizeof(*running));
    sigemptyset(&running->held);
    for (size_t i = 0; i < sizeof(ENDS) / sizeof(ENDS[0]); i++)
        if (!is_ignored(ENDS[i]) && !(is_at_terminal && ENDS[i] == SIGINT))
            sigaddset(&running->held, ENDS[i]);
    sigprocmask(SIG_BLOCK, &running->held, &running->mask);
    cli_progress_init(&running->progress, stderr);
    running->is_begun = true;
}

void cli_running_say(struct cli_running *running, const char *what)
{
    running->what = what;
    clock_gettime(CLOCK_MONOTONIC, &running->began);
    if (!running->progress.is_terminal)
        fprintf(stderr, "vramscope: %s\n", what);
}

bool cli_running_is_stopped(const struct cli_running *running)
{
    sigset_t pending;
    sigset_t both;

    if (sigpending(&pending) != 0)
        return false;
    sigandset(&both, &pending, &running->held);
    return !sigisemptyset(&both);
}

bool cli_running_progress(void *user, uint64_t done, uint64_t total)
{
    struct cli_running *running = user;
    struct timespec now;

    (void)done;
    (void)total;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (running->what)
        cli_progress_say(&running->progress, "%s, for %" PRId64 " s; ^C stops it", running->what,
                         (int64_t)(now.tv_sec - running->began.tv_sec));
    return !cli_running_is_stopped(running);
}

void cli_running_clear(struct cli_running *running)
{
    running->what = NULL;
    if (running->is_begun)
        cli_progress_end(&running->progress);
}

void cli_running_end(struct cli_running *running)
{
    if (!running->is_begun)
        return;
    cli_progress_end(&running->progress);
    running->is_begun = false;
    sigprocmask(SIG_SETMASK, &running->mask, NULL);
}

/*
 * tests/wait.c - see wait.h.
 */
#include "tests/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/sanitizer.h"

#define NAP_NS 5000000
#define CHILD_NAP_NS 50000000

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

unsigned wait_limit_s(void)
{
    const char *text = getenv("WAIT_S");
    unsigned limit = text ? (unsigned)strtoul(text, NULL, 10) : 0;

    return limit ? limit : HAS_SANITIZER ? 1200 : 300;
}

/* `what` is the format of what is waited for. */
static struct wait wait_new(pid_t pid, const char *what, va_list ap) VS_PRINTF(2, 0);

static struct wait wait_new(pid_t pid, const char *what, va_list ap)
{
    struct wait w = {.pid = pid};

    vsnprintf(w.what, sizeof(w.what), what, ap);
    w.end_ns = now_ns() + UINT64_C(1000000000) * wait_limit_s();
    return w;
}

struct wait wait_for(pid_t pid, const char *what, ...)
{
    struct wait w;
    va_list ap;

    va_start(ap, what);
    w = wait_new(pid, what, ap);
    va_end(ap);
    return w;
}

/* Has the child ended? Its status stays. */
static bool has_ended(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

static void fail_wait(const struct wait *w)
{
    if (w->pid) {
        kill(w->pid, SIGKILL);
        waitpid(w->pid, NULL, 0);
    }
    fail_msg("waited %u s for %s", wait_limit_s(), w->what);
}

bool wait_some(struct wait *w)
{
    const struct timespec nap = {0, NAP_NS};

    nanosleep(&nap, NULL);
    return now_ns() < w->end_ns;
}

void wait_more(struct wait *w)
{
    if (w->pid && has_ended(w->pid)) {
        int status = 0;

        waitpid(w->pid, &status, 0);
        fail_msg("the program ended (wait status 0x%x) before %s came", (unsigned)status, w->what);
    }
    if (!wait_some(w))
        fail_wait(w);
}

/* Sleep until a child ends, or a little while: another thread may get the signal. SIGCHLD is blocked. */
static void nap_until_child(const sigset_t *child)
{
    const struct timespec nap = {0, CHILD_NAP_NS};

    (void)sigtimedwait(child, NULL, &nap);
}

int wait_child(pid_t pid, const char *what, ...)
{
    sigset_t child, old;
    struct wait w;
    int status = 0;
    pid_t ended;
    va_list ap;

    va_start(ap, what);
    w = wait_new(pid, what, ap);
    va_end(ap);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &child, &old);
    while ((ended = waitpid(pid, &status, WNOHANG)) == 0 && now_ns() < w.end_ns)
        nap_until_child(&child);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (ended == 0)
        fail_wait(&w);
    if (ended != pid)
        fail_msg("no such child, while waiting for %s: %s", w.what, strerror(errno));
    return status;
}

/* Read by a signal handler. */
static char alarmed_for[400];

static void say(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));

    (void)written; /* there is nowhere else to say it */
}

static void on_alarm(int number)
{
    (void)number;
    say("the bound of tests/wait.h is reached, waiting for ");
    say(alarmed_for);
    say("\n");
    _exit(1);
}

void wait_begin(const char *what)
{
    const struct sigaction action = {.sa_handler = on_alarm};

    snprintf(alarmed_for, sizeof(alarmed_for), "%s", what);
    sigaction(SIGALRM, &action, NULL);
    alarm(wait_limit_s());
}

void wait_end(void)
{
    alarm(0);
}

/*
 * cli/record/launch.c - see launch.h.
 *
 * Must not know:  what is recorded.
 * Invariant:      there are no signal handlers: signals are blocked and waited for, so no state is shared with
 *                 handlers.
 */
#include "cli/record/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"

#define STATUS_NOT_FOUND 127
#define STATUS_CANNOT_RUN 126

/* Signals that are passed on to the program; and SIGCHLD, which reports its end. */
static void signals_wanted(sigset_t *set)
{
    static const int WANTED[] = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,  SIGUSR1, SIGUSR2,
                                 SIGTSTP, SIGCONT, SIGPIPE, SIGALRM, SIGCHLD};

    sigemptyset(set);
    for (size_t i = 0; i < sizeof(WANTED) / sizeof(WANTED[0]); i++)
        sigaddset(set, WANTED[i]);
}

/* In the child. A failure is reported through `channel`, which is closed when the program runs. */
VS_NORETURN static void child_run(const struct cli_launch *launch, pid_t parent,
                                  const sigset_t *mask, const struct sigaction *on_child,
                                  int channel)
{
    int reason;

    if (launch->ends_with_us && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent))
        goto failed;

    for (size_t i = 0; i < launch->count; i++)
        if (setenv(launch->names[i], launch->values[i], 1) != 0)
            goto failed;
    if (launch->results_to_stderr && dup2(2, 1) < 0)
        goto failed;
    sigaction(SIGCHLD, on_child, NULL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(launch->argv[0], launch->argv);
failed:
    reason = errno;
    (void)!write(channel, &reason, sizeof(reason));
    _exit(STATUS_CANNOT_RUN);
}

/* Stop as the program did, and continue it when this process is continued. */
static void stop_with(pid_t pid)
{
    raise(SIGSTOP);
    kill(pid, SIGCONT);
}

/* False: the program has not ended. */
static bool has_ended(pid_t pid, int *status)
{
    while (waitpid(pid, status, WNOHANG | WUNTRACED) == pid) {
        if (!WIFSTOPPED(*status))
            return true;
        /* a SIGSTOP was sent to the program alone: whoever sent it will continue it */
        if (WSTOPSIG(*status) != SIGSTOP)
            stop_with(pid);
    }
    return false;
}

static int wait_for(pid_t pid, const sigset_t *signals)
{
    siginfo_t info;
    int status = 0;

    while (!has_ended(pid, &status)) {
        const int number = sigwaitinfo(signals, &info);

        if (number <= 0 || number == SIGCHLD || number == SIGPIPE || number == SIGTSTP)
            continue;
        /* signals from the terminal reach the whole job anyway; those of the program itself concern something else */
        if (info.si_code <= 0 && info.si_pid != pid)
            kill(pid, number);
    }
    return status;
}

/* The errno of the failed exec; 0: it succeeded. */
static int exec_failure(int channel)
{
    int reason = 0;
    ssize_t n;

    do {
        n = read(channel, &reason, sizeof(reason));
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(reason) ? reason : 0;
}

static enum vs_status refuse(const struct cli_launch *launch, int reason,
                             struct cli_launch_end *out, struct vs_error *err)
{
    const bool is_path = strchr(launch->argv[0], '/') != NULL;

    out->status = reason == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN;
    if (reason == ENOENT && is_path && access(launch->argv[0], F_OK) == 0)
        return vs_fail(err, VS_E_NOT_FOUND,
                       "%s: the interpreter that its first line names does not exist",
                       launch->argv[0]);
    if (reason == ENOENT)
        return vs_fail(err, VS_E_NOT_FOUND, "%s: there is no such program%s", launch->argv[0],
                       is_path ? "" : " in PATH");
    return vs_fail(err, VS_E_IO, "%s: cannot be run: %s%s", launch->argv[0], strerror(reason),
                   reason == EACCES ? "; `chmod +x` makes a program of a file" : "");
}

/*
 * What exec will find at `path`: 0, or an errno. In PATH a folder that cannot be searched is one without the program,
 * as for a shell.
 */
static int file_check(const char *path, bool is_from_search)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return is_from_search || errno == ENOTDIR ? ENOENT : errno;
    if (S_ISDIR(st.st_mode))
        return EACCES;
    return access(path, X_OK) == 0 ? 0 : errno;
}

enum vs_status cli_launch_check(const struct cli_launch *launch, struct cli_launch_end *out,
                                struct vs_error *err)
{
    const char *name = launch->argv[0];
    const char *folders = getenv("PATH");
    int reason = ENOENT;

    memset(out, 0, sizeof(*out));
    if (strchr(name, '/'))
        reason = file_check(name, false);
    else if (!folders)
        return VS_OK; /* without a PATH execvp searches a default path, which is not known here */
    while (!strchr(name, '/') && reason && *name) {
        const size_t len = strcspn(folders, ":");
        struct vs_text path = {NULL, 0, 0};
        int found;

        vs_text_add_n(&path, len ? folders : ".", len ? len : 1);
        vs_text_addf(&path, "/%s", name);
        found = file_check(vs_text_get(&path), true);
        vs_text_release(&path);
        if (found != ENOENT)
            reason = found;
        if (!folders[len])
            break;
        folders += len + 1;
    }
    return reason ? refuse(launch, reason, out, err) : VS_OK;
}

enum vs_status cli_launch_run(const struct cli_launch *launch, struct cli_launch_end *out,
                              struct vs_error *err)
{
    struct sigaction ordinary = {.sa_handler = SIG_DFL};
    struct sigaction on_child;
    sigset_t signals;
    const pid_t parent = getpid();
    sigset_t mask;
    int ends[2];
    int status;
    int reason;

    memset(out, 0, sizeof(*out));
    out->status = STATUS_CANNOT_RUN;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return vs_fail(err, VS_E_IO, "no program can be started: %s", strerror(errno));
    signals_wanted(&signals);
    sigprocmask(SIG_BLOCK, &signals, &mask);
    /* if SIGCHLD is ignored, a child cannot be waited for */
    sigaction(SIGCHLD, &ordinary, &on_child);
    out->pid = fork();
    if (out->pid == 0)
        child_run(launch, parent, &mask, &on_child, ends[1]);
    reason = out->pid < 0 ? errno : 0;
    close(ends[1]);
    if (!reason)
        reason = exec_failure(ends[0]);
    close(ends[0]);
    if (out->pid < 0)
        return vs_fail(err, VS_E_IO, "no program can be started: %s", strerror(reason));
    status = wait_for(out->pid, &signals);
    if (reason)
        return refuse(launch, reason, out, err);
    out->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    out->status = out->signal ? 128 + out->signal : WEXITSTATUS(status);
    return VS_OK;
}

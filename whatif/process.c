/*
 * whatif/process.c - see process.h.
 *
 * Must not know:  what the trace of the run says, but whether memory ran out.
 */
#include "whatif/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/temporary/folder.h"
#include "base/text.h"
#include "replay/trace/trace.h"
#include "whatif/rerun.h"

#define POLL_NS 50000000
#define END_POLLS 100 /* after SIGTERM, before SIGKILL: 5 s */
#define LOG_TAIL_BYTES 65536
#define SILENT_RANK "a process that torchrun started failed, and printed no reason"

extern char **environ;

/* ---- the command line ---- */

static bool is_pair_of(const char *pair, const struct wif_words *kept)
{
    const size_t len = strcspn(pair, "=");

    for (size_t i = 0; i < kept->count; i++)
        if (strlen(kept->items[i]) == len && strncmp(kept->items[i], pair, len) == 0)
            return true;
    return false;
}

void wif_process_environment(const struct wif_recipe *recipe, const char *stop,
                             struct wif_words *out)
{
    struct wif_words kept = {NULL, 0, 0};

    wif_recipe_variables(&kept);
    wif_words_add(&kept, WIF_STOP_VARIABLE);
    if (stop) {
        struct vs_text pair = {NULL, 0, 0};

        vs_text_addf(&pair, WIF_STOP_VARIABLE "=%s", stop);
        wif_words_add(out, vs_text_get(&pair));
        vs_text_release(&pair);
    }
    for (char **pair = environ; *pair; pair++)
        if (!is_pair_of(*pair, &kept))
            wif_words_add(out, *pair);
    for (size_t i = 0; i < recipe->environment.count; i++)
        wif_words_add(out, recipe->environment.items[i]);
    wif_words_release(&kept);
}

void wif_process_argv(const struct wif_recipe *recipe, const struct vs_toggles *toggles,
                      const char *path, struct wif_words *out)
{
    const bool has_target = vs_toggles_is_set(toggles, VS_TOGGLE_TARGET);

    wif_words_add(out, "vramscope");
    wif_words_add(out, "record");
    for (size_t i = 0; i + 1 < recipe->options.count; i += 2) {
        if (has_target && strcmp(recipe->options.items[i], "--gpu") == 0)
            continue;
        wif_words_add(out, recipe->options.items[i]);
        wif_words_add(out, recipe->options.items[i + 1]);
    }
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        struct vs_text word = {NULL, 0, 0};

        if (!vs_toggles_is_set(toggles, (enum vs_toggle)i))
            continue;
        vs_text_addf(&word, "--%s", vs_toggle_info((enum vs_toggle)i)->name);
        wif_words_add(out, vs_text_get(&word));
        wif_words_add(out, vs_toggles_get(toggles, (enum vs_toggle)i));
        vs_text_release(&word);
    }
    wif_words_add(out, "--force");
    wif_words_add(out, "--out");
    wif_words_add(out, path);
    wif_words_add(out, "--");
    for (size_t i = 0; i < recipe->command.count; i++)
        wif_words_add(out, recipe->command.items[i]);
}

/* ---- the process ---- */

/* Nothing to read, and `log` for what is printed. */
static bool outputs_set(int log)
{
    const int none = open("/dev/null", O_RDONLY);

    if (none > 0) {
        dup2(none, 0);
        close(none);
    }
    return dup2(log, 1) >= 0 && dup2(log, 2) >= 0;
}

/* After fork: only calls that are safe there. log: its output; negative: it is the terminal. */
VS_NORETURN static void child_run(pid_t parent, const char *folder, int log, char *const *argv,
                                  char *const *envp)
{
    sigset_t none;

    sigemptyset(&none);
    if (log >= 0)
        setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigprocmask(SIG_SETMASK, &none, NULL);
    /* it may have ended before the signal was asked for */
    if (getppid() == parent && (log < 0 || outputs_set(log)) && chdir(folder) == 0)
        execve(WIF_PROCESS_EXECUTABLE, argv, envp);
    _exit(126);
}

bool wif_process_has_ended(struct wif_process *process)
{
    pid_t got;

    if (process->pid <= 0)
        return true;
    do {
        got = waitpid(process->pid, &process->status, WNOHANG);
    } while (got < 0 && errno == EINTR);
    if (got != 0)
        process->pid = 0;
    return got != 0;
}

void wif_process_pause(void)
{
    const struct timespec time = {0, POLL_NS};

    nanosleep(&time, NULL);
}

/* As wif_process_has_ended, but its number stays taken: no other process or group can have it. */
static bool has_stopped(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

void wif_process_stop(struct wif_process *process)
{
    const pid_t target = process->is_here ? process->pid : -process->pid;
    bool is_forced;

    if (wif_process_has_ended(process))
        return;
    kill(target, SIGTERM);
    for (int i = 0; i < END_POLLS && !has_stopped(process->pid); i++)
        wif_process_pause();
    is_forced = !has_stopped(process->pid);
    kill(target, SIGKILL); /* what it started may not have ended with it */
    while (!wif_process_has_ended(process))
        wif_process_pause();
    if (is_forced) { /* `record` could not remove its folder, into which those processes write */
        for (int i = 0; i < END_POLLS && kill(target, 0) == 0; i++)
            wif_process_pause();
        vs_folders_clean();
    }
}

/* A line without "[rank1]: ", which PyTorch puts in front of what a rank prints when it fails. */
static char *without_rank(char *line)
{
    char *end = strncmp(line, "[rank", 5) == 0 ? strstr(line, "]: ") : NULL;

    return end ? end + strlen("]: ") : line;
}

/*
 * The line of a program's output that says why it failed, into buf: of Python that of the exception, which follows the
 * indented lines of its last traceback; otherwise the last line that is the program's own. The exception of torchrun
 * says only that one of its processes failed, so that of the process counts where there is one.
 */
static void reason_read(const char *log_path, char *buf, size_t size)
{
    char *tail = vs_alloc(LOG_TAIL_BYTES + 1);
    FILE *file = fopen(log_path, "r");
    size_t len = 0;
    char *rest = tail;
    char *line;
    bool has_frames = false;
    bool is_said = false;

    snprintf(buf, size, "it printed nothing");
    if (file) {
        if (fseek(file, -LOG_TAIL_BYTES, SEEK_END) != 0)
            rewind(file);
        len = fread(tail, 1, LOG_TAIL_BYTES, file);
        fclose(file);
    }
    tail[len] = '\0';
    while ((line = strsep(&rest, "\n")) != NULL) {
        const bool is_launcher = strstr(line, "elastic.multiprocessing.errors.") != NULL;
        bool is_frame;

        line = without_rank(line);
        is_frame = strncmp(line, "  ", 2) == 0;
        if (*line && strncmp(line, "vramscope: ", 11) != 0 && !is_frame &&
            (!is_said || (has_frames && !is_launcher))) {
            snprintf(buf, size, "%s", is_launcher ? SILENT_RANK : line);
            is_said = has_frames;
        }
        has_frames = is_frame && (has_frames || strncmp(line, "  File \"", 8) == 0);
    }
    vs_free(tail);
}

/* Did memory run out in it? Then its failure is the result. */
static bool ran_out(const char *path)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace = NULL;
    struct rpl_scan *scan = NULL;
    const struct vs_event *event;
    bool is_out = false;

    if (access(path, F_OK) != 0 || rpl_trace_open(path, &trace, &err))
        return false;
    scan = vs_alloc(sizeof(*scan));
    rpl_scan_init(scan, trace, 1, rpl_trace_event_count(trace));
    while (!is_out && (event = rpl_scan_next(scan, &err)) != NULL)
        is_out = event->kind == VS_EV_OOM;
    vs_free(scan);
    rpl_trace_free(trace);
    return is_out;
}

enum vs_status wif_process_outcome(const struct wif_process *process, struct vs_error *err)
{
    const int status = process->status;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    char line[1024];

    if ((code == 0 && access(process->path, F_OK) == 0) || ran_out(process->path)) {
        unlink(process->log_path);
        return VS_OK;
    }
    reason_read(process->log_path, line, sizeof(line));
    if (code == 0)
        return vs_fail(err, VS_E_VALUE, "the program recorded nothing when it was run again: %s",
                       line);
    return vs_fail(err, VS_E_VALUE, "the program failed with status %d when it was run again: %s",
                   code, line);
}

/* log: as child_run's. False: errno says why not. */
static bool start(struct wif_process *process, const struct wif_recipe *recipe,
                  const struct vs_toggles *toggles, int log, const char *stop)
{
    const pid_t parent = getpid();
    struct wif_words argv = {NULL, 0, 0};
    struct wif_words envp = {NULL, 0, 0};

    wif_process_argv(recipe, toggles, process->path, &argv);
    wif_process_environment(recipe, stop, &envp);
    process->pid = fork();
    if (process->pid == 0)
        child_run(parent, recipe->folder, log, argv.items, envp.items);
    if (process->pid > 0 && log >= 0)
        setpgid(process->pid, 0); /* the child does so too: whoever comes first */
    wif_words_release(&argv);
    wif_words_release(&envp);
    return process->pid > 0;
}

enum vs_status wif_process_start(struct wif_process *process, const struct wif_recipe *recipe,
                                 const struct vs_toggles *toggles, const char *path,
                                 const char *stop, struct vs_error *err)
{
    struct vs_text log_path = {NULL, 0, 0};
    enum vs_status st = VS_OK;
    int log;

    vs_text_addf(&log_path, "%s.log", path);
    process->path = vs_strdup(path);
    process->log_path = vs_text_take(&log_path);
    unlink(path);
    log = open(process->log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (log < 0 || !start(process, recipe, toggles, log, stop))
        st = vs_fail(err, VS_E_IO, "%s: the program cannot be run again: %s", process->log_path,
                     strerror(errno));
    if (log >= 0)
        close(log);
    return st;
}

enum vs_status wif_process_start_here(struct wif_process *process, const struct wif_recipe *recipe,
                                      const struct vs_toggles *toggles, const char *path,
                                      const char *stop, struct vs_error *err)
{
    VS_ASSERT(stop);
    process->is_here = true;
    process->path = vs_strdup(path);
    if (start(process, recipe, toggles, -1, stop))
        return VS_OK;
    return vs_fail(err, VS_E_IO, "the program cannot be run again: %s", strerror(errno));
}

void wif_process_release(struct wif_process *process)
{
    wif_process_stop(process);
    vs_free(process->path);
    vs_free(process->log_path);
    *process = (struct wif_process){.pid = 0};
}

/*
 * whatif/rerun.c - see rerun.h.
 *
 * Must not know:  what the trace of the run says.
 * Invariant:      when a function returns, the program that it started has ended.
 */
#include "whatif/rerun.h"

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
#include "base/text.h"
#include "whatif/program_toggles.h"
#include "whatif/recipe.h"

#define POLL_NS 50000000
#define END_POLLS 100 /* after SIGTERM, before SIGKILL: 5 s */
#define LOG_TAIL_BYTES 4096
#define OWN_EXECUTABLE "/proc/self/exe"

extern char **environ;

/* ---- which what-ifs ---- */

static bool is_of_allocator(enum vs_toggle toggle)
{
    return toggle == VS_TOGGLE_ALLOC_CONF || toggle == VS_TOGGLE_TARGET;
}

bool wif_rerun_is_needed(const struct rpl_trace *base, const struct vs_toggles *set)
{
    if (!wif_recipe_is_in(base))
        return false;
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        if (vs_toggles_is_set(set, (enum vs_toggle)i) && !is_of_allocator((enum vs_toggle)i))
            return true;
    return false;
}

enum vs_status wif_rerun_check(const struct vs_toggles *set, struct vs_error *err)
{
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        const char *value = vs_toggles_get(set, (enum vs_toggle)i);
        const char *reason = vs_toggles_is_set(set, (enum vs_toggle)i)
                                 ? wif_program_refusal((enum vs_toggle)i, value)
                                 : NULL;

        if (reason)
            return vs_fail(err, VS_E_UNSUPPORTED, "%s=%s: %s",
                           vs_toggle_info((enum vs_toggle)i)->name, value, reason);
    }
    return VS_OK;
}

/* ---- the command line ---- */

static bool is_pair_of(const char *pair, const struct wif_words *kept)
{
    const size_t len = strcspn(pair, "=");

    for (size_t i = 0; i < kept->count; i++)
        if (strlen(kept->items[i]) == len && strncmp(kept->items[i], pair, len) == 0)
            return true;
    return false;
}

/*
 * The environment of this process, but of the variables that a recipe keeps those that it kept. stop: where the program
 * is to stop, for `record`; NULL: nowhere.
 */
static void environment_make(const struct wif_recipe *recipe, const char *stop,
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

/* The toggles of the recording, and those of `set` over them. */
static enum vs_status toggles_make(const struct rpl_trace *base, const struct vs_toggles *set,
                                   struct vs_toggles *out, struct vs_error *err)
{
    enum vs_status st = wif_toggles(base, out, err);

    for (size_t i = 0; i < VS_TOGGLE_COUNT && set && !st; i++)
        if (vs_toggles_is_set(set, (enum vs_toggle)i))
            st =
                vs_toggles_set(out, (enum vs_toggle)i, vs_toggles_get(set, (enum vs_toggle)i), err);
    return st;
}

/* vramscope record OPTIONS --TOGGLE VALUE … -f -o PATH -- PROGRAM ARG … */
static void argv_make(const struct wif_recipe *recipe, const struct vs_toggles *toggles,
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

/* After fork: only calls that are safe there. log: its output. */
VS_NORETURN static void child_run(const char *folder, int log, char *const *argv, char *const *envp)
{
    const int none = open("/dev/null", O_RDONLY);

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (none >= 0)
        dup2(none, 0);
    if (dup2(log, 1) >= 0 && dup2(log, 2) >= 0 && chdir(folder) == 0)
        execve(OWN_EXECUTABLE, argv, envp);
    _exit(126);
}

static bool has_ended(pid_t pid, int *status)
{
    pid_t got;

    do {
        got = waitpid(pid, status, WNOHANG);
    } while (got < 0 && errno == EINTR);
    return got != 0;
}

static void pause_briefly(void)
{
    const struct timespec time = {0, POLL_NS};

    nanosleep(&time, NULL);
}

/* End the program, by force if it takes its time. */
static void stop(pid_t pid)
{
    int status = 0;

    kill(-pid, SIGTERM);
    for (int i = 0; i < END_POLLS; i++) {
        if (has_ended(pid, &status))
            return;
        pause_briefly();
    }
    kill(-pid, SIGKILL);
    while (!has_ended(pid, &status))
        pause_briefly();
}

/* False: it was stopped. */
static bool wait_for(pid_t pid, rpl_progress_fn *progress, void *user, int *status)
{
    while (!has_ended(pid, status)) {
        if (progress && !progress(user, 0, 0)) {
            stop(pid);
            return false;
        }
        pause_briefly();
    }
    return true;
}

/* The last line of a program's output that is its own, into buf. */
static void last_line(const char *log_path, char *buf, size_t size)
{
    char tail[LOG_TAIL_BYTES + 1];
    FILE *file = fopen(log_path, "r");
    size_t len = 0;
    char *rest = tail;
    char *line;

    snprintf(buf, size, "it printed nothing");
    if (!file)
        return;
    if (fseek(file, -LOG_TAIL_BYTES, SEEK_END) != 0)
        rewind(file);
    len = fread(tail, 1, LOG_TAIL_BYTES, file);
    fclose(file);
    tail[len] = '\0';
    while ((line = strsep(&rest, "\n")) != NULL)
        if (*line && strncmp(line, "vramscope: ", 11) != 0)
            snprintf(buf, size, "%s", line);
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

static enum vs_status outcome(int status, const char *path, const char *log_path,
                              struct vs_error *err)
{
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    char line[1024];

    if (code == 0 && access(path, F_OK) == 0)
        return VS_OK;
    if (ran_out(path))
        return VS_OK;
    last_line(log_path, line, sizeof(line));
    if (code == 0)
        return vs_fail(err, VS_E_VALUE, "the program recorded nothing when it was run again: %s",
                       line);
    return vs_fail(err, VS_E_VALUE, "the program failed with status %d when it was run again: %s",
                   code, line);
}

/* path: absolute, because the program has a folder of its own. stop: as of environment_make. */
static enum vs_status run(const struct wif_recipe *recipe, const struct vs_toggles *toggles,
                          const char *path, const char *stop, rpl_progress_fn *progress, void *user,
                          struct vs_error *err)
{
    struct wif_words argv = {NULL, 0, 0};
    struct wif_words envp = {NULL, 0, 0};
    struct vs_text log_path = {NULL, 0, 0};
    enum vs_status st = VS_OK;
    int status = 0;
    pid_t pid;
    int log;

    argv_make(recipe, toggles, path, &argv);
    environment_make(recipe, stop, &envp);
    vs_text_addf(&log_path, "%s.log", path);
    unlink(path);
    log = open(vs_text_get(&log_path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    pid = log < 0 ? -1 : fork();
    if (pid == 0)
        child_run(recipe->folder, log, argv.items, envp.items);
    if (pid < 0)
        st = vs_fail(err, VS_E_IO, "%s: the program cannot be run again: %s",
                     vs_text_get(&log_path), strerror(errno));
    else if (!wait_for(pid, progress, user, &status))
        st = vs_fail(err, VS_E_STOPPED, "stopped");
    else
        st = outcome(status, path, vs_text_get(&log_path), err);
    if (log >= 0)
        close(log);
    if (!st || st == VS_E_STOPPED)
        unlink(vs_text_get(&log_path));
    vs_text_release(&log_path);
    wif_words_release(&argv);
    wif_words_release(&envp);
    return st;
}

enum vs_status wif_rerun(const struct rpl_trace *base, const struct vs_toggles *set,
                         const char *path, rpl_progress_fn *progress, void *user,
                         struct vs_error *err)
{
    struct wif_recipe recipe = {.folder = NULL};
    struct vs_toggles toggles = {{NULL}};
    struct vs_text absolute = {NULL, 0, 0};
    char *here = *path == '/' ? NULL : getcwd(NULL, 0);
    enum vs_status st = wif_recipe_read(base, &recipe, err);

    vs_text_addf(&absolute, "%s%s%s", here ? here : "", here ? "/" : "", path);
    free(here); /* getcwd's own */
    if (!st)
        st = toggles_make(base, set, &toggles, err);
    if (!st)
        st = wif_rerun_check(&toggles, err);
    if (!st)
        st = run(&recipe, &toggles, vs_text_get(&absolute), NULL, progress, user, err);
    vs_text_release(&absolute);
    vs_toggles_release(&toggles);
    wif_recipe_release(&recipe);
    return st;
}

/* ---- up to an event ---- */

/* The program of `base` and its toggles. */
static enum vs_status program_get(const struct rpl_trace *base, struct wif_recipe *recipe,
                                  struct vs_toggles *toggles, struct vs_error *err)
{
    enum vs_status st = wif_recipe_read(base, recipe, err);

    if (!st)
        st = toggles_make(base, NULL, toggles, err);
    return st ? st : wif_rerun_check(toggles, err);
}

/* What the caller waits for; and its own progress. */
struct awaiting {
    const char *file;
    rpl_progress_fn *progress;
    void *user;
};

/* False: the program is to end, because the file is there, or because the caller does not wait for it any more. */
static bool await(void *user, uint64_t done, uint64_t total)
{
    const struct awaiting *a = user;

    return access(a->file, F_OK) != 0 && (!a->progress || a->progress(a->user, done, total));
}

enum vs_status wif_rerun_until(const struct rpl_trace *base, const char *stop, const char *folder,
                               const char *file, rpl_progress_fn *progress, void *user,
                               struct vs_error *err)
{
    struct awaiting awaiting = {.file = file, .progress = progress, .user = user};
    struct wif_recipe recipe = {.folder = NULL};
    struct vs_toggles toggles = {{NULL}};
    struct vs_text path = {NULL, 0, 0};
    enum vs_status st = program_get(base, &recipe, &toggles, err);

    vs_text_addf(&path, "%s/" WIF_RERUN_TRACE, folder);
    if (!st)
        st = run(&recipe, &toggles, vs_text_get(&path), stop, await, &awaiting, err);
    if (access(file, F_OK) == 0)
        st = VS_OK;
    else if (!st)
        st = vs_fail(err, VS_E_VALUE, "the program ended before it came to this event");
    vs_text_release(&path);
    vs_toggles_release(&toggles);
    wif_recipe_release(&recipe);
    return st;
}

/* After fork: only calls that are safe there. The program has this process's terminal. */
VS_NORETURN static void child_run_here(const char *folder, char *const *argv, char *const *envp)
{
    if (chdir(folder) == 0)
        execve(OWN_EXECUTABLE, argv, envp);
    _exit(126);
}

enum vs_status wif_rerun_here(const struct rpl_trace *base, const char *stop, const char *folder,
                              struct vs_error *err)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction interrupt, quit;
    struct wif_recipe recipe = {.folder = NULL};
    struct vs_toggles toggles = {{NULL}};
    struct wif_words argv = {NULL, 0, 0};
    struct wif_words envp = {NULL, 0, 0};
    struct vs_text path = {NULL, 0, 0};
    enum vs_status st = program_get(base, &recipe, &toggles, err);
    int status = 0;
    pid_t pid;

    vs_text_addf(&path, "%s/" WIF_RERUN_TRACE, folder);
    if (!st) {
        argv_make(&recipe, &toggles, vs_text_get(&path), &argv);
        environment_make(&recipe, stop, &envp);
        pid = fork();
        if (pid == 0)
            child_run_here(recipe.folder, argv.items, envp.items);
        /* ^C at the terminal is the program's */
        sigaction(SIGINT, &ignore, &interrupt);
        sigaction(SIGQUIT, &ignore, &quit);
        while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        sigaction(SIGINT, &interrupt, NULL);
        sigaction(SIGQUIT, &quit, NULL);
        if (pid < 0)
            st = vs_fail(err, VS_E_IO, "the program cannot be run again: %s", strerror(errno));
    }
    vs_text_release(&path);
    wif_words_release(&argv);
    wif_words_release(&envp);
    vs_toggles_release(&toggles);
    wif_recipe_release(&recipe);
    return st;
}

/* ---- into memory ---- */

char *wif_rerun_folder(struct vs_error *err)
{
    const char *temporary = getenv("TMPDIR");
    struct vs_text path = {NULL, 0, 0};
    char *folder;

    vs_text_addf(&path, "%s/vramscope-whatif-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    folder = vs_text_take(&path);
    if (mkdtemp(folder))
        return folder;
    (void)vs_fail(err, VS_E_IO, "%s: the folder cannot be made: %s", folder, strerror(errno));
    vs_free(folder);
    return NULL;
}

void wif_rerun_folder_remove(char *folder)
{
    static const char *const NAMES[] = {
        WIF_RERUN_TRACE,    WIF_RERUN_TRACE ".log", WIF_RERUN_TRACE "-journal",
        "whatif.driver.db", WIF_RERUN_FOUND,        WIF_RERUN_FOUND ".part"};

    for (size_t i = 0; folder && i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        struct vs_text path = {NULL, 0, 0};

        vs_text_addf(&path, "%s/%s", folder, NAMES[i]);
        unlink(vs_text_get(&path));
        vs_text_release(&path);
    }
    if (folder)
        rmdir(folder);
    vs_free(folder);
}

static uint32_t string_in(struct rpl_trace *out, const struct rpl_trace *from, uint32_t id)
{
    return id ? rpl_trace_add_string(out, rpl_trace_string(from, id)) : 0;
}

/* Ids of strings, locations and tensors stay what they are: a file has each once. */
static void tables_copy(const struct rpl_trace *from, struct rpl_trace *out)
{
    static const char *const META[] = {
        "source_kind",  "source_name", "device",      "device_number", "blocks_before",
        "start_events", "alloc_conf",  "derived",     "derived_from",  "steps_by",
        "steps_alike",  "refused",     "capacity",    "end_segments",  "end_blocks",
        "torch",        "gpu_played",  "gpu_unknown", "partial",       "observed",
    };

    for (uint32_t i = 1; i <= rpl_trace_string_count(from); i++)
        (void)rpl_trace_add_string(out, rpl_trace_string(from, i));
    for (uint32_t i = 1; i <= rpl_trace_location_count(from); i++) {
        struct vs_location location = *rpl_trace_location(from, i);

        location.module = string_in(out, from, location.module);
        location.func = string_in(out, from, location.func);
        location.op = string_in(out, from, location.op);
        (void)rpl_trace_add_location(out, &location);
    }
    for (uint32_t i = 1; i <= rpl_trace_tensor_count(from); i++) {
        struct vs_tensor_desc desc;

        if (rpl_trace_tensor(from, i, &desc))
            rpl_trace_add_tensor(out, &desc);
    }
    for (size_t i = 0; i < sizeof(META) / sizeof(META[0]); i++)
        if (rpl_trace_meta(from, META[i]))
            rpl_trace_set_meta(out, META[i], rpl_trace_meta(from, META[i]));
    for (size_t i = 0; i < rpl_trace_toggle_count(from); i++) {
        struct rpl_toggle toggle = rpl_trace_toggle(from, i);

        rpl_trace_set_toggle(out, toggle.name, toggle.value, toggle.is_default);
    }
}

static enum vs_status copy(struct rpl_trace *from, struct rpl_trace *out, struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const struct vs_event *event;
    enum vs_status st;

    rpl_trace_clear(out);
    tables_copy(from, out);
    rpl_scan_init(scan, from, 1, rpl_trace_event_count(from));
    while ((event = rpl_scan_next(scan, err)) != NULL)
        rpl_trace_add_event(out, event);
    st = scan->status;
    vs_free(scan);
    return st;
}

enum vs_status wif_rerun_load(const struct rpl_trace *base, const struct vs_toggles *set,
                              rpl_progress_fn *progress, void *user, struct rpl_trace *out,
                              struct vs_error *err)
{
    char *folder = wif_rerun_folder(err);
    struct rpl_trace *trace = NULL;
    struct vs_text path = {NULL, 0, 0};
    enum vs_status st;

    if (!folder)
        return VS_E_IO;
    vs_text_addf(&path, "%s/" WIF_RERUN_TRACE, folder);
    st = wif_rerun(base, set, vs_text_get(&path), progress, user, err);
    if (!st)
        st = rpl_trace_open(vs_text_get(&path), &trace, err);
    if (!st)
        st = copy(trace, out, err);
    rpl_trace_free(trace);
    vs_text_release(&path);
    wif_rerun_folder_remove(folder);
    return st;
}

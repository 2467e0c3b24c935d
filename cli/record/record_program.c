/*
 * cli/record/record_program.c - see record_program.h.
 *
 * For:            `vramscope record -- PROGRAM ARG…`.
 * Must not know:  how a program is waited for (cli/record/launch.h), what a process reported
 *                 (cli/record/record_process.h).
 * Invariant:      no files other than traces are left behind.
 */
#include "cli/record/record_program.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/temporary/folder.h"
#include "cli/cmds.h"
#include "cli/record/launch.h"
#include "cli/record/record_process.h"
#include "cli/record/record_recipe.h"
#include "cli/record/record_standin.h"
#include "engine/device/plugin.h"
#include "replay/ranks/ranks.h"
#include "replay/report/report.h"
#include "tracer/python_files.h"
#include "whatif/rerun.h"

#define OUT_DEFAULT "trace.db"
#define ENTRIES_DEFAULT 1000000u
#define ENTRIES_MAX 1000000000u
#define RANK_LINES 5 /* shown of a difference between two ranks */

/* ---- the plan ---- */

/*
 * argv     of the program, NULL-ended
 * out      the trace; injected: where it is written to while the program runs, an absolute path
 * json     where traces are listed; NULL: as text, on stderr
 * library  the injection library; empty: there is none. status: where it says what it did
 */
struct job {
    const struct cli_args *args;
    const char **argv;
    const char *out;
    char *injected;
    bool force;
    size_t entries;
    const char *stacks;
    const char *observe;
    struct vs_json *json;
    char library[PATH_MAX];
    struct vs_folder folder;
    char *python_path;
    char *status;
    struct cli_rank rank;
    struct wif_recipe recipe;
};

static enum vs_status options_check(const struct cli_args *args, struct vs_error *err)
{
    static const char *const OF_NETS[] = {"device", "seed"};

    if (cli_args_has(args, "capacity"))
        return vs_fail(err, VS_E_USAGE,
                       "record: --capacity is for net files; a program has the memory of its GPU: "
                       "--gpu NAME simulates another one");
    for (size_t i = 0; i < sizeof(OF_NETS) / sizeof(OF_NETS[0]); i++)
        if (cli_args_has(args, OF_NETS[i]))
            return vs_fail(err, VS_E_USAGE,
                           "record: --%s is for net files; a program sets it itself", OF_NETS[i]);
    if (cli_args_has(args, "keep"))
        return vs_fail(err, VS_E_USAGE,
                       "record: --keep is for net files; of a program --history says how many "
                       "events are kept");
    return cli_toggles_check(args, err);
}

static void argv_make(struct job *job)
{
    const struct cli_args *args = job->args;
    size_t count = 0;
    size_t n = 0;

    while (args->command && args->command[count])
        count++;
    job->argv = vs_calloc(count + 2, sizeof(*job->argv));
    if (args->positional_count)
        job->argv[n++] = args->positionals[0];
    for (size_t i = 0; i < count; i++)
        job->argv[n++] = args->command[i];
}

/* `path` as an absolute path, which stays valid if the program changes its folder. */
static char *absolute(const char *path)
{
    struct vs_text text = {NULL, 0, 0};
    char here[PATH_MAX];

    if (*path != '/' && getcwd(here, sizeof(here)))
        vs_text_addf(&text, "%s/", here);
    vs_text_add(&text, path);
    return vs_text_take(&text);
}

static enum vs_status job_fill(const struct cli_args *args, struct job *job, struct vs_error *err)
{
    enum vs_status st = options_check(args, err);

    job->args = args;
    job->out = cli_args_has(args, "out") ? cli_args_value(args, "out") : OUT_DEFAULT;
    job->force = cli_args_has(args, "force");
    job->stacks = cli_args_has(args, "stacks") ? cli_args_value(args, "stacks") : "python";
    if (!st)
        st = cli_args_count(args, "history", ENTRIES_DEFAULT, ENTRIES_MAX, &job->entries, err);
    if (!st && !*job->out)
        st = vs_fail(err, VS_E_USAGE, "record: --out needs the name of a file");
    if (!st && strcmp(job->stacks, "python") != 0 && strcmp(job->stacks, "all") != 0)
        st = vs_fail(err, VS_E_USAGE, "record: --stacks cannot be `%s`; legal: python, all",
                     job->stacks);
    job->observe = cli_args_has(args, "observe") ? cli_args_value(args, "observe") : "on";
    if (!st && strcmp(job->observe, "on") != 0 && strcmp(job->observe, "off") != 0)
        st = vs_fail(err, VS_E_USAGE, "record: --observe cannot be `%s`; legal: on, off",
                     job->observe);
    if (st)
        return st;
    argv_make(job);
    cli_recipe_fill(args, job->argv, &job->recipe);
    job->injected = absolute(job->out);
    return VS_OK;
}

static void job_release(struct job *job)
{
    vs_folder_release(&job->folder);
    wif_recipe_release(&job->recipe);
    vs_free(job->argv);
    vs_free(job->injected);
    vs_free(job->python_path);
    vs_free(job->status);
}

/* ---- before ---- */

/* The environment of Python: the recorder's files, and what they shall do. */
static enum vs_status folder_fill(struct job *job, struct vs_error *err)
{
    const char *stop = getenv(WIF_STOP_VARIABLE);
    struct vs_text settings = {NULL, 0, 0};
    struct trc_python_file file;
    enum vs_status st = cli_standin_settings(job->args, &settings, &job->rank, err);

    if (!st)
        st = vs_folder_open(&job->folder, VS_FOLDER_RECORD, err);
    for (size_t i = 0; !st && trc_python_file(i, &file); i++)
        st = vs_folder_write(&job->folder, file.name, file.text, file.len, err);
    cli_toggles_settings(job->args, &settings);
    if (stop && !strchr(stop, '\n'))
        vs_text_addf(&settings, "stop %s\n", stop);
    vs_text_addf(&settings, "entries %zu\nstacks %s\nobserve %s\n", job->entries ? job->entries : 1,
                 job->stacks, job->observe);
    if (!strchr(job->injected, '\n'))
        vs_text_addf(&settings, "out %s\n", job->injected);
    if (!st)
        st = vs_folder_write(&job->folder, "settings", vs_text_get(&settings), settings.len, err);
    vs_text_release(&settings);
    return st;
}

static void set(struct cli_launch *launch, const char *name, const char *value)
{
    VS_ASSERT(launch->count < CLI_LAUNCH_SETTINGS_MAX);
    launch->names[launch->count] = name;
    launch->values[launch->count++] = value;
}

static void environment_fill(struct job *job, struct cli_launch *launch)
{
    const char *python_path = getenv("PYTHONPATH");
    const char *other = getenv("CUDA_INJECTION64_PATH");
    const char *ranges = getenv("NVTX_INJECTION64_PATH");
    struct vs_text path = {NULL, 0, 0};
    char library[PATH_MAX];

    vs_text_addf(&path, "%s%s%s", job->folder.path, python_path && *python_path ? ":" : "",
                 python_path ? python_path : "");
    job->python_path = vs_text_take(&path);
    vs_text_addf(&path, "%s/driver", job->folder.path);
    job->status = vs_text_take(&path);
    set(launch, "PYTHONPATH", job->python_path);
    cli_standin_environment(&job->rank, launch);
    cli_toggles_environment(job->args, launch);
    if (other && *other) {
        fprintf(stderr,
                "vramscope: CUDA_INJECTION64_PATH is %s already: requests to the driver are "
                "not recorded\n",
                other);
    } else if (eng_plugin_find("inject", library, sizeof(library)) &&
               realpath(library, job->library)) {
        set(launch, "CUDA_INJECTION64_PATH", job->library);
        if (!ranges || !*ranges)
            set(launch, "NVTX_INJECTION64_PATH", job->library);
        set(launch, "VRAMSCOPE_OUT", job->injected);
        set(launch, "VRAMSCOPE_STATUS", job->status);
    }
}

/* The option among those before Python's program that keeps it from loading sitecustomize (-S, -I, -E); '\0': none. */
static char python_deaf(const char **arg)
{
    for (; *arg && (*arg)[0] == '-' && (*arg)[1] && (*arg)[1] != '-'; arg++)
        for (const char *letter = *arg + 1; *letter; letter++) {
            if (strchr("ISE", *letter))
                return *letter;
            if (strchr("cm", *letter)) /* the arguments after it belong to the program */
                return '\0';
            if (!strchr("WX", *letter))
                continue;
            arg += !letter[1] && arg[1]; /* with a value */
            break;
        }
    return '\0';
}

static void say_python(const struct job *job)
{
    const char *slash = strrchr(job->argv[0], '/');
    const bool is_python = strncmp(slash ? slash + 1 : job->argv[0], "python", 6) == 0;
    const char letter = is_python ? python_deaf(job->argv + 1) : '\0';

    if (letter)
        fprintf(
            stderr,
            "vramscope: with -%c Python does not load the module that switches PyTorch's memory "
            "history on, so the history is not recorded\n",
            letter);
}

/* ---- after ---- */

/* A path relative to the current folder, as the user gave it. */
static const char *shown(const struct job *job, const char *path)
{
    return path + (strlen(job->injected) - strlen(job->out));
}

static void trace_json(struct vs_json *json, const struct rpl_report *report, const char *path,
                       const struct cli_process *p, bool is_driver)
{
    vs_json_object(json);
    vs_json_put_string(json, "trace", path);
    vs_json_put_string(json, "of", is_driver ? "driver" : "pytorch");
    vs_json_put_int(json, "pid", p->pid);
    vs_json_key(json, "rank");
    if (p->rank == CLI_NO_RANK)
        vs_json_null(json);
    else
        vs_json_int(json, p->rank);
    vs_json_put_bool(json, "complete", rpl_trace_is_complete(report->trace));
    vs_json_put_uint(json, "events", report->sum.events);
    vs_json_key(json, "peak");
    rpl_peak_json(report->trace, &report->sum.peak, json);
    vs_json_end(json);
}

/* Print one trace, as text or as JSON. path: as the user gave it. */
static void say_trace(const struct job *job, const struct cli_process *p, const char *path,
                      const char *what, bool is_driver)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_report report = {.trace = NULL};
    struct rpl_trace *trace = NULL;
    char bytes[VS_BYTES_TEXT_MAX];
    char events[VS_BYTES_TEXT_MAX];

    if (rpl_trace_open(path, &trace, &err) || rpl_report_fill(&report, trace, 0, &err))
        cli_fail(&err);
    else if (job->json)
        trace_json(job->json, &report, path, p, is_driver);
    else
        fprintf(stderr, "vramscope: %s: %s, %s events, peak %s in %s; `vramscope report %s`\n",
                path, what, vs_bytes_exact_text(report.sum.events, events),
                vs_bytes_text(report.sum.peak.allocated, bytes),
                vs_phase_name(report.sum.peak.phase), path);
    rpl_report_release(&report);
    rpl_trace_free(trace);
}

/*
 * The names of the files of what a process asked the driver for, a line each: a device has one, the busiest comes
 * first.
 */
static void driver_traces_of(const struct cli_driver *driver, pid_t pid, struct vs_text *out)
{
    for (size_t i = 0; i < driver->count; i++) {
        const char *path = driver->files[i].path;
        const char *slash = strrchr(path, '/');

        if (driver->files[i].pid == pid)
            vs_text_addf(out, "%s%s", out->len ? "\n" : "", slash ? slash + 1 : path);
    }
}

static void say_snapshot(const struct job *job, const struct cli_process *p,
                         const struct cli_import *import)
{
    char seconds[64] = "";
    char what[256];

    if (strcmp(p->dumped, "interval") == 0)
        snprintf(seconds, sizeof(seconds), " up to %" PRId64 " s before the end",
                 cli_process_age_s(p, import));
    snprintf(what, sizeof(what), "PyTorch's history of pid %ld (%.100s)%s", (long)p->pid,
             p->program,
             strcmp(p->dumped, "oom") == 0    ? " up to its out-of-memory"
             : strcmp(p->dumped, "term") == 0 ? " up to SIGTERM"
                                              : seconds);
    say_trace(job, p, shown(job, p->trace), what, false);
}

static void say_driver(const struct job *job, const struct cli_driver *driver,
                       const struct cli_process *p)
{
    char what[96];

    for (size_t i = 0; i < driver->count; i++) {
        const struct cli_driver_file *file = &driver->files[i];

        if (file->pid != p->pid)
            continue;
        snprintf(what, sizeof(what), "requests of pid %ld to the driver%s", (long)p->pid,
                 file->is_closed ? "" : ", up to its sudden end");
        say_trace(job, p, shown(job, file->path), what, true);
    }
}

/* The parts of toggles that had no place in the script. */
static void say_refused(const struct cli_process *p)
{
    for (const char *line = p->refused; *line; line += *line == '\n') {
        const size_t len = strcspn(line, "\n");

        fprintf(stderr, "vramscope: not applied: %.*s\n", (int)len, line);
        line += len;
    }
}

/* Print a process's traces, with warnings and facts. */
static void process_collect(const struct job *job, const struct cli_process *p, bool is_first,
                            const struct cli_driver *driver)
{
    const struct cli_import import = {
        .folder = job->folder.path,
        .out = job->injected,
        .recipe = is_first ? &job->recipe : NULL,
        .toggles = &job->args->toggles,
        .force = job->force,
    };
    struct vs_text driver_traces = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;

    driver_traces_of(driver, p->pid, &driver_traces);
    if (p->error)
        fprintf(stderr, "vramscope: pid %ld (%.100s): %s\n", (long)p->pid, p->program, p->error);
    if (p->name && !p->dumped)
        fprintf(stderr, "vramscope: pid %ld (%.100s) ended before PyTorch's history was written\n",
                (long)p->pid, p->program);
    if (p->name && p->dumped && strcmp(p->dumped, "interval") == 0)
        fprintf(stderr,
                "vramscope: pid %ld (%.100s) ended suddenly: what was saved while it ran is kept\n",
                (long)p->pid, p->program);
    if (p->refused)
        say_refused(p);
    if (p->dumped && cli_process_import(
                         p, &import, driver_traces.len ? vs_text_get(&driver_traces) : NULL, &err))
        cli_fail(&err);
    else if (p->dumped)
        say_snapshot(job, p, &import);
    cli_process_saved_remove(p, &import);
    say_driver(job, driver, p);
    if (!p->name && !p->trace)
        fprintf(stderr,
                "vramscope: pid %ld used CUDA, but nothing was recorded, so it has no trace\n",
                (long)p->pid);
    vs_text_release(&driver_traces);
}

static void say_nothing(const struct job *job)
{
    if (job->library[0])
        fprintf(stderr, "vramscope: %s never called CUDA; there is no trace\n", job->argv[0]);
    else
        fprintf(
            stderr,
            "vramscope: %s did not use CUDA through PyTorch, and other programs are not recorded, "
            "because vramscope_inject.so is missing; there is no trace\n",
            job->argv[0]);
}

static void say_words(const struct cli_driver *driver)
{
    for (size_t i = 0; i < driver->word_count; i++) {
        const struct cli_driver_word *word = &driver->words[i];

        fprintf(stderr, "vramscope: pid %ld: %s%s", (long)word->pid, word->kind, word->text);
        if (word->times > 1)
            fprintf(stderr, " (and %zu more like this)", word->times - 1);
        fputc('\n', stderr);
    }
}

/* Add PyTorch's traces of ranks. */
static enum vs_status ranks_fill(const struct job *job, const struct cli_processes *processes,
                                 struct rpl_ranks *out, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < processes->count && !st; i++) {
        const struct cli_process *p = &processes->items[i];

        if (p->rank != CLI_NO_RANK && p->dumped && p->trace && access(p->trace, F_OK) == 0)
            st = rpl_ranks_add(out, shown(job, p->trace), err);
    }
    return st || out->count < 2 ? st : rpl_ranks_fill(out, NULL, NULL, err);
}

/* The summary over ranks, where there are several; as JSON a member of the object that is open. */
static void say_ranks(const struct job *job, const struct cli_processes *processes)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_ranks ranks = {.count = 0};
    struct vs_text text = {NULL, 0, 0};
    const enum vs_status st = ranks_fill(job, processes, &ranks, &err);

    if (st)
        cli_fail(&err);
    if (job->json)
        vs_json_key(job->json, "ranks");
    if (st || ranks.count < 2) {
        if (job->json)
            vs_json_null(job->json);
    } else if (job->json) {
        rpl_ranks_json(&ranks, job->json);
    } else {
        vs_text_add(&text, "vramscope: ");
        rpl_ranks_text(&ranks, RANK_LINES, &text);
        vs_text_addf(&text, "`vramscope report %s --ranks` prints this again%s\n", job->out,
                     ranks.diff_count ? ", with more lines of each difference" : "");
        fputs(vs_text_get(&text), stderr);
    }
    vs_text_release(&text);
    rpl_ranks_release(&ranks);
}

/* Print what was recorded; with JSON into the object that is open, as its members `traces` and `ranks`. */
static void collect(const struct job *job, const struct cli_launch_end *end)
{
    struct cli_processes processes;
    struct cli_driver driver;

    if (job->json) {
        vs_json_key(job->json, "traces");
        vs_json_array(job->json);
    }

    if (end->signal)
        fprintf(stderr, "vramscope: %s was ended by signal %d (%s)\n", job->argv[0], end->signal,
                strsignal(end->signal));
    cli_driver_read(job->status, &driver);
    cli_processes_read(job->folder.path, &driver, end->pid, &processes);
    cli_processes_name(&processes, &driver, job->injected, job->force);
    say_words(&driver);
    cli_standin_say(job->folder.path);
    for (size_t i = 0; i < processes.count; i++)
        process_collect(job, &processes.items[i], i == 0, &driver);
    if (job->json)
        vs_json_end(job->json);
    if (!processes.count)
        say_nothing(job);
    say_ranks(job, &processes);
    cli_processes_release(&processes);
    cli_driver_release(&driver);
}

/* The same as one JSON object on stdout: docs/formats/json.md. */
static int collect_json(struct job *job, const struct cli_launch_end *end)
{
    struct vs_text text = {NULL, 0, 0};
    struct vs_json json;
    int status;

    vs_json_init(&json, &text);
    vs_json_object(&json);
    vs_json_key(&json, "program");
    vs_json_array_flat(&json);
    for (size_t i = 0; job->argv[i]; i++)
        vs_json_string(&json, job->argv[i]);
    vs_json_end(&json);
    vs_json_put_int(&json, "status", end->status);
    job->json = &json;
    collect(job, end);
    vs_json_end(&json);
    status = cli_print(&text);
    vs_text_release(&text);
    return status;
}

/* The exit status of the program; if it succeeded but the result cannot be printed, that of vramscope. */
static int finish(struct job *job, const struct cli_launch_end *end)
{
    int status = 0;

    if (getenv(WIF_STOP_VARIABLE)) /* it ran for what it does, and records nothing */
        return end->status;
    if (cli_args_has(job->args, "json"))
        status = collect_json(job, end);
    else
        collect(job, end);
    return end->status ? end->status : status;
}

int cli_record_program(const struct cli_args *args)
{
    struct vs_error err = VS_ERROR_INIT;
    struct job job = {.args = NULL};
    struct cli_launch launch = {.argv = NULL};
    struct cli_launch_end end = {.status = 0};
    enum vs_status st = job_fill(args, &job, &err);
    int status = 0;

    if (!st && !job.force && access(job.out, F_OK) == 0)
        st = vs_fail(&err, VS_E_EXISTS,
                     "%s: it exists already; --force replaces it, -o names another file", job.out);
    if (!st) {
        /* execvp takes char *const[] for historical reasons; it changes nothing */
        launch.argv = (char *const *)(uintptr_t)job.argv;
        launch.results_to_stderr = cli_args_has(args, "json");
        launch.ends_with_us = getenv(WIF_STOP_VARIABLE) != NULL; /* it runs for that alone */
        st = cli_launch_check(&launch, &end, &err);
    }
    if (!st)
        st = folder_fill(&job, &err);
    if (!st) {
        environment_fill(&job, &launch);
        if (job.force) /* the library does not replace an existing file */
            unlink(job.injected);
        say_python(&job);
        st = cli_launch_run(&launch, &end, &err);
    }
    if (st) {
        status = cli_fail(&err);
        status = end.status ? end.status : status;
    } else {
        status = finish(&job, &end);
    }
    job_release(&job);
    return status;
}

/*
 * whatif/rerun.c - see rerun.h.
 *
 * Must not know:  what the trace of the run says.
 * Invariant:      when a function returns, the program that it started has ended, but for wif_rerun_begin.
 */
#include "whatif/rerun.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/temporary/folder.h"
#include "base/text.h"
#include "replay/trace/scripts.h"
#include "whatif/process.h"
#include "whatif/program_toggles.h"
#include "whatif/recipe.h"

/* The status of a program that ^C ended on its way to a prompt (tracer/python/sitecustomize.py). */
#define INTERRUPTED 130

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

/* The program of `base`, its toggles and those of `set` (NULL: none) over them. */
static enum vs_status program_get(const struct rpl_trace *base, const struct vs_toggles *set,
                                  struct wif_recipe *recipe, struct vs_toggles *toggles,
                                  struct vs_error *err)
{
    enum vs_status st = wif_recipe_read(base, recipe, err);

    if (!st)
        st = toggles_make(base, set, toggles, err);
    return st ? st : wif_rerun_check(toggles, err);
}

/* ---- into a file ---- */

/* False: it was stopped. */
static bool wait_for(struct wif_process *process, rpl_progress_fn *progress, void *user)
{
    while (!wif_process_has_ended(process)) {
        if (progress && !progress(user, 0, 0)) {
            wif_process_stop(process);
            return false;
        }
        wif_process_pause();
    }
    return true;
}

/* path: absolute. stop: as of wif_process_environment. */
static enum vs_status run(const struct wif_recipe *recipe, const struct vs_toggles *toggles,
                          const char *path, const char *stop, rpl_progress_fn *progress, void *user,
                          struct vs_error *err)
{
    struct wif_process process = {.pid = 0};
    enum vs_status st = wif_process_start(&process, recipe, toggles, path, stop, err);

    if (!st && !wait_for(&process, progress, user)) {
        unlink(process.log_path);
        st = vs_fail(err, VS_E_STOPPED, "stopped");
    } else if (!st) {
        st = wif_process_outcome(&process, err);
    }
    wif_process_release(&process);
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
    enum vs_status st = program_get(base, set, &recipe, &toggles, err);

    vs_text_addf(&absolute, "%s%s%s", here ? here : "", here ? "/" : "", path);
    free(here); /* getcwd's own */
    if (!st)
        st = run(&recipe, &toggles, vs_text_get(&absolute), NULL, progress, user, err);
    vs_text_release(&absolute);
    vs_toggles_release(&toggles);
    wif_recipe_release(&recipe);
    return st;
}

/* ---- up to an event ---- */

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
    enum vs_status st = program_get(base, NULL, &recipe, &toggles, err);

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

enum vs_status wif_rerun_here(const struct rpl_trace *base, const char *stop, const char *folder,
                              rpl_progress_fn *progress, void *user, struct vs_error *err)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction interrupt, quit;
    struct wif_process process = {.pid = 0};
    struct wif_recipe recipe = {.folder = NULL};
    struct vs_toggles toggles = {{NULL}};
    struct vs_text path = {NULL, 0, 0};
    enum vs_status st = program_get(base, NULL, &recipe, &toggles, err);

    vs_text_addf(&path, "%s/" WIF_RERUN_TRACE, folder);
    if (!st)
        st = wif_process_start_here(&process, &recipe, &toggles, vs_text_get(&path), stop, err);
    if (!st) {
        /* ^C at the terminal is the program's */
        sigaction(SIGINT, &ignore, &interrupt);
        sigaction(SIGQUIT, &ignore, &quit);
        if (!wait_for(&process, progress, user))
            st = vs_fail(err, VS_E_STOPPED, "stopped");
        else if (WIFEXITED(process.status) && WEXITSTATUS(process.status) == INTERRUPTED)
            st = vs_fail(err, VS_E_STOPPED, "interrupted before the program came to the event");
        sigaction(SIGINT, &interrupt, NULL);
        sigaction(SIGQUIT, &quit, NULL);
    }
    wif_process_release(&process);
    vs_text_release(&path);
    vs_toggles_release(&toggles);
    wif_recipe_release(&recipe);
    return st;
}

/* ---- into memory ---- */

static uint32_t string_in(struct rpl_trace *out, const struct rpl_trace *from, uint32_t id)
{
    return id ? rpl_trace_add_string(out, rpl_trace_string(from, id)) : 0;
}

/* Ids of strings, locations and tensors stay what they are: a file has each once. */
static void tables_copy(const struct rpl_trace *from, struct rpl_trace *out)
{
    static const char *const META[] = {
        "source_kind",
        "source_name",
        "device",
        "device_number",
        "blocks_before",
        "start_events",
        "alloc_conf",
        "derived",
        "derived_from",
        "steps_by",
        "steps_alike",
        "refused",
        "capacity",
        "end_segments",
        "end_blocks",
        "torch",
        "gpu_played",
        "gpu_unknown",
        "partial",
        "observed",
        "observed_of",
        "observed_between",
        "observed_saves",
        "observed_ended",
        "recomputed_ops",
        "rerun_scripts",
        "dumped",
        "arithmetic_ops",
        "arithmetic_unknown",
        "arithmetic_unknown_ops",
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

static void script_copy(void *user, const struct rpl_script *script)
{
    struct vs_text key = {NULL, 0, 0};

    vs_text_addf(&key, RPL_SCRIPT_KEY "%s", script->path);
    rpl_trace_set_meta(user, vs_text_get(&key), script->text);
    vs_text_release(&key);
}

static enum vs_status copy(struct rpl_trace *from, struct rpl_trace *out, struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const struct vs_event *event;
    enum vs_status st;

    rpl_trace_clear(out);
    tables_copy(from, out);
    rpl_scripts_each(from, script_copy, out);
    rpl_scan_init(scan, from, 1, rpl_trace_event_count(from));
    while ((event = rpl_scan_next(scan, err)) != NULL)
        rpl_trace_add_event(out, event);
    st = scan->status;
    vs_free(scan);
    return st;
}

/* ---- in the background ---- */

struct wif_rerun_job {
    struct wif_process process;
    struct vs_folder folder;
};

enum vs_status wif_rerun_begin(const struct rpl_trace *base, const struct vs_toggles *set,
                               struct wif_rerun_job **out, struct vs_error *err)
{
    struct wif_rerun_job *job = vs_calloc(1, sizeof(*job));
    struct wif_recipe recipe = {.folder = NULL};
    struct vs_toggles toggles = {{NULL}};
    struct vs_text path = {NULL, 0, 0};
    enum vs_status st = program_get(base, set, &recipe, &toggles, err);

    if (!st)
        st = vs_folder_open(&job->folder, VS_FOLDER_WHATIF, err);
    if (!st) {
        vs_text_addf(&path, "%s/" WIF_RERUN_TRACE, job->folder.path);
        st = wif_process_start(&job->process, &recipe, &toggles, vs_text_get(&path), NULL, err);
    }
    if (st) {
        wif_rerun_job_free(job);
        job = NULL;
    }
    *out = job;
    vs_text_release(&path);
    vs_toggles_release(&toggles);
    wif_recipe_release(&recipe);
    return st;
}

bool wif_rerun_has_ended(struct wif_rerun_job *job)
{
    return wif_process_has_ended(&job->process);
}

enum vs_status wif_rerun_take(struct wif_rerun_job *job, rpl_progress_fn *progress, void *user,
                              struct rpl_trace *out, struct vs_error *err)
{
    struct rpl_trace *trace = NULL;
    enum vs_status st;

    while (!wif_process_has_ended(&job->process)) {
        if (progress && !progress(user, 0, 0))
            return vs_fail(err, VS_E_STOPPED, "stopped");
        wif_process_pause();
    }
    st = wif_process_outcome(&job->process, err);
    if (!st)
        st = rpl_trace_open(job->process.path, &trace, err);
    if (!st)
        st = copy(trace, out, err);
    rpl_trace_free(trace);
    return st;
}

void wif_rerun_job_free(struct wif_rerun_job *job)
{
    if (!job)
        return;
    wif_process_release(&job->process);
    vs_folder_release(&job->folder);
    vs_free(job);
}

enum vs_status wif_rerun_load(const struct rpl_trace *base, const struct vs_toggles *set,
                              rpl_progress_fn *progress, void *user, struct rpl_trace *out,
                              struct vs_error *err)
{
    struct wif_rerun_job *job = NULL;
    enum vs_status st = wif_rerun_begin(base, set, &job, err);

    if (!st)
        st = wif_rerun_take(job, progress, user, out, err);
    wif_rerun_job_free(job);
    return st;
}

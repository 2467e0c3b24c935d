/*
 * cli/grid/cmd_sweep.c - runs a net with all combinations of values of some toggles.
 *
 * For:            `vramscope sweep`.
 * Must not know:  how a configuration is run (whatif/grid/), how results are kept (store/sweep/results.h).
 * Invariant:      however it ends, the file of results can be gone on with.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "cli/cmds.h"
#include "cli/grid/grid.h"
#include "cli/grid/grid_ranks.h"
#include "cli/netfile.h"
#include "cli/progress.h"
#include "cli/version.h"
#include "store/sweep/results.h"
#include "whatif/grid/pool.h"
#include "whatif/grid/run.h"
#include "whatif/grid/space.h"
#include "whatif/grid/table.h"

/* Results are committed when so many are pending, or when one has been pending for so long. */
#define COMMIT_EVERY 64
#define COMMIT_AFTER_NS UINT64_C(1000000000)
/* How long to wait before asking other processes again. */
#define PAUSE_NS 5000000

static const struct cli_option OPTIONS[] = {
    {"vary", 'v', "TOGGLE=VALUES", true,
     "a toggle and the values that it takes, with commas between: batch=8,12,16; the range 8..256 "
     "is 8, 16, 32 and so on, doubled, the range 8..256+8 is 8, 16, 24 and so on; where a value "
     "has a comma, put | between values: freeze=half|conv1,bn1; give --vary once for each toggle"},
    {"world", 0, "VALUES", false, "the same as --vary world=VALUES"},
    {"set", 's', "TOGGLE=VALUE", true,
     "a toggle of all configurations; may be given more than once"},
    {"capacity", 0, "SIZE", false, "memory of the device, such as 80G (default: unlimited)"},
    {"seed", 0, "N", false, "seed of all random numbers (default 0)"},
    {"out", 'o', "FILE", false,
     "keep the results in this SQLite file, and do not run what it has; needed to go on after ^C"},
    {"jobs", 'j', "N", false,
     "how many processes to run at once, 1 to 256 (default: one for each core)"},
    {"all", 'a', NULL, false, "print all configurations, not only the Pareto front"},
    {"json", 0, NULL, false,
     "print all configurations as JSON; docs/formats/json.md lists the fields"},
    {NULL, 0, NULL, false, NULL},
};

/* Set by a signal handler (^C, SIGTERM), which gets no context; read between results. */
static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* The same signal a second time ends the program. */
static void signals_set(void)
{
    struct sigaction stop = {.sa_handler = on_interrupt,
                             .sa_flags = (int)SA_RESETHAND}; /* the flag is the sign bit */

    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
}

/*
 * known: whether results[i] is there, of configs.items[i]; items: what is not, item_count of them; pending: results
 * that were not committed, the first of them added at pending_ns; late: what failed while they were committed; found:
 * results of this call, of all processes of mpirun in rank 0; ended: of these, runs whose process ended before they did
 */
struct session {
    const struct cli_args *args;
    struct cli_netfile file;
    struct wif_grid_net net;
    struct wif_grid_space space;
    struct wif_grid_configs configs;
    struct wif_grid_runner *runner;
    struct sto_result *results;
    bool *known;
    size_t *items;
    size_t item_count;
    size_t jobs;
    struct sto_results *kept;
    size_t pending;
    uint64_t pending_ns;
    struct vs_error late;
    struct cli_grid_ranks ranks;
    size_t found;
    size_t ended;
    struct cli_progress progress;
};

/* ---- arguments ---- */

static enum vs_status seed_get(const char *text, uint64_t *out, struct vs_error *err)
{
    char *end = NULL;

    errno = 0;
    *out = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno)
        return vs_fail(err, VS_E_USAGE,
                       "sweep: --seed cannot be `%s`; give a number from 0 to 2^64 - 1", text);
    return VS_OK;
}

/* What was wrong with a toggle is wrong usage. */
static enum vs_status as_usage(enum vs_status st, struct vs_error *err)
{
    if (st)
        err->status = VS_E_USAGE;
    return st ? VS_E_USAGE : VS_OK;
}

static enum vs_status space_fill(struct session *s, struct vs_error *err)
{
    const char *world = cli_args_value(s->args, "world");
    enum vs_status st = VS_OK;
    const char *pair;

    for (size_t i = 0; (pair = cli_args_value_at(s->args, "set", i)) != NULL && !st; i++)
        st = vs_toggles_set_pair(&s->space.fixed, pair, err);
    for (size_t i = 0; (pair = cli_args_value_at(s->args, "vary", i)) != NULL && !st; i++)
        st = wif_grid_space_vary(&s->space, pair, err);
    if (!st && world) {
        struct vs_text text = {NULL, 0, 0};

        vs_text_addf(&text, "world=%s", world);
        st = wif_grid_space_vary(&s->space, vs_text_get(&text), err);
        vs_text_release(&text);
    }
    if (!st && !s->space.count)
        st = vs_fail(err, VS_E_USAGE,
                     "sweep: --vary TOGGLE=VALUES says what to vary, such as batch=8..256");
    if (!st)
        st = wif_grid_space_list(&s->space, &s->configs, err);
    return as_usage(st, err);
}

static enum vs_status jobs_get(struct session *s, struct vs_error *err)
{
    const char *text = cli_args_value(s->args, "jobs");
    char *end = NULL;
    long jobs;

    s->jobs = wif_grid_pool_cores();
    if (!text)
        return VS_OK;
    jobs = strtol(text, &end, 10);
    if (!*text || *end || jobs < 1 || jobs > WIF_GRID_WORKERS_MAX)
        return vs_fail(err, VS_E_USAGE, "sweep: --jobs cannot be `%s`; give a number from 1 to %d",
                       text, WIF_GRID_WORKERS_MAX);
    s->jobs = (size_t)jobs;
    return VS_OK;
}

static enum vs_status session_open(const struct cli_args *args, struct session *s,
                                   struct vs_error *err)
{
    const char *capacity = cli_args_value(args, "capacity");
    const char *seed = cli_args_value(args, "seed");
    enum vs_status st;

    s->args = args;
    st = space_fill(s, err);
    if (!st && capacity && (!vs_bytes_parse(capacity, &s->net.capacity) || !s->net.capacity))
        st = vs_fail(err, VS_E_USAGE,
                     "sweep: --capacity cannot be `%s`; give a size such as 80G or 512M", capacity);
    if (!st && seed)
        st = seed_get(seed, &s->net.seed, err);
    if (!st)
        st = jobs_get(s, err);
    if (!st)
        st = cli_netfile_read(args->positionals[0], &s->file, err);
    if (st)
        return st;
    s->net.file_name = s->file.name;
    s->net.text = s->file.text;
    s->net.len = s->file.len;
    s->results = vs_calloc(s->configs.count, sizeof(*s->results));
    s->known = vs_calloc(s->configs.count, sizeof(*s->known));
    s->items = vs_calloc(s->configs.count, sizeof(*s->items));
    return VS_OK;
}

static void session_close(struct session *s)
{
    sto_results_close(s->kept);
    wif_grid_runner_free(s->runner);
    vs_free(s->results);
    vs_free(s->known);
    vs_free(s->items);
    wif_grid_configs_release(&s->configs);
    wif_grid_space_release(&s->space);
    cli_netfile_release(&s->file);
}

/* ---- what is known already ---- */

/* Configurations by their text, for looking up what a file has. */
struct lookup {
    struct session *s;
    const struct wif_grid_config **by_text;
};

static int in_order(const void *x, const void *y)
{
    const struct wif_grid_config *const *a = x;
    const struct wif_grid_config *const *b = y;

    return strcmp((*a)->text, (*b)->text);
}

static int text_against(const void *text, const void *y)
{
    const struct wif_grid_config *const *b = y;

    return strcmp(text, (*b)->text);
}

static void on_known(void *user, const char *config, const struct sto_setting *settings,
                     size_t count, const struct sto_result *result)
{
    const struct lookup *lookup = user;
    const struct wif_grid_config **found =
        bsearch(config, lookup->by_text, lookup->s->configs.count, sizeof(*found), text_against);

    (void)settings;
    (void)count;
    if (!found)
        return;
    lookup->s->known[*found - lookup->s->configs.items] = true;
    lookup->s->results[*found - lookup->s->configs.items] = *result;
}

static enum vs_status known_fill(struct session *s, struct vs_error *err)
{
    const struct sto_results_head head = {.net = s->net.file_name,
                                          .text = s->net.text,
                                          .seed = s->net.seed,
                                          .capacity = s->net.capacity,
                                          .version = CLI_VERSION};
    struct lookup lookup = {.s = s};
    enum vs_status st;

    st = sto_results_open(cli_args_value(s->args, "out"), &head, &s->kept, err);
    if (st)
        return st;
    lookup.by_text = vs_calloc(s->configs.count, sizeof(*lookup.by_text));
    for (size_t i = 0; i < s->configs.count; i++)
        lookup.by_text[i] = &s->configs.items[i];
    qsort(lookup.by_text, s->configs.count, sizeof(*lookup.by_text), in_order);
    st = sto_results_each(s->kept, on_known, &lookup, err);
    vs_free(lookup.by_text);
    return st;
}

/* ---- the sweep ---- */

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Commit what has been pending for long enough. */
static enum vs_status commit_if_due(struct session *s, struct vs_error *err)
{
    if (s->pending < COMMIT_EVERY && (!s->pending || now_ns() - s->pending_ns < COMMIT_AFTER_NS))
        return VS_OK;
    s->pending = 0;
    return sto_results_commit(s->kept, err);
}

static enum vs_status keep(struct session *s, size_t config, const struct sto_result *result,
                           struct vs_error *err)
{
    const struct wif_grid_config *of = &s->configs.items[config];
    struct sto_setting settings[VS_TOGGLE_COUNT];
    size_t count = 0;

    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        if (vs_toggles_is_set(&of->toggles, (enum vs_toggle)i))
            settings[count++] =
                (struct sto_setting){vs_toggle_info((enum vs_toggle)i)->name,
                                     vs_toggles_get(&of->toggles, (enum vs_toggle)i)};
    if (!s->pending++)
        s->pending_ns = now_ns();
    return sto_results_add(s->kept, of->text, settings, count, result, err);
}

static void on_run(void *user, size_t config, struct sto_result *out)
{
    const struct session *s = user;

    wif_grid_run(s->runner, &s->configs.items[config].toggles, out);
}

static enum vs_status on_done(void *user, size_t config, const struct sto_result *result,
                              struct vs_error *err)
{
    struct session *s = user;

    if (s->ranks.rank > 0)
        return cli_grid_ranks_post(&s->ranks, config, result, err);
    s->results[config] = *result;
    s->known[config] = true;
    s->found++;
    s->ended += result->is_ended;
    cli_progress_say(&s->progress, "%zu of %zu configurations", s->found, s->item_count);
    /* what ended the process, such as want of this machine's memory, says nothing of the configuration */
    return s->kept && !result->is_ended ? keep(s, config, result, err) : VS_OK;
}

static bool goes_on(void)
{
    return !interrupted;
}

/* What other processes have found so far. */
static enum vs_status others_take(struct session *s, struct vs_error *err)
{
    struct sto_result result;
    size_t config = 0;
    bool taken = true;
    enum vs_status st = VS_OK;

    while (!st && taken) {
        st = cli_grid_ranks_take(&s->ranks, &config, &result, &taken, err);
        if (!st && taken)
            st = on_done(s, config, &result, err);
    }
    return st;
}

static bool on_poll(void *user)
{
    struct session *s = user;

    if (interrupted || (s->ranks.rank == 0 && others_take(s, &s->late)))
        return false;
    return commit_if_due(s, &s->late) == VS_OK;
}

/* Rank 0 waits for the results of the others, they for it. */
static enum vs_status others_wait(struct session *s, struct vs_error *err)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};

    while (s->ranks.rank == 0 && s->found < s->item_count) {
        if (!on_poll(s))
            return vs_fail(err, VS_E_STOPPED, "stopped");
        nanosleep(&pause, NULL);
    }
    return cli_grid_ranks_end(&s->ranks, err);
}

static enum vs_status sweep(struct session *s, struct vs_error *err)
{
    const struct wif_grid_pool pool = {
        .workers = s->jobs, .run = on_run, .done = on_done, .goes_on = on_poll, .user = s};
    /* mpirun ends all processes when one has ended: rank 0, which is stopped too, keeps its results meanwhile */
    const struct timespec first_ends = {.tv_sec = 1};
    size_t own;
    enum vs_status st;

    s->late = (struct vs_error)VS_ERROR_INIT;
    for (size_t i = 0; i < s->configs.count; i++)
        if (!s->known[i])
            s->items[s->item_count++] = i;
    if (!s->item_count)
        return VS_OK;
    own = cli_grid_share(s->items, s->item_count, s->ranks.rank, s->ranks.count);
    st = wif_grid_runner_new(&s->net, &s->runner, err);
    cli_progress_init(&s->progress, stderr);
    signals_set();
    if (!st && own)
        st = wif_grid_pool_run(&pool, s->items, own, err);
    if (!st && s->ranks.count > 1)
        st = others_wait(s, err);
    cli_progress_end(&s->progress);
    /* also what was found before a failure is kept */
    if (s->kept && !s->late.status)
        (void)!sto_results_commit(s->kept, &s->late);
    if (s->late.status && (!st || st == VS_E_STOPPED)) {
        *err = s->late;
        st = err->status;
    }
    if (s->ranks.rank > 0) {
        if (st == VS_E_STOPPED)
            nanosleep(&first_ends, NULL);
        return st;
    }
    if (st == VS_E_STOPPED && s->kept)
        return vs_fail(err, VS_E_STOPPED,
                       "stopped: %zu of %zu configurations are in %s; the same command goes on "
                       "with the others",
                       s->configs.count - s->item_count + s->found - s->ended, s->configs.count,
                       cli_args_value(s->args, "out"));
    if (st == VS_E_STOPPED)
        return vs_fail(err, VS_E_STOPPED,
                       "stopped: %zu of %zu configurations were run; -o FILE would have kept them",
                       s->found, s->item_count);
    return st;
}

/* ---- printing ---- */

static int table_print(struct wif_grid_table *table, const struct cli_args *args)
{
    struct vs_text text = {NULL, 0, 0};
    int status;

    if (cli_args_has(args, "json"))
        cli_grid_json(table, &text);
    else
        cli_grid_text(table, cli_args_has(args, "all"), &text);
    status = cli_print(&text);
    vs_text_release(&text);
    return status || !wif_grid_table_has_run(table);
}

static int session_print(const struct session *s)
{
    struct wif_grid_table table = {
        .net = vs_strdup(s->net.file_name), .seed = s->net.seed, .capacity = s->net.capacity};
    int status;

    for (size_t i = 0; i < s->configs.count; i++)
        wif_grid_table_add(&table, &s->configs.items[i].toggles, &s->results[i]);
    wif_grid_table_fill(&table);
    status = table_print(&table, s->args);
    wif_grid_table_release(&table);
    return status;
}

/* Print what a file of results has, without running anything. */
static int results_print(const struct cli_args *args)
{
    static const char *const OF_RUNS[] = {"vary", "world", "set", "capacity",
                                          "seed", "out",   "jobs"};
    struct vs_error err = VS_ERROR_INIT;
    struct wif_grid_table table = {.count = 0};
    enum vs_status st = VS_OK;
    int status;

    for (size_t i = 0; i < sizeof(OF_RUNS) / sizeof(OF_RUNS[0]) && !st; i++)
        if (cli_args_has(args, OF_RUNS[i]))
            st = vs_fail(&err, VS_E_USAGE,
                         "sweep: --%s: %s has results; to add to them name the net, and the file "
                         "with -o",
                         OF_RUNS[i], args->positionals[0]);
    if (!st)
        st = wif_grid_table_read(args->positionals[0], &table, &err);
    status = st ? cli_fail(&err) : table_print(&table, args);
    wif_grid_table_release(&table);
    return status;
}

static int run(const struct cli_args *args)
{
    struct vs_error err = VS_ERROR_INIT;
    struct session s = {.kept = NULL};
    enum vs_status st;
    int status;

    if (sto_results_is_file(args->positionals[0]))
        return results_print(args);
    st = session_open(args, &s, &err);
    if (!st)
        st = cli_grid_ranks_open(&s.ranks, goes_on, &err);
    if (!st && cli_args_has(args, "out") && s.ranks.rank == 0)
        st = known_fill(&s, &err);
    if (!st)
        st = cli_grid_ranks_agree(&s.ranks, s.known, s.configs.count, &err);
    if (!st)
        st = sweep(&s, &err);
    if (st)
        cli_grid_ranks_name(&s.ranks, &err);
    if (st)
        status = cli_fail(&err);
    else
        status = s.ranks.rank == 0 ? session_print(&s) : 0;
    fflush(NULL); /* the next call may end the process */
    cli_grid_ranks_leave(&s.ranks, st != VS_OK);
    if (!st && s.kept && s.ended)
        fprintf(stderr,
                "vramscope: sweep: %zu run%s ended before there was a result, and %s has none of "
                "them; the same command runs them again\n",
                s.ended, s.ended == 1 ? "" : "s", cli_args_value(args, "out"));
    session_close(&s);
    return status;
}

const struct cli_cmd cli_cmd_sweep = {
    .name = "sweep",
    .usage = "NET --vary TOGGLE=VALUES … [--world VALUES] [--set TOGGLE=VALUE …] "
             "[--capacity SIZE] [-o FILE] [-j N] [--all] [--json] | RESULTS [--all] [--json]",
    .summary = "Run a net with all combinations of toggles, and show what is worth a choice",
    .help = "Each combination is a run without data, as exact as a recording: which fit, and the "
            "Pareto front of peak memory against\n"
            "arithmetic and traffic. With -o results are kept: after ^C the same command goes on, "
            "and further values add to them. A file\n"
            "of results instead of a net is printed. Under Open MPI's mpirun its processes, on "
            "several machines perhaps,\n"
            "share the work; the first one keeps and prints the results. Exit status 1: no "
            "combination can be run.\n\n"
            "  vramscope sweep net.py --vary batch=8..256 --vary checkpoint=off,blocks "
            "--capacity 24G\n"
            "  vramscope sweep net.py --vary shard=ddp,fsdp --world 8,64,1024 -o results.db\n"
            "  vramscope sweep results.db --all\n"
            "  mpirun -n 16 vramscope sweep net.py --vary batch=8..256 -o results.db\n",
    .options = OPTIONS,
    .positionals_min = 1,
    .positionals_max = 1,
    .run = run,
};

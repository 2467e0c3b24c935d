/*
 * cli/record/cmd_record.c - records the training of a net, or a program.
 *
 * For:            `vramscope record`.
 * Must not know:  how a net is run (lang/run/run.h), how a trace is written (tracer/recorder.h), how a program is
 *                 recorded (cli/record/record_program.h).
 * Invariant:      errors in a net are found before any file is created: one step is run first, without data or a file.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/account.h"
#include "cli/cmds.h"
#include "cli/netfile.h"
#include "cli/progress.h"
#include "cli/record/record_numbers.h"
#include "cli/record/record_program.h"
#include "cli/record/record_ranks.h"
#include "cli/record/record_signals.h"
#include "cli/record/recorded.h"
#include "cli/watch.h"
#include "engine/device/kernels.h"
#include "engine/device/plugin.h"
#include "lang/run/run.h"
#include "replay/index/index.h"
#include "tracer/recorder.h"
#include "whatif/whatif.h"

#define OUT_DEFAULT "trace.db"
#define REFUSED_SHOWN 4

static const struct cli_option OPTIONS[] = {
    {"out", 'o', "FILE", false, "the trace to write (default " OUT_DEFAULT ")"},
    {"force", 'f', NULL, false, "replace the trace if it exists"},
    {"device", 0, "DEVICE", false,
     "cpu: real arithmetic; cuda: the same on the GPU; meta: shapes and lifetimes only, no losses; "
     "auto: cuda if a GPU is available, else cpu (default)"},
    {"capacity", 0, "SIZE", false, "memory of the device, such as 8G (default: unlimited)"},
    {"seed", 0, "N", false, "seed of all random numbers (default 0)"},
    {"keep", 0, "N", false,
     "keep the last steps of a net with N events at least, such as 10m, at most about twice as "
     "many, and what was alive before them; N 1 is the last step or the last two (default: all)"},
    {"stacks", 0, "FRAMES", false,
     "frames to record of a PyTorch program: python, or all, which includes C++ frames, names ops "
     "and costs more (default python)"},
    {"history", 0, "N", false,
     "how many events of a PyTorch program are kept, the last ones (default 1000000)"},
    {"observe", 0, "on|off", false,
     "of a PyTorch program, note op, module, shape and dtype of each allocation, and the names of "
     "parameters (default on)"},
    {"gpu", 0, "NAME", false,
     "the GPU to simulate for a PyTorch program: none, a name as of --target, or auto: a100-80, "
     "where there is no driver (default)"},
    {"gpus", 0, "N", false,
     "how many of them (default: as many as torchrun starts processes, or 1)"},
    {"async", 0, "early|late", false,
     "when work of the simulated GPU is complete: early: at once, late: when the host has waited "
     "for it (default early)"},
    {"values", 0, "zeros|uniform", false,
     "values of the simulated GPU: zeros (default); uniform: integers are computed, and what "
     "floats choose (experts, indices, masks) is chosen in turn"},
    {"world", 0, "N", false,
     "run the program as one rank of N, alone: the others are simulated (--gpus: how many of "
     "them share a machine, default 8); of a net: the toggle"},
    {"rank", 0, "N", false, "which of them, from 0 (default 0); of a net: the toggle"},
    {"cupti", 0, "auto|on|off", false,
     "on cuda, record the time the GPU spends on each op: auto: if CUPTI is available (default), "
     "on: fail without it, off"},
    {"json", 0, NULL, false, "print what was recorded as JSON"},
    {NULL, 0, NULL, false, NULL},
};

static bool index_goes_on(void *user, uint64_t done, uint64_t total)
{
    (void)user;
    (void)done;
    (void)total;
    return cli_record_goes_on();
}

/* The values of the options. out: heap memory; toggles: those given, and what mpirun says. */
struct plan {
    const struct cli_args *args;
    char *out;
    struct vs_toggles toggles;
    struct cli_ranks ranks;
    bool force;
    bool has_data;
    bool has_gpu;  /* gpu is open */
    char *why_cpu; /* `auto` met a plug-in that does not open; else NULL */
    struct eng_device gpu;
    struct cli_watch watch;
    struct cli_account account;
    uint64_t capacity;
    uint64_t seed;
    uint64_t keep; /* events; 0: all */
};

/* A recording in progress. state: the latest progress that was reported. */
struct recording {
    struct plan *plan;
    struct trc_recorder *rec;
    struct cli_progress progress;
    struct cli_progress_state state;
};

/*
 * Opens the device. `auto` without a plug-in is the CPU, without a message, as on most machines; if a plug-in is there
 * and does not open, a message says why.
 */
static enum vs_status device_choose(const char *device, struct plan *plan, struct vs_error *err)
{
    struct vs_error reason = VS_ERROR_INIT;
    bool is_auto = !device || strcmp(device, "auto") == 0;
    char path[4096];
    enum vs_status st;

    plan->has_data = is_auto || strcmp(device, "meta") != 0;
    if (!is_auto && strcmp(device, "cpu") != 0 && strcmp(device, "meta") != 0 &&
        strcmp(device, "cuda") != 0)
        return vs_fail(err, VS_E_USAGE,
                       "record: --device cannot be `%s`; legal: auto, cpu, cuda, meta", device);
    if (!is_auto && strcmp(device, "cuda") != 0)
        return VS_OK;
    cli_account_before(&plan->account);
    st = eng_device_open("cuda", &plan->gpu, &reason);
    plan->has_gpu = st == VS_OK;
    if (plan->has_gpu)
        cli_account_ready(&plan->account, &plan->gpu);
    if (!plan->has_gpu && is_auto && eng_plugin_find("cuda", path, sizeof(path)))
        plan->why_cpu = vs_strdup(reason.text);
    if (plan->has_gpu || is_auto)
        return VS_OK;
    *err = reason;
    return st;
}

static enum vs_status plan_fill(const struct cli_args *args, struct plan *plan,
                                struct vs_error *err)
{
    static const char *const OF_PROGRAMS[] = {"gpu", "gpus", "async", "values", "observe"};
    const char *device = cli_args_value(args, "device");
    const char *capacity = cli_args_value(args, "capacity");
    const char *seed = cli_args_value(args, "seed");
    const char *keep = cli_args_value(args, "keep");
    const char *cupti = cli_args_value(args, "cupti");

    memset(plan, 0, sizeof(*plan));
    plan->args = args;
    for (size_t i = 0; i < sizeof(OF_PROGRAMS) / sizeof(OF_PROGRAMS[0]); i++)
        if (cli_args_has(args, OF_PROGRAMS[i]))
            return vs_fail(err, VS_E_USAGE, "record: --%s is for programs; a net's GPU is --target",
                           OF_PROGRAMS[i]);
    plan->out = vs_strdup(cli_args_has(args, "out") ? cli_args_value(args, "out") : OUT_DEFAULT);
    vs_toggles_copy(&plan->toggles, &args->toggles);
    if (!*plan->out)
        return vs_fail(err, VS_E_USAGE, "record: --out needs the name of a file");
    plan->force = cli_args_has(args, "force");
    if (capacity && (!vs_bytes_parse(capacity, &plan->capacity) || !plan->capacity))
        return vs_fail(err, VS_E_USAGE,
                       "record: --capacity cannot be `%s`; give a size such as 8G or 512M",
                       capacity);
    if (seed) {
        enum vs_status st = cli_record_seed(seed, &plan->seed, err);

        if (st)
            return st;
    }
    if (keep) {
        enum vs_status st = cli_record_keep(keep, &plan->keep, err);

        if (st)
            return st;
    }
    if (keep && cupti && strcmp(cupti, "on") == 0)
        return vs_fail(err, VS_E_USAGE,
                       "record: with --keep the GPU's times of ops are not recorded; leave out "
                       "--cupti on");
    return device_choose(device, plan, err);
}

/* What mpirun says, where it has started this process. */
static enum vs_status ranks_fill(struct plan *plan, struct vs_error *err)
{
    enum vs_status st = cli_ranks_fill(&plan->ranks, &plan->toggles, &plan->out, err);

    if (!st && plan->ranks.count && plan->has_gpu)
        st = vs_fail(err, VS_E_UNSUPPORTED,
                     "mpirun has started %d processes, and several train on the CPU alone: add "
                     "--device cpu",
                     plan->ranks.count);
    return st;
}

static void settings_fill(struct lang_settings *settings, const struct plan *plan,
                          const struct cli_netfile *net)
{
    memset(settings, 0, sizeof(*settings));
    settings->file_name = net->name;
    settings->text = net->text;
    settings->len = net->len;
    settings->seed = plan->seed;
    settings->capacity = plan->capacity;
}

/* ---- warnings ---- */

static void print_warning(const struct lang_warning *warning)
{
    const char *advice = lang_warning_advice(warning->kind);

    fprintf(stderr, "vramscope: warning: %s", warning->text);
    if (warning->line > 0)
        fprintf(stderr, " (line %" PRIu32 ")", warning->line);
    fprintf(stderr, "%s%s\n", *advice ? "; " : "", advice);
}

/* ---- the rehearsal ---- */

static void print_nothing(void *user, const char *text, size_t len)
{
    (void)user;
    (void)text;
    (void)len;
}

/* Run one step without data and without a file, to find errors in the net or its toggles. */
static enum vs_status rehearse(const struct plan *plan, const struct cli_netfile *net,
                               struct vs_error *err)
{
    struct lang_settings settings;
    struct lang_result result;
    struct vs_toggles toggles = {{NULL}};
    enum vs_status st;

    memset(&result, 0, sizeof(result));
    settings_fill(&settings, plan, net);
    vs_toggles_copy(&toggles, &plan->toggles);
    st = vs_toggles_set(&toggles, VS_TOGGLE_STEPS, "1", err);
    if (st)
        goto out;
    settings.toggles = &toggles;
    settings.print = print_nothing;
    st = lang_run(&settings, &result, err);
    if (st == VS_E_OOM)
        st = VS_OK; /* out of memory is shown by the recording itself */
    if (st)         /* warnings are printed, because they may explain the failure */
        for (size_t i = 0; i < result.warning_count; i++)
            print_warning(&result.warnings[i]);
    VS_LOG(VS_LOG_CLI, 1, "rehearsal: %" PRIu64 " events, peak %" PRIu64, result.events,
           result.peak_allocated);
out:
    lang_result_release(&result);
    vs_toggles_release(&toggles);
    return st;
}

/* ---- the recording ---- */

static void on_started(void *user, const struct vs_toggles *in_force, const bool *is_default)
{
    struct recording *recording = user;

    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        trc_recorder_toggle_add(recording->rec, vs_toggle_info((enum vs_toggle)i)->name,
                                vs_toggles_get(in_force, (enum vs_toggle)i), is_default[i]);
}

static bool on_progress(void *user, const struct lang_progress *progress)
{
    struct recording *recording = user;
    struct cli_progress_state *state = &recording->state;
    struct trc_recorder_stats stats;

    if (progress->step != state->step && state->step >= 0) {
        cli_progress_step(&recording->progress, state);
        if (!isnan(state->loss)) /* written at once, so that a killed recording has its losses */
            trc_recorder_step(recording->rec, state->step, state->loss);
    }
    trc_recorder_stats(recording->rec, &stats);
    *state = (struct cli_progress_state){
        .step = progress->step,
        .steps = progress->steps,
        .phase = vs_phase_name(progress->phase),
        .phase_number = (int)progress->phase,
        .phase_count = VS_PHASE_COUNT,
        .loss = progress->loss_known ? progress->loss : (double)NAN,
        .events = stats.events,
    };
    cli_progress_show(&recording->progress, state);
    if (progress->step + 1 == progress->steps)
        cli_account_end(&recording->plan->account, stats.events);
    return cli_record_goes_on() && !stats.failed; /* the run stops if the trace cannot be written */
}

/* PyTorch's own warnings stand where PyTorch would print them; the others are printed at the end (print_warnings). */
static void on_warn(void *user, const struct lang_warning *warning)
{
    struct recording *recording = user;

    if (warning->kind != LANG_WARN_PYTORCH)
        return;
    cli_progress_end(&recording->progress);
    print_warning(warning);
}

static void print_warnings(const struct lang_result *result)
{
    for (size_t i = 0; i < result->warning_count; i++)
        if (result->warnings[i].kind != LANG_WARN_PYTORCH)
            print_warning(&result->warnings[i]);
}

static void on_print(void *user, const char *text, size_t len)
{
    struct recording *recording = user;

    cli_progress_end(&recording->progress);
    /* with --json stdout has nothing but the JSON */
    fwrite(text, 1, len, cli_args_has(recording->plan->args, "json") ? stderr : stdout);
}

static void on_note(void *user, const char *key, const char *value)
{
    trc_recorder_meta_set(user, key, value);
}

static void meta_number(struct trc_recorder *rec, const char *key, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, value);
    trc_recorder_meta_set(rec, key, text);
}

/* What is known before the run. */
static void recorder_begin(struct trc_recorder *rec, const struct plan *plan,
                           const struct cli_netfile *net)
{
    trc_recorder_meta_set(rec, "device", plan->has_gpu ? "cuda" : plan->has_data ? "cpu" : "meta");
    if (plan->has_gpu) {
        trc_recorder_meta_set(rec, "gpu", plan->gpu.info.name);
        meta_number(rec, "gpu_driver", (uint64_t)plan->gpu.info.driver_version);
        meta_number(rec, "gpu_runtime", (uint64_t)plan->gpu.info.runtime_version);
        meta_number(rec, "gpu_total", plan->gpu.info.total_bytes);
        meta_number(rec, "gpu_free", plan->gpu.info.free_bytes);
    }
    if (plan->why_cpu)
        trc_recorder_meta_set(rec, "why_cpu", plan->why_cpu);
    trc_recorder_meta_set(rec, "source_kind", "net");
    meta_number(rec, "seed", plan->seed);
    if (plan->capacity)
        meta_number(rec, "capacity", plan->capacity);
    trc_recorder_source_add(rec, net->name, net->text);
}

/* Entries that are known after the run: the losses that on_progress has not written, and the run's own notes. */
static void recorder_end(const struct recording *recording, const struct lang_result *result,
                         enum vs_status st)
{
    struct trc_recorder *rec = recording->rec;

    for (size_t i = 0; i < result->step_count; i++)
        if (result->steps[i].loss_known && result->steps[i].step >= recording->state.step)
            trc_recorder_step(rec, result->steps[i].step, result->steps[i].loss);
    wif_run_notes(result, on_note, rec);
    trc_recorder_meta_set(rec, "outcome",
                          st == VS_E_OOM       ? "oom"
                          : st == VS_E_STOPPED ? "stopped"
                          : st                 ? "failed"
                                               : "done");
}

/*
 * Whether a run that ended with `st` leaves a trace. VS_E_IO of a run is an error of its GPU: it was lost, or refused a
 * call; or the other processes of the training were lost.
 */
static bool leaves_trace(const struct plan *plan, enum vs_status st)
{
    return st == VS_OK || st == VS_E_OOM || st == VS_E_STOPPED ||
           (st == VS_E_IO && (plan->has_gpu || plan->ranks.is_open));
}

/* Print the parts of a toggle that could not be applied, the first few; all are in the trace. */
static void warn_refused(const struct lang_result *result)
{
    for (size_t i = 0; i < result->refusal_count && i < REFUSED_SHOWN; i++)
        fprintf(stderr, "vramscope: not applied: %s %s: %s\n", result->refusals[i].toggle,
                result->refusals[i].path, result->refusals[i].reason);
    if (result->refusal_count > REFUSED_SHOWN)
        fprintf(stderr, "vramscope: and %zu more; the trace has them as `refused` in `meta`\n",
                result->refusal_count - REFUSED_SHOWN);
}

/*
 * Run and record. Returns how the run went; the trace is closed. VS_E_OOM, VS_E_STOPPED and a GPU that failed leave a
 * trace that can be read, other failures leave none.
 */
static enum vs_status record(struct plan *plan, const struct cli_netfile *net, struct vs_error *err)
{
    struct trc_recorder_options options = {.force = plan->force, .keep_events = plan->keep};
    struct recording recording = {.plan = plan, .state = {.step = -1, .loss = (double)NAN}};
    struct lang_settings settings;
    struct lang_result result;
    struct trc_recorder_stats stats;
    struct vs_error close_err = VS_ERROR_INIT;
    enum vs_status st;
    enum vs_status closed;
    bool is_kept;

    memset(&result, 0, sizeof(result));
    cli_watch_options(&plan->watch, &options);
    st = trc_recorder_open(plan->out, &options, &recording.rec, err);
    if (st)
        return st;
    recorder_begin(recording.rec, plan, net);
    cli_progress_init(&recording.progress, stderr);
    settings_fill(&settings, plan, net);
    settings.toggles = &plan->toggles;
    settings.ranks = plan->ranks.is_open ? &plan->ranks.ranks : NULL;
    settings.kernels = plan->has_data ? eng_kernels_cpu() : NULL;
    settings.device = plan->has_gpu ? &plan->gpu : NULL;
    settings.observer = cli_watch_observer(&plan->watch, recording.rec);
    settings.user = &recording;
    settings.started = on_started;
    settings.progress = on_progress;
    settings.warn = on_warn;
    settings.print = on_print;
    st = lang_run(&settings, &result, err);
    cli_progress_step(&recording.progress, &recording.state);
    cli_progress_end(&recording.progress);
    is_kept = leaves_trace(plan, st);
    print_warnings(&result);
    if (is_kept)
        warn_refused(&result);
    if (!st && plan->why_cpu)
        fprintf(stderr, "vramscope: on the CPU, because the GPU could not be used: %s\n",
                plan->why_cpu);
    cli_watch_stop(&plan->watch, recording.rec);
    cli_account_write(&plan->account, recording.rec);
    recorder_end(&recording, &result, st);
    if (st == VS_E_IO)
        trc_recorder_meta_set(recording.rec, "failure", err->text);
    trc_recorder_stats(recording.rec, &stats);
    closed = trc_recorder_close(recording.rec, st == VS_OK || st == VS_E_OOM, &close_err);
    if (!closed && is_kept)
        /* otherwise the first command that reads the trace builds the index */
        (void)!rpl_index_make(plan->out, stats.events, index_goes_on, NULL, &close_err);
    if (closed && is_kept) {
        st = vs_fail(err, closed, "%s\n  %s holds what was written before that", close_err.text,
                     plan->out);
    } else if (!is_kept) {
        unlink(plan->out);
    } else if (st == VS_E_IO) {
        char why[sizeof(err->text)];

        snprintf(why, sizeof(why), "%s", err->text);
        st = vs_fail(err, VS_E_IO, "%s\n  %s holds what happened so far", why, plan->out);
    }
    lang_result_release(&result);
    return st;
}

static int net_run(const struct cli_args *args)
{
    struct vs_error err = VS_ERROR_INIT;
    struct cli_netfile net = {NULL, NULL, 0};
    struct plan plan;
    enum vs_status st;
    int status = 0;

    st = plan_fill(args, &plan, &err);
    if (!st)
        st = ranks_fill(&plan, &err);
    if (!st && !plan.force && access(plan.out, F_OK) == 0)
        st = vs_fail(&err, VS_E_EXISTS,
                     "%s: it exists already; --force replaces it, -o names another file", plan.out);
    if (!st)
        st = cli_netfile_read(args->positionals[0], &net, &err);
    if (!st) {
        st = rehearse(&plan, &net, &err);
        if (st)
            cli_netfile_hint(&net, &err);
    }
    if (!st)
        st = cli_watch_open(&plan.watch, plan.keep ? "off" : cli_args_value(args, "cupti"),
                            plan.has_gpu ? &plan.gpu : NULL, &err);
    if (!st) {
        cli_record_signals_set();
        if (plan.has_data)
            st = cli_ranks_open(&plan.ranks, cli_record_goes_on, &err);
        if (!st)
            st = record(&plan, &net, &err);
    }
    if (st == VS_E_STOPPED)
        vs_fail(&err, VS_E_STOPPED, "stopped; %s holds what happened so far", plan.out);
    if (st == VS_E_OOM)
        cli_recorded_show(plan.out, true, cli_args_has(args, "json"));
    if (!st && !cli_record_goes_on())
        st = vs_fail(&err, VS_E_STOPPED,
                     "stopped before what was recorded was read; %s is complete", plan.out);
    if (st) {
        cli_ranks_name(&plan.ranks, &err);
        status = cli_fail(&err);
    } else if (!plan.ranks.rank) {
        status = cli_recorded_show(plan.out, false, cli_args_has(args, "json"));
    }
    cli_watch_close(&plan.watch);
    cli_account_release(&plan.account);
    if (plan.has_gpu)
        plan.gpu.close();
    vs_free(plan.why_cpu);
    vs_free(plan.out);
    vs_toggles_release(&plan.toggles);
    cli_netfile_release(&net);
    cli_ranks_leave(&plan.ranks, st != VS_OK);
    return status;
}

static int run(const struct cli_args *args)
{
    if (!args->positional_count || cli_is_program(args->positionals[0]))
        return cli_record_program(args);
    if (args->command) {
        fprintf(stderr,
                "vramscope: record: %s is read as a net, which takes no arguments behind --\n"
                "  a program follows -- itself: `vramscope record -- python3 %s …`\n",
                args->positionals[0], args->positionals[0]);
        return 2;
    }
    return net_run(args);
}

const struct cli_cmd cli_cmd_record = {
    .name = "record",
    .usage = "NET [-o trace.db] [--device DEVICE] [--TOGGLE VALUE …] | [-o trace.db] -- PROGRAM "
             "[ARG …]",
    .summary = "Train a net, or run a CUDA program, and record every memory event",
    .help =
        "NET is a net file, or a folder that contains net.py. If the device runs out of "
        "memory, the trace ends there, and what\n"
        "fills the device is printed.\n\n"
        "  vramscope record sample_nets/resnet18.py --batch 32 --checkpoint blocks -o "
        "resnet18.db\n\n"
        "Open MPI's mpirun starts several processes, which train a net on the CPU together, with a "
        "trace of each:\n"
        "docs/internals/distributed.md says more.\n\n"
        "  mpirun -n 4 vramscope record net.py --shard fsdp --device cpu -o run.db\n\n"
        "After --, any program with its arguments: it is run unchanged, and its exit status is "
        "kept. In a Python program that\n"
        "uses PyTorch on CUDA, PyTorch's memory history is switched on and becomes the trace. An "
        "executable file that is\n"
        "no net is treated as a program without --, too. Toggles are applied to a program from "
        "outside: docs/guide/programs.md\n"
        "says more.\n\n"
        "  vramscope record -o train.db -- python3 train.py --epochs 1\n"
        "  vramscope record -o bf16.db --amp bf16 -- python3 train.py --epochs 1\n",
    .options = OPTIONS,
    .positionals_min = 1,
    .positionals_max = 1,
    .toggles = true,
    .takes_command = true,
    .run = run,
};

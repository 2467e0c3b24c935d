/*
 * bench/bench_record.c - what recording to a file adds to a training step.
 *
 * For:            `make bench`; the limits are 1 % of a step of resnet18 (batch 8) on the CPU, and 100 ns per event on
 *                 the training thread.
 * Must not know:  internals of the recorder.
 * Invariant:      the peer is the same step without an observer, measured alternately in the same run. All times are
 *                 processor times; each figure is the median of all steps except the first of each run.
 *
 * The time of a step on the CPU varies by more than recording adds. Therefore the added time is measured on `meta`,
 * which emits the same events without computing, and the share of a step on the CPU is calculated from it; the measured
 * steps on the CPU are printed too. Run it in the root of the repository, which contains sample_nets/.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "bench/rows.h"
#include "engine/device/kernels.h"
#include "lang/run/library.h"
#include "lang/run/run.h"
#include "tracer/recorder.h"

#define NET "sample_nets/resnet18.py"
#define BATCH "8"
#define META_ROUNDS 15
#define META_STEPS 12
#define CPU_ROUNDS 2
#define CPU_STEPS 4
#define FIGURES_MAX (META_ROUNDS * META_STEPS)

static double clock_of(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st) {
        fprintf(stderr, "bench_record: %s\n", err->text);
        exit(1);
    }
}

/* ns of each step: of the thread that trains, and of all threads. */
struct took {
    double thread[FIGURES_MAX];
    double all[FIGURES_MAX];
    size_t count;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return values[count / 2];
}

/* ---- a run ---- */

struct run {
    struct took *took;
    struct trc_recorder *recorder; /* NULL: nobody listens */
    double thread;
    double all;
    uint64_t events_before;
    uint64_t events; /* of the last step */
};

static bool on_progress(void *user, const struct lang_progress *progress)
{
    struct run *run = user;
    struct trc_recorder_stats stats = {0};

    if (progress->phase != VS_PHASE_SETUP && progress->phase != VS_PHASE_ZERO_GRAD)
        return true;
    if (progress->step > 0) {
        run->took->thread[run->took->count] = clock_of(CLOCK_THREAD_CPUTIME_ID) - run->thread;
        run->took->all[run->took->count++] = clock_of(CLOCK_PROCESS_CPUTIME_ID) - run->all;
    }
    if (run->recorder)
        trc_recorder_stats(run->recorder, &stats);
    run->events = stats.events - run->events_before;
    run->events_before = stats.events;
    run->thread = clock_of(CLOCK_THREAD_CPUTIME_ID);
    run->all = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    return true;
}

struct setting {
    const char *text;
    const char *path; /* of the trace */
    const struct lang_library *library;
};

/* Some steps with or without a recorder; their times are added to *took. Returns the events of a step. */
static uint64_t run_steps(const struct setting *s, const struct eng_kernels *kernels, int steps,
                          bool is_recorded, struct took *took)
{
    const struct trc_recorder_options options = {.force = true};
    struct vs_error err = VS_ERROR_INIT;
    struct vs_toggles toggles = {{NULL}};
    struct lang_result result = {0};
    struct run run = {.took = took};
    struct lang_settings settings = {.file_name = NET,
                                     .text = s->text,
                                     .len = strlen(s->text),
                                     .kernels = kernels,
                                     .toggles = &toggles,
                                     .library = s->library,
                                     .user = &run,
                                     .progress = on_progress};
    char count[16];

    snprintf(count, sizeof(count), "%d", steps);
    ok(vs_toggles_set(&toggles, VS_TOGGLE_STEPS, count, &err), &err);
    ok(vs_toggles_set(&toggles, VS_TOGGLE_BATCH, BATCH, &err), &err);
    if (is_recorded) {
        ok(trc_recorder_open(s->path, &options, &run.recorder, &err), &err);
        settings.observer = trc_recorder_observer(run.recorder);
    }
    ok(lang_run(&settings, &result, &err), &err);
    ok(trc_recorder_close(run.recorder, true, &err), &err);
    lang_result_release(&result);
    vs_toggles_release(&toggles);
    return run.events;
}

/* ---- the two comparisons ---- */

struct pair {
    struct took off;
    struct took on;
    uint64_t events; /* of a step */
};

static void compare(const struct setting *s, const struct eng_kernels *kernels, int rounds,
                    int steps, struct pair *pair)
{
    memset(pair, 0, sizeof(*pair));
    for (int i = 0; i < rounds; i++) {
        run_steps(s, kernels, steps, false, &pair->off);
        pair->events = run_steps(s, kernels, steps, true, &pair->on);
    }
}

static void line(const char *what, double off, double on)
{
    printf("  %-40s %10.3f %10.3f %10.3f\n", what, off / 1e6, on / 1e6, (on - off) / 1e6);
}

static char *net_text(void)
{
    char *text = vs_alloc(1 << 16);
    FILE *file = fopen(NET, "r");

    if (!file) {
        fprintf(stderr, "bench_record: no %s here: run it in the root of the repository\n", NET);
        exit(1);
    }
    text[fread(text, 1, (1 << 16) - 1, file)] = '\0';
    fclose(file);
    return text;
}

int main(int argc, char **argv)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    char *text = net_text();
    struct lang_library *library = NULL;
    struct vs_error err = VS_ERROR_INIT;
    struct setting s = {.text = text, .path = argc > 1 ? argv[1] : path};
    struct pair *meta = vs_alloc(sizeof(*meta));
    struct pair *cpu = vs_alloc(sizeof(*cpu));
    double off[2], on[2], step;

    snprintf(path, sizeof(path), "%s/vramscope-bench-record.db",
             folder && *folder ? folder : "/tmp");
    setenv("VRAMSCOPE_THREADS", "1", 1);
    ok(lang_library_new(&library, &err), &err);
    s.library = library;
    compare(&s, NULL, META_ROUNDS, META_STEPS, meta);
    compare(&s, eng_kernels_cpu(), CPU_ROUNDS, CPU_STEPS, cpu);
    off[0] = median(meta->off.thread, meta->off.count);
    on[0] = median(meta->on.thread, meta->on.count);
    off[1] = median(meta->off.all, meta->off.count);
    on[1] = median(meta->on.all, meta->on.count);
    step = median(cpu->off.all, cpu->off.count);
    printf("a step of resnet18, batch %s, %" PRIu64
           " events; processor time in ms; peer: nobody listens\n",
           BATCH, meta->events);
    printf("  %-40s %10s %10s %10s\n", "", "peer", "recorded", "more");
    line("meta, the thread that trains", off[0], on[0]);
    line("meta, with the thread that writes", off[1], on[1]);
    line("cpu, 1 thread, with the one that writes", step, median(cpu->on.all, cpu->on.count));
    printf("on the thread that trains: %.0f ns an event, %.2f %% of the step on the CPU; with the "
           "writer %.2f %%\n",
           (on[0] - off[0]) / (double)meta->events, 100 * (on[0] - off[0]) / step,
           100 * (on[1] - off[1]) / step);
    bench_row("bench_record", "more on the thread that trains, resnet18, batch 8, `cpu`",
              "%.2f %%\t%.0f ms", 100 * (on[0] - off[0]) / step, step / 1e6);
    bench_row("bench_record", "the same with the thread that writes", "%.2f %%\t%.0f ms",
              100 * (on[1] - off[1]) / step, step / 1e6);
    unlink(s.path);
    lang_library_free(library);
    vs_free(meta);
    vs_free(cpu);
    vs_free(text);
    return 0;
}

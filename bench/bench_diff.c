/*
 * bench/bench_diff.c - cost of comparing two runs: the alignment, and the keys of the diff views.
 *
 * For:            `make bench`. Peers: reading the events of both runs once, which is a lower bound, and the same keys
 *                 on traces a tenth as long; both in the same run.
 * Must not know:  terminals: a key is input, an update of the rows, and drawing a screen of 160x48 into memory.
 * Invariant:      times are processor times of this process, measured alternately, so that other programs do not change
 *                 the ratios.
 *
 * The traces are of sample_nets/gpt2_small.py, with and without checkpoint=blocks, recorded by $VRAMSCOPE (default
 * build/vramscope) if they do not exist in $TMPDIR.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "bench/rows.h"
#include "tui/app.h"
#include "tui/diff.h"
#include "tui/screen.h"
#include "tui/term/surface.h"

#define W 160
#define H 48
#define PAIRS 2
#define ROUNDS 100
#define ALIGNMENTS 3

static const unsigned STEPS[PAIRS] = {4, 40};
static const char *const VALUES[2] = {"off", "blocks"};

/* once: typed before the clock runs */
static const struct row {
    const char *what;
    const char *once;
    const char *keys;
} ROWS[] = {
    {"n: the next difference", "gd", "n"},
    {"N: the one before", "gd", "N"},
    {"pairs: a row down", "gD", "j"},
    {"pairs: a page up", "gD", "<C-b>"},
    {"pairs: only what differs", "gD", "t"},
    {"pairs: the largest first", "gD", "o"},
    {"diff: by the next grouping", "gd", "t"},
    {"diff: the next moment", "gd", "<space>"},
    {"diff: inside and out", "gd", "<enter>q"},
    {"diff at the cursor: an op", "gd<space>", "s"},
    {"diff at the cursor: a phase", "gd<space>", ")"},
    {"D: the other run", "gd", "D"},
    {"zoom in", "gd", "+"},
};
#define ROW_COUNT (sizeof(ROWS) / sizeof(ROWS[0]))

struct pair {
    char paths[2][256];
    struct tui_app app;
    struct tui_surface surface;
    double read_ms; /* both traces, once */
    double align_ms;
    double ms[ROUNDS];
};

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void must(enum vs_status st, const struct vs_error *err)
{
    if (st) {
        fprintf(stderr, "bench_diff: %s\n", err->text);
        exit(1);
    }
}

static void trace_make(struct pair *pair, int which, unsigned steps)
{
    const char *folder = getenv("TMPDIR");
    const char *program = getenv("VRAMSCOPE");
    char command[600];

    snprintf(pair->paths[which], sizeof(pair->paths[which]), "%s/vramscope-bench-%s%u.db",
             folder ? folder : "/tmp", which ? "ckpt-" : "", steps);
    snprintf(command, sizeof(command),
             "%s record sample_nets/gpt2_small.py --device meta --steps %u --checkpoint %s -o '%s' "
             ">/dev/null 2>&1",
             program ? program : "build/vramscope", steps, VALUES[which], pair->paths[which]);
    if (access(pair->paths[which], R_OK) != 0 && system(command) != 0) {
        fprintf(stderr, "bench_diff: this failed: %s\n", command);
        exit(1);
    }
}

static void draw(struct pair *pair)
{
    tui_app_sync(&pair->app);
    tui_screen_draw(&pair->app, &pair->surface);
}

static void type(struct pair *pair, const char *keys)
{
    while (*keys) {
        struct tui_input input = {.key = tui_key_parse(&keys)};

        tui_app_input(&pair->app, &input);
        if (*keys)
            tui_app_sync(&pair->app);
    }
    draw(pair);
}

static void pair_open(struct pair *pair)
{
    struct vs_error err = VS_ERROR_INIT;

    memset(&pair->app, 0, sizeof(pair->app));
    must(tui_app_open(&pair->app, pair->paths[0], &err), &err);
    must(tui_app_open_other(&pair->app, pair->paths[1], &err), &err);
    tui_app_resize(&pair->app, W, H);
    draw(pair);
}

/* ---- the alignment ---- */

static double events_read(struct rpl_trace *trace)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct vs_error err = VS_ERROR_INIT;
    double start = now_ms();
    uint64_t sum = 0;
    const struct vs_event *event;

    rpl_scan_init(scan, trace, 1, rpl_trace_event_count(trace));
    while ((event = rpl_scan_next(scan, &err)) != NULL)
        sum += event->location;
    must(scan->status, &err);
    vs_free(scan);
    return sum ? now_ms() - start : 0.0;
}

static void alignment_measure(struct pair *pair)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rusage usage;
    double ms = 0.0;
    double read = 0.0;

    for (int i = 0; i < ALIGNMENTS; i++) {
        double start;

        tui_diff_forget(&pair->app);
        start = now_ms();
        must(tui_diff_open(&pair->app, NULL, NULL, &err), &err);
        ms += now_ms() - start;
        read += events_read(pair->app.base.trace) + events_read(pair->app.change.run.trace);
    }
    draw(pair);
    getrusage(RUSAGE_SELF, &usage);
    printf("  %9" PRIu64 " and %9" PRIu64
           " events: %8.1f ms, %.1f times reading both (%.1f ms); %zu "
           "rows, %zu stretches differ; %ld KiB so far\n",
           pair->app.base.events, pair->app.change.run.events, ms / ALIGNMENTS, ms / read,
           read / ALIGNMENTS, tui_diff_pairs(&pair->app)->row_count,
           tui_diff_pairs(&pair->app)->stretch_count, usage.ru_maxrss);
    pair->read_ms = read / ALIGNMENTS;
    pair->align_ms = ms / ALIGNMENTS;
}

/* ---- keys ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static uint64_t next_random(uint64_t below)
{
    static uint64_t random = 88172645463325252u;

    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return random % below;
}

/* The rows of the page, and the figures of the longest pair. */
static void row_put(const struct row *row, const struct pair *pair)
{
    static const char *const TITLES[][2] = {
        {"n: the next difference", "the next difference"},
        {"pairs: a row down", "a row down, both runs follow"},
        {"pairs: the largest first", "the largest difference first"},
        {"diff: by the next grouping", "the rows by another grouping"},
    };
    char a[BENCH_TEXT_MAX];

    for (size_t i = 0; i < sizeof(TITLES) / sizeof(TITLES[0]); i++)
        if (strcmp(row->what, TITLES[i][0]) == 0)
            bench_row("bench_diff", TITLES[i][1], "%.2f, p99 %.2f ms\t%s ms", pair->ms[ROUNDS / 2],
                      pair->ms[ROUNDS * 99 / 100], bench_number(pair->read_ms, a));
}

static void row_measure(struct pair *pairs, const struct row *row)
{
    for (size_t i = 0; i < PAIRS; i++)
        type(&pairs[i], row->once);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < PAIRS; i++) {
            double start;

            tui_app_go(&pairs[i].app, 1 + next_random(tui_app_run(&pairs[i].app)->events), false);
            draw(&pairs[i]);
            start = now_ms();
            type(&pairs[i], row->keys);
            pairs[i].ms[round] = now_ms() - start;
        }
    }
    printf("  %-30s", row->what);
    for (size_t i = 0; i < PAIRS; i++) {
        qsort(pairs[i].ms, ROUNDS, sizeof(double), by_value);
        printf("%8.2f /%7.2f", pairs[i].ms[ROUNDS / 2], pairs[i].ms[ROUNDS * 99 / 100]);
    }
    printf("%8.2f\n", pairs[PAIRS - 1].ms[ROUNDS / 2] / pairs[0].ms[ROUNDS / 2]);
    row_put(row, &pairs[PAIRS - 1]);
    fflush(stdout);
}

int main(void)
{
    struct pair *pairs = vs_calloc(PAIRS, sizeof(*pairs));

    for (size_t i = 0; i < PAIRS; i++) {
        trace_make(&pairs[i], 0, STEPS[i]);
        trace_make(&pairs[i], 1, STEPS[i]);
        tui_surface_init(&pairs[i].surface, W, H, false);
        pair_open(&pairs[i]);
    }
    printf("CPU; alignment of two runs and their rows\n");
    for (size_t i = 0; i < PAIRS; i++)
        alignment_measure(&pairs[i]);
    {
        char a[BENCH_TEXT_MAX], b[BENCH_TEXT_MAX];

        bench_row("bench_diff", "aligning them, once", "%s ms\t%s ms",
                  bench_number(pairs[PAIRS - 1].align_ms, a),
                  bench_number(pairs[PAIRS - 1].read_ms, b));
    }
    printf("\n  %-30s%32s%8s\n", "key, ms", "median / 99th percentile", "growth");
    for (size_t i = 0; i < ROW_COUNT; i++) {
        for (size_t k = 0; k < PAIRS; k++) {
            tui_app_release(&pairs[k].app);
            pair_open(&pairs[k]);
        }
        row_measure(pairs, &ROWS[i]);
    }
    for (size_t i = 0; i < PAIRS; i++) {
        tui_app_release(&pairs[i].app);
        tui_surface_release(&pairs[i].surface);
    }
    vs_free(pairs);
    return 0;
}

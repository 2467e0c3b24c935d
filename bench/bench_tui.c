/*
 * bench/bench_tui.c - what each key of the key table costs in the TUI, on traces of 10^5, 10^6 and 10^7 events, and
 * with the word `long` in front of 10^8.
 *
 * For:            `make bench`. Peers: the shortest trace with the same keys (a key must not grow with the trace), and
 *                 reading the events from the start to know what is alive, as a viewer without an index does; both in
 *                 the same run.
 * Must not know:  terminals: a key is input, rows brought up to date, and a screen of 160x48 drawn into memory.
 * Invariant:      every action of keys.def has a row, or stands in LEFT_OUT of tui_rows.c with the reason. Each time
 *                 is of one key, typed at a place of the run and with a window that nobody chose; of this process's
 *                 processor, the traces in turn, so that what else runs changes no ratio. A key that searches is
 *                 measured until it shows how far it is.
 *
 * The traces are of sample_nets/gpt2_small.py, recorded by $VRAMSCOPE (build/vramscope) where they are missing in
 * $TMPDIR. Their index is made before anything is measured. Without arguments every sixteenth row is measured, on the
 * shortest and the longest, with `all` all of them, with other words those whose names have one of them. long first:
 * also on a trace of 10^8 events, of 0.2 GB. longest first: on traces of 10^6 and 10^9 events, of 2 GB, without the
 * peer that reads them. steps=400 first: the trace of so many steps alone, for
 * `valgrind --tool=callgrind --toggle-collect=measured_key`, whose counts are the same under any load. open FILE: only
 * the first screen of this trace, once; `--toggle-collect=first_frame` counts that.
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
#include "bench/tui_rows.h"
#include "replay/breakpoints/breakpoints.h"
#include "replay/state/live.h"
#include "tui/app.h"
#include "tui/screen.h"
#include "tui/term/surface.h"

#define W 160
#define H 48
#define TRACES_MAX 4
#define ROUNDS 200
#define PEER_SEEKS 3
/* Reading half of a longer trace takes a minute. */
#define PEER_EVENTS UINT64_C(200000000)
/* Typed in a trace alone, where each instruction is counted. */
#define COUNTED 30
#define STEPS_IS "steps="
#define LONG "long"
#define LONGEST "longest"
#define BOUND_FIRST_MS 6.0
#define BOUND_MS 3.0
/* A key that runs to a breakpoint: until it shows the hit, or how far it is. <C-c> stops it then. */
#define BOUND_SEARCH_MS 16.0
/* So many searches that are not over by then are left to end; the others are stopped. */
#define ENDED 3
#define BOUND_GROWTH 1.5

static unsigned STEPS[TRACES_MAX] = {4, 40, 400, 3900};
static size_t traces = 3;

/* ---- sessions ---- */

/*
 * A session on one of the traces. start, answered: of the key that is measured; answered 0: not yet. ended: how many
 * answered keys were left to end; ends: how long these took altogether
 */
struct bench {
    char path[256];
    struct tui_app app;
    struct tui_surface surface;
    double first_ms;
    long first_kb;
    double peer_ms;
    double start;
    double answered;
    double ms[ROUNDS];
    double ends[ENDED];
    int ended;
};

static bool stops;

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static uint64_t next_random(uint64_t below)
{
    static uint64_t random = 88172645463325252u;

    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return random % below;
}

static void must(enum vs_status st, const struct vs_error *err)
{
    if (st) {
        fprintf(stderr, "bench_tui: %s\n", err->text);
        exit(1);
    }
}

/* Record it where it is missing, and open it once, so that its index is in the file. */
static void trace_make(struct bench *b, unsigned steps)
{
    const char *folder = getenv("TMPDIR");
    const char *program = getenv("VRAMSCOPE");
    struct vs_error err = VS_ERROR_INIT;
    char command[600];

    snprintf(b->path, sizeof(b->path), "%s/vramscope-bench-%u.db", folder ? folder : "/tmp", steps);
    snprintf(command, sizeof(command),
             "%s record sample_nets/gpt2_small.py --device meta --steps %u -o '%s' >/dev/null 2>&1",
             program ? program : "build/vramscope", steps, b->path);
    if (access(b->path, R_OK) != 0 && system(command) != 0) {
        fprintf(stderr, "bench_tui: this failed: %s\n", command);
        exit(1);
    }
    must(tui_app_open(&b->app, b->path, &err), &err);
    tui_app_release(&b->app);
}

static void draw(struct bench *b)
{
    tui_app_sync(&b->app);
    tui_screen_draw(&b->app, &b->surface);
}

/* Long work shows how far it is: that is what the key is answered with. */
static void pump(void *user, struct tui_app *app)
{
    struct bench *b = user;

    (void)app;
    if (b->answered > 0)
        return;
    draw(b);
    b->answered = now_ms() - b->start;
    stops = b->ended == ENDED;
}

static bool wants_stop(void)
{
    return stops;
}

static void open_and_draw(struct bench *b)
{
    struct vs_error err = VS_ERROR_INIT;

    memset(&b->app, 0, sizeof(b->app));
    must(tui_app_open(&b->app, b->path, &err), &err);
    /* those of the row before were kept in the trace */
    while (rpl_breakpoints_count(b->app.base.breaks))
        rpl_breakpoints_remove(b->app.base.breaks,
                               rpl_breakpoints_at(b->app.base.breaks, 0)->number);
    b->app.pump = pump;
    b->app.pump_user = b;
    b->app.wants_stop = wants_stop;
    tui_app_resize(&b->app, W, H);
    draw(b);
}

static VS_NEVER_INLINE void first_frame(struct bench *b)
{
    struct rusage usage;
    double start = now_ms();

    tui_surface_init(&b->surface, W, H, false);
    open_and_draw(b);
    b->first_ms = now_ms() - start;
    getrusage(RUSAGE_SELF, &usage);
    b->first_kb = usage.ru_maxrss;
}

/* What is alive at the middle of the trace, by reading it from its start. */
static void peer(struct bench *b)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_live live;
    double start;

    if (b->app.base.events > PEER_EVENTS)
        return;
    rpl_live_init(&live);
    start = now_ms();
    for (int i = 0; i < PEER_SEEKS; i++)
        must(rpl_live_read(&live, b->app.base.trace, b->app.base.events / 2, &err), &err);
    b->peer_ms = (now_ms() - start) / PEER_SEEKS;
    rpl_live_release(&live);
}

static void type(struct bench *b, const char *keys)
{
    while (*keys) {
        struct tui_input input = {.key = tui_key_parse(&keys)};

        tui_app_input(&b->app, &input);
        if (*keys)
            tui_app_sync(&b->app);
    }
    draw(b);
}

/* The key that is measured. */
static VS_NEVER_INLINE void measured_key(struct bench *b, const char *keys)
{
    type(b, keys);
}

/*
 * To a place of the run, with a window around it; the same share of the run in every trace would be the same place of
 * a step.
 */
static void go_somewhere(struct bench *b)
{
    uint64_t events = b->app.base.events;
    uint64_t size = next_random(4) ? (uint64_t)1000 << next_random(7) : events;
    uint64_t at = 1 + next_random(events);

    b->app.window_count = 0;
    b->app.range_from = 0;
    b->app.window = (struct tui_window){1, events};
    tui_app_go(&b->app, at, false);
    tui_app_window(&b->app, (struct tui_window){at > size / 2 ? at - size / 2 : 1, at + size / 2});
    draw(b);
}

/* ---- measuring, printing ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/*
 * worst: of the 99th percentiles of the longest trace (search: of rows that run to breakpoints), and of the growths of
 * medians; over: rows that pass a bound
 */
struct worst {
    double p99;
    double search;
    double growth;
    int over;
    int rows;
};

static double median(const struct bench *b)
{
    return b->ms[ROUNDS / 2];
}

static double p99(const struct bench *b)
{
    return b->ms[ROUNDS * 99 / 100];
}

/* Milliseconds from the key to the next screen. */
static double key_measure(struct bench *b, const char *keys)
{
    stops = false;
    b->answered = 0;
    b->start = now_ms();
    measured_key(b, keys);
    stops = false;
    if (b->answered == 0)
        return now_ms() - b->start;
    if (b->ended < ENDED)
        b->ends[b->ended++] = now_ms() - b->start;
    return b->answered;
}

static void row_measure(struct bench *benches, const struct bench_key *row, struct worst *worst)
{
    const struct bench *last = &benches[traces - 1];
    double growth[2];
    bool is_over;

    for (size_t i = 0; i < traces; i++) {
        benches[i].ended = 0;
        open_and_draw(&benches[i]);
        type(&benches[i], row->once);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < traces; i++) {
            struct bench *b = &benches[i];

            go_somewhere(b);
            if (*row->before)
                type(b, row->before);
            while (tui_app_background(&b->app))
                continue;
            b->ms[round] = key_measure(b, row->keys);
        }
    }
    for (size_t i = 0; i < traces; i++) {
        qsort(benches[i].ms, ROUNDS, sizeof(double), by_value);
        tui_app_release(&benches[i].app);
    }
    growth[0] = median(last) / median(&benches[0]);
    growth[1] = p99(last) / p99(&benches[0]);
    is_over =
        p99(last) > (bench_is_search(row) ? BOUND_SEARCH_MS : BOUND_MS) || growth[0] > BOUND_GROWTH;
    printf("  %-28s", row->name);
    for (size_t i = 0; i < traces; i++)
        printf("%8.2f /%6.2f", median(&benches[i]), p99(&benches[i]));
    printf("%8.2f /%6.2f%s\n", growth[0], growth[1], is_over ? "  !" : "");
    if (last->ended)
        printf("  %-28s(says how far it is, bound %.0f ms; done after %.0f ms)\n", "",
               BOUND_SEARCH_MS, last->ends[last->ended - 1]);
    fflush(stdout);
    worst->rows++;
    worst->over += is_over;
    if (bench_is_search(row))
        worst->search = p99(last) > worst->search ? p99(last) : worst->search;
    else
        worst->p99 = p99(last) > worst->p99 ? p99(last) : worst->p99;
    worst->growth = growth[0] > worst->growth ? growth[0] : worst->growth;
}

/* Those whose names have one of the arguments in them; without arguments every sixteenth, with `all` all. */
static bool is_wanted(const struct bench_key *row, size_t number, int argc, char **argv)
{
    if (argc < 2)
        return number % 16 == 0;
    if (strcmp(argv[1], "all") == 0)
        return true;
    for (int i = 1; i < argc; i++)
        if (strstr(row->name, argv[i]))
            return true;
    return false;
}

static void heads_print(const struct bench *benches)
{
    printf("CPU, ms; %d keys a row, %dx%d\n\n  %-28s", ROUNDS, W, H, "events");
    for (size_t i = 0; i < traces; i++)
        printf("%16" PRIu64, benches[i].app.base.events);
    printf("\n  %-28s", "open and first screen");
    for (size_t i = 0; i < traces; i++)
        printf("%16.2f", benches[i].first_ms);
    printf("   (memory after all: %ld KiB)\n  %-28s", benches[traces - 1].first_kb,
           "peer: read to the middle");
    for (size_t i = 0; i < traces; i++)
        printf("%16.2f", benches[i].peer_ms);
    printf("\n\n  %-28s%*s%16s\n", "key", (int)traces * 16, "median / 99th percentile", "growth");
}

/* One trace: how often, and nothing of time. */
static void row_count(struct bench *b, const struct bench_key *row)
{
    open_and_draw(b);
    type(b, row->once);
    for (int round = 0; round < COUNTED; round++) {
        go_somewhere(b);
        if (*row->before)
            type(b, row->before);
        while (tui_app_background(&b->app))
            continue;
        b->answered = 0;
        measured_key(b, row->keys);
    }
    tui_app_release(&b->app);
    printf("%s: %d keys\n", row->name, COUNTED);
}

static int count_alone(struct bench *b, int argc, char **argv)
{
    unsigned steps = (unsigned)strtoul(argv[1] + strlen(STEPS_IS), NULL, 10);

    trace_make(b, steps);
    tui_surface_init(&b->surface, W, H, false);
    for (int a = 0; a < TUI_ACTION_COUNT; a++) {
        struct bench_key row = bench_row_of((enum tui_action)a);

        if (!bench_left_out((enum tui_action)a) && is_wanted(&row, (size_t)a, argc - 1, argv + 1))
            row_count(b, &row);
    }
    for (size_t i = 0; bench_more(i); i++)
        if (is_wanted(bench_more(i), i, argc - 1, argv + 1))
            row_count(b, bench_more(i));
    tui_surface_release(&b->surface);
    vs_free(b);
    return 0;
}

/* The rows of the page. The peer reads the longest trace up to its middle, in a time that grows as the trace. */
static void rows_put(const struct bench *benches, const struct worst *worst)
{
    char a[BENCH_TEXT_MAX];
    const char *peer = bench_number(benches[traces - 1].peer_ms, a);

    bench_row("bench_tui", "highest p99 of every sixteenth row, 10⁷ events", "%.2f ms\t%s ms",
              worst->p99, peer);
    bench_row("bench_tui", "highest growth of their medians from 10⁵ to 10⁷ events", "%.2f\t%.0f",
              worst->growth, benches[traces - 1].peer_ms / benches[0].peer_ms);
    bench_row("bench_tui", "open and first screen, 10⁷ events", "%.2f ms\t%s ms",
              benches[traces - 1].first_ms, peer);
}

/* In a process of its own. */
static int open_alone(struct bench *b, const char *path)
{
    snprintf(b->path, sizeof(b->path), "%s", path);
    first_frame(b);
    printf("%s: first screen %.2f ms, %ld KiB\n", path, b->first_ms, b->first_kb);
    tui_app_release(&b->app);
    tui_surface_release(&b->surface);
    vs_free(b);
    return 0;
}

int main(int argc, char **argv)
{
    struct bench *benches = vs_calloc(TRACES_MAX, sizeof(*benches));
    struct worst worst = {0};
    const bool is_usual = argc < 2;

    if (argc == 3 && strcmp(argv[1], "open") == 0)
        return open_alone(benches, argv[2]);
    if (argc > 1 && strncmp(argv[1], STEPS_IS, strlen(STEPS_IS)) == 0)
        return count_alone(benches, argc, argv);
    if (is_usual) {
        STEPS[1] = STEPS[2];
        traces = 2;
    } else if (strcmp(argv[1], LONG) == 0) {
        traces = TRACES_MAX;
        argv++, argc--;
    } else if (strcmp(argv[1], LONGEST) == 0) {
        traces = 2;
        STEPS[0] = 40;
        STEPS[1] = 38900;
        argv++, argc--;
    }
    for (size_t i = 0; i < traces; i++)
        trace_make(&benches[i], STEPS[i]);
    for (size_t i = 0; i < traces; i++) {
        first_frame(&benches[i]);
        peer(&benches[i]);
    }
    heads_print(benches);
    for (size_t i = 0; i < traces; i++)
        tui_app_release(&benches[i].app);
    for (int a = 0; a < TUI_ACTION_COUNT; a++) {
        struct bench_key row = bench_row_of((enum tui_action)a);

        if (!bench_left_out((enum tui_action)a) && is_wanted(&row, (size_t)a, argc, argv))
            row_measure(benches, &row, &worst);
    }
    for (size_t i = 0; bench_more(i); i++)
        if (is_wanted(bench_more(i), i, argc, argv))
            row_measure(benches, bench_more(i), &worst);
    printf("\n  %d rows; highest 99th percentile %.2f ms, of a key that runs to a breakpoint %.2f; "
           "highest growth of a median %.2f; %d rows over %.0f ms (%.0f to a breakpoint) or %.1f "
           "times; first screen %.2f ms, bound %.0f\n\nleft out:\n",
           worst.rows, worst.p99, worst.search, worst.growth, worst.over, BOUND_MS, BOUND_SEARCH_MS,
           BOUND_GROWTH, benches[traces - 1].first_ms, BOUND_FIRST_MS);
    if (is_usual)
        rows_put(benches, &worst);
    for (int a = 0; a < TUI_ACTION_COUNT; a++)
        if (bench_left_out((enum tui_action)a))
            printf("  %-28s%s\n", tui_action_info((enum tui_action)a)->name,
                   bench_left_out((enum tui_action)a));
    for (size_t i = 0; i < traces; i++)
        tui_surface_release(&benches[i].surface);
    vs_free(benches);
    return 0;
}

/*
 * bench/bench_tui.c - what a key costs in the TUI, on traces of different lengths.
 *
 * For:            `make bench`. Peers: the shortest trace with the same keys (a key must not grow with the trace), and reading the
 *                 events from the start to know what is alive, as a viewer without an index does; both in the same run.
 * Must not know:  terminals: a key is input, rows brought up to date, and a screen of 160x48 drawn into memory.
 * Invariant:      times are of this process's processor, the keys of the traces taken in turn, so that what else runs changes no ratio.
 *
 * The traces are of sample_nets/gpt2_small.py, recorded by $VRAMSCOPE (build/vramscope) where they are missing in $TMPDIR. Their index is made
 * before anything is measured. With an argument only traces of at most so many steps are used.
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
#include "replay/live.h"
#include "tui/app.h"
#include "tui/screen.h"
#include "tui/surface.h"

#define W 160
#define H 48
#define TRACES 3
#define ROUNDS 200
#define PEER_SEEKS 3

static const unsigned STEPS[TRACES] = {4, 40, 400};
/* Typed in turn; what they do is told by the row. */
static const struct {
    const char *what;
    const char *keys;
} KEYS[] = {
    {"an op", "s"},         {"an op back", "S"},      {"20 events", "20i"},   {"a layer", "]"},
    {"a phase", ")"},       {"a training step", "}"}, {"a local peak", "p"},  {"the peak", "gp"},
    {"zoom in", "+"},       {"zoom out", "-"},        {"the whole run", "0"}, {"a quarter on", "L"},
    {"alloc to free", "%"}, {"blocks", "gb"},         {"timeline", "gt"},
};
#define KEY_COUNT (sizeof(KEYS) / sizeof(KEYS[0]))

/* ms: of each key, sorted; first_ms: opening and the first screen */
struct bench {
    char path[256];
    struct tui_app app;
    struct tui_surface surface;
    double ms[ROUNDS * KEY_COUNT];
    double by_key[KEY_COUNT];
    size_t count;
    double first_ms;
    long first_kb;
    double peer_ms;
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

static void first_frame(struct bench *b)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rusage usage;
    double start = now_ms();

    must(tui_app_open(&b->app, b->path, &err), &err);
    tui_app_resize(&b->app, W, H);
    tui_surface_init(&b->surface, W, H, false);
    draw(b);
    b->first_ms = now_ms() - start;
    getrusage(RUSAGE_SELF, &usage);
    b->first_kb = usage.ru_maxrss;
}

static double type(struct bench *b, const char *keys)
{
    double start = now_ms();

    while (*keys) {
        struct tui_input input = {.key = tui_key_parse(&keys)};

        tui_app_input(&b->app, &input);
    }
    draw(b);
    return now_ms() - start;
}

/* What is alive at the middle of the trace, by reading it from its start. */
static void peer(struct bench *b)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_live live;
    double start;

    rpl_live_init(&live);
    start = now_ms();
    for (int i = 0; i < PEER_SEEKS; i++)
        must(rpl_live_read(&live, b->app.base.trace, b->app.base.events / 2, &err), &err);
    b->peer_ms = (now_ms() - start) / PEER_SEEKS;
    rpl_live_release(&live);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double share(const struct bench *b, double part)
{
    return b->ms[(size_t)((double)(b->count - 1) * part)];
}

static void print(struct bench *benches, size_t count)
{
    printf("%-18s", "CPU, ms");
    for (size_t i = 0; i < count; i++)
        printf("%12" PRIu64, benches[i].app.base.events);
    printf("  events; last / first\n%-18s", "first screen");
    for (size_t i = 0; i < count; i++)
        printf("%12.2f", benches[i].first_ms);
    printf("  (memory after it: %ld KiB)\n", benches[count - 1].first_kb);
    for (size_t k = 0; k < KEY_COUNT; k++) {
        printf("%-18s", KEYS[k].what);
        for (size_t i = 0; i < count; i++)
            printf("%12.3f", benches[i].by_key[k] / ROUNDS);
        printf("  %6.2f\n", benches[count - 1].by_key[k] / benches[0].by_key[k]);
    }
    printf("%-18s", "all, median");
    for (size_t i = 0; i < count; i++)
        printf("%12.3f", share(&benches[i], 0.5));
    printf("  %6.2f\n%-18s", share(&benches[count - 1], 0.5) / share(&benches[0], 0.5),
           "all, 99 %");
    for (size_t i = 0; i < count; i++)
        printf("%12.3f", share(&benches[i], 0.99));
    printf("  %6.2f\n%-18s", share(&benches[count - 1], 0.99) / share(&benches[0], 0.99),
           "peer: read it all");
    for (size_t i = 0; i < count; i++)
        printf("%12.1f", benches[i].peer_ms);
    printf("  a key against it: 1 / %.0f\n",
           benches[count - 1].peer_ms / share(&benches[count - 1], 0.5));
}

int main(int argc, char **argv)
{
    unsigned most = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : STEPS[TRACES - 1];
    struct bench *benches = vs_calloc(TRACES, sizeof(*benches));
    size_t count = 0;

    while (count < TRACES && STEPS[count] <= most) {
        trace_make(&benches[count], STEPS[count]);
        count++;
    }
    for (size_t i = 0; i < count; i++) {
        first_frame(&benches[i]);
        peer(&benches[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t k = 0; k < KEY_COUNT; k++) {
            for (size_t i = 0; i < count; i++) {
                double ms = type(&benches[i], KEYS[k].keys);

                benches[i].by_key[k] += ms;
                benches[i].ms[benches[i].count++] = ms;
            }
        }
    }
    for (size_t i = 0; i < count; i++)
        qsort(benches[i].ms, benches[i].count, sizeof(double), by_value);
    if (count)
        print(benches, count);
    for (size_t i = 0; i < count; i++) {
        tui_app_release(&benches[i].app);
        tui_surface_release(&benches[i].surface);
    }
    vs_free(benches);
    return 0;
}

/*
 * bench/bench_flip.c - what a flipped toggle costs in the TUI, until the new peak is drawn.
 *
 * For:            `make bench`. Peer: what one would do without a what-if: record again with the toggle, and open that trace.
 * Must not know:  terminals: a flip is a typed `:set`, rows brought up to date, and a screen of 160x48 drawn into memory.
 * Invariant:      each figure is one flip, from the recorded run to another; going back, which runs nothing, is not in it. Medians of
 *                 processor time, the peer's that of its two programs and taken in turn with the flips.
 *
 * The recordings are made by $VRAMSCOPE (build/vramscope) in $TMPDIR. Arguments: a word of the net's title, and one of the toggle; where there is
 * a third, flips are made that often and nothing is printed, for a profiler.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "tui/app.h"
#include "tui/screen.h"
#include "tui/surface.h"

#define W 160
#define H 48
#define ROUNDS 9

static const struct {
    const char *title;
    const char *file;
    const char *sed; /* what makes the net out of the file */
    double bound;
} NETS[] = {
    {"resnet50, batch 16", "sample_nets/resnet50.py", "", 16},
    {"gpt2_small, batch 4", "sample_nets/gpt2_small.py", "", 16},
    {"GPT-2 XL (48 layers), batch 4", "sample_nets/gpt2_small.py",
     "s/^WIDTH = .*/WIDTH = 1600/;s/^HEADS = .*/HEADS = 25/;s/^LAYERS = .*/LAYERS = 48/", 50},
};
static const char *const FLIPS[] = {"inplace=on", "amp=bf16",        "checkpoint=blocks",
                                    "batch=12",   "zero-grad=zeros", "grad=no_grad"};
#define NET_COUNT (sizeof(NETS) / sizeof(NETS[0]))
#define FLIP_COUNT (sizeof(FLIPS) / sizeof(FLIPS[0]))

struct bench {
    char net[256];
    char trace[256];
    char other[256];
    const char *program;
    struct tui_app app;
    struct tui_surface surface;
};

static void must(bool is_good, const char *what)
{
    if (!is_good) {
        fprintf(stderr, "bench_flip: %s\n", what);
        exit(1);
    }
}

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double children_ms(void)
{
    struct rusage usage;

    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

/* ---- a flip ---- */

static void type(struct tui_app *app, const char *keys)
{
    while (*keys) {
        struct tui_input input = {.key = tui_key_parse(&keys)};

        tui_app_input(app, &input);
    }
}

static void draw(struct bench *b)
{
    tui_app_sync(&b->app);
    tui_screen_draw(&b->app, &b->surface);
}

/* What is measured, by whatever means: a profiler finds it by this name. */
__attribute__((noinline)) static void flip(struct bench *b)
{
    type(&b->app, "<enter>");
    draw(b);
}

/* There, measured, and back. */
static double flip_and_back(struct bench *b, const char *pair)
{
    char keys[64];
    double ms;

    snprintf(keys, sizeof(keys), ":set %s", pair);
    type(&b->app, keys);
    ms = now_ms();
    flip(b);
    ms = now_ms() - ms;
    must(b->app.change.is_shown, "a flip showed no other run");
    type(&b->app, "gw<C-r>");
    draw(b);
    must(!b->app.change.is_run, "the toggles were not set back");
    return ms;
}

/* ---- the peer ---- */

static void record(const struct bench *b, const char *toggles, const char *out)
{
    char command[1200];

    snprintf(command, sizeof(command), "%s record '%s' --device meta %s -o '%s' >/dev/null 2>&1",
             b->program, b->net, toggles, out);
    must(system(command) == 0, command);
}

static double record_and_open(const struct bench *b, const char *pair)
{
    char toggle[80];
    char command[800];
    double ms = children_ms();

    snprintf(toggle, sizeof(toggle), "--%s", pair);
    record(b, toggle, b->other);
    snprintf(command, sizeof(command), "%s tui '%s' --dump --size %dx%d >/dev/null 2>&1",
             b->program, b->other, W, H);
    must(system(command) == 0, command);
    ms = children_ms() - ms;
    unlink(b->other);
    return ms;
}

/* ---- a net ---- */

static void bench_open(struct bench *b, size_t n)
{
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    struct vs_error err = VS_ERROR_INIT;
    char command[800];

    memset(b, 0, sizeof(*b));
    b->program = getenv("VRAMSCOPE") ? getenv("VRAMSCOPE") : "build/vramscope";
    snprintf(b->net, sizeof(b->net), "%s/flip-%ld.py", folder, (long)getpid());
    snprintf(b->trace, sizeof(b->trace), "%s/flip-%ld.db", folder, (long)getpid());
    snprintf(b->other, sizeof(b->other), "%s/flip-%ld-other.db", folder, (long)getpid());
    snprintf(command, sizeof(command), "sed '%s' %s >'%s'", NETS[n].sed, NETS[n].file, b->net);
    must(system(command) == 0, command);
    record(b, "", b->trace);
    must(tui_app_open(&b->app, b->trace, &err) == VS_OK, err.text);
    tui_app_resize(&b->app, W, H);
    tui_surface_init(&b->surface, W, H, false);
    type(&b->app, "gw");
    draw(b);
}

static void bench_close(struct bench *b)
{
    tui_app_release(&b->app);
    tui_surface_release(&b->surface);
    unlink(b->net);
    unlink(b->trace);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static void flip_measure(struct bench *b, size_t net, const char *pair)
{
    double ms[ROUNDS];
    double peer[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        ms[i] = flip_and_back(b, pair);
        peer[i] = record_and_open(b, pair);
    }
    qsort(ms, ROUNDS, sizeof(ms[0]), by_value);
    qsort(peer, ROUNDS, sizeof(peer[0]), by_value);
    printf("%-30s %-18s %9.1f %9.1f %9.1f %9.1f %7.2f\n", NETS[net].title, pair, ms[ROUNDS / 2],
           ms[0], NETS[net].bound, peer[ROUNDS / 2], ms[ROUNDS / 2] / peer[ROUNDS / 2]);
}

int main(int argc, char **argv)
{
    int often = argc > 3 ? atoi(argv[3]) : 0;

    if (!often)
        printf("from a toggle to the redrawn peak, one flip, CPU time, ms\n%-49s %9s %9s %9s %9s "
               "%7s\n",
               "", "median", "least", "bound", "recorded", "ratio");
    for (size_t n = 0; n < NET_COUNT; n++) {
        struct bench b;

        if (argc > 1 && !strstr(NETS[n].title, argv[1]))
            continue;
        bench_open(&b, n);
        for (size_t i = 0; i < FLIP_COUNT; i++) {
            if (argc > 2 && !strstr(FLIPS[i], argv[2]))
                continue;
            if (!often && i == 0)
                printf("%-30s %-18s %9.1f\n", NETS[n].title, "the first",
                       flip_and_back(&b, "zero-grad=zeros"));
            for (int k = 0; k < often; k++)
                flip_and_back(&b, FLIPS[i]);
            if (!often)
                flip_measure(&b, n, FLIPS[i]);
        }
        bench_close(&b);
    }
    return 0;
}

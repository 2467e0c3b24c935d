/*
 * bench/bench_whatif.c - what a changed toggle costs in the TUI, until the new peak is drawn.
 *
 * For:            `make bench`. Peer: a plain recording of the same net (`record --device meta`), made in turn with the
 *                 what-ifs of the same run.
 * Must not know:  terminals: a change is a typed key, rows brought up to date, and a screen of 160x48 drawn into
 *                 memory.
 * Invariant:      each figure is one what-if, from the recorded run to another; going back, which runs nothing, is not
 *                 in it. Medians of processor time.
 *
 * Three what-ifs: a fresh one, with the cache emptied before it; a precomputed one, run while no key was pressed; and
 * one that was shown before. A fresh one may take FRESH_MAX of the recording and a precomputed one PRECOMPUTED_MAX;
 * where one takes more the program says which and exits with 1. Of the first what-if of a session, the first two: right
 * after the first screen, and after all that one key can ask for has been precomputed. Beside them: what precomputing
 * all that is one key away takes, and how long a key waits meanwhile: the longest time between two polls for keys, and
 * the longest time from such a poll until the key is processed.
 *
 * The recordings are made by $VRAMSCOPE (build/vramscope) in $TMPDIR. Without arguments a few toggles of each net are
 * changed, in a session that has begun. Arguments: a word of the net's title, and one of the toggle; where there is a
 * third, fresh what-ifs are made that often and nothing is printed, for a profiler.
 */
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
#include "tui/change.h"
#include "tui/precompute.h"
#include "tui/screen.h"
#include "tui/term/surface.h"
#include "whatif/cache.h"

#define W 160
#define H 48
#define ROUNDS 5
/* Of a plain recording's processor time; sharded nets have more events and calls of their library. */
#define FRESH_MAX 0.25
#define FRESH_MAX_SHARDED 0.3
#define PRECOMPUTED_MAX 0.05
/* Looks at the keys in whose midst one is found. */
#define STOPS 8

/* The program of sed that makes GPT-2 XL of the small one. */
#define XL "s/^WIDTH = .*/WIDTH = 1600/;s/^HEADS = .*/HEADS = 25/;s/^LAYERS = .*/LAYERS = 48/"

static const struct {
    const char *title;
    const char *file;
    const char *sed;     /* what makes the net out of the file */
    const char *options; /* of `record` */
    const char *half;    /* of its batch */
    const char *usual;   /* the changes that are measured without arguments */
} NETS[] = {
    {"resnet50, batch 16", "sample_nets/resnet50.py", "", "", "8", "inplace=on checkpoint=blocks"},
    {"gpt2_small, batch 4", "sample_nets/gpt2_small.py", "", "", "2", "zero-grad=zeros"},
    {"GPT-2 XL (48 layers), batch 4", "sample_nets/gpt2_small.py", XL, "", "2",
     "checkpoint=blocks"},
    {"GPT-2 XL, fsdp, 1,024 ranks", "sample_nets/gpt2_small.py", XL, "--shard fsdp --world 1024",
     "2", "checkpoint=blocks"},
};
/* key: in the panel */
static const struct {
    const char *toggle;
    const char *value;
    const char *key;
} CHANGES[] = {
    {"inplace", "on", "l"},
    {"amp", "fp16", "l"},
    {"checkpoint", "blocks", "l"},
    {"batch", "", "h"},
    /* half */ {"zero-grad", "zeros", "l"},
    {"grad", "no_grad", "h"},
};
#define NET_COUNT (sizeof(NETS) / sizeof(NETS[0]))
#define CHANGE_COUNT (sizeof(CHANGES) / sizeof(CHANGES[0]))

struct bench {
    double record_ms; /* of a recording, as measured last */
    char net[256];
    char trace[256];
    char other[256];
    const char *program;
    const char *options; /* of NETS */
    struct tui_app app;
    struct tui_surface surface;
};

static void must(bool is_good, const char *what)
{
    if (!is_good) {
        fprintf(stderr, "bench_whatif: %s\n", what);
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

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* ---- a changed toggle ---- */

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

/* Clear the what-if cache and all precomputed runs. */
static void forget(struct bench *b)
{
    wif_cache_forget(tui_change_cache(&b->app));
    tui_precompute_release(&b->app.precompute);
    b->app.precompute = (struct tui_precompute){.next = 0};
}

/* The cursor on the row of the toggle. */
static void row_go(struct bench *b, const char *name)
{
    enum vs_toggle toggle;
    char keys[32];
    enum vs_toggle at;
    int row = 0;

    must(vs_toggle_find(name, &toggle), name);
    /* a net has no rows for toggles of programs */
    for (size_t i = 0; (at = tui_change_row(i)) != toggle; i++)
        row += !(vs_toggle_info(at)->flags & VS_TOGGLE_PROGRAM);
    snprintf(keys, sizeof(keys), row ? "gwgg%dj" : "gwgg", row);
    type(&b->app, keys);
    draw(b);
}

/* What is measured, by whatever means: a profiler finds it by this name. */
__attribute__((noinline)) static void change(struct bench *b, const char *key)
{
    type(&b->app, key);
    draw(b);
}

/* There, measured, and back. `set`: "inplace=on", what the key leads to. */
static double change_and_back(struct bench *b, const char *key, const char *set)
{
    struct vs_text text = {NULL, 0, 0};
    double ms = now_ms();

    change(b, key);
    ms = now_ms() - ms;
    tui_change_text(&b->app, &text);
    if (!b->app.change.is_shown || strcmp(vs_text_get(&text), set) != 0) {
        fprintf(stderr, "bench_whatif: the key %s showed `%s`, not `%s`\n", key, vs_text_get(&text),
                set);
        exit(1);
    }
    vs_text_release(&text);
    type(&b->app, "<C-r>");
    draw(b);
    must(!b->app.change.is_run, "the toggles were not set back");
    return ms;
}

/* ---- without keys ---- */

/*
 * looked: time of the last poll for keys; longest: longest time between two polls; stop_at: number of the poll that
 * finds a key, 0: none; stopped: time of that poll
 */
static struct {
    double looked;
    double longest;
    uint64_t polls;
    uint64_t stop_at;
    double stopped;
} watch;

static bool keys_poll(struct tui_input *out)
{
    double now = now_ms();

    *out = (struct tui_input){.key = 'j'};
    if (now - watch.looked > watch.longest)
        watch.longest = now - watch.looked;
    watch.looked = now;
    if (++watch.polls != watch.stop_at)
        return watch.stop_at && watch.polls > watch.stop_at;
    watch.stopped = now;
    return true;
}

/* As the loop does: until there is nothing left to do, or a key is found. Its time. */
static double unused_run(struct bench *b, uint64_t stop_at)
{
    struct tui_input input;
    double ms = now_ms();

    memset(&watch, 0, sizeof(watch));
    watch.stop_at = stop_at;
    watch.looked = ms;
    b->app.typed = keys_poll;
    while (!keys_poll(&input) && tui_app_background(&b->app))
        continue;
    b->app.typed = NULL;
    return now_ms() - ms;
}

/* What precomputing all takes that is one key away from the recorded run, and how long a key waits in its midst. */
static void precompute_measure(struct bench *b, size_t net)
{
    double longest = 0;
    double taken = 0;
    double ms[ROUNDS];
    uint64_t polls = 0;
    uint64_t runs = 0;
    char what[128];
    double kept;

    for (int i = 0; i < ROUNDS; i++) {
        forget(b);
        runs = wif_cache_runs(tui_change_cache(&b->app));
        ms[i] = unused_run(b, 0);
        runs = wif_cache_runs(tui_change_cache(&b->app)) - runs;
        polls = watch.polls;
        longest = watch.longest > longest ? watch.longest : longest;
    }
    qsort(ms, ROUNDS, sizeof(ms[0]), by_value);
    kept = (double)wif_cache_bytes(tui_change_cache(&b->app)) / 1048576.0;
    printf("%-30s %-18s %9.1f  of %u runs, %.1f MiB kept, %.1f each\n", NETS[net].title,
           "precomputed, in all", ms[ROUNDS / 2], (unsigned)runs, kept, kept / (double)runs);
    for (int i = 1; i <= STOPS; i++) {
        double now;

        forget(b);
        unused_run(b, polls * (uint64_t)i / (STOPS + 1));
        now = now_ms();
        taken = now - watch.stopped > taken ? now - watch.stopped : taken;
    }
    printf("%-30s %-18s %9.1f  between polls for keys, %.1f until it is taken\n", NETS[net].title,
           "a key waits", longest, taken);
    snprintf(what, sizeof(what), "%s, longest wait of a key meanwhile", NETS[net].title);
    bench_row("bench_whatif", what, "%.1f ms\t%.1f ms", longest, b->record_ms);
    snprintf(what, sizeof(what), "%s, memory of the what-if cache", NETS[net].title);
    bench_row("bench_whatif", what, "%.1f MiB\t%.0f MiB: events", kept,
              (double)runs * (double)b->app.base.events * sizeof(struct vs_event) / 1048576.0);
}

/* ---- the peer ---- */

static void record(const struct bench *b, const char *out)
{
    char command[1200];

    snprintf(command, sizeof(command), "%s record '%s' --device meta %s -o '%s' >/dev/null 2>&1",
             b->program, b->net, b->options, out);
    must(system(command) == 0, command);
}

/* The net as it is, into another file. Its time. */
static double record_again(const struct bench *b)
{
    double ms = children_ms();

    record(b, b->other);
    ms = children_ms() - ms;
    unlink(b->other);
    return ms;
}

/* ---- a net ---- */

/* A session on the recording, drawn; the panel is not open. */
static void session_open(struct bench *b)
{
    struct vs_error err = VS_ERROR_INIT;

    memset(&b->app, 0, sizeof(b->app));
    must(tui_app_open(&b->app, b->trace, &err) == VS_OK, err.text);
    tui_app_resize(&b->app, W, H);
    draw(b);
}

static void bench_open(struct bench *b, size_t n)
{
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    char command[800];

    memset(b, 0, sizeof(*b));
    b->options = NETS[n].options;
    b->program = getenv("VRAMSCOPE") ? getenv("VRAMSCOPE") : "build/vramscope";
    snprintf(b->net, sizeof(b->net), "%s/change-%ld.py", folder, (long)getpid());
    snprintf(b->trace, sizeof(b->trace), "%s/change-%ld.db", folder, (long)getpid());
    snprintf(b->other, sizeof(b->other), "%s/change-%ld-other.db", folder, (long)getpid());
    snprintf(command, sizeof(command), "sed '%s' %s >'%s'", NETS[n].sed, NETS[n].file, b->net);
    must(system(command) == 0, command);
    record(b, b->trace);
    tui_surface_init(&b->surface, W, H, false);
    session_open(b);
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

static double median(double ms[ROUNDS])
{
    qsort(ms, ROUNDS, sizeof(ms[0]), by_value);
    return ms[ROUNDS / 2];
}

/*
 * The first change of a session: with the key right after the screen, or after a
 * while without one.
 */
static void first_measure(struct bench *b, size_t net, size_t n, const char *set)
{
    double at_once[ROUNDS];
    double later[ROUNDS];

    for (int i = 0; i < 2 * ROUNDS; i++) {
        tui_app_release(&b->app);
        session_open(b);
        if (i % 2)
            unused_run(b, 0);
        row_go(b, CHANGES[n].toggle);
        *(i % 2 ? &later[i / 2] : &at_once[i / 2]) = change_and_back(b, CHANGES[n].key, set);
    }
    printf("%-30s %-18s %9.1f %12.1f  the first of a session\n", NETS[net].title, set,
           median(at_once), median(later));
}

/* False, said on stderr: `part` of a recording is above its bound. */
static bool is_within(const char *title, const char *set, const char *what, double part, double max)
{
    if (part <= max)
        return true;
    fprintf(stderr,
            "bench_whatif: %s, %s: a %s what-if takes %.1f %% of a recording, not %.0f %%\n", title,
            set, what, 100 * part, 100 * max);
    return false;
}

/* False: a bound was exceeded, which is said. */
static bool change_measure(struct bench *b, size_t net, size_t n, const char *set)
{
    const char *title = NETS[net].title;
    double fresh[ROUNDS];
    double made[ROUNDS];
    double again[ROUNDS];
    double peer[ROUNDS];
    char what[128];
    double fresh_part;
    double made_part;
    bool is_good;

    for (int i = 0; i < ROUNDS; i++) {
        row_go(b, CHANGES[n].toggle);
        forget(b);
        fresh[i] = change_and_back(b, CHANGES[n].key, set);
        forget(b);
        unused_run(b, 0);
        made[i] = change_and_back(b, CHANGES[n].key, set);
        again[i] = change_and_back(b, CHANGES[n].key, set);
        peer[i] = record_again(b);
    }
    fresh_part = median(fresh) / median(peer);
    made_part = median(made) / median(peer);
    printf("%-30s %-18s %9.1f %12.1f %9.1f %9.1f %8.1f %% %10.1f %%\n", title, set, median(fresh),
           median(made), median(again), median(peer), 100 * fresh_part, 100 * made_part);
    snprintf(what, sizeof(what), "%s, `%s`, fresh", title, set);
    bench_row("bench_whatif", what, "%.1f ms (%.0f %%)\t%.1f ms", median(fresh), 100 * fresh_part,
              median(peer));
    snprintf(what, sizeof(what), "%s, `%s`, precomputed", title, set);
    bench_row("bench_whatif", what, "%.1f ms (%.1f %%)\t%.1f ms", median(made), 100 * made_part,
              median(peer));
    b->record_ms = median(peer);
    is_good = is_within(title, set, "fresh", fresh_part,
                        *NETS[net].options ? FRESH_MAX_SHARDED : FRESH_MAX);
    return is_within(title, set, "precomputed", made_part, PRECOMPUTED_MAX) && is_good;
}

/* Whether the change is one of those that are measured without arguments. */
static bool is_usual(size_t net, const char *set)
{
    const char *at = strstr(NETS[net].usual, set);

    return at && (at == NETS[net].usual || at[-1] == ' ');
}

/* False: a bound was exceeded. */
static bool net_measure(struct bench *b, size_t net, const char *word, int often)
{
    bool is_good = true;

    for (size_t i = 0; i < CHANGE_COUNT; i++) {
        char set[64];

        snprintf(set, sizeof(set), "%s=%s", CHANGES[i].toggle,
                 *CHANGES[i].value ? CHANGES[i].value : NETS[net].half);
        if (word ? !strstr(set, word) : !is_usual(net, set))
            continue;
        row_go(b, CHANGES[i].toggle);
        for (int k = 0; k < often; k++) {
            forget(b);
            change_and_back(b, CHANGES[i].key, set);
        }
        if (!often) {
            if (word)
                first_measure(b, net, i, set);
            is_good &= change_measure(b, net, i, set);
        }
    }
    return is_good;
}

int main(int argc, char **argv)
{
    int often = argc > 3 ? atoi(argv[3]) : 0;
    bool is_good = true;

    vs_mem_keep(); /* as the tui command does */
    if (!often)
        printf("from a toggle to the redrawn peak, one what-if, processor time, ms; at most %.0f "
               "%% of a "
               "recording fresh, %.0f %% precomputed; sharded %.0f %% fresh\n%-49s %9s %12s %9s "
               "%9s %10s %12s\n",
               100 * FRESH_MAX, 100 * PRECOMPUTED_MAX, 100 * FRESH_MAX_SHARDED, "", "fresh",
               "precomputed", "again", "recording", "fresh", "precomputed");
    for (size_t n = 0; n < NET_COUNT; n++) {
        struct bench b;

        if (argc > 1 && !strstr(NETS[n].title, argv[1]))
            continue;
        bench_open(&b, n);
        is_good &= net_measure(&b, n, argc > 2 ? argv[2] : argc > 1 ? "" : NULL, often);
        if (!often)
            precompute_measure(&b, n);
        bench_close(&b);
    }
    return is_good ? 0 : 1;
}

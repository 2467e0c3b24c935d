/*
 * bench/bench_replay.c - cost of viewing a trace of 10^5 to 10^7 events: opening it and drawing the first frame, and
 * the queries of single keys.
 *
 * For:            `make bench`. Peer: reading the trace from its start to the event, in the same run, which is a seek
 *                 without an index.
 * Must not know:  drawing.
 * Invariant:      figures are CPU time of this process, so that other programs do not change them. Every query is made
 *                 at random events, the first time on a trace that was just opened.
 *
 * The traces are recordings of sample_nets/gpt2_small.py on `meta`, with as many training steps as needed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/toggle.h"
#include "bench/rows.h"
#include "lang/run/run.h"
#include "replay/breakpoints/breakpoints.h"
#include "replay/diff/compare.h"
#include "replay/index/cursor.h"
#include "replay/index/lifetimes.h"
#include "replay/index/timeline.h"
#include "replay/inspect/alive.h"
#include "replay/inspect/frame.h"
#include "replay/inspect/modules.h"
#include "replay/inspect/space.h"
#include "replay/inspect/step.h"
#include "tracer/recorder.h"
#include "whatif/whatif.h"

#define NET "sample_nets/gpt2_small.py"
#define COLUMNS 160
#define QUERIES 400
#define PEER_READS 15
#define SIZES 3

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st) {
        fprintf(stderr, "bench_replay: %s\n", err->text);
        exit(1);
    }
}

static double cpu_ms(void)
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

/* ---- the traces ---- */

static char *file_text(const char *path)
{
    struct vs_text text = {NULL, 0, 0};
    FILE *file = fopen(path, "r");
    char buffer[4096];
    size_t n;

    if (!file) {
        fprintf(stderr, "bench_replay: %s is not there: run from the top folder\n", path);
        exit(1);
    }
    while ((n = fread(buffer, 1, sizeof(buffer), file)) > 0)
        vs_text_add_n(&text, buffer, n);
    fclose(file);
    return vs_text_take(&text);
}

static void quiet(void *user, const char *text, size_t len)
{
    (void)user;
    (void)text;
    (void)len;
}

static void trace_record(const char *path, const char *steps)
{
    const struct trc_recorder_options options = {.force = true};
    struct lang_settings settings = {.file_name = NET, .print = quiet};
    struct vs_toggles toggles = {{NULL}};
    struct lang_result result;
    struct trc_recorder *rec;
    struct vs_error err = VS_ERROR_INIT;
    char *text = file_text(NET);

    memset(&result, 0, sizeof(result));
    ok(trc_recorder_open(path, &options, &rec, &err), &err);
    ok(vs_toggles_set(&toggles, VS_TOGGLE_STEPS, steps, &err), &err);
    trc_recorder_source_add(rec, NET, text);
    settings.text = text;
    settings.len = strlen(text);
    settings.observer = trc_recorder_observer(rec);
    settings.toggles = &toggles;
    ok(lang_run(&settings, &result, &err), &err);
    ok(trc_recorder_close(rec, true, &err), &err);
    lang_result_release(&result);
    vs_toggles_release(&toggles);
    vs_free(text);
}

/* ---- queries ---- */

/* What is looked at: an open trace with all that stands on it. */
struct view {
    struct rpl_trace *trace;
    struct rpl_index *index;
    struct rpl_cursor *cursor;
    struct rpl_breakpoints *total;
    struct rpl_breakpoints *rare;
    struct rpl_modules *modules;
    struct rpl_frames frames;
    struct rpl_space space;
    struct rpl_why why;
    uint64_t count;
};

static void view_open(struct view *v, const char *path)
{
    struct vs_error err = VS_ERROR_INIT;

    memset(v, 0, sizeof(*v));
    ok(rpl_trace_open(path, &v->trace, &err), &err);
    ok(rpl_index_open(v->trace, NULL, NULL, &v->index, &err), &err);
    v->count = rpl_index_event_count(v->index);
    v->cursor = rpl_cursor_new(v->index);
}

static void view_close(struct view *v)
{
    rpl_frames_release(&v->frames);
    rpl_space_release(&v->space);
    rpl_why_release(&v->why);
    rpl_breakpoints_free(v->total);
    rpl_breakpoints_free(v->rare);
    rpl_modules_free(v->modules);
    rpl_cursor_free(v->cursor);
    rpl_index_free(v->index);
    rpl_trace_free(v->trace);
}

static void frame_all(struct view *v)
{
    struct rpl_column columns[COLUMNS];
    struct vs_error err = VS_ERROR_INIT;

    ok(rpl_timeline_columns(v->index, 1, v->count, columns, COLUMNS, &err), &err);
}

static void seek_far(struct view *v, uint64_t seq)
{
    struct vs_error err = VS_ERROR_INIT;

    ok(rpl_cursor_seek(v->cursor, seq, &err), &err);
}

static void seek_back(struct view *v, uint64_t seq)
{
    struct vs_error err = VS_ERROR_INIT;
    uint64_t at = rpl_cursor_seq(v->cursor);

    (void)seq;
    ok(rpl_cursor_seek(v->cursor, at ? at - 1 : 1, &err), &err);
}

static void columns_some(struct view *v, uint64_t seq)
{
    struct rpl_column columns[COLUMNS];
    struct vs_error err = VS_ERROR_INIT;
    uint64_t events = UINT64_C(100) << next_random(17); /* from zoomed in to 6.5 million */
    uint64_t last = seq + events < v->count ? seq + events : v->count;

    ok(rpl_timeline_columns(v->index, seq, last, columns, COLUMNS, &err), &err);
}

static void step_some(struct view *v, uint64_t seq)
{
    static const int64_t counts[] = {1, -1, 20, -1000};
    struct vs_error err = VS_ERROR_INIT;
    enum rpl_verb verb = (enum rpl_verb)next_random(RPL_VERB_COUNT);
    uint64_t to;

    ok(rpl_step(v->index, seq, verb, counts[next_random(4)], &to, NULL, &err), &err);
    ok(rpl_cursor_seek(v->cursor, to, &err), &err);
}

static void finish_some(struct view *v, uint64_t seq)
{
    struct vs_error err = VS_ERROR_INIT;
    uint64_t to;

    ok(rpl_step_finish(v->index, seq, seq & 1, &to, &err), &err);
    ok(rpl_step_same_line(v->index, to, seq & 1, &to, &err), &err);
    ok(rpl_cursor_seek(v->cursor, to, &err), &err);
}

static void ops_some(struct view *v, uint64_t seq)
{
    struct rpl_op ops[48];
    struct vs_error err = VS_ERROR_INIT;
    uint64_t number;
    size_t filled;

    ok(rpl_step_number(v->index, RPL_VERB_OP, seq, &number, &err), &err);
    ok(rpl_step_ops(v->index, number > 20 ? number - 20 : 1, 48, ops, &filled, &err), &err);
}

/* Seek, and a block of those alive there. */
static void why_some(struct view *v, uint64_t seq)
{
    struct vs_error err = VS_ERROR_INIT;
    const struct rpl_live *live = rpl_cursor_live(v->cursor);

    ok(rpl_cursor_seek(v->cursor, seq, &err), &err);
    v->why.id = live->block_count ? live->blocks[next_random(live->block_count)].id : 1;
    ok(rpl_alive_why(v->cursor, &v->why, &err), &err);
}

static void block_some(struct view *v, uint64_t seq)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_lifetime life;

    (void)seq;
    ok(rpl_lifetime_get(v->index, 1 + next_random(rpl_lifetime_count(v->index)), &life, &err),
       &err);
    ok(rpl_cursor_seek(v->cursor, life.free_seq ? life.free_seq : life.alloc_seq, &err), &err);
}

static void kept_some(struct view *v, uint64_t seq)
{
    struct rpl_kept_list list;
    struct vs_error err = VS_ERROR_INIT;

    ok(rpl_cursor_seek(v->cursor, seq, &err), &err);
    ok(rpl_alive_kept(v->cursor, &list, &err), &err);
}

static void event_some(struct view *v, uint64_t seq)
{
    struct vs_error err = VS_ERROR_INIT;

    ok(rpl_cursor_seek(v->cursor, seq, &err), &err);
    rpl_frames_fill(&v->frames, v->cursor);
    rpl_space_fill(&v->space, v->cursor);
    ok(rpl_modules_fill(v->modules, v->cursor, &err), &err);
}

/* The next time that the total passes nine tenths of the top: once a training step. */
static void break_total(struct view *v, uint64_t seq)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_hit hit;

    ok(rpl_breakpoints_run(v->total, seq, seq & 1, NULL, NULL, &hit, &err), &err);
}

/* What never happens: the index alone says so. */
static void break_never(struct view *v, uint64_t seq)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_hit hit;

    ok(rpl_breakpoints_run(v->rare, seq, seq & 1, NULL, NULL, &hit, &err), &err);
}

static const struct {
    const char *name;
    void (*query)(struct view *v, uint64_t seq);
} QUERY[] = {
    {"live set at a random event", seek_far},
    {"one event back", seek_back},
    {"timeline of a random range", columns_some},
    {"a step by a random command, with the seek", step_some},
    {"end of the op or line, with the seek", finish_some},
    {"list of ops", ops_some},
    {"why a block is alive, with the seek", why_some},
    {"lifetime of a block, with the seek", block_some},
    {"kept past the last use, with the seek", kept_some},
    {"frames, segments, modules, with the seek", event_some},
    {"next breakpoint on the total", break_total},
    {"a breakpoint that never stops", break_never},
};
#define QUERY_COUNT (sizeof(QUERY) / sizeof(QUERY[0]))

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

struct figures {
    uint64_t events;
    double index_ms;
    double open_ms;
    double open_mib;
    double file_mib;
    double median[QUERY_COUNT];
    double p99[QUERY_COUNT];
    double peer_ms;
};

static void breaks_make(struct view *v)
{
    struct vs_error err = VS_ERROR_INIT;
    char text[64];
    uint32_t number;

    snprintf(text, sizeof(text), "total > %llu",
             (unsigned long long)(rpl_index_top(v->index).allocated / 10 * 9));
    v->total = rpl_breakpoints_new(v->index);
    ok(rpl_breakpoints_add(v->total, text, &number, &err), &err);
    v->rare = rpl_breakpoints_new(v->index);
    ok(rpl_breakpoints_add(v->rare, "alloc size > 1T", &number, &err), &err);
    ok(rpl_modules_new(v->index, &v->modules, &err), &err);
}

static void queries_measure(const char *path, struct figures *f)
{
    static double took[QUERIES];

    for (size_t q = 0; q < QUERY_COUNT; q++) {
        struct view v;

        view_open(&v, path);
        breaks_make(&v);
        for (size_t i = 0; i < QUERIES; i++) {
            uint64_t seq = 1 + next_random(v.count);
            double start = cpu_ms();

            QUERY[q].query(&v, seq);
            took[i] = cpu_ms() - start;
        }
        view_close(&v);
        qsort(took, QUERIES, sizeof(took[0]), by_value);
        f->median[q] = took[QUERIES / 2];
        f->p99[q] = took[QUERIES * 99 / 100];
    }
}

/* The most memory this process had; getrusage() would count what it was forked from. */
static double memory_mib(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    double kib = 0;

    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "VmHWM: %lf", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib / 1024;
}

/* What the process of open_measure does: prints the time and the memory. */
static int open_alone(const char *path)
{
    double start = cpu_ms();
    struct view v;

    view_open(&v, path);
    frame_all(&v);
    printf("%f %f\n", cpu_ms() - start, memory_mib());
    return 0;
}

/* In a process of its own, so that its memory is its own. */
static void open_measure(const char *path, struct figures *f)
{
    double rounds[7];

    for (int i = 0; i < 7; i++) {
        int pipes[2];
        FILE *answer;
        pid_t child;

        if (pipe(pipes))
            exit(1);
        child = fork();
        if (child == 0) {
            dup2(pipes[1], 1);
            execl("/proc/self/exe", "bench_replay", "--open", path, (char *)NULL);
            _exit(1);
        }
        close(pipes[1]);
        answer = fdopen(pipes[0], "r");
        if (child < 0 || !answer || fscanf(answer, "%lf %lf", &rounds[i], &f->open_mib) != 2)
            exit(1);
        waitpid(child, NULL, 0);
        fclose(answer);
    }
    qsort(rounds, 7, sizeof(rounds[0]), by_value);
    f->open_ms = rounds[3];
}

static void peer_measure(const char *path, struct figures *f)
{
    double took[PEER_READS];
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_live live;
    struct view v;

    view_open(&v, path);
    rpl_live_init(&live);
    for (int i = 0; i < PEER_READS; i++) {
        double start = cpu_ms();

        ok(rpl_live_read(&live, v.trace, v.count / PEER_READS * (uint64_t)i + 1, &err), &err);
        took[i] = cpu_ms() - start;
    }
    qsort(took, PEER_READS, sizeof(took[0]), by_value);
    f->peer_ms = took[PEER_READS / 2];
    rpl_live_release(&live);
    view_close(&v);
}

static void trace_measure(const char *path, const char *steps, struct figures *f)
{
    struct stat st;
    struct view v;
    double start;

    trace_record(path, steps);
    start = cpu_ms();
    view_open(&v, path); /* makes the index */
    f->index_ms = cpu_ms() - start;
    f->events = v.count;
    view_close(&v);
    f->file_mib = stat(path, &st) == 0 ? (double)st.st_size / 1048576 : 0;
    open_measure(path, f);
    queries_measure(path, f);
    peer_measure(path, f);
    unlink(path);
}

/* ---- what-if to redrawn ---- */

static void whatif_measure(const char *net, const char *toggle)
{
    struct rpl_trace *base = rpl_trace_new();
    struct rpl_trace *out = rpl_trace_new();
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    char *text = file_text(net);
    double run[9];
    double total[9];
    uint64_t events = 0;

    rpl_trace_set_source(base, net, text);
    ok(vs_toggles_set_pair(&set, toggle, &err), &err);
    for (int i = 0; i < 9; i++) {
        struct rpl_column columns[COLUMNS];
        struct rpl_index *index;
        struct rpl_run figures;
        double start = cpu_ms();

        ok(wif_run(base, &set, out, &err), &err);
        run[i] = cpu_ms() - start;
        start = cpu_ms();
        ok(rpl_index_open(out, NULL, NULL, &index, &err), &err);
        events = rpl_index_event_count(index);
        ok(rpl_timeline_columns(index, 1, events, columns, COLUMNS, &err), &err);
        ok(rpl_run_fill(&figures, index, &err), &err);
        total[i] = cpu_ms() - start;
        rpl_index_free(index);
    }
    qsort(run, 9, sizeof(run[0]), by_value);
    qsort(total, 9, sizeof(total[0]), by_value);
    printf("  %-28s %-20s %8llu events: run %6.1f ms, index, timeline and peak %5.1f ms (%.2f of "
           "it)\n",
           net, toggle, (unsigned long long)events, run[4], total[4], total[4] / run[4]);
    vs_toggles_release(&set);
    rpl_trace_free(base);
    rpl_trace_free(out);
    vs_free(text);
}

/* Of the longest recording; the peer reads it up to a random place. */
static void rows(const struct figures *f)
{
    static const char BENCH[] = "bench_replay";
    char a[BENCH_TEXT_MAX], b[BENCH_TEXT_MAX];

    bench_number(f->peer_ms, b);
    bench_row(BENCH, "open and first frame", "%s ms\t%s ms", bench_number(f->open_ms, a), b);
    bench_row(BENCH, "memory after that", "%s MiB\t%.0f MiB: the file",
              bench_number(f->open_mib, a), f->file_mib);
    bench_row(BENCH, "making the index, once", "%s ms\t%s ms", bench_number(f->index_ms, a), b);
    for (size_t q = 0; q < QUERY_COUNT; q++)
        bench_row(BENCH, QUERY[q].name, "%.2f, p99 %.2f ms\t%s ms", f->median[q], f->p99[q], b);
}

int main(int argc, char **argv)
{
    static const char *const steps[SIZES] = {"4", "39", "390"};
    static struct figures f[SIZES];
    const char *folder = getenv("TMPDIR");
    char path[4096];

    if (argc == 3 && strcmp(argv[1], "--open") == 0)
        return open_alone(argv[2]);
    snprintf(path, sizeof(path), "%s/vramscope-bench-%ld.db", folder ? folder : "/tmp",
             (long)getpid());
    for (size_t i = 0; i < SIZES; i++)
        trace_measure(path, steps[i], &f[i]);
    printf("looking at a recording of %s, CPU time\n\n  %-32s", NET, "events");
    for (size_t i = 0; i < SIZES; i++)
        printf("%12llu", (unsigned long long)f[i].events);
    printf("\n  %-32s", "making the index, ms");
    for (size_t i = 0; i < SIZES; i++)
        printf("%12.1f", f[i].index_ms);
    printf("\n  %-32s", "open and first frame, ms");
    for (size_t i = 0; i < SIZES; i++)
        printf("%12.2f", f[i].open_ms);
    printf("\n  %-32s", "memory then, MiB");
    for (size_t i = 0; i < SIZES; i++)
        printf("%12.1f", f[i].open_mib);
    printf("\n\n  %-32s%36s%12s\n", "median / 99th percentile, ms", "", "p99 ratio");
    for (size_t q = 0; q < QUERY_COUNT; q++) {
        printf("  %-32s", QUERY[q].name);
        for (size_t i = 0; i < SIZES; i++)
            printf("%6.2f/%5.2f", f[i].median[q], f[i].p99[q]);
        printf("%12.2f\n", f[SIZES - 1].p99[q] / f[0].p99[q]);
    }
    printf("\n  %-32s", "reading from the start, ms");
    for (size_t i = 0; i < SIZES; i++)
        printf("%12.1f", f[i].peer_ms);
    printf("\n  %-32s", "a seek is that many times faster");
    for (size_t i = 0; i < SIZES; i++)
        printf("%12.1f", f[i].peer_ms / f[i].median[0]);
    rows(&f[SIZES - 1]);
    printf("\n\nfrom a toggle to a redrawn timeline, CPU time, median of 9\n\n");
    whatif_measure("sample_nets/resnet50.py", "checkpoint=blocks");
    whatif_measure(NET, "checkpoint=blocks");
    return 0;
}

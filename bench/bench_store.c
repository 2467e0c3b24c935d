/*
 * bench/bench_store.c - cost of recording: on the training thread, on the writer thread, on the disk.
 *
 * For:            `make bench`. Peer: the same events as rows of ten columns, inserted with a prepared statement, with
 *                 the same journal mode and page size, in the same run.
 * Must not know:  the engine: training_run.h emits the events.
 * Invariant:      every figure is the median of ROUNDS rounds, vramscope and the peer alternately.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/error.h"
#include "base/mem.h"
#include "bench/rows.h"
#include "bench/training_run.h"
#include "engine/core/observer.h"
#include "store/cell.h"
#include "store/reader.h"
#include "store/writer.h"
#include "tracer/intern.h"
#include "tracer/recorder.h"

#define ROUNDS 5
#define EVENTS 500000
#define BATCH 4096

/* ---- observers ---- */

static void none_emit(void *user, const struct vs_event *event)
{
    (void)user;
    (void)event;
}

static uint32_t none_string(void *user, const char *text)
{
    (void)user;
    return (uint32_t)strlen(text);
}

static uint32_t none_location(void *user, const struct vs_location *at)
{
    (void)user;
    return at->line + at->op;
}

static void none_tensor(void *user, const struct vs_tensor_desc *desc)
{
    (void)user;
    (void)desc;
}

/* Keeps the events, about 800 ns apart. */
struct keeper {
    struct trc_intern *intern;
    struct vs_event *events;
    size_t count;
    uint64_t time_ns;
    uint64_t random;
};

static void keep_emit(void *user, const struct vs_event *event)
{
    struct keeper *k = user;

    if (k->count == EVENTS)
        return;
    k->random = k->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    k->time_ns += 300 + (k->random >> 54);
    k->events[k->count] = *event;
    k->events[k->count++].time_ns = k->time_ns;
}

static uint32_t keep_string(void *user, const char *text)
{
    struct keeper *k = user;
    const char *new_text;

    return trc_intern_string(k->intern, text, &new_text);
}

static uint32_t keep_location(void *user, const struct vs_location *at)
{
    struct keeper *k = user;
    bool is_new;

    return trc_intern_location(k->intern, at, &is_new);
}

/* ---- plain rows, the peer ---- */

struct plain {
    sqlite3 *db;
    sqlite3_stmt *stmt;
    uint64_t seq;
};

static void check(int is_fine, const char *what)
{
    if (!is_fine)
        vs_die("bench_store: %s", what);
}

static void plain_open(struct plain *p, const char *path)
{
    unlink(path);
    p->seq = 0;
    check(sqlite3_open(path, &p->db) == SQLITE_OK, "peer: open");
    check(sqlite3_exec(
              p->db,
              "PRAGMA page_size = 4096; PRAGMA journal_mode = DELETE; PRAGMA synchronous = NORMAL;"
              "PRAGMA cache_size = -65536;"
              "CREATE TABLE event (seq INTEGER PRIMARY KEY, time_ns, kind, place, a, b, c, d, e, "
              "aux);"
              "BEGIN",
              NULL, NULL, NULL) == SQLITE_OK,
          "peer: schema");
    check(sqlite3_prepare_v2(p->db, "INSERT INTO event VALUES (?,?,?,?,?,?,?,?,?,?)", -1, &p->stmt,
                             NULL) == SQLITE_OK,
          "peer: prepare");
}

static void plain_emit(void *user, const struct vs_event *event)
{
    struct plain *p = user;
    const uint64_t values[] = {++p->seq,     event->time_ns, event->kind,  event->location,
                               event->raw.a, event->raw.b,   event->raw.c, event->raw.d,
                               event->raw.e, event->raw.aux};

    for (int i = 0; i < 10; i++)
        sqlite3_bind_int64(p->stmt, i + 1, (sqlite3_int64)values[i]);
    check(sqlite3_step(p->stmt) == SQLITE_DONE, "peer: insert");
    sqlite3_reset(p->stmt);
}

static void plain_close(struct plain *p)
{
    check(sqlite3_exec(p->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK, "peer: commit");
    sqlite3_finalize(p->stmt);
    sqlite3_close(p->db);
}

/* ---- measuring ---- */

/* What something took, in ns an event: by the clock, and in CPU time, which other programs hardly move. */
struct took {
    double wall[ROUNDS];
    double cpu[ROUNDS];
};

struct stopwatch {
    double wall;
    double cpu;
};

static double seconds(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static struct stopwatch stopwatch_start(void)
{
    return (struct stopwatch){seconds(CLOCK_MONOTONIC), seconds(CLOCK_THREAD_CPUTIME_ID)};
}

static void stopwatch_stop(const struct stopwatch *watch, uint64_t events, struct took *took,
                           int round)
{
    took->wall[round] = (seconds(CLOCK_MONOTONIC) - watch->wall) / (double)events * 1e9;
    took->cpu[round] = (seconds(CLOCK_THREAD_CPUTIME_ID) - watch->cpu) / (double)events * 1e9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(const double *values)
{
    double sorted[ROUNDS];

    memcpy(sorted, values, sizeof(sorted));
    qsort(sorted, ROUNDS, sizeof(*sorted), compare);
    return sorted[ROUNDS / 2];
}

static double file_bytes(const char *path)
{
    struct stat st;

    check(stat(path, &st) == 0, "stat");
    return (double)st.st_size;
}

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        vs_die("bench_store: %s", err->text);
}

/* Let the synthetic run emit EVENTS events (about) for this observer. Returns their number. */
static uint64_t run_time(const struct eng_observer *obs, struct took *took, int round)
{
    struct stopwatch watch;
    struct training_run run;

    training_run_init(&run, obs);
    watch = stopwatch_start();
    while (run.emitted < EVENTS)
        training_run_step(&run);
    stopwatch_stop(&watch, run.emitted, took, round);
    return run.emitted;
}

static void none_time(struct took *took, int round)
{
    const struct eng_observer obs = {NULL, none_emit, none_string, none_location, none_tensor};

    run_time(&obs, took, round);
}

/* Also *stats of the recording, and the bytes of its file an event. */
static void recorder_time(const char *path, struct took *took, int round,
                          struct trc_recorder_stats *stats, double *bytes)
{
    struct vs_error err = VS_ERROR_INIT;
    const struct trc_recorder_options options = {.force = true};
    struct trc_recorder *rec;
    uint64_t emitted;

    ok(trc_recorder_open(path, &options, &rec, &err), &err);
    emitted = run_time(trc_recorder_observer(rec), took, round);
    trc_recorder_stats(rec, stats);
    ok(trc_recorder_close(rec, true, &err), &err);
    *bytes = file_bytes(path) / (double)emitted;
}

static void plain_run_time(const char *path, struct took *took, int round)
{
    struct plain p;
    const struct eng_observer obs = {&p, plain_emit, none_string, none_location, none_tensor};

    plain_open(&p, path);
    run_time(&obs, took, round);
    plain_close(&p);
}

static void writer_time(const char *path, const struct keeper *k, struct took *took, int round)
{
    struct vs_error err = VS_ERROR_INIT;
    const struct sto_writer_options options = {.force = true};
    struct stopwatch watch;
    struct sto_writer *w;

    ok(sto_writer_open(path, &options, &w, &err), &err);
    watch = stopwatch_start();
    for (size_t i = 0; i < k->count; i += BATCH)
        ok(sto_writer_events(w, k->events + i, k->count - i < BATCH ? k->count - i : BATCH, &err),
           &err);
    ok(sto_writer_close(w, true, &err), &err);
    stopwatch_stop(&watch, k->count, took, round);
}

static void plain_time(const char *path, const struct keeper *k, struct took *took, int round)
{
    struct stopwatch watch;
    struct plain p;

    plain_open(&p, path);
    watch = stopwatch_start();
    for (size_t i = 0; i < k->count; i++)
        plain_emit(&p, &k->events[i]);
    plain_close(&p);
    stopwatch_stop(&watch, k->count, took, round);
}

static void reader_time(const char *path, const struct keeper *k, struct took *took, int round)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_event *batch = vs_alloc(BATCH * sizeof(*batch));
    struct stopwatch watch = stopwatch_start();
    struct sto_reader *r;

    ok(sto_reader_open(path, &r, &err), &err);
    check(sto_reader_event_count(r) == k->count, "events were lost");
    for (size_t i = 0; i < k->count; i += BATCH)
        ok(sto_reader_events(r, i + 1, k->count - i < BATCH ? k->count - i : BATCH, batch, &err),
           &err);
    stopwatch_stop(&watch, k->count, took, round);
    sto_reader_close(r);
    vs_free(batch);
}

/* A query through the table `cell`, which rows of the peer have no use for; ns for each event that the trace has. */
static void query_time(const char *path, const char *sql, const struct keeper *k, struct took *took,
                       int round)
{
    struct stopwatch watch;
    sqlite3_stmt *stmt;
    sqlite3 *db;

    check(sqlite3_open(path, &db) == SQLITE_OK, "query: open");
    check(sto_cell_register(db) == SQLITE_OK, "query: cell");
    watch = stopwatch_start();
    check(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, "query: prepare");
    check(sqlite3_step(stmt) == SQLITE_ROW, "query: step");
    stopwatch_stop(&watch, k->count, took, round);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

static void line(const char *what, double ours, double peer, const char *unit)
{
    printf("%-44s %9.1f %9.1f %-12s %6.1fx\n", what, ours, peer, unit, peer / ours);
}

/* Two lines: by the clock and in CPU time, `none` taken away. */
static void lines(const char *what, const struct took *ours, const struct took *peer,
                  const struct took *none)
{
    double wall = none ? median(none->wall) : 0;
    double cpu = none ? median(none->cpu) : 0;
    char text[64];

    snprintf(text, sizeof(text), "%s, clock", what);
    line(text, median(ours->wall) - wall, median(peer->wall) - wall, "ns/event");
    snprintf(text, sizeof(text), "%s, CPU", what);
    line(text, median(ours->cpu) - cpu, median(peer->cpu) - cpu, "ns/event");
}

static void row(const char *what, double ours, double peer, const char *unit)
{
    char a[BENCH_TEXT_MAX], b[BENCH_TEXT_MAX];

    bench_row("bench_store", what, "%s %s\t%s %s", bench_number(ours, a), unit,
              bench_number(peer, b), unit);
}

static void events_keep(struct keeper *k)
{
    const struct eng_observer obs = {k, keep_emit, keep_string, keep_location, none_tensor};
    struct training_run run;

    *k = (struct keeper){.intern = trc_intern_new(),
                         .events = vs_alloc(EVENTS * sizeof(*k->events))};
    training_run_init(&run, &obs);
    while (k->count < EVENTS)
        training_run_step(&run);
}

int main(int argc, char **argv)
{
    static const char sum[] = "SELECT sum(size) FROM event WHERE kind = 'alloc'";
    static const char plain_sum[] = "SELECT sum(b) FROM event WHERE kind = 0";
    const char *folder = getenv("TMPDIR");
    char default_path[4096];
    const char *path = argc > 1 ? argv[1] : default_path;
    struct took none, ours, peer, writer, plain, reader, query, plain_query;
    struct trc_recorder_stats stats = {0};
    double trace_bytes = 0;
    double event_bytes = 0;
    double plain_bytes = 0;
    struct keeper k;

    snprintf(default_path, sizeof(default_path), "%s/vramscope-bench-store.db",
             folder && *folder ? folder : "/tmp");
    events_keep(&k);
    for (int i = 0; i < ROUNDS; i++) {
        none_time(&none, i);
        recorder_time(path, &ours, i, &stats, &trace_bytes);
        plain_run_time(path, &peer, i);
        writer_time(path, &k, &writer, i);
        event_bytes = file_bytes(path) / (double)k.count;
        reader_time(path, &k, &reader, i);
        query_time(path, sum, &k, &query, i);
        plain_time(path, &k, &plain, i);
        plain_bytes = file_bytes(path) / (double)k.count;
        query_time(path, plain_sum, &k, &plain_query, i);
    }
    unlink(path);
    printf("%d events of a synthetic run of %d layers; peer: plain rows, prepared statement; "
           "medians of %d\n",
           EVENTS, TRAINING_RUN_LAYERS, ROUNDS);
    printf("%-44s %9s %9s\n", "", "ours", "peer");
    lines("recording, on the training thread", &ours, &peer, &none);
    lines("writer, events alone", &writer, &plain, NULL);
    line("file, events alone", event_bytes, plain_bytes, "bytes/event");
    lines("sum(size) of all allocs in SQL", &query, &plain_query, NULL);
    printf("%-44s %9.1f           bytes/event\n", "file, with tensors, locations, strings",
           trace_bytes);
    printf("%-44s %9.1f           M events/s (CPU: %.1f)\n", "writer", 1e3 / median(writer.wall),
           1e3 / median(writer.cpu));
    printf("%-44s %9.1f           M events/s (CPU: %.1f)\n", "reader", 1e3 / median(reader.wall),
           1e3 / median(reader.cpu));
    printf("%-44s %9llu           times, %.1f ms in all\n", "ring found full in the last round",
           (unsigned long long)stats.waits, (double)stats.wait_ns / 1e6);
    row("an event on the thread that trains, recorder alone", median(ours.cpu) - median(none.cpu),
        median(peer.cpu) - median(none.cpu), "ns");
    row("an event on the thread that writes", median(writer.cpu), median(plain.cpu), "ns");
    row("an event in the file", event_bytes, plain_bytes, "bytes");
    row("`sum(size)` over all allocations in SQL, per event", median(query.cpu),
        median(plain_query.cpu), "ns");
    vs_free(k.events);
    trc_intern_free(k.intern);
    return 0;
}

/*
 * bench/bench_viewer.c - a snapshot in PyTorch's own viewer, in ptmem and here: the same file, the same run.
 *
 * For:            `make bench`. Peers: torch/utils/viz/MemoryViz.js of PyTorch's sources under node
 *                 ($VRAMSCOPE_MEMORYVIZ names the file), and ptmem ($VRAMSCOPE_PTMEM names a python that has it). What
 *                 is not there is left out, with a line that says so; without both nothing is measured.
 * Must not know:  how the peers work: viewer_peer.mjs and viewer_peer.py ask them.
 * Invariant:      all figures are processor time of the program that is asked, each in a process of its own, and its
 *                 highest memory.
 *
 * The snapshots are exports of recordings of sample_nets/gpt2_small.py, of 5, 50 and 500 training steps: some 10^4,
 * 10^5 and 10^6 allocations and frees. With an argument only those of at most so many steps,
 * with or without peers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "bench/rows.h"
#include "tui/app.h"
#include "tui/screen.h"
#include "tui/term/surface.h"

#define W 160
#define H 48
#define KEYS 41
#define SIZES 3
/* A peer that has not answered by then has not answered. */
#define PEER_SECONDS "600"

static const unsigned STEPS[SIZES] = {5, 50, 500};

/* ---- figures ---- */

enum who { OURS, VIEWER, PTMEM, WHO_COUNT };
static const char *const WHO[WHO_COUNT] = {"vramscope", "MemoryViz.js", "ptmem"};

enum what { LOAD, LOAD_AGAIN, FIRST, MEMORY, MOVE, ALIVE, WHAT_COUNT };
static const char *const WHAT[WHAT_COUNT] = {
    "read the pickle, ms", "the next time, ms", "first frame, ms",
    "memory, MiB",         "move or zoom, ms",  "alive there, ms",
};

/* Which figure of a program's output is which; the last of a name counts. */
static const struct {
    const char *name;
    enum who who;
    enum what what;
} NAMES[] = {
    {"open_ms", OURS, LOAD_AGAIN},     {"first_frame_ms", OURS, FIRST},
    {"memory_mib", OURS, MEMORY},      {"move_ms", OURS, MOVE},
    {"alive_ms", OURS, ALIVE},         {"unpickle_ms", VIEWER, LOAD},
    {"first_frame_ms", VIEWER, FIRST}, {"memory_mib", VIEWER, MEMORY},
    {"brush_ms", VIEWER, MOVE},        {"click_ms", VIEWER, ALIVE},
    {"open_ms", PTMEM, LOAD},          {"open_again_ms", PTMEM, LOAD_AGAIN},
    {"first_frame_ms", PTMEM, FIRST},  {"memory_mib", PTMEM, MEMORY},
    {"cursor_ms", PTMEM, MOVE},        {"alive_ms", PTMEM, ALIVE},
};

/* below 0: not known; why: how a program ended that did not end well */
struct figures {
    double ms[WHO_COUNT][WHAT_COUNT];
    char why[WHO_COUNT][160];
    double mib;
    uint64_t events;
};

static void figure_take(struct figures *f, enum who who, const char *line)
{
    char name[64];
    double n;

    if (sscanf(line, "%63s %lf", name, &n) != 2) {
        if (!*f->why[who] && (strstr(line, "Error") || strstr(line, "FATAL")))
            snprintf(f->why[who], sizeof(f->why[who]), "%.*s", (int)strcspn(line, "\n"), line);
        return;
    }
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
        if (NAMES[i].who == who && strcmp(NAMES[i].name, name) == 0)
            f->ms[who][NAMES[i].what] = n;
    if (strcmp(name, "events") == 0)
        f->events = (uint64_t)n;
}

/* Run the program, which says its figures. */
static void program_run(struct figures *f, enum who who, const char *command)
{
    char line[4096];
    FILE *out;
    int status;

    *f->why[who] = 0;
    out = popen(command, "r");
    if (!out)
        exit(1);
    while (fgets(line, sizeof(line), out))
        figure_take(f, who, line);
    status = pclose(out);
    if (status == 0)
        *f->why[who] = 0;
    else if (!*f->why[who])
        snprintf(f->why[who], sizeof(f->why[who]), "ended with status %d", WEXITSTATUS(status));
}

/* ---- ours ---- */

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* The median of typing `keys` and drawing, each time somewhere else. */
static double keys_measure(struct tui_app *app, struct tui_surface *surface, const char *keys)
{
    double took[KEYS];

    for (uint64_t i = 0; i < KEYS; i++) {
        double start;

        tui_app_go(app, 1 + app->base.events * (2 * i + 1) / (2 * KEYS), false);
        start = now_ms();
        for (const char *at = keys; *at;) {
            struct tui_input input = {.key = tui_key_parse(&at)};

            tui_app_input(app, &input);
        }
        tui_app_sync(app);
        tui_screen_draw(app, surface);
        took[i] = now_ms() - start;
    }
    qsort(took, KEYS, sizeof(took[0]), by_value);
    return took[KEYS / 2];
}

/* What the process of ours does: says its figures as the peers do. */
static int ours(const char *path)
{
    struct tui_app app;
    struct tui_surface surface;
    struct vs_error err = VS_ERROR_INIT;
    struct rusage usage;
    double start = now_ms();

    memset(&app, 0, sizeof(app));
    if (tui_app_open(&app, path, &err)) {
        fprintf(stderr, "bench_viewer: %s\n", err.text);
        return 1;
    }
    printf("open_ms %.3f\n", now_ms() - start);
    start = now_ms();
    tui_app_resize(&app, W, H);
    tui_surface_init(&surface, W, H, false);
    tui_app_sync(&app);
    tui_screen_draw(&app, &surface);
    printf("first_frame_ms %.3f\n", now_ms() - start);
    printf("move_ms %.3f\n", keys_measure(&app, &surface, "L"));
    printf("alive_ms %.3f\n", keys_measure(&app, &surface, "lgb"));
    getrusage(RUSAGE_SELF, &usage);
    printf("memory_mib %.3f\n", (double)usage.ru_maxrss / 1024);
    tui_surface_release(&surface);
    tui_app_release(&app);
    return 0;
}

/* ---- files ---- */

static double children_ms(void)
{
    struct rusage usage;

    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

static void must_run(const char *command)
{
    if (system(command) != 0) {
        fprintf(stderr, "bench_viewer: this failed: %s\n", command);
        exit(1);
    }
}

/* Record, export, and import: the last is what reading the pickle costs here. */
static void files_make(struct figures *f, unsigned steps, const char *snapshot, const char *db)
{
    const char *program = getenv("VRAMSCOPE") ? getenv("VRAMSCOPE") : "build/vramscope";
    struct stat st;
    char command[1024];
    double start;

    snprintf(
        command, sizeof(command),
        "%s record sample_nets/gpt2_small.py --device meta --steps %u -f -o '%s' >/dev/null 2>&1",
        program, steps, db);
    must_run(command);
    snprintf(command, sizeof(command),
             "%s export '%s' --format snapshot -f -o '%s' >/dev/null 2>&1", program, db, snapshot);
    must_run(command);
    snprintf(command, sizeof(command), "%s import '%s' -f -o '%s' >/dev/null 2>&1", program,
             snapshot, db);
    start = children_ms();
    must_run(command);
    f->ms[OURS][LOAD] = children_ms() - start;
    f->mib = stat(snapshot, &st) == 0 ? (double)st.st_size / 1048576 : 0;
}

static void size_measure(struct figures *f, unsigned steps)
{
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    const char *viewer = getenv("VRAMSCOPE_MEMORYVIZ");
    const char *ptmem = getenv("VRAMSCOPE_PTMEM");
    char snapshot[256];
    char db[256];
    char command[2048];

    for (size_t i = 0; i < WHO_COUNT; i++)
        for (size_t k = 0; k < WHAT_COUNT; k++)
            f->ms[i][k] = -1;
    snprintf(snapshot, sizeof(snapshot), "%s/vramscope-viewer-%ld.pickle", folder, (long)getpid());
    snprintf(db, sizeof(db), "%s/vramscope-viewer-%ld.db", folder, (long)getpid());
    files_make(f, steps, snapshot, db);
    snprintf(command, sizeof(command), "/proc/%ld/exe --ours '%s' 2>&1", (long)getpid(), db);
    program_run(f, OURS, command);
    unlink(db);
    if (viewer) {
        snprintf(command, sizeof(command),
                 "timeout " PEER_SECONDS " %s bench/viewer_peer.mjs '%s' '%s' 2>&1",
                 getenv("VRAMSCOPE_NODE") ? getenv("VRAMSCOPE_NODE") : "node", viewer, snapshot);
        program_run(f, VIEWER, command);
    }
    if (ptmem) {
        snprintf(command, sizeof(command),
                 "timeout " PEER_SECONDS " '%s' bench/viewer_peer.py '%s' 2>&1", ptmem, snapshot);
        program_run(f, PTMEM, command);
    }
    unlink(snapshot);
}

/* ---- the table ---- */

static void row_print(const struct figures *f, size_t count, enum who who, enum what what)
{
    printf("  %-14s%-24s", WHO[who], WHAT[what]);
    for (size_t i = 0; i < count; i++) {
        if (f[i].ms[who][what] < 0)
            printf("%14s", "-");
        else
            printf("%14.1f", f[i].ms[who][what]);
    }
    printf("\n");
}

static void print(const struct figures *f, size_t count)
{
    printf("a snapshot of gpt2_small, processor time\n\n  %-38s", "events in it");
    for (size_t i = 0; i < count; i++)
        printf("%14" PRIu64, f[i].events);
    printf("\n  %-38s", "MiB");
    for (size_t i = 0; i < count; i++)
        printf("%14.1f", f[i].mib);
    printf("\n");
    for (int who = 0; who < WHO_COUNT; who++) {
        printf("\n");
        for (int what = 0; what < WHAT_COUNT; what++)
            row_print(f, count, (enum who)who, (enum what)what);
        for (size_t i = 0; i < count; i++)
            if (*f[i].why[who])
                printf("  %s, %u steps: %s\n", WHO[who], STEPS[i], f[i].why[who]);
    }
    if (!getenv("VRAMSCOPE_MEMORYVIZ"))
        printf("\nMemoryViz.js is left out: name it in VRAMSCOPE_MEMORYVIZ "
               "(torch/utils/viz/MemoryViz.js of PyTorch's sources; no wheel has it), and have "
               "node\n");
    if (!getenv("VRAMSCOPE_PTMEM"))
        printf("\nptmem is left out: name a python that has it in VRAMSCOPE_PTMEM (pip install "
               "ptmem)\n");
}

/* The rows of the page: now, and the cells of the peers, empty where one is not here. */
static void rows_put(const struct figures *f)
{
    static const char *const TITLES[WHAT_COUNT] = {
        "read the file, once", "open it again", "first frame", "memory", "move",
        "what is alive there"};

    for (int what = 0; what < WHAT_COUNT; what++) {
        char cells[WHO_COUNT][BENCH_TEXT_MAX + 8] = {"", "", ""};

        for (int who = 0; who < WHO_COUNT; who++) {
            char number[BENCH_TEXT_MAX];

            if (f->ms[who][what] >= 0)
                snprintf(cells[who], sizeof(cells[who]), "%s %s",
                         bench_number(f->ms[who][what], number), what == MEMORY ? "MiB" : "ms");
        }
        if (*cells[OURS])
            bench_row("bench_viewer", TITLES[what], "%s\t%s\t%s", cells[OURS], cells[VIEWER],
                      cells[PTMEM]);
    }
}

int main(int argc, char **argv)
{
    struct figures *f = vs_calloc(SIZES, sizeof(*f));
    unsigned most = STEPS[SIZES - 1];
    size_t count = 0;

    if (argc == 3 && strcmp(argv[1], "--ours") == 0)
        return ours(argv[2]);
    if (argc == 1 && !getenv("VRAMSCOPE_MEMORYVIZ") && !getenv("VRAMSCOPE_PTMEM")) {
        vs_free(f);
        puts("nothing to compare with: neither VRAMSCOPE_MEMORYVIZ nor VRAMSCOPE_PTMEM is set");
        return 0;
    }
    if (argc > 1)
        most = (unsigned)strtoul(argv[1], NULL, 10);
    for (; count < SIZES && STEPS[count] <= most; count++)
        size_measure(&f[count], STEPS[count]);
    print(f, count);
    if (count)
        rows_put(&f[count - 1]);
    vs_free(f);
    return 0;
}

/*
 * bench/bench_bytes.c - number of bytes that each key sends to the terminal, at 80x24 and at 160x48.
 *
 * For:            `make bench`. Peer: a full-screen stacked chart drawn with ncurses alone, measured through a pty at
 *                 both sizes (PEER below): the first frame, a moving cursor, a chart that scrolls by three columns.
 * Must not know:  how the TUI draws.
 * Invariant:      counts the bytes that ncurses writes to a file for xterm-256color; a slow terminal does not change
 *                 them.
 *
 * The trace is that of bench_tui with 4 steps, recorded by $VRAMSCOPE (default build/vramscope) if it does not exist in
 * $TMPDIR.
 */
#include <locale.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <curses.h>

#include "base/error.h"
#include "base/mem.h"
#include "bench/rows.h"
#include "tui/app.h"
#include "tui/screen.h"
#include "tui/term/surface.h"
#include "tui/term/surface_curses.h"

#define ROUNDS 60

/* What a chart of ncurses alone sent, in bytes: see docs/guide/performance.md. */
struct chart {
    int w;
    int h;
    long first;
    long cursor;
    long scroll;
};
static const struct chart PEER[] = {{80, 24, 5800, 800, 3700}, {160, 48, 21400, 1700, 9600}};

/* before: typed when all is opened; each: before every key, not counted */
static const struct {
    const char *what;
    const char *before;
    const char *each;
    const char *keys;
} KEYS[] = {
    {"cursor a column on (l)", "", "", "l"},
    {"the same, timeline alone", "M", "", "l"},
    {"the window moves (L), alone", "M", "++++", "4L"},
    {"a row down (gb j)", "gb", "", "j"},
    {"an event of the allocator (i)", "", "", "i"},
    {"an op (s)", "", "", "s"},
    {"a layer (])", "", "", "]"},
    {"a phase ())", "", "", ")"},
    {"a training step (})", "", "gg", "}"},
    {"zoom in (+)", "", "0", "+"},
    {"the peak (gp)", "", "gg", "gp"},
    {"another view (gs)", "", "gt", "gs"},
    {"help (?)", "", "gt", "?"},
};
#define KEY_COUNT (sizeof(KEYS) / sizeof(KEYS[0]))

struct bench {
    struct tui_app app;
    struct tui_surface surface;
    FILE *out;
};

static void must(enum vs_status st, const struct vs_error *err)
{
    if (st) {
        fprintf(stderr, "bench_bytes: %s\n", err->text);
        exit(1);
    }
}

/* Draw, and tell how many bytes that sent. */
static long draw(struct bench *b)
{
    off_t before = lseek(fileno(b->out), 0, SEEK_END);
    int x = -1;
    int y = 0;

    tui_app_sync(&b->app);
    tui_screen_draw(&b->app, &b->surface);
    if (!tui_screen_cursor(&b->app, &x, &y))
        x = -1;
    tui_curses_show(&b->surface, b->app.theme, x, y);
    fflush(b->out);
    return (long)(lseek(fileno(b->out), 0, SEEK_END) - before);
}

static long type(struct bench *b, const char *keys)
{
    while (*keys) {
        struct tui_input input = {.key = tui_key_parse(&keys)};

        tui_app_input(&b->app, &input);
        tui_app_sync(&b->app);
    }
    return draw(b);
}

static int by_value(const void *a, const void *b)
{
    long x = *(const long *)a;
    long y = *(const long *)b;

    return x < y ? -1 : x > y;
}

/* A terminal of this size that is a file; what the first frame sends. */
static long session_open(struct bench *b, const char *path, int w, int h, SCREEN **screen)
{
    struct vs_error err = VS_ERROR_INIT;
    char number[16];

    memset(b, 0, sizeof(*b));
    snprintf(number, sizeof(number), "%d", w);
    setenv("COLUMNS", number, 1);
    snprintf(number, sizeof(number), "%d", h);
    setenv("LINES", number, 1);
    b->out = tmpfile();
    *screen = b->out ? newterm("xterm-256color", b->out, stdin) : NULL;
    if (!*screen) {
        fprintf(stderr, "bench_bytes: there is no xterm-256color here\n");
        exit(1);
    }
    start_color();
    use_default_colors();
    must(tui_app_open(&b->app, path, &err), &err);
    tui_app_resize(&b->app, w, h);
    tui_surface_init(&b->surface, w, h, false);
    return draw(b);
}

static void session_close(struct bench *b, SCREEN *screen)
{
    endwin();
    delscreen(screen);
    tui_surface_release(&b->surface);
    tui_app_release(&b->app);
    fclose(b->out);
}

struct row {
    long median;
    long most;
};

static struct row row_measure(const char *path, int w, int h, size_t k)
{
    long bytes[ROUNDS];
    struct bench b;
    SCREEN *screen;

    session_open(&b, path, w, h, &screen);
    type(&b, KEYS[k].before);
    tui_app_go(&b.app, b.app.base.events / 3, false);
    for (int i = 0; i < ROUNDS; i++) {
        type(&b, KEYS[k].each);
        bytes[i] = type(&b, KEYS[k].keys);
    }
    session_close(&b, screen);
    qsort(bytes, ROUNDS, sizeof(bytes[0]), by_value);
    return (struct row){bytes[ROUNDS / 2], bytes[ROUNDS - 1]};
}

static long first_measure(const char *path, int w, int h)
{
    struct bench b;
    SCREEN *screen;
    long bytes = session_open(&b, path, w, h, &screen);

    session_close(&b, screen);
    return bytes;
}

/* The rows of the page: those of 160x48. */
static void row_put(size_t k, const struct row *row)
{
    static const struct {
        const char *what;
        const char *title;
        size_t peer; /* where the chart's figure is */
    } TITLES[] = {
        {"the same, timeline alone", "`l`, timeline alone", offsetof(struct chart, cursor)},
        {"the window moves (L), alone", "the window moves, timeline alone",
         offsetof(struct chart, scroll)},
        {"an op (s)", "`s`", offsetof(struct chart, scroll)},
    };

    for (size_t i = 0; i < sizeof(TITLES) / sizeof(TITLES[0]); i++) {
        char a[BENCH_TEXT_MAX], b[BENCH_TEXT_MAX], c[BENCH_TEXT_MAX];
        long peer;

        if (strcmp(KEYS[k].what, TITLES[i].what) != 0)
            continue;
        memcpy(&peer, (const char *)&PEER[1] + TITLES[i].peer, sizeof(peer));
        bench_row("bench_bytes", TITLES[i].title, "%s, at most %s bytes\t%s bytes",
                  bench_number((double)row->median, a), bench_number((double)row->most, b),
                  bench_number((double)peer, c));
    }
}

int main(void)
{
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    const char *program = getenv("VRAMSCOPE") ? getenv("VRAMSCOPE") : "build/vramscope";
    char path[256];
    char command[600];
    char a[BENCH_TEXT_MAX], b[BENCH_TEXT_MAX];
    long first;

    setlocale(LC_ALL, "C.UTF-8");
    snprintf(path, sizeof(path), "%s/vramscope-bench-4.db", folder);
    snprintf(command, sizeof(command),
             "%s record sample_nets/gpt2_small.py --device meta --steps 4 -o '%s' >/dev/null 2>&1",
             program, path);
    if (access(path, R_OK) != 0 && system(command) != 0) {
        fprintf(stderr, "bench_bytes: this failed: %s\n", command);
        exit(1);
    }
    printf("bytes to a terminal, median / most of %d\n\n  %-32s%20s%20s\n", ROUNDS, "", "80x24",
           "160x48");
    first = first_measure(path, 160, 48);
    printf("  %-32s%20ld%20ld\n", "first frame", first_measure(path, 80, 24), first);
    bench_row("bench_bytes", "first frame", "%s bytes\t%s bytes", bench_number((double)first, a),
              bench_number((double)PEER[1].first, b));
    for (size_t k = 0; k < KEY_COUNT; k++) {
        printf("  %-32s", KEYS[k].what);
        for (size_t i = 0; i < 2; i++) {
            struct row row = row_measure(path, PEER[i].w, PEER[i].h, k);

            printf("%12ld /%6ld", row.median, row.most);
            if (i == 1)
                row_put(k, &row);
        }
        printf("\n");
    }
    printf(
        "\n  a chart of ncurses alone: first frame %ld and %ld, cursor %ld and %ld, scrolling by "
        "three columns %ld and %ld\n",
        PEER[0].first, PEER[1].first, PEER[0].cursor, PEER[1].cursor, PEER[0].scroll,
        PEER[1].scroll);
    return 0;
}

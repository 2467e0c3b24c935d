/*
 * tests/tui/test_app.c - what a user does, and what the screen then says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "replay/report.h"
#include "replay/whatif.h"
#include "store/writer.h"
#include "tests/e2e/program.h"
#include "tests/store/small_trace.h"
#include "tests/tui/session.h"
#include "tui/change.h"

static void report_of(const char *path, struct rpl_trace **trace, struct rpl_report *report)
{
    struct vs_error err = VS_ERROR_INIT;

    memset(report, 0, sizeof(*report));
    if (rpl_trace_open(path, trace, &err) || rpl_report_fill(report, *trace, 10, &err))
        fail_msg("%s", err.text);
}

static void figures_on_the_screen_are_those_of_the_report(void **state)
{
    const char *path = session_trace("lenet", NULL);
    struct rpl_trace *trace;
    struct rpl_report report;
    struct tui_app app;
    char buf[VS_BYTES_TEXT_MAX];
    char text[128];

    (void)state;
    report_of(path, &trace, &report);
    session_open(&app, path, 120, 60);
    session_type(&app, "gkM");
    session_expect(&app, vs_bytes_exact_text(report.sum.peak.allocated, buf));
    snprintf(text, sizeof(text), "peak %s @%llu", vs_bytes_text(report.sum.peak.allocated, buf),
             (unsigned long long)report.sum.peak.event);
    session_expect(&app, text);
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++) {
        if (!report.by_category[i])
            continue;
        snprintf(text, sizeof(text), "%-11s%11s", vs_category_name((enum vs_category)i),
                 vs_bytes_text(report.by_category[i], buf));
        session_expect(&app, text);
    }
    for (size_t i = 0; i < report.largest_count; i++) {
        struct vs_text name = {NULL, 0, 0};

        rpl_block_text(trace, &report.largest[i], &name);
        session_expect(&app, vs_text_get(&name));
        vs_text_release(&name);
    }
    tui_app_release(&app);
    rpl_report_release(&report);
    rpl_trace_free(trace);
}

/* From the middle of the run, and from its ends. */
static void forwards_and_back_is_the_same_screen(void **state)
{
    static const char *const VERBS[][2] = {{"i", "I"}, {"s", "S"}, {"r", "R"}, {"]", "["},
                                           {")", "("}, {"}", "{"}, {"p", "P"}};
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 100, 30);
    for (size_t i = 0; i < sizeof(VERBS) / sizeof(VERBS[0]); i++) {
        char keys[64];
        char *before;
        char *after;
        uint64_t at;

        /* to a stop of the verb first: from between two of them the way back ends at the one before */
        snprintf(keys, sizeof(keys), ":goto 1<enter>%s", VERBS[i][0]);
        session_type(&app, keys);
        at = app.at;
        before = session_screen(&app, true);
        snprintf(keys, sizeof(keys), "2%s", VERBS[i][0]);
        session_type(&app, keys);
        if (app.at == at)
            fail_msg("`%s` goes nowhere", VERBS[i][0]);
        snprintf(keys, sizeof(keys), "2%s", VERBS[i][1]);
        session_type(&app, keys);
        after = session_screen(&app, true);
        if (strcmp(before, after) != 0)
            fail_msg("%s and %s:\n%s\n%s", VERBS[i][0], VERBS[i][1], before, after);
        free(before);
        free(after);
    }
    tui_app_release(&app);
}

static void a_what_if_shows_the_peak_that_recording_again_has(void **state)
{
    static const char *const TOGGLES[] = {"checkpoint=blocks", "inplace=on", "amp=bf16",
                                          "optimizer=adam"};

    (void)state;
    for (size_t i = 0; i < sizeof(TOGGLES) / sizeof(TOGGLES[0]); i++) {
        const char *path = session_trace("variables", TOGGLES[i]);
        struct rpl_trace *trace;
        struct rpl_report report;
        struct tui_app app;
        char buf[VS_BYTES_TEXT_MAX];
        char text[128];

        report_of(path, &trace, &report);
        session_open(&app, session_trace("variables", NULL), 120, 40);
        snprintf(text, sizeof(text), ":set %s<enter>", TOGGLES[i]);
        session_type(&app, text);
        assert_true(app.change.is_shown);
        assert_int_equal(tui_app_run(&app)->top.allocated, report.sum.peak.allocated);
        assert_int_equal(tui_app_run(&app)->top.event, report.sum.peak.event);
        snprintf(text, sizeof(text), "peak %s @%llu", vs_bytes_text(report.sum.peak.allocated, buf),
                 (unsigned long long)report.sum.peak.event);
        session_expect(&app, text);
        /* and back again, as it was */
        session_type(&app, "gw<C-r>");
        assert_false(app.change.is_shown);
        tui_app_release(&app);
        rpl_report_release(&report);
        rpl_trace_free(trace);
    }
}

static void a_second_trace_is_the_other_run_until_a_toggle_is_flipped(void **state)
{
    const char *a = session_trace("variables", NULL);
    const char *b = session_trace("variables", "inplace=on");
    struct tui_app app;
    uint64_t peaks[2];

    (void)state;
    session_open_pair(&app, a, b, 120, 40);
    session_type(&app, "gtM");
    session_expect(&app, "line: variables-inplace=on.db");
    peaks[0] = tui_app_run(&app)->top.allocated;
    session_type(&app, "D");
    session_expect(&app, "line: variables.db");
    peaks[1] = tui_app_run(&app)->top.allocated;
    assert_true(peaks[0] != peaks[1]);
    session_type(&app, "D");
    assert_int_equal(tui_app_run(&app)->top.allocated, peaks[0]);
    /* the what-if takes its place, and is the same run */
    session_type(&app, ":set inplace=on<enter>");
    session_expect(&app, "what if inplace=on");
    assert_int_equal(tui_app_run(&app)->top.allocated, peaks[1]);
    tui_app_release(&app);
}

static void a_new_user_finds_the_line_that_holds_most_within_ten_keys(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 80, 24);
    /* it opens at the peak, with the source beside it: what each line holds stands before it */
    session_type(&app, "gcM");
    session_expect(&app, "19          x1 = self.conv1(x0)");
    session_expect(&app, " 17.0M   19 ");
    tui_app_release(&app);
}

/* u shows the function that called, at the line of the call, and d leads back to the same screen. */
static void the_callers_of_a_line_are_walked(void **state)
{
    static const char NET[] = "import torch\nimport torch.nn as nn\n\n\n"
                              "class Block(nn.Module):\n"
                              "    def __init__(self):\n"
                              "        super().__init__()\n"
                              "        self.a = nn.Linear(8, 8)\n\n"
                              "    def forward(self, inside):\n"
                              "        y = torch.relu(inside)\n"
                              "        return self.a(y)\n\n\n"
                              "class Net(nn.Module):\n"
                              "    def __init__(self):\n"
                              "        super().__init__()\n"
                              "        self.one = Block()\n"
                              "        self.two = Block()\n\n"
                              "    def forward(self, outside):\n"
                              "        h = self.one(outside)\n"
                              "        k = self.two(h)\n"
                              "        return k\n\n\n"
                              "def model():\n    return Net()\n\n\n"
                              "def batch(n):\n"
                              "    return torch.randn(n, 8), torch.randint(0, 8, (n,))\n";
    const char *path = program_path("calls.db");
    struct program p = program_run("record", program_file("calls.py", NET), "-o", path, "--device",
                                   "meta", "--steps", "1", NULL);
    struct tui_app app;
    char *before;
    char *after;

    (void)state;
    assert_int_equal(p.status, 0);
    program_release(&p);
    session_open(&app, path, 120, 40);
    session_type(&app, "gcM:goto 1<enter>");
    while (rpl_cursor_here(app.base.cursor).line != 12 && app.at < app.base.events)
        session_type(&app, "s");
    before = session_screen(&app, false);
    session_type(&app, "u");
    session_expect(&app, "Net.forward, line 22, 1 above the one that runs");
    session_type(&app, "u");
    session_expect(&app, "no function of the net called this one");
    session_type(&app, "d");
    after = session_screen(&app, false);
    assert_string_equal(before, after);
    free(before);
    free(after);
    tui_app_release(&app);
}

struct heard {
    uint64_t calls;
    uint64_t done;
    uint64_t total;
    uint64_t most; /* stop after so many; 0: never */
};

static bool hear(void *user, uint64_t done, uint64_t total)
{
    struct heard *heard = user;

    assert_true(done >= heard->done && done <= total);
    heard->calls++;
    heard->done = done;
    heard->total = total;
    return heard->calls != heard->most;
}

/* A long what-if and the reading of a trace without an index tell how far they are, and can be stopped. */
static void what_takes_long_tells_how_far_it_is(void **state)
{
    const char *path = session_trace("lenet", NULL);
    struct rpl_trace *out = rpl_trace_new();
    struct tui_app *app = calloc(1, sizeof(*app));
    struct vs_error err = VS_ERROR_INIT;
    struct heard heard = {0};

    (void)state;
    assert_non_null(app);
    sql_run(path, "delete from derived");
    app->opening = hear;
    app->opening_user = &heard;
    assert_int_equal(tui_app_open(app, path, &err), VS_OK);
    assert_true(heard.calls > 0);
    assert_int_equal(heard.total, app->base.events);
    heard = (struct heard){0};
    assert_int_equal(
        rpl_whatif_run_told(app->base.trace, &app->change.set, hear, &heard, out, &err), VS_OK);
    assert_true(heard.calls > 6);
    assert_int_equal(heard.done, heard.total);
    heard = (struct heard){.most = 3};
    assert_int_equal(
        rpl_whatif_run_told(app->base.trace, &app->change.set, hear, &heard, out, &err),
        VS_E_STOPPED);
    assert_int_equal(heard.calls, 3);
    rpl_trace_free(out);
    tui_app_release(app);
    free(app);
}

static void every_action_is_done_by_somebody(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 160, 48);
    for (int i = 0; i < TUI_ACTION_COUNT; i++) {
        const struct tui_action_info *info = tui_action_info((enum tui_action)i);
        bool is_done = false;

        for (size_t v = 0; tui_view_at(v); v++) {
            struct tui_command command = {(enum tui_action)i, 1, false, 'a'};

            if (!(info->scope & tui_view_at(v)->scope))
                continue;
            tui_app_view_at(&app, (int)v);
            tui_app_sync(&app);
            vs_text_clear(&app.message);
            app.prompt.kind = 0;
            tui_app_act(&app, &command);
            tui_app_sync(&app);
            is_done |= !strstr(vs_text_get(&app.message), "means nothing");
        }
        if (!is_done)
            fail_msg("nobody does `%s` (%s)", info->name, info->keys);
    }
    tui_app_release(&app);
}

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static struct tui_input random_input(uint32_t *seed, const struct tui_app *app)
{
    static const uint32_t SPECIALS[] = {
        TUI_KEY_LEFT,  TUI_KEY_RIGHT, TUI_KEY_UP,        TUI_KEY_DOWN,  TUI_KEY_HOME,
        TUI_KEY_END,   TUI_KEY_PGUP,  TUI_KEY_PGDN,      TUI_KEY_TAB,   TUI_KEY_ENTER,
        TUI_KEY_ENTER, TUI_KEY_ESC,   TUI_KEY_BACKSPACE, TUI_CTRL('r'), 0x4E2D};
    struct tui_input input = {.key = 0x20 + next(seed) % 0x5F};
    uint32_t kind = next(seed) % 10;

    if (kind < 2)
        input.key = SPECIALS[next(seed) % (sizeof(SPECIALS) / sizeof(SPECIALS[0]))];
    if (kind == 2) {
        input.key = TUI_KEY_MOUSE;
        input.x = (int)(next(seed) % (unsigned)(app->w + 4)) - 2;
        input.y = (int)(next(seed) % (unsigned)(app->h + 4)) - 2;
        input.mouse = (enum tui_mouse)(next(seed) % 4);
    }
    return input;
}

static void random_keys_type(struct tui_app *app, uint32_t seed, int count)
{
    app->has_mouse = true;
    for (int i = 0; i < count; i++) {
        struct tui_input input = random_input(&seed, app);
        char *screen;

        tui_app_input(app, &input);
        if (next(&seed) % 20 == 0)
            tui_app_resize(app, (int)(next(&seed) % 200) + 1, (int)(next(&seed) % 60) + 1);
        tui_app_sync(app);
        assert_in_range(app->at, 1, tui_app_run(app)->events);
        assert_int_equal(rpl_cursor_seq(tui_app_run(app)->cursor), app->at);
        assert_true(app->window.first <= app->at && app->at <= app->window.last);
        if (i % 7)
            continue;
        screen = session_screen(app, false);
        assert_true(*screen);
        free(screen);
    }
}

/* Drawing outside of a surface is an assertion or found by a sanitizer; a cursor that is lost is found here. */
static void random_keys_and_sizes_leave_a_session_whole(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 80, 24);
    random_keys_type(&app, 20260, 4000);
    tui_app_release(&app);
    session_open_pair(&app, session_trace("lenet", NULL), session_trace("lenet", "batch=16"), 80,
                      24);
    random_keys_type(&app, 20261, 3000);
    tui_app_release(&app);
}

/* At an out-of-memory nobody knows what would have been read later. */
static void where_the_trace_ends_nothing_is_said_of_what_comes_after(void **state)
{
    const char *path = program_path("oom.db");
    struct program p = program_run("record", "sample_nets/resnet18.py", "--device", "meta",
                                   "--batch", "64", "--capacity", "1G", "-o", path, NULL);
    struct tui_app app;

    (void)state;
    program_release(&p);
    session_open(&app, path, 100, 40);
    session_type(&app, "!gb");
    session_expect(&app, "read next not in this trace");
    session_expect_not(&app, "need not be held");
    session_expect_not(&app, "!");
    session_type(&app, "gk");
    session_expect(&app, "Out of memory: 49.0 MiB were refused");
    session_expect_not(&app, "Alive although");
    tui_app_release(&app);
}

/* Whoever opens a run that ended so has one question, and the next: does it fit now? */
static void where_memory_ran_out_is_said_at_once(void **state)
{
    const char *path = program_path("oom2.db");
    struct program p = program_run("record", "sample_nets/resnet18.py", "--device", "meta",
                                   "--batch", "64", "--capacity", "1G", "-o", path, NULL);
    struct tui_app app;

    (void)state;
    program_release(&p);
    session_open(&app, path, 80, 24);
    assert_int_equal(app.at, sql_int(path, "select seq from event where kind = 'oom'"));
    session_expect(&app, "OUT OF MEMORY @");
    session_expect(&app, "49.0 MiB refused");
    session_expect(&app, "gk says what filled it");
    session_type(&app, "gk");
    session_expect(&app, "too little");
    session_type(&app, ":set batch=16<enter>gwM");
    session_expect(&app, "it fits: memory no longer runs out");
    session_expect_not(&app, "OUT OF MEMORY");
    assert_int_equal(app.at, tui_app_run(&app)->top.event);
    session_type(&app, ":set batch=128<enter>");
    session_expect(&app, "memory still runs out");
    session_expect(&app, "OUT OF MEMORY");
    tui_app_release(&app);
}

static char *file_text(const char *path)
{
    struct vs_text text = {NULL, 0, 0};
    FILE *file = fopen(path, "rb");
    char part[4096];
    size_t n;

    if (!file)
        return NULL;
    while ((n = fread(part, 1, sizeof(part), file)) > 0)
        vs_text_add_n(&text, part, n);
    fclose(file);
    return vs_text_take(&text);
}

static void a_run_and_a_pane_are_written_as_files(void **state)
{
    const char *trace = session_trace("variables", NULL);
    char *csv = strdup(program_path("events.csv"));
    char *folded = strdup(program_path("cursor.folded"));
    char *pane = strdup(program_path("pane.txt"));
    struct program p = program_run("export", trace, "--format", "csv", NULL);
    struct program at =
        program_run("export", trace, "--format", "collapsed", "--at", "event=300", NULL);
    struct tui_app app;
    char line[400];
    char *text;
    char *screen;

    (void)state;
    session_open(&app, trace, 80, 24);
    session_type(&app, "E");
    session_expect(&app, ":export");
    session_expect(&app, "collapsed");
    snprintf(line, sizeof(line), "cs<tab><esc>:export cs<tab> %s<enter>", csv);
    session_type(&app, line);
    session_expect(&app, "wrote ");
    text = file_text(csv);
    assert_string_equal(text, p.out);
    free(text);
    /* of one moment: that of the cursor */
    snprintf(line, sizeof(line), ":goto 300<enter>:export collapsed %s<enter>", folded);
    session_type(&app, line);
    text = file_text(folded);
    assert_string_equal(text, at.out);
    free(text);
    snprintf(line, sizeof(line), "gbM:export txt %s<enter>j", pane);
    session_type(&app, line);
    text = file_text(pane);
    session_type(&app, "k");
    screen = session_screen(&app, false);
    assert_non_null(strstr(screen, text));
    free(text);
    free(screen);
    /* of two runs both */
    free(folded);
    folded = strdup(program_path("both.svg"));
    snprintf(line, sizeof(line), ":set inplace=on<enter>:export svg %s<enter>", folded);
    session_type(&app, line);
    text = file_text(folded);
    assert_non_null(strstr(text, "inplace=on: peak 84.0 MiB"));
    assert_non_null(strstr(text, "variables.db: peak 100.0 MiB"));
    free(text);
    session_type(&app, ":export csv x.csv.gz<enter>");
    session_expect(&app, "name it without .gz");
    /* what is there stays, and what is no format is offered one */
    snprintf(line, sizeof(line), ":export csv %s<enter>", pane);
    session_type(&app, line);
    session_expect(&app, "it exists already");
    session_type(&app, ":export cvs x<enter>");
    session_expect(&app, "there is no format `cvs`");
    session_type(&app, ":export csv /nowhere/at/all.csv<enter>");
    session_expect(&app, "cannot be written");
    tui_app_release(&app);
    program_release(&p);
    program_release(&at);
    free(csv);
    free(folded);
    free(pane);
}

/* Without a source the lines stand by their functions, and hold all that is allocated. */
static void an_imported_trace_has_its_lines_by_function(void **state)
{
    const char *path = program_path("imported.db");
    struct program p =
        program_run("import", "tests/golden/snapshots/attention_3g.pickle.gz", "-o", path, NULL);
    struct tui_app app;

    (void)state;
    assert_int_equal(p.status, 0);
    program_release(&p);
    session_open(&app, path, 100, 40);
    session_type(&app, "gcM");
    session_expect(&app, "none in an imported trace: bytes by function and line");
    session_expect(&app, ".py:");
    session_type(&app, "<enter>");
    session_expect(&app, "held by   ");
    session_expect(&app, "derived");
    tui_app_release(&app);
}

static void filters_stack_and_are_forgotten(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 80, 24);
    session_type(&app, "gbM\\conv<enter>");
    session_expect(&app, "conv2.weight");
    session_expect_not(&app, "relu relu");
    session_type(&app, "\\weight<enter>");
    session_expect_not(&app, "_convolution");
    session_expect(&app, "shown 3");
    session_type(&app, "g\\");
    session_expect(&app, "relu relu");
    tui_app_release(&app);
}

static void a_search_goes_round_and_backwards(void **state)
{
    struct tui_app app;
    const struct tui_list *list;
    size_t first;
    size_t second;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 80, 24);
    session_type(&app, "gbM/relu<enter>");
    list = app.view_state[app.panes[app.focus]];
    first = list->at;
    session_type(&app, "n");
    second = list->at;
    assert_true(second > first);
    session_type(&app, "N");
    assert_int_equal(list->at, first);
    session_type(&app, "5n5N");
    assert_int_equal(list->at, first);
    session_type(&app, "/nothing has this<enter>");
    session_expect(&app, "no row with");
    tui_app_release(&app);
}

static void jumps_lead_back_and_forward(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 80, 24);
    session_type(&app, ":goto 100<enter>:goto 200<enter>:goto 300<enter>");
    session_type(&app, "<lt>");
    assert_int_equal(app.at, 200);
    session_type(&app, "<lt>");
    assert_int_equal(app.at, 100);
    session_type(&app, ">");
    assert_int_equal(app.at, 200);
    session_type(&app, ">");
    assert_int_equal(app.at, 300);
    session_type(&app, "gp''");
    assert_int_equal(app.at, 300);
    tui_app_release(&app);
}

static void a_break_on_a_line_is_run_to_both_ways(void **state)
{
    struct tui_app app;
    uint64_t hits[3];

    (void)state;
    session_open(&app, session_trace("variables", NULL), 80, 24);
    session_type(&app, ":break line = 21<enter>:goto 1<enter>");
    for (size_t i = 0; i < 3; i++) {
        session_type(&app, "c");
        hits[i] = app.at;
        assert_int_equal(rpl_cursor_here(app.base.cursor).line, 21);
        assert_true(i == 0 || hits[i] > hits[i - 1]);
    }
    session_type(&app, "C");
    assert_int_equal(app.at, hits[1]);
    session_type(&app, "C");
    assert_int_equal(app.at, hits[0]);
    /* switched off it is passed by */
    session_type(&app, "B<space>c");
    assert_int_equal(app.at, hits[0]);
    session_expect(&app, "no break is hit");
    tui_app_release(&app);
}

static void alloc_and_free_of_a_block_are_two_ends(void **state)
{
    struct tui_app app;
    uint64_t made;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 80, 24);
    session_type(&app, "gb%");
    made = app.at;
    assert_int_equal(rpl_cursor_here(app.base.cursor).event.kind, VS_EV_ALLOC);
    session_type(&app, "%");
    assert_int_equal(rpl_cursor_here(app.base.cursor).event.kind, VS_EV_FREE);
    session_type(&app, "%");
    assert_int_equal(app.at, made);
    tui_app_release(&app);
}

static void marks_stay_in_the_trace(void **state)
{
    char *copy = strdup(program_path("marked.db"));
    struct tui_app app;

    (void)state;
    small_trace_write(copy);
    session_open(&app, copy, 80, 24);
    session_type(&app, ":goto 5<enter>mx:note x look here<enter>");
    tui_app_release(&app);
    session_open(&app, copy, 80, 24);
    session_type(&app, "'x");
    assert_int_equal(app.at, 5);
    session_expect(&app, "look here");
    /* in the list it can be gone to, and taken away */
    session_type(&app, "gpB<space>");
    assert_int_equal(app.at, 5);
    session_expect(&app, "@5  look here  phase");
    session_type(&app, "x");
    session_expect_not(&app, "look here");
    tui_app_release(&app);
    free(copy);
}

static void a_command_is_completed_and_a_wrong_one_answered(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 80, 24);
    session_type(&app, ":set chec<tab>");
    assert_string_equal(vs_text_get(&app.prompt.text), "set checkpoint");
    session_type(&app, "=bl<tab>");
    assert_string_equal(vs_text_get(&app.prompt.text), "set checkpoint=blocks");
    session_type(&app, "<esc>:brek total > 1M<enter>");
    session_expect(&app, "did you mean `break`");
    session_type(&app, ":set amp=fp8<enter>");
    session_expect(&app, "fp8");
    assert_false(app.change.is_shown);
    session_type(&app, ":<up>");
    assert_string_equal(vs_text_get(&app.prompt.text), "set amp=fp8");
    tui_app_release(&app);
}

/* Every view, at a few sizes, of a trace that is small and one that has no net. */
static void every_view_can_be_drawn_of_a_small_trace(void **state)
{
    char *path = strdup(program_path("small.db"));
    static const int SIZES[][2] = {{40, 10}, {80, 24}, {120, 30}, {200, 60}};

    (void)state;
    small_trace_write(path);
    for (size_t i = 0; i < 4; i++) {
        struct tui_app app;

        session_open(&app, path, SIZES[i][0], SIZES[i][1]);
        for (size_t v = 0; tui_view_at(v); v++) {
            char *screen;

            tui_app_view_at(&app, (int)v);
            screen = session_screen(&app, true);
            assert_non_null(strstr(screen, tui_view_at(v)->title));
            free(screen);
        }
        tui_app_release(&app);
    }
    free(path);
}

/* Allocations number first … last. */
static void allocs_write(struct sto_writer *w, uint64_t first, uint64_t last)
{
    struct vs_error err = VS_ERROR_INIT;

    for (uint64_t i = first; i <= last; i++) {
        struct vs_event event = {.a = i,
                                 .b = 1000 * i,
                                 .c = 1024 * i,
                                 .d = i << 20,
                                 .kind = VS_EV_ALLOC,
                                 .aux = VS_CAT_ACTIVATION};

        assert_int_equal(sto_writer_events(w, &event, 1, &err), VS_OK);
    }
}

/* A trace of `count` events, each an allocation; the recorder was killed where it is not `complete`. */
static void tiny_trace_write(const char *path, uint64_t count, bool complete)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *w;

    assert_int_equal(sto_writer_open(path, NULL, &w, &err), VS_OK);
    allocs_write(w, 1, count);
    assert_int_equal(sto_writer_close(w, complete, &err), VS_OK);
}

static void a_recording_that_runs_is_followed(void **state)
{
    char *path = strdup(program_path("growing.db"));
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *w;
    struct tui_app app;

    (void)state;
    assert_int_equal(sto_writer_open(path, NULL, &w, &err), VS_OK);
    allocs_write(w, 1, 100);
    assert_int_equal(sto_writer_commit(w, &err), VS_OK);
    session_open(&app, path, 80, 24);
    app.is_following = true;
    session_type(&app, "G");
    session_expect(&app, "recording");
    session_expect(&app, "100/100");
    assert_false(tui_app_refresh(&app));
    allocs_write(w, 101, 40000);
    assert_int_equal(sto_writer_commit(w, &err), VS_OK);
    /* who stood at the end goes on standing there, who did not stays */
    assert_true(tui_app_refresh(&app));
    session_expect(&app, "40000/40000");
    assert_int_equal(app.window.last, 40000);
    session_type(&app, ":goto 7<enter>");
    allocs_write(w, 40001, 40002);
    assert_int_equal(sto_writer_close(w, true, &err), VS_OK);
    assert_true(tui_app_refresh(&app));
    session_expect(&app, "7/40002");
    session_expect_not(&app, "recording");
    tui_app_release(&app);
    free(path);
}

/* What a recording has got since is compared too. */
static void a_recording_that_runs_is_compared(void **state)
{
    char *path = strdup(program_path("growing2.db"));
    char *other = strdup(program_path("grown.db"));
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *w;
    struct tui_app app;

    (void)state;
    tiny_trace_write(other, 300, true);
    assert_int_equal(sto_writer_open(path, NULL, &w, &err), VS_OK);
    allocs_write(w, 1, 100);
    assert_int_equal(sto_writer_commit(w, &err), VS_OK);
    session_open_pair(&app, path, other, 80, 24);
    app.is_following = true;
    session_type(&app, "M");
    session_expect(&app, "33.3 % match, only in A 0, in B 200");
    allocs_write(w, 101, 300);
    assert_int_equal(sto_writer_commit(w, &err), VS_OK);
    assert_true(tui_app_refresh(&app));
    session_expect(&app, "100.0 % match");
    session_expect(&app, "B - A 0 B");
    tui_app_release(&app);
    assert_int_equal(sto_writer_close(w, true, &err), VS_OK);
    free(path);
    free(other);
}

static void a_trace_of_nothing_or_next_to_it_can_be_looked_at(void **state)
{
    static const char KEYS[] =
        "iIsSrR][)(}{fFcCpPgp!%*#bBW+-=0vzhlHLjkGgg<enter><space>/x<enter>nNyYoO%xa";
    char *path = strdup(program_path("tiny.db"));

    (void)state;
    for (uint64_t count = 0; count < 4; count++) {
        struct tui_app app;

        tiny_trace_write(path, count, count != 3);
        session_open(&app, path, 120, 40);
        for (size_t v = 0; tui_view_at(v); v++) {
            char *screen;

            tui_app_view_at(&app, (int)v);
            session_type(&app, KEYS);
            screen = session_screen(&app, true);
            assert_true(*screen);
            free(screen);
        }
        session_type(&app, "gt");
        session_expect(&app, count ? "peak " : "nothing was allocated");
        tui_app_release(&app);
        session_open_pair(&app, path, path, 120, 40);
        session_type(&app, "gdtttt<space><space>nNjD<enter>gDnNotjD<enter>");
        session_type(&app, "gt");
        if (count == 3)
            session_expect(&app, "cut off");
        tui_app_release(&app);
        unlink(path);
    }
    free(path);
}

static void a_trace_without_its_derived_tables_shows_the_same(void **state)
{
    char *path = strdup(program_path("derived.db"));
    struct tui_app app;
    char *before;
    char *after;

    (void)state;
    small_trace_write(path);
    session_open(&app, path, 120, 40);
    before = session_screen(&app, true);
    tui_app_release(&app);
    sql_run(path, "delete from derived");
    session_open(&app, path, 120, 40);
    after = session_screen(&app, true);
    assert_string_equal(before, after);
    tui_app_release(&app);
    free(before);
    free(after);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_on_the_screen_are_those_of_the_report),
        cmocka_unit_test(forwards_and_back_is_the_same_screen),
        cmocka_unit_test(a_what_if_shows_the_peak_that_recording_again_has),
        cmocka_unit_test(a_second_trace_is_the_other_run_until_a_toggle_is_flipped),
        cmocka_unit_test(a_new_user_finds_the_line_that_holds_most_within_ten_keys),
        cmocka_unit_test(the_callers_of_a_line_are_walked),
        cmocka_unit_test(what_takes_long_tells_how_far_it_is),
        cmocka_unit_test(every_action_is_done_by_somebody),
        cmocka_unit_test(random_keys_and_sizes_leave_a_session_whole),
        cmocka_unit_test(where_the_trace_ends_nothing_is_said_of_what_comes_after),
        cmocka_unit_test(where_memory_ran_out_is_said_at_once),
        cmocka_unit_test(an_imported_trace_has_its_lines_by_function),
        cmocka_unit_test(a_run_and_a_pane_are_written_as_files),
        cmocka_unit_test(filters_stack_and_are_forgotten),
        cmocka_unit_test(a_search_goes_round_and_backwards),
        cmocka_unit_test(jumps_lead_back_and_forward),
        cmocka_unit_test(a_break_on_a_line_is_run_to_both_ways),
        cmocka_unit_test(alloc_and_free_of_a_block_are_two_ends),
        cmocka_unit_test(marks_stay_in_the_trace),
        cmocka_unit_test(a_command_is_completed_and_a_wrong_one_answered),
        cmocka_unit_test(every_view_can_be_drawn_of_a_small_trace),
        cmocka_unit_test(a_trace_of_nothing_or_next_to_it_can_be_looked_at),
        cmocka_unit_test(a_recording_that_runs_is_followed),
        cmocka_unit_test(a_recording_that_runs_is_compared),
        cmocka_unit_test(a_trace_without_its_derived_tables_shows_the_same),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    program_cleanup();
    return failed;
}

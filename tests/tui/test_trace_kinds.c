/*
 * tests/tui/test_trace_kinds.c - traces that are imported, small, empty, truncated, without derived tables, or still
 * being recorded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/writer.h"
#include "tests/e2e/program.h"
#include "tests/store/small_trace.h"
#include "tests/tui/session.h"

/* At an out-of-memory it is not known what would have been read later. */
static void at_the_end_of_a_trace_no_later_use_is_shown(void **state)
{
    const char *path = program_path("oom.db");
    struct program p = program_run("record", "sample_nets/resnet18.py", "--device", "meta",
                                   "--batch", "64", "--capacity", "1G", "-o", path, NULL);
    struct tui_app app;

    (void)state;
    program_release(&p);
    session_open(&app, path, 100, 40);
    session_type(&app, "!gb");
    session_expect(&app, "next use  none within the trace");
    session_expect_not(&app, "need not be held");
    session_expect_not(&app, "!");
    session_type(&app, "gk");
    session_expect(&app, "Out of memory: 49.0 MiB were refused");
    session_expect_not(&app, "Alive although");
    tui_app_release(&app);
}

/* Only a program that was recorded over a simulated GPU can run again to an event. */
static void a_net_is_no_program_that_runs_again_to_an_event(void **state)
{
    const char *path = program_record("sample_nets/lenet.py", "net.db", NULL, NULL);
    struct tui_app app;

    (void)state;
    session_open(&app, path, 100, 40);
    session_type(&app, "gH");
    session_expect(&app, "the trace is of no program that vramscope recorded");
    session_type(&app, ":python<enter>");
    session_expect(&app, "the trace is of no program that vramscope recorded");
    assert_int_equal(app.wish, TUI_WISH_NOTHING);
    tui_app_release(&app);
}

/* Give a trace the file `name` of a program of its own: line 7 is marked; the other lines say their numbers. */
static void script_give(const char *path, const char *file)
{
    struct vs_text sql = {NULL, 0, 0};

    vs_text_addf(&sql,
                 "insert into meta values ('rerun_scripts', '%s' || char(10)), "
                 "('rerun_script %s', 'first' || char(10) || 'line 2' || char(10) || 'line 3' || "
                 "char(10) || 'line 4' || char(10) || 'line 5' || char(10) || '  six = 6' || "
                 "char(10) || '  e = x.exp()  # seven' || char(10))",
                 file, file);
    sql_run(path, vs_text_get(&sql));
    vs_text_release(&sql);
}

/* A program's own file is shown as it was recorded, with the bytes of its lines; the call stack stands beside it. */
static void a_program_has_its_own_source_as_recorded(void **state)
{
    const char *path = program_path("program.db");
    const char *file = program_path("trace_peak_memory.py");
    struct program p =
        program_run("import", "tests/golden/snapshots/attention_3g.pickle.gz", "-o", path, NULL);
    struct tui_app app;

    (void)state;
    assert_int_equal(p.status, 0);
    program_release(&p);
    script_give(path, file);
    session_open(&app, path, 160, 50);
    session_type(&app, "!gcM");
    session_expect(
        &app, "trace_peak_memory.py as recorded, changed since: bytes by line, most in line 7");
    session_expect(&app, "by other files");
    session_expect(&app, "512M    7  ");
    session_expect(&app, "e = x.exp()  # seven");
    session_expect(&app, "256K    6  ");
    session_expect_not(&app, "none recorded");
    tui_app_release(&app);
    p = program_run("report", path, NULL);
    if (!strstr(p.out, "line 7 of trace_peak_memory.py:custom_softmax\n"
                       "          7 | e = x.exp()  # seven\n"))
        fail_msg("the report has no text of line 7: %s", p.out);
    program_release(&p);
    p = program_run("report", path, "--json", NULL);
    if (!strstr(p.out, "\"source_line\": \"six = 6\""))
        fail_msg("the report has no text of line 6: %s", p.out);
    program_release(&p);
}

/* Without a source, lines are listed by function, and together have all allocated bytes. */
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
    session_expect(&app, "none recorded: bytes by function and line");
    session_expect(&app, ".py:");
    session_type(&app, "<enter>");
    session_expect(&app, "held by   ");
    session_expect(&app, "derived");
    tui_app_release(&app);
    /* what can be tried without a net is in sight, however few rows there are */
    session_open(&app, path, 80, 24);
    session_type(&app, "gw");
    session_expect(&app, "alloc-conf         default");
    session_expect(&app, "target             none");
    session_expect_not(&app, "[ ] checkpoint");
    /* the settings of the allocator have no list of values: space takes one that `whatif --each` tries */
    session_type(&app, "<space>");
    session_expect(&app, "what if alloc-conf=expandable_segments:True");
    session_type(&app, "<space>");
    session_expect(&app, "the recorded toggles");
    session_expect(&app, "[ ] alloc-conf         default");
    session_type(&app, "gm");
    session_expect_not(&app, "K checkpoint, X");
    tui_app_release(&app);
    /* no pane says only that there is nothing in it */
    session_open(&app, path, 160, 48);
    session_expect(&app, " modules ");
    session_expect(&app, " segments ");
    session_expect_not(&app, "a snapshot has no ops");
    tui_app_release(&app);
}

static void why_shows_the_whole_call_stack_of_an_imported_block(void **state)
{
    const char *path = program_path("stacks.db");
    struct program p = program_run("import", "tests/golden/snapshots/lm4_forward_ctx100.pickle.gz",
                                   "-o", path, NULL);
    struct tui_app app;

    (void)state;
    program_release(&p);
    session_open(&app, path, 200, 60);
    session_type(&app, "!gy");
    session_expect(&app, " call stack of the allocation");
    session_expect(&app, "einops/einops.py:einsum:916");
    session_expect(&app, "torch/nn/modules/module.py:_call_impl:1750");
    session_expect(&app, "TransformerLM.py:forward:");
    tui_app_release(&app);
}

/* u and d walk the stack of the event; the file is shown where it lies beside the trace. */
static void the_call_stack_of_an_imported_event_is_walked(void **state)
{
    const char *path = program_path("walked.db");
    struct program p = program_run("import", "tests/golden/snapshots/lm4_forward_ctx100.pickle.gz",
                                   "-o", path, NULL);
    struct vs_text source = {NULL, 0, 0};
    struct tui_app app;

    (void)state;
    program_release(&p);
    for (int line = 1; line < 80; line++)
        vs_text_addf(&source, "statement %d\n", line);
    program_file("profile_memory.py", vs_text_get(&source));
    vs_text_release(&source);
    session_open(&app, path, 120, 40);
    session_type(&app, "gcM");
    /* the frames of libraries share rows; the innermost of the program's own files is chosen */
    session_expect(&app, "│   3 frames of libraries\n");
    session_expect(&app, "│ > linear.py:forward:36\n");
    session_expect(&app, "│   2 frames of torch\n");
    session_type(&app, "d");
    session_expect(&app, "this is the innermost frame of your files");
    session_type(&app, "99u");
    session_expect(&app, "> profile_memory.py:<module>:58");
    session_expect(&app, "   58 > statement 58");
    session_type(&app, "u");
    session_expect(&app, "this is the outermost frame");
    session_type(&app, "2d");
    session_expect(&app, "   21 > statement 21");
    /* another event has another stack, of which the innermost frame is chosen */
    session_type(&app, ":goto 40<enter>");
    session_expect(&app, "> ");
    session_expect_not(&app, "> profile_memory.py");
    tui_app_release(&app);
}

/* Blocks of the same size and the same words have one row of the peak page. */
static void blocks_that_are_alike_share_a_row(void **state)
{
    const char *path = program_path("alike.db");
    struct program p = program_run("import", "tests/golden/snapshots/two_gpu_state_only.pickle.gz",
                                   "-o", path, NULL);
    struct tui_app app;
    char *screen;
    const char *row;

    (void)state;
    program_release(&p);
    session_open(&app, path, 100, 40);
    session_type(&app, "gkM");
    screen = session_screen(&app, false);
    row = strstr(screen, "112.5 MiB  no stack recorded  5 alike: 562.5 MiB");
    if (!row || strstr(row + 1, "112.5 MiB"))
        fail_msg("no row of five blocks, or more than one:\n%s", screen);
    free(screen);
    tui_app_release(&app);
}

/* What is derived says so where it is shown, with the share of pre-existing blocks. */
static void what_is_derived_says_so(void **state)
{
    const char *path = program_path("says_so.db");
    struct program p = program_run(
        "import", "tests/golden/snapshots/nca_custom_kernel_step.pickle.gz", "-o", path, NULL);
    struct tui_app app;

    (void)state;
    program_release(&p);
    session_open(&app, path, 80, 24);
    session_expect(&app, "memory phases, categories derived; pre-existing blocks up to @76");
    session_type(&app, "gkM");
    session_expect(&app, "categories derived; 1.6 % was allocated before");
    tui_app_release(&app);
}

static void calls_are_a_tree_that_follows_the_cursor(void **state)
{
    const char *path = program_path("calls.db");
    struct program p = program_run("import", "tests/golden/snapshots/lm4_forward_ctx100.pickle.gz",
                                   "-o", path, NULL);
    struct tui_app app;

    (void)state;
    program_release(&p);
    session_open(&app, path, 120, 30);
    session_type(&app, "gTM");
    session_expect(&app, " 397M 100.0 %     158▶ ▾ profile_memory.py:<module>:58 > ");
    session_expect(&app, "TransformerLM.py:forward:47");
    session_type(&app, "<space>");
    session_expect_not(&app, "TransformerLM.py:forward:47");
    session_type(&app, "<space>:goto 40<enter>");
    session_expect(&app, "55.6M 100.0 %      30▶ ▾ profile_memory.py:<module>:58 > ");
    session_expect(&app, "TransformerLM.py:__init__:30");
    session_type(&app, "<enter>");
    session_expect(&app, "held by");
    session_type(&app, "gr");
    session_expect(&app, "without it; snapshots do not say who holds");
    session_expect(&app, "the model: parameters (derived)");
    tui_app_release(&app);
}

/* Blocks without a call stack are under the first part of their module's path, which alone could be anything. */
static void a_module_among_call_stacks_is_called_one(void **state)
{
    const char *path = program_record("sample_nets/lenet.py", "sourceless.db", NULL, NULL);
    struct tui_app app;

    (void)state;
    sql_run(path, "delete from source");
    session_open(&app, path, 120, 30);
    session_type(&app, "gpgTM");
    session_expect(&app, " module relu1 > LeNet.forward:23");
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
        struct vs_event event = {.alloc = {.block = i,
                                           .requested_bytes = 1000 * i,
                                           .block_bytes = 1024 * i,
                                           .address = i << 20,
                                           .category = VS_CAT_ACTIVATION},
                                 .kind = VS_EV_ALLOC};

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

static void a_recording_in_progress_is_followed(void **state)
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
    /* a cursor at the end follows the end; any other stays at its event */
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
static void a_recording_in_progress_is_compared(void **state)
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

static void traces_of_up_to_three_events_can_be_viewed(void **state)
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
        cmocka_unit_test(a_net_is_no_program_that_runs_again_to_an_event),
        cmocka_unit_test(at_the_end_of_a_trace_no_later_use_is_shown),
        cmocka_unit_test(an_imported_trace_has_its_lines_by_function),
        cmocka_unit_test(a_program_has_its_own_source_as_recorded),
        cmocka_unit_test(why_shows_the_whole_call_stack_of_an_imported_block),
        cmocka_unit_test(the_call_stack_of_an_imported_event_is_walked),
        cmocka_unit_test(blocks_that_are_alike_share_a_row),
        cmocka_unit_test(what_is_derived_says_so),
        cmocka_unit_test(calls_are_a_tree_that_follows_the_cursor),
        cmocka_unit_test(a_module_among_call_stacks_is_called_one),
        cmocka_unit_test(every_view_can_be_drawn_of_a_small_trace),
        cmocka_unit_test(a_recording_in_progress_is_followed),
        cmocka_unit_test(a_recording_in_progress_is_compared),
        cmocka_unit_test(traces_of_up_to_three_events_can_be_viewed),
        cmocka_unit_test(a_trace_without_its_derived_tables_shows_the_same),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    program_cleanup();
    return failed;
}

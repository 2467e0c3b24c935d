/*
 * tests/store/held/test_held.c - holders of single events in a trace's file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/event.h"
#include "base/text.h"
#include "store/held/held.h"
#include "store/reader.h"
#include "tests/replay/random_trace.h"
#include "tests/store/trace_file.h"

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

static void file_make(void **state, char *path, size_t size)
{
    struct rpl_trace *memory = random_trace(100, 5);

    trace_path(state, "held.db", path, size);
    random_trace_write(memory, 100, path);
    rpl_trace_free(memory);
}

struct reading {
    struct sto_reader *reader;
    struct vs_text text;
};

static void row_add(void *user, uint64_t block, uint32_t kind, uint32_t name, uint32_t scope,
                    uint32_t place, uint64_t node)
{
    struct reading *r = user;
    const struct vs_location *location = sto_reader_location(r->reader, place);

    vs_text_addf(&r->text, "%d %s %s|%s|%s:%d p%d %d\n", (int)block,
                 vs_holder_name((enum vs_holder)kind), sto_reader_string(r->reader, name),
                 sto_reader_string(r->reader, scope), sto_reader_string(r->reader, location->func),
                 (int)location->line, (int)location->phase, (int)node);
}

static void seq_add(void *user, uint64_t seq)
{
    struct reading *r = user;

    vs_text_addf(&r->text, "%d ", (int)seq);
}

/* The rows of an event as text; 0: the events that have some. */
static void check(const char *path, uint64_t seq, const char *wanted)
{
    struct vs_error err = VS_ERROR_INIT;
    struct reading r = {.reader = NULL};

    ok(sto_reader_open(path, &r.reader, &err), &err);
    vs_text_add(&r.text, "");
    if (seq)
        ok(sto_held_each(r.reader, seq, row_add, &r, &err), &err);
    else
        ok(sto_held_events(r.reader, seq_add, &r, &err), &err);
    assert_string_equal(vs_text_get(&r.text), wanted);
    vs_text_release(&r.text);
    sto_reader_close(r.reader);
}

static const struct sto_held ROWS[] = {
    {.block = 3,
     .kind = VS_HOLD_LOCAL,
     .name = "held x",
     .scope = "step",
     .func = "a.py",
     .line = 7},
    {.block = 3, .kind = VS_HOLD_SAVED, .name = "MulBackward0", .scope = "", .func = "", .node = 9},
    {.block = 4,
     .kind = VS_HOLD_LOCAL,
     .name = "held x",
     .scope = "step",
     .func = "a.py",
     .line = 7},
};

static void rows_are_read_as_they_were_set_and_names_are_strings_of_the_trace(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    char path[4096];

    file_make(state, path, sizeof(path));
    check(path, 0, "");
    check(path, 40, "");
    ok(sto_held_set(path, 40, VS_PHASE_BACKWARD, ROWS, 3, &err), &err);
    check(path, 0, "40 ");
    check(path, 39, "");
    check(path, 40,
          "3 local held x|step|a.py:7 p4 0\n"
          "3 saved MulBackward0||:0 p0 9\n"
          "4 local held x|step|a.py:7 p4 0\n");
}

static void setting_an_event_again_replaces_its_rows_alone(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    char path[4096];

    file_make(state, path, sizeof(path));
    ok(sto_held_set(path, 40, VS_PHASE_FORWARD, ROWS, 3, &err), &err);
    ok(sto_held_set(path, 12, VS_PHASE_FORWARD, ROWS, 1, &err), &err);
    ok(sto_held_set(path, 40, VS_PHASE_FORWARD, &ROWS[1], 1, &err), &err);
    check(path, 0, "12 40 ");
    check(path, 12, "3 local held x|step|a.py:7 p2 0\n");
    check(path, 40, "3 saved MulBackward0||:0 p0 9\n");
}

static void a_file_that_cannot_be_written_is_named(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    char path[4096];

    trace_path(state, "absent.db", path, sizeof(path));
    assert_int_not_equal(sto_held_set(path, 1, 0, ROWS, 1, &err), VS_OK);
    assert_non_null(strstr(err.text, "absent.db"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_read_as_they_were_set_and_names_are_strings_of_the_trace),
        cmocka_unit_test(setting_an_event_again_replaces_its_rows_alone),
        cmocka_unit_test(a_file_that_cannot_be_written_is_named),
    };

    return cmocka_run_group_tests_name("store/held", tests, trace_folder_setup,
                                       trace_folder_teardown);
}

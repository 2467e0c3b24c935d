/*
 * tests/replay/trace/test_table.c - rows of a query as texts: bounded, stopped, refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "replay/trace/table.h"
#include "tests/e2e/program.h"
#include "tests/store/small_trace.h"

static struct rpl_trace *opened(const char *name)
{
    const char *path = program_path(name);
    struct rpl_trace *trace = NULL;
    struct vs_error err = VS_ERROR_INIT;

    small_trace_write(path);
    if (rpl_trace_open(path, &trace, &err))
        fail_msg("%s", err.text);
    return trace;
}

static void a_table_has_the_first_rows_of_a_query(void **state)
{
    struct rpl_trace *trace = opened("rows.db");
    struct rpl_table table = {.count = 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(rpl_table_query(&table, trace,
                                     "select seq, kind, null as none from event order by seq", 5,
                                     NULL, NULL, &err),
                     VS_OK);
    assert_int_equal(table.columns, 3);
    assert_int_equal(table.count, 5);
    assert_true(table.has_more);
    assert_string_equal(table.names[1], "kind");
    assert_true(table.is_number[0]);
    assert_false(table.is_number[1]);
    assert_string_equal(rpl_table_cell(&table, 4, 0), "5");
    assert_string_equal(rpl_table_cell(&table, 0, 2), "");
    /* the same table again, with all rows */
    assert_int_equal(rpl_table_query(&table, trace, "select 1 union select 2", 5, NULL, NULL, &err),
                     VS_OK);
    assert_int_equal(table.count, 2);
    assert_false(table.has_more);
    rpl_table_release(&table);
    rpl_trace_free(trace);
}

static bool stop_at_once(void *user)
{
    ++*(int *)user;
    return false;
}

static void a_query_can_be_stopped(void **state)
{
    struct rpl_trace *trace = opened("stopped.db");
    struct rpl_table table = {.count = 0};
    struct vs_error err = VS_ERROR_INIT;
    int calls = 0;

    (void)state;
    assert_int_equal(rpl_table_query(&table, trace,
                                     "with recursive n(i) as (select 1 union all select i + 1 from "
                                     "n) select count(*) from n",
                                     5, stop_at_once, &calls, &err),
                     VS_E_STOPPED);
    assert_true(calls > 0);
    rpl_table_release(&table);
    rpl_trace_free(trace);
}

static void what_writes_is_refused_and_so_is_a_trace_in_memory(void **state)
{
    struct rpl_trace *trace = opened("kept.db");
    struct rpl_trace *memory = rpl_trace_new();
    struct rpl_table table = {.count = 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(rpl_table_query(&table, trace, "delete from meta", 5, NULL, NULL, &err),
                     VS_E_USAGE);
    assert_non_null(strstr(err.text, "a trace can only be read"));
    assert_int_equal(rpl_table_query(&table, trace, "select * from nowhere", 5, NULL, NULL, &err),
                     VS_E_USAGE);
    assert_non_null(strstr(err.text, "no such table"));
    assert_int_equal(rpl_table_query(&table, memory, "select 1", 5, NULL, NULL, &err),
                     VS_E_UNSUPPORTED);
    assert_int_equal(table.count, 0);
    rpl_table_release(&table);
    rpl_trace_free(memory);
    rpl_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_has_the_first_rows_of_a_query),
        cmocka_unit_test(a_query_can_be_stopped),
        cmocka_unit_test(what_writes_is_refused_and_so_is_a_trace_in_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

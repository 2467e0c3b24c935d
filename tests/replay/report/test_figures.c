/*
 * tests/replay/report/test_figures.c - a report from stored figures equals one that reads all events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/text.h"
#include "lang/run/run.h"
#include "replay/index/index_internal.h"
#include "replay/report/figures.h"
#include "replay/report/report.h"
#include "tests/facts/facts.h"
#include "tests/store/trace_file.h"
#include "tracer/recorder.h"

#define PATH_SIZE 4096
/* So many steps of lenet are long enough for stored figures. */
#define STEPS "70"

/* The part of the table `derived` that has the figures: behind all of the index. */
#define THE_PART "id >> 32 = 75"
_Static_assert(RPL_PART_LEVEL + 64 == 75, "the number of the figures' part");

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s: %s", vs_status_name(st), err->text);
}

static void print_nothing(void *user, const char *text, size_t len)
{
    (void)user;
    (void)text;
    (void)len;
}

static void record(const char *path, const char *toggles, bool is_complete)
{
    struct facts_net net = facts_net_read("sample_nets/lenet.py");
    struct lang_settings settings = {.file_name = net.path, .text = net.text};
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    struct trc_recorder *rec = NULL;
    struct lang_result result;

    memset(&result, 0, sizeof(result));
    facts_toggles(toggles, &set);
    ok(trc_recorder_open(path, NULL, &rec, &err), &err);
    trc_recorder_meta_set(rec, "source_kind", "net");
    trc_recorder_source_add(rec, net.path, net.text);
    settings.len = strlen(net.text);
    settings.toggles = &set;
    settings.observer = trc_recorder_observer(rec);
    settings.print = print_nothing;
    ok(lang_run(&settings, &result, &err), &err);
    ok(trc_recorder_close(rec, is_complete, &err), &err);
    lang_result_release(&result);
    vs_toggles_release(&set);
    facts_net_release(&net);
}

/* The whole report as JSON; the caller releases it. */
static struct vs_text report_of(const char *path)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    struct rpl_report report = {.trace = NULL};
    struct rpl_trace *trace = NULL;

    ok(rpl_trace_open(path, &trace, &err), &err);
    ok(rpl_report_fill(&report, trace, 10, &err), &err);
    rpl_report_json(&report, &text);
    rpl_report_release(&report);
    rpl_trace_free(trace);
    return text;
}

static int64_t sql_number(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    int64_t number = 0;
    int rc;

    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        number = sqlite3_column_int64(stmt, 0);
    else
        assert_int_equal(rc, SQLITE_DONE);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return number;
}

static enum vs_status load(const char *path)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace = NULL;
    struct rpl_summary summary;
    struct rpl_traffic traffic;
    enum vs_status st;

    memset(&summary, 0, sizeof(summary));
    memset(&traffic, 0, sizeof(traffic));
    ok(rpl_trace_open(path, &trace, &err), &err);
    st = rpl_figures_load(trace, &summary, &traffic, &err);
    rpl_summary_release(&summary);
    rpl_traffic_release(&traffic);
    rpl_trace_free(trace);
    return st;
}

/* Two reports, of which the second finds the figures of the first, and a third without them. */
static void same_check(const char *path)
{
    struct vs_text computed = report_of(path);
    struct vs_text stored;
    struct vs_text again;

    assert_int_equal(sql_number(path, "SELECT count(*) FROM derived WHERE " THE_PART), 1);
    assert_int_equal(load(path), VS_OK);
    stored = report_of(path);
    assert_string_equal(vs_text_get(&stored), vs_text_get(&computed));
    sql_number(path, "DELETE FROM derived");
    assert_int_equal(load(path), VS_E_NOT_FOUND);
    again = report_of(path);
    assert_string_equal(vs_text_get(&again), vs_text_get(&computed));
    vs_text_release(&computed);
    vs_text_release(&stored);
    vs_text_release(&again);
}

static void a_report_from_stored_figures_is_the_same(void **state)
{
    static const char *const TOGGLES[] = {"steps=" STEPS,
                                          "steps=" STEPS " checkpoint=blocks amp=fp16",
                                          "steps=" STEPS " target=h100"};
    char path[PATH_SIZE];
    char name[32];

    for (size_t i = 0; i < sizeof(TOGGLES) / sizeof(TOGGLES[0]); i++) {
        snprintf(name, sizeof(name), "same%zu.db", i);
        record(trace_path(state, name, path, sizeof(path)), TOGGLES[i], true);
        same_check(path);
    }
}

static void damaged_figures_are_computed_again(void **state)
{
    char path[PATH_SIZE];
    struct vs_text computed;
    struct vs_text again;

    record(trace_path(state, "damaged.db", path, sizeof(path)), "steps=" STEPS, true);
    computed = report_of(path);
    sql_number(path, "UPDATE derived SET data = zeroblob(40) WHERE " THE_PART);
    assert_int_equal(load(path), VS_E_NOT_FOUND);
    again = report_of(path);
    assert_string_equal(vs_text_get(&again), vs_text_get(&computed));
    assert_int_equal(load(path), VS_OK);
    vs_text_release(&computed);
    vs_text_release(&again);
}

static void summary_check(const char *path, const struct rpl_summary *expected)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace = NULL;
    struct rpl_summary sum = {.events = 0};

    ok(rpl_trace_open(path, &trace, &err), &err);
    ok(rpl_figures_summary(trace, &sum, &err), &err);
    assert_memory_equal(&sum.peak, &expected->peak, sizeof(sum.peak));
    assert_memory_equal(sum.casts.by, expected->casts.by, sizeof(sum.casts.by));
    assert_int_equal(sum.events, expected->events);
    assert_int_equal(sum.flops, expected->flops);
    assert_int_equal(sum.parameters, expected->parameters);
    assert_int_equal(sum.step_count, expected->step_count);
    for (size_t i = 0; i < sum.step_count; i++) {
        assert_int_equal(sum.steps[i].step, expected->steps[i].step);
        assert_int_equal(sum.steps[i].phase_count, expected->steps[i].phase_count);
        assert_int_equal(sum.steps[i].phases[0].allocated_peak,
                         expected->steps[i].phases[0].allocated_peak);
    }
    rpl_summary_release(&sum);
    rpl_trace_free(trace);
}

static void a_summary_is_the_same_with_and_without_stored_figures(void **state)
{
    char path[PATH_SIZE];
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace = NULL;
    struct rpl_summary expected = {.events = 0};
    struct vs_text text;

    record(trace_path(state, "summary.db", path, sizeof(path)), "steps=" STEPS " amp=bf16", true);
    ok(rpl_trace_open(path, &trace, &err), &err);
    ok(rpl_summary_fill(&expected, trace, &err), &err);
    rpl_trace_free(trace);
    assert_int_equal(load(path), VS_E_NOT_FOUND);
    summary_check(path, &expected);
    text = report_of(path);
    assert_int_equal(load(path), VS_OK);
    summary_check(path, &expected);
    rpl_summary_release(&expected);
    vs_text_release(&text);
}

/* Put the figures of another trace into this one. */
static void figures_copy(const char *from, const char *to)
{
    sqlite3 *db = NULL;
    char *sql = sqlite3_mprintf("ATTACH %Q AS other; UPDATE derived SET data = (SELECT data FROM "
                                "other.derived WHERE " THE_PART ") WHERE " THE_PART,
                                from);

    assert_int_equal(sqlite3_open_v2(to, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_free(sql);
    sqlite3_close(db);
}

static void figures_of_other_events_are_not_used(void **state)
{
    char one[PATH_SIZE];
    char other[PATH_SIZE];
    struct vs_text text;

    record(trace_path(state, "one.db", one, sizeof(one)), "steps=" STEPS, true);
    record(trace_path(state, "other.db", other, sizeof(other)), "steps=71", true);
    text = report_of(one);
    vs_text_release(&text);
    text = report_of(other);
    vs_text_release(&text);
    assert_int_equal(load(one), VS_OK);
    figures_copy(other, one);
    assert_int_equal(load(one), VS_E_NOT_FOUND);
}

static uint64_t events_of(const char *path)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace = NULL;
    uint64_t count;

    ok(rpl_trace_open(path, &trace, &err), &err);
    count = rpl_trace_event_count(trace);
    rpl_trace_free(trace);
    return count;
}

static void a_trace_that_is_cut_off_or_short_has_no_figures(void **state)
{
    char path[PATH_SIZE];
    struct vs_text text;

    record(trace_path(state, "cut.db", path, sizeof(path)), "steps=" STEPS, false);
    text = report_of(path);
    vs_text_release(&text);
    assert_int_equal(load(path), VS_E_NOT_FOUND);
    record(trace_path(state, "short.db", path, sizeof(path)), "steps=2", true);
    text = report_of(path);
    vs_text_release(&text);
    /* with STRESS=1 a chunk is so small that two steps are long enough, too */
    assert_int_equal(load(path), events_of(path) < RPL_STORE_EVENTS ? VS_E_NOT_FOUND : VS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_from_stored_figures_is_the_same),
        cmocka_unit_test(a_summary_is_the_same_with_and_without_stored_figures),
        cmocka_unit_test(damaged_figures_are_computed_again),
        cmocka_unit_test(figures_of_other_events_are_not_used),
        cmocka_unit_test(a_trace_that_is_cut_off_or_short_has_no_figures),
    };

    return cmocka_run_group_tests(tests, trace_folder_setup, trace_folder_teardown);
}

/*
 * tests/replay/index/test_index_faults.c - a disk that fails while the index is stored, and a folder that may not be
 * written, cost the index and nothing else; one that fails while a trace is read gives an error, or what is right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lang/run/run.h"
#include "replay/index/cursor.h"
#include "replay/index/index.h"
#include "replay/report/report.h"
#include "tests/facts/facts.h"
#include "tests/store/faults/fault_vfs.h"
#include "tests/store/trace_file.h"
#include "tracer/recorder.h"

#define PATH_SIZE 4096
#define CALLS_MAX 20000
/* Enough for an index that is stored. */
#define LONG "steps=70"

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

static void record(const char *path, const char *steps)
{
    struct facts_net net = facts_net_read("sample_nets/lenet.py");
    struct lang_settings settings = {.file_name = net.path, .text = net.text};
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    struct trc_recorder *rec = NULL;
    struct lang_result result;

    memset(&result, 0, sizeof(result));
    facts_toggles(steps, &set);
    ok(trc_recorder_open(path, NULL, &rec, &err), &err);
    trc_recorder_meta_set(rec, "source_kind", "net");
    trc_recorder_source_add(rec, net.path, net.text);
    settings.len = strlen(net.text);
    settings.toggles = &set;
    settings.observer = trc_recorder_observer(rec);
    settings.print = print_nothing;
    ok(lang_run(&settings, &result, &err), &err);
    ok(trc_recorder_close(rec, true, &err), &err);
    lang_result_release(&result);
    vs_toggles_release(&set);
    facts_net_release(&net);
}

static void sql(const char *path, const char *text, const char *expected)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;

    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, text, -1, &stmt, NULL), SQLITE_OK);
    if (sqlite3_step(stmt) == SQLITE_ROW && expected)
        assert_string_equal((const char *)sqlite3_column_text(stmt, 0), expected);
    assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
    sqlite3_close(db);
}

/* Bytes in use after the middle event, by the index of the trace. */
static uint64_t bytes_in_the_middle(const char *path)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace = NULL;
    struct rpl_index *index = NULL;
    struct rpl_cursor *cursor;
    uint64_t bytes;

    ok(rpl_trace_open(path, &trace, &err), &err);
    ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
    cursor = rpl_cursor_new(index);
    ok(rpl_cursor_seek(cursor, rpl_trace_event_count(trace) / 2, &err), &err);
    bytes = rpl_cursor_live(cursor)->allocated;
    rpl_cursor_free(cursor);
    rpl_index_free(index);
    rpl_trace_free(trace);
    return bytes;
}

static bool is_stored(const char *path)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace = NULL;
    bool is;

    ok(rpl_trace_open(path, &trace, &err), &err);
    is = rpl_index_is_stored(trace);
    rpl_trace_free(trace);
    return is;
}

/* The n-th call that changes the file fails while the index is stored, for every n. */
static void every_call_fails(void **state, enum fault fault)
{
    char path[PATH_SIZE];
    bool has_failed = true;
    uint64_t n = 0;
    uint64_t bytes;

    trace_path(state, "faults.db", path, sizeof(path));
    remove(path);
    record(path, LONG);
    bytes = bytes_in_the_middle(path);
    assert_true(is_stored(path));
    while (has_failed) {
        uint64_t now;

        assert_true(++n < CALLS_MAX);
        sql(path, "DELETE FROM derived", NULL);
        fault_vfs_arm(fault, n);
        now = bytes_in_the_middle(path);
        has_failed = fault_vfs_has_failed();
        fault_vfs_arm(FAULT_NONE, 0);
        assert_int_equal(now, bytes);
        sql(path, "PRAGMA integrity_check", "ok");
        /* whatever was stored is whole */
        assert_int_equal(bytes_in_the_middle(path), bytes);
    }
    assert_true(n > 10);
    assert_true(is_stored(path));
}

static void a_full_disk_costs_the_index_alone(void **state)
{
    every_call_fails(state, FAULT_FULL);
}

static void a_disk_that_fails_once_costs_the_index_alone(void **state)
{
    every_call_fails(state, FAULT_IO);
}

static void a_write_that_is_cut_short_costs_the_index_alone(void **state)
{
    every_call_fails(state, FAULT_SHORT);
}

/* Whether the permissions of files hold for root, too. */
static void permissions_hold(bool hold)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];

    if (geteuid() != 0)
        return;
    assert_int_equal(syscall(SYS_capget, &header, data), 0);
    if (hold)
        data[0].effective &= ~(1u << CAP_DAC_OVERRIDE);
    else
        data[0].effective |= data[0].permitted & 1u << CAP_DAC_OVERRIDE;
    assert_int_equal(syscall(SYS_capset, &header, data), 0);
}

/* Neither the journal nor the scratch files of the index can be made there. */
static void a_trace_in_a_folder_that_may_not_be_written_is_read(void **state)
{
    char folder[PATH_SIZE];
    char path[PATH_SIZE + 16];
    uint64_t bytes;

    trace_path(state, "readonly", folder, sizeof(folder));
    assert_int_equal(mkdir(folder, 0755), 0);
    snprintf(path, sizeof(path), "%s/trace.db", folder);
    record(path, LONG);
    bytes = bytes_in_the_middle(path);
    sql(path, "DELETE FROM derived", NULL);
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(chmod(folder, 0555), 0);
    permissions_hold(true);
    assert_int_equal(access(folder, R_OK), 0);
    assert_int_equal(open(path, O_RDWR), -1);
    assert_int_equal(bytes_in_the_middle(path), bytes);
    assert_false(is_stored(path));
    permissions_hold(false);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* All events are read at once, and then their locations, which are not there any more. */
static void an_index_without_locations_is_none(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace = NULL;
    struct rpl_index *index = NULL;
    char path[PATH_SIZE];

    trace_path(state, "short.db", path, sizeof(path));
    record(path, "steps=1");
    ok(rpl_trace_open(path, &trace, &err), &err);
    ok(rpl_trace_check(trace, &err), &err);
    sql(path, "DROP TABLE place", NULL);
    assert_int_not_equal(rpl_index_open(trace, NULL, NULL, &index, &err), VS_OK);
    assert_null(index);
    assert_int_not_equal(rpl_trace_check(trace, &err), VS_OK);
    if (!strstr(err.text, "place"))
        fail_msg("%s", err.text);
    rpl_trace_free(trace);
}

/* The report of a trace; an empty text and an error where it cannot be made. */
static enum vs_status report_make(const char *path, struct vs_text *out, struct vs_error *err)
{
    struct rpl_report report = {.trace = NULL};
    struct rpl_trace *trace = NULL;
    enum vs_status st = rpl_trace_open(path, &trace, err);

    if (!st)
        st = rpl_report_fill(&report, trace, 10, err);
    if (!st) {
        rpl_report_text(&report, "trace.db", out);
        st = rpl_trace_check(trace, err);
    }
    rpl_report_release(&report);
    rpl_trace_free(trace);
    return st;
}

/* The n-th read fails while a report is made, for every n. */
static void every_read_fails(void **state, enum fault fault, const char *steps)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text right = {NULL, 0, 0};
    uint64_t n = 0;
    uint64_t failures = 0;
    bool has_failed = true;
    char path[PATH_SIZE];

    trace_path(state, "reads.db", path, sizeof(path));
    remove(path);
    record(path, steps);
    ok(report_make(path, &right, &err), &err);
    while (has_failed) {
        struct vs_text text = {NULL, 0, 0};
        enum vs_status st;

        assert_true(++n < CALLS_MAX);
        memset(&err, 0, sizeof(err));
        fault_vfs_arm(fault, n);
        st = report_make(path, &text, &err);
        has_failed = fault_vfs_has_failed();
        fault_vfs_arm(FAULT_NONE, 0);
        if (st ? !strstr(err.text, path) : strcmp(vs_text_get(&text), vs_text_get(&right)) != 0)
            fail_msg("read %llu: %s: %s", (unsigned long long)n, err.text,
                     st ? "" : vs_text_get(&text));
        failures += st != VS_OK;
        vs_text_release(&text);
    }
    assert_true(n > 10);
    assert_true(failures > 3);
    vs_text_release(&right);
}

static void a_read_that_fails_is_an_error(void **state)
{
    every_read_fails(state, FAULT_READ, LONG);
    every_read_fails(state, FAULT_READ, "steps=1");
}

static void a_file_that_is_cut_meanwhile_is_an_error(void **state)
{
    every_read_fails(state, FAULT_READ_SHORT, LONG);
    every_read_fails(state, FAULT_READ_SHORT, "steps=1");
}

static int setup(void **state)
{
    fault_vfs_install();
    return trace_folder_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_costs_the_index_alone),
        cmocka_unit_test(a_disk_that_fails_once_costs_the_index_alone),
        cmocka_unit_test(a_write_that_is_cut_short_costs_the_index_alone),
        cmocka_unit_test(a_trace_in_a_folder_that_may_not_be_written_is_read),
        cmocka_unit_test(an_index_without_locations_is_none),
        cmocka_unit_test(a_read_that_fails_is_an_error),
        cmocka_unit_test(a_file_that_is_cut_meanwhile_is_an_error),
    };

    return cmocka_run_group_tests(tests, setup, trace_folder_teardown);
}

/*
 * tests/store/faults/test_faults.c - whichever call to the disk fails while a trace is written, what is left is a trace
 * with everything up to the last commit, and the error says what happened.
 *
 * Every run is repeated with the first, the second, the third … call failing, until none is left that could.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/dtype.h"
#include "base/mem.h"
#include "store/reader.h"
#include "store/writer.h"
#include "tests/store/faults/fault_vfs.h"
#include "tests/store/sample_events.h"
#include "tests/store/trace_file.h"

#define PATH_SIZE 4096
#define COMMITS 4
#define EVENTS_PER_COMMIT 400
#define EVENTS (COMMITS * EVENTS_PER_COMMIT)
/* Far more calls than a run makes: a run that never ends with all its calls counted is a mistake. */
#define CALLS_MAX 5000

static struct vs_event events[EVENTS];

/* How a run went. committed: events that a commit has reported to be on the disk. */
struct run {
    enum vs_status st;
    struct vs_error err;
    bool was_opened;
    uint64_t committed;
};

static enum vs_status facts_write(struct sto_writer *w, struct vs_error *err)
{
    const struct vs_location location = {.line = 7, .func = 1};
    const struct vs_tensor_desc tensor = {.id = 1, .block = 1, .dtype = VS_F32, .ndim = 1};
    enum vs_status st = sto_writer_meta_set(w, "device", "meta", err);

    if (!st)
        st = sto_writer_source_add(w, "net.py", "text", err);
    if (!st)
        st = sto_writer_toggle_add(w, "amp", "off", true, err);
    if (!st)
        st = sto_writer_string(w, 1, "Net.forward", err);
    if (!st)
        st = sto_writer_location(w, 1, &location, err);
    return st ? st : sto_writer_tensor(w, &tensor, err);
}

static struct run trace_write(const char *path)
{
    struct run run = {.st = VS_OK, .err = VS_ERROR_INIT};
    struct vs_error again = VS_ERROR_INIT;
    struct sto_writer *w = NULL;

    run.st = sto_writer_open(path, &(struct sto_writer_options){.force = true}, &w, &run.err);
    run.was_opened = !run.st;
    if (!run.st)
        run.st = facts_write(w, &run.err);
    for (size_t i = 0; !run.st && i < COMMITS; i++) {
        run.st = sto_writer_events(w, events + i * EVENTS_PER_COMMIT, EVENTS_PER_COMMIT, &run.err);
        if (!run.st)
            run.st = sto_writer_commit(w, &run.err);
        if (!run.st)
            run.committed = (i + 1) * EVENTS_PER_COMMIT;
    }
    if (run.st && w) {
        assert_int_equal(sto_writer_events(w, events, 1, &again), run.st);
        assert_string_equal(again.text, run.err.text);
    }
    if (run.st)
        (void)!sto_writer_close(w, true, &again);
    else
        run.st = sto_writer_close(w, true, &run.err);
    return run;
}

static void integrity_check(const char *path, uint64_t n)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;

    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    if (strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") != 0)
        fail_msg("call %llu: %s", (unsigned long long)n, sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

/* What a run left when call `n` failed. */
static void left_check(const char *path, const struct run *run, uint64_t n)
{
    static struct vs_event got[EVENTS];
    struct vs_error err = VS_ERROR_INIT;
    struct sto_reader *r = NULL;
    uint64_t count;

    if (!run->was_opened && access(path, F_OK) != 0)
        return;
    if (sto_reader_open(path, &r, &err))
        fail_msg("call %llu: %s; the run: %s", (unsigned long long)n, err.text, run->err.text);
    count = sto_reader_event_count(r);
    assert_true(count <= EVENTS);
    if (count < run->committed)
        fail_msg("call %llu: %llu events are left, %llu were committed", (unsigned long long)n,
                 (unsigned long long)count, (unsigned long long)run->committed);
    if (count && sto_reader_events(r, 1, (size_t)count, got, &err))
        fail_msg("call %llu: %s", (unsigned long long)n, err.text);
    assert_memory_equal(got, events, (size_t)count * sizeof(*got));
    if (!run->st)
        assert_true(count == EVENTS && sto_reader_is_complete(r));
    sto_reader_close(r);
    integrity_check(path, n);
}

/* The error names the file, in one line, and says what is wrong with the disk. */
static void message_check(const struct run *run, const char *path, enum fault fault, uint64_t n)
{
    const char *said = fault == FAULT_FULL ? "the disk is full" : "";

    if (run->st != VS_E_IO || !strstr(run->err.text, path) || strchr(run->err.text, '\n') ||
        !strstr(run->err.text, said))
        fail_msg("call %llu: %s: %s", (unsigned long long)n, vs_status_name(run->st),
                 run->err.text);
}

static void every_call_fails_once(void **state, enum fault fault)
{
    char path[PATH_SIZE];
    uint64_t n = 0;
    uint64_t failures = 0;
    bool has_failed = true;

    trace_path(state, "faults.db", path, sizeof(path));
    while (has_failed) {
        struct run run;

        assert_true(++n < CALLS_MAX);
        fault_vfs_arm(fault, n);
        run = trace_write(path);
        has_failed = fault_vfs_has_failed();
        fault_vfs_arm(FAULT_NONE, 0);
        left_check(path, &run, n);
        if (run.st)
            message_check(&run, path, fault, n);
        failures += run.st != VS_OK;
        unlink(path);
    }
    assert_true(n > 50); /* it did write */
    assert_true(failures * 2 > n);
}

static void a_full_disk_leaves_what_was_committed(void **state)
{
    every_call_fails_once(state, FAULT_FULL);
}

static void a_disk_that_fails_once_leaves_what_was_committed(void **state)
{
    every_call_fails_once(state, FAULT_IO);
}

static void a_write_that_is_cut_short_leaves_what_was_committed(void **state)
{
    every_call_fails_once(state, FAULT_SHORT);
}

/* An earlier trace is replaced by a new one that opens, or is still there. */
static void a_trace_that_is_replaced_is_never_lost(void **state)
{
    char path[PATH_SIZE];
    bool has_failed = true;

    trace_path(state, "replaced.db", path, sizeof(path));
    for (uint64_t n = 1; has_failed; n++) {
        struct run run;
        struct vs_error err = VS_ERROR_INIT;
        struct sto_reader *r = NULL;

        assert_true(n < CALLS_MAX);
        fault_vfs_arm(FAULT_NONE, 0);
        run = trace_write(path);
        assert_int_equal(run.st, VS_OK);
        fault_vfs_arm(FAULT_FULL, n);
        run = trace_write(path);
        has_failed = fault_vfs_has_failed();
        fault_vfs_arm(FAULT_NONE, 0);
        if (sto_reader_open(path, &r, &err))
            fail_msg("call %llu: %s", (unsigned long long)n, err.text);
        assert_true(sto_reader_event_count(r) >= run.committed);
        sto_reader_close(r);
    }
}

/* Whoever has the old file open goes on reading it; whoever opens it later reads the new one. */
static void a_reader_of_a_replaced_file_reads_the_old_one(void **state)
{
    static struct vs_event got[EVENTS];
    char path[PATH_SIZE];
    struct vs_error err = VS_ERROR_INIT;
    struct sto_reader *old = NULL;
    struct sto_reader *fresh = NULL;
    struct sto_writer *w = NULL;
    struct run run;

    trace_path(state, "moved.db", path, sizeof(path));
    run = trace_write(path);
    assert_int_equal(run.st, VS_OK);
    assert_int_equal(sto_reader_open(path, &old, &err), VS_OK);
    assert_int_equal(sto_writer_open(path, &(struct sto_writer_options){.force = true}, &w, &err),
                     VS_OK);
    assert_int_equal(sto_writer_events(w, events, 100, &err), VS_OK);
    assert_int_equal(sto_writer_close(w, true, &err), VS_OK);
    assert_int_equal(sto_reader_event_count(old), EVENTS);
    assert_int_equal(sto_reader_events(old, 1, EVENTS, got, &err), VS_OK);
    assert_memory_equal(got, events, sizeof(got));
    assert_int_equal(sto_reader_refresh(old, &err), VS_OK);
    assert_int_equal(sto_reader_event_count(old), EVENTS);
    assert_int_equal(sto_reader_open(path, &fresh, &err), VS_OK);
    assert_int_equal(sto_reader_event_count(fresh), 100);
    sto_reader_close(old);
    sto_reader_close(fresh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_leaves_what_was_committed),
        cmocka_unit_test(a_disk_that_fails_once_leaves_what_was_committed),
        cmocka_unit_test(a_write_that_is_cut_short_leaves_what_was_committed),
        cmocka_unit_test(a_trace_that_is_replaced_is_never_lost),
        cmocka_unit_test(a_reader_of_a_replaced_file_reads_the_old_one),
    };
    struct sample_random rnd = {5};

    sample_events_training(&rnd, events, EVENTS);
    fault_vfs_install();
    return cmocka_run_group_tests(tests, trace_folder_setup, trace_folder_teardown);
}

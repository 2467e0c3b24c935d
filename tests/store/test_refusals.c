/*
 * tests/store/test_refusals.c - files that must not be overwritten, and incomplete trace files.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/mem.h"
#include "store/migrate.h"
#include "store/reader.h"
#include "store/writer.h"
#include "tests/store/old/old_trace.h"
#include "tests/store/sample_events.h"
#include "tests/store/trace_file.h"

#define PATH_SIZE 4096

static void file_write(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* The whole file; the caller frees it. */
static unsigned char *file_read(const char *path, size_t *count)
{
    FILE *file = fopen(path, "rb");
    struct stat st;
    unsigned char *bytes;

    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &st), 0);
    *count = (size_t)st.st_size;
    bytes = vs_alloc(*count + 1);
    assert_int_equal(fread(bytes, 1, *count, file), *count);
    fclose(file);
    return bytes;
}

static void trace_write(const char *path, size_t count)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sample_random rnd = {11};
    struct vs_event *events = vs_alloc(count * sizeof(*events));
    struct sto_writer *w;

    sample_events_training(&rnd, events, count);
    if (sto_writer_open(path, &(struct sto_writer_options){.force = true}, &w, &err) ||
        sto_writer_meta_set(w, "net", "some net", &err) ||
        sto_writer_events(w, events, count, &err) || sto_writer_close(w, true, &err))
        fail_msg("%s", err.text);
    vs_free(events);
}

static void sql_run(const char *path, const char *sql)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

/* Opening must fail with `status` and a message of one line that has `part` and the path in it. */
static void open_fails(const char *path, enum vs_status status, const char *part)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sto_reader *r;
    enum vs_status st = sto_reader_open(path, &r, &err);

    assert_null(r);
    if (st != status || !strstr(err.text, part) || !strstr(err.text, path) ||
        strchr(err.text, '\n'))
        fail_msg("%s: %s", vs_status_name(st), err.text);
}

static int files_in(void **state, const char *name_part)
{
    char command[PATH_SIZE + 64];
    FILE *pipe;
    int count = -1;

    snprintf(command, sizeof(command), "ls '%s' | grep -c -- '%s'", (const char *)*state,
             name_part);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%d", &count), 1);
    pclose(pipe);
    return count;
}

static void an_existing_file_is_kept_without_force(void **state)
{
    char path[PATH_SIZE];
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *w;
    unsigned char *bytes;
    size_t count;

    trace_path(state, "kept", path, sizeof(path));
    file_write(path, "precious", 8);
    assert_int_equal(sto_writer_open(path, NULL, &w, &err), VS_E_EXISTS);
    assert_null(w);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, "--force"));
    bytes = file_read(path, &count);
    assert_int_equal(count, 8);
    assert_memory_equal(bytes, "precious", 8);
    vs_free(bytes);
    assert_int_equal(files_in(state, "kept"), 1);
}

static void with_force_an_existing_file_is_replaced_by_a_complete_trace(void **state)
{
    char path[PATH_SIZE];
    char journal[PATH_SIZE + 16];
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *w;
    struct sto_reader *r;

    trace_path(state, "forced", path, sizeof(path));
    snprintf(journal, sizeof(journal), "%s-journal", path);
    file_write(path, "precious", 8);
    file_write(journal, "of a file long gone", 19);
    if (sto_writer_open(path, &(struct sto_writer_options){.force = true}, &w, &err))
        fail_msg("%s", err.text);
    if (sto_reader_open(path, &r, &err))
        fail_msg("%s", err.text);
    assert_false(sto_reader_is_complete(r));
    sto_reader_close(r);
    assert_int_equal(sto_writer_close(w, true, &err), VS_OK);
    assert_int_equal(files_in(state, "forced"), 1);
}

static void a_trace_that_cannot_be_created_leaves_no_file(void **state)
{
    char path[PATH_SIZE];
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *w;

    trace_path(state, "no/such/folder.db", path, sizeof(path));
    assert_int_equal(sto_writer_open(path, NULL, &w, &err), VS_E_IO);
    assert_non_null(strstr(err.text, "No such file or directory"));
    assert_int_equal(sto_writer_open(*state, NULL, &w, &err), VS_E_EXISTS);
    assert_int_equal(sto_writer_open(*state, &(struct sto_writer_options){.force = true}, &w, &err),
                     VS_E_IO);
    assert_non_null(strstr(err.text, "not a regular file"));
    assert_int_equal(files_in(state, ".new-"), 0);
}

static void files_that_are_not_traces_are_reported_as_such(void **state)
{
    char path[PATH_SIZE];
    unsigned char noise[20000];
    struct sample_random rnd = {1};

    trace_path(state, "missing.db", path, sizeof(path));
    open_fails(path, VS_E_NOT_FOUND, "no such file");
    open_fails(*state, VS_E_FORMAT, "not a file");
    trace_path(state, "other", path, sizeof(path));
    file_write(path, "", 0);
    open_fails(path, VS_E_FORMAT, "empty");
    file_write(path, "import torch\n", 13);
    open_fails(path, VS_E_FORMAT, "not a trace");
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (unsigned char)sample_random_next(&rnd);
    file_write(path, noise, sizeof(noise));
    open_fails(path, VS_E_FORMAT, "not a trace");
    remove(path);
    sql_run(path, "CREATE TABLE event (seq)");
    open_fails(path, VS_E_FORMAT, "not a trace");
}

static void a_newer_trace_is_refused_with_both_versions(void **state)
{
    char path[PATH_SIZE];
    char part[128];

    trace_path(state, "newer.db", path, sizeof(path));
    trace_write(path, 100);
    sql_run(path, "PRAGMA user_version = 4711");
    snprintf(part, sizeof(part), "format 4711, this vramscope reads up to format %d",
             sto_migrate_current());
    open_fails(path, VS_E_VERSION, part);
}

static void a_truncated_trace_is_refused_at_any_length(void **state)
{
    char path[PATH_SIZE];
    unsigned char *bytes;
    size_t count;

    trace_path(state, "cut.db", path, sizeof(path));
    trace_write(path, 20000);
    bytes = file_read(path, &count);
    for (size_t len = count - 1; len > 0; len = len * 9 / 10) {
        struct vs_error err = VS_ERROR_INIT;
        struct sto_reader *r;
        enum vs_status st;

        file_write(path, bytes, len);
        st = sto_reader_open(path, &r, &err);
        if ((st != VS_E_DAMAGED && st != VS_E_FORMAT) || r)
            fail_msg("cut to %zu of %zu bytes: %s: %s", len, count, vs_status_name(st), err.text);
        if (len > 4096)
            assert_non_null(strstr(err.text, "truncated"));
    }
    vs_free(bytes);
}

/* Whatever bytes change, opening and reading end, with the events or with a message. */
static void a_trace_with_wrong_bytes_never_crashes_the_reader(void **state)
{
    char path[PATH_SIZE];
    struct sample_random rnd = {77};
    size_t event_count = 3000;
    struct vs_event *events = vs_calloc(event_count, sizeof(*events));
    unsigned char *bytes;
    size_t count;
    int damaged = 0;

    trace_path(state, "wrong.db", path, sizeof(path));
    trace_write(path, event_count);
    bytes = file_read(path, &count);
    for (int round = 0; round < 300; round++) {
        struct vs_error err = VS_ERROR_INIT;
        unsigned char *copy = vs_alloc(count);
        struct sto_reader *r;
        enum vs_status st;

        memcpy(copy, bytes, count);
        for (uint64_t i = sample_random_below(&rnd, 64); i < 64; i++)
            copy[sample_random_below(&rnd, count)] = (unsigned char)sample_random_next(&rnd);
        file_write(path, copy, count);
        vs_free(copy);
        st = sto_reader_open(path, &r, &err);
        if (!st) {
            size_t there = (size_t)sto_reader_event_count(r);

            st = sto_reader_events(r, 1, there < event_count ? there : event_count, events, &err);
        }
        damaged += st != VS_OK;
        assert_true(!st == !err.text[0]);
        sto_reader_close(r);
    }
    assert_true(damaged > 10);
    vs_free(bytes);
    vs_free(events);
}

static void missing_parts_of_a_trace_are_reported(void **state)
{
    /* of a trace as it is written now, and from the first of version 5 on of that one */
    static const char *const losses[] = {
        "DELETE FROM event_chunk WHERE id = 0",
        "DELETE FROM event_chunk WHERE id = 64",
        "UPDATE event_chunk SET data = (SELECT data FROM event_chunk WHERE id = 64) WHERE id = 0",
        "UPDATE event_chunk SET data = substr(data, 1, length(data) / 2)",
        "UPDATE event_chunk SET data = x''",
        "UPDATE event_chunk SET data = 'text'",
        "UPDATE event_chunk SET count = count + 1",
        "UPDATE event_chunk SET count = -5",
        "UPDATE event_chunk SET count = 1000000000000",
        "UPDATE event_chunk SET reference = 0 WHERE id = 0",
        "UPDATE event_chunk SET reference = 63 WHERE id = 64",
        "UPDATE event_chunk SET reference = -64 WHERE id = 64",
        "UPDATE event_chunk SET reference = 6400000 WHERE id = 64",
        "INSERT INTO event_chunk SELECT -9223372036854775808, count, reference, first_id, "
        "has_names, data FROM event_chunk WHERE id = 0; "
        "UPDATE event_chunk SET reference = -9223372036854775808 WHERE id = 64",
        "DELETE FROM event_block WHERE id IN (SELECT max(id) FROM event_block WHERE kind = 0 AND "
        "id < 64)",
        "DELETE FROM event_block WHERE id < 64",
        "UPDATE event_block SET count = count + 1 WHERE kind = 1",
        "UPDATE event_block SET count = -5 WHERE kind = 1",
        "UPDATE event_block SET count = 1000000000 WHERE kind = 1",
        "DROP TABLE event_chunk",
        "DELETE FROM event_column WHERE id IN (SELECT id FROM event_column WHERE id % 16 = 0 LIMIT "
        "1)",
        "UPDATE event_column SET data = NULL WHERE id % 16 = 0",
        "UPDATE event_column SET data = zeroblob(length(data)) WHERE id % 16 = 0",
        "UPDATE event_column SET dict = zeroblob(1), dict_width = 1 WHERE id % 16 = 1",
        "UPDATE event_column SET codes = -1 WHERE dict NOT NULL",
        "UPDATE event_column SET width = 7 WHERE width = 2",
        "DELETE FROM event_block WHERE id < 64",
        "UPDATE event_block SET count = count + 1 WHERE kind = 1",
        "DROP TABLE event_column",
    };
    char path[PATH_SIZE];
    size_t count = 20000;
    struct vs_event *events = vs_calloc(count, sizeof(*events));
    bool is_old = false;

    trace_path(state, "missing_parts.db", path, sizeof(path));
    for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
        struct vs_error err = VS_ERROR_INIT;
        struct sto_reader *r;
        enum vs_status st;

        is_old = is_old || strstr(losses[i], "event_column") != NULL;
        trace_write(path, count);
        if (is_old)
            old_trace_make(path);
        sql_run(path, losses[i]);
        st = sto_reader_open(path, &r, &err);
        if (!st) {
            size_t there = (size_t)sto_reader_event_count(r);

            st = sto_reader_events(r, 1, there < count ? there : count, events, &err);
        }
        if (st != VS_E_DAMAGED && st != VS_E_IO)
            fail_msg("%s: %s: %s", losses[i], vs_status_name(st), err.text);
        sto_reader_close(r);
    }
    vs_free(events);
}

/* A limit on the size of files stands in for a disk that fills up: the same call fails, with EFBIG. */
static void a_full_disk_is_reported_and_the_file_holds_the_last_commit(void **state)
{
    char path[PATH_SIZE];
    struct rlimit old;
    struct rlimit tight = {400000, 400000};
    struct vs_error err = VS_ERROR_INIT;
    struct vs_error again = VS_ERROR_INIT;
    struct sample_random rnd = {12};
    size_t count = 5000;
    struct vs_event *events = vs_alloc(count * sizeof(*events));
    struct vs_event *got = vs_alloc(count * sizeof(*got));
    struct sto_writer *w;
    struct sto_reader *r;
    uint64_t committed = 0;
    enum vs_status st = VS_OK;

    sample_events_training(&rnd, events, count);
    trace_path(state, "full.db", path, sizeof(path));
    if (sto_writer_open(path, NULL, &w, &err))
        fail_msg("%s", err.text);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    while (!st && committed < 100 * count) {
        st = sto_writer_events(w, events, count, &err);
        if (!st)
            st = sto_writer_commit(w, &err);
        if (!st)
            committed += count;
    }
    assert_int_equal(st, VS_E_IO);
    assert_non_null(strstr(err.text, path));
    assert_true(committed > 0);
    assert_int_equal(sto_writer_events(w, events, 1, &again), VS_E_IO);
    assert_string_equal(again.text, err.text);
    assert_int_equal(sto_writer_close(w, true, &again), VS_E_IO);
    assert_string_equal(again.text, err.text);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_DFL);

    if (sto_reader_open(path, &r, &err))
        fail_msg("%s", err.text);
    assert_false(sto_reader_is_complete(r));
    assert_int_equal(sto_reader_event_count(r), committed);
    if (sto_reader_events(r, committed - count + 1, count, got, &err))
        fail_msg("%s", err.text);
    assert_memory_equal(got, events, count * sizeof(*got));
    sto_reader_close(r);
    vs_free(events);
    vs_free(got);
}

static void a_disk_that_is_full_from_the_start_leaves_no_file(void **state)
{
    char path[PATH_SIZE];
    struct rlimit old;
    struct rlimit tight = {20000, 20000};
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *w;
    enum vs_status st;

    trace_path(state, "nothing.db", path, sizeof(path));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    st = sto_writer_open(path, NULL, &w, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(st, VS_E_IO);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(files_in(state, "nothing"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_existing_file_is_kept_without_force),
        cmocka_unit_test(with_force_an_existing_file_is_replaced_by_a_complete_trace),
        cmocka_unit_test(a_trace_that_cannot_be_created_leaves_no_file),
        cmocka_unit_test(files_that_are_not_traces_are_reported_as_such),
        cmocka_unit_test(a_newer_trace_is_refused_with_both_versions),
        cmocka_unit_test(a_truncated_trace_is_refused_at_any_length),
        cmocka_unit_test(a_trace_with_wrong_bytes_never_crashes_the_reader),
        cmocka_unit_test(missing_parts_of_a_trace_are_reported),
        cmocka_unit_test(a_full_disk_is_reported_and_the_file_holds_the_last_commit),
        cmocka_unit_test(a_disk_that_is_full_from_the_start_leaves_no_file),
    };

    return cmocka_run_group_tests_name("store/refusals", tests, trace_folder_setup,
                                       trace_folder_teardown);
}

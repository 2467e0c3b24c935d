/*
 * tests/store/faults/test_rename.c - where a finished file cannot be given its name, the file that had this name is
 * still there, nothing lies beside it, and the error says why.
 *
 * The program's own rename(), renameat2() and link() are those below, which fail where a test wants it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "cli/cmds.h"
#include "store/create.h"
#include "store/reader.h"
#include "store/writer.h"
#include "tests/store/sample_events.h"
#include "tests/store/trace_file.h"
#include "tui/parts/config.h"

#define PATH_SIZE 4096
#define EVENTS 3000

/* What the calls fail with; 0: they do not fail. calls: since it was set. */
static int rename_errno;
static int flag_errno;
static int calls;

int rename(const char *from, const char *to)
{
    calls++;
    errno = rename_errno;
    return rename_errno ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    calls++;
    errno = flag_errno ? flag_errno : rename_errno;
    return errno ? -1 : (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

int link(const char *from, const char *to)
{
    calls++;
    errno = rename_errno;
    return rename_errno ? -1 : (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static void fail_with(int rename_fails, int flag_fails)
{
    rename_errno = rename_fails;
    flag_errno = flag_fails;
    calls = 0;
}

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

static struct vs_event events[EVENTS];

static void trace_write(const char *path)
{
    const struct sto_writer_options options = {.force = true};
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *w;

    ok(sto_writer_open(path, &options, &w, &err), &err);
    ok(sto_writer_events(w, events, EVENTS, &err), &err);
    ok(sto_writer_close(w, true, &err), &err);
}

static void trace_is_whole(const char *path)
{
    static struct vs_event got[EVENTS];
    struct vs_error err = VS_ERROR_INIT;
    struct sto_reader *r;

    ok(sto_reader_open(path, &r, &err), &err);
    assert_int_equal(sto_reader_event_count(r), EVENTS);
    ok(sto_reader_events(r, 1, EVENTS, got, &err), &err);
    assert_memory_equal(got, events, sizeof(got));
    sto_reader_close(r);
}

/* The error names the file and what the system said, in one line. */
static void said(const struct vs_error *err, const char *path, int why)
{
    if (!strstr(err->text, path) || !strstr(err->text, strerror(why)) || strchr(err->text, '\n'))
        fail_msg("%s", err->text);
}

static void is_alone(const char *path, const char *suffix)
{
    char other[PATH_SIZE + 64];

    snprintf(other, sizeof(other), "%s.new-%ld-0", path, (long)getpid());
    assert_int_not_equal(access(other, F_OK), 0);
    snprintf(other, sizeof(other), "%s%s", path, suffix);
    assert_int_not_equal(access(other, F_OK), 0);
}

static void a_trace_that_cannot_be_replaced_stays(void **state)
{
    static const int why[] = {EPERM, EIO, EBUSY, ENOSPC, EROFS};
    struct vs_error err = VS_ERROR_INIT;
    char path[PATH_SIZE];

    trace_path(state, "kept.db", path, sizeof(path));
    trace_write(path);
    for (size_t i = 0; i < sizeof(why) / sizeof(why[0]); i++) {
        fail_with(why[i], 0);
        assert_int_equal(sto_create(path, true, &err), VS_E_IO);
        assert_int_equal(calls, 1);
        fail_with(0, 0);
        said(&err, path, why[i]);
        trace_is_whole(path);
        is_alone(path, "-journal");
    }
}

static void a_new_trace_that_cannot_have_its_name_leaves_nothing(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    char path[PATH_SIZE];

    trace_path(state, "never.db", path, sizeof(path));
    fail_with(EIO, 0);
    assert_int_equal(sto_create(path, false, &err), VS_E_IO);
    assert_int_equal(calls, 1);
    said(&err, path, EIO);
    is_alone(path, "");
    /* where the file system cannot rename without replacing, the second way fails, too */
    fail_with(EMLINK, EINVAL);
    assert_int_equal(sto_create(path, false, &err), VS_E_IO);
    assert_int_equal(calls, 2);
    said(&err, path, EMLINK);
    is_alone(path, "");
    fail_with(0, EINVAL);
    ok(sto_create(path, false, &err), &err);
    fail_with(0, 0);
    is_alone(path, "-journal");
    assert_int_equal(access(path, F_OK), 0);
}

/* Another program may create the file between the look at it and the rename. */
static void a_trace_that_came_meanwhile_is_not_replaced(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    char path[PATH_SIZE];

    trace_path(state, "meanwhile.db", path, sizeof(path));
    fail_with(EEXIST, 0);
    assert_int_equal(sto_create(path, false, &err), VS_E_EXISTS);
    fail_with(0, 0);
    is_alone(path, "");
}

static void file_copy(const char *from, const char *to)
{
    static char bytes[1 << 16];
    FILE *in = fopen(from, "rb");
    FILE *out = fopen(to, "wb");
    size_t n;

    assert_true(in && out);
    while ((n = fread(bytes, 1, sizeof(bytes), in)) > 0)
        assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* As a recorder leaves it that was killed in a commit: pages are overwritten, and the journal has what they were. */
static void trace_write_killed(const char *working, const char *path)
{
    char journal[PATH_SIZE + 16];
    char copy[PATH_SIZE + 16];
    sqlite3 *db = NULL;

    trace_write(working);
    assert_int_equal(sqlite3_open(working, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE;"
                                  "UPDATE event_chunk SET data = zeroblob(length(data));"
                                  "CREATE TABLE large (x); INSERT INTO large VALUES "
                                  "(zeroblob(100000)); DELETE FROM meta",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    snprintf(journal, sizeof(journal), "%s-journal", working);
    snprintf(copy, sizeof(copy), "%s-journal", path);
    file_copy(working, path);
    file_copy(journal, copy);
    sqlite3_close(db);
}

static void an_incomplete_commit_is_undone_in_a_trace_that_stays(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    char working[PATH_SIZE];
    char path[PATH_SIZE];

    trace_path(state, "working.db", working, sizeof(working));
    trace_path(state, "killed.db", path, sizeof(path));
    trace_write_killed(working, path);
    fail_with(EPERM, 0);
    assert_int_equal(sto_create(path, true, &err), VS_E_IO);
    fail_with(0, 0);
    trace_is_whole(path);
    /* and where it does not stay, nothing of it is in the new one */
    trace_write_killed(working, path);
    trace_write(path);
    trace_is_whole(path);
}

/* ---- other files that are replaced ---- */

static void file_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void file_has(const char *path, const char *text)
{
    char got[256] = "";
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    (void)!fread(got, 1, sizeof(got) - 1, file);
    fclose(file);
    assert_string_equal(got, text);
}

/* How many files the folder of `path` has whose names begin with that of `path`. */
static size_t files_beside(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    char folder[PATH_SIZE];
    struct dirent *entry;
    size_t count = 0;
    DIR *dir;

    snprintf(folder, sizeof(folder), "%.*s", (int)(name - path), path);
    dir = opendir(folder);
    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL)
        count += strncmp(entry->d_name, name, strlen(name)) == 0;
    closedir(dir);
    return count;
}

static void an_export_that_cannot_have_its_name_leaves_the_earlier_one(void **state)
{
    const struct cli_cmd *cmd = cli_cmd_find("export");
    struct cli_args args;
    struct vs_error err = VS_ERROR_INIT;
    char path[PATH_SIZE];
    char out[PATH_SIZE];
    char format[] = "--format=csv";
    char force[] = "--force";
    char option[] = "-o";
    char *words[] = {path, format, force, option, out, NULL};

    trace_path(state, "exported.db", path, sizeof(path));
    trace_path(state, "exported.csv", out, sizeof(out));
    trace_write(path);
    file_write(out, "what was there");
    ok(cli_args_parse(cmd, 5, words, &args, &err), &err);
    fail_with(EPERM, 0);
    assert_int_equal(cmd->run(&args), 1);
    assert_int_equal(calls, 1);
    fail_with(0, 0);
    file_has(out, "what was there");
    assert_int_equal(files_beside(out), 1);
    assert_int_equal(cmd->run(&args), 0);
    assert_int_equal(files_beside(out), 1);
    cli_args_release(&args);
}

static void options_that_cannot_be_remembered_leave_the_earlier_ones(void **state)
{
    static const int LIGHT[TUI_OPTION_COUNT] = {[TUI_OPTION_THEME] = 2};
    struct vs_error err = VS_ERROR_INIT;
    char path[PATH_SIZE];

    trace_path(state, "config", path, sizeof(path));
    file_write(path, "theme dark\n");
    fail_with(EROFS, 0);
    assert_int_equal(tui_config_remember(path, LIGHT, &err), VS_E_IO);
    assert_int_equal(calls, 1);
    fail_with(0, 0);
    said(&err, path, EROFS);
    file_has(path, "theme dark\n");
    assert_int_equal(files_beside(path), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_that_cannot_be_replaced_stays),
        cmocka_unit_test(a_new_trace_that_cannot_have_its_name_leaves_nothing),
        cmocka_unit_test(a_trace_that_came_meanwhile_is_not_replaced),
        cmocka_unit_test(an_incomplete_commit_is_undone_in_a_trace_that_stays),
        cmocka_unit_test(an_export_that_cannot_have_its_name_leaves_the_earlier_one),
        cmocka_unit_test(options_that_cannot_be_remembered_leave_the_earlier_ones),
    };
    struct sample_random rnd = {5};

    sample_events_training(&rnd, events, EVENTS);
    return cmocka_run_group_tests(tests, trace_folder_setup, trace_folder_teardown);
}

/*
 * tests/store/sweep/test_results.c - the file of results of a sweep.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "store/sweep/results.h"
#include "tests/store/trace_file.h"

static const struct sto_results_head HEAD = {
    .net = "net.py", .text = "x = 1\n", .seed = UINT64_MAX, .capacity = 80, .version = "1.2"};

static const struct sto_setting SETTINGS[] = {{"batch", "8"}, {"shard", "fsdp"}};

static struct sto_result result_make(uint64_t n)
{
    return (struct sto_result){
        .fits = n % 2,
        .batch = 8,
        .processes = 4,
        .sharing = 2,
        .parameters = 100 + n,
        .allocated = 5000 + n,
        .requested = 4000 + n,
        .reserved = 6000 + n,
        .step = -1,
        .phase = VS_PHASE_BACKWARD,
        .steps = 3,
        .total_flops = 900,
        .recompute_flops = 90,
        .host_bytes = 9,
        .collectives = {{"ncclAllGather", 5, 50, 150}, {"ncclReduce", 1, 2, 3}},
        .collective_count = 2,
        .notes = "world 4: no"};
}

static struct sto_results *results_open(const char *path)
{
    struct sto_results *results = NULL;
    struct vs_error err = VS_ERROR_INIT;

    if (sto_results_open(path, &HEAD, &results, &err))
        fail_msg("%s", err.text);
    return results;
}

static void result_add(struct sto_results *results, const char *config,
                       const struct sto_result *result)
{
    struct vs_error err = VS_ERROR_INIT;

    if (sto_results_add(results, config, SETTINGS, 2, result, &err))
        fail_msg("%s", err.text);
}

static void commit(struct sto_results *results)
{
    struct vs_error err = VS_ERROR_INIT;

    if (sto_results_commit(results, &err))
        fail_msg("%s", err.text);
}

static void assert_same(const struct sto_result *a, const struct sto_result *b)
{
    assert_int_equal(a->fits, b->fits);
    assert_int_equal(a->batch, b->batch);
    assert_int_equal(a->processes, b->processes);
    assert_int_equal(a->sharing, b->sharing);
    assert_int_equal(a->parameters, b->parameters);
    assert_int_equal(a->requested, b->requested);
    assert_int_equal(a->reserved, b->reserved);
    assert_int_equal(a->step, b->step);
    assert_int_equal(a->phase, b->phase);
    assert_int_equal(a->steps, b->steps);
    assert_int_equal(a->total_flops, b->total_flops);
    assert_int_equal(a->recompute_flops, b->recompute_flops);
    assert_int_equal(a->host_bytes, b->host_bytes);
    assert_int_equal(a->collective_count, b->collective_count);
    for (size_t i = 0; i < a->collective_count; i++) {
        assert_string_equal(a->collectives[i].name, b->collectives[i].name);
        assert_int_equal(a->collectives[i].count, b->collectives[i].count);
        assert_int_equal(a->collectives[i].bytes, b->collectives[i].bytes);
        assert_int_equal(a->collectives[i].sent, b->collectives[i].sent);
    }
    assert_string_equal(a->notes, b->notes);
}

static void on_result(void *user, const char *config, const struct sto_setting *settings,
                      size_t count, const struct sto_result *result)
{
    vs_text_addf(user, "%s:", config);
    for (size_t i = 0; i < count; i++)
        vs_text_addf(user, " %s=%s", settings[i].toggle, settings[i].value);
    vs_text_addf(user, " %d %s|", result->is_refused, result->reason);
    if (!result->is_refused) {
        const struct sto_result wanted = result_make(result->allocated - 5000);

        vs_text_addf(user, "%d", (int)(result->allocated - 5000));
        assert_same(result, &wanted);
    }
    vs_text_add_char(user, '\n');
}

static void check(const char *path, const char *wanted)
{
    struct sto_results *results = NULL;
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};

    if (sto_results_read(path, &results, &err) || sto_results_each(results, on_result, &text, &err))
        fail_msg("%s", err.text);
    assert_string_equal(vs_text_get(&text), wanted);
    assert_string_equal(sto_results_head_get(results)->net, "net.py");
    assert_string_equal(sto_results_head_get(results)->text, "x = 1\n");
    assert_true(sto_results_head_get(results)->seed == UINT64_MAX);
    assert_int_equal(sto_results_head_get(results)->capacity, 80);
    sto_results_close(results);
    vs_text_release(&text);
}

static void results_are_read_as_they_were_added(void **state)
{
    const struct sto_result refused = {.is_refused = true, .reason = "it's \"wrong\"\nhere"};
    const struct sto_result a = result_make(1), b = result_make(2);
    struct sto_results *results;
    char path[4096];

    results = results_open(trace_path(state, "r.db", path, sizeof(path)));
    assert_true(sto_results_is_file(path));
    result_add(results, "batch=8 x", &a);
    commit(results);
    sto_results_close(results);
    results = results_open(path); /* goes on */
    result_add(results, "batch=8 y", &refused);
    result_add(results, "batch=8 z", &b);
    result_add(results, "batch=8 x", &b); /* is there */
    commit(results);
    commit(results); /* nothing to do */
    sto_results_close(results);
    check(path, "batch=8 x: batch=8 shard=fsdp 0 |1\n"
                "batch=8 y: batch=8 shard=fsdp 1 it's \"wrong\"\nhere|\n"
                "batch=8 z: batch=8 shard=fsdp 0 |2\n");
}

static void a_killed_program_leaves_what_it_committed(void **state)
{
    char path[4096];
    int status;
    pid_t pid;

    trace_path(state, "killed.db", path, sizeof(path));
    pid = fork();
    if (pid == 0) {
        const struct sto_result a = result_make(1);
        struct sto_results *results = results_open(path);

        result_add(results, "first", &a);
        commit(results);
        result_add(results, "second", &a);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    check(path, "first: batch=8 shard=fsdp 0 |1\n");
    sto_results_close(results_open(path));
}

static void sharing_is_one(void *user, const char *config, const struct sto_setting *settings,
                           size_t count, const struct sto_result *result)
{
    (void)user;
    (void)settings;
    assert_string_equal(config, "first");
    assert_int_equal(count, 2);
    assert_int_equal(result->processes, 4);
    assert_int_equal(result->sharing, 1);
}

static void check_refused(const char *path, struct sto_results_head head, enum vs_status wanted,
                          const char *part)
{
    struct sto_results *results = NULL;
    struct vs_error err = VS_ERROR_INIT;

    assert_int_equal(sto_results_open(path, &head, &results, &err), wanted);
    assert_null(results);
    if (!strstr(err.text, part))
        fail_msg("\"%s\" is not in: %s", part, err.text);
}

static void results_of_another_sweep_are_refused(void **state)
{
    struct sto_results_head head = HEAD;
    char path[4096];

    sto_results_close(results_open(trace_path(state, "r.db", path, sizeof(path))));
    head.net = "renamed.py";
    {
        struct sto_results *results = NULL;
        struct vs_error err = VS_ERROR_INIT;

        assert_int_equal(sto_results_open(path, &head, &results, &err), VS_OK);
        sto_results_close(results);
    }
    head.text = "x = 2\n";
    check_refused(path, head, VS_E_EXISTS, "of another net, or of net.py before it was changed");
    head = HEAD;
    head.seed = 3;
    check_refused(path, head, VS_E_EXISTS, "with --seed 18446744073709551615");
    head = HEAD;
    head.capacity = 0;
    check_refused(path, head, VS_E_EXISTS, "with --capacity 80 B");
    head = HEAD;
    head.version = "1.3";
    check_refused(path, head, VS_E_EXISTS, "of vramscope 1.2");
}

/* Files of format 1 have no column for processes that share a batch. */
static void results_of_the_format_before_are_read_and_not_added_to(void **state)
{
    struct sto_results *results;
    struct vs_error err = VS_ERROR_INIT;
    const struct sto_result result = result_make(1);
    char path[4096];
    sqlite3 *db;

    results = results_open(trace_path(state, "r.db", path, sizeof(path)));
    result_add(results, "first", &result);
    commit(results);
    sto_results_close(results);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "CREATE TABLE old AS SELECT * FROM result; DROP TABLE result; "
                                  "PRAGMA user_version = 1",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db,
                     "CREATE TABLE result AS SELECT id, config, reason, fits, batch, processes, "
                     "parameters, allocated, requested, reserved, step, phase, steps, total_flops, "
                     "recompute_flops, host_bytes, notes FROM old",
                     NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    check_refused(path, HEAD, VS_E_EXISTS, "has results of format 1, and format 2 is written");
    assert_int_equal(sto_results_read(path, &results, &err), VS_OK);
    assert_int_equal(sto_results_each(results, sharing_is_one, NULL, &err), VS_OK);
    sto_results_close(results);
}

static void other_files_are_left_alone(void **state)
{
    struct sto_results *results = NULL;
    struct vs_error err = VS_ERROR_INIT;
    char path[4096], line[16] = "";
    FILE *file;

    check_refused(trace_path(state, "none/r.db", path, sizeof(path)), HEAD, VS_E_IO,
                  "cannot be written");
    trace_path(state, "text.db", path, sizeof(path));
    assert_int_equal(sto_results_read(path, &results, &err), VS_E_NOT_FOUND);
    file = fopen(path, "w");
    fputs("a letter\n", file);
    fclose(file);
    assert_false(sto_results_is_file(path));
    check_refused(path, HEAD, VS_E_FORMAT, "has no results of a sweep");
    assert_int_equal(sto_results_read(path, &results, &err), VS_E_FORMAT);
    file = fopen(path, "r");
    assert_non_null(fgets(line, sizeof(line), file));
    fclose(file);
    assert_string_equal(line, "a letter\n");
}

/* A file of somebody else may have other tables than those that this program makes. */
static void a_head_without_a_value_is_damaged(void **state)
{
    struct sto_results *results = NULL;
    struct vs_error err = VS_ERROR_INIT;
    char path[4096];
    sqlite3 *db;

    sto_results_close(results_open(trace_path(state, "r.db", path, sizeof(path))));
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "DROP TABLE sweep; CREATE TABLE sweep (key, value); "
                                  "INSERT INTO sweep (key) VALUES ('net')",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(sto_results_read(path, &results, &err), VS_E_DAMAGED);
    assert_null(results);
    if (!strstr(err.text, "it does not say its net"))
        fail_msg("%s", err.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(results_are_read_as_they_were_added, trace_folder_setup,
                                        trace_folder_teardown),
        cmocka_unit_test_setup_teardown(a_killed_program_leaves_what_it_committed,
                                        trace_folder_setup, trace_folder_teardown),
        cmocka_unit_test_setup_teardown(results_of_another_sweep_are_refused, trace_folder_setup,
                                        trace_folder_teardown),
        cmocka_unit_test_setup_teardown(a_head_without_a_value_is_damaged, trace_folder_setup,
                                        trace_folder_teardown),
        cmocka_unit_test_setup_teardown(results_of_the_format_before_are_read_and_not_added_to,
                                        trace_folder_setup, trace_folder_teardown),
        cmocka_unit_test_setup_teardown(other_files_are_left_alone, trace_folder_setup,
                                        trace_folder_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

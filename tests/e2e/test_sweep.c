/*
 * tests/e2e/test_sweep.c - `vramscope sweep`: its figures beside those of `whatif`, its file of results, ^C.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/program.h"
#include "tests/skip.h"
#include "tests/wait.h"

#define NET "tests/nets/gpt_tiny.py"

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

/* The run's status is `status`, and its output or its message has `part`. */
static void check(struct program p, int status, const char *part)
{
    if (p.status != status || (!strstr(p.out, part) && !strstr(p.err, part)))
        fail_msg("status %d, not %d, or \"%s\" is not in:\n%s%s", p.status, status, part, p.out,
                 p.err);
    program_release(&p);
}

/* Member `name` of configuration number `i`, a number. */
static int64_t number_of(const char *json, size_t i, const char *name)
{
    char path[80];

    snprintf(path, sizeof(path), "$.configurations[%zu].%s", i, name);
    return json_int(json, path);
}

/* The same of a text; "" for null. The caller frees it. */
static char *text_of(const char *json, size_t i, const char *name)
{
    char path[128];
    char *text;

    snprintf(path, sizeof(path), "$.configurations[%zu].%s", i, name);
    text = json_text(json, path);
    return text ? text : strdup("");
}

static char *pair_of(const char *json, size_t i, const char *toggle)
{
    char name[64], *value, *pair;

    snprintf(name, sizeof(name), "set.%s", toggle);
    value = text_of(json, i, name);
    pair = malloc(strlen(toggle) + strlen(value) + 2);
    sprintf(pair, "%s=%s", toggle, value);
    free(value);
    return pair;
}

/* Every configuration of a grid equals the what-if with its toggles, to the byte. */
static void each_configuration_equals_its_what_if(void **state)
{
    const char *trace = program_record(NET, "base.db", NULL, NULL);
    struct program p =
        program_run("sweep", NET, "--vary", "batch=2..4", "--vary", "checkpoint=off,blocks",
                    "--vary", "shard=ddp,fsdp", "--world", "4,64", "-j", "2", "--json", NULL);

    (void)state;
    assert_int_equal(p.status, 0);
    assert_int_equal(json_int(p.out, "$.fit"), 16);
    for (size_t i = 0; i < 16; i += 3) {
        char *batch = pair_of(p.out, i, "batch"), *checkpoint = pair_of(p.out, i, "checkpoint");
        char *shard = pair_of(p.out, i, "shard"), *world = pair_of(p.out, i, "world");
        struct program one = program_run("whatif", trace, "--set", batch, "--set", checkpoint,
                                         "--set", shard, "--set", world, "--json", NULL);

        assert_int_equal(one.status, 0);
        assert_int_equal(number_of(p.out, i, "allocated"), json_int(one.out, "$.result.allocated"));
        assert_int_equal(number_of(p.out, i, "requested"), json_int(one.out, "$.result.requested"));
        assert_int_equal(number_of(p.out, i, "reserved"), json_int(one.out, "$.result.reserved"));
        assert_int_equal(number_of(p.out, i, "step"), json_int(one.out, "$.result.step"));
        assert_int_equal(number_of(p.out, i, "total_flops"), json_int(one.out, "$.total_flops"));
        assert_int_equal(number_of(p.out, i, "recompute_flops"),
                         json_int(one.out, "$.recompute_flops"));
        program_release(&one);
        free(batch);
        free(checkpoint);
        free(shard);
        free(world);
    }
    program_release(&p);
}

static void the_json_has_its_documented_fields(void **state)
{
    struct program p = program_run("sweep", NET, "--vary", "shard=fsdp", "--world", "4",
                                   "--capacity", "1G", "--seed", "7", "--json", NULL);
    static const char *const NUMBERS[] = {"batch",
                                          "processes",
                                          "parameters",
                                          "allocated",
                                          "requested",
                                          "reserved",
                                          "step",
                                          "steps",
                                          "sent",
                                          "total_flops",
                                          "host_bytes",
                                          "recompute_flops",
                                          "collectives[0].count",
                                          "collectives[0].bytes",
                                          "collectives[0].sent"};
    static const char *const TEXTS[] = {"set.shard", "set.world", "phase", "collectives[0].name"};
    char path[80];

    (void)state;
    assert_int_equal(p.status, 0);
    json_expect(p.out, "$.net", "text");
    assert_int_equal(json_int(p.out, "$.seed"), 7);
    assert_int_equal(json_int(p.out, "$.capacity"), 1 << 30);
    assert_int_equal(json_int(p.out, "$.do_not_fit"), 0);
    assert_int_equal(json_int(p.out, "$.refused"), 0);
    json_expect(p.out, "$.configurations[0].fits", "bool");
    json_expect(p.out, "$.configurations[0].front", "bool");
    for (size_t i = 0; i < sizeof(NUMBERS) / sizeof(NUMBERS[0]); i++) {
        snprintf(path, sizeof(path), "$.configurations[0].%s", NUMBERS[i]);
        json_expect(p.out, path, "integer");
    }
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
        snprintf(path, sizeof(path), "$.configurations[0].%s", TEXTS[i]);
        json_expect(p.out, path, "text");
    }
    assert_null(json_text(p.out, "$.configurations[0].error"));
    assert_null(json_text(p.out, "$.configurations[0].refused"));
    program_release(&p);
}

/* rank 4 of 4 is no rank; a thousandth of the memory does not do. */
static void what_is_refused_or_does_not_fit_is_in_the_table(void **state)
{
    struct program p = program_run("sweep", NET, "--vary", "rank=3..4+1", "--set", "shard=fsdp",
                                   "--world", "4", NULL);

    (void)state;
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(p.out, "2 configurations of " NET ": 1 fit, 0 do not, 1 refused\n"));
    assert_non_null(strstr(p.out, "refused:\n     1: " NET));
    assert_non_null(strstr(p.out, "rank=4: the ranks of"));
    assert_non_null(strstr(p.out, "1 on the Pareto front"));
    program_release(&p);
    check(program_run("sweep", NET, "--vary", "batch=2..4", "--capacity", "1M", "--all", NULL), 0,
          "0 fit 1.0 MiB, 2 do not");
    check(program_run("sweep", NET, "--vary", "batch=2", "--capacity", "1M", "--all", NULL), 0,
          "does not fit");
    check(program_run("sweep", NET, "--vary", "rank=9", "--set", "shard=fsdp", NULL), 1,
          "1 configuration of " NET ": none can be run\n");
}

static void a_file_of_results_is_gone_on_with_and_printed(void **state)
{
    const char *file = program_path("results.db");
    struct program a, b;

    (void)state;
    check(program_run("sweep", NET, "--vary", "batch=2..8", "-o", file, NULL), 0,
          "3 configurations");
    sql_run(file, "update result set allocated = 1 where config = 'batch=2'"); /* not run again */
    a = program_run("sweep", NET, "--vary", "batch=1..4", "-o", file, "--json", NULL);
    assert_int_equal(a.status, 0);
    assert_int_equal(json_int(a.out, "$.fit"), 3);
    assert_int_equal(number_of(a.out, 1, "allocated"), 1);
    assert_int_equal(sql_int(file, "select count(*) from result"), 4);
    b = program_run("sweep", file, "--json", NULL);
    assert_int_equal(b.status, 0);
    assert_int_equal(json_int(b.out, "$.fit"), 4);
    assert_int_equal(number_of(b.out, 3, "batch"), 1); /* it was found last */
    assert_int_equal(number_of(b.out, 3, "allocated"), number_of(a.out, 0, "allocated"));
    program_release(&a);
    program_release(&b);
    check(program_run("sweep", file, "--vary", "batch=1", NULL), 2, "name the net");
    check(program_run("tui", file, "--dump", NULL), 0, "4; * 3 on the Pareto front");
    check(program_run("sweep", file, NULL), 0, "3 on the Pareto front");
    check(program_run("report", file, NULL), 1, "`vramscope sweep ");
    check(program_run("sweep", NET, "--vary", "batch=1", "-o", file, "--seed", "1", NULL), 1,
          "has results with --seed 0");
    check(program_run("sweep", NET, "--vary", "batch=1", "-o", NET, NULL), 1,
          "has no results of a sweep");
}

/* More configurations than can be run in the time of a test; ^C keeps those that were. */
static void an_interrupted_sweep_goes_on(void **state)
{
    const char *file = program_path("stopped.db");
    struct wait wait;
    pid_t pid = program_start("sweep", NET, "--vary", "batch=1..300+1", "--vary", "steps=1..300+1",
                              "-j", "1", "-o", file, NULL);
    struct program p;
    int64_t before;
    int status;

    (void)state;
    wait = wait_for(pid, "64 results in %s", file);
    while (sql_try_int(file, "select count(*) from result") < 64)
        wait_more(&wait);
    kill(pid, SIGINT);
    status = wait_child(pid, "the sweep ends after ^C");
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    before = sql_int(file, "select count(*) from result");
    assert_true(before >= 64 && before < 90000);
    p = program_run("sweep", NET, "--vary", "batch=1", "--vary", "steps=1..70+1", "-o", file,
                    "--json", NULL);
    assert_int_equal(p.status, 0);
    assert_int_equal(json_int(p.out, "$.fit"), 70);
    assert_int_equal(sql_int(file, "select count(*) from result"), before > 70 ? before : 70);
    assert_int_equal(sql_int(file, "select max(id) from result where config = 'batch=1 steps=64'"),
                     64);
    program_release(&p);
}

/* Sends SIGKILL to the children of `pid`, which are its workers. */
static void workers_kill(pid_t pid)
{
    char path[64];
    FILE *file;
    int child;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    file = fopen(path, "r");
    assert_non_null(file);
    while (fscanf(file, "%d", &child) == 1)
        kill((pid_t)child, SIGKILL);
    fclose(file);
}

/*
 * The second configuration does not end in the time of a test. Meanwhile the result of the first one is in the file;
 * and when the process of the second one is ended, the file has no result of it, so that it is run again.
 */
static void a_run_that_was_ended_has_no_result(void **state)
{
    const char *file = program_path("ended.db");
    struct wait wait;
    pid_t pid;
    int status;

    (void)state;
    if (access("/proc/thread-self/children", R_OK) != 0)
        tests_skip("this kernel does not list the children of a process in /proc");
    pid = program_start("sweep", NET, "--vary", "steps=1,1000000000", "-j", "2", "-o", file, NULL);
    wait = wait_for(pid, "the result of one step in %s", file);
    while (sql_try_int(file, "select count(*) from result") < 1)
        wait_more(&wait);
    workers_kill(pid);
    status = wait_child(pid, "the sweep ends after its workers");
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(sql_int(file, "select count(*) from result where config = 'steps=1'"), 1);
    assert_int_equal(sql_int(file, "select count(*) from result"), 1);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    check(program_run("sweep", NET, NULL), 2, "--vary TOGGLE=VALUES says what to vary");
    check(program_run("sweep", NET, "--vary", "batch=8..4", NULL), 2, "the range 8..4 is empty");
    check(program_run("sweep", NET, "--vary", "bacth=8", NULL), 2, "batch");
    check(program_run("sweep", NET, "--world", "0", NULL), 2, "world");
    check(program_run("sweep", NET, "--vary", "batch=8", "--set", "batch=4", NULL), 2,
          "give it once");
    check(program_run("sweep", NET, "--vary", "batch=8", "--capacity", "much", NULL), 2,
          "a size such as 80G");
    check(program_run("sweep", NET, "--vary", "batch=8", "--seed", "-1", NULL), 2, "--seed");
    check(program_run("sweep", NET, "--vary", "batch=8", "-j", "1000", NULL), 2,
          "--jobs cannot be `1000`; give a number from 1 to 256");
    check(program_run("sweep", NET, "--vary", "batch=8", "-j", "0", NULL), 2,
          "--jobs cannot be `0`");
    check(program_run("sweep", "none.py", "--vary", "batch=8", NULL), 1, "none.py");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_configuration_equals_its_what_if),
        cmocka_unit_test(the_json_has_its_documented_fields),
        cmocka_unit_test(what_is_refused_or_does_not_fit_is_in_the_table),
        cmocka_unit_test(a_file_of_results_is_gone_on_with_and_printed),
        cmocka_unit_test(an_interrupted_sweep_goes_on),
        cmocka_unit_test(a_run_that_was_ended_has_no_result),
        cmocka_unit_test(wrong_arguments_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, cleanup);
}

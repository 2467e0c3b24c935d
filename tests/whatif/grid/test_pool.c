/*
 * tests/whatif/grid/test_pool.c - configurations run in several processes, some of which end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "whatif/grid/pool.h"

#define COUNT 40

/*
 * times: how often each configuration had a result; killed, left: those that end their process; stop_at: results;
 * is_stopped: each process is sent what stops a sweep
 */
struct runs {
    struct sto_result results[COUNT];
    int times[COUNT];
    size_t killed;
    size_t left;
    size_t count;
    size_t stop_at;
    bool is_stopped;
};

static void on_run(void *user, size_t config, struct sto_result *out)
{
    const struct runs *runs = user;

    if (runs->is_stopped) {
        raise(SIGINT);
        raise(SIGTERM);
    }
    if (config == runs->killed)
        raise(SIGKILL);
    if (config == runs->left)
        _exit(3);
    *out = (struct sto_result){.fits = true, .allocated = 1000 + config};
}

static enum vs_status on_done(void *user, size_t config, const struct sto_result *result,
                              struct vs_error *err)
{
    struct runs *runs = user;

    runs->results[config] = *result;
    runs->times[config]++;
    runs->count++;
    if (runs->stop_at == COUNT + 1 && runs->count == 5)
        return vs_fail(err, VS_E_IO, "the disk is full");
    return VS_OK;
}

static bool on_poll(void *user)
{
    const struct runs *runs = user;

    return runs->count < runs->stop_at;
}

/* Run every second configuration from the last one down. */
static enum vs_status run(struct runs *runs, size_t workers, struct vs_error *err)
{
    const struct wif_grid_pool pool = {
        .workers = workers, .run = on_run, .done = on_done, .goes_on = on_poll, .user = runs};
    size_t items[COUNT / 2];

    for (size_t i = 0; i < COUNT / 2; i++)
        items[i] = COUNT - 1 - 2 * i;
    return wif_grid_pool_run(&pool, items, COUNT / 2, err);
}

static void no_process_is_left(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void each_configuration_is_run_once(void **state)
{
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    for (size_t workers = 1; workers <= 64; workers *= 4) {
        struct runs runs = {.killed = COUNT, .left = COUNT, .stop_at = COUNT};

        if (run(&runs, workers, &err))
            fail_msg("%s", err.text);
        for (size_t i = 0; i < COUNT; i++) {
            assert_int_equal(runs.times[i], i % 2);
            if (i % 2)
                assert_int_equal(runs.results[i].allocated, 1000 + i);
        }
        no_process_is_left();
    }
}

static void a_process_that_ends_is_one_result(void **state)
{
    struct runs runs = {.killed = 7, .left = 21, .stop_at = COUNT};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    if (run(&runs, 2, &err))
        fail_msg("%s", err.text);
    for (size_t i = 1; i < COUNT; i += 2) {
        assert_int_equal(runs.times[i], 1);
        assert_int_equal(runs.results[i].is_refused, i == 7 || i == 21);
        assert_int_equal(runs.results[i].is_ended, i == 7 || i == 21);
    }
    assert_string_equal(runs.results[7].reason, "the run was ended by signal 9 (Killed)");
    assert_string_equal(runs.results[21].reason, "the run ended its process with status 3");
    no_process_is_left();
}

/* As ^C and `timeout` do, which send them to all processes of a group. */
static void signals_that_stop_a_sweep_are_no_results(void **state)
{
    struct runs runs = {.killed = COUNT, .left = COUNT, .stop_at = COUNT, .is_stopped = true};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    if (run(&runs, 2, &err))
        fail_msg("%s", err.text);
    for (size_t i = 1; i < COUNT; i += 2) {
        assert_string_equal(runs.results[i].reason, "");
        assert_false(runs.results[i].is_refused);
    }
    no_process_is_left();
}

static void a_sweep_can_be_stopped(void **state)
{
    struct runs runs = {.killed = COUNT, .left = COUNT, .stop_at = 4};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(run(&runs, 2, &err), VS_E_STOPPED);
    assert_in_range(runs.count, 4, 5); /* both workers may have replied */
    no_process_is_left();
}

static void a_result_that_cannot_be_kept_ends_the_sweep(void **state)
{
    struct runs runs = {.killed = COUNT, .left = COUNT, .stop_at = COUNT + 1};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(run(&runs, 2, &err), VS_E_IO);
    assert_string_equal(err.text, "the disk is full");
    assert_int_equal(runs.count, 5);
    no_process_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_configuration_is_run_once),
        cmocka_unit_test(a_process_that_ends_is_one_result),
        cmocka_unit_test(signals_that_stop_a_sweep_are_no_results),
        cmocka_unit_test(a_sweep_can_be_stopped),
        cmocka_unit_test(a_result_that_cannot_be_kept_ends_the_sweep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

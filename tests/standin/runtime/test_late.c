/*
 * tests/standin/runtime/test_late.c - `--async late`: an event completes when the host has waited for it, and not
 * before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/standin/runtime/simulated.h"
#include "tests/standin/shared.h"

#define NOT_READY 600

typedef int handle_fn(void *handle);
typedef int pair_fn(void *a, void *b);

static void *made(const char *function)
{
    void *out = NULL;

    SIMULATED(int (*)(void **), function)(&out);
    return out;
}

static int query(void *event)
{
    return SIMULATED(handle_fn *, "cudaEventQuery")(event);
}

static void record(void *event, void *stream)
{
    SIMULATED(pair_fn *, "cudaEventRecord")(event, stream);
}

static void wait_for(void *stream, void *event)
{
    SIMULATED(int (*)(void *, void *, unsigned), "cudaStreamWaitEvent")(stream, event, 0);
}

static void launch(int count)
{
    for (int i = 0; i < count; i++)
        SIMULATED(int (*)(void), "cudaLaunchKernel")();
}

static void an_event_is_complete_after_the_host_waited_for_it(void **state)
{
    void *stream = made("cudaStreamCreate");
    void *event = made("cudaEventCreate");

    (void)state;
    assert_int_equal(query(event), 0); /* never recorded */
    record(event, stream);
    assert_int_equal(query(event), NOT_READY);
    assert_int_equal(SIMULATED(int (*)(void), "cudaGetLastError")(), NOT_READY);
    SIMULATED(handle_fn *, "cudaEventSynchronize")(event);
    assert_int_equal(query(event), 0);
    record(event, stream);
    assert_int_equal(query(event), NOT_READY);
    SIMULATED(handle_fn *, "cudaStreamSynchronize")(stream);
    assert_int_equal(query(event), 0);
    record(event, stream);
    SIMULATED(int (*)(void), "cudaDeviceSynchronize")();
    assert_int_equal(query(event), 0);
}

static void waiting_for_a_later_event_completes_the_earlier_ones_of_its_stream(void **state)
{
    void *stream = made("cudaStreamCreate");
    void *other = made("cudaStreamCreate");
    void *first = made("cudaEventCreate");
    void *second = made("cudaEventCreate");
    void *elsewhere = made("cudaEventCreate");

    (void)state;
    record(first, stream);
    record(second, stream);
    record(elsewhere, other);
    SIMULATED(handle_fn *, "cudaEventSynchronize")(first);
    assert_int_equal(query(second), NOT_READY);
    SIMULATED(handle_fn *, "cudaEventSynchronize")(second);
    assert_int_equal(query(second), 0);
    assert_int_equal(query(elsewhere), NOT_READY);
}

static void a_stream_that_waited_for_another_completes_it(void **state)
{
    void *producer = made("cudaStreamCreate");
    void *middle = made("cudaStreamCreate");
    void *consumer = made("cudaStreamCreate");
    void *produced = made("cudaEventCreate");
    void *passed = made("cudaEventCreate");
    void *later = made("cudaEventCreate");

    (void)state;
    record(produced, producer);
    wait_for(middle, produced);
    record(passed, middle);
    wait_for(consumer, passed);
    record(later, producer);
    SIMULATED(handle_fn *, "cudaStreamSynchronize")(consumer);
    assert_int_equal(query(produced), 0);
    assert_int_equal(query(passed), 0);
    assert_int_equal(query(later), NOT_READY);
    assert_int_equal(SIMULATED(handle_fn *, "cudaStreamQuery")(producer), NOT_READY);
    assert_int_equal(SIMULATED(handle_fn *, "cudaStreamQuery")(consumer), 0);
}

static void an_event_completes_after_a_thousand_kernels(void **state)
{
    void *stream = made("cudaStreamCreate");
    void *event = made("cudaEventCreate");

    (void)state;
    record(event, stream);
    launch(1024);
    assert_int_equal(query(event), NOT_READY);
    launch(1);
    assert_int_equal(query(event), 0);
}

static void an_event_completes_after_many_polls(void **state)
{
    void *stream = made("cudaStreamCreate");
    void *event = made("cudaEventCreate");
    int polls = 1;

    (void)state;
    record(event, stream);
    for (int i = 0; i < 200; i++) { /* with work between it is not polling */
        launch(1);
        assert_int_equal(query(event), NOT_READY);
    }
    while (query(event) != 0 && polls < 1000)
        polls++;
    assert_int_equal(polls, 99); /* the question before was the first one since the last kernel */
}

static void a_blocking_copy_and_a_free_complete_pending_work(void **state)
{
    char bytes[16];
    void *stream = made("cudaStreamCreate");
    void *event = made("cudaEventCreate");
    void *memory = NULL;

    (void)state;
    assert_int_equal(SIMULATED(int (*)(void **, size_t), "cudaMalloc")(&memory, 16), 0);
    record(event, NULL);
    SIMULATED(int (*)(void *, const void *, size_t, int, void *), "cudaMemcpyAsync")
    (bytes, memory, sizeof(bytes), 2, NULL);
    assert_int_equal(query(event), NOT_READY);
    SIMULATED(int (*)(void *, const void *, size_t, int), "cudaMemcpy")
    (bytes, memory, sizeof(bytes), 2);
    assert_int_equal(query(event), 0);
    record(event, stream);
    SIMULATED(handle_fn *, "cudaFree")(memory);
    assert_int_equal(query(event), 0);
}

static void elapsed_time_is_known_when_both_events_are_complete(void **state)
{
    void *first = made("cudaEventCreate");
    void *second = made("cudaEventCreate");
    float ms = -1;
    int (*elapsed)(float *, void *, void *) =
        SIMULATED(int (*)(float *, void *, void *), "cudaEventElapsedTime");

    (void)state;
    record(first, NULL);
    launch(2);
    record(second, NULL);
    assert_int_equal(elapsed(&ms, first, second), NOT_READY);
    SIMULATED(handle_fn *, "cudaEventSynchronize")(second);
    assert_int_equal(elapsed(&ms, first, second), 0);
    assert_true(ms > 2.0f && ms < 2.01f);
}

static void destroying_a_stream_completes_its_events(void **state)
{
    void *stream = made("cudaStreamCreate");
    void *event = made("cudaEventCreate");

    (void)state;
    record(event, stream);
    SIMULATED(handle_fn *, "cudaStreamDestroy")(stream);
    assert_int_equal(query(event), 0);
}

static int setup(void **state)
{
    (void)state;
    if (simulated_open()->set("async", "sometimes") != 1 ||
        simulated_open()->set("sync", "late") != 1)
        return 1;
    if (simulated_open()->set("async", "late") != 0)
        return 1;
    return simulated_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_is_complete_after_the_host_waited_for_it),
        cmocka_unit_test(waiting_for_a_later_event_completes_the_earlier_ones_of_its_stream),
        cmocka_unit_test(a_stream_that_waited_for_another_completes_it),
        cmocka_unit_test(an_event_completes_after_a_thousand_kernels),
        cmocka_unit_test(an_event_completes_after_many_polls),
        cmocka_unit_test(a_blocking_copy_and_a_free_complete_pending_work),
        cmocka_unit_test(elapsed_time_is_known_when_both_events_are_complete),
        cmocka_unit_test(destroying_a_stream_completes_its_events),
    };

    return cmocka_run_group_tests(tests, setup, shared_cleanup);
}

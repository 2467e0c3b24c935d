/*
 * tests/tracer/test_ring.c - records passed from one thread to another.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "tests/wait.h"
#include "tracer/ring.h"

#define RECORDS 200000

static void push(struct trc_ring *ring, uint64_t n)
{
    struct vs_event *slot = trc_ring_slot(ring);

    *slot = (struct vs_event){.raw = {.a = n, .d = ~n, .e = (uint32_t)n}};
    trc_ring_publish(ring);
}

static void an_empty_ring_gives_nothing(void **state)
{
    struct trc_ring *ring = trc_ring_new(2);
    size_t count = 9;

    (void)state;
    trc_ring_peek(ring, &count);
    assert_int_equal(count, 0);
    trc_ring_free(ring);
    trc_ring_free(NULL);
}

static void records_come_out_in_order_and_runs_end_at_the_end_of_the_ring(void **state)
{
    struct trc_ring *ring = trc_ring_new(4);
    const struct vs_event *slots;
    size_t count;

    (void)state;
    push(ring, 1);
    push(ring, 2);
    push(ring, 3);
    slots = trc_ring_peek(ring, &count);
    assert_int_equal(count, 3);
    assert_int_equal(slots[2].raw.a, 3);
    trc_ring_consume(ring, 2);
    push(ring, 4);
    push(ring, 5);
    slots = trc_ring_peek(ring, &count);
    assert_int_equal(count, 2); /* the third is at the start of the ring */
    assert_int_equal(slots[0].raw.a, 3);
    assert_int_equal(slots[1].raw.a, 4);
    trc_ring_consume(ring, 2);
    slots = trc_ring_peek(ring, &count);
    assert_int_equal(count, 1);
    assert_int_equal(slots[0].raw.a, 5);
    trc_ring_free(ring);
}

struct consumer {
    struct trc_ring *ring;
    uint64_t wrong;
    uint64_t seen;
    unsigned nap_every; /* runs between two naps; 0: none */
};

static void *consume(void *arg)
{
    struct consumer *c = arg;
    unsigned runs = 0;

    while (c->seen < RECORDS) {
        size_t count;
        const struct vs_event *slots = trc_ring_peek(c->ring, &count);

        for (size_t i = 0; i < count; i++) {
            c->wrong += slots[i].raw.a != c->seen || slots[i].raw.d != ~c->seen ||
                        slots[i].raw.e != (uint32_t)c->seen;
            c->seen++;
        }
        trc_ring_consume(c->ring, count);
        if (count == 0 || (c->nap_every && ++runs % c->nap_every == 0))
            nanosleep(&(struct timespec){0, 1000}, NULL);
    }
    return NULL;
}

static void pass_all(size_t slot_count, unsigned nap_every)
{
    struct consumer c = {.ring = trc_ring_new(slot_count), .nap_every = nap_every};
    uint64_t waits;
    uint64_t wait_ns;
    pthread_t thread;

    wait_begin("all records to go through the ring");
    assert_int_equal(pthread_create(&thread, NULL, consume, &c), 0);
    for (uint64_t n = 0; n < RECORDS; n++)
        push(c.ring, n);
    pthread_join(thread, NULL);
    wait_end();
    assert_int_equal(c.seen, RECORDS);
    assert_int_equal(c.wrong, 0);
    trc_ring_waits(c.ring, &waits, &wait_ns);
    assert_true(waits > 0 || wait_ns == 0);
    trc_ring_free(c.ring);
}

static void records_passed_between_two_threads_arrive_unchanged(void **state)
{
    (void)state;
    pass_all(1 << 14, 0);
    pass_all(64, 0);
}

static void a_producer_that_finds_the_ring_full_waits(void **state)
{
    (void)state;
    pass_all(1024, 3);
}

static void the_producer_sees_that_the_consumer_has_given_up(void **state)
{
    struct trc_ring *ring = trc_ring_new(8);

    (void)state;
    assert_false(trc_ring_is_given_up(ring));
    trc_ring_give_up(ring);
    assert_true(trc_ring_is_given_up(ring));
    trc_ring_free(ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_ring_gives_nothing),
        cmocka_unit_test(records_come_out_in_order_and_runs_end_at_the_end_of_the_ring),
        cmocka_unit_test(records_passed_between_two_threads_arrive_unchanged),
        cmocka_unit_test(a_producer_that_finds_the_ring_full_waits),
        cmocka_unit_test(the_producer_sees_that_the_consumer_has_given_up),
    };

    return cmocka_run_group_tests_name("tracer/ring", tests, NULL, NULL);
}

/*
 * tests/store/codec/test_keys.c - positions are found by the three events from there on; of several keys the one with
 * most of the events is chosen, as long as not too many chunks depend on it; the oldest goes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "store/codec/keys_internal.h"

#define EVENTS 64
#define KEYS 16
#define USES 31

/* ---- positions ---- */

static void located(struct vs_event *events, size_t count, uint32_t first)
{
    memset(events, 0, count * sizeof(*events));
    for (size_t i = 0; i < count; i++)
        events[i] = (struct vs_event){.kind = VS_EV_HOLD, .location = first + (uint32_t)i};
}

static void a_position_needs_three_events_behind_it(void **state)
{
    struct sto_finder *finder = vs_alloc(sizeof(*finder));
    struct vs_event *events = vs_alloc(3 * sizeof(*events));
    size_t position = 99;

    (void)state;
    located(events, 3, 1);
    sto_finder_clear(finder);
    assert_false(sto_finder_get(finder, events, 3, 0, &position));
    sto_finder_put(finder, events + 1, 2, 0, true); /* two events: none is read beyond them */
    assert_false(sto_finder_get(finder, events + 1, 2, 0, &position));
    sto_finder_put(finder, events, 3, 0, true);
    assert_true(sto_finder_get(finder, events, 3, 0, &position));
    assert_int_equal(position, 0);
    vs_free(events);
    vs_free(finder);
}

static void each_of_the_three_events_counts(void **state)
{
    struct sto_finder *finder = vs_alloc(sizeof(*finder));
    struct vs_event events[3];
    size_t position;

    (void)state;
    located(events, 3, 1);
    sto_finder_clear(finder);
    sto_finder_put(finder, events, 3, 0, true);
    for (int i = 0; i < 3; i++) {
        struct vs_event other[3];

        memcpy(other, events, sizeof(other));
        other[i].location += 1000;
        assert_false(sto_finder_get(finder, other, 3, 0, &position));
        other[i] = events[i];
        other[i].kind = VS_EV_DROP;
        assert_false(sto_finder_get(finder, other, 3, 0, &position));
        other[i] = events[i];
        other[i].raw.a = 1000; /* ids do not */
        assert_true(sto_finder_get(finder, other, 3, 0, &position));
    }
    vs_free(finder);
}

/* 2,000 events take 2,000 of 32,768 places: few of them meet another. */
static void most_positions_have_a_place_of_their_own(void **state)
{
    enum { MANY = 2000 };
    struct sto_finder *finder = vs_alloc(sizeof(*finder));
    struct vs_event *events = vs_alloc(MANY * sizeof(*events));
    size_t found = 0;

    (void)state;
    located(events, MANY, 1);
    sto_finder_clear(finder);
    for (size_t at = 0; at < MANY; at++)
        sto_finder_put(finder, events, MANY, at, false);
    for (size_t at = 0; at < MANY; at++) {
        size_t position = 0;

        found += sto_finder_get(finder, events, MANY, at, &position) && position == at;
    }
    assert_in_range(found, MANY * 9 / 10, MANY - 2);
    vs_free(events);
    vs_free(finder);
}

static void the_first_or_the_last_of_equal_positions_is_kept(void **state)
{
    struct sto_finder *finder = vs_alloc(sizeof(*finder));
    struct vs_event events[6];
    size_t position;

    (void)state;
    located(events, 3, 1);
    located(events + 3, 3, 1);
    sto_finder_clear(finder);
    sto_finder_put(finder, events, 6, 0, false);
    sto_finder_put(finder, events, 6, 3, false);
    assert_true(sto_finder_get(finder, events, 6, 0, &position));
    assert_int_equal(position, 0);
    sto_finder_put(finder, events, 6, 3, true);
    assert_true(sto_finder_get(finder, events, 6, 0, &position));
    assert_int_equal(position, 3);
    vs_free(finder);
}

/* ---- keys ---- */

static void add(struct sto_keys *keys, const struct vs_event *events, size_t count, int64_t id)
{
    struct sto_newest *newest = vs_calloc(count + 1, sizeof(*newest));
    const struct sto_newest limits = {.id = {0, 1, 2, 3}};

    for (size_t i = 0; i <= count; i++)
        newest[i].id[1] = 100 + i;
    sto_keys_add(keys, events, count, id, newest, &limits);
    vs_free(newest);
}

/* A key of events that no other one has: key number n. */
static void add_own(struct sto_keys *keys, int64_t n)
{
    struct vs_event events[EVENTS];

    located(events, EVENTS, 1000 * (uint32_t)n);
    add(keys, events, EVENTS, n);
}

static struct sto_key *find_own(struct sto_keys *keys, int64_t n)
{
    struct vs_event events[EVENTS];

    located(events, EVENTS, 1000 * (uint32_t)n);
    return sto_keys_find(keys, events, EVENTS);
}

static void a_key_is_found_as_it_was_added(void **state)
{
    struct sto_keys *keys = sto_keys_new();
    struct vs_event events[EVENTS];
    struct sto_key *key;

    (void)state;
    assert_null(find_own(keys, 1));
    add_own(keys, 1);
    assert_null(find_own(keys, 2));
    key = find_own(keys, 1);
    assert_non_null(key);
    located(events, EVENTS, 1000);
    assert_int_equal(key->id, 1);
    assert_int_equal(key->count, EVENTS);
    assert_memory_equal(key->events, events, sizeof(events));
    assert_int_equal(key->newest[EVENTS].id[1], 100 + EVENTS);
    assert_int_equal(key->limits.id[3], 3);
    assert_int_equal(key->uses, 0);
    sto_keys_free(keys);
}

/* The first has the first quarter of the events, the second the rest; the third has all of them, but is of no use. */
static void the_key_with_most_of_the_events_is_chosen(void **state)
{
    struct sto_keys *keys = sto_keys_new();
    struct vs_event wanted[EVENTS];
    struct vs_event events[EVENTS];

    (void)state;
    located(wanted, EVENTS, 1);
    located(events, EVENTS, 9000);
    memcpy(events, wanted, EVENTS / 4 * sizeof(*events));
    add(keys, events, EVENTS, 5);
    located(events, EVENTS, 8000);
    memcpy(events + EVENTS / 4, wanted + EVENTS / 4, EVENTS * 3 / 4 * sizeof(*events));
    add(keys, events, EVENTS, 3);
    assert_int_equal(sto_keys_find(keys, wanted, EVENTS)->id, 3);
    add(keys, wanted, EVENTS, 1);
    assert_int_equal(sto_keys_find(keys, wanted, EVENTS)->id, 1);
    sto_keys_free(keys);
}

static void of_equal_keys_the_newest_is_chosen(void **state)
{
    struct sto_keys *keys = sto_keys_new();
    struct vs_event events[EVENTS];

    (void)state;
    located(events, EVENTS, 1);
    add(keys, events, EVENTS, 4);
    add(keys, events, EVENTS, 9);
    add(keys, events, EVENTS, 6);
    assert_int_equal(sto_keys_find(keys, events, EVENTS)->id, 9);
    sto_keys_free(keys);
}

static void so_many_chunks_depend_on_a_key_and_no_more(void **state)
{
    struct sto_keys *keys = sto_keys_new();

    (void)state;
    add_own(keys, 1);
    find_own(keys, 1)->uses = USES - 1;
    find_own(keys, 1)->uses++;
    assert_null(find_own(keys, 1));
    sto_keys_free(keys);
}

/* Key 1 was added first, and found since: key 2 is the one that was not used for longest. */
static void the_key_that_was_not_used_for_longest_goes(void **state)
{
    struct sto_keys *keys = sto_keys_new();

    (void)state;
    for (int64_t n = 1; n <= KEYS; n++)
        add_own(keys, n);
    assert_non_null(find_own(keys, 1));
    add_own(keys, KEYS + 1);
    assert_null(find_own(keys, 2));
    for (int64_t n = 3; n <= KEYS + 1; n++)
        assert_non_null(find_own(keys, n));
    assert_non_null(find_own(keys, 1));
    /* now it is 3 */
    add_own(keys, KEYS + 2);
    assert_null(find_own(keys, 3));
    assert_non_null(find_own(keys, 4));
    /* and the one just added is not the next: 5 is */
    add_own(keys, KEYS + 3);
    assert_non_null(find_own(keys, KEYS + 2));
    assert_null(find_own(keys, 5));
    sto_keys_free(keys);
}

static void a_key_in_the_place_of_another_has_nothing_of_it(void **state)
{
    struct sto_keys *keys = sto_keys_new();
    struct vs_event events[EVENTS];
    struct sto_key *key;

    (void)state;
    for (int64_t n = 1; n <= KEYS; n++)
        add_own(keys, n);
    find_own(keys, 1)->uses = 3;
    for (int64_t n = 2; n <= KEYS; n++)
        (void)find_own(keys, n);
    located(events, EVENTS, 70000);
    add(keys, events, EVENTS / 2, 70);
    assert_null(find_own(keys, 1));
    key = sto_keys_find(keys, events, EVENTS / 2);
    assert_int_equal(key->id, 70);
    assert_int_equal(key->count, EVENTS / 2);
    assert_int_equal(key->uses, 0);
    sto_keys_free(keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_position_needs_three_events_behind_it),
        cmocka_unit_test(each_of_the_three_events_counts),
        cmocka_unit_test(most_positions_have_a_place_of_their_own),
        cmocka_unit_test(the_first_or_the_last_of_equal_positions_is_kept),
        cmocka_unit_test(a_key_is_found_as_it_was_added),
        cmocka_unit_test(the_key_with_most_of_the_events_is_chosen),
        cmocka_unit_test(of_equal_keys_the_newest_is_chosen),
        cmocka_unit_test(so_many_chunks_depend_on_a_key_and_no_more),
        cmocka_unit_test(the_key_that_was_not_used_for_longest_goes),
        cmocka_unit_test(a_key_in_the_place_of_another_has_nothing_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

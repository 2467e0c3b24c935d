/*
 * tests/tracer/test_in_force.c - the events in force, beside a plain list of them, on random events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "tracer/in_force.h"

#define EVENTS 60000
#define BLOCKS 6

/* The events in force, in their order. */
struct plain_list {
    struct vs_event items[EVENTS];
    size_t count;
    uint64_t allocated, peak, peak_event;
};

static void remove_at(struct plain_list *list, size_t i)
{
    list->count--;
    memmove(&list->items[i], &list->items[i + 1], (list->count - i) * sizeof(list->items[0]));
}

static size_t alloc_of(const struct plain_list *list, uint64_t block)
{
    size_t i = 0;

    while (i < list->count &&
           (list->items[i].kind != VS_EV_ALLOC || list->items[i].alloc.block != block))
        i++;
    return i;
}

static void block_remove(struct plain_list *list, uint64_t block)
{
    const size_t at = alloc_of(list, block);

    if (at == list->count)
        return;
    list->allocated -= list->items[at].alloc.block_bytes;
    for (size_t i = list->count; i-- > 0;)
        if (vs_event_block(&list->items[i]) == block)
            remove_at(list, i);
}

static bool ends(const struct vs_event *end, const struct vs_event *event)
{
    if (vs_event_block(end) != vs_event_block(event))
        return false;
    if (end->kind == VS_EV_UNSAVE)
        return event->kind == VS_EV_SAVE && event->save.node == end->save.node;
    return event->kind == VS_EV_HOLD && event->hold.name == end->hold.name &&
           event->hold.scope == end->hold.scope && event->hold.holder == end->hold.holder;
}

static void holder_remove(struct plain_list *list, const struct vs_event *end)
{
    size_t found = list->count;

    for (size_t i = list->count; i-- > 0;) /* the oldest comes last */
        if (ends(end, &list->items[i]))
            found = i;
    for (size_t i = list->count; i-- > 0;)
        if (ends(end, &list->items[i]) && list->items[i].raw.b == end->raw.b)
            found = i;
    if (found < list->count)
        remove_at(list, found);
}

static void plain_event(struct plain_list *list, uint64_t seq, const struct vs_event *event)
{
    const uint64_t block = vs_event_block(event);

    switch (event->kind) {
    case VS_EV_ALLOC:
        block_remove(list, block);
        list->items[list->count++] = *event;
        list->allocated += event->alloc.block_bytes;
        if (list->allocated > list->peak) {
            list->peak = list->allocated;
            list->peak_event = seq;
        }
        break;
    case VS_EV_FREE:
        block_remove(list, block);
        break;
    case VS_EV_HOLD:
    case VS_EV_SAVE:
        if (!block || alloc_of(list, block) < list->count)
            list->items[list->count++] = *event;
        break;
    default:
        holder_remove(list, event);
        break;
    }
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

/* An event about one of a few blocks, tensors and names, so that many are alike; block 0 is host memory. */
static struct vs_event event_make(uint32_t *seed)
{
    static const uint8_t KINDS[] = {VS_EV_ALLOC, VS_EV_FREE,   VS_EV_HOLD, VS_EV_HOLD,
                                    VS_EV_HOLD,  VS_EV_DROP,   VS_EV_DROP, VS_EV_SAVE,
                                    VS_EV_SAVE,  VS_EV_UNSAVE, VS_EV_DROP};
    struct vs_event event = {.kind = KINDS[next_random(seed) % sizeof(KINDS)]};
    const uint64_t block = next_random(seed) % BLOCKS;

    switch (event.kind) {
    case VS_EV_ALLOC:
    case VS_EV_FREE:
        event.alloc.block = 1 + block % (BLOCKS - 1);
        event.alloc.block_bytes = event.kind == VS_EV_ALLOC ? 512 * (1 + next_random(seed) % 9) : 0;
        if (next_random(seed) % 8) /* else blocks have few holders */
            event.alloc.block = BLOCKS - 1;
        break;
    case VS_EV_HOLD:
    case VS_EV_DROP:
        event.hold.block = block;
        event.hold.tensor = next_random(seed) % 3;
        event.hold.name = next_random(seed) % 3;
        event.hold.scope = next_random(seed) % 2;
        event.hold.holder = VS_HOLD_LOCAL;
        break;
    default:
        event.save.block = block;
        event.save.tensor = next_random(seed) % 3;
        event.save.node = next_random(seed) % 3;
        break;
    }
    return event;
}

static void same(const struct trc_in_force *f, const struct plain_list *list)
{
    size_t count;
    struct vs_event *events = trc_in_force_events(f, &count);

    assert_int_equal(count, list->count);
    for (size_t i = 0; i < count; i++)
        assert_memory_equal(&events[i], &list->items[i], sizeof(*events));
    vs_free(events);
}

static void random_events_leave_what_a_plain_list_has(void **state)
{
    struct plain_list *list = vs_calloc(1, sizeof(*list));
    struct trc_in_force *f = trc_in_force_new();
    uint32_t seed = 17;

    (void)state;
    for (uint64_t seq = 1; seq <= EVENTS; seq++) {
        struct vs_event event = event_make(&seed);

        event.time_ns = seq;
        trc_in_force_event(f, &event);
        plain_event(list, seq, &event);
        if (seq % 997 == 0)
            same(f, list);
    }
    assert_true(list->count > 100);
    assert_int_equal(trc_in_force_peak(f).bytes, list->peak);
    assert_int_equal(trc_in_force_peak(f).event, list->peak_event);
    trc_in_force_free(f);
    vs_free(list);
}

static void the_peak_has_the_step_in_which_it_was(void **state)
{
    struct trc_in_force *f = trc_in_force_new();
    const struct vs_event events[] = {
        {.kind = VS_EV_ALLOC, .alloc = {.block = 1, .block_bytes = 512}},
        {.kind = VS_EV_STEP, .step = {.number_plus_one = 1}},
        {.kind = VS_EV_ALLOC, .alloc = {.block = 2, .block_bytes = 512}},
        {.kind = VS_EV_STEP, .step = {.number_plus_one = 2}},
        {.kind = VS_EV_FREE, .free = {.block = 2, .block_bytes = 512}},
        {.kind = VS_EV_ALLOC, .alloc = {.block = 3, .block_bytes = 512}},
    };

    (void)state;
    assert_int_equal(trc_in_force_peak(f).event, 0);
    trc_in_force_event(f, &events[0]);
    assert_int_equal(trc_in_force_peak(f).step, -1);
    for (size_t i = 1; i < sizeof(events) / sizeof(events[0]); i++)
        trc_in_force_event(f, &events[i]);
    assert_int_equal(trc_in_force_peak(f).bytes, 1024);
    assert_int_equal(trc_in_force_peak(f).event, 3);
    assert_int_equal(trc_in_force_peak(f).step, 0);
    trc_in_force_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_events_leave_what_a_plain_list_has),
        cmocka_unit_test(the_peak_has_the_step_in_which_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * tests/tracer/inject/test_memory.c - events made from calls of the driver: every block is freed once, whatever threads
 * and contexts do. Blocks are also compared with a naive model, on random calls.
 *
 * Blocks are also compared with a naive model, on random calls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tracer/inject/memory.h"

#define EVENTS_MAX 100000
#define DEVICES 2
#define KEYS 300

/* What an observer received; strings and locations are numbered in order of appearance. */
struct heard {
    struct vs_event events[EVENTS_MAX];
    size_t count;
    char strings[64][128];
    uint32_t string_count;
    struct vs_location locations[256];
    uint32_t location_count;
    char story[1024]; /* of stacks */
    size_t story_len;
    struct eng_observer observer;
    struct inj_sink sink;
};

static struct heard heard[DEVICES];
static uint64_t host_now;
static uint64_t host_peak;
static struct inj_memory *memory;

static void on_emit(void *user, const struct vs_event *event)
{
    struct heard *h = user;

    assert_true(h->count < EVENTS_MAX);
    h->events[h->count++] = *event;
}

static uint32_t on_string(void *user, const char *text)
{
    struct heard *h = user;

    for (uint32_t i = 0; i < h->string_count; i++)
        if (strcmp(h->strings[i], text) == 0)
            return i + 1;
    assert_true(h->string_count < 64);
    snprintf(h->strings[h->string_count++], sizeof(h->strings[0]), "%s", text);
    return h->string_count;
}

static uint32_t on_location(void *user, const struct vs_location *location)
{
    struct heard *h = user;

    for (uint32_t i = 0; i < h->location_count; i++)
        if (memcmp(&h->locations[i], location, sizeof(*location)) == 0)
            return i + 1;
    assert_true(h->location_count < 256);
    h->locations[h->location_count++] = *location;
    return h->location_count;
}

static void on_frame(void *user, uint32_t stack, uint32_t depth, uint32_t func, uint32_t line)
{
    struct heard *h = user;

    h->story_len += (size_t)snprintf(h->story + h->story_len, sizeof(h->story) - h->story_len,
                                     "%u.%u %s:%u; ", stack, depth, h->strings[func - 1], line);
}

static void on_stack(void *user, uint32_t stack)
{
    struct heard *h = user;

    h->story_len += (size_t)snprintf(h->story + h->story_len, sizeof(h->story) - h->story_len,
                                     "%u at %zu; ", stack, h->count + 1);
}

static struct inj_sink *on_sink(void *user, uint32_t device)
{
    (void)user;
    return device < DEVICES ? &heard[device].sink : NULL;
}

static void on_host(void *user, uint64_t now, uint64_t peak)
{
    (void)user;
    host_now = now;
    host_peak = peak;
}

static int setup(void **state)
{
    const struct inj_outlet outlet = {NULL, on_sink, on_host};

    (void)state;
    for (size_t i = 0; i < DEVICES; i++) {
        memset(&heard[i], 0, sizeof(heard[i]));
        heard[i].observer = (struct eng_observer){
            .user = &heard[i], .emit = on_emit, .string = on_string, .location = on_location};
        heard[i].sink =
            (struct inj_sink){.observer = &heard[i].observer, .frame = on_frame, .stack = on_stack};
    }
    host_now = host_peak = 0;
    memory = inj_memory_new(&outlet);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    inj_memory_free(memory);
    for (size_t i = 0; i < DEVICES; i++)
        inj_sink_release(&heard[i].sink);
    return 0;
}

static const struct inj_site SITE = {
    .phase = VS_PHASE_SETUP, .module = "", .call = "cudaMalloc", .kernel = ""};

static struct inj_call call_in(enum inj_space space, uint32_t device, uint32_t context)
{
    return (struct inj_call){.space = space, .device = device, .context = context, .site = &SITE};
}

static void taken(enum inj_space space, uint64_t key, uint64_t bytes)
{
    const struct inj_call call = call_in(space, 0, 1);

    inj_memory_taken(memory, &call, key, bytes);
}

static uint64_t free_begin(enum inj_space space, uint64_t key)
{
    const struct inj_call call = call_in(space, 0, 1);

    return inj_memory_free_begin(memory, &call, key);
}

static void freed(enum inj_space space, uint64_t key)
{
    const uint64_t token = free_begin(space, key);

    assert_true(token != 0);
    inj_memory_free_end(memory, space, key, token, true);
}

static void unmapped(uint64_t address, uint64_t bytes)
{
    const struct inj_call call = call_in(INJ_DEVICE, 0, 1);

    inj_memory_unmapped(memory, &call, address, bytes);
}

/* "a1 f1 …": allocations and frees of device 0 with their blocks; o: out of memory. */
static const char *story(void)
{
    static char text[1024];
    size_t len = 0;

    text[0] = '\0';
    for (size_t i = 0; i < heard[0].count; i++) {
        const struct vs_event *event = &heard[0].events[i];
        const char letter = event->kind == VS_EV_ALLOC  ? 'a'
                            : event->kind == VS_EV_FREE ? 'f'
                            : event->kind == VS_EV_OOM  ? 'o'
                                                        : 0;

        if (letter)
            len += (size_t)snprintf(
                text + len, sizeof(text) - len, "%s%c%u", len ? " " : "", letter,
                (unsigned)(letter == 'o' ? event->oom.requested_bytes : vs_event_block(event)));
    }
    return text;
}

/* ---- addresses ---- */

static void each_driver_block_is_its_own_segment(void **state)
{
    (void)state;
    taken(INJ_DEVICE, 0x1000, 300);
    freed(INJ_DEVICE, 0x1000);
    assert_int_equal(heard[0].count, 4);
    assert_int_equal(heard[0].events[0].kind, VS_EV_SEGMENT_ALLOC);
    assert_int_equal(heard[0].events[1].kind, VS_EV_ALLOC);
    assert_int_equal(heard[0].events[2].kind, VS_EV_FREE);
    assert_int_equal(heard[0].events[3].kind, VS_EV_SEGMENT_FREE);
    for (size_t i = 0; i < 4; i += 3) {
        assert_int_equal(heard[0].events[i].segment.bytes, 300);
        assert_int_equal(heard[0].events[i].segment.address, 0x1000);
    }
    assert_int_equal(heard[0].events[1].alloc.requested_bytes, 300);
    assert_int_equal(heard[0].events[1].alloc.address, 0x1000);
    assert_int_equal(heard[0].events[2].free.requested_bytes, 300);
    assert_int_equal(heard[0].events[2].free.address, 0x1000);
}

static void an_address_that_comes_back_before_its_free_ends_is_freed_first(void **state)
{
    uint64_t token;

    (void)state;
    taken(INJ_DEVICE, 0x1000, 1);
    token = free_begin(INJ_DEVICE, 0x1000); /* one thread */
    taken(INJ_DEVICE, 0x1000, 2);           /* another is given the address */
    inj_memory_free_end(memory, INJ_DEVICE, 0x1000, token, true);
    assert_string_equal(story(), "a1 f1 a2");
    freed(INJ_DEVICE, 0x1000);
    assert_string_equal(story(), "a1 f1 a2 f2");
}

static void a_free_that_fails_leaves_the_block(void **state)
{
    uint64_t token;

    (void)state;
    taken(INJ_DEVICE, 0x1000, 1);
    token = free_begin(INJ_DEVICE, 0x1000);
    inj_memory_free_end(memory, INJ_DEVICE, 0x1000, token, false);
    assert_string_equal(story(), "a1");
    freed(INJ_DEVICE, 0x1000);
    assert_string_equal(story(), "a1 f1");
}

static void concurrent_frees_of_a_block_count_once(void **state)
{
    uint64_t first;
    uint64_t second;

    (void)state;
    taken(INJ_DEVICE, 0x1000, 1);
    first = free_begin(INJ_DEVICE, 0x1000);
    second = free_begin(INJ_DEVICE, 0x1000);
    inj_memory_free_end(memory, INJ_DEVICE, 0x1000, first, true);
    inj_memory_free_end(memory, INJ_DEVICE, 0x1000, second, false); /* the driver refuses it */
    assert_string_equal(story(), "a1 f1");
    assert_int_equal(free_begin(INJ_DEVICE, 0x1000), 0);
}

static void a_free_that_was_not_reported_is_emitted_when_the_address_is_reused(void **state)
{
    (void)state;
    taken(INJ_DEVICE, 0x1000, 1);
    taken(INJ_DEVICE, 0x1000, 2);
    assert_string_equal(story(), "a1 f1 a2");
}

static void destroying_a_context_frees_its_blocks(void **state)
{
    struct inj_call call = call_in(INJ_DEVICE, 0, 1);
    const struct inj_call other = call_in(INJ_DEVICE, 0, 2);
    const struct inj_call none = call_in(INJ_DEVICE, 0, 0);

    (void)state;
    inj_memory_taken(memory, &call, 0x1000, 1);
    inj_memory_taken(memory, &other, 0x2000, 2);
    inj_memory_taken(memory, &none, 0x3000, 3); /* a pool's */
    call.space = INJ_HOST;
    inj_memory_taken(memory, &call, 0x9000, 50);
    inj_memory_context_gone(memory, &call);
    assert_string_equal(story(), "a1 a2 a3 f1");
    assert_int_equal(host_now, 0);
    assert_int_equal(free_begin(INJ_DEVICE, 0x1000), 0);
    freed(INJ_DEVICE, 0x2000);
    freed(INJ_DEVICE, 0x3000);
}

static void an_out_of_memory_is_the_outcome_until_an_allocation_succeeds(void **state)
{
    const struct inj_call call = call_in(INJ_DEVICE, 0, 1);

    (void)state;
    inj_memory_refused(memory, &call, 77, 5);
    assert_string_equal(story(), "o77");
    assert_int_equal(heard[0].events[0].oom.device_free_bytes, 5);
    assert_true(inj_memory_is_refused(memory, 0));
    assert_false(inj_memory_is_refused(memory, 1));
    taken(INJ_DEVICE, 0x1000, 1);
    assert_false(inj_memory_is_refused(memory, 0));
}

static void a_device_without_a_trace_is_ignored(void **state)
{
    const struct inj_call call = call_in(INJ_DEVICE, DEVICES, 1);

    (void)state;
    inj_memory_taken(memory, &call, 0x1000, 1);
    inj_memory_refused(memory, &call, 1, 1);
    freed(INJ_DEVICE, 0x1000);
    assert_int_equal(heard[0].count + heard[1].count, 0);
}

static void pinned_memory_is_counted_separately(void **state)
{
    (void)state;
    taken(INJ_HOST, 0x1000, 100);
    taken(INJ_HOST, 0x2000, 30);
    freed(INJ_HOST, 0x1000);
    taken(INJ_HOST, 0x3000, 5);
    assert_int_equal(host_now, 35);
    assert_int_equal(host_peak, 130);
    assert_int_equal(heard[0].count, 0);
}

/* ---- physical memory ---- */

static void physical_memory_is_freed_with_its_last_handle_or_mapping(void **state)
{
    (void)state;
    taken(INJ_PHYSICAL, 7, 100);
    inj_memory_mapped(memory, 7, 0x10000, 100);
    inj_memory_mapped(memory, 7, 0x20000, 100);
    freed(INJ_PHYSICAL, 7);
    unmapped(0x10000, 100);
    assert_string_equal(story(), "a1");
    unmapped(0x20000, 100);
    assert_string_equal(story(), "a1 f1");
}

static void a_handle_may_be_used_again_while_its_memory_is_still_mapped(void **state)
{
    (void)state;
    taken(INJ_PHYSICAL, 7, 100);
    inj_memory_mapped(memory, 7, 0x10000, 100);
    freed(INJ_PHYSICAL, 7);
    taken(INJ_PHYSICAL, 7, 200);
    freed(INJ_PHYSICAL, 7);
    assert_string_equal(story(), "a1 a2 f2");
    unmapped(0, UINT64_MAX);
    assert_string_equal(story(), "a1 a2 f2 f1");
}

static void a_retained_handle_counts_twice(void **state)
{
    (void)state;
    taken(INJ_PHYSICAL, 7, 100);
    inj_memory_mapped(memory, 7, 0x10000, 100);
    inj_memory_retained(memory, 7, 0x10010);
    unmapped(0x10000, 100);
    freed(INJ_PHYSICAL, 7);
    assert_string_equal(story(), "a1");
    freed(INJ_PHYSICAL, 7);
    assert_string_equal(story(), "a1 f1");
}

static void a_handle_can_be_retained_from_a_mapping(void **state)
{
    (void)state;
    taken(INJ_PHYSICAL, 7, 100);
    inj_memory_mapped(memory, 7, 0x10000, 100);
    freed(INJ_PHYSICAL, 7);
    inj_memory_retained(memory, 8, 0x10000);
    unmapped(0x10000, 100);
    assert_string_equal(story(), "a1");
    freed(INJ_PHYSICAL, 8);
    assert_string_equal(story(), "a1 f1");
}

static void physical_memory_created_elsewhere_is_not_counted(void **state)
{
    (void)state;
    inj_memory_mapped(memory, 99, 0x10000, 100);
    inj_memory_retained(memory, 99, 0x10000);
    unmapped(0x10000, 100);
    assert_int_equal(free_begin(INJ_PHYSICAL, 99), 0);
    assert_int_equal(heard[0].count, 0);
}

/* ---- beside a model ---- */

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Bytes by key of each space; 0: not there. */
static void random_calls_agree_with_a_plain_model(void **state)
{
    uint64_t bytes[2][KEYS] = {{0}};
    uint64_t mapped[KEYS] = {0};
    uint64_t expected = 0;
    uint64_t now = 0;
    uint64_t seed = 1;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        const uint64_t r = next_random(&seed);
        const size_t key = 1 + r % (KEYS - 1);
        const enum inj_space space = r >> 20 & 1 ? INJ_PHYSICAL : INJ_DEVICE;
        uint64_t *have = &bytes[space][key];

        if (!*have) {
            *have = 1 + (r >> 32) % 1000;
            expected += *have;
            taken(space, key, *have);
        } else if (space == INJ_PHYSICAL && !mapped[key] && (r >> 40 & 3) == 0) {
            mapped[key] = *have;
            inj_memory_mapped(memory, key, key << 20, 4096);
        } else if (space == INJ_PHYSICAL && mapped[key]) {
            mapped[key] = 0;
            unmapped(key << 20, 4096);
        } else {
            expected -= *have;
            *have = 0;
            freed(space, key);
        }
    }
    for (size_t i = 0; i < heard[0].count; i++) {
        now +=
            heard[0].events[i].kind == VS_EV_ALLOC ? heard[0].events[i].alloc.requested_bytes : 0;
        now -= heard[0].events[i].kind == VS_EV_FREE ? heard[0].events[i].free.requested_bytes : 0;
    }
    assert_int_equal(now, expected);
}

/* ---- places ---- */

static void the_programs_own_frame_names_the_location_python_first(void **state)
{
    const struct inj_frame frames[] = {
        {.text = "torch/_C.py:f", .line = 1, .is_python = true},
        {.text = "train.py:step", .line = 17, .is_python = true, .is_own = true},
        {.text = "libcuda!x"},
        {.text = "prog!main", .is_own = true},
    };
    struct inj_site site = SITE;

    (void)state;
    site.frames = frames;
    site.frame_count = 4;
    assert_ptr_equal(inj_site_frame(&site), &frames[1]);
    site.frames = frames + 2;
    site.frame_count = 2;
    assert_ptr_equal(inj_site_frame(&site), &frames[3]);
    site.frame_count = 1;
    assert_ptr_equal(inj_site_frame(&site), &frames[2]);
    site.frame_count = 0;
    assert_null(inj_site_frame(&site));
}

static void an_allocation_has_its_call_stack_and_each_is_emitted_once(void **state)
{
    const struct inj_frame frames[] = {{.text = "p!f"}, {.text = "a.py:g", .line = 3}};
    struct inj_site site = SITE;
    struct inj_call call = call_in(INJ_DEVICE, 0, 1);

    (void)state;
    site.frames = frames;
    site.frame_count = 2;
    call.site = &site;
    inj_memory_taken(memory, &call, 0x1000, 1);
    inj_memory_refused(memory, &call, 9, 0);
    site.frame_count = 1;
    inj_memory_taken(memory, &call, 0x2000, 1);
    site.frame_count = 0;
    inj_memory_taken(memory, &call, 0x3000, 1);
    assert_string_equal(heard[0].story,
                        "1.0 p!f:0; 1.1 a.py:g:3; 1 at 2; 1 at 3; 2.0 p!f:0; 2 at 5; ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(each_driver_block_is_its_own_segment),
        TEST(an_address_that_comes_back_before_its_free_ends_is_freed_first),
        TEST(a_free_that_fails_leaves_the_block),
        TEST(concurrent_frees_of_a_block_count_once),
        TEST(a_free_that_was_not_reported_is_emitted_when_the_address_is_reused),
        TEST(destroying_a_context_frees_its_blocks),
        TEST(an_out_of_memory_is_the_outcome_until_an_allocation_succeeds),
        TEST(a_device_without_a_trace_is_ignored),
        TEST(pinned_memory_is_counted_separately),
        TEST(physical_memory_is_freed_with_its_last_handle_or_mapping),
        TEST(a_handle_may_be_used_again_while_its_memory_is_still_mapped),
        TEST(a_retained_handle_counts_twice),
        TEST(a_handle_can_be_retained_from_a_mapping),
        TEST(physical_memory_created_elsewhere_is_not_counted),
        TEST(random_calls_agree_with_a_plain_model),
        TEST(an_allocation_has_its_call_stack_and_each_is_emitted_once),
        TEST(the_programs_own_frame_names_the_location_python_first),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

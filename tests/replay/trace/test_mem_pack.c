/*
 * tests/replay/trace/test_mem_pack.c - compressed events in memory are read back unchanged, also when the trace is read
 * while it is compressed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "replay/trace/events_pack.h"
#include "replay/trace/trace_internal.h"
#include "replay/trace/trace_mem.h"
#include "tests/replay/random_trace.h"

static uint64_t random_next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 29;
}

/* ---- events ---- */

static uint64_t any(uint64_t *seed)
{
    uint64_t n = random_next(seed) << 31 ^ random_next(seed);

    switch (n % 6) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX;
    case 2:
        return n;
    case 3:
        return n / 512 % 4096 * 512;
    default:
        return random_next(seed) % 1000;
    }
}

static void compressed_events_are_read_back_unchanged(void **state)
{
    static struct vs_event events[4000];
    static struct vs_event back[4000];
    uint64_t seed = 2;

    (void)state;
    for (size_t round = 0; round < 60; round++) {
        size_t count = round ? (size_t)(random_next(&seed) % 4000) : 0;
        struct rpl_events_packed packed;

        memset(events, 0, sizeof(events));
        for (size_t i = 0; i < count; i++) {
            struct vs_event *e = &events[i];

            if (i && random_next(&seed) % 4) {
                *e = events[random_next(&seed) % i]; /* as one before, but for little */
                e->raw.a += random_next(&seed) % 3;
                continue;
            }
            *e = (struct vs_event){.time_ns = any(&seed),
                                   .raw = {.a = any(&seed),
                                           .b = any(&seed),
                                           .c = any(&seed),
                                           .d = any(&seed),
                                           .e = (uint32_t)any(&seed),
                                           .aux = (uint8_t)any(&seed)},
                                   .location = (uint32_t)any(&seed),
                                   .kind = (uint8_t)(any(&seed) % VS_EVENT_KIND_COUNT)};
        }
        packed = rpl_events_pack(events, count);
        memset(back, 0xFF, sizeof(back));
        rpl_events_unpack(&packed, count, back);
        if (count)
            assert_memory_equal(events, back, count * sizeof(*events));
        rpl_events_packed_release(&packed);
    }
}

/* ---- a trace ---- */

static void assert_events(struct rpl_trace *trace, uint64_t first, size_t count,
                          const struct vs_event *events)
{
    static struct vs_event buffer[3 * RPL_CHUNK_EVENTS];
    const struct vs_event *got = NULL;
    struct vs_error err = VS_ERROR_INIT;

    assert_int_equal(rpl_trace_span(trace, first, count, buffer, &got, &err), VS_OK);
    assert_memory_equal(got, events + first - 1, count * sizeof(*got));
}

static void assert_all(struct rpl_trace *trace, const struct vs_event *events,
                       const struct vs_tensor_desc *tensors, uint32_t tensor_count)
{
    struct rpl_scan *scan = calloc(1, sizeof(*scan));
    const struct vs_event *event;
    struct vs_error err = VS_ERROR_INIT;
    uint32_t id = 0;
    uint32_t name;
    uint64_t block;

    assert_non_null(scan);
    rpl_scan_init(scan, trace, 1, rpl_trace_event_count(trace));
    while ((event = rpl_scan_next(scan, &err)) != NULL)
        assert_memory_equal(event, &events[scan->seq - 1], sizeof(*event));
    assert_int_equal(scan->status, VS_OK);
    assert_int_equal(scan->seq, rpl_trace_event_count(trace));
    free(scan);
    assert_int_equal(rpl_trace_tensor_count(trace), tensor_count);
    for (uint32_t i = 1; i <= tensor_count; i++) {
        struct vs_tensor_desc desc;

        memset(&desc, 0, sizeof(desc));
        assert_true(rpl_trace_tensor(trace, i, &desc));
        assert_memory_equal(&desc, &tensors[i - 1], sizeof(desc));
        if (!desc.name)
            continue;
        assert_true(rpl_trace_tensor_named(trace, &id, &name, &block));
        assert_int_equal(id, i);
        assert_int_equal(name, desc.name);
        assert_int_equal(block, desc.block);
    }
}

static void a_trace_gives_the_same_answers_during_compression_and_after(void **state)
{
    const uint64_t count = (RPL_MEM_OPEN + 4) * (uint64_t)RPL_CHUNK_EVENTS + 77;
    struct rpl_trace *trace = random_trace(count, 3);
    struct rpl_mem *mem = rpl_trace_memory(trace);
    struct rpl_mem *spare = rpl_mem_new();
    size_t events_count = mem->event_count;
    struct vs_event *events = malloc(events_count * sizeof(*events));
    uint32_t tensor_count = (uint32_t)mem->tensor_count;
    struct vs_tensor_desc *tensors = malloc((tensor_count + 1) * sizeof(*tensors));
    size_t chunk = 0;
    uint64_t before;
    uint64_t small;

    (void)state;
    assert_non_null(events);
    assert_non_null(tensors);
    assert_true(tensor_count > 0);
    memcpy(events, mem->events, events_count * sizeof(*events));
    memcpy(tensors, mem->tensors, tensor_count * sizeof(*tensors));
    rpl_mem_trim(mem);
    before = rpl_mem_bytes(mem);
    while (rpl_mem_pack(mem, spare)) {
        uint64_t first = 1 + chunk++ * 977 % (events_count - 10);

        assert_events(trace, first, 10, events);
    }
    assert_true(mem->is_packed);
    assert_true(chunk > RPL_MEM_OPEN);
    assert_non_null(spare->events);
    assert_int_equal(spare->event_count, 0);
    rpl_mem_close(mem); /* the last part has been read */
    small = rpl_mem_bytes(mem);
    /* chunks of a few events (STRESS) keep more beside the events than packing saves */
    if (RPL_CHUNK_EVENTS >= 1024)
        assert_true(small < before / 2);
    assert_all(trace, events, tensors, tensor_count);
    /* across chunks, back and forth, more of them than stay unpacked */
    for (size_t i = 0; i < 300; i++) {
        uint64_t first = 1 + i * 104729 % (events_count - 2 * RPL_CHUNK_EVENTS);

        assert_events(trace, first, 1 + i * 131 % RPL_CHUNK_EVENTS, events);
    }
    assert_true(rpl_mem_bytes(mem) > small);
    rpl_mem_close(mem);
    assert_int_equal(rpl_mem_bytes(mem), small);
    assert_events(trace, events_count, 1, events);
    /* and it takes another run */
    rpl_trace_clear(trace);
    assert_int_equal(rpl_trace_add_string(trace, "again"), 1);
    rpl_trace_add_event(trace, &events[0]);
    assert_int_equal(rpl_trace_event_count(trace), 1);
    assert_events(trace, 1, 1, events);
    free(events);
    free(tensors);
    rpl_mem_free(spare);
    rpl_trace_free(trace);
}

/* Where they are when the first is read they are when the last is read, of this run and of the next. */
static void events_within_the_reserved_capacity_are_not_moved(void **state)
{
    struct rpl_trace *trace = rpl_trace_new();
    struct rpl_mem *mem = rpl_trace_memory(trace);
    const struct vs_event event = {.kind = VS_EV_STEP};
    const size_t count = 50000;

    (void)state;
    for (int run = 0; run < 2; run++) {
        const struct vs_event *events;
        const struct vs_tensor_desc *tensors;

        rpl_mem_reserve(mem, count, count / 2);
        events = mem->events;
        tensors = mem->tensors;
        for (size_t i = 0; i < count; i++) {
            if (i % 2) {
                rpl_mem_event(mem, &(struct vs_event){.kind = VS_EV_ALLOC});
                rpl_mem_tensor(mem, &(struct vs_tensor_desc){.id = (uint32_t)(i / 2 + 1)});
            } else {
                rpl_mem_event(mem, &event);
            }
        }
        assert_ptr_equal(mem->events, events);
        assert_ptr_equal(mem->tensors, tensors);
        assert_int_equal(mem->event_cap, count);
        assert_int_equal(mem->tensor_cap, count / 2);
        /* and what is there is not taken away by asking for less */
        rpl_trace_clear(trace);
        rpl_mem_reserve(mem, 1, 1);
        assert_int_equal(mem->event_cap, count);
    }
    rpl_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compressed_events_are_read_back_unchanged),
        cmocka_unit_test(a_trace_gives_the_same_answers_during_compression_and_after),
        cmocka_unit_test(events_within_the_reserved_capacity_are_not_moved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * tests/replay/inspect/test_space.c - the address space: segments, blocks, holes, and where a request fits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "replay/inspect/space.h"
#include "tests/replay/make_trace.h"
#include "tests/replay/net_trace.h"
#include "whatif/alloc.h"

#define MB UINT64_C(1048576)
#define SMALL 1
#define LARGE 2

/* With these settings; NULL: PyTorch's. */
static struct rpl_fit fit_under(const struct rpl_space *space, const char *conf, uint64_t bytes)
{
    struct rpl_trace *trace = rpl_trace_new();
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_request request;

    if (conf)
        rpl_trace_set_toggle(trace, "alloc-conf", conf, false);
    if (wif_request_of(trace, bytes, &request, &err))
        fail_msg("%s", err.text);
    rpl_trace_free(trace);
    return rpl_space_fit(space, &request);
}

static struct rpl_fit fit_of(const struct rpl_space *space, uint64_t bytes)
{
    return fit_under(space, NULL, bytes);
}

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

static void segment(struct make *m, enum vs_event_kind kind, uint64_t address, uint64_t bytes,
                    uint8_t pool)
{
    make_event(
        m, (struct vs_event){.kind = (uint8_t)kind,
                             .segment = {.bytes = bytes, .address = address, .size_pool = pool}});
}

static void block(struct make *m, uint64_t address, uint64_t requested, uint64_t bytes)
{
    make_event(m, (struct vs_event){.kind = VS_EV_ALLOC,
                                    .alloc = {.block = ++m->blocks,
                                              .requested_bytes = requested,
                                              .block_bytes = bytes,
                                              .address = address}});
}

/* The address space after the last event. */
static void fill(struct make *m, struct rpl_index **index, struct rpl_cursor **cursor,
                 struct rpl_space *space)
{
    struct vs_error err = VS_ERROR_INIT;

    ok(rpl_index_open(m->trace, NULL, NULL, index, &err), &err);
    *cursor = rpl_cursor_new(*index);
    ok(rpl_cursor_seek(*cursor, rpl_index_event_count(*index), &err), &err);
    rpl_space_fill(space, *cursor);
}

static void release(struct make *m, struct rpl_index *index, struct rpl_cursor *cursor,
                    struct rpl_space *space)
{
    rpl_space_release(space);
    rpl_cursor_free(cursor);
    rpl_index_free(index);
    rpl_trace_free(m->trace);
}

/*
 * A large segment of 20 MB at 100 MB: [hole 2][block 4][hole 3][block 1][hole 10]; a small one of 2 MB at 50 MB:
 * [block 512 B][hole].
 */
static void make_two_segments(struct make *m)
{
    make_init(m);
    segment(m, VS_EV_SEGMENT_ALLOC, 100 * MB, 20 * MB, LARGE);
    segment(m, VS_EV_SEGMENT_ALLOC, 50 * MB, 2 * MB, SMALL);
    block(m, 109 * MB, MB - 100, MB);
    block(m, 102 * MB, 4 * MB, 4 * MB);
    block(m, 50 * MB, 400, 512);
}

static void parts_of_the_address_space_are_contiguous(void **state)
{
    struct rpl_space space = {.parts = NULL};
    struct rpl_cursor *cursor;
    struct rpl_index *index;
    struct make m;

    (void)state;
    make_two_segments(&m);
    fill(&m, &index, &cursor, &space);
    assert_int_equal(space.segment_count, 2);
    assert_true(space.segments[0].is_small);
    assert_int_equal(space.part_count, 7);
    assert_int_equal(space.first_part[1], 2);
    assert_int_equal(space.parts[2].bytes, 2 * MB);
    assert_int_equal(space.parts[2].block, SIZE_MAX);
    assert_int_equal(space.parts[3].bytes, 4 * MB);
    assert_int_equal(space.parts[4].bytes, 3 * MB);
    assert_int_equal(space.parts[5].waste, 100);
    assert_int_equal(space.largest_hole, 6);
    assert_int_equal(space.parts[6].bytes, 10 * MB);
    assert_int_equal(space.reserved, 22 * MB);
    assert_int_equal(space.allocated, 5 * MB + 512);
    assert_int_equal(space.free_bytes, 17 * MB - 512);
    assert_int_equal(space.waste, 212);
    assert_int_equal(space.strays, 0);
    release(&m, index, cursor, &space);
}

static void a_request_is_placed_in_the_smallest_hole_that_fits(void **state)
{
    struct rpl_space space = {.parts = NULL};
    struct rpl_cursor *cursor;
    struct rpl_index *index;
    struct rpl_fit fit;
    uint64_t bytes;
    struct make m;

    (void)state;
    make_two_segments(&m);
    fill(&m, &index, &cursor, &space);
    fit = fit_of(&space, 5 * MB / 2);
    assert_true(fit.is_fit);
    assert_int_equal(fit.hole, 4);
    fit = fit_of(&space, 1);
    assert_int_equal(fit.rounded, 512);
    assert_int_equal(fit.hole, 1);
    fit = fit_of(&space, MB);
    assert_int_equal(fit.hole, 1);
    fit = fit_of(&space, MB + 1); /* of the large pool */
    assert_int_equal(fit.rounded, MB + 512);
    assert_int_equal(fit.hole, 2);
    /* the largest hole has 10 MB; freeing the block of 1 MB would make one of 14 */
    fit = fit_of(&space, 12 * MB + 1);
    assert_false(fit.is_fit);
    assert_int_equal(fit.largest, 6);
    assert_int_equal(fit.pin, 5);
    assert_int_equal(fit.pinned_hole, 14 * MB);
    assert_int_equal(fit.segment, 14 * MB);
    fit = fit_of(&space, 15 * MB);
    assert_int_equal(fit.pin, SIZE_MAX);
    assert_int_equal(fit.segment, 16 * MB);
    /* next to the 3 MB: freeing the 4 MB would make a hole of 9, freeing the 1 MB one of 14 */
    assert_int_equal(rpl_space_pin(&space, 4, &bytes), 5);
    assert_int_equal(bytes, 14 * MB);
    assert_int_equal(rpl_space_pin(&space, 2, &bytes), 3);
    assert_int_equal(bytes, 9 * MB);
    release(&m, index, cursor, &space);
}

/* Holes of 2, 3 and 10 MB in the large pool. */
static void the_settings_of_the_run_decide_what_fits(void **state)
{
    struct rpl_space space = {.parts = NULL};
    struct rpl_cursor *cursor;
    struct rpl_index *index;
    struct rpl_fit fit;
    struct make m;

    (void)state;
    make_two_segments(&m);
    fill(&m, &index, &cursor, &space);
    /* eighths of 2 MB: 2.3 MB become 2.5; quarters of 4 MB: 5.2 MB become 6 */
    fit = fit_under(&space, "roundup_power2_divisions:8", 23 * MB / 10);
    assert_int_equal(fit.rounded, 5 * MB / 2);
    fit = fit_under(&space, "roundup_power2_divisions:4", 52 * MB / 10);
    assert_int_equal(fit.rounded, 6 * MB);
    assert_int_equal(fit.hole, 6);
    /* holes of 21 MB and more are not split; there are none here */
    assert_int_equal(fit_under(&space, "max_split_size_mb:21", 5 * MB / 2).hole, 4);
    release(&m, index, cursor, &space);
}

static void a_request_that_fits_nowhere_needs_a_segment(void **state)
{
    struct rpl_space space = {.parts = NULL};
    struct rpl_cursor *cursor;
    struct rpl_index *index;
    struct make m;

    (void)state;
    make_init(&m);
    block(&m, 7 * MB, 100, 512); /* outside of all segments */
    fill(&m, &index, &cursor, &space);
    assert_int_equal(space.strays, 1);
    assert_int_equal(space.largest_hole, SIZE_MAX);
    assert_int_equal(fit_of(&space, 100).segment, 2 * MB);
    assert_int_equal(fit_of(&space, 3 * MB).segment, 20 * MB);
    assert_int_equal(fit_of(&space, 10 * MB).segment, 10 * MB);
    assert_int_equal(fit_of(&space, 10 * MB + 1).segment, 12 * MB);
    assert_int_equal(fit_of(&space, 10 * MB).largest, SIZE_MAX);
    release(&m, index, cursor, &space);
}

/*
 * 20 MB of stream 7 and 40 of stream 9, all free: what fits is stream 9's; with 2 MB of the default stream only these
 * count.
 */
static void memory_of_another_stream_or_pool_does_not_fit(void **state)
{
    for (int has_default = 0; has_default < 2; has_default++) {
        struct rpl_space space = {.parts = NULL};
        struct rpl_cursor *cursor;
        struct rpl_index *index;
        struct make m;

        (void)state;
        make_init(&m);
        make_event(&m, (struct vs_event){.kind = VS_EV_SEGMENT_ALLOC,
                                         .segment = {.stream = 7,
                                                     .bytes = 20 * MB,
                                                     .address = MB,
                                                     .size_pool = VS_SEGMENT_LARGE}});
        make_event(&m, (struct vs_event){.kind = VS_EV_SEGMENT_ALLOC,
                                         .segment = {.stream = 9,
                                                     .bytes = 40 * MB,
                                                     .address = 100 * MB,
                                                     .size_pool = VS_SEGMENT_LARGE}});
        make_event(&m, (struct vs_event){
                           .kind = VS_EV_SEGMENT_ALLOC,
                           .segment = {.stream = 0,
                                       .bytes = 10 * MB,
                                       .private_pool = has_default ? 0 : VS_POOL(UINT64_C(1), 0),
                                       .address = 200 * MB,
                                       .size_pool = VS_SEGMENT_LARGE}});
        if (!has_default) /* of a graph's pool, but of stream 9 */
            make_event(&m, (struct vs_event){.kind = VS_EV_SEGMENT_FREE,
                                             .segment = {.bytes = 10 * MB,
                                                         .address = 200 * MB,
                                                         .size_pool = VS_SEGMENT_LARGE}});
        make_event(&m, (struct vs_event){.kind = VS_EV_SEGMENT_ALLOC,
                                         .segment = {.stream = 9,
                                                     .bytes = 100 * MB,
                                                     .private_pool = VS_POOL(UINT64_C(1), 0),
                                                     .address = 300 * MB,
                                                     .size_pool = VS_SEGMENT_LARGE}});
        fill(&m, &index, &cursor, &space);
        assert_int_equal(fit_of(&space, 40 * MB).is_fit, !has_default);
        assert_int_equal(fit_of(&space, 10 * MB).is_fit, true);
        assert_false(fit_of(&space, 41 * MB).is_fit);
        release(&m, index, cursor, &space);
    }
}

static void expandable_segments_grow_and_are_split(void **state)
{
    struct rpl_space space = {.parts = NULL};
    struct rpl_cursor *cursor;
    struct rpl_index *index;
    struct make m;

    (void)state;
    make_init(&m);
    segment(&m, VS_EV_SEGMENT_MAP, 100 * MB, 20 * MB, LARGE);
    segment(&m, VS_EV_SEGMENT_MAP, 120 * MB, 20 * MB, LARGE);
    segment(&m, VS_EV_SEGMENT_UNMAP, 110 * MB, 4 * MB, LARGE);
    segment(&m, VS_EV_SEGMENT_ALLOC, 140 * MB, 2 * MB,
            LARGE); /* adjacent, but a segment of its own */
    fill(&m, &index, &cursor, &space);
    assert_int_equal(space.segment_count, 3);
    assert_int_equal(space.segments[0].bytes, 10 * MB);
    assert_int_equal(space.segments[1].address, 114 * MB);
    assert_int_equal(space.segments[1].bytes, 26 * MB);
    assert_true(space.segments[1].is_mapped);
    assert_false(space.segments[2].is_mapped);
    assert_int_equal(space.reserved, 38 * MB);
    assert_int_equal(space.largest_hole, 1);
    assert_int_equal(rpl_space_pin(&space, 1, &space.waste), SIZE_MAX);
    release(&m, index, cursor, &space);
}

static void in_a_net_every_byte_is_accounted_for(void **state)
{
    static const char *const toggles[] = {NULL, "alloc-conf=expandable_segments:True",
                                          "empty-cache=phase"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct rpl_trace *trace = net_trace("tests/nets/resnet_small.py", toggles[i]);
        struct rpl_space space = {.parts = NULL};
        struct vs_error err = VS_ERROR_INIT;
        struct rpl_cursor *cursor;
        struct rpl_index *index;

        ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
        cursor = rpl_cursor_new(index);
        for (uint64_t seq = 0; seq <= rpl_index_event_count(index); seq += 97) {
            const struct rpl_live *live = rpl_cursor_live(cursor);
            uint64_t at = 0;

            ok(rpl_cursor_seek(cursor, seq, &err), &err);
            rpl_space_fill(&space, cursor);
            assert_int_equal(space.reserved, live->reserved);
            assert_int_equal(space.allocated, live->allocated);
            assert_int_equal(space.free_bytes, live->reserved - live->allocated);
            assert_int_equal(space.waste, live->allocated - live->requested);
            assert_int_equal(space.strays, 0);
            for (size_t s = 0; s < space.segment_count; s++) {
                at = space.segments[s].address;
                for (size_t p = space.first_part[s]; p < space.first_part[s + 1]; p++) {
                    assert_int_equal(space.parts[p].address, at);
                    assert_int_equal(space.parts[p].segment, s);
                    at += space.parts[p].bytes;
                }
                assert_int_equal(at, space.segments[s].address + space.segments[s].bytes);
            }
        }
        rpl_space_release(&space);
        rpl_cursor_free(cursor);
        rpl_index_free(index);
        rpl_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_the_address_space_are_contiguous),
        cmocka_unit_test(a_request_is_placed_in_the_smallest_hole_that_fits),
        cmocka_unit_test(the_settings_of_the_run_decide_what_fits),
        cmocka_unit_test(a_request_that_fits_nowhere_needs_a_segment),
        cmocka_unit_test(memory_of_another_stream_or_pool_does_not_fit),
        cmocka_unit_test(expandable_segments_grow_and_are_split),
        cmocka_unit_test(in_a_net_every_byte_is_accounted_for),
    };

    return cmocka_run_group_tests_name("replay/space", tests, NULL, NULL);
}

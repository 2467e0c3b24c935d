/*
 * tests/replay/match/test_match.c - comparing two lists of memory events: when they are equal, and the description of
 * the first difference. The recordings are lists of the test's own, the traces are built event by event.
 *
 * The recordings are lists of the test's own, the traces are built event by event.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "replay/match/match.h"

/* One event of either side; block: its number, or a segment's address. */
struct ev {
    enum vs_mem_kind kind;
    uint64_t block;
    uint64_t bytes;
    uint64_t address;
    enum vs_mem_class cls;
};

static void list_make(struct vs_memlist *list, const struct ev *evs, size_t count)
{
    memset(list, 0, sizeof(*list));
    list->has_addresses = true;
    for (size_t i = 0; i < count; i++)
        vs_memlist_add_event(list, evs[i].kind, evs[i].address, evs[i].bytes, 0)->cls =
            (uint8_t)evs[i].cls;
}

static struct rpl_trace *trace_make(const struct ev *evs, size_t count)
{
    static const uint8_t kinds[] = {
        [VS_MEM_ALLOC] = VS_EV_ALLOC,
        [VS_MEM_FREE_REQUESTED] = VS_EV_FREE,
        [VS_MEM_SEGMENT_ALLOC] = VS_EV_SEGMENT_ALLOC,
        [VS_MEM_SEGMENT_FREE] = VS_EV_SEGMENT_FREE,
    };
    struct rpl_trace *trace = rpl_trace_new();

    rpl_trace_add_event(trace,
                        &(struct vs_event){.kind = VS_EV_STEP, .step = {.number_plus_one = 0}});
    for (size_t i = 0; i < count; i++) {
        struct vs_event event = {.kind = kinds[evs[i].kind]};

        if (event.kind == VS_EV_ALLOC) {
            event.alloc.block = evs[i].block;
            event.alloc.requested_bytes = evs[i].bytes;
            event.alloc.address = evs[i].address;
            event.alloc.tensor = evs[i].cls == VS_MEM_TENSOR;
        } else if (event.kind == VS_EV_FREE) {
            event.free.block = evs[i].block;
            event.free.requested_bytes = evs[i].bytes;
            event.free.address = evs[i].address;
        } else {
            event.segment.bytes = evs[i].bytes;
            event.segment.address = evs[i].address;
        }
        rpl_trace_add_event(trace, &event);
    }
    return trace;
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

struct result {
    uint64_t same;
    uint64_t events;
    enum rpl_match_why why;
    size_t more;
};

static struct result match_lists(const struct ev *real, size_t real_count, const struct ev *ours,
                                 size_t ours_count, enum rpl_match_scope scope)
{
    struct vs_memlist list;
    struct rpl_trace *trace = trace_make(ours, ours_count);
    struct vs_error err = VS_ERROR_INIT;
    const struct rpl_match_options options = {.scope = scope, .first_seq = 1};
    struct rpl_match match;
    struct result result;

    list_make(&list, real, real_count);
    assert_int_equal(rpl_match_fill(&match, &list, trace, &options, &err), VS_OK);
    result = (struct result){match.same_events, match.events, match.why, match.more_allocs};
    rpl_match_release(&match);
    rpl_trace_free(trace);
    vs_memlist_release(&list);
    return result;
}

static const struct ev REAL[] = {
    {VS_MEM_SEGMENT_ALLOC, 0, 2097152, 0x100000, 0}, {VS_MEM_ALLOC, 0, 100, 0x100000, 0},
    {VS_MEM_ALLOC, 0, 70, 0x100200, VS_MEM_SORT},    {VS_MEM_FREE_REQUESTED, 0, 70, 0x100200, 0},
    {VS_MEM_FREE_COMPLETED, 0, 70, 0x100200, 0},     {VS_MEM_ALLOC, 0, 100, 0x100200, 0},
    {VS_MEM_FREE_REQUESTED, 0, 100, 0x100000, 0},    {VS_MEM_FREE_COMPLETED, 0, 100, 0x100000, 0},
};

static const struct ev OURS[] = {
    {VS_MEM_SEGMENT_ALLOC, 0, 2097152, 0x700000, 0},
    {VS_MEM_ALLOC, 1, 100, 0x700000, 0},
    {VS_MEM_ALLOC, 2, 70, 0x700200, VS_MEM_SORT},
    {VS_MEM_FREE_REQUESTED, 2, 70, 0x700200, 0},
    {VS_MEM_ALLOC, 3, 100, 0x700200, 0},
    {VS_MEM_FREE_REQUESTED, 1, 100, 0x700000, 0},
    {VS_MEM_FREE_REQUESTED, 3, 100, 0x700200, 0},
};

static void equal_runs_match_despite_different_addresses(void **state)
{
    struct result r = match_lists(REAL, COUNT(REAL), OURS, COUNT(OURS), RPL_MATCH_ALL);

    (void)state;
    assert_int_equal(r.why, RPL_MATCH_SAME);
    assert_int_equal(r.same, 8); /* every entry of the recording, completions too */
    assert_int_equal(r.events, 8);
    r = match_lists(REAL, COUNT(REAL), OURS, COUNT(OURS), RPL_MATCH_ALLOCATIONS);
    assert_int_equal(r.same, 5);
    assert_int_equal(r.events, 5);
    r = match_lists(REAL, COUNT(REAL), OURS, COUNT(OURS), RPL_MATCH_TENSORS);
    assert_int_equal(r.same, 3);
    assert_int_equal(r.events, 3);
    assert_int_equal(r.why, RPL_MATCH_SAME);
}

/* Ours with one event replaced differs there, and for that reason. */
static void check_spoiled(size_t at, struct ev ev, uint64_t same, enum rpl_match_why why)
{
    struct ev ours[COUNT(OURS)];
    struct result r;

    memcpy(ours, OURS, sizeof(ours));
    ours[at] = ev;
    r = match_lists(REAL, COUNT(REAL), ours, COUNT(ours), RPL_MATCH_ALL);
    assert_int_equal(r.same, same);
    assert_int_equal(r.why, why);
}

static void every_kind_of_difference_is_found_and_named(void **state)
{
    (void)state;
    check_spoiled(0, (struct ev){VS_MEM_SEGMENT_ALLOC, 0, 20971520, 0x700000, 0}, 0,
                  RPL_MATCH_BYTES);
    check_spoiled(1, (struct ev){VS_MEM_FREE_REQUESTED, 1, 100, 0x700000, 0}, 1, RPL_MATCH_KIND);
    check_spoiled(2, (struct ev){VS_MEM_ALLOC, 2, 71, 0x700200, VS_MEM_SORT}, 2, RPL_MATCH_BYTES);
    check_spoiled(4, (struct ev){VS_MEM_ALLOC, 3, 100, 0x700400, 0}, 5, RPL_MATCH_WHERE);
    check_spoiled(5, (struct ev){VS_MEM_FREE_REQUESTED, 3, 100, 0x700200, 0}, 6, RPL_MATCH_WHICH);
}

static void only_frees_may_follow_the_end_of_the_recording(void **state)
{
    struct ev ours[COUNT(OURS) + 1];
    struct result r;

    (void)state;
    memcpy(ours, OURS, sizeof(OURS));
    ours[COUNT(OURS)] = (struct ev){VS_MEM_ALLOC, 4, 8, 0x700000, 0};
    r = match_lists(REAL, COUNT(REAL), ours, COUNT(ours), RPL_MATCH_ALL);
    assert_int_equal(r.same, 8);
    assert_int_equal(r.why, RPL_MATCH_END);
    assert_int_equal(r.more, 1);
    r = match_lists(REAL, COUNT(REAL), OURS, 2, RPL_MATCH_ALL);
    assert_int_equal(r.same, 2);
    assert_int_equal(r.why, RPL_MATCH_END);
}

/* A window of a run frees what was made before it: recognized by what the two sides free together. */
static void a_pre_existing_block_is_recognized_by_its_free(void **state)
{
    static const struct ev real[] = {
        {VS_MEM_FREE_REQUESTED, 0, 100, 0x1000, 0},
        {VS_MEM_ALLOC, 0, 50, 0x1000, 0},
        {VS_MEM_FREE_REQUESTED, 0, 60, 0x2000, 0},
        {VS_MEM_FREE_REQUESTED, 0, 50, 0x1000, 0},
    };
    static const struct ev ours[] = {
        {VS_MEM_FREE_REQUESTED, 7, 100, 0x9000, 0},
        {VS_MEM_ALLOC, 8, 50, 0x9000, 0},
        {VS_MEM_FREE_REQUESTED, 3, 60, 0xa000, 0},
        {VS_MEM_FREE_REQUESTED, 8, 50, 0x9000, 0},
    };
    static const struct ev other[] = {
        {VS_MEM_FREE_REQUESTED, 7, 100, 0x9000, 0},
        {VS_MEM_ALLOC, 8, 60, 0x9000, 0},
        {VS_MEM_FREE_REQUESTED, 3, 60, 0xa000, 0},
    };
    struct result r = match_lists(real, COUNT(real), ours, COUNT(ours), RPL_MATCH_TENSORS);

    (void)state;
    assert_int_equal(r.same, 4);
    assert_int_equal(r.why, RPL_MATCH_SAME);
    r = match_lists(real, COUNT(real), other, COUNT(other), RPL_MATCH_TENSORS);
    assert_int_equal(r.same, 1);
    assert_int_equal(r.why, RPL_MATCH_BYTES);
}

/* Three frees in a row, in another order; then one that is not in ours. */
static void the_order_of_frees_can_be_ignored(void **state)
{
    static const struct ev real[] = {
        {VS_MEM_ALLOC, 0, 50, 0x1000, 0},          {VS_MEM_ALLOC, 0, 50, 0x2000, 0},
        {VS_MEM_FREE_REQUESTED, 0, 50, 0x1000, 0}, {VS_MEM_FREE_REQUESTED, 0, 70, 0x3000, 0},
        {VS_MEM_FREE_REQUESTED, 0, 50, 0x2000, 0}, {VS_MEM_ALLOC, 0, 8, 0x4000, 0},
        {VS_MEM_FREE_REQUESTED, 0, 8, 0x4000, 0},
    };
    struct ev ours[] = {
        {VS_MEM_ALLOC, 4, 50, 0x1000, 0},          {VS_MEM_ALLOC, 5, 50, 0x2000, 0},
        {VS_MEM_FREE_REQUESTED, 5, 50, 0x2000, 0}, {VS_MEM_FREE_REQUESTED, 4, 50, 0x1000, 0},
        {VS_MEM_FREE_REQUESTED, 1, 70, 0x3000, 0}, {VS_MEM_ALLOC, 6, 8, 0x4000, 0},
        {VS_MEM_FREE_REQUESTED, 6, 8, 0x4000, 0},
    };

    (void)state;
    for (int i = 0; i < 3; i++) {
        const struct rpl_match_options options = {
            .scope = RPL_MATCH_TENSORS, .first_seq = 1, .any_free_order = i > 0};
        struct rpl_trace *trace;
        struct vs_memlist list;
        struct vs_error err = VS_ERROR_INIT;
        struct rpl_match match;

        ours[4].bytes = i == 2 ? 71 : 70;
        trace = trace_make(ours, COUNT(ours));
        list_make(&list, real, COUNT(real));
        assert_int_equal(rpl_match_fill(&match, &list, trace, &options, &err), VS_OK);
        assert_int_equal(match.same_events, i == 1 ? 7 : 2);
        assert_int_equal(match.reordered, i == 1 ? 3 : 0);
        assert_int_equal(rpl_match_is_equal(&match), i == 1);
        rpl_match_release(&match);
        rpl_trace_free(trace);
        vs_memlist_release(&list);
    }
}

static void a_list_without_addresses_has_no_segments_to_compare(void **state)
{
    struct vs_memlist list = {.events = NULL};
    struct rpl_trace *trace = trace_make(OURS, COUNT(OURS));
    const struct rpl_match_options options = {.scope = RPL_MATCH_ALL, .first_seq = 1};
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_match match;

    (void)state;
    vs_memlist_add_event(&list, VS_MEM_ALLOC, 1, 100, 0);
    assert_int_equal(rpl_match_fill(&match, &list, trace, &options, &err), VS_E_VALUE);
    rpl_match_release(&match);
    rpl_trace_free(trace);
    vs_memlist_release(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_runs_match_despite_different_addresses),
        cmocka_unit_test(every_kind_of_difference_is_found_and_named),
        cmocka_unit_test(only_frees_may_follow_the_end_of_the_recording),
        cmocka_unit_test(a_pre_existing_block_is_recognized_by_its_free),
        cmocka_unit_test(the_order_of_frees_can_be_ignored),
        cmocka_unit_test(a_list_without_addresses_has_no_segments_to_compare),
    };

    return cmocka_run_group_tests_name("replay/match", tests, NULL, NULL);
}

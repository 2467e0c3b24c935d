/*
 * tests/engine/alloc_history/test_replay.c - the allocator compared with recordings of real PyTorch runs.
 *
 * Each row of tests/golden/alloc/facts.tsv is one device of one published memory snapshot. Its trace is rewound to the
 * state in which it began and replayed; every address, every segment event and the state at the end must be the
 * recorded ones, and the figures must be those of the table, which was computed without this allocator.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/alloc_history/replay.h"
#include "engine/alloc_history/rewind.h"
#include "tests/engine/alloc_lists.h"
#include "tests/page_count.h"

#define MAX_ROWS 64

static void must(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s: %s", vs_status_name(st), err->text);
}

static void list_path(const struct alloc_facts *facts, char *out, size_t size)
{
    snprintf(out, size, "%s/%.*s.%u.txt", ALLOC_LISTS_DIR, (int)strcspn(facts->file, "."),
             facts->file, (unsigned)facts->device);
}

static void same(const char *what, uint64_t expected, uint64_t found)
{
    if (expected != ALLOC_FACT_NONE && expected != found)
        fail_msg("%s: the table has %llu, the allocator %llu", what, (unsigned long long)expected,
                 (unsigned long long)found);
}

static uint64_t now(const struct eng_alloc_stat stat[ENG_STAT_POOLS])
{
    return stat[ENG_STAT_ALL].current;
}

static uint64_t peak(const struct eng_alloc_stat stat[ENG_STAT_POOLS])
{
    return stat[ENG_STAT_ALL].peak;
}

/* Checks that hold at any time; `free_bytes` is the sum of the state's inactive blocks. */
static void check_identities(const struct eng_alloc_stats *s, const struct eng_record_state *state)
{
    uint64_t free_bytes = 0;
    uint64_t whole_bytes = 0; /* free and a whole segment */
    bool is_expandable = false;

    for (size_t i = 0; i < state->segment_count; i++) {
        const struct eng_record_segment *seg = &state->segments[i];

        is_expandable |= seg->is_expandable;
        for (size_t j = seg->first_block; j < seg->first_block + seg->block_count; j++) {
            if (state->blocks[j].state != ENG_BLOCK_INACTIVE)
                continue;
            free_bytes += state->blocks[j].bytes;
            whole_bytes += seg->block_count == 1 ? state->blocks[j].bytes : 0;
        }
    }
    assert_true(now(s->allocated_bytes) <= now(s->active_bytes));
    assert_true(now(s->requested_bytes) <= now(s->active_bytes));
    same("reserved = active + free", now(s->reserved_bytes), now(s->active_bytes) + free_bytes);
    if (!is_expandable)
        same("free = split + whole", free_bytes, now(s->inactive_split_bytes) + whole_bytes);
}

/* Every block in use has its rounded request, in large pools plus at most 1 MiB that was too small to be split off. */
static void check_rounding(const struct eng_record *list)
{
    for (size_t i = 0; i < list->final.segment_count; i++) {
        const struct eng_record_segment *seg = &list->final.segments[i];
        const uint64_t slack = seg->is_small || seg->is_expandable ? 0 : 1048576;

        for (size_t j = seg->first_block; j < seg->first_block + seg->block_count; j++) {
            const struct eng_record_block *block = &list->final.blocks[j];
            const uint64_t rounded = eng_alloc_round_bytes(&list->conf, block->requested_bytes);

            if (block->state == ENG_BLOCK_INACTIVE)
                continue;
            if (block->bytes < rounded || block->bytes - rounded > slack ||
                (rounded <= 1048576) != seg->is_small)
                fail_msg("a block of %llu bytes for a request of %llu",
                         (unsigned long long)block->bytes,
                         (unsigned long long)block->requested_bytes);
        }
    }
}

static void check_facts(const struct alloc_facts *facts, const struct eng_alloc_stats *stats,
                        const struct eng_record_state *state)
{
    same("segments", facts->segments, state->segment_count);
    same("blocks", facts->blocks, state->block_count);
    same("reserved", facts->reserved, now(stats->reserved_bytes));
    same("allocated", facts->allocated, now(stats->allocated_bytes));
    same("allocs", facts->allocs, stats->allocation[ENG_STAT_ALL].allocated);
    same("peak allocated", facts->peak_allocated, peak(stats->allocated_bytes));
    same("peak requested", facts->peak_requested, peak(stats->requested_bytes));
    same("peak reserved", facts->peak_reserved, peak(stats->reserved_bytes));
}

static void a_recorded_run_is_replayed_without_a_difference(void **state)
{
    const struct alloc_facts *facts = *state;
    struct eng_record list;
    struct eng_record_state start = {0};
    struct eng_record_state found = {0};
    struct eng_replay *replay;
    const struct eng_alloc_stats *stats;
    struct vs_error err = VS_ERROR_INIT;
    char path[128];

    list_path(facts, path, sizeof(path));
    must(alloc_list_read(path, &list, &err), &err);
    same("events", facts->events, list.event_count);
    must(eng_record_rewind(&list.final, list.events, list.event_count, &list.conf, &start, &err),
         &err);
    assert_int_equal(facts->is_start_empty, start.segment_count == 0);
    must(eng_replay_new(&(struct eng_replay_options){.start = &start,
                                                     .events = list.events,
                                                     .event_count = list.event_count,
                                                     .conf = &list.conf},
                        &replay, &err),
         &err);
    must(eng_replay_run(replay, &err), &err);
    stats = eng_alloc_stats_get(eng_replay_alloc(replay));
    eng_record_state_of(eng_replay_alloc(replay), &found);
    must(eng_record_state_compare(&list.final, "the snapshot", &found, "the allocator", &err),
         &err);
    check_facts(facts, stats, &found);
    check_identities(stats, &found);
    check_rounding(&list);
    print_message("%s: %zu events, %llu allocs, %zu segments and %zu blocks at the end, "
                  "0 differences\n",
                  path, eng_replay_done(replay),
                  (unsigned long long)stats->allocation[ENG_STAT_ALL].allocated,
                  found.segment_count, found.block_count);
    eng_replay_free(replay);
    eng_record_state_release(&start);
    eng_record_state_release(&found);
    eng_record_release(&list);
}

static void an_empty_snapshot_is_replayed(void **unused)
{
    struct alloc_facts nothing = {.file = "empty_snapshot.pickle.gz", .is_start_empty = true};
    void *state = &nothing;

    (void)unused;
    a_recorded_run_is_replayed_without_a_difference(&state);
}

/* One segment; 3 MiB are requested of the first block, the second is the rest. */
static void small_state(struct eng_record_state *state)
{
    struct eng_record_segment *seg = eng_record_state_add_segment(state);

    seg->address = 0x10000000;
    seg->bytes = 20971520;
    eng_record_state_add_block(state,
                               (struct eng_record_block){3145728, 3145700, ENG_BLOCK_ALLOCATED});
    eng_record_state_add_block(state, (struct eng_record_block){.bytes = 17825792});
}

/* A free without its alloc in the trace: at the start the block has its rounded size. */
static void a_block_freed_without_an_allocation_is_in_the_initial_state(void **unused)
{
    const struct eng_record_event events[] = {
        {.kind = ENG_ALLOC_EV_FREE_REQUESTED, .address = 0x10300000, .bytes = 1500000},
        {.kind = ENG_ALLOC_EV_FREE_COMPLETED, .address = 0x10300000, .bytes = 1500000},
    };
    struct eng_record_state final = {0};
    struct eng_record_state start = {0};
    struct eng_alloc_conf conf;
    struct vs_error err = VS_ERROR_INIT;

    (void)unused;
    eng_alloc_conf_init(&conf);
    small_state(&final);
    must(eng_record_rewind(&final, events, 2, &conf, &start, &err), &err);
    assert_int_equal(start.segment_count, 1);
    assert_int_equal(start.block_count, 3);
    assert_int_equal(start.blocks[1].bytes, 1500160);
    assert_int_equal(start.blocks[1].state, ENG_BLOCK_ALLOCATED);
    assert_int_equal(start.blocks[2].bytes, 17825792 - 1500160);
    eng_record_state_release(&start);
    eng_record_state_release(&final);
}

/* 16.5 MiB requested of 17 MiB: the 0.5 MiB after them are too small for a block and belong to it. */
static void a_remainder_too_small_to_split_belongs_to_the_block(void **unused)
{
    const struct eng_record_event events[] = {
        {.kind = ENG_ALLOC_EV_FREE_REQUESTED, .address = 0x10300000, .bytes = 17301504},
        {.kind = ENG_ALLOC_EV_FREE_COMPLETED, .address = 0x10300000, .bytes = 17301504},
    };
    struct eng_record_state final = {0};
    struct eng_record_state start = {0};
    struct eng_alloc_conf conf;
    struct vs_error err = VS_ERROR_INIT;

    (void)unused;
    eng_alloc_conf_init(&conf);
    small_state(&final);
    must(eng_record_rewind(&final, events, 2, &conf, &start, &err), &err);
    assert_int_equal(start.block_count, 2);
    assert_int_equal(start.blocks[1].bytes, 17825792);
    eng_record_state_release(&start);
    eng_record_state_release(&final);
}

/*
 * 5 MiB were requested at 3 MiB; later, while the block is in use, something is allocated at 8.5 MiB: so the block had
 * 5.5 MiB, although the memory after it was free at the start.
 */
static void the_size_of_a_block_follows_from_a_later_neighbour(void **unused)
{
    const struct eng_record_event events[] = {
        {.kind = ENG_ALLOC_EV_ALLOC, .address = 0x10880000, .bytes = 2097152},
        {.kind = ENG_ALLOC_EV_FREE_REQUESTED, .address = 0x10880000, .bytes = 2097152},
        {.kind = ENG_ALLOC_EV_FREE_COMPLETED, .address = 0x10880000, .bytes = 2097152},
        {.kind = ENG_ALLOC_EV_FREE_REQUESTED, .address = 0x10300000, .bytes = 5242880},
        {.kind = ENG_ALLOC_EV_FREE_COMPLETED, .address = 0x10300000, .bytes = 5242880},
    };
    struct eng_record_state final = {0};
    struct eng_record_state start = {0};
    struct eng_alloc_conf conf;
    struct eng_replay *replay;
    struct vs_error err = VS_ERROR_INIT;

    (void)unused;
    eng_alloc_conf_init(&conf);
    small_state(&final);
    must(eng_record_rewind(&final, events, 5, &conf, &start, &err), &err);
    assert_int_equal(start.block_count, 3);
    assert_int_equal(start.blocks[1].bytes, 0x580000);
    must(eng_replay_new(
             &(struct eng_replay_options){.start = &start, .events = events, .event_count = 5},
             &replay, &err),
         &err);
    must(eng_replay_run(replay, &err), &err);
    eng_replay_free(replay);
    eng_record_state_release(&start);
    eng_record_state_release(&final);
}

static void events_that_do_not_lead_to_the_state_are_refused(void **unused)
{
    static const struct eng_record_event wrong[] = {
        {.kind = ENG_ALLOC_EV_ALLOC, .address = 0x10300000, .bytes = 512},
        {.kind = ENG_ALLOC_EV_ALLOC, .address = 0x10000000, .bytes = 512},
        {.kind = ENG_ALLOC_EV_FREE_REQUESTED, .address = 0x10000000, .bytes = 3145700},
        {.kind = ENG_ALLOC_EV_FREE_COMPLETED, .address = 0x10000000, .bytes = 3145700},
        {.kind = ENG_ALLOC_EV_FREE_COMPLETED, .address = 0x20000000, .bytes = 512},
        {.kind = ENG_ALLOC_EV_SEGMENT_ALLOC, .address = 0x20000000, .bytes = 2097152},
        {.kind = ENG_ALLOC_EV_SEGMENT_ALLOC, .address = 0x10000000, .bytes = 20971520},
        {.kind = ENG_ALLOC_EV_SEGMENT_FREE, .address = 0x0ff00000, .bytes = 2097152},
        {.kind = ENG_ALLOC_EV_SEGMENT_FREE, .address = UINT64_MAX - 511, .bytes = 2097152},
        {.kind = ENG_ALLOC_EV_SEGMENT_MAP, .address = 0x10000000, .bytes = 2097152},
        {.kind = ENG_ALLOC_EV_SEGMENT_UNMAP, .address = 0x10000000, .bytes = 2097152},
        {.kind = 99},
    };
    struct eng_record_state final = {0};
    struct eng_record_state start = {0};
    struct eng_alloc_conf conf;

    (void)unused;
    eng_alloc_conf_init(&conf);
    small_state(&final);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct vs_error err = VS_ERROR_INIT;

        if (eng_record_rewind(&final, &wrong[i], 1, &conf, &start, &err) != VS_E_DAMAGED)
            fail_msg("event %zu was undone", i);
        assert_non_null(strstr(err.text, "event 0"));
    }
    eng_record_state_release(&final);
}

static void an_inconsistent_state_is_refused(void **unused)
{
    struct eng_record_state state = {0};
    struct vs_error err = VS_ERROR_INIT;

    (void)unused;
    small_state(&state);
    must(eng_record_state_check(&state, &err), &err);
    state.blocks[1].bytes -= 512;
    assert_int_equal(eng_record_state_check(&state, &err), VS_E_DAMAGED);
    state.blocks[1].bytes += 512;
    state.blocks[0].requested_bytes = state.blocks[0].bytes + 1;
    assert_int_equal(eng_record_state_check(&state, &err), VS_E_DAMAGED);
    state.blocks[0].requested_bytes = 1;
    small_state(&state); /* the same segment twice */
    assert_int_equal(eng_record_state_check(&state, &err), VS_E_DAMAGED);
    assert_non_null(strstr(err.text, "overlaps"));
    eng_record_state_release(&state);
}

/* Replays one event from small_state; the error names the first difference. */
static void a_history_the_allocator_cannot_produce_is_detected(void **unused)
{
    static const struct eng_record_event wrong[] = {
        {.kind = ENG_ALLOC_EV_ALLOC, .address = 0x10300200, .bytes = 2097152},
        {.kind = ENG_ALLOC_EV_ALLOC, .address = 0x10300000, .bytes = 1},
        {.kind = ENG_ALLOC_EV_ALLOC, .address = 0x10300000, .bytes = 2097152, .stream = 1},
        {.kind = ENG_ALLOC_EV_ALLOC, .address = 0x10300000, .bytes = 0},
        {.kind = ENG_ALLOC_EV_ALLOC, .address = 0x10300000, .bytes = UINT64_MAX},
        {.kind = ENG_ALLOC_EV_ALLOC, .address = 0x10300000, .bytes = 1, .stream = UINT64_MAX},
        {.kind = ENG_ALLOC_EV_FREE_REQUESTED, .address = 0x10300000, .bytes = 2097152},
        {.kind = ENG_ALLOC_EV_FREE_COMPLETED, .address = 0x10000000, .bytes = 3145700},
        {.kind = ENG_ALLOC_EV_SEGMENT_FREE, .address = 0x10000000, .bytes = 20971520},
        {.kind = ENG_ALLOC_EV_SEGMENT_ALLOC, .address = 0x20000000, .bytes = 20971520},
        {.kind = ENG_ALLOC_EV_OOM, .address = 0, .bytes = 2097152},
        {.kind = ENG_RECORD_SNAPSHOT, .bytes = 1},
    };
    struct eng_record_state start = {0};

    (void)unused;
    small_state(&start);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct vs_error err = VS_ERROR_INIT;
        struct eng_replay *replay;

        must(eng_replay_new(&(struct eng_replay_options){.start = &start,
                                                         .events = &wrong[i],
                                                         .event_count = 1},
                            &replay, &err),
             &err);
        if (eng_replay_run(replay, &err) != VS_E_VALUE)
            fail_msg("event %zu was replayed", i);
        assert_non_null(strstr(err.text, "event 0: the trace has"));
        eng_replay_free(replay);
    }
    eng_record_state_release(&start);
}

static uint64_t draw(uint64_t *seed, uint64_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*seed >> 33) % below;
}

/* One event becomes another, moves, is removed, or gets a figure from elsewhere in the trace or an invalid one. */
static void spoil(struct eng_record *list, uint64_t *seed)
{
    struct eng_record_event *event = &list->events[draw(seed, list->event_count)];
    const struct eng_record_event *other = &list->events[draw(seed, list->event_count)];
    struct eng_record_block *block = &list->final.blocks[draw(seed, list->final.block_count)];
    struct eng_record_segment *seg = &list->final.segments[draw(seed, list->final.segment_count)];
    static const uint64_t odd[] = {0, 1, 511, 512, UINT64_C(1) << 60, UINT64_MAX, UINT64_MAX - 511};
    const uint64_t any = odd[draw(seed, sizeof(odd) / sizeof(odd[0]))];

    switch (draw(seed, 10)) {
    case 0:
        event->kind = (unsigned)draw(seed, ENG_RECORD_SNAPSHOT + 2);
        break;
    case 1:
        event->address = other->address;
        break;
    case 2:
        event->bytes = other->bytes;
        break;
    case 3:
        *event = *other;
        break;
    case 4:
        event->bytes = any;
        break;
    case 5:
        event->address = any;
        break;
    case 6:
        event->stream = any;
        break;
    case 7:
        block->state =
            block->state == ENG_BLOCK_INACTIVE ? ENG_BLOCK_PENDING_FREE : ENG_BLOCK_INACTIVE;
        break;
    case 8:
        seg->is_expandable = !seg->is_expandable;
        seg->is_small ^= draw(seed, 2);
        break;
    default:
        seg->address += draw(seed, 2) ? any : 512;
        list->event_count -= draw(seed, 2);
    }
}

static void spoil_and_replay(const char *name, uint64_t seed, unsigned *refused, unsigned *noticed)
{
    struct eng_record list;
    struct eng_record_state start = {0};
    struct eng_replay *replay = NULL;
    struct vs_error err = VS_ERROR_INIT;
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", ALLOC_LISTS_DIR, name);
    must(alloc_list_read(path, &list, &err), &err);
    for (uint64_t i = 0; i <= seed % 3; i++)
        spoil(&list, &seed);
    if (eng_record_rewind(&list.final, list.events, list.event_count, &list.conf, &start, &err)) {
        assert_int_equal(err.status, VS_E_DAMAGED);
        (*refused)++;
    } else if (eng_replay_new(&(struct eng_replay_options){.start = &start,
                                                           .events = list.events,
                                                           .event_count = list.event_count,
                                                           .conf = &list.conf},
                              &replay, &err)) {
        assert_int_equal(err.status, VS_E_DAMAGED);
        (*refused)++;
    } else if (eng_replay_run(replay, &err)) {
        assert_int_equal(err.status, VS_E_VALUE);
        (*noticed)++;
    }
    eng_replay_free(replay);
    eng_record_state_release(&start);
    eng_record_release(&list);
}

static void a_corrupted_history_is_refused_or_detected(void **unused)
{
    static const char *const names[] = {"attention_3g.0.txt", "expandable_3gpu_oom.1.txt",
                                        "nca_custom_kernel_step.0.txt"};
    unsigned refused = 0;
    unsigned noticed = 0;

    (void)unused;
    for (uint64_t seed = 0; seed < 600; seed++)
        spoil_and_replay(names[seed % 3], seed * 2654435761U, &refused, &noticed);
    /*
     * the other changes have no effect: a stream's number in a snapshot, an event replaced by itself, and so on
     */
    assert_in_range(refused, 300, 600);
    assert_in_range(noticed, 20, 300);
}

static void the_page_states_the_number_of_replayed_events(void **unused)
{
    struct vs_error err = VS_ERROR_INIT;
    struct alloc_facts facts;
    uint64_t events = 0;

    (void)unused;
    for (size_t i = 0; alloc_facts_read(i, &facts, &err) == VS_OK; i++)
        events += facts.events;
    page_count_check("alloc/*.txt, addresses", events, events);
}

int main(void)
{
    static struct alloc_facts facts[MAX_ROWS];
    static char names[MAX_ROWS][128];
    static struct CMUnitTest tests[MAX_ROWS];
    const struct CMUnitTest others[] = {
        cmocka_unit_test(an_empty_snapshot_is_replayed),
        cmocka_unit_test(a_block_freed_without_an_allocation_is_in_the_initial_state),
        cmocka_unit_test(a_remainder_too_small_to_split_belongs_to_the_block),
        cmocka_unit_test(the_size_of_a_block_follows_from_a_later_neighbour),
        cmocka_unit_test(events_that_do_not_lead_to_the_state_are_refused),
        cmocka_unit_test(an_inconsistent_state_is_refused),
        cmocka_unit_test(a_history_the_allocator_cannot_produce_is_detected),
        cmocka_unit_test(a_corrupted_history_is_refused_or_detected),
        cmocka_unit_test(the_page_states_the_number_of_replayed_events),
    };
    struct vs_error err = VS_ERROR_INIT;
    size_t count = 0;
    int failed;

    while (count < MAX_ROWS && alloc_facts_read(count, &facts[count], &err) == VS_OK) {
        snprintf(names[count], sizeof(names[count]), "replay of %.60s, device %u",
                 facts[count].file, (unsigned)facts[count].device);
        tests[count] = (struct CMUnitTest){
            .name = names[count],
            .test_func = a_recorded_run_is_replayed_without_a_difference,
            .initial_state = &facts[count],
        };
        count++;
    }
    if (err.status != VS_E_NOT_FOUND || count == 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    failed =
        _cmocka_run_group_tests("engine/alloc_replay: recorded runs", tests, count, NULL, NULL);
    return failed + cmocka_run_group_tests_name("engine/alloc_replay", others, NULL, NULL);
}

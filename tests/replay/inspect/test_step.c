/*
 * tests/replay/inspect/test_step.c - every stepping command compared with a linear scan over the events, in both
 * directions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "replay/index/index_internal.h"
#include "replay/index/lifetimes.h"
#include "replay/inspect/step.h"
#include "replay/trace/trace_internal.h"
#include "tests/replay/make_trace.h"
#include "tests/replay/random_trace.h"
#include "tests/store/trace_file.h"

#define EVENTS (RPL_STORE_EVENTS + RPL_CHUNK_EVENTS / 2)

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

/* events[seq - 1]; allocated[seq] right after it. */
struct model {
    struct rpl_trace *trace;
    const struct vs_event *events;
    uint64_t *allocated;
    uint64_t count;
};

static struct model model_make(struct rpl_trace *trace)
{
    struct model m = {.trace = trace, .count = rpl_trace_event_count(trace)};
    struct vs_error err = VS_ERROR_INIT;

    ok(rpl_trace_span(trace, 1, (size_t)m.count, NULL, &m.events, &err), &err);
    m.allocated = vs_calloc((size_t)m.count + 1, sizeof(*m.allocated));
    for (uint64_t seq = 1; seq <= m.count; seq++) {
        const struct vs_event *e = &m.events[seq - 1];

        m.allocated[seq] = m.allocated[seq - 1] +
                           (e->kind == VS_EV_ALLOC ? e->alloc.block_bytes : 0) -
                           (e->kind == VS_EV_FREE ? e->free.block_bytes : 0);
    }
    return m;
}

static const struct vs_location *location_of(const struct model *m, uint64_t seq)
{
    return rpl_trace_location(m->trace, seq ? m->events[seq - 1].location : 0);
}

/*
 * Peaks the slow way, for every event by itself: it is higher than all before it since it was `drop` lower, and no
 * lower than all after it until it is. `drop` is of the highest so far at the time of the fall.
 */
static void peaks_mark(const struct model *m, bool *is_peak)
{
    uint64_t highest = 0;
    uint64_t low = 0; /* lowest since the last peak; the first rise starts at 0 */
    uint64_t top = 0;
    uint64_t top_seq = 0;
    bool up = true;

    for (uint64_t seq = 1; seq <= m->count; seq++) {
        uint64_t now = m->allocated[seq];
        uint64_t drop;

        highest = now > highest ? now : highest;
        drop = highest / RPL_PEAK_SHARE + 1;
        if (up && now > top) {
            top = now;
            top_seq = seq;
        }
        if (up && now + drop <= top) {
            is_peak[top_seq] = true;
            up = false;
            low = now;
        }
        low = now < low ? now : low;
        if (!up && now >= low + drop) {
            up = true;
            top = now;
            top_seq = seq;
        }
    }
    if (up && top_seq)
        is_peak[top_seq] = true;
}

/* is_stop[seq], computed naively. The caller frees it. */
static bool *stops_of(const struct model *m, enum rpl_verb verb)
{
    bool *is_stop = vs_calloc((size_t)m->count + 2, sizeof(*is_stop));

    if (verb == RPL_VERB_PEAK)
        peaks_mark(m, is_stop);
    for (uint64_t seq = 1; seq <= m->count; seq++) {
        unsigned kind = m->events[seq - 1].kind;
        const struct vs_location *a = location_of(m, seq - 1);
        const struct vs_location *b = location_of(m, seq);

        if (verb == RPL_VERB_EVENT)
            is_stop[seq] = true;
        if (verb == RPL_VERB_ALLOC)
            is_stop[seq] = kind == VS_EV_ALLOC || kind == VS_EV_FREE ||
                           (kind >= VS_EV_SEGMENT_ALLOC && kind <= VS_EV_OOM);
        if (verb == RPL_VERB_OP)
            is_stop[seq] = kind == VS_EV_OP_BEGIN;
        if (verb == RPL_VERB_PHASE)
            is_stop[seq] = kind == VS_EV_PHASE;
        if (verb == RPL_VERB_STEP)
            is_stop[seq] = kind == VS_EV_STEP;
        if (verb == RPL_VERB_MODULE)
            is_stop[seq] = a->module != b->module;
        if (verb == RPL_VERB_LINE)
            is_stop[seq] = b->line && (a->line != b->line || a->func != b->func);
    }
    return is_stop;
}

static uint64_t model_step(const struct model *m, const bool *is_stop, uint64_t seq, int64_t count)
{
    uint64_t out = seq;

    while (count > 0 && seq < m->count)
        if (is_stop[++seq]) {
            out = seq;
            count--;
        }
    while (count < 0 && seq > 1)
        if (is_stop[--seq]) {
            out = seq;
            count++;
        }
    return out;
}

static uint64_t next_random(uint32_t *random, uint64_t below)
{
    *random = *random * 1664525 + 1013904223;
    return (*random >> 3) % below;
}

static void assert_verb(struct rpl_index *index, const struct model *m, enum rpl_verb verb)
{
    static const int64_t counts[] = {1, -1, 1, -1, 3, -7, 200, -200, 1000000};
    struct vs_error err = VS_ERROR_INIT;
    bool *is_stop = stops_of(m, verb);
    uint32_t random = 5;
    uint64_t number = 0;
    uint64_t got;

    for (uint64_t seq = 1; seq <= m->count; seq++) {
        number += is_stop[seq];
        if (seq % 997 && seq != m->count)
            continue;
        ok(rpl_step_number(index, verb, seq, &got, &err), &err);
        assert_int_equal(got, number);
        if (!is_stop[seq] || !number)
            continue;
        ok(rpl_step_nth(index, verb, number, &got, &err), &err);
        assert_int_equal(got, seq);
    }
    assert_int_equal(rpl_step_total(index, verb), number);
    for (int i = 0; i < 60; i++) {
        uint64_t seq = next_random(&random, m->count + 1);
        int64_t count = counts[next_random(&random, 9)];
        uint64_t there;
        uint64_t back;
        uint64_t made = 0;
        uint64_t made_back = 0;

        ok(rpl_step(index, seq, verb, count, &there, NULL, &err), &err);
        if (there != model_step(m, is_stop, seq, count))
            fail_msg("verb %d from %llu by %lld: %llu, should be %llu", (int)verb,
                     (unsigned long long)seq, (long long)count, (unsigned long long)there,
                     (unsigned long long)model_step(m, is_stop, seq, count));
        /* from a stop forwards and back again */
        ok(rpl_step(index, seq, verb, 1, &seq, &made, &err), &err);
        if (!made)
            continue;
        ok(rpl_step(index, seq, verb, count, &there, &made, &err), &err);
        ok(rpl_step(index, there, verb, count > 0 ? -(int64_t)made : (int64_t)made, &back,
                    &made_back, &err),
           &err);
        assert_int_equal(back, seq);
        assert_int_equal(made_back, made);
    }
    vs_free(is_stop);
}

/* The next or previous event for which `has` is true; `seq` where there is none. */
static uint64_t model_search(const struct model *m, uint64_t seq, bool is_backward, uint64_t of,
                             bool (*has)(const struct model *m, uint64_t of, uint64_t seq))
{
    uint64_t at = seq;

    while (is_backward ? at > 1 : at < m->count) {
        at = is_backward ? at - 1 : at + 1;
        if (has(m, of, at))
            return at;
    }
    return seq;
}

static bool left_module(const struct model *m, uint64_t of, uint64_t seq)
{
    const char *module = rpl_trace_string(m->trace, location_of(m, of)->module);
    const char *path = rpl_trace_string(m->trace, location_of(m, seq)->module);
    char prefix[100];

    if (!location_of(m, of)->module)
        return location_of(m, seq)->module != 0;
    if (!location_of(m, seq)->module)
        return true;
    strcpy(prefix, module);
    strcat(prefix, ".");
    return *module && strcmp(path, module) != 0 && strncmp(path, prefix, strlen(prefix)) != 0;
}

static bool same_line(const struct model *m, uint64_t of, uint64_t seq)
{
    const struct vs_location *a = location_of(m, of);
    const struct vs_location *b = location_of(m, seq);

    return a->line && m->events[seq - 1].kind == VS_EV_ALLOC && a->line == b->line &&
           a->func == b->func;
}

static void assert_searches(struct rpl_index *index, const struct model *m)
{
    struct vs_error err = VS_ERROR_INIT;
    uint32_t random = 77;
    uint64_t got;

    for (int i = 0; i < 60; i++) {
        uint64_t seq = next_random(&random, m->count + 1);
        bool back = i % 2;

        ok(rpl_step_finish(index, seq, back, &got, &err), &err);
        assert_int_equal(got, model_search(m, seq, back, seq, left_module));
        ok(rpl_step_same_line(index, seq, back, &got, &err), &err);
        assert_int_equal(got, model_search(m, seq, back, seq, same_line));
    }
}

/* Locations with few events, with many, and none at all. */
static void assert_locations(struct rpl_index *index, const struct model *m)
{
    struct vs_error err = VS_ERROR_INIT;
    size_t count = (size_t)rpl_trace_location_count(m->trace) + 1;
    bool *wanted = vs_calloc(count, sizeof(*wanted));
    uint32_t random = 99;

    for (int i = 0; i < 60; i++) {
        uint64_t seq = next_random(&random, m->count + 1);
        uint64_t at = seq;
        uint64_t got;

        memset(wanted, 0, count * sizeof(*wanted));
        for (int k = i % 4; k > 0; k--)
            wanted[1 + next_random(&random, count - 1)] = true;
        while (at && !wanted[m->events[at - 1].location])
            at--;
        ok(rpl_step_location_back(index, seq, wanted, count, &got, &err), &err);
        assert_int_equal(got, at);
    }
    vs_free(wanted);
}

/* Every seventh block and node, as the index has them. */
static void assert_lives(struct rpl_index *index, const struct model *m)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_lifetime life;

    for (uint64_t id = 1; id <= rpl_lifetime_count(index); id += 7) {
        struct rpl_lifetime wanted = {.id = id};

        for (uint64_t seq = 1; seq <= m->count; seq++) {
            const struct vs_event *e = &m->events[seq - 1];

            if (vs_event_block(e) != id)
                continue;
            if (e->kind == VS_EV_ALLOC) {
                wanted.alloc_seq = seq;
                wanted.requested = e->alloc.requested_bytes;
                wanted.bytes = e->alloc.block_bytes;
                wanted.tensor = e->alloc.tensor;
                wanted.location = e->location;
            } else if (e->kind == VS_EV_FREE) {
                wanted.free_seq = seq;
            } else if (e->kind == VS_EV_USE) {
                wanted.last_use_seq = seq;
            }
        }
        ok(rpl_lifetime_get(index, id, &life, &err), &err);
        assert_int_equal(life.alloc_seq, wanted.alloc_seq);
        assert_int_equal(life.free_seq, wanted.free_seq);
        assert_int_equal(life.last_use_seq, wanted.last_use_seq);
        assert_int_equal(life.requested, wanted.requested);
        assert_int_equal(life.bytes, wanted.bytes);
        assert_int_equal(life.tensor, wanted.tensor);
        assert_int_equal(life.location, wanted.location);
    }
    assert_int_equal(rpl_lifetime_get(index, 0, &life, &err), VS_E_NOT_FOUND);
    assert_int_equal(rpl_lifetime_get(index, rpl_lifetime_count(index) + 1, &life, &err),
                     VS_E_NOT_FOUND);
}

static void assert_index(struct rpl_index *index, const struct model *m)
{
    for (int verb = 0; verb < RPL_VERB_COUNT; verb++)
        assert_verb(index, m, (enum rpl_verb)verb);
    assert_searches(index, m);
    assert_locations(index, m);
    assert_lives(index, m);
}

static void every_stepping_command_agrees_with_a_linear_scan(void **state)
{
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    for (uint32_t seed = 41; seed <= 42; seed++) {
        struct rpl_trace *trace = random_trace(seed == 41 ? 4000 : EVENTS, seed);
        struct model m = model_make(trace);
        struct rpl_index *index;

        ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
        assert_index(index, &m);
        /* once the index knows which chunks touch a block, fewer are read */
        assert_false(rpl_index_has_detail(index));
        ok(rpl_index_detail(index, &err), &err);
        assert_true(rpl_index_has_detail(index));
        assert_searches(index, &m);
        rpl_index_free(index);
        vs_free(m.allocated);
        rpl_trace_free(trace);
    }
}

static void every_stepping_command_agrees_with_a_stored_index(void **state)
{
    struct rpl_trace *memory = random_trace(EVENTS, 43);
    struct model m = model_make(memory);
    struct vs_error err = VS_ERROR_INIT;
    char path[4096];

    trace_path(state, "step.db", path, sizeof(path));
    random_trace_write(memory, m.count, path);
    for (int i = 0; i < 2; i++) {
        struct rpl_trace *trace;
        struct rpl_index *index;

        ok(rpl_trace_open(path, &trace, &err), &err);
        ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
        assert_true(index->is_stored);
        assert_index(index, &m);
        rpl_index_free(index);
        rpl_trace_free(trace);
    }
    vs_free(m.allocated);
    rpl_trace_free(memory);
}

static void ops_are_listed_with_what_they_change(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_op ops[10];
    struct rpl_index *index;
    struct make m;
    size_t filled;

    (void)state;
    make_init(&m);
    make_alloc(&m, 512, VS_CAT_PARAMETER);                            /* 1: 512 */
    make_op(&m, VS_EV_OP_BEGIN, "linear", 0, 0, 70);                  /* 2 */
    make_alloc(&m, 1024, VS_CAT_TEMPORARY);                           /* 3: 1536 */
    make_op(&m, VS_EV_OP_BEGIN, "matmul", 0, 0, 60);                  /* 4 */
    make_alloc(&m, 512, VS_CAT_ACTIVATION);                           /* 5: 2048 */
    make_op(&m, VS_EV_OP_END, "matmul", 0, 0, 60);                    /* 6 */
    make_free(&m, 2, 1024);                                           /* 7: 1024 */
    make_op(&m, VS_EV_OP_END, "linear", 0, 0, 70);                    /* 8 */
    make_op(&m, VS_EV_OP_BEGIN, "CheckpointBackward", 9, 1, 0);       /* 9 */
    make_event(&m, (struct vs_event){.kind = VS_EV_RECOMPUTE_BEGIN}); /* 10 */
    make_op(&m, VS_EV_OP_BEGIN, "relu", 0, 2, 0);                     /* 11 */
    make_event(&m, (struct vs_event){.kind = VS_EV_RECOMPUTE_END});   /* 12: cuts relu short */
    make_op(&m, VS_EV_OP_END, "CheckpointBackward", 9, 1, 0);         /* 13 */
    make_op(&m, VS_EV_OP_BEGIN, "add", 0, 0, 0);                      /* 14: the trace ends in it */
    make_alloc(&m, 512, VS_CAT_ACTIVATION);                           /* 15: 1536 */
    ok(rpl_index_open(m.trace, NULL, NULL, &index, &err), &err);
    ok(rpl_step_ops(index, 1, 10, ops, &filled, &err), &err);
    assert_int_equal(filled, 5);
    assert_int_equal(ops[0].seq, 2);
    assert_int_equal(ops[0].end_seq, 8);
    assert_int_equal(ops[0].number, 1);
    assert_string_equal(rpl_trace_string(m.trace, ops[0].name), "linear");
    assert_int_equal(ops[0].before, 512);
    assert_int_equal(ops[0].after, 1024);
    assert_int_equal(ops[0].highest, 2048);
    assert_int_equal(ops[0].flops, 70);
    assert_int_equal(ops[1].depth, 1);
    assert_int_equal(ops[1].before, 1536);
    assert_int_equal(ops[1].after, 2048);
    assert_int_equal(ops[2].role, 1);
    assert_int_equal(ops[2].end_seq, 13);
    assert_int_equal(ops[3].depth, 1);
    assert_int_equal(ops[3].role, 2);
    assert_int_equal(ops[3].end_seq, 12);
    assert_int_equal(ops[4].end_seq, 0);
    assert_int_equal(ops[4].after, 1536);
    ok(rpl_step_ops(index, 4, 1, ops, &filled, &err), &err);
    assert_int_equal(filled, 1);
    assert_int_equal(ops[0].seq, 11);
    assert_int_equal(ops[0].number, 4);
    ok(rpl_step_ops(index, 6, 3, ops, &filled, &err), &err);
    assert_int_equal(filled, 0);
    rpl_index_free(index);
    rpl_trace_free(m.trace);
}

static void stepping_in_an_empty_trace_stays_at_its_start(void **state)
{
    struct rpl_trace *trace = rpl_trace_new();
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_index *index;
    uint64_t out;

    (void)state;
    ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
    for (int verb = 0; verb < RPL_VERB_COUNT; verb++)
        for (int64_t count = -1; count <= 1; count++) {
            ok(rpl_step(index, 0, (enum rpl_verb)verb, count, &out, NULL, &err), &err);
            assert_int_equal(out, 0);
        }
    ok(rpl_step_finish(index, 0, false, &out, &err), &err);
    assert_int_equal(out, 0);
    ok(rpl_step_same_line(index, 0, true, &out, &err), &err);
    assert_int_equal(out, 0);
    rpl_index_free(index);
    rpl_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_stepping_command_agrees_with_a_linear_scan),
        cmocka_unit_test(every_stepping_command_agrees_with_a_stored_index),
        cmocka_unit_test(ops_are_listed_with_what_they_change),
        cmocka_unit_test(stepping_in_an_empty_trace_stays_at_its_start),
    };

    return cmocka_run_group_tests_name("replay/step", tests, trace_folder_setup,
                                       trace_folder_teardown);
}

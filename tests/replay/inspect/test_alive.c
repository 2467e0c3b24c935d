/*
 * tests/replay/inspect/test_alive.c - the results from the index equal those of the naive functions, which read the
 * whole trace.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <string.h>

#include "base/mem.h"
#include "replay/breakpoints/breakpoints.h"
#include "replay/index/index_internal.h"
#include "replay/index/lifetimes.h"
#include "replay/inspect/alive.h"
#include "replay/inspect/modules.h"
#include "replay/inspect/step.h"
#include "replay/trace/pack.h"
#include "replay/trace/trace_internal.h"
#include "tests/replay/inspect/naive.h"
#include "tests/replay/net_trace.h"
#include "tests/replay/random_trace.h"
#include "tests/store/trace_file.h"

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

/* Name of the last op of this backward node in the whole trace. */
static uint32_t node_name(struct rpl_trace *trace, uint64_t node)
{
    const struct vs_event *events;
    struct vs_error err = VS_ERROR_INIT;
    uint64_t count = rpl_trace_event_count(trace);
    uint32_t name = 0;

    ok(rpl_trace_span(trace, 1, (size_t)count, NULL, &events, &err), &err);
    for (uint64_t i = 0; node && i < count; i++)
        if (events[i].kind == VS_EV_OP_BEGIN && events[i].op.role == VS_OP_BACKWARD &&
            events[i].op.node == node)
            name = (uint32_t)events[i].op.name;
    return name;
}

static void assert_why(struct rpl_cursor *cursor, struct rpl_trace *trace, uint64_t id)
{
    struct rpl_why indexed = {.id = id};
    struct rpl_why naive = {.id = id};
    struct vs_error err = VS_ERROR_INIT;

    ok(rpl_alive_why(cursor, &indexed, &err), &err);
    ok(naive_why_fill(trace, rpl_cursor_seq(cursor), &naive, 1, &err), &err);
    assert_int_equal(indexed.is_alive, naive.is_alive);
    assert_memory_equal(&indexed.block, &naive.block, sizeof(indexed.block));
    assert_int_equal(indexed.name, naive.name);
    assert_int_equal(indexed.next_use_seq, naive.next_use_seq);
    assert_int_equal(indexed.next_use_location, naive.next_use_location);
    assert_int_equal(indexed.free_seq, naive.free_seq);
    assert_int_equal(indexed.free_location, naive.free_location);
    assert_int_equal(indexed.holder_count, naive.holder_count);
    for (size_t i = 0; i < indexed.holder_count; i++) {
        struct rpl_holder *a = &indexed.holders[i];
        struct rpl_holder *b = &naive.holders[i];

        if (a->kind == VS_HOLD_SAVED && a->node) {
            assert_int_equal(a->name, node_name(trace, a->node));
            b->name =
                a->name; /* the naive function does not remember nodes that ran before the save */
        }
        assert_int_equal(a->kind, b->kind);
        assert_int_equal(a->since_seq, b->since_seq);
        assert_int_equal(a->tensor, b->tensor);
        assert_int_equal(a->name, b->name);
        assert_int_equal(a->scope, b->scope);
        assert_int_equal(a->location, b->location);
        assert_int_equal(a->node, b->node);
    }
    rpl_why_release(&indexed);
    rpl_why_release(&naive);
}

static void assert_kept(struct rpl_cursor *cursor, struct rpl_trace *trace)
{
    struct rpl_kept_list *indexed = vs_calloc(1, sizeof(*indexed));
    struct rpl_kept_list *naive = vs_calloc(1, sizeof(*naive));
    struct vs_error err = VS_ERROR_INIT;

    ok(rpl_alive_kept(cursor, indexed, &err), &err);
    ok(naive_kept_fill(naive, trace, rpl_cursor_seq(cursor), &err), &err);
    assert_int_equal(indexed->count, naive->count);
    assert_int_equal(indexed->total, naive->total);
    assert_int_equal(indexed->total_count, naive->total_count);
    for (size_t i = 0; i < indexed->count; i++) {
        assert_memory_equal(&indexed->items[i].block, &naive->items[i].block,
                            sizeof(indexed->items[i].block));
        if (indexed->items[i].gain != naive->items[i].gain)
            fail_msg("event %llu, item %zu of %zu: gain %llu, should be %llu",
                     (unsigned long long)rpl_cursor_seq(cursor), i, indexed->count,
                     (unsigned long long)indexed->items[i].gain,
                     (unsigned long long)naive->items[i].gain);
    }
    assert_int_equal(indexed->gain, naive->gain);
    vs_free(indexed);
    vs_free(naive);
}

static void assert_leak(struct rpl_index *index, struct rpl_trace *trace)
{
    struct rpl_leak *indexed = vs_calloc(1, sizeof(*indexed));
    struct rpl_leak *naive = vs_calloc(1, sizeof(*naive));
    struct vs_error err = VS_ERROR_INIT;

    ok(rpl_alive_leak(index, indexed, &err), &err);
    ok(naive_leak_fill(naive, trace, &err), &err);
    assert_int_equal(indexed->at, naive->at);
    assert_int_equal(indexed->steps, naive->steps);
    assert_int_equal(indexed->bytes, naive->bytes);
    assert_int_equal(indexed->count, naive->count);
    assert_int_equal(indexed->block_count, naive->block_count);
    assert_memory_equal(indexed->blocks, naive->blocks,
                        naive->block_count * sizeof(naive->blocks[0]));
    vs_free(indexed);
    vs_free(naive);
}

/*
 * At the peak and at `events` - 1 random events: some `blocks` live blocks, two other ids, and the unused blocks. Then
 * leaks.
 */
static void assert_results(struct rpl_index *index, struct rpl_trace *trace, int events,
                           size_t blocks)
{
    struct rpl_cursor *cursor = rpl_cursor_new(index);
    uint64_t count = rpl_index_event_count(index);
    struct vs_error err = VS_ERROR_INIT;
    uint32_t random = 3;

    for (int i = 0; i < events; i++) {
        uint64_t seq = i ? 1 + (random >> 3) % count : rpl_index_top(index).event;
        const struct rpl_live *live;

        random = random * 1664525 + 1013904223;
        ok(rpl_cursor_seek(cursor, seq, &err), &err);
        live = rpl_cursor_live(cursor);
        for (size_t k = 0; k < live->block_count; k += 1 + live->block_count / blocks)
            assert_why(cursor, trace, live->blocks[k].id);
        assert_why(cursor, trace, rpl_lifetime_count(index) + 5);
        assert_why(cursor, trace, 1 + (random >> 3) % rpl_lifetime_count(index));
        assert_kept(cursor, trace);
    }
    rpl_cursor_free(cursor);
    assert_leak(index, trace);
}

static void results_on_random_traces_equal_a_full_scan(void **state)
{
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    for (uint32_t seed = 51; seed <= 54; seed++) {
        struct rpl_trace *trace = random_trace(seed < 54 ? 3000 : 30000, seed);
        struct rpl_index *index;

        ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
        assert_results(index, trace, 12, 6);
        rpl_index_free(index);
        rpl_trace_free(trace);
    }
}

static void results_on_nets_equal_a_full_scan(void **state)
{
    static const char *const nets[] = {"tests/nets/mlp.py", "tests/nets/resnet_small.py",
                                       "tests/nets/gpt_tiny_ckpt.py", "tests/nets/lifetimes.py"};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof(nets) / sizeof(nets[0]); i++) {
        struct rpl_trace *trace = net_trace(nets[i], NULL);
        struct rpl_index *index;

        ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
        assert_results(index, trace, 6, 8);
        rpl_index_free(index);
        rpl_trace_free(trace);
    }
}

static void results_from_a_stored_index_are_the_same(void **state)
{
    struct rpl_trace *memory = random_trace(RPL_STORE_EVENTS + 1000, 55);
    struct vs_error err = VS_ERROR_INIT;
    char path[4096];

    trace_path(state, "alive.db", path, sizeof(path));
    random_trace_write(memory, rpl_trace_event_count(memory), path);
    for (int i = 0; i < 2; i++) {
        struct rpl_trace *trace;
        struct rpl_index *index;

        ok(rpl_trace_open(path, &trace, &err), &err);
        ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
        assert_true(index->is_stored);
        assert_results(index, memory, 4, 4);
        rpl_index_free(index);
        rpl_trace_free(trace);
    }
    rpl_trace_free(memory);
}

/* ---- parts of a stored index that were changed, with valid checksums ---- */

static uint32_t random_below(uint32_t *random, uint32_t n)
{
    *random = *random * 1664525 + 1013904223;
    return (*random >> 8) % n;
}

/* Change a few bytes of one part, and its checksum accordingly. */
static void part_change(const char *path, uint32_t *random)
{
    struct rpl_pack pack = {NULL, 0, 0};
    sqlite3_stmt *stmt;
    sqlite3 *db;
    sqlite3_int64 id;
    size_t len;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT id, data FROM derived WHERE length(data) > 8 "
                                        "ORDER BY id LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM "
                                        "derived WHERE length(data) > 8)",
                                        -1, &stmt, NULL),
                     SQLITE_OK);
    sqlite3_bind_int(stmt, 1, (int)random_below(random, 1000));
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    id = sqlite3_column_int64(stmt, 0);
    len = (size_t)sqlite3_column_bytes(stmt, 1);
    pack.cap = len + 64;
    pack.bytes = vs_alloc(pack.cap);
    memcpy(pack.bytes, sqlite3_column_blob(stmt, 1), len);
    pack.len = len - 8;
    for (uint32_t i = 1 + random_below(random, 3); i; i--)
        pack.bytes[random_below(random, (uint32_t)pack.len)] = (uint8_t)random_below(random, 256);
    rpl_pack_seal(&pack);
    sqlite3_finalize(stmt);
    assert_int_equal(
        sqlite3_prepare_v2(db, "UPDATE derived SET data = ? WHERE id = ?", -1, &stmt, NULL),
        SQLITE_OK);
    sqlite3_bind_blob(stmt, 1, pack.bytes, (int)pack.len, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 2, id);
    assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    rpl_pack_release(&pack);
}

/* Call a bit of everything: the results may be wrong or errors, but nothing may be read outside the trace. */
static void query_all(struct rpl_index *index, uint32_t *random)
{
    uint64_t count = rpl_index_event_count(index);
    struct rpl_kept_list *list = vs_calloc(1, sizeof(*list));
    struct rpl_column columns[20];
    struct rpl_op ops[10];
    struct rpl_why why = {.id = 0};
    struct rpl_hit hit;
    struct rpl_breakpoints *breaks = rpl_breakpoints_new(index);
    struct rpl_cursor *cursor = rpl_cursor_new(index);
    struct rpl_modules *modules = NULL;
    struct vs_error err = VS_ERROR_INIT;
    uint32_t number;
    enum vs_status st = rpl_breakpoints_add(breaks, "total > 9M and op relu", &number, &err);
    uint64_t to;
    size_t filled;

    ok(st, &err);
    for (int i = 0; i < 6; i++) {
        uint64_t seq = 1 + random_below(random, (uint32_t)count);
        const struct rpl_live *live = rpl_cursor_live(cursor);

        st = rpl_timeline_columns(index, 1 + seq / 2, seq / 2 + 1 + count / 3, columns, 20, &err);
        for (int verb = 0; verb < RPL_VERB_COUNT; verb++) {
            st = rpl_step(index, seq, (enum rpl_verb)verb, i - 3, &to, NULL, &err);
            if (!st)
                st = rpl_cursor_seek(cursor, to, &err);
        }
        st = rpl_step_finish(index, seq, i % 2, &to, &err);
        st = rpl_step_same_line(index, seq, i % 2, &to, &err);
        st = rpl_step_ops(index, 1 + seq / 50, 10, ops, &filled, &err);
        st = rpl_breakpoints_run(breaks, seq, i % 2, NULL, NULL, &hit, &err);
        st = rpl_cursor_seek(cursor, seq, &err);
        why.id = live->block_count ? live->blocks[seq % live->block_count].id : 1;
        st = rpl_alive_why(cursor, &why, &err);
        if (rpl_cursor_seq(cursor))
            st = rpl_alive_kept(cursor, list, &err);
    }
    st = rpl_modules_new(index, &modules, &err);
    (void)st;
    rpl_modules_free(modules);
    rpl_cursor_free(cursor);
    rpl_breakpoints_free(breaks);
    rpl_why_release(&why);
    vs_free(list);
}

static void a_changed_index_with_valid_checksums_never_leads_outside_the_trace(void **state)
{
    struct rpl_trace *memory = random_trace(RPL_STORE_EVENTS + 3000, 56);
    struct vs_error err = VS_ERROR_INIT;
    uint32_t random = 4711;
    char path[4096];

    trace_path(state, "nonsense.db", path, sizeof(path));
    random_trace_write(memory, rpl_trace_event_count(memory), path);
    ok(rpl_index_make(path, rpl_trace_event_count(memory), NULL, NULL, &err), &err);
    for (int i = 0; i < 40; i++) {
        struct rpl_trace *trace;
        struct rpl_index *index;

        part_change(path, &random);
        ok(rpl_trace_open(path, &trace, &err), &err);
        ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
        query_all(index, &random);
        rpl_index_free(index);
        rpl_trace_free(trace);
    }
    rpl_trace_free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_on_random_traces_equal_a_full_scan),
        cmocka_unit_test(results_on_nets_equal_a_full_scan),
        cmocka_unit_test(results_from_a_stored_index_are_the_same),
        cmocka_unit_test(a_changed_index_with_valid_checksums_never_leads_outside_the_trace),
    };

    return cmocka_run_group_tests_name("replay/alive", tests, trace_folder_setup,
                                       trace_folder_teardown);
}

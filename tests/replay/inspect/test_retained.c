/*
 * tests/replay/inspect/test_retained.c - what is retained, against holders read one by one; blocks that wait for a
 * stream.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "replay/inspect/alive.h"
#include "replay/inspect/pending.h"
#include "replay/inspect/retained.h"
#include "tests/replay/net_trace.h"

static struct rpl_index *indexed(struct rpl_trace *trace)
{
    struct rpl_index *index = NULL;
    struct vs_error err = VS_ERROR_INIT;

    if (rpl_index_open(trace, NULL, NULL, &index, &err))
        fail_msg("%s", err.text);
    return index;
}

/* Whether this holder is below the node. */
static bool holds(const struct rpl_trace *trace, const struct rpl_retained_node *node,
                  const struct rpl_holder *holder)
{
    const struct vs_location *location = rpl_trace_location(trace, holder->location);
    bool is_saved = holder->kind == VS_HOLD_SAVED || holder->kind == VS_HOLD_CHECKPOINT;
    bool has_scope = holder->kind == VS_HOLD_LOCAL || holder->kind == VS_HOLD_ATTR ||
                     holder->kind == VS_HOLD_ITEM;

    if (node->kind != (unsigned)holder->kind || (has_scope && node->scope != holder->scope))
        return false;
    if (node->level == RPL_RETAINED_GROUP || node->is_shared)
        return true;
    return is_saved ? node->name == location->module && node->line == location->line
                    : node->name == holder->name;
}

/* A block below a name or group is held by nothing else, and one below several by more than one of them. */
static void assert_block(struct rpl_cursor *cursor, const struct rpl_retained_node *group,
                         const struct rpl_retained_node *name, uint64_t block)
{
    const struct rpl_trace *trace = rpl_index_trace(rpl_cursor_index(cursor));
    struct rpl_why why = {.id = block};
    struct vs_error err = VS_ERROR_INIT;
    size_t in_group = 0;
    size_t in_name = 0;

    assert_int_equal(rpl_alive_why(cursor, &why, &err), VS_OK);
    assert_true(why.is_alive);
    for (size_t i = 0; i < why.holder_count; i++) {
        in_group += holds(trace, group, &why.holders[i]);
        in_name += holds(trace, name, &why.holders[i]);
    }
    if (group->kind == RPL_RETAINED_NONE) {
        const struct rpl_block *live = rpl_live_block(rpl_cursor_live(cursor), block);

        assert_int_equal(why.holder_count, 0);
        assert_int_equal(group->scope, live->category + 1u);
    } else if (group->kind == RPL_RETAINED_SEVERAL)
        assert_true(why.holder_count > 1);
    else if (in_group != why.holder_count || in_name != why.holder_count)
        fail_msg("block %" PRIu64 " has %zu holders, %zu of the group, %zu of the name", block,
                 why.holder_count, in_group, in_name);
    rpl_why_release(&why);
}

static void assert_tree(struct rpl_cursor *cursor, const struct rpl_retained *tree)
{
    const struct rpl_live *live = rpl_cursor_live(cursor);
    const struct rpl_retained_node *group = NULL;
    const struct rpl_retained_node *name = NULL;
    uint64_t in_group = 0;
    uint64_t in_name = 0;
    uint64_t all = 0;
    size_t blocks = 0;

    for (size_t i = 0; i < tree->count; i++) {
        const struct rpl_retained_node *node = &tree->nodes[i];

        if (node->level != RPL_RETAINED_BLOCK && name)
            assert_int_equal(name->bytes, in_name);
        if (node->level == RPL_RETAINED_GROUP) {
            if (group)
                assert_int_equal(group->bytes, in_group);
            assert_true(!group || node->bytes <= group->bytes);
            group = node;
            name = NULL;
            in_group = 0;
        } else if (node->level == RPL_RETAINED_NAME) {
            name = node;
            in_name = 0;
        } else {
            assert_block(cursor, group, name, node->block);
            in_group += node->bytes;
            in_name += node->bytes;
            all += node->bytes;
            blocks++;
        }
    }
    assert_int_equal(all, live->allocated);
    assert_int_equal(blocks, live->block_count);
}

static void what_is_retained_has_no_other_holder(void **state)
{
    struct rpl_trace *trace = net_trace("sample_nets/variables.py", "steps=1 amp=fp16");
    struct rpl_index *index = indexed(trace);
    struct rpl_cursor *cursor = rpl_cursor_new(index);
    struct rpl_retained tree = {.count = 0};
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};

    (void)state;
    for (uint64_t seq = 0; seq <= rpl_index_event_count(index); seq += 97) {
        assert_int_equal(rpl_cursor_seek(cursor, seq, &err), VS_OK);
        rpl_retained_fill(&tree, cursor);
        assert_tree(cursor, &tree);
        for (size_t i = 0; i < tree.count; i++) {
            vs_text_clear(&text);
            if (tree.nodes[i].level != RPL_RETAINED_BLOCK)
                rpl_retained_text(trace, &tree.nodes[i], &text);
            assert_true(text.len > 0 || tree.nodes[i].level == RPL_RETAINED_BLOCK);
        }
    }
    vs_text_release(&text);
    rpl_retained_release(&tree);
    rpl_cursor_free(cursor);
    rpl_index_free(index);
    rpl_trace_free(trace);
}

/* ---- blocks that wait ---- */

static void event_add(struct rpl_trace *trace, enum vs_event_kind kind, uint64_t block,
                      uint32_t waits)
{
    struct vs_event event = {.kind = (uint8_t)kind,
                             .free = {.block = block,
                                      .requested_bytes = 512 * block,
                                      .block_bytes = 512 * block,
                                      .address = block << 20,
                                      .waits_for_stream = waits}};

    rpl_trace_add_event(trace, &event);
}

static void a_block_waits_from_its_free_until_that_is_completed(void **state)
{
    struct rpl_trace *trace = rpl_trace_new();
    struct rpl_pending pending = {.count = 0};
    struct rpl_index *index;
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    rpl_trace_set_meta(trace, "source_kind", "imported");
    for (uint64_t block = 1; block <= 3; block++)
        event_add(trace, VS_EV_ALLOC, block, 0);
    event_add(trace, VS_EV_FREE, 1, 1);           /* 4 */
    event_add(trace, VS_EV_FREE, 2, 0);           /* 5: completed at once */
    event_add(trace, VS_EV_FREE, 3, 1);           /* 6 */
    event_add(trace, VS_EV_FREE_COMPLETED, 1, 0); /* 7; block 3 never is */
    index = indexed(trace);
    assert_true(rpl_trace_is_imported(trace));
    assert_int_equal(rpl_pending_fill(&pending, index, NULL, NULL, &err), VS_OK);
    assert_int_equal(pending.count, 2);
    assert_int_equal(pending.items[0].block, 1);
    assert_int_equal(pending.items[0].free_seq, 4);
    assert_int_equal(pending.items[0].done_seq, 7);
    assert_int_equal(pending.items[1].block, 3);
    assert_true(pending.items[1].done_seq == UINT64_MAX);
    assert_int_equal(pending.highest, 512 * 4);
    assert_int_equal(pending.highest_seq, 6);
    rpl_pending_release(&pending);
    rpl_index_free(index);
    rpl_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_retained_has_no_other_holder),
        cmocka_unit_test(a_block_waits_from_its_free_until_that_is_completed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * tests/replay/state/test_checkpoint_role.c - tensors that a checkpoint keeps to run its function again have the
 * category and the role `checkpoint`, of both kinds of checkpoints.
 *
 * Figures: vit_tiny has 12 blocks, so with checkpoint=blocks each step saves 12 inputs. Each is float32 of 2 x 197 x
 * 192: 605,184 bytes requested, 605,184 bytes of a block.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "replay/state/live.h"
#include "replay/trace/trace.h"
#include "tests/replay/net_trace.h"

#define BLOCKS 12
#define INPUT_BYTES (2 * 197 * 192 * 4)

/*
 * saves, unsaves: events with the role; most: the highest bytes of the category in forward; at_end: its bytes after the
 * last event
 */
struct found {
    uint64_t saves, unsaves, most, at_end;
};

static void note(struct found *found, const struct rpl_live *live, const struct vs_event *event)
{
    if (event->kind == VS_EV_SAVE)
        found->saves += event->save.is_checkpoint_input;
    if (event->kind == VS_EV_UNSAVE)
        found->unsaves += event->save.is_checkpoint_input;
    if (live->phase == VS_PHASE_LOSS && live->by_category[VS_CAT_CHECKPOINT] > found->most)
        found->most = live->by_category[VS_CAT_CHECKPOINT];
    found->at_end = live->by_category[VS_CAT_CHECKPOINT];
}

static struct found found_with(const char *toggles)
{
    struct rpl_trace *trace = net_trace("sample_nets/vit_tiny.py", toggles);
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct vs_error err = VS_ERROR_INIT;
    struct found found = {0, 0, 0, 0};
    const struct vs_event *event;
    struct rpl_live live;

    rpl_live_init(&live);
    rpl_scan_init(scan, trace, 1, rpl_trace_event_count(trace));
    while ((event = rpl_scan_next(scan, &err)) != NULL) {
        assert_int_equal(rpl_live_apply(&live, scan->seq, event, &err), VS_OK);
        note(&found, &live, event);
    }
    rpl_live_release(&live);
    vs_free(scan);
    rpl_trace_free(trace);
    return found;
}

static void inputs_of_checkpointed_segments_have_the_role_checkpoint(void **state)
{
    static const char *const KINDS[] = {
        "batch=2 steps=2 checkpoint=blocks checkpoint-impl=non-reentrant",
        "batch=2 steps=2 checkpoint=blocks checkpoint-impl=reentrant",
    };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct found found = found_with(KINDS[i]);

        assert_int_equal(found.saves, 2 * BLOCKS);
        assert_int_equal(found.unsaves, 2 * BLOCKS);
        assert_int_equal(found.most, BLOCKS * INPUT_BYTES);
        assert_int_equal(found.at_end, 0);
    }
}

static void without_checkpointing_no_tensor_has_the_role_checkpoint(void **state)
{
    struct found found = found_with("batch=2 steps=1");

    (void)state;
    assert_int_equal(found.saves, 0);
    assert_int_equal(found.most, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_of_checkpointed_segments_have_the_role_checkpoint),
        cmocka_unit_test(without_checkpointing_no_tensor_has_the_role_checkpoint),
    };

    return cmocka_run_group_tests_name("replay/checkpoint_role", tests, NULL, NULL);
}

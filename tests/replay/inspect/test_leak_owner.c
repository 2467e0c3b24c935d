/*
 * tests/replay/inspect/test_leak_owner.c - the name that keeps alive what training steps leak, in hand-made traces and
 * of a net that adds up its loss.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "replay/inspect/leak_owner.h"
#include "tests/replay/make_trace.h"
#include "tests/replay/net_trace.h"

/* What keeps the loss of a step: nothing, `total = total + loss`, `total += loss`, `losses.append(loss)`. */
enum keeps { NOTHING, ADDED, ADDED_IN_PLACE, APPENDED };

/*
 * Step k: relu (node) allocates 1024 bytes and saves them; sum (node) reads them and allocates a loss of 512 bytes; a
 * local `loss` holds it until the next step. Saved tensors are released at the end of the step if the loss is not kept.
 */
struct loop {
    struct make m;
    enum keeps keeps;
    uint64_t node, old_loss, total, saved;
};

static uint64_t op(struct loop *l, const char *name, uint64_t a, uint64_t b, uint64_t bytes)
{
    make_op(&l->m, VS_EV_OP_BEGIN, name, ++l->node, VS_OP_FORWARD, 0);
    make_use(&l->m, a);
    if (b)
        make_use(&l->m, b);
    if (bytes)
        make_alloc(&l->m, bytes, VS_CAT_ACTIVATION);
    make_op(&l->m, VS_EV_OP_END, name, 0, VS_OP_FORWARD, 0);
    return l->m.blocks;
}

static void keep(struct loop *l, uint64_t loss)
{
    l->m.line = 19;
    if (l->keeps == APPENDED)
        make_hold(&l->m, VS_EV_HOLD, loss, VS_HOLD_ITEM, l->total++ ? "losses[1]" : "losses[0]",
                  "Net");
    if (l->keeps == ADDED || (l->keeps == ADDED_IN_PLACE && !l->total)) {
        uint64_t total = op(l, "add", l->total ? l->total : loss, loss, 512);

        if (l->total) {
            make_hold(&l->m, VS_EV_DROP, l->total, VS_HOLD_ATTR, "total", "Net");
            make_free(&l->m, l->total, 512);
        }
        make_hold(&l->m, VS_EV_HOLD, total, VS_HOLD_ATTR, "total", "Net");
        l->total = total;
    } else if (l->keeps == ADDED_IN_PLACE) {
        op(l, "add", l->total, loss, 0);
    }
    l->m.line = 0;
}

static void step(struct loop *l, int64_t number, uint64_t parameter)
{
    uint64_t relu, loss;

    make_step(&l->m, number);
    make_phase(&l->m, VS_PHASE_FORWARD);
    relu = op(l, "relu", parameter, 0, 1024);
    make_save(&l->m, VS_EV_SAVE, relu, l->node, false);
    loss = op(l, "sum", relu, 0, 512);
    make_hold(&l->m, VS_EV_HOLD, loss, VS_HOLD_LOCAL, "loss", "step");
    if (l->old_loss) {
        make_hold(&l->m, VS_EV_DROP, l->old_loss, VS_HOLD_LOCAL, "loss", "step");
        if (l->keeps != APPENDED)
            make_free(&l->m, l->old_loss, 512);
    }
    if (l->saved && l->keeps == NOTHING) {
        make_save(&l->m, VS_EV_UNSAVE, l->saved, l->node - 3, false);
        make_free(&l->m, l->saved, 1024);
    }
    keep(l, loss);
    l->old_loss = loss;
    l->saved = relu;
    make_phase(&l->m, VS_PHASE_ZERO_GRAD);
}

static struct rpl_leak_owner owner_of(struct rpl_trace *trace, struct rpl_leak *leak)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_leak_owner owner;
    struct rpl_index *index;

    assert_int_equal(rpl_index_open(trace, NULL, NULL, &index, &err), VS_OK);
    assert_int_equal(rpl_alive_leak(index, leak, &err), VS_OK);
    assert_int_equal(rpl_leak_owner(index, leak, &owner, &err), VS_OK);
    rpl_index_free(index);
    return owner;
}

static void the_name_behind_the_graph_owns_the_leak(void **state)
{
    static const char *const NAMES[] = {
        [ADDED] = "total", [ADDED_IN_PLACE] = "total", [APPENDED] = "losses[1]"};

    (void)state;
    for (int keeps = ADDED; keeps <= APPENDED; keeps++) {
        struct loop l = {.keeps = (enum keeps)keeps};
        struct rpl_leak_owner owner;
        struct rpl_leak leak;

        make_init(&l.m);
        make_step(&l.m, -1);
        make_alloc(&l.m, 4096, VS_CAT_PARAMETER);
        make_hold(&l.m, VS_EV_HOLD, 1, VS_HOLD_ATTR, "weight", "Net");
        for (int64_t k = 0; k < 5; k++)
            step(&l, k, 1);
        owner = owner_of(l.m.trace, &leak);
        /* steps 1, 2 and 3 of 0 ... 4: what relu saved, and the appended losses themselves */
        assert_int_equal(leak.bytes, keeps == APPENDED ? 3 * (1024 + 512) : 3 * 1024);
        assert_true(owner.is_known);
        assert_string_equal(rpl_trace_string(l.m.trace, owner.holder.name), NAMES[keeps]);
        assert_int_equal(rpl_trace_location(l.m.trace, owner.holder.location)->line, 19);
        assert_int_equal(owner.bytes, leak.bytes);
        rpl_trace_free(l.m.trace);
    }
}

/* A batch that only the last of the counted steps has bound leaks nothing, however large it is. */
static void what_was_bound_once_is_no_leak_of_its_name(void **state)
{
    struct loop l = {.keeps = APPENDED};
    struct rpl_leak_owner owner;
    struct rpl_leak leak;

    (void)state;
    make_init(&l.m);
    make_step(&l.m, -1);
    make_alloc(&l.m, 4096, VS_CAT_PARAMETER);
    for (int64_t k = 0; k < 5; k++) {
        step(&l, k, 1);
        l.m.line = 50;
        if (k == 3) {
            make_alloc(&l.m, 1 << 20, VS_CAT_INPUT);
            make_hold(&l.m, VS_EV_HOLD, l.m.blocks, VS_HOLD_LOCAL, "batch", "step");
        }
        l.m.line = 0;
    }
    owner = owner_of(l.m.trace, &leak);
    assert_int_equal(leak.bytes, 3 * (1024 + 512));
    assert_true(owner.is_known);
    assert_string_equal(rpl_trace_string(l.m.trace, owner.holder.name), "losses[1]");
    assert_int_equal(owner.bytes, leak.bytes);
    rpl_trace_free(l.m.trace);
}

static void a_trace_without_a_leak_has_no_owner(void **state)
{
    struct loop l = {.keeps = NOTHING};
    struct rpl_leak leak;

    (void)state;
    make_init(&l.m);
    make_step(&l.m, -1);
    make_alloc(&l.m, 4096, VS_CAT_PARAMETER);
    for (int64_t k = 0; k < 5; k++)
        step(&l, k, 1);
    assert_false(owner_of(l.m.trace, &leak).is_known);
    assert_int_equal(leak.count, 0);
    rpl_trace_free(l.m.trace);
}

/* The row of the articles: `epoch_loss += loss` where no backward frees the graph; all of it is behind that name. */
static void the_sum_of_the_losses_owns_the_graphs_of_all_steps(void **state)
{
    static const char *const runs[][2] = {
        {"sample_nets/lenet.py", "steps=5 grad=eval detach-loss=off"},
        /* behind custom functions: one with a result, one that overwrites its input */
        {"sample_nets/mlp_swish_custom.py", "steps=4 grad=eval detach-loss=off"},
        {"sample_nets/inplace_abn.py", "steps=4 grad=eval detach-loss=off"},
        /* behind checkpoints */
        {"tests/nets/resnet_small.py",
         "steps=4 grad=eval detach-loss=off checkpoint=blocks checkpoint-impl=reentrant"},
        {"tests/nets/resnet_small.py", "steps=4 grad=eval detach-loss=off checkpoint=blocks"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        struct rpl_trace *trace = net_trace(runs[i][0], runs[i][1]);
        struct rpl_leak leak;
        struct rpl_leak_owner owner = owner_of(trace, &leak);

        assert_true(leak.bytes > 0 && owner.is_known);
        assert_string_equal(rpl_trace_string(trace, owner.holder.name), "epoch_loss");
        if (owner.bytes != leak.bytes)
            fail_msg("%s %s: %" PRIu64 " of %" PRIu64 " bytes", runs[i][0], runs[i][1], owner.bytes,
                     leak.bytes);
        rpl_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_behind_the_graph_owns_the_leak),
        cmocka_unit_test(what_was_bound_once_is_no_leak_of_its_name),
        cmocka_unit_test(a_trace_without_a_leak_has_no_owner),
        cmocka_unit_test(the_sum_of_the_losses_owns_the_graphs_of_all_steps),
    };

    return cmocka_run_group_tests_name("replay/leak_owner", tests, NULL, NULL);
}

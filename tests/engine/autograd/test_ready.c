/*
 * tests/engine/autograd/test_ready.c - the order in which leaves receive their gradients, and leaves that receive two.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/autograd/ready.h"
#include "tests/engine/rig.h"
#include "tests/engine/short_ops.h"

static const int64_t SIZES[] = {2};

/* exp(x) * y: the product's accumulator of y is ready before the exponential's of x. */
static T *loss_of(struct eng *e, T *x, T *y)
{
    T *h = op(e, ENG_OP_exp, x);
    T *product = eng_mul(e, h, y);

    eng_unref(h);
    return sum_of(e, product);
}

static void leaves_become_ready_in_the_order_of_their_gradients(void **state)
{
    struct rig rig;
    T *leaves[3], *loss;

    (void)state;
    rig_init(&rig, false);
    for (int i = 0; i < 3; i++)
        leaves[i] = rig_leaf(&rig, 1, SIZES, (uint32_t)i + 1);
    eng_ready_expect(rig.e, leaves, 3);
    assert_int_equal(eng_ready_count(rig.e), 0);
    loss = loss_of(rig.e, leaves[0], leaves[2]);
    rig_backward(&rig, loss);
    assert_int_equal(eng_ready_count(rig.e), 2);
    assert_int_equal(eng_ready_at(rig.e, 0), 2);
    assert_int_equal(eng_ready_at(rig.e, 1), 0);
    eng_ready_expect(rig.e, leaves, 3);
    assert_int_equal(eng_ready_count(rig.e), 0);
    eng_unref(loss);
    for (int i = 0; i < 3; i++)
        eng_unref(leaves[i]);
    rig_release(&rig);
}

static void a_second_gradient_before_all_leaves_are_ready_is_refused(void **state)
{
    struct rig rig;
    T *leaves[2], *loss;

    (void)state;
    rig_init(&rig, false);
    for (int i = 0; i < 2; i++)
        leaves[i] = rig_leaf(&rig, 1, SIZES, (uint32_t)i + 1);
    eng_ready_expect(rig.e, leaves, 2);
    for (int i = 0; i < 2; i++) { /* all have one after the first */
        loss = loss_of(rig.e, leaves[0], leaves[1]);
        rig_backward(&rig, loss);
        eng_unref(loss);
    }
    eng_ready_expect(rig.e, leaves, 2);
    loss = sum_of(rig.e, op(rig.e, ENG_OP_exp, leaves[0]));
    rig_backward(&rig, loss);
    eng_unref(loss);
    loss = loss_of(rig.e, leaves[0], leaves[1]);
    backward(rig.e, loss);
    assert_int_equal(rig_take_failure(&rig, "only once: parameter at index 0"), VS_E_AUTOGRAD);
    eng_unref(loss);
    for (int i = 0; i < 2; i++)
        eng_unref(leaves[i]);
    rig_release(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_become_ready_in_the_order_of_their_gradients),
        cmocka_unit_test(a_second_gradient_before_all_leaves_are_ready_is_refused),
    };

    return cmocka_run_group_tests_name("engine/ready", tests, NULL, NULL);
}

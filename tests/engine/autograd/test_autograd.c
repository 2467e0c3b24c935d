/*
 * tests/engine/autograd/test_autograd.c - the backward run: what is kept, summed, accumulated and freed, and when.
 * Expected values are computed in the comments.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "engine/core/op_internal.h"
#include "tests/engine/rig.h"
#include "tests/engine/short_ops.h"

/* ---- accumulation into .grad ---- */

static void check_values(const T *t, const double *want)
{
    for (int64_t i = 0; i < eng_numel(t); i++) {
        if (fabs(rig_value(t, i) - want[i]) > 1e-12)
            fail_msg("element %" PRId64 " is %.9g, expected %.9g", i, rig_value(t, i), want[i]);
    }
}

static void a_gradient_of_the_leafs_layout_is_taken_over(void **state)
{
    static const int64_t SIZES[] = {2};
    static const double THREES[] = {3, 3};
    struct rig rig;
    T *x, *y;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 1, SIZES, 1);
    y = eng_mul_scalar(rig.e, x, 3);
    rig_clear(&rig);
    eng_slot_set(&y, sum(rig.e, y));
    rig_backward(&rig, y);
    /* the sum, the root, 3 * root for two elements; nothing for .grad */
    assert_int_equal(rig_count(&rig, VS_EV_ALLOC), 3);
    assert_int_equal(rig_count(&rig, VS_EV_HOLD), 1);
    assert_int_equal(x->grad->refs, 1);
    assert_int_equal(x->grad->storage->category, VS_CAT_GRADIENT);
    check_values(x->grad, THREES);
    eng_unref(y);
    eng_unref(x);
    rig_release(&rig);
}

static void a_gradient_that_others_hold_is_copied(void **state)
{
    static const int64_t SIZES[] = {2};
    struct rig rig;
    T *x, *y, *g;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 1, SIZES, 1);
    y = eng_add_scalar(rig.e, x, 1);
    g = rig_tensor(&rig, VS_F64, 1, SIZES, (double[]){5, 6});
    eng_backward(rig.e, &y, &g, 1, false);
    assert_ptr_not_equal(x->grad->storage, g->storage);
    check_values(x->grad, (double[]){5, 6});
    eng_unref(g);
    eng_unref(y);
    eng_unref(x);
    rig_release(&rig);
}

/* PyTorch: Tensor.grad_dtype. The leaf is float64, and its gradient a float32. */
static void a_gradient_has_the_grad_dtype_of_its_leaf(void **state)
{
    static const int64_t SIZES[] = {2};
    struct rig rig;
    T *x, *y;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 1, SIZES, 1);
    eng_set_grad_dtype(x, VS_F32);
    y = sum_of(rig.e, eng_mul_scalar(rig.e, x, 3));
    rig_backward(&rig, y);
    assert_int_equal(x->grad->dtype, VS_F32);
    check_values(x->grad, (double[]){3, 3});
    /* as it is now, it is added in place to what is there */
    eng_set_grad_dtype(x, ENG_GRAD_DTYPE_ANY);
    eng_slot_set(&y, sum_of(rig.e, eng_mul_scalar(rig.e, x, 4)));
    rig_backward(&rig, y);
    assert_int_equal(x->grad->dtype, VS_F32);
    check_values(x->grad, (double[]){7, 7});
    eng_set_grad(rig.e, x, NULL);
    eng_slot_set(&y, sum_of(rig.e, eng_mul_scalar(rig.e, x, 4)));
    rig_backward(&rig, y);
    assert_int_equal(x->grad->dtype, VS_F64);
    eng_unref(y);
    eng_unref(x);
    rig_release(&rig);
}

static void a_gradient_of_other_strides_is_copied_to_the_leafs(void **state)
{
    static const int64_t SIZES[] = {2, 3};
    struct rig rig;
    T *x, *y, *g;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 2, SIZES, 1);
    y = eng_t(rig.e, x);
    g = rig_tensor(&rig, VS_F64, 2, (int64_t[]){3, 2}, (double[]){1, 2, 3, 4, 5, 6});
    eng_backward(rig.e, &y, &g, 1, false);
    assert_true(eng_is_contiguous(x->grad));
    check_values(x->grad, (double[]){1, 3, 5, 2, 4, 6});
    eng_unref(g);
    eng_unref(y);
    eng_unref(x);
    rig_release(&rig);
}

static void a_second_gradient_is_added_in_place(void **state)
{
    static const int64_t SIZES[] = {2};
    struct rig rig;
    struct eng_storage *storage;
    T *x;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 1, SIZES, 1);
    backward_of(rig.e, sum_of(rig.e, eng_mul_scalar(rig.e, x, 3)));
    storage = x->grad->storage;
    backward_of(rig.e, sum_of(rig.e, eng_mul_scalar(rig.e, x, 4)));
    assert_ptr_equal(x->grad->storage, storage);
    assert_int_equal(x->grad->version->value, 1);
    check_values(x->grad, (double[]){7, 7});
    eng_unref(x);
    rig_release(&rig);
}

/* ---- order ---- */

/* Names of the nodes in the order in which they ran, separated by spaces, without the ops of their formulas. */
static const char *node_order(const struct rig *rig, char *buf, size_t size)
{
    size_t used = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < rig->count; i++) {
        const struct vs_event *ev = &rig->events[i];

        if (ev->kind != VS_EV_OP_BEGIN || ev->op.role != VS_OP_BACKWARD || ev->op.node == 0)
            continue;
        used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? " " : "",
                                 rig_string(rig, ev->op.name));
        assert_true(used < size);
    }
    return buf;
}

static void backward_runs_the_newest_node_first_and_leaves_as_soon_as_ready(void **state)
{
    static const int64_t SIZES[] = {2};
    char order[300];
    struct rig rig;
    T *x, *y, *a, *b, *c;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 1, SIZES, 1);
    y = rig_leaf(&rig, 1, SIZES, 2);
    a = op(rig.e, ENG_OP_sin, x);
    b = op(rig.e, ENG_OP_cos, y);
    c = eng_mul(rig.e, b, a);
    eng_slot_set(&c, sum(rig.e, c));
    rig_clear(&rig);
    rig_backward(&rig, c);
    assert_string_equal(node_order(&rig, order, sizeof(order)),
                        "SumBackward0 MulBackward0 CosBackward0 AccumulateGrad SinBackward0 "
                        "AccumulateGrad");
    eng_unref(c);
    eng_unref(b);
    eng_unref(a);
    eng_unref(y);
    eng_unref(x);
    rig_release(&rig);
}

static void saved_tensors_are_released_when_their_node_has_run(void **state)
{
    static const int64_t SIZES[] = {2};
    char text[300];
    struct rig rig;
    T *x, *loss;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 1, SIZES, 1);
    loss = op(rig.e, ENG_OP_exp, x);                  /* saves its result */
    eng_slot_set(&loss, op(rig.e, ENG_OP_sin, loss)); /* saves its input: the same block */
    eng_slot_set(&loss, sum(rig.e, loss));
    assert_int_equal(eng_counters_get(rig.e).saved_tensors, 1);
    assert_int_equal(eng_counters_get(rig.e).saved_bytes, 16);
    assert_int_equal(eng_counters_get(rig.e).saved_bytes_all, 16);
    rig_clear(&rig);
    rig_backward(&rig, loss);
    /* 1 the root; sin: 2 cos(x), 3 g * cos(x); exp: 4 g * result. Block 0 is the saved result of exp, from before. */
    assert_string_equal(rig_memory_text(&rig, true, text, sizeof(text)),
                        "+8 +16 +16 -16@2 u@0 +16 -16@3 u@0 -16@0 -8@1 ");
    eng_unref(loss);
    eng_unref(x);
    rig_release(&rig);
}

/* ---- eng_grad ---- */

static void autograd_grad_returns_gradients_without_accumulating(void **state)
{
    static const int64_t SIZES[] = {2};
    struct rig rig;
    T *x, *y, *other, *a, *loss, *inputs[4], *g[4];

    (void)state;
    rig_init(&rig, false);
    x = rig_tensor(&rig, VS_F64, 1, SIZES, (double[]){2, 3});
    y = rig_tensor(&rig, VS_F64, 1, SIZES, (double[]){5, 7});
    other = rig_leaf(&rig, 1, SIZES, 3);
    eng_set_requires_grad(rig.e, x, true);
    eng_set_requires_grad(rig.e, y, true);
    a = eng_mul(rig.e, x, y);
    loss = eng_mul(rig.e, a, x); /* x^2 y: 2xy, x^2, and x for a */
    eng_slot_set(&loss, sum(rig.e, loss));
    inputs[0] = x;
    inputs[1] = y;
    inputs[2] = other;
    inputs[3] = a;
    eng_grad(rig.e, &loss, NULL, 1, inputs, 4, false, g);
    check_values(g[0], (double[]){20, 42});
    check_values(g[1], (double[]){4, 9});
    assert_null(g[2]);
    check_values(g[3], (double[]){2, 3});
    assert_null(x->grad);
    assert_null(y->grad);
    for (int i = 0; i < 4; i++)
        eng_unref(g[i]);
    eng_unref(loss);
    eng_unref(a);
    eng_unref(other);
    eng_unref(y);
    eng_unref(x);
    rig_release(&rig);
}

static void autograd_grad_does_not_run_nodes_it_does_not_need(void **state)
{
    static const int64_t SIZES[] = {2};
    struct rig rig;
    T *x, *a, *b, *loss, *g;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 1, SIZES, 1);
    a = op(rig.e, ENG_OP_exp, x);
    b = op(rig.e, ENG_OP_sin, a);
    loss = sum(rig.e, b);
    eng_grad(rig.e, &loss, NULL, 1, &b, 1, false, &g);
    eng_unref(g);
    eng_slot_set(&loss, sum(rig.e, b));
    rig_backward(&rig, loss); /* sin and exp have not run, so they still can */
    assert_non_null(x->grad);
    eng_unref(loss);
    eng_unref(b);
    eng_unref(a);
    eng_unref(x);
    rig_release(&rig);
}

/* ---- depth ---- */

static void a_deep_graph_runs_and_is_freed_without_recursion(void **state)
{
    enum { DEPTH = 100000 };
    static const int64_t SIZES[] = {1};
    struct rig rig;

    (void)state;
    for (int run = 0; run < 2; run++) {
        T *x, *a;

        rig_init(&rig, true);
        rig.e->observer = NULL; /* a million events would only take time */
        x = rig_leaf(&rig, 1, SIZES, 1);
        a = eng_ref(x);
        for (int i = 0; i < DEPTH; i++)
            eng_slot_set(&a, i % 2 ? op(rig.e, ENG_OP_sin, a) : eng_mul(rig.e, a, x));
        if (run) {
            struct eng_arg args[] = {eng_at(a), eng_anone()};
            T *loss = eng_call1(rig.e, ENG_OP_sum_all, args);

            rig_backward(&rig, loss);
            assert_non_null(x->grad);
            eng_unref(loss);
        }
        eng_unref(a);
        eng_unref(x);
        rig_release(&rig);
    }
}

/* ---- custom nodes ---- */

struct square_user {
    int frees;
    bool gives_nothing;
};

static bool square_backward(void *user, struct eng_node *node, T **g, int in_count, T **out,
                            int out_count)
{
    struct square_user *u = user;
    struct eng *e = g[0] ? g[0]->storage->eng : NULL;
    T *x, *twice;

    assert_int_equal(in_count, 1);
    assert_int_equal(out_count, 2);
    if (u->gives_nothing || !e)
        return true;
    x = eng_node_saved(e, node, 0);
    twice = eng_mul_scalar(e, x, 2);
    out[0] = eng_mul(e, g[0], twice);
    eng_unref(twice);
    eng_unref(x);
    return !eng_failed(e);
}

static void square_free(void *user)
{
    ((struct square_user *)user)->frees++;
}

static void a_custom_node_saves_tensors_runs_and_is_freed_once(void **state)
{
    static const int64_t SIZES[] = {2};

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct square_user user = {.gives_nothing = k == 1};
        struct eng_custom custom = {.name = "SquareBackward",
                                    .user = &user,
                                    .backward = square_backward,
                                    .free_user = square_free};
        struct rig rig;
        struct eng_node *node;
        T *x, *out, *loss, *inputs[2];
        bool grad;

        rig_init(&rig, false);
        x = rig_tensor(&rig, VS_F64, 1, SIZES, (double[]){3, 4});
        eng_set_requires_grad(rig.e, x, true);
        grad = eng_set_grad_enabled(rig.e, false);
        out = eng_mul(rig.e, x, x);
        eng_set_grad_enabled(rig.e, grad);
        inputs[0] = x;
        inputs[1] = NULL;
        node = eng_custom_node(rig.e, &custom, inputs, 2, &out, 1);
        assert_non_null(node);
        assert_string_equal(eng_node_name(node), "SquareBackward");
        eng_node_save(rig.e, node, &x, 1);
        assert_int_equal(eng_node_saved_count(node), 1);
        loss = sum(rig.e, out);
        rig_backward(&rig, loss);
        if (k)
            assert_null(x->grad);
        else
            check_values(x->grad, (double[]){6, 8});
        assert_int_equal(user.frees, 0);
        eng_unref(loss);
        eng_unref(out);
        assert_int_equal(user.frees, 1);
        eng_unref(x);
        rig_release(&rig);
    }
}

static void an_input_returned_by_a_custom_function_is_a_new_tensor(void **state)
{
    static const int64_t SIZES[] = {2};
    struct square_user user = {.gives_nothing = true};
    struct eng_custom custom = {
        .name = "IdBackward", .user = &user, .backward = square_backward, .free_user = square_free};
    struct rig rig;
    T *x, *out, *inputs[2];

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 1, SIZES, 1);
    out = eng_ref(x);
    inputs[0] = x;
    inputs[1] = NULL;
    assert_non_null(eng_custom_node(rig.e, &custom, inputs, 2, &out, 1));
    assert_ptr_not_equal(out, x);
    assert_ptr_equal(out->storage, x->storage);
    assert_null(x->grad_fn);
    eng_unref(out);
    eng_unref(x);
    rig_release(&rig);
}

static void a_custom_function_without_inputs_that_require_grad_makes_no_node(void **state)
{
    static const int64_t SIZES[] = {2};
    struct square_user user = {0};
    struct eng_custom custom = {.name = "SquareBackward",
                                .user = &user,
                                .backward = square_backward,
                                .free_user = square_free};
    struct rig rig;
    T *x, *out;

    (void)state;
    rig_init(&rig, false);
    x = rig_tensor(&rig, VS_F64, 1, SIZES, NULL);
    out = eng_mul(rig.e, x, x);
    assert_null(eng_custom_node(rig.e, &custom, &x, 1, &out, 1));
    assert_null(out->grad_fn);
    eng_unref(out);
    eng_unref(x);
    rig_release(&rig);
}

/* ---- in-place writes to views ---- */

static void writing_to_a_view_reaches_base_and_every_later_use(void **state)
{
    struct rig rig;
    T *x, *y, *a, *row, *loss;

    (void)state;
    rig_init(&rig, false);
    x = rig_tensor(&rig, VS_F64, 2, (int64_t[]){2, 2}, (double[]){1, 2, 3, 4});
    y = rig_tensor(&rig, VS_F64, 1, (int64_t[]){2}, (double[]){5, 6});
    eng_set_requires_grad(rig.e, x, true);
    eng_set_requires_grad(rig.e, y, true);
    a = eng_mul_scalar(rig.e, x, 10); /* 10 20; 30 40 */
    row = select0(rig.e, a, 1);
    in_place(rig.e, ENG_OP_mul, row, eng_at(y)); /* 10 20; 150 240 */
    check_values(a, (double[]){10, 20, 150, 240});
    loss = eng_mul(rig.e, row, row); /* row of the view: sum of (10 x1 y)^2 */
    eng_slot_set(&loss, sum(rig.e, loss));
    rig_backward(&rig, loss);
    /* d/dx1 = 2 * 150 * 10 * 5, d/dy = 2 * 150 * 30; x0 does not contribute */
    check_values(x->grad, (double[]){0, 0, 15000, 28800});
    check_values(y->grad, (double[]){9000, 19200});
    eng_unref(loss);
    eng_unref(row);
    eng_unref(a);
    eng_unref(y);
    eng_unref(x);
    rig_release(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gradient_of_the_leafs_layout_is_taken_over),
        cmocka_unit_test(a_gradient_that_others_hold_is_copied),
        cmocka_unit_test(a_gradient_of_other_strides_is_copied_to_the_leafs),
        cmocka_unit_test(a_gradient_has_the_grad_dtype_of_its_leaf),
        cmocka_unit_test(a_second_gradient_is_added_in_place),
        cmocka_unit_test(backward_runs_the_newest_node_first_and_leaves_as_soon_as_ready),
        cmocka_unit_test(saved_tensors_are_released_when_their_node_has_run),
        cmocka_unit_test(autograd_grad_returns_gradients_without_accumulating),
        cmocka_unit_test(autograd_grad_does_not_run_nodes_it_does_not_need),
        cmocka_unit_test(a_deep_graph_runs_and_is_freed_without_recursion),
        cmocka_unit_test(a_custom_node_saves_tensors_runs_and_is_freed_once),
        cmocka_unit_test(an_input_returned_by_a_custom_function_is_a_new_tensor),
        cmocka_unit_test(a_custom_function_without_inputs_that_require_grad_makes_no_node),
        cmocka_unit_test(writing_to_a_view_reaches_base_and_every_later_use),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

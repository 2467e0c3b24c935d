/*
 * tests/engine/test_autograd.c - the backward run: what is kept, joined, accumulated, freed and refused, and when.
 *
 * Figures: the programs' events are PyTorch 2.15's, from tests/golden/oracle/autograd_cases.txt (tests/oracle/autograd_cases.py has the same
 * programs in Python); numbers are worked out beside the tests.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "engine/op_internal.h"
#include "tests/engine/rig.h"

typedef struct eng_tensor T;

static T *op(struct eng *e, enum eng_op_id id, T *a)
{
    return eng_op1(e, id, a);
}

static T *sum(struct eng *e, T *t)
{
    struct eng_arg args[] = {eng_at(t), eng_anone()};

    return t ? eng_call1(e, ENG_OP_sum_all, args) : NULL;
}

/* sum(t) where t is a temporary of the expression */
static T *sum_of(struct eng *e, T *t_taken)
{
    T *s = sum(e, t_taken);

    eng_unref(t_taken);
    return s;
}

static void in_place(struct eng *e, enum eng_op_id id, T *t, struct eng_arg other)
{
    struct eng_arg args[ENG_MAX_ARGS] = {eng_at(t), other, eng_anone()};
    struct eng_ret ret;

    if (eng_call_inplace(e, id, args, &ret))
        eng_ret_release(&ret);
}

static void backward(struct eng *e, T *loss)
{
    if (loss)
        eng_backward(e, &loss, NULL, 1, false);
}

/* loss.backward() on a temporary */
static void backward_of(struct eng *e, T *loss_taken)
{
    backward(e, loss_taken);
    eng_unref(loss_taken);
}

static T *select0(struct eng *e, T *t, int64_t i)
{
    struct eng_arg args[] = {eng_at(t), eng_ai(0), eng_ai(i)};

    return t ? eng_call1(e, ENG_OP_select, args) : NULL;
}

/* ---- programs whose events are PyTorch's ---- */

#define PROGRAM(name) static void name(struct eng *e, T *x, T *y, T *w, T *h)
#define UNUSED4(a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))

PROGRAM(one_product)
{
    UNUSED4(x, y, w, h);
    backward_of(e, sum_of(e, eng_mul(e, x, y)));
}

PROGRAM(gradients_accumulate)
{
    UNUSED4(x, y, w, h);
    backward_of(e, sum_of(e, eng_mul(e, x, y)));
    backward_of(e, sum_of(e, eng_mul(e, x, y)));
}

PROGRAM(fan_in)
{
    T *a = eng_mul_scalar(e, x, 2), *b = eng_mul_scalar(e, a, 3), *c = eng_mul_scalar(e, a, 4), *bc,
      *d, *all, *loss;

    UNUSED4(x, y, w, h);
    bc = eng_add(e, b, c);
    eng_unref(b);
    eng_unref(c);
    d = eng_mul_scalar(e, a, 5);
    all = eng_add(e, bc, d);
    eng_unref(bc);
    eng_unref(d);
    loss = sum_of(e, all);
    backward(e, loss);
    eng_unref(a);
    eng_unref(loss);
}

PROGRAM(fan_in_of_expanded)
{
    T *a = eng_mul_scalar(e, x, 2), *s = sum(e, a), *m, *loss;
    struct eng_arg args[] = {eng_at(a), eng_anone()};

    UNUSED4(x, y, w, h);
    m = eng_call1(e, ENG_OP_mean_all, args);
    loss = eng_add(e, s, m);
    eng_unref(s);
    eng_unref(m);
    backward(e, loss);
    eng_unref(a);
    eng_unref(loss);
}

PROGRAM(same_operand_twice)
{
    UNUSED4(x, y, w, h);
    backward_of(e, sum_of(e, eng_mul(e, x, x)));
}

PROGRAM(same_term_twice)
{
    UNUSED4(x, y, w, h);
    backward_of(e, sum_of(e, eng_add(e, x, x)));
}

PROGRAM(shared_weight)
{
    T *a = eng_mm(e, x, w), *b = eng_mm(e, a, w), *loss;

    UNUSED4(x, y, w, h);
    eng_unref(a);
    loss = sum_of(e, b);
    backward(e, loss);
    eng_unref(loss);
}

PROGRAM(temporaries_go_early)
{
    T *a = op(e, ENG_OP_relu, x), *loss;

    UNUSED4(x, y, w, h);
    eng_slot_set(&a, op(e, ENG_OP_relu, a));
    eng_slot_set(&a, op(e, ENG_OP_sigmoid, a));
    loss = sum(e, a);
    eng_unref(a);
    backward(e, loss);
    eng_unref(loss);
}

PROGRAM(names_keep_results)
{
    T *a = eng_mul(e, x, y), *b = op(e, ENG_OP_tanh, a), *loss = sum(e, b);

    UNUSED4(x, y, w, h);
    backward(e, loss);
    eng_unref(a);
    eng_unref(b);
    eng_unref(loss);
}

PROGRAM(retained_graph)
{
    T *loss = sum_of(e, eng_mul(e, x, y));

    UNUSED4(x, y, w, h);
    eng_backward(e, &loss, NULL, 1, true);
    backward(e, loss);
    eng_unref(loss);
}

PROGRAM(graph_dropped)
{
    T *p = eng_mul(e, x, y), *q = op(e, ENG_OP_exp, p), *a, *b;

    UNUSED4(x, y, w, h);
    eng_unref(p);
    a = op(e, ENG_OP_tanh, q);
    eng_unref(q);
    b = op(e, ENG_OP_sigmoid, a);
    eng_unref(a);
    eng_unref(b);
}

PROGRAM(two_roots)
{
    T *roots[2];

    UNUSED4(x, y, w, h);
    roots[0] = sum_of(e, eng_mul_scalar(e, x, 2));
    roots[1] = sum_of(e, eng_mul(e, x, y));
    eng_backward(e, roots, NULL, 2, false);
    eng_unref(roots[0]);
    eng_unref(roots[1]);
}

PROGRAM(root_under_root)
{
    T *a = eng_mul_scalar(e, x, 2), *roots[2];

    UNUSED4(x, y, w, h);
    roots[0] = sum(e, a);
    roots[1] = eng_mul_scalar(e, roots[0], 3);
    eng_backward(e, roots, NULL, 2, false);
    eng_unref(a);
    eng_unref(roots[0]);
    eng_unref(roots[1]);
}

PROGRAM(grad_of_leaf)
{
    T *loss = sum_of(e, eng_mul(e, x, y)), *g;

    UNUSED4(x, y, w, h);
    eng_grad(e, &loss, NULL, 1, &x, 1, false, &g);
    eng_unref(g);
    eng_unref(loss);
}

PROGRAM(grad_prunes)
{
    T *a = eng_mul(e, x, y), *b = op(e, ENG_OP_exp, a), *loss = sum(e, b), *g;

    UNUSED4(x, y, w, h);
    eng_grad(e, &loss, NULL, 1, &a, 1, false, &g);
    eng_unref(g);
    eng_unref(b);
    eng_unref(loss);
    eng_unref(a);
}

PROGRAM(grad_of_both)
{
    T *p = op(e, ENG_OP_exp, x), *q = op(e, ENG_OP_exp, y), *product = eng_mul(e, p, q),
      *inputs[2] = {x, y}, *g[2], *loss;

    UNUSED4(x, y, w, h);
    eng_unref(p);
    eng_unref(q);
    loss = sum_of(e, product);
    eng_grad(e, &loss, NULL, 1, inputs, 2, false, g);
    eng_unref(g[1]);
    eng_unref(g[0]);
    eng_unref(loss);
}

PROGRAM(grad_of_parts)
{
    struct eng_arg args[] = {eng_at(x), eng_ai(1), eng_ai(0)};
    T *p, *q, *loss, *inputs[2], *g[2];
    struct eng_ret parts;

    UNUSED4(x, y, w, h);
    if (!eng_call(e, ENG_OP_split, args, &parts))
        return;
    p = op(e, ENG_OP_exp, parts.tensors[0]);
    q = op(e, ENG_OP_sin, parts.tensors[1]);
    loss = eng_mul(e, p, q);
    eng_unref(p);
    eng_unref(q);
    loss = sum_of(e, loss);
    inputs[0] = parts.tensors[1];
    inputs[1] = parts.tensors[0];
    eng_grad(e, &loss, NULL, 1, inputs, 2, false, g);
    eng_unref(g[1]);
    eng_unref(g[0]);
    eng_unref(loss);
    eng_ret_release(&parts);
}

PROGRAM(grad_prunes_operands)
{
    T *p = op(e, ENG_OP_exp, x), *q = op(e, ENG_OP_exp, w), *product = eng_mm(e, p, q), *g, *loss;

    UNUSED4(x, y, w, h);
    eng_unref(p);
    eng_unref(q);
    loss = sum_of(e, product);
    eng_grad(e, &loss, NULL, 1, &w, 1, false, &g);
    eng_unref(g);
    eng_unref(loss);
}

PROGRAM(gradient_given)
{
    int64_t sizes[2] = {2, 3};
    T *g = eng_full(e, sizes, 2, 1, VS_F32, false), *p = eng_mul(e, x, y);

    UNUSED4(x, y, w, h);
    eng_backward(e, &p, &g, 1, false);
    eng_unref(p);
    eng_unref(g);
}

PROGRAM(no_grad_inside)
{
    bool before = eng_set_grad_enabled(e, false);
    T *a = op(e, ENG_OP_exp, x), *b;

    UNUSED4(x, y, w, h);
    eng_set_grad_enabled(e, before);
    b = sum_of(e, eng_mul(e, a, x));
    backward(e, b);
    eng_unref(a);
    eng_unref(b);
}

PROGRAM(detached)
{
    T *a = op(e, ENG_OP_exp, x), *d = eng_detach(e, a), *p = eng_mul(e, d, x), *b;

    UNUSED4(x, y, w, h);
    eng_unref(d);
    b = sum_of(e, p);
    eng_unref(a);
    backward(e, b);
    eng_unref(b);
}

PROGRAM(in_place_chain)
{
    T *a = eng_mul_scalar(e, x, 2), *loss;

    UNUSED4(x, y, w, h);
    in_place(e, ENG_OP_mul, a, eng_af(3));
    in_place(e, ENG_OP_add, a, eng_at(y));
    in_place(e, ENG_OP_relu, a, eng_anone());
    loss = sum(e, a);
    backward(e, loss);
    eng_unref(a);
    eng_unref(loss);
}

PROGRAM(in_place_on_view)
{
    T *a = eng_mul_scalar(e, x, 2), *b = select0(e, a, 0), *row = select0(e, y, 1), *loss;

    UNUSED4(x, y, w, h);
    in_place(e, ENG_OP_mul, b, eng_at(row));
    eng_unref(row);
    loss = sum(e, a);
    eng_unref(b);
    backward(e, loss);
    eng_unref(a);
    eng_unref(loss);
}

static void set_row(struct eng *e, T *a, int64_t i, T *value)
{
    struct eng_index item = {.kind = ENG_I_INT, .start = i};
    struct eng_arg args[] = {
        eng_at(a), {.kind = ENG_A_INDEX, .count = 1, .v.index = &item}, eng_at(value)};

    eng_unref(eng_call1(e, ENG_OP_setitem, args));
}

PROGRAM(two_writes_to_a_view)
{
    int64_t sizes[2] = {2, 3};
    T *a = eng_zeros(e, sizes, 2, VS_F32, false), *row = select0(e, x, 0), *loss;

    UNUSED4(x, y, w, h);
    set_row(e, a, 0, row);
    eng_unref(row);
    row = select0(e, y, 0);
    set_row(e, a, 1, row);
    eng_unref(row);
    loss = sum_of(e, eng_mul(e, a, a));
    backward(e, loss);
    eng_unref(a);
    eng_unref(loss);
}

PROGRAM(transposed_weight)
{
    struct eng_arg args[] = {eng_at(x), eng_at(w), eng_anone()};
    T *loss = sum_of(e, eng_call1(e, ENG_OP_linear, args));

    UNUSED4(x, y, w, h);
    backward(e, loss);
    eng_slot_set(&loss, sum_of(e, eng_call1(e, ENG_OP_linear, args)));
    backward(e, loss);
    eng_unref(loss);
}

PROGRAM(split_and_joined)
{
    struct eng_arg args[] = {eng_at(x), eng_ai(1), eng_ai(1)}, cat[2];
    struct eng_ret parts;
    T *pair[2], *joined, *loss;

    UNUSED4(x, y, w, h);
    if (!eng_call(e, ENG_OP_split, args, &parts))
        return;
    pair[0] = parts.tensors[0];
    pair[1] = parts.tensors[2];
    cat[0] = eng_atensors(pair, 2);
    cat[1] = eng_ai(1);
    joined = eng_call1(e, ENG_OP_cat, cat);
    loss = eng_mul_scalar(e, joined, 2);
    eng_unref(joined);
    loss = sum_of(e, loss);
    eng_ret_release(&parts);
    backward(e, loss);
    eng_unref(loss);
}

PROGRAM(half_to_float)
{
    T *a = eng_to_dtype(e, h, VS_F32), *loss = sum_of(e, eng_mul(e, a, x));

    UNUSED4(x, y, w, h);
    eng_unref(a);
    backward(e, loss);
    eng_unref(loss);
}

static void programs_take_and_give_back_memory_as_pytorch_does(void **state)
{
#define ROW(name)                                                                                  \
    {                                                                                              \
#name, name                                                                                \
    }
    static const struct rig_program PROGRAMS[] = {
        ROW(one_product),        ROW(gradients_accumulate), ROW(fan_in),
        ROW(fan_in_of_expanded), ROW(same_operand_twice),   ROW(same_term_twice),
        ROW(shared_weight),      ROW(temporaries_go_early), ROW(names_keep_results),
        ROW(retained_graph),     ROW(graph_dropped),        ROW(two_roots),
        ROW(root_under_root),    ROW(grad_of_leaf),         ROW(grad_prunes),
        ROW(grad_of_both),       ROW(grad_prunes_operands), ROW(grad_of_parts),
        ROW(gradient_given),     ROW(no_grad_inside),       ROW(detached),
        ROW(in_place_chain),     ROW(in_place_on_view),     ROW(two_writes_to_a_view),
        ROW(transposed_weight),  ROW(split_and_joined),     ROW(half_to_float),
    };

    (void)state;
    rig_run_programs(PROGRAMS, sizeof(PROGRAMS) / sizeof(PROGRAMS[0]));
}

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
    /* the sum, the root, 3 * root for two elements; nothing for .grad itself */
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

/* Names of the nodes as they began, separated by spaces; ops that their formulas call are left out. */
static const char *node_order(const struct rig *rig, char *buf, size_t size)
{
    size_t used = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < rig->count; i++) {
        const struct vs_event *ev = &rig->events[i];

        if (ev->kind != VS_EV_OP_BEGIN || ev->aux != 1 || ev->b == 0)
            continue;
        used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? " " : "",
                                 rig_string(rig, ev->a));
        assert_true(used < size);
    }
    return buf;
}

static void what_was_made_later_runs_first_and_leaves_as_soon_as_they_can(void **state)
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

static void saved_tensors_go_when_their_node_has_run(void **state)
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

/* ---- what is refused ---- */

static void a_second_backward_is_refused_where_something_was_saved(void **state)
{
    static const int64_t SIZES[] = {2};
    struct rig rig;
    T *x, *loss, *plain;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 1, SIZES, 1);
    loss = sum_of(rig.e, op(rig.e, ENG_OP_exp, x));
    plain = sum_of(rig.e, eng_add_scalar(rig.e, x, 1)); /* saves nothing */
    rig_backward(&rig, loss);
    backward(rig.e, loss);
    assert_int_equal(rig_take_failure(&rig, "a second time"), VS_E_AUTOGRAD);
    rig_backward(&rig, plain);
    rig_backward(&rig, plain);
    eng_unref(plain);
    eng_unref(loss);
    eng_unref(x);
    rig_release(&rig);
}

static void a_second_backward_through_a_written_view_is_refused(void **state)
{
    static const int64_t SIZES[] = {2, 2};
    struct rig rig;
    T *x, *a, *row, *loss;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 2, SIZES, 1);
    a = eng_mul_scalar(rig.e, x, 1);
    row = select0(rig.e, a, 0);
    in_place(rig.e, ENG_OP_exp, row, eng_anone());
    loss = sum(rig.e, a);
    rig_backward(&rig, loss);
    backward(rig.e, loss);
    assert_int_equal(rig_take_failure(&rig, "a second time"), VS_E_AUTOGRAD);
    eng_unref(loss);
    eng_unref(row);
    eng_unref(a);
    eng_unref(x);
    rig_release(&rig);
}

static void a_saved_tensor_that_was_overwritten_is_refused_with_both_versions(void **state)
{
    static const int64_t SIZES[] = {2};
    struct rig rig;
    T *x, *a, *loss;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 1, SIZES, 1);
    a = op(rig.e, ENG_OP_sigmoid, x);
    in_place(rig.e, ENG_OP_add, a, eng_af(1));
    in_place(rig.e, ENG_OP_add, a, eng_af(1));
    loss = sum(rig.e, a);
    backward(rig.e, loss);
    assert_int_equal(rig_take_failure(&rig, "it is at version 2, version 0 was saved"),
                     VS_E_INPLACE);
    eng_unref(loss);
    eng_unref(a);
    eng_unref(x);
    rig_release(&rig);
}

static void a_write_through_a_view_or_a_detached_twin_is_seen(void **state)
{
    static const int64_t SIZES[] = {2, 2};
    struct rig rig;

    (void)state;
    rig_init(&rig, false);
    for (int k = 0; k < 2; k++) {
        T *x = rig_leaf(&rig, 2, SIZES, 1);
        T *a = op(rig.e, ENG_OP_exp, x);
        T *other = k ? eng_detach(rig.e, a) : select0(rig.e, a, 1);
        T *loss = sum(rig.e, a);
        bool grad = eng_set_grad_enabled(rig.e, false);

        in_place(rig.e, ENG_OP_zero_, other, eng_anone());
        eng_set_grad_enabled(rig.e, grad);
        backward(rig.e, loss);
        assert_int_equal(rig_take_failure(&rig, "version 1, version 0 was saved"), VS_E_INPLACE);
        eng_unref(loss);
        eng_unref(other);
        eng_unref(a);
        eng_unref(x);
    }
    rig_release(&rig);
}

static void a_leaf_or_a_view_of_it_cannot_be_written_to(void **state)
{
    static const int64_t SIZES[] = {2, 2};
    struct rig rig;
    bool grad;
    T *x, *row;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 2, SIZES, 1);
    in_place(rig.e, ENG_OP_add, x, eng_af(1));
    assert_int_equal(rig_take_failure(&rig, "a leaf"), VS_E_AUTOGRAD);
    row = select0(rig.e, x, 0);
    in_place(rig.e, ENG_OP_add, row, eng_af(1));
    assert_int_equal(rig_take_failure(&rig, "a view of a leaf"), VS_E_AUTOGRAD);
    assert_int_equal(x->version->value, 0);
    grad = eng_set_grad_enabled(rig.e, false); /* as an optimizer does */
    in_place(rig.e, ENG_OP_add, x, eng_af(1));
    eng_set_grad_enabled(rig.e, grad);
    assert_int_equal(x->version->value, 1);
    eng_unref(row);
    eng_unref(x);
    rig_release(&rig);
}

static void only_a_scalar_that_requires_grad_is_a_root(void **state)
{
    static const int64_t SIZES[] = {2};
    struct rig rig;
    T *x, *a, *plain;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 1, SIZES, 1);
    a = eng_mul_scalar(rig.e, x, 2);
    backward(rig.e, a);
    assert_int_equal(rig_take_failure(&rig, "[2]"), VS_E_AUTOGRAD);
    plain = rig_tensor(&rig, VS_F64, 0, NULL, NULL);
    backward(rig.e, plain);
    assert_int_equal(rig_take_failure(&rig, "does not require grad"), VS_E_AUTOGRAD);
    assert_null(x->grad);
    eng_unref(plain);
    eng_unref(a);
    eng_unref(x);
    rig_release(&rig);
}

static void requires_grad_is_for_floating_leaves(void **state)
{
    static const int64_t SIZES[] = {2};
    struct rig rig;
    T *x, *a, *i;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 1, SIZES, 1);
    a = eng_mul_scalar(rig.e, x, 2);
    eng_set_requires_grad(rig.e, a, false);
    assert_int_equal(rig_take_failure(&rig, "leaf"), VS_E_AUTOGRAD);
    i = rig_tensor(&rig, VS_I64, 1, SIZES, NULL);
    eng_set_requires_grad(rig.e, i, true);
    assert_int_equal(rig_take_failure(&rig, "int64"), VS_E_AUTOGRAD);
    eng_set_requires_grad(rig.e, x, false);
    assert_false(eng_requires_grad(x));
    eng_unref(i);
    eng_unref(a);
    eng_unref(x);
    rig_release(&rig);
}

static void a_gradient_of_a_wrong_shape_is_refused(void **state)
{
    struct rig rig;
    T *x, *index, *src, *out;
    struct eng_arg args[4];

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 2, (int64_t[]){3, 4}, 1);
    src = rig_leaf(&rig, 2, (int64_t[]){3, 2}, 2);
    index = rig_tensor(&rig, VS_I64, 2, (int64_t[]){3, 1}, NULL);
    args[0] = eng_at(x);
    args[1] = eng_ai(1);
    args[2] = eng_at(index);
    args[3] = eng_at(src);
    out = eng_call1(rig.e, ENG_OP_scatter,
                    args); /* reads a part of src: its gradient has the index's shape */
    eng_slot_set(&out, sum(rig.e, out));
    backward(rig.e, out);
    assert_int_equal(rig_take_failure(&rig, "got [3, 1], expected a shape compatible with [3, 2]"),
                     VS_E_AUTOGRAD);
    eng_unref(out);
    eng_unref(index);
    eng_unref(src);
    eng_unref(x);
    rig_release(&rig);
}

/* ---- eng_grad ---- */

static void grad_gives_gradients_and_accumulates_nowhere(void **state)
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

static void grad_leaves_nodes_that_nobody_asks_for_untouched(void **state)
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
    rig_backward(&rig, loss); /* sin and exp have not run: they still can */
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
        rig.e->observer = NULL; /* a million events would only cost time */
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
    assert_true(eng_node_needs_input_grad(node, 0));
    assert_false(eng_node_needs_input_grad(node, 1));
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

static void a_custom_node_saves_runs_and_is_freed_once(void **state)
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

static void an_input_given_back_by_a_custom_function_is_a_tensor_of_its_own(void **state)
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

static void a_custom_function_of_nothing_that_requires_grad_makes_no_node(void **state)
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

/* ---- views written to ---- */

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
    /* d/dx1 = 2 * 150 * 10 * 5, d/dy = 2 * 150 * 30; x0 has no part in it */
    check_values(x->grad, (double[]){0, 0, 15000, 28800});
    check_values(y->grad, (double[]){9000, 19200});
    eng_unref(loss);
    eng_unref(row);
    eng_unref(a);
    eng_unref(y);
    eng_unref(x);
    rig_release(&rig);
}

static void a_part_of_several_cannot_be_written_to(void **state)
{
    struct rig rig;
    struct eng_ret parts;
    T *x, *a;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 1, (int64_t[]){4}, 1);
    a = eng_mul_scalar(rig.e, x, 2);
    {
        struct eng_arg args[] = {eng_at(a), eng_ai(2), eng_ai(0)};

        assert_true(eng_call(rig.e, ENG_OP_split, args, &parts));
    }
    in_place(rig.e, ENG_OP_add, parts.tensors[0], eng_af(1));
    assert_int_equal(rig_take_failure(&rig, "split"), VS_E_AUTOGRAD);
    eng_ret_release(&parts);
    eng_unref(a);
    eng_unref(x);
    rig_release(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_take_and_give_back_memory_as_pytorch_does),
        cmocka_unit_test(a_gradient_of_the_leafs_layout_is_taken_over),
        cmocka_unit_test(a_gradient_that_others_hold_is_copied),
        cmocka_unit_test(a_gradient_of_other_strides_is_copied_to_the_leafs),
        cmocka_unit_test(a_second_gradient_is_added_in_place),
        cmocka_unit_test(what_was_made_later_runs_first_and_leaves_as_soon_as_they_can),
        cmocka_unit_test(saved_tensors_go_when_their_node_has_run),
        cmocka_unit_test(a_second_backward_is_refused_where_something_was_saved),
        cmocka_unit_test(a_second_backward_through_a_written_view_is_refused),
        cmocka_unit_test(a_saved_tensor_that_was_overwritten_is_refused_with_both_versions),
        cmocka_unit_test(a_write_through_a_view_or_a_detached_twin_is_seen),
        cmocka_unit_test(a_leaf_or_a_view_of_it_cannot_be_written_to),
        cmocka_unit_test(only_a_scalar_that_requires_grad_is_a_root),
        cmocka_unit_test(requires_grad_is_for_floating_leaves),
        cmocka_unit_test(a_gradient_of_a_wrong_shape_is_refused),
        cmocka_unit_test(grad_gives_gradients_and_accumulates_nowhere),
        cmocka_unit_test(grad_leaves_nodes_that_nobody_asks_for_untouched),
        cmocka_unit_test(a_deep_graph_runs_and_is_freed_without_recursion),
        cmocka_unit_test(a_custom_node_saves_runs_and_is_freed_once),
        cmocka_unit_test(an_input_given_back_by_a_custom_function_is_a_tensor_of_its_own),
        cmocka_unit_test(a_custom_function_of_nothing_that_requires_grad_makes_no_node),
        cmocka_unit_test(writing_to_a_view_reaches_base_and_every_later_use),
        cmocka_unit_test(a_part_of_several_cannot_be_written_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

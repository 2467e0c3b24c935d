/*
 * tests/engine/autograd/test_autograd_programs.c - small programs allocate and free memory as under PyTorch.
 *
 * Their events are PyTorch 2.15's, from tests/golden/oracle/autograd_cases.txt (tests/oracle/autograd_cases.py has the
 * same programs in Python).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/core/op_internal.h"
#include "tests/engine/rig.h"
#include "tests/engine/short_ops.h"

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
    T *a = op(e, ENG_OP_exp, x), *d = op(e, ENG_OP_detach, a), *p = eng_mul(e, d, x), *b;

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

static void programs_allocate_and_free_as_pytorch_does(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_allocate_and_free_as_pytorch_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

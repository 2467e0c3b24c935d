/*
 * tests/import/test_roles.c - roles of stack frames: one line for each rule of roles.def, and how they combine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "import/roles.h"
#include "tests/import/recording.h"

#define TORCH "/p/site-packages/torch/"

/* What runs where one allocation has this stack. */
static struct imp_stack classify(const char *stack)
{
    struct recording r = {.list = {.events = NULL}};
    struct imp_roles roles = {.list = NULL};
    struct imp_stack found;

    recording_alloc(&r, 1, 1, stack);
    imp_roles_fill(&roles, &r.list);
    found = *imp_roles_stack(&roles, r.list.events[0].stack);
    imp_roles_release(&roles);
    recording_release(&r);
    return found;
}

static void check(enum imp_run run, const char *stack)
{
    struct imp_stack found = classify(stack);

    if (found.run != run)
        fail_msg("%s: %d runs, not %d", stack ? stack : "no stack", found.run, (int)run);
}

static void each_frame_is_classified_by_its_role(void **state)
{
    (void)state;
    check(IMP_RUN_NONE, NULL);
    check(IMP_RUN_NONE, "!cpp");
    check(IMP_RUN_OUTSIDE, "train.py main 4");
    check(IMP_RUN_FORWARD, NET);
    check(IMP_RUN_LOAD, MOVE("966"));
    check(IMP_RUN_LOAD,
          TORCH "nn/modules/linear.py __init__ 105|net.py __init__ 4|train.py main 1");
    check(IMP_RUN_LOAD, TORCH "nn/init.py normal_ 20|net.py build 4");
    check(IMP_RUN_LOAD, TORCH "distributed/utils.py _sync_params_and_buffers 328|" TORCH
                              "nn/parallel/distributed.py __init__ 891|train.py main 2");
    check(IMP_RUN_LOAD, TORCH "serialization.py load 1000|train.py main 2");
    check(IMP_RUN_LOAD, TORCH "nn/modules/module.py load_state_dict 2000|train.py main 2");
    check(IMP_RUN_LOAD,
          "/p/site-packages/transformers/modeling_utils.py from_pretrained 3|train.py main 2");
    check(IMP_RUN_LOAD, "net.py __init__ 4|train.py main 1");
    check(IMP_RUN_DATA, TORCH "utils/data/_utils/collate.py default_collate 9|train.py main 3");
    check(IMP_RUN_LOSS, LOSS);
    check(IMP_RUN_LOSS, TORCH "nn/functional.py mse_loss 9|train.py main 6");
    check(IMP_RUN_LOSS, "train.py focal_loss 30|train.py main 6");
    check(IMP_RUN_LOSS, "losses.py focal 30|train.py main 6");
    check(IMP_RUN_BACKWARD, NODE);
    check(IMP_RUN_BACKWARD, TORCH "autograd/__init__.py _make_grads 142|" TORCH
                                  "_tensor.py backward 581|train.py main 7");
    check(IMP_RUN_BACKWARD, TORCH "amp/grad_scaler.py scale 200|train.py main 7");
    check(IMP_RUN_OPTIMIZER, STEP);
    check(IMP_RUN_OPTIMIZER, STATE);
    check(IMP_RUN_OPTIMIZER, TORCH "amp/grad_scaler.py unscale_ 300|train.py main 8");
    check(IMP_RUN_OPTIMIZER, TORCH "nn/utils/clip_grad.py clip_grad_norm_ 40|train.py main 8");
    check(IMP_RUN_OPTIMIZER,
          "mine.py step 5|" TORCH "optim/optimizer.py wrapper 493|train.py main 8");
    check(IMP_RUN_ZERO_GRAD, ZERO);
    check(IMP_RUN_ZERO_GRAD, "train.py zero_grad 50|train.py main 9");
}

static void the_innermost_conclusive_frame_decides_the_role(void **state)
{
    (void)state;
    /* a closure that an optimizer calls, which calls the model */
    check(IMP_RUN_FORWARD, "net.py forward 10|" CALL "|train.py closure 20|" TORCH
                           "optim/lbfgs.py step 9|train.py main 8");
    /* a loss that a model computes itself; a function that is called loss and calls the model */
    check(IMP_RUN_LOSS, TORCH "nn/functional.py cross_entropy 9|" NET);
    check(IMP_RUN_FORWARD, "net.py forward 10|" CALL "|train.py loss_of 3|train.py main 6");
    /* a module that is moved while another runs */
    check(IMP_RUN_FORWARD, TORCH "nn/modules/module.py _apply 833|" NET);
}

static void frames_called_by_the_autograd_engine_are_backward(void **state)
{
    struct imp_stack found =
        classify("!cpp|!engine|" NET "|" TORCH "utils/checkpoint.py recompute_fn 9");

    (void)state;
    assert_int_equal(found.run, IMP_RUN_BACKWARD);
    assert_true(found.is_recompute);
    /* without C++ frames a checkpoint's own say so; the user's function of autograd, too */
    found = classify(NET "|" TORCH "utils/checkpoint.py unpack_hook 9");
    assert_int_equal(found.run, IMP_RUN_BACKWARD);
    assert_true(found.is_recompute);
    check(IMP_RUN_BACKWARD, "ops.py backward 20|" TORCH "autograd/function.py apply 300");
    /* a checkpoint that runs backward itself does not run forward again */
    found = classify("!cpp|!engine|" TORCH "autograd/__init__.py backward 300|" TORCH
                     "utils/checkpoint.py backward 9");
    assert_int_equal(found.run, IMP_RUN_BACKWARD);
    assert_false(found.is_recompute);
}

static void tensors_allocated_by_an_optimizer_are_its_state(void **state)
{
    (void)state;
    assert_true(classify(STATE).is_state);
    assert_false(classify(STEP).is_state);
    assert_true(classify(TORCH "optim/adagrad.py __init__ 50|train.py main 2").is_state);
}

/*
 * Its `step` is called by torch.optim.Optimizer; what its `__init__` makes elsewhere is state, and what another file's
 * does is not.
 */
static void a_users_own_optimizer_is_known_by_its_step(void **state)
{
    struct recording r = {.list = {.events = NULL}};
    struct imp_roles roles = {.list = NULL};

    (void)state;
    recording_alloc(&r, 1, 1, "mine.py __init__ 5|train.py main 2");
    recording_alloc(&r, 2, 1, "other.py __init__ 5|train.py main 2");
    recording_alloc(&r, 3, 1,
                    "mine.py step 9|" TORCH "optim/optimizer.py wrapper 493|train.py main 8");
    imp_roles_fill(&roles, &r.list);
    assert_true(imp_roles_stack(&roles, r.list.events[0].stack)->is_state);
    assert_false(imp_roles_stack(&roles, r.list.events[1].stack)->is_state);
    imp_roles_release(&roles);
    recording_release(&r);
}

/* Parameters, gradients, buffers: in this order in the source of every version. */
static void a_module_moves_parameters_first_and_buffers_last(void **state)
{
    struct recording r = {.list = {.events = NULL}};
    struct imp_roles roles = {.list = NULL};

    (void)state;
    recording_alloc(&r, 1, 1, MOVE("1036"));
    recording_alloc(&r, 2, 1, MOVE("966"));
    recording_alloc(&r, 3, 1, MOVE("1010"));
    imp_roles_fill(&roles, &r.list);
    assert_true(imp_roles_stack(&roles, r.list.events[0].stack)->is_buffer);
    assert_true(imp_roles_stack(&roles, r.list.events[1].stack)->is_param);
    assert_true(imp_roles_stack(&roles, r.list.events[2].stack)->is_grad);
    imp_roles_release(&roles);
    recording_release(&r);
    assert_true(classify(MOVE("833")).is_param);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_frame_is_classified_by_its_role),
        cmocka_unit_test(the_innermost_conclusive_frame_decides_the_role),
        cmocka_unit_test(frames_called_by_the_autograd_engine_are_backward),
        cmocka_unit_test(tensors_allocated_by_an_optimizer_are_its_state),
        cmocka_unit_test(a_users_own_optimizer_is_known_by_its_step),
        cmocka_unit_test(a_module_moves_parameters_first_and_buffers_last),
    };

    return cmocka_run_group_tests_name("import/roles", tests, NULL, NULL);
}

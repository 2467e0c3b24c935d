/*
 * tests/import/test_backward.c - nodes of backward are matched with the modules whose ops created them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/text.h"
#include "import/backward.h"
#include "tests/import/recording.h"

static void a_nodes_name_identifies_its_op(void **state)
{
    (void)state;
    assert_true(imp_backward_fits("MulBackward0", "mul_Tensor"));
    assert_true(imp_backward_fits("AddmmBackward0", "linear"));
    assert_true(imp_backward_fits("ConvolutionBackward0", "conv2d_padding"));
    assert_true(imp_backward_fits("CudnnBatchNormBackward0", "batch_norm"));
    assert_true(imp_backward_fits("MaxPool2DWithIndicesBackward0", "max_pool2d"));
    assert_true(imp_backward_fits("NativeDropoutBackward0", "dropout"));
    assert_true(imp_backward_fits("BmmBackward0", "einsum"));
    assert_true(imp_backward_fits("NllLossBackward0", "cross_entropy_loss"));
    assert_false(imp_backward_fits("MulBackward0", "add_Tensor"));
    assert_false(imp_backward_fits("ReluBackward0", "linear"));
    assert_false(imp_backward_fits("ReluBackward0", ""));
    assert_false(imp_backward_fits("Backward0", "relu"));
}

/* A module `name`, called in its own line of the net. */
#define IN(name, line)                                                                             \
    name ".py forward 9|" CALL "|net.py forward " line "|" CALL "|train.py main 5"

/* An allocation with an op; of backward with its node. */
static void made(struct recording *r, const char *stack, const char *op)
{
    recording_alloc(r, 512 * (r->list.event_count + 1), 512, stack);
    r->list.events[r->list.event_count - 1].op = vs_memlist_string(&r->list, op, strlen(op));
}

/* A node releases its saved tensors. */
static void released(struct recording *r)
{
    recording_free(r, 512, 512, "!cpp|!engine|!release");
}

/* The last part of the path of each allocation of backward; "-" where there is none. */
static void check(struct recording *r, const char *expected)
{
    struct imp_roles roles = {.list = NULL};
    struct vs_text text = {NULL, 0, 0};
    struct imp_modules modules;
    struct imp_phases phases;
    struct imp_import import;

    recording_import(r, &import);
    imp_roles_fill(&roles, &r->list);
    imp_phases_fill(&phases, &r->list, &roles);
    imp_modules_fill(&modules, &import, &r->list, &roles, phases.has_free_stacks);
    imp_backward_fill(&modules, &r->list, &roles, &phases);
    for (size_t i = 0; i < r->list.event_count; i++) {
        const char *path = modules.paths[i] ? import.strings[modules.paths[i] - 1] : "";
        const char *dot = strrchr(path, '.');

        if (r->list.events[i].kind == VS_MEM_ALLOC && phases.phases[i] == VS_PHASE_BACKWARD)
            vs_text_addf(&text, "%s%s", text.len ? " " : "", *path ? dot ? dot + 1 : path : "-");
    }
    if (strcmp(vs_text_get(&text), expected) != 0)
        fail_msg("%s\nshould be\n%s", vs_text_get(&text), expected);
    imp_modules_release(&modules);
    imp_phases_release(&phases);
    imp_roles_release(&roles);
    imp_release(&import);
    recording_release(r);
    vs_text_release(&text);
}

/* conv, norm (which allocates three times), relu; the gradient that is kept is the node's before it. */
static void nodes_run_in_the_opposite_order_of_ops(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    made(&r, IN("conv", "10"), "conv2d");
    made(&r, IN("norm", "11"), "batch_norm");
    made(&r, IN("norm", "11"), "batch_norm");
    made(&r, IN("norm", "11"), "batch_norm");
    made(&r, IN("act", "12"), "relu");
    made(&r, NODE, "ReluBackward0/threshold_backward");
    made(&r, NODE, "CudnnBatchNormBackward0/cudnn_batch_norm_backward");
    made(&r, NODE, "CudnnBatchNormBackward0/cudnn_batch_norm_backward");
    made(&r, GRAD, "AccumulateGrad/new_empty_strided");
    made(&r, NODE, "ConvolutionBackward0/convolution_backward");
    check(&r, "act:12 norm:11 norm:11 norm:11 conv:10");
}

/*
 * Two linears in a row: the second node is another one's because the first has released its tensors. One of an op that
 * allocated nothing stays.
 */
static void a_node_that_released_its_tensors_is_finished(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    made(&r, IN("first", "10"), "linear");
    made(&r, IN("second", "11"), "linear");
    made(&r, NODE, "AddmmBackward0/mm");
    made(&r, NODE, "AddmmBackward0/mm");
    released(&r);
    made(&r, NODE, "ViewBackward0/reshape");
    made(&r, NODE, "AddmmBackward0/mm");
    check(&r, "second:11 second:11 second:11 first:10");
}

/* What a checkpoint runs again comes last on the tape, and has its module by itself. */
static void recomputed_ops_are_on_the_tape(void **state)
{
    static const char again[] =
        "!cpp|!engine|block.py forward 9|" CALL
        "|net.py forward 10|/p/site-packages/torch/utils/checkpoint.py recompute_fn 9";
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    made(&r, IN("first", "10"), "relu");
    made(&r, IN("last", "11"), "exp");
    made(&r, NODE, "ExpBackward0/mul_Tensor");
    made(&r, again, "relu");
    made(&r, NODE, "ReluBackward0/threshold_backward");
    check(&r, "last:11 block:10 block:10");
}

static void without_ops_no_module_is_assumed(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    made(&r, IN("first", "10"), "");
    made(&r, NODE, "");
    check(&r, "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_nodes_name_identifies_its_op),
        cmocka_unit_test(nodes_run_in_the_opposite_order_of_ops),
        cmocka_unit_test(a_node_that_released_its_tensors_is_finished),
        cmocka_unit_test(recomputed_ops_are_on_the_tape),
        cmocka_unit_test(without_ops_no_module_is_assumed),
    };

    return cmocka_run_group_tests_name("import/backward", tests, NULL, NULL);
}

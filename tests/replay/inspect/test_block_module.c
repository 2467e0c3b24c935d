/*
 * tests/replay/inspect/test_block_module.c - which module a block belongs to, and what is said where one is not known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "replay/inspect/block_module.h"
#include "tests/replay/make_trace.h"

/*
 * "MODULE; why no module; why no shape" of a block; "-" where there is none. parameter: as in struct rpl_why, or NULL.
 */
static void check(const char *parameter, const char *module, const char *op,
                  enum vs_category category, uint32_t tensor, const char *expected)
{
    struct make m;
    struct vs_location location = {.line = 3};
    struct rpl_why why = {.is_alive = true};
    struct vs_text text = {NULL, 0, 0};

    make_init(&m);
    location.module = *module ? rpl_trace_add_string(m.trace, module) : 0;
    location.op = rpl_trace_add_string(m.trace, op);
    why.parameter = parameter ? rpl_trace_add_string(m.trace, parameter) : 0;
    why.block.alloc_location = rpl_trace_add_location(m.trace, &location);
    why.block.category = (uint8_t)category;
    why.block.tensor = tensor;
    if (!rpl_block_module(m.trace, &why, &text))
        vs_text_add(&text, "-");
    vs_text_add(&text, "; ");
    if (!rpl_block_no_module(m.trace, &why, &text))
        vs_text_add(&text, "-");
    vs_text_add(&text, "; ");
    if (!rpl_block_no_shape(m.trace, &why, &text))
        vs_text_add(&text, "-");
    assert_string_equal(vs_text_get(&text), expected);
    vs_text_release(&text);
    rpl_trace_free(m.trace);
}

static void a_parameter_its_gradient_and_its_states_belong_to_its_module(void **state)
{
    (void)state;
    check("layers.0.attn.weight", "", "to", VS_CAT_PARAMETER, 1, "layers.0.attn; -; -");
    check("grad of layers.0.attn.weight", "loss", "add", VS_CAT_GRADIENT, 1, "layers.0.attn; -; -");
    check("exp_avg of layers.0.attn.weight", "", "zeros_like", VS_CAT_OPTIMIZER, 1,
          "layers.0.attn; -; -");
    check("scale", "", "to", VS_CAT_PARAMETER, 1, "; -; -"); /* of the model itself */
    check("6 parameters, layers.1.0.weight to layers.10.bias", "", "cat", VS_CAT_PARAMETER, 1,
          "layers; -; -");
    check("grad of 2 parameters, fc.weight to fc.bias", "", "zeros", VS_CAT_GRADIENT, 1,
          "fc; -; -");
    check("2 parameters, a.weight to b.weight", "", "cat", VS_CAT_PARAMETER, 1, "; -; -");
}

static void any_other_block_belongs_to_the_module_that_ran(void **state)
{
    (void)state;
    check(NULL, "layers.1", "relu", VS_CAT_ACTIVATION, 1, "layers.1; -; -");
}

static void where_no_module_is_known_a_sentence_says_why(void **state)
{
    (void)state;
    check(NULL, "", "to", VS_CAT_INPUT, 1, "-; a batch belongs to no module; -");
    check("exp_avg of param_groups[0][1]", "", "zeros_like", VS_CAT_OPTIMIZER, 1,
          "-; no module that was called has the parameter of this state; -");
    check("exp_avg of self.w (param_groups[0][1])", "", "zeros_like", VS_CAT_OPTIMIZER, 1,
          "-; no module that was called has the parameter of this state; -");
    check(NULL, "", "sum", VS_CAT_ACTIVATION, 1,
          "-; allocated by the outermost module itself, or outside of all modules; -");
}

static void where_no_shape_is_known_a_sentence_says_why(void **state)
{
    (void)state;
    check(NULL, "fc", "AddmmBackward0", VS_CAT_WORKSPACE, 0,
          "fc; -; workspace of cuBLAS, bytes only");
    check(NULL, "conv", "ConvolutionBackward0", VS_CAT_WORKSPACE, 0,
          "conv; -; workspace of cuDNN, bytes only");
    check(NULL, "bn", "NativeBatchNormBackward0", VS_CAT_WORKSPACE, 0,
          "bn; -; workspace of NativeBatchNormBackward0, bytes only");
    check(NULL, "cast", "_convert_element", VS_CAT_WORKSPACE, 0,
          "cast; -; workspace of _convert_element, bytes only");
    check(NULL, "rnn", "CudnnRnnBackward0/_cudnn_rnn_backward", VS_CAT_WORKSPACE, 0,
          "rnn; -; workspace of cuDNN, bytes only");
    check(NULL, "bn", "empty", VS_CAT_ACTIVATION, 0,
          "bn; -; no op was seen to read it, so only its bytes are known");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parameter_its_gradient_and_its_states_belong_to_its_module),
        cmocka_unit_test(any_other_block_belongs_to_the_module_that_ran),
        cmocka_unit_test(where_no_module_is_known_a_sentence_says_why),
        cmocka_unit_test(where_no_shape_is_known_a_sentence_says_why),
    };

    return cmocka_run_group_tests_name("replay/inspect/block_module", tests, NULL, NULL);
}

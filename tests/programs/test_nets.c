/*
 * tests/programs/test_nets.c - programs against the net files that torch2net writes of their models: the engine's
 * events are those of PyTorch over a simulated GPU, with addresses and segments; and both traces say the same of saves,
 * second runs, casts, categories and gradients.
 *
 * They need PyTorch alone (corpus.h); frameworks/test_framework_nets.c has models that need more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/programs/corpus.h"

static void a_plain_loop_equals_its_net(void **state)
{
    (void)state;
    corpus_net_check("plain_loop", NULL, NULL, NULL);
}

static void convolutions_under_autocast_equal_their_net(void **state)
{
    (void)state;
    corpus_net_check("conv_amp", "fp16", NULL, NULL);
}

static void a_transformer_equals_its_net(void **state)
{
    (void)state;
    corpus_net_check("transformer", NULL, NULL, NULL);
}

static void a_transformer_with_checkpoints_equals_its_net(void **state)
{
    (void)state;
    corpus_net_check("transformer", NULL, "1.layers.0,1.layers.1,1.layers.2", "non-reentrant");
}

static void a_transformer_with_checkpoints_under_autocast_equals_its_net(void **state)
{
    (void)state;
    corpus_net_check("transformer", "bf16", "1.layers.0,1.layers.1,1.layers.2", "non-reentrant");
}

static void a_transformer_with_checkpoints_with_reentrancy_equals_its_net(void **state)
{
    (void)state;
    corpus_net_check("transformer", NULL, "1.layers.0,1.layers.1,1.layers.2", "reentrant");
}

static void a_language_model_with_lstm_equals_its_net(void **state)
{
    (void)state;
    corpus_net_check("lm_lstm", NULL, NULL, NULL);
}

static void a_unet_of_volumes_equals_its_net(void **state)
{
    (void)state;
    corpus_net_check("unet3d", "bf16", NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_loop_equals_its_net),
        cmocka_unit_test(convolutions_under_autocast_equal_their_net),
        cmocka_unit_test(a_transformer_equals_its_net),
        cmocka_unit_test(a_transformer_with_checkpoints_equals_its_net),
        cmocka_unit_test(a_transformer_with_checkpoints_under_autocast_equals_its_net),
        cmocka_unit_test(a_transformer_with_checkpoints_with_reentrancy_equals_its_net),
        cmocka_unit_test(a_language_model_with_lstm_equals_its_net),
        cmocka_unit_test(a_unet_of_volumes_equals_its_net),
    };

    return cmocka_run_group_tests(tests, corpus_setup, corpus_cleanup);
}

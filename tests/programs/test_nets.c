/*
 * tests/programs/test_nets.c - programs against the net files that torch2net writes of their models: the engine's
 * events are those of PyTorch over a simulated GPU, with addresses and segments.
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
    corpus_net_check("plain_loop", NULL);
}

static void convolutions_under_autocast_equal_their_net(void **state)
{
    (void)state;
    corpus_net_check("conv_amp", "fp16");
}

static void a_transformer_equals_its_net(void **state)
{
    (void)state;
    corpus_net_check("transformer", NULL);
}

static void a_language_model_with_lstm_equals_its_net(void **state)
{
    (void)state;
    corpus_net_check("lm_lstm", NULL);
}

static void a_unet_of_volumes_equals_its_net(void **state)
{
    (void)state;
    corpus_net_check("unet3d", "bf16");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_loop_equals_its_net),
        cmocka_unit_test(convolutions_under_autocast_equal_their_net),
        cmocka_unit_test(a_transformer_equals_its_net),
        cmocka_unit_test(a_language_model_with_lstm_equals_its_net),
        cmocka_unit_test(a_unet_of_volumes_equals_its_net),
    };

    return cmocka_run_group_tests(tests, corpus_setup, corpus_cleanup);
}

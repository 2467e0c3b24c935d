/*
 * tests/programs/observed/test_sample_nets.c - nets of sample_nets/, trained by PyTorch as programs: the trace says
 * what that of the net says of saves, second runs, casts, categories, gradients and arithmetic.
 *
 * Arguments: the nets that are tried instead of those below.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/programs/corpus.h"

#define NETS_MAX 64

/*
 * densenet121, densenet_bc100, gpt2_small, resnet152 and resnet1001 take minutes. The others are not alike: lm4 and
 * lm4_forward have an optimizer of their own, whose states a program's trace does not know; of optimizer_in_backward
 * each parameter has an optimizer, whose steps are taken for those of the training; vgg19_counters has a step of its
 * own; and of densenet_bc100_ckpt the convolution at which a second run stops counts as run again.
 */
static const char *const NETS[] = {
    "sample_nets/batch_norm_act.py",
    "sample_nets/lenet.py",
    "sample_nets/linear100.py",
    "sample_nets/mlp_swish.py",
    "sample_nets/mlp_swish_fused.py",
    "sample_nets/mlp_swish_custom.py",
    "sample_nets/variables.py",
    "sample_nets/variables_rebind.py",
    "sample_nets/vgg16.py",
    "sample_nets/vit_tiny.py",
    "sample_nets/unet.py",
    "sample_nets/resnet18.py",
    "sample_nets/resnet50.py",
    "sample_nets/inplace_abn.py",
    "sample_nets/gpt2_small_sdpa.py",
};

static void check(void **state)
{
    corpus_sample_check(*state);
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[NETS_MAX] = {{.name = NULL}};
    size_t count = 0;

    if (argc > NETS_MAX)
        return 1;
    for (int i = 1; i < argc; i++)
        tests[count++] = (struct CMUnitTest){argv[i], check, NULL, NULL, argv[i]};
    for (size_t i = 0; argc < 2 && i < sizeof(NETS) / sizeof(NETS[0]); i++)
        tests[count++] =
            (struct CMUnitTest){NETS[i], check, NULL, NULL, (void *)(uintptr_t)NETS[i]};
    return _cmocka_run_group_tests("programs/sample_nets", tests, count, corpus_setup,
                                   corpus_cleanup);
}

/*
 * tests/e2e/test_evaluation.c - the toggles fuse and quantize: the outputs they compute, and where they are refused.
 * Their memory is compared with PyTorch's by the runs of lesson 27 (tests/golden/oracle/lessons.jsonl).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/e2e/program.h"

/* A norm with statistics of its own, a convolution without a bias, one with, a norm that follows nothing. */
static const char NET[] =
    "import torch\nimport torch.nn as nn\n\n\n"
    "def model():\n"
    "    net = nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(),\n"
    "                        nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.BatchNorm2d(8), "
    "nn.Flatten(),\n"
    "                        nn.Linear(8 * 12 * 12, 10))\n"
    "    with torch.no_grad():\n"
    "        for i in (1, 4, 5):\n"
    "            net[i].running_mean.fill_(0.25)\n"
    "            net[i].running_var.fill_(0.1 * i)\n"
    "            net[i].weight.fill_(1.5)\n"
    "            net[i].bias.fill_(0.5)\n"
    "    return net\n\n\n"
    "def batch(n):\n"
    "    return torch.randn(n, 3, 16, 16), torch.randint(0, 10, (n,))\n\n\n"
    "defaults = dict(batch=4, steps=1)\n";

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

/* The loss of a run on the CPU with these two toggles, and the parameters that are left. */
static double loss_of(const char *fuse, const char *quantize, int64_t *parameters)
{
    const char *net = program_file("net.py", NET);
    const char *trace = program_path("net.db");
    struct program p =
        program_run("record", net, "-o", trace, "--force", "--device", "cpu", "--grad", "no_grad",
                    "--fuse", fuse, "--quantize", quantize, NULL);
    char *text;
    double loss;

    if (p.status)
        fail_msg("fuse=%s quantize=%s: %s", fuse, quantize, p.err);
    program_release(&p);
    p = program_run("report", trace, "--json", NULL);
    text = json_text(p.out, "$.steps[1].loss");
    assert_non_null(text);
    loss = strtod(text, NULL);
    *parameters = json_int(p.out, "$.parameters");
    free(text);
    program_release(&p);
    return loss;
}

/* 3·8·9 + 16 of norm 1, 8·8·9 + 8 + 16 of norm 2, 16 of norm 3, 1152·10 + 10. */
#define PARAMETERS (216 + 16 + 576 + 8 + 16 + 16 + 11520 + 10)

static void folding_batch_norms_keeps_the_outputs(void **state)
{
    int64_t all = 0;
    int64_t left = 0;
    const double before = loss_of("off", "off", &all);
    const double after = loss_of("on", "off", &left);

    (void)state;
    assert_int_equal(all, PARAMETERS);
    /* two norms go, and the first convolution gets a bias; the norm after a norm stays */
    assert_int_equal(left, PARAMETERS - 2 * 16 + 8);
    if (!(fabs(after - before) < 1e-4 * fabs(before)))
        fail_msg("the loss is %.9g with folded norms and %.9g without", after, before);
}

static void int8_weights_keep_the_outputs_approximately(void **state)
{
    int64_t all = 0;
    int64_t left = 0;
    const double before = loss_of("off", "off", &all);
    const double after = loss_of("off", "int8", &left);

    (void)state;
    /* biases and norms stay parameters */
    assert_int_equal(left, 8 + 10 + 3 * 16);
    if (!(fabs(after - before) < 0.05 * fabs(before)) || after == before)
        fail_msg("the loss is %.9g with 8-bit weights and %.9g without", after, before);
}

static void fuse_and_quantize_are_refused_in_training(void **state)
{
    const char *net = program_file("net.py", NET);
    struct program fuse = program_run("record", net, "-o", program_path("a.db"), "--force",
                                      "--device", "meta", "--fuse", "on", NULL);
    struct program quantize = program_run("record", net, "-o", program_path("b.db"), "--force",
                                          "--device", "meta", "--quantize", "int8", NULL);

    (void)state;
    assert_int_equal(fuse.status, 1);
    assert_non_null(strstr(fuse.err, "fuse=on: for evaluation only; set grad=no_grad"));
    assert_int_equal(quantize.status, 1);
    assert_non_null(strstr(quantize.err, "quantize=int8: for evaluation only"));
    program_release(&fuse);
    program_release(&quantize);
}

static void fuse_warns_when_no_batch_norm_follows_a_convolution(void **state)
{
    struct program p = program_run("record", "sample_nets/gpt2_small_sdpa.py", "-o",
                                   program_path("gpt.db"), "--force", "--device", "meta", "--grad",
                                   "no_grad", "--fuse", "on", "--steps", "1", "--batch", "1", NULL);

    (void)state;
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(p.err, "no convolution is followed by a batch norm over its channels"));
    program_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folding_batch_norms_keeps_the_outputs),
        cmocka_unit_test(int8_weights_keep_the_outputs_approximately),
        cmocka_unit_test(fuse_and_quantize_are_refused_in_training),
        cmocka_unit_test(fuse_warns_when_no_batch_norm_follows_a_convolution),
    };

    return cmocka_run_group_tests_name("e2e/evaluation", tests, NULL, cleanup);
}

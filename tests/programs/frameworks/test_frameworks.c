/*
 * tests/programs/frameworks/test_frameworks.c - programs that use what is built on PyTorch: each is recorded twice, has
 * PyTorch's own peaks to the byte, and the same events both times. Plain models of theirs have the events of the net
 * files that torch2net writes of them.
 *
 * Not part of `make test`: README.md beside it says which packages are needed. What is missing is skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "tests/programs/corpus.h"

/* modules: what the program imports beside torch; ranks: see corpus.h */
struct row {
    const char *command;
    const char *modules;
    int ranks;
};

static void check(void **state)
{
    const struct row *row = *state;
    char command[128];

    corpus_python(row->modules);
    snprintf(command, sizeof(command), "frameworks/%s", row->command);
    corpus_check(command, row->ranks);
}

static struct row rows[] = {
    {"hf_trainer", "transformers accelerate", 0},
    {"hf_trainer checkpoint", "transformers accelerate", 0},
    {"hf_run_clm", "transformers accelerate datasets", 0},
    {"peft_lora", "peft transformers", 0},
    {"accelerate_loop", "accelerate", 0},
    {"lightning_fit", "lightning", 0},
    {"vision_train", "torchvision", 0},
    {"diffusers_unet", "diffusers", 0},
    {"mixtral eager", "transformers", 0},
    {"mixtral batched_mm", "transformers", 0},
    {"mixtral grouped_mm", "transformers", 0},
    {"deepspeed_zero 1", "deepspeed", 2},
    {"deepspeed_zero 2", "deepspeed", 2},
    {"deepspeed_zero 2 offload", "deepspeed", 2},
    {"deepspeed_zero 3", "deepspeed", 2},
    {"deepspeed_zero 3 offload", "deepspeed", 2},
    {"megatron_gpt 2 2", "megatron.core", 4},
    {"megatron_gpt 2 1 zero", "megatron.core", 4},
    {"fairscale_fsdp", "fairscale", 2},
    {"mmengine_toy", "mmengine", 0},
    {"mmengine_toy accumulate", "mmengine", 0},
    {"mmengine_toy fsdp", "mmengine", 2},
    {"bitsandbytes_adam", "bitsandbytes", 0},
    {"memlab", "pytorch_memlab", 0},
};

/* Models of as_net.py; amp: see corpus_net_check. */
struct net_row {
    const char *name;
    const char *modules;
    const char *amp;
};

static void check_net(void **state)
{
    const struct net_row *row = *state;

    corpus_python(row->modules);
    corpus_net_check(row->name, row->amp, NULL, NULL);
}

static struct net_row net_rows[] = {
    {"resnet18", "torchvision", "fp16"},
    {"gpt2", "transformers", NULL},
    {"llama", "transformers", NULL},
    {"lora", "peft transformers", NULL},
};

#define COUNT (sizeof(rows) / sizeof(rows[0]))
#define NET_COUNT (sizeof(net_rows) / sizeof(net_rows[0]))

int main(void)
{
    struct CMUnitTest tests[COUNT + NET_COUNT];

    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){rows[i].command, check, NULL, NULL, &rows[i]};
    for (size_t i = 0; i < NET_COUNT; i++)
        tests[COUNT + i] =
            (struct CMUnitTest){net_rows[i].name, check_net, NULL, NULL, &net_rows[i]};
    return cmocka_run_group_tests(tests, corpus_setup, corpus_cleanup);
}

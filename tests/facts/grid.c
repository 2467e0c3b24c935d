/*
 * tests/facts/grid.c - see grid.h.
 */
#include "tests/facts/grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define GPT "VOCAB=500 CONTEXT=64 WIDTH=96 LAYERS=3 TOKENS=32"

const struct facts_sample FACTS_SAMPLES[] = {
    {"sample_nets/batch_norm_act.py", "", "batch=2 steps=2"},
    {"sample_nets/densenet121.py", "", "batch=1 steps=2"},
    {"sample_nets/densenet_bc100.py", "", "batch=2 steps=2"},
    {"sample_nets/densenet_bc100_ckpt.py", "", "batch=2 steps=2"},
    {"sample_nets/gpt2_small.py", GPT, "batch=1 steps=2"},
    {"sample_nets/gpt2_small_sdpa.py", GPT, "batch=1 steps=2"},
    {"sample_nets/inplace_abn.py", "", "batch=2 steps=2"},
    {"sample_nets/lenet.py", "", "batch=4 steps=3"},
    {"sample_nets/linear100.py", "", "batch=4 steps=2"},
    {"sample_nets/lm4.py", "LENGTH=20 VOCAB=1000", "batch=2 steps=2"},
    {"sample_nets/lm4_forward.py", "LENGTH=20 VOCAB=1000", "batch=2 steps=2"},
    {"sample_nets/mlp_swish.py", "", "batch=2 steps=2"},
    {"sample_nets/mlp_swish_custom.py", "", "batch=2 steps=2"},
    {"sample_nets/mlp_swish_fused.py", "", "batch=2 steps=2"},
    {"sample_nets/optimizer_in_backward.py", "WIDTH=256 LAYERS=3", "batch=2 steps=3"},
    {"sample_nets/resnet1001.py", "", "batch=1 steps=1"},
    {"sample_nets/resnet152.py", "", "batch=1 steps=2"},
    {"sample_nets/resnet18.py", "", "batch=1 steps=2"},
    {"sample_nets/resnet50.py", "", "batch=1 steps=2"},
    {"sample_nets/unet.py", "", "batch=1 steps=1"},
    {"sample_nets/variables.py", "", "batch=2 steps=3"},
    {"sample_nets/variables_rebind.py", "", "batch=2 steps=3"},
    {"sample_nets/vgg16.py", "", "batch=1 steps=1"},
    {"sample_nets/vgg19_counters.py", "SIDE=32", "batch=1 steps=1"},
    {"sample_nets/vit_tiny.py", "", "batch=1 steps=2"},
};
const size_t FACTS_SAMPLE_COUNT = sizeof(FACTS_SAMPLES) / sizeof(FACTS_SAMPLES[0]);

const char *const FACTS_SMALL[] = {
    "sample_nets/lenet.py",
    "tests/nets/amp_regions.py",
    "tests/nets/ckpt_nested.py",
    "tests/nets/ckpt_sequential.py",
    "tests/nets/conv_small.py",
    "tests/nets/custom_function.py",
    "tests/nets/dense_small.py",
    "tests/nets/gpt_tiny.py",
    "tests/nets/gpt_tiny_ckpt.py",
    "tests/nets/gpt_tiny_ckpt_reentrant.py",
    "tests/nets/gpt_tiny_sdpa.py",
    "tests/nets/grad_hooks.py",
    "tests/nets/inplace_refused.py",
    "tests/nets/leak_loss.py",
    "tests/nets/lifetimes.py",
    "tests/nets/lstm_cells.py",
    "tests/nets/mlp.py",
    "tests/nets/mlp_activations.py",
    "tests/nets/resnet_small.py",
    "tests/nets/shared_module.py",
    "tests/nets/two_losses.py",
    "tests/nets/unet_small.py",
    "tests/nets/vit_small.py",
};
const size_t FACTS_SMALL_COUNT = sizeof(FACTS_SMALL) / sizeof(FACTS_SMALL[0]);

/* Together, because one changes what the other does. */
static const char *const TOGETHER[] = {
    "checkpoint=blocks amp=fp16",
    "checkpoint=blocks checkpoint-impl=reentrant",
    "checkpoint=segments=2 checkpoint-impl=reentrant amp=bf16",
    "checkpoint=blocks inplace=on",
    "checkpoint=blocks preserve-rng=off",
    "amp=fp16 optimizer=adam zero-grad=zeros",
    "amp=fp16 accumulate=2",
    "half=on optimizer=adamw",
    "optimizer=momentum foreach=off",
    "optimizer=adam foreach=off",
    "optimizer=adamw foreach=off",
    "grad=no_grad inplace=on",
    "empty-cache=phase alloc-conf=expandable_segments:True",
    "drop-outputs=on detach-loss=off",
    "freeze=half optimizer=adam",
    "prefetch=2 accumulate=2 drop-outputs=on",
    "shard=zero1 world=3 optimizer=adam zero-grad=zeros",
    "shard=ddp checkpoint=blocks amp=bf16 accumulate=2",
};

static bool is_full(void)
{
    const char *full = getenv("FACTS_FULL");

    return full && *full && strcmp(full, "0") != 0;
}

struct facts_net facts_sample_read(const struct facts_sample *sample)
{
    struct facts_net net = facts_net_read(sample->path);
    char *copy = vs_strdup(is_full() ? "" : sample->small);
    char *rest = NULL;

    for (char *pair = strtok_r(copy, " ", &rest); pair; pair = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(pair, '=');

        VS_ASSERT(value);
        *value++ = '\0';
        facts_net_set(&net, pair, strtoull(value, NULL, 10));
    }
    vs_free(copy);
    return net;
}

/* Value number `i` of one toggle: the legal words, then what --each tries besides; counts are tries only. */
static bool value_of(enum vs_toggle toggle, size_t i, char *buf)
{
    const struct vs_toggle_info *info = vs_toggle_info(toggle);
    size_t words = 0;

    if (info->flags & VS_TOGGLE_PROGRAM) /* nets refuse it */
        return false;
    while (vs_toggle_choice(toggle, words, buf))
        words++;
    if (i < words)
        return vs_toggle_choice(toggle, i, buf);
    return vs_toggle_try(toggle, words ? "" : info->initial, i - words, buf);
}

bool facts_pairs(size_t i, char *buf)
{
    char value[VS_TOGGLE_VALUE_MAX];

    for (int t = 0; t < VS_TOGGLE_COUNT; t++)
        for (size_t n = 0; value_of((enum vs_toggle)t, n, value); n++)
            if (i-- == 0) {
                snprintf(buf, FACTS_PAIRS_MAX, "%s=%s", vs_toggle_info((enum vs_toggle)t)->name,
                         value);
                return true;
            }
    if (i >= sizeof(TOGETHER) / sizeof(TOGETHER[0]))
        return false;
    snprintf(buf, FACTS_PAIRS_MAX, "%s", TOGETHER[i]);
    return true;
}

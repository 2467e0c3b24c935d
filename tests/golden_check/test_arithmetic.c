/*
 * tests/golden_check/test_arithmetic.c - a toggle that changes memory never changes results: on the CPU, bit for bit.
 *
 * Every sample net, made small where it is large, and every net of tests/nets, dropout and all, from one seed.
 */
#include <glob.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tests/golden_check/numbers.h"
#include "tests/share.h"

#define SEED 7
#define MOST_NETS 100
#define MOST_CHANGES 5

/* Texts in a sample net and their replacements in this test: fewer layers, smaller images. */
struct smaller {
    const char *path;
    const char *change[MOST_CHANGES][2];
};

static const struct smaller SMALLER[] = {
    {"sample_nets/densenet121.py", {{"GROWTH = 32", "GROWTH = 4"}, {"224, 224", "64, 64"}}},
    {"sample_nets/densenet_bc100.py", {{"LAYERS = 16", "LAYERS = 4"}}},
    {"sample_nets/densenet_bc100_ckpt.py", {{"LAYERS = 16", "LAYERS = 4"}}},
    {"sample_nets/gpt2_small.py",
     {{"VOCAB = 50257", "VOCAB = 101"},
      {"WIDTH = 768", "WIDTH = 48"},
      {"LAYERS = 12", "LAYERS = 4"},
      {"TOKENS = 256", "TOKENS = 24"}}},
    {"sample_nets/gpt2_small_sdpa.py",
     {{"VOCAB = 50257", "VOCAB = 101"},
      {"WIDTH = 768", "WIDTH = 48"},
      {"LAYERS = 12", "LAYERS = 4"},
      {"TOKENS = 256", "TOKENS = 24"}}},
    {"sample_nets/lm4.py",
     {{"VOCAB = 10000", "VOCAB = 101"},
      {"WIDTH = 512", "WIDTH = 64"},
      {"FF = 1344", "FF = 96"},
      {"LENGTH = 200", "LENGTH = 20"}}},
    {"sample_nets/lm4_forward.py",
     {{"VOCAB = 10000", "VOCAB = 101"},
      {"WIDTH = 512", "WIDTH = 64"},
      {"FF = 1344", "FF = 96"},
      {"LENGTH = 100", "LENGTH = 20"}}},
    {"sample_nets/batch_norm_act.py", {{"64, 64", "8, 8"}}},
    {"sample_nets/inplace_abn.py", {{"64, 64", "8, 8"}}},
    {"sample_nets/linear100.py", {{"range(100)", "range(20)"}}},
    {"sample_nets/mlp_swish.py", {{"2 ** 19", "2 ** 9"}}},
    {"sample_nets/mlp_swish_custom.py", {{"2 ** 19", "2 ** 9"}}},
    {"sample_nets/mlp_swish_fused.py", {{"2 ** 19", "2 ** 9"}}},
    {"sample_nets/resnet152.py", {{"224, 224", "32, 32"}, {"256", "32"}, {"512", "32"}}},
    {"sample_nets/resnet18.py", {{"224, 224", "64, 64"}, {"256", "32"}, {"512", "32"}}},
    {"sample_nets/resnet50.py", {{"224, 224", "32, 32"}, {"256", "32"}, {"512", "32"}}},
    {"sample_nets/unet.py", {{"UNet(64, 2)", "UNet(8, 2)"}, {"256, 256", "32, 32"}}},
    {"sample_nets/vgg19_counters.py", {{"SIDE = 512", "SIDE = 4"}, {"512", "32"}}},
    {"sample_nets/vgg16.py",
     {{"512 * 7 * 7", "512"},
      {"(7, 7)", "(1, 1)"},
      {"4096", "256"},
      {"224, 224", "32, 32"},
      {"512", "32"}}},
};

struct nets {
    char *path[MOST_NETS];
    char *text[MOST_NETS];
    size_t count;
};

/* ---- nets ---- */

/* Every `from` of text (taken) becomes `to`; there is one. */
static char *replaced(const char *path, char *text, const char *from, const char *to)
{
    char *at = strstr(text, from);

    if (!at)
        fail_msg("%s: there is no \"%s\"", path, from);
    while (at) {
        size_t before = (size_t)(at - text);
        char *out = vs_alloc(strlen(text) + strlen(to) + 1);

        memcpy(out, text, before);
        strcpy(out + before, to);
        strcat(out, at + strlen(from));
        free(text);
        text = out;
        at = strstr(text + before + strlen(to), from);
    }
    return text;
}

static char *smaller_text(const char *path)
{
    char *text = numbers_read_file(path);

    for (size_t i = 0; i < sizeof(SMALLER) / sizeof(SMALLER[0]); i++) {
        for (size_t k = 0;
             !strcmp(SMALLER[i].path, path) && k < MOST_CHANGES && SMALLER[i].change[k][0]; k++)
            text = replaced(path, text, SMALLER[i].change[k][0], SMALLER[i].change[k][1]);
    }
    return text;
}

/* PyTorch refuses its backward, as we do (tests/golden/oracle/events.jsonl.gz): there is no arithmetic to compare. */
static bool is_refused(const char *path)
{
    return !strcmp(path, "tests/nets/ckpt_inplace.py");
}

static int nets_read(void **state)
{
    static const char *const PATTERNS[] = {"sample_nets/*.py", "tests/nets/*.py"};
    struct nets *nets = vs_calloc(1, sizeof(*nets));

    for (size_t i = 0; i < 2; i++) {
        glob_t found;

        if (glob(PATTERNS[i], 0, NULL, &found))
            return -1;
        for (size_t k = 0; k < found.gl_pathc && nets->count < MOST_NETS; k++) {
            if (is_refused(found.gl_pathv[k]))
                continue;
            nets->path[nets->count] = vs_strdup(found.gl_pathv[k]);
            nets->text[nets->count] = smaller_text(found.gl_pathv[k]);
            nets->count++;
        }
        globfree(&found);
    }
    *state = nets;
    return 0;
}

static int nets_free(void **state)
{
    struct nets *nets = *state;

    for (size_t i = 0; i < nets->count; i++) {
        free(nets->path[i]);
        free(nets->text[i]);
    }
    free(nets);
    return 0;
}

static void run_plain(const struct nets *nets, size_t i, struct numbers *out)
{
    numbers_run_text(nets->path[i], nets->text[i], "batch=2 steps=2", false, SEED, out);
    if (out->status)
        fail_msg("%s: %s", nets->path[i], out->error.text);
}

/* ---- tests ---- */

/*
 * Layers take a list: the reentrant form sees no tensor among their arguments, and as in PyTorch (2.15 warns) gives
 * them no gradients.
 */
static bool gives_lists(const char *path)
{
    return !strcmp(path, "tests/nets/dense_small.py");
}

/* Buffers are left out: batch norm counts a batch again when it is run again, as it does in PyTorch. */
static void checkpointing_keeps_results_bit_for_bit(void **state)
{
    static const char *const WAYS[] = {"checkpoint=blocks", "checkpoint=segments=2",
                                       "checkpoint=sqrt"};
    static const char *const FORMS[] = {"non-reentrant", "reentrant"};
    const struct nets *nets = *state;
    size_t same = 0, all = 0, recomputing = 0;

    for (size_t i = 0; i < nets->count; i++) {
        struct numbers plain;

        run_plain(nets, i, &plain);
        for (size_t k = 0; k < 6; k++) {
            char toggles[128], why[1024];
            struct numbers with;

            if (!tests_share_has(i, k, 6) || (k % 2 && gives_lists(nets->path[i])))
                continue;
            snprintf(toggles, sizeof(toggles), "batch=2 steps=2 %s checkpoint-impl=%s", WAYS[k / 2],
                     FORMS[k % 2]);
            numbers_run_text(nets->path[i], nets->text[i], toggles, false, SEED, &with);
            /* "the model has no nn.Sequential", "has only 1 children" */
            if (!with.status || !strstr(with.error.text, "checkpoint=s")) {
                bool ok = numbers_identical(&plain, &with, false, why, sizeof(why));

                all++;
                same += ok;
                recomputing +=
                    with.result.step_count > 0 && with.result.steps[0].recomputed_ops > 0;
                if (!ok)
                    fprintf(stderr, "%s %s: %s\n", nets->path[i], toggles, why);
            }
            numbers_release(&with);
        }
        numbers_release(&plain);
    }
    printf("checkpoint: %zu of %zu the same, %zu of them computed again\n", same, all, recomputing);
    assert_int_equal(same, all);
    assert_true(recomputing * 4 > all);
}

/* PyTorch 2.15 keeps these four, too. */
static void reentrant_checkpoints_of_lists_lose_gradients(void **state)
{
    static const char *const KEPT[] = {"stem.weight", "stem.bias", "fc.weight", "fc.bias"};
    const struct nets *nets = *state;
    size_t runs = 0;

    for (size_t i = 0; i < nets->count; i++) {
        struct numbers with;
        size_t gradients = 0;

        if (!gives_lists(nets->path[i]))
            continue;
        runs++;
        numbers_run_text(nets->path[i], nets->text[i],
                         "batch=2 steps=2 checkpoint=blocks checkpoint-impl=reentrant", false, SEED,
                         &with);
        assert_int_equal(with.status, VS_OK);
        for (size_t k = 0; k < with.count; k++)
            gradients += !strcmp(with.tensors[k].kind, "gradient");
        assert_int_equal(gradients, 4);
        for (size_t k = 0; k < 4; k++)
            assert_non_null(numbers_find(&with, "gradient", KEPT[k]));
        numbers_release(&with);
    }
    assert_int_equal(runs, 1);
}

static void working_in_place_keeps_results_bit_for_bit(void **state)
{
    const struct nets *nets = *state;
    size_t same = 0, in_place = 0;

    for (size_t i = 0; i < nets->count; i++) {
        struct numbers plain, with;
        char why[1024];
        bool ok;

        run_plain(nets, i, &plain);
        numbers_run_text(nets->path[i], nets->text[i], "batch=2 steps=2 inplace=on", false, SEED,
                         &with);
        ok = numbers_identical(&plain, &with, true, why, sizeof(why));
        same += ok;
        in_place += with.result.inplace_count > 0;
        if (!ok)
            fprintf(stderr, "%s inplace=on: %s\n", nets->path[i], why);
        numbers_release(&with);
        numbers_release(&plain);
    }
    printf("inplace: %zu of %zu the same, %zu of them work in place\n", same, nets->count,
           in_place);
    assert_int_equal(same, nets->count);
    assert_true(in_place > nets->count / 4);
}

static void a_seed_determines_a_run(void **state)
{
    const struct nets *nets = *state;
    size_t all = 0, same = 0, other = 0;

    for (size_t i = 0; i < nets->count; i++) {
        struct numbers first, again, another;
        char why[1024];

        if (!tests_share_has(i, 0, 3))
            continue;
        all++;
        run_plain(nets, i, &first);
        run_plain(nets, i, &again);
        numbers_run_text(nets->path[i], nets->text[i], "batch=2 steps=2", false, SEED + 1,
                         &another);
        if (numbers_identical(&first, &again, true, why, sizeof(why)))
            same++;
        else
            fprintf(stderr, "%s, twice: %s\n", nets->path[i], why);
        other += !numbers_identical(&first, &another, true, why, sizeof(why));
        numbers_release(&another);
        numbers_release(&again);
        numbers_release(&first);
    }
    printf("seed: %zu of %zu the same again, %zu another with another seed\n", same, all, other);
    assert_true(all > 10);
    assert_int_equal(same, all);
    assert_int_equal(other, all);
}

static void dropout_differs_where_its_random_numbers_are_not_kept(void **state)
{
    const struct nets *nets = *state;
    size_t different = 0;

    for (size_t i = 0; i < nets->count; i++) {
        struct numbers kept, lost;
        char why[1024];

        if (strcmp(nets->path[i], "sample_nets/gpt2_small.py") != 0)
            continue;
        numbers_run_text(nets->path[i], nets->text[i], "batch=2 steps=2 checkpoint=blocks", false,
                         SEED, &kept);
        numbers_run_text(nets->path[i], nets->text[i],
                         "batch=2 steps=2 checkpoint=blocks preserve-rng=off", false, SEED, &lost);
        assert_int_equal(lost.status, VS_OK);
        different += !numbers_identical(&kept, &lost, true, why, sizeof(why));
        numbers_release(&lost);
        numbers_release(&kept);
    }
    assert_int_equal(different, 1);
}

#define A_HOOK "register_post_accumulate_grad_hook"

/* The net's own batch of 4, whole or in parts. The first step only: the weights of the second one differ by then. */
static const char IN_PARTS[] = "\n\nwhole_batch = batch\nparts = []\n\n\n"
                               "def batch(n):\n"
                               "    if len(parts) == 0:\n"
                               "        inputs, targets = whole_batch(4)\n"
                               "        for at in range(0, 4, n):\n"
                               "            parts.append((inputs[at:at + n], targets[at:at + n]))\n"
                               "    part = parts[0]\n"
                               "    del parts[0]\n"
                               "    return part\n";

static void accumulating_gives_the_gradients_of_the_full_batch(void **state)
{
    const struct nets *nets = *state;
    size_t near = 0, all = 0;

    for (size_t i = 0; i < nets->count; i++) {
        struct numbers full, parts;
        char *text, why[1024];
        bool ok;

        /*
         * a step of the net's own is not divided by the loop; batch norm sees the batch; a hook steps after each part
         */
        if (strstr(nets->text[i], "BatchNorm") || strstr(nets->text[i], "def train_step") ||
            strstr(nets->text[i], "data=\"once\"") || strstr(nets->text[i], A_HOOK))
            continue;
        text = vs_alloc(strlen(nets->text[i]) + sizeof(IN_PARTS));
        strcpy(text, nets->text[i]);
        strcat(text, IN_PARTS);
        numbers_run_text(nets->path[i], text, "batch=4 steps=1 optimizer=sgd", true, SEED, &full);
        numbers_run_text(nets->path[i], text, "batch=4 steps=1 optimizer=sgd accumulate=2", true,
                         SEED, &parts);
        ok = numbers_close(&full, &parts, 1e-5, why, sizeof(why));
        all++;
        near += ok;
        if (!ok)
            fprintf(stderr, "%s accumulate=2: %s\n", nets->path[i], why);
        numbers_release(&parts);
        numbers_release(&full);
        free(text);
    }
    printf("accumulate: %zu of %zu near\n", near, all);
    assert_int_equal(near, all);
    assert_true(all > 10);
}

static void a_chunked_loss_gives_the_gradients_of_cross_entropy(void **state)
{
    const struct nets *nets = *state;
    size_t near = 0, all = 0, other = 0;

    for (size_t i = 0; i < nets->count; i++) {
        struct numbers plain, chunked;
        char why[1024];
        bool ok;

        /* half types round each chunk */
        if (!strstr(nets->text[i], "cross_entropy") || strstr(nets->text[i], "autocast") ||
            !tests_share_has(i, 0, 2))
            continue;
        numbers_run_text(nets->path[i], nets->text[i], "batch=4 steps=1 optimizer=sgd", true, SEED,
                         &plain);
        numbers_run_text(nets->path[i], nets->text[i], "batch=4 steps=1 optimizer=sgd chunk-loss=3",
                         true, SEED, &chunked);
        ok = numbers_close(&plain, &chunked, 1e-5, why, sizeof(why));
        all++;
        near += ok;
        if (!ok)
            fprintf(stderr, "%s chunk-loss=3: %s\n", nets->path[i], why);
        other += !numbers_identical(&plain, &chunked, true, why, sizeof(why));
        numbers_release(&chunked);
        numbers_release(&plain);
    }
    printf("chunk-loss: %zu of %zu near, %zu with other digits\n", near, all, other);
    assert_int_equal(near, all);
    assert_true(all >= 5 && other > 0);
}

/*
 * The first step in half types, against float: loss, gradients, weights. Bounds are some roundings of the type (2^-11,
 * 2^-8) through a few layers; PyTorch gives no figures, its CPU has other rules for autocast. Batch norm of few values
 * and thresholds turn a rounding into a jump, so such nets are left out, and those whose optimizer works in a hook,
 * where a scaler finds none; a step the scaler skipped has gradients past fp16's end, and only its loss is compared.
 */
static void half_types_stay_close_to_float32(void **state)
{
    static const struct {
        const char *toggles;
        double relative;
    } CASES[] = {{"amp=bf16", 0.04}, {"amp=fp16", 0.02}, {"half=on", 0.02}};
    const struct nets *nets = *state;
    size_t near = 0, skipped = 0, all = 0;

    for (size_t i = 0; i < nets->count; i++) {
        struct numbers plain;

        if (strncmp(nets->path[i], "tests/", 6) != 0 || strstr(nets->text[i], "BatchNorm") ||
            strstr(nets->text[i], "Threshold") || strstr(nets->text[i], A_HOOK))
            continue;
        numbers_run_text(nets->path[i], nets->text[i], "steps=1 optimizer=sgd", true, SEED, &plain);
        assert_int_equal(plain.status, VS_OK);
        for (size_t k = 0; k < sizeof(CASES) / sizeof(CASES[0]); k++) {
            char toggles[64], why[1024] = "the loss";
            struct numbers with;
            bool ok;

            snprintf(toggles, sizeof(toggles), "steps=1 optimizer=sgd %s", CASES[k].toggles);
            numbers_run_text(nets->path[i], nets->text[i], toggles, true, SEED, &with);
            if (!with.status && with.result.steps[0].skipped) {
                ok = fabs(with.result.steps[0].loss - plain.result.steps[0].loss) <=
                     CASES[k].relative * fabs(plain.result.steps[0].loss);
                skipped++;
            } else {
                bool same_type = with.count == plain.count;

                for (size_t j = 0; same_type && j < with.count; j++)
                    with.tensors[j].dtype = plain.tensors[j].dtype;
                ok = numbers_close(&plain, &with, CASES[k].relative, why, sizeof(why));
            }
            all++;
            near += ok;
            if (!ok)
                fprintf(stderr, "%s %s: %s\n", nets->path[i], toggles, why);
            numbers_release(&with);
        }
        numbers_release(&plain);
    }
    printf("half types: %zu of %zu near, %zu of them skipped by the scaler\n", near, all, skipped);
    assert_int_equal(near, all);
    assert_true(all > 30 && skipped < all / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checkpointing_keeps_results_bit_for_bit),
        cmocka_unit_test(reentrant_checkpoints_of_lists_lose_gradients),
        cmocka_unit_test(working_in_place_keeps_results_bit_for_bit),
        cmocka_unit_test(a_seed_determines_a_run),
        cmocka_unit_test(dropout_differs_where_its_random_numbers_are_not_kept),
        cmocka_unit_test(accumulating_gives_the_gradients_of_the_full_batch),
        cmocka_unit_test(a_chunked_loss_gives_the_gradients_of_cross_entropy),
        cmocka_unit_test(half_types_stay_close_to_float32),
    };

    return cmocka_run_group_tests_name("golden_check/arithmetic", tests, nets_read, nets_free);
}

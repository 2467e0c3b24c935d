/*
 * tests/whatif/grid/test_run.c - the result of a configuration beside the what-if with its toggles.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "replay/report/summary.h"
#include "tests/replay/net_trace.h"
#include "whatif/grid/front.h"
#include "whatif/grid/run.h"
#include "whatif/whatif.h"

static void toggles_fill(struct vs_toggles *out, const char *pairs)
{
    struct vs_error err = VS_ERROR_INIT;
    char *words = vs_strdup(pairs);
    char *rest = words;
    char *word;

    while ((word = strtok_r(rest, " ", &rest)) != NULL)
        if (vs_toggles_set_pair(out, word, &err))
            fail_msg("%s", err.text);
    vs_free(words);
}

/* Run one configuration of the net that `base` was recorded of. */
static struct sto_result result_of(struct rpl_trace *base, const char *pairs, uint64_t capacity)
{
    const struct wif_grid_net net = {.file_name = rpl_trace_source_name(base),
                                     .text = rpl_trace_source_text(base),
                                     .len = strlen(rpl_trace_source_text(base)),
                                     .capacity = capacity};
    struct wif_grid_runner *runner = NULL;
    struct vs_toggles toggles = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    struct sto_result result;

    toggles_fill(&toggles, pairs);
    if (wif_grid_runner_new(&net, &runner, &err))
        fail_msg("%s", err.text);
    wif_grid_run(runner, &toggles, &result);
    wif_grid_runner_free(runner);
    vs_toggles_release(&toggles);
    return result;
}

static void check(const char *file, const char *pairs)
{
    struct rpl_trace *base = net_trace(file, NULL);
    struct rpl_trace *run = rpl_trace_new();
    struct sto_result result = result_of(base, pairs, 0);
    struct rpl_summary sum = {.events = 0};
    struct vs_toggles toggles = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;

    toggles_fill(&toggles, pairs);
    if (wif_run(base, &toggles, run, &err) || rpl_summary_fill(&sum, run, &err))
        fail_msg("%s %s: %s", file, pairs, err.text);
    if (result.is_refused)
        fail_msg("%s %s: %s", file, pairs, result.reason);
    assert_true(result.fits);
    assert_int_equal(result.allocated, sum.peak.allocated);
    assert_int_equal(result.requested, sum.peak.requested);
    assert_int_equal(result.reserved, sum.peak.reserved);
    assert_int_equal(result.step, sum.peak.step);
    assert_int_equal(result.phase, sum.peak.phase);
    assert_int_equal(result.parameters, sum.parameters);
    assert_int_equal(result.total_flops, sum.flops);
    assert_int_equal(result.recompute_flops, sum.recompute_flops);
    rpl_summary_release(&sum);
    vs_toggles_release(&toggles);
    rpl_trace_free(run);
    rpl_trace_free(base);
}

static void a_result_equals_the_what_if_to_the_byte(void **state)
{
    static const char *const PAIRS[] = {
        "",
        "batch=3 optimizer=adam",
        "checkpoint=blocks amp=bf16",
        "checkpoint=auto",
        "accumulate=2 zero-grad=zeros",
        "shard=ddp world=4",
        "shard=zero1 world=4 optimizer=adamw",
        "shard=fsdp world=8 rank=7",
        "shard=fsdp world=2 reshard=off mp-policy=bf16",
        "alloc-conf=expandable_segments:True inplace=on",
        "target=a100-40",
        "grad=no_grad",
        "offload=activations",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(PAIRS) / sizeof(PAIRS[0]); i++)
        check("tests/nets/gpt_tiny.py", PAIRS[i]);
    check("tests/nets/resnet_small.py", "inplace=on checkpoint=sqrt");
}

static void what_does_not_fit_has_the_figures_of_an_unlimited_device(void **state)
{
    struct rpl_trace *base = net_trace("tests/nets/gpt_tiny.py", NULL);
    const struct sto_result all = result_of(base, "batch=4", 0);
    const struct sto_result tight = result_of(base, "batch=4", all.allocated / 2);
    const struct sto_result wide = result_of(base, "batch=4", all.reserved);

    (void)state;
    assert_true(all.fits && wide.fits);
    assert_false(tight.fits);
    assert_false(tight.is_refused);
    assert_int_equal(tight.allocated, all.allocated);
    assert_int_equal(tight.reserved, all.reserved);
    assert_int_equal(tight.total_flops, all.total_flops);
    assert_int_equal(wide.allocated, all.allocated);
    rpl_trace_free(base);
}

static void what_cannot_be_run_has_its_reason(void **state)
{
    struct rpl_trace *base = net_trace("tests/nets/gpt_tiny.py", NULL);
    struct sto_result result = result_of(base, "shard=fsdp world=4 rank=4", 0);

    (void)state;
    assert_true(result.is_refused);
    assert_non_null(strstr(result.reason, "the ranks of world=4 are 0 to 3"));
    result = result_of(base, "world=4", 0);
    assert_false(result.is_refused);
    assert_string_equal(result.notes, "world 4: nothing is sharded; say how: shard=ddp");
    rpl_trace_free(base);
}

static const struct sto_collective *collective_of(const struct sto_result *result, const char *name)
{
    for (size_t i = 0; i < result->collective_count; i++)
        if (strcmp(result->collectives[i].name, name) == 0)
            return &result->collectives[i];
    fail_msg("there is no %s", name);
    return NULL;
}

/*
 * docs/internals/sharding.md: with world 4 the two blocks have shards of 28,272 bytes, the root one of 5,856. A step
 * gathers each block in forward and in backward, the root once, and reduces each once.
 */
static void a_step_sends_what_its_shards_say(void **state)
{
    const uint64_t gathered = 2 * 2 * 28272 + 5856;
    const uint64_t reduced = 4 * (2 * 28272 + 5856);
    struct rpl_trace *base = net_trace("tests/nets/gpt_tiny.py", NULL);
    const struct sto_result result = result_of(base, "shard=fsdp world=4", 0);
    const struct sto_collective *gather = collective_of(&result, "ncclAllGather");
    const struct sto_collective *scatter = collective_of(&result, "ncclReduceScatter");

    (void)state;
    assert_int_equal(result.processes, 4);
    assert_int_equal(result.collective_count, 2);
    assert_int_equal(gather->count, 5);
    assert_int_equal(gather->bytes, gathered);
    assert_int_equal(gather->sent, 3 * gathered);
    assert_int_equal(scatter->count, 3);
    assert_int_equal(scatter->bytes, reduced);
    assert_int_equal(scatter->sent, reduced / 4 * 3);
    assert_int_equal(wif_grid_step_sent(&result), gather->sent + scatter->sent);
    rpl_trace_free(base);
}

/* With two parts of a batch the shards of gpt_tiny are gathered in both, and gradients reduced in the last alone. */
static void gradients_that_wait_are_sent_once(void **state)
{
    struct rpl_trace *base = net_trace("tests/nets/gpt_tiny.py", NULL);
    struct sto_result each = result_of(base, "batch=4 accumulate=2 shard=fsdp world=4", 0);
    struct sto_result last =
        result_of(base, "batch=4 accumulate=2 shard=fsdp world=4 grad-sync=last", 0);

    (void)state;
    assert_int_equal(collective_of(&each, "ncclReduceScatter")->count, 6);
    assert_int_equal(collective_of(&last, "ncclReduceScatter")->count, 3);
    assert_int_equal(collective_of(&each, "ncclAllGather")->count, 10);
    assert_int_equal(collective_of(&last, "ncclAllGather")->count, 10);
    each = result_of(base, "batch=4 accumulate=2 shard=ddp world=4", 0);
    last = result_of(base, "batch=4 accumulate=2 shard=ddp world=4 grad-sync=last", 0);
    assert_int_equal(collective_of(&each, "ncclAllReduce")->bytes,
                     2 * collective_of(&last, "ncclAllReduce")->bytes);
    rpl_trace_free(base);
}

static void what_fully_shard_cannot_do_is_refused(void **state)
{
    static const char *const CASES[][2] = {
        {"shard=fsdp shard-units=Blok", "no module is of a class `Blok` or at such a path"},
        {"shard=fsdp checkpoint=auto", "placements are not planned for shard=fsdp yet"},
        {"shard=fsdp offload-policy=cpu amp=fp16", "where NCCL sends nothing"},
    };
    struct rpl_trace *base = net_trace("tests/nets/gpt_tiny.py", NULL);

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct sto_result result = result_of(base, CASES[i][0], 0);

        if (!result.is_refused || !strstr(result.reason, CASES[i][1]))
            fail_msg("%s: %s", CASES[i][0], result.reason);
    }
    rpl_trace_free(base);
}

#define PLAN "0:colwise,2:rowwise,4:colwise,6:rowwise"

/*
 * Layers of 24, 48, 32, 64 and 10 on 12 samples: what two row-wise ones give, and what the later column-wise one takes.
 */
static void tensor_parallelism_says_what_a_step_sends(void **state)
{
    struct rpl_trace *base = net_trace("tests/nets/tp/linear.py", NULL);
    const struct sto_result result = result_of(base, "shard=tp world=4 tp-plan=" PLAN, 0);
    const struct sto_collective *sent = collective_of(&result, "ncclAllReduce");

    (void)state;
    assert_int_equal(sent->count, 3);
    assert_int_equal(sent->bytes, 12 * (32 + 10 + 32) * 4);
    assert_int_equal(sent->sent, sent->bytes * 2 * 3 / 4);
    rpl_trace_free(base);
}

/* All layers are split into equal parts, so the processes of a batch do together what one does alone. */
static void processes_that_share_a_batch_share_its_arithmetic(void **state)
{
    static const struct {
        const char *toggles;
        uint64_t sharing;
    } CASES[] = {{"shard=ddp world=8", 1},
                 {"shard=tp world=4 tp-plan=" PLAN, 4},
                 {"shard=fsdp world=8", 1},
                 {"shard=fsdp world=8 tp=2 tp-plan=" PLAN, 2},
                 {"shard=fsdp world=8 tp=2 replicate=4 tp-plan=" PLAN, 2}};
    struct rpl_trace *base = net_trace("tests/nets/tp/linear.py", NULL);
    const struct sto_result alone = result_of(base, "shard=off", 0);

    (void)state;
    assert_int_equal(alone.sharing, 1);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct sto_result result = result_of(base, CASES[i].toggles, 0);

        if (result.sharing != CASES[i].sharing ||
            fabs(wif_grid_flops(&result) - wif_grid_flops(&alone)) > 1e-3)
            fail_msg("%s: %.3f operations a sample, alone %.3f", CASES[i].toggles,
                     wif_grid_flops(&result), wif_grid_flops(&alone));
    }
    rpl_trace_free(base);
}

/* Each case: toggles beside `shard`, and a part of the reason why they are refused. */
static void refused(const char *net, const char *shard, const char *const (*cases)[2], size_t count)
{
    struct rpl_trace *base = net_trace(net, NULL);

    for (size_t i = 0; i < count; i++) {
        char toggles[200];
        struct sto_result result;

        snprintf(toggles, sizeof(toggles), "%s %s", shard, cases[i][0]);
        result = result_of(base, toggles, 0);
        if (!result.is_refused || !strstr(result.reason, cases[i][1]))
            fail_msg("%s: %s", toggles, result.reason);
    }
    rpl_trace_free(base);
}

static void what_context_parallelism_cannot_do_is_refused(void **state)
{
    static const char *const CASES[][2] = {
        {"world=4 cp=3", "cp=3: it does not divide world=4"},
        {"world=2 cp=2", "does not divide the 15 elements of the batch's sequences"},
        {"world=3 cp=3", "logsumexp to a multiple of 32 rows"}, /* float32 */
        {"world=3 cp=3 half=on offload=activations", "attention saves DTensors"},
        {"world=3 cp=3 half=on checkpoint=selective", "use checkpoint=blocks"},
        {"world=3 cp=3 half=on cp-buffers=rope", "PATH:DIMENSION with commas between"},
        {"world=3 cp=3 half=on cp-buffers=rope:0", "the model has no buffer `rope`"},
        {"world=3 cp=3 half=on torch=2.11", "known of PyTorch 2.15 alone"},
    };
    static const char *const BALANCED[][2] = {
        {"world=2 cp=2 cp-buffers=blocks:0", "the model has no buffer `blocks`"},
        {"world=2 cp=2 cp-buffers=rope:2", "rope has no dimension 2"},
        {"world=2 cp=2 cp-buffers=rope:1", "has not 128 elements along dimension 1"},
    };

    (void)state;
    refused("tests/nets/cp/encoder.py", "shard=fsdp", CASES, sizeof(CASES) / sizeof(CASES[0]));
    refused("tests/nets/cp/gpt.py", "shard=fsdp", BALANCED, sizeof(BALANCED) / sizeof(BALANCED[0]));
}

static void what_a_mesh_cannot_do_is_refused(void **state)
{
    static const char *const CASES[][2] = {
        {"world=8 replicate=3", "replicate=3: it does not divide world=8"},
        {"world=8 replicate=2 tp=8 tp-plan=" PLAN,
         "replicate=2, tp=8: their product does not divide world=8"},
        {"world=8 rank=8 replicate=2", "the ranks of world=8 are 0 to 7"},
        {"world=8 tp=2", "no layer is named; set tp-plan"},
        {"world=8 tp=2 offload=activations tp-plan=" PLAN, "mixed torch.Tensor and DTensor"},
        {"world=8 tp=2 amp=fp16 tp-plan=" PLAN, "a GradScaler together with tensor parallelism"},
        {"world=8 tp=2 loss-parallel=on chunk-loss=2 tp-plan=" PLAN ":local=off",
         "F.cross_entropy() gets a DTensor"},
        {"world=6 tp=3 tp-plan=" PLAN, "dimension 0 of 4.weight, 64, does not divide into 3"},
    };

    (void)state;
    refused("tests/nets/tp/linear.py", "shard=fsdp", CASES, sizeof(CASES) / sizeof(CASES[0]));
}

static void what_tensor_parallelism_cannot_do_is_refused(void **state)
{
    static const char *const CASES[][2] = {
        {"world=4", "no layer is named"},
        {"world=4 tp-plan=0", "not of the form PATH:STYLE, with a STYLE of colwise, rowwise, seq"},
        {"world=4 tp-plan=0:column", "not of the form PATH:STYLE"},
        {"world=4 tp-plan=0:colwise:layout=shard1", "the options of colwise are input=, output="},
        {"world=4 tp-plan=0:colwise:input=split", "input=split: a layout is replicate, or shard"},
        {"world=4 tp-plan=0:colwise:local=no", "local=no: on or off"},
        {"world=4 tp-plan=0:prepare-input:input=shard1", "prepare-input needs desired=replicate"},
        {"world=4 tp-plan=1:sequence", "only nn.LayerNorm, nn.RMSNorm and nn.Dropout are followed"},
        {"world=4 tp-plan=9:colwise", "the model has no module at such a path"},
        {"world=4 tp-plan=1:colwise",
         "the class of 1 is ReLU, and only nn.Linear and nn.Embedding are split; for other plans "
         "record the script"},
        {"world=4 tp-plan=0:colwise,0:rowwise", "0 is split already"},
        {"world=3 tp-plan=" PLAN,
         "dimension 0 of 4.weight, 64, does not divide into 3 equal parts"},
        {"world=4 tp-plan=0:colwise,2:rowwise", "mixed torch.Tensor and DTensor: 4.weight is not"},
        {"world=4 rank=4 tp-plan=" PLAN, "the ranks of world=4 are 0 to 3"},
        {"world=1 tp-plan=" PLAN, "one process has all parts"},
        {"world=4 offload=activations tp-plan=" PLAN, "mixed torch.Tensor and DTensor"},
        {"world=4 amp=fp16 tp-plan=" PLAN, "a GradScaler together with tensor parallelism"},
        {"world=4 checkpoint=auto tp-plan=" PLAN, "placements are not planned for shard=tp"},
        {"world=2 foreach=off tp-plan=6:colwise:local=off", "a DTensor outside of loss_parallel()"},
        {"world=4 torch=2.11 tp-plan=" PLAN, "known of PyTorch 2.15 alone"},
    };

    (void)state;
    refused("tests/nets/tp/linear.py", "shard=tp", CASES, sizeof(CASES) / sizeof(CASES[0]));
}

/*
 * The second of three stages of four microbatches of 2 samples of 5 rows of 32: activations from the left and to the
 * right, gradients the other way; and when they connect, which is not in the last step, a number each.
 */
static void a_stage_of_a_pipeline_says_what_a_step_sends(void **state)
{
    struct rpl_trace *base = net_trace("tests/nets/pp/mlp.py", NULL);
    const struct sto_result result = result_of(base, "shard=pp world=3 rank=1 pp-split=1,2", 0);
    const struct sto_collective *sent = collective_of(&result, "ncclSend");
    const struct sto_collective *received = collective_of(&result, "ncclRecv");

    (void)state;
    assert_int_equal(sent->count, 8);
    assert_int_equal(sent->bytes, 8 * 2 * 5 * 32 * 4);
    assert_int_equal(sent->sent, sent->bytes);
    assert_int_equal(received->count, 8);
    assert_int_equal(received->bytes, 8 * 2 * 5 * 32 * 4);
    assert_int_equal(received->sent, 0);
    rpl_trace_free(base);
}

static void what_a_pipeline_cannot_do_is_refused(void **state)
{
    static const char *const CASES[][2] = {
        {"world=2", "a pipeline of world=2 stages is cut at 1 modules"},
        {"world=3 pp-split=2", "a pipeline of world=3 stages is cut at 2 modules"},
        {"world=2 pp-split=9", "the model has no module at this path (0, 1, 1.norm, "},
        {"world=2 rank=2 pp-split=2",
         "the ranks of world=2, the processes of the pipeline, are 0 to 1"},
        {"world=1", "a pipeline has at least two stages"},
        {"world=4 microbatches=2 pp-split=1,2,3",
         "must be greater than or equal to the number of stages"},
        {"world=2 microbatches=3 pp-split=2",
         "batch=8 does not divide into microbatches=3 equal parts"},
        {"world=2 accumulate=4 pp-split=2",
         "batch=8 in accumulate=4 parts does not divide into microbatches=4"},
        {"world=2 amp=fp16 pp-split=2", "a GradScaler scales in the last stage alone"},
        {"world=2 checkpoint=auto pp-split=2", "placements are not planned for shard=pp"},
        {"world=2 torch=2.11 pp-split=2", "known of PyTorch 2.15 alone"},
        {"world=2 pp-split=1.up", "`NoneType` cannot be called"},
        {"world=3 pp-split=1,2,3 pp-schedule=interleaved1f1b",
         "each of the world=3 processes has equally many stages, and there are 4"},
        {"world=2 pp-split=1,2,3 microbatches=7 batch=14 pp-schedule=interleaved1f1b",
         "to be a multiple of the number of rounds (3)"},
    };

    (void)state;
    refused("tests/nets/pp/mlp.py", "shard=pp", CASES, sizeof(CASES) / sizeof(CASES[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_equals_the_what_if_to_the_byte),
        cmocka_unit_test(what_does_not_fit_has_the_figures_of_an_unlimited_device),
        cmocka_unit_test(what_cannot_be_run_has_its_reason),
        cmocka_unit_test(a_step_sends_what_its_shards_say),
        cmocka_unit_test(gradients_that_wait_are_sent_once),
        cmocka_unit_test(what_fully_shard_cannot_do_is_refused),
        cmocka_unit_test(tensor_parallelism_says_what_a_step_sends),
        cmocka_unit_test(what_context_parallelism_cannot_do_is_refused),
        cmocka_unit_test(processes_that_share_a_batch_share_its_arithmetic),
        cmocka_unit_test(what_a_mesh_cannot_do_is_refused),
        cmocka_unit_test(what_tensor_parallelism_cannot_do_is_refused),
        cmocka_unit_test(a_stage_of_a_pipeline_says_what_a_step_sends),
        cmocka_unit_test(what_a_pipeline_cannot_do_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

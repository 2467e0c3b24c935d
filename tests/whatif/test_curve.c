/*
 * tests/whatif/test_curve.c - peak against recomputation on every sample net: each point is what a run with it has,
 * more memory never costs more, and nobody's simple checkpoints use their peak better.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/curve.h"
#include "replay/report/summary.h"
#include "tests/replay/net_trace.h"
#include "whatif/curve.h"

/*
 * All of sample_nets/ but vgg19_counters.py, which trains nothing, and resnet1001.py, which takes as long as the others
 * together: both have a test of their own. And nets of tests/nets/ that do something more.
 */
static const struct {
    const char *net;
    const char *toggles;
} NETS[] = {
    {"sample_nets/batch_norm_act.py", "batch=4 steps=2"},
    {"sample_nets/densenet121.py", "batch=2 steps=2"},
    {"sample_nets/densenet_bc100.py", "batch=2 steps=2"},
    {"sample_nets/densenet_bc100_ckpt.py", "batch=2 steps=2"},
    {"sample_nets/gpt2_small.py", "batch=1 steps=2"},
    {"sample_nets/gpt2_small_sdpa.py", "batch=1 steps=2"},
    {"sample_nets/inplace_abn.py", "batch=4 steps=2"},
    {"sample_nets/lenet.py", "batch=64 steps=2"},
    {"sample_nets/linear100.py", "steps=2"},
    {"sample_nets/lm4.py", "steps=2"},
    {"sample_nets/lm4_forward.py", "steps=2"},
    {"sample_nets/mlp_swish.py", "steps=2"},
    {"sample_nets/mlp_swish_custom.py", "steps=2"},
    {"sample_nets/mlp_swish_fused.py", "steps=2"},
    {"sample_nets/optimizer_in_backward.py", "steps=2"},
    {"sample_nets/resnet18.py", "batch=8 steps=2"},
    {"sample_nets/resnet50.py", "batch=4 steps=2"},
    {"sample_nets/resnet152.py", "batch=4 steps=2"},
    {"sample_nets/unet.py", "batch=2 steps=2"},
    {"sample_nets/variables.py", "steps=2"},
    {"sample_nets/variables_rebind.py", "steps=2"},
    {"sample_nets/vgg16.py", "batch=4 steps=2"},
    {"sample_nets/vit_tiny.py", "batch=8 steps=2"},
    {"tests/nets/resnet_small.py", "optimizer=adam"},
    {"tests/nets/gpt_tiny.py", "amp=bf16"},
    {"tests/nets/shared_module.py", ""},
    {"tests/nets/lstm_cells.py", ""},
    {"tests/nets/custom_function.py", ""},
};
#define NET_COUNT (sizeof(NETS) / sizeof(NETS[0]))

/* Budgets between the least and the highest peak; CURVE_BUDGETS may say another number. */
#define BUDGETS 20

struct figures {
    uint64_t peak;
    uint64_t recompute_flops;
};

/* Runs the net with a value of `checkpoint`; false where it refuses the value. */
static bool run_value(struct rpl_trace *base, const char *value, struct figures *out)
{
    struct rpl_trace *run = rpl_trace_new();
    struct vs_toggles set = {{NULL}};
    struct rpl_summary sum = {.flops = 0};
    struct vs_error err = VS_ERROR_INIT;
    enum vs_status st = vs_toggles_set(&set, VS_TOGGLE_CHECKPOINT, value, &err);

    if (!st)
        st = wif_run(base, &set, run, &err);
    if (st && st != VS_E_VALUE && st != VS_E_RAISED && st != VS_E_AUTOGRAD && st != VS_E_INPLACE)
        fail_msg("checkpoint=%s: %s", value, err.text);
    if (!st && rpl_summary_fill(&sum, run, &err))
        fail_msg("checkpoint=%s: %s", value, err.text);
    *out = (struct figures){sum.peak.allocated, sum.recompute_flops};
    rpl_summary_release(&sum);
    vs_toggles_release(&set);
    rpl_trace_free(run);
    return st == VS_OK;
}

static void check_point(struct rpl_trace *base, const char *net, const char *value,
                        const struct wif_placement *promised)
{
    struct figures run;

    assert_true(run_value(base, value, &run));
    if (run.peak != promised->peak || run.recompute_flops != promised->recompute_flops)
        fail_msg("%s checkpoint=%s: peak %" PRIu64 " was promised, %" PRIu64 " came", net, value,
                 promised->peak, run.peak);
}

static void check_budgets(struct rpl_trace *base, const char *net, const struct wif_curve *curve)
{
    uint64_t high = curve->points[0].placement.peak;
    uint64_t low = curve->points[curve->count - 1].placement.peak;
    const char *text = getenv("CURVE_BUDGETS");
    uint64_t budgets = text ? strtoull(text, NULL, 10) : BUDGETS;
    uint64_t last = UINT64_MAX;

    for (uint64_t i = 0; i <= budgets; i++) {
        uint64_t budget = low + (high - low) / budgets * i;
        struct wif_placement p;
        struct vs_error err = VS_ERROR_INIT;

        if (wif_place(base, NULL, budget, NULL, NULL, &p, &err))
            fail_msg("%s: %s", net, err.text);
        if (p.peak > budget)
            fail_msg("%s: a peak of %" PRIu64 " within %" PRIu64, net, p.peak, budget);
        if (p.recompute_flops > last)
            fail_msg("%s: within %" PRIu64 " bytes %" PRIu64 " operations are run again, within "
                     "less only %" PRIu64,
                     net, budget, p.recompute_flops, last);
        last = p.recompute_flops;
        wif_placement_release(&p);
    }
}

/*
 * Within the peak of another checkpoint policy, a plan recomputes no more than that. `blocks`, `selective` and `sqrt`
 * are compared to the byte. The planner's tables have one plan for each part of 1/400 of the peak without checkpoints
 * (planner/curve.h): those of `segments` may be between two of them.
 */
static void check_simple(struct rpl_trace *base, const char *net, uint64_t off)
{
    static const char *const SIMPLE[] = {"blocks",     "selective",   "sqrt",
                                         "segments=2", "segments=3",  "segments=4",
                                         "segments=8", "segments=16", "segments=32"};

    for (size_t i = 0; i < sizeof(SIMPLE) / sizeof(SIMPLE[0]); i++) {
        struct wif_placement p;
        struct vs_error err = VS_ERROR_INIT;
        struct figures run;
        uint64_t budget;

        if (!run_value(base, SIMPLE[i], &run))
            continue;
        budget = run.peak + (i >= 3 ? off / PLN_SLOTS : 0);
        if (wif_place(base, NULL, budget, NULL, NULL, &p, &err))
            fail_msg("%s, within the peak of %s: %s", net, SIMPLE[i], err.text);
        if (p.peak > budget || p.recompute_flops > run.recompute_flops)
            fail_msg("%s: %s has a peak of %" PRIu64 " and runs %" PRIu64
                     " operations again; the plan %" PRIu64 " and %" PRIu64,
                     net, SIMPLE[i], run.peak, run.recompute_flops, p.peak, p.recompute_flops);
        wif_placement_release(&p);
    }
}

static void check_net(const char *net, const char *toggles)
{
    struct rpl_trace *base = net_trace(net, toggles);
    struct wif_curve curve;
    struct vs_error err = VS_ERROR_INIT;

    if (wif_curve_fill(&curve, base, NULL, 4, NULL, NULL, &err))
        fail_msg("%s: %s", net, err.text);
    for (size_t i = 0; i < curve.count; i++) {
        check_point(base, net, curve.points[i].value, &curve.points[i].placement);
        assert_true(i == 0 || curve.points[i].placement.peak < curve.points[i - 1].placement.peak);
    }
    check_budgets(base, net, &curve);
    check_simple(base, net, curve.points[0].placement.peak);
    wif_curve_release(&curve);
    rpl_trace_free(base);
}

static void every_point_of_a_curve_has_its_promised_peak_when_run(void **state)
{
    (void)state;
    for (size_t n = 0; n < NET_COUNT; n++)
        check_net(NETS[n].net, NETS[n].toggles);
}

static void the_points_of_a_thousand_layers_do_too(void **state)
{
    (void)state;
    check_net("sample_nets/resnet1001.py", "batch=4 steps=1");
}

/* A training step of vgg19_counters.py moves images and never calls the net. */
/*
 * More modules copied to the host: a lower peak, more bytes over PCIe, nothing recomputed. Each point is the run with
 * its value.
 */
static void offloading_more_modules_lowers_the_peak_and_moves_more(void **state)
{
    static const struct {
        const char *net;
        const char *toggles;
    } CASES[] = {
        {"sample_nets/resnet18.py", "batch=8 steps=2"},
        {"sample_nets/linear100.py", "steps=2"},
        {"sample_nets/vit_tiny.py", "batch=8 steps=2"},
    };

    (void)state;
    for (size_t n = 0; n < sizeof(CASES) / sizeof(CASES[0]); n++) {
        struct rpl_trace *base = net_trace(CASES[n].net, CASES[n].toggles);
        struct wif_curve curve;
        struct vs_error err = VS_ERROR_INIT;

        if (wif_curve_fill(&curve, base, NULL, 2, NULL, NULL, &err) ||
            wif_curve_offload(&curve, base, NULL, NULL, NULL, &err))
            fail_msg("%s: %s", CASES[n].net, err.text);
        assert_int_equal(curve.steps, 2);
        assert_true(curve.offload_count >= 2);
        for (size_t i = 0; i < curve.offload_count; i++) {
            const struct wif_offload_point *point = &curve.offloads[i];
            struct rpl_trace *run = rpl_trace_new();
            struct rpl_summary sum = {.flops = 0};
            struct vs_toggles set = {{NULL}};
            uint64_t host_bytes = 0;

            if (vs_toggles_set(&set, VS_TOGGLE_OFFLOAD, point->value, &err) ||
                wif_run(base, &set, run, &err) || rpl_summary_fill(&sum, run, &err))
                fail_msg("%s offload=%s: %s", CASES[n].net, point->value, err.text);
            assert_int_equal(point->peak, sum.peak.allocated);
            assert_true(rpl_trace_meta_uint(run, "host_bytes", &host_bytes));
            assert_int_equal(point->host_bytes, host_bytes);
            assert_int_equal(point->recompute_flops, 0);
            assert_true(point->peak < (i ? point[-1].peak : curve.points[0].placement.peak));
            assert_true(i == 0 || point->host_bytes > point[-1].host_bytes);
            rpl_summary_release(&sum);
            vs_toggles_release(&set);
            rpl_trace_free(run);
        }
        wif_curve_release(&curve);
        rpl_trace_free(base);
    }
}

/* One Linear of 8 by 4 floats saves its input, 2 by 8, and its weight: 192 bytes out and back in each of two steps. */
static void bytes_copied_to_the_host_are_those_of_the_saved_tensors(void **state)
{
    static const char NET[] = "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n"
                              "    def __init__(self):\n        super().__init__()\n"
                              "        self.fc = nn.Linear(8, 4)\n\n"
                              "    def forward(self, x):\n        return self.fc(x)\n\n\n"
                              "def model():\n    return Net()\n\n\n"
                              "def batch(n):\n"
                              "    return torch.randn(2, 8, requires_grad=True), None\n\n\n"
                              "def loss(output, target):\n    return output.sum()\n";
    struct rpl_trace *source = rpl_trace_new();
    struct rpl_trace *run = rpl_trace_new();
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    uint64_t host_bytes = 0;

    (void)state;
    rpl_trace_set_source(source, "net.py", NET);
    if (vs_toggles_set_pair(&set, "offload=fc", &err) ||
        vs_toggles_set_pair(&set, "steps=2", &err) || wif_run(source, &set, run, &err))
        fail_msg("%s", err.text);
    assert_true(rpl_trace_meta_uint(run, "host_bytes", &host_bytes));
    assert_int_equal(host_bytes, 2 * 2 * (2 * 8 + 8 * 4) * 4);
    vs_toggles_release(&set);
    rpl_trace_free(run);
    rpl_trace_free(source);
}

static void a_net_that_is_not_called_is_refused(void **state)
{
    struct rpl_trace *base = net_trace("sample_nets/vgg19_counters.py", NULL);
    struct wif_placement p;
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(wif_place(base, NULL, WIF_BUDGET_LEAST, NULL, NULL, &p, &err), VS_E_VALUE);
    assert_string_equal(err.text, "the net is not called in a training step");
    wif_placement_release(&p);
    rpl_trace_free(base);
}

/* ResNet-152, batch 16: sqrt saves a third, blocks 57 %; articles have 55 % for the schedule of the square root. */
static void the_plan_beats_checkpointing_all_blocks_of_resnet152(void **state)
{
    struct rpl_trace *base = net_trace("sample_nets/resnet152.py", "batch=16 steps=2");
    struct figures off;
    struct figures blocks;
    struct wif_placement p;
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_true(run_value(base, "off", &off));
    assert_true(run_value(base, "blocks", &blocks));
    if (wif_place(base, NULL, off.peak * 35 / 100, NULL, NULL, &p, &err))
        fail_msg("%s", err.text);
    assert_true(p.peak < blocks.peak);
    assert_true(p.recompute_flops < blocks.recompute_flops);
    wif_placement_release(&p);
    /* within the peak of blocks a quarter of what they recompute; without selective regions it was 44 % */
    if (wif_place(base, NULL, blocks.peak, NULL, NULL, &p, &err))
        fail_msg("%s", err.text);
    assert_true(4 * p.recompute_flops < blocks.recompute_flops);
    wif_placement_release(&p);
    rpl_trace_free(base);
}

/*
 * A net of a thousand layers: under a seventh of the memory for under a third more work ("Training Deep Nets with
 * Sublinear Memory Cost": 48 GB to 7 GB for 30 % more time).
 */
static void a_net_of_a_thousand_layers_fits_into_a_seventh_of_its_memory(void **state)
{
    struct rpl_trace *base = net_trace("sample_nets/resnet1001.py", "steps=1");
    struct figures off;
    struct wif_placement p;
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_true(run_value(base, "off", &off));
    if (wif_place(base, NULL, off.peak / 7, NULL, NULL, &p, &err))
        fail_msg("%s", err.text);
    assert_true(p.peak <= off.peak / 7);
    assert_true(3 * p.recompute_flops < p.total_flops - p.recompute_flops);
    wif_placement_release(&p);
    rpl_trace_free(base);
}

static bool stop_at_once(void *user, uint64_t done, uint64_t total)
{
    (void)done, (void)total;
    ++*(size_t *)user;
    return false;
}

static void a_search_can_be_stopped(void **state)
{
    struct rpl_trace *base = net_trace("sample_nets/resnet18.py", "batch=2 steps=2");
    struct wif_placement p;
    struct vs_error err = VS_ERROR_INIT;
    size_t polls = 0;

    (void)state;
    assert_int_equal(wif_place(base, NULL, WIF_BUDGET_LEAST, stop_at_once, &polls, &p, &err),
                     VS_E_STOPPED);
    assert_true(polls > 0);
    wif_placement_release(&p);
    rpl_trace_free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_point_of_a_curve_has_its_promised_peak_when_run),
        cmocka_unit_test(the_points_of_a_thousand_layers_do_too),
        cmocka_unit_test(offloading_more_modules_lowers_the_peak_and_moves_more),
        cmocka_unit_test(bytes_copied_to_the_host_are_those_of_the_saved_tensors),
        cmocka_unit_test(a_net_that_is_not_called_is_refused),
        cmocka_unit_test(the_plan_beats_checkpointing_all_blocks_of_resnet152),
        cmocka_unit_test(a_net_of_a_thousand_layers_fits_into_a_seventh_of_its_memory),
        cmocka_unit_test(a_search_can_be_stopped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * tests/lang/run/test_run.c - lang_run: the toggles it settles on, the figures of the loop, and what is refused.
 *
 * Figures that PyTorch has are in tests/golden_check; here is what lang_run adds to the loop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/device/kernels.h"
#include "tests/lang/run/net_run.h"

static void a_run_has_setup_and_six_phases_a_step(void **state)
{
    static const enum vs_phase order[] = {VS_PHASE_DATA,      VS_PHASE_FORWARD,
                                          VS_PHASE_LOSS,      VS_PHASE_BACKWARD,
                                          VS_PHASE_OPTIMIZER, VS_PHASE_ZERO_GRAD};
    struct net_run r = {0};

    (void)state;
    net_run_set(&r, "steps", "2");
    net_run_ok(&r, NET_RUN_MLP);
    assert_int_equal(r.result.phase_count, 13);
    assert_int_equal(r.result.phases[0].phase, VS_PHASE_SETUP);
    assert_int_equal(r.result.phases[0].step, -1);
    for (size_t i = 1; i < 13; i++) {
        assert_int_equal(r.result.phases[i].step, (i - 1) / 6);
        assert_int_equal(r.result.phases[i].phase, order[(i - 1) % 6]);
    }
    assert_int_equal(r.result.step_count, 2);
    assert_int_equal(r.result.parameters, 51);
    /* 51 floats */
    assert_int_equal(r.result.phases[0].requested_end, 204);
    /* the batch: 8 x 4 floats and 8 int64 */
    assert_int_equal(net_run_phase(&r, 0, VS_PHASE_DATA)->requested_end, 204 + 128 + 64);
    /* gradients of the parameters come with backward and go with zero_grad */
    assert_int_equal(net_run_phase(&r, 0, VS_PHASE_OPTIMIZER)->requested_end -
                         net_run_phase(&r, 0, VS_PHASE_ZERO_GRAD)->requested_end,
                     204);
    assert_true(r.result.has_peak);
    assert_int_equal(r.result.peak_phase.allocated_peak, r.result.peak_allocated);
    net_run_release(&r);
}

/* Otherwise a recording's memory would grow with its steps. */
static void a_result_is_as_large_after_a_hundred_steps_as_after_two(void **state)
{
    static const char *const STEPS[] = {"2", "100"};
    struct net_run runs[2] = {{.last_step = true}, {.last_step = true}};

    (void)state;
    for (int i = 0; i < 2; i++) {
        runs[i].settings.kernels = eng_kernels_cpu();
        net_run_set(&runs[i], "steps", STEPS[i]);
        net_run_set(&runs[i], "checkpoint", "a");
        net_run_ok(&runs[i], NET_RUN_MLP);
        assert_int_equal(runs[i].result.phase_count, 6);
        assert_int_equal(runs[i].result.step_count, 1);
        assert_int_equal(runs[i].result.loss_count, 1);
        assert_int_equal(runs[i].result.recomputed_count, 1);
        assert_true(runs[i].result.recomputed[0].ops > 0);
        assert_true(runs[i].result.steps[0].loss_known);
    }
    assert_int_equal(runs[1].result.phase_cap, runs[0].result.phase_cap);
    assert_int_equal(runs[1].result.step_cap, runs[0].result.step_cap);
    assert_int_equal(runs[1].result.loss_cap, runs[0].result.loss_cap);
    assert_int_equal(runs[1].result.recomputed_cap, runs[0].result.recomputed_cap);
    assert_int_equal(runs[1].result.steps_begun, 100);
    assert_int_equal(runs[1].result.steps[0].step, 99);
    assert_int_equal(runs[1].result.recomputed[0].steps, 100);
    for (int i = 0; i < 2; i++)
        net_run_release(&runs[i]);
}

static void an_explicit_toggle_wins_over_the_file_and_the_file_over_the_table(void **state)
{
    struct net_run r = {0};

    (void)state;
    net_run_set(&r, "batch", "5");
    net_run_ok(&r, NET_RUN_MLP "defaults = dict(batch=3, steps=1, zero_grad='zeros', lr=0.25)\n");
    assert_string_equal(vs_toggles_get(&r.result.toggles, VS_TOGGLE_BATCH), "5");
    assert_string_equal(vs_toggles_get(&r.result.toggles, VS_TOGGLE_STEPS), "1");
    assert_string_equal(vs_toggles_get(&r.result.toggles, VS_TOGGLE_ZERO_GRAD), "zeros");
    assert_true(r.result.lr == 0.25);
    assert_false(r.result.is_default[VS_TOGGLE_BATCH]);
    assert_false(r.result.is_default[VS_TOGGLE_STEPS]);
    assert_true(r.result.is_default[VS_TOGGLE_OPTIMIZER]);
    assert_int_equal(r.result.step_count, 1);
    /* 5 x 4 floats, 5 int64 */
    assert_int_equal(net_run_phase(&r, 0, VS_PHASE_DATA)->requested_end, 204 + 80 + 40);
    net_run_release(&r);
}

static void an_explicit_optimizer_has_its_own_default_rate(void **state)
{
    struct net_run r = {0};

    (void)state;
    net_run_set(&r, "optimizer", "adam");
    net_run_ok(&r, NET_RUN_MLP "defaults = dict(lr=0.25)\n");
    assert_true(r.result.lr == 0.001);
    net_run_release(&r);
}

static void refused(const char *text, enum vs_status st, const char *part)
{
    struct net_run r = {0};

    net_run_text(&r, text);
    assert_int_equal(r.st, st);
    if (strstr(r.err.text, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, r.err.text);
    net_run_release(&r);
}

static void wrong_defaults_and_missing_functions_are_refused(void **state)
{
    (void)state;
    refused(NET_RUN_MLP "defaults = dict(bach=3)\n", VS_E_NOT_FOUND, "defaults");
    refused(NET_RUN_MLP "defaults = dict(batch=0)\n", VS_E_VALUE, "batch");
    refused(NET_RUN_MLP "defaults = dict(batch=1.5)\n", VS_E_VALUE, "batch");
    refused(NET_RUN_MLP "defaults = 3\n", VS_E_VALUE, "must be a dict");
    refused(NET_RUN_HEAD "def batch(n):\n    return 1, 2\n", VS_E_NAME, "def model()");
    refused(NET_RUN_HEAD "def model():\n    return nn.ReLU()\n", VS_E_NAME, "def batch(n)");
    refused(NET_RUN_HEAD "def model():\n    return 3\ndef batch(n):\n    return 1, 2\n", VS_E_VALUE,
            "nn.Module");
    refused(NET_RUN_HEAD
            "def model():\n    return nn.ReLU()\ndef batch(n):\n    return torch.randn(n), "
            "torch.randn(n)\n",
            VS_E_VALUE, "nothing to train");
}

static void a_toggle_that_does_not_fit_the_net_is_refused_with_the_reason(void **state)
{
    static const char *const cases[][3] = {{"checkpoint", "segments=2", "no nn.Sequential"},
                                           {"checkpoint", "c.d", "no module 'c.d'"},
                                           {"freeze", "nothere", "no module 'nothere'"},
                                           {"inplace", "a", "no in-place form"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct net_run r = {0};

        net_run_set(&r, cases[i][0], cases[i][1]);
        net_run_text(&r, NET_RUN_MLP);
        assert_int_equal(r.st, VS_E_VALUE);
        if (strstr(r.err.text, cases[i][2]) == NULL)
            fail_msg("\"%s\" is not in: %s", cases[i][2], r.err.text);
        net_run_release(&r);
    }
}

static void distributed_errors_have_the_text_of_pytorch(void **state)
{
    static const char unused[] =
        NET_RUN_HEAD "class Net(nn.Module):\n"
                     "    def __init__(self):\n"
                     "        super().__init__()\n"
                     "        self.a = nn.Linear(4, 3)\n"
                     "        self.never = nn.Linear(4, 3)\n"
                     "    def forward(self, x):\n"
                     "        return self.a(x)\n"
                     "def model():\n"
                     "    return Net()\n"
                     "def batch(n):\n"
                     "    return torch.randn(n, 4), torch.randint(0, 3, (n,))\n"
                     "defaults = dict(shard='ddp')\n";

    (void)state;
    refused(unused, VS_E_RAISED, "which did not receive grad: 2 3");
    refused(NET_RUN_MLP "defaults = dict(shard='ddp', freeze='a,b', grad='eval')\n", VS_E_RAISED,
            "DistributedDataParallel is not needed");
    refused(NET_RUN_MLP
            "def optimizer(model):\n    return torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "defaults = dict(shard='zero1')\n",
            VS_E_VALUE, "the net makes its optimizer itself");
}

/* 51 parameters in shards of 2, 2, 1 and 1 rows by 4 ranks: 2 * 4 + 2 + 6 + 1 elements, on every rank. */
static void each_rank_holds_a_padded_shard(void **state)
{
    static const char *const ranks[] = {"0", "3"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct net_run r = {0};

        net_run_set(&r, "shard", "fsdp");
        net_run_set(&r, "world", "4");
        net_run_set(&r, "rank", ranks[i]);
        net_run_ok(&r, NET_RUN_MLP);
        assert_int_equal(net_run_phase(&r, -1, VS_PHASE_SETUP)->requested_end, 17 * 4);
        assert_int_equal(r.result.parameters, 51);
        net_run_release(&r);
    }
}

static void accumulation_divides_the_batch_and_marks_each_part(void **state)
{
    struct net_run r = {0};

    (void)state;
    net_run_set(&r, "accumulate", "2");
    net_run_set(&r, "steps", "1");
    net_run_ok(&r, NET_RUN_MLP);
    assert_int_equal(r.result.phase_count, 1 + 2 * 4 + 2);
    assert_int_equal(r.result.phases[1].micro, 0);
    assert_int_equal(r.result.phases[5].micro, 1);
    assert_int_equal(net_run_phase(&r, 0, VS_PHASE_DATA)->requested_end, 204 + 4 * 4 * 4 + 4 * 8);
    net_run_release(&r);
}

static void without_training_a_step_ends_after_the_loss(void **state)
{
    static const char *const modes[] = {"eval", "no_grad"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct net_run r = {0};

        net_run_set(&r, "grad", modes[i]);
        net_run_set(&r, "steps", "2");
        net_run_ok(&r, NET_RUN_MLP);
        assert_int_equal(r.result.phase_count, 1 + 2 * 3);
        assert_true(r.result.saved_known);
        assert_int_equal(r.result.saved_tensors > 0, i == 0);
        net_run_release(&r);
    }
}

static void a_skipped_step_on_meta_allocates_no_optimizer_state(void **state)
{
    static const struct lang_skip first[] = {{0, 0}};
    struct net_run plain = {0};
    struct net_run skipping = {0};

    (void)state;
    net_run_set(&plain, "amp", "fp16");
    net_run_set(&plain, "optimizer", "adam");
    net_run_ok(&plain, NET_RUN_MLP);
    net_run_set(&skipping, "amp", "fp16");
    net_run_set(&skipping, "optimizer", "adam");
    skipping.settings.skips = first;
    skipping.settings.skip_count = 1;
    net_run_ok(&skipping, NET_RUN_MLP);
    assert_false(plain.result.steps[0].skipped);
    assert_true(skipping.result.steps[0].skipped);
    assert_false(skipping.result.steps[1].skipped);
    /* exp_avg and exp_avg_sq: two more tensors a parameter */
    assert_int_equal(net_run_phase(&plain, 0, VS_PHASE_ZERO_GRAD)->requested_end -
                         net_run_phase(&skipping, 0, VS_PHASE_ZERO_GRAD)->requested_end,
                     2 * 204);
    assert_int_equal(net_run_phase(&plain, 2, VS_PHASE_ZERO_GRAD)->requested_end,
                     net_run_phase(&skipping, 2, VS_PHASE_ZERO_GRAD)->requested_end);
    net_run_release(&plain);
    net_run_release(&skipping);
}

static void a_device_that_is_too_small_ends_the_run_with_the_figures(void **state)
{
    struct net_run r = {0};

    (void)state;
    net_run_set(&r, "batch", "1000000");
    r.settings.capacity = 64u << 20;
    net_run_text(&r, NET_RUN_MLP);
    assert_int_equal(r.st, VS_E_OOM);
    assert_true(r.result.has_oom);
    assert_true(r.result.oom.total_bytes == 64u << 20);
    assert_true(r.result.phase_count >= 2);
    net_run_release(&r);
}

static void the_same_seed_gives_the_same_losses_and_training_lowers_them(void **state)
{
    struct net_run a = {0};
    struct net_run b = {0};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct net_run *r = i ? &b : &a;

        r->settings.kernels = eng_kernels_cpu();
        r->settings.seed = 7;
        net_run_set(r, "optimizer", "momentum");
        net_run_set(r, "data", "once");
        net_run_set(r, "steps", "8");
        net_run_ok(r, NET_RUN_MLP);
    }
    assert_int_equal(a.result.loss_count, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_true(a.result.steps[i].loss_known);
        assert_true(a.result.steps[i].loss == b.result.steps[i].loss);
    }
    assert_true(a.result.steps[7].loss < a.result.steps[0].loss);
    net_run_release(&a);
    net_run_release(&b);
}

static void a_running_loss_that_is_not_detached_is_not_freed(void **state)
{
    struct net_run off = {0};
    struct net_run on = {0};

    (void)state;
    net_run_set(&off, "detach-loss", "off");
    net_run_ok(&off, NET_RUN_MLP);
    net_run_ok(&on, NET_RUN_MLP);
    /* the running total: one float */
    assert_int_equal(net_run_phase(&off, 2, VS_PHASE_ZERO_GRAD)->requested_end -
                         net_run_phase(&on, 2, VS_PHASE_ZERO_GRAD)->requested_end,
                     4);
    net_run_release(&off);
    net_run_release(&on);
}

static void a_bool_is_not_subtracted_from_a_tensor(void **state)
{
    /* as PyTorch 2.15 words it; a number or the other operators do not mind */
    static const struct {
        const char *line;
        const char *said;
    } cases[] = {
        {"y = x - True", "with a bool tensor is not supported"},
        {"y = True - x", "with a bool tensor is not supported"},
        {"x -= False", "with a bool tensor is not supported"},
        {"y = (x > 0) - 1", "with a bool tensor is not supported"},
        {"y = (x > 0) - True", "with two bool tensors is not supported"},
        {"y = x - 1 + True * x", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct net_run r = {0};
        char net[2048];

        snprintf(net, sizeof(net),
                 NET_RUN_MLP "x = torch.ones(3)\n"
                             "%s\n",
                 cases[i].line);
        net_run_text(&r, net);
        assert_int_equal(r.st, cases[i].said ? VS_E_TYPE : VS_OK);
        if (cases[i].said)
            assert_non_null(strstr(r.err.text, cases[i].said));
        net_run_release(&r);
    }
}

/* 0 * inf: the gradient of sqrt at 0, times the 0 that came in. */
static void anomaly_detection_names_the_node_that_gave_nan(void **state)
{
    static const char net[] =
        NET_RUN_HEAD "class Net(nn.Module):\n"
                     "    def __init__(self):\n"
                     "        super().__init__()\n"
                     "        self.w = nn.Parameter(torch.zeros(2))\n"
                     "    def forward(self, x):\n"
                     "        return (torch.sqrt(self.w) * 0).sum()\n"
                     "def model():\n"
                     "    return Net()\n"
                     "def batch(n):\n"
                     "    return (), ()\n"
                     "def loss(output, target):\n"
                     "    return output\n"
                     "def train_step(model, optimizer, scaler, inputs, targets):\n"
                     "    torch.autograd.set_detect_anomaly(%s)\n"
                     "    model(inputs).backward()\n";
    static const char *const modes[] = {"False", "True, check_nan=False", "True"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct net_run r = {.settings = {.kernels = eng_kernels_cpu()}};
        char text[sizeof(net) + 32];

        snprintf(text, sizeof(text), net, modes[i]);
        net_run_text(&r, text);
        assert_int_equal(r.st, i < 2 ? VS_OK : VS_E_RAISED);
        if (i == 2)
            assert_non_null(
                strstr(r.err.text, "Function 'SqrtBackward0' returned nan values in its 0th"));
        net_run_release(&r);
    }
}

/*
 * The gradient of 2 exp(1) is 2 e. The result that exp saved is overwritten, which does not change its copy on the
 * host: PyTorch 2.15 checks no version where a saved tensor has hooks.
 */
static void a_tensor_saved_on_the_host_may_be_overwritten(void **state)
{
    static const char net[] =
        NET_RUN_HEAD "class Net(nn.Module):\n"
                     "    def __init__(self):\n"
                     "        super().__init__()\n"
                     "        self.w = nn.Parameter(torch.ones(1))\n"
                     "    def forward(self, x):\n"
                     "        with %s:\n"
                     "            y = self.w.exp()\n"
                     "        return y.mul_(2)\n"
                     "def model():\n"
                     "    return Net()\n"
                     "def batch(n):\n"
                     "    return (), ()\n"
                     "def train_step(model, optimizer, scaler, inputs, targets):\n"
                     "    model(inputs).sum().backward()\n"
                     "    if abs(model.w.grad.item() - 5.4365637) > 1e-5:\n"
                     "        raise ValueError('wrong gradient')\n";
    static const char *const modes[] = {"torch.enable_grad()", "torch.autograd.graph.save_on_cpu()",
                                        "torch.autograd.graph.save_on_cpu(pin_memory=True)"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct net_run r = {.settings = {.kernels = eng_kernels_cpu()}};
        char text[sizeof(net) + 64];

        snprintf(text, sizeof(text), net, modes[i]);
        net_run_set(&r, "steps", "1");
        net_run_text(&r, text);
        if (r.st != (i > 0 ? VS_OK : VS_E_INPLACE))
            fail_msg("%s: %s", modes[i], r.err.text);
        net_run_release(&r);
    }
}

static void refused_with(const char *name, const char *value, const char *level, const char *more,
                         const char *part)
{
    struct net_run r = {0};
    char text[2048];

    snprintf(text, sizeof(text), "%s%s", NET_RUN_MLP, more);
    net_run_set(&r, "amp", level);
    if (name != NULL)
        net_run_set(&r, name, value);
    net_run_text(&r, text);
    assert_int_equal(r.st, VS_E_VALUE);
    if (strstr(r.err.text, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, r.err.text);
    net_run_release(&r);
}

/* What is refused has not been compared with PyTorch. */
static void fully_shard_is_refused_where_it_was_not_measured(void **state)
{
    (void)state;
    refused(NET_RUN_MLP "defaults = dict(shard='fsdp', world=4, rank=4)\n", VS_E_VALUE,
            "the ranks of world=4 are 0 to 3");
    refused(NET_RUN_MLP
            "def optimizer(model):\n    return torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "defaults = dict(shard='fsdp')\n",
            VS_E_VALUE, "a net with its own optimizer()");
    refused(NET_RUN_MLP "def train_step(model, optimizer, scaler, inputs, targets):\n"
                        "    return None\n"
                        "defaults = dict(shard='fsdp')\n",
            VS_E_VALUE, "a net with its own train_step");
    refused_with("shard", "fsdp", "O1", "", "amp=O1: Apex together with shard=fsdp");
    refused(NET_RUN_HEAD "class Net(nn.Module):\n"
                         "    def __init__(self):\n"
                         "        super().__init__()\n"
                         "        self.scale = nn.Parameter(torch.ones(()))\n"
                         "    def forward(self, x):\n"
                         "        return x * self.scale\n"
                         "def model():\n"
                         "    return Net()\n"
                         "def batch(n):\n"
                         "    return torch.randn(n, 4), torch.randint(0, 3, (n,))\n"
                         "defaults = dict(shard='fsdp')\n",
            VS_E_VALUE, "fully_shard doesn't support scalar parameters. Change scale to");
}

static void deepspeed_is_refused_where_it_was_not_measured(void **state)
{
    (void)state;
    refused(NET_RUN_MLP "defaults = dict(shard='deepspeed-zero2', world=4, rank=4)\n", VS_E_VALUE,
            "the ranks of world=4 are 0 to 3");
    refused(NET_RUN_MLP
            "def optimizer(model):\n    return torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "defaults = dict(shard='deepspeed-zero1')\n",
            VS_E_VALUE, "a net with its own optimizer()");
    refused(NET_RUN_MLP "def train_step(model, optimizer, scaler, inputs, targets):\n"
                        "    return None\n"
                        "defaults = dict(shard='deepspeed-zero1')\n",
            VS_E_VALUE, "a net with its own train_step");
    refused(NET_RUN_MLP "defaults = dict(shard='deepspeed-zero2', grad='eval')\n", VS_E_VALUE,
            "with grad=eval nothing is trained");
    refused(NET_RUN_MLP "defaults = dict(shard='deepspeed-zero2', half='on')\n", VS_E_VALUE,
            "use mp-policy=fp16");
    refused(NET_RUN_MLP "defaults = dict(shard='deepspeed-zero2', checkpoint='auto')\n", VS_E_VALUE,
            "placements are not planned");
    refused(NET_RUN_MLP "defaults = dict(shard='deepspeed-zero2')\n"
                        "defaults['mp-policy'] = 'bf16-reduce'\n",
            VS_E_VALUE, "it is fully_shard's");
    refused(NET_RUN_MLP "defaults = dict(shard='fsdp')\ndefaults['mp-policy'] = 'fp16'\n",
            VS_E_VALUE, "need a scale of the loss");
    refused_with("shard", "deepspeed-zero2", "bf16", "", "turns autocast off");
}

static void levels_of_apex_are_refused_where_apex_could_not_be_called(void **state)
{
    (void)state;
    refused_with("half", "on", "O2", "", "do not need to call .half()");
    refused_with("shard", "ddp", "O1", "", "together with shard=ddp is not modelled");
    refused_with(NULL, NULL, "O3",
                 "def train_step(model, optimizer, scaler, x, y):\n"
                 "    model(x).sum().backward()\n",
                 "scale_loss()");
}

/* 51 parameters: all of them twice, in half and as master weights; gradients in half stay, those of masters go. */
static void level_o2_has_weights_in_half_and_master_weights(void **state)
{
    struct net_run r = {0};

    (void)state;
    net_run_set(&r, "amp", "O2");
    net_run_ok(&r, NET_RUN_MLP);
    assert_int_equal(net_run_phase(&r, -1, VS_PHASE_SETUP)->requested_end, 2 * 51 + 2 * 4);
    assert_int_equal(net_run_phase(&r, 1, VS_PHASE_OPTIMIZER)->requested_end -
                         net_run_phase(&r, 0, VS_PHASE_OPTIMIZER)->requested_end,
                     0);
    assert_int_equal(net_run_phase(&r, 0, VS_PHASE_BACKWARD)->requested_end -
                         net_run_phase(&r, 0, VS_PHASE_OPTIMIZER)->requested_end,
                     4 * 51);
    net_run_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_has_setup_and_six_phases_a_step),
        cmocka_unit_test(a_result_is_as_large_after_a_hundred_steps_as_after_two),
        cmocka_unit_test(an_explicit_toggle_wins_over_the_file_and_the_file_over_the_table),
        cmocka_unit_test(an_explicit_optimizer_has_its_own_default_rate),
        cmocka_unit_test(wrong_defaults_and_missing_functions_are_refused),
        cmocka_unit_test(a_toggle_that_does_not_fit_the_net_is_refused_with_the_reason),
        cmocka_unit_test(distributed_errors_have_the_text_of_pytorch),
        cmocka_unit_test(fully_shard_is_refused_where_it_was_not_measured),
        cmocka_unit_test(deepspeed_is_refused_where_it_was_not_measured),
        cmocka_unit_test(each_rank_holds_a_padded_shard),
        cmocka_unit_test(accumulation_divides_the_batch_and_marks_each_part),
        cmocka_unit_test(without_training_a_step_ends_after_the_loss),
        cmocka_unit_test(a_skipped_step_on_meta_allocates_no_optimizer_state),
        cmocka_unit_test(a_device_that_is_too_small_ends_the_run_with_the_figures),
        cmocka_unit_test(the_same_seed_gives_the_same_losses_and_training_lowers_them),
        cmocka_unit_test(a_running_loss_that_is_not_detached_is_not_freed),
        cmocka_unit_test(a_bool_is_not_subtracted_from_a_tensor),
        cmocka_unit_test(anomaly_detection_names_the_node_that_gave_nan),
        cmocka_unit_test(a_tensor_saved_on_the_host_may_be_overwritten),
        cmocka_unit_test(levels_of_apex_are_refused_where_apex_could_not_be_called),
        cmocka_unit_test(level_o2_has_weights_in_half_and_master_weights),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

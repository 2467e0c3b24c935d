/*
 * tests/lang/run/test_own_step.c - a net's own train_step is the whole step: what the loop leaves alone, the phases
 * that follow from what train_step does, and what toggles mean for it.
 *
 * What PyTorch does with such nets, event by event: tests/golden_check/test_golden_events.c, own_step.jsonl.gz.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "engine/core/tensor.h"
#include "engine/device/kernels.h"
#include "tests/lang/run/net_run.h"

#define STEP NET_RUN_MLP "def train_step(model, optimizer, scaler, inputs, targets):\n"
/* What the built-in loop does with drop-outputs=on. */
#define AS_THE_LOOP                                                                                \
    STEP "    output = model(inputs)\n"                                                            \
         "    loss = F.cross_entropy(output, targets)\n"                                           \
         "    scaler.scale(loss).backward()\n"                                                     \
         "    del output, loss\n"                                                                  \
         "    scaler.step(optimizer)\n"                                                            \
         "    scaler.update()\n"                                                                   \
         "    optimizer.zero_grad()\n"

#define PARAMETER_BLOCKS (4 * 512) /* of NET_RUN_MLP: four tensors of less than a block */

/* ---- the loop does nothing but call it ---- */

static void the_loop_neither_steps_nor_clears_gradients(void **state)
{
    struct net_run r = {0};

    (void)state;
    net_run_ok(&r, STEP "    F.cross_entropy(model(inputs), targets).backward()\n");
    /* the batch, the parameters and a gradient for each stay */
    for (int64_t step = 0; step < 3; step++)
        assert_int_equal(net_run_phase(&r, step, VS_PHASE_BACKWARD)->allocated_end,
                         2 * 512 + 2 * PARAMETER_BLOCKS);
    net_run_release(&r);
}

static void gradients_are_cleared_where_train_step_does(void **state)
{
    struct net_run r = {0};

    (void)state;
    net_run_ok(&r, NET_RUN_MLP "class Counter:\n"
                               "    def __init__(self):\n"
                               "        self.i = 0\n"
                               "counter = Counter()\n"
                               "def train_step(model, optimizer, scaler, inputs, targets):\n"
                               "    F.cross_entropy(model(inputs), targets).backward()\n"
                               "    counter.i += 1\n"
                               "    if counter.i % 2 == 0:\n"
                               "        optimizer.step()\n"
                               "        optimizer.zero_grad()\n");
    assert_int_equal(net_run_phase(&r, 0, VS_PHASE_BACKWARD)->allocated_end,
                     2 * 512 + 2 * PARAMETER_BLOCKS);
    assert_int_equal(net_run_phase(&r, 1, VS_PHASE_ZERO_GRAD)->allocated_end,
                     2 * 512 + PARAMETER_BLOCKS);
    assert_int_equal(net_run_phase(&r, 2, VS_PHASE_BACKWARD)->allocated_end,
                     2 * 512 + 2 * PARAMETER_BLOCKS);
    net_run_release(&r);
}

/* ---- phases ---- */

/* The phases of step 1, each with its index among those of its kind: "data0 forward0 …". */
static void phases_of(const struct net_run *r, struct vs_text *out)
{
    vs_text_clear(out);
    for (size_t i = 0; i < r->result.phase_count; i++) {
        const struct lang_run_phase *phase = &r->result.phases[i];

        if (phase->step == 1)
            vs_text_addf(out, "%s%s%u", out->len ? " " : "", vs_phase_name(phase->phase),
                         phase->micro);
    }
}

static void assert_phases(const char *net, const char *expected)
{
    struct vs_text found = {NULL, 0, 0};
    struct net_run r = {0};

    net_run_ok(&r, net);
    phases_of(&r, &found);
    assert_string_equal(vs_text_get(&found), expected);
    vs_text_release(&found);
    net_run_release(&r);
}

static void phases_follow_from_what_train_step_does(void **state)
{
    (void)state;
    assert_phases(AS_THE_LOOP, "data0 forward0 loss0 backward0 optimizer0 zero_grad0");
    assert_phases(STEP "    optimizer.zero_grad()\n"
                       "    for x, y in zip(inputs.split(4), targets.split(4)):\n"
                       "        (F.cross_entropy(model(x), y) / 2).backward()\n"
                       "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
                       "    optimizer.step()\n",
                  "data0 zero_grad0 data1 forward0 loss0 backward0 forward1 loss1 backward1 "
                  "optimizer0");
    assert_phases(STEP "    loss = F.cross_entropy(model(inputs), targets)\n"
                       "    model.zero_grad()\n"
                       "    loss.backward()\n"
                       "    optimizer.step()\n"
                       "    return loss\n",
                  "data0 forward0 loss0 zero_grad0 loss1 backward0 optimizer0");
    assert_phases(STEP "    return None\n", "data0");
}

/* A copy while a loss is computed, or of what is on the device already, begins nothing. */
static void a_copy_to_the_device_between_two_backwards_is_phase_data(void **state)
{
    (void)state;
    assert_phases(STEP "    for i in range(2):\n"
                       "        x = torch.randn(4, 4).to(\"cuda\")\n"
                       "        y = model(x.cuda())\n"
                       "        (y * torch.ones(3).cuda()).sum().backward()\n"
                       "    optimizer.step()\n"
                       "    z = torch.randn(4, 4).to(device=inputs.device)\n"
                       "    model(z)\n",
                  "data0 forward0 loss0 backward0 data1 forward1 loss1 backward1 optimizer0 data2 "
                  "forward2 loss2");
}

static void only_calls_of_modules_with_parameters_are_phase_forward(void **state)
{
    (void)state;
    assert_phases(STEP "    h = model.act(model.a(inputs))\n"
                       "    loss = nn.CrossEntropyLoss()(model.b(h), targets)\n"
                       "    loss.backward()\n",
                  "data0 forward0 loss0 forward1 loss1 backward0");
}

static void a_step_may_have_several_losses_backwards_and_optimizers(void **state)
{
    (void)state;
    assert_phases(NET_RUN_MLP "def optimizer(model):\n"
                              "    return (torch.optim.SGD(model.a.parameters(), lr=0.1),\n"
                              "            torch.optim.Adam(model.b.parameters()))\n"
                              "def train_step(model, optimizer, scaler, inputs, targets):\n"
                              "    first, second = optimizer\n"
                              "    loss = model.a(inputs).mean()\n"
                              "    loss.backward()\n"
                              "    first.step()\n"
                              "    first.zero_grad()\n"
                              "    with torch.no_grad():\n"
                              "        h = model.a(inputs)\n"
                              "    F.cross_entropy(model.b(h), targets).backward()\n"
                              "    second.step()\n"
                              "    second.zero_grad()\n",
                  "data0 forward0 loss0 backward0 optimizer0 zero_grad0 forward1 loss1 forward2 "
                  "loss2 backward1 optimizer1 zero_grad1");
    assert_phases(STEP "    output = model(inputs)\n"
                       "    output.mean().backward(retain_graph=True)\n"
                       "    (output * 2).sum().backward()\n",
                  "data0 forward0 loss0 backward0");
}

static void everything_inside_backward_is_phase_backward(void **state)
{
    (void)state;
    assert_phases(NET_RUN_MLP "from torch.utils.checkpoint import checkpoint\n"
                              "def train_step(model, optimizer, scaler, inputs, targets):\n"
                              "    inputs.requires_grad_()\n"
                              "    h = checkpoint(model.a, inputs, use_reentrant=True)\n"
                              "    h = checkpoint(model.b, h, use_reentrant=False)\n"
                              "    h.sum().backward()\n",
                  /* a checkpoint calls no module of its own, so a and b are the outermost ones */
                  "data0 forward0 loss0 forward1 loss1 backward0");
    assert_phases(STEP "    for p in model.parameters():\n"
                       "        handle = p.register_post_accumulate_grad_hook(\n"
                       "            lambda q: optimizer.zero_grad())\n"
                       "    model(inputs).sum().backward()\n",
                  "data0 forward0 loss0 backward0");
}

static void a_closure_passed_to_step_has_its_own_phases(void **state)
{
    (void)state;
    assert_phases(STEP "    def closure():\n"
                       "        optimizer.zero_grad()\n"
                       "        loss = F.cross_entropy(model(inputs), targets)\n"
                       "        loss.backward()\n"
                       "        return loss\n"
                       "    optimizer.step(closure)\n",
                  "data0 optimizer0 zero_grad0 optimizer1 forward0 loss0 backward0 optimizer2");
}

static void autograd_grad_is_phase_backward(void **state)
{
    (void)state;
    assert_phases(STEP "    inputs.requires_grad_()\n"
                       "    loss = model(inputs).mean()\n"
                       "    g, = torch.autograd.grad(loss, inputs, retain_graph=True)\n"
                       "    (loss + g.norm()).backward()\n",
                  "data0 forward0 loss0 backward0 loss1 backward1");
}

/* An optimizer that is not derived from torch.optim.Optimizer is known where optimizer() returns it. */
static void an_optimizer_defined_by_the_net_is_recognized(void **state)
{
    (void)state;
    assert_phases(NET_RUN_MLP "class Descent:\n"
                              "    def __init__(self, params):\n"
                              "        self.params = list(params)\n"
                              "    @torch.no_grad()\n"
                              "    def step(self):\n"
                              "        for p in self.params:\n"
                              "            p.sub_(0.1 * p.grad)\n"
                              "    def zero_grad(self):\n"
                              "        for p in self.params:\n"
                              "            p.grad = None\n"
                              "def optimizer(model):\n"
                              "    return Descent(model.parameters())\n"
                              "def train_step(model, optimizer, scaler, inputs, targets):\n"
                              "    model(inputs).sum().backward()\n"
                              "    optimizer.step()\n"
                              "    optimizer.zero_grad()\n",
                  "data0 forward0 loss0 backward0 optimizer0 zero_grad0");
}

/* ---- the same as the loop ---- */

static void assert_same_run(const char *toggle, const char *value)
{
    struct net_run own = {0}, built_in = {0};

    net_run_set(&own, toggle, value);
    net_run_set(&built_in, toggle, value);
    if (strcmp(toggle, "grad") != 0) /* else the built-in loop runs both */
        net_run_set(&built_in, "drop-outputs", "on");
    net_run_ok(&own, AS_THE_LOOP);
    net_run_ok(&built_in, NET_RUN_MLP);
    assert_int_equal(own.result.phase_count, built_in.result.phase_count);
    for (size_t i = 0; i < own.result.phase_count; i++) {
        const struct lang_run_phase *a = &own.result.phases[i], *b = &built_in.result.phases[i];

        if (memcmp(a, b, sizeof(*a)) != 0)
            fail_msg("%s=%s: phase %zu, %s: %d at its end, %s: %d in the loop", toggle, value, i,
                     vs_phase_name(a->phase), (int)a->allocated_end, vs_phase_name(b->phase),
                     (int)b->allocated_end);
    }
    assert_int_equal(own.result.saved_tensors, built_in.result.saved_tensors);
    assert_int_equal(own.result.saved_bytes_all, built_in.result.saved_bytes_all);
    assert_int_equal(own.result.refusal_count, built_in.result.refusal_count);
    net_run_release(&own);
    net_run_release(&built_in);
}

static void a_train_step_like_the_built_in_loop_equals_it_under_every_toggle(void **state)
{
    static const char *const toggles[][2] = {
        {"batch", "16"},         {"amp", "fp16"},          {"amp", "bf16"},
        {"half", "on"},          {"zero-grad", "zeros"},   {"optimizer", "adam"},
        {"checkpoint", "a,b"},   {"freeze", "a"},          {"inplace", "on"},
        {"prefetch", "2"},       {"data", "once"},         {"shard", "ddp"},
        {"empty-cache", "step"}, {"empty-cache", "phase"}, {"grad", "eval"},
        {"grad", "no_grad"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(toggles) / sizeof(toggles[0]); i++)
        assert_same_run(toggles[i][0], toggles[i][1]);
}

/* ---- toggles ---- */

/* The reason why the toggle was not applied; NULL: it was. Borrows r. */
static const char *reason_of(const struct net_run *r, const char *toggle)
{
    for (size_t i = 0; i < r->result.refusal_count; i++) {
        if (!strcmp(r->result.refusals[i].toggle, toggle))
            return r->result.refusals[i].reason;
    }
    return NULL;
}

static void assert_refused(const char *net, const char *toggle, const char *value, const char *part)
{
    struct net_run r = {0};
    const char *reason;

    net_run_set(&r, toggle, value);
    net_run_ok(&r, net);
    reason = reason_of(&r, toggle);
    if (!part && reason)
        fail_msg("%s=%s: %s", toggle, value, reason);
    if (part && (!reason || !strstr(reason, part)))
        fail_msg("%s=%s: expected \"%s\", got \"%s\"", toggle, value, part,
                 reason ? reason : "nothing");
    net_run_release(&r);
}

static void a_toggle_without_effect_gives_the_reason(void **state)
{
    static const char bare[] = STEP "    F.cross_entropy(model(inputs), targets).backward()\n";
    static const char with_amp[] = STEP "    with torch.autocast(\"cuda\", dtype=torch.bfloat16):\n"
                                        "        loss = F.cross_entropy(model(inputs), targets)\n"
                                        "    loss.backward()\n"
                                        "    return loss\n";
    static const char by_hand[] = STEP "    optimizer.zero_grad(set_to_none=True)\n";

    (void)state;
    assert_refused(bare, "accumulate", "2", "split the batch there");
    assert_refused(bare, "optimizer", "adam", "calls no step()");
    assert_refused(bare, "zero-grad", "zeros", "calls no zero_grad()");
    assert_refused(bare, "drop-outputs", "on", "returns no loss");
    assert_refused(bare, "detach-loss", "off", "returns no loss");
    assert_refused(bare, "amp", "fp16", NULL);
    assert_refused(with_amp, "amp", "fp16", "enters autocast itself");
    assert_refused(with_amp, "detach-loss", "off", NULL);
    assert_refused(by_hand, "zero-grad", "zeros", "leaves set_to_none to its default");
    assert_refused(by_hand, "amp", "bf16", "calls no module that has parameters");
    assert_refused(AS_THE_LOOP, "zero-grad", "zeros", NULL);
    assert_refused(AS_THE_LOOP, "optimizer", "adam", NULL);
}

static void optimizer_toggles_report_that_the_net_makes_its_own_optimizer(void **state)
{
    static const char net[] =
        NET_RUN_MLP "def optimizer(model):\n"
                    "    return torch.optim.SGD(model.parameters(), lr=0.1)\n";

    (void)state;
    assert_refused(net, "optimizer", "adam", "the net makes its optimizer itself");
    assert_refused(net, "foreach", "off", "the net makes its optimizer itself");
}

static void accumulate_does_not_split_the_batch_of_train_step(void **state)
{
    struct net_run whole = {0}, split = {0};

    (void)state;
    net_run_set(&whole, "batch", "64");
    net_run_set(&split, "batch", "64");
    net_run_set(&split, "accumulate", "4");
    net_run_ok(&whole, AS_THE_LOOP);
    net_run_ok(&split, AS_THE_LOOP);
    assert_int_equal(split.result.phase_count, whole.result.phase_count);
    assert_int_equal(split.result.peak_allocated, whole.result.peak_allocated);
    net_run_release(&whole);
    net_run_release(&split);
}

static void the_loop_sums_and_drops_the_loss_returned_by_train_step(void **state)
{
    static const char net[] = STEP "    loss = F.cross_entropy(model(inputs), targets)\n"
                                   "    loss.backward()\n"
                                   "    return loss\n";
    /* at the end of a step: the loss; the loss and the sum, each one float; nothing */
    static const char *const toggles[][2] = {
        {"steps", "3"}, {"detach-loss", "off"}, {"drop-outputs", "on"}};
    static const int more[] = {4, 8, 0};
    uint64_t ends[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct net_run r = {0};

        net_run_set(&r, toggles[i][0], toggles[i][1]);
        net_run_ok(&r, net);
        ends[i] = net_run_phase(&r, 2, VS_PHASE_BACKWARD)->requested_end;
        net_run_release(&r);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(ends[i], ends[2] + (uint64_t)more[i]);
}

/* ---- what is reported ---- */

static void saved_memory_is_taken_at_the_start_of_the_last_backward(void **state)
{
    struct net_run with = {0}, without = {0};

    (void)state;
    net_run_ok(&without, AS_THE_LOOP);
    net_run_ok(&with, STEP "    loss = F.cross_entropy(model(inputs), targets)\n"
                           "    loss.backward()\n"
                           "    optimizer.step()\n"
                           "    with torch.no_grad():\n"
                           "        right = (model(inputs).argmax(1) == targets).sum()\n"
                           "    optimizer.zero_grad()\n");
    assert_true(with.result.saved_known);
    assert_int_not_equal(with.result.saved_bytes, 0);
    assert_int_equal(with.result.saved_bytes, without.result.saved_bytes);
    net_run_release(&with);
    net_run_release(&without);
}

struct gradient {
    int count;
    double first;
};

static void keep_gradient(void *user, const char *kind, const char *name, struct eng_tensor *t,
                          double scale)
{
    struct gradient *g = user;

    if (strcmp(kind, "gradient") != 0 || strcmp(name, "a.bias") != 0)
        return;
    g->count++;
    g->first = (double)((const float *)t->storage->data)[t->offset] / scale;
}

/* The gradients of a step are those that backward() left, not what zero_grad() made of them. */
static void gradients_are_available_before_they_are_cleared(void **state)
{
    struct gradient found = {0};
    struct net_run r = {
        .settings = {.kernels = eng_kernels_cpu(), .user = &found, .dump = keep_gradient}};

    (void)state;
    net_run_set(&r, "steps", "1");
    net_run_ok(&r, STEP "    (model.a(inputs).sum() * 3).backward()\n"
                        "    optimizer.zero_grad(set_to_none=False)\n");
    assert_int_equal(found.count, 1);
    assert_true(found.first == 3.0 * 8);
    net_run_release(&r);
}

/* ---- failures ---- */

static void a_failure_inside_train_step_is_reported_with_its_line(void **state)
{
    struct net_run r = {0};

    (void)state;
    net_run_set(&r, "amp", "fp16");
    net_run_text(&r, STEP "    model(inputs[:, :2])\n");
    assert_int_equal(r.st, VS_E_SHAPE);
    assert_non_null(strstr(r.err.text, "net.py:"));
    net_run_release(&r);
    r = (struct net_run){.settings = {.capacity = 2 << 20}};
    net_run_set(&r, "amp", "bf16");
    net_run_set(&r, "batch", "1000000");
    net_run_text(&r, AS_THE_LOOP);
    assert_int_equal(r.st, VS_E_OOM);
    net_run_release(&r);
}

static bool stop_at_phase(void *user, const struct lang_progress *progress)
{
    return progress->phase != *(const enum vs_phase *)user;
}

static void a_run_can_be_stopped_at_the_end_of_each_phase(void **state)
{
    (void)state;
    for (int phase = VS_PHASE_DATA; phase < VS_PHASE_COUNT; phase++) {
        enum vs_phase at = (enum vs_phase)phase;
        struct net_run r = {.settings = {.user = &at, .progress = stop_at_phase}};

        net_run_text(&r, AS_THE_LOOP);
        assert_int_equal(r.st, VS_E_STOPPED);
        assert_int_equal(r.result.phases[r.result.phase_count - 1].phase, at);
        net_run_release(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loop_neither_steps_nor_clears_gradients),
        cmocka_unit_test(gradients_are_cleared_where_train_step_does),
        cmocka_unit_test(phases_follow_from_what_train_step_does),
        cmocka_unit_test(a_copy_to_the_device_between_two_backwards_is_phase_data),
        cmocka_unit_test(only_calls_of_modules_with_parameters_are_phase_forward),
        cmocka_unit_test(a_step_may_have_several_losses_backwards_and_optimizers),
        cmocka_unit_test(everything_inside_backward_is_phase_backward),
        cmocka_unit_test(a_closure_passed_to_step_has_its_own_phases),
        cmocka_unit_test(autograd_grad_is_phase_backward),
        cmocka_unit_test(an_optimizer_defined_by_the_net_is_recognized),
        cmocka_unit_test(a_train_step_like_the_built_in_loop_equals_it_under_every_toggle),
        cmocka_unit_test(a_toggle_without_effect_gives_the_reason),
        cmocka_unit_test(optimizer_toggles_report_that_the_net_makes_its_own_optimizer),
        cmocka_unit_test(accumulate_does_not_split_the_batch_of_train_step),
        cmocka_unit_test(the_loop_sums_and_drops_the_loss_returned_by_train_step),
        cmocka_unit_test(saved_memory_is_taken_at_the_start_of_the_last_backward),
        cmocka_unit_test(gradients_are_available_before_they_are_cleared),
        cmocka_unit_test(a_failure_inside_train_step_is_reported_with_its_line),
        cmocka_unit_test(a_run_can_be_stopped_at_the_end_of_each_phase),
    };

    return cmocka_run_group_tests_name("lang/run/own_step", tests, NULL, NULL);
}

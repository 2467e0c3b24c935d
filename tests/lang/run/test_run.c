/*
 * tests/lang/run/test_run.c - lang_run: toggles settled, the loop's figures, and what is refused.
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

#include "engine/core/tensor.h"
#include "engine/device/kernels.h"
#include "lang/run/inplace_checks.h"
#include "lang/run/library.h"
#include "lang/run/run.h"

#define HEAD "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"

/* 4 -> 6 -> 3 with a ReLU: 6*4 + 6 + 3*6 + 3 = 51 parameters. */
#define MLP                                                                                        \
    HEAD "class Net(nn.Module):\n"                                                                 \
         "    def __init__(self):\n"                                                               \
         "        super().__init__()\n"                                                            \
         "        self.a = nn.Linear(4, 6)\n"                                                      \
         "        self.act = nn.ReLU()\n"                                                          \
         "        self.b = nn.Linear(6, 3)\n"                                                      \
         "    def forward(self, x):\n"                                                             \
         "        return self.b(self.act(self.a(x)))\n"                                            \
         "def model():\n"                                                                          \
         "    return Net()\n"                                                                      \
         "def batch(n):\n"                                                                         \
         "    return torch.randn(n, 4), torch.randint(0, 3, (n,))\n"

struct run {
    struct lang_settings settings;
    struct lang_result result;
    struct vs_toggles toggles;
    struct vs_error err;
    enum vs_status st;
};

static void run_net(struct run *r, const char *text)
{
    r->settings.file_name = "net.py";
    r->settings.text = text;
    r->settings.len = strlen(text);
    r->settings.toggles = &r->toggles;
    r->st = lang_run(&r->settings, &r->result, &r->err);
}

static void run_ok(struct run *r, const char *text)
{
    run_net(r, text);
    if (r->st)
        fail_msg("%s", r->err.text);
}

static void run_release(struct run *r)
{
    lang_result_release(&r->result);
    vs_toggles_release(&r->toggles);
}

static void set(struct run *r, const char *name, const char *value)
{
    if (vs_toggles_set_named(&r->toggles, name, value, &r->err))
        fail_msg("%s", r->err.text);
}

static const struct lang_run_phase *phase_at(const struct run *r, int64_t step, enum vs_phase phase)
{
    for (size_t i = 0; i < r->result.phase_count; i++) {
        if (r->result.phases[i].step == step && r->result.phases[i].phase == phase)
            return &r->result.phases[i];
    }
    fail_msg("step %d has no phase %s", (int)step, vs_phase_name(phase));
    return NULL;
}

static void a_run_has_setup_and_six_phases_a_step(void **state)
{
    static const enum vs_phase order[] = {VS_PHASE_DATA,      VS_PHASE_FORWARD,
                                          VS_PHASE_LOSS,      VS_PHASE_BACKWARD,
                                          VS_PHASE_OPTIMIZER, VS_PHASE_ZERO_GRAD};
    struct run r = {0};

    (void)state;
    set(&r, "steps", "2");
    run_ok(&r, MLP);
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
    assert_int_equal(phase_at(&r, 0, VS_PHASE_DATA)->requested_end, 204 + 128 + 64);
    /* gradients of the parameters come with backward and go with zero_grad */
    assert_int_equal(phase_at(&r, 0, VS_PHASE_OPTIMIZER)->requested_end -
                         phase_at(&r, 0, VS_PHASE_ZERO_GRAD)->requested_end,
                     204);
    assert_true(r.result.peak_phase < r.result.phase_count);
    assert_int_equal(r.result.phases[r.result.peak_phase].allocated_peak, r.result.peak_allocated);
    run_release(&r);
}

static void what_is_set_explicitly_beats_the_file_and_the_file_beats_the_table(void **state)
{
    struct run r = {0};

    (void)state;
    set(&r, "batch", "5");
    run_ok(&r, MLP "defaults = dict(batch=3, steps=1, zero_grad='zeros', lr=0.25)\n");
    assert_string_equal(vs_toggles_get(&r.result.toggles, VS_TOGGLE_BATCH), "5");
    assert_string_equal(vs_toggles_get(&r.result.toggles, VS_TOGGLE_STEPS), "1");
    assert_string_equal(vs_toggles_get(&r.result.toggles, VS_TOGGLE_ZERO_GRAD), "zeros");
    assert_true(r.result.lr == 0.25);
    assert_false(r.result.is_default[VS_TOGGLE_BATCH]);
    assert_false(r.result.is_default[VS_TOGGLE_STEPS]);
    assert_true(r.result.is_default[VS_TOGGLE_OPTIMIZER]);
    assert_int_equal(r.result.step_count, 1);
    /* 5 x 4 floats, 5 int64 */
    assert_int_equal(phase_at(&r, 0, VS_PHASE_DATA)->requested_end, 204 + 80 + 40);
    run_release(&r);
}

static void an_optimizer_set_explicitly_has_its_own_rate(void **state)
{
    struct run r = {0};

    (void)state;
    set(&r, "optimizer", "adam");
    run_ok(&r, MLP "defaults = dict(lr=0.25)\n");
    assert_true(r.result.lr == 0.001);
    run_release(&r);
}

static void refused(const char *text, enum vs_status st, const char *part)
{
    struct run r = {0};

    run_net(&r, text);
    assert_int_equal(r.st, st);
    if (strstr(r.err.text, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, r.err.text);
    run_release(&r);
}

static void wrong_defaults_and_missing_functions_are_refused(void **state)
{
    (void)state;
    refused(MLP "defaults = dict(bach=3)\n", VS_E_NOT_FOUND, "defaults");
    refused(MLP "defaults = dict(batch=0)\n", VS_E_VALUE, "batch");
    refused(MLP "defaults = dict(batch=1.5)\n", VS_E_VALUE, "batch");
    refused(MLP "defaults = 3\n", VS_E_VALUE, "not a dict");
    refused(HEAD "def batch(n):\n    return 1, 2\n", VS_E_NAME, "def model()");
    refused(HEAD "def model():\n    return nn.ReLU()\n", VS_E_NAME, "def batch(n)");
    refused(HEAD "def model():\n    return 3\ndef batch(n):\n    return 1, 2\n", VS_E_VALUE,
            "nn.Module");
    refused(HEAD "def model():\n    return nn.ReLU()\ndef batch(n):\n    return torch.randn(n), "
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
        struct run r = {0};

        set(&r, cases[i][0], cases[i][1]);
        run_net(&r, MLP);
        assert_int_equal(r.st, VS_E_VALUE);
        if (strstr(r.err.text, cases[i][2]) == NULL)
            fail_msg("\"%s\" is not in: %s", cases[i][2], r.err.text);
        run_release(&r);
    }
}

static void what_several_processes_cannot_train_is_refused_in_pytorchs_words(void **state)
{
    static const char unused[] = HEAD "class Net(nn.Module):\n"
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
    refused(MLP "defaults = dict(shard='ddp', freeze='a,b', grad='eval')\n", VS_E_RAISED,
            "DistributedDataParallel is not needed");
    refused(MLP "def optimizer(model):\n    return torch.optim.SGD(model.parameters(), lr=0.1)\n"
                "defaults = dict(shard='zero1')\n",
            VS_E_VALUE, "the net makes its optimizer itself");
}

static void accumulation_divides_the_batch_and_marks_each_part(void **state)
{
    struct run r = {0};

    (void)state;
    set(&r, "accumulate", "2");
    set(&r, "steps", "1");
    run_ok(&r, MLP);
    assert_int_equal(r.result.phase_count, 1 + 2 * 4 + 2);
    assert_int_equal(r.result.phases[1].micro, 0);
    assert_int_equal(r.result.phases[5].micro, 1);
    assert_int_equal(phase_at(&r, 0, VS_PHASE_DATA)->requested_end, 204 + 4 * 4 * 4 + 4 * 8);
    run_release(&r);
}

static void without_training_a_step_ends_after_the_loss(void **state)
{
    static const char *const modes[] = {"eval", "no_grad"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct run r = {0};

        set(&r, "grad", modes[i]);
        set(&r, "steps", "2");
        run_ok(&r, MLP);
        assert_int_equal(r.result.phase_count, 1 + 2 * 3);
        assert_true(r.result.saved_known);
        assert_int_equal(r.result.saved_tensors > 0, i == 0);
        run_release(&r);
    }
}

static void a_skipped_step_on_meta_puts_off_the_optimizers_state(void **state)
{
    static const struct lang_skip first[] = {{0, 0}};
    struct run plain = {0};
    struct run skipping = {0};

    (void)state;
    set(&plain, "amp", "fp16");
    set(&plain, "optimizer", "adam");
    run_ok(&plain, MLP);
    set(&skipping, "amp", "fp16");
    set(&skipping, "optimizer", "adam");
    skipping.settings.skips = first;
    skipping.settings.skip_count = 1;
    run_ok(&skipping, MLP);
    assert_false(plain.result.steps[0].skipped);
    assert_true(skipping.result.steps[0].skipped);
    assert_false(skipping.result.steps[1].skipped);
    /* exp_avg and exp_avg_sq: two more tensors a parameter */
    assert_int_equal(phase_at(&plain, 0, VS_PHASE_ZERO_GRAD)->requested_end -
                         phase_at(&skipping, 0, VS_PHASE_ZERO_GRAD)->requested_end,
                     2 * 204);
    assert_int_equal(phase_at(&plain, 2, VS_PHASE_ZERO_GRAD)->requested_end,
                     phase_at(&skipping, 2, VS_PHASE_ZERO_GRAD)->requested_end);
    run_release(&plain);
    run_release(&skipping);
}

static void a_device_that_is_too_small_ends_the_run_with_the_figures(void **state)
{
    struct run r = {0};

    (void)state;
    set(&r, "batch", "1000000");
    r.settings.capacity = 64u << 20;
    run_net(&r, MLP);
    assert_int_equal(r.st, VS_E_OOM);
    assert_true(r.result.has_oom);
    assert_true(r.result.oom.total_bytes == 64u << 20);
    assert_true(r.result.phase_count >= 2);
    run_release(&r);
}

static bool stop_after_forward(void *user, const struct lang_progress *progress)
{
    int *calls = user;

    (*calls)++;
    assert_int_equal(progress->steps, 3);
    return progress->phase != VS_PHASE_FORWARD;
}

static void the_run_stops_when_progress_returns_false(void **state)
{
    struct run r = {0};
    int calls = 0;

    (void)state;
    r.settings.user = &calls;
    r.settings.progress = stop_after_forward;
    run_net(&r, MLP);
    assert_int_equal(r.st, VS_E_STOPPED);
    assert_int_equal(calls, 3);
    run_release(&r);
}

/* calls: of stop_at; most: the call that stops the run; phases: those that ended */
struct stopper {
    int calls;
    int most;
    int phases;
};

static bool stop_at(void *user)
{
    struct stopper *stopper = user;

    return ++stopper->calls == stopper->most;
}

static bool count_phase(void *user, const struct lang_progress *progress)
{
    (void)progress;
    ((struct stopper *)user)->phases++;
    return true;
}

/* A forward of some 20,000 turns of a loop: set-up and data take a few hundred statements. */
#define LONG_FORWARD                                                                               \
    MLP "class Long(Net):\n"                                                                       \
        "    def forward(self, x):\n"                                                              \
        "        for i in range(20000):\n"                                                         \
        "            y = i\n"                                                                      \
        "        return self.b(self.act(self.a(x)))\n"                                             \
        "def model():\n"                                                                           \
        "    return Long()\n"

/* `inplace` NULL: as it is. The phases that were over when it stopped at call number `most` of stop_at. */
static int phases_before(const char *inplace, int most)
{
    struct stopper stopper = {.most = most};
    struct run r = {0};

    r.settings.user = &stopper;
    r.settings.progress = count_phase;
    r.settings.stop = stop_at;
    if (inplace)
        set(&r, "inplace", inplace);
    run_net(&r, LONG_FORWARD);
    assert_int_equal(r.st, VS_E_STOPPED);
    assert_int_equal(stopper.calls, most);
    assert_int_equal(r.result.refusal_count, 0);
    run_release(&r);
    return stopper.phases;
}

static void a_run_is_stopped_inside_a_phase_and_inside_an_inplace_check(void **state)
{
    struct stopper stopper = {.most = -1};
    struct run r = {0};

    (void)state;
    assert_int_equal(phases_before(NULL, 1), 2); /* set-up and data */
    assert_int_equal(phases_before("on", 1),
                     0); /* in the check, which is before the end of the set-up */
    r.settings.user = &stopper;
    r.settings.stop = stop_at;
    run_ok(&r, LONG_FORWARD);
    assert_true(stopper.calls >= 3 * 20000 / 4096);
    run_release(&r);
}

/* Graphs of some thousand nodes, one of them made again when it is needed; few statements. */
#define LONG_BACKWARD                                                                              \
    MLP "from torch.utils.checkpoint import checkpoint\n"                                          \
        "class Long(Net):\n"                                                                       \
        "    def middle(self, x):\n"                                                               \
        "        for i in range(200):\n"                                                           \
        "            x = self.act(x)\n"                                                            \
        "        return x\n"                                                                       \
        "    def forward(self, x):\n"                                                              \
        "        x = checkpoint(self.middle, self.a(x), use_reentrant=False)\n"                    \
        "        for i in range(600):\n"                                                           \
        "            x = self.act(x)\n"                                                            \
        "        return self.b(x)\n"                                                               \
        "def model():\n"                                                                           \
        "    return Long()\n"

static void a_run_is_stopped_wherever_a_backward_is(void **state)
{
    int inside = 0;
    int most = 0;
    bool is_stopped;

    (void)state;
    do {
        struct stopper stopper = {.most = ++most};
        struct run r = {0};

        r.settings.user = &stopper;
        r.settings.progress = count_phase;
        r.settings.stop = stop_at;
        run_net(&r, LONG_BACKWARD);
        is_stopped = r.st == VS_E_STOPPED;
        assert_true(is_stopped || r.st == VS_OK);
        assert_int_equal(stopper.calls, is_stopped ? most : most - 1);
        /* set-up, data, forward and loss are over, this backward is not */
        inside += is_stopped && stopper.phases == 4;
        run_release(&r);
    } while (is_stopped);
    /* 600 nodes behind the checkpoint and 200 before, each step */
    assert_true(inside >= 800 / 64);
}

static void the_same_seed_gives_the_same_losses_and_training_lowers_them(void **state)
{
    struct run a = {0};
    struct run b = {0};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct run *r = i ? &b : &a;

        r->settings.kernels = eng_kernels_cpu();
        r->settings.seed = 7;
        set(r, "optimizer", "momentum");
        set(r, "data", "once");
        set(r, "steps", "8");
        run_ok(r, MLP);
    }
    assert_int_equal(a.result.loss_count, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_true(a.result.steps[i].loss_known);
        assert_true(a.result.steps[i].loss == b.result.steps[i].loss);
    }
    assert_true(a.result.steps[7].loss < a.result.steps[0].loss);
    run_release(&a);
    run_release(&b);
}

struct heard {
    uint64_t hash;
    uint64_t events;
};

static void hear(void *user, const struct vs_event *event)
{
    struct heard *h = user;
    uint64_t parts[] = {event->kind,  event->raw.aux, event->raw.a, event->raw.b,
                        event->raw.c, event->raw.d,   event->raw.e};

    if (event->kind == VS_EV_SCALE)
        return;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        h->hash = (h->hash ^ parts[i]) * UINT64_C(0x100000001b3);
    h->events++;
}

static uint32_t hear_string(void *user, const char *text)
{
    uint32_t hash = 5381;

    (void)user;
    for (; *text; text++)
        hash = hash * 33 + (unsigned char)*text;
    return hash | 1;
}

static uint32_t hear_location(void *user, const struct vs_location *location)
{
    (void)user;
    return location->phase + 1;
}

static void hear_tensor(void *user, const struct vs_tensor_desc *desc)
{
    (void)user, (void)desc;
}

static void meta_and_cpu_emit_the_same_events(void **state)
{
    static const char *const cases[][2] = {
        {"optimizer", "adam"},  {"amp", "bf16"},    {"half", "on"},      {"checkpoint", "a"},
        {"zero-grad", "zeros"}, {"grad", "eval"},   {"accumulate", "2"}, {"inplace", "on"},
        {"detach-loss", "off"}, {"data", "once"},   {"freeze", "a"},     {"drop-outputs", "on"},
        {"optimizer", "adamw"}, {"foreach", "off"}, {"prefetch", "2"},   {"shard", "ddp"},
        {"shard", "zero1"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct heard heard[2] = {{0}};

        for (int k = 0; k < 2; k++) {
            struct run r = {0};
            struct eng_observer observer = {&heard[k], hear, hear_string, hear_location,
                                            hear_tensor};

            r.settings.kernels = k ? eng_kernels_cpu() : NULL;
            r.settings.observer = &observer;
            set(&r, cases[i][0], cases[i][1]);
            run_ok(&r, MLP);
            run_release(&r);
        }
        if (heard[0].events != heard[1].events || heard[0].hash != heard[1].hash)
            fail_msg("%s=%s: %d events on meta, %d on cpu, or others", cases[i][0], cases[i][1],
                     (int)heard[0].events, (int)heard[1].events);
        assert_true(heard[0].events > 100);
    }
}

static void the_loss_summed_as_a_tensor_stays(void **state)
{
    struct run off = {0};
    struct run on = {0};

    (void)state;
    set(&off, "detach-loss", "off");
    run_ok(&off, MLP);
    run_ok(&on, MLP);
    /* the running total: one float */
    assert_int_equal(phase_at(&off, 2, VS_PHASE_ZERO_GRAD)->requested_end -
                         phase_at(&on, 2, VS_PHASE_ZERO_GRAD)->requested_end,
                     4);
    run_release(&off);
    run_release(&on);
}

/* With a failure between them: nothing of a run stays in what they share. */
static void a_library_parsed_once_serves_every_run(void **state)
{
    struct lang_library *library = NULL;
    struct heard heard[3] = {{0}};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(lang_library_new(&library, &err), VS_OK);
    for (int i = 0; i < 3; i++) {
        const struct eng_observer observer = {&heard[i], hear, hear_string, hear_location,
                                              hear_tensor};
        struct run r = {.settings = {.observer = &observer, .library = i > 0 ? library : NULL}};
        struct run wrong = {.settings = {.library = library}};

        set(&r, "inplace", "on"); /*/* in-place checks take the same library */
        run_ok(&r, MLP);
        run_release(&r);
        run_net(&wrong, MLP "relu = F.nothing\n");
        assert_int_equal(wrong.st, VS_E_NAME);
        run_release(&wrong);
    }
    lang_library_free(library);
    assert_true(heard[0].events > 100);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(heard[i].events, heard[0].events);
        assert_true(heard[i].hash == heard[0].hash);
    }
}

/* Three ReLUs: `one` overwrites what sigmoid saved, `skip` what is added again, `two` nothing that anyone needs. */
#define THREE_RELUS                                                                                \
    HEAD "class Net(nn.Module):\n"                                                                 \
         "    def __init__(self):\n"                                                               \
         "        super().__init__()\n"                                                            \
         "        self.a = nn.Linear(4, 3)\n"                                                      \
         "        self.one = nn.ReLU()\n"                                                          \
         "        self.skip = nn.ReLU()\n"                                                         \
         "        self.two = nn.ReLU()\n"                                                          \
         "    def forward(self, x):\n"                                                             \
         "        x = self.one(torch.sigmoid(self.a(x))) + 1\n"                                    \
         "        x = self.skip(x) + x\n"                                                          \
         "        return self.two(x)\n"                                                            \
         "def model():\n"                                                                          \
         "    return Net()\n"                                                                      \
         "def batch(n):\n"                                                                         \
         "    return torch.randn(n, 4), torch.randint(0, 3, (n,))\n"

static void in_place_is_refused_where_the_old_value_is_needed(void **state)
{
    struct run r = {0};

    (void)state;
    set(&r, "inplace", "on");
    run_ok(&r, THREE_RELUS);
    assert_int_equal(r.result.inplace_count, 1);
    assert_string_equal(r.result.inplace[0], "two");
    assert_int_equal(r.result.refusal_count, 2);
    assert_string_equal(r.result.refusals[0].path, "one");
    assert_non_null(strstr(r.result.refusals[0].reason, "SigmoidBackward0"));
    assert_string_equal(r.result.refusals[1].path, "skip");
    assert_string_equal(r.result.refusals[1].reason, "the old value is read again by add");
    run_release(&r);
}

static void assert_same_choice(const struct lang_result *a, const struct lang_result *b)
{
    assert_int_equal(a->inplace_count, b->inplace_count);
    for (size_t i = 0; i < a->inplace_count; i++)
        assert_string_equal(a->inplace[i], b->inplace[i]);
    assert_int_equal(a->refusal_count, b->refusal_count);
    for (size_t i = 0; i < a->refusal_count; i++) {
        assert_string_equal(a->refusals[i].path, b->refusals[i].path);
        assert_string_equal(a->refusals[i].reason, b->refusals[i].reason);
    }
}

/* A check is given three toggles only: it runs again where one of these changed. */
static void inplace_checks_serve_all_runs_with_the_same_result(void **state)
{
    static const struct {
        const char *name;
        const char *value;
        bool is_known;
    } turns[] = {
        {"amp", "off", false},         {"amp", "bf16", true},
        {"checkpoint", "skip", false}, {"optimizer", "sgd", true},
        {"checkpoint", "off", true},   {"preserve-rng", "off", false},
        {"preserve-rng", "on", true},  {"checkpoint-impl", "reentrant", false},
    };
    struct lang_inplace_checks *checks = lang_inplace_checks_new();
    struct run shared = {.settings = {.inplace_checks = checks}};

    (void)state;
    set(&shared, "inplace", "on");
    for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
        size_t before = lang_inplace_checks_count(checks);
        struct run alone = {0};

        set(&shared, turns[i].name, turns[i].value);
        vs_toggles_copy(&alone.toggles, &shared.toggles);
        run_ok(&alone, THREE_RELUS);
        run_ok(&shared, THREE_RELUS);
        assert_same_choice(&shared.result, &alone.result);
        if ((lang_inplace_checks_count(checks) == before) != turns[i].is_known)
            fail_msg("%s=%s: %zu checks, then %zu", turns[i].name, turns[i].value, before,
                     lang_inplace_checks_count(checks));
        lang_result_release(&shared.result);
        run_release(&alone);
    }
    vs_toggles_release(&shared.toggles);
    lang_inplace_checks_free(checks);
}

/* 0 * inf: the gradient of sqrt at 0, times the 0 that came in. */
static void true_is_not_subtracted_from_a_tensor(void **state)
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
        struct run r = {0};
        char net[2048];

        snprintf(net, sizeof(net),
                 MLP "x = torch.ones(3)\n"
                     "%s\n",
                 cases[i].line);
        run_net(&r, net);
        assert_int_equal(r.st, cases[i].said ? VS_E_TYPE : VS_OK);
        if (cases[i].said)
            assert_non_null(strstr(r.err.text, cases[i].said));
        run_release(&r);
    }
}

static void anomaly_detection_names_the_node_that_gave_nan(void **state)
{
    static const char net[] = HEAD "class Net(nn.Module):\n"
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
        struct run r = {.settings = {.kernels = eng_kernels_cpu()}};
        char text[sizeof(net) + 32];

        snprintf(text, sizeof(text), net, modes[i]);
        run_net(&r, text);
        assert_int_equal(r.st, i < 2 ? VS_OK : VS_E_RAISED);
        if (i == 2)
            assert_non_null(
                strstr(r.err.text, "Function 'SqrtBackward0' returned nan values in its 0th"));
        run_release(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_has_setup_and_six_phases_a_step),
        cmocka_unit_test(what_is_set_explicitly_beats_the_file_and_the_file_beats_the_table),
        cmocka_unit_test(an_optimizer_set_explicitly_has_its_own_rate),
        cmocka_unit_test(wrong_defaults_and_missing_functions_are_refused),
        cmocka_unit_test(a_toggle_that_does_not_fit_the_net_is_refused_with_the_reason),
        cmocka_unit_test(what_several_processes_cannot_train_is_refused_in_pytorchs_words),
        cmocka_unit_test(accumulation_divides_the_batch_and_marks_each_part),
        cmocka_unit_test(without_training_a_step_ends_after_the_loss),
        cmocka_unit_test(a_skipped_step_on_meta_puts_off_the_optimizers_state),
        cmocka_unit_test(a_device_that_is_too_small_ends_the_run_with_the_figures),
        cmocka_unit_test(the_run_stops_when_progress_returns_false),
        cmocka_unit_test(a_run_is_stopped_inside_a_phase_and_inside_an_inplace_check),
        cmocka_unit_test(a_run_is_stopped_wherever_a_backward_is),
        cmocka_unit_test(the_same_seed_gives_the_same_losses_and_training_lowers_them),
        cmocka_unit_test(meta_and_cpu_emit_the_same_events),
        cmocka_unit_test(the_loss_summed_as_a_tensor_stays),
        cmocka_unit_test(a_library_parsed_once_serves_every_run),
        cmocka_unit_test(in_place_is_refused_where_the_old_value_is_needed),
        cmocka_unit_test(inplace_checks_serve_all_runs_with_the_same_result),
        cmocka_unit_test(true_is_not_subtracted_from_a_tensor),
        cmocka_unit_test(anomaly_detection_names_the_node_that_gave_nan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

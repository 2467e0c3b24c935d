/*
 * tests/facts/test_cuda_device.c - whole runs on the CUDA device: the events are those of the CPU, and the losses agree
 * except for rounding.
 *
 * The device is the simulated GPU in host memory (tests/engine/device/twin/): the same kernels as loops, in a plug-in
 * that is found and opened as the real one. Its driver assigns addresses as the simulated driver of `cpu` and `meta`
 * does, so the traces are equal in every field. Its convolutions request workspaces of varying size, and no kernel may
 * use memory that it did not allocate.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device/plugin.h"
#include "replay/report/summary.h"
#include "tests/facts/facts.h"
#include "tests/facts/grid.h"
#include "whatif/whatif.h"

/* Losses of every step within `bound` of each other, relatively. */
static void losses_agree(const char *what, const struct facts_run *a, const struct facts_run *b,
                         double bound)
{
    assert_int_equal(a->result.step_count, b->result.step_count);
    for (size_t i = 0; i < a->result.step_count; i++) {
        double x = a->result.steps[i].loss;
        double y = b->result.steps[i].loss;

        if (a->result.steps[i].loss_known != b->result.steps[i].loss_known ||
            (a->result.steps[i].loss_known && !(fabs(x - y) <= bound * fmax(fabs(x), 1.0))))
            fail_msg("%s: loss %zu is %.9g on the device, %.9g on the CPU", what, i, x, y);
    }
}

/* With a target both take the workspaces PyTorch would: every event is the same, addresses included. */
static void compare_on_target(const struct facts_net *net, const char *toggles, double bound)
{
    struct eng_device device = facts_twin_open();
    char with_target[128];
    struct facts_run cpu, cuda;

    snprintf(with_target, sizeof(with_target), "%s target=a100-40", toggles);
    cpu = facts_run_net(net, with_target, true, NULL);
    cuda = facts_run_net_on(net, with_target, &device);
    facts_same(net->path, cuda.trace, "cuda", cpu.trace, "cpu");
    losses_agree(net->path, &cuda, &cpu, bound);
    assert_null(cuda.result.workspace_notes.measured);
    facts_run_release(&cuda);
    facts_run_release(&cpu);
    device.close();
}

/* Both have the same text, or none. */
static void expect_same_meta(const char *path, const char *key, const struct rpl_trace *a,
                             const struct rpl_trace *b)
{
    const char *ta = rpl_trace_meta(a, key), *tb = rpl_trace_meta(b, key);

    if (!ta != !tb || (ta && strcmp(ta, tb) != 0))
        fail_msg("%s: %s: \"%s\", not \"%s\"", path, key, ta ? ta : "none", tb ? tb : "none");
}

/*
 * Without one it takes its own, and a what-if repeats them event for event. The device ends the run where something
 * works in memory that was not brought to it. Returns how many workspaces there were; where the net is refused and
 * may_be_refused, none.
 */
static uint64_t compare_repeated(const struct facts_net *net, const char *toggles,
                                 bool may_be_refused)
{
    struct rpl_trace *again = rpl_trace_new();
    struct vs_error err = VS_ERROR_INIT;
    struct eng_device device;
    struct facts_run cuda;
    uint64_t count;
    bool ran;

    setenv("VRAMSCOPE_TWIN_STRICT", "1", 1);
    device = facts_twin_open();
    ran = facts_try_net_on(net, toggles, &device, &cuda, &err);
    device.close();
    unsetenv("VRAMSCOPE_TWIN_STRICT");
    if (!ran) {
        rpl_trace_free(again);
        if (!may_be_refused)
            fail_msg("%s [%s]: %s", net->path, toggles, err.text);
        return 0;
    }
    assert_non_null(rpl_trace_meta(cuda.trace, "workspaces"));
    rpl_trace_set_meta(cuda.trace, "gpu", device.info.name);
    if (wif_run(cuda.trace, NULL, again, &err))
        fail_msg("%s [%s]: %s", net->path, toggles, err.text);
    facts_same(net->path, again, "what-if", cuda.trace, "cuda");
    /* both runs report a library workspace that is never measured */
    expect_same_meta(net->path, "unmeasured", again, cuda.trace);
    expect_same_meta(net->path, "workspaces", again, cuda.trace);
    count = facts_workspaces(cuda.trace);
    facts_run_release(&cuda);
    rpl_trace_free(again);
    return count;
}

static void compare(const char *path, const char *toggles, double bound)
{
    struct facts_net net = facts_net_read(path);

    compare_on_target(&net, toggles, bound);
    assert_true(compare_repeated(&net, toggles, false) > 0);
    facts_net_release(&net);
}

static void small_nets_have_the_events_and_losses_of_the_cpu(void **state)
{
    (void)state;
    for (size_t i = 0; i < FACTS_SMALL_COUNT; i++)
        compare(FACTS_SMALL[i], "steps=2", 1e-4);
}

/*
 * Losses of three steps, in which every kernel had a say, with the loops of launches and teams begun elsewhere each
 * time.
 */
static void results_do_not_depend_on_the_order_of_threads(void **state)
{
    static const char *const orders[] = {"0", "1", "77"};
    static const char *const toggles[] = {"steps=3", "steps=3 amp=bf16"};

    (void)state;
    for (size_t i = 0; i < 2 * FACTS_SMALL_COUNT; i++) {
        struct facts_net net = facts_net_read(FACTS_SMALL[i / 2]);
        struct facts_run first = {0};

        for (int k = 0; k < 3; k++) {
            struct eng_device device;
            struct facts_run run;

            setenv("VRAMSCOPE_TWIN_ORDER", orders[k], 1);
            device = facts_twin_open();
            run = facts_run_net_on(&net, toggles[i % 2], &device);
            device.close();
            if (k == 0) {
                first = run;
                continue;
            }
            losses_agree(net.path, &run, &first, 0);
            facts_run_release(&run);
        }
        unsetenv("VRAMSCOPE_TWIN_ORDER");
        facts_run_release(&first);
        facts_net_release(&net);
    }
}

static void half_precision_and_recomputation_have_the_events_and_losses_of_the_cpu(void **state)
{
    static const char *const NETS[] = {"tests/nets/conv_small.py", "tests/nets/gpt_tiny.py",
                                       "tests/nets/resnet_small.py", "tests/nets/vit_small.py"};

    (void)state;
    for (size_t i = 0; i < sizeof(NETS) / sizeof(NETS[0]); i++) {
        compare(NETS[i], "steps=2 amp=fp16", 1e-2);
        compare(NETS[i], "steps=2 amp=bf16", 4e-2);
        compare(NETS[i], "steps=2 checkpoint=blocks inplace=on", 1e-4);
        compare(NETS[i], "steps=1 workspace=2.9", 1e-4);
    }
}

/* A kernel that was added for the CPU alone would be called all the same. */
static void every_kernel_is_implemented(void **state)
{
    struct eng_device device = facts_twin_open();

    (void)state;
    for (size_t at = 0; at < sizeof(*device.kernels); at += sizeof(void *)) {
        void *entry;

        memcpy(&entry, (const char *)device.kernels + at, sizeof(entry));
        if (!entry)
            fail_msg("entry %zu of struct eng_kernels is NULL", at / sizeof(void *));
    }
    device.close();
}

/* Asks what would be with `pairs`, of a run of conv_small on the device. `out` is cleared. */
static void what_if(const char *pairs, uint64_t capacity, struct rpl_trace *out)
{
    struct facts_net net = facts_net_read("tests/nets/conv_small.py");
    struct eng_device device = facts_twin_open();
    struct facts_run cuda = facts_run_net_on(&net, "steps=1", &device);
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;

    facts_toggles(pairs, &set);
    if (wif_run_on(cuda.trace, &set, capacity, out, &err))
        fail_msg("%s: %s", pairs, err.text);
    vs_toggles_release(&set);
    facts_run_release(&cuda);
    facts_net_release(&net);
    device.close();
}

static struct rpl_summary summary_of(struct rpl_trace *trace)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_summary sum;

    memset(&sum, 0, sizeof(sum));
    if (rpl_summary_fill(&sum, trace, &err))
        fail_msg("%s", err.text);
    return sum;
}

/*
 * Another batch is another convolution to cuDNN: what it works in was never seen, and products still are what they are.
 */
/* Those that PyTorch refuses are refused here, too. */
static void measured_workspaces_of_every_op_are_replayed(void **state)
{
    glob_t found;
    uint64_t workspaces = 0;

    (void)state;
    assert_int_equal(glob("tests/nets/ops/*.py", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct facts_net net = facts_net_read(found.gl_pathv[i]);

        workspaces += compare_repeated(&net, "steps=1", true);
        facts_net_release(&net);
    }
    print_message("%d nets, %d workspaces\n", (int)found.gl_pathc, (int)workspaces);
    assert_true(found.gl_pathc > 300 && workspaces > 100);
    globfree(&found);
}

/* A driver puts segments where it likes, which decides between blocks of equal size. */
static void events_do_not_depend_on_segment_addresses(void **state)
{
    struct facts_net net = facts_net_read("tests/nets/resnet_small.py");

    (void)state;
    setenv("VRAMSCOPE_TWIN_DOWNWARDS", "1", 1);
    compare_repeated(&net, "steps=2 empty-cache=step", false);
    unsetenv("VRAMSCOPE_TWIN_DOWNWARDS");
    facts_net_release(&net);
}

static void unmeasured_workspaces_are_reported(void **state)
{
    struct rpl_trace *out = rpl_trace_new();
    struct rpl_summary sum;

    (void)state;
    what_if("zero-grad=zeros", 0, out); /* the same convolutions */
    sum = summary_of(out);
    assert_int_equal(sum.uncertainty.allocs, 0);
    assert_false(sum.uncertainty.is_tensors_only);
    rpl_summary_release(&sum);

    what_if("batch=3", 0, out);
    assert_non_null(rpl_trace_meta(out, "unmeasured"));
    sum = summary_of(out);
    assert_true(sum.uncertainty.allocs > 0);
    assert_false(sum.uncertainty.is_tensors_only);
    assert_non_null(strstr(sum.uncertainty.what, "not measured"));
    assert_true(facts_workspaces(out) > 0);
    rpl_summary_release(&sum);

    what_if("target=a100-40", 0, out); /* those of PyTorch instead */
    assert_null(rpl_trace_meta(out, "workspaces"));
    rpl_trace_free(out);
}

/*
 * Of 28 MiB, small tensors take 2 MiB; images of 4 MiB are in a segment of 20 MiB, in which the 10 MiB workspace of
 * forward fits, too. Backward needs three times as much (conv_bytes of cuda_twin.c): 3 * (3 + 7) * 1048576 elements,
 * 3 * 5 * 576 of the weight, 1000 + 100 + 40; not even half of that fits.
 */
#define SHORT_CAPACITY (UINT64_C(28) << 20)
static const char SHORT_NET[] =
    "import torch\n"
    "import torch.nn as nn\n"
    "\n"
    "class Net(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.conv = nn.Conv2d(8, 8, 3, padding=1)\n"
    "\n"
    "    def forward(self, x):\n"
    "        return self.conv(x).mean((2, 3))\n"
    "\n"
    "def model():\n"
    "    return Net()\n"
    "\n"
    "def batch(n):\n"
    "    return torch.randn(n, 8, 256, 256), torch.randint(0, 8, (n,))\n"
    "\n"
    "defaults = dict(batch=2)\n";

/* If the workspace of the best algorithm cannot be allocated, the next one is used; the run goes on and reports it. */
static void a_workspace_that_does_not_fit_selects_a_slower_algorithm(void **state)
{
    struct facts_net net = facts_net_of("short.py", SHORT_NET);
    struct rpl_trace *again = rpl_trace_new();
    struct vs_error err = VS_ERROR_INIT;
    struct eng_device device;
    struct facts_run cuda;

    (void)state;
    setenv("VRAMSCOPE_TWIN_STRICT", "1", 1);
    device = facts_twin_open();
    cuda = facts_run_net_within(&net, "steps=1", &device, SHORT_CAPACITY);
    device.close();
    unsetenv("VRAMSCOPE_TWIN_STRICT");
    assert_non_null(cuda.result.workspace_notes.shortages);
    assert_string_equal(cuda.result.workspace_notes.shortages,
                        "ConvolutionBackward0 of line 10: 31467060 bytes to work in were not to be "
                        "had, so a slower way took 0");
    assert_false(cuda.result.has_oom);
    if (wif_run_on(cuda.trace, NULL, SHORT_CAPACITY, again, &err))
        fail_msg("%s", err.text);
    facts_same("short of memory", again, "what-if", cuda.trace, "cuda");
    assert_string_equal(rpl_trace_meta(again, "shortages"), cuda.result.workspace_notes.shortages);
    facts_run_release(&cuda);
    facts_net_release(&net);
    rpl_trace_free(again);
}

static void a_missing_plug_in_is_named(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct eng_device device;

    (void)state;
    setenv("VRAMSCOPE_PLUGINS", "/nonexistent", 1);
    assert_int_equal(eng_device_open("nosuch", &device, &err), VS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "nosuch"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_do_not_depend_on_the_order_of_threads),
        cmocka_unit_test(small_nets_have_the_events_and_losses_of_the_cpu),
        cmocka_unit_test(half_precision_and_recomputation_have_the_events_and_losses_of_the_cpu),
        cmocka_unit_test(measured_workspaces_of_every_op_are_replayed),
        cmocka_unit_test(events_do_not_depend_on_segment_addresses),
        cmocka_unit_test(unmeasured_workspaces_are_reported),
        cmocka_unit_test(a_workspace_that_does_not_fit_selects_a_slower_algorithm),
        cmocka_unit_test(every_kernel_is_implemented),
        cmocka_unit_test(a_missing_plug_in_is_named),
    };

    return cmocka_run_group_tests_name("facts/cuda_device", tests, NULL, NULL);
}

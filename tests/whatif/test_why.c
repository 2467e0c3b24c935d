/*
 * tests/whatif/test_why.c - why a what-if has no effect or a higher peak: the reasons, with figures that are checked
 * against the two runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "tests/replay/net_trace.h"
#include "tests/store/trace_file.h"
#include "whatif/whatif.h"
#include "whatif/why.h"

/* Both runs of a what-if, their figures, and the reason. */
struct answer {
    struct rpl_trace *base, *run;
    struct rpl_summary before, after;
    struct vs_text why;
};

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

static struct answer answer_of(const char *net, const char *pair)
{
    struct answer a = {.base = net_trace(net, NULL), .run = rpl_trace_new()};
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;

    ok(vs_toggles_set_pair(&set, pair, &err), &err);
    ok(wif_run(a.base, &set, a.run, &err), &err);
    ok(rpl_summary_fill(&a.before, a.base, &err), &err);
    ok(rpl_summary_fill(&a.after, a.run, &err), &err);
    ok(wif_why(&a.before, a.run, &a.after, &set, &a.why, &err), &err);
    vs_toggles_release(&set);
    return a;
}

static void release(struct answer *a)
{
    rpl_summary_release(&a->before);
    rpl_summary_release(&a->after);
    vs_text_release(&a->why);
    rpl_trace_free(a->run);
    rpl_trace_free(a->base);
}

static void has(const struct answer *a, const char *part)
{
    if (!strstr(vs_text_get(&a->why), part))
        fail_msg("no \"%s\" in: %s", part, vs_text_get(&a->why));
}

/* Without backward the graph of a step lives until the loop's names are bound again: two are alive at the peak. */
static void a_higher_peak_under_eval_is_explained_by_the_previous_step(void **state)
{
    struct answer a = answer_of("sample_nets/resnet18.py", "grad=eval");

    (void)state;
    assert_true(a.after.peak.allocated > a.before.peak.allocated);
    has(&a, "of the peak, most of it `saved`, are from before step 1 and still alive, kept by "
            "local `l` of `training loop` and the autograd history of its tensor");
    release(&a);
}

/* ResNet-50: layer3 is the longest Sequential, and layer1 and layer2 save more. */
static void sqrt_that_cuts_a_small_part_of_the_net_says_so(void **state)
{
    struct answer a = answer_of("sample_nets/resnet50.py", "checkpoint=sqrt");

    (void)state;
    assert_true(a.after.peak.allocated < a.before.peak.allocated);
    has(&a, "checkpoint=sqrt cuts `layer3` alone, the longest Sequential; of the ");
    has(&a, " are outside of it, most in `layer1` (");
    release(&a);
}

/* `part` saves most; that its name begins that of `part2`, which is cut, does not make it a part of that. */
static void names_that_begin_alike_are_not_one_module(void **state)
{
    static const char NET[] =
        "import torch\n"
        "import torch.nn as nn\n"
        "\n"
        "\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.part = nn.Sequential(nn.Linear(64, 4096), nn.Sigmoid())\n"
        "        self.part2 = nn.Sequential(nn.ReLU(), nn.Linear(64, 64), "
        "nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))\n"
        "\n"
        "    def forward(self, x):\n"
        "        return self.part(self.part2(x))\n"
        "\n"
        "\n"
        "def model():\n"
        "    return Net()\n"
        "\n"
        "\n"
        "def batch(n):\n"
        "    return torch.randn(n, 64), torch.randint(0, 10, (n,))\n"
        "\n"
        "\n"
        "defaults = dict(batch=4096)\n";
    char path[4096];
    struct answer a;
    FILE *file = fopen(trace_path(state, "net.py", path, sizeof(path)), "w");

    assert_non_null(file);
    fputs(NET, file);
    fclose(file);
    a = answer_of(path, "checkpoint=sqrt");
    has(&a, "cuts `part2` alone");
    has(&a, "most in `part` (64.0 MiB)");
    release(&a);
}

/* One chain of a hundred layers, all of it cut: there is nothing to explain. */
static void sqrt_that_reaches_all_of_the_net_needs_no_reason(void **state)
{
    struct answer a = answer_of("sample_nets/linear100.py", "checkpoint=sqrt");

    (void)state;
    assert_true(a.after.peak.allocated < a.before.peak.allocated);
    assert_string_equal(vs_text_get(&a.why), "");
    release(&a);
}

static void sqrt_over_two_children_is_reported_as_one_segment(void **state)
{
    struct answer a = answer_of("sample_nets/resnet18.py", "checkpoint=sqrt");

    (void)state;
    assert_int_equal(a.after.peak.allocated, a.before.peak.allocated);
    assert_string_equal(vs_text_get(&a.why),
                        "checkpoint=sqrt has no effect: 'layer1', the longest Sequential, has 2 "
                        "children and becomes one segment; the last segment is never checkpointed; "
                        "give segments=2 or name modules");
    release(&a);
}

/* Where a toggle works, but not at the peak, the figures of the phase in which it works are those of the runs. */
static void an_effect_outside_the_peak_is_named_with_its_phase(void **state)
{
    struct answer a = answer_of("sample_nets/resnet18.py", "drop-outputs=on");
    uint64_t before = 0, after = 0;
    char part[128], by[VS_BYTES_TEXT_MAX], to[VS_BYTES_TEXT_MAX];

    (void)state;
    assert_int_equal(a.after.peak.allocated, a.before.peak.allocated);
    for (size_t i = 0; i < a.before.step_count; i++)
        for (size_t k = 0; k < a.before.steps[i].phase_count; k++) {
            const struct rpl_phase *x = &a.before.steps[i].phases[k];
            const struct rpl_phase *y = &a.after.steps[i].phases[k];

            if (x->phase == VS_PHASE_DATA && x->allocated_peak > before)
                before = x->allocated_peak;
            if (y->phase == VS_PHASE_DATA && y->allocated_peak > after)
                after = y->allocated_peak;
        }
    assert_true(before > after);
    (void)snprintf(part, sizeof(part), "the highest in data falls by %s, to %s",
                   vs_bytes_text(before - after, by), vs_bytes_text(after, to));
    has(&a, part);
    release(&a);
}

static void the_category_that_grows_is_named(void **state)
{
    struct answer a = answer_of("sample_nets/resnet18.py", "optimizer=adam");
    const uint64_t grown =
        a.after.peak.by_category[VS_CAT_OPTIMIZER] - a.before.peak.by_category[VS_CAT_OPTIMIZER];
    char part[128], bytes[VS_BYTES_TEXT_MAX];

    (void)state;
    (void)snprintf(part, sizeof(part), "%s more of `optimizer`", vs_bytes_text(grown, bytes));
    has(&a, part);
    release(&a);
}

static void a_lower_peak_gets_no_explanation(void **state)
{
    struct answer a = answer_of("sample_nets/resnet18.py", "checkpoint=blocks");

    (void)state;
    assert_true(a.after.peak.allocated < a.before.peak.allocated);
    assert_int_equal(a.why.len, 0);
    release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_higher_peak_under_eval_is_explained_by_the_previous_step),
        cmocka_unit_test(sqrt_that_cuts_a_small_part_of_the_net_says_so),
        cmocka_unit_test_setup_teardown(names_that_begin_alike_are_not_one_module,
                                        trace_folder_setup, trace_folder_teardown),
        cmocka_unit_test(sqrt_that_reaches_all_of_the_net_needs_no_reason),
        cmocka_unit_test(sqrt_over_two_children_is_reported_as_one_segment),
        cmocka_unit_test(an_effect_outside_the_peak_is_named_with_its_phase),
        cmocka_unit_test(the_category_that_grows_is_named),
        cmocka_unit_test(a_lower_peak_gets_no_explanation),
    };

    return cmocka_run_group_tests_name("whatif/why", tests, NULL, NULL);
}

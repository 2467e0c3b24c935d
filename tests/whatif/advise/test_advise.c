/*
 * tests/whatif/advise/test_advise.c - advice on sample nets: each change, run again from its own description, has
 * exactly the promised peak; what may be advised; what fits; what the trace shows.
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

#include "base/mem.h"
#include "base/text.h"
#include "replay/report/summary.h"
#include "tests/replay/make_trace.h"
#include "tests/replay/net_trace.h"
#include "whatif/advise/advise.h"
#include "whatif/sweep.h"
#include "whatif/whatif.h"

static const struct {
    const char *net;
    const char *toggles;
} NETS[] = {
    {"sample_nets/gpt2_small_sdpa.py", "batch=1 steps=2"},
    {"sample_nets/lenet.py", "batch=64 steps=2"},
    {"sample_nets/lm4.py", "steps=2"},
    {"sample_nets/mlp_swish.py", "steps=2"},
    {"sample_nets/resnet18.py", "batch=8 steps=2"},
    {"sample_nets/unet.py", "batch=2 steps=2"},
    {"sample_nets/variables.py", ""},
    {"sample_nets/vit_tiny.py", "batch=8 steps=2"},
    {"sample_nets/optimizer_in_backward.py", "steps=2"},
    {"tests/nets/resnet_small.py", "optimizer=adam"},
    {"tests/nets/gpt_tiny.py", "amp=bf16"},
    {"tests/nets/shared_module.py", ""},
    {"tests/nets/lstm_cells.py", ""},
    {"tests/nets/custom_function.py", ""},
    {"tests/nets/leak_loss.py", ""},
    {"tests/nets/own_step/gan.py", ""},
    {"tests/nets/own_step/as_the_loop.py", ""},
    {"tests/nets/articles/accumulate_by_hand.py", ""},
};
#define NET_COUNT (sizeof(NETS) / sizeof(NETS[0]))

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

static struct rpl_trace *text_trace(const char *text, const char *toggles)
{
    struct rpl_trace *source = rpl_trace_new();
    struct rpl_trace *out = rpl_trace_new();
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    char *words = vs_strdup(toggles);
    char *rest = words;
    char *word;

    while ((word = strtok_r(rest, " ", &rest)) != NULL)
        ok(vs_toggles_set_pair(&set, word, &err), &err);
    rpl_trace_set_source(source, "net.py", text);
    ok(wif_run(source, &set, out, &err), &err);
    vs_toggles_release(&set);
    rpl_trace_free(source);
    vs_free(words);
    return out;
}

static void advise(struct rpl_trace *base, uint64_t capacity, struct wif_advise *out)
{
    const struct wif_advise_options options = {.capacity = capacity};
    struct vs_error err = VS_ERROR_INIT;

    ok(wif_advise_fill(out, base, &options, &err), &err);
}

/* ---- each change has the promised peak ---- */

/* The text with the lines of an advice, made here by the description alone. */
static char *changed_text(const struct wif_advice *advice, const char *text)
{
    struct vs_text out = {NULL, 0, 0};
    uint32_t line = 1;

    for (const char *p = text; *p; line++) {
        size_t len = strcspn(p, "\n");
        const char *instead = NULL;

        for (size_t i = 0; i < advice->edits.count; i++)
            if (advice->edits.items[i].line == line && advice->edits.items[i].replaces)
                instead = advice->edits.items[i].text;
        vs_text_addf(&out, "%.*s\n", instead ? (int)strlen(instead) : (int)len,
                     instead ? instead : p);
        for (size_t i = 0; i < advice->edits.count; i++)
            if (advice->edits.items[i].line == line && !advice->edits.items[i].replaces)
                vs_text_addf(&out, "%s\n", advice->edits.items[i].text);
        p += len + (p[len] == '\n');
    }
    return vs_text_take(&out);
}

static void check_change(const char *net, const char *toggles, struct rpl_trace *base,
                         const struct wif_advice *advice)
{
    char *text = changed_text(advice, rpl_trace_source_text(base));
    struct vs_text all = {NULL, 0, 0};
    struct rpl_trace *run;
    struct rpl_summary sum = {.events = 0};
    struct vs_error err = VS_ERROR_INIT;

    vs_text_addf(&all, "%s", toggles);
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        if (vs_toggles_is_set(&advice->set, (enum vs_toggle)i))
            vs_text_addf(&all, " %s=%s", vs_toggle_info((enum vs_toggle)i)->name,
                         vs_toggles_get(&advice->set, (enum vs_toggle)i));
    run = text_trace(text, vs_text_get(&all));
    ok(rpl_summary_fill(&sum, run, &err), &err);
    if (sum.peak.allocated != advice->run.peak || sum.peak.reserved != advice->run.reserved ||
        sum.recompute_flops != advice->run.recompute_flops)
        fail_msg("%s, %s: a peak of %" PRIu64 " was promised, %" PRIu64 " came", net, advice->label,
                 advice->run.peak, sum.peak.allocated);
    rpl_summary_release(&sum);
    vs_text_release(&all);
    rpl_trace_free(run);
    vs_free(text);
}

static size_t parts_of(const struct wif_advice *advice)
{
    size_t parts = advice->edits.count > 0;

    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        parts += vs_toggles_is_set(&advice->set, (enum vs_toggle)i);
    return parts;
}

/* No combination is dearer than something else and lowers the peak no further; what was left out has a reason there. */
static void check_dominated(const char *net, const struct wif_advise *all)
{
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; k < all->count; k++) {
            const struct wif_advice *a = &all->items[i];
            const struct wif_advice *b = &all->items[k];

            if (parts_of(b) > 1 && a->price < b->price && a->run.peak <= b->run.peak &&
                a->run.fits && !b->is_headline)
                fail_msg("%s: %s costs more than %s and saves no more", net, b->label, a->label);
        }
    for (size_t i = 0; i < all->dominated_count; i++) {
        const struct wif_advice *left_out = &all->dominated[i];
        const struct wif_advice *by = NULL;

        for (size_t k = 0; k < all->count && !by; k++)
            if (strcmp(all->items[k].label, left_out->by) == 0)
                by = &all->items[k];
        if (!by || by->price > left_out->price || by->run.peak > left_out->run.peak)
            fail_msg("%s: %s is left out because of %s", net, left_out->label, left_out->by);
    }
}

static void check_rank(const char *net, const struct wif_advise *all)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct wif_advice *a = &all->items[i];

        if (a->run.peak >= all->base.peak)
            fail_msg("%s: %s does not lower the peak", net, a->label);
        if (vs_toggles_is_set(&a->set, VS_TOGGLE_GRAD) ||
            vs_toggles_is_set(&a->set, VS_TOGGLE_BATCH))
            fail_msg("%s: %s is no training of the same batch", net, a->label);
        if (i &&
            (a->price < a[-1].price || (a->price == a[-1].price && a->run.peak < a[-1].run.peak)))
            fail_msg("%s: %s comes after %s", net, a->label, a[-1].label);
        if (a->price == WIF_PRICE_NONE && a->run.recompute_flops > all->base.recompute_flops)
            fail_msg("%s: %s recomputes", net, a->label);
    }
}

static void each_advised_change_runs_at_its_promised_peak(void **state)
{
    size_t changes = 0;
    size_t lines = 0;

    (void)state;
    for (size_t n = 0; n < NET_COUNT; n++) {
        struct rpl_trace *base = net_trace(NETS[n].net, NETS[n].toggles);
        struct wif_advise all;
        struct rpl_summary sum = {.events = 0};
        struct vs_error err = VS_ERROR_INIT;

        advise(base, 0, &all);
        ok(rpl_summary_fill(&sum, base, &err), &err);
        assert_int_equal(all.base.peak, sum.peak.allocated);
        check_rank(NETS[n].net, &all);
        check_dominated(NETS[n].net, &all);
        for (size_t i = 0; i < all.count; i++) {
            check_change(NETS[n].net, NETS[n].toggles, base, &all.items[i]);
            lines += all.items[i].edits.count > 0;
        }
        changes += all.count;
        rpl_summary_release(&sum);
        wif_advise_release(&all);
        rpl_trace_free(base);
    }
    assert_true(changes > 100);
    assert_true(lines >= 4);
}

/* ---- what is advised ---- */

static const struct wif_advice *find(const struct wif_advise *all, const char *label)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->items[i].label, label) == 0)
            return &all->items[i];
    return NULL;
}

static void a_variable_that_is_not_read_again_is_released(void **state)
{
    struct rpl_trace *base = net_trace("sample_nets/variables.py", NULL);
    struct wif_advise all;
    const struct wif_advice *advice;

    (void)state;
    advise(base, 0, &all);
    advice = find(&all, "`del x1` after line 20");
    assert_non_null(advice);
    assert_int_equal(advice->line, 20);
    assert_int_equal(advice->price, WIF_PRICE_NONE);
    /* x1 is float32[16, 16, 128, 128]: 16 MiB, but for 1.5 KiB of gradients at the new peak */
    assert_in_range(all.base.peak - advice->run.peak, (UINT64_C(16) << 20) - 4096, 16 << 20);
    assert_string_equal(advice->edits.items[0].text, "        del x1");
    wif_advise_release(&all);
    rpl_trace_free(base);
}

/* ResNet-18: checkpoints around blocks recompute a quarter for less than planned ones save with 4 %. */
static void a_change_that_another_makes_pointless_is_left_out(void **state)
{
    struct rpl_trace *base = net_trace("sample_nets/resnet18.py", "batch=8 steps=2");
    struct wif_advise all;
    const struct wif_advice *blocks = NULL;

    (void)state;
    advise(base, 0, &all);
    assert_null(find(&all, "checkpoint=blocks"));
    assert_non_null(find(&all, "checkpoint=auto"));
    for (size_t i = 0; i < all.dominated_count; i++)
        if (strcmp(all.dominated[i].label, "checkpoint=blocks") == 0)
            blocks = &all.dominated[i];
    assert_non_null(blocks);
    assert_string_equal(blocks->by, "checkpoint=auto");
    assert_true(blocks->run.recompute_flops > find(&all, "checkpoint=auto")->run.recompute_flops);
    /* amp=fp16 has the peak of amp=bf16, and is another thing to do */
    assert_non_null(find(&all, "amp=fp16"));
    assert_non_null(find(&all, "amp=bf16"));
    wif_advise_release(&all);
    rpl_trace_free(base);
}

static void an_evaluation_is_advised_to_record_no_gradients(void **state)
{
    struct rpl_trace *base = net_trace("tests/nets/resnet_small.py", "grad=eval");
    struct wif_advise all;
    const struct wif_advice *advice;

    (void)state;
    advise(base, 0, &all);
    advice = find(&all, "grad=no_grad");
    assert_non_null(advice);
    assert_int_equal(advice->price, WIF_PRICE_NONE);
    wif_advise_release(&all);
    rpl_trace_free(base);
}

static void settings_that_cost_memory_are_advised_against(void **state)
{
    struct rpl_trace *base =
        net_trace("tests/nets/resnet_small.py", "zero-grad=zeros detach-loss=off prefetch=2");
    struct wif_advise all;

    (void)state;
    advise(base, 0, &all);
    assert_non_null(find(&all, "zero-grad=none"));
    assert_non_null(find(&all, "detach-loss=on"));
    assert_non_null(find(&all, "prefetch=off"));
    wif_advise_release(&all);
    rpl_trace_free(base);
}

/* ---- within a capacity ---- */

static bool runs_in(struct rpl_trace *base, const struct vs_toggles *set, uint64_t capacity,
                    uint64_t batch)
{
    struct rpl_trace *run = rpl_trace_new();
    struct vs_toggles with = {{NULL}};
    struct rpl_summary sum = {.events = 0};
    struct vs_error err = VS_ERROR_INIT;
    char text[32];
    bool fits;

    vs_toggles_copy(&with, set);
    snprintf(text, sizeof(text), "%" PRIu64, batch);
    ok(vs_toggles_set(&with, VS_TOGGLE_BATCH, text, &err), &err);
    ok(wif_run_on(base, &with, capacity, run, &err), &err);
    ok(rpl_summary_fill(&sum, run, &err), &err);
    fits = !sum.oom.event;
    rpl_summary_release(&sum);
    vs_toggles_release(&with);
    rpl_trace_free(run);
    return fits;
}

static void the_headline_is_the_cheapest_change_that_fits(void **state)
{
    struct rpl_trace *base = net_trace("sample_nets/resnet18.py", "batch=16 steps=2");
    const struct vs_toggles none = {{NULL}};

    (void)state;
    for (uint64_t mib = 280; mib <= 540; mib += 80) {
        const uint64_t capacity = mib << 20;
        struct wif_advise all;
        const struct wif_advice *headline;

        advise(base, capacity, &all);
        assert_int_equal(all.capacity, capacity);
        assert_int_equal(all.base.fits, runs_in(base, &none, capacity, 16));
        assert_true(runs_in(base, &none, capacity, all.batch));
        assert_false(runs_in(base, &none, capacity, all.batch + 1));
        headline = all.count && all.items[0].is_headline ? &all.items[0] : NULL;
        assert_int_equal(headline != NULL, !all.base.fits);
        if (headline) {
            assert_int_equal(headline->edits.count, 0);
            assert_true(runs_in(base, &headline->set, capacity, headline->batch));
            assert_true(headline->batch >= 16);
        }
        for (size_t i = 1; headline && i < all.count; i++)
            assert_false(all.items[i].run.fits && all.items[i].price < headline->price);
        wif_advise_release(&all);
    }
    rpl_trace_free(base);
}

static void a_run_that_fits_with_no_change_has_no_headline(void **state)
{
    struct rpl_trace *base = net_trace("tests/nets/resnet_small.py", NULL);
    struct wif_advise all;

    (void)state;
    advise(base, 4096, &all);
    assert_false(all.base.fits);
    assert_int_equal(all.batch, 0);
    assert_false(all.count && all.items[0].is_headline);
    wif_advise_release(&all);
    rpl_trace_free(base);
}

/* ---- findings ---- */

static const struct wif_finding *finding(const struct wif_advise *all, enum wif_finding_kind kind)
{
    for (size_t i = 0; i < all->finding_count; i++)
        if (all->findings[i].kind == kind)
            return &all->findings[i];
    fail_msg("there is no finding of kind %d", (int)kind);
    return NULL;
}

static void a_leak_names_its_owner_and_line(void **state)
{
    struct rpl_trace *base = net_trace("tests/nets/leak_loss.py", "steps=5");
    struct wif_advise all;
    const struct wif_advice *advice;
    const struct wif_finding *leak;

    (void)state;
    advise(base, 0, &all);
    leak = finding(&all, WIF_FINDING_LEAK);
    assert_int_equal(leak->line, 28);
    assert_non_null(strstr(leak->text, "`loss` of `Total`"));
    assert_true(leak->gain > 0 && leak->gain <= leak->bytes * 2);
    /* a run without it frees as much */
    advice = find(&all, "`total.loss = (total.loss + extra).detach()` as line 28");
    assert_non_null(advice);
    assert_int_equal(advice->price, WIF_PRICE_NONE);
    assert_in_range(all.base.peak - advice->run.peak, leak->gain - 1024, leak->gain + 1024);
    wif_advise_release(&all);
    rpl_trace_free(base);
}

static const char UNREAD[] = "import torch\n"
                             "import torch.nn as nn\n"
                             "class Net(nn.Module):\n"
                             "    def __init__(self):\n"
                             "        super().__init__()\n"
                             "        self.used = nn.Linear(64, 10)\n"
                             "        self.spare = nn.Linear(1024, 256)\n"
                             "    def forward(self, x):\n"
                             "        return self.used(x)\n"
                             "def model():\n"
                             "    return Net()\n"
                             "def batch(n):\n"
                             "    return torch.randn(n, 64), torch.randint(0, 10, (n,))\n";

static void unused_parameters_are_named(void **state)
{
    struct rpl_trace *base = text_trace(UNREAD, "");
    struct wif_advise all;
    const struct wif_finding *unread;

    (void)state;
    advise(base, 0, &all);
    unread = finding(&all, WIF_FINDING_UNREAD);
    assert_string_equal(unread->text, "spare.weight, spare.bias: no step reads these parameters");
    /* 1024 * 256 and 256 float32, in blocks of 512 bytes */
    assert_int_equal(unread->bytes, 1024 * 256 * 4 + 1024);
    assert_int_equal(unread->gain, unread->bytes);
    wif_advise_release(&all);
    rpl_trace_free(base);
}

/* A recording without reads and holders: blocks, steps, lines. */
static void an_imported_trace_shows_what_earlier_steps_keep(void **state)
{
    struct wif_advise all;
    struct make m;
    const struct wif_finding *kept;

    (void)state;
    make_init(&m);
    rpl_trace_set_meta(m.trace, "source_kind", "imported");
    m.op = "";
    make_step(&m, 0);
    m.line = 7;
    make_alloc(&m, 8192, VS_CAT_ACTIVATION); /* block 1: the output, until the next one is bound */
    m.line = 8;
    make_alloc(&m, 2048, VS_CAT_ACTIVATION); /* block 2 */
    make_free(&m, 2, 2048);
    make_step(&m, 1);
    m.line = 8;
    make_alloc(&m, 2048, VS_CAT_ACTIVATION); /* block 3 */
    m.line = 7;
    make_alloc(&m, 8192, VS_CAT_ACTIVATION); /* block 4; here 18,432 bytes are allocated */
    make_free(&m, 1, 8192);
    make_free(&m, 3, 2048);
    make_step(&m, 2);
    make_free(&m, 4, 8192);
    advise(m.trace, 0, &all);
    assert_non_null(all.cannot);
    assert_int_equal(all.count, 0);
    assert_int_equal(all.finding_count, 1);
    kept = finding(&all, WIF_FINDING_KEPT);
    assert_int_equal(kept->line, 7);
    assert_int_equal(kept->bytes, 8192);
    /* without block 1 in step 1 the highest is that of step 0 and of step 1: 10,240 */
    assert_int_equal(kept->gain, 8192);
    assert_non_null(strstr(kept->text, "is of step 0 and still alive in step 1"));
    wif_advise_release(&all);
    rpl_trace_free(m.trace);
}

/* Blocks of two sizes on one line are one finding, and what leaks is not listed twice. */
static void what_earlier_steps_keep_is_listed_once_for_a_line(void **state)
{
    struct wif_advise all;
    struct make m;
    const struct wif_finding *kept;

    (void)state;
    make_init(&m);
    rpl_trace_set_meta(m.trace, "source_kind", "imported");
    m.op = "";
    make_step(&m, 0);
    m.line = 7;
    make_alloc(&m, 8192, VS_CAT_ACTIVATION); /* blocks 1 and 2 stay */
    make_alloc(&m, 4096, VS_CAT_ACTIVATION);
    for (int64_t step = 1; step < 5; step++) {
        make_step(&m, step);
        m.line = 9;
        make_alloc(&m, 2048, VS_CAT_ACTIVATION); /* each stays */
    }
    advise(m.trace, 0, &all);
    assert_int_equal(all.finding_count, 2);
    assert_int_equal(finding(&all, WIF_FINDING_LEAK)->line, 9);
    kept = finding(&all, WIF_FINDING_KEPT);
    assert_int_equal(kept->line, 7);
    assert_int_equal(kept->bytes, 8192 + 4096);
    /* 12,288 of the 20,480 bytes at the end */
    assert_int_equal(kept->gain, 8192 + 4096);
    assert_non_null(strstr(kept->text, "2 tensors of a line, the largest "));
    assert_non_null(strstr(kept->text, "are of earlier steps and still alive in step 4"));
    wif_advise_release(&all);
    rpl_trace_free(m.trace);
}

#define MIB UINT64_C(1048576)

/*
 * 640 MiB are freed, and 384 of them are used for what stays, twice: 1024 MiB are allocated at most, and 1280 reserved.
 * A setting that reserves less has no lower peak, and fits.
 */
static void a_setting_with_which_an_imported_run_fits_is_advised(void **state)
{
    struct wif_sweep_options options = {.capacity = 1200 * MIB};
    struct wif_sweep sweep = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;
    struct wif_advise all;
    struct make m;
    size_t fitting = 0;

    (void)state;
    make_init(&m);
    rpl_trace_set_meta(m.trace, "source_kind", "imported");
    rpl_trace_set_meta(m.trace, "start_events", "0");
    for (uint64_t i = 0; i < 2; i++) {
        const uint64_t at = UINT64_C(0x700000000000) + i * 640 * MIB;
        struct vs_event made = {.kind = VS_EV_ALLOC};
        struct vs_event freed = {.kind = VS_EV_FREE};
        struct vs_event segment = {.kind = VS_EV_SEGMENT_ALLOC};

        segment.segment.address = made.alloc.address = freed.free.address = at;
        segment.segment.bytes = made.alloc.block_bytes = freed.free.block_bytes = 640 * MIB;
        made.alloc.requested_bytes = freed.free.requested_bytes = 640 * MIB;
        made.alloc.block = freed.free.block = 2 * i + 1;
        make_event(&m, segment);
        make_event(&m, made);
        make_event(&m, freed);
        made.alloc.block = 2 * i + 2;
        made.alloc.block_bytes = made.alloc.requested_bytes = 384 * MIB;
        make_event(&m, made);
    }
    advise(m.trace, 1200 * MIB, &all);
    assert_false(all.base.fits);
    assert_int_equal(wif_sweep_fill(&sweep, m.trace, &options, &err), VS_OK);
    for (size_t i = 1; i < sweep.count; i++) {
        bool is_advised = false;

        for (size_t k = 0; k < all.count; k++)
            is_advised |= !strcmp(all.items[k].label, sweep.items[i].label);
        fitting += sweep.items[i].fits;
        assert_int_equal(is_advised, sweep.items[i].fits);
    }
    assert_int_equal(fitting, 3); /* expandable segments, and blocks that are not split */
    assert_int_equal(all.count, 3);
    assert_true(all.items[0].is_headline);
    assert_int_equal(all.items[0].run.peak, all.base.peak);
    wif_sweep_release(&sweep);
    wif_advise_release(&all);
    rpl_trace_free(m.trace);
}

static bool stop_at_third(void *user, size_t tried, const char *next)
{
    (void)user;
    assert_non_null(next);
    return tried < 3;
}

static void advising_can_be_stopped(void **state)
{
    struct rpl_trace *base = net_trace("tests/nets/resnet_small.py", NULL);
    const struct wif_advise_options options = {.next = stop_at_third};
    struct wif_advise all;
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(wif_advise_fill(&all, base, &options, &err), VS_E_STOPPED);
    wif_advise_release(&all);
    rpl_trace_free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_advised_change_runs_at_its_promised_peak),
        cmocka_unit_test(a_variable_that_is_not_read_again_is_released),
        cmocka_unit_test(a_change_that_another_makes_pointless_is_left_out),
        cmocka_unit_test(an_evaluation_is_advised_to_record_no_gradients),
        cmocka_unit_test(settings_that_cost_memory_are_advised_against),
        cmocka_unit_test(the_headline_is_the_cheapest_change_that_fits),
        cmocka_unit_test(a_run_that_fits_with_no_change_has_no_headline),
        cmocka_unit_test(a_leak_names_its_owner_and_line),
        cmocka_unit_test(unused_parameters_are_named),
        cmocka_unit_test(an_imported_trace_shows_what_earlier_steps_keep),
        cmocka_unit_test(what_earlier_steps_keep_is_listed_once_for_a_line),
        cmocka_unit_test(a_setting_with_which_an_imported_run_fits_is_advised),
        cmocka_unit_test(advising_can_be_stopped),
    };

    return cmocka_run_group_tests_name("whatif/advise", tests, NULL, NULL);
}

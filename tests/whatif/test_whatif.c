/*
 * tests/whatif/test_whatif.c - the figures of a trace compared with those that the run itself counted, and what-ifs of
 * what-ifs.
 *
 * The run's own figures come from the allocator's statistics at each phase end, the trace's from its events alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "engine/core/observer.h"
#include "lang/run/run.h"
#include "replay/report/summary.h"
#include "whatif/whatif.h"

/* Net, toggles. */
struct grid_case {
    const char *net;
    const char *toggles[4];
};

static const struct grid_case CASES[] = {
    {"tests/nets/mlp.py", {NULL}},
    {"tests/nets/mlp.py", {"accumulate=2", "optimizer=adam"}},
    {"tests/nets/mlp.py", {"data=once", "drop-outputs=on"}},
    {"tests/nets/conv_small.py", {"inplace=on"}},
    {"tests/nets/conv_small.py", {"zero-grad=zeros", "optimizer=momentum"}},
    {"tests/nets/resnet_small.py", {"checkpoint=blocks"}},
    {"tests/nets/resnet_small.py", {"checkpoint=blocks", "checkpoint-impl=reentrant"}},
    {"tests/nets/resnet_small.py", {"amp=fp16"}},
    {"tests/nets/gpt_tiny.py", {"checkpoint=blocks", "amp=bf16"}},
    {"tests/nets/gpt_tiny_ckpt.py", {NULL}},
    {"tests/nets/two_losses.py", {NULL}},
    {"tests/nets/lifetimes.py", {"grad=eval"}},
    {"tests/nets/lifetimes.py", {"grad=no_grad"}},
    {"tests/nets/lifetimes.py", {"freeze=half", "half=on"}},
};
#define CASE_COUNT (sizeof(CASES) / sizeof(CASES[0]))

static char *file_text(const char *path)
{
    struct vs_text text = {NULL, 0, 0};
    FILE *file = fopen(path, "r");
    char buffer[4096];
    size_t n;

    if (!file)
        fail_msg("%s is not there: run from the top folder", path);
    while ((n = fread(buffer, 1, sizeof(buffer), file)) > 0)
        vs_text_add_n(&text, buffer, n);
    fclose(file);
    return vs_text_take(&text);
}

static void emit(void *user, const struct vs_event *event)
{
    rpl_trace_add_event(user, event);
}
static uint32_t string(void *user, const char *text)
{
    return rpl_trace_add_string(user, text);
}
static uint32_t location(void *user, const struct vs_location *p)
{
    return rpl_trace_add_location(user, p);
}
static void tensor(void *user, const struct vs_tensor_desc *desc)
{
    rpl_trace_add_tensor(user, desc);
}

static void toggles_of(const struct grid_case *c, struct vs_toggles *out)
{
    struct vs_error err = VS_ERROR_INIT;

    for (size_t i = 0; i < 4 && c->toggles[i]; i++)
        assert_int_equal(vs_toggles_set_pair(out, c->toggles[i], &err), VS_OK);
}

/* Run a case on meta, with its events in `trace` and nothing else. */
static void run(const struct grid_case *c, struct rpl_trace *trace, struct lang_result *result)
{
    struct eng_observer observer = {trace, emit, string, location, tensor};
    struct vs_toggles toggles = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    char *text = file_text(c->net);
    struct lang_settings settings = {
        .file_name = c->net,
        .text = text,
        .len = strlen(text),
        .observer = &observer,
        .toggles = &toggles,
        .all_steps = true,
    };

    toggles_of(c, &toggles);
    memset(result, 0, sizeof(*result));
    if (lang_run(&settings, result, &err))
        fail_msg("%s: %s", c->net, err.text);
    vs_toggles_release(&toggles);
    vs_free(text);
}

/* The figures of the run for this step and phase, its parts taken together. */
static struct rpl_phase phase_of(const struct lang_result *result, int64_t step,
                                 enum vs_phase phase)
{
    struct rpl_phase out = {.phase = phase};

    for (size_t i = 0; i < result->phase_count; i++) {
        const struct lang_run_phase *p = &result->phases[i];

        if (p->step != step || p->phase != phase)
            continue;
        out.allocated_end = p->allocated_end;
        out.requested_end = p->requested_end;
        out.reserved_end = p->reserved_end;
        out.allocated_peak =
            out.allocated_peak > p->allocated_peak ? out.allocated_peak : p->allocated_peak;
        out.requested_peak =
            out.requested_peak > p->requested_peak ? out.requested_peak : p->requested_peak;
        out.reserved_peak =
            out.reserved_peak > p->reserved_peak ? out.reserved_peak : p->reserved_peak;
    }
    return out;
}

static void assert_phase(const struct grid_case *c, int64_t step, const struct rpl_phase *trace,
                         const struct rpl_phase *ran)
{
    if (trace->allocated_end != ran->allocated_end ||
        trace->allocated_peak != ran->allocated_peak ||
        trace->requested_end != ran->requested_end ||
        trace->requested_peak != ran->requested_peak || trace->reserved_end != ran->reserved_end ||
        trace->reserved_peak != ran->reserved_peak)
        fail_msg(
            "%s %s, step %d %s: trace %llu %llu %llu %llu, run %llu %llu %llu %llu", c->net,
            c->toggles[0] ? c->toggles[0] : "", (int)step, vs_phase_name(trace->phase),
            (unsigned long long)trace->allocated_end, (unsigned long long)trace->allocated_peak,
            (unsigned long long)trace->requested_end, (unsigned long long)trace->requested_peak,
            (unsigned long long)ran->allocated_end, (unsigned long long)ran->allocated_peak,
            (unsigned long long)ran->requested_end, (unsigned long long)ran->requested_peak);
}

static void phase_figures_from_events_equal_those_of_the_allocator(void **state)
{
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < CASE_COUNT; i++) {
        struct rpl_trace *trace = rpl_trace_new();
        struct rpl_summary sum = {.events = 0};
        struct lang_result result;
        size_t seen = 0;

        run(&CASES[i], trace, &result);
        assert_int_equal(rpl_summary_fill(&sum, trace, &err), VS_OK);
        for (size_t s = 0; s < sum.step_count; s++) {
            for (size_t p = 0; p < sum.steps[s].phase_count; p++, seen++) {
                struct rpl_phase ran =
                    phase_of(&result, sum.steps[s].step, sum.steps[s].phases[p].phase);

                assert_phase(&CASES[i], sum.steps[s].step, &sum.steps[s].phases[p], &ran);
            }
        }
        assert_true(seen >= 7);
        assert_int_equal(sum.peak.allocated, result.peak_allocated);
        assert_int_equal(sum.peak.requested, result.peak_requested);
        assert_int_equal(sum.peak.reserved, result.peak_reserved);
        rpl_summary_release(&sum);
        rpl_trace_free(trace);
        lang_result_release(&result);
    }
}

static void counts_from_events_equal_those_of_the_engine(void **state)
{
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < CASE_COUNT; i++) {
        struct rpl_trace *trace = rpl_trace_new();
        struct rpl_summary sum = {.events = 0};
        struct lang_result result;

        run(&CASES[i], trace, &result);
        assert_int_equal(rpl_summary_fill(&sum, trace, &err), VS_OK);
        if (sum.flops != result.total_flops || sum.recompute_flops != result.recompute_flops)
            fail_msg("%s %s: flops %llu of %llu, recomputed %llu of %llu", CASES[i].net,
                     CASES[i].toggles[0] ? CASES[i].toggles[0] : "", (unsigned long long)sum.flops,
                     (unsigned long long)result.total_flops,
                     (unsigned long long)sum.recompute_flops,
                     (unsigned long long)result.recompute_flops);
        assert_int_equal(sum.parameters, result.parameters);
        if (result.saved_known &&
            (sum.saved.tensors != result.saved_tensors || sum.saved.bytes != result.saved_bytes ||
             sum.saved.bytes_all != result.saved_bytes_all))
            fail_msg("%s %s: saved %llu tensors, %llu bytes; run %llu, %llu", CASES[i].net,
                     CASES[i].toggles[0] ? CASES[i].toggles[0] : "",
                     (unsigned long long)sum.saved.tensors, (unsigned long long)sum.saved.bytes,
                     (unsigned long long)result.saved_tensors,
                     (unsigned long long)result.saved_bytes);
        rpl_summary_release(&sum);
        rpl_trace_free(trace);
        lang_result_release(&result);
    }
}

/* `base` becomes a recording of the case as the record command makes it. */
static void make_base(const struct grid_case *c, struct rpl_trace *base)
{
    struct rpl_trace *source = rpl_trace_new();
    struct vs_toggles toggles = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    char *text = file_text(c->net);

    rpl_trace_set_source(source, c->net, text);
    toggles_of(c, &toggles);
    if (wif_run(source, &toggles, base, &err))
        fail_msg("%s: %s", c->net, err.text);
    vs_toggles_release(&toggles);
    rpl_trace_free(source);
    vs_free(text);
}

static void assert_same_events(struct rpl_trace *a, struct rpl_trace *b)
{
    struct rpl_scan *x = vs_alloc(sizeof(*x));
    struct rpl_scan *y = vs_alloc(sizeof(*y));
    struct vs_error err = VS_ERROR_INIT;
    const struct vs_event *ex;

    assert_int_equal(rpl_trace_event_count(a), rpl_trace_event_count(b));
    rpl_scan_init(x, a, 1, rpl_trace_event_count(a));
    rpl_scan_init(y, b, 1, rpl_trace_event_count(b));
    while ((ex = rpl_scan_next(x, &err)) != NULL)
        assert_memory_equal(ex, rpl_scan_next(y, &err), sizeof(*ex));
    vs_free(x);
    vs_free(y);
}

static void a_what_if_of_a_what_if_equals_the_direct_one(void **state)
{
    struct rpl_trace *plain = rpl_trace_new();
    struct rpl_trace *one = rpl_trace_new();
    struct rpl_trace *two = rpl_trace_new();
    struct rpl_trace *direct = rpl_trace_new();
    const struct grid_case both = {"tests/nets/resnet_small.py", {"checkpoint=blocks", "batch=4"}};
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    make_base(&(struct grid_case){"tests/nets/resnet_small.py", {NULL}}, plain);
    make_base(&both, direct);
    assert_int_equal(vs_toggles_set_pair(&set, "batch=4", &err), VS_OK);
    assert_int_equal(wif_run(plain, &set, one, &err), VS_OK);
    vs_toggles_release(&set);
    assert_int_equal(vs_toggles_set_pair(&set, "checkpoint=blocks", &err), VS_OK);
    assert_int_equal(wif_run(one, &set, two, &err), VS_OK);
    assert_same_events(two, direct);
    vs_toggles_release(&set);
    rpl_trace_free(plain);
    rpl_trace_free(one);
    rpl_trace_free(two);
    rpl_trace_free(direct);
}

static void a_trace_without_a_net_gives_the_reason_for_no_what_if(void **state)
{
    struct rpl_trace *base = rpl_trace_new();
    struct rpl_trace *out = rpl_trace_new();
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(wif_run(base, NULL, out, &err), VS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "has no net"));
    rpl_trace_free(base);
    rpl_trace_free(out);
}

static void running_out_of_memory_is_a_valid_result(void **state)
{
    struct rpl_trace *base = rpl_trace_new();
    struct rpl_trace *out = rpl_trace_new();
    struct rpl_summary sum = {.events = 0};
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    char *text = file_text("tests/nets/conv_small.py");

    (void)state;
    rpl_trace_set_source(base, "net.py", text);
    rpl_trace_set_meta(base, "capacity", "4194304");
    assert_int_equal(vs_toggles_set_pair(&set, "batch=512", &err), VS_OK);
    assert_int_equal(wif_run(base, &set, out, &err), VS_OK);
    assert_int_equal(rpl_summary_fill(&sum, out, &err), VS_OK);
    assert_true(sum.oom.event > 0);
    assert_true(sum.peak.reserved <= 4194304);
    rpl_summary_release(&sum);
    vs_toggles_release(&set);
    vs_free(text);
    rpl_trace_free(base);
    rpl_trace_free(out);
}

static void a_toggle_that_the_program_does_not_know_is_named(void **state)
{
    struct rpl_trace *base = rpl_trace_new();
    struct rpl_trace *out = rpl_trace_new();
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    rpl_trace_set_source(base, "net.py", "def model():\n    pass\n");
    rpl_trace_set_toggle(base, "teleport", "on", false);
    assert_int_equal(wif_run(base, NULL, out, &err), VS_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "the trace: there is no toggle `teleport`"));
    rpl_trace_free(base);
    rpl_trace_free(out);
}

static void a_run_that_is_too_long_for_memory_is_refused(void **state)
{
    struct rpl_trace *base = rpl_trace_new();
    struct rpl_trace *out = rpl_trace_new();
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    make_base(&(struct grid_case){"tests/nets/mlp.py", {"steps=40"}}, base);
    setenv("VRAMSCOPE_WHATIF_EVENTS", "2000", 1);
    assert_int_equal(wif_run(base, NULL, out, &err), VS_E_UNSUPPORTED);
    assert_string_equal(
        err.text,
        "40 steps have more than the 2,000 events that a what-if keeps in memory; set "
        "steps=3 to run three of them, or VRAMSCOPE_WHATIF_EVENTS to the events to be kept");
    assert_true(rpl_trace_event_count(out) < 2000); /* two steps were enough to know */
    setenv("VRAMSCOPE_WHATIF_EVENTS", "20000", 1);
    assert_int_equal(wif_run(base, NULL, out, &err), VS_E_UNSUPPORTED);
    assert_true(rpl_trace_event_count(out) > 20000);
    setenv("VRAMSCOPE_WHATIF_EVENTS", "2000", 1);
    assert_int_equal(vs_toggles_set_pair(&set, "steps=3", &err), VS_OK);
    assert_int_equal(wif_run(base, &set, out, &err), VS_OK);
    setenv("VRAMSCOPE_WHATIF_EVENTS", "2000 or so", 1); /* no number: the default */
    assert_int_equal(wif_run(base, NULL, out, &err), VS_OK);
    unsetenv("VRAMSCOPE_WHATIF_EVENTS");
    assert_true(rpl_trace_event_count(out) > 23000);
    vs_toggles_release(&set);
    rpl_trace_free(base);
    rpl_trace_free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phase_figures_from_events_equal_those_of_the_allocator),
        cmocka_unit_test(counts_from_events_equal_those_of_the_engine),
        cmocka_unit_test(a_what_if_of_a_what_if_equals_the_direct_one),
        cmocka_unit_test(a_trace_without_a_net_gives_the_reason_for_no_what_if),
        cmocka_unit_test(running_out_of_memory_is_a_valid_result),
        cmocka_unit_test(a_toggle_that_the_program_does_not_know_is_named),
        cmocka_unit_test(a_run_that_is_too_long_for_memory_is_refused),
    };

    return cmocka_run_group_tests_name("replay/whatif", tests, NULL, NULL);
}

/*
 * tests/facts/told.c - see told.h.
 *
 * Must not know:  which runs are compared.
 * Invariant:      what was told is read from the trace that it was told to.
 */
#include "tests/facts/told.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "engine/moment.h"
#include "engine/observer.h"
#include "replay/trace_internal.h"
#include "replay/trace_mem.h"
#include "tests/facts/grid.h"

/* is_again: some tensors were told of again. */
struct told {
    struct rpl_trace *trace;
    bool is_again;
};

static void emit(void *user, const struct vs_event *event)
{
    rpl_trace_add_event(user, event);
}

static uint32_t string(void *user, const char *text)
{
    return rpl_trace_add_string(user, text);
}

static uint32_t place(void *user, const struct vs_place *p)
{
    return rpl_trace_add_place(user, p);
}

static void tensor(void *user, const struct vs_tensor_desc *desc)
{
    rpl_trace_add_tensor(user, desc);
}

static const struct vs_event *told_events(void *user, uint64_t *count)
{
    const struct rpl_mem *mem = rpl_trace_memory(((struct told *)user)->trace);

    *count = mem->event_count;
    return mem->events;
}

static struct vs_event *told_room(void *user, uint64_t count)
{
    return rpl_mem_room(rpl_trace_memory(((struct told *)user)->trace), count);
}

static void told_add(void *user, uint64_t count)
{
    rpl_trace_memory(((struct told *)user)->trace)->event_count += count;
}

static const struct vs_tensor_desc *told_tensors(void *user, uint64_t *count)
{
    const struct rpl_mem *mem = rpl_trace_memory(((struct told *)user)->trace);

    ((struct told *)user)->is_again = true;
    *count = mem->tensor_count;
    return mem->tensors;
}

static void print(void *user, const char *text, size_t len)
{
    (void)user, (void)text, (void)len;
}

static const char *told_string(void *user, uint32_t id)
{
    const struct rpl_mem *mem = rpl_trace_memory(((struct told *)user)->trace);

    return id <= mem->string_count ? mem->strings[id - 1].text : NULL;
}

static const struct vs_place *told_place(void *user, uint32_t id)
{
    const struct rpl_mem *mem = rpl_trace_memory(((struct told *)user)->trace);

    return id <= mem->place_count ? &mem->places[id - 1] : NULL;
}

enum told_how { TOLD_NOT, TOLD_AGAIN };

/* Returns whether some of it was told again. Refusals are in `err`, and nothing more is said of them. */
static bool run(const struct facts_net *net, const char *pairs, enum told_how how,
                const struct told_kept *kept, struct rpl_trace *trace, struct lang_result *result,
                struct vs_error *err)
{
    struct told user = {trace, false};
    struct eng_told told = {&user,        told_room,   told_add,  told_events,
                            told_tensors, told_string, told_place};
    struct eng_observer observer = {trace, emit, string, place, tensor};
    struct vs_toggles toggles = {{NULL}};
    struct lang_settings settings = {.file_name = net->path,
                                     .text = net->text,
                                     .len = strlen(net->text),
                                     .observer = &observer,
                                     .told = how == TOLD_AGAIN ? &told : NULL,
                                     .toggles = &toggles,
                                     .print = print};

    if (kept) {
        settings.library = kept->library;
        settings.trials = kept->trials;
        settings.starts = kept->starts;
    }
    facts_toggles(pairs, &toggles);
    memset(result, 0, sizeof(*result));
    (void)!lang_run(&settings, result, err);
    vs_toggles_release(&toggles);
    return user.is_again;
}

/* Fails unless two runs came to the same. */
static void assert_same(const char *what, const struct lang_result *a, const struct lang_result *b)
{
    assert_int_equal(a->parameters, b->parameters);
    assert_int_equal(a->refusal_count, b->refusal_count);
    for (size_t i = 0; i < a->refusal_count; i++)
        assert_string_equal(a->refusals[i].reason, b->refusals[i].reason);
    assert_int_equal(a->inplace_count, b->inplace_count);
    for (size_t i = 0; i < a->inplace_count; i++)
        assert_string_equal(a->inplace[i], b->inplace[i]);
    for (int i = 0; i < VS_TOGGLE_COUNT; i++)
        assert_int_equal(a->is_default[i], b->is_default[i]);
    if (a->phase_count != b->phase_count || a->step_count != b->step_count ||
        a->loss_count != b->loss_count)
        fail_msg("%s: other numbers of phases, steps or losses", what);
    for (size_t i = 0; i < a->phase_count; i++)
        if (memcmp(&a->phases[i], &b->phases[i], sizeof(a->phases[i])) != 0)
            fail_msg("%s: phase %zu differs", what, i);
    for (size_t i = 0; i < a->step_count; i++)
        if (a->steps[i].step != b->steps[i].step || a->steps[i].skipped != b->steps[i].skipped ||
            a->steps[i].recomputed_ops != b->steps[i].recomputed_ops ||
            a->steps[i].recomputed_kernels != b->steps[i].recomputed_kernels)
            fail_msg("%s: step %zu differs", what, i);
    assert_int_equal(a->saved_known, b->saved_known);
    assert_int_equal(a->saved_tensors, b->saved_tensors);
    assert_int_equal(a->saved_bytes, b->saved_bytes);
    assert_int_equal(a->saved_bytes_all, b->saved_bytes_all);
    assert_int_equal(a->peak_allocated, b->peak_allocated);
    assert_int_equal(a->peak_phase, b->peak_phase);
    assert_int_equal(a->recompute_flops, b->recompute_flops);
    assert_int_equal(a->total_flops, b->total_flops);
    assert_int_equal(a->events, b->events);
    assert_int_equal(a->has_oom, b->has_oom);
}

bool told_as_plain(const struct facts_net *net, const char *pairs, const struct told_kept *kept,
                   const char *how)
{
    char what[FACTS_PAIRS_MAX + 224];
    struct rpl_trace *trace = rpl_trace_new();
    struct rpl_trace *plain = rpl_trace_new();
    struct vs_error err = VS_ERROR_INIT;
    struct vs_error plain_err = VS_ERROR_INIT;
    struct lang_result result;
    struct lang_result plain_result;
    bool is_again = run(net, pairs, TOLD_AGAIN, kept, trace, &result, &err);

    assert_false(run(net, pairs, TOLD_NOT, NULL, plain, &plain_result, &plain_err));
    snprintf(what, sizeof(what), "%s [%s]", net->path, pairs);
    if (strcmp(err.text, plain_err.text) != 0)
        fail_msg("%s: \"%s\", plain \"%s\"", what, err.text, plain_err.text);
    facts_same(what, trace, how, plain, "plain");
    assert_same(what, &result, &plain_result);
    lang_result_release(&result);
    lang_result_release(&plain_result);
    rpl_trace_free(trace);
    rpl_trace_free(plain);
    return is_again;
}

/*
 * tests/replay/breakpoints/test_breakpoints.c - breakpoint hits compared with a linear scan for the same condition
 * written in C, in both directions; and malformed conditions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "replay/breakpoints/breakpoints.h"
#include "replay/index/index_internal.h"
#include "replay/index/lifetimes.h"
#include "replay/state/live.h"
#include "tests/replay/make_trace.h"
#include "tests/replay/random_trace.h"
#include "tests/store/trace_file.h"

#ifdef VS_STRESS
#define EVENTS 8000 /* so few chunks would do that no condition comes true */
#else
#define EVENTS (RPL_STORE_EVENTS + RPL_CHUNK_EVENTS / 2)
#endif

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

/* Right after an event; of the start: zeros. */
struct state_after {
    struct vs_event event;
    uint64_t allocated;
    uint64_t reserved;
    int64_t step;
    enum vs_phase phase;
    const char *module;
    const char *op;
    const char *func;
    uint32_t line;
    bool has_module;
    uint64_t block_bytes;
    const char *block_name; /* of the parameter; "" */
    const char *block_module;
    const char *block_op;
    const char *name;
    const char *scope;
};

typedef bool says_fn(const struct state_after *m);

static bool is_alloc(const struct state_after *m)
{
    return m->event.kind == VS_EV_ALLOC;
}
static bool large_alloc(const struct state_after *m)
{
    return is_alloc(m) && m->event.alloc.requested_bytes > 700 * 1024;
}
static bool small_free(const struct state_after *m)
{
    return m->event.kind == VS_EV_FREE && m->event.free.requested_bytes <= 100;
}
static bool high_total(const struct state_after *m)
{
    return m->allocated > 9 * 1024 * 1024;
}
static bool low_total(const struct state_after *m)
{
    return m->allocated < 1024 * 1024;
}
static bool total_range(const struct state_after *m)
{
    return m->allocated >= 4 * 1024 * 1024 && m->allocated <= 5 * 1024 * 1024;
}
static bool reserved_none(const struct state_after *m)
{
    return m->reserved == 0;
}
static bool much_slack(const struct state_after *m)
{
    return m->reserved > m->allocated &&
           100.0 * (double)(m->reserved - m->allocated) / (double)m->reserved > 92.5;
}
static bool op_soft(const struct state_after *m)
{
    return strstr(m->op, "oft") != NULL;
}
static bool op_exact(const struct state_after *m)
{
    return strcmp(m->op, "relu") == 0;
}
static bool module_layer1_0(const struct state_after *m)
{
    return m->has_module &&
           (strcmp(m->module, "layer1.0") == 0 || strncmp(m->module, "layer1.0.", 9) == 0);
}
static bool is_of_category(const struct state_after *m, unsigned category)
{
    return is_alloc(m) ? m->event.alloc.category == category
                       : m->event.kind == VS_EV_CATEGORY && m->event.category.category == category;
}
static bool workspace_large(const struct state_after *m)
{
    return is_of_category(m, VS_CAT_WORKSPACE) && m->block_bytes > 2000;
}
static bool workspace_large_alloc(const struct state_after *m)
{
    return is_alloc(m) && workspace_large(m);
}
static bool becomes_saved(const struct state_after *m)
{
    return is_of_category(m, VS_CAT_SAVED);
}
static bool becomes_saved_in_relu(const struct state_after *m)
{
    return becomes_saved(m) && op_exact(m) && m->block_bytes <= 100000;
}
static bool is_oom(const struct state_after *m)
{
    return m->event.kind == VS_EV_OOM;
}
static bool about_block(const struct state_after *m)
{
    return vs_event_block(&m->event) == 30 &&
           (m->event.kind <= VS_EV_FREE ||
            (m->event.kind >= VS_EV_SAVE && m->event.kind <= VS_EV_CATEGORY) ||
            m->event.kind == VS_EV_USE);
}
static bool free_block(const struct state_after *m)
{
    return m->event.kind == VS_EV_FREE && m->event.free.block == 30;
}
static bool backward_step(const struct state_after *m)
{
    return m->phase == VS_PHASE_BACKWARD && m->step >= 3;
}
static bool line_func(const struct state_after *m)
{
    return m->line == 7 && strcmp(m->func, "Block.forward") == 0;
}
static bool alloc_in_relu(const struct state_after *m)
{
    return is_alloc(m) && op_exact(m) && m->allocated > 2 * 1024 * 1024;
}
static bool watched(const struct state_after *m)
{
    unsigned kind = m->event.kind;

    if (kind == VS_EV_ALLOC || kind == VS_EV_FREE || kind == VS_EV_CATEGORY)
        return strcmp(m->block_name, "head.fc.weight") == 0;
    return (kind == VS_EV_HOLD || kind == VS_EV_DROP) && strcmp(m->name, "head.fc.weight") == 0;
}
static bool watched_origin(const struct state_after *m)
{
    unsigned kind = m->event.kind;

    if (kind != VS_EV_ALLOC && kind != VS_EV_FREE && kind != VS_EV_CATEGORY)
        return false;
    return strcmp(m->block_module, "layer1.1.act") == 0 && strcmp(m->block_op, "relu") == 0;
}
static bool watched_variable(const struct state_after *m)
{
    return (m->event.kind == VS_EV_HOLD || m->event.kind == VS_EV_DROP) &&
           strcmp(m->name, "loss") == 0 && strcmp(m->scope, "train_step") == 0;
}

/* A condition, the same in C, and whether it hits wherever it holds or where it comes true. */
static const struct {
    const char *text;
    says_fn *says;
    bool is_event;
} CASES[] = {
    {"alloc size > 700K", large_alloc, true},
    {"size>700KiB", large_alloc, true},
    {"ALLOC", is_alloc, true},
    {"free size <= 100", small_free, true},
    {"total > 9M", high_total, false},
    {"total < 1MB", low_total, false},
    {"total >= 4M and total <= 5M", total_range, false},
    {"reserved = 0", reserved_none, false},
    {"slack > 92.5%", much_slack, false},
    {"op ~ oft", op_soft, false},
    {"op ~ \"s.ft(max|ware)|Soft\"", op_soft, false},
    {"op relu", op_exact, false},
    {"module layer1.0.*", module_layer1_0, false},
    {"layer = 'layer1.0.*'", module_layer1_0, false},
    {"category = workspace and size > 2000", workspace_large, true},
    {"cat workspace and alloc > 2000B", workspace_large_alloc, true},
    {"category saved", becomes_saved, true},
    {"category = saved and op relu and size <= 100000", becomes_saved_in_relu, true},
    {"oom", is_oom, true},
    {"block 30", about_block, true},
    {"free block 30", free_block, true},
    {"phase = backward and step >= 3", backward_step, false},
    {"line 7 and func Block.*", line_func, false},
    {"alloc and op relu and total > 2M", alloc_in_relu, true},
};
#define CASE_COUNT (sizeof(CASES) / sizeof(CASES[0]))

static const struct {
    const char *text;
    says_fn *says;
} WATCHES[] = {
    {"tensor head.fc.weight", watched},
    {"tensor layer1.1.act.relu", watched_origin},
    {" TENSOR \"train_step.loss\"", watched_variable},
    {"train_step.loss", watched_variable},
};
#define WATCH_COUNT (sizeof(WATCHES) / sizeof(WATCHES[0]))

/* All moments of the trace, [0] is the start. The caller frees it. */
static struct state_after *states_of(struct rpl_index *index, struct rpl_trace *trace)
{
    uint64_t count = rpl_trace_event_count(trace);
    struct state_after *all = vs_calloc((size_t)count + 1, sizeof(*all));
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct vs_error err = VS_ERROR_INIT;
    const struct vs_event *event;
    struct rpl_live live;

    all[0].step = -1;
    all[0].module = all[0].op = all[0].func = all[0].name = all[0].scope = "";
    all[0].block_name = all[0].block_module = all[0].block_op = "";
    all[0].event.kind = VS_EVENT_KIND_COUNT;
    rpl_live_init(&live);
    rpl_scan_init(scan, trace, 1, count);
    while ((event = rpl_scan_next(scan, &err)) != NULL) {
        const struct vs_location *location = rpl_trace_location(trace, event->location);
        struct state_after *m = &all[scan->seq];
        struct rpl_lifetime life = {.id = 0};

        ok(rpl_live_apply(&live, scan->seq, event, &err), &err);
        *m = (struct state_after){.event = *event,
                                  .allocated = live.allocated,
                                  .reserved = live.reserved,
                                  .step = live.step,
                                  .phase = live.phase,
                                  .module = rpl_trace_string(trace, location->module),
                                  .op = rpl_trace_string(trace, location->op),
                                  .func = rpl_trace_string(trace, location->func),
                                  .line = location->line,
                                  .has_module = location->module != 0};
        m->name = m->scope = "";
        if (event->kind == VS_EV_HOLD || event->kind == VS_EV_DROP) {
            m->name = rpl_trace_string(trace, (uint32_t)event->hold.name);
            m->scope = rpl_trace_string(trace, (uint32_t)event->hold.scope);
        }
        m->block_name = m->block_module = m->block_op = "";
        if (event->kind > VS_EV_FREE && event->kind != VS_EV_CATEGORY)
            continue;
        ok(rpl_lifetime_get(index, vs_event_block(event), &life, &err), &err);
        location = rpl_trace_location(trace, life.location);
        m->block_bytes = life.requested;
        m->block_name = rpl_trace_string(trace, life.name);
        m->block_module = rpl_trace_string(trace, location->module);
        m->block_op = rpl_trace_string(trace, location->op);
    }
    rpl_live_release(&live);
    vs_free(scan);
    return all;
}

static bool model_hits(const struct state_after *all, uint64_t seq, says_fn *says, bool is_event)
{
    return says(&all[seq]) && (is_event || !says(&all[seq - 1]));
}

/* From the start every hit, then from the end every hit: the model's, in order and reversed. */
static size_t assert_hits(struct rpl_breakpoints *set, const struct state_after *all,
                          uint64_t count, says_fn *says, bool is_event, const char *text)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_hit hit = {.seq = 0};
    size_t hits = 0;
    uint64_t seq = 0;

    for (;;) {
        uint64_t wanted = seq + 1;

        while (wanted <= count && !model_hits(all, wanted, says, is_event))
            wanted++;
        ok(rpl_breakpoints_run(set, seq, false, NULL, NULL, &hit, &err), &err);
        if (hit.seq != (wanted <= count ? wanted : 0))
            fail_msg("`%s` after %llu: %llu, should be %llu", text, (unsigned long long)seq,
                     (unsigned long long)hit.seq, (unsigned long long)wanted);
        if (!hit.seq)
            break;
        assert_int_equal(hit.count, 1);
        hits++;
        seq = hits < 40 ? hit.seq : hit.seq + count / 50; /* not all of those that are everywhere */
        if (seq > count)
            break;
    }
    seq = count;
    for (size_t i = 0; i < 40; i++) {
        uint64_t wanted = seq ? seq - 1 : 0;

        while (wanted && !model_hits(all, wanted, says, is_event))
            wanted--;
        ok(rpl_breakpoints_run(set, seq, true, NULL, NULL, &hit, &err), &err);
        if (hit.seq != wanted)
            fail_msg("`%s` before %llu: %llu, should be %llu", text, (unsigned long long)seq,
                     (unsigned long long)hit.seq, (unsigned long long)wanted);
        if (!hit.seq)
            break;
        seq = i < 20 ? hit.seq : hit.seq > count / 20 ? hit.seq - count / 20 : 0;
    }
    return hits;
}

static void assert_all(struct rpl_index *index, struct rpl_trace *trace)
{
    struct state_after *all = states_of(index, trace);
    uint64_t count = rpl_index_event_count(index);
    struct vs_error err = VS_ERROR_INIT;

    for (size_t i = 0; i < CASE_COUNT + WATCH_COUNT; i++) {
        struct rpl_breakpoints *set = rpl_breakpoints_new(index);
        uint32_t number;
        size_t w = i - CASE_COUNT;

        if (i < CASE_COUNT)
            ok(rpl_breakpoints_add(set, CASES[i].text, &number, &err), &err);
        else
            ok(rpl_breakpoints_watch(set, WATCHES[w].text, &number, &err), &err);
        assert_int_equal(number, 1);
        assert_true(assert_hits(set, all, count, i < CASE_COUNT ? CASES[i].says : WATCHES[w].says,
                                i < CASE_COUNT ? CASES[i].is_event : true,
                                i < CASE_COUNT ? CASES[i].text : WATCHES[w].text) > 0);
        rpl_breakpoints_free(set);
    }
    vs_free(all);
}

static void breakpoints_hit_where_their_condition_holds_in_both_directions(void **state)
{
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    for (uint32_t seed = 61; seed <= 62; seed++) {
        struct rpl_trace *trace = random_trace(seed == 61 ? 8000 : EVENTS, seed);
        struct rpl_index *index;

        ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
        assert_all(index, trace);
        rpl_index_free(index);
        rpl_trace_free(trace);
    }
}

static void breakpoints_hit_the_same_events_with_a_stored_index(void **state)
{
    struct rpl_trace *memory = random_trace(EVENTS, 62);
    struct vs_error err = VS_ERROR_INIT;
    char path[4096];

    trace_path(state, "breaks.db", path, sizeof(path));
    random_trace_write(memory, rpl_trace_event_count(memory), path);
    for (int i = 0; i < 2; i++) {
        struct rpl_trace *trace;
        struct rpl_index *index;

        ok(rpl_trace_open(path, &trace, &err), &err);
        ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
        assert_true(index->is_stored);
        assert_all(index, memory);
        rpl_index_free(index);
        rpl_trace_free(trace);
    }
    rpl_trace_free(memory);
}

static void several_breakpoints_hit_together_and_can_be_disabled(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_breakpoints *set;
    struct rpl_index *index;
    struct rpl_hit hit;
    uint32_t a;
    uint32_t b;
    uint32_t c;
    struct make m;

    (void)state;
    make_init(&m);
    make_alloc(&m, 5000, VS_CAT_OTHER);
    make_alloc(&m, 100, VS_CAT_OTHER);
    make_alloc(&m, 6000, VS_CAT_OTHER);
    ok(rpl_index_open(m.trace, NULL, NULL, &index, &err), &err);
    set = rpl_breakpoints_new(index);
    ok(rpl_breakpoints_run(set, 0, false, NULL, NULL, &hit, &err), &err);
    assert_int_equal(hit.seq, 0);
    ok(rpl_breakpoints_add(set, "  alloc size > 1K", &a, &err), &err);
    ok(rpl_breakpoints_add(set, "total > 8K", &b, &err), &err);
    ok(rpl_breakpoints_add(set, "size < 1K", &c, &err), &err);
    assert_string_equal(rpl_breakpoints_get(set, a)->text, "alloc size > 1K");
    ok(rpl_breakpoints_run(set, 2, false, NULL, NULL, &hit, &err), &err);
    assert_int_equal(hit.seq, 3);
    assert_int_equal(hit.count, 2);
    assert_int_equal(hit.numbers[0], a);
    assert_int_equal(hit.numbers[1], b);
    rpl_breakpoints_get(set, c)->is_on = false;
    ok(rpl_breakpoints_run(set, 3, true, NULL, NULL, &hit, &err), &err);
    assert_int_equal(hit.seq, 1);
    assert_true(rpl_breakpoints_remove(set, a));
    assert_false(rpl_breakpoints_remove(set, a));
    assert_null(rpl_breakpoints_get(set, a));
    ok(rpl_breakpoints_run(set, 3, true, NULL, NULL, &hit, &err), &err);
    assert_int_equal(hit.seq, 0);
    ok(rpl_breakpoints_add(set, "oom", &a, &err), &err);
    assert_int_equal(a, 4);
    assert_int_equal(rpl_breakpoints_count(set), 3);
    assert_int_equal(rpl_breakpoints_at(set, 0)->number, b);
    rpl_breakpoints_free(set);
    rpl_index_free(index);
    rpl_trace_free(m.trace);
}

static bool stop(void *user, uint64_t done, uint64_t total)
{
    (void)user;
    assert_true(done <= total);
    return false;
}

static void a_malformed_condition_is_refused_with_its_column(void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } cases[] = {
        {"", "column 1: what a condition begins with"},
        {"tota > 5", "column 1: `tota` is not what a condition begins with (alloc,"},
        {"total", "column 6: one of > >= < <= = != is missing"},
        {"total > ", "column 9: a number of bytes, such as 512M is missing"},
        {"total > 5X", "column 9: `5X` is not a number of bytes"},
        {"total ~ 5", "column 7: `~` is not one of >"},
        {"total > 5G or oom", "column 12: `or` is not `and` or the end"},
        {"total > 5G and", "column 15: what a condition begins with"},
        {"category = weights", "column 12: `weights` is not a category (parameter, buffer,"},
        {"phase sideways", "column 7: `sideways` is not a phase (setup, data,"},
        {"slack > much", "column 9: `much` is not a percentage"},
        {"slack = 5%", "column 7: `=` is not one of >"},
        {"step x", "column 6: `x` is not a number"},
        {"op ~ \"a(b\"", "column 6: `a(b` cannot be searched for:"},
        {"op = ", "column 6: a name or pattern is missing"},
        {"free and category = saved", "no event can meet all of these conditions"},
        {"block", "column 6: a number is missing"},
    };
    struct rpl_trace *trace = random_trace(2000, 1);
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_breakpoints *set;
    struct rpl_index *index;
    struct rpl_hit hit;
    uint32_t number;

    (void)state;
    ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
    set = rpl_breakpoints_new(index);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(rpl_breakpoints_add(set, cases[i].text, &number, &err), VS_E_SYNTAX);
        if (strncmp(err.text, cases[i].says, strlen(cases[i].says)) != 0)
            fail_msg("`%s`: \"%s\" does not begin with \"%s\"", cases[i].text, err.text,
                     cases[i].says);
    }
    assert_int_equal(rpl_breakpoints_watch(set, "block 5", &number, &err), VS_E_SYNTAX);
    assert_int_equal(rpl_breakpoints_watch(set, "tensor ", &number, &err), VS_E_SYNTAX);
    assert_int_equal(rpl_breakpoints_count(set), 0);
    ok(rpl_breakpoints_add(set, "oom", &number, &err), &err);
    assert_int_equal(rpl_breakpoints_run(set, 0, false, stop, NULL, &hit, &err), VS_E_STOPPED);
    rpl_breakpoints_free(set);
    rpl_index_free(index);
    rpl_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(breakpoints_hit_where_their_condition_holds_in_both_directions),
        cmocka_unit_test(breakpoints_hit_the_same_events_with_a_stored_index),
        cmocka_unit_test(several_breakpoints_hit_together_and_can_be_disabled),
        cmocka_unit_test(a_malformed_condition_is_refused_with_its_column),
    };

    return cmocka_run_group_tests_name("replay/breaks", tests, trace_folder_setup,
                                       trace_folder_teardown);
}

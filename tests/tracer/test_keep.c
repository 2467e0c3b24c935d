/*
 * tests/tracer/test_keep.c - a trace of the last events of a run equals the end of the trace of all of them.
 *
 * A net is trained once; what its observer receives goes to a trace without a bound and to one with a bound. Block,
 * tensor and node ids of the second are those of the first, numbered anew: the same id there is always the same id
 * here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "lang/run/run.h"
#include "replay/index/cursor.h"
#include "replay/report/dropped.h"
#include "replay/report/summary.h"
#include "tests/facts/facts.h"
#include "tests/store/trace_file.h"
#include "tracer/intern.h"
#include "tracer/keep.h"

#define PATH_SIZE 4096

/*
 * A run that is written twice. commit_every: events between two commits, at each of which `examine` is called; 0: no
 * commits.
 */
struct tee {
    struct trc_keep *all;
    struct trc_keep *last;
    struct trc_intern *intern;
    uint64_t events;
    uint64_t commit_every;
    void (*examine)(struct tee *tee);
    const char *path;
    uint64_t examined;
};

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s: %s", vs_status_name(st), err->text);
}

static void tee_emit(void *user, const struct vs_event *event)
{
    struct vs_error err = VS_ERROR_INIT;
    struct tee *tee = user;
    struct vs_event timed = *event;

    timed.time_ns = ++tee->events * 10;
    ok(trc_keep_events(tee->all, &timed, 1, &err), &err);
    ok(trc_keep_events(tee->last, &timed, 1, &err), &err);
    if (!tee->commit_every || tee->events % tee->commit_every)
        return;
    ok(trc_keep_commit(tee->last, &err), &err);
    tee->examine(tee);
}

static uint32_t tee_string(void *user, const char *text)
{
    struct vs_error err = VS_ERROR_INIT;
    struct tee *tee = user;
    const char *fresh;
    uint32_t id = trc_intern_string(tee->intern, text, &fresh);

    if (fresh) {
        ok(trc_keep_string(tee->all, id, fresh, &err), &err);
        ok(trc_keep_string(tee->last, id, fresh, &err), &err);
    }
    return id;
}

static uint32_t tee_location(void *user, const struct vs_location *location)
{
    struct vs_error err = VS_ERROR_INIT;
    struct tee *tee = user;
    bool is_new;
    uint32_t id = trc_intern_location(tee->intern, location, &is_new);

    if (is_new) {
        ok(trc_keep_location(tee->all, id, location, &err), &err);
        ok(trc_keep_location(tee->last, id, location, &err), &err);
    }
    return id;
}

static void tee_tensor(void *user, const struct vs_tensor_desc *desc)
{
    struct vs_error err = VS_ERROR_INIT;
    struct tee *tee = user;

    ok(trc_keep_tensor(tee->all, desc, &err), &err);
    ok(trc_keep_tensor(tee->last, desc, &err), &err);
}

static void print_nothing(void *user, const char *text, size_t len)
{
    (void)user;
    (void)text;
    (void)len;
}

/* Train the net on `meta`. */
static void tee_run(struct tee *tee, const char *net_path, const char *toggles)
{
    const struct eng_observer observer = {tee, tee_emit, tee_string, tee_location, tee_tensor};
    struct facts_net net = facts_net_read(net_path);
    struct lang_settings settings = {.file_name = net.path, .text = net.text};
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    struct lang_result result;

    memset(&result, 0, sizeof(result));
    facts_toggles(toggles, &set);
    settings.len = strlen(net.text);
    settings.toggles = &set;
    settings.observer = &observer;
    settings.print = print_nothing;
    ok(lang_run(&settings, &result, &err), &err);
    lang_result_release(&result);
    vs_toggles_release(&set);
    facts_net_release(&net);
}

static void tee_open(struct tee *tee, const char *all, const char *last, uint64_t bound)
{
    struct vs_error err = VS_ERROR_INIT;

    tee->path = last;
    tee->intern = trc_intern_new();
    ok(trc_keep_open(all, false, 0, &tee->all, &err), &err);
    ok(trc_keep_open(last, false, bound, &tee->last, &err), &err);
    ok(trc_keep_meta(tee->last, "source_kind", "net", &err), &err);
    ok(trc_keep_meta(tee->last, "note", "first", &err), &err);
    ok(trc_keep_meta(tee->last, "note", "second", &err), &err);
    ok(trc_keep_source(tee->last, "net.py", "text", &err), &err);
    ok(trc_keep_toggle(tee->last, "amp", "bf16", false, &err), &err);
}

static void tee_close(struct tee *tee)
{
    struct vs_error err = VS_ERROR_INIT;

    ok(trc_keep_close(tee->all, true, &err), &err);
    ok(trc_keep_close(tee->last, true, &err), &err);
    trc_intern_free(tee->intern);
}

/* ---- comparing ---- */

/* A trace and its state at some event. */
struct side {
    struct rpl_trace *trace;
    struct rpl_index *index;
    struct rpl_cursor *cursor;
};

static void side_open(struct side *s, const char *path)
{
    struct vs_error err = VS_ERROR_INIT;

    ok(rpl_trace_open(path, &s->trace, &err), &err);
    ok(rpl_index_open(s->trace, NULL, NULL, &s->index, &err), &err);
    s->cursor = rpl_cursor_new(s->index);
}

static void side_close(struct side *s)
{
    rpl_cursor_free(s->cursor);
    rpl_index_free(s->index);
    rpl_trace_free(s->trace);
}

static uint64_t meta_number(struct rpl_trace *trace, const char *key)
{
    uint64_t n = 0;

    if (!rpl_trace_meta_uint(trace, key, &n))
        fail_msg("the trace has no number `%s`", key);
    return n;
}

/* Which id of the one trace is which of the other: other[id], 0: not seen yet. */
struct same_ids {
    uint64_t *other;
    size_t cap;
};

static void id_same(struct same_ids *ids, uint64_t kept, uint64_t full, uint64_t seq,
                    const char *what)
{
    size_t old = ids->cap;

    if (!kept && !full)
        return;
    ids->other = vs_reserve(ids->other, (size_t)kept + 1, &ids->cap, sizeof(*ids->other));
    memset(ids->other + old, 0, (ids->cap - old) * sizeof(*ids->other));
    if (!kept || !full || (ids->other[kept] && ids->other[kept] != full))
        fail_msg("event %llu: %s %llu is %llu, and was %llu", (unsigned long long)seq, what,
                 (unsigned long long)kept, (unsigned long long)full,
                 (unsigned long long)(kept ? ids->other[kept] : 0));
    ids->other[kept] = full;
}

struct maps {
    struct same_ids blocks;
    struct same_ids tensors;
    struct same_ids nodes;
};

static void event_same(struct maps *maps, struct vs_event kept, struct vs_event full, uint64_t seq)
{
    uint64_t *a;
    uint64_t *b;

    assert_int_equal(kept.kind, full.kind);
    if (vs_event_has_block(&kept)) {
        id_same(&maps->blocks, kept.raw.a, full.raw.a, seq, "block");
        kept.raw.a = full.raw.a;
    }
    a = vs_event_tensor(&kept);
    b = vs_event_tensor(&full);
    if (a) {
        id_same(&maps->tensors, *a, *b, seq, "tensor");
        *a = *b;
    }
    switch (kept.kind) {
    case VS_EV_ALLOC:
        id_same(&maps->tensors, kept.alloc.tensor, full.alloc.tensor, seq, "tensor");
        kept.alloc.tensor = full.alloc.tensor;
        break;
    case VS_EV_CAST:
        id_same(&maps->blocks, kept.cast.from_block, full.cast.from_block, seq, "block");
        kept.cast.from_block = full.cast.from_block;
        break;
    case VS_EV_SAVE:
    case VS_EV_UNSAVE:
        id_same(&maps->nodes, kept.save.node, full.save.node, seq, "node");
        kept.save.node = full.save.node;
        break;
    case VS_EV_OP_BEGIN:
    case VS_EV_OP_END:
        id_same(&maps->nodes, kept.op.node, full.op.node, seq, "node");
        kept.op.node = full.op.node;
        break;
    default:
        break;
    }
    if (memcmp(&kept, &full, sizeof(kept)) != 0)
        fail_msg("event %llu, %s, differs", (unsigned long long)seq,
                 vs_event_kind_name((enum vs_event_kind)kept.kind));
}

static void tensors_same(const struct maps *maps, struct rpl_trace *kept, struct rpl_trace *full)
{
    for (size_t id = 1; id < maps->tensors.cap; id++) {
        struct vs_tensor_desc a;
        struct vs_tensor_desc b;

        if (!maps->tensors.other[id])
            continue;
        assert_true(rpl_trace_tensor(kept, (uint32_t)id, &a));
        assert_true(rpl_trace_tensor(full, (uint32_t)maps->tensors.other[id], &b));
        assert_int_equal(a.ndim, b.ndim);
        assert_int_equal(a.name, b.name);
        assert_int_equal(a.dtype, b.dtype);
        assert_memory_equal(a.sizes, b.sizes, sizeof(a.sizes));
        assert_memory_equal(a.strides, b.strides, sizeof(a.strides));
        if (a.block || b.block)
            assert_int_equal(maps->blocks.other[a.block], b.block);
    }
}

static void state_same(const struct maps *maps, const struct side *kept, const struct side *full)
{
    const struct rpl_live *a = rpl_cursor_live(kept->cursor);
    const struct rpl_live *b = rpl_cursor_live(full->cursor);
    size_t holders[2];

    assert_int_equal(a->allocated, b->allocated);
    assert_int_equal(a->requested, b->requested);
    assert_int_equal(a->reserved, b->reserved);
    assert_int_equal(a->segments, b->segments);
    assert_int_equal(a->block_count, b->block_count);
    assert_int_equal(a->open_count, b->open_count);
    assert_memory_equal(a->by_category, b->by_category, sizeof(a->by_category));
    for (size_t i = 0; i < a->block_count; i++) {
        const struct rpl_block *x = &a->blocks[i];
        const struct rpl_block *y = rpl_live_block(b, maps->blocks.other[x->id]);

        assert_non_null(y);
        assert_int_equal(x->address, y->address);
        assert_int_equal(x->bytes, y->bytes);
        assert_int_equal(x->saves, y->saves);
        assert_int_equal(x->category, y->category);
        assert_int_equal(x->alloc_location, y->alloc_location);
        assert_int_equal(x->last_use_location, y->last_use_location);
    }
    (void)rpl_cursor_held(kept->cursor, &holders[0]);
    (void)rpl_cursor_held(full->cursor, &holders[1]);
    assert_int_equal(holders[0], holders[1]);
}

/* The trace says the peak of all events that were recorded, which `full` has all. */
static void run_peak_check(struct rpl_trace *kept, struct rpl_trace *full)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_run_peak peak = {.bytes = 0};
    struct rpl_summary sum;

    memset(&sum, 0, sizeof(sum));
    ok(rpl_summary_fill(&sum, full, &err), &err);
    assert_true(rpl_run_peak(kept, &peak));
    assert_int_equal(peak.bytes, sum.peak.allocated);
    assert_int_equal(peak.event, sum.peak.event);
    assert_int_equal(peak.step, sum.peak.step);
    rpl_summary_release(&sum);
}

/*
 * The events of `kept` behind its start are the last of `full`, or those up to where it ends; the states are the same.
 * Returns how many events were dropped.
 */
static uint64_t tail_check(const char *kept_path, const char *full_path)
{
    struct vs_error err = VS_ERROR_INIT;
    struct maps maps = {.blocks = {.other = NULL}};
    struct side kept;
    struct side full;
    uint64_t start;
    uint64_t dropped;
    uint64_t count;

    side_open(&kept, kept_path);
    side_open(&full, full_path);
    start = meta_number(kept.trace, "start_events");
    dropped = meta_number(kept.trace, "dropped_events");
    assert_true(start <= dropped);
    run_peak_check(kept.trace, full.trace);
    count = rpl_trace_event_count(kept.trace) - start;
    assert_true(dropped + count <= rpl_trace_event_count(full.trace));
    for (uint64_t i = 1; i <= count; i++) {
        struct vs_event a;
        struct vs_event b;

        ok(rpl_index_event(kept.index, start + i, &a, &err), &err);
        ok(rpl_index_event(full.index, dropped + i, &b, &err), &err);
        if (i == 1)
            assert_int_equal(a.kind, VS_EV_STEP);
        event_same(&maps, a, b, start + i);
    }
    ok(rpl_cursor_seek(kept.cursor, start + count, &err), &err);
    ok(rpl_cursor_seek(full.cursor, dropped + count, &err), &err);
    /* blocks that no kept event is about have not been met yet: they are at the same addresses */
    for (size_t i = 0; i < rpl_cursor_live(kept.cursor)->block_count; i++) {
        const struct rpl_block *x = &rpl_cursor_live(kept.cursor)->blocks[i];

        for (size_t k = 0; k < rpl_cursor_live(full.cursor)->block_count; k++) {
            const struct rpl_block *y = &rpl_cursor_live(full.cursor)->blocks[k];

            if (x->address == y->address)
                id_same(&maps.blocks, x->id, y->id, 0, "block");
        }
    }
    for (uint64_t at = 1; at <= count; at += 1 + count / 40) {
        ok(rpl_cursor_seek(kept.cursor, start + at, &err), &err);
        ok(rpl_cursor_seek(full.cursor, dropped + at, &err), &err);
        state_same(&maps, &kept, &full);
    }
    tensors_same(&maps, kept.trace, full.trace);
    side_close(&kept);
    side_close(&full);
    vs_free(maps.blocks.other);
    vs_free(maps.tensors.other);
    vs_free(maps.nodes.other);
    return dropped;
}

static void keep_check(void **state, const char *net, const char *toggles, uint64_t bound)
{
    char all[PATH_SIZE];
    char last[PATH_SIZE];
    struct tee tee = {.events = 0};
    struct rpl_trace *trace = NULL;
    struct vs_error err = VS_ERROR_INIT;
    uint64_t kept;

    trace_path(state, "all.db", all, sizeof(all));
    trace_path(state, "last.db", last, sizeof(last));
    unlink(all);
    unlink(last);
    tee_open(&tee, all, last, bound);
    tee_run(&tee, net, toggles);
    tee_close(&tee);
    assert_true(tail_check(last, all) > 0);
    ok(rpl_trace_open(last, &trace, &err), &err);
    assert_true(rpl_trace_is_complete(trace));
    assert_string_equal(rpl_trace_meta(trace, "note"), "second");
    assert_string_equal(rpl_trace_source_name(trace), "net.py");
    assert_string_equal(rpl_trace_toggle(trace, 0).value, "bf16");
    kept = rpl_trace_event_count(trace) - meta_number(trace, "start_events");
    assert_true(kept >= bound);
    assert_int_equal(kept + meta_number(trace, "dropped_events"), tee.events);
    rpl_trace_free(trace);
}

static void the_kept_events_are_the_last_of_the_run(void **state)
{
    keep_check(state, "sample_nets/lenet.py", "steps=60", 3000);
    keep_check(state, "sample_nets/mlp_swish.py", "steps=40 optimizer=adamw", 2000);
    keep_check(state, "sample_nets/lenet.py", "steps=30 amp=fp16 checkpoint=blocks batch=4", 9000);
}

static void steps_longer_than_the_bound_are_kept_whole(void **state)
{
    keep_check(state, "sample_nets/resnet18.py", "steps=4 batch=1", 100);
}

static void a_run_within_the_bound_is_kept_as_a_whole(void **state)
{
    char all[PATH_SIZE];
    char last[PATH_SIZE];
    struct tee tee = {.events = 0};
    struct rpl_trace *a = NULL;
    struct rpl_trace *b = NULL;
    struct vs_error err = VS_ERROR_INIT;

    tee_open(&tee, trace_path(state, "whole_all.db", all, sizeof(all)),
             trace_path(state, "whole.db", last, sizeof(last)), 1000000);
    tee_run(&tee, "sample_nets/lenet.py", "steps=3");
    tee_close(&tee);
    ok(rpl_trace_open(all, &a, &err), &err);
    ok(rpl_trace_open(last, &b, &err), &err);
    assert_null(rpl_trace_meta(b, "dropped_events"));
    facts_same("a run within the bound", a, "all", b, "kept");
    rpl_trace_free(a);
    rpl_trace_free(b);
}

/* What a kill right after this commit would leave. */
static void left_check(struct tee *tee)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace = NULL;
    struct rpl_summary sum;
    uint64_t dropped = 0;
    uint64_t start = 0;

    ok(rpl_trace_open(tee->path, &trace, &err), &err);
    assert_false(rpl_trace_is_complete(trace));
    if (rpl_trace_meta_uint(trace, "dropped_events", &dropped))
        start = meta_number(trace, "start_events");
    assert_int_equal(rpl_trace_event_count(trace) - start + dropped, tee->events);
    memset(&sum, 0, sizeof(sum));
    ok(rpl_summary_fill(&sum, trace, &err), &err);
    rpl_summary_release(&sum);
    rpl_trace_free(trace);
    tee->examined += dropped > 0;
}

static void whatever_was_committed_opens_at_any_time(void **state)
{
    char all[PATH_SIZE];
    char last[PATH_SIZE];
    struct tee tee = {.commit_every = 977, .examine = left_check};

    tee_open(&tee, trace_path(state, "killed_all.db", all, sizeof(all)),
             trace_path(state, "killed.db", last, sizeof(last)), 3000);
    tee_run(&tee, "sample_nets/lenet.py", "steps=20");
    assert_true(tee.examined > 3);
    tee_close(&tee);
}

/* Nothing but the trace is left in the folder. */
static void the_second_trace_is_deleted_at_the_end(void **state)
{
    char command[PATH_SIZE + 64];
    char all[PATH_SIZE];
    char last[PATH_SIZE];
    struct tee tee = {.events = 0};
    FILE *pipe;
    int files = -1;

    tee_open(&tee, trace_path(state, "files_all.db", all, sizeof(all)),
             trace_path(state, "files.db", last, sizeof(last)), 3000);
    tee_run(&tee, "sample_nets/lenet.py", "steps=10");
    tee_close(&tee);
    snprintf(command, sizeof(command), "ls '%s' | grep -c '^files.db'", (const char *)*state);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%d", &files), 1);
    pclose(pipe);
    assert_int_equal(files, 1);
}

/* ---- what fails ---- */

/* Steps of so many allocations until one call fails; returns what it says. */
static enum vs_status steps_write(struct trc_keep *k, int from, int to, struct vs_error *err)
{
    enum vs_status st = VS_OK;
    uint64_t block = (uint64_t)from * 100;

    for (int step = from; !st && step < to; step++) {
        const struct vs_event begin = {.kind = VS_EV_STEP,
                                       .step = {.number_plus_one = (uint64_t)step + 1}};

        st = trc_keep_events(k, &begin, 1, err);
        for (int i = 0; !st && i < 100; i++) {
            const uint64_t id = ++block;
            const struct vs_event events[] = {
                {.kind = VS_EV_ALLOC, .alloc = {.block = id, .block_bytes = 512}},
                {.kind = VS_EV_FREE, .free = {.block = id, .block_bytes = 512}},
            };

            st = trc_keep_events(k, events, 2, err);
        }
    }
    return st;
}

static void a_trace_that_cannot_take_its_place_says_so_and_leaves_no_file(void **state)
{
    char path[PATH_SIZE];
    char other[PATH_SIZE];
    struct vs_error err = VS_ERROR_INIT;
    struct trc_keep *k = NULL;
    char second[PATH_SIZE + 64];

    trace_path(state, "taken.db", path, sizeof(path));
    trace_path(state, "taken-away.db", other, sizeof(other));
    ok(trc_keep_open(path, false, 300, &k, &err), &err);
    ok(steps_write(k, 0, 3, &err), &err); /* the second trace has begun, and is not full */
    ok(trc_keep_commit(k, &err), &err);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(mkdir(path, 0700), 0); /* which no file can replace */
    assert_int_equal(steps_write(k, 3, 9, &err), VS_E_IO);
    assert_non_null(strstr(err.text, path));
    assert_int_not_equal(trc_keep_close(k, true, &err), VS_OK);
    snprintf(second, sizeof(second), "%s.new-%ld-keep", path, (long)getpid());
    assert_int_not_equal(access(second, F_OK), 0);
    assert_int_equal(rmdir(path), 0);
}

static void a_folder_that_takes_no_second_trace_leaves_the_first_whole(void **state)
{
    char folder[PATH_SIZE];
    char moved[PATH_SIZE];
    char path[PATH_SIZE + 16];
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace = NULL;
    struct trc_keep *k = NULL;

    trace_path(state, "folder", folder, sizeof(folder));
    trace_path(state, "moved", moved, sizeof(moved));
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(path, sizeof(path), "%s/t.db", folder);
    ok(trc_keep_open(path, false, 1000, &k, &err), &err);
    ok(steps_write(k, 0, 2, &err), &err);
    ok(trc_keep_commit(k, &err), &err);
    assert_int_equal(rename(folder, moved), 0);
    assert_int_not_equal(steps_write(k, 2, 20, &err), VS_OK);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(rename(moved, folder), 0);
    (void)!trc_keep_close(k, false, &err);
    ok(rpl_trace_open(path, &trace, &err), &err);
    assert_true(rpl_trace_event_count(trace) >= 402);
    rpl_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kept_events_are_the_last_of_the_run),
        cmocka_unit_test(steps_longer_than_the_bound_are_kept_whole),
        cmocka_unit_test(a_run_within_the_bound_is_kept_as_a_whole),
        cmocka_unit_test(whatever_was_committed_opens_at_any_time),
        cmocka_unit_test(the_second_trace_is_deleted_at_the_end),
        cmocka_unit_test(a_trace_that_cannot_take_its_place_says_so_and_leaves_no_file),
        cmocka_unit_test(a_folder_that_takes_no_second_trace_leaves_the_first_whole),
    };

    return cmocka_run_group_tests(tests, trace_folder_setup, trace_folder_teardown);
}

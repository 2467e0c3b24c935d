/*
 * tests/replay/inspect/test_modules.c - the tree of modules, and the bytes that belong to each module.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "replay/inspect/modules.h"
#include "tests/replay/make_trace.h"
#include "tests/replay/net_trace.h"

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

static const struct rpl_module *find(const struct rpl_modules *modules, const char *path)
{
    size_t count;
    const struct rpl_module *all = rpl_modules_all(modules, &count);

    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i].path, path) == 0)
            return &all[i];
    fail_msg("no module `%s`", path);
    return NULL;
}

/* Parents precede their children, descendants are contiguous, and totals add up. */
static void assert_sound(const struct rpl_modules *modules, const struct rpl_live *live)
{
    size_t count;
    const struct rpl_module *all = rpl_modules_all(modules, &count);
    uint64_t own = 0;

    assert_int_equal(all[0].below, count - 1);
    assert_int_equal(all[0].total, live->allocated);
    assert_int_equal(all[0].blocks, live->block_count);
    assert_memory_equal(all[0].by_category, live->by_category, sizeof(all[0].by_category));
    for (size_t i = 0; i < count; i++) {
        uint64_t total = all[i].own;
        uint64_t categories = 0;
        size_t children = 0;

        own += all[i].own;
        for (size_t k = i + 1; k <= i + all[i].below; k++) {
            size_t len = strlen(all[i].path);

            assert_true(len == 0 ||
                        (strncmp(all[k].path, all[i].path, len) == 0 && all[k].path[len] == '.'));
            if (all[k].parent != i)
                continue;
            children++;
            total += all[k].total;
            assert_int_equal(all[k].depth, all[i].depth + 1);
        }
        for (size_t c = 0; c < VS_CATEGORY_COUNT; c++)
            categories += all[i].by_category[c];
        assert_int_equal(all[i].total, total);
        assert_int_equal(all[i].total, categories);
        assert_int_equal(all[i].child_count, children);
    }
    assert_int_equal(own, live->allocated);
}

static void name_the_tensor(struct make *m, const char *name)
{
    struct vs_tensor_desc desc = {
        .id = ++m->tensors, .block = m->blocks, .name = rpl_trace_add_string(m->trace, name)};

    rpl_trace_add_tensor(m->trace, &desc);
}

static void a_block_belongs_to_its_parameters_module_or_its_allocating_module(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_modules *modules;
    struct rpl_cursor *cursor;
    struct rpl_index *index;
    struct make m;

    (void)state;
    make_init(&m);
    make_alloc(&m, 512, VS_CAT_PARAMETER); /* allocated outside all modules, named */
    name_the_tensor(&m, "body.0.fc.weight");
    m.module = "body.0";
    make_alloc(&m, 1024, VS_CAT_ACTIVATION);
    m.module = "head";
    make_alloc(&m, 2048, VS_CAT_ACTIVATION);
    make_alloc(&m, 4096, VS_CAT_GRADIENT); /* allocated in head, for body.0.fc */
    make_hold(&m, VS_EV_HOLD, 4, VS_HOLD_GRAD, "body.0.fc.weight", "");
    m.module = "";
    make_alloc(&m, 8192, VS_CAT_OTHER);
    make_alloc(&m, 16384, VS_CAT_OPTIMIZER); /* as a program's trace names it */
    name_the_tensor(&m, "exp_avg of body.0.fc.weight");
    make_free(&m, 3, 2048);
    ok(rpl_index_open(m.trace, NULL, NULL, &index, &err), &err);
    ok(rpl_modules_new(index, &modules, &err), &err);
    cursor = rpl_cursor_new(index);
    ok(rpl_cursor_seek(cursor, rpl_index_event_count(index), &err), &err);
    ok(rpl_modules_fill(modules, cursor, &err), &err);
    assert_sound(modules, rpl_cursor_live(cursor));
    assert_int_equal(find(modules, "body.0.fc")->own, 512 + 4096 + 16384);
    assert_string_equal(find(modules, "body.0.fc")->name, "fc");
    assert_int_equal(find(modules, "body.0")->own, 1024);
    assert_int_equal(find(modules, "body.0")->total, 1024 + 512 + 4096 + 16384);
    assert_int_equal(find(modules, "body")->total, 1024 + 512 + 4096 + 16384);
    assert_int_equal(find(modules, "head")->own, 0);
    assert_int_equal(find(modules, "head")->own_top, 2048);
    assert_int_equal(find(modules, "")->own, 8192);
    assert_int_equal(find(modules, "")->total_top, 15872 + 16384);
    rpl_cursor_free(cursor);
    rpl_modules_free(modules);
    rpl_index_free(index);
    rpl_trace_free(m.trace);
}

static void the_module_tree_is_consistent_at_every_event(void **state)
{
    static const char *const nets[] = {"tests/nets/resnet_small.py", "tests/nets/gpt_tiny.py"};

    (void)state;
    for (size_t n = 0; n < 2; n++) {
        struct rpl_trace *trace = net_trace(nets[n], "optimizer=adam");
        struct vs_error err = VS_ERROR_INIT;
        struct rpl_modules *modules;
        struct rpl_cursor *cursor;
        struct rpl_index *index;

        ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
        ok(rpl_modules_new(index, &modules, &err), &err);
        assert_int_equal(find(modules, "")->total_top, rpl_index_top(index).allocated);
        cursor = rpl_cursor_new(index);
        for (uint64_t seq = 0; seq <= rpl_index_event_count(index); seq += 331) {
            ok(rpl_cursor_seek(cursor, seq, &err), &err);
            ok(rpl_modules_fill(modules, cursor, &err), &err);
            assert_sound(modules, rpl_cursor_live(cursor));
        }
        rpl_cursor_free(cursor);
        rpl_modules_free(modules);
        rpl_index_free(index);
        rpl_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_belongs_to_its_parameters_module_or_its_allocating_module),
        cmocka_unit_test(the_module_tree_is_consistent_at_every_event),
    };

    return cmocka_run_group_tests_name("replay/modules", tests, NULL, NULL);
}

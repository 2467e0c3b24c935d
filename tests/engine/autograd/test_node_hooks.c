/*
 * tests/engine/autograd/test_node_hooks.c - hooks of nodes and of the end of a backward, and memory that is freed while
 * tensors refer to it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/engine/rig.h"
#include "tests/engine/short_ops.h"

static const int64_t SIZES[] = {6};

/* What a hook does: counts, and frees and allocates memory. */
struct work {
    struct eng *e;
    T *frees;
    T *allocates;
    int runs, ends;
    bool fails;
    int after; /* how often the work `before` had run by then */
    const struct work *before;
};

static bool work_run(void *user, struct eng_tensor *ignored)
{
    struct work *w = user;

    assert_null(ignored);
    w->runs++;
    w->after = w->before ? w->before->runs : 0;
    if (w->frees)
        eng_free_storage(w->frees);
    if (w->allocates)
        eng_alloc_storage(w->e, w->allocates);
    if (w->fails)
        eng_fail(w->e, VS_E_RAISED, "the hook fails");
    return !w->fails;
}

static void work_free(void *user)
{
    struct work *w = user;

    w->ends++;
}

static struct eng_hooks hook_of(struct work *w)
{
    return (struct eng_hooks){.user = w, .run = work_run, .free_user = work_free};
}

/* The product saves w, whose memory is gone until backward reaches the sum. */
static void memory_that_autograd_saved_comes_back_before_its_node_runs(void **state)
{
    char buf[256];
    struct rig rig;
    struct work work;
    struct eng_hooks hook = hook_of(&work);
    T *x, *w, *product, *loss;

    (void)state;
    rig_init(&rig, true);
    x = rig_leaf(&rig, 1, SIZES, 1);
    w = rig_leaf(&rig, 1, SIZES, 2);
    work = (struct work){.e = rig.e, .allocates = w};
    rig_clear(&rig);
    product = eng_mul(rig.e, x, w);
    loss = sum_of(rig.e, eng_ref(product));
    eng_node_hook_add(product, &hook);
    eng_free_storage(w);
    assert_null(w->storage->block);
    assert_string_equal(rig_memory_text(&rig, false, buf, sizeof(buf)), "+48 +8 -48@0 ");
    rig_clear(&rig);
    rig_backward(&rig, loss);
    assert_int_equal(work.runs, 1);
    assert_non_null(w->storage->block);
    assert_memory_equal(rig_memory_text(&rig, false, buf, sizeof(buf)), "+8 +48 +48", 10);
    eng_unref(product);
    assert_int_equal(work.ends, 0);
    eng_unref(loss);
    assert_int_equal(work.ends, 1);
    eng_unref(x);
    eng_unref(w);
    rig_release(&rig);
}

static void freeing_and_allocating_twice_does_nothing(void **state)
{
    char buf[256];
    struct rig rig;
    T *t, *view;

    (void)state;
    rig_init(&rig, false);
    t = rig_leaf(&rig, 1, SIZES, 1);
    view = eng_alias_apart(t);
    assert_ptr_not_equal(view->version, t->version);
    rig_clear(&rig);
    eng_alloc_storage(rig.e, t);
    eng_free_storage(view);
    eng_free_storage(t);
    assert_null(t->storage->data);
    eng_alloc_storage(rig.e, view);
    eng_alloc_storage(rig.e, t);
    assert_non_null(t->storage->data);
    assert_string_equal(rig_memory_text(&rig, false, buf, sizeof(buf)), "-48@0 +48 ");
    eng_free_storage(t);
    eng_unref(view);
    eng_unref(t); /* without a block there is none to free */
    assert_int_equal(rig_count(&rig, VS_EV_FREE), 2);
    rig_release(&rig);
}

static void memory_that_comes_back_has_the_name_of_its_tensor(void **state)
{
    struct rig rig;
    uint64_t first;
    T *t;

    (void)state;
    rig_init(&rig, false);
    t = rig_leaf(&rig, 1, SIZES, 1);
    eng_set_name(t, "weight");
    first = t->storage->block_id;
    assert_int_equal(rig.last_tensor.block, first);
    eng_free_storage(t);
    eng_alloc_storage(rig.e, t);
    assert_int_not_equal(t->storage->block_id, first);
    assert_int_equal(rig.last_tensor.block, t->storage->block_id);
    assert_string_equal(rig_string(&rig, rig.last_tensor.name), "weight");
    eng_unref(t);
    rig_release(&rig);
}

static void memory_that_does_not_come_back_is_a_failure(void **state)
{
    const int64_t large[] = {1 << 20};
    struct rig rig;
    T *t, *other;

    (void)state;
    rig_init_small(&rig, 20 << 20);
    t = eng_empty(rig.e, large, 1, VS_F32, false);
    eng_free_storage(t);
    other = eng_empty(rig.e, (const int64_t[]){5 << 20}, 1, VS_F32, false);
    assert_non_null(other);
    eng_alloc_storage(rig.e, t);
    assert_int_equal(rig_take_failure(&rig, "out of memory"), VS_E_OOM);
    eng_unref(other);
    eng_unref(t);
    rig_release(&rig);
}

static struct work ends_last;

/* Adds a hook to the end of the backward that calls it. */
static bool add_end(void *user, struct eng_tensor *ignored)
{
    struct work *w = user;
    struct eng_hooks hook = hook_of(&ends_last);

    (void)ignored;
    w->runs++;
    eng_after_backward(w->e, &hook);
    return true;
}

static void the_end_of_a_backward_comes_after_its_last_node(void **state)
{
    struct rig rig;
    struct work first = {0}, second = {0};
    struct eng_hooks adds = {.user = &second, .run = add_end, .free_user = work_free};
    struct eng_hooks counts = hook_of(&first);
    T *x, *h, *loss;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 1, SIZES, 1);
    h = op(rig.e, ENG_OP_exp, x);
    first.e = second.e = rig.e;
    loss = sum_of(rig.e, eng_ref(h));
    ends_last = (struct work){.e = rig.e, .before = &first};
    eng_node_hook_add(loss, &adds);
    eng_node_hook_add(h, &counts);
    rig_backward(&rig, loss);
    assert_int_equal(second.runs, 1);
    assert_int_equal(ends_last.runs, 1);
    assert_int_equal(ends_last.after, 1);
    assert_int_equal(ends_last.ends, 1);
    assert_false(eng_is_in_backward(rig.e));
    eng_after_backward(rig.e, &counts);
    assert_int_equal(rig_take_failure(&rig, "can only be installed during backward"),
                     VS_E_AUTOGRAD);
    assert_int_equal(first.ends, 1);
    eng_unref(loss);
    eng_unref(h);
    eng_unref(x);
    assert_int_equal(first.ends, 2);
    rig_release(&rig);
}

static void a_hook_that_fails_ends_the_backward(void **state)
{
    struct rig rig;
    struct work work = {.fails = true};
    struct eng_hooks hook = hook_of(&work);
    T *x, *h, *loss;

    (void)state;
    rig_init(&rig, false);
    work.e = rig.e;
    x = rig_leaf(&rig, 1, SIZES, 1);
    h = op(rig.e, ENG_OP_exp, x);
    loss = sum_of(rig.e, eng_ref(h));
    eng_node_hook_add(h, &hook);
    backward(rig.e, loss);
    assert_int_equal(rig_take_failure(&rig, "the hook fails"), VS_E_RAISED);
    assert_null(x->grad);
    eng_unref(loss);
    eng_unref(h);
    eng_unref(x);
    rig_release(&rig);
}

/* A view of the result uses nothing; the first op that does frees what the collective has read, before it allocates. */
static void what_a_collective_reads_stays_until_an_op_uses_its_result(void **state)
{
    char buf[256];
    struct rig rig;
    T *given, *result, *view, *used;

    (void)state;
    rig_init(&rig, false);
    given = eng_empty(rig.e, SIZES, 1, VS_F32, false);
    result = eng_empty(rig.e, SIZES, 1, VS_F32, false);
    eng_set_pending(result, given);
    eng_unref(given);
    rig_clear(&rig);
    view = eng_expand(rig.e, result, (const int64_t[]){2, 6}, 2);
    assert_string_equal(rig_memory_text(&rig, false, buf, sizeof(buf)), "");
    used = eng_neg(rig.e, view);
    assert_int_equal(rig_memory_text(&rig, false, buf, sizeof(buf))[0], '-');
    eng_unref(used);
    eng_unref(view);
    eng_unref(result);
    rig_release(&rig);
}

static void what_a_collective_reads_goes_with_its_result(void **state)
{
    struct rig rig;
    T *given, *result;

    (void)state;
    rig_init(&rig, false);
    given = eng_empty(rig.e, SIZES, 1, VS_F32, false);
    result = eng_empty(rig.e, SIZES, 1, VS_F32, false);
    eng_set_pending(result, given);
    eng_unref(given);
    rig_clear(&rig);
    eng_unref(result);
    assert_int_equal(rig_count(&rig, VS_EV_FREE), 2);
    rig_release(&rig);
}

static void what_a_collective_reads_goes_when_the_next_one_begins(void **state)
{
    char buf[256];
    struct rig rig;
    T *t[4];

    (void)state;
    rig_init(&rig, false);
    for (int i = 0; i < 4; i++)
        t[i] = eng_empty(rig.e, SIZES, 1, VS_F32, false);
    eng_set_pending(t[1], t[0]);
    eng_unref(t[0]);
    rig_clear(&rig);
    eng_set_pending(t[3], t[2]);
    assert_string_equal(rig_memory_text(&rig, false, buf, sizeof(buf)), "-24@0 ");
    eng_set_pending(t[1], NULL); /* which has ended: nothing is left of it */
    assert_non_null(t[3]->storage->pending);
    for (int i = 1; i < 4; i++)
        eng_unref(t[i]);
    assert_int_equal(rig_count(&rig, VS_EV_FREE), 4);
    rig_release(&rig);
}

/* The last user of h adds to a gradient that nobody else has: in place, unless it is a DTensor's. */
static void gradients_of_a_dtensor_are_not_summed_in_place(void **state)
{
    uint64_t allocs[2];

    (void)state;
    for (int is_dtensor = 0; is_dtensor < 2; is_dtensor++) {
        struct rig rig;
        T *x, *h, *uses[3], *two, *all, *loss;

        rig_init(&rig, false);
        x = rig_leaf(&rig, 1, SIZES, 1);
        h = op(rig.e, ENG_OP_exp, x);
        h->grad_fn->is_dtensor = is_dtensor;
        for (int i = 0; i < 3; i++)
            uses[i] = op(rig.e, ENG_OP_exp, h);
        two = eng_add(rig.e, uses[0], uses[1]);
        all = eng_add(rig.e, two, uses[2]);
        loss = sum_of(rig.e, eng_ref(all));
        rig_clear(&rig);
        backward(rig.e, loss);
        allocs[is_dtensor] = rig_count(&rig, VS_EV_ALLOC);
        for (int i = 0; i < 3; i++)
            eng_unref(uses[i]);
        eng_unref(loss);
        eng_unref(all);
        eng_unref(two);
        eng_unref(h);
        eng_unref(x);
        rig_release(&rig);
    }
    assert_int_equal(allocs[1], allocs[0] + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_autograd_saved_comes_back_before_its_node_runs),
        cmocka_unit_test(freeing_and_allocating_twice_does_nothing),
        cmocka_unit_test(memory_that_comes_back_has_the_name_of_its_tensor),
        cmocka_unit_test(memory_that_does_not_come_back_is_a_failure),
        cmocka_unit_test(the_end_of_a_backward_comes_after_its_last_node),
        cmocka_unit_test(a_hook_that_fails_ends_the_backward),
        cmocka_unit_test(what_a_collective_reads_stays_until_an_op_uses_its_result),
        cmocka_unit_test(what_a_collective_reads_goes_with_its_result),
        cmocka_unit_test(what_a_collective_reads_goes_when_the_next_one_begins),
        cmocka_unit_test(gradients_of_a_dtensor_are_not_summed_in_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

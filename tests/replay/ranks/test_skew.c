/*
 * tests/replay/ranks/test_skew.c - the lines that make the peak of one rank higher than that of the others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "replay/ranks/skew.h"
#include "tests/replay/make_trace.h"

#define MIB (UINT64_C(1) << 20)

/* A model of 8 MiB at line 3, and `bytes` more at another line. */
static struct rpl_trace *trace_make(const char *rank, uint64_t bytes, uint32_t line)
{
    struct make m;

    make_init(&m);
    m.func = "train.py:main";
    m.line = 3;
    (void)make_alloc(&m, 8 * MIB, VS_CAT_PARAMETER);
    m.line = line;
    (void)make_alloc(&m, bytes, VS_CAT_ACTIVATION);
    rpl_trace_set_meta(m.trace, "rank", rank);
    return m.trace;
}

/* `bytes` of rank 0 at line 7, and 2 MiB of each other one at line `other`. */
static void skew_of(uint64_t bytes, uint32_t other, struct rpl_mistakes *out)
{
    struct rpl_ranks ranks = {.count = 0};
    struct vs_error err = VS_ERROR_INIT;

    rpl_ranks_take(&ranks, "a.db", trace_make("0", bytes, 7));
    rpl_ranks_take(&ranks, "b.db", trace_make("1", 2 * MIB, other));
    rpl_ranks_take(&ranks, "c.db", trace_make("2", 2 * MIB, other));
    if (rpl_ranks_fill(&ranks, NULL, NULL, &err))
        fail_msg("%s", err.text);
    rpl_skew_find(&ranks, out);
    rpl_ranks_release(&ranks);
}

static void the_line_that_one_rank_alone_has_much_of_is_named(void **state)
{
    struct rpl_mistakes mistakes = {.count = 0};

    (void)state;
    skew_of(16 * MIB, 7, &mistakes);
    assert_int_equal(mistakes.count, 1);
    assert_string_equal(mistakes.items[0].kind, "rank_skew");
    assert_string_equal(mistakes.items[0].where, "train.py:7");
    assert_int_equal(mistakes.items[0].bytes, 14 * MIB);
    assert_string_equal(mistakes.items[0].text,
                        "rank 0 has 16.0 MiB of this line at its peak of 24.0 MiB, rank 1 has 2.0 "
                        "MiB at its peak of 10.0 MiB");
    rpl_mistakes_release(&mistakes);
}

/* As of a batch that one rank validates with, and the others train with on another line. */
static void the_line_is_named_where_the_others_have_theirs_on_another(void **state)
{
    struct rpl_mistakes mistakes = {.count = 0};

    (void)state;
    skew_of(16 * MIB, 9, &mistakes);
    assert_int_equal(mistakes.count, 1);
    assert_string_equal(mistakes.items[0].where, "train.py:7");
    assert_string_equal(mistakes.items[0].text,
                        "rank 0 has 16.0 MiB of this line at its peak of 24.0 MiB, rank 1 has 2.0 "
                        "MiB of line 9 at its peak of 10.0 MiB");
    rpl_mistakes_release(&mistakes);
}

static void ranks_that_are_alike_or_nearly_so_have_none(void **state)
{
    struct rpl_mistakes mistakes = {.count = 0};

    (void)state;
    skew_of(2 * MIB, 7, &mistakes);
    assert_int_equal(mistakes.count, 0);
    skew_of(4 * MIB, 7, &mistakes);
    assert_int_equal(mistakes.count, 0);
    rpl_mistakes_release(&mistakes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_that_one_rank_alone_has_much_of_is_named),
        cmocka_unit_test(the_line_is_named_where_the_others_have_theirs_on_another),
        cmocka_unit_test(ranks_that_are_alike_or_nearly_so_have_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

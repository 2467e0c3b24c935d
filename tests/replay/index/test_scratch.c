/*
 * tests/replay/index/test_scratch.c - vectors and pieces in files keep their contents; no file stays behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "replay/index/scratch.h"
#include "tests/e2e/program.h"

#define ITEMS ((size_t)3 << 20)
#define PIECES 3000

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

/* Two vectors that grow in turn, so that neither can stay where it is. */
static void fill(struct rpl_scratch *scratch, uint64_t **a, uint64_t **b)
{
    size_t a_cap = 0;
    size_t b_cap = 0;

    for (size_t i = 0; i < ITEMS; i++) {
        *a = rpl_scratch_reserve(scratch, *a, i + 1, &a_cap, sizeof(**a));
        *b = rpl_scratch_reserve(scratch, *b, i + 1, &b_cap, sizeof(**b));
        (*a)[i] = i * 3;
        (*b)[i] = ~(uint64_t)i;
        if (i % 100000 == 0)
            rpl_scratch_drop(scratch);
    }
}

static void vectors_keep_their_items(void **state)
{
    struct rpl_scratch *scratch = rpl_scratch_new(program_path("trace.db"));
    uint64_t *a = NULL;
    uint64_t *b = NULL;

    (void)state;
    assert_non_null(scratch);
    fill(scratch, &a, &b);
    rpl_scratch_drop(scratch);
    for (size_t i = 0; i < ITEMS; i++)
        if (a[i] != i * 3 || b[i] != ~(uint64_t)i)
            fail_msg("item %zu is %llu and %llu", i, (unsigned long long)a[i],
                     (unsigned long long)b[i]);
    assert_int_equal(program_count("* .vramscope-*"), 0);
    rpl_scratch_free(scratch);
}

static void pieces_stay_where_they_are(void **state)
{
    struct rpl_scratch *scratch = rpl_scratch_new(program_path("trace.db"));
    const char *pieces[PIECES];

    (void)state;
    assert_non_null(scratch);
    for (size_t i = 0; i < PIECES; i++) {
        char *bytes = vs_alloc(i * 7 + 1);

        memset(bytes, (int)(i % 251), i * 7 + 1);
        pieces[i] = rpl_scratch_keep(scratch, bytes, i * 7 + 1);
    }
    rpl_scratch_drop(scratch);
    for (size_t i = 0; i < PIECES; i++)
        for (size_t k = 0; k < i * 7 + 1; k++)
            if ((unsigned char)pieces[i][k] != i % 251)
                fail_msg("byte %zu of piece %zu is %d", k, i, pieces[i][k]);
    rpl_scratch_free(scratch);
}

static void a_folder_that_is_not_there_has_no_scratch(void **state)
{
    (void)state;
    assert_null(rpl_scratch_new("/nowhere/at/all/trace.db"));
    rpl_scratch_drop(NULL);
    rpl_scratch_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(vectors_keep_their_items, cleanup),
        cmocka_unit_test_teardown(pieces_stay_where_they_are, cleanup),
        cmocka_unit_test(a_folder_that_is_not_there_has_no_scratch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

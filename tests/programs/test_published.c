/*
 * tests/programs/test_published.c - peaks that others measured on real GPUs: the simulated GPU gives the same bytes.
 *
 * These kernels need no workspace, so any version of PyTorch will do; published/check.sh has all of them, with the
 * versions of their time.
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

#include "tests/programs/corpus.h"

#define PEAKS "tests/programs/published/peaks.tsv"

/* Column `column`, from 0, of line `line`, from 1, of the published peaks. */
static int64_t published(int line, int column)
{
    FILE *file = fopen(PEAKS, "r");
    char text[1024];
    const char *at = text;

    assert_non_null(file);
    for (int i = 0; i < line; i++)
        assert_non_null(fgets(text, sizeof(text), file));
    fclose(file);
    while (column-- > 0) {
        at = strchr(at, '\t');
        assert_non_null(at);
        at++;
    }
    return strtoll(at, NULL, 10);
}

static void check(const char *kernel, const char *gpu, const char *target, int rows)
{
    char command[128];
    struct program p;
    const char *line;
    int count = 0;

    snprintf(command, sizeof(command), "published/measure " PEAKS " %s %s", gpu, kernel);
    p = corpus_record(command, 0, target);
    for (line = p.out; (line = strstr(line, "ROW ")) != NULL; line++, count++) {
        int at;
        int64_t bytes;

        assert_int_equal(sscanf(line, "ROW %d %" SCNd64, &at, &bytes), 2);
        if (bytes != published(at, 5))
            fail_msg("%s, line %d of " PEAKS ": %" PRId64 ", and %s had %" PRId64, kernel, at,
                     bytes, gpu, published(at, 5));
    }
    assert_int_equal(count, rows);
    program_release(&p);
}

static void cross_entropy_has_the_peaks_of_an_a100(void **state)
{
    (void)state;
    check("cross_entropy", "A100", "a100-80", 6);
}

static void kl_div_has_the_peaks_of_an_h100(void **state)
{
    (void)state;
    check("kl_div", "PCIe", "h100-pcie", 6);
}

static void group_norm_has_the_peaks_of_a_b200(void **state)
{
    (void)state;
    check("group_norm", "B200", "b200", 21);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cross_entropy_has_the_peaks_of_an_a100),
        cmocka_unit_test(kl_div_has_the_peaks_of_an_h100),
        cmocka_unit_test(group_norm_has_the_peaks_of_a_b200),
    };

    return cmocka_run_group_tests(tests, corpus_setup, corpus_cleanup);
}

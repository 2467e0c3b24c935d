/*
 * tests/programs/observed/test_observed.c - programs of one process, recorded without the observer and with it: the
 * same events of the allocator, and PyTorch's own peaks, to the byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/e2e/program.h"
#include "tests/programs/corpus.h"
#include "tests/programs/observed/rows.h"

static void expandable_segments(void **state)
{
    (void)state;
    setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", 1);
    corpus_check("conv_amp", 0);
    unsetenv("PYTORCH_CUDA_ALLOC_CONF");
}

/* And what is outside of the transforms is observed: 5 batches and one of 8 samples are made by randn. */
static void gradients_of_functions_keep_nothing(void **state)
{
    struct program p = corpus_record("observed/transforms grad", 0, CORPUS_GPU);
    const char *trace = program_path("trace.db");

    (void)state;
    if (!strstr(p.out, "KEPT\n"))
        fail_msg("the program says: %s", p.out);
    program_release(&p);
    assert_int_equal(sql_int(trace, "select count(*) from event where kind = 'alloc' and op = "
                                    "'randn'"),
                     6);
    assert_int_equal(sql_int(trace, "select count(*) from event where kind = 'alloc' and op = "
                                    "'randn' and (line <> 26 or size <> 512 * 256 * 4)"),
                     1);
    p = program_run("report", trace, NULL);
    if (!strstr(p.out, "\nnot observed throughout: inside of torch.func's transforms"))
        fail_msg("report: %s", p.out);
    program_release(&p);
}

int main(void)
{
    struct CMUnitTest tests[ROWS_MAX + 3] = {cmocka_unit_test(no_program_is_left_out),
                                             cmocka_unit_test(expandable_segments),
                                             cmocka_unit_test(gradients_of_functions_keep_nothing)};
    const size_t count = 3 + rows_tests(false, tests + 3);

    return _cmocka_run_group_tests("programs/observed", tests, count, corpus_setup, corpus_cleanup);
}

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

#include "tests/programs/corpus.h"
#include "tests/programs/observed/rows.h"

static void expandable_segments(void **state)
{
    (void)state;
    setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", 1);
    corpus_check("conv_amp", 0);
    unsetenv("PYTORCH_CUDA_ALLOC_CONF");
}

int main(void)
{
    struct CMUnitTest tests[ROWS_MAX + 2] = {cmocka_unit_test(no_program_is_left_out),
                                             cmocka_unit_test(expandable_segments)};
    const size_t count = 2 + rows_tests(false, tests + 2);

    return _cmocka_run_group_tests("programs/observed", tests, count, corpus_setup, corpus_cleanup);
}

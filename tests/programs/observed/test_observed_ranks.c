/*
 * tests/programs/observed/test_observed_ranks.c - programs of several processes, recorded without the observer and with
 * it: the same events of the allocator, and PyTorch's own peaks, to the byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/programs/corpus.h"
#include "tests/programs/observed/rows.h"

int main(void)
{
    struct CMUnitTest tests[ROWS_MAX] = {{.name = NULL}};
    const size_t count = rows_tests(true, tests);

    return _cmocka_run_group_tests("programs/observed_ranks", tests, count, corpus_setup,
                                   corpus_cleanup);
}

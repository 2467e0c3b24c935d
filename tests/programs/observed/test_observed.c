/*
 * tests/programs/observed/test_observed.c - programs of one process, recorded without the observer and with it: the
 * same events of the allocator, and PyTorch's own peaks, to the byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
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
                                    "'randn' and (line <> 28 or size <> 512 * 256 * 4)"),
                     1);
    p = program_run("report", trace, NULL);
    if (!strstr(p.out, "\nnot observed throughout: inside of torch.func's transforms"))
        fail_msg("report: %s", p.out);
    program_release(&p);
}

/* The ops of each of the last two steps, which have no momentum to make. */
static void phases_of_a_loop_by_hand_follow_from_its_graph_and_its_parameters(void **state)
{
    static const struct {
        const char *program, *phase, *ops;
    } CASES[] = {
        {"observed/by_hand", "data", "randn randint"},
        {"observed/by_hand", "forward", "matmul relu matmul"},
        {"observed/by_hand", "loss", "cross_entropy_loss"},
        {"observed/by_hand", "optimizer", "mul_ add_ mul sub_ mul_ add_ mul sub_"},
        {"observed/by_hand", "zero_grad", "zero_ zero_"},
        {"observed/by_hand module", "data", "randn"},
        {"observed/by_hand module", "forward", "mul linear"},
        {"observed/by_hand module", "loss", "square mean"},
        {"observed/by_hand module", "optimizer", "mul add_ mul add_"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct program p;
        char sql[512];

        if (i == 0 || strcmp(CASES[i].program, CASES[i - 1].program) != 0) {
            p = corpus_record(CASES[i].program, 0, CORPUS_GPU);
            program_release(&p);
            /* step 0 begins after the set-up */
            assert_int_equal(sql_int(program_path("trace.db"), "select max(step) from event"), 2);
            assert_true(sql_int(program_path("trace.db"), "select count(*) from event where phase "
                                                          "= 'setup' and step < 0") > 0);
        }
        snprintf(sql, sizeof(sql),
                 "select count(*) from (select group_concat(op, ' ') as ops from (select step, op "
                 "from event where kind = 'op_begin' and phase = '%s' and step > 0 order by seq) "
                 "group by step) where ops = '%s'",
                 CASES[i].phase, CASES[i].ops);
        if (sql_int(program_path("trace.db"), sql) != 2)
            fail_msg("%s: ops in %s are not %s", CASES[i].program, CASES[i].phase, CASES[i].ops);
    }
}

/* By the step in which it was allocated: the name of each parameter of at least 100 KiB, its elements in 1000. */
static void parameters_that_are_replaced_have_the_names_of_those_that_they_replace(void **state)
{
    static const char *const FACTS[][2] = {
        {"select group_concat(step || ' ' || name || ' ' || (size / 4000), ', ') from (select * "
         "from "
         "block join tensor on tensor.id = block.tensor where category = 'parameter' and size > "
         "100000 order by alloc_seq)",
         "-1 body.0.weight 131, -1 head.weight 131, 1 head.weight 512, 2 body.0.weight 131, "
         "2 head.weight 512, 3 body.0.weight 131, 4 body.0.b 32, 4 head.a 32, 4 head.b 64"},
        {"select group_concat(module, ' ') from (select distinct module from event where kind = "
         "'op_begin' and module <> '' and step = 4 and phase = 'forward' order by module)",
         "body.0 body.0.base body.1 head head.base"},
        {"select group_concat(module, ' ') from (select distinct module from event where kind = "
         "'op_begin' and module <> '' and step = 5 and phase = 'forward' order by module)",
         "body.0 body.1 head"},
    };
    struct program p = corpus_record("observed/replaced", 0, CORPUS_GPU);

    (void)state;
    program_release(&p);
    for (size_t i = 0; i < sizeof(FACTS) / sizeof(FACTS[0]); i++) {
        char sql[1024];

        snprintf(sql, sizeof(sql), "select (%s) = '%s'", FACTS[i][0], FACTS[i][1]);
        if (sql_int(program_path("trace.db"), sql) != 1)
            fail_msg("not '%s': %s", FACTS[i][1], FACTS[i][0]);
    }
}

int main(void)
{
    struct CMUnitTest tests[ROWS_MAX + 5] = {
        cmocka_unit_test(no_program_is_left_out), cmocka_unit_test(expandable_segments),
        cmocka_unit_test(gradients_of_functions_keep_nothing),
        cmocka_unit_test(phases_of_a_loop_by_hand_follow_from_its_graph_and_its_parameters),
        cmocka_unit_test(parameters_that_are_replaced_have_the_names_of_those_that_they_replace)};
    const size_t count = 5 + rows_tests(false, tests + 5);

    return _cmocka_run_group_tests("programs/observed", tests, count, corpus_setup, corpus_cleanup);
}

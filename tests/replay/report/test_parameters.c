/*
 * tests/replay/report/test_parameters.c - parameters by module.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "replay/report/parameters.h"
#include "replay/report/summary.h"
#include "tests/replay/make_trace.h"
#include "tests/replay/net_trace.h"

/* Known from the literature: 4096·25088 + 4096 and 4096·4096 + 4096 and 1000·4096 + 1000 of 138,357,544. */
static void most_parameters_of_vgg16_are_in_its_linear_layers(void **state)
{
    struct rpl_trace *trace = net_trace("sample_nets/vgg16.py", "steps=1 batch=1");
    struct rpl_parameters p = {.row_count = 0};
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};

    (void)state;
    if (rpl_parameters_fill(&p, trace, &err))
        fail_msg("%s", err.text);
    assert_int_equal(p.count, 138357544);
    assert_int_equal(p.bytes, 4 * 138357544);
    assert_int_equal(p.row_count, 16);
    assert_string_equal(p.rows[0].module, "classifier.0");
    assert_int_equal(p.rows[0].count, 102764544);
    assert_string_equal(p.rows[1].module, "classifier.3");
    assert_int_equal(p.rows[1].count, 16781312);
    assert_int_equal(rpl_parameters_below(&p, "classifier"), 123642856);
    assert_int_equal(rpl_parameters_below(&p, "classif"), 0);
    assert_int_equal(rpl_parameters_below(&p, ""), 138357544);
    rpl_parameters_text(&p, &text);
    assert_non_null(strstr(vs_text_get(&text),
                           "\nParameters: 138,357,544, 527.8 MiB\n"
                           "  classifier       123,642,856   89.4 %   471.7 MiB\n"
                           "  features          14,714,688   10.6 %    56.1 MiB\n"));
    assert_non_null(strstr(vs_text_get(&text), "classifier.0     102,764,544   74.3 %"));
    assert_non_null(strstr(vs_text_get(&text), "and 11 more\n"));
    vs_text_release(&text);
    rpl_parameters_release(&p);
    rpl_trace_free(trace);
}

/* Shared weights are counted once, and the rows add up to what the report says of every sample net. */
static void rows_add_up_to_the_parameters_of_the_net(void **state)
{
    static const char *const NETS[] = {"sample_nets/lenet.py", "sample_nets/gpt2_small.py",
                                       "tests/nets/shared_module.py", "tests/nets/vit_small.py"};

    (void)state;
    for (size_t i = 0; i < sizeof(NETS) / sizeof(NETS[0]); i++) {
        struct rpl_trace *trace = net_trace(NETS[i], "steps=1");
        struct rpl_parameters p = {.row_count = 0};
        struct rpl_summary sum = {.events = 0};
        struct vs_error err = VS_ERROR_INIT;
        uint64_t count = 0;

        if (rpl_parameters_fill(&p, trace, &err) || rpl_summary_fill(&sum, trace, &err))
            fail_msg("%s: %s", NETS[i], err.text);
        for (size_t k = 0; k < p.row_count; k++) {
            count += p.rows[k].count;
            assert_true(!k || p.rows[k].count <= p.rows[k - 1].count);
        }
        if (count != sum.parameters || count != p.count)
            fail_msg("%s: rows have %ju parameters, all of them %ju, the net %ju", NETS[i],
                     (uintmax_t)count, (uintmax_t)p.count, (uintmax_t)sum.parameters);
        rpl_parameters_release(&p);
        rpl_summary_release(&sum);
        rpl_trace_free(trace);
    }
}

static void a_trace_without_parameters_has_no_rows(void **state)
{
    struct rpl_parameters p = {.row_count = 0};
    struct vs_error err = VS_ERROR_INIT;
    struct make m;

    (void)state;
    make_init(&m);
    assert_int_equal(rpl_parameters_fill(&p, m.trace, &err), VS_OK);
    assert_int_equal(p.row_count, 0);
    make_step(&m, -1);
    (void)make_alloc(&m, 4096, VS_CAT_INPUT);
    assert_int_equal(rpl_parameters_fill(&p, m.trace, &err), VS_OK);
    assert_int_equal(p.row_count, 0);
    rpl_parameters_release(&p);
    rpl_trace_free(m.trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(most_parameters_of_vgg16_are_in_its_linear_layers),
        cmocka_unit_test(rows_add_up_to_the_parameters_of_the_net),
        cmocka_unit_test(a_trace_without_parameters_has_no_rows),
    };

    return cmocka_run_group_tests_name("replay/report/parameters", tests, NULL, NULL);
}

/*
 * tests/e2e/test_why.c - `vramscope why` of a net: who holds each block, at the peak and at another event, as text and
 * as JSON. tests/e2e/test_rerun.c has that of a program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/e2e/program.h"

static const char NET[] = "import torch\n"
                          "import torch.nn as nn\n"
                          "import torch.nn.functional as F\n"
                          "\n"
                          "\n"
                          "class Net(nn.Module):\n"
                          "    def __init__(self):\n"
                          "        super().__init__()\n"
                          "        self.fc = nn.Linear(64, 256)\n"
                          "        self.out = nn.Linear(256, 10)\n"
                          "\n"
                          "    def forward(self, x):\n"
                          "        hidden = self.fc(x)\n"
                          "        return self.out(F.relu(hidden))\n"
                          "\n"
                          "\n"
                          "def model():\n"
                          "    return Net()\n"
                          "\n"
                          "\n"
                          "def batch(n):\n"
                          "    return torch.randn(n, 64), torch.randint(0, 10, (n,))\n"
                          "\n"
                          "\n"
                          "def loss(output, target):\n"
                          "    return F.cross_entropy(output, target)\n"
                          "\n"
                          "\n"
                          "defaults = dict(batch=32, steps=2)\n";

static const char PEAK[] =
    ", event 352 of 963, backward of step 0, AddmmBackward0 in fc: 194.0 KiB in 14 blocks\n"
    "\n"
    "   64.0 KiB  parameter  f32[256, 64]  fc.weight\n"
    "               attribute `weight` of `fc`\n"
    "               item of `param_groups[0]['params'][0]` in `SGD`\n"
    "   64.0 KiB  temporary  f32[256, 64]  allocated by AddmmBackward0 in fc, line 13\n"
    "   32.0 KiB  temporary  f32[32, 256]  allocated by ReluBackward0, line 14\n"
    "   10.0 KiB  parameter  f32[10, 256]  out.weight\n"
    "               attribute `weight` of `out`\n"
    "               item of `param_groups[0]['params'][2]` in `SGD`\n"
    "   10.0 KiB  gradient   f32[10, 256]  grad of out.weight\n"
    "               `.grad` of `out.weight`\n"
    "  and 9 smaller ones; --top shows more\n";

static const char SETUP[] = ", event 40 of 963, setup: 75.5 KiB in 4 blocks\n"
                            "\n"
                            "   64.0 KiB  parameter  f32[256, 64]  fc.weight\n"
                            "               attribute `weight` of `fc`\n"
                            "               local `p` of `training loop`\n"
                            "  and 3 smaller ones; --top shows more\n";

static const char *trace;

static int setup(void **state)
{
    (void)state;
    trace = program_record(program_file("net.py", NET), "net.db", NULL, NULL);
    return 0;
}

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

/* `p` is a success and printed the name of the trace and this. */
static void expect(struct program p, const char *text)
{
    assert_int_equal(p.status, 0);
    assert_memory_equal(p.out, trace, strlen(trace));
    assert_string_equal(p.out + strlen(trace), text);
    program_release(&p);
}

static void holders_of_the_largest_blocks_at_the_peak(void **state)
{
    (void)state;
    expect(program_run("why", trace, "--top", "5", NULL), PEAK);
}

static void holders_at_another_event(void **state)
{
    (void)state;
    expect(program_run("why", trace, "--at", "40", "--top", "1", NULL), SETUP);
}

static void nothing_is_alive_before_the_first_allocation(void **state)
{
    (void)state;
    expect(program_run("why", trace, "--at", "1", NULL),
           ", event 1 of 963, setup: 0 B in 0 blocks\n\n");
}

static void the_json_has_the_same_blocks_as_the_report(void **state)
{
    static const char *const PATHS[] = {"$.largest[0].block", "$.largest[1].block",
                                        "$.largest[2].block", "$.largest[3].block"};
    struct program why = program_run("why", trace, "--json", NULL);
    struct program report = program_run("report", trace, "--json", NULL);

    (void)state;
    assert_int_equal(json_int(why.out, "$.event"), json_int(report.out, "$.peak.event"));
    assert_int_equal(json_int(why.out, "$.allocated"), json_int(report.out, "$.peak.allocated"));
    for (size_t i = 0; i < sizeof(PATHS) / sizeof(PATHS[0]); i++)
        assert_int_equal(json_int(why.out, PATHS[i]), json_int(report.out, PATHS[i]));
    program_release(&why);
    program_release(&report);
}

static void an_event_that_is_not_there_is_refused(void **state)
{
    struct program p = program_run("why", trace, "--at", "964", NULL);

    (void)state;
    assert_int_equal(p.status, 2);
    assert_string_equal(p.err,
                        "vramscope: why: --at cannot be `964`; give a number from 1 to 963\n");
    program_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holders_of_the_largest_blocks_at_the_peak),
        cmocka_unit_test(holders_at_another_event),
        cmocka_unit_test(nothing_is_alive_before_the_first_allocation),
        cmocka_unit_test(the_json_has_the_same_blocks_as_the_report),
        cmocka_unit_test(an_event_that_is_not_there_is_refused),
    };

    return cmocka_run_group_tests_name("e2e/why", tests, setup, cleanup);
}

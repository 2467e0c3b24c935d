/*
 * tests/e2e/test_warnings.c - the warnings of a run are shown by record, report, whatif and tui; and the sweep explains
 * why a peak rises.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tests/e2e/program.h"

#define UNEVEN                                                                                     \
    "batch=10 does not divide into 4 equal parts: each step trains on 8 samples, not on 10"

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no \"%s\" in:\n%s", part, text);
}

static void a_warning_is_shown_by_every_command(void **state)
{
    struct program p = program_run("record", "sample_nets/lenet.py", "-fo", program_path("w.db"),
                                   "--device", "meta", "--batch", "10", "--accumulate", "4", NULL);

    (void)state;
    assert_int_equal(p.status, 0);
    has(p.err, "vramscope: warning: " UNEVEN "; give a batch size that `accumulate` divides\n");
    program_release(&p);
    p = program_run("report", program_path("w.db"), NULL);
    has(p.out, "\nWarnings\n  " UNEVEN);
    program_release(&p);
    p = program_run("report", program_path("w.db"), "--json", NULL);
    has(p.out, "\"kind\": \"uneven_parts\"");
    program_release(&p);
    p = program_run("tui", program_path("w.db"), "--dump", "--size", "160x48", "--keys", "gk",
                    NULL);
    has(p.out, "warning: " UNEVEN);
    program_release(&p);
    p = program_run("whatif", program_path("w.db"), "--set", "accumulate=3", NULL);
    has(p.out, "\nWarnings\n  batch=10 does not divide into 3 equal parts");
    program_release(&p);
    p = program_run("whatif", program_path("w.db"), "--set", "accumulate=5", "--json", NULL);
    has(p.out, "\"warnings\": []");
    program_release(&p);
}

/* Where a toggle raises the peak by a tenth or more, the table says why, and so does its JSON. */
static void the_sweep_explains_why_a_peak_rises(void **state)
{
    const char *trace = program_record("sample_nets/lenet.py", "each.db", NULL, NULL);
    struct program p = program_run("whatif", trace, "--each", NULL);
    const char *row = strstr(p.out, "  grad=eval ");

    (void)state;
    assert_non_null(row);
    has(strchr(row, '\n'), "    why: ");
    has(row, " of the peak, most of it `saved`, are from before step 1 and still alive");
    program_release(&p);
    p = program_run("whatif", trace, "--each", "--json", NULL);
    has(p.out, "are from before step 1 and still alive, kept by local `l` of `training loop`");
    program_release(&p);
}

/* A warning may be why a run fails: it is printed although there is no trace. */
static void a_run_that_fails_shows_its_warnings(void **state)
{
    const char *net =
        program_file("net.py", "import torch\nimport torch.nn as nn\n"
                               "from torch.utils.checkpoint import checkpoint\n"
                               "class Net(nn.Module):\n"
                               "    def __init__(self):\n"
                               "        super().__init__()\n"
                               "        self.fc = nn.Linear(4, 4)\n"
                               "    def forward(self, x):\n"
                               "        return checkpoint(self.fc, x, use_reentrant=True)\n"
                               "def model():\n"
                               "    return Net()\n"
                               "def batch(n):\n"
                               "    return torch.randn(n, 4), torch.randint(0, 4, (n,))\n");
    struct program p =
        program_run("record", net, "-fo", program_path("x.db"), "--device", "meta", NULL);

    (void)state;
    assert_int_equal(p.status, 1);
    has(p.err, "None of the inputs have requires_grad=True. Gradients will be None");
    program_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_warning_is_shown_by_every_command),
        cmocka_unit_test(the_sweep_explains_why_a_peak_rises),
        cmocka_unit_test(a_run_that_fails_shows_its_warnings),
    };

    return cmocka_run_group_tests_name("e2e/warnings", tests, NULL, cleanup);
}

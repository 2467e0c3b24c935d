/*
 * tests/tui/test_steps.c - the view of steps, laid over each other: those that differ from the others are lit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/e2e/program.h"
#include "tests/tui/session.h"

/* Step 7 of 12 has three times the activations of the others. */
static const char NET[] = "import torch\n"
                          "import torch.nn as nn\n"
                          "class Net(nn.Module):\n"
                          "    def __init__(self):\n"
                          "        super().__init__()\n"
                          "        self.fc = nn.Linear(256, 256)\n"
                          "        self.step = 0\n"
                          "    def forward(self, x):\n"
                          "        if self.step == 7:\n"
                          "            x = torch.cat([x, x, x])\n"
                          "        self.step += 1\n"
                          "        return self.fc(x).sum()\n"
                          "def model():\n"
                          "    return Net()\n"
                          "def batch(n):\n"
                          "    return torch.randn(n, 256), torch.zeros(1)\n"
                          "def loss(output, target):\n"
                          "    return output\n"
                          "defaults = dict(batch=4096)\n";

static void steps_that_differ_are_lit(void **state)
{
    static const int SIZES[][2] = {{80, 24}, {120, 40}, {200, 50}};
    const char *path = program_record(program_file("varies.py", NET), "varies.db", "--steps", "12");

    (void)state;
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
        struct tui_app app;
        char *screen;

        session_open(&app, path, SIZES[i][0], SIZES[i][1]);
        session_type(&app, "gSMgg");
        session_background(&app, 0, 0);
        session_expect(&app, ", 1 differs: \xE2\x97\x8B, chosen \xE2\x97\x8F, others \xE2\x96\x91");
        /* the row of the step, and its curve, in the colour of what is wrong */
        session_expect(&app, "\n\xE2\x97\x8B     7 ");
        screen = session_screen(&app, true);
        assert_non_null(strstr(screen, "bad*"));
        assert_non_null(strstr(screen, "\xE2\x97\x8B\xE2\x97\x8B\xE2\x97\x8B"));
        free(screen);
        /* the table alone has no curves to explain */
        session_type(&app, "t");
        session_expect(&app, ", 1 differs \xE2\x94\x80");
        tui_app_release(&app);
    }
}

/* What a step keeps is known once the next one has ended; a net without arithmetic has no losses. */
static void a_step_that_keeps_nothing_says_so(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 80, 24);
    session_type(&app, "gSgg2j");
    session_background(&app, 0, 0);
    session_expect_not(&app, " loss");
    session_type(&app, "<space>");
    session_expect(&app, "\n this step keeps nothing; this is its end\n");
    session_type(&app, "G<space>");
    session_expect(&app, "what it keeps, the next one would show");
    /* the chart is not on the screen: it cannot be switched off */
    session_type(&app, "t");
    session_expect(&app, "the chart needs two steps and a higher pane: M");
    session_type(&app, "M");
    session_background(&app, 0, 0);
    session_expect(&app, "\xE2\x97\x8F\xE2\x97\x8F");
    session_type(&app, "t");
    session_expect_not(&app, "\xE2\x97\x8F\xE2\x97\x8F");
    tui_app_release(&app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_that_differ_are_lit),
        cmocka_unit_test(a_step_that_keeps_nothing_says_so),
    };
    int failed = cmocka_run_group_tests_name("steps", tests, NULL, NULL);

    program_cleanup();
    return failed;
}

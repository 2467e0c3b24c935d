/*
 * tests/tui/test_kept.c - the trace of `record --keep`: what-ifs compare whole runs, and the screen says what was kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/e2e/program.h"
#include "tests/tui/session.h"

/* ResNet-18, of whose four steps the last two were kept: its peak, 414.1 MiB, is in step 0; theirs is 413.1 MiB. */
static void kept_open(struct tui_app *app, int w, int h)
{
    static char path[200];

    if (!*path) {
        struct program p;

        snprintf(path, sizeof(path), "%s/kept.db", program_folder());
        p = program_run("record", "sample_nets/resnet18.py", "--device", "meta", "--steps", "4",
                        "--keep", "1", "-o", path, NULL);
        if (p.status != 0)
            fail_msg("%s", p.err);
        program_release(&p);
    }
    session_open(app, path, w, h);
}

/* As `vramscope whatif` does: a what-if has step 0. */
static void a_what_if_is_compared_with_the_whole_run(void **state)
{
    struct tui_app app;

    (void)state;
    kept_open(&app, 100, 60);
    session_type(&app, ":set checkpoint=blocks<enter>gwM");
    session_expect(&app, "\n of the whole run, not only what was kept:\n");
    session_expect(&app, "\n peak    414.1 MiB → 322.6 MiB  -91.5 MiB (-22.1 %)\n");
    session_expect(&app,
                   "\n before  step 0 backward, ConvolutionBackward0 of layer4.0.conv1, line 25\n");
    session_expect(&app, "arithmetic per sample x1.32");
    session_type(&app, "gd");
    session_expect(&app, "kept.db, what was kept\n");
    tui_app_release(&app);
}

/* Both figures are known without running the net as recorded: the trace has the peak of the whole run. */
static void effects_are_those_on_the_whole_run(void **state)
{
    struct tui_app app;

    (void)state;
    kept_open(&app, 100, 60);
    session_type(&app, "gwM");
    session_background(&app, 0, 0);
    session_expect(&app, "[ ] checkpoint         off             -91.5M ");
    session_type(&app, "gW");
    session_expect(&app, " inplace=on");
    session_expect(&app, "413M   -1.0M   -0.2 %");
    tui_app_release(&app);
}

static void the_screen_says_what_was_kept(void **state)
{
    struct tui_app app;

    (void)state;
    kept_open(&app, 100, 60);
    session_type(&app, ":goto step 0<enter>");
    session_expect(&app, "\n step 0 was not kept; the trace has steps 2 to 3\n");
    session_type(&app, ":goto step 9<enter>");
    session_expect(&app, "\n the last step is step 3\n");
    session_type(&app, "gkM");
    session_expect(&app, "\n What fills the peak; 10.8 % was allocated before what was kept\n");
    session_type(&app, ":1<enter>");
    session_expect(&app, " kept.db  at start ");
    tui_app_release(&app);
}

static int clean_up(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_what_if_is_compared_with_the_whole_run),
        cmocka_unit_test(effects_are_those_on_the_whole_run),
        cmocka_unit_test(the_screen_says_what_was_kept),
    };

    return cmocka_run_group_tests_name("kept", tests, NULL, clean_up);
}

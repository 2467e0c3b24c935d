/*
 * tests/tui/test_tmux.c - what a terminal shows is what `tui --dump` prints: tmux is the terminal, with several TERMs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "tests/e2e/program.h"
#include "tests/skip.h"
#include "tests/tui/session.h"
#include "tests/wait.h"

static const char *program(void)
{
    const char *path = getenv("VRAMSCOPE");

    return path ? path : "build/vramscope";
}

/*
 * Run tmux, server number `server`, in the shell; what it prints, heap memory. A server that ends cannot be followed
 * at once by one on the same socket.
 */
static char *tmux(size_t server, const char *fmt, ...) VS_PRINTF(2, 3);
static char *tmux(size_t server, const char *fmt, ...)
{
    struct vs_text line = {NULL, 0, 0};
    struct vs_text out = {NULL, 0, 0};
    char part[4096];
    size_t n;
    va_list ap;
    FILE *pipe;

    vs_text_addf(&line, "env -u TMUX tmux -S %s/tmux%zu -f /dev/null ", program_folder(), server);
    va_start(ap, fmt);
    vs_text_addfv(&line, fmt, ap);
    va_end(ap);
    vs_text_add(&line, " 2>&1");
    wait_begin("tmux to answer");
    pipe = popen(vs_text_get(&line), "r");
    assert_non_null(pipe);
    while ((n = fread(part, 1, sizeof(part), pipe)) > 0)
        vs_text_add_n(&out, part, n);
    pclose(pipe);
    wait_end();
    vs_text_release(&line);
    return vs_text_take(&out);
}

/* Past an escape sequence at `text`; *has_ground: cells after it have a colour behind them. */
static const char *sequence_skip(const char *text, bool *has_ground)
{
    const char *end = text + 2 + strcspn(text + 2, "m");

    for (const char *at = text + 2; at < end;) {
        char *next;
        long number = strtol(at, &next, 10);

        if (number == 0 || number == 49)
            *has_ground = false;
        else if (number == 48 || (number >= 40 && number < 48))
            *has_ground = true;
        if (number == 38 || number == 48) /* 5 and the number of a colour follow */
            next = next + strcspn(next + 1, ";m") + 1;
        if (number == 38 || number == 48)
            next = next + strcspn(next + 1, ";m") + 1;
        at = next < end ? next + 1 : end;
    }
    return *end ? end + 1 : end;
}

/*
 * What a terminal shows, with its colours as sequences, as the text of the dump: a full block is sent as a blank on
 * its colour.
 */
static bool is_shown(const char *screen, const char *wanted)
{
    static const char BLOCK[] = "\xe2\x96\x88";
    bool has_ground = false;

    while (*wanted) {
        if (screen[0] == '\033' && screen[1] == '[') {
            screen = sequence_skip(screen, &has_ground);
        } else if (*screen == *wanted) {
            screen++;
            wanted++;
        } else if (*screen == ' ' && has_ground && strncmp(wanted, BLOCK, 3) == 0) {
            screen++;
            wanted += 3;
        } else if (*screen == ' ' && *wanted == '\n') {
            screen++;
        } else {
            return false;
        }
    }
    return true;
}

/* Until the pane shows `wanted`, line by line without blanks at their ends. */
static void tmux_expect(size_t server, const char *what, const char *wanted)
{
    char *screen = NULL;

    struct wait w = wait_for(0, "the screen in tmux");

    do {
        free(screen);
        screen = tmux(server, "capture-pane -p -e -N -t t");
        if (is_shown(screen, wanted)) {
            free(screen);
            return;
        }
    } while (wait_some(&w));
    fail_msg("%s: the terminal shows\n%s\nand not\n%s", what, screen, wanted);
}

/* Without precomputed runs, as --dump: their effects would stand beside the toggles. */
static void a_terminal_shows_what_dump_prints(void **state)
{
    static const char *const TERMS[] = {"tmux-256color", "screen", "xterm-256color", "linux",
                                        "vt100"};
    static const char *const KEYS[] = {"", "gb", "gwjjjj ", "3s20i", "=gk", "++hh"};
    const char *trace = session_trace("variables", NULL);

    (void)state;
    if (system("command -v tmux >/dev/null 2>&1") != 0) {
        tests_skip("there is no tmux");
    }
    for (size_t i = 0; i < sizeof(TERMS) / sizeof(TERMS[0]); i++) {
        /* with no or eight colours letters tell the categories apart, as in a dump without a theme */
        bool has_letters = !strstr(TERMS[i], "256color");

        for (size_t k = 0; k < sizeof(KEYS) / sizeof(KEYS[0]); k++) {
            struct program p = program_run("tui", trace, "--dump", "--keys", KEYS[k],
                                           has_letters ? NULL : "--theme", "dark", NULL);
            size_t server = i * 100 + k;
            char what[64];

            if (p.status != 0)
                fail_msg("%s", p.err);
            free(tmux(server,
                      "new-session -d -s t -x 80 -y 24 'env TERM=%s LC_ALL=C.UTF-8 %s tui "
                      "--no-precompute %s'",
                      TERMS[i], program(), trace));
            free(tmux(server, "send-keys -t t -l '%s'", KEYS[k]));
            snprintf(what, sizeof(what), "TERM=%s, keys `%s`", TERMS[i], KEYS[k]);
            tmux_expect(server, what, p.out);
            free(tmux(server, "kill-server"));
            program_release(&p);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_terminal_shows_what_dump_prints)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    program_cleanup();
    return failed;
}

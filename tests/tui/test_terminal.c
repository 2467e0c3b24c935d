/*
 * tests/tui/test_terminal.c - the program on a terminal: a pseudo-terminal, and tmux where it is installed.
 */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include <cmocka.h>

#include "base/text.h"
#include "tests/e2e/program.h"
#include "tests/skip.h"
#include "tests/tui/session.h"
#include "tests/wait.h"

/* slave stays open here, so that the terminal outlives the program. out: all it has written */
struct tty {
    int master;
    int slave;
    pid_t pid;
    struct termios before;
    struct vs_text out;
};

static const char *program(void)
{
    const char *path = getenv("VRAMSCOPE");

    return path ? path : "build/vramscope";
}

static void tty_run(struct tty *tty, const char *term, const char *trace, const char *option)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};

    memset(tty, 0, sizeof(*tty));
    assert_int_equal(openpty(&tty->master, &tty->slave, NULL, NULL, &size), 0);
    tcgetattr(tty->slave, &tty->before);
    tty->pid = fork();
    assert_true(tty->pid >= 0);
    if (tty->pid == 0) {
        close(tty->master);
        login_tty(tty->slave);
        if (term)
            setenv("TERM", term, 1);
        else
            unsetenv("TERM");
        setenv("LC_ALL", "C.UTF-8", 1);
        setenv("XDG_CONFIG_HOME", program_folder(), 1);
        execl(program(), "vramscope", "tui", trace, option, (char *)NULL);
        _exit(127);
    }
}

static void tty_open(struct tty *tty, const char *term, const char *trace)
{
    tty_run(tty, term, trace, NULL);
}

/* Read what comes within `wait_ms`; false where nothing did. */
static bool tty_read(struct tty *tty, int wait_ms)
{
    struct pollfd fd = {.fd = tty->master, .events = POLLIN, .revents = 0};
    char part[4096];
    ssize_t n;

    if (poll(&fd, 1, wait_ms) <= 0)
        return false;
    n = read(tty->master, part, sizeof(part));
    if (n <= 0)
        return false;
    vs_text_add_n(&tty->out, part, (size_t)n);
    return true;
}

/* Until `text` has been written behind byte `from` of the output. */
static void tty_wait(struct tty *tty, size_t from, const char *text)
{
    struct wait w = wait_for(tty->pid, "`%s` on the terminal", text);

    while (tty->out.len <= from || !strstr(vs_text_get(&tty->out) + from, text)) {
        if (tty_read(tty, 50))
            continue;
        if (!wait_some(&w))
            print_message("the terminal got:\n%s\n", vs_text_get(&tty->out));
        wait_more(&w);
    }
}

/* Have everything drawn again, as only what has changed is sent, and wait for `text` in it. */
static void tty_redraw_wait(struct tty *tty, const char *text)
{
    size_t from = tty->out.len;

    assert_true(write(tty->master, "\f", 1) == 1);
    tty_wait(tty, from, text);
}

/* The program's wait status; everything it wrote is read, and the terminal closed. */
static int tty_close(struct tty *tty, struct termios *after)
{
    struct wait w = wait_for(0, "the program on the terminal to end");
    int status;
    pid_t done;

    /* read on meanwhile: the program may wait until the terminal can take more */
    while ((done = waitpid(tty->pid, &status, WNOHANG)) == 0)
        if (!tty_read(tty, 10))
            wait_more(&w);
    assert_int_equal(done, tty->pid);
    while (tty_read(tty, 0))
        continue;
    tcgetattr(tty->slave, after);
    close(tty->master);
    close(tty->slave);
    return status;
}

/* The last of two texts to be written is `last`. */
static void expect_last(const char *out, const char *last, const char *other)
{
    const char *a = NULL;
    const char *b = NULL;

    for (const char *at = out; (at = strstr(at, last)) != NULL; at++)
        a = at;
    for (const char *at = out; (at = strstr(at, other)) != NULL; at++)
        b = at;
    assert_non_null(a);
    assert_true(!b || a > b);
}

static void expect_restored(struct tty *tty, const struct termios *after)
{
    assert_int_equal(after->c_lflag, tty->before.c_lflag);
    assert_int_equal(after->c_iflag, tty->before.c_iflag);
    assert_int_equal(after->c_oflag, tty->before.c_oflag);
    assert_memory_equal(after->c_cc, tty->before.c_cc, sizeof(after->c_cc));
    /* the other screen is left, the cursor seen, the mouse given back */
    expect_last(vs_text_get(&tty->out), "\033[?1049l", "\033[?1049h");
    expect_last(vs_text_get(&tty->out), "\033[?25h", "\033[?25l");
    expect_last(vs_text_get(&tty->out), "\033[?1000l", "\033[?1000h");
}

static void the_terminal_is_restored_however_the_program_ends(void **state)
{
    static const int SIGNALS[] = {SIGTERM, SIGHUP,  SIGINT, SIGQUIT,
                                  SIGSEGV, SIGABRT, SIGBUS, SIGFPE};
    const char *trace = session_trace("variables", NULL);

    (void)state;
    for (size_t i = 0; i < sizeof(SIGNALS) / sizeof(SIGNALS[0]); i++) {
        struct termios after;
        struct tty tty;
        int status;

        tty_open(&tty, "xterm-256color", trace);
        tty_wait(&tty, 0, "help");
        kill(tty.pid, SIGNALS[i]);
        status = tty_close(&tty, &after);
        if (SIGNALS[i] == SIGTERM || SIGNALS[i] == SIGHUP || SIGNALS[i] == SIGINT ||
            SIGNALS[i] == SIGQUIT)
            assert_int_equal(WEXITSTATUS(status), 128 + SIGNALS[i]);
        else
            assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
        expect_restored(&tty, &after);
        vs_text_release(&tty.out);
    }
}

static void quitting_restores_the_terminal(void **state)
{
    static const char *const KEYS[] = {"Q", "q", "\003", ":q\r"};

    (void)state;
    for (size_t i = 0; i < sizeof(KEYS) / sizeof(KEYS[0]); i++) {
        struct termios after;
        struct tty tty;

        tty_open(&tty, "xterm-256color", session_trace("variables", NULL));
        tty_wait(&tty, 0, "help");
        assert_true(write(tty.master, KEYS[i], strlen(KEYS[i])) > 0);
        assert_int_equal(tty_close(&tty, &after), 0);
        expect_restored(&tty, &after);
        vs_text_release(&tty.out);
    }
}

/* T changes the theme; the next session begins with it. */
static void what_is_changed_is_remembered(void **state)
{
    struct termios after;
    struct tty tty;
    char path[200];
    char line[200];
    FILE *file;

    (void)state;
    snprintf(path, sizeof(path), "%s/vramscope/config", program_folder());
    for (int round = 0; round < 2; round++) {
        tty_open(&tty, "xterm-256color", session_trace("variables", NULL));
        tty_wait(&tty, 0, "help");
        assert_true(write(tty.master, "T", 1) == 1);
        tty_wait(&tty, 0, round ? "theme mono" : "theme light");
        assert_true(write(tty.master, "Q", 1) == 1);
        assert_int_equal(tty_close(&tty, &after), 0);
        vs_text_release(&tty.out);
        file = fopen(path, "r");
        assert_non_null(file);
        assert_non_null(fgets(line, sizeof(line), file));
        fclose(file);
        assert_string_equal(line, round ? "theme mono\n" : "theme light\n");
    }
    assert_int_equal(unlink(path), 0);
}

static void an_unusable_terminal_is_refused(void **state)
{
    static const struct {
        const char *term;
        const char *says;
    } CASES[] = {
        {"dumb", "cannot place its cursor"},
        {"no-such-terminal", "is not in this machine's terminfo"},
        {NULL, "TERM is not set"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct termios after;
        struct tty tty;

        tty_open(&tty, CASES[i].term, session_trace("variables", NULL));
        tty_wait(&tty, 0, CASES[i].says);
        tty_wait(&tty, 0, "--dump");
        assert_int_equal(WEXITSTATUS(tty_close(&tty, &after)), 1);
        assert_int_equal(after.c_lflag, tty.before.c_lflag);
        vs_text_release(&tty.out);
    }
}

static void without_a_terminal_tui_fails_with_a_message(void **state)
{
    struct program p = program_run("tui", session_trace("variables", NULL), NULL);

    (void)state;
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.err, "no terminal"));
    assert_string_equal(p.out, "");
    program_release(&p);
}

static void wait_for_recording(bool is_there)
{
    const char *path = program_path("later.db");
    const char *made = program_path("made.db");
    struct program p =
        program_run("record", "sample_nets/lenet.py", "--device", "meta", "-o", made, NULL);
    struct termios after;
    struct tty tty;

    program_release(&p);
    /* a file that somebody has made, and nobody has filled, is no recording either */
    if (is_there)
        (void)program_file("later.db", "");
    tty_run(&tty, "xterm-256color", path, "--follow");
    tty_wait(&tty, 0, "waiting for ");
    assert_int_equal(rename(made, path), 0);
    tty_wait(&tty, 0, "what-if");
    assert_true(write(tty.master, "Q", 1) == 1);
    assert_int_equal(WEXITSTATUS(tty_close(&tty, &after)), 0);
    vs_text_release(&tty.out);
}

static void a_recording_that_has_not_begun_is_waited_for(void **state)
{
    (void)state;
    wait_for_recording(false);
    wait_for_recording(true);
}

/* "@7" names a device, and the file is there. */
static void a_recording_that_is_there_is_not_waited_for(void **state)
{
    const char *path = program_path("there.db");
    struct program p =
        program_run("record", "sample_nets/lenet.py", "--device", "meta", "-o", path, NULL);
    char device[4096];
    struct termios after;
    struct tty tty;

    (void)state;
    program_release(&p);
    snprintf(device, sizeof(device), "%s@7", path);
    tty_run(&tty, "xterm-256color", device, "--follow");
    tty_wait(&tty, 0, "the trace has no device 7");
    assert_int_equal(WEXITSTATUS(tty_close(&tty, &after)), 1);
    assert_null(strstr(vs_text_get(&tty.out), "waiting for "));
    vs_text_release(&tty.out);
}

static void a_resize_is_followed(void **state)
{
    struct winsize small = {.ws_row = 5, .ws_col = 30};
    struct winsize large = {.ws_row = 40, .ws_col = 120};
    struct termios after;
    struct tty tty;
    size_t from;

    (void)state;
    tty_open(&tty, "xterm-256color", session_trace("variables", NULL));
    tty_wait(&tty, 0, "help");
    from = tty.out.len;
    ioctl(tty.master, TIOCSWINSZ, &small);
    kill(tty.pid, SIGWINCH);
    tty_wait(&tty, from, "needed: ");
    from = tty.out.len;
    ioctl(tty.master, TIOCSWINSZ, &large);
    kill(tty.pid, SIGWINCH);
    tty_wait(&tty, from, "why alive");
    assert_true(write(tty.master, "Q", 1) == 1);
    tty_close(&tty, &after);
    vs_text_release(&tty.out);
}

/* As a terminal with SGR mouse reports says it: button, column and row from 1, pressed and released. */
static void mouse_write(struct tty *tty, int button, int x, int y)
{
    char text[64];
    int n =
        snprintf(text, sizeof(text), "\033[<%d;%d;%dM\033[<%d;%d;%dm", button, x, y, button, x, y);

    assert_true(write(tty->master, text, (size_t)n) == n);
}

/* A what-if that takes minutes shows its progress; ^C ends it, and the session goes on. */
static void a_long_what_if_can_be_stopped(void **state)
{
    static const char LONG[] = "gw:set steps=1000000\r";
    struct termios after;
    struct tty tty;

    (void)state;
    setenv("VRAMSCOPE_WHATIF_EVENTS", "1000000000000", 1);
    tty_open(&tty, "xterm-256color", session_trace("variables", NULL));
    unsetenv("VRAMSCOPE_WHATIF_EVENTS");
    tty_wait(&tty, 0, "help");
    assert_true(write(tty.master, LONG, sizeof(LONG) - 1) == sizeof(LONG) - 1);
    tty_wait(&tty, 0, "<C-c> stops");
    assert_true(write(tty.master, "\003", 1) == 1);
    tty_wait(&tty, 0, "stopped");
    assert_true(write(tty.master, "Q", 1) == 1);
    assert_int_equal(tty_close(&tty, &after), 0);
    vs_text_release(&tty.out);
}

/* A trace without an index is read once completely, which takes minutes if it is long. */
static void reading_a_trace_without_an_index_shows_its_progress(void **state)
{
    const char *path = program_record("sample_nets/lenet.py", "long.db", "--steps", "100");
    struct termios after;
    struct tty tty;

    (void)state;
    assert_true(sql_int(path, "SELECT count(*) FROM derived") > 0);
    sql_run(path, "DELETE FROM derived");
    tty_open(&tty, "xterm-256color", path);
    tty_wait(&tty, 0, "reading the trace: ");
    tty_wait(&tty, 0, "<C-c> ends this");
    tty_wait(&tty, 0, "help");
    assert_true(write(tty.master, "Q", 1) == 1);
    assert_int_equal(tty_close(&tty, &after), 0);
    assert_true(sql_int(path, "SELECT count(*) FROM derived") > 0);
    vs_text_release(&tty.out);
}

/* Two categories may share one of eight colours; their letters differ. */
static void with_eight_colours_bars_are_letters(void **state)
{
    struct termios after;
    struct tty tty;

    (void)state;
    /* not "linux", for which ncurses opens the library of the console's mouse, which does not free all it allocates */
    tty_open(&tty, "screen", session_trace("lenet", NULL));
    tty_wait(&tty, 0, "SSSS");
    tty_wait(&tty, 0, "PPPP");
    assert_true(write(tty.master, "q", 1) == 1);
    assert_int_equal(tty_close(&tty, &after), 0);
    vs_text_release(&tty.out);
}

/* The marks of bracketed paste: between them neither Q nor ^C ends the program, and the prompt takes the text. */
static void pasted_text_does_not_quit(void **state)
{
    static const char PASTE[] = "\033[200~QqQ\003\r\033[201~:\033[200~goto 7\033[201~\r";
    struct termios after;
    struct tty tty;

    (void)state;
    tty_open(&tty, "xterm-256color", session_trace("variables", NULL));
    tty_wait(&tty, 0, "help");
    tty_wait(&tty, 0, "\033[?2004h");
    assert_true(write(tty.master, PASTE, sizeof(PASTE) - 1) == sizeof(PASTE) - 1);
    tty_redraw_wait(&tty, "7/");
    assert_true(write(tty.master, "Q", 1) == 1);
    assert_int_equal(tty_close(&tty, &after), 0);
    assert_non_null(strstr(vs_text_get(&tty.out), "\033[?2004l"));
    vs_text_release(&tty.out);
}

/* No key is typed after the end of the paste. */
static void what_is_pasted_is_shown_at_once(void **state)
{
    struct termios after;
    struct tty tty;

    (void)state;
    tty_open(&tty, "xterm-256color", session_trace("variables", NULL));
    tty_wait(&tty, 0, "help");
    tty_wait(&tty, 0, "\033[?2004h");
    assert_true(write(tty.master, "\033[200~Q\033[201~", 13) == 13);
    tty_wait(&tty, 0, "pasted text is not read as keys");
    assert_true(write(tty.master, ":\033[200~goto 7\033[201~", 19) == 19);
    tty_wait(&tty, 0, "goto 7");
    assert_true(write(tty.master, "\rQ", 2) == 2);
    assert_int_equal(tty_close(&tty, &after), 0);
    vs_text_release(&tty.out);
}

static void a_click_on_a_tab_opens_its_view_and_one_on_a_row_chooses_it(void **state)
{
    struct termios after;
    struct tty tty;
    int tab;

    (void)state;
    /* tabs take two columns each and end before the last one */
    for (tab = 0; tui_view_at((size_t)tab); tab++)
        continue;
    tab = 80 - 2 * tab - 1 + 2 * tui_view_find("blocks");
    tty_open(&tty, "xterm-256color", session_trace("variables", NULL));
    tty_wait(&tty, 0, "help");
    mouse_write(&tty, 0, tab + 1, 1);
    tty_wait(&tty, 0, "by size");
    /* the third row of the list, below header, title and the names of the columns */
    mouse_write(&tty, 0, 20, 2 + 1 + 1 + 3);
    tty_redraw_wait(&tty, "allocated by _convolution in conv2, line 21");
    mouse_write(&tty, 65, 20, 6);
    tty_redraw_wait(&tty, "allocated by relu in relu, line 24");
    assert_true(write(tty.master, "Q", 1) == 1);
    tty_close(&tty, &after);
    vs_text_release(&tty.out);
}

/* Its <esc>, read as a key, would leave the program. */
static void an_unknown_escape_sequence_is_ignored(void **state)
{
    static const char UNKNOWN[] = "\033[57;20;16~gb";
    struct termios after;
    struct tty tty;

    (void)state;
    tty_open(&tty, "xterm-256color", session_trace("variables", NULL));
    tty_wait(&tty, 0, "help");
    assert_true(write(tty.master, UNKNOWN, strlen(UNKNOWN)) == (ssize_t)strlen(UNKNOWN));
    tty_wait(&tty, 0, "by size");
    assert_true(write(tty.master, "Q", 1) == 1);
    assert_int_equal(tty_close(&tty, &after), 0);
    vs_text_release(&tty.out);
}

static void copying_writes_to_the_clipboard_and_to_a_file(void **state)
{
    struct termios after;
    struct tty tty;
    char path[200];
    char line[200];
    FILE *file;

    (void)state;
    setenv("XDG_RUNTIME_DIR", program_folder(), 1);
    tty_open(&tty, "xterm-256color", session_trace("variables", NULL));
    tty_wait(&tty, 0, "help");
    assert_true(write(tty.master, "gby", 3) == 3);
    tty_wait(&tty, 0, "\033]52;c;");
    tty_wait(&tty, 0, "written to");
    snprintf(path, sizeof(path), "%s/vramscope-copy-%u.txt", program_folder(), (unsigned)getuid());
    file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    fclose(file);
    /* the chosen row, in full */
    assert_string_equal(line,
                        "activation  17.0 MiB  x1, allocated by _convolution in conv1, line 19  "
                        "f32[16, 16, 128, 128]");
    assert_true(write(tty.master, "Q", 1) == 1);
    tty_close(&tty, &after);
    vs_text_release(&tty.out);
}

/* Until nothing has come for a while. A frame that comes later still only makes what is measured after it smaller. */
static void tty_drain(struct tty *tty)
{
    struct wait w = wait_for(tty->pid, "the terminal to be silent");

    while (tty_read(tty, 300))
        if (!wait_some(&w))
            wait_more(&w);
}

/*
 * Bytes that a key costs, as docs/internals/tui.md has them from a terminal's point of view: only what changed is sent.
 */
static void a_key_sends_only_what_changed(void **state)
{
    struct termios after;
    struct tty tty;
    struct wait w;
    size_t first;

    (void)state;
    tty_open(&tty, "xterm-256color", session_trace("variables", NULL));
    tty_wait(&tty, 0, "help");
    tty_drain(&tty);
    first = tty.out.len;
    assert_true(write(tty.master, "h", 1) == 1);
    w = wait_for(tty.pid, "an answer to the key h");
    while (!tty_read(&tty, 50))
        wait_more(&w);
    tty_drain(&tty);
    assert_true(tty.out.len - first < first / 2);
    assert_true(write(tty.master, "Q", 1) == 1);
    tty_close(&tty, &after);
    vs_text_release(&tty.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_terminal_is_restored_however_the_program_ends),
        cmocka_unit_test(quitting_restores_the_terminal),
        cmocka_unit_test(what_is_changed_is_remembered),
        cmocka_unit_test(an_unusable_terminal_is_refused),
        cmocka_unit_test(without_a_terminal_tui_fails_with_a_message),
        cmocka_unit_test(a_recording_that_has_not_begun_is_waited_for),
        cmocka_unit_test(a_recording_that_is_there_is_not_waited_for),
        cmocka_unit_test(a_resize_is_followed),
        cmocka_unit_test(a_long_what_if_can_be_stopped),
        cmocka_unit_test(reading_a_trace_without_an_index_shows_its_progress),
        cmocka_unit_test(with_eight_colours_bars_are_letters),
        cmocka_unit_test(pasted_text_does_not_quit),
        cmocka_unit_test(what_is_pasted_is_shown_at_once),
        cmocka_unit_test(a_click_on_a_tab_opens_its_view_and_one_on_a_row_chooses_it),
        cmocka_unit_test(an_unknown_escape_sequence_is_ignored),
        cmocka_unit_test(copying_writes_to_the_clipboard_and_to_a_file),
        cmocka_unit_test(a_key_sends_only_what_changed),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    program_cleanup();
    return failed;
}

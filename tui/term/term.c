/*
 * tui/term/term.c - see term.h.
 *
 * Must not know:  what is drawn, what a key does.
 * Invariant:      term.way_back and term.found are complete before the terminal is changed, so that a signal handler
 *                 can put it back with write() and tcsetattr() alone.
 *
 * The one global of tui/: a signal handler gets no context.
 */
#include "tui/term/term.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <curses.h>
#include <term.h>

#include "base/log.h"
#include "tui/term/decode.h"

#define WAY_BACK_MAX 256
#define ESC_DELAY_MS 25
/*
 * A key sequence may arrive in parts. A terminal that poll reports as readable this many times without giving a byte is
 * closed.
 */
#define EMPTY_READS_MAX 64

/* Bracketed paste of xterm and its relatives: the terminal marks the beginning and the end of what it pastes. */
#define PASTE_ON "\033[?2004h"
#define PASTE_OFF "\033[?2004l"

/* Inputs kept by tui_term_wants_stop and tui_term_peek until they are read; more stay in the terminal's queue. */
#define EARLY_MAX 256

/*
 * found     the terminal's settings before tui_term_open
 * way_back  bytes that undo what curses set: cursor, colours, keypad, mouse, screen
 * early     inputs that were read while something else was done, for tui_term_read
 * resized, stopped, resumed  set by signal handlers; ended: the number of the signal that ends the program, 0: none
 * can_paste, is_pasting  the terminal is one that marks pasted text; what is read now is pasted
 * wake      a pipe: signal handlers write to it, so that waiting for input ends
 */

static struct {
    bool is_open;
    bool has_mouse;
    bool is_utf8;
    bool can_paste;
    bool is_pasting;
    int in;
    int out;
    FILE *in_file;
    SCREEN *screen;
    struct termios found;
    char way_back[WAY_BACK_MAX];
    size_t way_back_len;
    struct tui_click last_click;
    struct tui_input early[EARLY_MAX];
    size_t early_count;
    volatile sig_atomic_t is_taken;
    volatile sig_atomic_t resized;
    volatile sig_atomic_t stopped;
    volatile sig_atomic_t resumed;
    volatile sig_atomic_t ended;
    int wake[2];
} term;

/* ---- the way back ---- */

/* Restores the terminal; uses only functions that a signal handler may call. */
static void put_back(void)
{
    size_t done = 0;

    if (!term.is_taken)
        return;
    term.is_taken = 0;
    while (done < term.way_back_len) {
        ssize_t n = write(term.out, term.way_back + done, term.way_back_len - done);

        if (n <= 0)
            break;
        done += (size_t)n;
    }
    tcsetattr(term.in, TCSANOW, &term.found);
}

static void on_crash(int number)
{
    static const char TEXT[] = "vramscope: crashed; the terminal was restored\n";
    ssize_t ignored;

    put_back();
    ignored = write(STDERR_FILENO, TEXT, sizeof(TEXT) - 1);
    (void)ignored;
    /* the handler was reset (SA_RESETHAND): the signal ends the program as it would have */
    raise(number);
}

static void wake(void)
{
    int kept = errno;
    ssize_t ignored = write(term.wake[1], "", 1);

    (void)ignored; /* if the pipe is full, the reader is woken anyway */
    errno = kept;
}

static void on_end(int number)
{
    /* a second signal ends the program at once */
    if (term.ended) {
        put_back();
        _exit(128 + number);
    }
    term.ended = number;
    wake();
}

static void on_note(int number)
{
    if (number == SIGWINCH)
        term.resized = 1;
    else if (number == SIGCONT)
        term.resumed = 1;
    else
        term.stopped = 1;
    wake();
}

static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    sigemptyset(&action.sa_mask);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(number, &action, NULL);
}

static void signals_take(void)
{
    static const int CRASHES[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    static const int ENDS[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU};
    static const int NOTES[] = {SIGWINCH, SIGCONT, SIGTSTP};

    if (!term.wake[1] && pipe2(term.wake, O_NONBLOCK | O_CLOEXEC) != 0)
        vs_die("no pipe for signals: %s", strerror(errno));
    for (size_t i = 0; i < sizeof(CRASHES) / sizeof(CRASHES[0]); i++)
        handle(CRASHES[i], on_crash, (int)SA_RESETHAND | SA_NODEFER);
    for (size_t i = 0; i < sizeof(ENDS) / sizeof(ENDS[0]); i++)
        handle(ENDS[i], on_end, 0);
    for (size_t i = 0; i < sizeof(NOTES) / sizeof(NOTES[0]); i++)
        handle(NOTES[i], on_note, 0);
}

static void signals_give_back(void)
{
    static const int ALL[] = {SIGSEGV,  SIGBUS,  SIGFPE,  SIGILL, SIGABRT, SIGTRAP,
                              SIGSYS,   SIGINT,  SIGTERM, SIGHUP, SIGQUIT, SIGPIPE,
                              SIGWINCH, SIGCONT, SIGTSTP, SIGXCPU};

    for (size_t i = 0; i < sizeof(ALL) / sizeof(ALL[0]); i++)
        handle(ALL[i], SIG_DFL, 0);
}

/* A capability's string without the padding that only tputs understands ("$<5>"). */
static void way_back_add(const char *capability)
{
    const char *text = tigetstr(capability);

    if (!text || text == (const char *)-1)
        return;
    while (*text && term.way_back_len < WAY_BACK_MAX) {
        const char *end = strncmp(text, "$<", 2) == 0 ? strchr(text, '>') : NULL;

        if (end)
            text = end + 1;
        else
            term.way_back[term.way_back_len++] = *text++;
    }
}

static void way_back_fill(void)
{
    /* what xterm and its relatives understand as "no mouse, no marks around pasted text"; others skip it */
    static const char NO_MOUSE[] = "\033[?1000l\033[?1002l\033[?1006l" PASTE_OFF;
    const char *mouse = tigetstr("kmous");

    term.way_back_len = 0;
    term.can_paste = mouse && mouse != (const char *)-1;
    if (term.can_paste) {
        memcpy(term.way_back, NO_MOUSE, sizeof(NO_MOUSE) - 1);
        term.way_back_len = sizeof(NO_MOUSE) - 1;
    }
    way_back_add("sgr0");
    way_back_add("op");
    way_back_add("rmkx");
    way_back_add("cnorm");
    way_back_add("rmcup");
    if (!tigetstr("rmcup"))
        way_back_add("el"); /* the screen is kept; the shell's prompt appears in its last row */
}

/* ---- taking and giving back ---- */

static enum vs_status refuse(struct vs_error *err, const char *why)
{
    return vs_fail(
        err, VS_E_UNSUPPORTED,
        "tui: %s.\nWithout one, `vramscope report TRACE` prints the report, and `vramscope "
        "tui TRACE --dump --size 80x24` any screen as text",
        why);
}

/* The files to talk through; stdin may be a pipe. */
static enum vs_status files_find(struct vs_error *err)
{
    if (!isatty(STDOUT_FILENO))
        return refuse(err, "the output is no terminal");
    term.out = STDOUT_FILENO;
    term.in = STDIN_FILENO;
    term.in_file = stdin;
    if (!isatty(STDIN_FILENO)) {
        term.in_file = fopen("/dev/tty", "r");
        if (!term.in_file)
            return refuse(err, "keys cannot be read: the input is no terminal, and there is no "
                               "/dev/tty");
        term.in = fileno(term.in_file);
    }
    return VS_OK;
}

static void files_leave(void)
{
    if (term.in_file && term.in_file != stdin)
        fclose(term.in_file);
    term.in_file = NULL;
}

static void paste_mode(void)
{
    term.is_pasting = false;
    if (term.can_paste)
        tui_term_write(PASTE_ON, sizeof(PASTE_ON) - 1);
}

static void modes_set(void)
{
    raw();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    define_key("\033[200~", TUI_CODE_PASTE_BEGIN);
    define_key("\033[201~", TUI_CODE_PASTE_END);
    nodelay(stdscr, TRUE);
    leaveok(stdscr, FALSE);
    curs_set(0);
    if (has_colors() && start_color() == OK)
        use_default_colors();
}

enum vs_status tui_term_open(bool with_mouse, struct vs_error *err)
{
    const char *name = getenv("TERM");
    char why[256];
    int unused;

    VS_ASSERT(!term.is_open);
    if (files_find(err))
        return err->status;
    setlocale(LC_ALL, "");
    term.is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    if (!name || !*name || setupterm(name, term.out, &unused) == ERR) {
        snprintf(why, sizeof(why),
                 name && *name
                     ? "TERM=%s is not in this machine's terminfo; TERM=xterm-256color is "
                       "understood by most terminals"
                     : "TERM is not set, so the features of the terminal are not known; "
                       "TERM=xterm-256color is usually right%s",
                 name && *name ? name : "");
        files_leave();
        return refuse(err, why);
    }
    if (!tigetstr("cup") || tigetstr("cup") == (char *)-1) {
        snprintf(why, sizeof(why), "a terminal of type `%s` cannot place its cursor", name);
        del_curterm(cur_term);
        files_leave();
        return refuse(err, why);
    }
    tcgetattr(term.in, &term.found);
    way_back_fill();
    del_curterm(cur_term); /* newterm loads the description of the terminal itself */
    term.is_taken = 1;
    term.screen = newterm(NULL, stdout, term.in_file);
    if (!term.screen) {
        put_back();
        files_leave();
        return refuse(err, "the terminal cannot be set up");
    }
    term.is_open = true;
    set_escdelay(ESC_DELAY_MS);
    modes_set();
    signals_take();
    vs_die_hook_set(put_back);
    tui_term_mouse(with_mouse);
    paste_mode();
    return VS_OK;
}

void tui_term_close(void)
{
    if (!term.is_open)
        return;
    tui_term_mouse(false);
    endwin();
    vs_die_hook_set(NULL);
    put_back();
    signals_give_back();
    delscreen(term.screen);
    files_leave();
    term.is_open = false;
}

bool tui_term_is_utf8(void)
{
    return term.is_utf8;
}

int tui_term_colours(void)
{
    return has_colors() ? COLORS : 0;
}

void tui_term_size(int *w, int *h)
{
    getmaxyx(stdscr, *h, *w);
}

void tui_term_mouse(bool is_on)
{
    /* asked for clicks, curses would make one of a press and a release, and the press would not come */
    mousemask(is_on ? BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED : 0, NULL);
    mouseinterval(0);
    term.has_mouse = is_on;
}

/* Take over the terminal again, with a blank screen; the next drawing must be complete. */
static void screen_again(void)
{
    term.is_taken = 1;
    reset_prog_mode();
    erase();
    clearok(stdscr, TRUE);
    refresh();
    tui_term_mouse(term.has_mouse);
    paste_mode();
}

void tui_term_suspend(void)
{
    bool mouse = term.has_mouse;

    term.stopped = 0;
    tui_term_mouse(false);
    tui_term_write(PASTE_OFF, term.can_paste ? sizeof(PASTE_OFF) - 1 : 0);
    endwin();
    handle(SIGTSTP, SIG_DFL, 0);
    kill(0, SIGTSTP);
    /* continues here after SIGCONT */
    handle(SIGTSTP, on_note, 0);
    term.has_mouse = mouse;
    term.resumed = 0;
    term.resized = 1;
    screen_again();
}

int tui_term_run(const char *command)
{
    bool mouse = term.has_mouse;
    int status;

    tui_term_mouse(false);
    tui_term_write(PASTE_OFF, term.can_paste ? sizeof(PASTE_OFF) - 1 : 0);
    endwin();
    signals_give_back();
    status = system(command);
    signals_take();
    term.has_mouse = mouse;
    term.resized = 1;
    screen_again();
    return status;
}

void tui_term_write(const char *bytes, size_t len)
{
    while (len) {
        ssize_t n = write(term.out, bytes, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        bytes += n;
        len -= (size_t)n;
    }
}

/* ---- input ---- */

static struct tui_input plain(uint32_t key)
{
    return (struct tui_input){.key = key};
}

/* What signals have asked for; TUI_KEY_TICK: nothing. */
static struct tui_input signal_input(void)
{
    struct winsize size;

    if (term.ended)
        return plain(TUI_KEY_END_OF_INPUT);
    if (term.stopped)
        tui_term_suspend();
    if (term.resumed) {
        /* stopped by SIGSTOP, which cannot be handled: the shell has changed the terminal meanwhile */
        term.resumed = 0;
        term.resized = 1;
        screen_again();
    }
    if (!term.resized)
        return plain(TUI_KEY_TICK);
    term.resized = 0;
    if (ioctl(term.out, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0)
        resizeterm(size.ws_row, size.ws_col);
    return plain(TUI_KEY_RESIZE);
}

/*
 * poll, woken by every signal, whichever thread takes it and whenever it comes: the handler writes to a pipe that is
 * waited for, too. Negative where there may be something to look at.
 */
static int wait_for_input(struct pollfd *in, int wait_ms)
{
    struct pollfd fds[2] = {*in, {.fd = term.wake[0], .events = POLLIN, .revents = 0}};
    char drained[64];
    int got = poll(fds, 2, wait_ms);

    *in = fds[0];
    if (got <= 0 || !fds[1].revents)
        return got;
    while (read(term.wake[0], drained, sizeof(drained)) > 0)
        continue;
    return -1;
}

static struct tui_input input_read(int wait_ms)
{
    for (int empty = 0; empty < EMPTY_READS_MAX;) {
        struct pollfd in = {.fd = term.in, .events = POLLIN, .revents = 0};
        struct tui_input input = signal_input();
        wint_t code = 0;
        int got;

        if (input.key != TUI_KEY_TICK)
            return input;
        got = get_wch(&code);
        if (got != ERR) {
            input = tui_decode(got, code, &term.last_click);
            input.is_pasted = term.is_pasting;
            if (input.key != TUI_KEY_PASTE_BEGIN && input.key != TUI_KEY_PASTE_END)
                return input;
            term.is_pasting = input.key == TUI_KEY_PASTE_BEGIN;
            continue;
        }
        got = wait_for_input(&in, wait_ms);
        if (got == 0)
            return plain(TUI_KEY_TICK);
        /* readable and nothing to read: it was hung up */
        if (got > 0 && (in.revents & (POLLHUP | POLLERR | POLLNVAL)))
            break;
        empty += got > 0;
    }
    return plain(TUI_KEY_END_OF_INPUT);
}

struct tui_input tui_term_read(int wait_ms)
{
    struct tui_input first = term.early[0];

    if (!term.early_count)
        return input_read(wait_ms);
    memmove(term.early, term.early + 1, --term.early_count * sizeof(first));
    return first;
}

bool tui_term_wants_stop(void)
{
    while (term.early_count < EARLY_MAX) {
        struct tui_input input = input_read(0);

        if (input.key == TUI_KEY_TICK)
            return false;
        if (input.key == TUI_CTRL('C') && !input.is_pasted) {
            term.early_count = 0;
            return true;
        }
        term.early[term.early_count++] = input;
        if (input.key == TUI_KEY_END_OF_INPUT)
            return true;
    }
    return false;
}

bool tui_term_peek(struct tui_input *out)
{
    if (!term.early_count && tui_term_is_pending()) {
        struct tui_input input = input_read(0);

        if (input.key != TUI_KEY_TICK)
            term.early[term.early_count++] = input;
    }
    *out = term.early[0];
    return term.early_count > 0;
}

bool tui_term_is_pending(void)
{
    struct pollfd in = {.fd = term.in, .events = POLLIN, .revents = 0};

    return term.early_count || term.ended || term.resized || term.stopped || term.resumed ||
           poll(&in, 1, 0) > 0;
}

int tui_term_signal(void)
{
    return term.ended;
}

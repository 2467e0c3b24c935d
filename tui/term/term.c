/*
 * tui/term/term.c - see term.h.
 *
 * Must not know:  what is drawn, what a key does.
 * Invariant:      term.way_back and term.found are complete before the terminal is changed, so that a signal handler can put it
 *                 back with write() and tcsetattr() alone.
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
#include <time.h>
#include <unistd.h>

#include <curses.h>
#include <term.h>

#include "base/log.h"

#define WAY_BACK_MAX 256
#define ESC_DELAY_MS 25
#define DOUBLE_CLICK_MS 400
/* A sequence may come in parts; a terminal that is readable and gives nothing so often is gone. */
#define EMPTY_READS_MAX 64

/*
 * found       settings of the terminal as they were
 * way_back    bytes that undo what curses set: cursor, colours, keypad, mouse, screen
 * click_…     where and when the last click was
 * resized, stopped, resumed, ended   what signals asked for; `ended` is the signal's number
 */
/* Inputs that can wait while something is done; more stay in the terminal's own queue. */
#define EARLY_MAX 256

static struct {
    bool is_open;
    bool has_mouse;
    bool is_utf8;
    int in;
    int out;
    FILE *in_file;
    SCREEN *screen;
    struct termios found;
    char way_back[WAY_BACK_MAX];
    size_t way_back_len;
    int click_x;
    int click_y;
    int64_t click_ms;
    struct tui_input early[EARLY_MAX]; /* read while something else was done, for tui_term_read */
    size_t early_count;
    volatile sig_atomic_t is_taken;
    volatile sig_atomic_t resized;
    volatile sig_atomic_t stopped;
    volatile sig_atomic_t resumed;
    volatile sig_atomic_t ended;
    int wake[2]; /* a pipe from the signal handlers to who waits for input */
} term;

/* ---- the way back ---- */

/* Only what a signal handler may call. */
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

    (void)ignored; /* a full pipe wakes as well */
    errno = kept;
}

static void on_end(int number)
{
    /* a second one does not wait for whatever is going on */
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
    /* what xterm and its relatives understand as "no mouse"; others skip it */
    static const char NO_MOUSE[] = "\033[?1000l\033[?1002l\033[?1006l";
    const char *mouse = tigetstr("kmous");

    term.way_back_len = 0;
    if (mouse && mouse != (const char *)-1) {
        memcpy(term.way_back, NO_MOUSE, sizeof(NO_MOUSE) - 1);
        term.way_back_len = sizeof(NO_MOUSE) - 1;
    }
    way_back_add("sgr0");
    way_back_add("op");
    way_back_add("rmkx");
    way_back_add("cnorm");
    way_back_add("rmcup");
    if (!tigetstr("rmcup"))
        way_back_add("el"); /* the screen stays, and the shell goes on in its last row */
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

static void modes_set(void)
{
    raw();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
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
    del_curterm(cur_term); /* newterm reads its own */
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

/* Take the terminal again, with a blank screen: whoever draws draws everything. */
static void screen_again(void)
{
    term.is_taken = 1;
    reset_prog_mode();
    erase();
    clearok(stdscr, TRUE);
    refresh();
    tui_term_mouse(term.has_mouse);
}

void tui_term_suspend(void)
{
    bool mouse = term.has_mouse;

    term.stopped = 0;
    tui_term_mouse(false);
    endwin();
    handle(SIGTSTP, SIG_DFL, 0);
    kill(0, SIGTSTP);
    /* here again after SIGCONT */
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

/* A click soon after one on the same cell. */
static bool is_second_click(int x, int y)
{
    struct timespec now;
    int64_t ms;
    bool is_second;

    clock_gettime(CLOCK_MONOTONIC, &now);
    ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    is_second = x == term.click_x && y == term.click_y && ms - term.click_ms < DOUBLE_CLICK_MS;
    term.click_x = is_second ? -1 : x;
    term.click_y = y;
    term.click_ms = ms;
    return is_second;
}

static struct tui_input mouse_input(void)
{
    struct tui_input input = plain(TUI_KEY_MOUSE);
    MEVENT event;

    if (getmouse(&event) != OK)
        return plain(TUI_KEY_TICK);
    input.x = event.x;
    input.y = event.y;
    if (event.bstate & BUTTON4_PRESSED)
        input.mouse = TUI_MOUSE_WHEEL_UP;
    else if (event.bstate & BUTTON5_PRESSED)
        input.mouse = TUI_MOUSE_WHEEL_DOWN;
    else
        input.mouse = is_second_click(event.x, event.y) ? TUI_MOUSE_DOUBLE : TUI_MOUSE_CLICK;
    return input;
}

static uint32_t special_of(wint_t code)
{
    static const struct {
        wint_t code;
        uint32_t key;
    } TABLE[] = {
        {KEY_LEFT, TUI_KEY_LEFT},  {KEY_RIGHT, TUI_KEY_RIGHT},  {KEY_UP, TUI_KEY_UP},
        {KEY_DOWN, TUI_KEY_DOWN},  {KEY_HOME, TUI_KEY_HOME},    {KEY_END, TUI_KEY_END},
        {KEY_PPAGE, TUI_KEY_PGUP}, {KEY_NPAGE, TUI_KEY_PGDN},   {KEY_BACKSPACE, TUI_KEY_BACKSPACE},
        {KEY_DC, TUI_KEY_DELETE},  {KEY_BTAB, TUI_KEY_BACKTAB}, {KEY_F(1), TUI_KEY_F1},
        {KEY_F(2), TUI_KEY_F2},    {KEY_ENTER, TUI_KEY_ENTER},  {KEY_RESIZE, TUI_KEY_RESIZE},
    };

    for (size_t i = 0; i < sizeof(TABLE) / sizeof(TABLE[0]); i++)
        if (TABLE[i].code == code)
            return TABLE[i].key;
    return TUI_KEY_TICK;
}

/*
 * After <esc>: what a terminal sends for a key or a report that its terminfo does not tell, `[`, parameters and a last letter, all at once, is
 * passed over: read as keys, its <esc> would leave the view. What a hand types comes one by one. False: it was the key.
 */
static bool sequence_pass(void)
{
    wint_t code = 0;
    wint_t next = 0;

    if (get_wch(&code) != OK)
        return false;
    if (code != '[' || get_wch(&next) != OK) {
        unget_wch((wchar_t)code);
        return false;
    }
    while ((next < 0x40 || next > 0x7E) && get_wch(&next) == OK)
        continue;
    return true;
}

static struct tui_input key_input(int got, wint_t code)
{
    if (got == KEY_CODE_YES && code == KEY_MOUSE)
        return mouse_input();
    if (got == KEY_CODE_YES)
        return plain(special_of(code));
    if (code == '\r')
        return plain(TUI_KEY_ENTER);
    if (code == 0x7F)
        return plain(TUI_KEY_BACKSPACE);
    if (code == TUI_KEY_ESC && sequence_pass())
        return plain(TUI_KEY_TICK);
    return plain((uint32_t)code);
}

/*
 * poll, woken by every signal, whichever thread takes it and whenever it comes: the handler writes to a pipe that is waited for, too.
 * Negative where there may be something to look at.
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
        if (got != ERR)
            return key_input(got, code);
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
        if (input.key == TUI_CTRL('C')) {
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

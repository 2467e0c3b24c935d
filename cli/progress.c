/*
 * cli/progress.c - see progress.h.
 *
 * Must not know:  what is being run.
 * Invariant:      a bar never wraps: it is cut to the width of the terminal.
 */
#include "cli/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/text.h"

#define BAR_WIDTH 24
#define COLUMNS_DEFAULT 80
#define REDRAW_NS UINT64_C(50000000)
/* Without a terminal, longer runs print a line at once, the next after two seconds, then after three, and so on. */
#define STEPS_ALL_SAID 20
#define SAY_NS UINT64_C(1000000000)
/* What is tried is said so often there. */
#define SAY_TRIED_NS UINT64_C(30000000000)

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void cli_progress_init(struct cli_progress *progress, FILE *out)
{
    const char *term = getenv("TERM");
    struct winsize size;

    memset(progress, 0, sizeof(*progress));
    progress->out = out;
    progress->is_terminal = isatty(fileno(out)) && term && strcmp(term, "dumb") != 0;
    progress->columns = COLUMNS_DEFAULT;
    if (progress->is_terminal && ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col)
        progress->columns = size.ws_col;
    progress->step_said = -1;
    progress->began_ns = now_ns();
}

static void add_state(struct vs_text *text, const struct cli_progress_state *state,
                      const char *phase)
{
    char events[VS_BYTES_TEXT_MAX];

    if (state->step < 0)
        vs_text_add(text, "setup");
    else
        vs_text_addf(text, "step %" PRId64 "/%" PRId64, state->step + 1, state->steps);
    if (phase && state->step >= 0)
        vs_text_addf(text, " %s", phase);
    if (!isnan(state->loss))
        vs_text_addf(text, ", loss %.5g", state->loss);
    vs_text_addf(text, ", %s events", vs_bytes_exact_text(state->events, events));
}

/* Whether there is a terminal, and the interval since the last drawing has passed. */
static bool is_due(const struct cli_progress *progress)
{
    return progress->is_terminal &&
           (!progress->is_drawn || now_ns() - progress->drawn_ns >= REDRAW_NS);
}

static void line_draw(struct cli_progress *progress, const struct vs_text *text)
{
    fprintf(progress->out, "\r\033[K%.*s", progress->columns - 1, vs_text_get(text));
    fflush(progress->out);
    progress->is_drawn = true;
    progress->drawn_ns = now_ns();
}

/* Without a terminal: whether nothing has been said for long. */
static bool is_long(const struct cli_progress *progress)
{
    const uint64_t since = progress->drawn_ns ? progress->drawn_ns : progress->began_ns;

    return !progress->is_terminal && now_ns() - since >= SAY_TRIED_NS;
}

static void line_print(struct cli_progress *progress, const struct vs_text *text)
{
    fprintf(progress->out, "%s\n", vs_text_get(text));
    fflush(progress->out);
    progress->drawn_ns = now_ns();
}

void cli_progress_done(struct cli_progress *progress, const char *fmt, ...)
{
    struct vs_text text = {NULL, 0, 0};
    va_list args;

    if (progress->is_terminal)
        return;
    va_start(args, fmt);
    vs_text_addfv(&text, fmt, args);
    va_end(args);
    line_print(progress, &text);
    vs_text_release(&text);
}

void cli_progress_say(struct cli_progress *progress, const char *fmt, ...)
{
    struct vs_text text = {NULL, 0, 0};
    va_list args;

    if (!is_due(progress) && !is_long(progress))
        return;
    va_start(args, fmt);
    vs_text_addfv(&text, fmt, args);
    va_end(args);
    if (progress->is_terminal)
        line_draw(progress, &text);
    else
        line_print(progress, &text);
    vs_text_release(&text);
}

void cli_progress_show(struct cli_progress *progress, const struct cli_progress_state *state)
{
    struct vs_text text = {NULL, 0, 0};
    double done = 0.0;
    int filled;

    if (!is_due(progress))
        return;
    if (state->step >= 0 && state->steps > 0)
        done = ((double)state->step + (double)state->phase_number / state->phase_count) /
               (double)state->steps;
    filled = (int)lround(BAR_WIDTH * (done < 1.0 ? done : 1.0));
    vs_text_add(&text, "recording [");
    vs_text_add_fill(&text, '#', filled);
    vs_text_add_fill(&text, '.', BAR_WIDTH - filled);
    vs_text_add(&text, "] ");
    add_state(&text, state, state->phase);
    line_draw(progress, &text);
    vs_text_release(&text);
}

void cli_progress_step(struct cli_progress *progress, const struct cli_progress_state *state)
{
    struct vs_text text = {NULL, 0, 0};
    uint64_t now;

    if (progress->is_terminal || state->step <= progress->step_said)
        return;
    now = now_ns();
    if (state->steps > STEPS_ALL_SAID && state->step + 1 < state->steps &&
        now - progress->drawn_ns < SAY_NS * (1 + progress->lines_said))
        return;
    progress->drawn_ns = now;
    progress->lines_said++;
    progress->step_said = state->step;
    add_state(&text, state, NULL);
    fprintf(progress->out, "%s\n", vs_text_get(&text));
    vs_text_release(&text);
}

void cli_progress_end(struct cli_progress *progress)
{
    if (progress->is_drawn)
        fprintf(progress->out, "\r\033[K");
    fflush(progress->out);
    progress->is_drawn = false;
}

/*
 * tui/commands.c - runs the command line typed after the colon.
 *
 * Must not know:  terminals, what a view shows.
 * Invariant:      every action of keys.def that has a name is a command of that name; commands with arguments are in
 *                 the table.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/index/lifetimes.h"
#include "replay/inspect/space.h"
#include "replay/inspect/step.h"
#include "replay/report/dropped.h"
#include "replay/report/simulated.h"
#include "tui/act.h"
#include "tui/change.h"
#include "tui/export.h"
#include "tui/parts/format.h"
#include "tui/results.h"
#include "tui/sql.h"
#include "whatif/alloc.h"

/* Runs the command; `words`: its arguments, without blanks at either end. */
typedef void command_fn(struct tui_app *app, const char *words);

/* ---- the commands ---- */

static void do_set(struct tui_app *app, const char *words)
{
    struct vs_error err = VS_ERROR_INIT;
    char *pair = vs_strdup(words);
    char *save = NULL;

    for (char *word = strtok_r(pair, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');
        enum vs_toggle toggle;

        if (value)
            *value++ = 0;
        if (!vs_toggle_find(word, &toggle)) {
            (void)vs_fail(&err, VS_E_VALUE, "there is no toggle `%s`; `:set <tab>` lists them",
                          word);
            tui_change_refuse(app, err.text);
            goto out;
        }
        if (tui_change_set(app, toggle, value ? value : "on", &err)) {
            tui_change_refuse(app, err.text);
            goto out;
        }
    }
    tui_app_change(app);
out:
    vs_free(pair);
}

/* The event of a time: the last one that is not later. Times grow with the events. */
static enum vs_status event_of_time(const struct tui_run *run, uint64_t ns, uint64_t *out,
                                    struct vs_error *err)
{
    uint64_t low = 1;
    uint64_t high = run->events;

    while (low < high) {
        uint64_t mid = low + (high - low + 1) / 2;
        struct vs_event event;
        enum vs_status st = rpl_index_event(run->index, mid, &event, err);

        if (st)
            return st;
        if (event.time_ns <= ns)
            low = mid;
        else
            high = mid - 1;
    }
    *out = low;
    return VS_OK;
}

/*
 * The last event that is not later than `ns`; a message where the trace has no such time. What-ifs have no times:
 * their events only say what happens, in which order.
 */
static void goto_time(struct tui_app *app, uint64_t ns)
{
    const struct tui_run *run = tui_app_run(app);
    struct vs_error err = VS_ERROR_INIT;
    struct vs_event first = {.time_ns = 0};
    struct vs_event last = {.time_ns = 0};
    char from[TUI_SHORT_MAX];
    char to[TUI_SHORT_MAX];
    uint64_t seq = 0;
    enum vs_status st = VS_OK;

    if (run->events)
        st = rpl_index_event(run->index, 1, &first, &err);
    if (!st && run->events)
        st = rpl_index_event(run->index, run->events, &last, &err);
    if (!st && first.time_ns < last.time_ns)
        st = event_of_time(run, ns, &seq, &err);
    if (st) {
        tui_app_fail(app, "%s", err.text);
    } else if (!seq) {
        tui_app_fail(app, "the events of this run have no times%s",
                     app->change.is_shown && !app->change.name ? "; D shows the recorded run" : "");
    } else {
        tui_app_go(app, seq, true);
        tui_short_ns(first.time_ns, from);
        tui_short_ns(last.time_ns, to);
        if (ns < first.time_ns)
            tui_app_say(app, "this is the first event; the events are from %s to %s", from, to);
        else if (ns > last.time_ns)
            tui_app_say(app, "this is the last event; the events are from %s to %s", from, to);
    }
}

/* A time in nanoseconds: "12.5ms", "3s", "80us". False: it is not one. No strtod, which reads as the locale writes. */
static bool time_parse(const char *words, uint64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } UNITS[] = {{"ns", 1.0}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    const char *at = words;
    double value = 0.0;
    double place = 0.1;

    for (; isdigit((unsigned char)*at); at++)
        value = 10.0 * value + (*at - '0');
    if (at == words)
        return false;
    if (*at == '.')
        for (at++; isdigit((unsigned char)*at); at++, place /= 10.0)
            value += place * (*at - '0');
    for (size_t i = 0; i < sizeof(UNITS) / sizeof(UNITS[0]); i++) {
        if (strcmp(at, UNITS[i].unit) == 0 && value * UNITS[i].ns < 1e18) {
            *ns = (uint64_t)(value * UNITS[i].ns + 0.5);
            return true;
        }
    }
    return false;
}

/* The beginning of training step `words`, as the header numbers them. Steps are in order; a set-up may come first. */
static void goto_step(struct tui_app *app, const char *words)
{
    const struct tui_run *run = tui_app_run(app);
    struct vs_error err = VS_ERROR_INIT;
    char *end;
    int64_t number = strtoll(words, &end, 10);
    uint64_t total = rpl_step_total(run->index, RPL_VERB_STEP);
    struct vs_event event = {.step = {0}};
    enum vs_status st = VS_OK;
    uint64_t seq = 0;
    int64_t first = 0;
    bool is_found = false;

    if (!isdigit((unsigned char)*words) || *end) {
        tui_app_fail(app, "`:goto step N` needs a number");
        return;
    }
    for (uint64_t n = 1; !st && !is_found && n <= total; n++) {
        st = rpl_step_nth(run->index, RPL_VERB_STEP, n, &seq, &err);
        if (!st)
            st = rpl_index_event(run->index, seq, &event, &err);
        first = !st && n == 1 ? vs_event_step(&event) : first;
        is_found = !st && vs_event_step(&event) == number;
    }
    if (st)
        tui_app_fail(app, "%s", err.text);
    else if (is_found)
        tui_app_go(app, seq, true);
    else if (seq && first && number < first && rpl_has_dropped(run->trace))
        tui_app_fail(app,
                     "step %" PRId64 " was not kept; the trace has steps %" PRId64 " to %" PRId64,
                     number, first, vs_event_step(&event));
    else if (seq)
        tui_app_fail(app, "the last step is step %" PRId64, vs_event_step(&event));
    else
        tui_app_fail(app, "this trace has no steps");
}

static void do_goto(struct tui_app *app, const char *words)
{
    char *end;
    uint64_t ns;
    uint64_t seq = strtoull(words, &end, 10);

    if (isdigit((unsigned char)*words) && !*end)
        tui_app_go(app, seq, true);
    else if (strncmp(words, "step ", 5) == 0)
        goto_step(app, words + 5 + strspn(words + 5, " "));
    else if (!time_parse(words, &ns))
        tui_app_fail(app, "`:goto` takes an event number, a time (12.5ms) or `step N`");
    else
        goto_time(app, ns);
}

/* Message on the breakpoint that was added, and whether it is ever hit in this run. */
static void say_added(struct tui_app *app, uint32_t number)
{
    struct rpl_breakpoints *breaks = tui_app_run(app)->breaks;
    const struct rpl_breakpoint *b = rpl_breakpoints_get(breaks, number);
    struct vs_error err = VS_ERROR_INIT;
    bool may;

    if (rpl_breakpoints_can_hit(breaks, number, &may, &err))
        tui_app_fail(app, "%s", err.text);
    else
        tui_app_say(app, "%s %" PRIu32 ": %s   (%s)", b->is_watch ? "watch" : "breakpoint", number,
                    b->text, may ? "c runs to it, C backwards" : "no event of this run matches");
}

/* Without a condition or a name: the list of those there are, and how one is set. True: that was it. */
static bool list_instead(struct tui_app *app, const char *words, const char *how)
{
    if (*words)
        return false;
    tui_app_view(app, "breakpoints");
    tui_app_say(app, "%s", how);
    return true;
}

#define HOW_TO_BREAK "`:break total > 1G` sets one; <tab> lists the conditions"

static void do_break(struct tui_app *app, const char *words)
{
    struct vs_error err = VS_ERROR_INIT;
    uint32_t number;

    if (list_instead(app, words, HOW_TO_BREAK))
        return;
    if (rpl_breakpoints_add(tui_app_run(app)->breaks, words, &number, &err))
        tui_app_fail(app, "%s", err.text);
    else
        say_added(app, number);
}

static void do_tbreak(struct tui_app *app, const char *words)
{
    struct vs_error err = VS_ERROR_INIT;
    uint32_t number;

    if (list_instead(app, words, HOW_TO_BREAK))
        return;
    if (rpl_breakpoints_add(tui_app_run(app)->breaks, words, &number, &err)) {
        tui_app_fail(app, "%s", err.text);
        return;
    }
    rpl_breakpoints_get(tui_app_run(app)->breaks, number)->is_once = true;
    say_added(app, number);
}

static void do_watch(struct tui_app *app, const char *words)
{
    struct vs_error err = VS_ERROR_INIT;
    uint32_t number;

    if (list_instead(app, words, "`:watch fc1.weight` stops at every event of that tensor"))
        return;
    if (rpl_breakpoints_watch(tui_app_run(app)->breaks, words, &number, &err))
        tui_app_fail(app, "%s", err.text);
    else
        say_added(app, number);
}

/* The breakpoint with the number in `words`; NULL, with a message, if there is none. */
static struct rpl_breakpoint *break_named(struct tui_app *app, const char *words)
{
    struct rpl_breakpoint *found =
        rpl_breakpoints_get(tui_app_run(app)->breaks, (uint32_t)strtoul(words, NULL, 10));

    if (!found && !*words)
        (void)list_instead(app, words, "this command needs the number of a breakpoint");
    else if (!found)
        tui_app_fail(app, "there is no breakpoint `%s`; B lists them", words);
    return found;
}

static void do_delete(struct tui_app *app, const char *words)
{
    if (break_named(app, words))
        rpl_breakpoints_remove(tui_app_run(app)->breaks, (uint32_t)strtoul(words, NULL, 10));
}

static void do_disable(struct tui_app *app, const char *words)
{
    struct rpl_breakpoint *b = break_named(app, words);

    if (b)
        b->is_on = false;
}

static void do_enable(struct tui_app *app, const char *words)
{
    struct rpl_breakpoint *b = break_named(app, words);

    if (b)
        b->is_on = true;
}

static void do_ignore(struct tui_app *app, const char *words)
{
    struct rpl_breakpoint *b = break_named(app, words);
    const char *times = words + strcspn(words, " ");
    char *end;
    uint64_t n = strtoull(times, &end, 10);

    if (!b)
        return;
    if (end == times || *end) {
        tui_app_fail(app, "`:ignore N TIMES` needs the number of hits of breakpoint N to ignore");
        return;
    }
    b->ignore = n;
    tui_app_say(app, "breakpoint %" PRIu32 ": %s   (the next %" PRIu64 " hits are ignored)",
                b->number, b->text, n);
}

static void do_note(struct tui_app *app, const char *words)
{
    char *key = vs_strndup(words, strcspn(words, " "));
    const char *note = words + strlen(key);
    const struct rpl_mark *mark = rpl_marks_get(app->marks, key);

    while (*note == ' ')
        note++;
    if (!mark)
        tui_app_fail(app, "there is no mark `%s`; m and a letter sets one", key);
    else
        rpl_marks_set(app->marks, key, mark->seq, note);
    vs_free(key);
}

/* Memory of the device that is in no segment. False: not known. That of other programs on it never is. */
static bool device_free(const struct tui_app *app, const struct rpl_space *space, uint64_t *out)
{
    const struct tui_run *run = tui_app_run(app);
    const struct rpl_here here = rpl_cursor_here(run->cursor);
    const uint64_t total = app->capacity ? app->capacity : rpl_simulated_total(app->base.trace);

    if (here.event.kind == VS_EV_OOM && rpl_trace_is_imported(run->trace)) {
        *out = here.event.oom.device_free_bytes; /* what the driver said then */
        return true;
    }
    *out = total > space->reserved ? total - space->reserved : 0;
    return total != 0;
}

/* What fits into no free block: whether the driver would give a segment for it. */
static void driver_say(struct tui_app *app, const struct rpl_space *space,
                       const struct rpl_fit *fit)
{
    struct vs_text hole = {NULL, 0, 0};
    uint64_t left = 0;
    char a[VS_BYTES_TEXT_MAX];
    char b[VS_BYTES_TEXT_MAX];

    if (fit->largest != SIZE_MAX)
        vs_text_addf(&hole, "largest hole %s", vs_bytes_text(space->parts[fit->largest].bytes, a));
    else
        vs_text_add(&hole, "no hole");
    vs_bytes_text(fit->segment, a);
    if (!device_free(app, space, &left))
        tui_app_say(app, "only from the driver: %s; device memory unknown (%s)", a,
                    vs_text_get(&hole));
    else
        tui_app_say(app, "%s: %s from the driver, which has %s (%s)",
                    left >= fit->segment ? "yes" : "no", a, vs_bytes_text(left, b),
                    vs_text_get(&hole));
    vs_text_release(&hole);
}

static void do_fit(struct tui_app *app, const char *words)
{
    struct rpl_space space;
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_request request;
    struct rpl_fit fit;
    uint64_t bytes;
    char text[VS_BYTES_TEXT_MAX];

    if (!vs_bytes_parse(words, &bytes)) {
        tui_app_fail(app, "`:fit 1.5G` needs a size");
        return;
    }
    if (wif_request_of(tui_app_run(app)->trace, bytes, &request, &err)) {
        tui_app_fail(app, "%s", err.text);
        return;
    }
    memset(&space, 0, sizeof(space));
    rpl_space_fill(&space, tui_app_run(app)->cursor);
    fit = rpl_space_fit(&space, &request);
    if (fit.is_fit)
        tui_app_say(app, "yes: into the free block of %s at 0x%" PRIx64,
                    vs_bytes_text(space.parts[fit.hole].bytes, text),
                    space.parts[fit.hole].address);
    else
        driver_say(app, &space, &fit);
    rpl_space_release(&space);
}

static void do_theme(struct tui_app *app, const char *words)
{
    struct vs_error err = VS_ERROR_INIT;

    if (tui_theme_find(words, &app->theme, &err))
        tui_app_fail(app, "%s", err.text);
    else
        app->changed |= 1u << TUI_OPTION_THEME;
}

static void do_view(struct tui_app *app, const char *words)
{
    int view = tui_view_find(words);

    if (view < 0)
        tui_app_fail(app, "there is no view `%s`; `:view <tab>` lists them", words);
    else
        tui_view_open(app, view);
}

/* ---- the table ---- */

static const struct {
    struct tui_command_info info;
    command_fn *run;
} COMMANDS[] = {
    {{"set", "TOGGLE=VALUE …", "change toggles: amp=bf16 checkpoint=blocks"}, do_set},
    {{"break", "CONDITION",
      "stop at total > 1G, alloc size > 64M, op ~ conv, module layer3.*, oom"},
     do_break},
    {{"tbreak", "CONDITION", "the same, once"}, do_tbreak},
    {{"watch", "NAME", "stop at every event of a tensor or variable"}, do_watch},
    {{"ignore", "N TIMES", "ignore that many hits of breakpoint N"}, do_ignore},
    {{"disable", "N", "switch breakpoint N off"}, do_disable},
    {{"enable", "N", "switch breakpoint N on"}, do_enable},
    {{"delete", "N", "delete breakpoint N"}, do_delete},
    {{"note", "MARK TEXT", "describe a mark; kept in the trace"}, do_note},
    {{"goto", "N", "go to event N (`:N` is the same), to a time (12.5ms), to `step N`"}, do_goto},
    {{"fit", "SIZE", "would an allocation of this size fit here?"}, do_fit},
    {{"results", "FILE", "what `vramscope sweep -o FILE` found; its rows are the view results"},
     tui_results_open},
    {{"sql", "SELECT …", "a query on this trace; its rows are the view sql"}, tui_sql_run},
    {{"view", "NAME", "show this view"}, do_view},
    {{"theme", "NAME", "dark, light or mono"}, do_theme},
    {{"export", "FORMAT [FILE]", "write this run, or the pane as txt, to a file"}, tui_export},
};
#define COMMAND_COUNT (sizeof(COMMANDS) / sizeof(COMMANDS[0]))

const struct tui_command_info *tui_command_info(size_t i)
{
    return i < COMMAND_COUNT ? &COMMANDS[i].info : NULL;
}

/* The `i`-th name among commands and actions; NULL past the end, "" for an action without a name. */
static const char *name_at(size_t i)
{
    if (i < COMMAND_COUNT)
        return COMMANDS[i].info.name;
    i -= COMMAND_COUNT;
    return i < TUI_ACTION_COUNT ? tui_action_info((enum tui_action)i)->name : NULL;
}

/* ---- running ---- */

static void unknown(struct tui_app *app, const char *name)
{
    const char *best = NULL;
    unsigned least = vs_word_distance_limit(name) + 1;

    for (size_t i = 0; name_at(i); i++) {
        unsigned distance = vs_word_distance(name, name_at(i));

        if (*name_at(i) && distance < least) {
            least = distance;
            best = name_at(i);
        }
    }
    if (best)
        tui_app_fail(app, "there is no command `%s`; did you mean `%s`?", name, best);
    else
        tui_app_fail(app, "there is no command `%s`; <tab> lists them", name);
}

/* Short names as gdb has them; all others may be cut off where they remain unambiguous. */
static const struct {
    const char *abbreviation;
    const char *name;
} ABBREVIATIONS[] = {
    {"b", "break"}, {"tb", "tbreak"}, {"w", "watch"}, {"d", "delete"}, {"g", "goto"}, {"q", "quit"},
};

/* The command or action that `name` is, or abbreviates. NULL, with a message: none, or several. Borrowed. */
static const char *name_find(struct tui_app *app, const char *name)
{
    const char *found = NULL;
    struct vs_text several = {NULL, 0, 0};
    bool is_prefix =
        true; /* `found`, the shortest of them, is the beginning of all: "brea" is `break` */
    size_t count = 0;

    for (size_t i = 0; name_at(i); i++)
        if (strcmp(name, name_at(i)) == 0)
            return name_at(i);
    for (size_t i = 0; i < sizeof(ABBREVIATIONS) / sizeof(ABBREVIATIONS[0]); i++)
        if (strcmp(name, ABBREVIATIONS[i].abbreviation) == 0)
            return ABBREVIATIONS[i].name;
    for (size_t i = 0; name_at(i); i++) {
        if (strncmp(name, name_at(i), strlen(name)) != 0)
            continue;
        vs_text_addf(&several, "%s%s", count++ ? ", " : "", name_at(i));
        if (!found || strlen(name_at(i)) < strlen(found)) {
            is_prefix &= !found || strncmp(name_at(i), found, strlen(name_at(i))) == 0;
            found = name_at(i);
        } else {
            is_prefix &= strncmp(found, name_at(i), strlen(found)) == 0;
        }
    }
    if (count > 1 && !is_prefix)
        tui_app_fail(app, "`%s` may be %s", name, vs_text_get(&several));
    else if (!count)
        unknown(app, name);
    vs_text_release(&several);
    return count && is_prefix ? found : NULL;
}

/* A number alone goes to that event; the name of an action may be followed by a count. */
static bool run_action(struct tui_app *app, const char *name, const char *words)
{
    struct tui_command command = {.count = 1};
    char *end;

    if (!tui_action_find(name, &command.action))
        return false;
    if (*words) {
        command.count = strtoll(words, &end, 10);
        command.has_count = true;
        if (*end || command.count < 1 || command.count > TUI_COUNT_MAX) {
            tui_app_fail(app, "`:%s` takes only a count", name);
            return true;
        }
    }
    tui_app_act(app, &command);
    return true;
}

void tui_command_run(struct tui_app *app, const char *line)
{
    struct vs_text copy = {NULL, 0, 0};
    const char *words;
    const char *found;
    char *name;

    /* who types the colon again means the same */
    while (*line == ' ' || *line == ':')
        line++;
    vs_text_add(&copy, line);
    while (copy.len && copy.data[copy.len - 1] == ' ')
        copy.data[--copy.len] = 0;
    line = vs_text_get(&copy);
    name = vs_strndup(line, strcspn(line, " "));
    words = line + strlen(name);
    while (*words == ' ')
        words++;
    if (isdigit((unsigned char)*name)) {
        do_goto(app, line);
        goto out;
    }
    found = *name ? name_find(app, name) : NULL;
    if (!found)
        goto out;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(COMMANDS[i].info.name, found) == 0) {
            COMMANDS[i].run(app, words);
            goto out;
        }
    }
    (void)run_action(app, found, words);
out:
    vs_free(name);
    vs_text_release(&copy);
}

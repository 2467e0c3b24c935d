/*
 * tui/complete.c - completes the last word of a command line.
 *
 * Must not know:  what a command does.
 * Invariant:      every completion begins with the typed text and occurs once, in alphabetical order or that of its
 *                 table.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/event.h"
#include "base/mem.h"
#include "replay/trace/trace.h"
#include "tui/act.h"
#include "tui/change.h"
#include "tui/export.h"
#include "whatif/alloc.h"
#include "whatif/whatif.h"

/* Words that fit, owned. */
struct words {
    char **items;
    size_t count;
    size_t cap;
};

static void add(struct words *words, const char *stem, const char *word)
{
    if (!*word || strncmp(word, stem, strlen(stem)) != 0)
        return;
    words->items = vs_grow(words->items, words->count, &words->cap, sizeof(*words->items));
    words->items[words->count++] = vs_strdup(word);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Words from the locations of a trace occur many times: each is added once. */
static void sort_from(struct words *words, size_t from)
{
    size_t kept = from;

    if (words->count == from)
        return;
    qsort(words->items + from, words->count - from, sizeof(*words->items), compare);
    for (size_t i = from; i < words->count; i++) {
        if (kept > from && strcmp(words->items[kept - 1], words->items[i]) == 0)
            vs_free(words->items[i]);
        else
            words->items[kept++] = words->items[i];
    }
    words->count = kept;
}

static void words_release(struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        vs_free(words->items[i]);
    vs_free(words->items);
}

/* ---- sources of completions ---- */

typedef void source_fn(struct words *words, const struct tui_app *app, const char *stem);

static void add_commands(struct words *words, const struct tui_app *app, const char *stem)
{
    (void)app;
    for (size_t i = 0; tui_command_info(i); i++)
        add(words, stem, tui_command_info(i)->name);
    for (int i = 0; i < TUI_ACTION_COUNT; i++)
        add(words, stem, tui_action_info((enum tui_action)i)->name);
}

static void add_views(struct words *words, const struct tui_app *app, const char *stem)
{
    (void)app;
    for (size_t i = 0; tui_view_at(i); i++)
        add(words, stem, tui_view_at(i)->name);
}

static void add_themes(struct words *words, const struct tui_app *app, const char *stem)
{
    (void)app;
    for (int i = 0; i < TUI_THEME_COUNT; i++)
        add(words, stem, tui_theme_name((enum tui_theme)i));
}

static void add_formats(struct words *words, const struct tui_app *app, const char *stem)
{
    (void)app;
    for (size_t i = 0; tui_export_format(i); i++)
        add(words, stem, tui_export_format(i));
}

static void add_marks(struct words *words, const struct tui_app *app, const char *stem)
{
    for (size_t i = 0; i < rpl_marks_count(app->marks); i++)
        add(words, stem, rpl_marks_at(app->marks, i)->key);
}

static void add_categories(struct words *words, const struct tui_app *app, const char *stem)
{
    (void)app;
    for (int i = 0; i < VS_CATEGORY_COUNT; i++)
        add(words, stem, vs_category_name((enum vs_category)i));
}

static void add_phases(struct words *words, const struct tui_app *app, const char *stem)
{
    (void)app;
    for (int i = 0; i < VS_PHASE_COUNT; i++)
        add(words, stem, vs_phase_name((enum vs_phase)i));
}

/*
 * From every location one text, chosen by `part`: op, module or function, or MODULE.OP, as a watch names what is
 * allocated there.
 */
enum part { OP, MODULE, FUNC, ORIGIN };

static void add_locations(struct words *words, const struct tui_app *app, const char *stem,
                          enum part part)
{
    const struct rpl_trace *trace = tui_app_run(app)->trace;
    size_t from = words->count;
    struct vs_text text = {NULL, 0, 0};

    for (uint32_t i = 1; i <= rpl_trace_location_count(trace); i++) {
        const struct vs_location *location = rpl_trace_location(trace, i);
        const char *op = rpl_trace_string(trace, location->op);
        const char *module = rpl_trace_string(trace, location->module);

        if (part == OP) {
            add(words, stem, op);
        } else if (part == MODULE) {
            add(words, stem, module);
        } else if (part == FUNC) {
            add(words, stem, rpl_trace_string(trace, location->func));
        } else if (*op) {
            vs_text_clear(&text);
            vs_text_addf(&text, "%s%s%s", module, *module ? "." : "", op);
            add(words, stem, vs_text_get(&text));
        }
    }
    sort_from(words, from);
    vs_text_release(&text);
}

static void add_ops(struct words *words, const struct tui_app *app, const char *stem)
{
    add_locations(words, app, stem, OP);
}

static void add_modules(struct words *words, const struct tui_app *app, const char *stem)
{
    add_locations(words, app, stem, MODULE);
}

static void add_functions(struct words *words, const struct tui_app *app, const char *stem)
{
    add_locations(words, app, stem, FUNC);
}

static void add_origins(struct words *words, const struct tui_app *app, const char *stem)
{
    add_locations(words, app, stem, ORIGIN);
}

static void add_toggles(struct words *words, const struct tui_app *app, const char *stem)
{
    (void)app;
    for (int i = 0; i < VS_TOGGLE_COUNT; i++) {
        struct vs_text text = {NULL, 0, 0};

        vs_text_addf(&text, "%s=", vs_toggle_info((enum vs_toggle)i)->name);
        add(words, stem, vs_text_get(&text));
        vs_text_release(&text);
    }
}

static const char SEGMENTS[] = "segments=K";
/* So many segments has no net: the run that refuses them notes how many this one has. */
#define SEGMENTS_TOO_MANY "segments=1000000"

/* The largest K of checkpoint=segments=K in this net; 0: it has no parts to count. */
static uint64_t segments_max(struct tui_app *app)
{
    struct rpl_trace *refused = rpl_trace_new();
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    uint64_t most = 0;

    if (!vs_toggles_set(&set, VS_TOGGLE_CHECKPOINT, SEGMENTS_TOO_MANY, &err) &&
        (wif_run(app->base.trace, &set, refused, &err) != VS_OK))
        (void)!rpl_trace_meta_uint(refused, "segments_max", &most);
    vs_toggles_release(&set);
    rpl_trace_free(refused);
    return most;
}

/* The settings of alloc-conf: KEY: for all keys, and behind one what is legal, where that is a few words. */
static void add_conf(struct words *words, const char *stem)
{
    static const char *const WORDS[] = {"True", "False", "native"};
    struct vs_text text = {NULL, 0, 0};
    const char *legal;
    const char *ignored;
    const char *name;

    for (unsigned i = 0; (name = wif_conf_key(i, &legal, &ignored)); i++) {
        vs_text_clear(&text);
        vs_text_addf(&text, "%s:", name);
        if (strncmp(stem, vs_text_get(&text), text.len) != 0) {
            add(words, stem, vs_text_get(&text));
            continue;
        }
        for (size_t w = 0; w < sizeof(WORDS) / sizeof(WORDS[0]); w++) {
            vs_text_clear(&text);
            vs_text_addf(&text, "%s:%s", name, WORDS[w]);
            if (strstr(legal, WORDS[w]))
                add(words, stem, vs_text_get(&text));
        }
    }
    vs_text_release(&text);
}

/* Add the legal values of a toggle in this net, or modules if it takes a list of them. */
static void add_values(struct words *words, struct tui_app *app, enum vs_toggle toggle,
                       const char *stem)
{
    static const size_t BEFORE = sizeof(SEGMENTS) - 2;
    bool has_net = rpl_trace_source_text(app->base.trace) != NULL;
    char value[VS_TOGGLE_VALUE_MAX];

    for (size_t i = 0; vs_toggle_choice(toggle, i, value); i++)
        if (!has_net || toggle != VS_TOGGLE_CHECKPOINT || strncmp(value, SEGMENTS, BEFORE) != 0 ||
            strtoull(value + BEFORE, NULL, 10) <= segments_max(app))
            add(words, stem, value);
    if (vs_toggle_info(toggle)->flags & VS_TOGGLE_PATHS)
        add_modules(words, app, stem);
    if (toggle == VS_TOGGLE_ALLOC_CONF)
        add_conf(words, stem);
}

static void add_conditions(struct words *words, const struct tui_app *app, const char *stem)
{
    static const char *const TERMS[] = {
        "total > ", "alloc size > ", "free size > ", "reserved > ", "slack > ",
        "op ~ ",    "module ",       "func ",        "category = ", "phase = ",
        "line = ",  "block ",        "step = ",      "oom",         "and "};

    (void)app;
    for (size_t i = 0; i < sizeof(TERMS) / sizeof(TERMS[0]); i++)
        add(words, stem, TERMS[i]);
}

/* ---- which source applies at a position of the line ---- */

static const struct {
    const char *after; /* the preceding word, without comparison operators */
    source_fn *source;
} IN_CONDITIONS[] = {
    {"op", add_ops},         {"module", add_modules},      {"layer", add_modules},
    {"func", add_functions}, {"category", add_categories}, {"cat", add_categories},
    {"phase", add_phases},
};

static const struct {
    const char *name;
    source_fn *source;
    bool is_one; /* only the first argument is completed from this list */
} IN_COMMANDS[] = {
    {"set", add_toggles, false},       {"break", add_conditions, false},
    {"tbreak", add_conditions, false}, {"watch", add_origins, true},
    {"note", add_marks, true},         {"theme", add_themes, true},
    {"view", add_views, true},         {"export", add_formats, true},
};

/*
 * The word that ends at byte `end` of the line, without comparison operators in front; returns its length, *at: its
 * first byte.
 */
static size_t word_before(const char *line, size_t end, size_t *at)
{
    while (end > 0 && strchr(" =~!<>", line[end - 1]))
        end--;
    *at = end;
    while (*at > 0 && line[*at - 1] != ' ')
        (*at)--;
    return end - *at;
}

static source_fn *source_in_condition(const char *line, size_t stem)
{
    size_t at;
    size_t len = word_before(line, stem, &at);

    for (size_t i = 0; i < sizeof(IN_CONDITIONS) / sizeof(IN_CONDITIONS[0]); i++)
        if (strlen(IN_CONDITIONS[i].after) == len &&
            strncmp(IN_CONDITIONS[i].after, line + at, len) == 0)
            return IN_CONDITIONS[i].source;
    return add_conditions;
}

/* The source of completions at byte `stem` of a line; NULL: free text. */
static source_fn *source_at(const char *line, size_t stem)
{
    size_t name_len = strcspn(line, " ");

    if (!line[name_len])
        return add_commands;
    for (size_t i = 0; i < sizeof(IN_COMMANDS) / sizeof(IN_COMMANDS[0]); i++) {
        if (strlen(IN_COMMANDS[i].name) != name_len ||
            strncmp(IN_COMMANDS[i].name, line, name_len) != 0)
            continue;
        if (IN_COMMANDS[i].is_one && stem != name_len + 1)
            return NULL;
        return IN_COMMANDS[i].source == add_conditions ? source_in_condition(line, stem)
                                                       : IN_COMMANDS[i].source;
    }
    return NULL;
}

/* "amp=b": its values begin behind the sign or the last comma. */
static bool is_value(const char *stem, enum vs_toggle *toggle, size_t *value)
{
    size_t len = strcspn(stem, "=");
    const char *comma = strrchr(stem, ',');
    char *name = vs_strndup(stem, len);
    bool is = stem[len] && vs_toggle_find(name, toggle);

    *value = comma ? (size_t)(comma - stem) + 1 : len + 1;
    vs_free(name);
    return is;
}

/* Length of the longest common prefix of all words. */
static size_t common_of(const struct words *words)
{
    size_t common = strlen(words->items[0]);

    for (size_t i = 1; i < words->count; i++) {
        size_t n = 0;

        while (n < common && words->items[i][n] == words->items[0][n])
            n++;
        common = n;
    }
    return common;
}

void tui_command_complete(struct tui_app *app, const char *line, struct vs_text *out,
                          struct vs_text *fits)
{
    const char *blank = strrchr(line, ' ');
    size_t stem = blank ? (size_t)(blank - line) + 1 : 0;
    source_fn *source = source_at(line, stem);
    struct words words = {NULL, 0, 0};
    enum vs_toggle toggle;
    size_t value;

    if (source == add_toggles && is_value(line + stem, &toggle, &value)) {
        stem += value;
        add_values(&words, app, toggle, line + stem);
    } else if (source) {
        source(&words, app, line + stem);
    }
    vs_text_add_n(out, line, stem);
    if (words.count)
        vs_text_add_n(out, words.items[0], common_of(&words));
    else
        vs_text_add(out, line + stem);
    if (words.count == 1 && source == add_commands)
        vs_text_add_char(out, ' ');
    for (size_t i = 0; i < words.count; i++)
        vs_text_addf(fits, "%s%s", i ? "  " : "", words.items[i]);
    words_release(&words);
}

/* ---- what is legal ---- */

/*
 * What may stand behind the key of alloc-conf in which `stem` ends and, if that fits into `w` cells, what it does.
 * False: it is in no key.
 */
static bool add_legal_conf(const char *stem, int w, struct vs_text *out)
{
    const char *comma = strrchr(stem, ',');
    const char *legal;
    const char *what;
    const char *name;

    stem = comma ? comma + 1 : strchr(stem, '=') + 1;
    for (unsigned i = 0; (name = wif_conf_key(i, &legal, &what)); i++) {
        if (strncmp(stem, name, strlen(name)) == 0 && stem[strlen(name)] == ':') {
            vs_text_addf(out, "%s; %s", legal, what);
            if (tui_text_width(vs_text_get(out)) > w) {
                vs_text_clear(out);
                vs_text_add(out, legal);
            }
            return true;
        }
    }
    return false;
}

/* The legal values of a toggle as base/toggle.def lists them, with the counts of this net. */
static void add_legal(struct tui_app *app, enum vs_toggle toggle, struct vs_text *out)
{
    char legal[VS_TOGGLE_LEGAL_MAX];
    const char *at;
    uint64_t most;

    vs_toggle_legal_text(toggle, legal);
    at = toggle == VS_TOGGLE_CHECKPOINT ? strstr(legal, SEGMENTS) : NULL;
    if (!at || !rpl_trace_source_text(app->base.trace)) {
        vs_text_add(out, legal);
        return;
    }
    most = segments_max(app);
    vs_text_add_n(out, legal, (size_t)(at - legal));
    at += strlen(SEGMENTS);
    if (most)
        vs_text_addf(out, "segments=1\xE2\x80\xA6%" PRIu64, most);
    else
        at += strspn(at, ", ");
    vs_text_add(out, at);
}

void tui_value_hint(struct tui_app *app)
{
    const char *line = vs_text_get(&app->prompt.text);
    const char *blank = strrchr(line, ' ');
    size_t stem = blank ? (size_t)(blank - line) + 1 : 0;
    struct vs_text text = {NULL, 0, 0};
    enum vs_toggle toggle;
    size_t value;
    size_t now;

    if (!app->prompt.kind || source_at(line, stem) != add_toggles ||
        !is_value(line + stem, &toggle, &value))
        return;
    if (toggle == VS_TOGGLE_ALLOC_CONF && add_legal_conf(line + stem, app->w - 2, &text)) {
        tui_app_say(app, "%s", vs_text_get(&text));
        vs_text_release(&text);
        return;
    }
    vs_text_addf(&text, "now %s%s; ", tui_change_value(app, toggle),
                 tui_change_is_own(app, toggle) ? ", what the script says" : "");
    now = text.len;
    add_legal(app, toggle, &text);
    if (toggle == VS_TOGGLE_ALLOC_CONF)
        vs_text_add(&text, ": KEY:VALUE,\xE2\x80\xA6; <tab> lists the keys");
    /* in few columns the legal values alone */
    tui_app_say(app, "%s",
                vs_text_get(&text) + (tui_text_width(vs_text_get(&text)) > app->w - 2 ? now : 0));
    vs_text_release(&text);
}

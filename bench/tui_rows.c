/*
 * bench/tui_rows.c - see tui_rows.h.
 */
#include "bench/tui_rows.h"

#include <stdio.h>
#include <string.h>

/* What a key needs, to have something to do. */
static const struct {
    enum tui_action action;
    const char *once;
    const char *before;
    const char *more; /* typed after the keys */
} NEEDS[] = {
    {TUI_CONTINUE, ":break alloc size > 40M<enter>", "", ""},
    {TUI_CONTINUE_BACK, ":break alloc size > 40M<enter>", "", ""},
    {TUI_MARK_GO, "ma", "", ""},
    {TUI_JUMP_BACK, "", "pp", ""},
    {TUI_JUMP_ON, "", "pp<lt>", ""},
    {TUI_SEARCH, "gb", "", "attn<enter>"},
    {TUI_SEARCH_NEXT, "gb/attn<enter>", "", ""},
    {TUI_SEARCH_BACK, "gb/attn<enter>", "", ""},
    {TUI_FILTER, "", "g\\", "attn<enter>"},
    {TUI_FILTER_CLEAR, "", "\\attn<enter>", ""},
    {TUI_HIDE, "gb", "", ""},
    {TUI_ZOOM_BACK, "", "+", ""},
    {TUI_ZOOM_RANGE, "", "v500s", ""},
    {TUI_OTHER_END, "gb", "jjj", ""},
    {TUI_WATCH, "gb", "jjj", ""},
    {TUI_FRAME_UP, "gc", "", ""},
    {TUI_FRAME_DOWN, "gc", "u", ""},
    {TUI_SORT, "gb", "", ""},
    {TUI_SORT_TURN, "gb", "", ""},
    {TUI_ACT, "gm", "", ""},
    {TUI_OPEN, "gb", "", ""},
    {TUI_MODE, "gm", "", ""},
    {TUI_COMMAND, "", "", "peak<enter>"},
    {TUI_DOWN, "gb", "", ""},
    {TUI_UP, "gb", "", ""},
    {TUI_PAGE_DOWN, "gb", "", ""},
    {TUI_PAGE_UP, "gb", "", ""},
    {TUI_HALF_DOWN, "gb", "", ""},
    {TUI_HALF_UP, "gb", "", ""},
};

/* Not measured here. */
static const struct {
    enum tui_action action;
    const char *why;
} LEFT_OUT[] = {
    {TUI_GO_SWEEP, "runs the net once a toggle, in the background (bench_replay: from a toggle)"},
    {TUI_MODULE_CHECKPOINT, "runs the net (bench_replay: from a toggle to a redrawn timeline)"},
    {TUI_MODULE_INPLACE, "runs the net"},
    {TUI_MODULE_FREEZE, "runs the net"},
    {TUI_RESET, "runs the net"},
    {TUI_DIFF_NEXT, "needs a second run (bench_diff)"},
    {TUI_DIFF_BACK, "needs a second run (bench_diff)"},
    {TUI_CLOSE, "may end the session"},
    {TUI_QUIT, "ends the session"},
};

/* What else there is to ask: a count, another view in front, other conditions. */
static const struct bench_key MORE[] = {
    {"20 events", "", "", "20i"},
    {"1000 ops back", "", "", "1000S"},
    {"modules: an op", "gm", "", "s"},
    {"segments: an op", "gs", "", "s"},
    {"sizes: an op", "gh", "", "s"},
    {"steps: an op", "gS", "", "s"},
    {"steps: a row down", "gS", "", "j"},
    {"retained: an op", "gr", "", "s"},
    {"waiting: an op", "gG", "", "s"},
    {"ops: an op", "go", "", "s"},
    {"peak page: an op", "gk", "", "s"},
    {"why: an op", "gb<space>", "", "s"},
    {"remedy tried: an op", "gb<enter>", "", "s"},
    {"modules: quarter on", "gm", "", "L"},
    {"segments: quarter on", "gs", "", "L"},
    {"ops: quarter on", "go", "", "L"},
    {"source: quarter on", "gc", "", "L"},
    {"ops: a row down", "go", "", "j"},
    {"segments: a row down", "gs", "", "j"},
    {"one pane: quarter on", "M", "", "L"},
    {"one pane: zoom in", "M", "", "+"},
    {"/ never", "gt", "", "/zzzz<enter>"},
    {"blocks: / never", "gb", "", "/zzzz<enter>"},
    {"ops: / never", "go", "", "/zzzz<enter>"},
    {"ops: / number, never", "go", "", "/999999999<enter>"},
    {"ops: / two words, never", "go", "", "/mm nowhere<enter>"},
    {"modules: / never", "gm", "", "/zzzz<enter>"},
    {"c: total, rare", ":break total > 3.1G<enter>", "", "c"},
    {"c: total, never", ":break total > 60T<enter>", "", "c"},
    {"c: line", ":break line = 37<enter>", "", "c"},
    {"c: line, never", ":break line = 9999<enter>", "", "c"},
    {"c: op", ":break op ~ softmax<enter>", "", "c"},
    {"c: op and size", ":break op ~ softmax and size > 190M<enter>", "", "c"},
    {"c: size, never", ":break alloc size = 12345<enter>", "", "c"},
    {"c: free, never", ":break free size > 1T<enter>", "", "c"},
    {"c: category, never", ":break category = buffer and size > 190M<enter>", "", "c"},
    {"c: phase and total, never", ":break phase = data and total > 3G<enter>", "", "c"},
    {"C: slack, never", ":break slack > 99%<enter>", "", "C"},
    {"c: watch, never", ":watch tensor nobody<enter>", "", "c"},
    {"c: watch a weight", ":watch tensor wte.weight<enter>", "", "c"},
    {"c: block 1", ":break block 1<enter>", "", "c"},
    {"C: oom, never", ":break oom<enter>", "", "C"},
};

const char *bench_left_out(enum tui_action action)
{
    for (size_t i = 0; i < sizeof(LEFT_OUT) / sizeof(LEFT_OUT[0]); i++)
        if (LEFT_OUT[i].action == action)
            return LEFT_OUT[i].why;
    return NULL;
}

struct bench_key bench_row_of(enum tui_action action)
{
    const struct tui_action_info *info = tui_action_info(action);
    struct bench_key row = {.once = "", .before = ""};
    const char *more = "";
    size_t len = strcspn(info->keys, " ");
    const char *any = strstr(info->keys, "<any>");

    for (size_t i = 0; i < sizeof(NEEDS) / sizeof(NEEDS[0]); i++) {
        if (NEEDS[i].action != action)
            continue;
        row.once = NEEDS[i].once;
        row.before = NEEDS[i].before;
        more = NEEDS[i].more;
    }
    if (any && (size_t)(any - info->keys) < len)
        snprintf(row.keys, sizeof(row.keys), "%.*sa%s", (int)(any - info->keys), info->keys, more);
    else
        snprintf(row.keys, sizeof(row.keys), "%.*s%s", (int)len, info->keys, more);
    snprintf(row.name, sizeof(row.name), "%.*s %.27s", (int)len, info->keys,
             *info->name ? info->name : info->help);
    return row;
}

const struct bench_key *bench_more(size_t i)
{
    return i < sizeof(MORE) / sizeof(MORE[0]) ? &MORE[i] : NULL;
}

bool bench_is_search(const struct bench_key *row)
{
    return strncmp(row->once, ":break", strlen(":break")) == 0 ||
           strncmp(row->once, ":watch", strlen(":watch")) == 0;
}

/*
 * tests/tui/test_screens.c - compares screens with reviewed ones in tests/golden/tui; `make golden` writes them anew.
 *
 * The trace is written by hand (tests/store/small_trace.h), so the screens change only with the TUI, not with the
 * engine's allocations.
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
#include "tests/store/small_trace.h"
#include "tests/tui/session.h"
#include "tui/act.h"
#include "tui/parts/keys.h"

/* theme: of the screen, whose styles are compared too, unless it is mono; is_ascii: without other characters */
static const struct screen {
    const char *name;
    int w;
    int h;
    enum tui_theme theme;
    bool is_ascii;
    const char *keys;
} SCREENS[] = {
    {"first-40x12", 40, 12, TUI_THEME_MONO, false, ""},
    {"first-80x24", 80, 24, TUI_THEME_MONO, false, ""},
    {"first-160x48", 160, 48, TUI_THEME_MONO, false, ""},
    {"first-colour-40x12", 40, 12, TUI_THEME_DARK, false, ""},
    {"first-colour-80x24", 80, 24, TUI_THEME_DARK, false, ""},
    {"first-colour-160x48", 160, 48, TUI_THEME_DARK, false, ""},
    {"first-ascii-40x12", 40, 12, TUI_THEME_MONO, true, ""},
    {"first-ascii-80x24", 80, 24, TUI_THEME_MONO, true, ""},
    {"first-ascii-160x48", 160, 48, TUI_THEME_MONO, true, ""},
    {"timeline-step", 80, 24, TUI_THEME_MONO, false, "M="},
    {"timeline-time", 80, 24, TUI_THEME_MONO, false, "Mt"},
    {"timeline-range", 100, 30, TUI_THEME_MONO, false, "Mv20s"},
    {"source", 80, 24, TUI_THEME_MONO, false, "gcM"},
    {"source-break", 80, 24, TUI_THEME_DARK, false, "gcMb"},
    {"blocks", 80, 24, TUI_THEME_MONO, false, "gb"},
    {"blocks-filtered", 80, 24, TUI_THEME_MONO, false, "gb\\fc1<enter>"},
    {"blocks-why", 80, 24, TUI_THEME_MONO, false, "gbj<enter>"},
    {"peak", 100, 40, TUI_THEME_MONO, false, "gkM"},
    {"whatif", 80, 24, TUI_THEME_MONO, false, "gw"},
    {"curve", 80, 24, TUI_THEME_MONO, false, "gC"},
    {"ops", 80, 24, TUI_THEME_MONO, false, "go"},
    {"modules", 80, 24, TUI_THEME_MONO, false, "gm"},
    {"modules-by-peak", 80, 24, TUI_THEME_MONO, false, "gmMooO"},
    {"segments", 80, 24, TUI_THEME_MONO, false, "gs"},
    {"segments-colour", 80, 24, TUI_THEME_DARK, false, "gs"},
    {"sizes", 80, 24, TUI_THEME_MONO, false, "gh"},
    {"sizes-colour", 100, 30, TUI_THEME_DARK, false, "ghM"},
    {"steps", 80, 24, TUI_THEME_MONO, false, "gSM"},
    {"calls", 80, 24, TUI_THEME_MONO, false, "gTM"},
    {"retained", 80, 24, TUI_THEME_MONO, false, "grM"},
    {"retained-open", 100, 30, TUI_THEME_DARK, false, "grM<space>j<space>"},
    {"waiting", 80, 24, TUI_THEME_MONO, false, "gG"},
    {"sql", 80, 24, TUI_THEME_MONO, false,
     ":sql select kind, count(*) n from event group by kind order by n desc<enter>"},
    {"sql-failed", 80, 24, TUI_THEME_MONO, false, ":sql select nothing from nowhere<enter>"},
    {"breaks", 80, 24, TUI_THEME_MONO, false,
     "gB:break total > 20K<enter>:watch tensor fc1.weight<enter><space>"},
    {"help", 80, 24, TUI_THEME_MONO, false, "?"},
    {"prompt", 80, 24, TUI_THEME_MONO, false, ":set che<tab>"},
    {"prefix", 80, 24, TUI_THEME_MONO, false, "g"},
    {"message", 80, 24, TUI_THEME_MONO, false, ":braek total > 1M<enter>"},
    {"too-small", 39, 9, TUI_THEME_MONO, false, ""},
};
#define SCREEN_COUNT (sizeof(SCREENS) / sizeof(SCREENS[0]))

/* With the changed trace beside it. */
static const struct screen PAIR_SCREENS[] = {
    {"diff-40x12", 40, 12, TUI_THEME_MONO, false, ""},
    {"diff-80x24", 80, 24, TUI_THEME_MONO, false, ""},
    {"diff-160x48", 160, 48, TUI_THEME_MONO, false, ""},
    {"diff-colour-80x24", 80, 24, TUI_THEME_DARK, false, ""},
    {"diff-ascii-80x24", 80, 24, TUI_THEME_MONO, true, ""},
    {"diff-ascii-40x12", 40, 12, TUI_THEME_MONO, true, ""},
    {"diff-alone", 80, 24, TUI_THEME_MONO, false, "M"},
    {"diff-module", 80, 24, TUI_THEME_MONO, false, "Mt"},
    {"diff-line-cursor", 100, 30, TUI_THEME_MONO, false, "M<space>ttnn"},
    {"diff-tensor-step", 100, 30, TUI_THEME_MONO, false, "Mttt<space><space>"},
    {"diff-made", 80, 24, TUI_THEME_MONO, false, "Mtttt"},
    {"diff-inside", 80, 24, TUI_THEME_MONO, false, "M<enter><enter>"},
    {"pairs", 80, 24, TUI_THEME_MONO, false, "gDMnn"},
    {"pairs-colour", 120, 24, TUI_THEME_DARK, false, "gDMn"},
    {"pairs-narrow", 48, 14, TUI_THEME_MONO, true, "gDMn"},
    {"pairs-differ", 80, 24, TUI_THEME_MONO, false, "gDMt"},
    {"pairs-largest", 80, 24, TUI_THEME_MONO, false, "gDMon"},
};
#define PAIR_SCREEN_COUNT (sizeof(PAIR_SCREENS) / sizeof(PAIR_SCREENS[0]))

static char *file_read(const char *path)
{
    struct vs_text text = {NULL, 0, 0};
    FILE *file = fopen(path, "r");
    char part[4096];
    size_t n;

    if (!file)
        return NULL;
    while ((n = fread(part, 1, sizeof(part), file)) > 0)
        vs_text_add_n(&text, part, n);
    fclose(file);
    return vs_text_take(&text);
}

static void file_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
}

/* Compares `text` with the file or, with VRAMSCOPE_GOLDEN=write, writes it to the file. */
static void compare(const char *path, const char *text)
{
    const char *wish = getenv("VRAMSCOPE_GOLDEN");
    char *wanted;

    if (wish && strcmp(wish, "write") == 0) {
        file_write(path, text);
        return;
    }
    wanted = file_read(path);
    if (!wanted)
        fail_msg("there is no %s; `make golden` writes it", path);
    if (strcmp(wanted, text) != 0)
        fail_msg("%s is another:\n%s\n--- is now\n%s", path, wanted, text);
    free(wanted);
}

static void screen_compare(const struct screen *screen, const char *trace, const char *other)
{
    struct tui_app app;
    char path[128];
    char *text;

    if (other)
        session_open_pair(&app, trace, other, screen->w, screen->h);
    else
        session_open(&app, trace, screen->w, screen->h);
    app.theme = screen->theme;
    app.is_ascii = screen->is_ascii;
    session_type(&app, screen->keys);
    text = session_screen(&app, screen->theme != TUI_THEME_MONO);
    snprintf(path, sizeof(path), "tests/golden/tui/%s.txt", screen->name);
    compare(path, text);
    free(text);
    tui_app_release(&app);
}

static void screens_equal_their_golden_files(void **state)
{
    const char *trace = program_path("screens.db");
    const char *other = program_path("changed.db");

    (void)state;
    small_trace_write(trace);
    small_trace_changed_write(other);
    for (size_t i = 0; i < SCREEN_COUNT; i++)
        screen_compare(&SCREENS[i], trace, NULL);
    for (size_t i = 0; i < PAIR_SCREEN_COUNT; i++)
        screen_compare(&PAIR_SCREENS[i], trace, other);
}

static void keys_rows(struct vs_text *out)
{
    for (int i = 0; i < TUI_ACTION_COUNT; i++) {
        const struct tui_action_info *info = tui_action_info((enum tui_action)i);
        struct vs_text keys = {NULL, 0, 0};

        vs_text_add(out, "|");
        for (size_t n = 0; tui_action_keys(NULL, (enum tui_action)i, n, &keys); n++) {
            vs_text_addf(out, " `%s`", vs_text_get(&keys));
            vs_text_clear(&keys);
        }
        vs_text_release(&keys);
        vs_text_addf(out, *info->name ? " | `:%s` | %s |\n" : " |%s | %s |\n", info->name,
                     info->help);
    }
}

/* The condition language of replay/breakpoints/breakpoints.h, for users. */
static const char CONDITIONS[] =
    "\n## Conditions\n\n"
    "`:break` and `:tbreak` take a condition: terms joined by `and`. `c` runs to the next event\n"
    "at which it becomes true, `C` to the preceding one.\n\n"
    "- `alloc size > 512M`, `free size > 1M`: an allocation or a free of that many requested\n"
    "  bytes; `size > 1M` alone means an allocation\n"
    "- `total > 70G`, `reserved > 70G`, `slack > 10%`: the allocated bytes, the reserved bytes,\n"
    "  or the unallocated share of the reserved bytes passes the limit\n"
    "- `op ~ softmax`, `module layer3.*`, `func Net.forward`, `line = 21`: such an op, module,\n"
    "  function or line begins to run; behind `~` stands an extended regular expression,\n"
    "  elsewhere `*` and `?` stand for any letters\n"
    "- `category = workspace`: a block of that category is allocated, or a block changes to it\n"
    "- `phase = backward`, `step = 2`: the phase or step begins\n"
    "- `block 30`, `alloc block 30`, `free block 30`: any event about this block\n"
    "- `oom`, `alloc`, `free` and the other kinds of events: an event of that kind\n\n"
    "`:watch NAME` stops at every event about a tensor of that name: a parameter\n"
    "(`fc.weight`), the result of an op of a module (`conv1.relu`), or a variable (`x1`,\n"
    "`Net.forward.x1`).\n";

/* docs/guide/tui-keys.md. */
static void keys_page(struct vs_text *out)
{
    vs_text_add(
        out,
        "# Keys of the TUI\n\nGenerated from `tui/parts/keys.def` by `make golden`. A count may "
        "precede a key: `20s`.\n\n"
        "| keys | command | does |\n|---|---|---|\n");
    keys_rows(out);
    vs_text_add(out,
                "\n## Commands with words\n\nGenerated from the table in `tui/commands.c`; `<tab>` "
                "completes commands, toggles and their values, modules, ops, marks.\n\n"
                "| command | does |\n|---|---|\n");
    for (size_t i = 0; tui_command_info(i); i++) {
        const struct tui_command_info *info = tui_command_info(i);

        vs_text_addf(out, "| `:%s %s` | %s |\n", info->name, info->words, info->help);
    }
    vs_text_add(out, CONDITIONS);
}

static void the_key_table_in_the_docs_equals_that_of_the_program(void **state)
{
    struct vs_text text = {NULL, 0, 0};

    (void)state;
    keys_page(&text);
    compare("docs/guide/tui-keys.md", vs_text_get(&text));
    vs_text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(screens_equal_their_golden_files),
        cmocka_unit_test(the_key_table_in_the_docs_equals_that_of_the_program),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    program_cleanup();
    return failed;
}

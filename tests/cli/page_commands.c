/*
 * tests/cli/page_commands.c - see pages.h: docs/guide/commands.md, a section for each command, in Markdown.
 */
#include <string.h>

#include "cli/cmds.h"
#include "tests/cli/pages.h"

#define WIDTH 118

static const char HEAD[] =
    "# Commands\n\n"
    "Generated from the tables of `cli/` and `base/toggle.def` by `make golden`.\n"
    "`vramscope COMMAND --help` prints the same.\n\n"
    "Results go to stdout and messages to stderr. Unless a section says otherwise, the exit status "
    "is 0 when\n"
    "the work is done, 1 when it failed, and 2 when the arguments were wrong. With `--json` the "
    "result is\n"
    "JSON; [json.md](../formats/json.md) lists its fields.\n";

static const char TOGGLES[] =
    "\n## Toggles\n\n"
    "A toggle changes how a net is trained. `record` and `match` take toggles as options, "
    "`whatif`, `tui`\n"
    "and `export` as `TOGGLE=VALUE`.\n\n";

/* Words on lines of at most WIDTH, from *column on. */
struct filler {
    struct vs_text *out;
    size_t column;
    int indent; /* of the following lines */
    bool is_code;
};

/* One word. A line never begins with a word that Markdown would take for a list; "<" is text outside of quotes. */
static void add_word(struct filler *f, const char *word, size_t len)
{
    bool is_list = len == 1 && strchr("-+*#", *word) != NULL;

    if (f->column + 1 + len > WIDTH && !is_list) {
        vs_text_add_char(f->out, '\n');
        vs_text_add_fill(f->out, ' ', f->indent);
        f->column = (size_t)f->indent;
    } else if (f->column > (size_t)f->indent) {
        vs_text_add_char(f->out, ' ');
        f->column++;
    }
    for (size_t i = 0; i < len; i++) {
        f->is_code ^= word[i] == '`';
        if (word[i] == '<' && !f->is_code)
            vs_text_add_char(f->out, '\\');
        vs_text_add_char(f->out, word[i]);
    }
    f->column += len;
}

static void add_words(struct filler *f, const char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        size_t word = strcspn(text + at, " \n");

        word = word < len - at ? word : len - at;
        if (word)
            add_word(f, text + at, word);
        at += word + 1;
    }
}

/* Paragraphs are filled; lines that begin with blanks are examples. */
static void add_help(struct vs_text *out, const char *help)
{
    struct filler f = {out, 0, 0, false};
    bool is_example = false;

    vs_text_add_char(out, '\n');
    while (*help) {
        size_t len = strcspn(help, "\n");
        bool is_indented = len && *help == ' ';

        if (is_indented != is_example || !len) {
            vs_text_add(out, is_indented && f.column ? "\n\n" : "\n");
            f = (struct filler){out, 0, 0, false};
        }
        is_example = is_indented || (!len && is_example && help[1] == ' ');
        if (is_indented)
            vs_text_addf(out, "    %.*s\n", (int)(len - strspn(help, " ")),
                         help + strspn(help, " "));
        else if (len)
            add_words(&f, help, len);
        help += len + (help[len] == '\n');
    }
    if (!is_example)
        vs_text_add_char(out, '\n');
}

static void add_option(struct vs_text *out, char letter, const char *name, const char *value,
                       const char *help)
{
    struct filler f = {out, 0, 2, false};
    struct vs_text line = {NULL, 0, 0};

    vs_text_add(&line, "- `");
    if (letter)
        vs_text_addf(&line, "-%c`, `", letter);
    vs_text_addf(&line, "--%s%s%s`: ", name, value ? " " : "", value ? value : "");
    vs_text_add(out, vs_text_get(&line));
    f.column = line.len;
    vs_text_release(&line);
    f.indent = (int)f.column; /* no blank in front of the first word */
    if (*help) {
        size_t first = strcspn(help, " ");

        add_word(&f, help, first);
        f.indent = 2;
        add_words(&f, help + first, strlen(help + first));
    }
    vs_text_add_char(out, '\n');
}

static void add_command(struct vs_text *out, const struct cli_cmd *cmd)
{
    vs_text_addf(out, "\n## %s\n\n%s.\n\n", cmd->name, cmd->summary);
    vs_text_addf(out, "    vramscope %s %s\n", cmd->name, cmd->usage);
    if (cmd->help)
        add_help(out, cmd->help);
    if (cmd->options->name)
        vs_text_add(out, "\nOptions:\n\n");
    for (const struct cli_option *o = cmd->options; o->name; o++)
        add_option(out, o->letter, o->name, o->value, o->help);
    if (cmd->toggles)
        vs_text_add(out, "\nEvery [toggle](#toggles) is an option, too.\n");
}

void page_commands(struct vs_text *out)
{
    vs_text_add(out, HEAD);
    for (size_t i = 0; cli_cmd_at(i); i++)
        add_command(out, cli_cmd_at(i));
    vs_text_add(out, TOGGLES);
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        const struct vs_toggle_info *info = vs_toggle_info((enum vs_toggle)i);
        struct vs_text line = {NULL, 0, 0};
        char legal[VS_TOGGLE_LEGAL_MAX];

        vs_text_addf(&line, "%s: %s (default %s). Cost: %s", info->help,
                     vs_toggle_legal_text((enum vs_toggle)i, legal), info->initial, info->cost);
        add_option(out, 0, info->name, "VALUE", vs_text_get(&line));
        vs_text_release(&line);
    }
}

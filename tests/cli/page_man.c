/*
 * tests/cli/page_man.c - see pages.h: the man page, in the macros of man(7).
 */
#include <string.h>

#include "cli/cmds.h"
#include "tests/cli/pages.h"

static const char DESCRIPTION[] =
    ".SH DESCRIPTION\n"
    "A net is written in a file, in a language that is a subset of Python with PyTorch.\n"
    ".B vramscope record\n"
    "trains it for a few steps, with real arithmetic or with shapes alone, and keeps every event "
    "of the\n"
    "allocator in a trace; the bytes are those that PyTorch takes on CUDA.\n"
    "The other commands read the trace: what the peak consists of, what holds it and since which "
    "line, and what\n"
    "the peak would be if the net were trained differently.\n";

static const char REST[] =
    ".SH ENVIRONMENT\n"
    ".TP\n.B NO_COLOR\n.B vramscope tui\nuses no colours.\n"
    ".TP\n.B VRAMSCOPE_THREADS\nHow many threads the arithmetic on the CPU uses.\n"
    ".TP\n.B VRAMSCOPE_WHATIF_EVENTS\nSo many events of a what-if are kept in memory, of 56 bytes "
    "each; longer runs "
    "are refused (default 33554432).\n"
    ".TP\n.B VRAMSCOPE_CPU\nThe instruction set of the arithmetic on the CPU: baseline, avx2 or "
    "avx512. Without "
    "it, the best that the processor has; where the processor lacks it, the next lower one.\n"
    ".TP\n.BR VRAMSCOPE_DEBUG \", \" VRAMSCOPE_LOG\nWhat is logged, and the file it goes to.\n"
    ".TP\n.B XDG_CONFIG_HOME\nThe folder of\n.IR vramscope/config ,\nsee FILES; ~/.config "
    "without it.\n"
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nDone.\n"
    ".TP\n.B 1\nThe work failed.\n"
    ".TP\n.B 2\nThe arguments were wrong.\n"
    ".PP\nThe exit statuses of diff, check and match are described above.\n"
    ".SH FILES\n"
    "A trace is an SQLite database;\n.BR sqlite3 (1)\nreads it as well.\n"
    ".PP\n.I $XDG_CONFIG_HOME/vramscope/config\nhas keys and options of\n.BR \"vramscope tui\" ,\n"
    "a line each:\n.B key\n.I ACTION KEYS\ngives an action other keys, in the words that the "
    "key ? shows\n.RB ( \"key op s <C\\-n>\" );\n"
    ".BR \"theme dark\" | light | mono ,\n.BR \"glyphs blocks\" | letters ,\n"
    ".BR \"unit bytes\" | peak | device ,\n.BR \"mouse on\" | off .\n"
    "A line that begins with # is a comment.\n"
    "The TUI writes the options that its keys change there, and keeps the other lines.\n.PP\n"
    "Sample nets are in\n.IR share/vramscope/sample_nets .\n"
    ".SH SEE ALSO\n"
    ".BR sqlite3 (1)\n";

/* `text` as a line of its own: characters that troff would interpret are escaped. */
static void add(struct vs_text *out, const char *text, size_t len)
{
    if (len && (text[0] == '.' || text[0] == '\''))
        vs_text_add(out, "\\&");
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\\')
            vs_text_add(out, "\\e");
        else if (text[i] == '-')
            vs_text_add(out, "\\-");
        else if (text[i] == '\'')
            vs_text_add(out, "\\(aq");
        else if (text[i] == '`')
            vs_text_add(out, "\\(ga");
        else if (text[i] == '"')
            vs_text_add(out, "\\(dq");
        else
            vs_text_add_char(out, text[i]);
    }
    vs_text_add_char(out, '\n');
}

static void add_line(struct vs_text *out, const char *text)
{
    add(out, text, strlen(text));
}

static void add_macro(struct vs_text *out, const char *macro, const char *text)
{
    vs_text_addf(out, ".%s ", macro);
    add_line(out, text);
}

/* Lines that begin with blanks are examples, an empty one parts paragraphs. */
static void add_help(struct vs_text *out, const char *help)
{
    bool is_example = false;

    while (*help) {
        size_t len = strcspn(help, "\n");
        bool is_indented = len && *help == ' ';

        if (is_indented != is_example)
            vs_text_add(out, is_indented ? ".PP\n.nf\n" : ".fi\n");
        is_example = is_indented;
        if (len)
            add(out, help, len);
        else if (!is_example && help[1] != ' ')
            vs_text_add(out, ".PP\n");
        help += len + (help[len] == '\n');
    }
    if (is_example)
        vs_text_add(out, ".fi\n");
}

static void add_option(struct vs_text *out, char letter, const char *name, const char *value,
                       const char *help)
{
    vs_text_add(out, ".TP\n.B ");
    if (letter)
        vs_text_addf(out, "\\-%c, ", letter);
    vs_text_add(out, "\\-\\-");
    for (const char *p = name; *p; p++)
        vs_text_addf(out, *p == '-' ? "\\%c" : "%c", *p);
    if (value)
        vs_text_addf(out, " \\fI%s\\fR", value);
    vs_text_add_char(out, '\n');
    add_line(out, help);
}

static void add_command(struct vs_text *out, const struct cli_cmd *cmd)
{
    struct vs_text line = {NULL, 0, 0};

    vs_text_addf(&line, "vramscope %s %s", cmd->name, cmd->usage);
    add_macro(out, "SS", vs_text_get(&line));
    vs_text_clear(&line);
    vs_text_addf(&line, "%s.", cmd->summary);
    add_line(out, vs_text_get(&line));
    vs_text_release(&line);
    if (cmd->help) {
        vs_text_add(out, ".PP\n");
        add_help(out, cmd->help);
    }
    for (const struct cli_option *o = cmd->options; o->name; o++)
        add_option(out, o->letter, o->name, o->value, o->help);
    add_option(out, 'h', "help", NULL, "Shows this help.");
    if (cmd->toggles)
        vs_text_add(out, ".PP\nIt takes the toggles below as options, too.\n");
}

static void add_toggles(struct vs_text *out)
{
    vs_text_add(out, ".SH TOGGLES\nHow the net is trained.\n.B vramscope toggles\nprints this "
                     "table with what each costs.\n");
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        const struct vs_toggle_info *info = vs_toggle_info((enum vs_toggle)i);
        struct vs_text line = {NULL, 0, 0};
        char legal[VS_TOGGLE_LEGAL_MAX];

        vs_text_addf(&line, "%s: %s (default %s).", info->help,
                     vs_toggle_legal_text((enum vs_toggle)i, legal), info->initial);
        add_option(out, 0, info->name, "VALUE", vs_text_get(&line));
        vs_text_release(&line);
    }
}

void page_man(struct vs_text *out)
{
    vs_text_add(out, ".\\\" Made from the tables of cli/ and base/toggle.def by `make golden`.\n"
                     ".TH VRAMSCOPE 1 \"\" \"vramscope\" \"User Commands\"\n"
                     ".SH NAME\n"
                     "vramscope \\- shows where a network\\(aqs training memory goes, byte by byte "
                     "and line by line\n"
                     ".SH SYNOPSIS\n"
                     ".B vramscope\n.I COMMAND\n[\\fIargument\\fR .\\|.\\|.]\n.br\n"
                     ".B vramscope \\-\\-help\n|\n.B \\-\\-version\n");
    vs_text_add(out, DESCRIPTION);
    vs_text_add(out, ".SH COMMANDS\n");
    for (size_t i = 0; cli_cmd_at(i); i++)
        add_command(out, cli_cmd_at(i));
    add_toggles(out);
    vs_text_add(out, REST);
}

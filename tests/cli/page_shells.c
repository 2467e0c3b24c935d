/*
 * tests/cli/page_shells.c - see pages.h: the completions of bash, zsh and fish.
 */
#include <string.h>

#include "cli/cmds.h"
#include "tests/cli/pages.h"

#define MADE "# Made from the tables of cli/ and base/toggle.def by `make golden`.\n"

/* Values that the tables of options say in prose. Others are files, or cannot be guessed. */
static const struct words {
    const char *option;
    const char *words;
} WORDS[] = {
    {"device", "auto cpu meta"},
    {"by", "category module line"},
    {"events", "tensors allocations all"},
    {"theme", "dark light mono"},
};

const char *page_option_words(const char *option)
{
    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++)
        if (strcmp(WORDS[i].option, option) == 0)
            return WORDS[i].words;
    return NULL;
}

void page_toggle_words(size_t toggle, struct vs_text *out)
{
    char value[VS_TOGGLE_VALUE_MAX];

    for (size_t i = 0; vs_toggle_choice((enum vs_toggle)toggle, i, value); i++)
        vs_text_addf(out, "%s%s", i ? " " : "", value);
}

static bool is_pair(const struct cli_option *o)
{
    return o->value && strcmp(o->value, "TOGGLE=VALUE") == 0;
}

static bool is_file(const struct cli_option *o)
{
    return o->value && strcmp(o->value, "FILE") == 0;
}

static const char *toggle_name(size_t i)
{
    return vs_toggle_info((enum vs_toggle)i)->name;
}

/* ---- bash ---- */

static void bash_values(struct vs_text *out)
{
    vs_text_add(out, "# The words that may stand behind an option or a toggle.\n"
                     "_vramscope_values()\n{\n    case $1 in\n");
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        vs_text_addf(out, "    %s) echo \"", toggle_name(i));
        page_toggle_words(i, out);
        vs_text_add(out, "\" ;;\n");
    }
    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++)
        vs_text_addf(out, "    %s) echo \"%s\" ;;\n", WORDS[i].option, WORDS[i].words);
    vs_text_add(out, "    esac\n}\n\n");
}

static void bash_options(struct vs_text *out)
{
    vs_text_add(out, "_vramscope_options()\n{\n    case $1 in\n");
    for (size_t i = 0; cli_cmd_at(i); i++) {
        const struct cli_cmd *cmd = cli_cmd_at(i);

        vs_text_addf(out, "    %s) echo \"", cmd->name);
        for (const struct cli_option *o = cmd->options; o->name; o++)
            vs_text_addf(out, "--%s ", o->name);
        vs_text_addf(out, "--help\"%s ;;\n", cmd->toggles ? " \"$(_vramscope_toggles --)\"" : "");
    }
    vs_text_add(out, "    esac\n}\n\n");
}

void page_bash(struct vs_text *out)
{
    vs_text_add(out, "# Completion of vramscope in bash.\n" MADE "\n");
    vs_text_add(out, "# The toggles, each with $1 in front and $2 behind.\n"
                     "_vramscope_toggles()\n{\n    local t\n    for t in");
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        vs_text_addf(out, " %s", toggle_name(i));
    vs_text_add(out, "; do\n        printf '%s ' \"$1$t$2\"\n    done\n}\n\n");
    bash_values(out);
    bash_options(out);
    vs_text_add(out,
                "_vramscope()\n{\n"
                "    local at=$COMP_CWORD words=\n"
                "    local cur=${COMP_WORDS[at]} prev=${COMP_WORDS[at - 1]} cmd=${COMP_WORDS[1]}\n"
                "    COMPREPLY=()\n"
                "    # bash makes three words of a=b\n"
                "    if [ \"$cur\" = = ]; then\n"
                "        cur=\n"
                "    elif [ \"$prev\" = = ] && [ \"$at\" -gt 2 ]; then\n"
                "        prev=${COMP_WORDS[at - 2]}\n"
                "    fi\n");
    vs_text_add(out, "    if [ \"$at\" -eq 1 ]; then\n        words=\"");
    for (size_t i = 0; cli_cmd_at(i); i++)
        vs_text_addf(out, "%s ", cli_cmd_at(i)->name);
    vs_text_add(out, "--help --version\"\n"
                     "    elif [ \"$prev\" = --set ] || [ \"$prev\" = -s ]; then\n"
                     "        compopt -o nospace 2>/dev/null\n"
                     "        words=$(_vramscope_toggles '' =)\n"
                     "    elif [ \"${cur#-}\" != \"$cur\" ]; then\n"
                     "        words=$(_vramscope_options \"$cmd\")\n"
                     "    else\n"
                     "        words=$(_vramscope_values \"${prev#--}\")\n"
                     "    fi\n"
                     "    while IFS= read -r cur; do\n"
                     "        COMPREPLY+=(\"$cur\")\n"
                     "    done < <(compgen -W \"$words\" -- \"$cur\")\n"
                     "}\n"
                     "complete -o default -F _vramscope vramscope\n");
}

/* ---- zsh ---- */

/* Inside '…:…[…]': the quote ends the string, brackets and colons the part. */
static void zsh_add(struct vs_text *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            vs_text_add(out, "'\\''");
        else if (strchr("[]:\\", *text))
            vs_text_addf(out, "\\%c", *text);
        else
            vs_text_add_char(out, *text);
    }
}

static void zsh_option(struct vs_text *out, const struct cli_option *o)
{
    const char *more = o->value ? "=" : "";

    if (o->many)
        vs_text_add(out, "            '*'");
    else if (o->letter)
        vs_text_addf(out, "            '(-%c --%s)'", o->letter, o->name);
    else
        vs_text_add(out, "            ");
    if (o->letter)
        vs_text_addf(out, "{-%c%s,--%s%s}'[", o->letter, o->value ? "+" : "", o->name, more);
    else
        vs_text_addf(out, "'--%s%s[", o->name, more);
    zsh_add(out, o->help);
    vs_text_add_char(out, ']');
    if (is_pair(o)) {
        vs_text_add(out, ":toggle:_vramscope_pair");
    } else if (o->value) {
        vs_text_add_char(out, ':');
        zsh_add(out, o->value);
        vs_text_add_char(out, ':');
        if (page_option_words(o->name))
            vs_text_addf(out, "(%s)", page_option_words(o->name));
        else if (is_file(o))
            vs_text_add(out, "_files");
    }
    vs_text_add(out, "' \\\n");
}

static void zsh_toggle(struct vs_text *out, size_t i)
{
    struct vs_text words = {NULL, 0, 0};

    page_toggle_words(i, &words);
    vs_text_addf(out, "        '--%s=[", toggle_name(i));
    zsh_add(out, vs_toggle_info((enum vs_toggle)i)->help);
    vs_text_add(out, "]:value:");
    if (words.len)
        vs_text_addf(out, "(%s)", vs_text_get(&words));
    vs_text_add(out, "'\n");
    vs_text_release(&words);
}

static void zsh_pair(struct vs_text *out)
{
    vs_text_add(out, "_vramscope_pair() {\n    _values 'toggle'");
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        struct vs_text words = {NULL, 0, 0};

        page_toggle_words(i, &words);
        vs_text_addf(out, " \\\n        '%s[", toggle_name(i));
        zsh_add(out, vs_toggle_info((enum vs_toggle)i)->help);
        vs_text_addf(out, "]:value:(%s)'", vs_text_get(&words));
        vs_text_release(&words);
    }
    vs_text_add(out, "\n}\n\n");
}

void page_zsh(struct vs_text *out)
{
    vs_text_add(out, "#compdef vramscope\n# Completion of vramscope in zsh.\n" MADE "\n");
    zsh_pair(out);
    vs_text_add(out, "_vramscope() {\n    local -a commands toggles\n    commands=(\n");
    for (size_t i = 0; cli_cmd_at(i); i++) {
        vs_text_addf(out, "        '%s:", cli_cmd_at(i)->name);
        zsh_add(out, cli_cmd_at(i)->summary);
        vs_text_add(out, "'\n");
    }
    vs_text_add(out, "    )\n    toggles=(\n");
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        zsh_toggle(out, i);
    vs_text_add(out, "    )\n"
                     "    if ((CURRENT == 2)); then\n"
                     "        _describe command commands\n"
                     "        return\n"
                     "    fi\n"
                     "    shift words\n    ((CURRENT--))\n"
                     "    case $words[1] in\n");
    for (size_t i = 0; cli_cmd_at(i); i++) {
        const struct cli_cmd *cmd = cli_cmd_at(i);

        vs_text_addf(out, "    %s)\n        _arguments \\\n", cmd->name);
        for (const struct cli_option *o = cmd->options; o->name; o++)
            zsh_option(out, o);
        vs_text_addf(
            out, "            '(-h --help)'{-h,--help}'[what it does and takes]'%s%s\n        ;;\n",
            cmd->toggles ? " \\\n            $toggles" : "",
            cmd->positionals_max ? " \\\n            '*:file:_files'" : "");
    }
    vs_text_add(out, "    esac\n}\n\n_vramscope \"$@\"\n");
}

/* ---- fish ---- */

static void fish_quoted(struct vs_text *out, const char *text)
{
    vs_text_add_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            vs_text_add_char(out, '\\');
        vs_text_add_char(out, *text);
    }
    vs_text_add_char(out, '\'');
}

static void fish_option(struct vs_text *out, const char *cmd, const struct cli_option *o)
{
    vs_text_addf(out, "complete -c vramscope -n '__fish_seen_subcommand_from %s'", cmd);
    if (o->letter)
        vs_text_addf(out, " -s %c", o->letter);
    vs_text_addf(out, " -l %s", o->name);
    if (is_pair(o))
        vs_text_add(out, " -x -a '(__vramscope_pairs)'");
    else if (o->value && page_option_words(o->name))
        vs_text_addf(out, " -x -a '%s'", page_option_words(o->name));
    else if (o->value)
        vs_text_add(out, is_file(o) ? " -r" : " -x");
    vs_text_add(out, " -d ");
    fish_quoted(out, o->help);
    vs_text_add_char(out, '\n');
}

static void fish_toggles(struct vs_text *out, const char *cmd)
{
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        vs_text_addf(out, "complete -c vramscope -n '__fish_seen_subcommand_from %s' -l %s -x -a '",
                     cmd, toggle_name(i));
        page_toggle_words(i, out);
        vs_text_add(out, "' -d ");
        fish_quoted(out, vs_toggle_info((enum vs_toggle)i)->help);
        vs_text_add_char(out, '\n');
    }
}

static void fish_pairs(struct vs_text *out)
{
    vs_text_add(out, "function __vramscope_pairs\n");
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        char value[VS_TOGGLE_VALUE_MAX];
        size_t n = 0;

        vs_text_add(out, "    printf '%s\\n'");
        for (; vs_toggle_choice((enum vs_toggle)i, n, value); n++)
            vs_text_addf(out, " %s=%s", toggle_name(i), value);
        if (!n)
            vs_text_addf(out, " %s=", toggle_name(i));
        vs_text_add_char(out, '\n');
    }
    vs_text_add(out, "end\n\n");
}

void page_fish(struct vs_text *out)
{
    vs_text_add(out, "# Completion of vramscope in fish.\n" MADE "\n");
    fish_pairs(out);
    for (size_t i = 0; cli_cmd_at(i); i++) {
        vs_text_addf(out, "complete -c vramscope -n __fish_use_subcommand -f -a %s -d ",
                     cli_cmd_at(i)->name);
        fish_quoted(out, cli_cmd_at(i)->summary);
        vs_text_add_char(out, '\n');
    }
    for (size_t i = 0; cli_cmd_at(i); i++) {
        const struct cli_cmd *cmd = cli_cmd_at(i);

        for (const struct cli_option *o = cmd->options; o->name; o++)
            fish_option(out, cmd->name, o);
        if (cmd->toggles)
            fish_toggles(out, cmd->name);
    }
    vs_text_add(out, "complete -c vramscope -s h -l help -d 'what it does and takes'\n");
}

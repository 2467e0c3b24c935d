/*
 * cli/args.c - see args.h.
 *
 * Must not know:  what an option means.
 * Invariant:      every parsed option points into the table of its command.
 */
#include "cli/args.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define USAGE_COLUMN 7
#define HELP_COLUMN 28
#define HELP_WIDTH 100

static const struct cli_option *option_by_name(const struct cli_cmd *cmd, const char *name,
                                               size_t len)
{
    for (const struct cli_option *o = cmd->options; o->name; o++)
        if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
            return o;
    return NULL;
}

static const struct cli_option *option_by_letter(const struct cli_cmd *cmd, char letter)
{
    for (const struct cli_option *o = cmd->options; o->name; o++)
        if (o->letter == letter)
            return o;
    return NULL;
}

/* The option or toggle of this command that is most similar to `name`; NULL: none is similar enough. */
static const char *nearest(const struct cli_cmd *cmd, const char *name)
{
    unsigned best = vs_word_distance_limit(name) + 1;
    const char *found = NULL;

    for (const struct cli_option *o = cmd->options; o->name; o++) {
        if (vs_word_distance(name, o->name) < best) {
            best = vs_word_distance(name, o->name);
            found = o->name;
        }
    }
    for (size_t i = 0; cmd->toggles && i < VS_TOGGLE_COUNT; i++) {
        const char *toggle = vs_toggle_info((enum vs_toggle)i)->name;

        if (vs_word_distance(name, toggle) < best) {
            best = vs_word_distance(name, toggle);
            found = toggle;
        }
    }
    return found;
}

static enum vs_status unknown_option(const struct cli_cmd *cmd, const char *arg, const char *name,
                                     struct vs_error *err)
{
    const char *meant = nearest(cmd, name);

    if (cmd->toggles && strcmp(name, "set") == 0) /* as whatif has it */
        return vs_fail(err, VS_E_USAGE,
                       "%s: there is no option %s; each toggle is an option: --batch 4", cmd->name,
                       arg);
    if (meant)
        return vs_fail(err, VS_E_USAGE, "%s: there is no option %s; did you mean --%s?", cmd->name,
                       arg, meant);
    return vs_fail(err, VS_E_USAGE, "%s: there is no option %s; `vramscope %s --help` lists them",
                   cmd->name, arg, cmd->name);
}

static enum vs_status keep(struct cli_args *args, const struct cli_option *option,
                           const char *value, struct vs_error *err)
{
    if (!option->many && cli_args_has(args, option->name))
        return vs_fail(err, VS_E_USAGE, "%s: --%s is given twice", args->cmd->name, option->name);
    args->given = vs_grow(args->given, args->given_count, &args->given_cap, sizeof(*args->given));
    args->given[args->given_count++] = (struct cli_given){option, value};
    return VS_OK;
}

/*
 * `-n VALUE`, `-nVALUE`, or flags, `-f` or several in one, `-fn VALUE`; *i is the argument's number and moves over a
 * value of its own.
 */
static enum vs_status short_options(struct cli_args *args, int argc, char *const *argv, int *i,
                                    struct vs_error *err)
{
    const char *arg = argv[*i];
    enum vs_status st = VS_OK;

    for (const char *at = arg + 1; *at && !st; at++) {
        const struct cli_option *option = option_by_letter(args->cmd, *at);

        if (!option)
            return unknown_option(args->cmd, arg, at, err);
        if (!option->value) {
            st = keep(args, option, NULL, err);
            continue;
        }
        if (at[1])
            return keep(args, option, at + 1, err);
        if (*i + 1 == argc)
            return vs_fail(err, VS_E_USAGE, "%s: -%c needs a value: %s", args->cmd->name, *at,
                           option->value);
        return keep(args, option, argv[++*i], err);
    }
    return st;
}

/* `--name VALUE`, `--name=VALUE` or `--name`, an option or a toggle. */
static enum vs_status long_option(struct cli_args *args, int argc, char *const *argv, int *i,
                                  struct vs_error *err)
{
    const char *name = argv[*i] + 2;
    size_t len = strcspn(name, "=");
    const char *value = name[len] ? name + len + 1 : NULL;
    const struct cli_option *option = option_by_name(args->cmd, name, len);
    char *word = vs_strndup(name, len);
    enum vs_toggle toggle = VS_TOGGLE_COUNT;
    bool is_toggle = args->cmd->toggles && vs_toggle_find(word, &toggle);
    enum vs_status st = VS_OK;

    if (!option && !is_toggle) {
        st = unknown_option(args->cmd, argv[*i], word, err);
        goto out;
    }
    if (option && !option->value) {
        st = value ? vs_fail(err, VS_E_USAGE, "%s: --%s takes no value", args->cmd->name, word)
                   : keep(args, option, NULL, err);
        goto out;
    }
    if (!value && *i + 1 == argc) {
        st = vs_fail(err, VS_E_USAGE, "%s: --%s needs a value", args->cmd->name, word);
        goto out;
    }
    if (!value)
        value = argv[++*i];
    if (option)
        st = keep(args, option, value, err);
    if (!is_toggle || st)
        goto out;
    if (vs_toggles_is_set(&args->toggles, toggle))
        st = vs_fail(err, VS_E_USAGE, "%s: --%s is given twice", args->cmd->name, word);
    else
        st = vs_toggles_set(&args->toggles, toggle, value, err);
out:
    vs_free(word);
    return st;
}

static enum vs_status positional(struct cli_args *args, const char *value, struct vs_error *err)
{
    const struct cli_cmd *cmd = args->cmd;

    if (args->positional_count == cmd->positionals_max)
        return vs_fail(err, VS_E_USAGE, "%s: `%s` is one argument too many; usage: vramscope %s %s",
                       cmd->name, value, cmd->name, cmd->usage);
    args->positionals = vs_grow(args->positionals, args->positional_count, &args->positional_cap,
                                sizeof(*args->positionals));
    args->positionals[args->positional_count++] = value;
    return VS_OK;
}

enum vs_status cli_args_parse(const struct cli_cmd *cmd, int argc, char *const *argv,
                              struct cli_args *out, struct vs_error *err)
{
    enum vs_status st = VS_OK;
    bool only_positionals = false;

    memset(out, 0, sizeof(*out));
    out->cmd = cmd;
    for (int i = 0; i < argc && !st; i++) {
        const char *arg = argv[i];

        if (only_positionals || arg[0] != '-' || !arg[1]) {
            st = positional(out, arg, err);
        } else if (strcmp(arg, "--") == 0 && cmd->takes_command) {
            out->command = &argv[i + 1];
            break;
        } else if (strcmp(arg, "--") == 0) {
            only_positionals = true;
        } else if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            out->wants_help = true;
            return VS_OK;
        } else if (arg[1] == '-') {
            st = long_option(out, argc, argv, &i, err);
        } else {
            st = short_options(out, argc, argv, &i, err);
        }
    }
    if (!st && out->command && !*out->command)
        st = vs_fail(err, VS_E_USAGE, "%s: after -- a program is missing; usage: vramscope %s %s",
                     cmd->name, cmd->name, cmd->usage);
    if (!st && out->positional_count < cmd->positionals_min && !out->command)
        st = vs_fail(err, VS_E_USAGE, "%s: an argument is missing; usage: vramscope %s %s",
                     cmd->name, cmd->name, cmd->usage);
    return st;
}

void cli_args_release(struct cli_args *args)
{
    vs_free(args->positionals);
    vs_free(args->given);
    vs_toggles_release(&args->toggles);
    memset(args, 0, sizeof(*args));
}

bool cli_args_has(const struct cli_args *args, const char *name)
{
    for (size_t i = 0; i < args->given_count; i++)
        if (strcmp(args->given[i].option->name, name) == 0)
            return true;
    return false;
}

const char *cli_args_value_at(const struct cli_args *args, const char *name, size_t i)
{
    for (size_t k = 0; k < args->given_count; k++)
        if (strcmp(args->given[k].option->name, name) == 0 && i-- == 0)
            return args->given[k].value;
    return NULL;
}

const char *cli_args_value(const struct cli_args *args, const char *name)
{
    return cli_args_value_at(args, name, 0);
}

static void add_wrapped(struct vs_text *out, const char *text)
{
    vs_text_add_words(out, text, strlen(text), HELP_COLUMN, HELP_COLUMN, HELP_WIDTH);
    vs_text_add_char(out, '\n');
}

/* The column at which the second part of an indented line "  name   text" begins; 0: it has one part only. */
static size_t second_part(const char *line, size_t len)
{
    size_t at = strspn(line, " ");

    while (at + 2 < len && !(line[at] == ' ' && line[at + 1] == ' '))
        at++;
    if (at + 2 >= len)
        return 0;
    return at + strspn(line + at, " ");
}

/* Paragraphs are filled. Lines that begin with a blank are examples, or rows of two columns. */
static void add_help(struct vs_text *out, const char *help)
{
    while (*help) {
        size_t len = strcspn(help, "\n");

        if (*help == ' ') {
            size_t column = second_part(help, len);

            vs_text_add_n(out, help, column ? column : len);
            if (column)
                vs_text_add_words(out, help + column, len - column, column, column, HELP_WIDTH);
            vs_text_add_char(out, '\n');
        } else if (!len) {
            vs_text_add_char(out, '\n');
        } else {
            while (help[len] && help[len + 1] && help[len + 1] != ' ' && help[len + 1] != '\n')
                len += 1 + strcspn(help + len + 1, "\n");
            vs_text_add_words(out, help, len, 0, 0, HELP_WIDTH);
            vs_text_add_char(out, '\n');
        }
        help += len + (help[len] == '\n');
    }
}

/* Append "  -o, --out FILE", padded to the column of the help text. */
static void add_option(struct vs_text *out, char letter, const char *name, const char *value)
{
    size_t start = out->len;

    if (letter)
        vs_text_addf(out, "  -%c, --%s", letter, name);
    else
        vs_text_addf(out, "      --%s", name);
    if (value)
        vs_text_addf(out, " %s", value);
    if (out->len - start >= HELP_COLUMN) {
        vs_text_add_char(out, '\n');
        start = out->len;
    }
    vs_text_add_fill(out, ' ', (int)(HELP_COLUMN - (out->len - start)));
}

enum vs_status cli_args_count(const struct cli_args *args, const char *name, size_t initial,
                              size_t max, size_t *out, struct vs_error *err)
{
    const char *text = cli_args_value(args, name);
    char *end;
    long n;

    *out = initial;
    if (!text)
        return VS_OK;
    n = strtol(text, &end, 10);
    if (!*text || *end || n < 0 || (size_t)n > max)
        return vs_fail(err, VS_E_USAGE, "%s: --%s cannot be `%s`; give a number from 0 to %zu",
                       args->cmd->name, name, text, max);
    *out = (size_t)n;
    return VS_OK;
}

void cli_args_help(const struct cli_cmd *cmd, struct vs_text *out)
{
    vs_text_addf(out, "usage: vramscope %s ", cmd->name);
    vs_text_add_words(out, cmd->usage, strlen(cmd->usage), out->len, USAGE_COLUMN, HELP_WIDTH);
    vs_text_addf(out, "\n\n%s.\n", cmd->summary);
    if (cmd->help) {
        vs_text_add_char(out, '\n');
        add_help(out, cmd->help);
    }
    vs_text_add(out, "\noptions:\n");
    for (const struct cli_option *o = cmd->options; o->name; o++) {
        add_option(out, o->letter, o->name, o->value);
        add_wrapped(out, o->help);
    }
    add_option(out, 'h', "help", NULL);
    add_wrapped(out, "this text");
    if (!cmd->toggles)
        return;
    vs_text_add(out,
                "\ntoggles, how the net is trained (`vramscope toggles` says what each costs):\n");
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        const struct vs_toggle_info *info = vs_toggle_info((enum vs_toggle)i);
        struct vs_text line = {NULL, 0, 0};
        char legal[VS_TOGGLE_LEGAL_MAX];

        add_option(out, 0, info->name, "VALUE");
        vs_text_addf(&line, "%s: %s (default %s)", info->help,
                     vs_toggle_legal_text((enum vs_toggle)i, legal), info->initial);
        add_wrapped(out, vs_text_get(&line));
        vs_text_release(&line);
    }
}

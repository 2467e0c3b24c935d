/*
 * cli/args.h - the arguments of a command, from a table of options.
 *
 * For:            the commands and main.c.
 * Must not know:  what an option means. Toggles are known by their table alone.
 * Invariant:      what is not in the table is refused, with the nearest thing that is.
 */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/text.h"
#include "base/toggle.h"

/*
 * letter  short form, 0: none
 * value   what its value is called in help ("FILE"); NULL: it takes none
 * many    it may be given more than once
 */
struct cli_option {
    const char *name;
    char letter;
    const char *value;
    bool many;
    const char *help;
};

/*
 * name, usage   "report", "TRACE [--json]"
 * summary       one line for the list of commands
 * help          more lines for --help, or NULL; ends with a newline
 * options       ended by one without a name
 * positionals   how many other arguments it takes
 * toggles       each toggle is an option: --batch 32
 * takes_command after a lone -- comes another program's command line, which is kept as it is, and stands for the other arguments
 * run           returns the exit status: 0 done, 1 failed, 2 wrong usage
 */
struct cli_args;
struct cli_cmd {
    const char *name;
    const char *usage;
    const char *summary;
    const char *help;
    const struct cli_option *options;
    unsigned positionals_min;
    unsigned positionals_max;
    bool toggles;
    bool takes_command;
    int (*run)(const struct cli_args *args);
};

struct cli_given {
    const struct cli_option *option;
    const char *value; /* NULL where it takes none */
};

/*
 * cmd          the command
 * positionals  positional_count of them, borrowed from argv
 * command      what stands after a lone --, of a command that takes one; NULL-ended, borrowed from argv; NULL where there is no --
 * given        options in the order they were given
 * toggles      what --TOGGLE options set
 * wants_help   --help or -h was among them; the rest is then not complete
 */
struct cli_args {
    const struct cli_cmd *cmd;
    const char **positionals;
    size_t positional_count;
    size_t positional_cap;
    char *const *command;
    struct cli_given *given;
    size_t given_count;
    size_t given_cap;
    struct vs_toggles toggles;
    bool wants_help;
};

/*
 * Read argv[0 … argc - 1], the arguments after the command's name; argv[argc] is NULL. Accepted: --name VALUE, --name=VALUE, -n VALUE,
 * -nVALUE; after a lone -- everything is positional, or of another program (takes_command). Release `out` also after a failure.
 *
 * VS_E_USAGE, VS_E_VALUE, VS_E_NOT_FOUND: wrong arguments; the text says which and what is right.
 */
VS_MUST_USE enum vs_status cli_args_parse(const struct cli_cmd *cmd, int argc, char *const *argv,
                                          struct cli_args *out, struct vs_error *err);
void cli_args_release(struct cli_args *args);

bool cli_args_has(const struct cli_args *args, const char *name);
/* The last value given for an option, or NULL. */
const char *cli_args_value(const struct cli_args *args, const char *name);
/* Value number `i` (from 0) given for an option that may come more than once; NULL past the end. */
const char *cli_args_value_at(const struct cli_args *args, const char *name, size_t i);

/*
 * A count given for an option: *out is `initial` where it was not given. VS_E_USAGE: it is not a number from 0 to `max`.
 */
VS_MUST_USE enum vs_status cli_args_count(const struct cli_args *args, const char *name,
                                          size_t initial, size_t max, size_t *out,
                                          struct vs_error *err);

/* The text of --help. */
void cli_args_help(const struct cli_cmd *cmd, struct vs_text *out);

#endif

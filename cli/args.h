/*
 * cli/args.h - parses the arguments of a command by its table of options.
 *
 * For:            the commands and main.c.
 * Must not know:  what an option means. Toggles are accepted as base/toggle.def lists them.
 * Invariant:      an argument that is not in the table is refused; the message offers the nearest name that is.
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
 * One option of a command.
 *
 * letter  the short form; 0: none
 * value   placeholder for its value in the help text ("FILE"); NULL: the option takes no value
 * many    the option may be given more than once
 */
struct cli_option {
    const char *name;
    char letter;
    const char *value;
    bool many;
    const char *help;
};

/*
 * A command.
 *
 * name, usage   for example "report", "TRACE [--json]"
 * summary       one line for the list of commands
 * help          further lines for --help, ending with a newline; NULL: none
 * options       the last element has the name NULL
 * positionals_min, positionals_max  number of arguments that are not options
 * toggles       each toggle is also an option: --batch 32. An option may have the name of a toggle: its value is both
 * takes_command the arguments after `--` are the command line of another program; they are not parsed, and
 *               positionals_min does not apply then
 * run           runs the command and returns the exit status: 0 success, 1 failure, 2 wrong usage
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
    const char *value; /* NULL: the option takes no value */
};

/*
 * The parsed arguments.
 *
 * cmd          the command; borrowed
 * positionals  positional_count arguments that are not options, borrowed from argv
 * command      the arguments after `--` if the command takes a command line; NULL-terminated, borrowed from argv;
 *              NULL: there was no `--`
 * given        the options in the order in which they were given
 * toggles      the values set by --TOGGLE options
 * wants_help   --help or -h was given; the other fields are then incomplete
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
 * Parse argv[0 … argc - 1], the arguments after the command's name; argv[argc] must be NULL. Accepted forms: --name
 * VALUE, --name=VALUE, -n VALUE and -nVALUE. After `--` every argument is positional, or belongs to the other program
 * (takes_command). The result borrows from `cmd` and argv. Call cli_args_release on `out` after a failure, too.
 *
 * VS_E_USAGE, VS_E_VALUE, VS_E_NOT_FOUND: an argument is wrong; the message names it and says what is expected.
 */
VS_MUST_USE enum vs_status cli_args_parse(const struct cli_cmd *cmd, int argc, char *const *argv,
                                          struct cli_args *out, struct vs_error *err);
void cli_args_release(struct cli_args *args);

/* Was the option called `name` given? */
bool cli_args_has(const struct cli_args *args, const char *name);
/* The last value given for the option `name`; NULL: not given. */
const char *cli_args_value(const struct cli_args *args, const char *name);
/* Value number `i` (from 0) of the option `name`, which may be given more than once; NULL past the end. */
const char *cli_args_value_at(const struct cli_args *args, const char *name, size_t i);

/*
 * Parse the value of the option `name` as a count; *out is `initial` if the option was not given.
 *
 * VS_E_USAGE: the value is not a number from 0 to `max`.
 */
VS_MUST_USE enum vs_status cli_args_count(const struct cli_args *args, const char *name,
                                          size_t initial, size_t max, size_t *out,
                                          struct vs_error *err);

/* Append the text of --help to `out`. */
void cli_args_help(const struct cli_cmd *cmd, struct vs_text *out);

#endif

/*
 * tests/fuzz/fuzz_arguments.c - any words are the arguments of any command: they are parsed, or refused with one
 * message. The command does not run.
 *
 * Input: a byte that says which command; then words, each ended by a zero or a line's end.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/args.h"
#include "cli/cmds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS_MAX 64

static void check(bool is_so)
{
    if (!is_so)
        abort();
}

/* Every option that was given is one of the command's, and has a value where it takes one. */
static void args_check(const struct cli_args *args)
{
    for (size_t i = 0; i < args->given_count; i++) {
        const struct cli_given *given = &args->given[i];

        check((given->value != NULL) == (given->option->value != NULL));
        check(cli_args_has(args, given->option->name));
        check(!given->value || cli_args_value_at(args, given->option->name, 0) != NULL);
    }
    if (!args->wants_help)
        check(args->positional_count <= args->cmd->positionals_max || args->command);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vs_error err = VS_ERROR_INIT;
    const struct cli_cmd *cmd;
    struct cli_args args;
    char *words[WORDS_MAX + 1];
    size_t commands = 0;
    int count = 0;
    char *text;

    if (size < 1)
        return 0;
    while (cli_cmd_at(commands))
        commands++;
    cmd = cli_cmd_at(data[0] % commands);
    text = vs_alloc(size);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    for (char *at = text; at < text + size - 1 && count < WORDS_MAX; at += strlen(at) + 1) {
        at[strcspn(at, "\n")] = '\0';
        words[count++] = at;
    }
    words[count] = NULL;
    if (cli_args_parse(cmd, count, words, &args, &err))
        check(err.text[0] != '\0' && !strchr(err.text, '\n'));
    else
        args_check(&args);
    cli_args_release(&args);
    (void)cli_cmd_nearest(text);
    vs_free(text);
    return 0;
}

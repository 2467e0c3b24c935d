/*
 * cli/main.c - finds the command and runs it.
 *
 * For:            the user.
 * Must not know:  what a command does.
 * Invariant:      the exit status is 0 on success, 1 on failure, 2 if the arguments are wrong.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/cmds.h"
#include "cli/version.h"
#include "engine/device/cpu/cpu_level.h"

static void usage_add(struct vs_text *out)
{
    vs_text_add(out,
                "usage: vramscope COMMAND …\n\n"
                "Shows where a network's training memory goes, byte by byte and line by line.\n\n"
                "commands:\n");
    for (size_t i = 0; cli_cmd_at(i); i++)
        vs_text_addf(out, "  %-9s %s\n", cli_cmd_at(i)->name, cli_cmd_at(i)->summary);
    vs_text_add(
        out, "\n`vramscope COMMAND --help` describes one of them; `vramscope --version` prints the "
             "version.\n");
}

static int usage(int status)
{
    struct vs_text text = {NULL, 0, 0};

    usage_add(&text);
    if (status)
        fputs(vs_text_get(&text), stderr);
    else
        status = cli_print(&text);
    vs_text_release(&text);
    return status;
}

static int unknown_command(const char *name)
{
    const struct cli_cmd *meant = cli_cmd_nearest(name);

    if (meant)
        fprintf(stderr, "vramscope: there is no command `%s`; did you mean `%s`?\n", name,
                meant->name);
    else
        fprintf(stderr, "vramscope: there is no command `%s`; `vramscope --help` lists them\n",
                name);
    return 2;
}

/* `vramscope help report` is `vramscope report --help`. */
static int help(const char *name)
{
    const struct cli_cmd *cmd = cli_cmd_find(name);
    struct vs_text text = {NULL, 0, 0};
    int status;

    if (!cmd)
        return unknown_command(name);
    cli_args_help(cmd, &text);
    status = cli_print(&text);
    vs_text_release(&text);
    return status;
}

static int command_run(const struct cli_cmd *cmd, int argc, char *const *argv)
{
    struct vs_error err = VS_ERROR_INIT;
    struct cli_args args;
    int status;

    if (cli_args_parse(cmd, argc, argv, &args, &err)) {
        cli_fail(&err);
        status = 2;
    } else if (args.wants_help) {
        status = help(cmd->name);
    } else {
        status = cmd->run(&args);
    }
    cli_args_release(&args);
    return status;
}

/* VRAMSCOPE_CPU names an instruction set, or is not set. Prints a warning if this processor lacks it. */
static bool is_cpu_known(const char *wanted, struct vs_error *err)
{
    enum cpu_level level;

    if (!wanted)
        return true;
    if (cpu_level_read(wanted, &level, err))
        return false;
    if (strcmp(wanted, cpu_level_name(level)) != 0)
        fprintf(stderr, "vramscope: VRAMSCOPE_CPU is %s, which this processor lacks: %s is used\n",
                wanted, cpu_level_name(level));
    return true;
}

int main(int argc, char **argv)
{
    struct vs_error err = VS_ERROR_INIT;
    const struct cli_cmd *cmd;
    int status;

    if (argc < 2)
        exit(usage(2));
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        (strcmp(argv[1], "help") == 0 && argc == 2))
        exit(usage(0));
    if (strcmp(argv[1], "help") == 0)
        exit(help(argv[2]));
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        puts("vramscope " CLI_VERSION);
        exit(0);
    }
    cmd = cli_cmd_find(argv[1]);
    if (!cmd)
        exit(unknown_command(argv[1]));
    if (!is_cpu_known(getenv("VRAMSCOPE_CPU"), &err)) {
        cli_fail(&err);
        exit(2);
    }
    if (vs_log_open(getenv("VRAMSCOPE_DEBUG"), getenv("VRAMSCOPE_LOG"), &err)) {
        cli_fail(&err);
        exit(2);
    }
    status = command_run(cmd, argc - 2, argv + 2);
    vs_log_close();
    exit(status);
}

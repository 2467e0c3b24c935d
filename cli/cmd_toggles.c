/*
 * cli/cmd_toggles.c - prints the table of toggles.
 *
 * For:            `vramscope toggles`.
 * Must not know:  what a toggle does other than by its row.
 * Invariant:      everything said comes from base/toggle.def.
 */
#include "base/json.h"
#include "cli/cmds.h"

static const struct cli_option OPTIONS[] = {
    {"json", 0, NULL, false, "print JSON"},
    {NULL, 0, NULL, false, NULL},
};

static void print_json(struct vs_text *out)
{
    struct vs_json json;

    vs_json_init(&json, out);
    vs_json_array(&json);
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        const struct vs_toggle_info *info = vs_toggle_info((enum vs_toggle)i);
        char legal[VS_TOGGLE_LEGAL_MAX];

        vs_json_object(&json);
        vs_json_put_string(&json, "name", info->name);
        vs_json_put_string(&json, "legal", vs_toggle_legal_text((enum vs_toggle)i, legal));
        vs_json_put_string(&json, "default", info->initial);
        vs_json_put_string(&json, "does", info->help);
        vs_json_put_string(&json, "costs", info->cost);
        vs_json_put_bool(&json, "same_result", (info->flags & VS_TOGGLE_SAME) != 0);
        vs_json_end(&json);
    }
    vs_json_end(&json);
}

static void print_text(struct vs_text *out)
{
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        const struct vs_toggle_info *info = vs_toggle_info((enum vs_toggle)i);
        char legal[VS_TOGGLE_LEGAL_MAX];

        vs_text_addf(
            out, "%s%s = %s (default %s)\n    %s\n    costs: %s%s\n", i ? "\n" : "", info->name,
            vs_toggle_legal_text((enum vs_toggle)i, legal), info->initial, info->help, info->cost,
            info->flags & VS_TOGGLE_SAME ? "\n    losses and gradients stay the same, bit by bit"
                                         : "");
    }
}

static int run(const struct cli_args *args)
{
    struct vs_text text = {NULL, 0, 0};
    int status;

    if (cli_args_has(args, "json"))
        print_json(&text);
    else
        print_text(&text);
    status = cli_print(&text);
    vs_text_release(&text);
    return status;
}

const struct cli_cmd cli_cmd_toggles = {
    .name = "toggles",
    .usage = "[--json]",
    .summary = "List the toggles: ways to train that change memory, and what each costs",
    .options = OPTIONS,
    .run = run,
};

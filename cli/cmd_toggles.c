/*
 * cli/cmd_toggles.c - prints the table of toggles.
 *
 * For:            `vramscope toggles`.
 * Must not know:  what a toggle does other than by its row.
 * Invariant:      everything said comes from base/toggle.def, base/target.def and the settings that engine/alloc/conf.h knows.
 */
#include "base/bytes.h"
#include "base/json.h"
#include "base/target.h"
#include "cli/cmds.h"
#include "engine/alloc/conf.h"

static const struct cli_option OPTIONS[] = {
    {"json", 0, NULL, false, "print JSON"},
    {NULL, 0, NULL, false, NULL},
};

/* What the two toggles whose values are no short list take: settings of the allocator, GPUs. */
static void settings_json(struct vs_json *json)
{
    vs_json_key(json, "settings");
    vs_json_array(json);
    for (unsigned i = 0; eng_alloc_conf_key_get(i); i++) {
        const struct eng_alloc_conf_key *key = eng_alloc_conf_key_get(i);

        vs_json_object(json);
        vs_json_put_string(json, "name", key->name);
        vs_json_put_string(json, "legal", key->legal);
        vs_json_put_string(json, "does", key->text);
        vs_json_end(json);
    }
    vs_json_end(json);
}

static void targets_json(struct vs_json *json)
{
    vs_json_key(json, "gpus");
    vs_json_array(json);
    for (size_t i = 0; vs_target_at(i); i++) {
        vs_json_object(json);
        vs_json_put_string(json, "name", vs_target_at(i)->name);
        vs_json_put_string(json, "title", vs_target_at(i)->title);
        vs_json_put_uint(json, "capacity", vs_target_at(i)->capacity_bytes);
        vs_json_end(json);
    }
    vs_json_end(json);
}

static void add_settings(struct vs_text *out)
{
    for (unsigned i = 0; eng_alloc_conf_key_get(i); i++) {
        const struct eng_alloc_conf_key *key = eng_alloc_conf_key_get(i);

        vs_text_addf(out, "      %s: %s\n        %s\n", key->name, key->legal, key->text);
    }
}

static void add_targets(struct vs_text *out)
{
    char buf[VS_BYTES_TEXT_MAX];

    for (size_t i = 0; vs_target_at(i); i++)
        vs_text_addf(out, "      %-12s %10s  %s\n", vs_target_at(i)->name,
                     vs_bytes_text(vs_target_at(i)->capacity_bytes, buf), vs_target_at(i)->title);
}

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
        if (i == VS_TOGGLE_ALLOC_CONF)
            settings_json(&json);
        else if (i == VS_TOGGLE_TARGET)
            targets_json(&json);
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
        if (i == VS_TOGGLE_ALLOC_CONF)
            add_settings(out);
        else if (i == VS_TOGGLE_TARGET)
            add_targets(out);
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

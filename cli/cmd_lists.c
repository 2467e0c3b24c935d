/*
 * cli/cmd_lists.c - `ops` and `toggles`: print the tables of ops and of toggles.
 *
 * Must not know:  more about an op or a toggle than its table row says.
 * Invariant:      everything printed comes from engine/core/op.def, base/toggle.def, the table of targets and the
 *                 settings that engine/alloc/conf.h lists.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/target.h"
#include "cli/cmds.h"
#include "engine/alloc/conf.h"
#include "engine/core/op.h"

static const struct cli_option OPTIONS[] = {
    {"json", 0, NULL, false, "print JSON"},
    {NULL, 0, NULL, false, NULL},
};

/* Prints what `json` or, without --json, `text` writes. */
static int print(const struct cli_args *args, void (*json)(struct vs_text *out),
                 void (*text)(struct vs_text *out))
{
    struct vs_text out = {NULL, 0, 0};
    int status;

    if (cli_args_has(args, "json"))
        json(&out);
    else
        text(&out);
    status = cli_print(&out);
    vs_text_release(&out);
    return status;
}

/* ---- ops ---- */

static const char *const KINDS[] = {
    [ENG_LEAF] = "op",
    [ENG_VIEW] = "view",
    [ENG_COMPOSITE] = "composite",
    [ENG_NODIFF] = "no derivative",
};

static const char *const AUTOCASTS[] = {
    [ENG_AC_NONE] = "",          [ENG_AC_LOW] = "lower",
    [ENG_AC_FP32] = "float32",   [ENG_AC_FP32_OUT] = "float32 result",
    [ENG_AC_PROMOTE] = "widest", [ENG_AC_REFUSED] = "refused",
};

/* Ops without a name in torch, F or Tensor are called by the prelude only. */
static bool is_public(const struct eng_op *op)
{
    return strpbrk(op->where, "TFM") != NULL;
}

/* The names by which a net file may call the op, between commas. */
static void add_names(const struct eng_op *op, struct vs_text *out)
{
    size_t len = strcspn(op->name, ".");
    const char *before = "";

    if (strchr(op->where, 'T')) {
        vs_text_addf(out, "torch.%.*s", (int)len, op->name);
        before = ", ";
    }
    if (strchr(op->where, 'F')) {
        vs_text_addf(out, "%sF.%.*s", before, (int)len, op->name);
        before = ", ";
    }
    if (strchr(op->where, 'M'))
        vs_text_addf(out, "%sTensor.%.*s", before, (int)len, op->name);
    if (strchr(op->where, 'I'))
        vs_text_addf(out, ", in place %.*s_", (int)len, op->name);
}

static void ops_json(struct vs_text *out)
{
    struct vs_json json;
    struct vs_text names = {NULL, 0, 0};

    vs_json_init(&json, out);
    vs_json_array(&json);
    for (int i = 0; i < ENG_OP_COUNT; i++) {
        const struct eng_op *op = eng_op_get((enum eng_op_id)i);

        if (!is_public(op))
            continue;
        vs_text_clear(&names);
        add_names(op, &names);
        vs_json_object(&json);
        vs_json_put_string(&json, "name", op->name);
        vs_json_put_string(&json, "called", vs_text_get(&names));
        vs_json_put_string(&json, "signature", op->signature);
        vs_json_put_string(&json, "kind", KINDS[op->kind]);
        vs_json_put_string(&json, "autocast", AUTOCASTS[op->autocast]);
        vs_json_put_string(&json, "node", op->node);
        vs_json_put_string(&json, "saves", op->saves);
        vs_json_end(&json);
    }
    vs_json_end(&json);
    vs_text_release(&names);
}

static void ops_text(struct vs_text *out)
{
    for (int i = 0; i < ENG_OP_COUNT; i++) {
        const struct eng_op *op = eng_op_get((enum eng_op_id)i);

        if (!is_public(op))
            continue;
        vs_text_addf(out, "%s%s\n    ", op->name, op->signature);
        add_names(op, out);
        if (op->kind != ENG_LEAF)
            vs_text_addf(out, "; %s", KINDS[op->kind]);
        if (op->saves && *op->saves)
            vs_text_addf(out, "; saves %s", op->saves);
        if (op->autocast != ENG_AC_NONE)
            vs_text_addf(out, "; autocast: %s", AUTOCASTS[op->autocast]);
        vs_text_add_char(out, '\n');
    }
}

static int ops_run(const struct cli_args *args)
{
    return print(args, ops_json, ops_text);
}

const struct cli_cmd cli_cmd_ops = {
    .name = "ops",
    .usage = "[--json]",
    .summary = "List the ops a net file may use, and what autograd saves for each",
    .options = OPTIONS,
    .run = ops_run,
};

/* ---- toggles ---- */

/* The values of `alloc-conf` and `target` are too many for the column of legal values: they are listed below it. */
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

static void toggles_json(struct vs_text *out)
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

static void toggles_text(struct vs_text *out)
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

static int toggles_run(const struct cli_args *args)
{
    return print(args, toggles_json, toggles_text);
}

const struct cli_cmd cli_cmd_toggles = {
    .name = "toggles",
    .usage = "[--json]",
    .summary = "List the toggles: ways to train that change memory, and what each costs",
    .options = OPTIONS,
    .run = toggles_run,
};

/*
 * cli/cmd_ops.c - prints the table of ops.
 *
 * For:            `vramscope ops`.
 * Must not know:  what an op does other than by its row.
 * Invariant:      everything said comes from engine/core/op.def.
 */
#include <string.h>

#include "base/json.h"
#include "cli/cmds.h"
#include "engine/core/op.h"

static const struct cli_option OPTIONS[] = {
    {"json", 0, NULL, false, "print JSON"},
    {NULL, 0, NULL, false, NULL},
};

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

/* Rows that only other rows and the library use are not for net files. */
static bool is_public(const struct eng_op *op)
{
    return strpbrk(op->where, "TFM") != NULL;
}

/* The names a net file may call it by. */
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

static void print_json(struct vs_text *out)
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

static void print_text(struct vs_text *out)
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

const struct cli_cmd cli_cmd_ops = {
    .name = "ops",
    .usage = "[--json]",
    .summary = "List the ops a net file may use, and what autograd saves for each",
    .options = OPTIONS,
    .run = run,
};

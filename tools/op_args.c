/*
 * tools/op_args.c - prints engine/core/op_args.h, the names of ops' arguments and saved tensors; run once, during the
 * build.
 *
 * For:            the functions of ops, which use `eng_c_float(c, ARG_batch_norm_eps)` instead of `eng_c_float(c, 7)`.
 * Must not know:  the meaning of ops.
 * Invariant:      names and indices come from engine/core/op.def through the parser that the engine uses
 *                 (engine/ops/signature.c). A name that a function can use has the same index in all rows that use the
 *                 function.
 *
 * There are two kinds of names. Names of a row: ARG_ID_ARGUMENT, SAVED_ID_SAVED. A row that uses a function named after
 * another row must have all arguments of that row at the same indices; otherwise this program and the build fail. Names
 * of a function that is not named after a row (eng_f_unary): ARG_unary_input, for the arguments that all its rows have
 * at the same index. Arguments that only some of its rows have are read by the name of the row, after checking the
 * call's id.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "engine/core/engine_internal.h"
#include "engine/ops/signature.h"

/* What is read of a row. */
static const struct {
    const char *id;
    struct eng_op op;
    const char *forward, *backward; /* the functions' names; "NO": none */
} ROWS[ENG_OP_COUNT] = {
/* clang-format off */
#define OP(id, title, params, where_, kind_, autocast_, node_, kept, forward_fn, backward_fn) \
    {#id, {.name = title, .signature = params, .saves = kept}, #forward_fn, #backward_fn},
#include "engine/core/op.def"
#undef OP
    /* clang-format on */
};

/* The signatures' reader asks for rows; the engine's table has functions in it, which are made after this program. */
const struct eng_op *eng_op_get(enum eng_op_id id)
{
    return &ROWS[id].op;
}

/* Names and their positions: a row's arguments or saved tensors, or what several rows have in common. */
struct names {
    const char *of;
    int count;
    struct {
        const char *name;
        int position;
    } items[ENG_MAX_ARGS];
};

static struct names args_of(const struct eng_signature *sig, const char *of)
{
    struct names args = {.of = of, .count = sig->count};

    for (int i = 0; i < sig->count; i++) {
        args.items[i].name = sig->params[i].name;
        args.items[i].position = i;
    }
    return args;
}

static struct names saves_of(const struct eng_signature *sig, const char *of)
{
    static const char *const RESULTS[] = {"result",  "result1", "result2",
                                          "result3", "result4", "result5"};
    struct names saves = {.of = of, .count = sig->save_count};

    for (int i = 0; i < sig->save_count; i++) {
        int source = sig->saves[i].source;

        if (source >= 0 && sig->params[source].type == ENG_P_TENSORS && i + 1 < sig->save_count)
            vs_die("op.def: %s saves a list, and what is saved after it has no fixed place", of);
        VS_ASSERT(-1 - source < (int)(sizeof(RESULTS) / sizeof(RESULTS[0])));
        saves.items[i].name = source < 0 ? RESULTS[-1 - source] : sig->params[source].name;
        saves.items[i].position = i;
    }
    return saves;
}

static bool has(const struct names *names, const char *name, int position)
{
    for (int i = 0; i < names->count; i++) {
        if (names->items[i].position == position && !strcmp(names->items[i].name, name))
            return true;
    }
    return false;
}

/* Leaves in `common` what `other` has at the same place. */
static void intersect(struct names *common, const struct names *other)
{
    int count = 0;

    for (int i = 0; i < common->count; i++) {
        if (has(other, common->items[i].name, common->items[i].position))
            common->items[count++] = common->items[i];
    }
    common->count = count;
}

static void names_print(const struct names *names, const char *prefix)
{
    if (!names->count) /* C has no enum without members */
        return;
    printf("enum {\n");
    for (int i = 0; i < names->count; i++)
        printf("    %s_%s_%s = %d,\n", prefix, names->of, names->items[i].name,
               names->items[i].position);
    printf("};\n");
}

/* NAME of eng_f_NAME or eng_b_NAME; "" where there is no function. */
static const char *name_of(const char *function)
{
    return strcmp(function, "NO") != 0 ? function + strlen("eng_f_") : "";
}

/* The row whose id is `id`; -1: none. */
static int row_find(const char *id)
{
    for (int i = 0; i < ENG_OP_COUNT; i++) {
        if (!strcmp(ROWS[i].id, id))
            return i;
    }
    return -1;
}

/* A function named after another row reads by that row's names: this row must have them at the same positions. */
static void check_borrowed(const struct eng_signature *signatures, int row, const char *function,
                           bool is_backward)
{
    int owner = row_find(name_of(function));
    struct names args, saves, own_args, own_saves;

    if (owner < 0 || owner == row)
        return;
    if (strcmp(function, is_backward ? ROWS[owner].backward : ROWS[owner].forward) != 0)
        vs_die("op.def: %s has the name of a row that does not use it: give it the name of %s",
               function, ROWS[row].id);
    args = args_of(&signatures[owner], "");
    saves = saves_of(&signatures[owner], "");
    own_args = args_of(&signatures[row], "");
    own_saves = saves_of(&signatures[row], "");
    intersect(&own_args, &args);
    intersect(&own_saves, &saves);
    if (own_args.count != args.count || (is_backward && own_saves.count != saves.count))
        vs_die("op.def: %s reads what %s has, and %s has not all of it at the same positions: give "
               "the function a name that is no row's",
               function, ROWS[owner].id, ROWS[row].id);
}

static void row_print(const struct eng_signature *signatures, int row)
{
    struct names args = args_of(&signatures[row], ROWS[row].id);
    struct names saves = saves_of(&signatures[row], ROWS[row].id);

    check_borrowed(signatures, row, ROWS[row].forward, false);
    check_borrowed(signatures, row, ROWS[row].backward, true);
    printf("\n");
    names_print(&args, "ARG");
    names_print(&saves, "SAVED");
}

/* For eng_f_NAME and eng_b_NAME, NAME being no row's id: what all their rows share. Once, at the first such row. */
static void family_print(const struct eng_signature *signatures, int row, const char *name)
{
    struct names args = args_of(&signatures[row], name), saves = {.of = name};
    bool has_saves = false;

    if (!*name || row_find(name) >= 0)
        return;
    for (int i = 0; i < ENG_OP_COUNT; i++) {
        bool forward = !strcmp(name_of(ROWS[i].forward), name);
        bool backward = !strcmp(name_of(ROWS[i].backward), name);
        struct names row_args = args_of(&signatures[i], name);
        struct names row_saves = saves_of(&signatures[i], name);

        if ((forward || backward) && i < row)
            return;
        if (forward || backward)
            intersect(&args, &row_args);
        if (backward && has_saves)
            intersect(&saves, &row_saves);
        else if (backward)
            saves = row_saves;
        has_saves = has_saves || backward;
    }
    printf("\n/* of all rows of eng_f_%s and eng_b_%s */\n", name, name);
    names_print(&args, "ARG");
    names_print(&saves, "SAVED");
}

int main(void)
{
    struct eng_signature *signatures = eng_signatures_new();

    printf("/* engine/core/op_args.h - the positions of ops' arguments and saved tensors by name: "
           "made from "
           "engine/core/op.def by tools/op_args.c. */\n"
           "#ifndef ENG_OP_ARGS_H\n#define ENG_OP_ARGS_H\n");
    for (int i = 0; i < ENG_OP_COUNT; i++)
        row_print(signatures, i);
    for (int i = 0; i < ENG_OP_COUNT; i++) {
        const char *forward = name_of(ROWS[i].forward), *backward = name_of(ROWS[i].backward);

        family_print(signatures, i, forward);
        if (strcmp(forward, backward) != 0)
            family_print(signatures, i, backward);
    }
    printf("\n#endif\n");
    eng_signatures_free(signatures);
    return 0;
}

/*
 * tests/engine/core/test_op_devices.c - calls with tensors on the host and on the device are refused where PyTorch
 * refuses them, and done where it does them.
 *
 * Figures: tests/golden/oracle/op_devices.txt, made by tests/oracle/op_devices.py (PyTorch 2.15) from the rows of
 * op_cases.def; its header describes the lines.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/engine/op_case.h"
#include "tests/engine/rig.h"
#include "tests/page_count.h"

#define GOLDEN "tests/golden/oracle/op_devices.txt"
#define LINE_MAX_CHARS 4096

static const char *const IDS[] = {
/* clang-format off */
#define OP(id, ...) #id,
#include "engine/core/op.def"
#undef OP
    /* clang-format on */
};

/* "case ID|ARGUMENTS|OPTIONS", whose texts stay in the line. */
static struct op_case case_of(char *line)
{
    struct op_case oc = {ENG_OP_COUNT, NULL, NULL};
    char *id = line + strlen("case ");
    char *args = strchr(id, '|');
    char *options = strrchr(id, '|');

    assert_non_null(args);
    *args++ = '\0';
    *options++ = '\0';
    for (int i = 0; i < ENG_OP_COUNT; i++) {
        if (strcmp(IDS[i], id) == 0)
            oc.op = (enum eng_op_id)i;
    }
    if (oc.op == ENG_OP_COUNT)
        fail_msg("%s has `%s`, which is no op", GOLDEN, id);
    oc.args = args;
    oc.options = options;
    return oc;
}

/* "done cuda,cpu", or "refused" and why. */
static void run(const struct op_case *oc, char *out, size_t size)
{
    struct vs_error err = VS_ERROR_INIT;
    struct op_run run;
    struct rig rig;
    size_t used;

    rig_init(&rig, true);
    op_run_begin(&run, rig.e, oc, op_case_has(oc, "half") ? VS_F16 : VS_F32);
    op_run_forward(&run);
    used = (size_t)snprintf(out, size, "done %s", run.out_count ? "" : "none");
    for (int k = 0; k < run.out_count; k++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", k ? "," : "",
                                 run.outs[k]->storage->on_host ? "cpu" : "cuda");
    if (!eng_failed(rig.e)) {
        op_run_make_weights(&run, false);
        op_run_backward(&run);
    }
    if (eng_failed(rig.e)) {
        eng_failure_take(rig.e, &err);
        snprintf(out, size, "refused %s", err.text);
    }
    op_run_end(&run);
    rig_release(&rig);
}

static void calls_are_refused_where_pytorch_refuses_them(void **state)
{
    char line[LINE_MAX_CHARS], row[LINE_MAX_CHARS] = "", shown[LINE_MAX_CHARS] = "",
                               ours[LINE_MAX_CHARS];
    FILE *f = fopen(GOLDEN, "r");
    size_t calls = 0, equal = 0;
    struct op_case oc;

    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        bool is_done = strncmp(line, "done", 4) == 0;

        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#')
            continue;
        if (!strncmp(line, "case ", 5)) {
            snprintf(row, sizeof(row), "%s", line);
            snprintf(shown, sizeof(shown), "%s", line);
            continue;
        }
        oc = case_of(row);
        run(&oc, ours, sizeof(ours));
        calls++;
        if (is_done ? strcmp(ours, line) == 0 : strncmp(ours, "refused", 7) == 0)
            equal++;
        else
            print_error("%.200s\n    is      %.200s\n    PyTorch %.200s\n", shown, ours, line);
    }
    fclose(f);
    print_message("%zu of %zu calls alike\n", equal, calls);
    assert_true(calls > 1000);
    assert_int_equal(equal, calls);
    page_count_check("op_devices.txt", equal, calls);
}

/* ---- ops without a derivative, which op_cases.def does not have ---- */

/* Whether PyTorch 2.15 takes a number on the host as the second and as the first operand. */
static void comparisons_accept_a_zero_dimensional_tensor_on_the_cpu(void **state)
{
    static const struct {
        enum eng_op_id op;
        bool as_second, as_first;
    } rows[] = {
        {ENG_OP_eq, true, true},           {ENG_OP_ne, true, true},
        {ENG_OP_lt, true, true},           {ENG_OP_le, true, true},
        {ENG_OP_gt, true, true},           {ENG_OP_ge, true, true},
        {ENG_OP_logical_and, true, false}, {ENG_OP_logical_or, true, false},
        {ENG_OP_logical_xor, true, false}, {ENG_OP_floor_divide, true, true},
        {ENG_OP_bitwise_and, true, true},  {ENG_OP_bitwise_or, true, true},
        {ENG_OP_bitwise_xor, true, true},
    };
    int64_t sizes[] = {3};

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        bool swapped = i % 2;
        struct vs_error err = VS_ERROR_INIT;
        struct rig rig;
        struct eng_tensor *many, *number, *out;
        struct eng_arg args[2];

        rig_init(&rig, false);
        many = eng_empty(rig.e, sizes, 1, VS_I64, false);
        number = eng_empty(rig.e, NULL, 0, VS_I64, true);
        args[swapped] = eng_at(many);
        args[!swapped] = eng_at(number);
        out = eng_call1(rig.e, rows[i / 2].op, args);
        if ((out != NULL) != (swapped ? rows[i / 2].as_first : rows[i / 2].as_second))
            fail_msg("%s with the number %s: %s", IDS[rows[i / 2].op], swapped ? "first" : "second",
                     out ? "done" : "refused");
        if (out)
            assert_false(out->storage->on_host);
        else
            eng_failure_take(rig.e, &err);
        eng_unref(out);
        eng_unref(number);
        eng_unref(many);
        rig_release(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_refused_where_pytorch_refuses_them),
        cmocka_unit_test(comparisons_accept_a_zero_dimensional_tensor_on_the_cpu),
    };

    return cmocka_run_group_tests_name("engine/core/op_devices", tests, NULL, NULL);
}

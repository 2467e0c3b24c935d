/*
 * tests/engine/core/test_op_flops.c - the floating-point operations that op_begin and op_end events name, compared with
 * those that torch.utils.flop_counter counts.
 *
 * Figures: tests/golden/oracle/op_flops.txt, made by tests/oracle/op_flops.py (PyTorch 2.15) from the rows of
 * tests/engine/op_cases.def. Rows that are not in the file count nothing there.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "engine/core/op_args.h"
#include "tests/engine/op_case.h"
#include "tests/engine/rig.h"
#include "tests/page_count.h"

#define GOLDEN "tests/golden/oracle/op_flops.txt"
#define LINES_MAX 512
#define LINE_BYTES 600

struct counts {
    uint64_t forward, backward;
};

static const char *const IDS[] = {
/* clang-format off */
#define OP(id, ...) #id,
#include "engine/core/op.def"
#undef OP
    /* clang-format on */
};

static size_t golden_read(char (*lines)[LINE_BYTES])
{
    FILE *f = fopen(GOLDEN, "r");
    size_t count = 0;

    assert_non_null(f);
    while (count < LINES_MAX && fgets(lines[count], LINE_BYTES, f)) {
        lines[count][strcspn(lines[count], "\n")] = '\0';
        count += lines[count][0] != '#';
    }
    assert_true(count < LINES_MAX);
    fclose(f);
    return count;
}

/* What PyTorch counts for the row; zeros where the file has no line for it. */
static struct counts theirs_of(char (*lines)[LINE_BYTES], size_t count, const char *row)
{
    const size_t len = strlen(row);

    for (size_t i = 0; i < count; i++) {
        struct counts c;

        if (strncmp(lines[i], row, len) != 0 ||
            sscanf(lines[i] + len, " forward %" SCNu64 " backward %" SCNu64, &c.forward,
                   &c.backward) != 2)
            continue;
        return c;
    }
    return (struct counts){0, 0};
}

/*
 * The sum over all ops since the last clear, of op_begin and of op_end events, which must be equal. mv and dot are left
 * out: PyTorch does not count them.
 */
static uint64_t counted(const struct rig *rig, const char *row)
{
    uint64_t begun = 0, done = 0;

    for (size_t i = 0; i < rig->count; i++) {
        const struct vs_event *event = &rig->events[i];
        const char *name;

        if (event->kind != VS_EV_OP_BEGIN && event->kind != VS_EV_OP_END)
            continue;
        name = rig_string(rig, event->op.name);
        if (!strcmp(name, "mv") || !strcmp(name, "dot"))
            continue;
        if (event->kind == VS_EV_OP_BEGIN)
            begun += event->op.flops;
        else
            done += event->op.flops;
    }
    if (begun != done)
        fail_msg("%s: op_begin events name %" PRIu64 ", op_end events %" PRIu64, row, begun, done);
    return done;
}

/* In how many groups the row's convolution is. */
static uint64_t groups_of(const struct op_case *oc)
{
    const char *groups = strstr(oc->args, "groups=");

    return groups && strstr(IDS[oc->op], "conv") ? strtoull(groups + 7, NULL, 10) : 1;
}

static struct counts ours_of(const struct op_case *oc, const char *row, bool is_meta)
{
    struct counts ours = {0, 0};
    struct vs_error err = VS_ERROR_INIT;
    struct op_run run;
    struct rig rig;

    rig_init(&rig, is_meta);
    op_run_begin(&run, rig.e, oc, op_case_has(oc, "half") ? VS_F16 : VS_F32);
    rig_clear(&rig);
    op_run_forward(&run);
    ours.forward = counted(&rig, row);
    op_run_make_weights(&run, op_case_has(oc, "turned"));
    rig_clear(&rig);
    op_run_backward(&run);
    ours.backward = counted(&rig, row);
    if (eng_failed(rig.e))
        eng_failure_take(rig.e, &err);
    op_run_end(&run);
    rig_release(&rig);
    if (op_case_has(oc, "inplace")) /* PyTorch has no count for addmm_ */
        ours.forward = 0;
    /* PyTorch counts the gradient of a grouped weight once per group */
    ours.backward += (groups_of(oc) - 1) * ours.forward;
    return ours;
}

static void row_text(const struct op_case *oc, char *out, size_t size)
{
    snprintf(out, size, "%s|%s|%s", IDS[oc->op], oc->args, oc->options);
}

static void flops_are_those_of_pytorch(void **state)
{
    char(*lines)[LINE_BYTES] = vs_calloc(LINES_MAX, LINE_BYTES);
    const size_t count = golden_read(lines);
    size_t found = 0;
    int bad = 0;

    (void)state;
    for (size_t i = 0; i < OP_CASE_COUNT; i++) {
        const struct op_case *oc = &OP_CASES[i];
        char row[LINE_BYTES];
        struct counts theirs;

        if (op_case_has(oc, "noevents"))
            continue;
        row_text(oc, row, sizeof(row));
        theirs = theirs_of(lines, count, row);
        found += theirs.forward + theirs.backward > 0;
        for (int is_meta = 0; is_meta < 2; is_meta++) {
            const struct counts ours = ours_of(oc, row, is_meta);

            if (ours.forward == theirs.forward && ours.backward == theirs.backward)
                continue;
            print_error("%s on %s: forward %" PRIu64 " backward %" PRIu64 ", PyTorch %" PRIu64
                        " and %" PRIu64 "\n",
                        row, is_meta ? "meta" : "cpu", ours.forward, ours.backward, theirs.forward,
                        theirs.backward);
            bad++;
        }
    }
    vs_free(lines);
    assert_int_equal(found, count); /* every line of the file was compared */
    assert_int_equal(bad, 0);
    page_count_check("op_flops.txt", found, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flops_are_those_of_pytorch),
    };

    return cmocka_run_group_tests_name("engine/op_flops", tests, NULL, NULL);
}

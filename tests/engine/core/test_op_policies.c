/*
 * tests/engine/core/test_op_policies.c - the effect of autocast on each op's results, and what autograd saves of it,
 * compared with PyTorch.
 *
 * Figures: tests/golden/oracle/op_policies.txt, made by tests/oracle/op_policies.py (PyTorch 2.15) from the rows of
 * op_cases.def; its header describes the format of a line.
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
#include "tests/engine/op_case.h"
#include "tests/engine/rig.h"
#include "tests/page_count.h"

#define GOLDEN "tests/golden/oracle/op_policies.txt"
#define WORDS_MAX 24
#define TEXT_MAX 600

static const char *const IDS[] = {
/* clang-format off */
#define OP(id, ...) #id,
#include "engine/core/op.def"
#undef OP
    /* clang-format on */
};

/* ---- what was saved ---- */

/* How often autograd holds each block now, and how large each is; by block id. */
struct held {
    uint64_t bytes[256];
    int count[256];
};

static void read_events(const struct rig *rig, struct held *held)
{
    memset(held, 0, sizeof(*held));
    for (size_t i = 0; i < rig->count; i++) {
        const struct vs_event *ev = &rig->events[i];

        if (ev->kind != VS_EV_ALLOC && ev->kind != VS_EV_SAVE && ev->kind != VS_EV_UNSAVE)
            continue;
        assert_true(vs_event_block(ev) < 256);
        if (ev->kind == VS_EV_ALLOC)
            held->bytes[ev->alloc.block] = ev->alloc.requested_bytes;
        else
            held->count[ev->save.block] += ev->kind == VS_EV_SAVE ? 1 : -1;
    }
}

static void name_of(const struct op_run *run, const struct held *held, uint64_t id, char *out,
                    size_t size)
{
    snprintf(out, size, "new%" PRIu64, held->bytes[id]);
    for (int k = 0; k < run->out_count; k++) {
        if (run->outs[k]->storage->block_id == id)
            snprintf(out, size, "out%d", k);
    }
    for (int k = 0; k < run->leaf_count; k++) {
        if (run->leaves[k]->storage->block_id == id)
            snprintf(out, size, "in%d", k);
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void saved_text(const struct rig *rig, const struct op_run *run, char *out, size_t size)
{
    char words[WORDS_MAX][32];
    struct held held;
    size_t used = 0;
    int n = 0;

    read_events(rig, &held);
    for (uint64_t id = 1; id < 256; id++) {
        if (held.count[id] && held.bytes[id]) {
            assert_true(n < WORDS_MAX);
            name_of(run, &held, id, words[n++], sizeof(words[0]));
        }
    }
    qsort(words, (size_t)n, sizeof(words[0]), by_text);
    snprintf(out, size, "nothing");
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? " " : "", words[i]);
}

static void dtypes_text(const struct op_run *run, char *out, size_t size)
{
    size_t used = 0;

    snprintf(out, size, "none");
    for (int k = 0; k < run->out_count; k++) {
        const char *name = run->outs[k]->dtype == VS_F16   ? "f16"
                           : run->outs[k]->dtype == VS_F32 ? "f32"
                                                           : "other";

        used += (size_t)snprintf(out + used, size - used, "%s%s", k ? "," : "", name);
    }
}

/* ---- a line ---- */

/* Our line: "f32 f16 out … saved …"; "f32 f16 error" if the engine refuses. */
static void our_line(const struct op_case *oc, bool half, bool region, char *out, size_t size)
{
    char dtypes[TEXT_MAX / 4], saved[TEXT_MAX / 2];
    struct eng_autocast before = {0}, cast = {true, true, VS_F16};
    struct vs_error err = VS_ERROR_INIT;
    struct op_run run;
    struct rig rig;

    rig_init(&rig, true);
    op_run_begin(&run, rig.e, oc, half ? VS_F16 : VS_F32);
    if (region)
        before = eng_autocast_enter(rig.e, cast);
    op_run_forward(&run);
    if (region)
        eng_autocast_exit(rig.e, before);
    if (eng_failed(rig.e)) {
        eng_failure_take(rig.e, &err);
        snprintf(out, size, "%s %s error", half ? "f16" : "f32", region ? "f16" : "off");
    } else {
        dtypes_text(&run, dtypes, sizeof(dtypes));
        saved_text(&rig, &run, saved, sizeof(saved));
        snprintf(out, size, "%s %s out %s saved %s", half ? "f16" : "f32", region ? "f16" : "off",
                 dtypes, saved);
    }
    op_run_end(&run);
    rig_release(&rig);
}

/* Of a refusal only its existence is compared. */
static int compare_line(const struct op_case *oc, const char *row, char *theirs)
{
    char *error = strstr(theirs, " error ");
    char ours[TEXT_MAX];

    if (error)
        error[strlen(" error")] = '\0';
    our_line(oc, !strncmp(theirs, "f16", 3), strncmp(theirs + 4, "f16", 3) == 0, ours,
             sizeof(ours));
    if (!strcmp(ours, theirs))
        return 0;
    print_error("%s\n    is      %s\n    PyTorch %s\n", row, ours, theirs);
    return 1;
}

static void row_text(const struct op_case *oc, char *out, size_t size)
{
    snprintf(out, size, "case %s|%s|%s", IDS[oc->op], oc->args, oc->options);
}

static void results_and_saved_tensors_are_those_of_pytorch(void **state)
{
    FILE *f = fopen(GOLDEN, "r");
    const struct op_case *oc = NULL;
    char line[4096], row[TEXT_MAX] = "";
    size_t rows = 0, lines = 0;
    int bad = 0;

    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#')
            continue;
        if (!strncmp(line, "case ", 5)) {
            assert_true(rows < OP_CASE_COUNT); /* the file has the rows of op_cases.def, in order */
            oc = &OP_CASES[rows++];
            row_text(oc, row, sizeof(row));
            if (strcmp(line, row) != 0)
                fail_msg("%s is not in %s: run tests/oracle/op_policies.py", row, GOLDEN);
            continue;
        }
        assert_non_null(oc);
        bad += compare_line(oc, row, line);
        lines++;
    }
    fclose(f);
    assert_int_equal(rows, OP_CASE_COUNT);
    print_message("%zu of %zu calls alike\n", lines - (size_t)bad, lines);
    assert_int_equal(bad, 0);
    page_count_check("op_policies.txt", lines, lines);
}

/* ---- every op has a row ---- */

static bool has_case(enum eng_op_id id)
{
    for (size_t i = 0; i < OP_CASE_COUNT; i++) {
        if (OP_CASES[i].op == id && !op_case_has(&OP_CASES[i], "noevents"))
            return true;
    }
    return false;
}

/*
 * An op without a derivative saves nothing and autocast ignores it; every other one has a call recorded from PyTorch.
 */
static void every_row_of_the_table_has_a_case(void **state)
{
    int missing = 0;

    (void)state;
    for (int id = 0; id < ENG_OP_COUNT; id++) {
        const struct eng_op *op = eng_op_get((enum eng_op_id)id);
        bool fine = op->kind == ENG_NODIFF
                        ? op->autocast == ENG_AC_NONE && !*op->saves && !*op->node
                        : has_case((enum eng_op_id)id);

        if (!fine)
            print_error("%s (%s): no case, or a row without a derivative that has a policy\n",
                        IDS[id], op->name);
        missing += !fine;
    }
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_the_table_has_a_case),
        cmocka_unit_test(results_and_saved_tensors_are_those_of_pytorch),
    };

    return cmocka_run_group_tests_name("engine/op_policies", tests, NULL, NULL);
}

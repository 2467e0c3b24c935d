/*
 * tests/engine/test_ops.c - each op's results, gradients and memory compared with PyTorch's for the same row.
 *
 * Figures: tests/golden/oracle/op_cases.txt, made by tests/oracle/op_cases.py (PyTorch 2.15; results in float64 on its
 * CPU, events on CUDA).
 */
#include <inttypes.h>
#include <math.h>
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

#define GOLDEN "tests/golden/oracle/op_cases.txt"
#define SUM_KEY 5000001U
#define LINE_MAX_BYTES 16384
#define LINES_MAX 40

/* What the file contains for one row. */
struct expected {
    char *row; /* "id|arguments|options" */
    char *lines[LINES_MAX];
    int count;
};

struct golden {
    struct expected *rows;
    size_t count, cap;
};

static int golden_open(void **state)
{
    struct golden *g = vs_calloc(1, sizeof(*g));
    char *line = vs_alloc(LINE_MAX_BYTES);
    FILE *f = fopen(GOLDEN, "r");

    if (!f) {
        print_error("%s cannot be opened: the tests run from the project's folder\n", GOLDEN);
        return -1;
    }
    while (fgets(line, LINE_MAX_BYTES, f)) {
        line[strcspn(line, "\n")] = '\0';
        if (!strncmp(line, "case ", 5)) {
            g->rows = vs_grow(g->rows, g->count, &g->cap, sizeof(*g->rows));
            memset(&g->rows[g->count], 0, sizeof(*g->rows));
            g->rows[g->count++].row = vs_strdup(line + 5);
        } else if (line[0] != '#' && g->count) {
            struct expected *x = &g->rows[g->count - 1];

            assert_true(x->count < LINES_MAX);
            x->lines[x->count++] = vs_strdup(line);
        }
    }
    fclose(f);
    vs_free(line);
    *state = g;
    return 0;
}

static int golden_close(void **state)
{
    struct golden *g = *state;

    for (size_t i = 0; i < g->count; i++) {
        vs_free(g->rows[i].row);
        for (int k = 0; k < g->rows[i].count; k++)
            vs_free(g->rows[i].lines[k]);
    }
    vs_free(g->rows);
    vs_free(g);
    return 0;
}

static const char *const IDS[] = {
/* clang-format off */
#define OP(id, ...) #id,
#include "engine/core/op.def"
#undef OP
    /* clang-format on */
};

static const struct expected *expected_of(const struct golden *g, const struct op_case *oc)
{
    char row[600];

    snprintf(row, sizeof(row), "%s|%s|%s", IDS[oc->op], oc->args, oc->options);
    for (size_t i = 0; i < g->count; i++) {
        if (!strcmp(g->rows[i].row, row))
            return &g->rows[i];
    }
    print_error("%s: not in %s: run tests/oracle/op_cases.py\n", row, GOLDEN);
    return NULL;
}

/* ---- values ---- */

/* "out 0 [2,3] sum l2 first..." of t, as numbers; count of them. */
static int summary(const struct eng_tensor *t, double *out)
{
    int64_t n = eng_numel(t);
    int count = 2;

    out[0] = out[1] = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = rig_value(t, i);

        out[0] += v * rig_formula(SUM_KEY, (uint32_t)i);
        out[1] += v * v;
        if (i < 4)
            out[count++] = v;
    }
    out[1] = sqrt(out[1]);
    return count;
}

static int compare_tensor(const struct expected *x, const char *line, const struct eng_tensor *t,
                          double tolerance)
{
    char shape[ENG_SHAPE_TEXT_MAX], compact[ENG_SHAPE_TEXT_MAX];
    const char *p = strchr(line, '[');
    double got[6];
    size_t len = 0;
    int n;

    if (!t) {
        print_error("%s: there is no %s\n", x->row, line);
        return 1;
    }
    for (const char *s = eng_shape_text(t, shape); *s; s++) {
        if (*s != ' ')
            compact[len++] = *s;
    }
    compact[len] = '\0';
    if (strncmp(p, compact, len) != 0) {
        print_error("%s: the shape is %s, PyTorch has %s\n", x->row, compact, line);
        return 1;
    }
    p += len;
    n = summary(t, got);
    for (int i = 0; i < n; i++) {
        double want = strtod(p, (char **)(uintptr_t)&p);

        if (isnan(want) ? isnan(got[i]) : fabs(got[i] - want) <= tolerance * fmax(1, fabs(want)))
            continue;
        print_error("%s: number %d of \"%s\" is %.12g, PyTorch has %.12g\n", x->row, i, line,
                    got[i], want);
        return 1;
    }
    return 0;
}

static int compare_values(const struct expected *x, const struct op_case *oc)
{
    struct op_run run;
    struct rig rig;
    int bad = 0, grads = 0;

    rig_init(&rig, false);
    op_run_begin(&run, rig.e, oc, VS_F64);
    if (op_run_forward(&run)) {
        op_run_make_weights(&run, false);
        op_run_backward(&run);
    }
    if (eng_failed(rig.e)) {
        print_error("%s: %s\n", x->row, eng_failed(rig.e)->text);
        rig_take_failure(&rig, NULL);
        bad = 1;
    }
    for (int i = 0; i < x->count && !bad; i++) {
        const char *line = x->lines[i];
        double tolerance = op_case_has(oc, "cast") ? 1e-6 : 1e-10;

        if (!strncmp(line, "out ", 4)) {
            int k = atoi(line + 4);

            bad = compare_tensor(x, line, k < run.out_count ? run.outs[k] : NULL, tolerance);
        } else if (!strncmp(line, "grad ", 5)) {
            bad = compare_tensor(x, line, run.leaves[atoi(line + 5)]->grad, tolerance);
            grads++;
        }
    }
    for (int k = 0; k < run.leaf_count && !bad; k++)
        grads -= run.leaves[k]->grad != NULL;
    if (grads && !bad) {
        print_error("%s: PyTorch has %d gradients more\n", x->row, grads);
        bad = 1;
    }
    op_run_end(&run);
    rig_release(&rig);
    return bad;
}

static void results_and_gradients_are_those_of_pytorch(void **state)
{
    int bad = 0;

    for (size_t i = 0; i < OP_CASE_COUNT; i++) {
        const struct op_case *oc = &OP_CASES[i];
        const struct expected *x = expected_of(*state, oc);

        if (!x)
            bad++;
        else if (!op_case_has(oc, "half") && !op_case_has(oc, "random") &&
                 !op_case_has(oc, "novalues"))
            bad += compare_values(x, oc);
    }
    assert_int_equal(bad, 0);
}

/* ---- memory ---- */

static const char *events_line(const struct expected *x)
{
    for (int i = 0; i < x->count; i++) {
        if (!strncmp(x->lines[i], "events", 6))
            return x->lines[i][6] ? x->lines[i] + 7 : "";
    }
    return NULL;
}

static int compare_memory(const struct expected *x, const struct op_case *oc, char *buf)
{
    const char *want = events_line(x);
    struct op_run run;
    struct rig rig;
    size_t len;
    int bad = 0;

    rig_init(&rig, true);
    op_run_begin(&run, rig.e, oc, op_case_has(oc, "half") ? VS_F16 : VS_F32);
    rig_clear(&rig);
    if (op_run_forward(&run)) {
        op_run_make_weights(&run, false);
        op_run_backward(&run);
    }
    op_run_drop_outs(&run);
    rig_memory_text(&rig, false, buf, LINE_MAX_BYTES);
    len = strlen(buf);
    if (len && buf[len - 1] == ' ')
        buf[len - 1] = '\0';
    if (eng_failed(rig.e)) {
        print_error("%s: %s\n", x->row, eng_failed(rig.e)->text);
        rig_take_failure(&rig, NULL);
        bad = 1;
    } else if (!want || strcmp(want, buf) != 0) {
        print_error("%s\n    is      %s\n    PyTorch %s\n", x->row, buf, want ? want : "has none");
        bad = 1;
    }
    op_run_end(&run);
    rig_release(&rig);
    return bad;
}

static void ops_allocate_and_free_as_pytorch_does(void **state)
{
    char *buf = vs_alloc(LINE_MAX_BYTES);
    int bad = 0;

    for (size_t i = 0; i < OP_CASE_COUNT; i++) {
        const struct expected *x = expected_of(*state, &OP_CASES[i]);

        if (!x)
            bad++;
        else if (!op_case_has(&OP_CASES[i], "noevents"))
            bad += compare_memory(x, &OP_CASES[i], buf);
    }
    vs_free(buf);
    assert_int_equal(bad, 0);
    page_count_check("op_cases.txt", OP_CASE_COUNT, OP_CASE_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_and_gradients_are_those_of_pytorch),
        cmocka_unit_test(ops_allocate_and_free_as_pytorch_does),
    };

    return cmocka_run_group_tests(tests, golden_open, golden_close);
}

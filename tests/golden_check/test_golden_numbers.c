/*
 * tests/golden_check/test_golden_numbers.c - losses, gradients, updated weights and buffers against PyTorch's on a CPU.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/golden_check/golden.h"
#include "tests/golden_check/numbers.h"

#define RELATIVE 1e-5

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Not finite values are strings in the file. */
static double number_of(const struct json *v)
{
    return v->kind == JSON_STRING ? strtod(json_str(v), NULL) : v->number;
}

static bool is_near(double ours, double theirs, double bound)
{
    if (!isfinite(ours) || !isfinite(theirs))
        return isnan(ours) ? isnan(theirs) : ours == theirs;
    return fabs(ours - theirs) <= bound;
}

static bool losses_are_near(const struct lang_result *r, const struct json *line, char *why, size_t why_size)
{
    const struct json *theirs = json_get(line, "losses");
    const struct json *exact = json_get(line, "losses64");

    if (r->loss_count != theirs->count) {
        snprintf(why, why_size, "%zu losses, PyTorch has %zu", r->loss_count, theirs->count);
        return false;
    }
    for (size_t i = 0; i < theirs->count; i++) {
        double f32 = number_of(json_at(json_at(theirs, i), 1));
        double f64 = number_of(json_at(json_at(exact, i), 1));
        double bound = larger(RELATIVE * fabs(f64), 4 * fabs(f32 - f64));

        if (r->losses[i].step != json_at(json_at(theirs, i), 0)->integer || !is_near(r->losses[i].value, f64, bound)) {
            snprintf(why, why_size, "loss %zu (step %" PRId64 "): %.9g, PyTorch %.9g, in double %.9g", i, r->losses[i].step, r->losses[i].value, f32, f64);
            return false;
        }
    }
    return true;
}

static bool tensors_are_near(const struct numbers *ours, const char *kind, const struct json *theirs, double relative, char *why, size_t why_size)
{
    size_t count = 0;

    for (size_t i = 0; i < ours->count; i++)
        count += !strcmp(ours->tensors[i].kind, kind) && vs_dtype_is_floating(ours->tensors[i].dtype);
    if (count != theirs->count) {
        snprintf(why, why_size, "%zu of kind %s, PyTorch has %zu", count, kind, theirs->count);
        return false;
    }
    for (const struct json *t = theirs->first; t; t = t->next) {
        const struct numbers_tensor *mine = numbers_find(ours, kind, t->key);
        double f32 = number_of(json_get(t, "l2"));
        double f64 = json_get(t, "l2_64") ? number_of(json_get(t, "l2_64")) : f32;
        double rms, bound;
        size_t i = 0;

        if (!mine) {
            snprintf(why, why_size, "there is no %s %s", kind, t->key);
            return false;
        }
        bound = larger(relative * f64, 4 * fabs(f32 - f64));
        if (!is_near(numbers_norm(mine), f64, bound)) {
            snprintf(why, why_size, "%s %s: norm %.9g, PyTorch %.9g, in double %.9g", kind, t->key, numbers_norm(mine), f32, f64);
            return false;
        }
        rms = mine->count ? f64 / sqrt((double)mine->count) : 0;
        for (const struct json *v = json_get(t, "first")->first; v; v = v->next, i++) {
            bound = relative * larger(rms, fabs(number_of(v)));
            if (!is_near(mine->values[i], number_of(v), bound)) {
                snprintf(why, why_size, "%s %s [%zu]: %.9g, PyTorch %.9g (rms %.3g)", kind, t->key, i, mine->values[i], number_of(v), rms);
                return false;
            }
        }
    }
    return true;
}

static bool numbers_are_near(const struct json *line, char *why, size_t why_size)
{
    struct numbers ours;
    bool equal;

    numbers_run_line(line, &ours);
    if (json_get(line, "error")) {
        equal = ours.status != VS_OK;
        snprintf(why, why_size, "PyTorch refuses it, ours runs");
    } else if (ours.status) {
        equal = false;
        snprintf(why, why_size, "%.900s", ours.error.text);
        for (char *p = why; *p; p++)
            *p = *p == '\n' ? '|' : *p;
    } else {
        double relative = larger(RELATIVE, 4 * number_of(json_get(line, "max_rel_grad_diff")));

        equal = losses_are_near(&ours.result, line, why, why_size) &&
                tensors_are_near(&ours, "gradient", json_get(line, "grads"), relative, why, why_size) &&
                tensors_are_near(&ours, "parameter", json_get(line, "params"), relative, why, why_size) &&
                tensors_are_near(&ours, "buffer", json_get(line, "buffers"), relative, why, why_size);
    }
    numbers_release(&ours);
    return equal;
}

static void nets_and_toggles_have_the_numbers_of_pytorch(void **state)
{
    (void)state;
    assert_true(golden_file("tests/golden/oracle/numbers.jsonl", numbers_are_near));
}

static void each_op_has_the_numbers_of_pytorch(void **state)
{
    (void)state;
    assert_true(golden_file("tests/golden/oracle/numbers_ops.jsonl", numbers_are_near));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nets_and_toggles_have_the_numbers_of_pytorch),
        cmocka_unit_test(each_op_has_the_numbers_of_pytorch),
    };

    return cmocka_run_group_tests_name("golden_check/numbers", tests, NULL, NULL);
}

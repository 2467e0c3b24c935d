/*
 * tests/golden_check/test_golden_numbers.c - losses, gradients, updated weights and buffers compared with PyTorch's on
 * a CPU.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tests/golden_check/golden.h"
#include "tests/golden_check/numbers.h"

/*
 * How near is near. Rounding alone moves PyTorch's own float32 away from its double, by `max_rel_grad_diff` of a
 * gradient's norm at worst; where four times that is more than 1e-5, it is the bound instead, for gradients and what
 * is made of them. A loss and a norm are compared with those of double, within 1e-5 or four times the distance of
 * PyTorch's float32. The first values are compared with float32's, within the bound times the larger of the value and
 * the tensor's root mean square: what is small beside its neighbours is a difference of larger numbers. A net that
 * computes in a half dtype itself has four roundings of that dtype (2^-11, 2^-8): the order of sums is not PyTorch's.
 */
#define RELATIVE 1e-5
#define RELATIVE_F16 (4.0 / 2048)
#define RELATIVE_BF16 (4.0 / 256)

/*
 * Adam divides a gradient by its own size, so an absolute error of a small gradient becomes a relative error of a
 * whole step. What that may come to follows from the gradients g_1 … g_k of a weight so far, each known to an error of
 * at most e (the bound that gradients themselves are held to). Step k moves the weight by lr * m / (v + eps), where m
 * is a mean of the g_j with weights c_j that sum to 1, and v their root mean square with weights d_j that sum to 1. A
 * change of the g_j by at most e changes m by at most e (a mean), and v by at most e (a norm: the triangle
 * inequality). With r = m / (v + eps) and r' the same of the changed gradients, r' - r = ((m' - m) - r (v' - v)) / (v'
 * + eps), so |r' - r| <= e (1 + |r|) / (v - e) where v > e, and in any case at most |r| + |r'|.
 *
 * By Cauchy and Schwarz |r| <= sqrt(sum c_j^2 / d_j). betas are (0.9, 0.999) here: d_j is 1/k within 0.1 %, and the
 * root is at most 1.02 for the first five steps: ADAM_RATIO. No epsilon or processor is in this bound; a weight whose
 * gradients are much larger than their error must still be right to a small part of a step. A gradient that is exactly
 * 0 in all steps is a sum of zeros, and has no error.
 */
#define ADAM_RATIO 1.02
#define ADAM_STEPS_MAX 5

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

/* Does the text of the net cast to a half dtype? */
static double relative_of(const struct json *line)
{
    char *text = numbers_read_file(json_str(json_get(line, "net")));
    double relative = !text                      ? 0
                      : strstr(text, "bfloat16") ? RELATIVE_BF16
                      : strstr(text, "half()")   ? RELATIVE_F16
                                                 : RELATIVE;

    free(text);
    return relative;
}

static bool losses_are_near(const struct lang_result *r, const struct json *line, double relative,
                            char *why, size_t why_size)
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
        double bound = larger(relative * fabs(f64), 4 * fabs(f32 - f64));

        if (r->losses[i].step != json_at(json_at(theirs, i), 0)->integer ||
            !is_near(r->losses[i].value, f64, bound)) {
            snprintf(why, why_size,
                     "loss %zu (step %" PRId64 "): %.9g, PyTorch %.9g, in double %.9g", i,
                     r->losses[i].step, r->losses[i].value, f32, f64);
            return false;
        }
    }
    return true;
}

/* The gradient of step `step` (0: the first); NULL: the parameter had none. */
static const struct numbers_tensor *gradient_of(const struct numbers *ours, const char *name,
                                                size_t step)
{
    char kind[40];

    snprintf(kind, sizeof(kind), "gradient %zu", step);
    return numbers_find(ours, step ? kind : "gradient", name);
}

static bool has_adam(const struct numbers *ours)
{
    return strncmp(vs_toggles_get(&ours->result.toggles, VS_TOGGLE_OPTIMIZER), "adam", 4) == 0;
}

/*
 * How far Adam may take each value of a parameter off, as derived above; NULL where that is 0. `relative` is the bound
 * of gradients. The caller's, by vs_free.
 */
static double *drift_of(const struct numbers *ours, const struct numbers_tensor *t, double relative)
{
    size_t steps = ours->result.step_count;
    double *drift, *squares, *errors;

    if (strcmp(t->kind, "parameter") != 0 || !has_adam(ours) || !gradient_of(ours, t->name, 0))
        return NULL;
    assert_true(steps <= ADAM_STEPS_MAX);
    drift = vs_calloc(3 * t->count + 1, sizeof(*drift));
    squares = drift + t->count;
    errors = squares + t->count;
    for (size_t k = 0; k < steps; k++) {
        const struct numbers_tensor *g = gradient_of(ours, t->name, k);
        double rms = g ? numbers_norm(g) / sqrt((double)g->count) : 0;

        for (size_t i = 0; g && i < t->count; i++) {
            double v, e;

            squares[i] += g->values[i] * g->values[i];
            errors[i] = larger(errors[i], relative * larger(rms, fabs(g->values[i])));
            v = sqrt(squares[i] / (double)(k + 1));
            e = errors[i];
            if (v > 0)
                drift[i] +=
                    ours->result.lr *
                    (v > e ? fmin(2 * ADAM_RATIO, e * (1 + ADAM_RATIO) / (v - e)) : 2 * ADAM_RATIO);
        }
    }
    return drift;
}

static double drift_at(const double *drift, size_t i)
{
    return drift ? drift[i] : 0;
}

static double drift_norm(const double *drift, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += drift_at(drift, i) * drift_at(drift, i);
    return sqrt(sum);
}

/* Is our tensor near `t` of PyTorch's? */
static bool tensor_is_near(const struct numbers_tensor *mine, const struct json *t,
                           const double *drift, double relative, char *why, size_t why_size)
{
    double f32 = number_of(json_get(t, "l2"));
    double f64 = json_get(t, "l2_64") ? number_of(json_get(t, "l2_64")) : f32;
    double bound = larger(relative * f64, 4 * fabs(f32 - f64)) + drift_norm(drift, mine->count);
    double rms = mine->count ? f64 / sqrt((double)mine->count) : 0;
    size_t i = 0;

    if (!is_near(numbers_norm(mine), f64, bound)) {
        snprintf(why, why_size, "%s %s: norm %.9g, PyTorch %.9g, in double %.9g", mine->kind,
                 t->key, numbers_norm(mine), f32, f64);
        return false;
    }
    for (const struct json *v = json_get(t, "first")->first; v; v = v->next, i++) {
        bound = relative * larger(rms, fabs(number_of(v))) + drift_at(drift, i);
        if (!is_near(mine->values[i], number_of(v), bound)) {
            snprintf(why, why_size, "%s %s [%zu]: %.9g, PyTorch %.9g (rms %.3g, bound %.3g)",
                     mine->kind, t->key, i, mine->values[i], number_of(v), rms, bound);
            return false;
        }
    }
    return true;
}

static bool tensors_are_near(const struct numbers *ours, const char *kind,
                             const struct json *theirs, double relative, char *why, size_t why_size)
{
    size_t count = 0;

    for (size_t i = 0; i < ours->count; i++)
        count +=
            !strcmp(ours->tensors[i].kind, kind) && vs_dtype_is_floating(ours->tensors[i].dtype);
    if (count != theirs->count) {
        snprintf(why, why_size, "%zu of kind %s, PyTorch has %zu", count, kind, theirs->count);
        return false;
    }
    for (const struct json *t = theirs->first; t; t = t->next) {
        const struct numbers_tensor *mine = numbers_find(ours, kind, t->key);
        double *drift;
        bool is_equal;

        if (!mine) {
            snprintf(why, why_size, "there is no %s %s", kind, t->key);
            return false;
        }
        drift = drift_of(ours, mine, relative);
        is_equal = tensor_is_near(mine, t, drift, relative, why, why_size);
        vs_free(drift);
        if (!is_equal)
            return false;
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
        double loss = relative_of(line);
        double relative = larger(loss, 4 * number_of(json_get(line, "max_rel_grad_diff")));

        equal =
            losses_are_near(&ours.result, line, loss, why, why_size) &&
            tensors_are_near(&ours, "gradient", json_get(line, "grads"), relative, why, why_size) &&
            tensors_are_near(&ours, "parameter", json_get(line, "params"), relative, why,
                             why_size) &&
            tensors_are_near(&ours, "buffer", json_get(line, "buffers"), relative, why, why_size);
    }
    numbers_release(&ours);
    return equal;
}

static void nets_and_toggles_have_the_numbers_of_pytorch(void **state)
{
    (void)state;
    assert_true(golden_file("tests/golden/oracle/numbers.jsonl", numbers_are_near, NULL));
}

static void each_op_has_the_numbers_of_pytorch(void **state)
{
    (void)state;
    assert_true(golden_file("tests/golden/oracle/numbers_ops.jsonl", numbers_are_near, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nets_and_toggles_have_the_numbers_of_pytorch),
        cmocka_unit_test(each_op_has_the_numbers_of_pytorch),
    };

    return cmocka_run_group_tests_name("golden_check/numbers", tests, NULL, NULL);
}

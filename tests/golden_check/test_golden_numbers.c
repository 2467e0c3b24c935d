/*
 * tests/golden_check/test_golden_numbers.c - losses, gradients, updated weights and buffers against PyTorch's on a CPU.
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

#include "tests/golden_check/golden.h"
#include "tests/golden_check/numbers.h"

/*
 * How near is near. Rounding alone moves PyTorch's own float32 away from its double, by `max_rel_grad_diff` of a gradient's norm at worst; where
 * four times that is more than 1e-5, it is the bound instead, for gradients and what is made of them. A loss and a norm are compared with those of
 * double, within 1e-5 or four times the distance of PyTorch's float32. The first values are compared with float32's, within the bound times the
 * larger of the value and the tensor's root mean square: what is small beside its neighbours is a difference of larger numbers.
 * A net that computes in a half dtype itself has four roundings of that dtype (2^-11, 2^-8): the order of sums is not PyTorch's.
 */
#define RELATIVE 1e-5
#define RELATIVE_F16 (4.0 / 2048)
#define RELATIVE_BF16 (4.0 / 256)

/*
 * Adam divides a gradient by its own size. A gradient that is 0 but for rounding (that of a key's bias in attention is) so becomes a step of up to
 * `lr`, of any sign: a parameter whose gradient is below this part of the root mean square of its tensor is only known to 2 * lr * steps.
 */
#define NOISE 1e-6

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

/* What a parameter's values may be off by because of NOISE, and those of its gradient that make them so. Zeroed: nothing. */
struct drift {
    const double *gradient;
    double noise;
    double most;
};

static struct drift drift_of(const struct numbers *ours, const struct numbers_tensor *t)
{
    const struct lang_result *r = &ours->result;
    const struct numbers_tensor *g = numbers_find(ours, "gradient", t->name);

    if (!g || strcmp(t->kind, "parameter") != 0 ||
        strncmp(vs_toggles_get(&r->toggles, VS_TOGGLE_OPTIMIZER), "adam", 4) != 0)
        return (struct drift){0};
    return (struct drift){g->values, NOISE * numbers_norm(g) / sqrt((double)g->count),
                          2 * r->lr * (double)r->step_count};
}

static double drift_at(const struct drift *d, size_t i)
{
    return d->gradient && d->gradient[i] != 0 && fabs(d->gradient[i]) <= d->noise ? d->most : 0;
}

static double drift_norm(const struct drift *d, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += drift_at(d, i) * drift_at(d, i);
    return sqrt(sum);
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
        double f32 = number_of(json_get(t, "l2"));
        double f64 = json_get(t, "l2_64") ? number_of(json_get(t, "l2_64")) : f32;
        struct drift drift;
        double rms, bound;
        size_t i = 0;

        if (!mine) {
            snprintf(why, why_size, "there is no %s %s", kind, t->key);
            return false;
        }
        drift = drift_of(ours, mine);
        bound = larger(relative * f64, 4 * fabs(f32 - f64)) + drift_norm(&drift, mine->count);
        if (!is_near(numbers_norm(mine), f64, bound)) {
            snprintf(why, why_size, "%s %s: norm %.9g, PyTorch %.9g, in double %.9g", kind, t->key,
                     numbers_norm(mine), f32, f64);
            return false;
        }
        rms = mine->count ? f64 / sqrt((double)mine->count) : 0;
        for (const struct json *v = json_get(t, "first")->first; v; v = v->next, i++) {
            bound = relative * larger(rms, fabs(number_of(v))) + drift_at(&drift, i);
            if (!is_near(mine->values[i], number_of(v), bound)) {
                snprintf(why, why_size, "%s %s [%zu]: %.9g, PyTorch %.9g (rms %.3g)", kind, t->key,
                         i, mine->values[i], number_of(v), rms);
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

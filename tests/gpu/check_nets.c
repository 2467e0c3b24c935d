/*
 * tests/gpu/check_nets.c - compares nets trained on the device and on the CPU: losses and gradients; a second run on
 * the device must repeat the first one bit for bit.
 *
 * Weights and batches follow the formula of tests/oracle/README.md; dropout is off. A gradient is compared as a whole:
 * the norm of the difference relative to the norm of the gradient. A gradient that is only rounding noise compared with
 * the net's other gradients (the bias of an attention's key) is compared relative to those. Deep nets with batch norm
 * over two samples amplify rounding beyond any common bound: for a net that exceeds the bound, its own amplification is
 * measured by a run on the CPU with rounding errors added to products and convolutions, and four times that is the
 * bound. An input of a ReLU that is 0 except for rounding can have either sign, so a net with such inputs may differ by
 * a hundredth of a gradient's norm. The line of each net has its difference.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/facts/grid.h"
#include "tests/golden_check/numbers.h"
#include "tests/gpu/check.h"

#define FEW 3
#define SHAKEN 4
#define SIGN_FLIP 1e-2
#define NOISE 1e-6 /* of the norm of all gradients */

static const struct {
    const char *amp;
    double loss;
    double gradient;
} PRECISIONS[] = {{"", 1e-4, 1e-4}, {" amp=fp16", 1e-2, 2e-2}, {" amp=bf16", 4e-2, 1e-1}};
#define PRECISION_COUNT (sizeof(PRECISIONS) / sizeof(PRECISIONS[0]))

struct distances {
    double loss;
    double gradient;
    const char *worst; /* the gradient that is farthest */
};

static bool is_finite(const struct numbers_tensor *t)
{
    bool finite = true;

    for (size_t k = 0; k < t->count; k++)
        finite = finite && isfinite(t->values[k]);
    return finite;
}

static double norm_of_all(const struct numbers *n)
{
    double sum = 0;

    for (size_t i = 0; i < n->count; i++)
        if (!strcmp(n->tensors[i].kind, "gradient") && is_finite(&n->tensors[i]))
            sum += numbers_norm(&n->tensors[i]) * numbers_norm(&n->tensors[i]);
    return sqrt(sum);
}

/* Where a scaled gradient overflows, which of its elements do hangs on a rounding; that one does may not. */
static double tensor_distance(const struct numbers_tensor *a, const struct numbers_tensor *b,
                              double noise, double bound)
{
    double sum = 0;

    if (!is_finite(a) || !is_finite(b))
        return is_finite(a) == is_finite(b) ? 0 : (double)INFINITY;
    for (size_t k = 0; k < b->count; k++)
        sum += (a->values[k] - b->values[k]) * (a->values[k] - b->values[k]);
    return sum > 0 ? sqrt(sum) / fmax(numbers_norm(b), noise / bound) : sum;
}

static struct distances measure(const struct numbers *ours, const struct numbers *cpu, double bound)
{
    struct distances d = {0, 0, ""};
    double noise = NOISE * norm_of_all(cpu);

    for (size_t i = 0; i < cpu->result.loss_count; i++) {
        double x = ours->result.losses[i].value;
        double y = cpu->result.losses[i].value;
        double far = fabs(x - y) / fmax(fabs(y), 1e-6);

        d.loss = isnan(far) && !(isnan(x) && isnan(y)) ? (double)INFINITY : fmax(d.loss, far);
    }
    for (size_t i = 0; i < cpu->count; i++) {
        const struct numbers_tensor *b = &cpu->tensors[i];
        double far;

        if (strcmp(b->kind, "gradient") != 0)
            continue;
        far = tensor_distance(&ours->tensors[i], b, noise, bound);
        if (far > d.gradient || isnan(far)) {
            d.gradient = isnan(far) ? (double)INFINITY : far;
            d.worst = b->name;
        }
    }
    return d;
}

/* ---- a CPU whose sums end otherwise ---- */

/* Every element by a part of 2^-24 more or less, which depends on its bits. */
static void shake(const struct eng_view *v)
{
    int64_t count = 1;

    for (int d = 0; d < v->ndim; d++)
        count *= v->sizes[d];
    for (int64_t i = 0; i < count && v->dtype == VS_F32; i++) {
        int64_t at = 0;
        uint32_t bits;
        float *value;

        for (int64_t d = v->ndim - 1, rest = i; d >= 0; rest /= v->sizes[d--])
            at += rest % v->sizes[d] * v->strides[d];
        value = (float *)v->data + at;
        memcpy(&bits, value, sizeof(bits));
        *value *= bits * UINT32_C(0x9E3779B1) >> 31 ? 1 + 0x1p-23F : 1 - 0x1p-24F;
    }
}

static void shaken_matmul(const struct eng_view *a, const struct eng_view *b,
                          const struct eng_view *c, double alpha, double beta)
{
    eng_kernels_cpu()->matmul(a, b, c, alpha, beta);
    shake(c);
}

static void shaken_conv2d(const struct eng_view *x, const struct eng_view *w,
                          const struct eng_view *bias, const struct eng_view *out,
                          const struct eng_conv2d *p)
{
    eng_kernels_cpu()->conv2d(x, w, bias, out, p);
    shake(out);
}

static void shaken_backward_input(const struct eng_view *g, const struct eng_view *w,
                                  const struct eng_view *gx, const struct eng_conv2d *p)
{
    eng_kernels_cpu()->conv2d_backward_input(g, w, gx, p);
    shake(gx);
}

static struct distances measure_shaken(const struct facts_net *net, const char *pairs,
                                       const struct numbers *cpu, double bound)
{
    struct eng_kernels kernels = *eng_kernels_cpu();
    struct distances d = {0, 0, ""};
    struct numbers shaken;

    kernels.matmul = shaken_matmul;
    kernels.conv2d = shaken_conv2d;
    kernels.conv2d_backward_input = shaken_backward_input;
    numbers_run_on(&kernels, NULL, net->path, net->text, pairs, true, 0, &shaken);
    if (!shaken.status && shaken.count == cpu->count)
        d = measure(&shaken, cpu, bound);
    numbers_release(&shaken);
    return d;
}

/* ---- one net ---- */

static bool is_alike(const struct numbers *ours, const struct numbers *cpu, char *why, size_t size)
{
    if (ours->status || cpu->status)
        snprintf(why, size, "%s: %.250s", ours->status ? "the device fails" : "the CPU fails",
                 ours->status ? ours->error.text : cpu->error.text);
    else if (ours->count != cpu->count || ours->result.loss_count != cpu->result.loss_count)
        snprintf(why, size, "%zu tensors and %zu losses, on the CPU %zu and %zu", ours->count,
                 ours->result.loss_count, cpu->count, cpu->result.loss_count);
    return !*why;
}

static void check_net(struct check *c, const struct facts_net *net, const char *toggles, size_t p)
{
    struct numbers ours, again, cpu;
    struct distances d = {(double)NAN, (double)NAN, ""};
    struct distances own = {(double)NAN, (double)NAN, ""};
    struct distances bound = {PRECISIONS[p].loss, PRECISIONS[p].gradient, ""};
    struct vs_text text = {NULL, 0, 0};
    struct vs_json json;
    char pairs[200], name[300], why[400] = "", bits[200] = "";

    snprintf(pairs, sizeof(pairs), "%s%s", toggles, PRECISIONS[p].amp);
    snprintf(name, sizeof(name), "%s %s", net->path, pairs);
    numbers_run_on(NULL, &c->device, net->path, net->text, pairs, true, 0, &ours);
    numbers_run_on(NULL, &c->device, net->path, net->text, pairs, true, 0, &again);
    numbers_run_text(net->path, net->text, pairs, true, 0, &cpu);
    if (is_alike(&ours, &cpu, why, sizeof(why))) {
        d = measure(&ours, &cpu, bound.gradient);
        if (p == 0 && !(d.loss <= bound.loss && d.gradient <= bound.gradient)) {
            own = measure_shaken(net, pairs, &cpu, bound.gradient);
            bound.loss = fmax(bound.loss, SHAKEN * own.loss);
            bound.gradient = fmax(SIGN_FLIP, SHAKEN * own.gradient);
        }
        if (!(d.loss <= bound.loss))
            snprintf(why, sizeof(why), "a loss differs by %.3g of it", d.loss);
        else if (!(d.gradient <= bound.gradient))
            snprintf(why, sizeof(why), "the gradient of %s differs by %.3g of its norm", d.worst,
                     d.gradient);
        else if (!numbers_identical(&ours, &again, true, bits, sizeof(bits)))
            snprintf(why, sizeof(why), "the second run is another: %s", bits);
    }
    check_begin(&json, &text, name);
    vs_json_put_double(&json, "loss_distance", d.loss);
    vs_json_put_double(&json, "gradient_distance", d.gradient);
    vs_json_put_string(&json, "farthest", d.worst);
    vs_json_put_double(&json, "own_loss_distance", own.loss);
    vs_json_put_double(&json, "own_gradient_distance", own.gradient);
    check_end(c, &json, &text, name, why);
    numbers_release(&ours);
    numbers_release(&again);
    numbers_release(&cpu);
}

void check_nets(struct check *c)
{
    for (size_t p = 0; p < PRECISION_COUNT; p++) {
        for (size_t i = 0; i < (c->is_few ? FEW : FACTS_SMALL_COUNT); i++) {
            struct facts_net net = facts_net_read(FACTS_SMALL[i]);

            if (check_wants(c, net.path))
                check_net(c, &net, "steps=2", p);
            facts_net_release(&net);
        }
    }
    for (size_t i = 0; i < FACTS_SAMPLE_COUNT && !c->is_few; i++) {
        struct facts_net net = facts_sample_read(&FACTS_SAMPLES[i]);

        if (check_wants(c, net.path))
            check_net(c, &net, FACTS_SAMPLES[i].toggles, 0);
        facts_net_release(&net);
    }
}

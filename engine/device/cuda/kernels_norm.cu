/*
 * engine/device/cuda/kernels_norm.cu - batch, group, layer and rms normalisation, and their gradients.
 *
 * For:            the table.
 * Must not know:  modules.
 * Invariant:      statistics are taken in two passes (mean, then squares of differences), in double.
 *
 * All are one formula over sets of elements: y = (x - mean)*rstd*w + b. A team has a set: a channel, a group of one sample, a row.
 */
#include "engine/device/cuda/cuda_kernels.h"
#include "engine/device/cuda/cuda_views.cuh"

/* x as [N,C,L]; a set is channels [c0, c0+channels) of sample n, or of all samples where n is -1. */
struct sets {
    cuda_view x;
    int64_t samples, channels, length;
};

struct set {
    int64_t n, c0, channels, count;
};

VS_GPU static set channel_set(const sets &s, int64_t c)
{
    set t = {-1, c, 1, s.samples * s.length};

    return t;
}

VS_GPU static set group_set(const sets &s, int64_t line, int64_t groups)
{
    int64_t channels = s.channels / groups;
    set t = {line / groups, line % groups * channels, channels, channels * s.length};

    return t;
}

/* Element i of a set: which sample and channel, and where it lies in v. */
struct spot {
    int64_t n, c, l;
};

VS_GPU static spot spot_of(const sets &s, const set &t, int64_t i)
{
    spot p;

    p.l = i % s.length;
    p.c = t.c0 + i / s.length % t.channels;
    p.n = t.n >= 0 ? t.n : i / s.length / t.channels;
    return p;
}

VS_GPU static int64_t at(const cuda_view &v, const spot &p)
{
    return p.n * v.strides[0] + p.c * v.strides[1] + p.l * v.strides[2];
}

/* Element i of a vector that may be absent. */
VS_GPU static double vec(const cuda_view &v, int64_t i, double absent)
{
    return v.ndim >= 0 ? cuda_get<double>(v, i * v.strides[0]) : absent;
}

VS_GPU static double read(const cuda_view &v, const spot &p)
{
    return cuda_get<double>(v, at(v, p));
}

struct moments {
    double mean, sq; /* sq: the sum of squared differences */
};

VS_GPU static moments measure(cuda_team &team, const sets &s, const set &t)
{
    moments m;
    double mean =
        team.sum(t.count, [&](int64_t i) { return read(s.x, spot_of(s, t, i)); }) / (double)t.count;

    m.mean = mean;
    m.sq = team.sum(t.count, [&](int64_t i) {
        double d = read(s.x, spot_of(s, t, i)) - mean;

        return d * d;
    });
    return m;
}

/* out = (x - mean)*rstd*w + b over a set, in T. */
template <class T>
VS_GPU static void apply(cuda_team &team, const sets &s, const set &t, const cuda_view &out,
                         const cuda_view &w, const cuda_view &b, double mean, double rstd)
{
    team.each(t.count, [&](int64_t i) {
        spot p = spot_of(s, t, i);
        double a = rstd * vec(w, p.c, 1.0);
        double c = vec(b, p.c, 0.0) - mean * a;

        cuda_put<T>(out, at(out, p), (T)(read(s.x, p) * a + c));
    });
}

static sets sets_of(cuda_call &call, const struct eng_view *x)
{
    sets s;

    s.x = call.in(x, true);
    s.samples = x->sizes[0];
    s.channels = x->sizes[1];
    s.length = x->sizes[2];
    return s;
}

template <class T>
static void run_bn_train(const struct eng_view *x, const struct eng_view *w,
                         const struct eng_view *b, const struct eng_view *running_mean,
                         const struct eng_view *running_var, double momentum, double eps,
                         const struct eng_view *out, const struct eng_view *save_mean,
                         const struct eng_view *save_invstd)
{
    cuda_call call;
    sets s = sets_of(call, x);
    cuda_view vw = call.in(w, true), vb = call.in(b, true);
    cuda_view rm = call.out(running_mean, true), rv = call.out(running_var, true);
    cuda_view vo = call.out(out, true);
    cuda_view sm = call.out(save_mean, true), si = call.out(save_invstd, true);

    cuda_lines(s.channels, VS_BODY(int64_t c, cuda_team & team) {
        set t = channel_set(s, c);
        moments m = measure(team, s, t);
        double n = (double)t.count;
        double rstd = 1.0 / sqrt(m.sq / n + eps);

        team.each(1, [&](int64_t) {
            cuda_put<double>(sm, c * sm.strides[0], m.mean);
            cuda_put<double>(si, c * si.strides[0], rstd);
            if (rm.data)
                cuda_put<double>(rm, c * rm.strides[0],
                                 (1.0 - momentum) * vec(rm, c, 0.0) + momentum * m.mean);
            if (rv.data)
                cuda_put<double>(rv, c * rv.strides[0],
                                 (1.0 - momentum) * vec(rv, c, 0.0) + momentum * m.sq / (n - 1.0));
        });
        apply<T>(team, s, t, vo, vw, vb, m.mean, rstd);
    });
}

void cuda_batch_norm_train(const struct eng_view *x, const struct eng_view *w,
                           const struct eng_view *b, const struct eng_view *running_mean,
                           const struct eng_view *running_var, double momentum, double eps,
                           const struct eng_view *out, const struct eng_view *save_mean,
                           const struct eng_view *save_invstd)
{
    if (cuda_all_host(x, out)) {
        cuda_host()->batch_norm_train(x, w, b, running_mean, running_var, momentum, eps, out,
                                      save_mean, save_invstd);
        return;
    }
    if (cuda_numel(x) == 0)
        return;
    CUDA_FOR_REAL(cuda_kind_of(x->dtype),
                  run_bn_train<T>(x, w, b, running_mean, running_var, momentum, eps, out, save_mean,
                                  save_invstd));
}

template <class T>
static void run_bn_eval(const struct eng_view *x, const struct eng_view *w,
                        const struct eng_view *b, const struct eng_view *running_mean,
                        const struct eng_view *running_var, double eps, const struct eng_view *out)
{
    cuda_call call;
    sets s = sets_of(call, x);
    cuda_view vw = call.in(w, true), vb = call.in(b, true);
    cuda_view rm = call.in(running_mean, true), rv = call.in(running_var, true);
    cuda_view vo = call.out(out, true);

    cuda_lines(s.channels, VS_BODY(int64_t c, cuda_team & team) {
        apply<T>(team, s, channel_set(s, c), vo, vw, vb, vec(rm, c, 0.0),
                 1.0 / sqrt(vec(rv, c, 1.0) + eps));
    });
}

void cuda_batch_norm_eval(const struct eng_view *x, const struct eng_view *w,
                          const struct eng_view *b, const struct eng_view *running_mean,
                          const struct eng_view *running_var, double eps,
                          const struct eng_view *out)
{
    if (cuda_all_host(x, out)) {
        cuda_host()->batch_norm_eval(x, w, b, running_mean, running_var, eps, out);
        return;
    }
    if (cuda_numel(x) == 0)
        return;
    CUDA_FOR_REAL(cuda_kind_of(x->dtype),
                  run_bn_eval<T>(x, w, b, running_mean, running_var, eps, out));
}

/*
 * gx over a set whose parameters differ by channel: (g*w - gsum/count - (x-mean)*rstd^2*gdot/count) * rstd, where gsum is the sum of
 * g*w and gdot that of g*w*(x-mean); without statistics of the batch g*w*rstd.
 */
template <class T>
VS_GPU static void apply_backward(cuda_team &team, const sets &s, const set &t, const cuda_view &g,
                                  const cuda_view &w, const cuda_view &gx, double mean, double rstd,
                                  double gsum, double gdot, bool train)
{
    double shift = train ? gsum / (double)t.count : 0.0;
    double slope = train ? gdot * rstd * rstd / (double)t.count : 0.0;

    team.each(t.count, [&](int64_t i) {
        spot p = spot_of(s, t, i);
        double v = read(g, p) * vec(w, p.c, 1.0) - shift - (read(s.x, p) - mean) * slope;

        cuda_put<T>(gx, at(gx, p), (T)(v * rstd));
    });
}

template <class T>
static void run_bn_backward(const struct eng_view *g, const struct eng_view *x,
                            const struct eng_view *w, const struct eng_view *mean,
                            const struct eng_view *invstd, bool train, const struct eng_view *gx,
                            const struct eng_view *gw, const struct eng_view *gb)
{
    cuda_call call;
    sets s = sets_of(call, x);
    cuda_view vg = call.in(g, true), vw = call.in(w, true);
    cuda_view vm = call.in(mean, true), vi = call.in(invstd, true);
    cuda_view ox = call.out(gx, true), ow = call.out(gw, true), ob = call.out(gb, true);

    cuda_lines(s.channels, VS_BODY(int64_t c, cuda_team & team) {
        set t = channel_set(s, c);
        double m = vec(vm, c, 0.0);
        double rstd = vec(vi, c, 1.0);
        double scale = vec(vw, c, 1.0);
        double sum = team.sum(t.count, [&](int64_t i) { return read(vg, spot_of(s, t, i)); });
        double dot = team.sum(t.count, [&](int64_t i) {
            spot p = spot_of(s, t, i);

            return read(vg, p) * (read(s.x, p) - m);
        });

        team.each(1, [&](int64_t) {
            if (ow.data)
                cuda_put<double>(ow, c * ow.strides[0], dot * rstd);
            if (ob.data)
                cuda_put<double>(ob, c * ob.strides[0], sum);
        });
        if (ox.data)
            apply_backward<T>(team, s, t, vg, vw, ox, m, rstd, scale * sum, scale * dot, train);
    });
}

void cuda_batch_norm_backward(const struct eng_view *g, const struct eng_view *x,
                              const struct eng_view *w, const struct eng_view *mean,
                              const struct eng_view *invstd, bool train, const struct eng_view *gx,
                              const struct eng_view *gw, const struct eng_view *gb)
{
    if (cuda_all_host(g, x)) {
        cuda_host()->batch_norm_backward(g, x, w, mean, invstd, train, gx, gw, gb);
        return;
    }
    CUDA_FOR_REAL(cuda_kind_of(x->dtype),
                  run_bn_backward<T>(g, x, w, mean, invstd, train, gx, gw, gb));
}

VS_GPU static int64_t at2(const cuda_view &v, int64_t n, int64_t group)
{
    return n * v.strides[0] + group * v.strides[1];
}

template <class T>
static void run_gn(const struct eng_view *x, const struct eng_view *w, const struct eng_view *b,
                   int64_t groups, double eps, const struct eng_view *out,
                   const struct eng_view *mean, const struct eng_view *rstd)
{
    cuda_call call;
    sets s = sets_of(call, x);
    cuda_view vw = call.in(w, true), vb = call.in(b, true), vo = call.out(out, true);
    cuda_view vm = call.out(mean, true), vr = call.out(rstd, true);

    cuda_lines(s.samples * groups, VS_BODY(int64_t line, cuda_team & team) {
        set t = group_set(s, line, groups);
        moments m = measure(team, s, t);
        double r = 1.0 / sqrt(m.sq / (double)t.count + eps);

        team.each(1, [&](int64_t) {
            cuda_put<double>(vm, at2(vm, line / groups, line % groups), m.mean);
            cuda_put<double>(vr, at2(vr, line / groups, line % groups), r);
        });
        apply<T>(team, s, t, vo, vw, vb, m.mean, r);
    });
}

void cuda_group_norm(const struct eng_view *x, const struct eng_view *w, const struct eng_view *b,
                     int64_t groups, double eps, const struct eng_view *out,
                     const struct eng_view *mean, const struct eng_view *rstd)
{
    if (cuda_all_host(x, out)) {
        cuda_host()->group_norm(x, w, b, groups, eps, out, mean, rstd);
        return;
    }
    if (cuda_numel(x) == 0)
        return;
    CUDA_FOR_REAL(cuda_kind_of(x->dtype), run_gn<T>(x, w, b, groups, eps, out, mean, rstd));
}

template <class T>
static void run_gn_backward(const struct eng_view *g, const struct eng_view *x,
                            const struct eng_view *w, const struct eng_view *mean,
                            const struct eng_view *rstd, int64_t groups, const struct eng_view *gx,
                            const struct eng_view *gw, const struct eng_view *gb)
{
    cuda_call call;
    sets s = sets_of(call, x);
    cuda_view vg = call.in(g, true), vw = call.in(w, true);
    cuda_view vm = call.in(mean, true), vr = call.in(rstd, true);
    cuda_view ox = call.out(gx, true), ow = call.out(gw, true), ob = call.out(gb, true);

    if (ox.data)
        cuda_lines(s.samples * groups, VS_BODY(int64_t line, cuda_team & team) {
            set t = group_set(s, line, groups);
            double m = cuda_get<double>(vm, at2(vm, line / groups, line % groups));
            double r = cuda_get<double>(vr, at2(vr, line / groups, line % groups));
            double sum = team.sum(t.count, [&](int64_t i) {
                spot p = spot_of(s, t, i);

                return read(vg, p) * vec(vw, p.c, 1.0);
            });
            double dot = team.sum(t.count, [&](int64_t i) {
                spot p = spot_of(s, t, i);

                return read(vg, p) * vec(vw, p.c, 1.0) * (read(s.x, p) - m);
            });

            apply_backward<T>(team, s, t, vg, vw, ox, m, r, sum, dot, true);
        });
    if (!ow.data && !ob.data)
        return;
    cuda_lines(s.channels, VS_BODY(int64_t c, cuda_team & team) {
        set t = channel_set(s, c);
        int64_t group = c / (s.channels / groups);
        double sum = team.sum(t.count, [&](int64_t i) { return read(vg, spot_of(s, t, i)); });
        double dot = team.sum(t.count, [&](int64_t i) {
            spot p = spot_of(s, t, i);
            double d = read(s.x, p) - cuda_get<double>(vm, at2(vm, p.n, group));

            return read(vg, p) * d * cuda_get<double>(vr, at2(vr, p.n, group));
        });

        team.each(1, [&](int64_t) {
            if (ow.data)
                cuda_put<double>(ow, c * ow.strides[0], dot);
            if (ob.data)
                cuda_put<double>(ob, c * ob.strides[0], sum);
        });
    });
}

void cuda_group_norm_backward(const struct eng_view *g, const struct eng_view *x,
                              const struct eng_view *w, const struct eng_view *mean,
                              const struct eng_view *rstd, int64_t groups,
                              const struct eng_view *gx, const struct eng_view *gw,
                              const struct eng_view *gb)
{
    if (cuda_all_host(g, x)) {
        cuda_host()->group_norm_backward(g, x, w, mean, rstd, groups, gx, gw, gb);
        return;
    }
    CUDA_FOR_REAL(cuda_kind_of(x->dtype),
                  run_gn_backward<T>(g, x, w, mean, rstd, groups, gx, gw, gb));
}

/* Rows of [M,N]; without means (rms) they count as 0. */
struct rows {
    cuda_view x, g, w, b, mean, rstd, out, gw, gb;
    int64_t m, n;
    bool has_mean;
};

VS_GPU static double cell(const cuda_view &v, int64_t r, int64_t c)
{
    return cuda_get<double>(v, r * v.strides[0] + c * v.strides[1]);
}

template <class T> static void run_rows(const rows &s, double eps)
{
    cuda_lines(s.m, VS_BODY(int64_t r, cuda_team & team) {
        double n = (double)s.n;
        double mean = s.has_mean ? team.sum(s.n, [&](int64_t i) { return cell(s.x, r, i); }) / n
                                 : 0.0;
        double sq = team.sum(s.n, [&](int64_t i) {
            double d = cell(s.x, r, i) - mean;

            return d * d;
        });
        double rstd = 1.0 / sqrt(sq / n + eps);

        team.each(1, [&](int64_t) {
            if (s.has_mean)
                cuda_put<double>(s.mean, r * s.mean.strides[0], mean);
            cuda_put<double>(s.rstd, r * s.rstd.strides[0], rstd);
        });
        team.each(s.n, [&](int64_t i) {
            double y = (cell(s.x, r, i) - mean) * rstd * vec(s.w, i, 1.0) + vec(s.b, i, 0.0);

            cuda_put<T>(s.out, r * s.out.strides[0] + i * s.out.strides[1], (T)y);
        });
    });
}

template <class T> static void run_rows_backward(const rows &s)
{
    if (s.out.data)
        cuda_lines(s.m, VS_BODY(int64_t r, cuda_team & team) {
            double n = (double)s.n;
            double mean = s.has_mean ? vec(s.mean, r, 0.0) : 0.0;
            double rstd = vec(s.rstd, r, 1.0);
            double sum = s.has_mean ? team.sum(s.n, [&](int64_t i) {
                return cell(s.g, r, i) * vec(s.w, i, 1.0);
            })
                                    : 0.0;
            double dot = team.sum(s.n, [&](int64_t i) {
                return cell(s.g, r, i) * vec(s.w, i, 1.0) * (cell(s.x, r, i) - mean);
            });

            team.each(s.n, [&](int64_t i) {
                double v = cell(s.g, r, i) * vec(s.w, i, 1.0) - sum / n -
                           (cell(s.x, r, i) - mean) * rstd * rstd * dot / n;

                cuda_put<T>(s.out, r * s.out.strides[0] + i * s.out.strides[1], (T)(v * rstd));
            });
        });
    if (!s.gw.data && !s.gb.data)
        return;
    cuda_lines(s.n, VS_BODY(int64_t c, cuda_team & team) {
        double sum = team.sum(s.m, [&](int64_t r) { return cell(s.g, r, c); });
        double dot = team.sum(s.m, [&](int64_t r) {
            double mean = s.has_mean ? vec(s.mean, r, 0.0) : 0.0;

            return cell(s.g, r, c) * (cell(s.x, r, c) - mean) * vec(s.rstd, r, 1.0);
        });

        team.each(1, [&](int64_t) {
            if (s.gw.data)
                cuda_put<double>(s.gw, c * s.gw.strides[0], dot);
            if (s.gb.data)
                cuda_put<double>(s.gb, c * s.gb.strides[0], sum);
        });
    });
}

static void forward_rows(const struct eng_view *x, const struct eng_view *w,
                         const struct eng_view *b, double eps, const struct eng_view *out,
                         const struct eng_view *mean, const struct eng_view *rstd)
{
    cuda_call call;
    rows s;

    if (cuda_numel(x) == 0)
        return;
    s.x = call.in(x, true);
    s.g = call.in(NULL);
    s.w = call.in(w, true);
    s.b = call.in(b, true);
    s.mean = call.out(mean, true);
    s.rstd = call.out(rstd, true);
    s.out = call.out(out, true);
    s.gw = s.gb = s.g;
    s.m = x->sizes[0];
    s.n = x->sizes[1];
    s.has_mean = mean != NULL;
    CUDA_FOR_REAL(cuda_kind_of(x->dtype), run_rows<T>(s, eps));
}

static void backward_rows(const struct eng_view *g, const struct eng_view *x,
                          const struct eng_view *w, const struct eng_view *mean,
                          const struct eng_view *rstd, const struct eng_view *gx,
                          const struct eng_view *gw, const struct eng_view *gb)
{
    cuda_call call;
    rows s;

    s.x = call.in(x, true);
    s.g = call.in(g, true);
    s.w = call.in(w, true);
    s.b = call.in(NULL);
    s.mean = call.in(mean, true);
    s.rstd = call.in(rstd, true);
    s.out = call.out(gx, true);
    s.gw = call.out(gw, true);
    s.gb = call.out(gb, true);
    s.m = x->sizes[0];
    s.n = x->sizes[1];
    s.has_mean = mean != NULL;
    CUDA_FOR_REAL(cuda_kind_of(x->dtype), run_rows_backward<T>(s));
}

void cuda_layer_norm(const struct eng_view *x, const struct eng_view *w, const struct eng_view *b,
                     double eps, const struct eng_view *out, const struct eng_view *mean,
                     const struct eng_view *rstd)
{
    if (cuda_all_host(x, out))
        cuda_host()->layer_norm(x, w, b, eps, out, mean, rstd);
    else
        forward_rows(x, w, b, eps, out, mean, rstd);
}

void cuda_layer_norm_backward(const struct eng_view *g, const struct eng_view *x,
                              const struct eng_view *w, const struct eng_view *mean,
                              const struct eng_view *rstd, const struct eng_view *gx,
                              const struct eng_view *gw, const struct eng_view *gb)
{
    if (cuda_all_host(g, x))
        cuda_host()->layer_norm_backward(g, x, w, mean, rstd, gx, gw, gb);
    else
        backward_rows(g, x, w, mean, rstd, gx, gw, gb);
}

void cuda_rms_norm(const struct eng_view *x, const struct eng_view *w, double eps,
                   const struct eng_view *out, const struct eng_view *rstd)
{
    if (cuda_all_host(x, out))
        cuda_host()->rms_norm(x, w, eps, out, rstd);
    else
        forward_rows(x, w, NULL, eps, out, NULL, rstd);
}

void cuda_rms_norm_backward(const struct eng_view *g, const struct eng_view *x,
                            const struct eng_view *w, const struct eng_view *rstd,
                            const struct eng_view *gx, const struct eng_view *gw)
{
    if (cuda_all_host(g, x))
        cuda_host()->rms_norm_backward(g, x, w, rstd, gx, gw);
    else
        backward_rows(g, x, w, NULL, rstd, gx, gw, NULL);
}

/*
 * engine/core/flops.c - see flops.h.
 *
 * Must not know:  data, devices.
 * Invariant:      sizes are read only after the number of dims was checked: the call may still be refused.
 */
#include "engine/core/flops.h"

#include "engine/core/graph.h"
#include "engine/core/op_internal.h"

/* The product of all sizes from dim `from` on. */
static uint64_t volume(const int64_t *sizes, int ndim, int from)
{
    uint64_t n = 1;

    for (int d = from; d < ndim; d++)
        n *= (uint64_t)sizes[d];
    return n;
}

/* [..., n, m] x [..., m, p] */
static uint64_t of_product(const struct eng_arg *left, const struct eng_arg *right, int ndim)
{
    const struct eng_tensor *a = eng_arg_tensor(left);
    const struct eng_tensor *z = eng_arg_tensor(right);

    if (!a || !z || a->ndim != ndim || z->ndim != ndim)
        return 0;
    return 2 * volume(a->sizes, ndim, 0) * (uint64_t)z->sizes[ndim - 1];
}

/* Element k of a list that has one element per dim, or one for all. */
static int64_t per_dim(const struct eng_arg *list, int k)
{
    return list->count ? list->v.ints[list->count > 1 ? k : 0] : 0;
}

/* Sizes of an input and a weight, and the call's arguments. positions: at which the kernel is applied, of one image */
struct conv {
    const int64_t *x, *w;
    int ndim;
    const struct eng_arg *a;
};

static uint64_t conv_positions(const struct conv *c)
{
    uint64_t positions = 1;

    if (c->a[ARG_convolution_transposed].v.flag)
        return volume(c->x, c->ndim, 2);
    for (int d = 2; d < c->ndim; d++) {
        const int64_t stride = per_dim(&c->a[ARG_convolution_stride], d - 2);
        const int64_t dilation = per_dim(&c->a[ARG_convolution_dilation], d - 2);
        const int64_t padding = per_dim(&c->a[ARG_convolution_padding], d - 2);
        const int64_t spare = c->x[d] + 2 * padding - dilation * (c->w[d] - 1) - 1;

        if (stride < 1 || dilation < 1 || spare < 0)
            return 0;
        positions *= (uint64_t)(spare / stride + 1);
    }
    return positions;
}

/* Of the convolution, and of each of the two gradients that are convolutions themselves. */
static uint64_t of_convolution(const struct conv *c)
{
    return 2 * volume(c->w, c->ndim, 0) * (uint64_t)c->x[0] * conv_positions(c);
}

static uint64_t of_convolution_call(const struct eng_arg *a)
{
    const struct eng_tensor *x = eng_arg_tensor(&a[ARG_convolution_input]);
    const struct eng_tensor *w = eng_arg_tensor(&a[ARG_convolution_weight]);

    if (!x || !w || x->ndim < 3 || x->ndim != w->ndim)
        return 0;
    return of_convolution(&(struct conv){x->sizes, w->sizes, x->ndim, a});
}

/*
 * q [B,H,L,E], k [B,H,S,E], v [B,H,S,D]: products of [L,E] with [E,S] (or of the same size), and of [L,S] with [S,D].
 */
static uint64_t of_attention(const int64_t *q, const int64_t *k, const int64_t *v, uint64_t with_e,
                             uint64_t with_d)
{
    const uint64_t scores = (uint64_t)(q[0] * q[1] * q[2] * k[2]);

    return 2 * scores * (with_e * (uint64_t)q[3] + with_d * (uint64_t)v[3]);
}

/* Query, key and value are the first three arguments of both ops. */
static uint64_t of_attention_call(const struct eng_arg *a)
{
    const struct eng_tensor *q = eng_arg_tensor(&a[0]);
    const struct eng_tensor *k = eng_arg_tensor(&a[1]);
    const struct eng_tensor *v = eng_arg_tensor(&a[2]);

    if (!q || !k || !v || q->ndim != 4 || k->ndim != 4 || v->ndim != 4)
        return 0;
    return of_attention(q->sizes, k->sizes, v->sizes, 1, 1);
}

/* As of_attention_node, of the op that a custom function calls. */
static uint64_t of_attention_backward_call(const struct eng_arg *args)
{
    return of_attention(eng_arg_tensor(&args[1])->sizes, eng_arg_tensor(&args[2])->sizes,
                        eng_arg_tensor(&args[3])->sizes, 3, 2);
}

uint64_t eng_flops_of_call(enum eng_op_id id, const struct eng_arg *args)
{
    const struct eng_tensor *first;

    switch ((int)id) { /* most ops are not counted */
    case ENG_OP_mm:
        return of_product(&args[ARG_mm_input], &args[ARG_mm_mat2], 2);
    case ENG_OP_addmm:
        return of_product(&args[ARG_addmm_mat1], &args[ARG_addmm_mat2], 2);
    case ENG_OP_bmm:
        return of_product(&args[ARG_bmm_input], &args[ARG_bmm_mat2], 3);
    case ENG_OP_baddbmm:
        return of_product(&args[ARG_baddbmm_batch1], &args[ARG_baddbmm_batch2], 3);
    case ENG_OP_mv:
    case ENG_OP_dot:
        first = eng_arg_tensor(&args[0]);
        return first ? 2 * (uint64_t)eng_numel(first) : 0;
    case ENG_OP_convolution:
        return of_convolution_call(args);
    case ENG_OP_sdpa_flash:
    case ENG_OP_sdpa_efficient:
        return of_attention_call(args);
    case ENG_OP_sdpa_flash_backward:
    case ENG_OP_sdpa_efficient_backward:
        return of_attention_backward_call(args);
    default:
        return 0;
    }
}

/* The edge of a tensor argument, which has the sizes of the argument. */
static const struct eng_edge *edge_of(const struct eng_node *n, int arg)
{
    return &n->edges[n->arg_edge[arg]];
}

static uint64_t of_convolution_node(const struct eng_node *n)
{
    const struct eng_edge *x = edge_of(n, ARG_convolution_input);
    const struct eng_edge *w = edge_of(n, ARG_convolution_weight);
    const uint64_t gradients = (uint64_t)eng_edge_is_wanted(x) + (uint64_t)eng_edge_is_wanted(w);

    return gradients * of_convolution(&(struct conv){x->sizes, w->sizes, x->ndim, n->args});
}

/* The scores again and the gradients of query and key; the gradients of the scores and of the value. */
static uint64_t of_attention_node(const struct eng_node *n)
{
    return of_attention(edge_of(n, 0)->sizes, edge_of(n, 1)->sizes, edge_of(n, 2)->sizes, 3, 2);
}

uint64_t eng_flops_of_node(const struct eng_node *n, struct eng_tensor *const *g)
{
    if (n->kind != ENG_NODE_OP || !g || !g[0])
        return 0;
    switch ((int)n->op) { /* the formulas of the others call ops */
    case ENG_OP_convolution:
        return of_convolution_node(n);
    case ENG_OP_sdpa_flash:
    case ENG_OP_sdpa_efficient:
        return of_attention_node(n);
    default:
        return 0;
    }
}

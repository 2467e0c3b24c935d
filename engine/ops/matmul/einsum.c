/*
 * engine/ops/matmul/einsum.c - torch.einsum: permutes, one bmm a pair, a view back.
 *
 * Must not know:  models.
 * Invariant:      operands are contracted from left to right; each pair is one bmm (or a mul where nothing is summed)
 *                 with the first operand on the left, since 2.11 with the second where all dims of it alone come first
 *                 in the result, as PyTorch's einsum does it without an optimised path.
 */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

#define LABELS 52
#define ELLIPSIS LABELS
#define OPERANDS_MAX 8

/*
 * A parsed equation. Dims of the ellipsis are labels from ELLIPSIS on; the last dim is the last label, in every
 * operand.
 */
struct equation {
    int8_t operand[OPERANDS_MAX][VS_MAX_DIMS];
    int operand_dims[OPERANDS_MAX];
    int8_t output[VS_MAX_DIMS * 2];
    int output_dims;
    int operands;
    int position
        [LABELS +
         VS_MAX_DIMS]; /* dim of each label in the common layout: output first, then summed ones */
    int dims;
};

static int label_of(char ch)
{
    if (ch >= 'A' && ch <= 'Z')
        return ch - 'A';
    if (ch >= 'a' && ch <= 'z')
        return 26 + ch - 'a';
    return -1;
}

static char letter_of(int label)
{
    return label >= ELLIPSIS ? '.' : (char)(label < 26 ? 'A' + label : 'a' + label - 26);
}

static bool parse_operand(struct eng *e, const char **p, const struct eng_tensor *t, int8_t *labels,
                          int *count, int *ellipsis_dims)
{
    int n = 0;
    int letters = 0;

    for (const char *q = *p; *q && *q != ',' && *q != '-'; q++)
        letters += label_of(*q) >= 0;
    for (; **p && **p != ',' && **p != '-'; (*p)++) {
        if (**p == ' ')
            continue;
        if (**p == '.') {
            int extra = t->ndim - letters;

            *p += 2;
            for (int k = 0; k < extra; k++)
                labels[n++] = (int8_t)(ELLIPSIS + VS_MAX_DIMS - extra + k);
            if (extra > *ellipsis_dims)
                *ellipsis_dims = extra;
            continue;
        }
        if (label_of(**p) < 0 || n == VS_MAX_DIMS) {
            eng_fail(e, VS_E_VALUE, "einsum: invalid subscript '%c' in the equation", **p);
            return false;
        }
        labels[n++] = (int8_t)label_of(**p);
    }
    if (n != t->ndim) {
        eng_fail(e, VS_E_SHAPE,
                 "einsum: the number of subscripts (%d) does not match the operand's %d dimensions",
                 n, t->ndim);
        return false;
    }
    *count = n;
    return true;
}

/* Without "->" the output is every label that occurs once, in alphabetical order, after the ellipsis. */
static void implicit_output(struct equation *eq, const int *seen, int ellipsis_dims)
{
    for (int k = 0; k < ellipsis_dims; k++)
        eq->output[eq->output_dims++] = (int8_t)(ELLIPSIS + VS_MAX_DIMS - ellipsis_dims + k);
    for (int label = 0; label < LABELS; label++) {
        if (seen[label] == 1)
            eq->output[eq->output_dims++] = (int8_t)label;
    }
}

/* Every occurrence of a subscript has the same size, or size 1. */
static bool sizes_agree(struct eng *e, struct eng_tensor *const *ts, int count,
                        const struct equation *eq)
{
    int64_t size[LABELS + VS_MAX_DIMS];
    int where[LABELS + VS_MAX_DIMS];

    for (int label = 0; label < LABELS + VS_MAX_DIMS; label++)
        size[label] = 1;
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < eq->operand_dims[i]; k++) {
            int label = eq->operand[i][k];
            char a[ENG_SHAPE_TEXT_MAX], z[ENG_SHAPE_TEXT_MAX];

            if (ts[i]->sizes[k] == 1 || ts[i]->sizes[k] == size[label])
                continue;
            if (size[label] != 1) {
                eng_fail(e, VS_E_SHAPE,
                         "einsum: subscript '%c' is %" PRId64 " in operand %d %s and %" PRId64
                         " in operand %d %s",
                         letter_of(label), size[label], where[label],
                         eng_shape_text(ts[where[label]], a), ts[i]->sizes[k], i,
                         eng_shape_text(ts[i], z));
                return false;
            }
            size[label] = ts[i]->sizes[k];
            where[label] = i;
        }
    }
    return true;
}

static bool parse_equation(struct eng *e, const char *text, struct eng_tensor *const *ts, int count,
                           struct equation *eq)
{
    const char *p = text;
    int seen[LABELS + VS_MAX_DIMS] = {0};
    int ellipsis_dims = 0;

    memset(eq, 0, sizeof(*eq));
    if (count > OPERANDS_MAX) {
        eng_fail(e, VS_E_UNSUPPORTED, "einsum: more than %d operands", OPERANDS_MAX);
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (!parse_operand(e, &p, ts[i], eq->operand[i], &eq->operand_dims[i], &ellipsis_dims))
            return false;
        for (int k = 0; k < eq->operand_dims[i]; k++)
            seen[eq->operand[i][k]]++;
        if (i + 1 < count && *p++ != ',') {
            eng_fail(e, VS_E_VALUE, "einsum: fewer operands in the equation than were given (%d)",
                     count);
            return false;
        }
    }
    if (*p == '-' && p[1] == '>') {
        for (p += 2; *p; p++) {
            if (*p == ' ')
                continue;
            if (*p == '.') {
                p += 2;
                for (int k = 0; k < ellipsis_dims; k++)
                    eq->output[eq->output_dims++] =
                        (int8_t)(ELLIPSIS + VS_MAX_DIMS - ellipsis_dims + k);
                continue;
            }
            if (label_of(*p) < 0 || !seen[label_of(*p)]) {
                eng_fail(
                    e, VS_E_VALUE,
                    "einsum: output subscript '%c' does not appear in the equation for any input",
                    *p);
                return false;
            }
            eq->output[eq->output_dims++] = (int8_t)label_of(*p);
        }
    } else if (*p) {
        eng_fail(e, VS_E_VALUE, "einsum: more operands in the equation than were given (%d)",
                 count);
        return false;
    } else {
        implicit_output(eq, seen, ellipsis_dims);
    }
    for (int label = 0; label < LABELS + VS_MAX_DIMS; label++)
        eq->position[label] = -1;
    for (int k = 0; k < eq->output_dims; k++)
        eq->position[eq->output[k]] = eq->dims++;
    for (int label = LABELS + VS_MAX_DIMS - ellipsis_dims; label < LABELS + VS_MAX_DIMS; label++) {
        if (eq->position[label] < 0)
            eq->position[label] = eq->dims++;
    }
    for (int label = 0; label < LABELS; label++) {
        if (seen[label] && eq->position[label] < 0)
            eq->position[label] = eq->dims++;
    }
    if (eq->dims > VS_MAX_DIMS) {
        eng_fail(e, VS_E_UNSUPPORTED, "einsum: more than %d different subscripts", VS_MAX_DIMS);
        return false;
    }
    return true;
}

/* Where a label stands twice in operand i, the operand's diagonal along those dims instead. A new reference. */
static struct eng_tensor *take_diagonals(struct eng *e, struct equation *eq, int i,
                                         struct eng_tensor *t)
{
    int8_t *labels = eq->operand[i];
    struct eng_tensor *cur = eng_ref(t);

    for (int k = 1; k < eq->operand_dims[i]; k++) {
        int first = 0;

        while (labels[first] != labels[k])
            first++;
        if (first == k || !cur)
            continue;
        if (cur->sizes[first] != cur->sizes[k]) {
            char tx[ENG_SHAPE_TEXT_MAX];

            eng_unref(cur);
            return eng_fail(e, VS_E_SHAPE,
                            "einsum(): a subscript is repeated for operand %d, but the sizes of "
                            "its dimensions %d and %d differ: %s",
                            i, first, k, eng_shape_text(t, tx));
        }
        {
            struct eng_arg diagonal[] = {eng_at(cur), eng_ai(0), eng_ai(first), eng_ai(k)};
            struct eng_tensor *last = eng_call1(e, ENG_OP_diagonal, diagonal);
            struct eng_arg move[] = {eng_at(last), eng_ai(-1), eng_ai(first)};

            eng_slot_set(&cur, last ? eng_call1(e, ENG_OP_movedim, move) : NULL);
            eng_unref(last);
        }
        memmove(labels + k, labels + k + 1, (size_t)(--eq->operand_dims[i] - k));
        k--;
    }
    return cur;
}

/* An operand in the common layout: size-1 dims for labels it does not have. A new reference. */
static struct eng_tensor *lay_out(struct eng *e, struct equation *eq, int i, struct eng_tensor *t)
{
    int64_t order[VS_MAX_DIMS];
    struct eng_tensor *cur = take_diagonals(e, eq, i, t), *out;
    int n = eq->operand_dims[i];

    for (int d = 0; d < eq->dims; d++)
        order[d] = -1;
    for (int k = 0; k < n; k++)
        order[eq->position[eq->operand[i][k]]] = k;
    for (int d = 0; d < eq->dims && cur; d++) {
        if (order[d] >= 0)
            continue;
        eng_slot_set(&cur, eng_unsqueeze(e, cur, -1));
        order[d] = n++;
    }
    out = eng_permute(e, cur, order, eq->dims);
    eng_unref(cur);
    return out;
}

static int64_t product_of(const struct eng_tensor *t, const int *dims, int count)
{
    int64_t n = 1;

    for (int i = 0; i < count; i++)
        n *= t->sizes[dims[i]];
    return n;
}

static struct eng_tensor *permute_reshape(struct eng *e, struct eng_tensor *t, const int64_t *order,
                                          int ndim, const int64_t *sizes)
{
    struct eng_tensor *turned = eng_permute(e, t, order, ndim);
    struct eng_tensor *out = eng_reshape(e, turned, sizes, 3);

    eng_unref(turned);
    return out;
}

static int put_dims(int64_t *order, int at, const int *dims, int count)
{
    for (int i = 0; i < count; i++)
        order[at++] = dims[i];
    return at;
}

/* One pair: dims both have and keep (batch), the left's, the right's, and the summed. Sizes stay at 1 where summed. */
static struct eng_tensor *contract(struct eng *e, struct eng_tensor *left, struct eng_tensor *right,
                                   uint32_t sum)
{
    int lro[VS_MAX_DIMS], lo[VS_MAX_DIMS], ro[VS_MAX_DIMS], so[VS_MAX_DIMS];
    int n_lro = 0, n_lo = 0, n_ro = 0, n_so = 0, n = left->ndim, k = 0;
    int64_t lorder[VS_MAX_DIMS], rorder[VS_MAX_DIMS], back[VS_MAX_DIMS], sizes[VS_MAX_DIMS];
    int64_t batch, rows, cols, inner;
    struct eng_tensor *a, *z, *product, *shaped, *out;

    if (!sum)
        return eng_mul(e, left, right);
    for (int d = 0; d < n; d++) {
        bool l = left->sizes[d] > 1, r = right->sizes[d] > 1;

        if (sum >> d & 1)
            so[n_so++] = d;
        else if (l && r)
            lro[n_lro++] = d;
        else if (l)
            lo[n_lo++] = d;
        else
            ro[n_ro++] = d;
    }
    if (eng_torch(e) > 8 && n_lo && n_ro && ro[n_ro - 1] < lo[0])
        return contract(e, right, left, sum);
    batch = product_of(left, lro, n_lro);
    rows = product_of(left, lo, n_lo);
    cols = product_of(right, ro, n_ro);
    inner = product_of(left, so, n_so);
    k = put_dims(
        lorder,
        put_dims(lorder, put_dims(lorder, put_dims(lorder, 0, lro, n_lro), lo, n_lo), so, n_so), ro,
        n_ro);
    put_dims(
        rorder,
        put_dims(rorder, put_dims(rorder, put_dims(rorder, 0, lro, n_lro), so, n_so), ro, n_ro), lo,
        n_lo);
    VS_ASSERT(k == n);
    a = permute_reshape(e, left, lorder, n, (int64_t[]){batch, rows, inner});
    z = permute_reshape(e, right, rorder, n, (int64_t[]){batch, inner, cols});
    product = eng_bmm(e, a, z);
    k = 0;
    for (int i = 0; i < n_lro; i++, k++) {
        sizes[k] = left->sizes[lro[i]];
        back[lro[i]] = k;
    }
    for (int i = 0; i < n_lo; i++, k++) {
        sizes[k] = left->sizes[lo[i]];
        back[lo[i]] = k;
    }
    for (int i = 0; i < n_so; i++, k++) {
        sizes[k] = 1;
        back[so[i]] = k;
    }
    for (int i = 0; i < n_ro; i++, k++) {
        sizes[k] = right->sizes[ro[i]];
        back[ro[i]] = k;
    }
    {
        struct eng_arg args[] = {eng_at(product), eng_aints(sizes, n)};

        shaped = product ? eng_call1(e, ENG_OP_view, args) : NULL;
    }
    out = eng_permute(e, shaped, back, n);
    eng_unref(shaped);
    eng_unref(product);
    eng_unref(z);
    eng_unref(a);
    return out;
}

/* Which dims can be summed with this pair: those that no later operand has. */
static struct eng_tensor *next_pair(struct eng *e, const struct equation *eq, struct eng_tensor *a,
                                    struct eng_tensor *z, int *left_in)
{
    uint32_t both = 0;
    int64_t only_a[VS_MAX_DIMS], only_z[VS_MAX_DIMS];
    int n_a = 0, n_z = 0;
    struct eng_tensor *ra, *rz, *out;

    for (int d = eq->output_dims; d < eq->dims; d++) {
        if (a->sizes[d] != 1 && z->sizes[d] != 1) {
            if (--left_in[d] == 1) {
                both |= 1U << d;
                left_in[d] = 0;
            }
        } else if (left_in[d] == 1) {
            if (a->sizes[d] != 1) {
                only_a[n_a++] = d;
                left_in[d] = 0;
            } else if (z->sizes[d] != 1) {
                only_z[n_z++] = d;
                left_in[d] = 0;
            }
        }
    }
    ra = n_a ? eng_sum_dims(e, a, only_a, n_a, true) : eng_ref(a);
    rz = n_z ? eng_sum_dims(e, z, only_z, n_z, true) : eng_ref(z);
    out = ra && rz ? contract(e, ra, rz, both) : NULL;
    eng_unref(rz);
    eng_unref(ra);
    return out;
}

void eng_f_einsum(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *const *ts = c->a[ARG_einsum_tensors].v.tensors;
    int count = (int)c->a[ARG_einsum_tensors].count;
    int left_in[VS_MAX_DIMS] = {0};
    struct eng_tensor *laid[OPERANDS_MAX] = {0};
    struct equation eq;
    struct eng_tensor *cur;

    if (!count || !parse_equation(e, c->a[ARG_einsum_equation].v.str, ts, count, &eq) ||
        !sizes_agree(e, ts, count, &eq)) {
        eng_fail(e, VS_E_VALUE, "einsum: must provide at least one operand");
        return;
    }
    for (int i = 0; i < count; i++) {
        laid[i] = lay_out(e, &eq, i, ts[i]);
        for (int d = 0; laid[i] && d < eq.dims; d++)
            left_in[d] += laid[i]->sizes[d] != 1;
    }
    cur = laid[0];
    for (int i = 1; i < count && !e->failed; i++) {
        struct eng_tensor *next = next_pair(e, &eq, cur, laid[i], left_in);

        eng_unref(laid[i]);
        eng_unref(cur);
        laid[i] = laid[0] = NULL;
        cur = next;
    }
    if (cur && eq.dims > eq.output_dims && !e->failed) {
        struct eng_tensor *out;

        if (count > 1) {
            struct eng_arg args[] = {eng_at(cur), eng_aints(cur->sizes, eq.output_dims)};

            out = eng_call1(e, ENG_OP_view, args);
        } else {
            int64_t dims[VS_MAX_DIMS];

            for (int d = eq.output_dims; d < eq.dims; d++)
                dims[d - eq.output_dims] = d;
            out = eng_sum_dims(e, cur, dims, eq.dims - eq.output_dims, false);
        }
        eng_unref(cur);
        cur = out;
    }
    for (int i = 1; i < count; i++)
        eng_unref(laid[i]);
    eng_c_give(c, cur);
}

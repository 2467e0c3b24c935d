/*
 * engine/core/op.h - the table of ops: name, parameters, saved tensors and functions of each; and how an op is run.
 *
 * For:            lang/ (binds every row under its PyTorch name), `vramscope ops`, and the ops' own formulas.
 * Must not know:  the net language.
 * Invariant:      all ops go through eng_call, so autocast, autograd, counting and events are implemented once.
 *
 * A row of op.def is
 *     OP(id, "name", "signature", where, kind, autocast, "node", "saves", forward, backward)
 *
 * name       PyTorch's; overloads have a suffix ("max.dim"), and are tried in the table's order until the arguments fit
 * signature  "(Tensor input, Tensor? bias=None, int[2] stride=1, *, Scalar alpha=1)": PyTorch's names, order, defaults.
 *            Types: Tensor, Tensor?, Tensor[], Scalar (a number), Operand (a tensor or a number), int, int?, int[] (or
 *            one int), int[2] (one int stands for two), float[], float, float?, bool, dtype?, str, str?, device?, index
 *            (the index of x[...])
 * where      where PyTorch has it: T torch.name, F torch.nn.functional.name, M tensor method, I also an in-place
 *            variant name_ (method, and torch.name_ / F.name_ where T / F), P internal: bound as torch.NAME and
 *            torch.NAME_ (in place), only for the prelude and the bindings
 * kind       LEAF one aten op with a derivative; VIEW the same, sharing its input's memory; COMPOSITE made of other
 *            rows; NODIFF no derivative
 * autocast   NONE, LOW (cast to the autocast dtype), FP32, FP32_OUT (dtype=float32 if none is given), PROMOTE (widest),
 *            REFUSED (fails under autocast)
 * node       PyTorch's name of the backward node
 * saves      the tensors autograd saves, in the order in which they are saved and released (inputs by name, then
 *            results): "other?self self?other result" (`a?b`: a only if b requires grad; `result`, `result1`, … are
 *            outputs). A leading "~" on an input: the in-place variant saves its result instead. A leading "+": saved
 *            after the kernel, where PyTorch saves an empty result after it (a recomputation that stops early stops
 *            there)
 */
#ifndef ENG_OP_H
#define ENG_OP_H

#include "engine/core/tensor.h"
#include "engine/device/kernels.h"

enum eng_arg_kind {
    ENG_A_NONE,
    ENG_A_TENSOR,
    ENG_A_TENSORS,
    ENG_A_SCALAR, /* an int, float or bool, given for int, float, bool, Scalar or Operand */
    ENG_A_BOOL,
    ENG_A_INTS,
    ENG_A_FLOATS,
    ENG_A_DTYPE,
    ENG_A_STR,
    ENG_A_DEVICE, /* i: 1 host, 0 device */
    ENG_A_INDEX   /* see struct eng_index */
};

/* One item of x[...]. */
enum eng_index_kind { ENG_I_INT, ENG_I_SLICE, ENG_I_NEWAXIS, ENG_I_ELLIPSIS, ENG_I_TENSOR };
struct eng_index {
    enum eng_index_kind kind;
    int64_t start; /* the int, or a slice's bounds; INT64_MAX as stop: to the end */
    int64_t stop;
    int64_t step;
    bool has_start;
    bool has_stop;
    struct eng_tensor *tensor;
};

/* One argument. Borrowed: eng_call takes no reference. */
struct eng_arg {
    enum eng_arg_kind kind;
    uint32_t count; /* of tensors, ints, index items; 1 for a scalar that is True or False */
    union {
        struct eng_tensor *tensor;
        struct eng_tensor *const *tensors;
        struct eng_scalar scalar;
        bool flag;
        const int64_t *ints;
        const double *floats;
        enum vs_dtype dtype;
        const char *str;
        bool on_host;
        const struct eng_index *index;
    } v;
};

#define ENG_MAX_ARGS 16
#define ENG_MAX_SAVES 12

/* Results of a call: `count` tensors, owned by the caller. A list result (split, unbind) has is_list set. */
struct eng_ret {
    uint32_t count;
    bool is_list;
    struct eng_tensor **tensors; /* points to few or to the heap: free with eng_ret_release */
    struct eng_tensor *few[6];
};
/* Releases the tensors that are still in it, and its memory. */
void eng_ret_release(struct eng_ret *ret);

enum eng_param_type {
    ENG_P_TENSOR,
    ENG_P_TENSOR_OPT,
    ENG_P_TENSORS,
    ENG_P_SCALAR,
    ENG_P_OPERAND,
    ENG_P_INT,
    ENG_P_INT_OPT,
    ENG_P_INTS,
    ENG_P_FLOATS,
    ENG_P_FLOAT,
    ENG_P_FLOAT_OPT,
    ENG_P_BOOL,
    ENG_P_DTYPE,
    ENG_P_STR,
    ENG_P_DEVICE,
    ENG_P_INDEX
};

/* One parameter of a signature. */
struct eng_param {
    char name[24];
    enum eng_param_type type;
    uint8_t ints; /* int[N]: N; int[]: 0 */
    bool keyword_only;
    bool has_default;
    struct eng_arg value; /* the default (ints point into the table's memory) */
};

enum eng_op_kind { ENG_LEAF, ENG_VIEW, ENG_COMPOSITE, ENG_NODIFF };
enum eng_op_autocast {
    ENG_AC_NONE,
    ENG_AC_LOW,
    ENG_AC_FP32,
    ENG_AC_FP32_OUT,
    ENG_AC_PROMOTE,
    ENG_AC_REFUSED
};

enum eng_op_id {
/* clang-format off */
#define OP(id, ...) ENG_OP_##id,
#include "engine/core/op.def"
#undef OP
    /* clang-format on */
    ENG_OP_COUNT
};

struct eng;
struct eng_op_call;
struct eng_bw;

/* Computes the outputs, with the eng_c_ functions of op_internal.h. */
typedef void eng_forward_fn(struct eng_op_call *c);
/* Computes gradients: see op_internal.h. */
typedef void eng_backward_fn(struct eng_bw *b);

struct eng_op {
    const char *name;
    const char *signature;
    const char *where;
    enum eng_op_kind kind;
    enum eng_op_autocast autocast;
    const char *node;
    const char *saves;
    eng_forward_fn *forward;
    eng_backward_fn *backward;
};

/* The row of an op; and the parameters of its signature, param_count of them. Both are borrowed. */
const struct eng_op *eng_op_get(enum eng_op_id id);
const struct eng_param *eng_op_params(const struct eng *e, enum eng_op_id id, int *param_count);

/*
 * Runs an op. args: one per parameter of the signature, in its order; ENG_A_NONE for an optional one that is absent.
 * True: ret holds the results. False: it failed (see eng_failed), or an input was NULL after an earlier failure; ret is
 * empty.
 */
bool eng_call(struct eng *e, enum eng_op_id id, const struct eng_arg *args, struct eng_ret *ret);
/*
 * Runs the in-place variant: overwrites args[0] and returns it (a new reference) as the result. Fails as PyTorch does
 * if args[0] is a leaf that requires grad. That a saved value was overwritten is found in backward.
 */
bool eng_call_inplace(struct eng *e, enum eng_op_id id, const struct eng_arg *args,
                      struct eng_ret *ret);

/* Arguments from C values. */
struct eng_arg eng_at(struct eng_tensor *t); /* NULL: none */
struct eng_arg eng_ai(int64_t i);
struct eng_arg eng_af(double f);
struct eng_arg eng_ab(bool b);
struct eng_arg eng_ad(enum vs_dtype dtype);
struct eng_arg eng_as(const char *text);
struct eng_arg eng_aints(const int64_t *ints, int count);
struct eng_arg eng_atensors(struct eng_tensor *const *tensors, int count);
struct eng_arg eng_anone(void);
struct eng_arg eng_ahost(bool on_host);

/* eng_call for ops with one result: the tensor, owned by the caller; NULL on failure. */
struct eng_tensor *eng_call1(struct eng *e, enum eng_op_id id, const struct eng_arg *args);

#endif

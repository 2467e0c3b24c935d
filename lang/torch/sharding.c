/*
 * lang/torch/sharding.c - see sharding.h.
 *
 * Must not know:  units, processes.
 * Invariant:      none of these functions runs an op.
 */
#include "lang/torch/sharding.h"

#include <math.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/target.h"
#include "engine/autograd/autograd.h"
#include "engine/core/engine.h"
#include "engine/core/graph.h"
#include "lang/interp/call.h"
#include "lang/interp/interp.h"
#include "lang/torch/callback.h"

bool lang_native_apart(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_apart", 1) || call->args[0].kind != LANG_TENSOR)
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_apart() takes a tensor");
    *out = lang_tensor(eng_alias_apart(call->args[0].as.tensor));
    return true;
}

bool lang_native_edge(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_edge", 1) || call->args[0].kind != LANG_TENSOR ||
        call->args[0].as.tensor->grad_fn == NULL)
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_edge() takes a result");
    *out = lang_tensor(eng_gradient_edge(vm->eng, call->args[0].as.tensor));
    return true;
}

static bool numbers_take(struct lang_value list, int64_t *out, uint32_t *count)
{
    struct lang_value *items = NULL;

    if (!lang_items(list, &items, count) || *count > VS_MAX_DIMS)
        return false;
    for (uint32_t i = 0; i < *count; i++) {
        if (items[i].kind != LANG_INT)
            return false;
        out[i] = items[i].as.i;
    }
    return true;
}

bool lang_native_empty_strided(struct lang_vm *vm, const struct lang_call *call,
                               struct lang_value *out)
{
    int64_t sizes[VS_MAX_DIMS], strides[VS_MAX_DIMS];
    uint32_t count = 0, stride_count = 0;
    struct eng_tensor *t;

    if (!lang_args_exact(vm, call, "_empty_strided", 3))
        return false;
    if (!numbers_take(call->args[0], sizes, &count) ||
        !numbers_take(call->args[1], strides, &stride_count) || count != stride_count ||
        call->args[2].kind != LANG_DTYPE)
        return lang_fail(vm, VS_E_TYPE, "_empty_strided() takes sizes, strides, a dtype");
    t = eng_empty_strided(vm->eng, sizes, strides, (int)count,
                          (enum vs_dtype)call->args[2].as.dtype, false);
    if (t)
        *out = lang_tensor(t);
    return lang_check_engine(vm);
}

bool lang_native_resize(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    int64_t sizes[VS_MAX_DIMS];
    uint32_t count = 0;

    *out = lang_none();
    if (!lang_args_exact(vm, call, "_resize", 2))
        return false;
    if (call->args[0].kind != LANG_TENSOR || !numbers_take(call->args[1], sizes, &count))
        return lang_fail(vm, VS_E_TYPE, "_resize() takes a tensor, sizes");
    eng_resize(call->args[0].as.tensor, sizes, (int)count);
    return lang_check_engine(vm);
}

bool lang_native_set_shares(struct lang_vm *vm, const struct lang_call *call,
                            struct lang_value *out)
{
    *out = lang_none();
    if (!lang_args_exact(vm, call, "_set_shares", 2) || call->args[0].kind != LANG_TENSOR ||
        call->args[1].kind != LANG_INT || call->args[1].as.i < 1 || call->args[1].as.i > UINT32_MAX)
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_set_shares() takes a tensor, a number");
    call->args[0].as.tensor->shares = (uint32_t)call->args[1].as.i;
    return true;
}

bool lang_native_shares(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_shares", 1) || call->args[0].kind != LANG_TENSOR)
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_shares() takes a tensor");
    *out = lang_int(call->args[0].as.tensor->shares);
    return true;
}

bool lang_native_set_pending(struct lang_vm *vm, const struct lang_call *call,
                             struct lang_value *out)
{
    *out = lang_none();
    if (!lang_args_exact(vm, call, "_set_pending", 2) || call->args[0].kind != LANG_TENSOR ||
        (call->args[1].kind != LANG_TENSOR && call->args[1].kind != LANG_NONE))
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_set_pending() takes a tensor, a tensor");
    eng_set_pending(call->args[0].as.tensor,
                    call->args[1].kind == LANG_TENSOR ? call->args[1].as.tensor : NULL);
    return true;
}

bool lang_native_set_dtensor(struct lang_vm *vm, const struct lang_call *call,
                             struct lang_value *out)
{
    *out = lang_none();
    if (!lang_args_exact(vm, call, "_set_dtensor", 1) || call->args[0].kind != LANG_TENSOR)
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_set_dtensor() takes a tensor");
    if (call->args[0].as.tensor->grad_fn)
        call->args[0].as.tensor->grad_fn->is_dtensor = true;
    return true;
}

bool lang_native_set_whole_grad(struct lang_vm *vm, const struct lang_call *call,
                                struct lang_value *out)
{
    *out = lang_none();
    if (!lang_args_exact(vm, call, "_set_whole_grad", 1) || call->args[0].kind != LANG_TENSOR)
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_set_whole_grad() takes a tensor");
    call->args[0].as.tensor->has_whole_grad = true;
    return true;
}

bool lang_native_set_grad_dtype(struct lang_vm *vm, const struct lang_call *call,
                                struct lang_value *out)
{
    *out = lang_none();
    if (!lang_args_exact(vm, call, "_set_grad_dtype", 2) || call->args[0].kind != LANG_TENSOR ||
        call->args[0].as.tensor->grad_fn != NULL ||
        (call->args[1].kind != LANG_DTYPE && call->args[1].kind != LANG_NONE))
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_set_grad_dtype() takes a leaf, a dtype");
    eng_set_grad_dtype(call->args[0].as.tensor, call->args[1].kind == LANG_NONE
                                                    ? ENG_GRAD_DTYPE_ANY
                                                    : (int)call->args[1].as.dtype);
    return true;
}

bool lang_native_grad_dtype(struct lang_vm *vm, const struct lang_call *call,
                            struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_grad_dtype", 2) || call->args[0].kind != LANG_TENSOR ||
        call->args[1].kind != LANG_TENSOR)
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_grad_dtype() takes a leaf, a tensor");
    *out = lang_dtype(eng_grad_dtype(call->args[0].as.tensor, call->args[1].as.tensor));
    return true;
}

/* ---- calls from backward ---- */

struct called {
    struct lang_vm *vm;
    struct lang_value function;
};

static bool called_run(void *user, struct eng_tensor *ignored)
{
    const struct called *c = user;
    struct lang_vm *vm = c->vm;
    const struct lang_kwnames none = {0, NULL, NULL};
    struct lang_value *base = vm->sp;
    struct lang_callback cb;
    bool ok;

    (void)ignored;
    if (vm->failed)
        return false;
    lang_callback_begin(vm, &cb);
    ok = lang_reserve(vm, 1);
    if (ok) {
        lang_push(vm, lang_keep(c->function));
        ok = lang_call_at(vm, base, 0, &none);
    }
    if (ok)
        lang_drop(vm, lang_pop(vm));
    return lang_callback_end(vm, &cb, ok);
}

static void called_free(void *user)
{
    struct called *c = user;

    lang_drop(c->vm, c->function);
    vs_free(c);
}

static struct eng_hooks called_new(struct lang_vm *vm, struct lang_value function)
{
    struct called *c = vs_alloc(sizeof(*c));

    *c = (struct called){vm, lang_keep(function)};
    return (struct eng_hooks){.user = c, .run = called_run, .free_user = called_free};
}

bool lang_native_before_backward_of(struct lang_vm *vm, const struct lang_call *call,
                                    struct lang_value *out)
{
    struct eng_hooks hook;

    *out = lang_none();
    if (!lang_args_exact(vm, call, "_before_backward_of", 2) || call->args[0].kind != LANG_TENSOR ||
        call->args[0].as.tensor->grad_fn == NULL)
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_before_backward_of() takes a result");
    hook = called_new(vm, call->args[1]);
    eng_node_hook_add(call->args[0].as.tensor, &hook);
    return true;
}

bool lang_native_after_backward(struct lang_vm *vm, const struct lang_call *call,
                                struct lang_value *out)
{
    struct eng_hooks hook;

    *out = lang_none();
    if (!lang_args_exact(vm, call, "_after_backward", 1))
        return false;
    hook = called_new(vm, call->args[0]);
    eng_after_backward(vm->eng, &hook);
    return lang_check_engine(vm);
}

bool lang_native_is_in_backward(struct lang_vm *vm, const struct lang_call *call,
                                struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_is_in_backward", 0))
        return false;
    *out = lang_bool(eng_is_in_backward(vm->eng));
    return true;
}

bool lang_native_has_target(struct lang_vm *vm, const struct lang_call *call,
                            struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_has_target", 0))
        return false;
    *out = lang_bool(eng_target(vm->eng) != NULL);
    return true;
}

/* ---- tables of kernels ---- */

/*
 * at::native::detail (TensorShape.cu): a block of 128 threads copies 16 bytes a thread; a copy of a split is given at
 * most twice the threads that the GPU holds at once, and further bytes are copied by loops.
 */
#define BLOCK_THREADS UINT64_C(128)
#define BLOCK_BYTES (BLOCK_THREADS * 16)

static uint64_t div_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static uint64_t blocks_of(const uint64_t *bytes, uint32_t count, uint64_t iterations)
{
    uint64_t blocks = 0;

    for (uint32_t i = 0; i < count; i++)
        blocks += div_up(bytes[i], BLOCK_BYTES * iterations);
    return blocks;
}

static uint64_t split_numbers(const struct vs_target *gpu, const uint64_t *bytes, uint32_t count,
                              uint64_t rows)
{
    const uint64_t most = (uint64_t)gpu->processors * (uint64_t)gpu->threads / BLOCK_THREADS * 2;
    const uint64_t factor = div_up(blocks_of(bytes, count, 1) * rows, most);
    uint64_t rows_per_block = (uint64_t)ceil(sqrt((double)factor));

    rows_per_block = rows_per_block < rows ? rows_per_block : rows;
    rows_per_block = rows_per_block ? rows_per_block : 1;
    return 4 * (uint64_t)count + 1 +
           blocks_of(bytes, count, factor ? div_up(factor, rows_per_block) : 1);
}

bool lang_native_packed_pointers(struct lang_vm *vm, const struct lang_call *call,
                                 struct lang_value *out)
{
    const struct vs_target *gpu = eng_target(vm->eng);
    struct lang_value *items = NULL;
    uint32_t count = 0;
    uint64_t *bytes;
    uint64_t numbers;
    bool ok = true;

    if (!lang_args_exact(vm, call, "_packed_pointers", 4))
        return false;
    if (!lang_items(call->args[0], &items, &count) || !lang_is_int(call->args[1]) ||
        !lang_is_int(call->args[2]) || call->args[3].kind != LANG_STR)
        return lang_fail(vm, VS_E_TYPE,
                         "_packed_pointers() takes sizes, bytes of an element, rows, a kind");
    bytes = vs_calloc((size_t)count + 1, sizeof(*bytes));
    for (uint32_t i = 0; i < count; i++)
        ok = ok && lang_is_int(items[i]) &&
             vs_bytes_mul((uint64_t)items[i].as.i, (uint64_t)call->args[1].as.i, &bytes[i]);
    if (strcmp(call->args[3].as.str->text, "split") == 0)
        numbers = split_numbers(gpu ? gpu : vs_target_find("a100-80"), bytes, count,
                                (uint64_t)call->args[2].as.i);
    else
        numbers = 6 * (uint64_t)count + blocks_of(bytes, count, 1) +
                  (strcmp(call->args[3].as.str->text, "chunk_cat") == 0 ? 2 : 0);
    *out = lang_int((int64_t)numbers);
    vs_free(bytes);
    return ok || lang_fail(vm, VS_E_TYPE, "_packed_pointers(): a size is not a number of bytes");
}

/*
 * engine/ops/literal.c - values as arguments of ops: see "Literals for args" in op.h.
 *
 * Must not know:  ops; the program that generates the names of their arguments (tools/op_args.c) is linked without the
 *                 ops.
 * Invariant:      nothing is copied: memory that an argument points to is owned by the caller and must outlive the
 *                 call.
 */
#include <math.h>

#include "engine/core/op.h"

struct eng_arg eng_at(struct eng_tensor *t)
{
    return (struct eng_arg){.kind = ENG_A_TENSOR, .v.tensor = t};
}

struct eng_arg eng_ai(int64_t i)
{
    return (struct eng_arg){.kind = ENG_A_SCALAR,
                            .v.scalar = {.is_int = true, .i = i, .f = (double)i}};
}

struct eng_arg eng_af(double f)
{
    return (struct eng_arg){.kind = ENG_A_SCALAR,
                            .v.scalar = {.i = fabs(f) < 0x1p62 ? (int64_t)f : 0, .f = f}};
}

struct eng_arg eng_ab(bool b)
{
    return (struct eng_arg){.kind = ENG_A_BOOL, .v.flag = b};
}

struct eng_arg eng_ad(enum vs_dtype dtype)
{
    return (struct eng_arg){.kind = ENG_A_DTYPE, .v.dtype = dtype};
}

struct eng_arg eng_as(const char *text)
{
    return (struct eng_arg){.kind = ENG_A_STR, .v.str = text};
}

struct eng_arg eng_aints(const int64_t *ints, int count)
{
    return (struct eng_arg){.kind = ENG_A_INTS, .count = (uint32_t)count, .v.ints = ints};
}

struct eng_arg eng_atensors(struct eng_tensor *const *tensors, int count)
{
    return (struct eng_arg){.kind = ENG_A_TENSORS, .count = (uint32_t)count, .v.tensors = tensors};
}

struct eng_arg eng_anone(void)
{
    return (struct eng_arg){.kind = ENG_A_NONE};
}

struct eng_arg eng_ahost(bool on_host)
{
    return (struct eng_arg){.kind = ENG_A_DEVICE, .v.on_host = on_host};
}

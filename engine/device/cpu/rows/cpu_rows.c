/*
 * engine/device/cpu/rows/cpu_rows.c - chooses the table of row functions for this processor; functions for single
 * elements.
 */
#include "engine/device/cpu/rows/cpu_rows.h"

#include <stddef.h>

#include "base/error.h"
#include "engine/device/cpu/cpu_level.h"

const struct cpu_rows *cpu_rows_variant(int idx)
{
#if defined(__x86_64__)
    static const struct cpu_rows *const tables[] = {&cpu_rows_base, &cpu_rows_v3, &cpu_rows_v4};
#else
    static const struct cpu_rows *const tables[] = {&cpu_rows_base, NULL, NULL};
#endif

    return idx < CPU_LEVEL_COUNT && cpu_level_runs((enum cpu_level)idx) ? tables[idx] : NULL;
}

const struct cpu_rows *cpu_rows(void)
{
    return cpu_rows_variant((int)cpu_level());
}

const struct cpu_num *cpu_num_of(enum vs_dtype dtype)
{
    const struct cpu_rows *r = cpu_rows();

    if (dtype == VS_F64)
        return r->f64;
    return vs_dtype_is_floating(dtype) ? r->f32 : r->i64;
}

double cpu_get_f64(enum vs_dtype dtype, const char *p)
{
    double v = 0.0;

    cpu_rows_base.f64->load(dtype, p, 0, 1, &v);
    return v;
}

int64_t cpu_get_i64(enum vs_dtype dtype, const char *p)
{
    int64_t v = 0;

    if (vs_dtype_is_floating(dtype)) {
        double f = cpu_get_f64(dtype, p);

        cpu_rows_base.f64->store(&f, 1, VS_I64, (char *)&v, (int64_t)sizeof(v));
    } else {
        cpu_rows_base.i64->load(dtype, p, 0, 1, &v);
    }
    return v;
}

void cpu_set_f64(enum vs_dtype dtype, char *p, double value)
{
    cpu_rows_base.f64->store(&value, 1, dtype, p, 0);
}

void cpu_set_i64(enum vs_dtype dtype, char *p, int64_t value)
{
    cpu_rows_base.i64->store(&value, 1, dtype, p, 0);
}

/*
 * engine/device/cpu/products/cpu_tile.c - chooses the table of block products for this processor.
 */
#include "engine/device/cpu/products/cpu_tile.h"

#include <stddef.h>

#include "engine/device/cpu/cpu_internal.h"
#include "engine/device/cpu/cpu_level.h"

const struct cpu_tile *cpu_tile_variant(int idx)
{
    static const struct cpu_tile *const tables[] = {&cpu_tile_base, &cpu_tile_v3, &cpu_tile_v4};

    return cpu_rows_variant(idx) ? tables[idx] : NULL;
}

const struct cpu_tile *cpu_tile(void)
{
    return cpu_tile_variant((int)cpu_level());
}

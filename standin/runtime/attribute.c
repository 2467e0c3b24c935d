/*
 * standin/runtime/attribute.c - see runtime.h: properties of the simulated device.
 *
 * Those that NVIDIA's table of compute capabilities gives come from the capability; multiprocessors, threads and
 * capacity from base/target.def. Others, such as clocks and the limits of textures, are 0.
 */
#include "standin/runtime/runtime.h"

#define KIB 1024

/*
 * The CUDA programming guide's table of compute capabilities: bytes of shared memory of a multiprocessor and of a block
 * that asks for more than 48 KiB, blocks of a multiprocessor; MiB of L2 are of the largest GPU of the capability.
 */
static const struct row {
    int capability;
    int shared_of_processor;
    int shared_of_block;
    int blocks;
    int l2_mib;
} ROWS[] = {
    {70, 96 * KIB, 96 * KIB, 32, 6},      {75, 64 * KIB, 64 * KIB, 16, 4},
    {80, 164 * KIB, 163 * KIB, 32, 40},   {86, 100 * KIB, 99 * KIB, 16, 6},
    {89, 100 * KIB, 99 * KIB, 24, 72},    {90, 228 * KIB, 227 * KIB, 32, 50},
    {100, 228 * KIB, 227 * KIB, 32, 126}, {120, 100 * KIB, 99 * KIB, 24, 96},
};

static const struct row *row(void)
{
    const struct row *best = &ROWS[0];

    for (unsigned i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++)
        if (ROWS[i].capability <= sti_gpu()->capability)
            best = &ROWS[i];
    return best;
}

int sti_attribute(int attribute)
{
    const struct sti_gpu *gpu = sti_gpu();

    switch (attribute) {
    case 1: /* threads of a block, and its dimensions */
    case 2:
    case 3:
        return 1024;
    case 4:
        return 64;
    case 5:  /* blocks of a grid */
    case 11: /* pitch */
        return 2147483647;
    case 6:
    case 7:
        return 65535;
    case 8: /* shared memory of a block */
        return 48 * KIB;
    case 9: /* constant memory */
        return 64 * KIB;
    case 10: /* threads of a warp */
        return 32;
    case 12: /* registers of a block and of a multiprocessor */
    case 82:
        return 65536;
    case 14: /* alignment of textures */
        return 512;
    case 16:
        return gpu->processors;
    case 19: /* maps host memory */
    case 31: /* kernels at the same time */
    case 41: /* unified addresses */
    case 78: /* priorities of streams */
    case 79: /* caches in L1 */
    case 80:
    case 83:  /* managed memory */
    case 89:  /* managed memory used by host and device at once */
    case 90:  /* preemption */
    case 95:  /* cooperative launch */
    case 99:  /* registers host memory */
    case 102: /* virtual addresses */
    case 115: /* memory pools */
    case 125: /* events between processes */
        return 1;
    case 33: /* PCI bus; devices differ in it */
        return sti_device() + 1;
    case 38:
        return row()->l2_mib * KIB * KIB;
    case 39:
        return gpu->threads;
    case 40: /* copy engines */
        return 3;
    case 51: /* alignment of pitched textures */
        return 32;
    case 75:
        return gpu->capability / 10;
    case 76:
        return gpu->capability % 10;
    case 81:
        return row()->shared_of_processor;
    case 97:
        return row()->shared_of_block;
    case 106:
        return row()->blocks;
    case 111: /* shared memory of a block that the driver takes */
        return gpu->capability >= 80 ? KIB : 0;
    case 120: /* clusters */
        return gpu->capability >= 90;
    default:
        return 0;
    }
}

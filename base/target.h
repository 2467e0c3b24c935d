/*
 * base/target.h - the GPUs a run can be told to be for: what of each decides how much memory PyTorch takes on it.
 *
 * For:            the toggle `target`, the engine's scratch sizes, the report's "does it fit".
 * Must not know:  what an op needs; see engine/workspace/scratch.h.
 * Invariant:      one row of base/target.def each.
 */
#ifndef VS_BASE_TARGET_H
#define VS_BASE_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/target.def"

#define VS_TARGET_WORD(name, title, mib, capability, processors, threads) "|" name
/* The legal words of the toggle: "none|v100-16|…". */
#define VS_TARGET_WORDS "none" VS_TARGETS(VS_TARGET_WORD)

/*
 * name            as the toggle has it
 * title           as its maker has it
 * capacity_bytes  of the whole device, as CUDA reports it; the CUDA context (some hundreds of MiB) is taken from this
 * capability      compute capability, 80 for 8.0
 * processors      streaming multiprocessors
 * threads         that one of them holds
 */
struct vs_target {
    const char *name;
    const char *title;
    uint64_t capacity_bytes;
    int capability;
    int processors;
    int threads;
};

/*
 * Bytes that PyTorch gives cuBLAS to work in on such a GPU (at::cuda::getChosenWorkspaceSize): 8 x 4 MiB on Hopper and, from 2.11
 * on (is_late), from 10.0 on; else 2 x 4 MiB and 8 x 16 KiB.
 */
uint64_t vs_cublas_workspace(int capability, bool is_late);

/* The row of this name; NULL for "none" and for what is not there. */
const struct vs_target *vs_target_find(const char *name);
/* Row i from 0; NULL past the end. */
const struct vs_target *vs_target_at(size_t i);

#endif

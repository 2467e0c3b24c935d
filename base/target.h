/*
 * base/target.h - the GPUs that can be the target of a run, with the properties that decide how much memory PyTorch
 * uses on them.
 *
 * For:            the toggle `target`, the engine's scratch sizes, the report's "does it fit".
 * Must not know:  what an op needs; see engine/workspace/scratch.h.
 * Invariant:      each row comes from base/target.def.
 */
#ifndef VS_BASE_TARGET_H
#define VS_BASE_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/target.def"

#define VS_TARGET_WORD(name, title, mib, capability, processors, threads) "|" name
/* The legal values of the toggle: "none|v100-16|…". */
#define VS_TARGET_WORDS "none" VS_TARGETS(VS_TARGET_WORD)

/*
 * name            value of the toggle
 * title           the manufacturer's name
 * capacity_bytes  total memory as CUDA reports it; the CUDA context (some hundreds of MiB) is part of it
 * capability      compute capability times ten: 80 for 8.0
 * processors      number of streaming multiprocessors
 * threads         threads that one multiprocessor can hold
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
 * Bytes of the workspace that PyTorch gives cuBLAS on a GPU of this compute capability
 * (at::cuda::getChosenWorkspaceSize): 8 x 4 MiB on 9.0 and, in PyTorch 2.11 and later (is_late), on 10.0 and later;
 * else 2 x 4 MiB + 8 x 16 KiB.
 */
uint64_t vs_cublas_workspace(int capability, bool is_late);

/* The GPU with this name; NULL for "none" and for unknown names. */
const struct vs_target *vs_target_find(const char *name);
/* Row `i` (from 0) of the table; NULL past the end. */
const struct vs_target *vs_target_at(size_t i);

#endif

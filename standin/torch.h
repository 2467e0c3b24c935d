/*
 * standin/torch.h - the libraries of an installed PyTorch: which build it is, and what it needs of CUDA.
 *
 * For:            the stand-in, which must fit the PyTorch that a program imports.
 * Must not know:  Python; how stub libraries are written.
 * Invariant:      two installations with the same key need the same stub libraries.
 */
#ifndef STANDIN_TORCH_H
#define STANDIN_TORCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "standin/needs.h"

/*
 * The oldest version of CUDA that is simulated, in CUDA's notation (12000 is 12.0). Older versions have other layouts
 * of structures and other parameters.
 */
#define STI_CUDA_OLDEST 12000

/*
 * Check that the libraries in `folder` (torch/lib) are a build of PyTorch for CUDA and x86-64. VS_E_NOT_FOUND: there
 * are no libraries of PyTorch. VS_E_UNSUPPORTED: it is built for the CPU alone, for ROCm, or for another architecture;
 * the text says which, and what to install.
 */
VS_MUST_USE enum vs_status sti_torch_check(const char *folder, struct vs_error *err);

/*
 * A key of the libraries in `folder`, from their names, sizes and times of change, and of `functions`, NULL at the end.
 * Reads no library. Two errors as above.
 */
VS_MUST_USE enum vs_status sti_torch_key(const char *folder, const char *const *functions,
                                         uint64_t *out, struct vs_error *err);

/*
 * What the libraries in `folder` need of CUDA, with `functions` in the libraries they belong to: those are also found
 * by name at run time, as are the driver and NVML, which are always among the libraries. Settled; the caller releases
 * it, after a failure, too. Errors: those of sti_elf_read.
 */
VS_MUST_USE enum vs_status sti_torch_needs(const char *folder, const char *const *functions,
                                           struct sti_needs *out, struct vs_error *err);

/*
 * The path of the device file that shows that this machine has an NVIDIA driver, or NULL. root: prefix of the paths: ""
 * on a real machine, a folder in a test. The driver's library alone proves nothing: login nodes have it, too.
 */
const char *sti_driver_path(const char *root);

#endif

/*
 * engine/device/cpu/products/cpu_blas.h - OpenBLAS, brought in when the first product is asked for.
 *
 * It is vramscope_blas.so beside the program (a wheel has one), or else the system's libopenblas.so.0.
 *
 * For:            cpu_matmul.c.
 * Must not know:  tensors, tasks.
 * Invariant:      a process that computes nothing never loads it: it would cost 6 MiB, and its threads 25 ms of
 *                 waiting in a loop.
 */
#ifndef ENG_CPU_BLAS_H
#define ENG_CPU_BLAS_H

#include <cblas.h>

#include "base/attr.h"
#include "base/error.h"

/* As in cblas.h. */
struct cpu_blas {
    __typeof__(cblas_dgemm) *dgemm;
    __typeof__(cblas_sgemm) *sgemm;
};

/*
 * Never NULL: without the library the program ends with a message. It runs on the calling thread only. Any thread may
 * ask.
 */
const struct cpu_blas *cpu_blas_get(void);

/* VS_E_UNSUPPORTED: cpu_blas_get() would end the program with this text. Loads the library. */
VS_MUST_USE enum vs_status cpu_blas_check(struct vs_error *err);

#endif

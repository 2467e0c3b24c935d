/*
 * cli/doctor/doctor.h - what `vramscope doctor` finds on a machine.
 *
 * For:            the files of cli/doctor/: python.c and machine.c fill it, verdict.c judges it, text.c and json.c
 *                 print it.
 * Must not know:  how a fact is found.
 * Invariant:      plain data: a test can describe any machine with it.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "tracer/nvml/smi.h"
#include "tui/term/facts.h"

#define DOC_SHORT 64
#define DOC_WHY (PATH_MAX + 1024)

/*
 * A Python and its PyTorch. "" is not known, or not there.
 *
 * asked      the name or path that was asked, as it was given
 * why        why it could not be asked: it is not found, or what it printed; "": it answered
 * path       its own
 * libc       "glibc 2.36"; "other" where it is not glibc (musl)
 * torch      PyTorch's folder; it is not imported
 * cuda, hip  the versions that PyTorch was built for
 * missing    packages that PyTorch says it needs and that are not installed, blanks between; without those of NVIDIA
 *            and Triton, which only a GPU needs
 * torch_why  why PyTorch's libraries cannot use CUDA, and what to install; "": they can
 */
struct doc_python {
    const char *asked;
    char why[DOC_WHY];
    char path[PATH_MAX];
    char version[DOC_SHORT];
    char machine[DOC_SHORT];
    char libc[DOC_SHORT];
    char torch[PATH_MAX];
    char torch_version[DOC_SHORT];
    char cuda[DOC_SHORT];
    char hip[DOC_SHORT];
    char missing[DOC_WHY];
    char torch_why[DOC_WHY];
};

/* A library that is there or not. path: "" where it is not known; why: why it cannot be used; "": it can. */
struct doc_library {
    char path[PATH_MAX + 64];
    char why[DOC_WHY];
};

/* Where stub libraries are kept. folder: "" where there is no home; why: why nothing can be kept there; "": it can. */
struct doc_cache {
    char folder[PATH_MAX];
    uint64_t sets;
    uint64_t bytes;
    char why[DOC_WHY];
};

/*
 * The machine and what belongs to vramscope on it.
 *
 * driver_file  what shows that there is a driver of NVIDIA's (standin/torch.h); NULL: there is none
 * nvml         the driver's library of management; smi: what it says, zero where it says nothing
 * nvidia_smi   path of the program; "": not in PATH
 * blas         OpenBLAS, for arithmetic of nets on the CPU
 * inject, standin, cuda  vramscope's own libraries: calls of the driver, the simulated GPU, nets on a GPU
 * lessons_why  why the lessons are not found; "": they are
 */
struct doc_machine {
    char program[PATH_MAX];
    char libc[DOC_SHORT];
    char machine[DOC_SHORT];
    char sqlite[DOC_SHORT];
    const char *driver_file;
    struct doc_library nvml;
    struct smi smi;
    char nvidia_smi[PATH_MAX];
    struct doc_library cupti;
    struct doc_library blas;
    struct doc_library inject;
    struct doc_library standin;
    struct doc_library cuda;
    struct doc_cache cache;
    struct tui_term_facts terminal;
    char lessons_why[DOC_WHY];
};

struct doc_findings {
    struct doc_python python;
    struct doc_machine machine;
};

/* The findings as text for a person, and as JSON (docs/formats/json.md), appended to `out`. */
void doc_text(const struct doc_findings *f, struct vs_text *out);
void doc_json(const struct doc_findings *f, struct vs_text *out);

#endif

/*
 * tests/golden_check/numbers.h - runs a net with arithmetic, on the CPU or another device, and keeps losses, gradients
 * and weights.
 *
 * For:            the tests of numbers: against PyTorch's, and of a toggle against another.
 * Must not know:  how PyTorch was measured.
 * Invariant:      what is kept is a copy; nothing of the run outlives numbers_run.
 */
#ifndef TESTS_GOLDEN_CHECK_NUMBERS_H
#define TESTS_GOLDEN_CHECK_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "lang/run/run.h"
#include "tests/golden_check/json.h"

/*
 * A tensor of a run: gradient before an optimizer step, parameter or buffer after the last step. Values in row-major
 * order, gradients unscaled.
 */
struct numbers_tensor {
    char *
        kind; /* "gradient" of the first step, "gradient 1" of the second and so on; "parameter", "buffer" */
    char *name;
    enum vs_dtype dtype;
    size_t count;
    double *values;
};

struct numbers {
    struct numbers_tensor *tensors;
    size_t count, cap;
    struct lang_result result;
    enum vs_status status;
    struct vs_error error;
};

/*
 * Run the text of a net on the CPU.
 *
 * file_name  for messages
 * toggles    "batch=2 steps=1"; "" is nothing
 * formula    weights and data by formula, dropout off; otherwise random from `seed`
 */
void numbers_run_text(const char *file_name, const char *text, const char *toggles, bool formula,
                      uint64_t seed, struct numbers *out);
/* The same with other kernels, or on a device of its own (NULL: none, and then kernels count). */
void numbers_run_on(const struct eng_kernels *kernels, const struct eng_device *device,
                    const char *file_name, const char *text, const char *toggles, bool formula,
                    uint64_t seed, struct numbers *out);
/* The same on the CPU with a net file (a path from the repository's root) and the toggles of a golden line. */
void numbers_run_line(const struct json *line, struct numbers *out);
void numbers_release(struct numbers *numbers);

/* The text of a file; the caller frees it. NULL: it is not there. */
char *numbers_read_file(const char *path);

const struct numbers_tensor *numbers_find(const struct numbers *numbers, const char *kind,
                                          const char *name);
double numbers_norm(const struct numbers_tensor *t); /* l2 */

/*
 * Losses, gradients and parameters of both runs, and buffers where asked for, bit for bit. False: `why` names the
 * first that differs.
 */
bool numbers_identical(const struct numbers *a, const struct numbers *b, bool buffers, char *why,
                       size_t why_size);
/* Losses a step, and gradients of the first step, parameters and buffers, within `relative` of each one's norm. */
bool numbers_close(const struct numbers *a, const struct numbers *b, double relative, char *why,
                   size_t why_size);

#endif

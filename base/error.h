/*
 * base/error.h - how the project says that the world failed, or that the program is wrong.
 *
 * For:            every folder.
 * Must not know:  anything but the C library.
 * Invariant:      a function that returns a status other than VS_OK has filled its error;
 *                 a function that returns VS_OK has left it alone.
 */
#ifndef VS_BASE_ERROR_H
#define VS_BASE_ERROR_H

#include <stdarg.h>

#include "base/attr.h"

enum vs_status {
    VS_OK = 0,
/* clang-format off */
#define VS_STATUS(name, text) name,
#include "base/status.def"
#undef VS_STATUS
    /* clang-format on */
    VS_STATUS_COUNT
};

#define VS_ERROR_TEXT_MAX 2048

/*
 * The first failure, in words for the user. Zero-initialise it once (VS_ERROR_INIT).
 *
 * text  one or more lines without a final newline; names the thing that failed and, where known, what to do
 */
struct vs_error {
    enum vs_status status;
    char text[VS_ERROR_TEXT_MAX];
};

#define VS_ERROR_INIT                                                                              \
    {                                                                                              \
        VS_OK, ""                                                                                  \
    }

/* Fill `err` and return `status`, so that `return vs_fail(err, VS_E_IO, "...")` is one line. Too long a text is cut. */
enum vs_status vs_fail(struct vs_error *err, enum vs_status status, const char *fmt, ...)
    VS_PRINTF(3, 4);
enum vs_status vs_failv(struct vs_error *err, enum vs_status status, const char *fmt, va_list ap)
    VS_PRINTF(3, 0);

/* Put "<text>: " before what `err` already says. */
void vs_error_prefix(struct vs_error *err, const char *fmt, ...) VS_PRINTF(2, 3);

/* The constant's name ("VS_E_IO"). Never NULL, also for a value out of range. */
const char *vs_status_name(enum vs_status status);

/*
 * The program cannot go on (it is wrong, or host memory is gone): run the die hook, print "vramscope: text" on stderr,
 * abort. The hook lets the TUI restore the terminal first; NULL removes it. Not thread-safe; set it once at start.
 */
VS_NORETURN void vs_die(const char *fmt, ...) VS_PRINTF(1, 2);
void vs_die_hook_set(void (*hook)(void));

/* A condition that only a mistake in this program can break. Stays on in release builds. */
#define VS_ASSERT(cond)                                                                            \
    (VS_LIKELY(cond)                                                                               \
         ? (void)0                                                                                 \
         : vs_die("%s:%d: %s: assertion failed: %s", __FILE__, __LINE__, __func__, #cond))

#endif

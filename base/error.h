/*
 * base/error.h - how functions report failures of the world, and how the program stops at mistakes of its own.
 *
 * For:            every folder.
 * Must not know:  anything but the C library.
 * Invariant:      a function that returns a status other than VS_OK has filled its error; one that returns VS_OK has
 *                 left it alone.
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
 * The first failure, as a text for the user. Initialise it with VS_ERROR_INIT.
 *
 * status  what kind of failure it was
 * text    one or more lines without a final newline; names the thing that failed and, where known, what to do
 */
struct vs_error {
    enum vs_status status;
    char text[VS_ERROR_TEXT_MAX];
};

#define VS_ERROR_INIT                                                                              \
    {                                                                                              \
        VS_OK, ""                                                                                  \
    }

/*
 * Fill `err` and return `status`, so that `return vs_fail(err, VS_E_IO, "...")` is one line. A text longer than
 * VS_ERROR_TEXT_MAX is cut.
 */
enum vs_status vs_fail(struct vs_error *err, enum vs_status status, const char *fmt, ...)
    VS_PRINTF(3, 4);
enum vs_status vs_failv(struct vs_error *err, enum vs_status status, const char *fmt, va_list ap)
    VS_PRINTF(3, 0);

/* Puts "<text>: " in front of the text that `err` already has. */
void vs_error_prefix(struct vs_error *err, const char *fmt, ...) VS_PRINTF(2, 3);

/* The name of the constant ("VS_E_IO"). Never NULL, not even for a value out of range. */
const char *vs_status_name(enum vs_status status);

/*
 * Ends the program because it has a bug or because host memory is exhausted: calls the hook, prints "vramscope: text"
 * on stderr, aborts. The TUI sets a hook that restores the terminal; NULL removes it. Set the hook before any thread
 * is started: it is not thread-safe.
 */
VS_NORETURN void vs_die(const char *fmt, ...) VS_PRINTF(1, 2);
void vs_die_hook_set(void (*hook)(void));

/* Asserts a condition that only a bug in this program can break. Also active in release builds. */
#define VS_ASSERT(cond)                                                                            \
    (VS_LIKELY(cond)                                                                               \
         ? (void)0                                                                                 \
         : vs_die("%s:%d: %s: assertion failed: %s", __FILE__, __LINE__, __func__, #cond))

#endif

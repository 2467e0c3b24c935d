/*
 * base/toggle.h - the table of toggles: the settings of a training run that change its memory.
 *
 * For:            the command line, the training loop that applies them, what-if, the report, the TUI's panel, the
 *                 docs.
 * Must not know:  how a toggle is applied.
 * Invariant:      a struct vs_toggles only has legal values, each in its canonical spelling.
 *
 * To add one: a row in toggle.def, and its implementation in the training loop (lang/).
 */
#ifndef VS_BASE_TOGGLE_H
#define VS_BASE_TOGGLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"

enum vs_toggle {
/* clang-format off */
#define VS_TOGGLE(id, name, legal, initial, candidates, flags, help, cost) id,
#include "base/toggle.def"
#undef VS_TOGGLE
    /* clang-format on */
    VS_TOGGLE_COUNT
};

enum vs_toggle_flag {
    VS_TOGGLE_PATHS = 1 << 0,
    VS_TOGGLE_TEXT = 1 << 1,
    VS_TOGGLE_SAME = 1 << 2,
    VS_TOGGLE_ROUNDS = 1 << 3,
    VS_TOGGLE_SLOW = 1 << 4,
    VS_TOGGLE_PROGRAM = 1 << 5,
};

/* One row; toggle.def explains the columns. */
struct vs_toggle_info {
    const char *name;
    const char *legal;
    const char *initial;
    const char *candidates;
    unsigned flags; /* enum vs_toggle_flag, or-ed */
    const char *help;
    const char *cost;
};

/* The row of a toggle. Never NULL; `toggle` < VS_TOGGLE_COUNT. */
const struct vs_toggle_info *vs_toggle_info(enum vs_toggle toggle);

/* Finds a toggle by name ("zero-grad"). False if there is none. */
VS_MUST_USE bool vs_toggle_find(const char *name, enum vs_toggle *out);

#define VS_TOGGLE_LEGAL_MAX 256
/*
 * Describes the legal values: "a count from 1", "off, fp16 or bf16", "off, blocks, segments=K, sqrt, or module
 * paths".
 * `buf` must have VS_TOGGLE_LEGAL_MAX bytes. Returns buf.
 */
const char *vs_toggle_legal_text(enum vs_toggle toggle, char *buf);

/*
 * Writes legal word number `i` (from 0) to `buf`, for a list to choose from; "segments=2" represents segments=N,
 * "auto:8G" auto:BYTES, and "1" a count among words. Returns false past the end, and always for a toggle whose only
 * legal value is a count. `buf` must have VS_TOGGLE_VALUE_MAX bytes.
 */
#define VS_TOGGLE_VALUE_MAX 1024
VS_MUST_USE bool vs_toggle_choice(enum vs_toggle toggle, size_t i, char *buf);

/*
 * Writes to `buf` the value number `i` (from 0) that what-if --each tries when the current value is `now`. Values
 * equal to `now` are skipped, and halving ends at 1. Returns false past the end.
 */
VS_MUST_USE bool vs_toggle_try(enum vs_toggle toggle, const char *now, size_t i, char *buf);

/*
 * Checks `value` and writes its canonical form into `buf` (VS_TOGGLE_VALUE_MAX bytes): counts without leading zeros,
 * lists of paths without blanks.
 *
 * VS_E_VALUE: not legal; the text names the toggle, the value and the legal values.
 */
VS_MUST_USE enum vs_status vs_toggle_check(enum vs_toggle toggle, const char *value, char *buf,
                                           struct vs_error *err);

/*
 * A value for every toggle. Zero-initialised, every toggle has its default.
 *
 * value  in canonical form, owned; NULL if not set
 */
struct vs_toggles {
    char *value[VS_TOGGLE_COUNT];
};

void vs_toggles_release(struct vs_toggles *set);
/* Makes *to a copy of `from`; the former contents of *to are released. */
void vs_toggles_copy(struct vs_toggles *to, const struct vs_toggles *from);

/* Sets one toggle. VS_E_VALUE as in vs_toggle_check; the set is unchanged then. */
VS_MUST_USE enum vs_status vs_toggles_set(struct vs_toggles *set, enum vs_toggle toggle,
                                          const char *value, struct vs_error *err);
/*
 * Set one toggle by name, or by "name=value". VS_E_NOT_FOUND: no such toggle; the text offers the nearest name.
 */
VS_MUST_USE enum vs_status vs_toggles_set_named(struct vs_toggles *set, const char *name,
                                                const char *value, struct vs_error *err);
VS_MUST_USE enum vs_status vs_toggles_set_pair(struct vs_toggles *set, const char *pair,
                                               struct vs_error *err);

/* The current value: the one that was set, or else the default. Borrowed until the set changes. */
const char *vs_toggles_get(const struct vs_toggles *set, enum vs_toggle toggle);
bool vs_toggles_is_set(const struct vs_toggles *set, enum vs_toggle toggle);

/* The value of a toggle that is a count (batch, accumulate, steps), from 1. */
uint64_t vs_toggles_count(const struct vs_toggles *set, enum vs_toggle toggle);
/* Whether the value is exactly this word. */
bool vs_toggles_is(const struct vs_toggles *set, enum vs_toggle toggle, const char *word);
/*
 * Whether the value is a list of module paths, not one of the legal words. False for a toggle that takes no paths.
 */
bool vs_toggles_is_paths(const struct vs_toggles *set, enum vs_toggle toggle);

#endif

/*
 * base/toggle.h - the table of toggles: everything about how a net is trained that changes its memory.
 *
 * For:            the command line, the loop that applies them, what-if, the report, the TUI's panel, the docs.
 * Must not know:  how a toggle is applied.
 * Invariant:      a struct vs_toggles only holds legal values, written in one way (canonical).
 *
 * To add one: a row in toggle.def, and its meaning in the loop (lang/).
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
#define VS_TOGGLE(id, name, legal, initial, tries, flags, help, cost) id,
#include "base/toggle.def"
#undef VS_TOGGLE
    /* clang-format on */
    VS_TOGGLE_COUNT
};

enum vs_toggle_flag {
    VS_TOGGLE_PATHS = 1 << 0,
    VS_TOGGLE_TEXT = 1 << 1,
    VS_TOGGLE_SAME = 1 << 2,
};

/* A row; the columns are explained in toggle.def. */
struct vs_toggle_info {
    const char *name;
    const char *legal;
    const char *initial;
    const char *tries;
    unsigned flags; /* enum vs_toggle_flag, or-ed */
    const char *help;
    const char *cost;
};

/* Never NULL; `toggle` < VS_TOGGLE_COUNT. */
const struct vs_toggle_info *vs_toggle_info(enum vs_toggle toggle);

/* The toggle called `name` ("zero-grad"); false where there is none. */
VS_MUST_USE bool vs_toggle_find(const char *name, enum vs_toggle *out);

#define VS_TOGGLE_LEGAL_MAX 256
/*
 * The legal values in words: "a count from 1", "off, fp16 or bf16", "off, blocks, segments=K, sqrt, or module paths".
 * `buf` has VS_TOGGLE_LEGAL_MAX bytes; returns buf.
 */
const char *vs_toggle_legal_text(enum vs_toggle toggle, char *buf);

/*
 * Value number `i` (from 0) among the legal words, for choosing from a list; "segments=2" stands for segments=N,
 * "1" for a count beside words. False past the end, and at once where the value is a count alone. `buf` has VS_TOGGLE_VALUE_MAX bytes.
 */
#define VS_TOGGLE_VALUE_MAX 512
VS_MUST_USE bool vs_toggle_choice(enum vs_toggle toggle, size_t i, char *buf);

/*
 * Value number `i` (from 0) that what-if --each tries where `now` is in force; values equal to `now` are skipped, and
 * halving ends at 1. False past the end.
 */
VS_MUST_USE bool vs_toggle_try(enum vs_toggle toggle, const char *now, size_t i, char *buf);

/*
 * Check `value` and write it in the canonical form into `buf` (VS_TOGGLE_VALUE_MAX bytes): counts without leading
 * zeros, lists of paths without blanks.
 *
 * VS_E_VALUE: not legal; the text names the toggle, the value and the legal ones.
 */
VS_MUST_USE enum vs_status vs_toggle_check(enum vs_toggle toggle, const char *value, char *buf,
                                           struct vs_error *err);

/*
 * A value for every toggle. Zero-initialised it says "the default" for each.
 *
 * value  canonical, owned; NULL where not given
 */
struct vs_toggles {
    char *value[VS_TOGGLE_COUNT];
};

void vs_toggles_release(struct vs_toggles *set);
/* *to becomes a copy of `from`; what it held is released. */
void vs_toggles_copy(struct vs_toggles *to, const struct vs_toggles *from);

/* Set one. VS_E_VALUE as vs_toggle_check; the set is then unchanged. */
VS_MUST_USE enum vs_status vs_toggles_set(struct vs_toggles *set, enum vs_toggle toggle,
                                          const char *value, struct vs_error *err);
/* The same by name, or by "name=value". VS_E_NOT_FOUND: no such toggle; the text offers the nearest name. */
VS_MUST_USE enum vs_status vs_toggles_set_named(struct vs_toggles *set, const char *name,
                                                const char *value, struct vs_error *err);
VS_MUST_USE enum vs_status vs_toggles_set_pair(struct vs_toggles *set, const char *pair,
                                               struct vs_error *err);

/* The value in force: what was set, else the default. Borrowed until the next change of the set. */
const char *vs_toggles_get(const struct vs_toggles *set, enum vs_toggle toggle);
bool vs_toggles_is_set(const struct vs_toggles *set, enum vs_toggle toggle);

/* For toggles whose value is a count (batch, accumulate, steps): the number, from 1. */
uint64_t vs_toggles_count(const struct vs_toggles *set, enum vs_toggle toggle);
/* The value is exactly this word. */
bool vs_toggles_is(const struct vs_toggles *set, enum vs_toggle toggle, const char *word);
/* The value is a list of module paths (not one of the words); false also where the toggle takes none. */
bool vs_toggles_is_paths(const struct vs_toggles *set, enum vs_toggle toggle);

#endif

/*
 * lang/value/warning.h - warnings about a training run: what PyTorch would warn of, and what goes wrong without a word.
 *
 * For:            the files of lang/ that give warnings, and lang/run/, which collects them.
 * Must not know:  traces, terminals.
 * Invariant:      warning.def has every kind. A text is a sentence without its full stop and is given once in a run.
 */
#ifndef LANG_WARNING_H
#define LANG_WARNING_H

#include <stdbool.h>
#include <stdint.h>

enum lang_warning_kind {
/* clang-format off */
#define LANG_WARNING(id, name, advice) id,
#include "lang/value/warning.def"
#undef LANG_WARNING
    /* clang-format on */
    LANG_WARNING_COUNT
};

/* line: of the net, which the warning is about; 0: of none */
struct lang_warning {
    enum lang_warning_kind kind;
    uint32_t line;
    const char *text;
};

const char *lang_warning_name(enum lang_warning_kind kind);
/* What to do about it; "": the text says it. */
const char *lang_warning_advice(enum lang_warning_kind kind);
/* False: there is no kind of this name. */
bool lang_warning_find(const char *name, enum lang_warning_kind *out);

#endif

/*
 * export/pickle.h - writes a pickle of protocol 4, value by value, that every reader of memory snapshots takes.
 *
 * For:            export/snapshot.c.
 * Must not know:  what the values mean.
 * Invariant:      only data opcodes, and of them only those that PyTorch's own viewer knows; nothing is framed, which readers allow.
 *                 What was opened is closed, innermost first.
 *
 *     exp_pickle_begin(&p, out);
 *     exp_pickle_dict(&p);
 *     exp_pickle_word(&p, &size, "size");
 *     exp_pickle_uint(&p, bytes);
 *     exp_pickle_dict_end(&p);
 *     exp_pickle_end(&p);
 */
#ifndef EXP_PICKLE_H
#define EXP_PICKLE_H

#include <stdbool.h>
#include <stdint.h>

#include "export/out.h"

/* memos: how many values have been remembered. */
struct exp_pickle {
    struct exp_out *out;
    uint32_t memos;
};

/* A value that is written once and referred to after that: 0, or its number in the memo + 1. Zero-initialise. */
struct exp_memo {
    uint32_t number;
};

/* A list that is being written; items: since the last of them were appended. */
struct exp_pickle_list {
    unsigned items;
};

void exp_pickle_begin(struct exp_pickle *p, struct exp_out *out);
void exp_pickle_end(struct exp_pickle *p);

/* A dict: keys and values in turn between the two. */
void exp_pickle_dict(struct exp_pickle *p);
void exp_pickle_dict_end(struct exp_pickle *p);

/* A list; exp_pickle_item goes before each of its values. */
void exp_pickle_list(struct exp_pickle *p, struct exp_pickle_list *list);
void exp_pickle_item(struct exp_pickle *p, struct exp_pickle_list *list);
void exp_pickle_list_end(struct exp_pickle *p, struct exp_pickle_list *list);

void exp_pickle_uint(struct exp_pickle *p, uint64_t value);
void exp_pickle_int(struct exp_pickle *p, int64_t value);
void exp_pickle_double(struct exp_pickle *p, double value);
void exp_pickle_bool(struct exp_pickle *p, bool value);
/* Bytes that are not UTF-8 become U+FFFD. */
void exp_pickle_text(struct exp_pickle *p, const char *text);
/* Makes one tuple of the two values written last. */
void exp_pickle_pair(struct exp_pickle *p);

/* Is it written already? Then it is referred to now. If not, the caller writes it and calls exp_pickle_remember. */
VS_MUST_USE bool exp_pickle_again(struct exp_pickle *p, const struct exp_memo *memo);
/* The value written last will be used again. */
void exp_pickle_remember(struct exp_pickle *p, struct exp_memo *memo);
/* A text that comes often. */
void exp_pickle_word(struct exp_pickle *p, struct exp_memo *memo, const char *text);

#endif

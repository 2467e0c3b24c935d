/*
 * export/pickle.h - writes a pickle of protocol 4, value by value, that every reader of memory snapshots accepts.
 *
 * For:            export/snapshot.c.
 * Must not know:  what the values mean.
 * Invariant:      only data opcodes that PyTorch's own viewer supports are written, without frames, which are optional.
 *                 Containers are closed in the reverse order of opening.
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

/* The writer. out: borrowed; memos: number of values in the memo. */
struct exp_pickle {
    struct exp_out *out;
    uint32_t memos;
};

/*
 * A value that is written once and referred to afterwards. number: its memo index + 1; 0: not written. Zero-initialise.
 */
struct exp_memo {
    uint32_t number;
};

/* A list that is being written. items: values written since the last batch was appended. */
struct exp_pickle_list {
    unsigned items;
};

void exp_pickle_begin(struct exp_pickle *p, struct exp_out *out);
void exp_pickle_end(struct exp_pickle *p);

/* A dict: write keys and values alternately between the two calls. */
void exp_pickle_dict(struct exp_pickle *p);
void exp_pickle_dict_end(struct exp_pickle *p);

/* A list: call exp_pickle_item before writing each of its values. */
void exp_pickle_list(struct exp_pickle *p, struct exp_pickle_list *list);
void exp_pickle_item(struct exp_pickle *p, struct exp_pickle_list *list);
void exp_pickle_list_end(struct exp_pickle *p, struct exp_pickle_list *list);

void exp_pickle_uint(struct exp_pickle *p, uint64_t value);
void exp_pickle_int(struct exp_pickle *p, int64_t value);
void exp_pickle_double(struct exp_pickle *p, double value);
void exp_pickle_bool(struct exp_pickle *p, bool value);
/* Write a string; bytes that are not valid UTF-8 become U+FFFD. */
void exp_pickle_text(struct exp_pickle *p, const char *text);
/* Combine the last two values into a tuple. */
void exp_pickle_pair(struct exp_pickle *p);

/* If the value is in the memo, write a reference to it and return true. Otherwise the caller writes the value and calls
 * exp_pickle_remember. */
VS_MUST_USE bool exp_pickle_again(struct exp_pickle *p, const struct exp_memo *memo);
/* Store the last value in the memo. */
void exp_pickle_remember(struct exp_pickle *p, struct exp_memo *memo);
/* Write a string that occurs often: the first time in full, afterwards as a reference. */
void exp_pickle_word(struct exp_pickle *p, struct exp_memo *memo, const char *text);

#endif

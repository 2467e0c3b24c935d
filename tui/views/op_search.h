/*
 * tui/views/op_search.h - the next op whose row contains a word.
 *
 * For:            view_ops.c.
 * Must not know:  how rows are drawn.
 * Invariant:      an op is found exactly if the word is in its row's text "NUMBER NAME MODULE", in capitals or not.
 */
#ifndef TUI_OP_SEARCH_H
#define TUI_OP_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/index/index.h"

/*
 * *out: the number of the first op after number `from` (0: from the start) whose row contains `word` or, backwards, of
 * the last one before it (one more than there are: from the end); 0: there is none. `word` is not empty. progress may
 * be NULL.
 *
 * A word that the strings of the trace exclude costs reading these. A number costs no event, unless a string contains
 * it. Otherwise all chunks up to the op are read. VS_E_STOPPED: progress returned false. Other errors: those of reading
 * the trace.
 */
VS_MUST_USE enum vs_status tui_op_find(struct rpl_index *index, const char *word, uint64_t from,
                                       bool is_backward, rpl_progress_fn *progress, void *user,
                                       uint64_t *out, struct vs_error *err);

#endif

/*
 * replay/report/mistakes.h - likely mistakes of a recorded program that cost memory, each with its lines.
 *
 * For:            the report on a program.
 * Must not know:  Python; what was found while the program ran is in the trace (tracer/python/vramscope_faults.py).
 * Invariant:      a function of the trace; empty for the trace of a net, whose holders and uses say more.
 *
 * While the program ran: containers and histories that grow, reference cycles, views of much larger memory, calls that
 * autograd records for nothing. Of the events: memory that no op reads, and sizes that leave memory in pieces.
 */
#ifndef RPL_MISTAKES_H
#define RPL_MISTAKES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "replay/report/summary.h"
#include "replay/trace/trace.h"

/*
 * A likely mistake.
 *
 * kind   "leak", "history", "cycle", "view", "no_grad", "unused", "spike", "fragmentation", "rank_skew"
 * bytes  that it keeps; 0: not known
 * where  lines of the program, the likeliest first: "train.py:12 train.py:40"
 * text   a sentence without its full stop
 */
struct rpl_mistake {
    char *kind;
    uint64_t bytes;
    char *where;
    char *text;
};

struct rpl_mistakes {
    struct rpl_mistake *items;
    size_t count, cap;
};

/*
 * Fill `out`, which the caller zero-initialises and releases, also after a failure. `sum`: figures of the trace. Reads
 * all events once where a program was observed, otherwise none.
 */
VS_MUST_USE enum vs_status rpl_mistakes_fill(struct rpl_mistakes *out, struct rpl_trace *trace,
                                             const struct rpl_summary *sum, struct vs_error *err);
/* The same, where the figures are not at hand: they are made in the same reading. */
VS_MUST_USE enum vs_status rpl_mistakes_find(struct rpl_mistakes *out, struct rpl_trace *trace,
                                             struct vs_error *err);
/* Whether one of them says that memory grows: a leak, a history or a reference cycle. */
bool rpl_mistakes_leak(const struct rpl_mistakes *mistakes);
/* Add one; `where` and `text` are heap memory, and belong to the list from now on. */
void rpl_mistake_add(struct rpl_mistakes *out, const char *kind, uint64_t bytes, char *where,
                     char *text);
void rpl_mistakes_release(struct rpl_mistakes *mistakes);

/* The part of the report; nothing where there is no mistake. */
void rpl_mistakes_text(const struct rpl_mistakes *mistakes, struct vs_text *out);
/* The member `mistakes` of the JSON object that is open: an array. */
void rpl_mistakes_json(const struct rpl_mistakes *mistakes, struct vs_json *json);

#endif

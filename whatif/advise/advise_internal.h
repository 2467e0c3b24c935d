/*
 * whatif/advise/advise_internal.h - what the files of advice share.
 *
 * For:            whatif/advise*.c only.
 * Must not know:  how advice is shown.
 * Invariant:      a change is only added where a run with it has a lower peak than the recorded run.
 */
#ifndef WIF_ADVISE_INTERNAL_H
#define WIF_ADVISE_INTERNAL_H

#include "replay/diff/compare.h"
#include "replay/index/index.h"
#include "whatif/advise/advise.h"

/*
 * base       the recording; costs: its times
 * memory     the last run
 * edited     the net with the lines of edited_by; NULL: none was made yet
 * tried      runs so far
 */
struct wif_advising {
    struct wif_advise *out;
    struct rpl_trace *base;
    struct wif_costs *costs;
    const struct wif_advise_options *options;
    struct rpl_trace *memory;
    struct rpl_trace *edited;
    struct wif_edits edited_by;
    size_t tried;
};

/* What to run: toggles over the recorded ones, and lines. */
struct wif_change {
    struct vs_toggles set;
    struct wif_edits edits;
};

void wif_change_release(struct wif_change *change);
void wif_change_copy(struct wif_change *to, const struct wif_change *from);
/* "checkpoint=blocks, del x1 after line 20": the caller frees it. */
char *wif_change_label(const struct wif_change *change);

/*
 * The recording to run for `change`: that of the net with its lines; borrowed until the next call. Errors: those of
 * wif_edited_new.
 */
VS_MUST_USE enum vs_status wif_advising_base(struct wif_advising *s,
                                             const struct wif_change *change,
                                             struct rpl_trace **out, struct vs_error *err);

/*
 * Run `change` on the device in question; if it does not fit there, once more without a limit. s->memory has the run.
 * VS_E_STOPPED as in wif_advise_fill. Others: it cannot be run.
 */
VS_MUST_USE enum vs_status wif_advising_run(struct wif_advising *s, const struct wif_change *change,
                                            struct wif_figures *out, struct vs_error *err);

/*
 * Add `change` with the figures of its run, if its peak is lower than the recorded one, and return it, borrowed until
 * the next is added; NULL: it is not lower and does not fit where the recorded run does not, has been added already,
 * or consists of several parts where advice of a lower price lowers the peak as much.
 */
struct wif_advice *wif_advising_add(struct wif_advising *s, const struct wif_change *change,
                                    const struct wif_figures *run);

/* Whether `change` has several parts, and advice of a lower price than its own lowers the peak as much as its run. */
bool wif_is_combination_dominated(const struct wif_advise *advise, const struct wif_change *change,
                                  enum wif_price price, const struct wif_figures *run);

/* Sort advice and findings, and move to `dominated` what other advice makes pointless. */
void wif_advise_rank(struct wif_advise *advise);

/* The toggles one by one, each value that base/toggle.def lists for sweeps, and placements of checkpoints. */
VS_MUST_USE enum vs_status wif_advising_toggles(struct wif_advising *s, struct vs_error *err);
/* The line that keeps what leaks, without its history. s->memory has the recorded run. */
VS_MUST_USE enum vs_status wif_advising_leaks(struct wif_advising *s, struct vs_error *err);
/* Lines that release local variables earlier: alone, and those that help together. */
VS_MUST_USE enum vs_status wif_advising_lines(struct wif_advising *s, struct vs_error *err);
/* What costs nothing together; with a capacity the cheapest change that fits, and the largest batches. */
VS_MUST_USE enum vs_status wif_advising_together(struct wif_advising *s, struct vs_error *err);
/* What lowers the peak of a program, of each price on top of the cheaper ones. */
VS_MUST_USE enum vs_status wif_advising_program_together(struct wif_advising *s,
                                                         struct vs_error *err);
/* The cheapest advice that fits where the recorded run does not, the only one with is_headline; NULL: there is none. */
struct wif_advice *wif_advising_headline(struct wif_advising *s);
/* Findings of `run`, the recorded run to its end or an imported recording. */
VS_MUST_USE enum vs_status wif_advising_findings(struct wif_advising *s, struct rpl_trace *run,
                                                 struct vs_error *err);

#endif

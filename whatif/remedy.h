/*
 * whatif/remedy.h - what would free a block right after its last use: lines of the net, or a toggle of the loop.
 *
 * For:            advice about lines; the TUI, which shows it beside the block.
 * Must not know:  how a remedy is shown.
 * Invariant:      it follows from who holds the block and from the text of the net; only a run shows what it gains.
 */
#ifndef WIF_REMEDY_H
#define WIF_REMEDY_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/toggle.h"
#include "lang/syntax/ast.h"
#include "replay/inspect/alive.h"
#include "replay/trace/trace.h"
#include "whatif/edit.h"

/*
 * A parsed net with its text, and the run whose holders are looked at. by: the lines that the run has beside those of
 * the net.
 */
struct wif_release {
    const struct lang_module *module;
    const char *text;
    const struct rpl_trace *run;
    const struct wif_edits *by;
};

/*
 * The net that `base` recorded, parsed into `arena`, which must outlive *out as the others must; module NULL: there is
 * none, or it cannot be parsed.
 */
void wif_release_init(struct wif_release *out, const struct rpl_trace *base,
                      const struct rpl_trace *run, const struct wif_edits *by,
                      struct vs_arena *arena);
/*
 * Add to `out` a `del` for each local variable that holds the block of `why`, after the statement that reads it last;
 * outermost: after the outermost statement around that one. False: something else than local variables of the net
 * holds it, or no line can be added there; `out` may then have some of the lines.
 */
VS_MUST_USE bool wif_release_lines(const struct wif_release *release, const struct rpl_why *why,
                                   bool outermost, struct wif_edits *out);

/*
 * set    toggles over the recorded ones
 * edits  lines of the net, after the statement that reads a variable last; outer: after the outermost one, which may
 *        run where the former cannot
 * text   "`del output` before backward", "`del x1` after line 20"; owned
 */
struct wif_remedy {
    struct vs_toggles set;
    struct wif_edits edits;
    struct wif_edits outer;
    char *text;
};

/*
 * The remedy for the block of `why` in release->run, a run of the net that `base` recorded. False: none is known.
 * The caller releases *out, which is zeroed first.
 */
VS_MUST_USE bool wif_remedy_find(struct wif_remedy *out, const struct wif_release *release,
                                 const struct rpl_trace *base, const struct rpl_why *why);
void wif_remedy_release(struct wif_remedy *remedy);

/* "`del x1` after line 20, `y = …` instead of line 5": append what the edits are. */
void wif_edits_text(const struct wif_edits *edits, struct vs_text *out);

#endif

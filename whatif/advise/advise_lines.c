/*
 * whatif/advise/advise_lines.c - advice about lines: where a local variable can be released earlier.
 *
 * Must not know:  what a line computes: whether it may be added, a run shows.
 * Invariant:      each line was run; of those that help together none is without effect.
 *
 * What is alive at the peak though nothing reads it again, and held by local variables of the net alone, is released
 * by a `del` after the last line that reads it. The peak of the changed net is elsewhere, and there the same is done
 * again.
 */
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "lang/syntax/parser.h"
#include "replay/index/cursor.h"
#include "replay/inspect/alive.h"
#include "whatif/advise/advise_internal.h"
#include "whatif/remedy.h"
#include "whatif/whatif.h"

/* Peaks that are looked at, one after the other. */
#define ROUNDS_MAX 6
/* Blocks below one part in this many of the peak are left out. */
#define SHARE_MIN 1000
/* Lines that are tried at most. */
#define LINES_MAX 24

/* module: the parsed net; text: its source */
struct lines {
    struct wif_advising *s;
    struct vs_arena *arena;
    struct lang_module *module;
    const char *text;
};

/* ---- trying ---- */

/* Run a change; *ran: it can be run. Only a stop is a failure. */
static enum vs_status change_run(struct wif_advising *s, const struct wif_change *change,
                                 struct wif_figures *run, bool *ran, struct vs_error *err)
{
    struct vs_error why = VS_ERROR_INIT;
    enum vs_status st = wif_advising_run(s, change, run, &why);

    *ran = st == VS_OK;
    return st == VS_E_STOPPED ? vs_fail(err, st, "%s", why.text) : VS_OK;
}

/*
 * The edits that release one block: after the statements that read it last, and after the outermost statements around
 * these. Empty: there are none.
 */
struct candidate {
    struct wif_edits edits[2];
};

/* The candidates of the unused blocks at the peak of s->memory. The caller releases and frees them. */
struct candidates {
    struct candidate items[RPL_KEPT_MAX];
    size_t count;
};

static void candidates_release(struct candidates *all)
{
    for (size_t i = 0; i < all->count; i++)
        for (int k = 0; k < 2; k++)
            wif_edits_release(&all->items[i].edits[k]);
    all->count = 0;
}

static enum vs_status candidate_add(const struct lines *l, const struct wif_edits *by,
                                    struct rpl_cursor *cursor, uint64_t block,
                                    struct candidates *out, struct vs_error *err)
{
    struct rpl_why why = {.id = block};
    struct candidate *candidate = &out->items[out->count++];
    const struct wif_release release = {l->module, l->text, l->s->memory, by};
    enum vs_status st = rpl_alive_why(cursor, &why, err);

    memset(candidate, 0, sizeof(*candidate));
    for (int k = 0; k < 2 && !st; k++)
        if (!wif_release_lines(&release, &why, k, &candidate->edits[k]))
            wif_edits_release(&candidate->edits[k]);
    rpl_why_release(&why);
    return st;
}

/* by: the edits of the run in s->memory. Blocks of less than `least` bytes are left out. */
static enum vs_status candidates_fill(const struct lines *l, const struct wif_edits *by,
                                      uint64_t least, struct candidates *out, struct vs_error *err)
{
    struct rpl_kept_list *kept = vs_calloc(1, sizeof(*kept));
    struct rpl_index *index = NULL;
    struct rpl_cursor *cursor = NULL;
    struct rpl_run run;
    enum vs_status st = rpl_index_open(l->s->memory, NULL, NULL, &index, err);

    if (!st)
        st = rpl_run_fill(&run, index, err);
    if (!st && run.event) {
        cursor = rpl_cursor_new(index);
        st = rpl_cursor_seek(cursor, run.event, err);
        if (!st)
            st = rpl_alive_kept(cursor, kept, err);
    }
    for (size_t i = 0; i < kept->count && !st; i++)
        if (kept->items[i].block.bytes >= least)
            st = candidate_add(l, by, cursor, kept->items[i].block.id, out, err);
    rpl_cursor_free(cursor);
    rpl_index_free(index);
    vs_free(kept);
    return st;
}

/* Add edits to `all` where the net runs with them and its peak does not rise. *added: they were. */
static enum vs_status edits_try(struct lines *l, const struct wif_edits *edits,
                                struct wif_change *all, struct wif_figures *best, bool *added,
                                struct vs_error *err)
{
    struct wif_change with = {.edits = {NULL, 0, 0}};
    struct wif_figures run;
    bool ran = false;
    enum vs_status st = VS_OK;

    wif_change_copy(&with, all);
    wif_edits_merge(&with.edits, edits);
    if (with.edits.count > all->edits.count && with.edits.count <= LINES_MAX)
        st = change_run(l->s, &with, &run, &ran, err);
    if (ran && run.peak <= best->peak) {
        wif_change_copy(all, &with);
        *best = run;
        *added = true;
    }
    wif_change_release(&with);
    return st;
}

/* One peak: add what releases its unused blocks. *added: something was. */
static enum vs_status round_try(struct lines *l, struct wif_change *all, struct wif_figures *best,
                                bool *added, struct vs_error *err)
{
    struct candidates *candidates = vs_calloc(1, sizeof(*candidates));
    struct wif_figures run;
    bool ran = false;
    enum vs_status st = change_run(l->s, all, &run, &ran, err);

    *added = false;
    if (!st && ran)
        st = candidates_fill(l, &all->edits, best->peak / SHARE_MIN, candidates, err);
    for (size_t i = 0; i < candidates->count && !st; i++) {
        bool one = false;

        for (int k = 0; k < 2 && !one && !st; k++)
            st = edits_try(l, &candidates->items[i].edits[k], all, best, &one, err);
        *added |= one;
    }
    candidates_release(candidates);
    vs_free(candidates);
    return st;
}

/* ---- the result ---- */

/* `all` without edit `skip`. */
static void change_without(struct wif_change *out, const struct wif_change *all, size_t skip)
{
    for (size_t i = 0; i < all->edits.count; i++)
        if (i != skip)
            wif_edits_add(&out->edits, all->edits.items[i].line, all->edits.items[i].replaces,
                          all->edits.items[i].text);
}

/* Leave out each line without which the peak is as low. */
static enum vs_status prune(struct lines *l, struct wif_change *all, struct wif_figures *best,
                            struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t i = all->edits.count; i-- > 0 && !st;) {
        struct wif_change with = {.edits = {NULL, 0, 0}};
        struct wif_figures run;
        bool ran;

        change_without(&with, all, i);
        st = change_run(l->s, &with, &run, &ran, err);
        if (!st && ran && run.peak <= best->peak) {
            wif_change_copy(all, &with);
            *best = run;
        }
        wif_change_release(&with);
    }
    return st;
}

/* Each line that was found, alone. */
static enum vs_status singles_add(struct lines *l, const struct wif_change *all,
                                  struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < all->edits.count && !st; i++) {
        const struct wif_edit *edit = &all->edits.items[i];
        struct wif_change one = {.edits = {NULL, 0, 0}};
        struct wif_figures run;
        bool ran;

        wif_edits_add(&one.edits, edit->line, edit->replaces, edit->text);
        st = change_run(l->s, &one, &run, &ran, err);
        if (!st && ran)
            (void)wif_advising_add(l->s, &one, &run);
        wif_change_release(&one);
    }
    return st;
}

static enum vs_status lines_try(struct lines *l, struct vs_error *err)
{
    struct wif_change found = {.edits = {NULL, 0, 0}};
    struct wif_change together = {.edits = {NULL, 0, 0}};
    struct wif_figures best = l->s->out->base;
    enum vs_status st = VS_OK;
    bool added = true;

    for (int i = 0; i < ROUNDS_MAX && added && !st; i++)
        st = round_try(l, &found, &best, &added, err);
    wif_change_copy(&together, &found);
    if (!st)
        st = prune(l, &together, &best, err);
    if (!st && together.edits.count)
        (void)wif_advising_add(l->s, &together, &best);
    if (!st)
        st = singles_add(l, &found, err);
    wif_change_release(&found);
    wif_change_release(&together);
    return st;
}

enum vs_status wif_advising_lines(struct wif_advising *s, struct vs_error *err)
{
    struct lines l = {.s = s, .text = rpl_trace_source_text(s->base)};
    enum vs_status st;

    l.arena = vs_arena_new();
    st =
        lang_parse(rpl_trace_source_name(s->base), l.text, strlen(l.text), l.arena, &l.module, err);
    if (!st)
        st = lines_try(&l, err);
    vs_arena_free(l.arena);
    return st;
}

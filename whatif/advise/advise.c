/*
 * whatif/advise/advise.c - see advise.h: what is tried in which order.
 *
 * Must not know:  what a toggle or a line does.
 */
#include "whatif/advise/advise.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "replay/diff/compare.h"
#include "replay/report/figures.h"
#include "replay/report/traffic.h"
#include "replay/report/uncertainty.h"
#include "whatif/advise/advise_internal.h"
#include "whatif/recipe.h"
#include "whatif/rerun.h"
#include "whatif/whatif.h"

/* Bytes moved count as more from one part in this many on. */
#define MORE_MIN 1000

/* ---- changes ---- */

void wif_change_release(struct wif_change *change)
{
    vs_toggles_release(&change->set);
    wif_edits_release(&change->edits);
}

void wif_change_copy(struct wif_change *to, const struct wif_change *from)
{
    wif_edits_release(&to->edits);
    vs_toggles_copy(&to->set, &from->set);
    wif_edits_merge(&to->edits, &from->edits);
}

static void add_edit_label(const struct wif_edit *edit, struct vs_text *out)
{
    const char *text = edit->text + strspn(edit->text, " \t");

    vs_text_addf(out, edit->replaces ? "`%s` as line %u" : "`%s` after line %u", text,
                 (unsigned)edit->line);
}

char *wif_change_label(const struct wif_change *change)
{
    struct vs_text text = {NULL, 0, 0};

    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        if (vs_toggles_is_set(&change->set, (enum vs_toggle)i))
            vs_text_addf(&text, "%s%s=%s", text.len ? " " : "",
                         vs_toggle_info((enum vs_toggle)i)->name,
                         vs_toggles_get(&change->set, (enum vs_toggle)i));
    for (size_t i = 0; i < change->edits.count; i++) {
        vs_text_add(&text, text.len ? ", " : "");
        add_edit_label(&change->edits.items[i], &text);
    }
    vs_text_add(&text, "");
    return vs_text_take(&text);
}

/* ---- a run ---- */

enum vs_status wif_advising_base(struct wif_advising *s, const struct wif_change *change,
                                 struct rpl_trace **out, struct vs_error *err)
{
    enum vs_status st;

    *out = s->base;
    if (!change->edits.count)
        return VS_OK;
    if (!s->edited || !wif_edits_equal(&s->edited_by, &change->edits)) {
        rpl_trace_free(s->edited);
        s->edited = NULL;
        wif_edits_release(&s->edited_by);
        wif_edits_merge(&s->edited_by, &change->edits);
        st = wif_edited_new(s->base, &change->edits, &s->edited, err);
        if (st)
            return st;
    }
    *out = s->edited;
    return VS_OK;
}

/* The figures of the run that `trace` has. */
static enum vs_status figures_read(struct wif_advising *s, struct rpl_trace *trace,
                                   struct wif_figures *out, struct vs_error *err)
{
    struct rpl_traffic traffic = {NULL, 0, 0, 0};
    struct rpl_index *index = NULL;
    struct rpl_run run;
    enum vs_status st = rpl_index_open(trace, NULL, NULL, &index, err);

    if (!st)
        st = rpl_run_fill(&run, index, err);
    if (!st)
        st = rpl_traffic_fill(&traffic, trace, err);
    if (!st)
        st = wif_cost_fill(s->costs, trace, &out->cost, err);
    if (!st) {
        out->peak = run.peak;
        out->reserved = run.reserved;
        out->flops = run.flops;
        out->recompute_flops = run.recompute_flops;
        out->moved = traffic.bytes;
        out->fits = !run.oom;
    }
    rpl_traffic_release(&traffic);
    rpl_index_free(index);
    return st;
}

static enum vs_status figures_fill(struct wif_advising *s, uint64_t capacity,
                                   struct rpl_trace *base, const struct vs_toggles *set,
                                   struct wif_figures *out, struct vs_error *err)
{
    enum vs_status st = wif_run_on(base, set, capacity, s->memory, err);

    return st ? st : figures_read(s, s->memory, out, err);
}

/* A program that runs out of memory on its GPU tells no peak. */
static enum vs_status program_run(struct wif_advising *s, const struct vs_toggles *set,
                                  struct wif_figures *out, struct vs_error *err)
{
    enum vs_status st =
        wif_rerun_load(s->base, set, s->options->progress, s->options->user, s->memory, err);

    if (!st)
        st = figures_read(s, s->memory, out, err);
    return st || out->fits ? st : vs_fail(err, VS_E_VALUE, "it runs out of memory");
}

enum vs_status wif_advising_run(struct wif_advising *s, const struct wif_change *change,
                                struct wif_figures *out, struct vs_error *err)
{
    struct rpl_trace *base = NULL;
    char *label = wif_change_label(change);
    bool go_on = !s->options->next || s->options->next(s->options->user, s->tried, label);
    enum vs_status st;

    vs_free(label);
    memset(out, 0, sizeof(*out));
    if (!go_on)
        return vs_fail(err, VS_E_STOPPED, "stopped while trying what would help");
    s->tried++;
    if (s->options->may_rerun && wif_rerun_is_needed(s->base, &change->set))
        return program_run(s, &change->set, out, err);
    st = wif_advising_base(s, change, &base, err);
    if (!st)
        st = figures_fill(s, s->out->capacity, base, &change->set, out, err);
    if (!st && !out->fits) {
        st = figures_fill(s, WIF_NO_LIMIT, base, &change->set, out, err);
        out->fits = false;
    }
    if (!st &&
        s->options
            ->may_rerun) { /* requests that are run again have no ops: they are those of the recording */
        out->flops = s->out->base.flops;
        out->recompute_flops = s->out->base.recompute_flops;
        out->moved = s->out->base.moved;
    }
    return st;
}

/* ---- the list ---- */

static bool same_change(const struct wif_advice *a, const struct wif_change *b)
{
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        const enum vs_toggle toggle = (enum vs_toggle)i;

        if (vs_toggles_is_set(&a->set, toggle) != vs_toggles_is_set(&b->set, toggle) ||
            strcmp(vs_toggles_get(&a->set, toggle), vs_toggles_get(&b->set, toggle)) != 0)
            return false;
    }
    return wif_edits_equal(&a->edits, &b->edits);
}

/* What the toggles and lines do, or what they cost, one after the other. */
static char *sentences(const struct rpl_trace *base, const struct wif_change *change, bool costs)
{
    struct vs_text text = {NULL, 0, 0};

    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        const struct vs_toggle_info *info = vs_toggle_info((enum vs_toggle)i);

        if (!vs_toggles_is_set(&change->set, (enum vs_toggle)i) ||
            (costs && !wif_price_is_known(base, (enum vs_toggle)i)))
            continue;
        vs_text_addf(&text, "%s%s", text.len ? "; " : "", costs ? info->cost : info->help);
    }
    for (size_t i = 0; i < change->edits.count && !costs; i++) {
        const char *does = change->edits.items[i].replaces
                               ? "keep a value without its autograd history"
                               : "release what nothing reads again";

        if (!text.data || !strstr(vs_text_get(&text), does))
            vs_text_addf(&text, "%s%s", text.len ? "; " : "", does);
    }
    vs_text_add(&text, "");
    return vs_text_take(&text);
}

/* Whether a run does more than the recorded one: what is recomputed without arithmetic shows in the bytes moved. */
static bool does_more(const struct wif_figures *base, const struct wif_figures *run)
{
    return run->recompute_flops > base->recompute_flops ||
           run->moved > base->moved + base->moved / MORE_MIN;
}

struct wif_advice *wif_advising_add(struct wif_advising *s, const struct wif_change *change,
                                    const struct wif_figures *run)
{
    struct wif_advise *out = s->out;
    const enum wif_price price = wif_price(s->base, &change->set, does_more(&out->base, run));
    /* less that is reserved may let a run fit whose tensors are the same */
    const bool makes_fit = out->capacity && run->fits && !out->base.fits;
    struct wif_advice *advice;

    if ((run->peak >= out->base.peak && !makes_fit) ||
        wif_is_combination_dominated(out, change, price, run))
        return NULL;
    for (size_t i = 0; i < out->count; i++)
        if (same_change(&out->items[i], change))
            return NULL;
    out->items = vs_grow(out->items, out->count, &out->cap, sizeof(*out->items));
    advice = &out->items[out->count++];
    memset(advice, 0, sizeof(*advice));
    vs_toggles_copy(&advice->set, &change->set);
    wif_edits_merge(&advice->edits, &change->edits);
    advice->line = change->edits.count ? change->edits.items[0].line : 0;
    advice->label = wif_change_label(change);
    advice->text = sentences(s->base, change, false);
    advice->costs = sentences(s->base, change, true);
    advice->price = price;
    advice->run = *run;
    return advice;
}

/* ---- all of it ---- */

/* Why not all changes could be run; NULL: they were. failure: why the requests cannot be run again, or NULL. */
static const char *cannot_of(const struct wif_advising *s, const char *failure)
{
    if (failure)
        return failure;
    if (!wif_recipe_is_in(s->base))
        return "this trace has no net: of all changes only settings of the allocator and the "
               "capacity can be run on it";
    return s->options->may_rerun
               ? NULL
               : "this trace has no net: only settings of the allocator and the capacity are tried "
                 "here; to run the program again with each toggle: "
                 "`vramscope advise TRACE --rerun`";
}

/*
 * Without a net settings of the allocator are tried, where the requests to it were recorded, and what a program does
 * when it runs again; what the trace shows does not need a run.
 */
static enum vs_status imported_advise(struct wif_advising *s, struct vs_error *err)
{
    const struct wif_change nothing = {.edits = {NULL, 0, 0}};
    const char *cannot;
    struct vs_error why = VS_ERROR_INIT;
    struct wif_figures base;
    enum vs_status st =
        s->options->may_rerun ? figures_read(s, s->base, &s->out->base, &why) : VS_OK;

    if (!st)
        st = wif_advising_run(s, &nothing, &base, &why);
    if (st == VS_E_STOPPED)
        return vs_fail(err, st, "%s", why.text);
    if (st)
        memset(&s->out->base, 0, sizeof(s->out->base));
    else
        s->out->base = base;
    cannot = cannot_of(s, st ? why.text : NULL);
    s->out->cannot = cannot ? vs_strdup(cannot) : NULL;
    if (!st) {
        st = wif_advising_toggles(s, err);
        if (!st && s->options->may_rerun)
            st = wif_advising_program_together(s, err);
    } else {
        st = VS_OK;
    }
    (void)wif_advising_headline(s);
    return st ? st : wif_advising_findings(s, s->base, err);
}

static enum vs_status net_advise(struct wif_advising *s, struct vs_error *err)
{
    const struct wif_change nothing = {.edits = {NULL, 0, 0}};
    struct wif_figures again;
    enum vs_status st = wif_advising_run(s, &nothing, &s->out->base, err);

    if (!st)
        st = wif_advising_leaks(s, err);
    if (!st)
        st = wif_advising_lines(s, err);
    if (!st)
        st = wif_advising_toggles(s, err);
    if (!st)
        st = wif_advising_run(s, &nothing, &again, err);
    if (!st)
        st = wif_advising_findings(s, s->memory, err);
    if (!st)
        st = wif_advising_together(s, err);
    return st;
}

/* What the recorded run itself tells. */
static enum vs_status recorded_read(struct wif_advise *out, struct rpl_trace *base,
                                    struct vs_error *err)
{
    struct rpl_summary sum = {.events = 0};
    enum vs_status st = rpl_figures_summary(base, &sum, err);

    out->is_oom = sum.oom.event != 0;
    if (!st)
        st = rpl_mistakes_fill(&out->mistakes, base, &sum, err);
    rpl_summary_release(&sum);
    return st;
}

enum vs_status wif_advise_fill(struct wif_advise *out, struct rpl_trace *base,
                               const struct wif_advise_options *options, struct vs_error *err)
{
    struct wif_advising s = {.out = out, .base = base, .options = options};
    enum vs_status st;

    memset(out, 0, sizeof(*out));
    out->capacity = options->capacity ? options->capacity : rpl_capacity(base);
    s.memory = rpl_trace_new();
    st = wif_costs_new(base, &s.costs, err);
    if (!st)
        st = rpl_trace_source_text(base) ? net_advise(&s, err) : imported_advise(&s, err);
    if (!st)
        st = recorded_read(out, base, err);
    if (!st)
        wif_advise_rank(out);
    wif_costs_free(s.costs);
    wif_edits_release(&s.edited_by);
    rpl_trace_free(s.edited);
    rpl_trace_free(s.memory);
    return st;
}

static void items_release(struct wif_advice *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        vs_toggles_release(&items[i].set);
        wif_edits_release(&items[i].edits);
        vs_free(items[i].label);
        vs_free(items[i].text);
        vs_free(items[i].costs);
        vs_free(items[i].by);
    }
    vs_free(items);
}

void wif_advise_release(struct wif_advise *advise)
{
    items_release(advise->items, advise->count);
    items_release(advise->dominated, advise->dominated_count);
    for (size_t i = 0; i < advise->finding_count; i++)
        vs_free(advise->findings[i].text);
    vs_free(advise->findings);
    rpl_mistakes_release(&advise->mistakes);
    vs_free(advise->cannot);
    memset(advise, 0, sizeof(*advise));
}

/*
 * tui/gains.c - see gains.h.
 *
 * Must not know:  drawing.
 * Invariant:      the cursor of the shown run is not moved.
 */
#include "tui/gains.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "tui/change.h"
#include "tui/waiting.h"

/* A gain below one part in this many of the peak is negligible. */
#define SHARE_MIN 1000

void tui_gains_free(struct tui_gains *gains)
{
    for (size_t i = 0; gains && i < gains->count; i++)
        wif_remedy_release(&gains->items[i].remedy);
    vs_free(gains);
}

/* Whether freeing it early lowers the peak by more than a negligible part. */
static bool is_marked(const struct tui_run *run, const struct rpl_kept *kept)
{
    return kept->gain && kept->gain >= run->top.allocated / SHARE_MIN;
}

/* The remedies of all items that lower the peak. The cursor is at the peak. */
static enum vs_status remedies_fill(struct tui_gains *gains, const struct tui_app *app,
                                    struct rpl_cursor *cursor, struct vs_error *err)
{
    const struct tui_run *run = tui_app_run(app);
    const struct rpl_trace *base = app->base.trace;
    struct vs_arena *arena = vs_arena_new();
    struct wif_release release;
    struct rpl_why why = {.id = 0};
    enum vs_status st = VS_OK;

    wif_release_init(&release, base, run->trace, tui_change_edits(app), arena);
    for (size_t i = 0; i < gains->count && !st; i++) {
        struct tui_gain *gain = &gains->items[i];

        if (!is_marked(run, &gain->kept))
            continue;
        why.id = gain->kept.block.id;
        st = rpl_alive_why(cursor, &why, err);
        if (!st && !wif_remedy_find(&gain->remedy, &release, base, &why))
            gain->remedy.text = NULL;
    }
    rpl_why_release(&why);
    vs_arena_free(arena);
    return st;
}

static enum vs_status fill(struct tui_gains *gains, const struct tui_app *app, struct vs_error *err)
{
    const struct tui_run *run = tui_app_run(app);
    struct rpl_kept_list *kept = vs_calloc(1, sizeof(*kept));
    struct rpl_cursor *cursor = rpl_cursor_new(run->index);
    enum vs_status st = rpl_cursor_seek(cursor, run->oom ? run->oom : run->top.event, err);

    if (!st)
        st = rpl_alive_kept(cursor, kept, err);
    if (!st) {
        gains->total = kept->total;
        gains->gain = kept->gain;
        for (size_t i = 0; i < kept->count; i++)
            gains->items[gains->count++].kept = kept->items[i];
        st = remedies_fill(gains, app, cursor, err);
    }
    rpl_cursor_free(cursor);
    vs_free(kept);
    return st;
}

const struct tui_gains *tui_gains_get(struct tui_app *app)
{
    struct tui_run *run = app->change.is_shown ? &app->change.run : &app->base;

    if (run->gains)
        return run->gains;
    run->gains = vs_calloc(1, sizeof(*run->gains));
    if (run->top.event && rpl_trace_has_uses(run->trace))
        (void)fill(run->gains, app, &run->gains->failure);
    return run->gains;
}

bool tui_gains_update(struct tui_app *app)
{
    if (tui_app_run(app)->gains)
        return false;
    (void)tui_gains_get(app);
    app->moves++;
    app->news++;
    return true;
}

/* ---- likely mistakes ---- */

/* done: events that were read. */
struct reading {
    struct tui_waiting waiting;
    struct rpl_trace *trace;
    uint64_t done;
};

/* rpl_watch_fn. What is drawn meanwhile may read events of the trace, too. */
static bool on_read(void *user)
{
    struct reading *reading = user;
    const uint64_t total = rpl_trace_event_count(reading->trace);
    bool goes_on;

    rpl_trace_watch(reading->trace, NULL, NULL);
    goes_on = tui_waiting_show(&reading->waiting, reading->done, total);
    rpl_trace_watch(reading->trace, on_read, reading);
    reading->done += total - reading->done < RPL_SCAN_EVENTS ? 0 : RPL_SCAN_EVENTS;
    return goes_on;
}

const struct tui_mistakes *tui_mistakes_get(struct tui_app *app)
{
    struct tui_run *run = app->change.is_shown ? &app->change.run : &app->base;
    struct tui_mistakes *mistakes = run->mistakes;
    struct reading reading = {.trace = run->trace};

    if (mistakes)
        return mistakes;
    mistakes = run->mistakes = vs_calloc(1, sizeof(*mistakes));
    mistakes->is_busy = true;
    tui_waiting_init(&reading.waiting, app, "reading what the program did");
    rpl_trace_watch(run->trace, on_read, &reading);
    if (rpl_mistakes_find(&mistakes->found, run->trace, &mistakes->failure) == VS_E_STOPPED)
        tui_app_say(app, "stopped");
    rpl_trace_watch(run->trace, NULL, NULL);
    mistakes->is_busy = false;
    if (reading.waiting.is_shown)
        app->moves++; /* the views were drawn with the progress and have built their pages */
    return mistakes;
}

void tui_mistakes_forget(struct tui_run *run)
{
    if (!run->mistakes)
        return;
    VS_ASSERT(!run->mistakes->is_busy);
    rpl_mistakes_release(&run->mistakes->found);
    vs_free(run->mistakes);
    run->mistakes = NULL;
}

/* ---- gains ---- */

const struct tui_gain *tui_gain_of(const struct tui_run *run, const struct rpl_block *block)
{
    const struct tui_gains *gains = run->gains;

    for (size_t i = 0; gains && i < gains->count; i++) {
        const struct rpl_kept *kept = &gains->items[i].kept;

        if (is_marked(run, kept) && kept->block.alloc_location == block->alloc_location &&
            kept->block.requested == block->requested)
            return &gains->items[i];
    }
    return NULL;
}

void tui_gain_text(const struct tui_gain *gain, struct vs_text *out)
{
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%s: %s",
                 gain->remedy.text ? gain->remedy.text : "freed right after its last use",
                 vs_bytes_delta_text(-(int64_t)gain->kept.gain, buf));
}

void tui_gain_try(struct tui_app *app, const struct tui_gain *gain)
{
    struct wif_remedy remedy = {.text = NULL};
    bool is_outer = false;

    if (!gain->remedy.text) {
        tui_app_say(app, "what holds it is no local variable of the net: no line to try is known");
        return;
    }
    /* the run, and with it the gain, is released by the change */
    vs_toggles_copy(&remedy.set, &gain->remedy.set);
    wif_edits_merge(&remedy.edits, &gain->remedy.edits);
    wif_edits_merge(&remedy.outer, &gain->remedy.outer);
    do {
        tui_change_remedy(app, &remedy.set, is_outer ? &remedy.outer : &remedy.edits);
        is_outer = !is_outer;
    } while (is_outer && app->is_bad && remedy.outer.count);
    wif_remedy_release(&remedy);
}

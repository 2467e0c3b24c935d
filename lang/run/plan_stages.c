/*
 * lang/run/plan_stages.c - the stages of a chain, and the cuts of its runs, from the sections of a pass.
 *
 * Must not know:  how runs are found.
 * Invariant:      a stage begins at each cut, and nowhere else but at the beginning.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "lang/run/plan_chain_internal.h"

/*
 * The sections become stages in two steps. A section in which ops run begins a fine stage, and the sections without ops
 * after it belong to it, because names are bound and tensors freed there. Fine stages without a cut between them are
 * then one stage.
 */
struct builder {
    struct lang_plan_chain *chain;
    const struct lang_pass *pass;
    uint32_t *fine_of;  /* for each section its fine stage */
    uint32_t *first_of; /* for each fine stage its first section */
    size_t fine_count;
    uint64_t *crossing; /* for each fine stage what crosses the cut before it */
    uint64_t *freed;    /* bytes of the block crossing there that are freed in the fine stage */
    bool *is_cut;
};

static void fine_find(struct builder *b)
{
    size_t sections = b->pass->section_count;
    bool is_first = true;

    b->fine_of = vs_calloc(sections + 1, sizeof(*b->fine_of));
    b->first_of = vs_calloc(sections + 1, sizeof(*b->first_of));
    b->fine_count = 1;
    for (uint32_t k = 0; k < sections; k++) {
        bool is_busy = b->pass->sections[k].ops > 0;

        /* What comes before the first op belongs to its stage. */
        if (is_busy && !is_first)
            b->first_of[b->fine_count++] = k;
        is_first &= !is_busy;
        b->fine_of[k] = (uint32_t)b->fine_count - 1;
    }
}

/* The fine stage that begins at or after mark k. */
static uint32_t fine_at(const struct builder *b, uint32_t mark)
{
    for (uint32_t k = mark; k < b->pass->section_count; k++) {
        if (b->pass->sections[k].ops > 0)
            return b->fine_of[k];
    }
    return (uint32_t)b->fine_count;
}

static uint64_t freed_in(const struct builder *b, uint64_t block, uint32_t fine)
{
    for (size_t i = 0; i < b->pass->free_count; i++) {
        if (b->pass->frees[i].block == block && b->fine_of[b->pass->frees[i].section] == fine)
            return lang_pass_bytes(b->pass, block);
    }
    return 0;
}

/* Adds a cut to run number r, unless nothing runs since the one before. */
static void cut_add(struct builder *b, size_t r, uint32_t fine, uint64_t block, size_t call)
{
    struct pln_run *run = &b->chain->chain.runs[r];

    if (fine >= b->fine_count || (run->count > 0 && run->cuts[run->count - 1] == fine))
        return;
    run->cuts[run->count] = fine;
    b->chain->runs[r].from[run->count++] = call;
    if (lang_pass_bytes(b->pass, block) > 0) {
        b->crossing[fine] = lang_pass_bytes(b->pass, block);
        b->freed[fine] = freed_in(b, block, fine);
    }
}

static void run_cuts(struct builder *b, size_t r)
{
    const struct lang_plan_run *calls = &b->chain->runs[r];
    const struct lang_pass_mark *marks = b->pass->marks;

    b->chain->chain.runs[r].cuts = vs_calloc(calls->count + 1, sizeof(uint32_t));
    b->chain->runs[r].from = vs_calloc(calls->count + 1, sizeof(size_t));
    for (size_t i = 0; i < calls->count; i++) {
        const struct lang_plan_call *call = &b->chain->calls[calls->calls[i]];
        const struct lang_pass_tensor *before = &marks[call->enter].input;

        /* A module that writes to its input cannot be the first of a checkpoint, which would read it again. */
        if (before->version == marks[call->exit].input.version)
            cut_add(b, r, fine_at(b, call->enter), before->block, i);
    }
    if (calls->count > 0) {
        const struct lang_plan_call *last = &b->chain->calls[calls->calls[calls->count - 1]];

        cut_add(b, r, fine_at(b, last->exit), marks[last->exit].output.block, calls->count);
    }
}

/* Cuts of one run at most: where it has twice as many, solving gets slow and hardly a placement better. */
#define CUTS_MAX 64
/* Cuts of all runs from which on cuts are left out inside of blocks, too. */
#define MANY_CUTS 1200

/*
 * Of a very long run keeps every few cuts. is_long: also leaves out those where the next call frees its input. A
 * checkpoint that begins there would hold the input for nothing; one that ends there, before an activation, lowers the
 * peak by that of the activation alone.
 */
static void cuts_thin(struct builder *b, size_t r, bool is_long)
{
    struct pln_run *run = &b->chain->chain.runs[r];
    size_t *from = b->chain->runs[r].from;
    size_t kept = 0;
    size_t every;

    for (size_t c = 0; c < run->count; c++) {
        bool is_end = c == 0 || c + 1 == run->count;

        if (is_end || !is_long || b->freed[run->cuts[c]] == 0) {
            run->cuts[kept] = run->cuts[c];
            from[kept++] = from[c];
        }
    }
    every = kept / CUTS_MAX > 1 ? kept / CUTS_MAX : 1;
    run->count = 0;
    for (size_t c = 0; c < kept; c++) {
        if (c % every == 0 || c + 1 == kept) {
            run->cuts[run->count] = run->cuts[c];
            from[run->count++] = from[c];
        }
    }
}

static void cuts_find(struct builder *b)
{
    struct lang_plan_chain *chain = b->chain;
    size_t cuts = 0;
    size_t outer = 0;
    size_t kept = 0;

    chain->chain.runs = vs_calloc(chain->run_count + 1, sizeof(*chain->chain.runs));
    for (size_t r = 0; r < chain->run_count; r++)
        run_cuts(b, r);
    for (size_t r = 0; r < chain->run_count; r++)
        cuts += chain->chain.runs[r].count;
    for (size_t r = 0; r < chain->run_count; r++)
        cuts_thin(b, r, cuts > MANY_CUTS);
    for (size_t r = 0; r < chain->run_count; r++) {
        if (chain->chain.runs[r].count < 2) {
            vs_free(chain->chain.runs[r].cuts);
            vs_free(chain->runs[r].calls);
            vs_free(chain->runs[r].from);
            continue;
        }
        for (size_t c = 0; c < chain->chain.runs[r].count; c++)
            b->is_cut[chain->chain.runs[r].cuts[c]] = true;
        chain->chain.runs[kept] = chain->chain.runs[r];
        chain->runs[kept] = chain->runs[r];
        kept++;
        outer += r < chain->outer ? 1 : 0;
    }
    chain->outer = outer;
    chain->run_count = kept;
    chain->chain.run_count = kept;
}

/* ---- figures ---- */

static uint64_t above(uint64_t peak, uint64_t start)
{
    return peak > start ? peak - start : 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/*
 * The figures of a fine stage; `later` are the gradients of the stages behind it. *is_saving: it saves something.
 */
static struct pln_stage fine_stage(const struct builder *b, uint32_t fine, uint64_t later,
                                   bool *is_saving)
{
    const struct lang_pass_section *sections = b->pass->sections;
    uint32_t first = b->first_of[fine];
    uint32_t end =
        fine + 1 < b->fine_count ? b->first_of[fine + 1] : (uint32_t)b->pass->section_count;
    uint64_t start = sections[first].start;
    uint64_t back = 0;
    struct pln_stage s = {.crossing = b->crossing[fine], .input_freed = b->freed[fine]};

    for (uint32_t k = first; k < end; k++) {
        s.kept_peak = larger(s.kept_peak, above(sections[k].peak, start));
        s.gradients += sections[k].gradients;
        s.cost += sections[k].cost;
        s.flops += sections[k].flops;
        s.saved += sections[k].saved;
        s.saved_cost += sections[k].saved_cost;
        s.saved_flops += sections[k].saved_flops;
        if (sections[k].is_saving)
            s.tail_cost = s.tail_flops = s.saved_tail_cost = s.saved_tail_flops = 0;
        s.tail_cost += sections[k].tail;
        s.tail_flops += sections[k].tail_flops;
        s.saved_tail_cost += sections[k].saved_tail;
        s.saved_tail_flops += sections[k].saved_tail_flops;
        back = larger(back, sections[k].back_peak);
        *is_saving |= sections[k].is_saving;
    }
    s.kept = (int64_t)sections[end - 1].end - (int64_t)start;
    s.dropped_peak = s.kept_peak;
    s.backward_peak = above(back, start + later);
    return s;
}

/* What a checkpoint that ends behind both does not run again. */
static void tail_add(struct pln_stage *to, const struct pln_stage *other)
{
    to->tail_cost += other->tail_cost;
    to->tail_flops += other->tail_flops;
    to->saved_tail_cost += other->saved_tail_cost;
    to->saved_tail_flops += other->saved_tail_flops;
}

/* Makes `to` the stage of itself and of `next`, with no cut between them. is_saving: `next` saves something. */
static void stage_join(struct pln_stage *to, const struct pln_stage *next, bool is_saving)
{
    int64_t kept_peak = to->kept + (int64_t)next->kept_peak;
    int64_t backward = to->kept + (int64_t)next->backward_peak;

    to->kept_peak = larger(to->kept_peak, kept_peak > 0 ? (uint64_t)kept_peak : 0);
    to->backward_peak =
        larger(to->backward_peak + next->gradients, backward > 0 ? (uint64_t)backward : 0);
    to->dropped_peak = to->kept_peak;
    to->kept += next->kept;
    to->gradients += next->gradients;
    if (is_saving)
        to->tail_cost = to->tail_flops = to->saved_tail_cost = to->saved_tail_flops = 0;
    tail_add(to, next);
    to->saved += next->saved;
    to->saved_cost += next->saved_cost;
    to->saved_flops += next->saved_flops;
    to->flops += next->flops;
    to->cost += next->cost;
}

static void stages_make(struct builder *b)
{
    struct lang_plan_chain *chain = b->chain;
    struct pln_chain *out = &chain->chain;
    struct pln_stage *fine = vs_calloc(b->fine_count, sizeof(*fine));
    bool *is_saving = vs_calloc(b->fine_count, sizeof(*is_saving));
    uint32_t *stage_of = vs_calloc(b->fine_count + 1, sizeof(*stage_of));
    uint64_t later = 0;

    for (uint32_t i = (uint32_t)b->fine_count; i-- > 0;) {
        fine[i] = fine_stage(b, i, later, &is_saving[i]);
        later += fine[i].gradients;
    }
    out->stages = vs_calloc(b->fine_count, sizeof(*out->stages));
    for (uint32_t i = 0; i < b->fine_count; i++) {
        bool is_first = i == 0 || b->is_cut[i];

        if (is_first && i > 0 && !is_saving[i])
            tail_add(&fine[i], &out->stages[out->count - 1]);
        if (is_first)
            out->stages[out->count++] = fine[i];
        else
            stage_join(&out->stages[out->count - 1], &fine[i], is_saving[i]);
        stage_of[i] = (uint32_t)out->count - 1;
    }
    for (size_t r = 0; r < out->run_count; r++) {
        for (size_t c = 0; c < out->runs[r].count; c++)
            out->runs[r].cuts[c] = stage_of[out->runs[r].cuts[c]];
    }
    chain->stage_of = vs_calloc(b->pass->section_count, sizeof(*chain->stage_of));
    for (size_t k = 0; k < b->pass->section_count; k++)
        chain->stage_of[k] = stage_of[b->fine_of[k]];
    vs_free(stage_of);
    vs_free(is_saving);
    vs_free(fine);
}

static void outer_find(struct lang_plan_chain *chain)
{
    chain->outer_of = vs_calloc(chain->pass->section_count, sizeof(*chain->outer_of));
    for (size_t r = 0; r < chain->outer; r++) {
        for (size_t i = 0; i < chain->runs[r].count; i++) {
            const struct lang_plan_call *call = &chain->calls[chain->runs[r].calls[i]];

            for (uint32_t k = call->enter; k < call->exit; k++)
                chain->outer_of[k] = chain->runs[r].calls[i];
        }
    }
}

void lang_plan_stages_fill(struct lang_plan_chain *chain)
{
    struct builder b = {.chain = chain, .pass = chain->pass};

    fine_find(&b);
    b.crossing = vs_calloc(b.fine_count + 1, sizeof(*b.crossing));
    b.freed = vs_calloc(b.fine_count + 1, sizeof(*b.freed));
    b.is_cut = vs_calloc(b.fine_count + 1, sizeof(*b.is_cut));
    cuts_find(&b);
    stages_make(&b);
    outer_find(chain);
    vs_free(b.is_cut);
    vs_free(b.freed);
    vs_free(b.crossing);
    vs_free(b.first_of);
    vs_free(b.fine_of);
}

/* ---- where nothing is saved ---- */

/* Whether both passes have the same marks in the same order. */
static bool is_same_order(const struct lang_pass *a, const struct lang_pass *b)
{
    for (size_t i = 0; i < a->mark_count; i++) {
        const char *x = a->marks[i].path;
        const char *y = b->marks[i].path;

        if (i >= b->mark_count || !x != !y || (x && strcmp(x, y) != 0))
            return false;
    }
    return a->mark_count == b->mark_count;
}

void lang_plan_chain_drop(struct lang_plan_chain *chain, const struct lang_pass *dropped)
{
    struct pln_stage *stages = chain->chain.stages;
    const struct lang_pass *pass = chain->pass;
    uint64_t *peak;

    if (!is_same_order(pass, dropped))
        return;
    peak = vs_calloc(chain->chain.count, sizeof(*peak));
    for (uint32_t k = 0; k < pass->section_count; k++) {
        uint32_t call = chain->outer_of[k];
        uint32_t stage = chain->stage_of[k];
        uint32_t enter = chain->calls[call].enter;
        uint64_t most;

        if (call == 0)
            continue;
        most = above(dropped->sections[k].peak, dropped->sections[enter].start);
        /* Beside the stage's own input, that of the call is alive. */
        if (chain->stage_of[enter] != stage) {
            most += lang_pass_bytes(dropped, dropped->marks[enter].input.block);
            most = above(most, stages[stage].crossing);
        }
        peak[stage] = larger(peak[stage], most);
    }
    for (size_t i = 0; i < chain->chain.count; i++) {
        if (peak[i] > 0)
            stages[i].dropped_peak = peak[i];
    }
    vs_free(peak);
}

/*
 * replay/report/mistakes.c - see mistakes.h.
 *
 * Must not know:  where the text goes.
 * Invariant:      what a program's own last step holds is no mistake: only what is older is looked at.
 */
#include "replay/report/mistakes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"

/* Memory that no op reads is listed from this share of the peak on, and from so many bytes. */
#define UNUSED_SHARE 10
#define UNUSED_BYTES (UINT64_C(1) << 20)
/* Unused memory of a line that so many steps allocated grows. */
#define GROWING_STEPS 3
/* Reserved memory that the peak does not need: one part in so many of what is reserved, and so many bytes. */
#define PIECES_SHARE 4
#define PIECES_BYTES (UINT64_C(32) << 20)
/* A line has so many sizes, each of so many bytes, where sizes vary. */
#define SIZES_MIN 4
#define SIZES_MAX 16
#define SIZE_BYTES (UINT64_C(1) << 20)
#define WIDTH 100

void rpl_mistake_add(struct rpl_mistakes *out, const char *kind, uint64_t bytes, char *where,
                     char *text)
{
    out->items = vs_grow(out->items, out->count, &out->cap, sizeof(*out->items));
    out->items[out->count++] = (struct rpl_mistake){vs_strdup(kind), bytes, where, text};
}

/* ---- found while the program ran ---- */

/* "leak|4096|train.py:12 train.py:9|a sentence", a line each; a line of another form is left out. */
static void recorded_add(struct rpl_mistakes *out, const char *line, size_t len)
{
    const char *fields[4];
    size_t lens[4];
    const char *end = line + len;

    for (int i = 0; i < 4; i++) {
        const char *bar = i < 3 ? memchr(line, '|', (size_t)(end - line)) : end;

        if (!bar)
            return;
        fields[i] = line;
        lens[i] = (size_t)(bar - line);
        line = bar + (i < 3);
    }
    if (lens[0] && lens[2] && lens[3]) {
        char *kind = vs_strndup(fields[0], lens[0]);

        rpl_mistake_add(out, kind, strtoull(fields[1], NULL, 10), vs_strndup(fields[2], lens[2]),
                        vs_strndup(fields[3], lens[3]));
        vs_free(kind);
    }
}

static void recorded_read(struct rpl_mistakes *out, const struct rpl_trace *trace)
{
    const char *line = rpl_trace_meta(trace, "mistakes");

    while (line && *line) {
        const size_t len = strcspn(line, "\n");

        recorded_add(out, line, len);
        line += len + (line[len] == '\n');
    }
}

/* ---- the life of each block ---- */

/*
 * block: its number. read: the last event at which an op read it, other than to copy it, at read_location; 0: none.
 * freed: 0: not within the trace
 */
struct life {
    uint64_t block, made, freed, read;
    uint64_t bytes, requested;
    uint32_t location, read_location;
    uint8_t category;
};

/* In the order in which they are met; by_block: a damaged file may have any numbers. */
struct lives {
    struct life *items;
    size_t count, cap;
    struct vs_table by_block;
};

/* Ops that only copy what they read, and what is no reading at all. */
static bool is_copy(const char *op)
{
    static const char *const COPIES[] = {
        "copy_",
        "_to_copy",
        "to",
        "clone",
        "detach",
        "contiguous",
        "_foreach_copy_",
        "_has_compatible_shallow_copy_type",
    };

    for (size_t i = 0; i < sizeof(COPIES) / sizeof(COPIES[0]); i++)
        if (strcmp(op, COPIES[i]) == 0)
            return true;
    return false;
}

static struct life *life_of(struct lives *lives, uint64_t block)
{
    const uint64_t hash = vs_hash_number(block);
    struct vs_probe probe = vs_probe(hash);

    while (vs_table_next(&lives->by_block, &probe))
        if (lives->items[probe.item].block == block)
            return &lives->items[probe.item];
    lives->items = vs_grow(lives->items, lives->count, &lives->cap, sizeof(*lives->items));
    vs_table_add(&lives->by_block, hash, lives->count);
    lives->items[lives->count] = (struct life){.block = block};
    return &lives->items[lives->count++];
}

static void note(struct lives *lives, const struct rpl_trace *trace, uint64_t seq,
                 const struct vs_event *event)
{
    struct life *life;

    switch ((enum vs_event_kind)event->kind) {
    case VS_EV_ALLOC:
        *life_of(lives, event->alloc.block) =
            (struct life){.block = event->alloc.block,
                          .made = seq,
                          .bytes = event->alloc.block_bytes,
                          .requested = event->alloc.requested_bytes,
                          .location = event->location,
                          .category = (uint8_t)event->alloc.category};
        break;
    case VS_EV_FREE:
        life_of(lives, event->free.block)->freed = seq;
        break;
    case VS_EV_CATEGORY:
        life_of(lives, event->category.block)->category = (uint8_t)event->category.category;
        break;
    case VS_EV_USE:
        life = life_of(lives, event->use.block);
        if (!is_copy(rpl_trace_string(trace, (uint32_t)event->use.op))) {
            life->read = seq;
            life->read_location = event->location;
        }
        break;
    case VS_EV_SEGMENT_ALLOC:
    case VS_EV_SEGMENT_FREE:
    case VS_EV_SEGMENT_MAP:
    case VS_EV_SEGMENT_UNMAP:
    case VS_EV_OOM:
    case VS_EV_SAVE:
    case VS_EV_UNSAVE:
    case VS_EV_HOLD:
    case VS_EV_DROP:
    case VS_EV_OP_BEGIN:
    case VS_EV_OP_END:
    case VS_EV_RECOMPUTE_BEGIN:
    case VS_EV_RECOMPUTE_END:
    case VS_EV_PHASE:
    case VS_EV_STEP:
    case VS_EV_CAST:
    case VS_EV_SCALE:
    case VS_EV_SKIP_STEP:
    case VS_EV_FREE_COMPLETED:
    case VS_EVENT_KIND_COUNT:
        break;
    }
}

static enum vs_status lives_read(struct lives *lives, struct rpl_trace *trace, struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const struct vs_event *event;
    enum vs_status st;

    rpl_scan_init(scan, trace, 1, rpl_trace_event_count(trace));
    while ((event = rpl_scan_next(scan, err)) != NULL)
        note(lives, trace, scan->seq, event);
    st = scan->status;
    vs_free(scan);
    return st;
}

/* ---- by line ---- */

/*
 * bytes: of the blocks that count; made: when the first of them was allocated; read_location: where one of them was
 * read last, 0: none was; sizes: size_count different ones; steps: training steps that allocated one, the last of them
 * with index `step`
 */
struct line {
    uint32_t func, number, read_location;
    uint64_t bytes, blocks, made;
    size_t steps, step;
    uint64_t sizes[SIZES_MAX];
    size_t size_count;
};

struct lines {
    struct line *items;
    size_t count, cap;
    struct vs_table by_place; /* of function and number */
};

static struct line *line_of(struct lines *lines, const struct vs_location *location, uint64_t made)
{
    const uint64_t hash = vs_hash_number((uint64_t)location->func << 32 | location->line);
    struct vs_probe probe = vs_probe(hash);

    while (vs_table_next(&lines->by_place, &probe))
        if (lines->items[probe.item].func == location->func &&
            lines->items[probe.item].number == location->line)
            return &lines->items[probe.item];
    vs_table_add(&lines->by_place, hash, lines->count);
    lines->items = vs_grow(lines->items, lines->count, &lines->cap, sizeof(*lines->items));
    lines->items[lines->count] =
        (struct line){.func = location->func, .number = location->line, .made = made};
    return &lines->items[lines->count++];
}

static void lines_release(struct lines *lines)
{
    vs_free(lines->items);
    vs_table_release(&lines->by_place);
}

/* Append "train.py:12", of the function "train.py:main". */
static void add_where(const struct rpl_trace *trace, uint32_t func, uint32_t number,
                      struct vs_text *out)
{
    const char *name = rpl_trace_string(trace, func);

    vs_text_addf(out, "%s%.*s:%" PRIu32, out->len ? " " : "", (int)strcspn(name, ":"), name,
                 number);
}

/* The line, and where its memory was read last. The caller frees it. */
static char *where_new(const struct rpl_trace *trace, const struct line *line)
{
    const struct vs_location *read = rpl_trace_location(trace, line->read_location);
    struct vs_text text = {NULL, 0, 0};

    add_where(trace, line->func, line->number, &text);
    if (read->line && read->line != line->number)
        add_where(trace, read->func, read->line, &text);
    return vs_text_take(&text);
}

static void add_bytes(struct vs_text *out, uint64_t bytes)
{
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_add(out, vs_bytes_text(bytes, buf));
}

/* ---- memory that no op reads ---- */

/*
 * What counts: alive at the peak, allocated before `before`, and read at no event from `from` on, except to be copied.
 * In a training step `from` is its beginning and `before` that of the step before it, because variables of the last
 * step live until they are bound again; what is never read counts if it was allocated before `phase`, where the phase
 * of the peak begins. In the set-up (from: 0) what was read before the peak counts if it is not freed before `until`.
 */
struct window {
    uint64_t before, from, phase, until;
};

/* The batch of the first step belongs to the set-up: what is loaded there is loaded once. */
static bool is_setup(const struct rpl_peak *peak)
{
    return peak->step < 0 || (peak->step == 0 && peak->phase == VS_PHASE_DATA);
}

static uint64_t phase_begin(const struct rpl_summary *sum)
{
    for (size_t i = 0; i < sum->step_count; i++)
        for (size_t k = 0; k < sum->steps[i].phase_count && sum->steps[i].step == sum->peak.step;
             k++)
            if (sum->steps[i].phases[k].phase == sum->peak.phase)
                return sum->steps[i].phases[k].first_seq;
    return 0;
}

static struct window window_of(const struct rpl_trace *trace, const struct rpl_summary *sum)
{
    const uint64_t peak = sum->peak.event;
    const uint64_t left = rpl_trace_event_count(trace) - peak;
    struct window window = {.before = peak, .phase = peak, .until = peak + left / 2};
    size_t i = 0;

    while (i < rpl_trace_step_count(trace) && rpl_trace_step(trace, i).step != sum->peak.step)
        i++;
    if (is_setup(&sum->peak) || i == rpl_trace_step_count(trace))
        return window;
    window.from = rpl_trace_step(trace, i).first_seq;
    window.before = i ? rpl_trace_step(trace, i - (sum->peak.step > 0)).first_seq : window.from;
    window.phase = phase_begin(sum);
    return window;
}

static bool is_unused(const struct life *life, const struct window *window, uint64_t peak)
{
    const uint64_t before = life->read ? window->before : window->phase;

    return life->made && life->made <= peak && life->made < before &&
           (!life->freed || life->freed > peak) &&
           (!life->read || life->read < window->from ||
            (!window->from && life->read < peak &&
             (!life->freed || life->freed > window->until))) &&
           life->category != VS_CAT_WORKSPACE && life->category != VS_CAT_GRADIENT &&
           life->category != VS_CAT_OPTIMIZER;
}

/* Counts the training step, if any, that allocated the block. *at: index of a step that is not after it. */
static void step_count(struct line *line, const struct rpl_trace *trace, uint64_t made, size_t *at)
{
    const size_t count = rpl_trace_step_count(trace);

    while (*at + 1 < count && rpl_trace_step(trace, *at + 1).first_seq <= made)
        ++*at;
    if (*at == count || rpl_trace_step(trace, *at).step < 0 ||
        rpl_trace_step(trace, *at).first_seq > made || (line->steps && line->step == *at))
        return;
    line->step = *at;
    line->steps++;
}

/* The first of them that says that memory grows; NULL: none does. */
static const struct rpl_mistake *leak_find(const struct rpl_mistakes *mistakes)
{
    static const char *const KINDS[] = {"leak", "history", "cycle"};

    for (size_t i = 0; i < mistakes->count; i++)
        for (size_t k = 0; k < sizeof(KINDS) / sizeof(KINDS[0]); k++)
            if (strcmp(mistakes->items[i].kind, KINDS[k]) == 0)
                return &mistakes->items[i];
    return NULL;
}

static void unused_find(struct rpl_mistakes *out, const struct rpl_trace *trace,
                        const struct rpl_summary *sum, const struct lives *lives)
{
    const struct window window = window_of(trace, sum);
    const bool is_before = is_setup(&sum->peak);
    struct lines lines = {.items = NULL};
    size_t step = 0;

    for (size_t i = 0; i < lives->count; i++) {
        const struct life *life = &lives->items[i];

        if (is_unused(life, &window, sum->peak.event)) {
            struct line *line =
                line_of(&lines, rpl_trace_location(trace, life->location), life->made);

            line->bytes += life->bytes;
            line->read_location = life->read_location;
            step_count(line, trace, life->made, &step);
        }
    }
    for (size_t i = 0; i < lines.count; i++) {
        const struct line *line = &lines.items[i];
        const struct rpl_mistake *leak = leak_find(out);
        struct vs_text text = {NULL, 0, 0};

        if (!line->number || line->bytes < UNUSED_BYTES ||
            line->bytes < sum->peak.allocated / UNUSED_SHARE)
            continue;
        add_bytes(&text, line->bytes);
        vs_text_add(&text,
                    is_before ? " of this line are alive at the peak, which is before the "
                                "training begins, and no op reads them from then on, except to copy"
                              : " of this line are alive at the peak, and no op reads them "
                                "since, except to copy");
        if (leak && line->steps >= GROWING_STEPS)
            vs_text_addf(&text,
                         "; %zu steps allocated them: they are probably what the %s of %.*s keeps",
                         line->steps, leak->kind, (int)strcspn(leak->where, " "), leak->where);
        rpl_mistake_add(out, is_before ? "spike" : "unused", line->bytes, where_new(trace, line),
                        vs_text_take(&text));
    }
    lines_release(&lines);
}

/* ---- memory in pieces ---- */

static void size_note(struct line *line, uint64_t size)
{
    for (size_t i = 0; i < line->size_count; i++)
        if (line->sizes[i] == size)
            return;
    if (line->size_count < SIZES_MAX)
        line->sizes[line->size_count++] = size;
}

/* The first line, in the order of the program, whose tensors come in many sizes and are freed again; NULL: none. */
static const struct line *varying_find(struct lines *lines, const struct rpl_trace *trace,
                                       const struct lives *lives)
{
    const struct line *first = NULL;

    for (size_t i = 0; i < lives->count; i++) {
        const struct life *life = &lives->items[i];

        if (life->made && life->freed && life->requested >= SIZE_BYTES &&
            life->category != VS_CAT_WORKSPACE && life->category != VS_CAT_PARAMETER)
            size_note(line_of(lines, rpl_trace_location(trace, life->location), life->made),
                      life->requested);
    }
    for (size_t i = 0; i < lines->count; i++)
        if (lines->items[i].number && lines->items[i].size_count >= SIZES_MIN &&
            (!first || lines->items[i].made < first->made))
            first = &lines->items[i];
    return first;
}

static void pieces_find(struct rpl_mistakes *out, const struct rpl_trace *trace,
                        const struct rpl_summary *sum, const struct lives *lives)
{
    const uint64_t reserved = sum->peak.reserved;
    const uint64_t spare = reserved > sum->peak.allocated ? reserved - sum->peak.allocated : 0;
    struct lines lines = {.items = NULL};
    struct vs_text text = {NULL, 0, 0};
    const struct line *line;

    if (spare < PIECES_BYTES || spare < reserved / PIECES_SHARE)
        return;
    line = varying_find(&lines, trace, lives);
    if (line) {
        vs_text_add(
            &text,
            "tensors of ever other sizes begin here, and blocks that were freed do not fit the "
            "next ones: ");
        add_bytes(&text, reserved);
        vs_text_add(&text, " are reserved where ");
        add_bytes(&text, sum->peak.allocated);
        vs_text_add(&text, " are allocated at most; one size for all, or "
                           "PYTORCH_ALLOC_CONF=expandable_segments:True, avoids it");
        rpl_mistake_add(out, "fragmentation", spare, where_new(trace, line), vs_text_take(&text));
    }
    lines_release(&lines);
}

/* ---- all ---- */

static int by_bytes(const void *x, const void *y)
{
    const struct rpl_mistake *a = x, *b = y;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return strcmp(a->where, b->where) ? strcmp(a->where, b->where) : strcmp(a->text, b->text);
}

/* Mistakes are looked for in a program that was observed. */
static bool has_mistakes(const struct rpl_trace *trace)
{
    return rpl_trace_is_imported(trace) && rpl_trace_meta(trace, "observed");
}

/* `lives`: of all events; released. */
static void find(struct rpl_mistakes *out, const struct rpl_trace *trace,
                 const struct rpl_summary *sum, struct lives *lives, bool is_read)
{
    recorded_read(out, trace);
    if (is_read && rpl_trace_has_uses(trace))
        unused_find(out, trace, sum, lives);
    if (is_read)
        pieces_find(out, trace, sum, lives);
    vs_free(lives->items);
    vs_table_release(&lives->by_block);
    if (out->count)
        qsort(out->items, out->count, sizeof(*out->items), by_bytes);
}

enum vs_status rpl_mistakes_fill(struct rpl_mistakes *out, struct rpl_trace *trace,
                                 const struct rpl_summary *sum, struct vs_error *err)
{
    struct lives lives = {.items = NULL};
    enum vs_status st;

    if (!has_mistakes(trace))
        return VS_OK;
    st = lives_read(&lives, trace, err);
    find(out, trace, sum, &lives, !st);
    return st;
}

/* Lives that are read together with the figures. */
struct reading {
    struct lives lives;
    const struct rpl_trace *trace;
};

static void note_each(void *user, uint64_t seq, const struct vs_event *event)
{
    struct reading *reading = user;

    note(&reading->lives, reading->trace, seq, event);
}

enum vs_status rpl_mistakes_find(struct rpl_mistakes *out, struct rpl_trace *trace,
                                 struct vs_error *err)
{
    struct reading reading = {.lives = {.items = NULL}, .trace = trace};
    struct rpl_summary sum = {.events = 0};
    enum vs_status st;

    if (!has_mistakes(trace))
        return VS_OK;
    st = rpl_summary_fill_each(&sum, trace, note_each, &reading, err);
    find(out, trace, &sum, &reading.lives, !st);
    rpl_summary_release(&sum);
    return st;
}

bool rpl_mistakes_leak(const struct rpl_mistakes *mistakes)
{
    return leak_find(mistakes) != NULL;
}

void rpl_mistakes_release(struct rpl_mistakes *mistakes)
{
    for (size_t i = 0; i < mistakes->count; i++) {
        vs_free(mistakes->items[i].kind);
        vs_free(mistakes->items[i].where);
        vs_free(mistakes->items[i].text);
    }
    vs_free(mistakes->items);
    memset(mistakes, 0, sizeof(*mistakes));
}

void rpl_mistakes_text(const struct rpl_mistakes *mistakes, struct vs_text *out)
{
    if (mistakes->count)
        vs_text_add(out, "\nLikely mistakes\n");
    for (size_t i = 0; i < mistakes->count; i++) {
        const struct rpl_mistake *mistake = &mistakes->items[i];

        vs_text_addf(out, "  %s  %s\n    ", mistake->where, mistake->kind);
        vs_text_add_words(out, mistake->text, strlen(mistake->text), 4, 4, WIDTH);
        vs_text_add_char(out, '\n');
    }
}

void rpl_mistakes_json(const struct rpl_mistakes *mistakes, struct vs_json *json)
{
    vs_json_key(json, "mistakes");
    vs_json_array(json);
    for (size_t i = 0; i < mistakes->count; i++) {
        const char *where = mistakes->items[i].where;
        struct vs_text one = {NULL, 0, 0};

        vs_json_object(json);
        vs_json_put_string(json, "kind", mistakes->items[i].kind);
        vs_json_put_uint(json, "bytes", mistakes->items[i].bytes);
        vs_json_key(json, "lines");
        vs_json_array_flat(json);
        while (*where) {
            const size_t len = strcspn(where, " ");

            vs_text_clear(&one);
            vs_text_add_n(&one, where, len);
            vs_json_string(json, vs_text_get(&one));
            where += len + (where[len] == ' ');
        }
        vs_json_end(json);
        vs_json_put_string(json, "text", mistakes->items[i].text);
        vs_json_end(json);
        vs_text_release(&one);
    }
    vs_json_end(json);
}

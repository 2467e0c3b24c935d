/*
 * export/export.c - see export.h.
 *
 * Must not know:  the contents of a format.
 * Invariant:      every format is one row of export.def.
 */
#include "export/export.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "export/formats.h"
#include "replay/index/timeline.h"

static const struct exp_format_info INFO[EXP_FORMAT_COUNT] = {
/* clang-format off */
#define EXP_FORMAT(id, name, ending, takes, write, text) [id] = {name, ending, text, takes},
#include "export/export.def"
#undef EXP_FORMAT
    /* clang-format on */
};

static exp_write_fn *const WRITE[EXP_FORMAT_COUNT] = {
/* clang-format off */
#define EXP_FORMAT(id, name, ending, takes, write, text) [id] = write,
#include "export/export.def"
#undef EXP_FORMAT
    /* clang-format on */
};

const struct exp_format_info *exp_format_info(enum exp_format format)
{
    VS_ASSERT(format < EXP_FORMAT_COUNT);
    return &INFO[format];
}

static enum vs_status unknown(const char *name, struct vs_error *err)
{
    unsigned best = vs_word_distance_limit(name) + 1;
    struct vs_text text = {NULL, 0, 0};
    const char *nearest = NULL;

    for (size_t i = 0; i < EXP_FORMAT_COUNT; i++) {
        unsigned distance = vs_word_distance(name, INFO[i].name);

        vs_text_addf(&text, "%s%s", i ? ", " : "", INFO[i].name);
        if (distance < best) {
            best = distance;
            nearest = INFO[i].name;
        }
    }
    if (nearest)
        vs_fail(err, VS_E_USAGE, "there is no format `%s`; did you mean `%s`?", name, nearest);
    else
        vs_fail(err, VS_E_USAGE, "there is no format `%s`; there are %s", name, vs_text_get(&text));
    vs_text_release(&text);
    return VS_E_USAGE;
}

enum vs_status exp_format_find(const char *name, enum exp_format *out, struct vs_error *err)
{
    for (size_t i = 0; i < EXP_FORMAT_COUNT; i++)
        if (strcmp(INFO[i].name, name) == 0) {
            *out = (enum exp_format)i;
            return VS_OK;
        }
    return unknown(name, err);
}

static enum vs_status step_top(struct rpl_index *index, int64_t number, uint64_t *seq,
                               struct vs_error *err)
{
    const struct rpl_trace *trace = rpl_index_trace(index);
    struct rpl_column column;

    for (size_t i = 0; i < rpl_trace_step_count(trace); i++) {
        struct rpl_step step = rpl_trace_step(trace, i);
        enum vs_status st;

        if (step.step != number)
            continue;
        st = rpl_timeline_range(index, step.first_seq, step.last_seq, &column, err);
        *seq = column.max_seq;
        return st;
    }
    return vs_fail(err, VS_E_VALUE, "the trace has no step %" PRId64, number);
}

enum vs_status exp_position_seq(struct rpl_index *index, const struct exp_position *position,
                                uint64_t *seq, struct vs_error *err)
{
    uint64_t count = rpl_index_event_count(index);

    *seq = 0;
    switch (position->when) {
    case EXP_AT_PEAK:
        *seq = rpl_index_top(index).event;
        break;
    case EXP_AT_END:
        *seq = count;
        break;
    case EXP_AT_EVENT:
        if (position->number < 0 || (uint64_t)position->number > count)
            return vs_fail(err, VS_E_VALUE,
                           "the trace has no event %" PRId64 "; its last is %" PRIu64,
                           position->number, count);
        *seq = (uint64_t)position->number;
        break;
    case EXP_AT_STEP:
        return step_top(index, position->number, seq, err);
    }
    return VS_OK;
}

enum vs_status exp_write(struct rpl_index *index, const struct exp_options *options, FILE *file,
                         struct vs_error *err)
{
    struct exp_out *out = exp_out_new(file);
    enum vs_status st;

    VS_ASSERT(options->format < EXP_FORMAT_COUNT);
    st = WRITE[options->format](index, options, out, err);
    if (!st) {
        st = exp_out_finish(out, err);
        if (st && options->to)
            vs_error_prefix(err, "%s", options->to);
    }
    exp_out_free(out);
    return st;
}

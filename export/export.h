/*
 * export/export.h - writes a trace in the formats of other tools.
 *
 * For:            `vramscope export`, the export key of the TUI.
 * Must not know:  arguments, names of files; nothing is printed but the export itself.
 * Invariant:      figures are exact: bytes, event numbers and addresses are written to their last digit. What is read
 *                 at a time does not grow with the trace.
 *
 * docs/formats/export.md says what each format holds. To add one: a row in export.def and its function.
 */
#ifndef EXP_EXPORT_H
#define EXP_EXPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/index/index.h"
#include "replay/index/timeline.h"

enum exp_format {
/* clang-format off */
#define EXP_FORMAT(id, name, ending, takes, write, text) id,
#include "export/export.def"
#undef EXP_FORMAT
    /* clang-format on */
    EXP_FORMAT_COUNT
};

/* Options that a format supports. */
enum exp_takes {
    EXP_TABLES = 1 << 0,   /* options.table */
    EXP_POSITION = 1 << 1, /* options.at */
    EXP_SECOND = 1 << 2,   /* options.second */
    EXP_BINARY = 1 << 3,   /* binary: not written to a terminal */
    EXP_WHATIFS = 1 << 4,  /* options.whatifs */
};

/* A row of export.def. takes: bits of enum exp_takes. */
struct exp_format_info {
    const char *name;
    const char *ending;
    const char *text;
    unsigned takes;
};
/* Never NULL; `format` < EXP_FORMAT_COUNT. */
const struct exp_format_info *exp_format_info(enum exp_format format);
/* The format called `name`. VS_E_USAGE: there is none; the text offers the nearest. */
VS_MUST_USE enum vs_status exp_format_find(const char *name, enum exp_format *out,
                                           struct vs_error *err);

enum exp_table { EXP_TABLE_EVENTS, EXP_TABLE_BLOCKS };

/* An event: number is that of the event, or of the step whose peak it is. */
enum exp_when { EXP_AT_PEAK, EXP_AT_END, EXP_AT_EVENT, EXP_AT_STEP };
struct exp_position {
    enum exp_when when;
    int64_t number;
};

/*
 * A what-if beside the run.
 *
 * label       "amp=bf16 checkpoint=blocks"
 * costs       what it costs in words, "" for nothing; note: why it changes nothing, NULL: it does or that is not known
 * is_same     losses and gradients are bitwise the same
 * arithmetic  per step, as a multiple of that of the run
 * columns     `count` columns that cover all its events, at most EXP_WHATIF_COLUMNS of them
 *
 * Exports borrow everything in it.
 */
#define EXP_WHATIF_COLUMNS 512
struct exp_whatif {
    char *label;
    const char *costs;
    char *note;
    uint64_t peak;
    uint64_t reserved;
    bool is_same;
    double arithmetic;
    struct rpl_column *columns;
    size_t count;
};

/*
 * Zero-initialised: the defaults.
 *
 * name        name of the trace, for titles; NULL: that of its net
 * to          name of the output, for messages; NULL: none
 * is_alone    export only the selected device of a trace with several; else all, if the format supports it
 * second      index of another run to draw with it, borrowed; NULL: none. second_name: its name
 * whatifs     whatif_count of them, borrowed
 */
struct exp_options {
    enum exp_format format;
    enum exp_table table;
    struct exp_position at;
    const char *name;
    const char *to;
    bool is_alone;
    struct rpl_index *second;
    const char *second_name;
    const struct exp_whatif *whatifs;
    size_t whatif_count;
};

/*
 * Write the trace of `index` to `out`, which is flushed and stays open.
 *
 * VS_E_IO: it cannot be written. VS_E_VALUE: the trace has no such event. VS_E_UNSUPPORTED: the format cannot represent
 * this trace. Others: those of reading the trace. After a failure the output is incomplete.
 */
VS_MUST_USE enum vs_status exp_write(struct rpl_index *index, const struct exp_options *options,
                                     FILE *out, struct vs_error *err);

/* The event number of `position`. VS_E_VALUE: the trace has no such event or step. */
VS_MUST_USE enum vs_status exp_position_seq(struct rpl_index *index,
                                            const struct exp_position *position, uint64_t *seq,
                                            struct vs_error *err);

#endif

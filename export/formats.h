/*
 * export/formats.h - the functions that write the formats.
 *
 * For:            export.c.
 * Must not know:  each other.
 * Invariant:      a function returns VS_OK even if writing to `out` failed; exp_out_finish reports that.
 */
#ifndef EXP_FORMATS_H
#define EXP_FORMATS_H

#include "export/export.h"
#include "export/out.h"

typedef enum vs_status exp_write_fn(struct rpl_index *index, const struct exp_options *options,
                                    struct exp_out *out, struct vs_error *err);

/* clang-format off */
#define EXP_FORMAT(id, name, ending, takes, write, text) exp_write_fn write;
#include "export/export.def"
#undef EXP_FORMAT
/* clang-format on */

#endif

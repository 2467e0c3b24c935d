/*
 * export/formats.h - what writes each format; all are called by export.c.
 *
 * For:            export.c.
 * Must not know:  each other.
 * Invariant:      each returns VS_OK also where writing failed: exp_out_finish says so.
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

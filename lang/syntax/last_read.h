/*
 * lang/syntax/last_read.h - the statement in which a function reads a local variable for the last time.
 *
 * For:            advice where to put a `del`.
 * Must not know:  values, what runs.
 * Invariant:      decided by the text alone: whether the line can be added without an error, a run has to show.
 */
#ifndef LANG_LAST_READ_H
#define LANG_LAST_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "lang/syntax/ast.h"

/*
 * A statement that is alone on its lines. first_line: where it begins, at column `col` (from 1); last_line: where it
 * ends, with all that is in it.
 */
struct lang_last_read {
    uint32_t first_line;
    uint32_t last_line;
    uint32_t col;
};

/*
 * The statement after which nothing in the function reads the value that local variable `name` got on line
 * `bound_line`; for a parameter that no statement of that line binds, the argument. Only statements before the next one
 * that binds the name count. A statement in a loop that does not bind the variable itself stands for the whole loop.
 *
 * qualname   of the function, as "Net.forward"
 * outermost  the statement of the block that binds the variable, instead of one within it
 *
 * False: there is no such function or variable; a nested function reads it, too; or no line can be added there: the
 * last read is in the statement that binds the name again, in a `return` or `raise`, or ends the function.
 */
VS_MUST_USE bool lang_last_read(const struct lang_module *module, const char *qualname,
                                const char *name, uint32_t bound_line, bool outermost,
                                struct lang_last_read *out);

#endif

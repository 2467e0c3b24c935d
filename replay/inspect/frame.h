/*
 * replay/inspect/frame.h - the variables of the net's functions at the cursor, and what each of them holds.
 *
 * For:            the source view's table of variables.
 * Must not know:  drawing.
 * Invariant:      a name is listed that took hold of a tensor and has not let go, and no other.
 */
#ifndef RPL_FRAME_H
#define RPL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/index/cursor.h"

/*
 * name      string id
 * kind      VS_HOLD_LOCAL, VS_HOLD_ARGS, VS_HOLD_ATTR or VS_HOLD_ITEM
 * tensor    0 where it is not known; rpl_shape_text() has its shape
 * block     0: on the host
 * bytes     of the block; several names of one block have the same
 * sharers   how many holders the block has in all, this one included, autograd's too
 * since_seq, place   when and where the name was bound
 */
struct rpl_variable {
    uint32_t name;
    enum vs_holder kind;
    uint32_t tensor;
    uint64_t block;
    uint64_t bytes;
    uint32_t sharers;
    uint64_t since_seq;
    uint32_t location;
};

/*
 * A function that runs, or an object that has attributes.
 * scope       string id of its name ("Net.forward"); 0 for what has none
 * variables   count of them, in order of since_seq
 * bytes       of the distinct blocks they hold
 * is_function locals and arguments of a function; else attributes and items of an object
 * is_current  the function that the cursor's event is in
 */
struct rpl_frame {
    uint32_t scope;
    struct rpl_variable *variables;
    size_t count;
    size_t cap;
    uint64_t bytes;
    bool is_function;
    bool is_current;
};

/* frames: count of them; the current function first, then those of functions (locals, arguments) by who bound last, then objects. */
struct rpl_frames {
    struct rpl_frame *frames;
    size_t count;
    size_t cap;
};

/* Fill from the cursor; `out` is zeroed or filled before. O(holders). The caller releases it. */
void rpl_frames_fill(struct rpl_frames *out, const struct rpl_cursor *cursor);
void rpl_frames_release(struct rpl_frames *frames);

#endif

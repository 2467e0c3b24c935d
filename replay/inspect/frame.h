/*
 * replay/inspect/frame.h - the variables of the net's running functions and objects at the cursor, and the tensors
 * they hold.
 *
 * For:            the source view's table of variables.
 * Must not know:  drawing.
 * Invariant:      exactly the variables are listed that hold a reference to a tensor after the cursor's event.
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
 * A variable that holds a tensor.
 *
 * name      string id
 * kind      VS_HOLD_LOCAL, VS_HOLD_ARGS, VS_HOLD_ATTR or VS_HOLD_ITEM
 * tensor    tensor id; 0: not known. rpl_shape_text() describes its shape
 * block     block id; 0: the tensor is in host memory
 * bytes     of the block, repeated for each variable that holds it
 * sharers   number of all holders of the block, including this one and autograd's
 * since_seq, location   event and source location at which the variable was bound
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
 * A running function, or an object with attributes.
 *
 * scope        string id of its name ("Net.forward"); 0: it has none
 * variables    its `count` variables, in order of since_seq
 * bytes        of the distinct blocks that they hold
 * is_function  true: locals and arguments of a function; false: attributes and items of an object
 * is_current   whether the cursor's event is in this function
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

/*
 * The frames: the current function first, then the other functions, the one with the latest binding first, then
 * objects.
 */
struct rpl_frames {
    struct rpl_frame *frames;
    size_t count;
    size_t cap;
};

/* Fill `out`, which is zero or was filled before, with the frames at the cursor. The caller releases it. O(holders). */
void rpl_frames_fill(struct rpl_frames *out, const struct rpl_cursor *cursor);
void rpl_frames_release(struct rpl_frames *frames);

#endif

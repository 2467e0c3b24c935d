/*
 * lang/torch/buckets.h - lists of tensors taken apart by what kind of tensor they have at each place.
 *
 * For:            lang/prelude/optim.py, as torch._deal; an optimizer does so with thousands of tensors a step.
 * Must not know:  optimizers.
 * Invariant:      the events are those that appending each item would emit.
 */
#ifndef LANG_BUCKETS_H
#define LANG_BUCKETS_H

#include "lang/interp/call.h"

/*
 * torch._deal(lists, i, bucket): the items of all lists at place i, and at those behind it whose tensor in the first
 * list has the same device and dtype, become items of the bucket's lists; the places go into its last one. Lists
 * without items stay without. Returns the next place.
 */
VS_MUST_USE bool lang_native_deal(struct lang_vm *vm, const struct lang_call *call,
                                  struct lang_value *out);

#endif

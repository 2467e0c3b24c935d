/*
 * lang/torch/buckets.h - groups the items of lists of tensors by device and dtype.
 *
 * For:            lang/prelude/optim.py, as torch._deal; an optimizer groups thousands of tensors per step.
 * Must not know:  optimizers.
 * Invariant:      the events are the same as if each item were appended in Python.
 */
#ifndef LANG_BUCKETS_H
#define LANG_BUCKETS_H

#include "lang/interp/call.h"

/*
 * torch._deal(lists, i, bucket): takes index i and the directly following indices whose tensor in the first list has
 * the same device and dtype; appends the items of each list at these indices to the corresponding list of `bucket`,
 * and the indices to the last list of `bucket`. Empty lists are skipped. Returns the first index that was not taken.
 */
VS_MUST_USE bool lang_native_deal(struct lang_vm *vm, const struct lang_call *call,
                                  struct lang_value *out);

#endif

/*
 * lang/torch/sharding.h - functions for fsdp.py, pipeline.py, dtensor.py and others of lang/prelude: calls before and
 * after parts of a backward, backwards from tensors that are gone, sizes of the tables that PyTorch's kernels over
 * lists of tensors take.
 *
 * For:            lang/torch/prelude_functions.c.
 * Must not know:  units, processes.
 * Invariant:      a function given to backward is released when its node, or that backward, is gone.
 */
#ifndef LANG_SHARDING_H
#define LANG_SHARDING_H

#include "lang/value/vm.h"

/* torch._apart(t): eng_alias_apart */
bool lang_native_apart(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out);
/* torch._edge(t): eng_gradient_edge of a result */
bool lang_native_edge(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out);
/* torch._empty_strided(size, stride, dtype): on the device */
bool lang_native_empty_strided(struct lang_vm *vm, const struct lang_call *call,
                               struct lang_value *out);
/* torch._resize(t, size): eng_resize */
bool lang_native_resize(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out);
/* torch._set_shares(bias, n): addmm adds one of n equal parts of it, which exists while it runs. */
bool lang_native_set_shares(struct lang_vm *vm, const struct lang_call *call,
                            struct lang_value *out);
/* torch._shares(t): what _set_shares has set; 0 at first */
bool lang_native_shares(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out);
/* torch._set_pending(t, input or None): eng_set_pending */
bool lang_native_set_pending(struct lang_vm *vm, const struct lang_call *call,
                             struct lang_value *out);
/* torch._set_dtensor(t): t is what this process has of a DTensor: is_dtensor of its node, if it has one (graph.h) */
bool lang_native_set_dtensor(struct lang_vm *vm, const struct lang_call *call,
                             struct lang_value *out);
/*
 * torch._set_whole_grad(leaf): it is a part of a parameter, and its gradients are those of the whole one, whose shape
 * they have. Only a custom function may give them, in the dtype that the leaf asks for.
 */
bool lang_native_set_whole_grad(struct lang_vm *vm, const struct lang_call *call,
                                struct lang_value *out);
/* torch._set_grad_dtype(leaf, dtype or None): eng_set_grad_dtype */
bool lang_native_set_grad_dtype(struct lang_vm *vm, const struct lang_call *call,
                                struct lang_value *out);
/* torch._grad_dtype(leaf, grad): eng_grad_dtype */
bool lang_native_grad_dtype(struct lang_vm *vm, const struct lang_call *call,
                            struct lang_value *out);
/* torch._before_backward_of(t, f): calls f() whenever a backward reaches the node that made t, before the node runs. */
bool lang_native_before_backward_of(struct lang_vm *vm, const struct lang_call *call,
                                    struct lang_value *out);
/* torch._after_backward(f): calls f() at the end of the running backward. */
bool lang_native_after_backward(struct lang_vm *vm, const struct lang_call *call,
                                struct lang_value *out);
/* torch._is_in_backward(): whether a backward runs now. */
bool lang_native_is_in_backward(struct lang_vm *vm, const struct lang_call *call,
                                struct lang_value *out);
/* torch._has_target(): whether the memory of libraries is part of the trace. */
bool lang_native_has_target(struct lang_vm *vm, const struct lang_call *call,
                            struct lang_value *out);
/*
 * torch._packed_pointers(sizes, element_size, rows, kind): how many 64-bit numbers PyTorch 2.15 packs for one kernel
 * over a list of tensors. sizes: the elements of each tensor in one of `rows` rows; element_size: in bytes. kind:
 * "split" of split_with_sizes_copy, "chunk_cat" of _chunk_cat, "chunk_cat_mixed" of fsdp::chunk_cat_mixed_dtype where
 * tensors have two dtypes: as _chunk_cat's, but its two lists of running sums end before the total. Fails with
 * VS_E_TYPE where a size in bytes has more than 64 bits.
 */
bool lang_native_packed_pointers(struct lang_vm *vm, const struct lang_call *call,
                                 struct lang_value *out);

#endif

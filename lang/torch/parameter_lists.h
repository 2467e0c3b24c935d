/*
 * lang/torch/parameter_lists.h - functions for fsdp.py that do for all parameters of a unit what Python would do in a
 * loop, in the order of the lists. (A unit of GPT-2 XL has twelve parameters, and each is touched in every phase.)
 *
 * For:            lang/torch/prelude_functions.c.
 * Must not know:  units, processes.
 * Invariant:      lists that are passed are borrowed and stay as they are; the loops emit no hold events of their own.
 *
 * All fail with VS_E_TYPE where an argument is none of those named here. Where one fails, its effects on earlier items
 * remain.
 */
#ifndef LANG_PARAMETER_LISTS_H
#define LANG_PARAMETER_LISTS_H

#include "lang/value/vm.h"

/*
 * torch._free_storages(tensors), torch._alloc_storages(tensors): eng_free_storage, eng_alloc_storage of each. The
 * second fails where the device is out of memory.
 */
bool lang_native_free_storages(struct lang_vm *vm, const struct lang_call *call,
                               struct lang_value *out);
bool lang_native_alloc_storages(struct lang_vm *vm, const struct lang_call *call,
                                struct lang_value *out);
/*
 * torch._set_attributes(slots, values): setattr(object, name, values[i]) for each (object, name) of the list slots[i].
 * Fails as setattr() does.
 */
bool lang_native_set_attributes(struct lang_vm *vm, const struct lang_call *call,
                                struct lang_value *out);
/*
 * torch._take_gradients(leaves): the pair of two new lists: the gradients, and the indices in `leaves` of the leaves
 * that had one. These leaves have none afterwards.
 */
bool lang_native_take_gradients(struct lang_vm *vm, const struct lang_call *call,
                                struct lang_value *out);
/* torch._are_dense(tensors): whether each is a permutation of a row-major one */
bool lang_native_are_dense(struct lang_vm *vm, const struct lang_call *call,
                           struct lang_value *out);
/*
 * torch._split_gradients(flat, leaves, indices, sizes, to_host): for each i of `indices` the next sizes[i] elements of
 * `flat`, as_strided to the shape and strides of leaves[i] (which may need fewer of them) and, if to_host, copied to
 * the host, become leaves[i].grad, or are added to it. `sizes` has one number for each of `leaves`. Fails as an
 * assignment to .grad does. Under no_grad.
 */
bool lang_native_split_gradients(struct lang_vm *vm, const struct lang_call *call,
                                 struct lang_value *out);

#endif

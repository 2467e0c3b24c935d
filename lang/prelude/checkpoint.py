# lang/prelude/checkpoint.py - torch.utils.checkpoint: both forms of activation checkpointing.
#
# For:       net files, toggles.py.
# Invariant: a checkpointed call holds the same objects for as long as PyTorch's. The reentrant form is an
#            autograd.Function whose backward holds the saved inputs, the recomputed outputs and the incoming gradients
#            until it returns; the non-reentrant form is native (engine/autograd/checkpoint.h).
import torch


def _detach_all(inputs):
    out = []
    for inp in inputs:
        if not isinstance(inp, torch.Tensor):
            out.append(inp)
            continue
        x = inp.detach()
        x.requires_grad = inp.requires_grad
        out.append(x)
    return tuple(out)


class CheckpointFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        if not any([a.requires_grad for a in args if isinstance(a, torch.Tensor)]):
            torch._warn_of("reentrant_no_gradient",
                           "None of the inputs have requires_grad=True. Gradients will be None")
        ctx._is_checkpoint = True  # what it saves is kept for the recomputation, not for a formula
        ctx.run_function = run_function
        ctx.preserve_rng_state = preserve_rng_state
        ctx.autocast = (torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda"),
                        torch.is_autocast_cache_enabled())
        if preserve_rng_state:
            ctx.rng_state = torch._rng_get()
        ctx.inputs = []
        ctx.tensor_indices = []
        tensor_inputs = []
        for i, arg in enumerate(args):
            if isinstance(arg, torch.Tensor):
                tensor_inputs.append(arg)
                ctx.tensor_indices.append(i)
                ctx.inputs.append(None)
            else:
                ctx.inputs.append(arg)
        ctx.save_for_backward(*tensor_inputs)
        before = None if preserve_rng_state else torch._rng_get()
        with torch.no_grad():
            outputs = run_function(*args)
        if before is not None:
            _warn_of_rng(before)
        return outputs

    @staticmethod
    def backward(ctx, *args):
        if not torch._checkpoint_is_valid():
            raise RuntimeError("When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                               "passing an `inputs` parameter to .backward(). To resolve this error, you can either "
                               "set use_reentrant=False, or call .backward() without passing the `inputs` argument.")
        inputs = list(ctx.inputs)
        tensor_indices = ctx.tensor_indices
        tensors = ctx.saved_tensors
        for i, idx in enumerate(tensor_indices):
            inputs[idx] = tensors[i]
        if ctx.preserve_rng_state:
            surrounding = torch._rng_get()
            torch._rng_set(ctx.rng_state)
        detached_inputs = _detach_all(tuple(inputs))
        enabled, dtype, cache_enabled = ctx.autocast
        torch._recompute_begin(ctx.run_function)
        with torch.enable_grad(), torch.autocast("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled):
            outputs = ctx.run_function(*detached_inputs)
        torch._recompute_end(ctx.run_function)
        if ctx.preserve_rng_state:
            torch._rng_set(surrounding)
        if isinstance(outputs, torch.Tensor):
            outputs = (outputs,)
        outputs_with_grad = []
        args_with_grad = []
        for i in range(len(outputs)):
            if isinstance(outputs[i], torch.Tensor) and outputs[i].requires_grad:
                outputs_with_grad.append(outputs[i])
                args_with_grad.append(args[i])
        if len(outputs_with_grad) == 0:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        torch.autograd.backward(outputs_with_grad, args_with_grad)
        grads = tuple([inp.grad if isinstance(inp, torch.Tensor) else None for inp in detached_inputs])
        return (None, None) + grads


def _warn_of_rng(before):
    if torch._rng_moved(before):
        torch._warn_of("rng_not_kept", "a checkpointed function draws random numbers with preserve_rng_state=False: "
                       "its recomputation draws others, so gradients belong to another forward")


def _refuse_options(debug, determinism_check):
    if debug:
        raise NotImplementedError("checkpoint: debug=True is not supported here; leave it out")
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")


def _selective_of(context_fn, respect_saved_tensors_hooks):
    contexts = context_fn()
    if not isinstance(contexts, tuple) or len(contexts) != 2 or not isinstance(contexts[0], _SelectiveMode):
        raise NotImplementedError("checkpoint: context_fn: here it must return what "
                                  "create_selective_checkpoint_contexts returns")
    if respect_saved_tensors_hooks:
        raise NotImplementedError("checkpoint: respect_saved_tensors_hooks=True is not supported here; leave it out")
    return contexts[0].choice


def _default_reentrant(name, later):
    torch._warn(f"{name}: the use_reentrant parameter should be passed explicitly. In a future release, {later} "
                "use_reentrant=False is recommended, but if you need to preserve the current default behavior, you can "
                "pass use_reentrant=True. Refer to docs for more details on the differences between the two variants.")
    return True


def checkpoint(function, *args, use_reentrant=None, preserve_rng_state=True, context_fn=None,
               determinism_check="default", debug=False, early_stop=True, respect_saved_tensors_hooks=None, **kwargs):
    _refuse_options(debug, determinism_check)
    if use_reentrant is None:
        use_reentrant = _default_reentrant("torch.utils.checkpoint",
                                           "calling checkpoint without use_reentrant will raise an exception.")
    if use_reentrant:
        if len(kwargs) > 0:
            raise ValueError("Unexpected keyword arguments: " + ",".join([name for name in kwargs]))
        if context_fn is not None:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if not torch.is_grad_enabled():
        return function(*args, **kwargs)
    selective = None if context_fn is None else _selective_of(context_fn, respect_saved_tensors_hooks)
    if preserve_rng_state:
        return torch._checkpoint_run(function, args, kwargs, preserve_rng_state, early_stop, selective)
    before = torch._rng_get()
    result = torch._checkpoint_run(function, args, kwargs, preserve_rng_state, early_stop, selective)
    _warn_of_rng(before)
    return result


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    if use_reentrant is None:
        use_reentrant = _default_reentrant("torch.utils.checkpoint.checkpoint_sequential",
                                           "we will raise an exception if use_reentrant is not passed.")
    preserve = kwargs.pop("preserve_rng_state", True)
    if len(kwargs) > 0:
        raise ValueError("Unexpected keyword arguments: " + ",".join([name for name in kwargs]))

    def run_function(start, end, functions):
        def forward(input):
            for j in range(start, end + 1):
                input = functions[j](input)
            return input

        return forward

    if isinstance(functions, torch.nn.Sequential):
        functions = list(functions.children())
    segment_size = len(functions) // segments
    # the last segment gets the remaining functions and is not checkpointed
    end = -1
    if segments < 2 and torch.is_grad_enabled():
        torch._warn_of("one_segment", "checkpoint_sequential with one segment checkpoints nothing: the last segment "
                       "always runs without a checkpoint")
    for start in range(0, segment_size * (segments - 1), segment_size):
        end = start + segment_size - 1
        input = checkpoint(run_function(start, end, functions), input, use_reentrant=use_reentrant,
                           preserve_rng_state=preserve)
    return run_function(end + 1, len(functions) - 1, functions)(input)

# lang/prelude/selective.py - torch.utils.checkpoint: which ops a checkpoint saves instead of running them again; and
# torch.ops.aten, whose names say it.
#
# For:       net files, checkpoint.py, toggles.py.
# Invariant: an op is one object for each of its names, so that `op in ops_to_save` holds as in PyTorch. What is kept,
#            and until when, is native (engine/autograd/selective.h).
import torch


class _OpOverload:
    def __init__(self, name):
        self._name = name

    def __str__(self):
        return "aten." + self._name

    def __repr__(self):
        return "<OpOverload(op='aten." + self._name.replace(".", "', overload='") + "')>"


class _OpOverloadPacket:
    # torch.ops.aten.mm: its attributes are the overloads
    def __init__(self, name):
        self._name = name

    def __getattr__(self, overload):
        name = self._name + "." + overload
        if not torch._aten_known(name):
            raise AttributeError(f"The underlying op of 'aten.{self._name}' has no overload name '{overload}', or is "
                                 "not one of those that nets run here")
        return _overload_of(name)

    def __str__(self):
        return "aten." + self._name


class _Aten:
    def __getattr__(self, name):
        return _OpOverloadPacket(name)


_overloads = {}


def _overload_of(name):
    if name not in _overloads:
        _overloads[name] = _OpOverload(name)
    return _overloads[name]


torch.ops.aten = _Aten()


class CheckpointPolicy:
    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    def __init__(self, is_recompute, op_output=None):
        self.is_recompute = is_recompute
        self.op_output = op_output


class _SelectiveMode:
    def __init__(self, choice):
        self.choice = choice


def _asked(policy_fn):
    def is_saved(name, output, args):
        policy = policy_fn(SelectiveCheckpointContext(is_recompute=False, op_output=output), _overload_of(name), *args)
        if policy is True or policy is False:
            return policy
        # as in PyTorch, what asks for an offload to the host is run again
        return policy in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)

    return is_saved


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, _OpOverload):
                more = ""
                if isinstance(op, _OpOverloadPacket):
                    more = (" Please update the OpOverloadPacket to a specific OpOverload. For example, if you have "
                            "`torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`.")
                raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of type "
                                 f"{type(op).__name__}.{more}")
        policy = tuple([op._name for op in policy_fn_or_list])
    elif callable(policy_fn_or_list):
        policy = _asked(policy_fn_or_list)
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    choice = torch._selective_new(policy, allow_cache_entry_mutation)
    return (_SelectiveMode(choice), _SelectiveMode(choice))


# Of the ops that nets here run, those that PyTorch's own advice on selective checkpointing calls compute-intensive.
_COMPUTE_INTENSIVE = ("mm.default", "addmm.default", "bmm.default", "baddbmm.default", "convolution.default",
                      "_scaled_dot_product_flash_attention.default",
                      "_scaled_dot_product_efficient_attention.default", "upsample_bilinear2d.default")


def _save_compute_intensive():
    # the context_fn of the toggle checkpoint=selective
    return create_selective_checkpoint_contexts([_overload_of(name) for name in _COMPUTE_INTENSIVE])

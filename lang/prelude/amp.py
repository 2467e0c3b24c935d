# lang/prelude/amp.py - torch.amp: GradScaler (autocast is native).
#
# For:       net files and the built-in loop.
# Invariant: the scaler's small device tensors are created, copied and freed where PyTorch's are: scale and growth
#            tracker at the first scale(); per step the two double temporaries of the reciprocal, the inverse scale and
#            the flag, each with a copy for the device. The flag's copy lives until update().
#
# The factor is also kept as a number on the host, so that the events are the same without data.
import torch


class _MultiDeviceReplicator:
    # As PyTorch's: returns a copy of a scalar for each device; it copies even if there is only one device.
    def __init__(self, master_tensor):
        self.master = master_tensor
        self._per_device_tensors = {}

    def get(self, device):
        retval = self._per_device_tensors.get(device)
        if retval is None:
            retval = self.master.to(device=device, non_blocking=True, copy=True)
            self._per_device_tensors[device] = retval
        return retval


class GradScaler:
    _shards = 1  # processes that gradients are sharded among: DTensor's handler asks them all

    def __init__(self, device="cuda", init_scale=2.0 ** 16, growth_factor=2.0, backoff_factor=0.5,
                 growth_interval=2000, enabled=True):
        self._enabled = enabled
        if not enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale = None
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = None
        self._per_optimizer_states = {}
        self._known_scale = init_scale
        self._known_tracker = 0

    def _check_made(self, funcname):
        if self._scale is None:
            raise AssertionError(f"Attempted {funcname} but _scale is None.  This may indicate your script did not use "
                                 "scaler.scale(loss or outputs) earlier in the iteration.")

    def _state_of(self, optimizer):
        if optimizer not in self._per_optimizer_states:
            self._per_optimizer_states[optimizer] = {"stage": "ready", "found_inf_per_device": {}}
        return self._per_optimizer_states[optimizer]

    def _make(self, device):
        self._scale = torch.full((), self._init_scale, dtype=torch.float32, device=device)
        self._growth_tracker = torch.full((), 0, dtype=torch.int32, device=device)

    def scale(self, outputs):
        if not self._enabled:
            return outputs
        torch._part_begin("scale")
        if isinstance(outputs, torch.Tensor):
            if self._scale is None:
                self._make(outputs.device)
            scale = self._scale
            return outputs * scale.to(device=outputs.device, non_blocking=True)
        # apply_scale refers to itself, so it is in a cycle with the copy in stash: both outlive the call, as in PyTorch
        stash = []

        def apply_scale(val):
            if isinstance(val, torch.Tensor):
                if len(stash) == 0:
                    if self._scale is None:
                        self._make(val.device)
                    stash.append(_MultiDeviceReplicator(self._scale))
                return val * stash[0].get(val.device)
            if isinstance(val, tuple):
                return tuple([apply_scale(v) for v in val])
            if isinstance(val, list):
                return [apply_scale(v) for v in val]
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")

        return apply_scale(outputs)

    def _unscale_grads_(self, optimizer, inv_scale, found_inf):
        per_device_inv_scale = _MultiDeviceReplicator(inv_scale)
        per_device_found_inf = _MultiDeviceReplicator(found_inf)
        per_dtype_grads = {}
        with torch.no_grad():
            for group in optimizer.param_groups:
                for param in group["params"]:
                    if param.grad is None:
                        continue
                    if param.grad.dtype == torch.float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    to_unscale = param.grad
                    per_dtype_grads.setdefault(to_unscale.dtype, []).append(to_unscale)
            for grads in per_dtype_grads.values():
                torch._amp_foreach_non_finite_check_and_unscale_(
                    grads, per_device_found_inf.get(found_inf.device),
                    per_device_inv_scale.get(found_inf.device))
                if self._shards > 1:
                    target = per_device_found_inf.get(found_inf.device)
                    target.copy_(target.clone())
                    torch._collective("ncclAllReduce", 4, 2 * 4 * (self._shards - 1) // self._shards)
                    torch._all_reduce(target)
        return per_device_found_inf._per_device_tensors

    def unscale_(self, optimizer):
        if not self._enabled:
            return
        self._check_made("unscale_")
        optimizer_state = self._state_of(optimizer)
        if optimizer_state["stage"] == "unscaled":
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if optimizer_state["stage"] == "stepped":
            raise RuntimeError("unscale_() is being called after step().")
        inv_scale = self._scale.double().reciprocal().float()
        found_inf = torch.full((), 0.0, dtype=torch.float32, device=self._scale.device)
        optimizer_state["found_inf_per_device"] = self._unscale_grads_(optimizer, inv_scale, found_inf)
        optimizer_state["stage"] = "unscaled"

    def step(self, optimizer, *args, **kwargs):
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_made("step")
        is_part = torch._part_begin("optimizer")
        optimizer_state = self._state_of(optimizer)
        if optimizer_state["stage"] == "stepped":
            raise RuntimeError("step() has already been called since the last update().")
        retval = None
        if optimizer_state["stage"] == "ready":
            self.unscale_(optimizer)
        if len(optimizer_state["found_inf_per_device"]) == 0:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        found = sum([torch._found_inf(v) for v in optimizer_state["found_inf_per_device"].values()])
        optimizer_state["found"] = found
        if found:
            torch._event_skip()
        else:
            retval = optimizer.step(*args, **kwargs)
        optimizer_state["stage"] = "stepped"
        torch._part_end(is_part)
        return retval

    def update(self, new_scale=None):
        if not self._enabled:
            return
        self._check_made("update")
        is_part = torch._part_begin("optimizer")
        before = self._known_scale
        if new_scale is not None:
            if isinstance(new_scale, torch.Tensor):
                self._scale.copy_(new_scale)
                self._known_scale = new_scale.item()
            else:
                self._scale.fill_(new_scale)
                self._known_scale = new_scale
        else:
            self._update_from_flags()
        if self._known_scale != before:
            torch._event_scale(self._known_scale, before)
        self._per_optimizer_states = {}
        torch._part_end(is_part)

    def _update_from_flags(self):
        _scale = self._scale
        found_infs = [found_inf.to(device=_scale.device, non_blocking=True)
                      for state in self._per_optimizer_states.values()
                      for found_inf in state["found_inf_per_device"].values()]
        if len(found_infs) == 0:
            raise AssertionError("No inf checks were recorded prior to update.")
        found_inf_combined = found_infs[0]
        for i in range(1, len(found_infs)):
            found_inf_combined += found_infs[i]
        torch._amp_update_scale_(_scale, self._growth_tracker, found_inf_combined, self._growth_factor,
                                 self._backoff_factor, self._growth_interval)
        if any([self._found(state) for state in self._per_optimizer_states.values()]):
            self._known_scale = self._known_scale * self._backoff_factor
            self._known_tracker = 0
        else:
            self._known_tracker = self._known_tracker + 1
            if self._known_tracker == self._growth_interval:
                self._known_scale = self._known_scale * self._growth_factor
                self._known_tracker = 0

    def _found(self, state):
        # unscale_() without step(): the flag has not been read yet
        if "found" in state:
            return state["found"]
        return sum([torch._found_inf(v) for v in state["found_inf_per_device"].values()])

    def get_scale(self):
        return self._known_scale if self._enabled else 1.0

    def is_enabled(self):
        return self._enabled

    def get_growth_factor(self):
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        self._growth_interval = new_interval


class _NoScaler:
    # what the built-in loop calls where there is no fp16
    def scale(self, outputs):
        return outputs

    def unscale_(self, optimizer):
        return None

    def step(self, optimizer):
        return optimizer.step()

    def update(self, new_scale=None):
        return None

    def get_scale(self):
        return 1.0

    def is_enabled(self):
        return False


# ---- custom functions under autocast ----


def _cast(value, device_type, dtype):
    if isinstance(value, torch.Tensor):
        is_eligible = value.is_floating_point() and value.device.type == device_type and value.dtype != torch.float64
        return value.to(dtype) if is_eligible else value
    if isinstance(value, dict):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        iterable = map(lambda v: _cast(v, device_type, dtype), value)
        return list(iterable) if isinstance(value, list) else tuple(iterable)
    return value


def _expect_device(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type).__name__}`")


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    _expect_device(device_type)
    if fwd is None:
        return lambda fwd: custom_fwd(fwd, device_type=device_type, cast_inputs=cast_inputs)

    def decorate_fwd(*args, **kwargs):
        args[0]._dtype = torch.get_autocast_dtype(device_type)
        if cast_inputs is None:
            args[0]._fwd_used_autocast = torch.is_autocast_enabled(device_type)
            return fwd(*args, **kwargs)
        autocast_context = torch.is_autocast_enabled(device_type)
        args[0]._fwd_used_autocast = False
        if autocast_context:
            with autocast(device_type=device_type, enabled=False):
                return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))
        return fwd(*args, **kwargs)

    return decorate_fwd


def custom_bwd(bwd=None, *, device_type):
    _expect_device(device_type)
    if bwd is None:
        return lambda bwd: custom_bwd(bwd, device_type=device_type)

    def decorate_bwd(*args, **kwargs):
        with autocast(device_type=device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorate_bwd


def _old_custom_fwd(fwd=None, *, cast_inputs=None):
    torch._warn("`torch.cuda.amp.custom_fwd(args...)` is deprecated. "
                "Please use `torch.amp.custom_fwd(args..., device_type='cuda')` instead.")
    return custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def _old_custom_bwd(bwd):
    torch._warn("`torch.cuda.amp.custom_bwd(args...)` is deprecated. "
                "Please use `torch.amp.custom_bwd(args..., device_type='cuda')` instead.")
    return custom_bwd(bwd, device_type="cuda")


# ---- torch.cuda.amp ----


def _old_scaler(base):
    class GradScaler(base):
        def __init__(self, init_scale=2.0 ** 16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000,
                     enabled=True):
            torch._warn("`torch.cuda.amp.GradScaler(args...)` is deprecated. "
                        "Please use `torch.amp.GradScaler('cuda', args...)` instead.")
            super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)

    return GradScaler


torch.cuda.amp.GradScaler = _old_scaler(GradScaler)
torch.cuda.amp.custom_fwd = _old_custom_fwd
torch.cuda.amp.custom_bwd = _old_custom_bwd

# lang/prelude/optim.py - torch.optim: SGD, Adam, AdamW, RMSprop, Adagrad.
#
# For:       net files and the built-in loop.
# Invariant: state is created in the first step() that sees a gradient (Adagrad's in the constructor), in the order of
#            the parameters, and each step creates the same temporaries as PyTorch: the multi-tensor form (the default
#            where all parameters are on the device) creates whole lists that live until the list's name is bound again,
#            the single-tensor form those of one parameter, whose names stay bound while the next one's are computed.
#
# A parameter's step counter is a number on the host (in PyTorch a CPU tensor), so it is also known on meta.
import torch


def _zeros_for(p):
    t = torch.zeros_like(p)
    torch._set_category(t, "optimizer")
    return t


def _wants_foreach(foreach, params):
    if foreach is not None:
        return foreach
    return all([p.is_cuda for p in params])


def _buckets(lists):
    # The lists, grouped by device and dtype of the tensors of the first one; an empty list stays empty, the last
    # entry of a group holds the indices in the original lists. The group seen last comes first: PyTorch's
    # C++ walks a hash table that does so (2.15, measured with up to four dtypes on CUDA).
    buckets = {}
    i = 0
    while i < len(lists[0]):
        key = (lists[0][i].device, lists[0][i].dtype)
        if key not in buckets:
            buckets[key] = [[] for each in lists] + [[]]
        i = torch._deal(lists, i, buckets[key])
    return list(reversed(list(buckets.values())))


def _at_each(steps, value):
    # in most optimizers all parameters are at the same step
    if steps.count(steps[0]) == len(steps):
        return [value(steps[0])] * len(steps)
    return [value(step) for step in steps]


def _not_supported(optimizer, options):
    for name in options:
        if options[name]:
            raise NotImplementedError(f"{optimizer}: {name}={options[name]} is not supported here; leave it out")


class Optimizer:
    def __init__(self, params, defaults):
        self.defaults = defaults
        if isinstance(params, torch.Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts")
        self.state = {}
        self.param_groups = []
        param_groups = list(params)
        if len(param_groups) == 0:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(param_groups[0], dict):
            param_groups = [{"params": param_groups}]
        for param_group in param_groups:
            self.add_param_group(param_group)

    def add_param_group(self, param_group):
        params = param_group["params"]
        param_group["params"] = [params] if isinstance(params, torch.Tensor) else list(params)
        known = {}
        for group in self.param_groups:
            for p in group["params"]:
                known[p] = True
        for p in param_group["params"]:
            if not isinstance(p, torch.Tensor):
                raise TypeError("optimizer can only optimize Tensors")
            if not p.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
            if p in known:
                raise ValueError("some parameters appear in more than one parameter group")
        for name, default in self.defaults.items():
            param_group.setdefault(name, default)
        self.param_groups.append(param_group)

    def _state_of(self, p):
        if p not in self.state:
            self.state[p] = {}
        return self.state[p]

    def zero_grad(self, set_to_none=True):
        foreach = self.defaults.get("foreach", False)
        zeroed = []
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    if set_to_none:
                        p.grad = None
                    else:
                        if p.grad.grad_fn is not None:
                            p.grad.detach_()
                        elif p.grad.requires_grad:
                            p.grad.requires_grad_(False)
                        if foreach:
                            zeroed.append(p.grad)
                        else:
                            p.grad.zero_()
        if foreach and len(zeroed) > 0:
            for bucket in _buckets([zeroed]):
                torch._foreach_zero_(bucket[0])

    def _run_closure(self, closure):
        self._opt_called = True  # a schedule looks whether step() came first
        if closure is None:
            return None
        with torch.enable_grad():
            return closure()


class SGD(Optimizer):
    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *,
                 maximize=False, foreach=None, differentiable=False, fused=None):
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        _not_supported("SGD", dict(differentiable=differentiable, fused=fused))
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening,
                                      weight_decay=weight_decay, nesterov=nesterov, maximize=maximize,
                                      foreach=foreach))

    @torch.no_grad()
    def step(self, closure=None):
        loss = self._run_closure(closure)
        for group in self.param_groups:
            params = []
            grads = []
            momentum_buffer_list = []
            for p in group["params"]:
                if p.grad is not None:
                    params.append(p)
                    grads.append(p.grad)
                    if group["momentum"] != 0:
                        momentum_buffer_list.append(self._state_of(p).get("momentum_buffer"))
            update = _multi_tensor_sgd if _wants_foreach(group["foreach"], params) else _single_tensor_sgd
            update(params, grads, momentum_buffer_list, group["lr"], group["momentum"], group["dampening"],
                   group["weight_decay"], group["nesterov"], group["maximize"])
            if group["momentum"] != 0:
                for p, momentum_buffer in zip(params, momentum_buffer_list):
                    self._state_of(p)["momentum_buffer"] = momentum_buffer
        return loss


def _first_momentum(grad):
    buf = grad.detach().clone()
    torch._set_category(buf, "optimizer")
    return buf


def _single_tensor_sgd(params, grads, momentum_buffer_list, lr, momentum, dampening, weight_decay,
                       nesterov, maximize):
    for i, param in enumerate(params):
        grad = grads[i] if not maximize else -grads[i]
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        if momentum != 0:
            buf = momentum_buffer_list[i]
            if buf is None:
                buf = _first_momentum(grad)
                momentum_buffer_list[i] = buf
            else:
                buf.mul_(momentum).add_(grad, alpha=1 - dampening)
            if nesterov:
                grad = grad.add(buf, alpha=momentum)
            else:
                grad = buf
        param.add_(grad, alpha=-lr)


def _multi_tensor_sgd(params, grads, momentum_buffer_list, lr, momentum, dampening, weight_decay,
                      nesterov, maximize):
    grouped_tensors = _buckets([params, grads, momentum_buffer_list])
    for device_params, device_grads, device_momentum_buffer_list, indices in grouped_tensors:
        if maximize:
            device_grads = torch._foreach_neg(device_grads)
        if weight_decay != 0:
            if maximize:
                torch._foreach_add_(device_grads, device_params, alpha=weight_decay)
            else:
                device_grads = torch._foreach_add(device_grads, device_params, alpha=weight_decay)
        if momentum != 0:
            bufs = [buf for buf in device_momentum_buffer_list if buf is not None]
            if len(bufs) == len(device_momentum_buffer_list):
                torch._foreach_mul_(bufs, momentum)
                torch._foreach_add_(bufs, device_grads, alpha=1 - dampening)
            else:
                bufs = []
                for i in range(len(device_momentum_buffer_list)):
                    if device_momentum_buffer_list[i] is None:
                        buf = _first_momentum(device_grads[i])
                        device_momentum_buffer_list[i] = buf
                        momentum_buffer_list[indices[i]] = buf
                    else:
                        buf = device_momentum_buffer_list[i]
                        buf.mul_(momentum).add_(device_grads[i], alpha=1 - dampening)
                    bufs.append(buf)
            if nesterov:
                torch._foreach_add_(device_grads, bufs, alpha=momentum)
            else:
                device_grads = bufs
        torch._foreach_add_(device_params, device_grads, alpha=-lr)


class Adam(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *,
                 foreach=None, maximize=False, capturable=False, differentiable=False, fused=None,
                 decoupled_weight_decay=False):
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if eps < 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for i in range(2):
            if betas[i] < 0.0 or betas[i] >= 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        _not_supported(type(self).__name__, dict(capturable=capturable, differentiable=differentiable, fused=fused))
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay,
                                      amsgrad=amsgrad, maximize=maximize, foreach=foreach,
                                      decoupled_weight_decay=decoupled_weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = self._run_closure(closure)
        for group in self.param_groups:
            params_with_grad = []
            grads = []
            exp_avgs = []
            exp_avg_sqs = []
            max_exp_avg_sqs = []
            state_steps = []
            amsgrad = group["amsgrad"]
            for p in group["params"]:
                if p.grad is not None:
                    params_with_grad.append(p)
                    grads.append(p.grad)
                    state = self._state_of(p)
                    if not state:
                        state["step"] = 0.0
                        state["exp_avg"] = _zeros_for(p)
                        state["exp_avg_sq"] = _zeros_for(p)
                        if amsgrad:
                            state["max_exp_avg_sq"] = _zeros_for(p)
                    step = state["step"] + 1
                    state["step"] = step
                    exp_avgs.append(state["exp_avg"])
                    exp_avg_sqs.append(state["exp_avg_sq"])
                    if amsgrad:
                        max_exp_avg_sqs.append(state["max_exp_avg_sq"])
                    state_steps.append(step)
            torch._check_eps(type(self).__name__, group["eps"], params_with_grad)
            update = _multi_tensor_adam if _wants_foreach(group["foreach"], params_with_grad) else _single_tensor_adam
            update(params_with_grad, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, group)
        return loss


class AdamW(Adam):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *,
                 maximize=False, foreach=None, capturable=False, differentiable=False, fused=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach,
                         maximize=maximize, capturable=capturable, differentiable=differentiable,
                         fused=fused, decoupled_weight_decay=True)


def _single_tensor_adam(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, group):
    beta1, beta2 = group["betas"]
    lr = group["lr"]
    weight_decay = group["weight_decay"]
    for i, param in enumerate(params):
        grad = grads[i] if not group["maximize"] else -grads[i]
        exp_avg = exp_avgs[i]
        exp_avg_sq = exp_avg_sqs[i]
        if weight_decay != 0:
            if group["decoupled_weight_decay"]:
                param.mul_(1 - lr * weight_decay)
            else:
                grad = grad.add(param, alpha=weight_decay)
        exp_avg.lerp_(grad, 1 - beta1)
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        step_size = lr / (1 - beta1 ** state_steps[i])
        bias_correction2_sqrt = (1 - beta2 ** state_steps[i]) ** 0.5
        if group["amsgrad"]:
            torch._foreach_maximum_([max_exp_avg_sqs[i]], [exp_avg_sq])  # torch.maximum with out=
            denom = (max_exp_avg_sqs[i].sqrt() / bias_correction2_sqrt).add_(group["eps"])
        else:
            denom = (exp_avg_sq.sqrt() / bias_correction2_sqrt).add_(group["eps"])
        param.addcdiv_(exp_avg, denom, value=-step_size)


def _multi_tensor_adam(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, group):
    beta1, beta2 = group["betas"]
    lr = group["lr"]
    weight_decay = group["weight_decay"]
    grouped_tensors = _buckets([params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps])
    for (device_params, device_grads, device_exp_avgs, device_exp_avg_sqs, device_max_exp_avg_sqs,
         device_state_steps, indices) in grouped_tensors:
        if group["maximize"]:
            device_grads = torch._foreach_neg(device_grads)
        if weight_decay != 0:
            if group["decoupled_weight_decay"]:
                torch._foreach_mul_(device_params, 1 - lr * weight_decay)
            elif group["maximize"]:
                torch._foreach_add_(device_grads, device_params, alpha=weight_decay)
            else:
                device_grads = torch._foreach_add(device_grads, device_params, alpha=weight_decay)
        torch._foreach_lerp_(device_exp_avgs, device_grads, 1 - beta1)
        torch._foreach_mul_(device_exp_avg_sqs, beta2)
        torch._foreach_addcmul_(device_exp_avg_sqs, device_grads, device_grads, 1 - beta2)
        del device_grads
        step_size = _at_each(device_state_steps, lambda step: lr / (1 - beta1 ** step) * -1)
        bias_correction2_sqrt = _at_each(device_state_steps, lambda step: (1 - beta2 ** step) ** 0.5)
        if group["amsgrad"]:
            torch._foreach_maximum_(device_max_exp_avg_sqs, device_exp_avg_sqs)
            exp_avg_sq_sqrt = torch._foreach_sqrt(device_max_exp_avg_sqs)
        else:
            exp_avg_sq_sqrt = torch._foreach_sqrt(device_exp_avg_sqs)
        torch._foreach_div_(exp_avg_sq_sqrt, bias_correction2_sqrt)
        torch._foreach_add_(exp_avg_sq_sqrt, group["eps"])
        torch._foreach_addcdiv_(device_params, device_exp_avgs, exp_avg_sq_sqrt, step_size)


class RMSprop(Optimizer):
    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False,
                 capturable=False, foreach=None, maximize=False, differentiable=False):
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if eps < 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if alpha < 0.0:
            raise ValueError(f"Invalid alpha value: {alpha}")
        _not_supported("RMSprop", dict(capturable=capturable, differentiable=differentiable))
        super().__init__(params, dict(lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered,
                                      weight_decay=weight_decay, foreach=foreach, maximize=maximize))

    @torch.no_grad()
    def step(self, closure=None):
        loss = self._run_closure(closure)
        for group in self.param_groups:
            params_with_grad = []
            grads = []
            square_avgs = []
            grad_avgs = []
            momentum_buffer_list = []
            for p in group["params"]:
                if p.grad is not None:
                    params_with_grad.append(p)
                    grads.append(p.grad)
                    state = self._state_of(p)
                    if not state:
                        state["step"] = 0.0
                        state["square_avg"] = _zeros_for(p)
                        if group["momentum"] > 0:
                            state["momentum_buffer"] = _zeros_for(p)
                        if group["centered"]:
                            state["grad_avg"] = _zeros_for(p)
                    state["step"] = state["step"] + 1
                    square_avgs.append(state["square_avg"])
                    if group["momentum"] > 0:
                        momentum_buffer_list.append(state["momentum_buffer"])
                    if group["centered"]:
                        grad_avgs.append(state["grad_avg"])
            torch._check_eps(type(self).__name__, group["eps"], params_with_grad)
            update = (_multi_tensor_rmsprop if _wants_foreach(group["foreach"], params_with_grad)
                      else _single_tensor_rmsprop)
            update(params_with_grad, grads, square_avgs, grad_avgs, momentum_buffer_list, group)
        return loss


def _single_tensor_rmsprop(params, grads, square_avgs, grad_avgs, momentum_buffer_list, group):
    alpha = group["alpha"]
    for i, param in enumerate(params):
        grad = grads[i]
        grad = grad if not group["maximize"] else -grad
        square_avg = square_avgs[i]
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        square_avg.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            grad_avg = grad_avgs[i]
            grad_avg.lerp_(grad, 1 - alpha)
            avg = square_avg.addcmul(grad_avg, grad_avg, value=-1).sqrt_()
        else:
            avg = square_avg.sqrt()
        avg = avg.add_(group["eps"])
        if group["momentum"] > 0:
            buf = momentum_buffer_list[i]
            buf.mul_(group["momentum"]).addcdiv_(grad, avg)
            param.add_(buf, alpha=-group["lr"])
        else:
            param.addcdiv_(grad, avg, value=-group["lr"])


def _multi_tensor_rmsprop(params, grads, square_avgs, grad_avgs, momentum_buffer_list, group):
    alpha = group["alpha"]
    grouped_tensors = _buckets([params, grads, square_avgs, grad_avgs, momentum_buffer_list])
    for (grouped_params, grouped_grads, grouped_square_avgs, grouped_grad_avgs,
         grouped_momentum_buffer_list, indices) in grouped_tensors:
        if group["maximize"]:
            grouped_grads = torch._foreach_neg(grouped_grads)
        if group["weight_decay"] != 0:
            if group["maximize"]:
                torch._foreach_add_(grouped_grads, grouped_params, alpha=group["weight_decay"])
            else:
                grouped_grads = torch._foreach_add(grouped_grads, grouped_params, alpha=group["weight_decay"])
        torch._foreach_mul_(grouped_square_avgs, alpha)
        torch._foreach_addcmul_(grouped_square_avgs, grouped_grads, grouped_grads, 1 - alpha)
        if group["centered"]:
            torch._foreach_lerp_(grouped_grad_avgs, grouped_grads, 1 - alpha)
            avg = torch._foreach_addcmul(grouped_square_avgs, grouped_grad_avgs, grouped_grad_avgs, -1)
            torch._foreach_sqrt_(avg)
            torch._foreach_add_(avg, group["eps"])
        else:
            avg = torch._foreach_sqrt(grouped_square_avgs)
            torch._foreach_add_(avg, group["eps"])
        if group["momentum"] > 0:
            torch._foreach_mul_(grouped_momentum_buffer_list, group["momentum"])
            torch._foreach_addcdiv_(grouped_momentum_buffer_list, grouped_grads, avg, 1)
            torch._foreach_add_(grouped_params, grouped_momentum_buffer_list, alpha=-group["lr"])
        else:
            torch._foreach_addcdiv_(grouped_params, grouped_grads, avg, -group["lr"])


class Adagrad(Optimizer):
    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10,
                 foreach=None, *, maximize=False, differentiable=False, fused=None):
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if lr_decay < 0.0:
            raise ValueError(f"Invalid lr_decay value: {lr_decay}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if initial_accumulator_value < 0.0:
            raise ValueError(f"Invalid initial_accumulator_value value: {initial_accumulator_value}")
        if eps < 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        _not_supported("Adagrad", dict(differentiable=differentiable, fused=fused))
        super().__init__(params, dict(lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
                                      initial_accumulator_value=initial_accumulator_value,
                                      foreach=foreach, maximize=maximize))
        for group in self.param_groups:
            for p in group["params"]:
                state = self._state_of(p)
                state["step"] = 0.0
                state["sum"] = torch.full_like(p, initial_accumulator_value)
                torch._set_category(state["sum"], "optimizer")

    @torch.no_grad()
    def step(self, closure=None):
        loss = self._run_closure(closure)
        for group in self.param_groups:
            params_with_grad = []
            grads = []
            state_sums = []
            state_steps = []
            for p in group["params"]:
                if p.grad is not None:
                    params_with_grad.append(p)
                    grads.append(p.grad)
                    state = self._state_of(p)
                    state["step"] = state["step"] + 1
                    state_sums.append(state["sum"])
                    state_steps.append(state["step"])
            torch._check_eps(type(self).__name__, group["eps"], params_with_grad)
            update = (_multi_tensor_adagrad if _wants_foreach(group["foreach"], params_with_grad)
                      else _single_tensor_adagrad)
            update(params_with_grad, grads, state_sums, state_steps, group)
        return loss


def _single_tensor_adagrad(params, grads, state_sums, state_steps, group):
    for param, grad, state_sum, step in zip(params, grads, state_sums, state_steps):
        grad = grad if not group["maximize"] else -grad
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        clr = group["lr"] / (1 + (step - 1) * group["lr_decay"])
        state_sum.addcmul_(grad, grad, value=1)
        std = state_sum.sqrt().add_(group["eps"])
        param.addcdiv_(grad, std, value=-clr)


def _multi_tensor_adagrad(params, grads, state_sums, state_steps, group):
    lr = group["lr"]
    lr_decay = group["lr_decay"]
    grouped_tensors = _buckets([params, grads, state_sums, state_steps])
    for device_params, device_grads, device_state_sums, device_state_steps, indices in grouped_tensors:
        if group["maximize"]:
            device_grads = torch._foreach_neg(device_grads)
        if group["weight_decay"] != 0:
            if group["maximize"]:
                torch._foreach_add_(device_grads, device_params, alpha=group["weight_decay"])
            else:
                device_grads = torch._foreach_add(device_grads, device_params, alpha=group["weight_decay"])
        minus_clr = _at_each(device_state_steps, lambda step: -lr / (1 + (step - 1) * lr_decay))
        torch._foreach_addcmul_(device_state_sums, device_grads, device_grads, 1)
        std = torch._foreach_sqrt(device_state_sums)
        torch._foreach_add_(std, group["eps"])
        if group["weight_decay"] != 0 or group["maximize"]:
            torch._foreach_mul_(device_grads, minus_clr)
            numerator = device_grads
        else:
            numerator = torch._foreach_mul(device_grads, minus_clr)
        torch._foreach_addcdiv_(device_params, numerator, std, 1)


# what torch.optim.lr_scheduler asks: _run_closure() notes that a step() of the classes here was called


def _warn_order(scheduler, epoch):
    optimizer = scheduler.optimizer
    is_tracked = isinstance(optimizer, (SGD, Adam, RMSprop, Adagrad))
    if scheduler._step_count == 1 and is_tracked and not optimizer._opt_called:
        torch._warn("Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and "
                    "later, you should call them in the opposite order: `optimizer.step()` before "
                    "`lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the first value "
                    "of the learning rate schedule. See more details at "
                    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate")
    if epoch is not None:
        torch._warn("The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
                    "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if "
                    "epoch is different from None, the closed form is used instead of the new chainable form, "
                    "where available. Please open an issue if you are unable to replicate your use case: "
                    "https://github.com/pytorch/pytorch/issues/new/choose.")

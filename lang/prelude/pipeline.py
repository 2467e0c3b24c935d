# lang/prelude/pipeline.py - PipelineStage, ScheduleGPipe and Schedule1F1B: one stage of a pipeline of `world`.
#
# For:       train.py; docs/internals/pipeline-parallel.md has what is kept for how long, and how it was measured.
# Invariant: follows torch/distributed/pipelining of PyTorch 2.15 name by name, with metadata given (input_args,
#            output_args): what a local variable or a list holds there it holds here, for the same time. No data is
#            sent: what a stage receives has no values.
import torch
import torch.nn as nn

import _distributed as distributed

_DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.uint8,
           torch.bool)


def check(net, settings):
    # refuse what is not known to be equal to PyTorch's, before anything is on the device
    if int(settings["rank"]) >= settings["world"]:
        raise ValueError(f"rank={settings['rank']}: the ranks of world={settings['world']}, which are the stages of "
                         f"the pipeline, are 0 to {settings['world'] - 1}")
    if settings["world"] == 1:
        raise ValueError("world=1: with shard=pp a pipeline has at least two stages; set world=2 or more")
    if torch._rank_count() > 0:
        raise ValueError("shard=pp: several processes cannot train with it; use shard=fsdp or shard=ddp")
    if hasattr(net, "optimizer") or hasattr(net, "train_step") and settings["grad"] == "train":
        raise ValueError("shard=pp: a net with its own optimizer() or train_step is not supported; leave them out")
    if settings["accumulate"] != 1:
        raise ValueError(f"accumulate={settings['accumulate']}: a schedule divides the gradients by the number of "
                         "microbatches after each part; set microbatches instead")
    if settings["pp-schedule"] == "1f1b" and settings["microbatches"] < settings["world"]:
        raise ValueError(f"microbatches={settings['microbatches']}: Number of microbatches must be greater than or "
                         f"equal to the number of stages, world={settings['world']}, with pp-schedule=1f1b")
    if settings["batch"] % settings["microbatches"] != 0:
        raise ValueError(f"batch={settings['batch']} does not divide into microbatches={settings['microbatches']} "
                         "equal parts, and stages receive tensors of one shape")
    if settings["amp"] == "fp16" and settings["grad"] == "train":
        raise ValueError("amp=fp16: a GradScaler with shard=pp is not supported; use amp=bf16")
    for name, value in (("fuse", "off"), ("quantize", "off"), ("detach-loss", "on"), ("chunk-loss", "off")):
        if settings[name] != value:
            raise ValueError(f"{name}={settings[name]}: together with shard=pp it is not supported yet")
    if settings["checkpoint"] == "auto" or settings["checkpoint"].startswith("auto:"):
        raise ValueError(f"checkpoint={settings['checkpoint']}: placements are not planned for shard=pp yet; use "
                         "checkpoint=blocks")
    if settings["torch"] != "2.15":
        raise ValueError(f"torch={settings['torch']}: shard=pp is known of PyTorch 2.15 alone")
    if torch._has_data():
        torch._warn("shard=pp: what the other stages would send is not there, and zeros are used in its place; so the "
                    "losses are not those of a training")


# ---- the modules of a stage ----


def _stages_of(model, settings):
    # the stages that each module begins and ends in, by path
    cuts = [] if settings["pp-split"] == "none" else settings["pp-split"].split(",")
    paths = [path for path, m in model.named_modules() if path != ""]
    for path in cuts:
        if path not in paths:
            more = ", ..." if len(paths) > 6 else ""
            raise ValueError(f"pp-split={path}: the model has no module at this path ({', '.join(paths[:6])}{more})")
    if len(cuts) != settings["world"] - 1:
        raise ValueError(f"pp-split={settings['pp-split']}: a pipeline of world={settings['world']} stages is cut at "
                         f"{settings['world'] - 1} modules, the first ones of all stages but stage 0")
    begins = {}
    ends = {}
    stage = 0
    for path in paths:
        if path in cuts:
            stage += 1
        begins[path] = stage
        names = path.split(".")
        for i in range(len(names)):
            ends[".".join(names[:i + 1])] = stage
    return begins, ends


def _cut_below(m, path, begins, ends, stage, undo):
    before = dict(m._modules)
    for name, child in before.items():
        inner = path + "." + name if path else name
        if child is None or inner not in begins:
            continue
        if begins[inner] <= stage and stage <= ends[inner]:
            _cut_below(child, inner, begins, ends, stage, undo)
        elif isinstance(m, (nn.Sequential, nn.ModuleList, nn.ModuleDict)):
            del m._modules[name]
        else:
            m._modules[name] = None
    undo.append((m, before))


def cut(model, settings, stage):
    # Leaves what one stage has: modules of others are taken out of their lists, elsewhere they become None. Returns
    # what restore() puts back.
    begins, ends = _stages_of(model, settings)
    undo = []
    _cut_below(model, "", begins, ends, stage, undo)
    return undo


def keep(model, settings):
    # the same for good; toggles that name modules name those of the stage from now on
    paths = [path for path, m in model.named_modules()]
    cut(model, settings, int(settings["rank"]))
    kept = [path for path, m in model.named_modules()]
    for name, without in (("checkpoint", "off"), ("offload", "off"), ("inplace", "off"), ("freeze", "none")):
        words = settings[name].split(",")
        if all([word in paths for word in words]):
            settings[name] = ",".join([word for word in words if word in kept]) or without


def restore(undo):
    for m, modules in undo:
        m._modules.clear()
        m._modules.update(modules)


# ---- what stages send to each other: sizes, strides, dtype, and whether it requires grad, as text ----


def shape_text(t):
    if not isinstance(t, torch.Tensor):
        raise ValueError(f"shard=pp: a stage gave a {type(t).__name__} to the next one; only a tensor is supported")
    words = ("x".join([str(n) for n in t.shape]), "x".join([str(n) for n in t.stride()]), str(t.dtype),
             str(t.requires_grad))
    return " ".join(words)


class _Meta:
    def __init__(self, text):
        words = text.split(" ")
        self.shape = [int(n) for n in words[0].split("x")]
        self.stride = [int(n) for n in words[1].split("x")]
        self.dtype = [dtype for dtype in _DTYPES if str(dtype) == words[2]][0]
        self.requires_grad = words[3] == "True"

    def make(self, category):
        t = torch._empty_strided(self.shape, self.stride, self.dtype)
        torch._set_category(t, category)
        return t.zero_()  # where there is data it must be some; on all devices, for the same events


class _Receive:
    # memory of what comes from a neighbour, from just before it is received until it is used
    def __init__(self, meta):
        self.meta = meta
        self.buffer = None

    def take(self):
        buffer = self.buffer
        self.buffer = None
        return buffer


def _post(op):
    size = op[1].numel() * op[1].element_size()
    torch._collective(op[0], size, size if op[0] == "ncclSend" else 0)


class _Works:
    # a list of Work objects of ProcessGroupNCCL, each of which holds its tensor, also after wait()
    def __init__(self, ops):
        self.held = [op[1] for op in ops]
        for op in ops:
            _post(op)

    def clear(self):
        self.held.clear()


# ---- a stage ----


class _Chunk:
    # of a microbatch between its forward and its backward
    def __init__(self, edges, inputs, outputs):
        self.edges = edges
        self.inputs = inputs
        self.outputs = outputs
        self.is_sending = False

    def for_backward(self):
        return tuple([live if live is not None else edge for live, edge in zip(self.outputs, self.edges)])


def _stage_backward(stage_output, output_grads, input_values):
    stage_output_tensors = []
    output_grad_tensors = []
    if isinstance(stage_output, torch.Tensor):
        stage_output_tensors.append(stage_output)
        output_grad_tensors.append(None)
    else:
        for i in range(len(stage_output)):
            if stage_output[i].requires_grad:
                stage_output_tensors.append(stage_output[i])
                output_grad_tensors.append(output_grads[i])
    torch.autograd.backward(stage_output_tensors, output_grad_tensors)
    grad_inputs = []
    for val in input_values:
        grad_inputs.append(val.grad)
        val.grad = None
    return tuple(grad_inputs)


class Stage:
    def __init__(self, submod, settings, autocast):
        self.submod = submod
        self.index = int(settings["rank"])
        self.is_first = self.index == 0
        self.is_last = self.index == settings["world"] - 1
        self.has_backward = settings["grad"] == "train"
        self.autocast = autocast
        texts = torch._stage_shapes().split("|")
        self.input_meta = _Meta(texts[0])
        self.output_meta = _Meta(texts[1])
        count = settings["microbatches"]
        self.received = [_Receive(self.input_meta) for i in range(count)]
        self.received_grads = [_Receive(self.output_meta) for i in range(count)]
        self.chunks = {}
        self.gradients = {}
        self.output_chunks = []

    def clear(self):
        self.chunks.clear()
        self.output_chunks.clear()

    def forward_receives(self, i):
        if self.is_first:
            return []
        self.received[i].buffer = self.input_meta.make("activation")
        return [("ncclRecv", self.received[i].buffer)]

    def backward_receives(self, i):
        if not self.has_backward or self.is_last or not self.output_meta.requires_grad:
            return []
        self.received_grads[i].buffer = self.output_meta.make("gradient")
        return [("ncclRecv", self.received_grads[i].buffer)]

    def forward_sends(self, i):
        if self.is_last:
            return []
        self.chunks[i].is_sending = True
        return [("ncclSend", self.chunks[i].outputs[0].detach())]

    def release_sent(self, i):
        chunk = self.chunks.get(i)
        if chunk is not None and chunk.is_sending:
            chunk.is_sending = False
            chunk.outputs[0] = None

    def backward_sends(self, i):
        if not self.has_backward or self.is_first:
            return []
        grads_input = self.gradients.pop(i)
        if grads_input[0] is not None:
            return [("ncclSend", grads_input[0])]
        return [("ncclSend", self.input_meta.make("gradient"))] if self.input_meta.requires_grad else []

    def _received_activations(self, i):
        buffer = self.received[i].take()
        requires_grad = self.input_meta.requires_grad and self.has_backward and torch.is_grad_enabled()
        return (buffer.requires_grad_(requires_grad),)

    def _run(self, *args):
        with self.autocast():
            return self.submod(*args)

    def forward_one_chunk(self, i, args, save_forward_output):
        composite_args = args if self.is_first else self._received_activations(i)
        output = self._run(*composite_args)
        if self.is_last and save_forward_output:
            self.output_chunks.append(output)
        keeps_edge = self.has_backward and not self.is_last and output.requires_grad
        self.chunks[i] = _Chunk((torch._edge(output) if keeps_edge else None,), list(composite_args), [output])
        return output

    def backward_one_chunk(self, i, loss):
        if not self.has_backward:
            return
        entry = self.chunks.pop(i)
        stage_output = entry.for_backward()
        input_values = entry.inputs
        if self.is_last:
            bwd_kwargs = {"stage_output": loss, "output_grads": None, "input_values": input_values}
        else:
            grads_output = (self.received_grads[i].take(),)
            bwd_kwargs = {"stage_output": stage_output, "output_grads": grads_output, "input_values": input_values}
        grads_input = _stage_backward(bwd_kwargs["stage_output"], bwd_kwargs["output_grads"],
                                      bwd_kwargs["input_values"])
        self.gradients[i] = grads_input
        if self.is_last:
            for t in stage_output:
                if not t._is_view():
                    t.detach_()

    def scale_gradients(self, count):
        if count != 1 and self.has_backward:
            for p in self.submod.parameters():
                if p.grad is not None:
                    p.grad.div_(count)


# ---- schedules ----


class Schedule:
    def __init__(self, submod, loss_fn, settings, autocast, end):
        self.stage = Stage(submod, settings, autocast)
        self.settings = settings
        self.world = settings["world"]
        self.count = settings["microbatches"]
        self.loss_fn = loss_fn
        self.autocast = autocast
        self.end = end
        self.losses = []
        self.is_connected = False

    def _ended(self, phase, i, following):
        # without gradients nothing runs between two forwards
        if phase == "backward" and not self.stage.has_backward:
            return
        self.end(phase, i, self.settings)
        torch._phase(following if self.stage.has_backward or following != "backward" else "forward")

    def _loss_of(self, output, targets):
        with self.autocast():
            return self.loss_fn(output, targets)

    def _forward_one_chunk(self, i, arg_mbs, return_outputs, following):
        output = self.stage.forward_one_chunk(i, arg_mbs[i], return_outputs)
        self._ended("forward", i, "loss" if self.stage.is_last else following)
        return output

    def _maybe_compute_loss(self, output, target_mbs, i, following):
        if self.stage.is_last:
            self.losses.append(self._loss_of(output, target_mbs[i]))
            self._ended("loss", i, following)

    def _maybe_get_loss(self, i):
        return self.losses[i] if self.stage.is_last else None

    def _connect(self):
        # the processes agree that shapes are given, then each pair of neighbours sends a number
        if self.is_connected:
            return
        self.is_connected = True
        vote = torch.empty(1, dtype=torch.int32, device="cuda")
        distributed.note_all_reduce(4, self.world)
        self._connect_neighbours()

    def _connect_neighbours(self):
        synchronization = torch.empty(1, dtype=torch.int32, device="cuda")
        payload = torch.empty(1, dtype=torch.int32, device="cuda")
        rank = self.stage.index
        for matching in range(min(2, self.world - 1)):
            if rank % 2 == matching and rank + 1 < self.world:
                _post(("ncclSend", payload))
            elif rank % 2 != matching and rank > 0:
                _post(("ncclRecv", payload))
            distributed.note_all_reduce(4, self.world)

    def _finished(self, losses):
        losses.extend(self.losses if self.stage.is_last else [])
        self.losses.clear()
        self.stage.scale_gradients(self.count)

    def _step_gpipe(self, arg_mbs, target_mbs, losses, return_outputs):
        self._connect()
        fwd_sends_to_wait = []
        for i in range(self.count):
            ops = self.stage.forward_receives(i)
            works = _Works(ops)
            if len(ops) > 0:
                work = works
            following = "forward" if i < self.count - 1 else "backward"
            output = self._forward_one_chunk(i, arg_mbs, return_outputs, following)
            ops = self.stage.forward_sends(i)
            works = _Works(ops)
            fwd_sends_to_wait.append((i, ops, works))
            del ops, works
            self._maybe_compute_loss(output, target_mbs, i, following)
            del output
        for microbatch_index, send_ops, work_batches in fwd_sends_to_wait:
            work_batches.clear()
            send_ops.clear()
            self.stage.release_sent(microbatch_index)
        fwd_sends_to_wait.clear()
        bwd_sends_to_wait = []
        for i in range(self.count):
            ops = self.stage.backward_receives(i)
            works = _Works(ops)
            if len(ops) > 0:
                work = works
            loss = self._maybe_get_loss(i)
            self.stage.backward_one_chunk(i, loss)
            self._ended("backward", i, "backward")
            ops = self.stage.backward_sends(i)
            works = _Works(ops)
            bwd_sends_to_wait.append(works)
        for work in bwd_sends_to_wait:
            pass
        self._finished(losses)

    def _step_1f1b(self, arg_mbs, target_mbs, losses, return_outputs):
        self._connect()
        warmup_chunks = min(self.count, self.world - self.stage.index)
        fwd_mb_index = 0
        bwd_mb_index = 0
        send_work = _Works([])
        fwd_sends = []
        for _ in range(warmup_chunks):
            fwd_recvs = self.stage.forward_receives(fwd_mb_index)
            _Works(fwd_recvs)
            following = "forward" if fwd_mb_index < warmup_chunks - 1 else "backward"
            output = self._forward_one_chunk(fwd_mb_index, arg_mbs, return_outputs, following)
            if fwd_mb_index > 0:
                send_work.clear()
                fwd_sends.clear()
                self.stage.release_sent(fwd_mb_index - 1)
            fwd_sends = self.stage.forward_sends(fwd_mb_index)
            if fwd_mb_index != warmup_chunks - 1:
                send_work = _Works(fwd_sends)
            self._maybe_compute_loss(output, target_mbs, fwd_mb_index, following)
            del output
            fwd_mb_index += 1
        while True:
            bwd_recvs = self.stage.backward_receives(bwd_mb_index)
            send_work = _Works(fwd_sends + bwd_recvs)
            send_work.clear()
            fwd_sends.clear()
            self.stage.release_sent(fwd_mb_index - 1)
            bwd_recvs.clear()
            loss = self._maybe_get_loss(bwd_mb_index)
            self.stage.backward_one_chunk(bwd_mb_index, loss)
            self._ended("backward", bwd_mb_index, "forward" if fwd_mb_index < self.count else "backward")
            bwd_sends = self.stage.backward_sends(bwd_mb_index)
            bwd_mb_index += 1
            if fwd_mb_index == self.count:
                break
            fwd_recvs = self.stage.forward_receives(fwd_mb_index)
            _Works(bwd_sends + fwd_recvs)
            output = self._forward_one_chunk(fwd_mb_index, arg_mbs, return_outputs, "backward")
            self._maybe_compute_loss(output, target_mbs, fwd_mb_index, "backward")
            del output
            fwd_sends = self.stage.forward_sends(fwd_mb_index)
            fwd_mb_index += 1
        send_work = _Works(bwd_sends)
        while bwd_mb_index < self.count:
            bwd_recvs = self.stage.backward_receives(bwd_mb_index)
            _Works(bwd_recvs)
            loss = self._maybe_get_loss(bwd_mb_index)
            self.stage.backward_one_chunk(bwd_mb_index, loss)
            self._ended("backward", bwd_mb_index, "backward")
            bwd_sends = self.stage.backward_sends(bwd_mb_index)
            send_work = _Works(bwd_sends)
            bwd_mb_index += 1
        self._finished(losses)

    def step(self, inputs, targets, losses, return_outputs):
        self.stage.clear()
        arg_mbs = [()] * self.count
        target_mbs = None
        if inputs is not None:
            arg_mbs = [(part,) for part in _split(inputs, self.count, "inputs")]
        if targets is not None:
            target_mbs = _split(targets, self.count, "targets")
        if self.settings["pp-schedule"] == "gpipe":
            self._step_gpipe(arg_mbs, target_mbs, losses, return_outputs)
        else:
            self._step_1f1b(arg_mbs, target_mbs, losses, return_outputs)
        if self.stage.is_last and return_outputs:
            return torch.cat(self.stage.output_chunks, 0)
        return None


def _split(value, count, what):
    if not isinstance(value, torch.Tensor):
        raise ValueError(f"shard=pp: the {what} of a batch are a {type(value).__name__}; only a tensor is supported")
    rows = value.shape[0]
    if rows % count != 0:
        raise ValueError(f"shard=pp: {rows} {what} do not divide into microbatches={count} equal parts")
    rows = rows // count
    return [value[i * rows:(i + 1) * rows] for i in range(count)]


# ---- training ----


def part_of(pair, settings):
    # the first stage gets inputs, the last one targets
    rank = int(settings["rank"])
    return pair[0] if rank == 0 else None, pair[1] if rank == settings["world"] - 1 else None


def train(schedule, optimizer, settings, next_batch, end, finish):
    once = settings["data"] == "once"
    grad = settings["grad"]
    return_outputs = settings["drop-outputs"] != "early"
    if once:
        inputs, targets = next_batch()
    end("setup", 0, settings)
    for step in range(settings["steps"]):
        torch._step(step)
        torch._phase("data")
        if not once:
            inputs, targets = next_batch()
        end("data", 0, settings)
        torch._phase("forward")
        losses = []
        with torch.set_grad_enabled(grad != "no_grad"):
            output = schedule.step(inputs, targets, losses, return_outputs)
        for i in range(len(losses)):
            if torch._has_data():
                torch._note_loss(losses[i].item() / schedule.count)
        end("backward" if grad == "train" else "loss", schedule.count - 1, settings, grad != "train")
        if settings["drop-outputs"] != "off":
            del output, losses
        if grad != "train":
            continue
        torch._phase("optimizer")
        optimizer.step()
        end("optimizer", 0, settings)
        torch._phase("zero_grad")
        optimizer.zero_grad(set_to_none=settings["zero-grad"] == "none")
        end("zero_grad", 0, settings, True)
    finish(schedule.stage.submod, settings)

# lang/prelude/pipeline_schedules.py - PipelineStage and the schedules: what one process of a pipeline runs, and when.
#
# For:       pipeline.py; docs/internals/pipeline-parallel.md has what is kept for how long, and how it was measured.
# Invariant: follows torch/distributed/pipelining of PyTorch 2.15 name by name, with metadata given (input_args,
#            output_args): what a local variable or a list holds there it holds here, for the same time. No data is
#            sent: what a stage receives has no values.
import torch

import _distributed as distributed

_DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.uint8,
           torch.bool)
LOOPED = ("interleaved1f1b", "loopedbfs")  # schedules with several stages in a process

# ---- what stages send to each other ----


def as_tuple(output):
    return tuple(output) if isinstance(output, (tuple, list)) else (output,)


def leaves(value):
    # the tensors of a batch, in order
    if isinstance(value, torch.Tensor):
        return [value]
    found = []
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        for v in value:
            found.extend(leaves(v))
    return found


class _Meta:
    # text: sizes, strides, dtype, and whether it requires grad, as pipeline.py writes it
    def __init__(self, text):
        words = text.split(" ")
        self.shape = [int(n) for n in words[0].split("x") if n != ""]
        self.stride = [int(n) for n in words[1].split("x") if n != ""]
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

    def allocate(self, category):
        self.buffer = self.meta.make(category)
        return ("ncclRecv", self.buffer)

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
            if stage_output[i] is not None and stage_output[i].requires_grad:
                stage_output_tensors.append(stage_output[i])
                output_grad_tensors.append(output_grads[i])
    torch.autograd.backward(stage_output_tensors, output_grad_tensors)
    grad_inputs = []
    for val in input_values:
        grad_inputs.append(val.grad)
        val.grad = None
    return tuple(grad_inputs)


class Stage:
    def __init__(self, submod, index, count, shapes, settings, autocast):
        self.submod = submod
        self.index = index
        self.is_first = index == 0
        self.is_last = index == count - 1
        self.has_backward = settings["grad"] == "train"
        self.autocast = autocast
        texts = shapes.split("|")
        self.input_metas = [_Meta(text) for text in texts[0].split(";")]
        self.output_metas = [_Meta(text) for text in texts[1].split(";")]
        parts = range(settings["microbatches"])
        self.received = [[_Receive(meta) for meta in self.input_metas] for i in parts]
        self.received_grads = [[_Receive(meta) for meta in self.output_metas] for i in parts]
        self.chunks = {}
        self.gradients = {}
        self.output_chunks = []

    def clear(self):
        self.chunks.clear()
        self.output_chunks.clear()

    def forward_receives(self, i):
        if self.is_first:
            return []
        return [info.allocate("activation") for info in self.received[i]]

    def backward_receives(self, i):
        if not self.has_backward or self.is_last:
            return []
        return [info.allocate("gradient") for info in self.received_grads[i] if info.meta.requires_grad]

    def forward_sends(self, i):
        if self.is_last:
            return []
        self.chunks[i].is_sending = True
        return [("ncclSend", out.detach()) for out in self.chunks[i].outputs]

    def release_sent(self, i):
        chunk = self.chunks.get(i)
        if chunk is not None and chunk.is_sending:
            chunk.is_sending = False
            for k in range(len(chunk.outputs)):
                chunk.outputs[k] = None

    def backward_sends(self, i):
        if not self.has_backward or self.is_first:
            return []
        ops = []
        grads_input = self.gradients.pop(i)
        for meta, grad in zip(self.input_metas, grads_input):
            if meta.requires_grad:
                ops.append(("ncclSend", grad if grad is not None else meta.make("gradient")))
        return ops

    def _received_activations(self, i):
        activations = []
        for info in self.received[i]:
            buffer = info.take()
            requires_grad = info.meta.requires_grad and self.has_backward and torch.is_grad_enabled()
            activations.append(buffer.requires_grad_(requires_grad))
        return tuple(activations)

    def _run(self, *args):
        with self.autocast():
            return self.submod(*args)

    def _edge(self, out):
        # of a leaf, which is an input that is handed on, the node holds the tensor itself
        if not self.has_backward or self.is_last or not out.requires_grad:
            return None
        return out if out.is_leaf else torch._edge(out)

    def _chunk_of(self, output_tuple, input_values):
        edges = tuple([self._edge(out) for out in output_tuple])
        return _Chunk(edges, input_values, list(output_tuple))

    def forward_one_chunk(self, i, args, save_forward_output):
        composite_args = args if self.is_first else self._received_activations(i)
        output = self._run(*composite_args)
        output_tuple = as_tuple(output)
        if self.is_last and save_forward_output:
            self.output_chunks.append(output)
        self.chunks[i] = self._chunk_of(output_tuple, leaves(composite_args))
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
            grads_output = tuple([info.take() for info in self.received_grads[i]])
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


# ---- the order of a schedule with several stages in a process ----

_FORWARD, _BACKWARD, _SEND_F, _RECV_F, _SEND_B, _RECV_B, _WAIT_SEND_F, _WAIT_SEND_B, _REDUCE, _NOTHING = range(10)
_MAX_ACTIVE_STAGES = 3


def _interleaved(rank, world, local, count):
    # _get_1f1b_rank_ops(): what one process computes, as (kind, stage, microbatch)
    per_round = count // max(1, count // world)
    warmup = min((local - 1) * per_round + 2 * (world - 1 - rank), count * local)
    forwards = [0] * local
    backwards = [0] * local
    order = []
    for op in range(local * count + warmup):
        if op < local * count:
            k = op // per_round % local
            order.append((_FORWARD, k * world + rank, forwards[k]))
            forwards[k] += 1
        if op >= warmup:
            k = local - 1 - (op - warmup) // per_round % local
            order.append((_BACKWARD, k * world + rank, backwards[k]))
            backwards[k] += 1
    return order


def _breadth_first(rank, world, local, count):
    order = []
    for k in range(local):
        order.extend([(_FORWARD, k * world + rank, i) for i in range(count)])
    for k in reversed(range(local)):
        order.extend([(_BACKWARD, k * world + rank, i) for i in reversed(range(count))])
    return order


def _next_stages(order):
    # for each action the first stages that compute from there on
    near = []
    found = []
    for kind, stage, i in reversed(order):
        near = [stage] + [s for s in near if s != stage]
        near = near[:_MAX_ACTIVE_STAGES]
        found.append(near)
    return list(reversed(found))


def _lowered(order, count):
    # _add_unshard_reshard() and _add_reduce_grad(): without FSDP they do nothing, but each is a turn of its process
    active = []
    backwards = {}
    lowered = []
    for (kind, stage, i), near in zip(order, _next_stages(order)):
        lowered.extend([(_NOTHING, a, 0) for a in active if a not in near])
        active = [a for a in active if a in near]
        fetched = [a for a in near if a not in active]
        lowered.extend([(_NOTHING, a, 0) for a in fetched])
        active.extend(fetched)
        lowered.append((kind, stage, i))
        if kind == _BACKWARD:
            backwards[stage] = backwards.get(stage, 0) + 1
            if backwards[stage] == count:
                lowered.extend([(_REDUCE, stage, 0), (_NOTHING, stage, 0)])
    return lowered + [(_NOTHING, a, 0) for a in active]


def _with_transfers(orders, last, count):
    # _add_send_recv(): a process receives in the order in which the others send, each of which takes a turn
    world = len(orders)
    done = [[] for rank in range(world)]
    arrived = {}
    at = [0] * world
    left = [rank for rank in range(world)]
    while len(left) > 0:
        for rank in left:
            kind, stage, i = orders[rank][at[rank]]
            is_backward = kind == _BACKWARD
            waits = is_backward and stage != last or kind == _FORWARD and stage != 0
            if waits and (2 * stage + (1 if is_backward else 0)) * count + i not in arrived:
                continue
            done[rank].append((kind, stage, i))
            at[rank] += 1
            to = stage + 1 if kind == _FORWARD else stage - 1
            if kind in (_FORWARD, _BACKWARD) and 0 <= to and to <= last:
                done[rank].append((_SEND_B if is_backward else _SEND_F, stage, i))
                done[to % world].append((_RECV_B if is_backward else _RECV_F, to, i))
                arrived[(2 * to + (1 if is_backward else 0)) * count + i] = True
        left = [rank for rank in left if at[rank] < len(orders[rank])]
    return done


def _with_waits(order):
    # _add_wait_send(): after the backward of the microbatch, or at the end
    pending = {}
    done = []
    for kind, stage, i in order:
        done.append((kind, stage, i))
        if kind in (_SEND_F, _SEND_B):
            pending[(kind, stage, i)] = True
        if kind == _BACKWARD and (_SEND_F, stage, i) in pending:
            done.append((_WAIT_SEND_F, stage, i))
            del pending[(_SEND_F, stage, i)]
    for kind, stage, i in pending:
        done.append((_WAIT_SEND_F if kind == _SEND_F else _WAIT_SEND_B, stage, i))
    return done


def _looped_order(schedule, rank, world, local, count):
    compute = _interleaved if schedule == "interleaved1f1b" else _breadth_first
    orders = [_lowered(compute(r, world, local, count), count) for r in range(world)]
    order = _with_waits(_with_transfers(orders, world * local - 1, count)[rank])
    return [action for action in order if action[0] != _NOTHING]


# ---- schedules ----


def _matchings(world, is_looped):
    # _physical_edge_matchings(): rounds in which no process has two neighbours
    edges = [(rank, rank + 1) for rank in range(world - 1)]
    if is_looped and world > 2:
        edges = [edges[0], (0, world - 1)] + edges[1:]
    rounds = []
    while len(edges) > 0:
        used = []
        matching = []
        for edge in edges:
            if edge[0] not in used and edge[1] not in used:
                matching.append(edge)
                used.extend(edge)
        rounds.append(matching)
        edges = [edge for edge in edges if edge not in matching]
    return rounds


def _merge(chunks):
    if isinstance(chunks[0], (tuple, list)):
        return tuple([torch.cat([chunk[k] for chunk in chunks], 0) for k in range(len(chunks[0]))])
    return torch.cat(chunks, 0)


class Schedule:
    # stages: those of this process, in order. Where a step has several parts, scale_grads=False, and the loss divides.
    def __init__(self, stages, loss_fn, settings, autocast, end):
        self.stages = stages
        self.stage = stages[0]
        self.settings = settings
        self.world = settings["world"]
        self.rank = int(settings["rank"])
        self.count = settings["microbatches"]
        self.scales = settings["accumulate"] == 1
        self.loss_fn = loss_fn
        self.autocast = autocast
        self.end = end
        self.losses = []
        self.is_connected = False
        self.has_backward = self.stage.has_backward
        self.first_mark = 0
        self.is_looped = settings["pp-schedule"] in LOOPED
        self.sends = {}
        self.receives = {}
        if self.is_looped:
            self.actions = _looped_order(settings["pp-schedule"], self.rank, self.world, len(stages), self.count)

    def _ended(self, phase, i, following):
        # without gradients nothing runs between two forwards
        if phase == "backward" and not self.has_backward:
            return
        self.end(phase, self.first_mark + i, self.settings)
        torch._phase(following if self.has_backward or following != "backward" else "forward")

    def _loss_of(self, output, targets):
        with self.autocast():
            if self.scales:
                return self.loss_fn(output, targets)
            return self.loss_fn(output, targets) / (self.count * self.settings["accumulate"])

    def _forward_one_chunk(self, stage, i, arg_mbs, return_outputs, following):
        output = stage.forward_one_chunk(i, arg_mbs[i], return_outputs)
        self._ended("forward", i, "loss" if stage.is_last else following)
        return output

    def _maybe_compute_loss(self, stage, output, target_mbs, i, following):
        if stage.is_last:
            self.losses.append(self._loss_of(output, target_mbs[i]))
            self._ended("loss", i, following)

    def _maybe_get_loss(self, stage, i):
        return self.losses[i] if stage.is_last else None

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
        for matching in _matchings(self.world, self.is_looped and len(self.stages) > 1):
            for lower, higher in matching:
                if self.rank == lower:
                    _post(("ncclSend", payload))
                elif self.rank == higher:
                    _post(("ncclRecv", payload))
            distributed.note_all_reduce(4, self.world)

    def _update_losses(self, losses):
        losses.extend(self.losses)
        self.losses.clear()

    def _scale(self, stage):
        stage.scale_gradients(self.count if self.scales else 1)

    def _step_gpipe(self, arg_mbs, target_mbs, losses, return_outputs):
        self._connect()
        fwd_sends_to_wait = []
        for i in range(self.count):
            ops = self.stage.forward_receives(i)
            works = _Works(ops)
            if len(ops) > 0:
                work = works
            following = "forward" if i < self.count - 1 else "backward"
            output = self._forward_one_chunk(self.stage, i, arg_mbs, return_outputs, following)
            ops = self.stage.forward_sends(i)
            works = _Works(ops)
            fwd_sends_to_wait.append((i, ops, works))
            del ops, works
            self._maybe_compute_loss(self.stage, output, target_mbs, i, following)
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
            loss = self._maybe_get_loss(self.stage, i)
            self.stage.backward_one_chunk(i, loss)
            self._ended("backward", i, "backward")
            ops = self.stage.backward_sends(i)
            works = _Works(ops)
            bwd_sends_to_wait.append(works)
        for work in bwd_sends_to_wait:
            pass
        self._update_losses(losses)
        self._scale(self.stage)

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
            output = self._forward_one_chunk(self.stage, fwd_mb_index, arg_mbs, return_outputs, following)
            if fwd_mb_index > 0:
                send_work.clear()
                fwd_sends.clear()
                self.stage.release_sent(fwd_mb_index - 1)
            fwd_sends = self.stage.forward_sends(fwd_mb_index)
            if fwd_mb_index != warmup_chunks - 1:
                send_work = _Works(fwd_sends)
            self._maybe_compute_loss(self.stage, output, target_mbs, fwd_mb_index, following)
            del output
            fwd_mb_index += 1
        while True:
            bwd_recvs = self.stage.backward_receives(bwd_mb_index)
            send_work = _Works(fwd_sends + bwd_recvs)
            send_work.clear()
            fwd_sends.clear()
            self.stage.release_sent(fwd_mb_index - 1)
            bwd_recvs.clear()
            loss = self._maybe_get_loss(self.stage, bwd_mb_index)
            self.stage.backward_one_chunk(bwd_mb_index, loss)
            self._ended("backward", bwd_mb_index, "forward" if fwd_mb_index < self.count else "backward")
            bwd_sends = self.stage.backward_sends(bwd_mb_index)
            bwd_mb_index += 1
            if fwd_mb_index == self.count:
                break
            fwd_recvs = self.stage.forward_receives(fwd_mb_index)
            _Works(bwd_sends + fwd_recvs)
            output = self._forward_one_chunk(self.stage, fwd_mb_index, arg_mbs, return_outputs, "backward")
            self._maybe_compute_loss(self.stage, output, target_mbs, fwd_mb_index, "backward")
            del output
            fwd_sends = self.stage.forward_sends(fwd_mb_index)
            fwd_mb_index += 1
        send_work = _Works(bwd_sends)
        while bwd_mb_index < self.count:
            bwd_recvs = self.stage.backward_receives(bwd_mb_index)
            _Works(bwd_recvs)
            loss = self._maybe_get_loss(self.stage, bwd_mb_index)
            self.stage.backward_one_chunk(bwd_mb_index, loss)
            self._ended("backward", bwd_mb_index, "backward")
            bwd_sends = self.stage.backward_sends(bwd_mb_index)
            send_work = _Works(bwd_sends)
            bwd_mb_index += 1
        self._update_losses(losses)
        self._scale(self.stage)

    def _perform(self, action, following, arg_mbs, target_mbs, return_outputs):
        # _PipelineScheduleRuntime: each action is a call, so its variables end with it
        kind, index, i = action
        stage = self.stages[index // self.world]
        if kind == _FORWARD:
            if not stage.is_first:
                self.receives.pop((_RECV_F, index, i))
            output = self._forward_one_chunk(stage, i, arg_mbs, return_outputs, following)
            self._maybe_compute_loss(stage, output, target_mbs, i, following)
        elif kind == _BACKWARD:
            if not stage.is_last:
                self.receives.pop((_RECV_B, index, i))
            loss = self._maybe_get_loss(stage, i)
            stage.backward_one_chunk(i, loss)
            self._ended("backward", i, following)
        elif kind == _REDUCE:
            self._scale(stage)
        elif kind == _RECV_F:
            self.receives[action] = _Works(stage.forward_receives(i))
        elif kind == _RECV_B:
            self.receives[action] = _Works(stage.backward_receives(i))
        elif kind in (_SEND_F, _SEND_B):
            ops = stage.forward_sends(i) if kind == _SEND_F else stage.backward_sends(i)
            self.sends[action] = (ops, _Works(ops))
        else:
            pending = self.sends.pop((_SEND_F if kind == _WAIT_SEND_F else _SEND_B, index, i))
            pending[1].clear()
            pending[0].clear()
            if kind == _WAIT_SEND_F:
                stage.release_sent(i)

    def _step_looped(self, arg_mbs, target_mbs, losses, return_outputs):
        self._connect()
        computes = [action[0] for action in self.actions if action[0] in (_FORWARD, _BACKWARD)] + [_BACKWARD]
        at = 0
        for action in self.actions:
            if action[0] in (_FORWARD, _BACKWARD):
                at += 1
            following = "forward" if computes[at] == _FORWARD else "backward"
            self._perform(action, following, arg_mbs, target_mbs, return_outputs)
        self._update_losses(losses)

    def step(self, arg_mbs, target_mbs, losses, return_outputs):
        for stage in self.stages:
            stage.clear()
        if self.is_looped:
            self._step_looped(arg_mbs, target_mbs, losses, return_outputs)
        elif self.settings["pp-schedule"] == "gpipe":
            self._step_gpipe(arg_mbs, target_mbs, losses, return_outputs)
        else:
            self._step_1f1b(arg_mbs, target_mbs, losses, return_outputs)
        last = self.stages[len(self.stages) - 1]
        return _merge(last.output_chunks) if last.is_last and return_outputs else None

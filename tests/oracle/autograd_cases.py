#!/usr/bin/env python3
"""tests/oracle/autograd_cases.py - the memory of small programs around autograd, on CUDA or its stand-in.

    python3 tests/oracle/autograd_cases.py [--print]

Writes tests/golden/oracle/autograd_cases.txt: "NAME EVENTS" a line, events as in op_cases.txt.
tests/engine/autograd/test_autograd_programs.c, test_autocast.c and test_checkpoint.c run the same programs in C; x and
y are leaves [2,3] (24 bytes), w is one of [3,3] (36 bytes), h is a leaf [2,3] of float16. What is made before the first
mark is not shown.
"""
import inspect
import os
import sys

import nogpu

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(os.path.dirname(HERE), "golden", "oracle", "autograd_cases.txt")


# ---- autograd ----


def one_product(torch, x, y, w, h):
    (x * y).sum().backward()


def gradients_accumulate(torch, x, y, w, h):
    (x * y).sum().backward()
    (x * y).sum().backward()


def fan_in(torch, x, y, w, h):
    a = x * 2.0
    loss = (a * 3.0 + a * 4.0 + a * 5.0).sum()
    loss.backward()


def fan_in_of_expanded(torch, x, y, w, h):
    a = x * 2.0
    loss = a.sum() + a.mean()
    loss.backward()


def same_operand_twice(torch, x, y, w, h):
    (x * x).sum().backward()


def same_term_twice(torch, x, y, w, h):
    (x + x).sum().backward()


def shared_weight(torch, x, y, w, h):
    loss = (torch.mm(torch.mm(x, w), w)).sum()
    loss.backward()


def temporaries_go_early(torch, x, y, w, h):
    a = torch.relu(x)
    a = torch.relu(a)
    a = torch.sigmoid(a)
    loss = a.sum()
    del a
    loss.backward()


def names_keep_results(torch, x, y, w, h):
    a = x * y
    b = torch.tanh(a)
    loss = b.sum()
    loss.backward()
    del a
    del b
    del loss


def retained_graph(torch, x, y, w, h):
    loss = (x * y).sum()
    loss.backward(retain_graph=True)
    loss.backward()


def graph_dropped(torch, x, y, w, h):
    a = torch.tanh(torch.exp(x * y))
    b = torch.sigmoid(a)
    del a
    del b


def two_roots(torch, x, y, w, h):
    a = (x * 2.0).sum()
    b = (x * y).sum()
    torch.autograd.backward([a, b])


def root_under_root(torch, x, y, w, h):
    a = x * 2.0
    s = a.sum()
    b = s * 3.0
    torch.autograd.backward([s, b])


def grad_of_leaf(torch, x, y, w, h):
    loss = (x * y).sum()
    g = torch.autograd.grad(loss, [x])
    del g
    del loss


def grad_prunes(torch, x, y, w, h):
    a = x * y
    b = torch.exp(a)
    loss = b.sum()
    g = torch.autograd.grad(loss, [a])
    del g
    del b
    del loss


def grad_of_both(torch, x, y, w, h):
    loss = (torch.exp(x) * torch.exp(y)).sum()
    g = torch.autograd.grad(loss, [x, y])
    del g
    del loss


def grad_prunes_operands(torch, x, y, w, h):
    loss = torch.mm(torch.exp(x), torch.exp(w)).sum()
    g = torch.autograd.grad(loss, [w])
    del g
    del loss


def grad_of_parts(torch, x, y, w, h):
    a, b = torch.split(x, 1)
    loss = (torch.exp(a) * torch.sin(b)).sum()
    g = torch.autograd.grad(loss, [b, a])
    del g
    del loss
    del a, b


def gradient_given(torch, x, y, w, h):
    g = torch.ones(2, 3, device="cuda")
    (x * y).backward(g)
    del g


def no_grad_inside(torch, x, y, w, h):
    with torch.no_grad():
        a = torch.exp(x)
    b = (a * x).sum()
    b.backward()
    del a
    del b


def detached(torch, x, y, w, h):
    a = torch.exp(x)
    b = (a.detach() * x).sum()
    del a
    b.backward()
    del b


def in_place_chain(torch, x, y, w, h):
    a = x * 2.0
    a.mul_(3.0)
    a.add_(y)
    a.relu_()
    loss = a.sum()
    loss.backward()
    del a
    del loss


def in_place_on_view(torch, x, y, w, h):
    a = x * 2.0
    b = a[0]
    b.mul_(y[1])
    loss = a.sum()
    del b
    loss.backward()
    del a
    del loss


def two_writes_to_a_view(torch, x, y, w, h):
    a = torch.zeros(2, 3, device="cuda")
    a[0] = x[0]
    a[1] = y[0]
    loss = (a * a).sum()
    loss.backward()
    del a
    del loss


def transposed_weight(torch, x, y, w, h):
    loss = torch.nn.functional.linear(x, w).sum()
    loss.backward()
    loss = torch.nn.functional.linear(x, w).sum()
    loss.backward()
    del loss


def split_and_joined(torch, x, y, w, h):
    a, b, c = torch.split(x, 1, 1)
    loss = (torch.cat([a, c], 1) * 2.0).sum()
    del a, b, c
    loss.backward()
    del loss


def half_to_float(torch, x, y, w, h):
    a = h.float()
    loss = (a * x).sum()
    del a
    loss.backward()
    del loss


# ---- autocast ----


def cast_once(torch, x, y, w, h):
    with torch.autocast("cuda", dtype=torch.float16):
        a = torch.mm(x.detach(), w)
        b = torch.mm(a, w)
        del a
    loss = b.float().sum()
    del b
    loss.backward()
    del loss


def cast_nested(torch, x, y, w, h):
    with torch.autocast("cuda", dtype=torch.float16):
        a = torch.mm(x.detach(), w)
        with torch.autocast("cuda", enabled=False):
            b = torch.mm(x.detach(), w)
        with torch.autocast("cuda", dtype=torch.float16):
            c = torch.mm(x.detach(), w)
        del b
        del c
        del a


def cast_frozen(torch, x, y, w, h):
    v = w.detach()
    with torch.autocast("cuda", dtype=torch.float16):
        a = torch.mm(x, v)
        b = torch.mm(x, v)
        del a
        del b


def cast_policies(torch, x, y, w, h):
    with torch.autocast("cuda", dtype=torch.float16):
        a = torch.mm(x, w)
        b = torch.exp(a)
        c = torch.softmax(a, 1)
        d = a.sum()
        e = torch.relu(a)
        f = a + x
        g = torch.cat([a, x])
        i = torch.addcmul(x, a, a)
    del a, b, c, d, e, f, g, i


def cast_backward(torch, x, y, w, h):
    with torch.autocast("cuda", dtype=torch.float16):
        a = torch.mm(torch.relu(torch.mm(x.detach(), w)), w)
        loss = a.float().sum()
    del a
    loss.backward()
    del loss


def cast_without_cache(torch, x, y, w, h):
    with torch.autocast("cuda", dtype=torch.float16, cache_enabled=False):
        a = torch.mm(x.detach(), w)
        b = torch.mm(a, w)
        del a
        del b


# ---- checkpoint ----


def layers(torch, w):
    return lambda t: torch.tanh(torch.mm(torch.relu(torch.mm(t, w)), w))


def checkpoint(torch, f, *args, **words):
    from torch.utils.checkpoint import checkpoint as run
    return run(f, *args, use_reentrant=False, **words)


def plain_layers(torch, x, y, w, h):
    loss = layers(torch, w)(x).sum()
    loss.backward()
    del loss


def checkpointed_layers(torch, x, y, w, h):
    loss = checkpoint(torch, layers(torch, w), x).sum()
    loss.backward()
    del loss


def checkpoint_dropped(torch, x, y, w, h):
    a = checkpoint(torch, layers(torch, w), x)
    del a


def checkpoint_of_checkpoint(torch, x, y, w, h):
    inner = layers(torch, w)
    loss = checkpoint(torch, lambda t: torch.exp(checkpoint(torch, inner, torch.sin(t))), x).sum()
    loss.backward()
    del loss


def checkpoint_early_stop(torch, x, y, w, h):
    loss = checkpoint(torch, lambda t: torch.exp(torch.sin(t)) * 2.0 + 1.0, x).sum()
    loss.backward()
    del loss


def checkpoint_twice(torch, x, y, w, h):
    f = layers(torch, w)
    a = checkpoint(torch, f, x)
    loss = checkpoint(torch, f, a).sum()
    del a
    loss.backward()
    del loss


def checkpoint_retained(torch, x, y, w, h):
    loss = checkpoint(torch, layers(torch, w), x).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    del loss


def programs():
    module = sys.modules[__name__]
    found = [(n, f) for n, f in vars(module).items()
             if inspect.isfunction(f) and list(inspect.signature(f).parameters) == ["torch", "x", "y", "w", "h"]]
    return sorted(found, key=lambda p: p[1].__code__.co_firstlineno)


def events_of(torch, program):
    import events
    x, y = (torch.empty(2, 3, device="cuda", requires_grad=True) for _ in range(2))
    w = torch.empty(3, 3, device="cuda", requires_grad=True)
    h = torch.empty(2, 3, device="cuda", dtype=torch.float16, requires_grad=True)
    torch.cuda.memory._record_memory_history("all", context="all", stacks="all", max_entries=100000)
    program(torch, x, y, w, h)
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    torch.cuda.memory._record_memory_history(None)
    rows = events.without_scratch(events.read(trace))
    return [("+%d" % e.bytes if e.kind == "alloc" else "-%d@%d" % (e.bytes, e.id + 1), e.op) for e in rows]


def main():
    nogpu.enter()
    import torch
    torch.cuda.init()
    warm = torch.ones(2, 2, device="cuda", requires_grad=True)
    (warm @ warm).sum().backward()
    lines = ["# torch %s, made by tests/oracle/autograd_cases.py" % torch.__version__]
    for name, program in programs():
        rows = events_of(torch, program)
        lines.append(name + " " + " ".join(word for word, op in rows))
        if "--print" in sys.argv:
            lines += ["    %s %s" % row for row in rows]
    if "--print" in sys.argv:
        print("\n".join(lines))
        return 0
    with open(OUT, "w") as f:
        f.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

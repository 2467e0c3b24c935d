#!/usr/bin/env python3
"""tests/oracle/torch2net_cases.py - what torch2net.py says and writes for small models; needs PyTorch.

    python3 tests/oracle/torch2net_cases.py
"""
import os
import sys
import tempfile
import unittest

import nogpu

nogpu.enter()

import torch  # noqa: E402
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
import torch.utils.checkpoint  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "sample_nets", "tools"))

import torch2net  # noqa: E402


class Inner(nn.Module):
    """A block whose forward is `body(self, x)`."""

    def __init__(self, body, width=4):
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.act = nn.ReLU(inplace=True)
        self.body = body

    def forward(self, x):
        return self.body(self, x)


class Outer(nn.Module):
    def __init__(self, *blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def plain(self, x):
    x = self.fc(x)
    return self.act(x)


class Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, w):
        ctx.save_for_backward(x, w)
        ctx.factor = factor
        ctx.rows = x.shape[0]
        y = x * w
        return y * factor

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        g = g * ctx.factor
        return g * w, None, (g * x).sum(0) / ctx.rows if ctx.needs_input_grad[2] else None


class Square(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x = ctx.saved_tensors[0]
        return 2 * x * g


def x():
    return torch.zeros(6, 4)


def write(model, inputs=None, **more):
    """The text of the net file, which has been run and compared with the model."""
    path = os.path.join(tempfile.mkdtemp(), "net.py")
    torch2net.write(model, x() if inputs is None else inputs, path, **more)
    with open(path) as f:
        return f.read()


class Refusals(unittest.TestCase):
    def refused(self, model, *texts, inputs=None, **more):
        with self.assertRaises(torch2net.REFUSED) as caught:
            write(model, inputs, **more)
        for text in texts:
            self.assertIn(text, str(caught.exception))

    def test_an_op_that_is_missing_is_named_with_its_module_and_line(self):
        model = Outer(Inner(plain), Inner(lambda self, x: torch.logit(self.fc(x))))
        self.refused(model, "module blocks.1 (Inner): torch.logit is not in the net language", "torch2net_cases.py:")

    def test_every_missing_op_is_named(self):
        self.refused(Outer(Inner(lambda self, x: torch.logit(x)), Inner(lambda self, x: torch.digamma(x))),
                     "module blocks.0 (Inner): torch.logit", "module blocks.1 (Inner): torch.digamma")

    def test_a_module_of_torch_that_is_missing_is_named_by_the_op_it_calls(self):
        model = nn.Sequential(nn.Linear(4, 8), nn.LPPool1d(2, 2))
        self.refused(model, "module 1 (LPPool1d)", "lp_pool1d", loss="output.sum()")

    def test_a_condition_on_values_is_refused(self):
        self.refused(Outer(Inner(lambda self, x: x if x.sum() > 0 else -x)), "module blocks.0 (Inner)", "values")

    def test_a_size_that_depends_on_values_is_refused(self):
        self.refused(Outer(Inner(lambda self, x: x[x > 0])), "module blocks.0 (Inner)", "values")

    def test_the_models_own_checkpointing_is_refused(self):
        body = lambda self, x: torch.utils.checkpoint.checkpoint(self.fc, x, use_reentrant=False)  # noqa: E731
        self.refused(Outer(Inner(body)), "module blocks.0 (Inner)", "checkpointing off")

    def test_hooks_for_backward_are_refused(self):
        model = Outer(Inner(plain))
        model.blocks[0].fc.register_full_backward_hook(lambda *a: None)
        self.refused(model, "module blocks.0 (Inner)", "fc has hooks for backward")

    def test_an_object_as_result_is_refused(self):
        class Holder:
            pass
        self.refused(Outer(Inner(lambda self, x: Holder())), "module blocks.0 (Inner)", "returns a Holder")

    def test_a_tensor_that_is_kept_where_nobody_sees_it_is_refused(self):
        kept = []
        self.refused(Outer(Inner(lambda self, x: kept.append(self.fc(x)) or x)), "module blocks.0 (Inner)",
                     "outlives its forward")

    def test_a_module_called_in_two_ways_is_refused(self):
        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner(lambda self, x: self.fc(x) if x.shape[0] == 6 else F.relu(self.fc(x)))

            def forward(self, x):
                return self.inner(x).sum(0) + self.inner(x[:2]).sum(0)
        self.refused(Two(), "module inner (Inner) is called in different ways", loss="output.sum()")

    def test_an_output_without_a_usual_loss_needs_one(self):
        self.refused(Inner(lambda self, x: self.fc(x).sum()), "give loss=")


class Files(unittest.TestCase):
    def test_equal_blocks_share_a_class_and_numbers_become_parameters(self):
        model = nn.Sequential(nn.Linear(4, 8), Inner(plain, 8), nn.Linear(8, 4), Inner(plain, 4), Inner(plain, 4))
        text = write(model)
        self.assertEqual(text.count("class Inner"), 1)
        self.assertIn("def __init__(self, in_features):", text)
        self.assertIn("Inner(8)", text)

    def test_in_place_flags_are_kept(self):
        self.assertIn("nn.ReLU(inplace=True)", write(Outer(Inner(plain))))

    def test_names_are_bound_again_where_the_source_does(self):
        text = write(Outer(Inner(plain)))
        self.assertIn("x = self.fc(x)", text)
        self.assertIn("return self.act(x)", text)

    def test_a_value_that_the_source_keeps_is_kept(self):
        def body(self, x):
            a = self.fc(x)
            b = F.relu(a)
            c = b * 2
            del a
            return c + b
        lines = [line.split("#")[0].strip() for line in write(Outer(Inner(body))).split("\n")]
        self.assertIn("c = b * 2", lines)
        at = lines.index("c = b * 2")
        self.assertEqual(lines[at + 1:at + 3], ["del a", "return c + b"])

    def test_sizes_stay_sizes(self):
        text = write(Outer(Inner(lambda self, x: x.view(x.shape[0] // 2, 2, -1).reshape(x.shape[0], 4))))
        self.assertIn("x.view(x.shape[0] // 2, 2, -1)", text)

    def test_named_sizes_keep_their_names(self):
        def body(self, x):
            rows, width = x.shape
            return x.view(rows * width).view(rows, width)
        self.assertIn("rows, width = x.shape", write(Outer(Inner(body))))

    def test_what_differs_in_eval_mode_needs_the_mode(self):
        text = write(Outer(Inner(lambda self, x: x * 2 if self.training else x)))
        self.assertIn("if self.training:", text)

    def test_dropout_follows_the_mode(self):
        text = write(Outer(Inner(lambda self, x: F.dropout(x, 0.3, self.training))))
        self.assertIn("F.dropout(x, p=0.3, training=self.training)", text)
        self.assertNotIn("if self.training:", text)

    def test_tied_weights_stay_tied(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        model[1].weight = model[0].weight
        self.assertIn("net[1].weight = net[0].weight", write(model))

    def test_dtypes_frozen_parameters_and_modules_in_eval_mode_are_kept(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)).bfloat16()
        model[0].weight.requires_grad_(False)
        model[1].eval()
        text = write(model, torch.zeros(6, 4, dtype=torch.bfloat16))
        for part in ("net.bfloat16()", "net[0].weight.requires_grad_(False)", "net[1].eval()", "dtype=torch.bfloat16"):
            self.assertIn(part, text)

    def test_no_grad_is_a_block(self):
        def body(self, x):
            with torch.no_grad():
                y = self.fc(x)
            return x + y
        self.assertIn("with torch.no_grad():", write(Outer(Inner(body))))

    def test_autocast_regions_are_blocks(self):
        def body(self, x):
            with torch.autocast("cuda", enabled=False):
                y = self.fc(x)
            return x + y
        self.assertIn('with torch.autocast("cuda", enabled=False):', write(Outer(Inner(body))))

    def test_new_tensors_are_made_where_the_input_is(self):
        text = write(Outer(Inner(lambda self, x: x + torch.arange(4, device=x.device))))
        self.assertIn("torch.arange(4, device=x.device)", text)

    def test_several_inputs_come_as_one(self):
        class Pair(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 3)

            def forward(self, a, b):
                return self.fc(a * b)
        text = write(Pair(), {"a": x(), "b": x()})
        self.assertIn('inputs["a"] * inputs["b"]', text)
        self.assertIn('return {"a": torch.randn(n, 4), "b": torch.randn(n, 4)}, torch.randint(0, 3, (n,))', text)

    def test_a_function_is_written_as_the_loss(self):
        text = write(Outer(Inner(plain)), loss=lambda output, target: F.mse_loss(output, target),
                     target=torch.zeros(6, 3))
        self.assertIn("return F.mse_loss(output, target)", text)

    def test_custom_functions_become_classes(self):
        body = lambda self, x: Times.apply(Times.apply(x, 3, self.fc.weight[0]), 5, self.fc.bias)  # noqa: E731
        text = write(Outer(Inner(body), Inner(body)))
        for part in ("class Times(torch.autograd.Function):", "def forward(ctx, x, w):", "ctx.save_for_backward(x, w)",
                     "ctx.rows = x.shape[0]", "y = x * w", "return y * 3", "x, w = ctx.saved_tensors",
                     "value = ctx.rows", "sum / value", "class Times2(", "return y * 5",
                     "Times2.apply(", "Times.apply("):
            self.assertIn(part, text)
        self.assertEqual(text.count("(torch.autograd.Function):"), 2)

    def test_a_separate_setup_context_is_a_part_of_forward(self):
        text = write(Outer(Inner(lambda self, x: Square.apply(x))))
        lines = [line.split("#")[0].strip() for line in text.split("\n")]
        at = lines.index("def forward(ctx, x):")
        self.assertEqual(lines[at + 1:at + 4], ["mul = x * x", "ctx.save_for_backward(x)", "return mul"])

    def test_hooks_are_a_part_of_forward(self):
        model = Outer(Inner(plain), Inner(plain))
        model.blocks[0].fc.register_forward_hook(lambda module, args, output: output * 2)
        model.blocks[1].register_forward_pre_hook(lambda module, args: (args[0] + 1,))
        text = write(model)
        self.assertIn("F.linear(x, self.weight, self.bias)", text.replace("input", "x"))
        self.assertIn("* 2", text)
        self.assertIn("+ 1", text)

    def test_a_module_that_grows_its_callers_list_is_a_part_of_its_caller(self):
        class Grows(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner(lambda self, kept: kept.append(self.fc(kept[-1])))

            def forward(self, x):
                kept = [x]
                self.inner(kept)
                self.inner(kept)
                return torch.cat(kept, 1)
        text = write(Grows())
        self.assertEqual(text.count("self.inner.fc("), 2)
        self.assertIn("torch.cat([x, linear", text.replace("fc", "linear"))

    def test_what_returns_under_no_grad_is_named_there(self):
        class Frozen(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 4)

            @torch.no_grad()
            def forward(self, x):
                return x * 2
        text = write(Outer(Frozen()))
        lines = [line.split("#")[0].strip() for line in text.split("\n")]
        at = lines.index("with torch.no_grad():")
        self.assertEqual(lines[at + 1:at + 3], ["mul = x * 2", "return mul"])

    def test_a_number_raised_to_a_tensor_is_a_call(self):
        self.assertIn("torch.pow(10000, ", write(Outer(Inner(lambda self, x: torch.pow(10000, self.fc(x))))))

    def test_in_reads_values_of_the_example(self):
        def body(self, x):
            at = torch.arange(3, device=x.device)
            return x * 2 if 2 in at else x * 3
        text = write(Outer(Inner(body)))
        self.assertIn("(at == 2).any()", text)
        self.assertIn("x * 2", text)

    def test_what_forward_says_of_gradients_is_written(self):
        def body(self, x):
            x = x[:, None]
            x.requires_grad = True
            return (x * 2).detach().requires_grad_().squeeze(1)
        text = write(Outer(Inner(body)))
        self.assertIn("x.requires_grad = True", text)
        self.assertIn("detach.requires_grad = True", text)

    def test_what_the_first_forward_keeps_is_made_once(self):
        class Positions(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("rows", torch.zeros(1), persistent=False)
                self.fc = nn.Linear(4, 4)

            def forward(self, x):
                if self.rows.shape[0] != x.shape[0]:
                    self.rows = self.made(x)
                return self.fc(x) + self.rows

            def made(self, x):
                rows = torch.arange(x.shape[0], dtype=torch.float32)[:, None]
                return rows.to(x.device)
        text = write(Outer(Positions(), Positions()))
        lines = [line.split("#")[0].strip() for line in text.split("\n")]
        self.assertIn('self.register_buffer("rows", torch.zeros(1), persistent=False)', lines)
        at = lines.index("if self.is_first:")
        self.assertEqual(lines[at + 1], "self.is_first = False")
        self.assertEqual(len([line for line in lines if line.startswith("self.rows = ")]), 1)
        self.assertEqual(lines.count("self.is_first = True"), 1)
        self.assertIn("return self.fc(x) + self.rows", lines)

    def test_what_every_forward_keeps_is_kept_where_the_source_does(self):
        def body(self, x):
            self.seen = x = self.fc(x)
            x = x * 2
            self.seen = None
            return x + 1
        text = write(Outer(Inner(body)))
        lines = [line.split("#")[0].strip() for line in text.split("\n")]
        at = lines.index("self.seen = fc")
        self.assertNotIn("if self.is_first:", lines)
        self.assertEqual(lines[at + 1:at + 5], ["x = fc * 2", "self.seen = None", "del fc", "return x + 1"])

    def test_an_optimizer_is_written_with_what_is_not_its_default(self):
        model = Outer(Inner(plain))
        text = write(model, optimizer=torch.optim.AdamW(model.parameters(), lr=0.002, weight_decay=0.1))
        self.assertIn("torch.optim.AdamW(model.parameters(), lr=0.002, weight_decay=0.1)", text)

    def test_whole_numbers_of_the_example_decide(self):
        def body(self, x):
            at = torch.arange(3, device=x.device)
            return x * 2 if (at == 2).any() else x * 3
        text = write(Outer(Inner(body)))
        self.assertIn("x * 2", text)
        self.assertNotIn("x * 3", text)
        self.assertIn("# Decided by the example's values", text)


if __name__ == "__main__":
    unittest.main()

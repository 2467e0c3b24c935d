"""tests/programs/published/sharded/pretrain.py CHECKOUT SCRIPT CASE [STEPS] - one rank of Megatron-LM's
training, and its memory after each step.

CHECKOUT is a checkout of NVIDIA/Megatron-LM, SCRIPT its pretrain_gpt.py or another of that kind, CASE a row of
peaks.tsv (settings.py). Run by `vramscope record --world N --rank R`. After each step comes a line

    peak STEP ALLOCATED MAX_ALLOCATED MAX_RESERVED

in bytes, at the place where Megatron-LM logs its own. Data is --mock-data: shapes are those of any text.
"""
import importlib.util
import os
import runpy
import sys
import types

import torch
from settings import settings_of
from te_by_hand import extension_add


def apex_gemm_add():
    """What is called of Apex with --gradient-accumulation-fusion: a product that is added to main_grad, which takes no
    memory but PyTorch's workspace of cuBLAS."""
    module = types.ModuleType("fused_weight_gradient_mlp_cuda")

    def accumulate(_input, _grad_output, _main_grad):
        torch.cuda.current_blas_handle()

    module.wgrad_gemm_accum_fp32 = module.wgrad_gemm_accum_fp16 = accumulate
    sys.modules[module.__name__] = module


def steps_report(training):
    log = training.training_log

    def log_and_report(*args, **named):
        stats = torch.cuda.memory_stats()
        print("peak", training.get_args().curr_iteration + 1, stats["allocated_bytes.all.current"],
              stats["allocated_bytes.all.peak"], stats["reserved_bytes.all.peak"], flush=True)
        return log(*args, **named)

    training.training_log = log_and_report


def training_begin(training):
    """The first rank of tensor parallel decides whether the others train; a rank that runs alone decides itself."""
    build = training.build_train_valid_test_data_loaders

    def build_and_train(*args):
        loaders = build(*args)
        training.get_args().do_train = True
        return loaders

    training.build_train_valid_test_data_loaders = build_and_train


def main():
    checkout, script, case = sys.argv[1:4]
    steps = sys.argv[4] if len(sys.argv) > 4 else "2"
    arguments, environment = settings_of(checkout, case)
    os.environ.update(environment)
    sys.argv = [script, *arguments, "--mock-data", "--exit-interval", steps]
    sys.path.insert(0, checkout)
    if "uninstall_te" in case:
        sys.modules["transformer_engine"] = None
    elif importlib.util.find_spec("transformer_engine_torch") is None:
        extension_add()
    apex_gemm_add()
    from megatron.training import training
    steps_report(training)
    training_begin(training)
    runpy.run_path(script, run_name="__main__")


main()

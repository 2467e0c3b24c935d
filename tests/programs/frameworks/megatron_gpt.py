"""tests/programs/frameworks/megatron_gpt.py TP PP [zero] - pretraining a GPT with Megatron Core.

What pretrain_gpt.py does with `--transformer-impl local --mock-data --bf16`: tensor parallel, 1F1B, gradients in
float32. Run by torchrun. zero: the distributed optimizer, its communication overlapped. The package megatron_core has
all but that script.
"""
import functools
import os
import sys

import torch
from figures import figures
from megatron.core import parallel_state, tensor_parallel
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.transformer.module import Float16Module
from megatron.core.transformer.transformer_config import TransformerConfig

LENGTH, WORDS, MICRO_BATCH, MICRO_BATCHES = 128, 1024, 2, 4
tp, pp, zero = int(sys.argv[1]), int(sys.argv[2]), "zero" in sys.argv


def build():
    config = TransformerConfig(
        num_layers=4, hidden_size=128, num_attention_heads=4, bf16=True, params_dtype=torch.bfloat16,
        pipeline_dtype=torch.bfloat16, tensor_model_parallel_size=tp, pipeline_model_parallel_size=pp,
        gradient_accumulation_fusion=False, masked_softmax_fusion=False, apply_query_key_layer_scaling=True)
    model = GPTModel(config, get_gpt_layer_local_spec(), WORDS, LENGTH,
                     pre_process=parallel_state.is_pipeline_first_stage(),
                     post_process=parallel_state.is_pipeline_last_stage())
    model = Float16Module(config, model.cuda())
    settings = DistributedDataParallelConfig(grad_reduce_in_fp32=True, use_distributed_optimizer=zero,
                                             overlap_grad_reduce=zero, overlap_param_gather=zero)
    model = DistributedDataParallel(config, settings, model)
    optimizer = get_megatron_optimizer(OptimizerConfig(
        optimizer="adam", lr=1e-4, weight_decay=0.01, bf16=True, params_dtype=torch.bfloat16, clip_grad=1.0,
        use_distributed_optimizer=zero, overlap_param_gather=zero), [model])
    config.grad_scale_func = optimizer.scale_loss
    config.finalize_model_grads_func = finalize_model_grads
    if zero:
        config.no_sync_func = model.no_sync
    return model, optimizer


def data():
    """Mock data: the same tokens in every sample."""
    positions = torch.arange(LENGTH)
    mask = torch.ones(1, 1, LENGTH, LENGTH).tril() < 0.5
    while True:
        tokens = (positions[None] + 1).repeat(MICRO_BATCH, 1) % WORDS
        yield tokens, positions[None].expand_as(tokens), mask


def loss_of(output):
    loss = output.float().mean()
    reduced = loss.detach().clone()
    torch.distributed.all_reduce(reduced, group=parallel_state.get_data_parallel_group())
    return loss, {"lm loss": reduced}


def forward_step(batches, model):
    tokens, positions, mask = (t.cuda(non_blocking=True) for t in next(batches))
    return model(tokens, positions, mask, labels=tokens), functools.partial(loss_of)


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.distributed.init_process_group("nccl")
    parallel_state.initialize_model_parallel(tp, pp)
    tensor_parallel.model_parallel_cuda_manual_seed(1)
    model, optimizer = build()
    batches = data()
    for _ in range(3):
        model.zero_grad_buffer()
        optimizer.zero_grad()
        get_forward_backward_func()(
            forward_step_func=forward_step, data_iterator=batches, model=[model], num_microbatches=MICRO_BATCHES,
            seq_length=LENGTH, micro_batch_size=MICRO_BATCH)
        updated, norm, _ = optimizer.step()
        assert updated
    figures()
    torch.distributed.destroy_process_group()


main()

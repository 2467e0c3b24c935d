"""tests/programs/frameworks/deepspeed_zero.py STAGE [offload] - DeepSpeed's ZeRO in bfloat16. Run by torchrun, or
DeepSpeed's own launcher, which adds an argument.
"""
import sys

import deepspeed
import torch
from figures import figures
from torch import nn

stage = next(int(word) for word in sys.argv[1:] if word.isdigit())
zero = {"stage": stage, "overlap_comm": True, "contiguous_gradients": True, "reduce_bucket_size": 100000,
        "stage3_param_persistence_threshold": 1000}
if "offload" in sys.argv:
    zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if stage == 3:
        zero["offload_param"] = {"device": "cpu", "pin_memory": True}
config = {"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, "bf16": {"enabled": True},
          "gradient_clipping": 1.0, "zero_optimization": zero, "zero_force_ds_cpu_optimizer": False,
          "zero_allow_untested_optimizer": True}
deepspeed.init_distributed()
with deepspeed.zero.Init(config_dict_or_path=config, enabled=stage == 3):
    # no TransformerEncoder: it copies a layer that stage 3 has partitioned already, and a copy has no elements
    layers = [nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True) for _ in range(3)]
    model = nn.Sequential(nn.Embedding(1000, 128), *layers, nn.Linear(128, 1000))
optimizer = torch.optim.AdamW(model.parameters())
engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
for _ in range(4):
    x = torch.randint(0, 1000, (4, 64), device=engine.device)
    engine.backward(nn.functional.cross_entropy(engine(x).flatten(0, 1).float(), x.flatten()))
    engine.step()
figures()
torch.distributed.destroy_process_group()

"""tests/programs/frameworks/mixtral.py [IMPLEMENTATION] - transformers' Mixtral, with the router's own loss."""
import sys

import torch
from figures import figures
from transformers import MixtralConfig, MixtralForCausalLM

config = MixtralConfig(vocab_size=1000, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                       num_attention_heads=4, num_key_value_heads=2, num_local_experts=4, output_router_logits=True)
if len(sys.argv) > 1:
    config._experts_implementation = sys.argv[1]
model = MixtralForCausalLM(config).to("cuda", torch.bfloat16)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    x = torch.randint(0, 1000, (2, 64)).cuda()
    model(input_ids=x, labels=x).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
figures()

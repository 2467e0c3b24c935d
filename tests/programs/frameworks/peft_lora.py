"""tests/programs/frameworks/peft_lora.py - LoRA by peft on a Llama of transformers, gradients clipped, a scheduler."""
import torch
from figures import figures
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, get_linear_schedule_with_warmup

config = LlamaConfig(vocab_size=1000, hidden_size=128, intermediate_size=352, num_hidden_layers=3,
                     num_attention_heads=4, num_key_value_heads=2)
model = LlamaForCausalLM(config).to("cuda", torch.bfloat16)
model = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, lora_dropout=0.05, task_type="CAUSAL_LM",
                                         target_modules=["q_proj", "v_proj", "down_proj"]))
model.print_trainable_parameters()
optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-4)
scheduler = get_linear_schedule_with_warmup(optimizer, 1, 3)
for _ in range(3):
    x = torch.randint(0, 1000, (4, 128)).cuda()
    model(input_ids=x, labels=x).loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()
figures()

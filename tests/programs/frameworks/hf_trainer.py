"""tests/programs/frameworks/hf_trainer.py [checkpoint] - transformers' Trainer, a causal language model in bfloat16."""
import sys
import tempfile

import torch
from figures import figures
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        x = torch.arange(i, i + 128) % 1000
        return {"input_ids": x, "labels": x}


set_seed(0)
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(folder, per_device_train_batch_size=4, gradient_accumulation_steps=2, max_steps=3,
                                  bf16=True, gradient_checkpointing="checkpoint" in sys.argv, report_to=[],
                                  logging_steps=1, save_strategy="no", dataloader_num_workers=1, disable_tqdm=True)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=1000, n_positions=128, n_embd=128, n_layer=4, n_head=4))
    Trainer(model, arguments, train_dataset=Data()).train()
figures()

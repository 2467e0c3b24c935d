"""tests/programs/frameworks/hf_run_clm.py [evaluate] - fine-tuning as transformers' run_clm.py does it.

A text file, a tokenizer, `datasets` that tokenize and group it, Trainer with checkpoints, and training that goes on
from one of them. evaluate: in between, too; accelerate then reads sizes on the device, which needs --values uniform.
"""
import itertools
import os
import sys
import tempfile

from datasets import load_dataset
from figures import figures
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import (AutoConfig, AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPT2LMHeadModel,
                          PreTrainedTokenizerFast, Trainer, TrainingArguments, default_data_collator, set_seed)

BLOCK = 64
EVALUATE = "evaluate" in sys.argv
WORDS = "the quick brown fox jumps over a lazy dog while memory grows with every layer and every token".split()


def prepare(folder):
    """A text, a tokenizer trained on it, and a model to begin with."""
    text = os.path.join(folder, "train.txt")
    lines = [" ".join(WORDS[(i * j + j) % len(WORDS)] for j in range(60)) for i in range(200)]
    with open(text, "w") as f:
        f.write("\n".join(lines))
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=300, special_tokens=["<unk>", "<end>"]))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", eos_token="<end>").save_pretrained(folder)
    config = GPT2Config(vocab_size=300, n_positions=BLOCK, n_embd=64, n_layer=2, n_head=4)
    GPT2LMHeadModel(config).save_pretrained(folder)
    return text


def group(examples):
    whole = {k: list(itertools.chain(*v)) for k, v in examples.items()}
    end = len(whole["input_ids"]) // BLOCK * BLOCK
    parts = {k: [v[i:i + BLOCK] for i in range(0, end, BLOCK)] for k, v in whole.items()}
    parts["labels"] = [list(p) for p in parts["input_ids"]]
    return parts


def main(folder):
    text = prepare(folder)
    set_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, config=AutoConfig.from_pretrained(folder))
    model.resize_token_embeddings(len(tokenizer) + 4)
    raw = load_dataset("text", data_files={"train": text}, cache_dir=folder)["train"].train_test_split(0.1, seed=0)
    tokens = raw.map(lambda e: tokenizer(e["text"]), batched=True, remove_columns=["text"])
    data = tokens.map(group, batched=True)
    arguments = TrainingArguments(
        os.path.join(folder, "out"), per_device_train_batch_size=4, per_device_eval_batch_size=8, bf16=True,
        gradient_accumulation_steps=2, max_steps=6, learning_rate=1e-3, lr_scheduler_type="cosine", warmup_steps=1,
        eval_strategy="steps" if EVALUATE else "no", eval_steps=3, save_steps=3, logging_steps=1, report_to=[],
        disable_tqdm=True, gradient_checkpointing=True, dataloader_num_workers=1)
    trainer = Trainer(model, arguments, train_dataset=data["train"], eval_dataset=data["test"],
                      processing_class=tokenizer, data_collator=default_data_collator,
                      compute_metrics=lambda p: {"accuracy": float((p.predictions == p.label_ids).mean())},
                      preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(-1))
    trainer.log_metrics("train", trainer.train().metrics)
    trainer.save_model()
    trainer.save_state()
    if EVALUATE:
        trainer.log_metrics("eval", trainer.evaluate())
    trainer.train(resume_from_checkpoint=os.path.join(folder, "out", "checkpoint-3"))


with tempfile.TemporaryDirectory() as made:
    main(made)
figures()

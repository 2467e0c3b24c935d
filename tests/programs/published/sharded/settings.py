"""tests/programs/published/sharded/settings.py - arguments of the published runs of Megatron-LM.

Those of NVIDIA's functional tests are read from a checkout; those of MooreThreads/SimuMax are written out here, after
its docs/b200 and launch scripts (v1.2).
"""
import os
import re

LEFT_OUT = {"--data-path", "--vocab-file", "--merge-file", "--tensorboard-dir", "--save", "--load", "--data-cache-path",
            "--log-memory-to-tensorboard", "--log-timers-to-tensorboard", "--log-validation-ppl-to-tensorboard",
            "--save-interval", "--tokenizer-type", "--tokenizer-model", "--exit-interval", "--eval-iters"}
GPT2_TOKENS = 50257

WORLD = 8
# name: hidden size, hidden size of the MLP, heads, groups of keys and values
DENSE = {"llama3_70b": (8192, 28672, 64, 8), "llama3_405b": (16384, 53248, 128, 16)}
# name: hidden size, hidden size of the MLP, vocabulary, experts, hidden size of one, of the shared, experts a token
EXPERTS = {"deepseekv2": (5120, 12288, 102400, 160, 1536, 3072, 6),
           "deepseekv3": (7168, 18432, 129280, 256, 2048, 2048, 8)}


def sections_of(path):
    """{section: {name: value}} of a model_config.yaml: two levels, comments, no more."""
    sections, section = {}, None
    for line in open(path):
        line = line.split(" #")[0].rstrip()
        if not line or line.lstrip().startswith("#"):
            continue
        name, _, value = line.strip().partition(": ")
        if line[0] != " ":
            section = sections.setdefault(line.split(":")[0], {})
        elif section is not None:
            section[name.rstrip(":")] = value.strip().strip("'\"")
    return sections


def functional_test(checkout, case):
    """(arguments, environment) of a folder below tests/functional_tests/test_cases."""
    folder = os.path.join(checkout, "tests/functional_tests/test_cases", case)
    config = sections_of(os.path.join(folder, "model_config.yaml"))
    arguments = []
    for name, value in config["MODEL_ARGS"].items():
        if name in LEFT_OUT or value == "false":
            continue
        arguments += [name] if value == "true" else [name, *value.split()]
    arguments += ["--eval-iters", "0", "--tokenizer-type", "NullTokenizer"]
    if "--vocab-size" not in arguments:
        arguments += ["--vocab-size", str(GPT2_TOKENS - 1)]
    return arguments, config.get("ENV_VARS", {})


def simumax(case):
    """(arguments, environment) of a case as SimuMax names it: llama3_70b_l12_tp2_cp4_pp1_dp1_seq32768_mbc4_cef."""
    model = re.match(r"llama3_\d+b|deepseekv\d", case).group()
    size = {name: int(value) for name, value in re.findall(r"_(l|tp|cp|ep|pp|seq|mbc)(\d+)", case)}
    tp, pp, cp, length = size["tp"], size["pp"], size.get("cp", 1), size.get("seq", 4096)
    text = f"""
        --num-layers {size["l"]} --seq-length {length} --max-position-embeddings {length}
        --attention-dropout 0.0 --hidden-dropout 0.0 --disable-bias-linear --position-embedding-type rope
        --no-position-embedding --swiglu --normalization RMSNorm --untie-embeddings-and-output-weights
        --tokenizer-type NullTokenizer --seed 42 --micro-batch-size 1
        --global-batch-size {size["mbc"] * (WORLD // (tp * pp * cp))} --use-mcore-models --no-bias-dropout-fusion
        --use-distributed-optimizer --use-flash-attn --sequence-parallel --recompute-granularity full
        --recompute-method block --recompute-num-layers 0 --distributed-backend nccl --weight-decay 0.1
        --adam-beta1 0.9 --adam-beta2 0.95 --clip-grad 1.0 --initial-loss-scale 65536 --min-loss-scale 1.0
        --train-iters 10 --lr-warmup-iters 1 --lr 2.4e-4 --lr-decay-style cosine --min-lr 1e-6
        --tensor-model-parallel-size {tp} --pipeline-model-parallel-size {pp} --bf16 --attention-softmax-in-fp32
        --no-masked-softmax-fusion --accumulate-allreduce-grads-in-fp32 --split 1
        --no-create-attention-mask-in-dataloader --log-interval 1 --log-throughput --eval-interval 1000 --eval-iters 0
        --transformer-impl transformer_engine --cross-entropy-loss-fusion --cross-entropy-fusion-impl te
        --no-check-for-nan-in-loss-and-grad"""
    text += dense(*DENSE[model]) if model in DENSE else experts(size, *EXPERTS[model])
    if cp > 1:
        text += f" --context-parallel-size {cp} --cp-comm-type a2a"
    return text.split(), {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}


def dense(hidden, feed_forward, heads, groups):
    return f""" --hidden-size {hidden} --ffn-hidden-size {feed_forward} --num-attention-heads {heads}
        --group-query-attention --num-query-groups {groups} --vocab-size 128256 --norm-epsilon 1e-5
        --init-method-std 0.008"""


def experts(size, hidden, feed_forward, vocabulary, count, expert, shared, chosen):
    return f""" --hidden-size {hidden} --ffn-hidden-size {feed_forward} --num-attention-heads 128
        --vocab-size {vocabulary} --norm-epsilon 1e-6 --init-method-std 0.006 --num-experts {count}
        --expert-model-parallel-size {size["ep"]} --moe-token-dispatcher-type alltoall
        --moe-router-score-function softmax --moe-router-num-groups {size["ep"]} --moe-router-group-topk 3
        --moe-router-load-balancing-type seq_aux_loss --moe-router-topk {chosen} --moe-router-pre-softmax
        --moe-router-topk-scaling-factor 16 --moe-aux-loss-coeff 3e-3 --moe-expert-capacity-factor 1
        --moe-ffn-hidden-size {expert} --moe-shared-expert-intermediate-size {shared}
        --moe-layer-freq ([0]*1+[1]*{size["l"] - 1})*1 --moe-grouped-gemm --moe-permute-fusion
        --moe-pad-expert-input-to-capacity --multi-latent-attention --enable-experimental --qk-layernorm
        --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128
        --rotary-scaling-factor 1"""


def settings_of(checkout, case):
    return functional_test(checkout, case) if "/" in case else simumax(case)

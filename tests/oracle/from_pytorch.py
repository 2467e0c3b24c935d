#!/usr/bin/env python3
"""tests/oracle/from_pytorch.py - models of torchvision, timm and transformers against the net files that torch2net.py
writes from them.

    python3 tests/oracle/from_pytorch.py list
    python3 tests/oracle/from_pytorch.py convert FOLDER [NAME ...]
    python3 tests/oracle/from_pytorch.py compare FOLDER [NAME ...] [--TOGGLE VALUE ...]
    python3 tests/oracle/from_pytorch.py golden

convert  writes each net file into FOLDER; prints its parameters, or what is refused
compare  writes each net file into FOLDER, runs one training step of the original model under PyTorch, and holds every
         event of it against `vramscope match` of the net file; prints one line a model
golden   writes the net files of GOLDEN into tests/nets/from_pytorch, and their originals' events into
         tests/golden/oracle/from_pytorch.jsonl.gz

Needs torchvision, timm and transformers (any of them may be missing: its models are left out), without their weights.
"""
import gzip
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

import nogpu

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
VISION = ("resnet18 resnet50 resnext50_32x4d wide_resnet50_2 vgg16_bn vgg11 alexnet squeezenet1_0 squeezenet1_1 "
          "densenet121 mobilenet_v2 mobilenet_v3_small mobilenet_v3_large efficientnet_b0 efficientnet_v2_s "
          "convnext_tiny vit_b_16 swin_t swin_v2_t regnet_y_400mf regnet_x_400mf shufflenet_v2_x1_0 mnasnet1_0 "
          "googlenet inception_v3 maxvit_t").split()
VIDEO = "r3d_18 mc3_18 r2plus1d_18 s3d mvit_v2_s swin3d_t".split()
TIMM = ("resnet18 resnet50d resnetv2_50 vit_tiny_patch16_224 deit_tiny_distilled_patch16_224 convnext_atto "
        "mixer_s16_224 mobilenetv3_small_050 efficientnet_b0 densenet121 regnety_002 levit_128s "
        "swin_tiny_patch4_window7_224 gmlp_ti16_224 poolformer_s12 convmixer_768_32 resmlp_12_224 cait_xxs24_224 "
        "xcit_nano_12_p16_224 nfnet_l0 coatnet_nano_rw_224 edgenext_xx_small mobilevit_xxs hrnet_w18_small dla34 "
        "ghostnet_050 repvgg_a0 eva02_tiny_patch14_224 beit_base_patch16_224 pvt_v2_b0 volo_d1_224 "
        "tnt_s_legacy_patch16_224 mobilenetv4_conv_small fastvit_t8 repvit_m0_9 hiera_tiny_224 crossvit_tiny_240 "
        "efficientvit_b0 davit_tiny convnextv2_atto res2net50_14w_8s resnest14d efficientformer_l1 gcvit_xxtiny "
        "coat_lite_tiny twins_pcpvt_small focalnet_tiny_srf seresnet50 visformer_tiny dpn48b "
        "vit_base_patch16_siglip_224 tinynet_a nest_tiny eca_resnet33ts vit_relpos_small_patch16_224 cspresnet50 "
        "skresnet18 efficientvit_m0 nextvit_small fastvit_sa12 mvitv2_tiny pit_ti_224 regnetz_b16 rexnet_100 "
        "selecsls42b xception41 inception_v4 nasnetalarge gernet_s swinv2_cr_tiny_224 tf_efficientnetv2_b0 starnet_s1 "
        "rdnet_tiny mambaout_femto hgnet_tiny inception_next_tiny levit_conv_128s efficientformerv2_s0 repghostnet_050 "
        "mobileone_s0 vit_tiny_r_s16_p8_224 swiftformer_xs shvit_s1 csatv2 vovnet39a convit_tiny").split()
GOLDEN = ("torchvision.resnet18", "torchvision.densenet121", "torchvision.mobilenet_v3_small", "torchvision.swin_t",
          "torchvision.googlenet", "timm.vit_tiny_patch16_224", "timm.convnext_atto", "transformers.gpt2",
          "transformers.llama", "transformers.bert")


def classes(output, target):
    import torch.nn.functional as F
    return F.cross_entropy(output, target)


def with_helpers(output, target):
    """GoogLeNet and Inception: the helper heads count, too."""
    import torch.nn.functional as F
    total = F.cross_entropy(output[0], target)
    for part in output[1:]:
        total = total + 0.3 * F.cross_entropy(part, target)
    return total


def logits(output, target):
    import torch.nn.functional as F
    return F.cross_entropy(output["logits"], target)


def words(output, target):
    import torch.nn.functional as F
    return F.cross_entropy(output["logits"].flatten(0, 1), target.flatten())


def own(output, target):
    return output["loss"]


class Case:
    """make() gives the model; inputs and target as batch(n) makes them."""

    def __init__(self, make, inputs, target, loss, batch):
        self.make, self.inputs, self.target, self.loss, self.batch = make, inputs, target, loss, batch


def image_case(make, size, classes_=1000, batch=4, loss=None):
    import torch
    return Case(make, lambda n: torch.zeros(n, 3, size, size),
                lambda n: torch.arange(n) * 0 + (classes_ - 1), loss or classes, batch)


def _vision(name):
    import torchvision
    size = 299 if name == "inception_v3" else 224
    extra = {"aux_logits": True, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
    return image_case(lambda: getattr(torchvision.models, name)(**extra), size,
                      loss=with_helpers if extra else None)


def _video(name):
    """[N, C, D, H, W]: 16 frames; s3d takes no smaller pictures than these."""
    import torch
    import torchvision
    size = 224 if name in ("s3d", "mvit_v2_s", "swin3d_t") else 112
    return Case(lambda: getattr(torchvision.models.video, name)(), lambda n: torch.zeros(n, 3, 16, size, size),
                lambda n: torch.arange(n) * 0 + 399, classes, 2)


def _timm(name):
    import timm
    return image_case(lambda: timm.create_model(name), 224)


def _text_inputs(names, length, high):
    import torch

    def inputs(n):
        made = {}
        for name in names:
            made[name] = torch.ones(n, length, dtype=torch.int64)
            if name in ("input_ids", "labels", "decoder_input_ids"):
                made[name][0, 0] = high - 1
        return made
    return inputs


def _transformers():
    import torch
    import transformers as t
    small = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, vocab_size=1000)
    gpt2 = dict(n_embd=64, n_layer=2, n_head=4, vocab_size=1000, n_positions=64, use_cache=False)
    llama = dict(small, max_position_embeddings=64, use_cache=False)

    def causal(cls, config):
        return Case(lambda: cls(config()), _text_inputs(["input_ids"], 32, 1000),
                    lambda n: torch.full((n, 32), 999), words, 4)

    def labelled(cls, config, names):
        return Case(lambda: cls(config()), _text_inputs(names, 32, 1000), lambda n: torch.full((n,), 1), own, 4)

    def sentence(cls, config, names):
        return Case(lambda: cls(config()), _text_inputs(names, 32, 1000), lambda n: torch.full((n,), 1), logits, 4)

    def pictures(cls, config):
        return Case(lambda: cls(config()), lambda n: {"pixel_values": torch.zeros(n, 3, 64, 64)},
                    lambda n: torch.full((n,), 1), logits, 4)

    def words_of(n):
        made = torch.ones(n, 32, dtype=torch.int64)
        made[0, 0] = 999
        return made

    eager = dict(attn_implementation="eager")
    pixels = {k: v for k, v in small.items() if k not in ("vocab_size", "intermediate_size")}
    mixtral = dict(llama, num_key_value_heads=2, num_local_experts=4, num_experts_per_tok=2)
    special = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=2)
    seq2seq = dict(special, vocab_size=1000, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
                   decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, max_position_embeddings=64,
                   use_cache=False)
    return {
        "gpt2": causal(t.GPT2LMHeadModel, lambda: t.GPT2Config(**gpt2)),
        "gpt2_eager": causal(t.GPT2LMHeadModel, lambda: t.GPT2Config(**gpt2, **eager)),
        "gpt2_labels": labelled(t.GPT2LMHeadModel, lambda: t.GPT2Config(**gpt2), ["input_ids", "labels"]),
        "llama": causal(t.LlamaForCausalLM, lambda: t.LlamaConfig(**llama)),
        "llama_gqa": causal(t.LlamaForCausalLM, lambda: t.LlamaConfig(**llama, num_key_value_heads=2)),
        "llama_eager": causal(t.LlamaForCausalLM, lambda: t.LlamaConfig(**llama, **eager)),
        "mistral": causal(t.MistralForCausalLM, lambda: t.MistralConfig(**llama, num_key_value_heads=2)),
        "qwen2": causal(t.Qwen2ForCausalLM, lambda: t.Qwen2Config(**llama, num_key_value_heads=2)),
        "qwen3": causal(t.Qwen3ForCausalLM, lambda: t.Qwen3Config(**llama, num_key_value_heads=2, head_dim=16)),
        "gemma": causal(t.GemmaForCausalLM, lambda: t.GemmaConfig(**llama, num_key_value_heads=1, head_dim=16)),
        "opt": causal(t.OPTForCausalLM, lambda: t.OPTConfig(
            hidden_size=64, num_hidden_layers=2, num_attention_heads=4, ffn_dim=128, vocab_size=1000,
            max_position_embeddings=64, word_embed_proj_dim=64, use_cache=False)),
        "gpt_neox": causal(t.GPTNeoXForCausalLM, lambda: t.GPTNeoXConfig(**llama)),
        "phi": causal(t.PhiForCausalLM, lambda: t.PhiConfig(**llama)),
        "bert": sentence(t.BertForSequenceClassification, lambda: t.BertConfig(**small, max_position_embeddings=64),
                         ["input_ids"]),
        "bert_mask": sentence(t.BertForSequenceClassification,
                              lambda: t.BertConfig(**small, max_position_embeddings=64, **eager),
                              ["input_ids", "attention_mask"]),
        "bert_mlm": causal(t.BertForMaskedLM, lambda: t.BertConfig(**small, max_position_embeddings=64)),
        "roberta": sentence(t.RobertaForSequenceClassification, lambda: t.RobertaConfig(
            **small, max_position_embeddings=66), ["input_ids"]),
        "distilbert": sentence(t.DistilBertForSequenceClassification, lambda: t.DistilBertConfig(
            dim=64, n_layers=2, n_heads=4, hidden_dim=128, vocab_size=1000, max_position_embeddings=64), ["input_ids"]),
        "electra": sentence(t.ElectraForSequenceClassification, lambda: t.ElectraConfig(
            **small, embedding_size=64, max_position_embeddings=64), ["input_ids"]),
        "vit": pictures(t.ViTForImageClassification, lambda: t.ViTConfig(
            **{k: v for k, v in small.items() if k != "vocab_size"}, image_size=64, patch_size=16)),
        "t5": labelled(t.T5ForConditionalGeneration, lambda: t.T5Config(
            d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, vocab_size=1000, use_cache=False,
            decoder_start_token_id=0), ["input_ids", "labels"]),
        "convnext": pictures(t.ConvNextForImageClassification, lambda: t.ConvNextConfig(
            hidden_sizes=[16, 32, 64, 128], depths=[1, 1, 2, 1], image_size=64)),
        "xlnet": sentence(t.XLNetForSequenceClassification, lambda: t.XLNetConfig(
            vocab_size=1000, d_model=64, n_layer=2, n_head=4, d_inner=128), ["input_ids"]),
        "pegasus": labelled(t.PegasusForConditionalGeneration, lambda: t.PegasusConfig(**seq2seq),
                            ["input_ids", "labels"]),
        "bart": labelled(t.BartForConditionalGeneration, lambda: t.BartConfig(**seq2seq), ["input_ids", "labels"]),
        "bloom": causal(t.BloomForCausalLM, lambda: t.BloomConfig(
            vocab_size=1000, hidden_size=64, n_layer=2, n_head=4, use_cache=False)),
        "mixtral": causal(t.MixtralForCausalLM, lambda: t.MixtralConfig(**mixtral)),
        "mixtral_batched": causal(t.MixtralForCausalLM, lambda: t.MixtralConfig(
            **mixtral, experts_implementation="batched_mm")),
        "wav2vec2": Case(lambda: t.Wav2Vec2ForSequenceClassification(t.Wav2Vec2Config(
            **small, conv_dim=[32, 32], conv_stride=[5, 4], conv_kernel=[10, 8], num_feat_extract_layers=2,
            num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, mask_time_prob=0.0, apply_spec_augment=False)),
            lambda n: {"input_values": torch.zeros(n, 800)}, lambda n: torch.full((n,), 1), logits, 4),
        "deberta_v2": sentence(t.DebertaV2ForSequenceClassification, lambda: t.DebertaV2Config(
            **small, max_position_embeddings=64, relative_attention=True, pos_att_type=["p2c", "c2p"],
            position_buckets=16, norm_rel_ebd="layer_norm", share_att_key=True), ["input_ids"]),
        "mamba": causal(t.MambaForCausalLM, lambda: t.MambaConfig(
            vocab_size=1000, hidden_size=64, state_size=8, num_hidden_layers=2, use_cache=False)),
        "mamba2": causal(t.Mamba2ForCausalLM, lambda: t.Mamba2Config(
            vocab_size=1000, hidden_size=64, state_size=8, num_hidden_layers=2, num_heads=8, head_dim=16, n_groups=2,
            chunk_size=16, use_cache=False)),
        "albert": sentence(t.AlbertForSequenceClassification, lambda: t.AlbertConfig(
            **small, embedding_size=32, max_position_embeddings=64), ["input_ids"]),
        "gptj": causal(t.GPTJForCausalLM, lambda: t.GPTJConfig(**gpt2, rotary_dim=8)),
        "falcon": causal(t.FalconForCausalLM, lambda: t.FalconConfig(**llama)),
        "gemma2": causal(t.Gemma2ForCausalLM, lambda: t.Gemma2Config(**llama, num_key_value_heads=2, head_dim=16)),
        "phi3": causal(t.Phi3ForCausalLM, lambda: t.Phi3Config(**llama, pad_token_id=0)),
        "olmo2": causal(t.Olmo2ForCausalLM, lambda: t.Olmo2Config(**llama)),
        "rwkv": causal(t.RwkvForCausalLM, lambda: t.RwkvConfig(
            vocab_size=1000, hidden_size=64, num_hidden_layers=2, use_cache=False)),
        "dinov2": pictures(t.Dinov2ForImageClassification, lambda: t.Dinov2Config(
            **pixels, image_size=64, patch_size=16)),
        "dinov2_larger": Case(lambda: t.Dinov2ForImageClassification(t.Dinov2Config(
            **pixels, image_size=32, patch_size=16)), lambda n: {"pixel_values": torch.zeros(n, 3, 64, 64)},
            lambda n: torch.full((n,), 1), logits, 4),
        "segformer": pictures(t.SegformerForImageClassification, lambda: t.SegformerConfig(
            hidden_sizes=[16, 32, 40, 64], decoder_hidden_size=64, depths=[1, 1, 1, 1])),
        "swinv2": pictures(t.Swinv2ForImageClassification, lambda: t.Swinv2Config(
            image_size=64, patch_size=4, embed_dim=16, depths=[1, 2], num_heads=[2, 4], window_size=4)),
        "clip_vision": pictures(t.CLIPForImageClassification, lambda: t.CLIPConfig(
            vision_config=dict(pixels, image_size=64, patch_size=16))),
        "whisper": Case(lambda: t.WhisperForConditionalGeneration(t.WhisperConfig(
            vocab_size=1000, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
            decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, num_mel_bins=40,
            max_source_positions=50, max_target_positions=64, use_cache=False, **special)),
            lambda n: {"input_features": torch.zeros(n, 40, 100), "labels": words_of(n)},
            lambda n: torch.full((n,), 1), own, 4),
        "hubert": Case(lambda: t.HubertForSequenceClassification(t.HubertConfig(
            **small, conv_dim=[32, 32], conv_stride=[5, 4], conv_kernel=[10, 8], num_feat_extract_layers=2,
            num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, mask_time_prob=0.0, apply_spec_augment=False)),
            lambda n: {"input_values": torch.zeros(n, 800)}, lambda n: torch.full((n,), 1), logits, 4),
        "beit": pictures(t.BeitForImageClassification, lambda: t.BeitConfig(
            **pixels, intermediate_size=128, image_size=64, patch_size=16)),
        "videomae": Case(lambda: t.VideoMAEForVideoClassification(t.VideoMAEConfig(
            **pixels, intermediate_size=128, image_size=64, patch_size=16, num_frames=4)),
            lambda n: {"pixel_values": torch.zeros(n, 4, 3, 64, 64)}, lambda n: torch.full((n,), 1), logits, 4),
        "gemma3": causal(t.Gemma3ForCausalLM, lambda: t.Gemma3TextConfig(
            **llama, num_key_value_heads=2, head_dim=16, sliding_window=16)),
        "olmoe": causal(t.OlmoeForCausalLM, lambda: t.OlmoeConfig(**llama, num_experts=4, num_experts_per_tok=2)),
        "gpt_oss": causal(t.GptOssForCausalLM, lambda: t.GptOssConfig(
            **llama, num_key_value_heads=2, head_dim=16, num_local_experts=4, num_experts_per_tok=2,
            sliding_window=16)),
        "deepseek_v3": causal(t.DeepseekV3ForCausalLM, lambda: t.DeepseekV3Config(
            **llama, num_key_value_heads=4, q_lora_rank=32, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8,
            v_head_dim=16, n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2, n_group=2, topk_group=1,
            first_k_dense_replace=1, moe_intermediate_size=32)),
        "cohere": causal(t.CohereForCausalLM, lambda: t.CohereConfig(**llama)),
        "mpt": causal(t.MptForCausalLM, lambda: t.MptConfig(
            d_model=64, n_heads=4, n_layers=2, vocab_size=1000, max_seq_len=64, use_cache=False)),
        "mobilebert": sentence(t.MobileBertForSequenceClassification, lambda: t.MobileBertConfig(
            **small, embedding_size=32, intra_bottleneck_size=32, true_hidden_size=32, max_position_embeddings=64),
            ["input_ids"]),
        "convbert": sentence(t.ConvBertForSequenceClassification, lambda: t.ConvBertConfig(
            **small, embedding_size=32, max_position_embeddings=64), ["input_ids"]),
    }


def names():
    found = []
    if importlib.util.find_spec("torchvision"):
        found += ["torchvision." + n for n in VISION + ["video." + n for n in VIDEO]]
    if importlib.util.find_spec("timm"):
        found += ["timm." + n for n in TIMM]
    if importlib.util.find_spec("transformers"):
        found += ["transformers." + n for n in _transformers()]
    return found


def case_of(name):
    library, _, model = name.partition(".")
    if model.startswith("video."):
        return _video(model[len("video."):])
    return _vision(model) if library == "torchvision" else _timm(model) if library == "timm" else _transformers()[model]


def original(name):
    """(model, batch, loss) of the original, as a net file defines them."""
    import torch
    case = case_of(name)

    class Whole(torch.nn.Module):
        def __init__(self, net):
            super().__init__()
            self.net = net

        def forward(self, inputs):
            return self.net(**inputs)

    def model():
        net = case.make()
        return Whole(net) if isinstance(case.inputs(1), dict) else net

    return model, lambda n: (case.inputs(n), case.target(n)), case.loss


def convert(name, path):
    sys.path.insert(0, os.path.join(ROOT, "sample_nets", "tools"))
    import torch2net
    case = case_of(name)
    return torch2net.write(case.make(), case.inputs(case.batch), path, case.target(case.batch), case.loss, title=name,
                           zeros=nogpu.active())


def convert_apart(name, path):
    """The number of parameters; or what is refused, in one line."""
    import case as oracle
    made = oracle.in_child(lambda: {"parameters": convert(name, path)})
    if "error" in made:
        if "-v" in sys.argv:
            print(made.get("trace"))
        return made["error"]
    return made["parameters"]


def measure(name, given):
    """The report of the original: PyTorch runs a file that imports this one."""
    import case as oracle
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as f:
        f.write("import from_pytorch\nmodel, batch, loss = from_pytorch.original(%r)\ndefaults = dict(batch=%d)\n"
                % (name, oracle.in_child(lambda: {"batch": case_of(name).batch})["batch"]))
    try:
        return oracle.memory(f.name, given)
    finally:
        os.unlink(f.name)


def stem_of(folder, name):
    return os.path.join(folder, name.replace(".", "_"))


def compare(name, folder, given):
    from run import write_csv
    stem = stem_of(folder, name)
    count = convert_apart(name, stem + ".py")
    if isinstance(count, str):
        return "%-44s refused: %s" % (name, count)
    report = measure(name, given)
    if "error" in report:
        return "%-44s PyTorch: %s" % (name, report["error"])
    write_csv(report, stem + ".csv")
    toggles = [w for k, v in given.items() for w in ("--" + k, v)]
    toggles += ["--any-free-order"] if "amp" in given else []
    done = subprocess.run([os.path.join(ROOT, "build", "vramscope"), "match", stem + ".py", stem + ".csv"] + toggles,
                          capture_output=True, text=True)
    said = (done.stdout or done.stderr).strip().split("\n")
    same = "equal" if count == report["parameters"] else "%d parameters instead of %d" % (
        count, report["parameters"])
    return "%-44s %12s %s %s" % (name, format(report["parameters"], ","), same, said[0][:160])


def golden():
    from make_golden import progress
    with gzip.GzipFile(os.path.join(ROOT, "tests", "golden", "oracle", "from_pytorch.jsonl.gz"), "wb", mtime=0) as out:
        for name in GOLDEN:
            net = "tests/nets/from_pytorch/%s.py" % name.replace(".", "_")
            count = convert_apart(name, os.path.join(ROOT, net))
            report = measure(name, {"steps": "1"})
            progress("%s: %s parameters, %d events" % (name, count, len(report["event_list"])))
            line = {"net": net, "toggles": {"steps": "1"}, "parameters": report["parameters"], "torch": report["torch"],
                    "events": report["event_list"]}
            out.write((json.dumps(line, sort_keys=True) + "\n").encode())


def arguments(words_):
    """(command, folder, names, toggles)"""
    given, plain = {"steps": "1"}, []
    words_ = [w for w in words_ if w != "-v"]
    while words_:
        word = words_.pop(0)
        if word.startswith("--"):
            given[word[2:]] = words_.pop(0)
        else:
            plain.append(word)
    if not plain or plain[0] not in ("list", "compare", "golden", "convert"):
        raise SystemExit(__doc__)
    return plain[0], plain[1] if len(plain) > 1 else None, plain[2:], given


def main():
    command, folder, wanted, given = arguments(sys.argv[1:])
    nogpu.enter()
    if command == "list":
        print("\n".join(names()))
    elif command == "golden":
        golden()
    else:
        os.makedirs(folder, exist_ok=True)
        for name in wanted or names():
            if command == "convert":
                print("%-44s %s" % (name, convert_apart(name, stem_of(folder, name) + ".py")), flush=True)
            else:
                print(compare(name, folder, given), flush=True)


if __name__ == "__main__":
    main()

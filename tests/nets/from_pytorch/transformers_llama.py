# transformers.llama, written by torch2net.py from PyTorch 2.15.0.
# Lesson: where a model of your own puts its memory.
# Decided by the example's values, as they are asked for at masking_utils.py:776.
import torch
import torch.nn as nn
import torch.nn.functional as F


# transformers.models.llama.modeling_llama.LlamaAttention
class LlamaAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(64, 64, bias=False)
        self.k_proj = nn.Linear(64, 64, bias=False)
        self.v_proj = nn.Linear(64, 64, bias=False)
        self.o_proj = nn.Linear(64, 64, bias=False)

    def forward(self, hidden_states, position_embeddings, attention_mask, position_ids):
        # modeling_llama.py:243
        query_states = self.q_proj(hidden_states).view((hidden_states.shape[0],
                hidden_states.shape[1], -1, 16)).transpose(1, 2)
        # modeling_llama.py:244
        key_states = self.k_proj(hidden_states).view((hidden_states.shape[0],
                hidden_states.shape[1], -1, 16)).transpose(1, 2)
        # modeling_llama.py:245
        value_states = self.v_proj(hidden_states).view((hidden_states.shape[0],
                hidden_states.shape[1], -1, 16)).transpose(1, 2)
        cos = position_embeddings[0].unsqueeze(1)  # modeling_llama.py:145
        sin = position_embeddings[1].unsqueeze(1)  # modeling_llama.py:146
        mul = query_states * cos  # modeling_llama.py:147
        x1 = query_states[..., :query_states.shape[3] // 2]  # modeling_llama.py:121
        x2 = query_states[..., query_states.shape[3] // 2:]  # modeling_llama.py:122
        cat = torch.cat((-x2, x1), dim=-1)  # modeling_llama.py:123
        del x1, x2
        mul_1 = cat * sin  # modeling_llama.py:147
        del cat
        q_embed = mul + mul_1
        del mul, mul_1
        mul = key_states * cos  # modeling_llama.py:148
        x1 = key_states[..., :key_states.shape[3] // 2]  # modeling_llama.py:121
        x2 = key_states[..., key_states.shape[3] // 2:]  # modeling_llama.py:122
        cat = torch.cat((-x2, x1), dim=-1)  # modeling_llama.py:123
        del x1, x2
        mul_1 = cat * sin  # modeling_llama.py:148
        del cat
        k_embed = mul + mul_1
        del mul, mul_1, cos, sin, query_states, key_states
        # sdpa_attention.py:193
        attn_output = F.scaled_dot_product_attention(q_embed, k_embed, value_states,
                attn_mask=attention_mask, dropout_p=0.0, scale=0.25, is_causal=False)
        # sdpa_attention.py:205
        attn_output = attn_output.reshape(attn_output.shape[0], -1, q_embed.shape[2],
                value_states.shape[3])
        attn_output = attn_output.transpose(1, 2).contiguous()  # sdpa_attention.py:206
        # modeling_llama.py:268
        attn_output = attn_output.reshape(hidden_states.shape[0], hidden_states.shape[1],
                -1).contiguous()
        attn_output = self.o_proj(attn_output)  # modeling_llama.py:269
        result = (attn_output, None)
        del q_embed, k_embed, value_states
        return result


# transformers.activations.SiLUActivation
class SiLUActivation(nn.Module):
    def forward(self, input):
        return F.silu(input)


# transformers.models.llama.modeling_llama.LlamaRMSNorm
class LlamaRMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(64))

    def forward(self, hidden_states):
        hidden_states = hidden_states.to(torch.float32)  # modeling_llama.py:63
        variance = (hidden_states ** 2).mean(-1, keepdim=True)  # modeling_llama.py:64
        hidden_states = hidden_states * torch.rsqrt(variance + 1e-06)  # modeling_llama.py:65
        return self.weight * hidden_states.to(torch.float32)


# transformers.models.llama.modeling_llama.LlamaRotaryEmbedding
class LlamaRotaryEmbedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("inv_freq", torch.randn(8) * 0.02, persistent=False)
        self.register_buffer("original_inv_freq", torch.randn(8) * 0.02, persistent=False)

    def forward(self, x, position_ids):
        with torch.no_grad():
            # modeling_llama.py:111
            freqs = position_ids[..., None].float() * self.inv_freq.to(device=x.device,
                    dtype=torch.float32)
            emb = torch.cat((freqs, freqs), dim=-1)  # modeling_llama.py:112
            cos = emb.cos() * 1.0  # modeling_llama.py:113
            sin = emb.sin() * 1.0  # modeling_llama.py:114
        return (cos.to(dtype=torch.float32), sin.to(dtype=torch.float32))


# transformers.models.llama.modeling_llama.LlamaMLP
class LlamaMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj = nn.Linear(64, 128, bias=False)
        self.up_proj = nn.Linear(64, 128, bias=False)
        self.down_proj = nn.Linear(128, 64, bias=False)
        self.act_fn = SiLUActivation()

    def forward(self, x):
        # modeling_llama.py:164
        down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
        return down_proj


# transformers.models.llama.modeling_llama.LlamaDecoderLayer
class LlamaDecoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn = LlamaAttention()
        self.mlp = LlamaMLP()
        self.input_layernorm = LlamaRMSNorm()
        self.post_attention_layernorm = LlamaRMSNorm()

    def forward(self, hidden_states, attention_mask, position_ids, position_embeddings):
        hidden_states_1 = self.input_layernorm(hidden_states)  # modeling_llama.py:295
        # modeling_llama.py:297
        hidden_states_1, _ = self.self_attn(hidden_states_1, position_embeddings, attention_mask,
                position_ids)
        hidden_states = hidden_states + hidden_states_1  # modeling_llama.py:306
        del hidden_states_1
        hidden_states_1 = self.post_attention_layernorm(hidden_states)  # modeling_llama.py:310
        hidden_states_1 = self.mlp(hidden_states_1)  # modeling_llama.py:311
        hidden_states_1 = hidden_states + hidden_states_1  # modeling_llama.py:312
        return hidden_states_1


# transformers.models.llama.modeling_llama.LlamaModel
class LlamaModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(1000, 64)
        self.layers = nn.ModuleList([LlamaDecoderLayer(), LlamaDecoderLayer()])
        self.norm = LlamaRMSNorm()
        self.rotary_emb = LlamaRotaryEmbedding()

    def forward(self, input_ids):
        inputs_embeds = self.embed_tokens(input_ids)  # modeling_llama.py:370
        # modeling_llama.py:377
        position_ids = torch.arange(inputs_embeds.shape[1], device=input_ids.device) + 0
        position_ids = position_ids.unsqueeze(0)  # modeling_llama.py:378
        position_ids_1 = position_ids.expand(inputs_embeds.shape[0], -1)  # masking_utils.py:880
        first_dummy_value = position_ids_1[:, :1] - 1  # masking_utils.py:771
        # masking_utils.py:772
        position_diff = torch.diff(position_ids_1, prepend=first_dummy_value, dim=-1)
        packed_sequence_mask = (position_diff != 1).cumsum(-1)  # masking_utils.py:773
        (packed_sequence_mask[:, -1] == 0).all()  # masking_utils.py:776
        del first_dummy_value, position_diff, position_ids_1
        expand = position_ids.expand(inputs_embeds.shape[0], -1)  # masking_utils.py:1006
        # masking_utils.py:543
        batch_arange = torch.arange(inputs_embeds.shape[0], device=input_ids.device)
        head_arange = torch.arange(1, device=input_ids.device)  # masking_utils.py:544
        # masking_utils.py:545
        q_arange = torch.arange(inputs_embeds.shape[1], device=input_ids.device) + 0
        # masking_utils.py:546
        kv_arange = torch.arange(inputs_embeds.shape[1], device=input_ids.device) + 0
        batch_indices = batch_arange[:, None, None, None]  # masking_utils.py:403
        head_indices = head_arange[None, :, None, None]  # masking_utils.py:404
        q_indices = q_arange[None, None, :, None]  # masking_utils.py:405
        kv_indices = kv_arange[None, None, None, :]  # masking_utils.py:406
        result = q_indices.new_ones((), dtype=torch.bool)  # masking_utils.py:50
        # masking_utils.py:52
        result = result & (packed_sequence_mask[batch_indices, q_indices] ==
                packed_sequence_mask[batch_indices, kv_indices]).to(input_ids.device)
        getitem = expand[batch_indices, q_indices]  # masking_utils.py:203
        getitem_1 = expand[batch_indices, kv_indices]
        le = getitem_1 <= getitem  # masking_utils.py:76
        del getitem, getitem_1
        to = le.to(input_ids.device)  # masking_utils.py:52
        del le
        result_1 = result & to
        del to, result, kv_indices, q_indices, head_indices, batch_indices
        # masking_utils.py:554
        attention_mask = result_1.expand(inputs_embeds.shape[0], -1, inputs_embeds.shape[1],
                inputs_embeds.shape[1])
        del result_1, batch_arange, head_arange, q_arange, kv_arange, expand, packed_sequence_mask
        # modeling_llama.py:389
        position_embeddings_0, position_embeddings_1 = self.rotary_emb(inputs_embeds, position_ids)
        # modeling_llama.py:392
        hidden_states = self.layers[0](inputs_embeds, attention_mask, position_ids,
                (position_embeddings_0, position_embeddings_1))
        hidden_states = self.layers[1](hidden_states, attention_mask, position_ids,
                (position_embeddings_0, position_embeddings_1))
        hidden_states = self.norm(hidden_states)  # modeling_llama.py:402
        result = {"last_hidden_state": hidden_states}
        del position_ids, inputs_embeds, attention_mask, position_embeddings_1, position_embeddings_0
        return result


# transformers.models.llama.modeling_llama.LlamaForCausalLM
class LlamaForCausalLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = LlamaModel()
        self.lm_head = nn.Linear(64, 1000, bias=False)

    def forward(self, inputs):
        outputs = self.model(inputs["input_ids"])["last_hidden_state"]  # modeling_llama.py:456
        logits = self.lm_head(outputs[:, 0:, :])  # modeling_llama.py:468
        return {"logits": logits}


def model():
    return LlamaForCausalLM()


def batch(n):
    return {"input_ids": torch.randint(0, 1000, (n, 32,))}, torch.randint(0, 1000, (n, 32,))


def loss(output, target):
    return F.cross_entropy(output["logits"].flatten(0, 1), target.flatten())


defaults = dict(batch=4)

# transformers.gpt2, written by torch2net.py from PyTorch 2.15.0.
# Lesson: where a model of your own puts its memory.
# Decided by the example's values, as they are asked for at masking_utils.py:776.
import torch
import torch.nn as nn
import torch.nn.functional as F


# transformers.pytorch_utils.Conv1D
class Conv1D(nn.Module):
    def __init__(self, size, weight_size):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size, weight_size) * 0.02)
        self.bias = nn.Parameter(torch.zeros(weight_size))
        self.weight_size = weight_size

    def forward(self, x):
        x_1 = torch.addmm(self.bias, x.view(-1, x.shape[2]), self.weight)  # pytorch_utils.py:119
        x = x_1.view((x.shape[0], x.shape[1], self.weight_size))  # pytorch_utils.py:120
        return x


# transformers.activations.NewGELUActivation
class NewGELUActivation(nn.Module):
    def forward(self, input):
        return input * 0.5 * (torch.tanh((input + torch.pow(input, 3.0) * 0.044715) *
                0.7978845608028654) + 1.0)


# transformers.models.gpt2.modeling_gpt2.GPT2Attention
class GPT2Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn = Conv1D(64, 192)
        self.c_proj = Conv1D(64, 64)
        self.attn_dropout = nn.Dropout(p=0.1)
        self.resid_dropout = nn.Dropout(p=0.1)

    def forward(self, hidden_states, attention_mask, position_ids):
        if self.training:
            # modeling_gpt2.py:185
            query_states, key_states, value_states = self.c_attn(hidden_states).split(64, dim=2)
            size = key_states.shape[0]
            size_1 = key_states.shape[1]
            # modeling_gpt2.py:187
            key_states = key_states.view((size, size_1, -1, 16)).transpose(1, 2)
            # modeling_gpt2.py:188
            value_states = value_states.view((size, size_1, -1, 16)).transpose(1, 2)
            # modeling_gpt2.py:191
            query_states = query_states.view((query_states.shape[0], query_states.shape[1], -1,
                    16)).transpose(1, 2)
            # sdpa_attention.py:193
            attn_output = F.scaled_dot_product_attention(query_states, key_states, value_states,
                    attn_mask=attention_mask, dropout_p=(0.1 if self.training else
                    0.0), scale=0.25, is_causal=False)
            # sdpa_attention.py:205
            attn_output = attn_output.reshape(attn_output.shape[0], -1, query_states.shape[2],
                    value_states.shape[3])
            attn_output = attn_output.transpose(1, 2).contiguous()  # sdpa_attention.py:206
            # modeling_gpt2.py:222
            attn_output = attn_output.reshape(attn_output.shape[0], attn_output.shape[1],
                    -1).contiguous()
            attn_output = self.c_proj(attn_output)  # modeling_gpt2.py:223
            attn_output = self.resid_dropout(attn_output)  # modeling_gpt2.py:224
            return (attn_output, None)
        # modeling_gpt2.py:185
        query_states, key_states, value_states = self.c_attn(hidden_states).split(64, dim=2)
        size = key_states.shape[0]
        size_1 = key_states.shape[1]
        key_states = key_states.view((size, size_1, -1, 16)).transpose(1, 2)  # modeling_gpt2.py:187
        # modeling_gpt2.py:188
        value_states = value_states.view((size, size_1, -1, 16)).transpose(1, 2)
        # modeling_gpt2.py:191
        query_states = query_states.view((query_states.shape[0], query_states.shape[1], -1,
                16)).transpose(1, 2)
        # sdpa_attention.py:193
        attn_output = F.scaled_dot_product_attention(query_states, key_states, value_states,
                attn_mask=attention_mask, dropout_p=0.0, scale=0.25, is_causal=False)
        # sdpa_attention.py:205
        attn_output = attn_output.reshape(attn_output.shape[0], -1, query_states.shape[2],
                value_states.shape[3])
        attn_output = attn_output.transpose(1, 2).contiguous()  # sdpa_attention.py:206
        # modeling_gpt2.py:222
        attn_output = attn_output.reshape(attn_output.shape[0], attn_output.shape[1],
                -1).contiguous()
        attn_output = self.c_proj(attn_output)  # modeling_gpt2.py:223
        attn_output = self.resid_dropout(attn_output)  # modeling_gpt2.py:224
        return (attn_output, None)


# transformers.models.gpt2.modeling_gpt2.GPT2MLP
class GPT2MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_fc = Conv1D(64, 256)
        self.c_proj = Conv1D(256, 64)
        self.act = NewGELUActivation()
        self.dropout = nn.Dropout(p=0.1)

    def forward(self, hidden_states):
        hidden_states = self.c_fc(hidden_states)  # modeling_gpt2.py:239
        hidden_states = self.act(hidden_states)  # modeling_gpt2.py:240
        hidden_states = self.c_proj(hidden_states)  # modeling_gpt2.py:241
        hidden_states = self.dropout(hidden_states)  # modeling_gpt2.py:242
        return hidden_states


# transformers.models.gpt2.modeling_gpt2.GPT2Block
class GPT2Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1 = nn.LayerNorm(64)
        self.attn = GPT2Attention()
        self.ln_2 = nn.LayerNorm(64)
        self.mlp = GPT2MLP()

    def forward(self, hidden_states, attention_mask, position_ids):
        hidden_states_1 = self.ln_1(hidden_states)  # modeling_gpt2.py:273
        # modeling_gpt2.py:274
        attn_output, _ = self.attn(hidden_states_1, attention_mask, position_ids)
        hidden_states = attn_output + hidden_states  # modeling_gpt2.py:282
        del hidden_states_1
        hidden_states_1 = self.ln_2(hidden_states)  # modeling_gpt2.py:304
        feed_forward_hidden_states = self.mlp(hidden_states_1)  # modeling_gpt2.py:305
        hidden_states_1 = hidden_states + feed_forward_hidden_states  # modeling_gpt2.py:307
        return hidden_states_1


# transformers.models.gpt2.modeling_gpt2.GPT2Model
class GPT2Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(1000, 64)
        self.wpe = nn.Embedding(64, 64)
        self.drop = nn.Dropout(p=0.1)
        self.h = nn.ModuleList([GPT2Block(), GPT2Block()])
        self.ln_f = nn.LayerNorm(64)

    def forward(self, input_ids):
        input_ids_1 = input_ids.view(-1, input_ids.shape[1])  # modeling_gpt2.py:547
        inputs_embeds = self.wte(input_ids_1)  # modeling_gpt2.py:567
        # modeling_gpt2.py:571
        position_ids = torch.arange(inputs_embeds.shape[1], device=input_ids.device) + 0
        position_ids = position_ids.unsqueeze(0)  # modeling_gpt2.py:572
        position_embeds = self.wpe(position_ids)  # modeling_gpt2.py:574
        hidden_states = inputs_embeds + position_embeds.to(input_ids.device)  # modeling_gpt2.py:575
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
        hidden_states = self.drop(hidden_states)  # modeling_gpt2.py:601
        size = hidden_states.shape[2]
        # modeling_gpt2.py:606
        hidden_states = self.h[0](hidden_states, attention_mask, position_ids)
        hidden_states = self.h[1](hidden_states, attention_mask, position_ids)
        hidden_states = self.ln_f(hidden_states)  # modeling_gpt2.py:617
        hidden_states = hidden_states.view((-1, input_ids.shape[1], size))  # modeling_gpt2.py:619
        result = {"last_hidden_state": hidden_states}
        del input_ids_1, position_ids, inputs_embeds, position_embeds, attention_mask
        return result


# transformers.models.gpt2.modeling_gpt2.GPT2LMHeadModel
class GPT2LMHeadModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = GPT2Model()
        self.lm_head = nn.Linear(64, 1000, bias=False)

    def forward(self, inputs):
        # modeling_gpt2.py:680
        transformer_outputs = self.transformer(inputs["input_ids"])["last_hidden_state"]
        logits = self.lm_head(transformer_outputs[:, 0:, :])  # modeling_gpt2.py:695
        return {"logits": logits}


def model():
    net = GPT2LMHeadModel()
    net.lm_head.weight = net.transformer.wte.weight
    return net


def batch(n):
    return {"input_ids": torch.randint(0, 1000, (n, 32,))}, torch.randint(0, 1000, (n, 32,))


def loss(output, target):
    return F.cross_entropy(output["logits"].flatten(0, 1), target.flatten())


defaults = dict(batch=4)

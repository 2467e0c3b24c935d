# transformers.bert, written by torch2net.py from PyTorch 2.15.0.
# Lesson: where a model of your own puts its memory.
import torch
import torch.nn as nn
import torch.nn.functional as F


# transformers.models.bert.modeling_bert.BertEmbeddings
class BertEmbeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("position_ids", torch.zeros(1, 64, dtype=torch.int64),
                persistent=False)
        self.register_buffer("token_type_ids", torch.zeros(1, 64, dtype=torch.int64),
                persistent=False)
        self.word_embeddings = nn.Embedding(1000, 64, padding_idx=0)
        self.position_embeddings = nn.Embedding(64, 64)
        self.token_type_embeddings = nn.Embedding(2, 64)
        self.LayerNorm = nn.LayerNorm(64, eps=1e-12)
        self.dropout = nn.Dropout(p=0.1)

    def forward(self, input_ids):
        position_ids = self.position_ids[:, 0:input_ids.shape[1] + 0]  # modeling_bert.py:84
        # modeling_bert.py:92
        buffered_token_type_ids = self.token_type_ids.expand(position_ids.shape[0], -1)
        # modeling_bert.py:93
        buffered_token_type_ids = torch.gather(buffered_token_type_ids, dim=1, index=position_ids)
        # modeling_bert.py:94
        token_type_ids = buffered_token_type_ids.expand(input_ids.shape[0], input_ids.shape[1])
        inputs_embeds = self.word_embeddings(input_ids)  # modeling_bert.py:99
        token_type_embeddings = self.token_type_embeddings(token_type_ids)  # modeling_bert.py:100
        embeddings = inputs_embeds + token_type_embeddings  # modeling_bert.py:101
        position_embeddings = self.position_embeddings(position_ids)  # modeling_bert.py:103
        embeddings = embeddings + position_embeddings  # modeling_bert.py:104
        embeddings = self.LayerNorm(embeddings)  # modeling_bert.py:106
        embeddings = self.dropout(embeddings)  # modeling_bert.py:107
        del token_type_ids, position_ids, inputs_embeds, buffered_token_type_ids, token_type_embeddings, position_embeddings
        return embeddings


# transformers.models.bert.modeling_bert.BertSelfAttention
class BertSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(64, 64)
        self.key = nn.Linear(64, 64)
        self.value = nn.Linear(64, 64)
        self.dropout = nn.Dropout(p=0.1)

    def forward(self, hidden_states):
        if self.training:
            # modeling_bert.py:175
            query_layer = self.query(hidden_states).view(hidden_states.shape[0],
                    hidden_states.shape[1], -1, 16).transpose(1, 2)
            # modeling_bert.py:176
            key_layer = self.key(hidden_states).view(hidden_states.shape[0],
                    hidden_states.shape[1], -1, 16).transpose(1, 2)
            # modeling_bert.py:177
            value_layer = self.value(hidden_states).view(hidden_states.shape[0],
                    hidden_states.shape[1], -1, 16).transpose(1, 2)
            # sdpa_attention.py:193
            attn_output = F.scaled_dot_product_attention(query_layer, key_layer, value_layer,
                    dropout_p=(0.1 if self.training else 0.0), scale=0.25, is_causal=False)
            # sdpa_attention.py:205
            attn_output = attn_output.reshape(attn_output.shape[0], -1, query_layer.shape[2],
                    value_layer.shape[3])
            attn_output = attn_output.transpose(1, 2).contiguous()  # sdpa_attention.py:206
            # modeling_bert.py:202
            attn_output = attn_output.reshape(hidden_states.shape[0], hidden_states.shape[1],
                    -1).contiguous()
            return (attn_output, None)
        # modeling_bert.py:175
        query_layer = self.query(hidden_states).view(hidden_states.shape[0],
                hidden_states.shape[1], -1, 16).transpose(1, 2)
        # modeling_bert.py:176
        key_layer = self.key(hidden_states).view(hidden_states.shape[0], hidden_states.shape[1],
                -1, 16).transpose(1, 2)
        # modeling_bert.py:177
        value_layer = self.value(hidden_states).view(hidden_states.shape[0],
                hidden_states.shape[1], -1, 16).transpose(1, 2)
        # sdpa_attention.py:193
        attn_output = F.scaled_dot_product_attention(query_layer, key_layer, value_layer,
                dropout_p=0.0, scale=0.25, is_causal=False)
        # sdpa_attention.py:205
        attn_output = attn_output.reshape(attn_output.shape[0], -1, query_layer.shape[2],
                value_layer.shape[3])
        attn_output = attn_output.transpose(1, 2).contiguous()  # sdpa_attention.py:206
        # modeling_bert.py:202
        attn_output = attn_output.reshape(hidden_states.shape[0], hidden_states.shape[1],
                -1).contiguous()
        return (attn_output, None)


# transformers.models.bert.modeling_bert.BertSelfOutput
class BertSelfOutput(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(64, 64)
        self.LayerNorm = nn.LayerNorm(64, eps=1e-12)
        self.dropout = nn.Dropout(p=0.1)

    def forward(self, hidden_states, input_tensor):
        hidden_states = self.dense(hidden_states)  # modeling_bert.py:290
        hidden_states = self.dropout(hidden_states)  # modeling_bert.py:291
        hidden_states = self.LayerNorm(hidden_states + input_tensor)  # modeling_bert.py:292
        return hidden_states


# transformers.activations.GELUActivation
class GELUActivation(nn.Module):
    def forward(self, input):
        return F.gelu(input)


# transformers.models.bert.modeling_bert.BertOutput
class BertOutput(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(128, 64)
        self.LayerNorm = nn.LayerNorm(64, eps=1e-12)
        self.dropout = nn.Dropout(p=0.1)

    def forward(self, hidden_states, input_tensor):
        hidden_states = self.dense(hidden_states)  # modeling_bert.py:348
        hidden_states = self.dropout(hidden_states)  # modeling_bert.py:349
        hidden_states = self.LayerNorm(hidden_states + input_tensor)  # modeling_bert.py:350
        return hidden_states


# transformers.models.bert.modeling_bert.BertPooler
class BertPooler(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(64, 64)
        self.activation = nn.Tanh()

    def forward(self, hidden_states):
        first_token_tensor = hidden_states[:, 0]  # modeling_bert.py:460
        pooled_output = self.dense(first_token_tensor)  # modeling_bert.py:461
        pooled_output = self.activation(pooled_output)  # modeling_bert.py:462
        return pooled_output


# transformers.models.bert.modeling_bert.BertAttention
class BertAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.self = BertSelfAttention()
        self.output = BertSelfOutput()

    def forward(self, hidden_states):
        attention_output, _ = self.self(hidden_states)  # modeling_bert.py:314
        attention_output = self.output(attention_output, hidden_states)  # modeling_bert.py:321
        return (attention_output, None)


# transformers.models.bert.modeling_bert.BertIntermediate
class BertIntermediate(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(64, 128)
        self.intermediate_act_fn = GELUActivation()

    def forward(self, hidden_states):
        hidden_states = self.dense(hidden_states)  # modeling_bert.py:335
        hidden_states = self.intermediate_act_fn(hidden_states)  # modeling_bert.py:336
        return hidden_states


# transformers.models.bert.modeling_bert.BertLayer
class BertLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = BertAttention()
        self.intermediate = BertIntermediate()
        self.output = BertOutput()

    def forward(self, hidden_states):
        self_attention_output, _ = self.attention(hidden_states)  # modeling_bert.py:383
        intermediate_output = self.intermediate(self_attention_output)  # modeling_bert.py:414
        # modeling_bert.py:415
        layer_output = self.output(intermediate_output, self_attention_output)
        del intermediate_output, self_attention_output
        return layer_output


# transformers.models.bert.modeling_bert.BertEncoder
class BertEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.ModuleList([BertLayer(), BertLayer()])

    def forward(self, hidden_states):
        hidden_states = self.layer[0](hidden_states)  # modeling_bert.py:436
        hidden_states = self.layer[1](hidden_states)
        return {"last_hidden_state": hidden_states}


# transformers.models.bert.modeling_bert.BertModel
class BertModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = BertEmbeddings()
        self.encoder = BertEncoder()
        self.pooler = BertPooler()

    def forward(self, input_ids):
        embedding_output = self.embeddings(input_ids)  # modeling_bert.py:653
        # modeling_bert.py:669
        encoder_outputs = self.encoder(embedding_output)["last_hidden_state"]
        return {"last_hidden_state": encoder_outputs, "pooler_output": self.pooler(encoder_outputs)}


# transformers.models.bert.modeling_bert.BertForSequenceClassification
class BertForSequenceClassification(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = BertModel()
        self.dropout = nn.Dropout(p=0.1)
        self.classifier = nn.Linear(64, 2)

    def forward(self, inputs):
        parts = self.bert(inputs["input_ids"])  # modeling_bert.py:1093
        last_hidden_state = parts["last_hidden_state"]
        pooler_output = parts["pooler_output"]
        del parts
        pooled_output = self.dropout(pooler_output)  # modeling_bert.py:1105
        logits = self.classifier(pooled_output)  # modeling_bert.py:1106
        return {"logits": logits}


def model():
    return BertForSequenceClassification()


def batch(n):
    return {"input_ids": torch.randint(0, 1000, (n, 32,))}, torch.randint(0, 2, (n,))


def loss(output, target):
    return F.cross_entropy(output["logits"], target)


defaults = dict(batch=4)

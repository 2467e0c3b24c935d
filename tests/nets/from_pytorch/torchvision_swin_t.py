# torchvision.swin_t, written by torch2net.py from PyTorch 2.15.0.
# Lesson: where a model of your own puts its memory.
import torch
import torch.nn as nn
import torch.nn.functional as F


# torchvision.ops.misc.Permute
class Permute(nn.Module):
    def __init__(self, permute, permute_2, permute_3):
        super().__init__()
        self.permute = permute
        self.permute_2 = permute_2
        self.permute_3 = permute_3

    def forward(self, x):
        return torch.permute(x, [0, self.permute, self.permute_2, self.permute_3])


# torchvision.models.swin_transformer.ShiftedWindowAttention
class ShiftedWindowAttention(nn.Module):
    def __init__(self, size, in_features, out_features):
        super().__init__()
        self.relative_position_bias_table = nn.Parameter(torch.randn(169, size) * 0.02)
        self.register_buffer("relative_position_index", torch.zeros(2401, dtype=torch.int64))
        self.qkv = nn.Linear(in_features, out_features)
        self.proj = nn.Linear(in_features, in_features)
        self.size = size

    def forward(self, x):
        # swin_transformer.py:53
        relative_position_bias = self.relative_position_bias_table[self.relative_position_index]
        relative_position_bias = relative_position_bias.view(49, 49, -1)  # swin_transformer.py:54
        # swin_transformer.py:55
        relative_position_bias = relative_position_bias.permute(2, 0, 1).contiguous().unsqueeze(0)
        B, H, W, C = x.shape
        x_1 = F.pad(x, (0, 0, 0, (7 - W % 7) % 7, 0, (7 - H % 7) % 7))  # swin_transformer.py:155
        pad_H = x_1.shape[1]
        pad_W = x_1.shape[2]
        x_1 = x_1.view(B, pad_H // 7, 7, pad_W // 7, 7, C)  # swin_transformer.py:171
        # swin_transformer.py:172
        x_1 = x_1.permute(0, 1, 3, 2, 4, 5).reshape(B * (pad_H // 7 * (pad_W // 7)), 49, C)
        qkv = F.linear(x_1, self.qkv.weight, self.qkv.bias)  # swin_transformer.py:179
        # swin_transformer.py:180
        qkv = qkv.reshape(x_1.shape[0], x_1.shape[1], 3, self.size, C // self.size).permute(2, 0,
                3, 1, 4)
        getitem = qkv[0]  # swin_transformer.py:181
        getitem_1 = qkv[1]
        v = qkv[2]
        q = getitem * 0.1767766952966369  # swin_transformer.py:188
        del getitem
        attn = q @ getitem_1.transpose(-2, -1)  # swin_transformer.py:189
        attn = attn + relative_position_bias  # swin_transformer.py:191
        attn = F.softmax(attn, dim=-1)  # swin_transformer.py:211
        attn = F.dropout(attn, p=0.0, training=self.training)  # swin_transformer.py:212
        # swin_transformer.py:214
        x_1 = (attn @ v).transpose(1, 2).reshape(x_1.shape[0], x_1.shape[1], C)
        x_1 = F.linear(x_1, self.proj.weight, self.proj.bias)  # swin_transformer.py:215
        x_1 = F.dropout(x_1, p=0.0, training=self.training)  # swin_transformer.py:216
        x_1 = x_1.view(B, pad_H // 7, pad_W // 7, 7, 7, C)  # swin_transformer.py:219
        x_1 = x_1.permute(0, 1, 3, 2, 4, 5).reshape(B, pad_H, pad_W, C)  # swin_transformer.py:220
        x = x_1[:, :H, :W, :].contiguous()  # swin_transformer.py:227
        del x_1, qkv, q, getitem_1, v, attn, relative_position_bias
        return x


# torchvision.ops.stochastic_depth.StochasticDepth
class StochasticDepth(nn.Module):
    def forward(self, input):
        return input


# torchvision.ops.misc.MLP
class MLP(nn.Sequential):
    def __init__(self, in_features, out_features):
        super().__init__(nn.Linear(in_features, out_features), nn.GELU(), nn.Dropout(p=0.0),
                nn.Linear(out_features, in_features), nn.Dropout(p=0.0))


# torchvision.models.swin_transformer.ShiftedWindowAttention
class ShiftedWindowAttention2(nn.Module):
    def __init__(self, size, in_features, out_features):
        super().__init__()
        self.relative_position_bias_table = nn.Parameter(torch.randn(169, size) * 0.02)
        self.register_buffer("relative_position_index", torch.zeros(2401, dtype=torch.int64))
        self.qkv = nn.Linear(in_features, out_features)
        self.proj = nn.Linear(in_features, in_features)
        self.size = size

    def forward(self, x):
        # swin_transformer.py:53
        relative_position_bias = self.relative_position_bias_table[self.relative_position_index]
        relative_position_bias = relative_position_bias.view(49, 49, -1)  # swin_transformer.py:54
        # swin_transformer.py:55
        relative_position_bias = relative_position_bias.permute(2, 0, 1).contiguous().unsqueeze(0)
        B, H, W, C = x.shape
        x_1 = F.pad(x, (0, 0, 0, (7 - W % 7) % 7, 0, (7 - H % 7) % 7))  # swin_transformer.py:155
        pad_H = x_1.shape[1]
        pad_W = x_1.shape[2]
        x_1 = torch.roll(x_1, shifts=(-3, -3), dims=(1, 2))  # swin_transformer.py:167
        x_1 = x_1.view(B, pad_H // 7, 7, pad_W // 7, 7, C)  # swin_transformer.py:171
        # swin_transformer.py:172
        x_1 = x_1.permute(0, 1, 3, 2, 4, 5).reshape(B * (pad_H // 7 * (pad_W // 7)), 49, C)
        qkv = F.linear(x_1, self.qkv.weight, self.qkv.bias)  # swin_transformer.py:179
        # swin_transformer.py:180
        qkv = qkv.reshape(x_1.shape[0], x_1.shape[1], 3, self.size, C // self.size).permute(2, 0,
                3, 1, 4)
        getitem = qkv[0]  # swin_transformer.py:181
        getitem_1 = qkv[1]
        v = qkv[2]
        q = getitem * 0.1767766952966369  # swin_transformer.py:188
        del getitem
        attn = q @ getitem_1.transpose(-2, -1)  # swin_transformer.py:189
        attn = attn + relative_position_bias  # swin_transformer.py:191
        attn_mask = x_1.new_zeros((pad_H, pad_W))  # swin_transformer.py:195
        attn_mask[0:-7, 0:-7] = 0  # swin_transformer.py:201
        attn_mask[0:-7, -7:-3] = 1
        attn_mask[0:-7, -3:] = 2
        attn_mask[-7:-3, 0:-7] = 3
        attn_mask[-7:-3, -7:-3] = 4
        attn_mask[-7:-3, -3:] = 5
        attn_mask[-3:, 0:-7] = 6
        attn_mask[-3:, -7:-3] = 7
        attn_mask[-3:, -3:] = 8
        attn_mask = attn_mask.view(pad_H // 7, 7, pad_W // 7, 7)  # swin_transformer.py:203
        # swin_transformer.py:204
        attn_mask = attn_mask.permute(0, 2, 1, 3).reshape(pad_H // 7 * (pad_W // 7), 49)
        attn_mask = attn_mask.unsqueeze(1) - attn_mask.unsqueeze(2)  # swin_transformer.py:205
        # swin_transformer.py:206
        attn_mask = attn_mask.masked_fill(attn_mask != 0, -100.0).masked_fill(attn_mask == 0, 0.0)
        # swin_transformer.py:207
        attn = attn.view(x_1.shape[0] // (pad_H // 7 * (pad_W // 7)), pad_H // 7 * (pad_W // 7),
                self.size, x_1.shape[1], x_1.shape[1])
        attn = attn + attn_mask.unsqueeze(1).unsqueeze(0)  # swin_transformer.py:208
        attn = attn.view(-1, self.size, x_1.shape[1], x_1.shape[1])  # swin_transformer.py:209
        attn = F.softmax(attn, dim=-1)  # swin_transformer.py:211
        attn = F.dropout(attn, p=0.0, training=self.training)  # swin_transformer.py:212
        # swin_transformer.py:214
        x_1 = (attn @ v).transpose(1, 2).reshape(x_1.shape[0], x_1.shape[1], C)
        x_1 = F.linear(x_1, self.proj.weight, self.proj.bias)  # swin_transformer.py:215
        x_1 = F.dropout(x_1, p=0.0, training=self.training)  # swin_transformer.py:216
        x_1 = x_1.view(B, pad_H // 7, pad_W // 7, 7, 7, C)  # swin_transformer.py:219
        x_1 = x_1.permute(0, 1, 3, 2, 4, 5).reshape(B, pad_H, pad_W, C)  # swin_transformer.py:220
        x_1 = torch.roll(x_1, shifts=(3, 3), dims=(1, 2))  # swin_transformer.py:224
        x = x_1[:, :H, :W, :].contiguous()  # swin_transformer.py:227
        del x_1, qkv, q, getitem_1, v, attn, attn_mask, relative_position_bias
        return x


# torchvision.ops.stochastic_depth.StochasticDepth
class StochasticDepth2(nn.Module):
    def __init__(self, bernoulli):
        super().__init__()
        self.bernoulli = bernoulli

    def forward(self, input):
        if self.training:
            # stochastic_depth.py:40
            noise = torch.empty([input.shape[0], 1, 1, 1], dtype=torch.float32, device=input.device)
            noise = noise.bernoulli_(self.bernoulli)  # stochastic_depth.py:41
            noise.div_(self.bernoulli)  # stochastic_depth.py:43
            return input * noise
        return input


# torchvision.models.swin_transformer.PatchMerging
class PatchMerging(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.reduction = nn.Linear(in_features, out_features, bias=False)
        self.norm = nn.LayerNorm(in_features)

    def forward(self, x):
        x = F.pad(x, (0, 0, 0, x.shape[2] % 2, 0, x.shape[1] % 2))  # swin_transformer.py:37
        x0 = x[..., 0::2, 0::2, :]  # swin_transformer.py:38
        x1 = x[..., 1::2, 0::2, :]  # swin_transformer.py:39
        x2 = x[..., 0::2, 1::2, :]  # swin_transformer.py:40
        x3 = x[..., 1::2, 1::2, :]  # swin_transformer.py:41
        x = torch.cat([x0, x1, x2, x3], -1)  # swin_transformer.py:42
        del x0, x1, x2, x3
        x = self.norm(x)  # swin_transformer.py:84
        x = self.reduction(x)  # swin_transformer.py:85
        return x


# torchvision.models.swin_transformer.SwinTransformerBlock
class SwinTransformerBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(96)
        self.attn = ShiftedWindowAttention(3, 96, 288)
        self.stochastic_depth = StochasticDepth()
        self.norm2 = nn.LayerNorm(96)
        self.mlp = MLP(96, 384)

    def forward(self, x):
        x = x + self.stochastic_depth(self.attn(self.norm1(x)))  # swin_transformer.py:453
        x = x + self.stochastic_depth(self.mlp(self.norm2(x)))  # swin_transformer.py:454
        return x


# torchvision.models.swin_transformer.SwinTransformerBlock
class SwinTransformerBlock2(nn.Module):
    def __init__(self, normalized_shape, size, out_features, bernoulli, mlp_out_features):
        super().__init__()
        self.norm1 = nn.LayerNorm(normalized_shape)
        self.attn = ShiftedWindowAttention2(size, normalized_shape, out_features)
        self.stochastic_depth = StochasticDepth2(bernoulli)
        self.norm2 = nn.LayerNorm(normalized_shape)
        self.mlp = MLP(normalized_shape, mlp_out_features)

    def forward(self, x):
        x = x + self.stochastic_depth(self.attn(self.norm1(x)))  # swin_transformer.py:453
        x = x + self.stochastic_depth(self.mlp(self.norm2(x)))  # swin_transformer.py:454
        return x


# torchvision.models.swin_transformer.SwinTransformerBlock
class SwinTransformerBlock3(nn.Module):
    def __init__(self, normalized_shape, size, out_features, bernoulli, mlp_out_features):
        super().__init__()
        self.norm1 = nn.LayerNorm(normalized_shape)
        self.attn = ShiftedWindowAttention(size, normalized_shape, out_features)
        self.stochastic_depth = StochasticDepth2(bernoulli)
        self.norm2 = nn.LayerNorm(normalized_shape)
        self.mlp = MLP(normalized_shape, mlp_out_features)

    def forward(self, x):
        x = x + self.stochastic_depth(self.attn(self.norm1(x)))  # swin_transformer.py:453
        x = x + self.stochastic_depth(self.mlp(self.norm2(x)))  # swin_transformer.py:454
        return x


# torchvision.models.swin_transformer.SwinTransformer
class SwinTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Sequential(nn.Conv2d(3, 96, 4, stride=4), Permute(2, 3,
                1), nn.LayerNorm(96)), nn.Sequential(SwinTransformerBlock(), SwinTransformerBlock2(96, 3, 288, 0.9818181818181818, 384)), PatchMerging(384, 192), nn.Sequential(SwinTransformerBlock3(192, 6, 576, 0.9636363636363636, 768), SwinTransformerBlock2(192, 6, 576, 0.9454545454545454, 768)), PatchMerging(768, 384), nn.Sequential(SwinTransformerBlock3(384, 12, 1152, 0.9272727272727272, 1536), SwinTransformerBlock2(384, 12, 1152, 0.9090909090909091, 1536), SwinTransformerBlock3(384, 12, 1152, 0.8909090909090909, 1536), SwinTransformerBlock2(384, 12, 1152, 0.8727272727272727, 1536), SwinTransformerBlock3(384, 12, 1152, 0.8545454545454545, 1536), SwinTransformerBlock2(384, 12, 1152, 0.8363636363636364, 1536)), PatchMerging(1536, 768), nn.Sequential(SwinTransformerBlock3(768, 24, 2304, 0.8181818181818181, 3072), SwinTransformerBlock3(768, 24, 2304, 0.8, 3072)))
        self.norm = nn.LayerNorm(768)
        self.permute = Permute(3, 1, 2)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.head = nn.Linear(768, 1000)

    def forward(self, x):
        x = self.features(x)  # swin_transformer.py:608
        x = self.norm(x)  # swin_transformer.py:609
        x = self.permute(x)  # swin_transformer.py:610
        x = self.avgpool(x)  # swin_transformer.py:611
        x = self.flatten(x)  # swin_transformer.py:612
        x = self.head(x)  # swin_transformer.py:613
        return x


def model():
    return SwinTransformer()


def batch(n):
    return torch.randn(n, 3, 224, 224), torch.randint(0, 1000, (n,))


def loss(output, target):
    return F.cross_entropy(output, target)


defaults = dict(batch=4)

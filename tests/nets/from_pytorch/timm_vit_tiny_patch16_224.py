# timm.vit_tiny_patch16_224, written by torch2net.py from PyTorch 2.15.0.
# Lesson: where a model of your own puts its memory.
import torch
import torch.nn as nn
import torch.nn.functional as F


# timm.layers.patch_embed.PatchEmbed
class PatchEmbed(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Conv2d(3, 192, 16, stride=16)
        self.norm = nn.Identity()

    def forward(self, x):
        x = self.proj(x)  # patch_embed.py:139
        x = x.flatten(2).transpose(1, 2)  # patch_embed.py:141
        x = self.norm(x)  # patch_embed.py:144
        return x


# timm.layers.norm.LayerNorm
class LayerNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(192))
        self.bias = nn.Parameter(torch.zeros(192))

    def forward(self, x):
        x = F.layer_norm(x, (192,), weight=self.weight, bias=self.bias, eps=1e-06)  # norm.py:89
        return x


# timm.layers.attention.Attention
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(192, 576)
        self.q_norm = nn.Identity()
        self.k_norm = nn.Identity()
        self.attn_drop = nn.Dropout(p=0.0)
        self.norm = nn.Identity()
        self.proj = nn.Linear(192, 192)
        self.proj_drop = nn.Dropout(p=0.0)

    def forward(self, x):
        B = x.shape[0]
        N = x.shape[1]
        qkv = self.qkv(x).reshape(B, N, 3, 3, 64).permute(2, 0, 3, 1, 4)  # attention.py:119
        q, k, v = qkv.unbind(0)  # attention.py:120
        q_norm = self.q_norm(q)  # attention.py:121
        k = self.k_norm(k)
        del q
        # attention.py:124
        x_1 = F.scaled_dot_product_attention(q_norm, k, v, dropout_p=0.0, is_causal=False)
        x = x_1.transpose(1, 2).reshape(B, N, 192)  # attention.py:139
        del x_1
        x = self.norm(x)  # attention.py:140
        x = self.proj(x)  # attention.py:143
        x = self.proj_drop(x)  # attention.py:144
        del qkv, q_norm, k, v
        return x


# timm.layers.mlp.Mlp
class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(192, 768)
        self.act = nn.GELU()
        self.drop1 = nn.Dropout(p=0.0)
        self.norm = nn.Identity()
        self.fc2 = nn.Linear(768, 192)
        self.drop2 = nn.Dropout(p=0.0)

    def forward(self, x):
        x = self.fc1(x)  # mlp.py:48
        x = self.act(x)  # mlp.py:49
        x = self.drop1(x)  # mlp.py:50
        x = self.norm(x)  # mlp.py:51
        x = self.fc2(x)  # mlp.py:52
        x = self.drop2(x)  # mlp.py:53
        return x


# timm.models.vision_transformer.Block
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = LayerNorm()
        self.attn = Attention()
        self.ls1 = nn.Identity()
        self.drop_path1 = nn.Identity()
        self.norm2 = LayerNorm()
        self.mlp = Mlp()
        self.ls2 = nn.Identity()
        self.drop_path2 = nn.Identity()

    def forward(self, x):
        x = x + self.drop_path1(self.ls1(self.attn(self.norm1(x))))  # vision_transformer.py:250
        x = x + self.drop_path2(self.ls2(self.mlp(self.norm2(x))))  # vision_transformer.py:251
        return x


# timm.models.vision_transformer.VisionTransformer
class VisionTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.cls_token = nn.Parameter(torch.randn(1, 1, 192) * 0.02)
        self.pos_embed = nn.Parameter(torch.randn(1, 197, 192) * 0.02)
        self.patch_embed = PatchEmbed()
        self.pos_drop = nn.Dropout(p=0.0)
        self.patch_drop = nn.Identity()
        self.norm_pre = nn.Identity()
        self.blocks = nn.Sequential(Block(), Block(), Block(), Block(), Block(), Block(), Block(),
                Block(), Block(), Block(), Block(), Block())
        self.norm = LayerNorm()
        self.fc_norm = nn.Identity()
        self.head_drop = nn.Dropout(p=0.0)
        self.head = nn.Linear(192, 1000)

    def forward(self, x):
        x = self.patch_embed(x)  # vision_transformer.py:1288
        expand = self.cls_token.expand(x.shape[0], -1, -1)  # vision_transformer.py:1092
        x_1 = torch.cat([expand, x], dim=1)  # vision_transformer.py:1122
        x_1 = x_1 + self.pos_embed  # vision_transformer.py:1123
        pos_drop = self.pos_drop(x_1)  # vision_transformer.py:1125
        del x_1, expand, x
        x = self.patch_drop(pos_drop)  # vision_transformer.py:1290
        del pos_drop
        x = self.norm_pre(x)  # vision_transformer.py:1291
        x = self.blocks(x)  # vision_transformer.py:1300
        x = self.norm(x)  # vision_transformer.py:1302
        x_1 = x[:, 0]  # vision_transformer.py:734
        x_1 = self.fc_norm(x_1)  # vision_transformer.py:1340
        x_1 = self.head_drop(x_1)  # vision_transformer.py:1341
        result = self.head(x_1)
        del x_1, x
        return result


def model():
    return VisionTransformer()


def batch(n):
    return torch.randn(n, 3, 224, 224), torch.randint(0, 1000, (n,))


def loss(output, target):
    return F.cross_entropy(output, target)


defaults = dict(batch=4)

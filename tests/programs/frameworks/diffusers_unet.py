"""tests/programs/frameworks/diffusers_unet.py - a conditional UNet of diffusers learns to remove noise."""
import torch
from diffusers import DDPMScheduler, UNet2DConditionModel
from diffusers.training_utils import EMAModel
from figures import figures

model = UNet2DConditionModel(sample_size=16, block_out_channels=(32, 64), layers_per_block=1, cross_attention_dim=32,
                             down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), norm_num_groups=8,
                             up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), attention_head_dim=8).cuda()
model.enable_gradient_checkpointing()
average = EMAModel(model.parameters())
average.to("cuda")
noises = DDPMScheduler(num_train_timesteps=100)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    image = torch.randn(4, 4, 16, 16, device="cuda")
    noise = torch.randn_like(image)
    when = torch.randint(0, 100, (4,), device="cuda")
    text = torch.randn(4, 7, 32, device="cuda")
    with torch.autocast("cuda", torch.float16):
        output = model(noises.add_noise(image, noise, when), when, text).sample
    torch.nn.functional.mse_loss(output.float(), noise).backward()
    optimizer.step()
    optimizer.zero_grad()
    average.step(model.parameters())
figures()

"""tests/programs/frameworks/lightning_fit.py - Lightning's Trainer: a LightningModule with validation, bf16-mixed."""
import lightning
import torch
from figures import figures
from torch import nn


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Dropout(), nn.Linear(256, 10))

    def training_step(self, batch, i):
        x, y = batch
        loss = nn.functional.cross_entropy(self.model(x), y)
        self.log("loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, i):
        x, y = batch
        self.log("accuracy", (self.model(x).argmax(1) == y).float().mean())

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters())
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1)}


data = torch.utils.data.TensorDataset(torch.randn(128, 1, 28, 28), torch.randint(0, 10, (128,)))
loader = torch.utils.data.DataLoader(data, batch_size=32)
trainer = lightning.Trainer(max_epochs=2, accelerator="gpu", devices=1, precision="bf16-mixed", logger=False,
                            enable_checkpointing=False, enable_progress_bar=False, gradient_clip_val=1.0,
                            accumulate_grad_batches=2, log_every_n_steps=1)
trainer.fit(Classifier(), loader, loader)
figures()

#!/usr/bin/env python3
"""Train a small residual classifier on Fashion-MNIST and export it to ONNX.

The network has a 3x3 stem and five residual blocks in three stages, 32, 64 and
128 channels wide, at 28x28, 14x14 and 7x7: about 66 million multiply-adds an
image. The exported model takes raw pixels (`image`, float, 0..255, shape
[N, 1, 28, 28]), normalises them itself, and gives `logits` [N, 10]. Its
BatchNormalization nodes are left in the graph, in inference form, so that the
file is a fair input for an optimiser.

Training is plain SGD with Nesterov momentum and a one-cycle learning rate, on
images flipped and shifted by up to two pixels. The exported weights are a
running average of the trained ones. A checkpoint is written next to the output
after each epoch; --resume continues from it.
"""

import argparse
import copy
import gzip
import os
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

MEAN, STD = 72.94, 90.02  # of the training pixels, 0..255
WIDTHS = (32, 64, 128)
BLOCKS = (1, 2, 2)
OPSET = 13


class Block(nn.Module):
    """Two 3x3 convolutions and a shortcut (identity, or 1x1 where the shape changes)."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = None
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + (x if self.shortcut is None else self.shortcut(x)))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor(MEAN))
        self.register_buffer("std", torch.tensor(STD))
        self.stem = nn.Conv2d(1, WIDTHS[0], 3, 1, 1, bias=False)
        self.bn = nn.BatchNorm2d(WIDTHS[0])
        blocks, inputs = [], WIDTHS[0]
        for stage, (width, count) in enumerate(zip(WIDTHS, BLOCKS)):
            for index in range(count):
                blocks.append(Block(inputs, width, 2 if stage > 0 and index == 0 else 1))
                inputs = width
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(inputs, 10)

    def forward(self, image):
        x = (image - self.mean) / self.std
        x = F.relu(self.bn(self.stem(x)))
        x = self.pool(self.blocks(x))
        return self.head(torch.flatten(x, 1))


def read_idx(path):
    """The array in a gzipped IDX file of unsigned bytes."""
    with gzip.open(path, "rb") as file:
        data = file.read()
    if data[:3] != b"\x00\x00\x08":
        raise ValueError(f"{path}: not an IDX file of unsigned bytes")
    shape = np.frombuffer(data, ">u4", data[3], 4).astype(int)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


def load(folder, split):
    images = read_idx(os.path.join(folder, f"{split}-images-idx3-ubyte.gz"))
    labels = read_idx(os.path.join(folder, f"{split}-labels-idx1-ubyte.gz"))
    return (torch.from_numpy(images.copy()).unsqueeze(1),
            torch.from_numpy(labels.astype(np.int64)))


def augment(images, generator, reach=2):
    """Flip half of the images left to right and shift each by up to `reach` pixels."""
    count, _, height, width = images.shape
    padded = F.pad(images, (reach,) * 4)
    dy = torch.randint(0, 2 * reach + 1, (count, 1), generator=generator)
    dx = torch.randint(0, 2 * reach + 1, (count, 1), generator=generator)
    flip = torch.rand(count, 1, generator=generator) < 0.5
    rows = dy + torch.arange(height)
    columns = torch.arange(width).expand(count, width)
    columns = dx + torch.where(flip, width - 1 - columns, columns)
    index = torch.arange(count)[:, None, None]
    return padded[index, 0, rows[:, :, None], columns[:, None, :]].unsqueeze(1)


def evaluate(model, images, labels, batch=500):
    model.eval()
    right = 0
    with torch.no_grad():
        for begin in range(0, len(images), batch):
            logits = model(images[begin:begin + batch].float())
            right += (logits.argmax(1) == labels[begin:begin + batch]).sum().item()
    return right / len(images)


def update_average(average, model, decay):
    """Move the averaged weights and statistics towards the model's."""
    with torch.no_grad():
        for mean, value in zip(average.state_dict().values(), model.state_dict().values()):
            if mean.dtype.is_floating_point:
                mean.lerp_(value, 1 - decay)
            else:
                mean.copy_(value)


def train(args):
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    images, labels = load(args.data, "train")
    test_images, test_labels = load(args.data, "t10k")

    model = Classifier().to(memory_format=torch.channels_last)
    average = copy.deepcopy(model)
    decayed = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.SGD(
        [{"params": decayed, "weight_decay": args.weight_decay},
         {"params": others, "weight_decay": 0.0}],
        lr=args.rate, momentum=0.9, nesterov=True)
    steps = len(images) // args.batch
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=args.rate, epochs=args.epochs, steps_per_epoch=steps,
        pct_start=0.25, cycle_momentum=False, final_div_factor=1000)

    checkpoint = os.path.splitext(args.output)[0] + ".pt"
    first = 0
    if args.resume:
        state = torch.load(checkpoint)
        model.load_state_dict(state["model"])
        average.load_state_dict(state["average"])
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
        generator.set_state(state["generator"])
        first = state["epoch"] + 1

    started = time.time()
    for epoch in range(first, args.epochs):
        model.train()
        order = torch.randperm(len(images), generator=generator)
        total = 0.0
        for step in range(steps):
            chosen = order[step * args.batch:(step + 1) * args.batch]
            batch = augment(images[chosen], generator).float()
            logits = model(batch.contiguous(memory_format=torch.channels_last))
            loss = F.cross_entropy(logits, labels[chosen], label_smoothing=args.smoothing)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
            # A short memory in the first epoch, to forget the initial weights soon.
            update_average(average, model, args.average if epoch else 0.9)
            total += loss.item()
            if step % 50 == 49:
                print(f"  step {step + 1}/{steps}: loss {total / (step + 1):.4f}, "
                      f"{time.time() - started:.0f} s", flush=True)
        torch.save({"model": model.state_dict(), "average": average.state_dict(),
                    "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict(),
                    "generator": generator.get_state(), "epoch": epoch}, checkpoint)
        accuracy = evaluate(average, test_images, test_labels)
        print(f"epoch {epoch + 1}/{args.epochs}: loss {total / steps:.4f}, "
              f"test accuracy {accuracy:.4f}, {time.time() - started:.0f} s", flush=True)
    return average


def export(model, path):
    """Write the model for inference, with its batch normalisations unfolded."""
    model = model.to(memory_format=torch.contiguous_format).eval()
    torch.onnx.export(
        model, torch.zeros(1, 1, 28, 28), path, opset_version=OPSET,
        input_names=["image"], output_names=["logits"],
        dynamic_axes={"image": {0: "N"}, "logits": {0: "N"}},
        training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist",
                        help="folder of the four gzipped IDX files")
    parser.add_argument("--output", default="fashion_mnist.onnx", help="the ONNX file to write")
    parser.add_argument("--epochs", type=int, default=9)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rate", type=float, default=0.15, help="peak learning rate")
    parser.add_argument("--weight-decay", type=float, default=5e-4)
    parser.add_argument("--smoothing", type=float, default=0.1, help="label smoothing")
    parser.add_argument("--average", type=float, default=0.99, help="decay of the weight average")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--resume", action="store_true", help="continue from the checkpoint")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    export(train(args), args.output)


if __name__ == "__main__":
    main()

#include "exporter/pytorch/expressions.h"

namespace opsmith::exporter {

const char* const pytorch_helpers = R"(

def _ints(tensor):
    return [int(i) for i in tensor.reshape(-1).tolist()]


def _window_pads(x, kernel, strides, dilations, pads, auto_pad):
    """Padding before and after each spatial dimension, as ONNX orders it."""
    rank = len(kernel)
    if auto_pad in ("NOTSET", "VALID"):
        return pads or [0] * (2 * rank)
    totals = []
    for i in range(rank):
        extent = x.shape[2 + i]
        reach = (kernel[i] - 1) * dilations[i] + 1
        made = -(-extent // strides[i])
        totals.append(max((made - 1) * strides[i] + reach - extent, 0))
    small = [t // 2 for t in totals]
    large = [t - s for t, s in zip(totals, small)]
    return small + large if auto_pad == "SAME_UPPER" else large + small


def _padded(x, pads, value=0.0):
    rank = len(pads) // 2
    if not any(pads):
        return x
    flat = []
    for i in reversed(range(rank)):
        flat += [pads[i], pads[rank + i]]
    return F.pad(x, flat, value=value)


def _conv(x, w, b, strides, dilations, pads, groups, auto_pad):
    kernel = list(w.shape[2:])
    strides = strides or [1] * len(kernel)
    dilations = dilations or [1] * len(kernel)
    pads = _window_pads(x, kernel, strides, dilations, pads, auto_pad)
    convolve = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[len(kernel)]
    return convolve(_padded(x, pads), w, b, strides, 0, dilations, groups)


def _max_pool(x, kernel, strides, dilations, pads, auto_pad, ceil, include_pad):
    strides = strides or [1] * len(kernel)
    dilations = dilations or [1] * len(kernel)
    pads = _window_pads(x, kernel, strides, dilations, pads, auto_pad)
    pool = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}[len(kernel)]
    return pool(_padded(x, pads, float("-inf")), kernel, strides, 0, dilations, ceil)


def _average_pool(x, kernel, strides, dilations, pads, auto_pad, ceil, include_pad):
    strides = strides or [1] * len(kernel)
    pads = _window_pads(x, kernel, strides, [1] * len(kernel), pads, auto_pad)
    pool = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}[len(kernel)]
    made = pool(_padded(x, pads), kernel, strides, 0, ceil)
    if include_pad or not any(pads):
        return made
    return made / pool(_padded(torch.ones_like(x), pads), kernel, strides, 0, ceil)


def _slice(x, starts, ends, axes, steps):
    axes = axes if axes is not None else list(range(len(starts)))
    steps = steps or [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps):
        extent = x.shape[axis]
        positions = range(extent)[slice(start, end if end >= -extent or step > 0 else None, step)]
        x = x.index_select(axis, torch.tensor(list(positions), dtype=torch.long))
    return x


def _gather(x, positions, axis):
    axis = axis % x.dim()
    positions = positions.long()
    flat = torch.where(positions < 0, positions + x.shape[axis], positions).reshape(-1)
    taken = x.index_select(axis, flat)
    return taken.reshape(x.shape[:axis] + positions.shape + x.shape[axis + 1:])


def _reduce(kind, x, axes, keep):
    axes = list(range(x.dim())) if axes is None else [a % x.dim() for a in axes]
    if kind == "prod":
        for axis in sorted(axes, reverse=True):
            x = torch.prod(x, dim=axis, keepdim=keep)
        return x
    return {"sum": torch.sum, "mean": torch.mean, "amax": torch.amax, "amin": torch.amin}[kind](
        x, dim=axes, keepdim=keep)


def _reshape(x, shape):
    return x.reshape([x.shape[i] if s == 0 else s for i, s in enumerate(shape)])


def _squeeze(x, axes):
    axes = [i for i, s in enumerate(x.shape) if s == 1] if axes is None else axes
    for axis in sorted([a % x.dim() for a in axes], reverse=True):
        x = x.squeeze(axis)
    return x


def _unsqueeze(x, axes):
    rank = x.dim() + len(axes)
    for axis in sorted(a % rank for a in axes):
        x = x.unsqueeze(axis)
    return x


def _flatten(x, axis):
    rows = 1
    for extent in x.shape[:axis]:
        rows *= extent
    return x.reshape(rows, -1)


def _gemm(a, b, c, alpha, beta, trans_a, trans_b):
    made = alpha * ((a.t() if trans_a else a) @ (b.t() if trans_b else b))
    return made if c is None else made + beta * c
)";

}  // namespace opsmith::exporter

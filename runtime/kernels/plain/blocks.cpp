#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/dispatch.h"

// DepthToSpace and SpaceToDepth: blocks of pixels to channels and back.
namespace opsmith::kernels {
namespace {

struct BlockShape {
  int64_t batch, channels, height, width, block;  ///< of the tensor with fewer channels
};

// Position of (pixel offset a, b; channel c) among the channels of the deep tensor.
int64_t deep_channel(const BlockShape& s, bool depth_first, int64_t c, int64_t a, int64_t b) {
  return depth_first ? (a * s.block + b) * s.channels + c : (c * s.block + a) * s.block + b;
}

template <typename T>
void move(const BlockShape& s, bool depth_first, const T* in, T* out, bool to_space) {
  int64_t deep = s.channels * s.block * s.block;
  int64_t rows = s.height / s.block, columns = s.width / s.block;
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t c = 0; c < s.channels; ++c) {
      for (int64_t h = 0; h < s.height; ++h) {
        for (int64_t w = 0; w < s.width; ++w) {
          int64_t wide = ((n * s.channels + c) * s.height + h) * s.width + w;
          int64_t channel = deep_channel(s, depth_first, c, h % s.block, w % s.block);
          int64_t narrow = ((n * deep + channel) * rows + h / s.block) * columns + w / s.block;
          if (to_space) {
            out[wide] = in[narrow];
          } else {
            out[narrow] = in[wide];
          }
        }
      }
    }
  }
}

std::vector<Tensor> rearrange(const PlainCall& call, bool to_space) {
  const Tensor& x = call.input(0);
  int64_t block = call.node.integer("blocksize", 0);
  if (x.rank() != 4 || block < 1) {
    throw UserError(describe(call.node) + ": needs 4 dimensions and a positive blocksize");
  }
  const Shape& from = x.shape();
  int64_t area = block * block;
  BlockShape s{from[0], from[1], from[2], from[3], block};
  Shape shape;
  if (to_space) {
    s.channels = from[1] / area;
    s.height = from[2] * block;
    s.width = from[3] * block;
    shape = {s.batch, s.channels, s.height, s.width};
  } else {
    shape = {s.batch, from[1] * area, from[2] / block, from[3] / block};
  }
  if ((to_space && from[1] % area != 0) ||
      (!to_space && (from[2] % block != 0 || from[3] % block != 0))) {
    throw UserError(describe(call.node) + ": blocksize does not divide " + to_string(from));
  }
  // SpaceToDepth always puts the pixel offset before the channel.
  bool depth_first = !to_space || call.node.text("mode", "DCR") == "DCR";
  Tensor y = call.output(0, x.type(), shape);
  dispatch_size(x.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    move<T>(s, depth_first, elements_as<T>(x), elements_as<T>(y), to_space);
  });
  return {y};
}

}  // namespace

std::vector<KernelDefinition> block_kernels() {
  return {{"DepthToSpace", nullptr, [](const PlainCall& call) { return rearrange(call, true); },
           Handling::Moved},
          {"SpaceToDepth", nullptr, [](const PlainCall& call) { return rearrange(call, false); },
           Handling::Moved}};
}

}  // namespace opsmith::kernels

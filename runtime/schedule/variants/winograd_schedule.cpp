#include <algorithm>

#include "runtime/schedule/register_tile.h"
#include "runtime/schedule/variants/winograd.h"

namespace opsmith::schedule {
namespace {

/// Channels of a reduction that are unrolled together.
constexpr int64_t kReductionBlock = 16;
/// Multiply-adds in one unrolled loop body, as in the schedules of direct programs.
constexpr int64_t kBodyBudget = 448;
/// Tasks enough to balance a few threads.
constexpr int64_t kEnoughTasks = 8;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Writes directives of one stage after another.
class Writer {
 public:
  explicit Writer(Schedule& schedule) : schedule_(schedule) {}
  void stage(const std::string& name) { stage_ = name; }
  void add(const std::string& kind, std::vector<std::string> axes, int64_t factor = 0,
           const std::string& argument = "") {
    schedule_.directives.push_back({kind, stage_, std::move(axes), factor, argument});
  }
  void split(const std::string& axis, const std::string& outer, const std::string& inner,
             int64_t factor) {
    add("split", {axis, outer, inner}, factor);
  }

 private:
  Schedule& schedule_;
  std::string stage_;
};

/// Tiles lie behind channel blocks, so that the product for one (i, j) reads and writes planes.
Layout planes(int64_t block) { return {{{0, 0}, {2, 0}, {3, 0}, {4, 0}, {1, 0}, {4, block}}, {}}; }

class WinogradSchedule {
 public:
  WinogradSchedule(const Variant& variant, const WinogradTiling& tiling, const Target& target)
      : variant_(variant),
        shape_(winograd_shape(variant)),
        names_(variant.program.stages.back().name),
        tiling_(tiling),
        lanes_(target.lanes(4)),
        block_(std::min(tiling.vectors * lanes_, ceil_div(shape_.outputs, lanes_) * lanes_)),
        writer_(result_.schedule) {}

  VariantSchedule write() {
    write_output();
    write_columns();
    write_product();
    write_input();
    write_rows();
    // U[i, j, o, c] in the order of the product.
    result_.weights[variant_.prepared[0].weight] = {{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {2, block_}},
                                                    {}};
    return std::move(result_);
  }

 private:
  void write_output() {
    const auto& axes = variant_.program.stages.back().axes;
    const std::string &n = axes[0].name, &o = axes[1].name, &h = axes[2].name, &w = axes[3].name;
    rows_loop_ = h + ".o";
    outputs_loop_ = o + ".o";
    column_loop_ = o + ".t";
    writer_.stage(names_.output());
    writer_.split(h, rows_loop_, h + ".r", tiling_.rows * shape_.m);
    writer_.split(h + ".r", h + ".t", h + ".i", shape_.m);
    writer_.split(w, w + ".o", w + ".i", shape_.m);
    writer_.split(o, outputs_loop_, o + ".r", block_);
    writer_.split(o + ".r", column_loop_, o + ".v", lanes_);
    writer_.add("reorder", {n, rows_loop_, outputs_loop_, h + ".t", w + ".o", column_loop_,
                            h + ".i", w + ".i", o + ".v"});
    // With all inputs ready, blocks of outputs are tasks too.
    const bool by_outputs = tiling_.whole_input && !tiling_.whole_product;
    std::vector<std::string> tasks = {n, rows_loop_};
    if (by_outputs) tasks.push_back(outputs_loop_);
    writer_.add("parallel", tasks);
    writer_.add("tile", {h + ".i", w + ".i"});
    writer_.add("vectorize", {o + ".v"});
  }

  void write_columns() {
    writer_.stage(names_.columns);
    writer_.add("compute_at", {column_loop_}, 0, names_.output());
    writer_.add("reorder", {"n", "t", "j", "r", "o"});
    writer_.add("tile", {"j", "r"});
    writer_.add("vectorize", {"o"});
  }

  void write_product() {
    writer_.stage(names_.product);
    writer_.add("store", {}, 0, to_string(planes(lanes_)));
    writer_.add("compute_at", {tiling_.whole_product ? rows_loop_ : outputs_loop_}, 0,
                names_.output());
    writer_.split("t", "t.o", "t.i", tiling_.columns);
    writer_.split("o", "o.o", "o.r", block_);
    writer_.split("o.r", "o.t", "o.v", lanes_);
    const int64_t points = std::max<int64_t>(tiling_.columns * (block_ / lanes_), 1);
    int64_t copies = 1;
    while (copies * 2 * points <= kBodyBudget && copies < kReductionBlock) copies *= 2;
    writer_.split("c", "c.o", "c.r", kReductionBlock);
    writer_.split("c.r", "c.m", "c.i", copies);
    writer_.add("reorder", {"n", "i", "j", "o.o", "t.o", "c.o", "c.m", "c.i", "t.i", "o.t", "o.v"});
    if (copies > 1) writer_.add("unroll", {"c.i"});
    writer_.add("tile", {"t.i", "o.t"});
    writer_.add("vectorize", {"o.v"});
  }

  void write_input() {
    writer_.stage(names_.input);
    writer_.add("store", {}, 0, to_string(planes(lanes_)));
    if (!tiling_.whole_input) writer_.add("compute_at", {rows_loop_}, 0, names_.output());
    writer_.split("c", "c.o", "c.v", lanes_);
    writer_.add("reorder", {"n", "c.o", "t", "i", "j", "c.v"});
    if (tiling_.whole_input) writer_.add("parallel", {"n", "c.o", "t"});
    writer_.add("tile", {"i", "j"});
    writer_.add("vectorize", {"c.v"});
  }

  void write_rows() {
    writer_.stage(names_.rows);
    writer_.add("compute_at", {"t"}, 0, names_.input);
    writer_.add("reorder", {"n", "t", "b", "i", "c"});
    writer_.add("tile", {"b", "i"});
    writer_.add("vectorize", {"c"});
  }

  const Variant& variant_;
  WinogradShape shape_;
  WinogradStages names_;
  WinogradTiling tiling_;
  int64_t lanes_;
  int64_t block_;  ///< outputs of a register tile
  VariantSchedule result_;
  Writer writer_;
  std::string rows_loop_, outputs_loop_, column_loop_;
};

}  // namespace

WinogradShape winograd_shape(const Variant& variant) {
  const expression::Program& program = variant.program;
  const expression::Stage& last = program.stages.back();
  const expression::Stage& product = *program.find_stage(WinogradStages(last.name).product);
  WinogradShape shape;
  shape.size = product.axes[2].extent.value();
  shape.m = shape.size - 2;
  shape.batch = product.axes[0].extent.value();
  shape.outputs = product.axes[4].extent.value();
  shape.channels = product.reduction_axes[0].extent.value();
  shape.down = ceil_div(last.axes[2].extent.value(), shape.m);
  shape.across = ceil_div(last.axes[3].extent.value(), shape.m);
  return shape;
}

WinogradTiling default_winograd_tiling(const WinogradShape& shape, const Target& target) {
  const int64_t lanes = target.lanes(4);
  const int64_t level2 = target.cache_bytes.size() > 1 ? target.cache_bytes[1] : 512 << 10;
  WinogradTiling tiling;
  // Rows of tiles until a register tile is full, as long as the transformed inputs stay near.
  const int64_t row_bytes = shape.across * shape.size * shape.size * shape.channels * 4;
  const int64_t full = target.vector_registers > 16 ? 14 : 6;
  while (tiling.rows < shape.down && tiling.rows * shape.across < full &&
         (tiling.rows + 1) * row_bytes <= 2 * level2) {
    ++tiling.rows;
  }
  if (shape.batch * ceil_div(shape.down, tiling.rows) < kEnoughTasks && target.threads > 1) {
    tiling.whole_input = true;
    tiling.rows = shape.down;
  }
  TileProblem problem;
  problem.registers = target.vector_registers;
  problem.columns = tiling.rows * shape.across;
  problem.vectors = ceil_div(shape.outputs, lanes);
  const RegisterTile tile = choose_tile(problem);
  tiling.columns = tile.columns;
  tiling.vectors = tile.vectors;
  return tiling;
}

VariantSchedule winograd_schedule(const Variant& variant, const WinogradTiling& tiling,
                                  const Target& target) {
  return WinogradSchedule(variant, tiling, target).write();
}

KernelSpecification preparation_kernel(const expression::Program& preparation, const Layout& layout,
                                       const Target& target) {
  KernelSpecification specification;
  specification.program = preparation;
  specification.target = target;
  const std::string& prepared = preparation.outputs[0];
  specification.layouts[prepared] = layout;
  Writer writer(specification.schedule);
  const int64_t lanes = target.lanes(4);
  writer.stage(prepared);
  writer.split("o", "o.o", "o.v", lanes);
  writer.add("reorder", {"o.o", "c", "i", "j", "o.v"});
  writer.add("parallel", {"o.o", "c"});
  writer.add("tile", {"i", "j"});
  writer.add("vectorize", {"o.v"});
  writer.stage(preparation.stages[0].name);
  writer.add("compute_at", {"c"}, 0, prepared);
  writer.add("reorder", {"c", "b", "i", "o"});
  writer.add("tile", {"b", "i"});
  writer.add("vectorize", {"o"});
  return specification;
}

}  // namespace opsmith::schedule

#include "substitute/refit/linear_form.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "support/error.h"

namespace opsmith::substitute {

namespace {

using expression::Binding;
using expression::Index;
using expression::Program;
using expression::Scalar;
using expression::Stage;

/// An index expression flattened to postfix form with iterators numbered, since a trace evaluates
/// each of them a hundred thousand times.
class CompiledIndex {
 public:
  CompiledIndex(const Index& index, const std::vector<std::string>& iterators,
                const Binding& symbols) {
    add(index, iterators, symbols);
  }

  /// nullopt when a `within` inside is violated.
  std::optional<int64_t> evaluate(const std::vector<int64_t>& point) const {
    int64_t stack[32];
    int top = -1;
    for (const Operation& operation : operations_) {
      if (operation.kind == Index::Kind::Constant) {
        stack[++top] = operation.value;
        continue;
      }
      if (operation.kind == Index::Kind::Iterator) {
        stack[++top] = point[static_cast<size_t>(operation.value)];
        continue;
      }
      const int64_t right = stack[top--];
      int64_t& left = stack[top];
      switch (operation.kind) {
        case Index::Kind::Add:
          left += right;
          break;
        case Index::Kind::Sub:
          left -= right;
          break;
        case Index::Kind::Mul:
          left *= right;
          break;
        case Index::Kind::FloorDiv:
          left = floor_divide(left, right);
          break;
        case Index::Kind::Mod:
          left -= floor_divide(left, right) * right;
          break;
        default:  // Within
          if (left < 0 || left >= right) return std::nullopt;
      }
    }
    return stack[0];
  }

 private:
  struct Operation {
    Index::Kind kind;
    int64_t value = 0;
  };

  static int64_t floor_divide(int64_t a, int64_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  }

  void add(const Index& index, const std::vector<std::string>& iterators, const Binding& symbols,
           int depth = 0) {
    require(depth < 30, "index expression is nested too deeply");
    switch (index.kind()) {
      case Index::Kind::Constant:
        operations_.push_back({Index::Kind::Constant, index.value()});
        break;
      case Index::Kind::Symbol:
        operations_.push_back({Index::Kind::Constant, symbols.at(index.name())});
        break;
      case Index::Kind::Iterator: {
        const auto found = std::find(iterators.begin(), iterators.end(), index.name());
        require(found != iterators.end(), "unbound iterator " + index.name());
        operations_.push_back({Index::Kind::Iterator, found - iterators.begin()});
        break;
      }
      default:
        add(index.left(), iterators, symbols, depth + 1);
        add(index.right(), iterators, symbols, depth + 1);
        operations_.push_back({index.kind(), 0});
    }
  }

  std::vector<Operation> operations_;
};

/// A product of reads and a number.
struct Term {
  double coefficient = 1;
  std::vector<Scalar> reads;
};

[[noreturn]] void refuse(const Stage& stage, const std::string& why) {
  throw Unsupported("stage " + stage.name + " " + why +
                    ": it cannot be fitted by linear least squares");
}

/// The body as a sum of products.
std::vector<Term> expand(const Scalar& body, const Stage& stage) {
  switch (body.kind()) {
    case Scalar::Kind::Constant:
      return {{body.value(), {}}};
    case Scalar::Kind::Read:
      return {{1, {body}}};
    case Scalar::Kind::Cast:
      if (body.type() == ElementType::Float32) return expand(body.operand(0), stage);
      break;
    case Scalar::Kind::Unary:
      if (body.unary_function() == expression::Unary::Negate) {
        std::vector<Term> terms = expand(body.operand(0), stage);
        for (Term& term : terms) term.coefficient = -term.coefficient;
        return terms;
      }
      break;
    case Scalar::Kind::Binary: {
      using expression::Binary;
      const Binary function = body.binary_function();
      if (function == Binary::Add || function == Binary::Subtract) {
        std::vector<Term> terms = expand(body.operand(0), stage);
        for (Term term : expand(body.operand(1), stage)) {
          if (function == Binary::Subtract) term.coefficient = -term.coefficient;
          terms.push_back(std::move(term));
        }
        return terms;
      }
      if (function == Binary::Multiply) {
        std::vector<Term> terms;
        const std::vector<Term> right_terms = expand(body.operand(1), stage);
        for (const Term& left : expand(body.operand(0), stage)) {
          for (const Term& right : right_terms) {
            Term product = left;
            product.coefficient *= right.coefficient;
            product.reads.insert(product.reads.end(), right.reads.begin(), right.reads.end());
            terms.push_back(std::move(product));
          }
        }
        return terms;
      }
      if (function == Binary::Divide && body.operand(1).kind() == Scalar::Kind::Constant) {
        std::vector<Term> terms = expand(body.operand(0), stage);
        for (Term& term : terms) term.coefficient /= body.operand(1).value();
        return terms;
      }
      break;
    }
    default:
      break;
  }
  refuse(stage, "is not a sum of products");
}

/// One element of a stage as a combination of elements of other tensors.
struct TracedRow {
  int64_t element = 0;
  std::vector<std::pair<int32_t, int64_t>> sources;  ///< tensor (-1 for the input), element
  std::vector<std::vector<int32_t>> factors;         ///< per factor, per source
  std::vector<float> coefficients;
};

class Tracer {
 public:
  Tracer(const Program& program, const LayerShape& layer) : program_(program), layer_(layer) {
    if (program.inputs.size() != 1 || program.outputs.size() != 1) {
      throw Unsupported("program " + program.name + " has more than one input or output");
    }
    // Large enough that the traced position is far from every border.
    const int64_t reach =
        16 * layer.dilation * std::max({layer.kernel_height, layer.kernel_width, int64_t{2}});
    const int64_t extent = layer.stride * (2 * reach + 2);
    symbols_ = {{"N", 1}, {"M", 1}, {"H", extent}, {"W", extent}};
    for (const std::string& symbol : program.symbols()) {
      if (!symbols_.contains(symbol)) {
        throw Unsupported("program " + program.name + " leaves size " + symbol + " unbound");
      }
    }
    centre_ = reach;
    for (const auto& weight : program.weights) {
      WeightSpan span{weight.name, extents(weight.shape), form_.weight_count, 0};
      span.count = element_count(span.shape);
      form_.weight_count += span.count;
      form_.weights.push_back(std::move(span));
    }
  }

  /// `step` positions right and below the centre.
  LinearForm trace(int64_t step) {
    const size_t stage_count = program_.stages.size();
    needed_.assign(stage_count, {});
    const size_t last = stage_index(program_.outputs.front());
    const Shape output_shape = extents(program_.stages[last].shape());
    const int64_t position = centre_ + step;
    Shape output(output_shape.size(), 0);
    const bool spatial = layer_.kind == LayerShape::Kind::Convolution;
    if (output.size() != (spatial ? 4u : 2u)) {
      throw Unsupported("program " + program_.name + " has an output of unexpected rank");
    }
    if (spatial) output[2] = output[3] = position;
    std::vector<int64_t> output_elements;
    for (int64_t channel = 0; channel < layer_.output_channels; ++channel) {
      output[1] = channel;
      output_elements.push_back(flatten(output, output_shape));
      need(last, output_elements.back());
    }
    std::vector<std::vector<TracedRow>> rows(stage_count);
    for (size_t i = stage_count; i-- > 0;) rows[i] = trace_stage(i);

    LinearForm form = form_;
    const std::map<int64_t, int32_t> input_values = number_inputs(position, form);
    form.values = static_cast<int64_t>(form.inputs.size());
    std::vector<std::unordered_map<int64_t, int32_t>> values(stage_count);
    for (size_t i = 0; i < stage_count; ++i) {
      for (const TracedRow& row : rows[i]) {
        values[i][row.element] = static_cast<int32_t>(form.values++);
      }
      add_blocks(i, rows[i], input_values, values, form);
    }
    for (int64_t element : output_elements) form.outputs.push_back(values[last].at(element));
    return form;
  }

 private:
  Shape extents(const std::vector<Index>& shape) const {
    Shape result;
    for (const Index& extent : shape) result.push_back(expression::evaluate(extent, symbols_));
    return result;
  }

  static int64_t flatten(const Shape& position, const Shape& shape) {
    int64_t flat = 0;
    for (size_t i = 0; i < shape.size(); ++i) flat = flat * shape[i] + position[i];
    return flat;
  }

  size_t stage_index(const std::string& name) const {
    for (size_t i = 0; i < program_.stages.size(); ++i) {
      if (program_.stages[i].name == name) return i;
    }
    throw InternalError("no stage " + name);
  }

  void need(size_t stage, int64_t element) {
    auto& [known, order] = needed_[stage];
    if (known.insert(element).second) order.push_back(element);
  }

  /// A read with its indices compiled. `tensor`: stage index, kInput, or kWeight + weight index.
  struct CompiledRead {
    static constexpr int32_t kInput = -1;
    int32_t tensor = 0;
    const WeightSpan* weight = nullptr;
    Shape shape;
    std::vector<CompiledIndex> indices;

    /// nullopt where zero is read.
    std::optional<int64_t> element(const std::vector<int64_t>& point) const {
      int64_t flat = 0;
      for (size_t i = 0; i < indices.size(); ++i) {
        const std::optional<int64_t> index = indices[i].evaluate(point);
        if (!index || *index < 0 || *index >= shape[i]) return std::nullopt;
        flat = flat * shape[i] + *index;
      }
      return flat;
    }
  };

  CompiledRead compile(const Scalar& read, const std::vector<std::string>& iterators,
                       size_t stage) {
    CompiledRead result;
    result.shape = extents(program_.shape_of(read.tensor()));
    for (const Index& index : read.indices()) {
      result.indices.emplace_back(index, iterators, symbols_);
    }
    for (const WeightSpan& weight : form_.weights) {
      if (weight.name != read.tensor()) continue;
      const auto [user, fresh] = weight_stage_.emplace(weight.name, stage);
      if (!fresh && user->second != stage) {
        refuse(program_.stages[stage], "shares weight " + weight.name + " with another stage");
      }
      result.weight = &weight;
      return result;
    }
    result.tensor = read.tensor() == program_.inputs.front().name
                        ? CompiledRead::kInput
                        : static_cast<int32_t>(stage_index(read.tensor()));
    return result;
  }

  std::vector<TracedRow> trace_stage(size_t index) {
    const Stage& stage = program_.stages[index];
    if (stage.scatters()) refuse(stage, "is a scatter stage");
    if (stage.reduction != expression::Reduction::None &&
        stage.reduction != expression::Reduction::Sum) {
      refuse(stage, "reduces by something else than a sum");
    }
    if (stage.fill != 0) refuse(stage, "reads something else than zero outside its tensors");
    if (stage.epilogue && stage.epilogue->kind() != Scalar::Kind::Reduced) {
      refuse(stage, "has an epilogue");
    }
    std::vector<std::string> iterators;
    for (const auto& axis : stage.axes) iterators.push_back(axis.name);
    Shape reduction;
    for (const auto& axis : stage.reduction_axes) {
      iterators.push_back(axis.name);
      reduction.push_back(expression::evaluate(axis.extent, symbols_));
    }
    struct CompiledTerm {
      double coefficient = 1;
      CompiledRead data;
      std::vector<CompiledRead> weights;
    };
    std::vector<CompiledTerm> terms;
    size_t factor_count = 0;
    for (const Term& term : expand(stage.body, stage)) {
      CompiledTerm compiled;
      compiled.coefficient = term.coefficient;
      int data_reads = 0;
      for (const Scalar& read : term.reads) {
        CompiledRead compiled_read = compile(read, iterators, index);
        if (compiled_read.weight != nullptr) {
          for (const CompiledRead& other : compiled.weights) {
            if (other.weight == compiled_read.weight) {
              refuse(stage, "multiplies weight " + read.tensor() + " with itself");
            }
          }
          compiled.weights.push_back(std::move(compiled_read));
        } else {
          compiled.data = std::move(compiled_read);
          ++data_reads;
        }
      }
      if (data_reads != 1) refuse(stage, "is not linear in the data that it reads");
      factor_count = std::max(factor_count, compiled.weights.size());
      terms.push_back(std::move(compiled));
    }

    const Shape shape = extents(stage.shape());
    std::vector<TracedRow> rows;
    std::vector<int64_t> point(iterators.size());
    for (int64_t element : needed_[index].second) {
      TracedRow row;
      row.element = element;
      row.factors.resize(factor_count);
      int64_t rest = element;
      for (size_t i = shape.size(); i-- > 0; rest /= shape[i]) point[i] = rest % shape[i];
      const int64_t reduction_points = element_count(reduction);
      for (int64_t r = 0; r < reduction_points; ++r) {
        rest = r;
        for (size_t i = reduction.size(); i-- > 0; rest /= reduction[i]) {
          point[shape.size() + i] = rest % reduction[i];
        }
        for (const CompiledTerm& term : terms) {
          const std::optional<int64_t> source = term.data.element(point);
          if (!source) continue;
          std::vector<int32_t> factors(factor_count, -1);
          bool zero = false;
          for (size_t i = 0; i < term.weights.size(); ++i) {
            const std::optional<int64_t> weight = term.weights[i].element(point);
            zero = zero || !weight;
            if (weight) {
              factors[i] = static_cast<int32_t>(term.weights[i].weight->begin + *weight);
            }
          }
          if (zero) continue;
          if (term.data.tensor == CompiledRead::kInput) {
            input_elements_.insert(*source);
          } else {
            need(static_cast<size_t>(term.data.tensor), *source);
          }
          row.sources.push_back({term.data.tensor, *source});
          for (size_t i = 0; i < factor_count; ++i) row.factors[i].push_back(factors[i]);
          row.coefficients.push_back(static_cast<float>(term.coefficient));
        }
      }
      rows.push_back(std::move(row));
    }
    return rows;
  }

  std::map<int64_t, int32_t> number_inputs(int64_t position, LinearForm& form) const {
    const Shape shape = extents(program_.inputs.front().shape);
    const bool spatial = layer_.kind == LayerShape::Kind::Convolution;
    std::map<InputOffset, int64_t> sorted;
    for (const int64_t element : input_elements_) {
      InputOffset offset;
      if (spatial) {
        offset.column = element % shape[3] - position * layer_.stride;
        offset.row = element / shape[3] % shape[2] - position * layer_.stride;
        offset.channel = element / shape[3] / shape[2] % shape[1];
      } else {
        offset.channel = element % shape[1];
      }
      sorted[offset] = element;
    }
    std::map<int64_t, int32_t> values;
    for (const auto& [offset, element] : sorted) {
      values[element] = static_cast<int32_t>(form.inputs.size());
      form.inputs.push_back(offset);
    }
    return values;
  }

  /// Groups rows that read the same values into dense blocks.
  static void add_blocks(size_t stage, const std::vector<TracedRow>& rows,
                         const std::map<int64_t, int32_t>& input_values,
                         const std::vector<std::unordered_map<int64_t, int32_t>>& values,
                         LinearForm& form) {
    std::map<std::vector<int32_t>, LinearBlock> blocks;
    std::vector<std::vector<int32_t>> order;
    for (const TracedRow& row : rows) {
      std::vector<int32_t> columns;
      for (const auto& [tensor, element] : row.sources) {
        columns.push_back(tensor < 0 ? input_values.at(element)
                                     : values[static_cast<size_t>(tensor)].at(element));
      }
      if (columns.empty()) continue;
      LinearBlock& block = blocks[columns];
      if (block.rows.empty()) {
        block.columns = columns;
        block.factors.resize(row.factors.size());
        order.push_back(columns);
      }
      block.rows.push_back(values[stage].at(row.element));
      for (size_t i = 0; i < row.factors.size(); ++i) {
        block.factors[i].insert(block.factors[i].end(), row.factors[i].begin(),
                                row.factors[i].end());
      }
      block.coefficients.insert(block.coefficients.end(), row.coefficients.begin(),
                                row.coefficients.end());
    }
    for (const auto& columns : order) {
      LinearBlock& block = blocks[columns];
      if (std::all_of(block.coefficients.begin(), block.coefficients.end(),
                      [](float c) { return c == 1.0f; })) {
        block.coefficients.clear();
      }
      form.blocks.push_back(std::move(block));
    }
  }

  const Program& program_;
  const LayerShape& layer_;
  Binding symbols_;
  int64_t centre_ = 0;
  LinearForm form_;  ///< its weights only
  std::map<std::string, size_t> weight_stage_;
  std::vector<std::pair<std::unordered_set<int64_t>, std::vector<int64_t>>> needed_;
  std::set<int64_t> input_elements_;
};

}  // namespace

Window Window::united(const Window& other) const {
  return {std::min(row_begin, other.row_begin), std::max(row_end, other.row_end),
          std::min(column_begin, other.column_begin), std::max(column_end, other.column_end)};
}

Window window_of(const LayerShape& layer) {
  return {-layer.padding_top, (layer.kernel_height - 1) * layer.dilation + 1 - layer.padding_top,
          -layer.padding_left, (layer.kernel_width - 1) * layer.dilation + 1 - layer.padding_left};
}

Window LinearForm::window() const {
  if (inputs.empty()) return {};
  Window window{inputs[0].row, inputs[0].row + 1, inputs[0].column, inputs[0].column + 1};
  for (const InputOffset& input : inputs) {
    window = window.united({input.row, input.row + 1, input.column, input.column + 1});
  }
  return window;
}

bool LinearForm::operator==(const LinearForm& other) const {
  return weight_count == other.weight_count && inputs == other.inputs && values == other.values &&
         outputs == other.outputs && blocks == other.blocks;
}

LinearForm linear_form(const expression::Program& program, const LayerShape& layer) {
  LinearForm form = Tracer(program, layer).trace(0);
  if (layer.kind == LayerShape::Kind::Convolution && !(form == Tracer(program, layer).trace(1))) {
    throw Unsupported("program " + program.name +
                      " differs from position to position: it cannot be fitted from patches");
  }
  return form;
}

}  // namespace opsmith::substitute

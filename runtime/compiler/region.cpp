#include "runtime/compiler/region.h"

#include <algorithm>

#include "support/error.h"

namespace opsmith::compiler {
namespace {

using expression::Index;
using expression::Scalar;

/// Adds what the reads of one stage need to a region.
class RegionUnion {
 public:
  RegionUnion(const expression::Program& program, const std::string& tensor, Atoms& atoms,
              int first_inner)
      : tensor_(tensor), atoms_(atoms), first_inner_(first_inner) {
    for (const Index& extent : program.shape_of(tensor)) {
      shape_.push_back(expression::simplify(extent).value());
    }
  }

  void add(const expression::Stage& stage, const AxisFrame& frame) {
    const auto add_reads = [&](const Scalar& scalar) {
      for (const Scalar& read : expression::reads(scalar)) {
        if (read.tensor() == tensor_) add_read(read, frame);
      }
    };
    add_reads(stage.body);
    if (stage.epilogue) add_reads(*stage.epilogue);
  }

  Region region() const {
    require(!outer_.empty() || shape_.empty(), "the region of a tensor that nothing reads");
    Region result;
    for (size_t d = 0; d < shape_.size(); ++d) {
      expression::Range range = inner_[d];
      // A part that does not move cannot be more than the whole.
      if (outer_[d].is_constant()) {
        range.begin = std::max<int64_t>(range.begin, -outer_[d].constant);
        range.end = std::min<int64_t>(range.end, shape_[d] - outer_[d].constant);
        range.end = std::max(range.end, range.begin);
      }
      result.origin.push_back(outer_[d] + range.begin);
      result.extents.push_back(range.end - range.begin);
    }
    return result;
  }

 private:
  /// Splits into what the outer loops decide and what varies within.
  void add_read(const Scalar& read, const AxisFrame& frame) {
    const bool first = outer_.empty();
    for (size_t d = 0; d < shape_.size(); ++d) {
      const LinearForm form = frame.form(read.indices()[d], atoms_);
      LinearForm outer;
      LinearForm inner;
      for (const LinearForm::Term& term : form.terms) {
        (is_inner(term.atom) ? inner : outer).terms.push_back(term);
      }
      inner.constant = form.constant;
      const expression::Range range = atoms_.range(inner);
      if (first) {
        outer_.push_back(outer);
        inner_.push_back(range);
        continue;
      }
      if (outer != outer_[d]) {
        throw UserError("the reads of '" + tensor_ + "' move differently");
      }
      inner_[d].begin = std::min(inner_[d].begin, range.begin);
      inner_[d].end = std::max(inner_[d].end, range.end);
    }
  }

  bool is_inner(int atom) const {
    const Atoms::Atom& entry = atoms_.at(atom);
    if (entry.kind == Atoms::Kind::Loop) return atom >= first_inner_;
    const auto inside = [&](const LinearForm& form) {
      return std::any_of(form.terms.begin(), form.terms.end(),
                         [&](const auto& term) { return is_inner(term.atom); });
    };
    return inside(entry.operand) || inside(entry.other);
  }

  const std::string& tensor_;
  Atoms& atoms_;
  int first_inner_;
  Shape shape_;
  std::vector<LinearForm> outer_;
  std::vector<expression::Range> inner_;
};

bool reads_tensor(const expression::Stage& stage, const std::string& tensor) {
  const auto in = [&](const Scalar& scalar) {
    const std::vector<Scalar> all = expression::reads(scalar);
    return std::any_of(all.begin(), all.end(),
                       [&](const Scalar& read) { return read.tensor() == tensor; });
  };
  return in(stage.body) || (stage.epilogue && in(*stage.epilogue));
}

bool computed_inside(const LoopNest& nest, const StageNest& stage, const StageNest& anchor) {
  for (const StageNest* at = &stage; !at->anchor.empty();) {
    if (at->anchor == anchor.stage.name) return true;
    at = &nest.stage(at->anchor);
  }
  return false;
}

}  // namespace

Region region_of(const LoopNest& nest, const std::string& tensor, const StageNest& anchor,
                 const AxisFrame& frame, Atoms& atoms) {
  const int first_inner = atoms.lane(1).terms.at(0).atom;
  RegionUnion region(nest.program, tensor, atoms, first_inner);
  for (const StageNest& reader : nest.stages) {
    if (!reads_tensor(reader.stage, tensor)) continue;
    if (&reader == &anchor) {
      AxisFrame probe = frame;
      for (const Loop& loop : anchor.loops) {
        const int axis = frame.table().id(loop.axis);
        if (probe.bound(axis)) continue;
        const AxisFrame::Count count = probe.count(axis);
        if (count.full == 0 && count.rest) {
          probe.bind_rest(axis);
        } else {
          probe.bind(axis, atoms.lane(std::max<int64_t>(count.full + (count.rest ? 1 : 0), 1)));
        }
      }
      region.add(reader.stage, probe);
      continue;
    }
    if (!computed_inside(nest, reader, anchor)) {
      throw UserError("'" + reader.stage.name + "', which is not computed inside '" +
                      anchor.stage.name + "', reads '" + tensor + "' too");
    }
    const Region part = region_of(nest, reader.stage.name, anchor, frame, atoms);
    const AxisTable table(reader);
    AxisFrame probe(table);
    for (size_t d = 0; d < reader.stage.axes.size(); ++d) {
      probe.fix(table.id(reader.stage.axes[d].name),
                part.origin[d] + atoms.lane(std::max<int64_t>(part.extents[d], 1)));
    }
    for (const expression::Axis& axis : reader.stage.reduction_axes) {
      const int id = table.id(axis.name);
      probe.fix(id, atoms.lane(std::max<int64_t>(probe.extent(id), 1)));
    }
    region.add(reader.stage, probe);
  }
  return region.region();
}

AxisFrame FrameInside::at(const StageNest& stage, const std::string& loop) {
  const AxisTable& table = tables_.emplace_back(stage);
  AxisFrame frame(table);
  if (!stage.anchor.empty()) {
    const StageNest& anchor = nest_.stage(stage.anchor);
    const AxisFrame outside = at(anchor, stage.anchor_loop);
    place_axes(frame, table, stage.stage,
               region_of(nest_, stage.stage.name, anchor, outside, atoms_));
  }
  for (const Loop& entry : stage.loops) {
    const int axis = table.id(entry.axis);
    const AxisFrame::Count count = frame.count(axis);
    if (count.full > 0 || !count.rest) {
      frame.bind(axis, atoms_.loop({0, std::max<int64_t>(count.full, 1)}));
    } else {
      frame.bind_rest(axis);
    }
    if (entry.axis == loop) return frame;
  }
  throw UserError("compute_at: '" + stage.stage.name + "' has no loop '" + loop + "'");
}

void place_axes(AxisFrame& frame, const AxisTable& table, const expression::Stage& stage,
                const Region& region) {
  for (size_t d = 0; d < stage.axes.size(); ++d) {
    frame.place(table.id(stage.axes[d].name), region.origin[d], region.extents[d]);
  }
}

}  // namespace opsmith::compiler

#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/compiler/codegen/tensor_access.h"
#include "runtime/compiler/linear_form.h"
#include "runtime/compiler/loop_nest.h"

namespace opsmith::compiler {

/// The axes of a stage by number, with how they come from each other.
class AxisTable {
 public:
  explicit AxisTable(const StageNest& nest);

  struct Axis {
    AxisRelation relation;
    int first = -1;  ///< of the relation
    int second = -1;
    int parent = -1;  ///< the split axis whose outer part this is
  };
  int id(const std::string& name) const;
  const Axis& at(int axis) const { return axes_[static_cast<size_t>(axis)]; }
  size_t size() const { return axes_.size(); }

 private:
  std::map<std::string, int> ids_;
  std::vector<Axis> axes_;
};

/// What is known of the axes at one place of the generated code: which loops are bound to which
/// values, how far the others run, and which guards hold.
class AxisFrame {
 public:
  explicit AxisFrame(const AxisTable& table);

  /// Iterations of a loop: full ones, and whether a shorter last one follows (the loop is the outer
  /// part of a split with a rest).
  struct Count {
    int64_t full = 0;
    bool rest = false;
  };
  Count count(int loop) const;
  /// Binds a loop in one of its full iterations (`value` in [0, full)), or in the last one.
  void bind(int loop, const LinearForm& value);
  void bind_rest(int loop);
  /// Gives an axis this value, whatever loops it is made of.
  void fix(int axis, const LinearForm& value);
  /// Makes an axis of the stage run over [origin, origin + extent): it is computed inside another.
  void place(int axis, const LinearForm& origin, int64_t extent);
  const AxisTable& table() const { return *table_; }
  bool bound(int loop) const { return bound_[static_cast<size_t>(loop)]; }
  int64_t extent(int axis) const { return extent_[static_cast<size_t>(axis)]; }

  LinearForm value(int axis, Atoms& atoms) const;
  /// An index of the program; tests by `within` are added to `guards`.
  LinearForm form(const expression::Index& index, Atoms& atoms,
                  std::vector<Guard>* guards = nullptr) const;

  void assume(const Guard& guard) { assumed_.push_back(guard); }
  bool assumes(const Guard& guard) const;

 private:
  const AxisTable* table_;
  std::vector<LinearForm> value_;
  std::vector<bool> bound_;
  std::vector<LinearForm> origin_;
  std::vector<int64_t> extent_;
  std::vector<Guard> assumed_;
};

}  // namespace opsmith::compiler

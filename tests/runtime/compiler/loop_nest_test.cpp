#include "runtime/compiler/loop_nest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "runtime/compiler/codegen/axis_frame.h"
#include "support/error.h"
#include "support/random.h"
#include "tests/runtime/compiler/compiled.h"

// Loops made by directives walk through every point of a stage once: AxisTable and AxisFrame tell
// the points.

namespace opsmith::compiler::testing {
namespace {

using schedule::Directive;
using ::testing::HasSubstr;

using Point = std::vector<int64_t>;

expression::Program program(const std::string& stage) {
  return expression::parse("program p(x: f32[200];) -> z\n  z: " + stage);
}

/// The values of the stage's own axes at every iteration, in the order in which they run.
class Walk {
 public:
  explicit Walk(const StageNest& nest) : nest_(nest), table_(nest) { visit(AxisFrame(table_), 0); }
  std::vector<Point> points;

 private:
  void visit(const AxisFrame& frame, size_t depth) {
    if (depth == nest_.loops.size()) {
      Point point;
      Atoms atoms;
      for (const auto* axes : {&nest_.stage.axes, &nest_.stage.reduction_axes}) {
        for (const expression::Axis& axis : *axes) {
          const LinearForm value = frame.value(table_.id(axis.name), atoms);
          EXPECT_TRUE(value.is_constant());
          point.push_back(value.constant);
        }
      }
      points.push_back(point);
      return;
    }
    const int loop = table_.id(nest_.loops[depth].axis);
    EXPECT_FALSE(frame.bound(loop));
    const AxisFrame::Count count = frame.count(loop);
    for (int64_t i = 0; i < count.full; ++i) {
      AxisFrame inside = frame;
      inside.bind(loop, i);
      EXPECT_TRUE(inside.bound(loop));
      visit(inside, depth + 1);
    }
    if (!count.rest) return;
    AxisFrame inside = frame;
    inside.bind_rest(loop);
    visit(inside, depth + 1);
  }

  const StageNest& nest_;
  AxisTable table_;
};

std::vector<Point> all_points(const Shape& extents) {
  std::vector<Point> points = {{}};
  for (const int64_t extent : extents) {
    std::vector<Point> longer;
    for (const Point& point : points) {
      for (int64_t i = 0; i < extent; ++i) {
        longer.push_back(point);
        longer.back().push_back(i);
      }
    }
    points = std::move(longer);
  }
  return points;
}

TEST(LoopNest, WithoutDirectivesRunsInOrder) {
  const LoopNest nest = apply(program("f32[a: 2, b: 3] = sum[f32](k: 4) x[a + b + k]"), {}, {});
  ASSERT_EQ(nest.stages.size(), 1U);
  ASSERT_EQ(nest.stages[0].loops.size(), 3U);
  EXPECT_EQ(Walk(nest.stages[0]).points, all_points({2, 3, 4}));
  EXPECT_FALSE(nest.stages[0].is_reduction(nest.stages[0].loops[1]));
  EXPECT_TRUE(nest.stages[0].is_reduction(nest.stages[0].loops[2]));
  EXPECT_EQ(nest.layouts.at("x"), schedule::Layout::row_major(1));
  EXPECT_EQ(nest.layouts.at("z"), schedule::Layout::row_major(2));
}

TEST(LoopNest, OfAScalarAndOfNothing) {
  EXPECT_EQ(Walk(make_nest(program("f32[] = x[3]").stages[0])).points, (std::vector<Point>{{}}));
  EXPECT_TRUE(Walk(make_nest(program("f32[a: 0, b: 3] = x[b]").stages[0])).points.empty());
}

TEST(LoopNest, SplitRunsItsRestLast) {
  schedule::Schedule schedule{{{"split", "z", {"a", "o", "i"}, 3, ""}}};
  const LoopNest nest = apply(program("f32[a: 8] = x[a]"), schedule, {});
  EXPECT_EQ(Walk(nest.stages[0]).points, all_points({8}));
  const AxisTable table(nest.stages[0]);
  const AxisFrame frame(table);
  const AxisFrame::Count outer = frame.count(table.id("o"));
  EXPECT_EQ(outer.full, 2);
  EXPECT_TRUE(outer.rest);
  AxisFrame last = frame;
  last.bind_rest(table.id("o"));
  EXPECT_EQ(last.extent(table.id("i")), 2);
  EXPECT_THROW(last.bind_rest(table.id("i")), InternalError);
  EXPECT_THROW(table.id("unknown"), InternalError);
}

TEST(LoopNest, NamesWhatDoesNotFit) {
  const auto error = [](const Directive& directive) {
    return [directive] { apply(program("f32[a: 8, b: 2] = x[a]"), {{directive}}, {}); };
  };
  const auto message = [&](const Directive& directive) {
    try {
      error(directive)();
    } catch (const UserError& refused) {
      return std::string(refused.what());
    }
    return std::string();
  };
  EXPECT_THAT(message({"twist", "z", {"a"}, 0, ""}), HasSubstr("twist of 'z' (a)"));
  EXPECT_THAT(message({"split", "y", {"a", "o", "i"}, 2, ""}), HasSubstr("no such stage"));
  EXPECT_THAT(message({"split", "z", {"c", "o", "i"}, 2, ""}),
              HasSubstr("split of 'z' (c, o, i) by 2: there is no loop 'c'"));
  EXPECT_THAT(message({"split", "z", {"a", "o", "b"}, 2, ""}), HasSubstr("'b'"));
  EXPECT_THAT(message({"fuse", "z", {"b", "a"}, 0, "f"}), HasSubstr("does not follow"));
}

/// A random directive over the loops that there are now; it may not fit.
Directive random_directive(const StageNest& nest, int number, Random& random) {
  std::vector<std::string> loops;
  for (const Loop& loop : nest.loops) loops.push_back(loop.axis);
  const auto some = [&] {
    return static_cast<size_t>(random.integer(0, static_cast<int64_t>(loops.size()) - 1));
  };
  const std::string fresh = "n" + std::to_string(number);
  switch (random.integer(0, 3)) {
    case 0:
    case 1:
      return {"split", "z", {loops[some()], fresh + "o", fresh + "i"}, random.integer(1, 5), ""};
    case 2: {
      if (loops.size() < 2) return {"reorder", "z", {loops[0]}, 0, ""};
      const size_t first = std::min(some(), loops.size() - 2);
      return {"fuse", "z", {loops[first], loops[first + 1]}, 0, fresh};
    }
    default: {
      for (size_t i = loops.size(); i-- > 1;) {
        std::swap(loops[i], loops[static_cast<size_t>(random.integer(0, static_cast<int64_t>(i)))]);
      }
      return {"reorder", "z", loops, 0, ""};
    }
  }
}

TEST(LoopNest, AnyScheduleThatIsAcceptedVisitsEveryPointOnce) {
  Random random(11);
  int accepted = 0;
  for (int i = 0; i < 2500; ++i) {
    Shape extents;
    for (int64_t rank = random.integer(1, 3); rank > 0; --rank) {
      extents.push_back(random.integer(1, 9));
    }
    std::string axes;
    for (size_t d = 0; d < extents.size(); ++d) {
      axes += (d == 0 ? "a" : ", a") + std::to_string(d) + ": " + std::to_string(extents[d]);
    }
    const expression::Program made = program("f32[" + axes + "] = x[a0]");
    schedule::Schedule schedule;
    LoopNest nest = apply(made, schedule, {});
    const auto most = static_cast<int>(random.integer(1, 6));
    for (int d = 0; d < most; ++d) {
      schedule.directives.push_back(random_directive(nest.stages[0], d, random));
      try {
        nest = apply(made, schedule, {});
        ++accepted;
      } catch (const UserError&) {
        schedule.directives.pop_back();
      }
    }
    std::vector<Point> points = Walk(nest.stages[0]).points;
    std::sort(points.begin(), points.end());
    ASSERT_EQ(points, all_points(extents)) << schedule::to_json(schedule);
  }
  EXPECT_GT(accepted, 2500);
}

TEST(AxisFrame, FormsAreTheIndices) {
  // (o*3 + i) / 2 + within(a - 1, 8), a split by 3, b loose: against the evaluated index.
  const LoopNest nest =
      apply(program("f32[a: 8, b: 4] = x[a]"), {{{"split", "z", {"a", "o", "i"}, 3, ""}}}, {});
  const AxisTable table(nest.stages[0]);
  using expression::Index;
  const Index a = Index::iterator("a"), b = Index::iterator("b");
  const std::vector<Index> indices = {a * 5 - b + 7, floor_div(a - 3, 2) * b, mod(a + b * 2, 3),
                                      within(a - 1, 6) + mod(b - 3, 2)};
  for (int64_t o = 0; o < 2; ++o) {
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t v = 0; v < 4; ++v) {
        AxisFrame frame(table);
        frame.bind(table.id("o"), o);
        frame.bind(table.id("i"), i);
        frame.bind(table.id("b"), v);
        const expression::Binding values = {{"a", o * 3 + i}, {"b", v}};
        for (const Index& index : indices) {
          Atoms atoms;
          std::vector<Guard> guards;
          const LinearForm form = frame.form(index, atoms, &guards);
          ASSERT_TRUE(form.is_constant());
          EXPECT_EQ(form.constant, evaluate(index, values)) << to_string(index);
          const bool holds = std::all_of(guards.begin(), guards.end(), [](const Guard& guard) {
            return guard.form.constant >= guard.low && guard.form.constant < guard.high;
          });
          EXPECT_EQ(holds, in_bounds(index, values)) << to_string(index);
        }
      }
    }
  }
}

TEST(AxisFrame, RefusesWhatItCannotExpress) {
  const LoopNest nest = apply(program("f32[a: 8] = x[a]"), {}, {});
  const AxisTable table(nest.stages[0]);
  using expression::Index;
  AxisFrame frame(table);
  Atoms atoms;
  EXPECT_THROW(frame.value(table.id("a"), atoms), InternalError) << "no loop has run yet";
  frame.bind(table.id("a"), 3);
  const Index a = Index::iterator("a");
  EXPECT_THROW(frame.form(Index::symbol("N"), atoms), InternalError);
  EXPECT_THROW(frame.form(Index::iterator("b"), atoms), InternalError);
  EXPECT_THROW(frame.form(floor_div(a, Index(-2)), atoms), Unsupported);
  EXPECT_THROW(frame.form(mod(a, a - 3), atoms), Unsupported);
}

TEST(AxisFrame, AssumesWhatAStrongerGuardImplies) {
  const LoopNest nest = apply(program("f32[a: 8] = x[a]"), {}, {});
  const AxisTable table(nest.stages[0]);
  AxisFrame frame(table);
  Atoms atoms;
  const LinearForm form = atoms.loop({0, 10}), other = atoms.loop({0, 10});
  EXPECT_FALSE(frame.assumes({form, 2, 8}));
  frame.assume({form, 2, 8});
  EXPECT_TRUE(frame.assumes({form, 2, 8}));
  EXPECT_TRUE(frame.assumes({form, 0, 9}));
  EXPECT_FALSE(frame.assumes({form, 3, 8}));
  EXPECT_FALSE(frame.assumes({form, 2, 7}));
  EXPECT_FALSE(frame.assumes({other, 2, 8}));
  EXPECT_FALSE(frame.assumes({form + 1, 2, 8}));
}

}  // namespace
}  // namespace opsmith::compiler::testing

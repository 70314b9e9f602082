#include "search/synthesis/shape_distance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/random.h"

namespace opsmith::synthesis {
namespace {

using Shape = std::vector<const SizeInfo*>;

class ShapeDistanceTest : public ::testing::Test {
 protected:
  ShapeDistanceTest()
      : sizes({{"C", {48}, false},
               {"H", {48}, true},
               {"W", {48}, true},
               {"k", {3}, false},
               {"s", {2}, false}}) {}

  Shape shape(const std::vector<std::string>& texts) {
    Shape result;
    for (const std::string& text : texts)
      result.push_back(sizes.find(substitute::parse_size(text)));
    return result;
  }

  int towards_image(const std::vector<std::string>& current, Elimination elimination) {
    ShapeDistance distance(sizes, shape({"C", "H", "W"}));
    const Shape from = shape(current);
    return distance(from, elimination);
  }

  SizeTable sizes;
};

// The public implementation's values; without contractions its bound is exact.
TEST_F(ShapeDistanceTest, KnownValues) {
  const auto distance = [&](const std::vector<std::string>& current) {
    return towards_image(current, Elimination::Windows);
  };
  EXPECT_EQ(distance({"C", "H/s", "s*W", "k"}), 3);
  EXPECT_EQ(distance({"C", "k*H", "W"}), 2);
  EXPECT_EQ(distance({"C", "H", "W", "k", "k"}), 2);
  EXPECT_EQ(distance({"C*H*W"}), 2);
  EXPECT_EQ(distance({"C", "H/s", "W", "s"}), 1);
  EXPECT_EQ(distance({"C", "H", "W/s"}), ShapeDistance::unreachable);
  EXPECT_EQ(distance({"C", "H", "W"}), 0);
  EXPECT_EQ(distance({"C", "H", "W", "C"}), ShapeDistance::unreachable);
}

// One contraction takes several dimensions away at once.
TEST_F(ShapeDistanceTest, ContractionsEliminateTogether) {
  EXPECT_EQ(towards_image({"C", "H", "W", "k", "k"}, Elimination::Contraction), 1);
  EXPECT_EQ(towards_image({"C", "H", "W", "k", "C"}, Elimination::Contraction), 1);
  EXPECT_EQ(towards_image({"C", "H", "W", "C"}, Elimination::Any), 1);
  EXPECT_EQ(towards_image({"C", "k*H", "W", "C"}, Elimination::Contraction), 2);
}

/// Breadth first over multisets of extents by the very moves that the distance is defined by.
class BruteForce {
 public:
  BruteForce(SizeTable& sizes, std::vector<Extent> blocks, Shape desired, Elimination elimination)
      : sizes_(sizes),
        blocks_(std::move(blocks)),
        desired_(std::move(desired)),
        elimination_(elimination) {
    std::sort(desired_.begin(), desired_.end());
  }

  int distance(Shape current, int most) {
    std::sort(current.begin(), current.end());
    std::set<Shape> seen = {current};
    std::vector<Shape> frontier = {current};
    for (int steps = 0; steps <= most; ++steps) {
      std::vector<Shape> next;
      for (const Shape& shape : frontier) {
        if (shape == desired_) return steps;
        if (steps == most) continue;
        expand(shape, [&](Shape reached) {
          std::sort(reached.begin(), reached.end());
          if (seen.insert(reached).second) next.push_back(std::move(reached));
        });
      }
      frontier = std::move(next);
    }
    return ShapeDistance::unreachable;
  }

 private:
  template <typename Visit>
  void expand(const Shape& shape, const Visit& visit) {
    for (size_t i = 0; i < shape.size(); ++i) {
      Shape without = shape;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
      for (const Extent& block : blocks_) {
        const SizeInfo* inner = sizes_.find(block);
        const SizeInfo* outer = sizes_.quotient(shape[i], inner);
        if (!outer->whole || !inner->whole || block.is_one() || outer->extent.is_one()) continue;
        Shape merged = without;
        merged.push_back(outer);
        merged.push_back(inner);
        visit(merged);
      }
      for (size_t j = i + 1; j < shape.size(); ++j) {
        Shape split = shape;
        split.erase(split.begin() + static_cast<std::ptrdiff_t>(j));
        split[i] = sizes_.product(shape[i], shape[j]);
        visit(split);
      }
      if (may_go(shape[i])) visit(without);
    }
    if (elimination_ != Elimination::Contraction && elimination_ != Elimination::Everything) return;
    for (unsigned gone = 1; gone < 1u << shape.size(); ++gone) {
      Shape rest;
      bool fits = true;
      for (size_t i = 0; i < shape.size(); ++i) {
        if ((gone >> i & 1) == 0)
          rest.push_back(shape[i]);
        else
          fits = fits && may_go(shape[i]);
      }
      if (fits) visit(rest);
    }
  }

  bool may_go(const SizeInfo* info) const {
    if (elimination_ == Elimination::Windows) return !info->primary;
    return elimination_ != Elimination::Contraction || !info->open;
  }

  SizeTable& sizes_;
  std::vector<Extent> blocks_;
  Shape desired_;
  Elimination elimination_;
};

TEST_F(ShapeDistanceTest, EqualsBruteForce) {
  SizeTable small({{"A", {12}, false}, {"B", {12}, true}, {"k", {3}, false}, {"s", {2}, false}});
  std::vector<Extent> all;
  for (int a = 0; a <= 2; ++a)
    for (int b = 0; b <= 1; ++b)
      for (int k = -2; k <= 2; ++k)
        for (int s = -2; s <= 2; ++s) {
          Extent extent;
          extent.set_power(0, a);
          extent.set_power(1, b);
          extent.set_power(2, k);
          extent.set_power(3, s);
          if (small.find(extent)->whole) all.push_back(extent);
        }
  std::vector<const SizeInfo*> choices;
  for (const char* text : {"A", "B", "k", "s", "A/k", "A*k", "A/s", "B/s", "B*k", "B*s", "k*s",
                           "A/(k*s)", "A*s/k", "B/k", "A*B"})
    choices.push_back(small.find(substitute::parse_size(text)));
  Random random(7);
  int compared = 0, finite = 0;
  const int most = 3;
  for (const auto& desired_texts :
       {std::vector<std::string>{"A"}, {"A", "B"}, {"A", "A"}, {"A/s", "s"}}) {
    Shape desired;
    for (const std::string& text : desired_texts)
      desired.push_back(small.find(substitute::parse_size(text)));
    for (const Elimination elimination : {Elimination::Windows, Elimination::Any,
                                          Elimination::Contraction, Elimination::Everything}) {
      ShapeDistance distance(small, desired);
      BruteForce brute(small, all, desired, elimination);
      for (int i = 0; i < 130; ++i) {
        Shape current;
        const int64_t count = random.integer(1, 3);
        for (int64_t d = 0; d < count; ++d)
          current.push_back(choices[static_cast<size_t>(
              random.integer(0, static_cast<int64_t>(choices.size()) - 1))]);
        const int expected = brute.distance(current, most);
        const int found = distance(current, elimination);
        std::string text;
        for (const SizeInfo* info : current) text += small.text(info) + " ";
        if (expected <= most || found <= most) {
          EXPECT_EQ(found, expected) << text << "elimination " << static_cast<int>(elimination);
        }
        EXPECT_EQ(ShapeDistance(small, desired)(current, elimination, 1) <= 1, found <= 1) << text;
        ++compared;
        finite += expected <= most ? 1 : 0;
      }
    }
  }
  EXPECT_GT(compared, 2000);
  EXPECT_GT(finite, 300);
}

}  // namespace
}  // namespace opsmith::synthesis

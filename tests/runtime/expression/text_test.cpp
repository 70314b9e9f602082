#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "runtime/expression/program.h"
#include "support/error.h"

namespace opsmith::expression {
namespace {

constexpr const char* kConvolution =
    R"(program conv(x: f32[N, C, H, W]; w1: f32[O, C/g, k, k], bias: f32[O]) -> z
  z: f32[n: N, o: O, h: H, w: W] = sum[f32](c: C/g, a: k, b: k) x[n, o/(O/g)*(C/g) + c, h + a - k/2, w + b - k/2] * w1[o, c, a, b] epilogue maximum(_ + bias[o], 0)
)";

TEST(Text, ReadsAndWritesAConvolution) {
  const Program program = parse(kConvolution);
  validate(program);
  EXPECT_EQ(print(program), kConvolution);
  EXPECT_EQ(program.stages[0].axes[2].name, "h");
  EXPECT_EQ(reads(program.stages[0].body)[0].indices()[0].kind(), Index::Kind::Iterator);
  EXPECT_EQ(program.stages[0].axes[2].extent.kind(), Index::Kind::Symbol);
}

TEST(Text, KeepsEveryFeature) {
  const std::string all = R"(program "odd \"name\""(x: f16[N, 4], "mod": i8[]) -> p, s, y
  p: f32[i: N] = max[f64](j: 4) select(less_equal(x[i, j], -0.5), f32(x[within(i - 1, N) mod N, j]), inf) fill -inf
  s: bf16[N*2, 4] over (i: N, j: 3) at [(i*2 + j) mod 3, 0 - j] = -(x[i, j] * 0.1) / "mod"[]
  y: i32[] = none[f64]() position(3) + i32("mod"[]) - -2 fill 2.5 epilogue power(_, 1e-300)
)";
  const Program program = parse(all);
  EXPECT_EQ(print(program), all);
  EXPECT_EQ(parse(print(program)), program);
  EXPECT_TRUE(program.stages[1].scatters());
  EXPECT_EQ(program.stages[0].fill, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(program.stages[2].accumulation, ElementType::Float64);
}

TEST(Text, IgnoresCommentsAndLayout) {
  std::string text = kConvolution;
  for (size_t at = 0; (at = text.find(' ', at)) != std::string::npos; at += 12) {
    text.replace(at, 1, " # note\n ");
  }
  EXPECT_EQ(parse(text), parse(kConvolution));
}

TEST(Text, FaultsCarryTheirPlace) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      parse(text);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message("program f(x: f32[N]) -> z\n  z: f32[i: N] = x[i"),
            "program text, line 2, column 21: expected ']', found the end of the text");
  EXPECT_EQ(message("program f(x: f99[N]) -> z"),
            "program text, line 1, column 14: expected an element type such as f32, found 'f99'");
  EXPECT_EQ(message("program f() -> z\n z: f32[] = sine(1)"),
            "program text, line 2, column 13: there is no function 'sine'");
  EXPECT_EQ(message("program f() -> z\n z: f32[] = exp(1, 2)"),
            "program text, line 2, column 13: exp takes 1 operands, not 2");
  EXPECT_NE(message("program f(x: f32[99999999999999999999]) -> z").find("64 bits"),
            std::string::npos);
  EXPECT_NE(message("program f(x: f32[1.5]) -> z").find("integer"), std::string::npos);
  EXPECT_NE(message("program f(x: f32[$]) -> z").find("character '$'"), std::string::npos);
  EXPECT_NE(message("program \"f").find("never closed"), std::string::npos);
  EXPECT_NE(message("").find("expected 'program'"), std::string::npos);
}

TEST(Text, RefusesHostileDepth) {
  const std::string head = "program f(x: f32[1]) -> z\n z: f32[] = ";
  const auto repeated = [](const std::string& part, int count) {
    std::string result;
    for (int i = 0; i < count; ++i) result += part;
    return result;
  };
  constexpr int kMany = 200000;
  for (const std::string part : {"(", "-", "exp(", "1+", "x[", "exp(1+"}) {
    EXPECT_THROW(parse(head + repeated(part, kMany)), UserError) << part;
  }
  EXPECT_THROW(parse(head + repeated("x[0]+", kMany) + "x[0]"), UserError);
  EXPECT_THROW(parse(head + "x[" + repeated("i+", kMany) + "i]"), UserError);
  EXPECT_THROW(parse(head + "x[" + repeated("-", kMany) + "i]"), UserError);
  EXPECT_THROW(parse(head + "x[" + repeated("within(", kMany) + "i]"), UserError);
  const Program fine = parse(head + repeated("x[0]+", 900) + "x[0]");
  EXPECT_EQ(parse(print(fine)), fine);
}

TEST(Text, NumbersSurvive) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 2000; ++round) {
    const double value = std::bit_cast<double>(random());
    Program program = parse("program f() -> z z: f32[] = 1");
    program.stages[0].body = Scalar::constant(value);
    EXPECT_EQ(parse(print(program)), program) << print(program);
  }
}

class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {}

  Program make() {
    Program program;
    program.name = name();
    program.inputs = {{"x", type(), {size(), size()}}, {name() + "1", type(), {}}};
    if (pick(2)) program.weights = {{"w", type(), {size()}}};
    for (int i = 0; i < 1 + pick(3); ++i) {
      Stage stage;
      stage.name = "s" + std::to_string(i);
      stage.type = type();
      iterators_ = {"i", "j"};
      stage.axes = {{"i", size()}, {"j", size()}};
      if (pick(4) == 0) {
        stage.target_shape = {size(), size()};
        stage.target = {index(2), index(2)};
      } else if (pick(2)) {
        stage.reduction = static_cast<Reduction>(1 + pick(4));
        stage.accumulation = type();
        stage.reduction_axes = {{"r'", size()}};
        iterators_.push_back("r'");
      }
      stage.body = scalar(4, false);
      if (pick(3) == 0) stage.fill = number();
      if (pick(3) == 0 && !stage.scatters()) {
        iterators_ = {"i", "j"};
        stage.epilogue = scalar(3, true);
      }
      program.stages.push_back(stage);
      program.outputs.push_back(stage.name);
    }
    return program;
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % n); }
  std::string name() {
    const std::vector<std::string> names = {"f", "mod", "a b", "\"q\\", "_", "fill", "x.y'", ""};
    return names[pick(8)];
  }
  ElementType type() { return static_cast<ElementType>(1 + pick(13)); }
  double number() {
    const std::vector<double> numbers = {1, -1, 0.1, -0.0, 3e200, 1.0 / 3, INFINITY, -INFINITY, 7};
    return numbers[pick(9)];
  }
  Index size() { return pick(2) ? Index(pick(9)) : Index::symbol(pick(2) ? "N" : "within"); }
  Index index(int depth) {
    if (depth == 0 || pick(4) == 0) {
      if (pick(2)) return Index::iterator(iterators_[pick(static_cast<int>(iterators_.size()))]);
      return pick(3) ? Index(pick(9) - 4) : Index::symbol("N");
    }
    const auto kind = static_cast<Index::Kind>(3 + pick(6));
    Index left = index(depth - 1);
    return Index::binary(kind, std::move(left), index(depth - 1));
  }
  Scalar scalar(int depth, bool epilogue) {
    if (depth == 0 || pick(5) == 0) {
      if (epilogue && pick(2)) return Scalar::reduced();
      if (pick(4) == 0) return Scalar::constant(number());
      if (pick(6) == 0) return Scalar::position(index(2));
      Index first = index(3);
      return Scalar::read("x", {std::move(first), index(3)});
    }
    Scalar operand = scalar(depth - 1, epilogue);
    switch (pick(6)) {
      case 0:
        return Scalar::unary(static_cast<Unary>(pick(15)), std::move(operand));
      case 1:
        return Scalar::cast(type(), std::move(operand));
      case 2: {
        Scalar then = scalar(depth - 1, epilogue);
        return Scalar::select(std::move(operand), std::move(then), scalar(depth - 1, epilogue));
      }
      default:
        return Scalar::binary(static_cast<Binary>(pick(13)), std::move(operand),
                              scalar(depth - 1, epilogue));
    }
  }

  std::mt19937 random_;
  std::vector<std::string> iterators_;
};

TEST(Text, RandomProgramsSurvive) {
  RandomProgram random(7);
  for (int round = 0; round < 500; ++round) {
    const Program program = random.make();
    const std::string text = print(program);
    const Program again = parse(text);
    ASSERT_EQ(again, program) << text << "\nbecame\n" << print(again);
    ASSERT_EQ(print(again), text);
    ASSERT_EQ(content_hash(again), content_hash(program));
  }
}

/// Damaged texts are refused with a place, or they are programs that survive.
TEST(Text, DamagedTextsGiveUserErrors) {
  std::mt19937 random(5);
  const std::string original =
      std::string(kConvolution) +
      "  s: f32[N*2, 4] over (i: N, j: 3) at [(i*2 + j) mod 3, 0 - j] = "
      "select(less(x[i, within(j - 1, 3)], 1e3), -inf, f16(position(i)))\n";
  const std::string alphabet = "()[],;:+-*/=_ \"nowz0129.emd\\#$";
  int parsed = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text = original;
    for (int i = 0; i < 1 + round % 3; ++i) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = alphabet[random() % alphabet.size()];
          break;
        case 1:
          text.erase(at, 1 + random() % 5);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 20));
      }
    }
    try {
      const Program program = parse(text);
      ASSERT_EQ(parse(print(program)), program) << text;
      ++parsed;
      validate(program);
      EXPECT_EQ(content_hash(program).size(), 32u);
      instantiate(program, {{"N", 2}, {"C", 4}, {"H", 3}, {"O", 0}, {"g", 0}});
    } catch (const UserError& error) {
      ASSERT_FALSE(std::string(error.what()).empty());
    }
  }
  EXPECT_GT(parsed, 100);
}

}  // namespace
}  // namespace opsmith::expression

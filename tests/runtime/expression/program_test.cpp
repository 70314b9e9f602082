#include "runtime/expression/program.h"

#include <gtest/gtest.h>

#include <functional>

#include "support/error.h"

namespace opsmith::expression {
namespace {

Index it(const std::string& name) { return Index::iterator(name); }
Index size(const std::string& name) { return Index::symbol(name); }

/// A grouped convolution with bias and relu; its names can be chosen.
Program convolution(const std::string& x = "x", const std::string& h = "h") {
  const Index channels = floor_div(size("C"), size("g"));
  const Index half = floor_div(size("k"), 2);
  Program program;
  program.name = "conv";
  program.inputs = {{x, ElementType::Float32, {size("N"), size("C"), size("H"), size("W")}}};
  program.weights = {{"w1", ElementType::Float32, {size("O"), channels, size("k"), size("k")}},
                     {"bias", ElementType::Float32, {size("O")}}};
  Stage stage;
  stage.name = "z";
  stage.axes = {{"n", size("N")}, {"o", size("O")}, {h, size("H")}, {"w", size("W")}};
  stage.reduction = Reduction::Sum;
  stage.reduction_axes = {{"c", channels}, {"a", size("k")}, {"b", size("k")}};
  stage.body =
      Scalar::read(
          x, {it("n"), floor_div(it("o"), floor_div(size("O"), size("g"))) * channels + it("c"),
              it(h) + it("a") - half, it("w") + it("b") - half}) *
      Scalar::read("w1", {it("o"), it("c"), it("a"), it("b")});
  stage.epilogue =
      maximum(Scalar::reduced() + Scalar::read("bias", {it("o")}), Scalar::constant(0));
  program.stages = {stage};
  program.outputs = {"z"};
  return program;
}

const Binding kSizes = {{"N", 2}, {"C", 8}, {"O", 12}, {"H", 5}, {"W", 7}, {"k", 3}, {"g", 4}};

TEST(Program, KnowsItsShapesAndSymbols) {
  const Program program = convolution();
  EXPECT_EQ(program.symbols(), (std::vector<std::string>{"C", "H", "N", "O", "W", "g", "k"}));
  EXPECT_EQ(program.shape_of("z").size(), 4u);
  EXPECT_EQ(to_string(program.shape_of("w1")[1]), "C/g");
  EXPECT_THROW(program.shape_of("nothing"), InternalError);
}

TEST(Program, InstantiationSimplifies) {
  const Program program = instantiate(convolution(), kSizes);
  EXPECT_TRUE(program.symbols().empty());
  const auto read = reads(program.stages[0].body).at(0);
  EXPECT_EQ(to_string(read.indices()[1]), "o/3*2 + c");
  EXPECT_EQ(to_string(read.indices()[2]), "a + h - 1");
  EXPECT_EQ(multiply_accumulates(program), 2 * 12 * 5 * 7 * 2 * 9);
  EXPECT_EQ(parameter_count(program), 12 * 2 * 9 + 12);
  EXPECT_THROW(multiply_accumulates(convolution()), UserError);
}

TEST(Program, HashForgetsNamesAndNothingElse) {
  const Program program = instantiate(convolution(), kSizes);
  EXPECT_EQ(content_hash(program), content_hash(instantiate(convolution("data", "z9"), kSizes)));
  EXPECT_EQ(content_hash(convolution()), content_hash(convolution("data", "z9")));
  EXPECT_NE(content_hash(program), content_hash(convolution()));
  Program filled = program;
  filled.stages[0].fill = 1;
  EXPECT_NE(content_hash(program), content_hash(filled));
  EXPECT_EQ(content_hash(program).size(), 32u);
}

TEST(Program, HashIsTheSameEverywhere) {
  EXPECT_EQ(content_hash(convolution()), "1fdae60c4e3159a3b45c96c0414a34d1");
}

TEST(Program, InfersSizes) {
  const Program program = convolution();
  const Binding binding = infer_binding(
      program, {{"x", {2, 8, 5, 7}}, {"w1", {12, 2, 3, 3}}, {"bias", {12}}}, {{"g", 4}});
  EXPECT_EQ(binding, kSizes);
  EXPECT_THROW(infer_binding(program, {{"x", {2, 8, 5}}}), UserError);
  EXPECT_THROW(infer_binding(program, {{"w1", {12, 2, 3, 5}}}), UserError);
  EXPECT_THROW(infer_binding(program, {{"x", {2, 8, 5, 7}}, {"w1", {12, 8, 3, 3}}}, {{"g", 4}}),
               UserError);
}

TEST(Program, ValidationNamesTheFault) {
  EXPECT_NO_THROW(validate(convolution()));
  const auto faulty = [](const std::function<void(Program&)>& damage, const std::string& message) {
    Program program = convolution();
    damage(program);
    try {
      validate(program);
      ADD_FAILURE() << "no fault found: " << message;
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
  };
  faulty([](Program& p) { p.weights.pop_back(); }, "reads 'bias', which is not declared");
  faulty([](Program& p) { p.weights[1].shape.push_back(1); }, "of rank 2 with 1 indices");
  faulty([](Program& p) { p.stages[0].reduction_axes.pop_back(); }, "iterator b");
  faulty([](Program& p) { p.stages[0].axes[0].name = "o"; }, "comes twice");
  faulty([](Program& p) { p.stages[0].reduction = Reduction::None; }, "no reduction");
  faulty([](Program& p) { p.outputs = {"y"}; }, "not a stage");
  faulty([](Program& p) { p.outputs.clear(); }, "no output");
  faulty([](Program& p) { p.stages[0].body = Scalar::reduced(); }, "outside an epilogue");
  faulty(
      [](Program& p) {
        p.stages[0].epilogue = Scalar::read("w1", {0, it("c"), 0, 0});
      },
      "iterator c");
  faulty([](Program& p) { p.stages[0].body = Scalar::read("z", {0, 0, 0, 0}); }, "before");
  faulty([](Program& p) { p.stages[0].name = "x"; }, "made twice");
  faulty([](Program& p) { p.inputs[0].shape[0] = it("n"); }, "depends on iterator");
  faulty([](Program& p) { p.stages[0].type = ElementType::String; }, "numeric");
  faulty([](Program& p) { p.stages[0].target = {0}; }, "rank");
}

TEST(ScalarType, PromotesLikeItsDescription) {
  const auto type = [](const std::string& tensor) { return parse_element_type(tensor); };
  const auto of = [&](const Scalar& s) { return type_of(s, type, ElementType::Float64); };
  const auto read = [](const std::string& name) { return Scalar::read(name, {}); };
  EXPECT_EQ(of(read("i8") * read("f16")), ElementType::Float16);
  EXPECT_EQ(of(read("f16") * read("bf16")), ElementType::Float32);
  EXPECT_EQ(of(read("u8") + read("i8")), ElementType::Int8);
  EXPECT_EQ(of(read("bool") + read("u8")), ElementType::UInt8);
  EXPECT_EQ(of(read("i8") * Scalar::constant(2)), ElementType::Int8);
  EXPECT_EQ(of(Scalar::unary(Unary::Exp, read("i32"))), ElementType::Float32);
  EXPECT_EQ(of(Scalar::binary(Binary::Less, read("f32"), read("f32"))), ElementType::Bool);
  EXPECT_EQ(of(Scalar::reduced() + read("f32")), ElementType::Float64);
  EXPECT_EQ(of(Scalar::constant(1)), ElementType::Undefined);
  EXPECT_EQ(of(Scalar::cast(ElementType::Int64, read("f32"))), ElementType::Int64);
}

}  // namespace
}  // namespace opsmith::expression

#include "substitute/operator/text/lexer.h"
#include "substitute/operator/value_graph.h"
#include "support/error.h"

namespace opsmith::substitute {

namespace {

class Parser {
 public:
  explicit Parser(const std::string& text) : lexer_(text) {}

  ValueGraph parse() {
    lexer_.expect("operator");
    graph_.name = lexer_.dashed_word("the operator's name");
    if (lexer_.accept("with")) do {
        const std::string variable = lexer_.word("a size variable");
        lexer_.expect("=");
        graph_.sizes[variable] = signed_number();
      } while (lexer_.accept(","));
    while (lexer_.accept("input")) {
      ValueGraph::Input input;
      input.name = lexer_.word("the input's name");
      lexer_.expect("[");
      if (!lexer_.next_is("]")) do {
          input.shape.push_back(text::read_size(lexer_));
        } while (lexer_.accept(","));
      lexer_.expect("]");
      graph_.inputs.push_back(std::move(input));
    }
    while (!lexer_.at_end()) parse_node();
    validate(graph_);
    return std::move(graph_);
  }

 private:
  void parse_node() {
    if (lexer_.accept("region"))
      parse_region();
    else if (lexer_.accept("map"))
      parse_map();
    else if (lexer_.accept("normalize"))
      parse_normalize();
    else if (lexer_.accept("fold"))
      parse_fold();
    else
      lexer_.fail("expected region, map, normalize or fold");
  }

  int64_t signed_number() { return lexer_.accept("-") ? -lexer_.number() : lexer_.number(); }

  Amount amount() {
    if (lexer_.next_is_word()) return Amount{0, lexer_.word("an amount")};
    return Amount{signed_number(), ""};
  }

  // The region under construction complains without a position; the position is ours to add.
  template <typename Work>
  auto guarded(Work work) {
    try {
      return work();
    } catch (const UserError& error) {
      lexer_.fail(error.what());
    }
  }

  Coordinate coordinate(const Region& region) {
    if (!lexer_.next_is_word()) lexer_.fail("expected a coordinate");
    const std::string coordinate_name = lexer_.word("a coordinate");
    const Coordinate c = region.find(coordinate_name);
    if (c < 0) lexer_.fail("there is no coordinate " + coordinate_name + " so far");
    return c;
  }

  std::vector<Coordinate> coordinates(const Region& region) {
    std::vector<Coordinate> list;
    lexer_.expect("[");
    if (!lexer_.next_is("]")) do {
        list.push_back(coordinate(region));
      } while (lexer_.accept(","));
    lexer_.expect("]");
    return list;
  }

  void parse_region() {
    const std::string node_name = lexer_.word("the node's name");
    Region region;
    lexer_.expect("[");
    if (!lexer_.next_is("]")) do {
        const std::string iterator = lexer_.word("an iterator");
        lexer_.expect(":");
        const Size extent = text::read_size(lexer_);
        guarded([&] { return region.output(iterator, extent); });
      } while (lexer_.accept(","));
    lexer_.expect("]");
    lexer_.expect("{");
    while (!lexer_.accept("}")) parse_line(region);
    graph_.nodes.push_back({node_name, std::move(region)});
  }

  std::string made() {
    lexer_.expect("->");
    return lexer_.word("a name for the coordinate made");
  }

  void parse_line(Region& region) {
    if (lexer_.accept("reduce")) {
      const std::string name = lexer_.word("an iterator");
      lexer_.expect(":");
      const Size extent = text::read_size(lexer_);
      guarded([&] { return region.reduce(name, extent); });
    } else if (lexer_.accept("split")) {
      const Coordinate outer = coordinate(region);
      lexer_.expect(",");
      const Coordinate inner = coordinate(region);
      const std::string name = made();
      guarded([&] { return region.split(outer, inner, name); });
    } else if (lexer_.accept("merge")) {
      const Coordinate source = coordinate(region);
      lexer_.expect("by");
      const Size block = text::read_size(lexer_);
      const std::string outer = made();
      lexer_.expect(",");
      const std::string inner = lexer_.word("a name for the inner coordinate");
      guarded([&] { return region.merge(source, block, outer, inner); });
    } else if (lexer_.accept("shift")) {
      const Coordinate source = coordinate(region);
      lexer_.expect("by");
      const Amount by = amount();
      const std::string name = made();
      guarded([&] { return region.shift(source, by, name); });
    } else if (lexer_.accept("expand")) {
      const Coordinate source = coordinate(region);
      guarded([&] { return region.expand(source), 0; });
    } else if (lexer_.accept("unfold")) {
      parse_unfold(region);
    } else if (lexer_.accept("stride")) {
      const Coordinate source = coordinate(region);
      lexer_.expect("by");
      const Size by = text::read_size(lexer_);
      const std::string name = made();
      guarded([&] { return region.stride(source, by, name); });
    } else if (lexer_.accept("share")) {
      const Coordinate source = coordinate(region);
      const std::string first = made();
      lexer_.expect(",");
      const std::string second = lexer_.word("a name for the second coordinate");
      guarded([&] { return region.share(source, first, second); });
    } else if (lexer_.accept("read")) {
      const std::string tensor = lexer_.word("a tensor");
      const std::vector<Coordinate> at = coordinates(region);
      guarded([&] { return region.read(tensor, at), 0; });
    } else if (lexer_.accept("weight")) {
      const std::string tensor = lexer_.word("a weight");
      const std::vector<Coordinate> at = coordinates(region);
      guarded([&] { return region.weight(tensor, at), 0; });
    } else {
      lexer_.fail(
          "expected reduce, split, merge, shift, expand, unfold, stride, share, read or weight");
    }
  }

  void parse_unfold(Region& region) {
    const Coordinate position = coordinate(region);
    lexer_.expect(",");
    const Coordinate window = coordinate(region);
    std::optional<Amount> before;
    std::optional<Size> extent;
    if (lexer_.accept("minus")) before = amount();
    if (lexer_.accept("into")) extent = text::read_size(lexer_);
    const std::string name = made();
    guarded([&] { return region.unfold(position, window, before, extent, name); });
  }

  void parse_map() {
    const std::string name = lexer_.word("the node's name");
    lexer_.expect("=");
    const std::string function = lexer_.word("a function");
    Map map;
    bool known = false;
    for (int i = 0; i <= static_cast<int>(MapFunction::Maximum) && !known; ++i) {
      map.function = static_cast<MapFunction>(i);
      known = to_string(map.function) == function;
    }
    if (!known) lexer_.fail("there is no element-wise function " + function);
    lexer_.expect("(");
    do {
      map.operands.push_back(lexer_.word("a tensor"));
    } while (lexer_.accept(","));
    lexer_.expect(")");
    graph_.nodes.push_back({name, std::move(map)});
  }

  std::vector<int64_t> over() {
    lexer_.expect("over");
    std::vector<int64_t> dimensions;
    do {
      dimensions.push_back(lexer_.number());
    } while (lexer_.accept(","));
    return dimensions;
  }

  void parse_normalize() {
    const std::string name = lexer_.word("the node's name");
    lexer_.expect("=");
    lexer_.expect("softmax");
    lexer_.expect("(");
    Normalize normalize;
    normalize.operand = lexer_.word("a tensor");
    lexer_.expect(")");
    normalize.dimensions = over();
    graph_.nodes.push_back({name, std::move(normalize)});
  }

  void parse_fold() {
    const std::string name = lexer_.word("the node's name");
    lexer_.expect("=");
    Fold fold;
    if (lexer_.accept("maximum"))
      fold.kind = Fold::Kind::Maximum;
    else
      lexer_.expect("average");
    lexer_.expect("(");
    fold.operand = lexer_.word("a tensor");
    lexer_.expect(")");
    fold.dimensions = over();
    graph_.nodes.push_back({name, std::move(fold)});
  }

  text::Lexer lexer_;
  ValueGraph graph_;
};

}  // namespace

ValueGraph parse_operator(const std::string& text) { return Parser(text).parse(); }

}  // namespace opsmith::substitute

#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/expression/program.h"
#include "substitute/operator/primitive.h"

namespace opsmith::substitute {

/// A tensor that a region reads and the coordinates at its dimensions.
struct Operand {
  std::string tensor;
  std::vector<Coordinate> coordinates;
  bool operator==(const Operand&) const = default;
};

/// What a size variable or a named amount is replaced by: a number, a symbol that stays, or an
/// expression over such symbols (the output height of a strided layer).
using SizeValues = std::map<std::string, expression::Index>;

/// A linear contraction: the sum over all its Reduce coordinates of a product of tensor elements,
/// the tensors' coordinates being made by primitives from the output's coordinates (Syno's
/// primitive graph). Built bottom-up by the member functions, each of which takes coordinates,
/// records one primitive and returns what it made. Every coordinate is taken exactly once: by a
/// primitive or by a dimension of an operand.
class Region {
 public:
  struct Info {
    std::string name;  ///< unique in the region; iterators of the program carry it
    Size extent;
    bool operator==(const Info&) const = default;
  };

  Coordinate output(const std::string& name, const Size& extent);
  Coordinate reduce(const std::string& name, const Size& extent);
  Coordinate split(Coordinate outer, Coordinate inner, const std::string& name = "");
  std::pair<Coordinate, Coordinate> merge(Coordinate source, const Size& block,
                                          const std::string& outer_name = "",
                                          const std::string& inner_name = "");
  Coordinate shift(Coordinate source, const Amount& amount, const std::string& name = "");
  void expand(Coordinate source);
  Coordinate unfold(Coordinate position, Coordinate window,
                    const std::optional<Amount>& before = std::nullopt,
                    const std::optional<Size>& extent = std::nullopt, const std::string& name = "");
  Coordinate stride(Coordinate source, const Size& stride, const std::string& name = "");
  std::pair<Coordinate, Coordinate> share(Coordinate source, const std::string& first_name = "",
                                          const std::string& second_name = "");
  /// Places coordinates at the dimensions of a data tensor or of a weight.
  void read(const std::string& tensor, std::vector<Coordinate> coordinates);
  void weight(const std::string& tensor, std::vector<Coordinate> coordinates);

  const std::vector<Info>& coordinates() const { return coordinates_; }
  const std::string& name(Coordinate c) const { return coordinates_.at(size_t(c)).name; }
  const Size& extent(Coordinate c) const { return coordinates_.at(size_t(c)).extent; }
  const std::vector<Coordinate>& outputs() const { return outputs_; }
  const std::vector<Primitive>& primitives() const { return primitives_; }
  const std::vector<Operand>& data() const { return data_; }
  const std::vector<Operand>& weights() const { return weights_; }
  /// The coordinate of that name, -1 when there is none.
  Coordinate find(const std::string& coordinate_name) const;

  std::vector<Size> output_shape() const;
  std::vector<Size> shape_of(const Operand& operand) const;
  /// Topmost coordinates: those that nothing has taken yet, in order. What a search still has to
  /// bring to the input's shape.
  std::vector<Coordinate> open() const;

  bool operator==(const Region&) const = default;

 private:
  Coordinate add(const std::string& name, const Size& extent);
  void take(Coordinate source);

  std::vector<Info> coordinates_;
  std::vector<bool> taken_;
  std::vector<Coordinate> outputs_;
  std::vector<Primitive> primitives_;
  std::vector<Operand> data_, weights_;
};

/// Throws UserError naming the first fault: a coordinate that nothing takes, an extent that is
/// not legal, an unfolded coordinate whose zeros would be lost because it ends in Expand only, a
/// region that reads no data.
void validate(const Region& region);

/// The stage that computes the region. Unfolded coordinates that are transformed further carry
/// `within`; at a dimension of a tensor the tensor's own end says where the zeros are.
expression::Stage lower(const Region& region, const std::string& stage_name,
                        const SizeValues& values);

/// Declarations of the region's weights.
std::vector<expression::TensorDeclaration> lower_weights(const Region& region,
                                                         const SizeValues& values);

}  // namespace opsmith::substitute

#include "substitute/operator/region.h"

#include <algorithm>

#include "support/error.h"

namespace opsmith::substitute {

Coordinate Region::find(const std::string& coordinate_name) const {
  for (size_t i = 0; i < coordinates_.size(); ++i)
    if (coordinates_[i].name == coordinate_name) return static_cast<Coordinate>(i);
  return -1;
}

Coordinate Region::add(const std::string& name, const Size& extent) {
  const std::string unique = name.empty() ? "i" + std::to_string(coordinates_.size()) : name;
  if (find(unique) >= 0) throw UserError("the coordinate " + unique + " is made twice");
  coordinates_.push_back({unique, extent});
  taken_.push_back(false);
  return static_cast<Coordinate>(coordinates_.size() - 1);
}

void Region::take(Coordinate source) {
  if (source < 0 || static_cast<size_t>(source) >= coordinates_.size())
    throw UserError("there is no coordinate number " + std::to_string(source));
  if (taken_[static_cast<size_t>(source)])
    throw UserError("the coordinate " + name(source) + " is used twice; share it first");
  taken_[static_cast<size_t>(source)] = true;
}

Coordinate Region::output(const std::string& name, const Size& extent) {
  const Coordinate result = add(name, extent);
  outputs_.push_back(result);
  return result;
}

Coordinate Region::reduce(const std::string& name, const Size& extent) {
  const Coordinate result = add(name, extent);
  primitives_.emplace_back(Reduce{result});
  return result;
}

Coordinate Region::split(Coordinate outer, Coordinate inner, const std::string& name) {
  take(outer);
  take(inner);
  const Coordinate result = add(name, extent(outer) * extent(inner));
  primitives_.emplace_back(Split{outer, inner, result});
  return result;
}

std::pair<Coordinate, Coordinate> Region::merge(Coordinate source, const Size& block,
                                                const std::string& outer_name,
                                                const std::string& inner_name) {
  take(source);
  const Coordinate outer = add(outer_name, extent(source) / block);
  const Coordinate inner = add(inner_name, block);
  primitives_.emplace_back(Merge{source, block, outer, inner});
  return {outer, inner};
}

Coordinate Region::shift(Coordinate source, const Amount& amount, const std::string& name) {
  take(source);
  const Coordinate result = add(name, extent(source));
  primitives_.emplace_back(Shift{source, amount, result});
  return result;
}

void Region::expand(Coordinate source) {
  take(source);
  primitives_.emplace_back(Expand{source});
}

Coordinate Region::unfold(Coordinate position, Coordinate window,
                          const std::optional<Amount>& before,
                          const std::optional<Size>& unfolded_extent, const std::string& name) {
  take(position);
  take(window);
  const Coordinate result = add(name, unfolded_extent.value_or(extent(position)));
  primitives_.emplace_back(Unfold{position, window, before, unfolded_extent, result});
  return result;
}

Coordinate Region::stride(Coordinate source, const Size& stride, const std::string& name) {
  take(source);
  const Coordinate result = add(name, stride * extent(source));
  primitives_.emplace_back(Stride{source, stride, result});
  return result;
}

std::pair<Coordinate, Coordinate> Region::share(Coordinate source, const std::string& first_name,
                                                const std::string& second_name) {
  take(source);
  const Coordinate first = add(first_name, extent(source));
  const Coordinate second = add(second_name, extent(source));
  primitives_.emplace_back(Share{source, first, second});
  return {first, second};
}

void Region::read(const std::string& tensor, std::vector<Coordinate> coordinates) {
  for (const Coordinate c : coordinates) take(c);
  data_.push_back({tensor, std::move(coordinates)});
}

void Region::weight(const std::string& tensor, std::vector<Coordinate> coordinates) {
  for (const Coordinate c : coordinates) take(c);
  weights_.push_back({tensor, std::move(coordinates)});
}

std::vector<Size> Region::output_shape() const {
  std::vector<Size> shape;
  for (const Coordinate c : outputs_) shape.push_back(extent(c));
  return shape;
}

std::vector<Size> Region::shape_of(const Operand& operand) const {
  std::vector<Size> shape;
  for (const Coordinate c : operand.coordinates) shape.push_back(extent(c));
  return shape;
}

std::vector<Coordinate> Region::open() const {
  std::vector<Coordinate> open_coordinates;
  for (size_t i = 0; i < taken_.size(); ++i)
    if (!taken_[i]) open_coordinates.push_back(static_cast<Coordinate>(i));
  return open_coordinates;
}

void validate(const Region& region) {
  if (const auto open = region.open(); !open.empty())
    throw UserError("the coordinate " + region.name(open[0]) +
                    " ends nowhere; place it in a tensor or expand it");
  if (region.data().empty()) throw UserError("the region reads no data tensor");
  for (const Region::Info& info : region.coordinates())
    if (!info.extent.is_legal())
      throw UserError("the coordinate " + info.name + " has the extent " + to_string(info.extent) +
                      ", which divides by a size that may not divide");

  // From the input down: which coordinates end in a tensor, in part at least.
  std::vector<bool> reaches(region.coordinates().size(), false);
  for (const auto* operands : {&region.data(), &region.weights()})
    for (const Operand& operand : *operands)
      for (const Coordinate c : operand.coordinates) reaches[static_cast<size_t>(c)] = true;
  for (auto primitive = region.primitives().rbegin(); primitive != region.primitives().rend();
       ++primitive) {
    bool any = false;
    for (const Coordinate c : results(*primitive)) any = any || reaches[static_cast<size_t>(c)];
    if (std::holds_alternative<Unfold>(*primitive) && !any)
      throw UserError("the unfolded coordinate " + region.name(results(*primitive)[0]) +
                      " is expanded, which would lose its zeros");
    for (const Coordinate c : sources(*primitive)) reaches[static_cast<size_t>(c)] = any;
  }
}

}  // namespace opsmith::substitute

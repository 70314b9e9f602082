#include "support/tensor_files.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "support/error.h"
#include "support/idx.h"
#include "support/npy.h"
#include "support/npz.h"
#include "support/onnx_tensor.h"

namespace opsmith {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormats = ".npy, .npz, .pb, IDX (also .gz) or a folder with input_0.pb";

/// "prefix_12.pb" gives 12; -1 for other names.
int64_t numbered(const std::string& name, const std::string& prefix, const std::string& suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) ||
      name.size() <= prefix.size() + suffix.size()) {
    return -1;
  }
  const std::string digits =
      name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  if (digits.find_first_not_of("0123456789") != std::string::npos || digits.size() > 9) return -1;
  return std::stoll(digits);
}

/// Entries of a folder named prefix + number + suffix, by number.
std::map<int64_t, fs::path> numbered_entries(const std::string& folder, const std::string& prefix,
                                             const std::string& suffix) {
  std::map<int64_t, fs::path> entries;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const int64_t number = numbered(entry.path().filename().string(), prefix, suffix);
    if (number >= 0) entries[number] = entry.path();
  }
  if (error) throw UserError("cannot list '" + folder + "': " + error.message());
  return entries;
}

std::string name_at(std::span<const std::string> names, size_t place, const std::string& path) {
  if (place < names.size()) return names[place];
  throw UserError("'" + path + "' does not name its tensor, and the model has only " +
                  std::to_string(names.size()) + " inputs; write it as NAME=" + path);
}

/// One data set: input_0.pb, input_1.pb, ...
std::map<std::string, Tensor> load_data_set(const std::string& folder,
                                            std::span<const std::string> names) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [number, path] : numbered_entries(folder, "input_", ".pb")) {
    NamedTensor tensor = read_onnx_tensor(path.string());
    const bool known = std::find(names.begin(), names.end(), tensor.name) != names.end();
    const std::string name =
        known ? tensor.name : name_at(names, static_cast<size_t>(number), path.string());
    tensors[name] = std::move(tensor.tensor);
  }
  return tensors;
}

std::map<std::string, Tensor> load_folder(const std::string& folder,
                                          std::span<const std::string> names) {
  std::map<std::string, Tensor> tensors = load_data_set(folder, names);
  if (!tensors.empty()) return tensors;
  std::map<std::string, std::vector<Tensor>> sets;
  for (const auto& [number, path] : numbered_entries(folder, "test_data_set_", "")) {
    for (auto& [name, tensor] : load_data_set(path.string(), names)) sets[name].push_back(tensor);
  }
  if (sets.empty()) throw UserError("'" + folder + "' holds no input_0.pb and no test_data_set_0");
  for (const auto& [name, parts] : sets) tensors[name] = stack_samples(parts, folder + ":" + name);
  return tensors;
}

Tensor load_idx(const std::string& path, const SampleRange& samples) {
  const Tensor raw = read_idx(path, samples);
  if (raw.rank() == 1) return raw.cast(ElementType::Int64);
  if (raw.rank() != 3) return raw.cast(ElementType::Float32);
  const Shape& s = raw.shape();
  return raw.cast(ElementType::Float32).reshaped({s[0], 1, s[1], s[2]});
}

}  // namespace

TensorSource parse_tensor_source(const std::string& text) {
  TensorSource source;
  source.path = text;
  const size_t equals = text.find('=');
  // "a=b.npy" names its input; a path that exists as it stands does not.
  if (equals != std::string::npos && !fs::exists(text)) {
    source.name = text.substr(0, equals);
    source.path = text.substr(equals + 1);
  }
  source.samples = take_sample_range(source.path);
  if (source.path.empty()) throw UserError("'" + text + "' names no file; write [NAME=]FILE");
  return source;
}

std::map<std::string, Tensor> load_tensors(const TensorSource& source,
                                           std::span<const std::string> names) {
  const std::string& path = source.path;
  if (!fs::exists(path)) throw UserError("'" + path + "' does not exist");
  const auto one = [&](const std::string& own_name, Tensor tensor) {
    std::string name = !source.name.empty() ? source.name : own_name;
    const bool known = std::find(names.begin(), names.end(), name) != names.end();
    if (source.name.empty() && !known) {
      if (names.size() > 1) {
        throw UserError("'" + path + "' does not say which of the " + std::to_string(names.size()) +
                        " inputs it is; write it as NAME=" + path);
      }
      name = name_at(names, 0, path);
    }
    return std::map<std::string, Tensor>{{name, std::move(tensor)}};
  };

  if (fs::is_directory(path)) {
    std::map<std::string, Tensor> tensors = load_folder(path, names);
    for (auto& [name, tensor] : tensors) tensor = slice_samples(tensor, source.samples, path);
    return tensors;
  }
  if (path.ends_with(".npy")) return one("", read_npy(path, source.samples));
  if (path.ends_with(".pb")) {
    NamedTensor tensor = read_onnx_tensor(path);
    return one(tensor.name, slice_samples(tensor.tensor, source.samples, path));
  }
  if (path.ends_with(".npz")) {
    std::map<std::string, Tensor> tensors = read_npz(path, source.samples);
    // An archive of one array stands for a single tensor, whatever numpy called it.
    if (tensors.size() == 1) return one(tensors.begin()->first, tensors.begin()->second);
    if (!source.name.empty()) {
      throw UserError("'" + path + "' holds several arrays, so it cannot be the input '" +
                      source.name + "' alone; name the arrays after the inputs and give the file " +
                      "without a name");
    }
    return tensors;
  }
  if (has_idx_name(path) || path.ends_with(".gz")) return one("", load_idx(path, source.samples));
  throw UserError("'" + path + "' has no known extension; tensors come as " + kFormats);
}

std::map<std::string, Tensor> load_tensors(std::span<const TensorSource> sources,
                                           std::span<const std::string> names) {
  std::map<std::string, Tensor> all;
  for (const TensorSource& source : sources) {
    for (auto& [name, tensor] : load_tensors(source, names)) {
      if (!all.emplace(name, tensor).second) {
        throw UserError("'" + source.path + "' gives input '" + name +
                        "' a second time; give each input once");
      }
    }
  }
  return all;
}

Tensor stack_samples(std::span<const Tensor> tensors, const std::string& origin) {
  if (tensors.size() == 1) return tensors[0];
  if (tensors.empty() || tensors[0].rank() == 0) {
    throw UserError(origin + ": scalars cannot be stacked along a first dimension");
  }
  Shape shape = tensors[0].shape();
  shape[0] = 0;
  for (const Tensor& tensor : tensors) {
    const Shape& own = tensor.shape();
    if (tensor.type() != tensors[0].type() || own.size() != shape.size() ||
        !std::equal(own.begin() + 1, own.end(), shape.begin() + 1)) {
      throw UserError(origin + ": shapes " + to_string(tensors[0].shape()) + " and " +
                      to_string(own) + " differ beyond the first dimension");
    }
    shape[0] += own[0];
  }
  if (tensors[0].type() == ElementType::String) {
    throw UserError(origin + ": strings cannot be stacked");
  }
  Tensor result(tensors[0].type(), shape);
  auto* at = static_cast<char*>(result.raw());
  for (const Tensor& tensor : tensors) {
    if (tensor.bytes() > 0) std::memcpy(at, tensor.raw(), tensor.bytes());
    at += tensor.bytes();
  }
  return result;
}

void save_tensors(const std::string& path, const std::map<std::string, Tensor>& tensors) {
  if (path.ends_with(".npz")) return write_npz(path, tensors);
  const bool npy = path.ends_with(".npy");
  if (!npy && !path.ends_with(".pb")) {
    throw UserError("'" + path + "': results are written as .npz, .npy or .pb");
  }
  if (tensors.size() != 1) {
    throw UserError("'" + path + "' can hold one tensor, not " + std::to_string(tensors.size()) +
                    "; write them as .npz");
  }
  if (npy) return write_npy(path, tensors.begin()->second);
  write_onnx_tensor(path, {tensors.begin()->first, tensors.begin()->second});
}

}  // namespace opsmith

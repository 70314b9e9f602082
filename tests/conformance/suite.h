#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace opsmith::conformance {

/// One case of ONNX's layout: a folder with model.onnx and test_data_set_0, test_data_set_1, ...
struct Case {
  std::string suite;  ///< name of the folder around it
  std::string name;
  std::filesystem::path folder;
};

/// Inputs and expected outputs, by the names of the model's values.
struct DataSet {
  std::map<std::string, Tensor> inputs, outputs;
};

/// The cases below a folder, by suite and name. The folder may hold suites, be a suite or be a
/// case. Throws UserError when there is none.
std::vector<Case> find_cases(const std::filesystem::path& folder);

std::vector<DataSet> load_data_sets(const Case& test, const graph::Model& model);

}  // namespace opsmith::conformance

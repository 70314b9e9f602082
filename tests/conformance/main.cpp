// conformance [--reference] [--expect FILE] FOLDER: runs every case of ONNX's test layout below
// FOLDER and says which did not pass and why, then one line for each suite.
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/compiler/compiler.h"
#include "support/error.h"
#include "support/log.h"
#include "tests/conformance/runner.h"

namespace opsmith::conformance {
namespace {

constexpr const char* kUsage =
    "usage: conformance [--reference] [--expect FILE] FOLDER\n"
    "Runs ONNX's conformance cases below FOLDER (folders with model.onnx and test_data_set_0)\n"
    "through the compiled runtime, and again after export and import.\n"
    "  --reference    node by node instead, without the compiler\n"
    "  --expect FILE  exit with 1 unless the cases that did not pass are those that FILE lists,\n"
    "                 one 'suite/case: reason' a line, '#' before comments\n";

struct Options {
  bool reference = false;
  std::string expected;
  std::string folder;
};

struct Tally {
  int passed = 0, failed = 0, unsupported = 0;
};

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--reference") {
      options.reference = true;
    } else if (argument == "--expect" && i + 1 < arguments.size()) {
      options.expected = arguments[++i];
    } else if (options.folder.empty() && !argument.starts_with("-")) {
      options.folder = argument;
    } else {
      throw UserError(kUsage);
    }
  }
  if (options.folder.empty()) throw UserError(kUsage);
  return options;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Names of the cases that need not pass, from a file of 'suite/case: reason' lines.
std::set<std::string> read_exceptions(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw UserError("cannot read '" + path + "'");
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    names.insert(line.substr(0, line.find(':')));
  }
  return names;
}

// Says where the cases that did not pass are not the expected ones. True when they are.
bool check_expected(const std::string& path, const std::set<std::string>& open,
                    const std::set<std::string>& suites) {
  bool as_expected = true;
  const std::set<std::string> exceptions = read_exceptions(path);
  for (const std::string& name : open) {
    if (exceptions.contains(name)) continue;
    std::cout << "not expected: " << name << "\n";
    as_expected = false;
  }
  for (const std::string& name : exceptions) {
    if (open.contains(name) || !suites.contains(name.substr(0, name.find('/')))) continue;
    std::cout << "passes now, or is gone: " << name << "\n";
    as_expected = false;
  }
  return as_expected;
}

int run(const Options& options) {
  set_log_level(LogLevel::Error);
  Runner runner;
  if (!options.reference) runner.provider = compiler::make_compiler();
  std::map<std::string, Tally> tallies;
  std::map<std::string, std::vector<std::string>> statistical;
  std::set<std::string> open, suites;
  for (const Case& test : find_cases(options.folder)) {
    const Outcome outcome = run_case(test, runner);
    const std::string name = test.suite + "/" + test.name;
    suites.insert(test.suite);
    Tally& tally = tallies[test.suite];
    if (outcome.verdict == Verdict::Passed) {
      ++tally.passed;
      if (outcome.statistical) statistical[test.suite].push_back(test.name);
      continue;
    }
    const bool failed = outcome.verdict == Verdict::Failed;
    ++(failed ? tally.failed : tally.unsupported);
    open.insert(name);
    std::cout << (failed ? "failed " : "unsupported ") << name << ": " << first_line(outcome.reason)
              << std::endl;
  }
  for (const auto& [suite, names] : statistical) {
    std::cout << suite << ": judged by type, shape and statistics, for they hold random numbers:";
    for (const std::string& name : names) std::cout << " " << name;
    std::cout << "\n";
  }
  for (const auto& [suite, tally] : tallies) {
    std::cout << suite << ": passed " << tally.passed << ", failed " << tally.failed
              << ", unsupported " << tally.unsupported << "\n";
  }
  if (options.expected.empty()) return open.empty() ? 0 : 1;
  return check_expected(options.expected, open, suites) ? 0 : 1;
}

}  // namespace
}  // namespace opsmith::conformance

int main(int argc, char** argv) {
  try {
    return opsmith::conformance::run(
        opsmith::conformance::parse(std::vector<std::string>(argv + 1, argv + argc)));
  } catch (const std::exception& error) {
    std::cerr << "conformance: " << error.what() << "\n";
    return 2;
  }
}

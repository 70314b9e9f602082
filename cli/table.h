#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace opsmith::cli {

/// Columns aligned for people; the first column and those whose title ends in ':' to the left, the
/// others (numbers) to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> titles);
  void add(std::vector<std::string> row);
  bool empty() const { return rows_.empty(); }
  void print(std::ostream& out) const;

 private:
  std::vector<std::string> titles_;
  std::vector<bool> left_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace opsmith::cli

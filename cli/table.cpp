#include "cli/table.h"

#include <algorithm>
#include <utility>

#include "support/error.h"

namespace opsmith::cli {
namespace {

/// Characters of a UTF-8 text.
size_t length(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

Table::Table(std::vector<std::string> titles) : titles_(std::move(titles)) {
  for (std::string& title : titles_) {
    const bool marked = title.ends_with(':');
    if (marked) title.pop_back();
    left_.push_back(marked || left_.empty());
  }
}

void Table::add(std::vector<std::string> row) {
  require(row.size() == titles_.size(), "a table row has the wrong number of cells");
  rows_.push_back(std::move(row));
}

void Table::print(std::ostream& out) const {
  std::vector<size_t> widths;
  for (const std::string& title : titles_) widths.push_back(length(title));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], length(row[i]));
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string space(widths[i] - length(cells[i]), ' ');
      text += (i == 0 ? "" : "  ") + (left_[i] ? cells[i] + space : space + cells[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out << text << "\n";
  };
  line(titles_);
  for (const auto& row : rows_) line(row);
}

}  // namespace opsmith::cli

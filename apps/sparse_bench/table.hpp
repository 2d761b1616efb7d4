#pragma once

#include "sparse_bench/results.hpp"

#include <span>

namespace weft::sparse_bench {

/// The lines above the rows of a table, which begin with '#'.
std::string words_header();
std::string times_header(std::string_view raw, double bar);
std::string selection_header();
std::string check_header(const std::vector<DType>& dtypes);
std::string trace_header();

std::string row_text(const WordsRow& row);
/// `compares`: whether the table has columns for the bare call.
std::string row_text(const TimesRow& row, bool compares, double bar);
std::string row_text(const SelectionRow& row);
/// The rows of one algorithm with each of the types, and the failures in lines of their own.
std::string row_text(std::span<const CheckRow> rows);
std::string row_text(const TraceRow& row);

}  // namespace weft::sparse_bench

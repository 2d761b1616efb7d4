#pragma once

#include <weft/array/layout.hpp>
#include <weft/op/dot_test.hpp>

#include <functional>
#include <string>
#include <vector>

namespace weft::app {

/// An operator of the catalogue on some layout.
struct CatalogueEntry {
  std::string name;
  std::function<DotTestResult()> dot_test;
};

/// All operators, with options that differ from the defaults where it matters.
template <Scalar T>
std::vector<CatalogueEntry> catalogue(const Layout& layout);

}  // namespace weft::app

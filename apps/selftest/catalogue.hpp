#pragma once

#include <weft/array/layout.hpp>
#include <weft/op/dot_test.hpp>

#include <functional>
#include <string>

namespace weft::app {

/// Applies the dot test to all operators on some layout, with options that differ from the defaults
/// where it matters. One operator exists at a time: each access of the debug device takes time in
/// proportion to the buffers that exist.
template <Scalar T>
void test_catalogue(
    const Layout& layout,
    const std::function<void(const std::string& name, const DotTestResult& result)>& report);

}  // namespace weft::app

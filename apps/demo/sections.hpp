#pragma once

#include <weft/array/distributed_array.hpp>

#include "report/report.hpp"

#include <concepts>
#include <string>
#include <vector>

namespace weft::app {

/// A plane of an array with three axes.
struct Section {
  std::vector<double> values;  // on rank 0
  index_t rows = 0;
  index_t columns = 0;
};

/// The plane at index `at` of `axis`; with `transposed`, its last axis points down.
/// Collective: one reduction of the plane.
template <std::floating_point T>
Section section(const DistributedArray<T>& x, int axis, index_t at, bool transposed = false);

/// |x - truth| / |truth|. Collective.
template <std::floating_point T>
double relative_error(const DistributedArray<T>& x, const DistributedArray<T>& truth);

ReportPicture picture_of(const std::string& caption, const Section& section,
                         const std::string& x_axis, const std::string& y_axis,
                         const PictureOptions& options = {});

}  // namespace weft::app

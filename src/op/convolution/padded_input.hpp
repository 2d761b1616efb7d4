#pragma once

// The input of filters that reach beyond a rank's part.

#include <weft/array/halo_exchange.hpp>
#include <weft/op/operator_node.hpp>

#include <optional>
#include <vector>

namespace weft::detail {

/// A rank's part of an array with ghost cells around it, in one workspace; zero outside the array.
/// Filters of many taps read each element often, so that the copy costs little and saves all tests
/// for the ends of axes. Communication: one halo exchange if a padded axis is distributed.
template <Scalar T>
class PaddedInput {
 public:
  /// One width per axis.
  PaddedInput(const Layout& layout, const std::vector<AxisPadding>& widths);

  /// The extents of the padded part; all zero if the rank has no elements.
  const Shape& shape() const { return shape_; }
  /// The padded part of x, valid until the next call.
  const T* fill(const ConstArrayView<T>& x);
  Cost cost() const;

 private:
  /// A region of the padded part that is copied from the array or from ghost cells.
  struct Piece {
    Shape shape;
    const T* ghosts;  // or null for the array
    index_t offset;
  };
  void add_ghosts(const Layout& layout, const std::vector<AxisPadding>& widths);

  Shape shape_;
  std::optional<HaloExchange<T>> exchange_;
  std::vector<Piece> pieces_;
  /// Elements outside the array along axes that are not distributed remain zero.
  std::optional<DistributedArray<T>> padded_;
};

}  // namespace weft::detail

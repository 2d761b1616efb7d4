#pragma once

#include <weft/array/distributed_array.hpp>

#include <memory>
#include <vector>

namespace weft {

/// How many elements a rank needs beyond both ends of its part along an axis.
struct HaloWidth {
  index_t before = 0;
  index_t after = 0;
};

/// What lies beyond the ends of the global array.
enum class Boundary : std::uint8_t {
  zero,
  periodic,  // the other end
  reflect,   // mirrored; the edge itself is not repeated
  edge,      // the edge, repeated
};

enum class Side : std::uint8_t { before, after };

struct HaloOptions {
  Boundary boundary = Boundary::zero;
  /// Also fetch what lies beyond a corner, diagonally. Axes are then exchanged one after the other
  /// rather than all at once; the number of messages is the same.
  bool corners = true;
};

/// A rank's part of an array together with its ghost cells, as one grid on the array's device.
template <Scalar T>
struct PaddedPart {
  /// In global coordinates; may reach beyond the global array.
  Box box;
  Buffer<T> data;
};

/// Fetches the elements next to a rank's part from the ranks that have them. Made once for a layout
/// and run often: on the host no allocation, and one message to each rank that needs something,
/// which is two per axis unless a halo is wider than a neighbour's part.
///
/// The array is not copied: ghost cells are kept in a buffer per axis and side. The buffer of axis
/// a has the shape of the rank's part with the width along a and, if corners are wanted, extended
/// by the halo along the axes before a.
///
/// Made by all ranks of a group together, which compare their layouts, widths and options.
template <Scalar T>
class HaloExchange {
 public:
  /// One width per axis.
  HaloExchange(const Layout& layout, std::vector<HaloWidth> widths, HaloOptions options = {});
  HaloExchange(HaloExchange&&) noexcept;
  HaloExchange& operator=(HaloExchange&&) noexcept;
  ~HaloExchange();

  const Layout& layout() const;
  HaloWidth width(int axis) const;
  /// How many messages this rank sends in one run.
  index_t message_count() const;

  /// Fetches the ghost cells. Between start and finish the array may be read but not written.
  void start(const ConstArrayView<T>& x);
  void finish();
  void run(const ConstArrayView<T>& x) {
    start(x);
    finish();
  }

  /// The adjoint: adds what the ghost buffers hold to the elements that they are fetched from.
  /// The buffers are used up.
  void run_adjoint(const ArrayView<T>& x);

  /// The ghost cells on one side of an axis, in row-major order, on the layout's device. They may
  /// be written before run_adjoint, or after this was called anew.
  T* ghosts(int axis, Side side);
  const T* ghosts(int axis, Side side) const;
  const Shape& ghost_shape(int axis, Side side) const;

  /// The array's part and its ghost cells after run(x), copied into one grid.
  PaddedPart<T> padded(const ConstArrayView<T>& x) const;

 private:
  class Plan;
  /// Complains if it has been moved from.
  Plan& plan() const;

  std::unique_ptr<Plan> plan_;
};

/// This rank's part with ghost cells around it; for repeated use make a HaloExchange.
template <Scalar T>
PaddedPart<T> with_ghost_cells(const ConstArrayView<T>& x, std::vector<HaloWidth> widths,
                               HaloOptions options = {}) {
  HaloExchange<T> halo(x.layout(), std::move(widths), options);
  halo.run(x);
  return halo.padded(x);
}

}  // namespace weft

#pragma once

#include <weft/array/axis_padding.hpp>
#include <weft/array/distributed_array.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace weft {

/// The values beyond the ends of the global array.
enum class Boundary : std::uint8_t {
  zero,
  periodic,  // the opposite end
  reflect,   // mirrored; the edge itself is not repeated
  edge,      // the edge, repeated
};
std::string_view to_string(Boundary boundary);

enum class Side : std::uint8_t { before, after };
std::string_view to_string(Side side);

struct HaloOptions {
  Boundary boundary = Boundary::zero;
  /// Also fetch the cells diagonally beyond corners. Axes are then exchanged one after the other
  /// rather than all at once; the number of messages is the same.
  bool corners = true;
};

/// A rank's part of an array together with its ghost cells, as one grid on the array's device.
template <Scalar T>
struct PaddedPart {
  /// In global coordinates; may extend beyond the global array.
  Box box;
  Buffer<T> data;
};

/// Fetches ghost cells: the elements next to a rank's part, from the ranks that own them. Build it
/// once per layout and run it often. On the host, a run allocates nothing and sends one message to
/// each rank that needs elements, which is two per axis unless a halo is wider than a neighbour's
/// part.
///
/// The array is not copied: each axis and side has a buffer of ghost cells. The buffer of axis a
/// has the shape of the rank's part, with the width as its extent along a and, with corners,
/// extended by the halo along the axes before a.
///
/// Collective over the ranks of a group, which compare their layouts, widths and options.
template <Scalar T>
class HaloExchange {
 public:
  /// One width per axis: how many elements beyond both ends of its part a rank needs.
  HaloExchange(const Layout& layout, const std::vector<AxisPadding>& widths,
               HaloOptions options = {});
  HaloExchange(HaloExchange&&) noexcept;
  HaloExchange& operator=(HaloExchange&&) noexcept;
  ~HaloExchange();

  const Layout& layout() const;
  AxisPadding width(int axis) const;
  /// The number of messages that this rank sends in one run.
  index_t message_count() const;

  /// Fetches the ghost cells. Between start and finish the array may be read but not written.
  void start(const ConstArrayView<T>& x);
  void finish();
  /// For a destructor that runs because of an exception between start and finish: abandons the
  /// messages, which aborts the communicator; see Request.
  void abandon() noexcept;
  void run(const ConstArrayView<T>& x) {
    start(x);
    finish();
  }

  /// The adjoint: adds the contents of the ghost buffers to the elements that they are fetched
  /// from. Overwrites the buffers.
  void run_adjoint(const ArrayView<T>& x);

  /// The ghost cells on one side of an axis, in row-major order, on the layout's device. Write
  /// access ends with the next run: call it again before writing again.
  T* ghosts(int axis, Side side);
  const T* ghosts(int axis, Side side) const;
  const Shape& ghost_shape(int axis, Side side) const;

  /// The array's part and its ghost cells after run(x), copied into one grid.
  PaddedPart<T> padded(const ConstArrayView<T>& x) const;

 private:
  class State;
  /// Throws if this object has been moved from.
  State& state() const;

  std::unique_ptr<State> state_;
};

/// This rank's part with ghost cells around it; for repeated use build a HaloExchange.
template <Scalar T>
PaddedPart<T> with_ghost_cells(const ConstArrayView<T>& x, const std::vector<AxisPadding>& widths,
                               HaloOptions options = {}) {
  HaloExchange<T> halo(x.layout(), widths, options);
  halo.run(x);
  return halo.padded(x);
}

}  // namespace weft

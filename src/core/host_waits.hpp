#pragma once

namespace weft::detail {

/// Counts a wait of the host for a device; see Stream::host_waits.
void count_host_wait();

}  // namespace weft::detail

#pragma once

// Everything a program needs.

#include <weft/array/arithmetic.hpp>
#include <weft/array/distributed_array.hpp>
#include <weft/array/halo_exchange.hpp>
#include <weft/array/layout.hpp>
#include <weft/array/redistribute.hpp>
#include <weft/array/reductions.hpp>
#include <weft/comm/comm.hpp>
#include <weft/comm/group.hpp>
#include <weft/comm/launch.hpp>
#include <weft/comm/print.hpp>
#include <weft/core/error.hpp>
#include <weft/core/stream.hpp>

#pragma once

// Layouts, distributed arrays and views, and operations on them.

#include <weft/array/arithmetic.hpp>
#include <weft/array/array_view.hpp>
#include <weft/array/axis_padding.hpp>
#include <weft/array/distributed_array.hpp>
#include <weft/array/format.hpp>
#include <weft/array/halo_exchange.hpp>
#include <weft/array/layout.hpp>
#include <weft/array/layout_transforms.hpp>
#include <weft/array/local_view.hpp>
#include <weft/array/random.hpp>
#include <weft/array/redistribute.hpp>
#include <weft/array/reductions.hpp>
#include <weft/array/reshape.hpp>
#include <weft/array/roll.hpp>

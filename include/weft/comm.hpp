#pragma once

// Communicators, launching and messages.

#include <weft/comm/comm.hpp>
#include <weft/comm/format.hpp>
#include <weft/comm/fused.hpp>
#include <weft/comm/launch.hpp>
#include <weft/comm/message_batch.hpp>
#include <weft/comm/print.hpp>
#include <weft/comm/registered_memory.hpp>

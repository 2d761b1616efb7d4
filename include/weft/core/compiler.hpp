#pragma once

// Refuses compilers that are known to make wrong programs.
//
// GCC 12 turns a copy of 32 or 64 bytes of constants into a broadcast of the first eight if all
// words up to the last that is not zero are equal: std::vector<long>{1, 1, 0, 0} becomes {1, 1, 1,
// 1}, and so do widths of halos, extents and options. It does so where it copies more than 16 bytes
// at a time: with AVX-512, and with code tuned for processors that have it. Programs that link the
// CMake target weft::weft are compiled with the two options below, which keep it from that. Others
// add them, and define WEFT_GCC12_COPIES_16_BYTES to say that they did.

#if defined(__x86_64__) && defined(__GNUC__) && __GNUC__ == 12 && !defined(__clang__) && \
    !defined(WEFT_GCC12_COPIES_16_BYTES)
#if defined(__AVX512F__) || defined(__tune_skylake_avx512__) || defined(__tune_cannonlake__) || \
    defined(__tune_icelake_client__) || defined(__tune_icelake_server__) ||                     \
    defined(__tune_cascadelake__) || defined(__tune_tigerlake__) ||                             \
    defined(__tune_cooperlake__) || defined(__tune_sapphirerapids__) ||                         \
    defined(__tune_rocketlake__)
#error \
    "GCC 12 miscompiles constants with these options. Add -mmove-max=128 -mstore-max=128 \
-DWEFT_GCC12_COPIES_16_BYTES, use GCC 13 or newer, or link the CMake target weft::weft."
#endif
#endif

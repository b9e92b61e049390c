"""The compiler's options for the files of an instruction set."""

AVX2 = [
    "-mavx2",
    "-mfma",
]

AVX512 = [
    "-mavx512f",
    "-mavx512bw",
    "-mavx512dq",
    "-mavx512vl",
    "-mfma",
    # GCC 12 warns of its own _mm512_undefined_ps (bug 105593).
    "-Wno-maybe-uninitialized",
    "-Wno-uninitialized",
]

AVX512_BF16 = AVX512 + ["-mavx512bf16"]

AMX_BF16 = AVX512_BF16 + [
    "-mamx-tile",
    "-mamx-bf16",
]

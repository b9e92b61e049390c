"""cc_library, cc_binary and cc_test that compile quickly.

One file is one compilation. --define=whole_libraries=yes compiles the sources of a library as one file, each after
a #line that names it: everything is built in half the time, a change to one file takes longer. Names in unnamed
namespaces are therefore unique in a library, and no file leaves a macro behind. tools/tpurun builds so until
the tests have been built in the checkout.

Headers that nearly every file reads are compiled once, as a precompiled header (PCH). GCC takes a PCH only with
the flags that it was built with, so product and tests have one each. GCC 12 accepts a PCH built at another -O
level, but falls back to that level after `#pragma GCC pop_options` (Random123 has one): vectorized targets
therefore use no PCH. --define=precompiled_headers=no builds without: it shows whether every file includes what it uses.

No library of the product is compiled below -O2. An inline function or a template that a kernel shares with other
code is linked once, from whichever object the linker meets first.
"""

# Tests wait for the product, not for themselves: nothing is gained by optimizing them.
TEST_COPTS = ["-O0", "-U_FORTIFY_SOURCE"]

# Loops become vector loops.
_VECTORIZED_COPTS = select({
    "//tools:sanitizing": [],
    "//tools:optimizing": ["-O3"],
    "//conditions:default": [],
})

def cc_library(name, srcs = [], testonly = False, vectorized = False, **kwargs):
    """Of the product, or of the tests where it is testonly.

    Args:
      name, srcs, testonly: as of native.cc_library.
      vectorized: its loops over elements have to be fast.
      **kwargs: the other arguments of native.cc_library.
    """
    sources = [src for src in srcs if src.endswith(".cc")]
    if len(sources) > 1:
        native.genrule(
            name = name + "_in_one",
            testonly = testonly,
            srcs = sources,
            outs = [name + "_in_one.cc"],
            cmd = "for src in $(SRCS); do echo \"#line 1 \\\"$$src\\\"\"; cat $$src; done >$@",
            visibility = ["//visibility:private"],
        )
        srcs = select({
            "//tools:whole_libraries": [name + "_in_one.cc"] + [src for src in srcs if src not in sources],
            "//conditions:default": srcs,
        })
    kind = "test" if testonly else "vectorized" if vectorized else "product"
    _cc(native.cc_library, kind, name = name, srcs = srcs, testonly = testonly, **kwargs)

def cc_binary(**kwargs):
    _cc(native.cc_binary, "product", **kwargs)

def cc_test(**kwargs):
    _cc(native.cc_test, "test", **kwargs)

_COPTS = {"product": [], "vectorized": _VECTORIZED_COPTS, "test": TEST_COPTS}

def _cc(rule, kind, deps = [], copts = [], **kwargs):
    copts = _COPTS[kind] + copts
    if kind != "vectorized":
        headers = kind + "_headers"
        copts = copts + select({
            "//tools:without_precompiled_headers": [],
            "//conditions:default": ["-Winvalid-pch", "-include", "$(BINDIR)/tools/%s.hh" % headers],
        })
        deps = deps + select({
            "//tools:without_precompiled_headers": [],
            "//conditions:default": ["//tools:" + headers],
        })
    rule(copts = copts, deps = deps, **kwargs)

def _precompiled_header_impl(ctx):
    toolchain = ctx.attr._cc_toolchain[cc_common.CcToolchainInfo]
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    header = ctx.files.hdrs[0]
    output = ctx.actions.declare_file(header.basename + ".gch")
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts,
        source_file = header.path,
        output_file = output.path,
        use_pic = True,
    )
    action = "c++-compile"
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = action,
        ),
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = action,
            variables = variables,
        ),
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = action,
            variables = variables,
        ),
        inputs = depset(ctx.files.hdrs, transitive = [toolchain.all_files]),
        outputs = [output],
        mnemonic = "CppPrecompile",
        progress_message = "Compiling %s" % header.short_path,
    )
    context = cc_common.create_compilation_context(headers = depset([output]))
    return [DefaultInfo(files = depset([output])), CcInfo(compilation_context = context)]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "hdrs": attr.label_list(mandatory = True, allow_files = [".hh"]),
        "copts": attr.string_list(),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
)

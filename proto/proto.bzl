# tpurun_protos: .proto files compiled by the system's protoc into one C++ library, as one file.
# protoc runs in a genrule (cc_proto_library would want protobuf's own repository).

load("//tools:cc.bzl", "cc_library")

# Names that protoc gives things of every file, outside of its namespaces.
_NAMES_OF_A_FILE = ["file_default_instances", "schemas"]

def tpurun_protos(name, srcs, visibility = None):
    """Makes cc_library NAME with a header "proto/X.pb.h" for each "X.proto", and filegroup NAME_srcs.

    Args:
      name: the target.
      srcs: .proto files in the folder of the BUILD file; with all that they import (by "proto/x.proto").
      visibility: of both.
    """
    native.filegroup(name = name + "_srcs", srcs = srcs, visibility = visibility)
    bases = [src[:-len(".proto")] for src in srcs]
    headers = [base + ".pb.h" for base in bases]
    native.genrule(
        name = name + "_gen",
        srcs = srcs,
        outs = headers + [base + ".pb.cc" for base in bases],
        cmd = "/usr/bin/protoc --proto_path=. --cpp_out=$(GENDIR) $(SRCS)",
    )
    native.genrule(
        name = name + "_in_one",
        outs = [name + "_in_one.cc"],
        cmd = "printf '%s' >$@" % "".join([
            "".join([
                "#undef %s\\n#define %s %s_of_%s\\n" % (shared, shared, shared, base)
                for shared in _NAMES_OF_A_FILE
            ]) +
            "#include \"%s/%s.pb.cc\"\\n" % (native.package_name(), base)
            for base in bases
        ]),
    )
    cc_library(
        name = name,
        srcs = [name + "_in_one.cc"],
        hdrs = headers,
        textual_hdrs = [base + ".pb.cc" for base in bases],
        # Generated code is not ours to keep free of warnings.
        copts = ["-Wno-error", "-w"],
        visibility = visibility,
        deps = ["@system//:protobuf"],
    )

# tpurun_proto: one .proto file compiled by the system's protoc into a C++ library of the same name.
# protoc runs in a genrule (cc_proto_library would want protobuf's own repository).

load("//tools:cc.bzl", "cc_library")

def tpurun_proto(name, src = None, deps = [], visibility = None):
    """Makes cc_library NAME whose header is "proto/<src without .proto>.pb.h".

    Args:
      name: the target; by default src is NAME.proto.
      src: the .proto file, in the same folder as the BUILD file.
      deps: other tpurun_proto targets whose files src imports (by "proto/x.proto").
      visibility: of the library.
    """
    if src == None:
        src = name + ".proto"
    base = src[:-len(".proto")]
    native.filegroup(
        name = name + "_src",
        srcs = [src] + [dep + "_src" for dep in deps],
        visibility = visibility,
    )
    native.genrule(
        name = name + "_gen",
        srcs = [":" + name + "_src"],
        outs = [base + ".pb.cc", base + ".pb.h"],
        cmd = "/usr/bin/protoc --proto_path=. --cpp_out=$(GENDIR) %s/%s" % (native.package_name(), src),
    )
    cc_library(
        name = name,
        srcs = [base + ".pb.cc"],
        hdrs = [base + ".pb.h"],
        # Generated code is not ours to keep free of warnings.
        copts = ["-Wno-error", "-w"],
        light = True,
        visibility = visibility,
        deps = deps + ["@system//:protobuf"],
    )

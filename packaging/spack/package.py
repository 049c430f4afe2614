# Copyright (c) 2026, the rdmabench authors
#
# SPDX-License-Identifier: BSD-2-Clause
"""A recipe for Spack: `spack repo create site`, then this file as packages/rdmabench/package.py there."""

from spack.package import *


class Rdmabench(CMakePackage):
    """Measures RDMA fabrics: latency, bandwidth and message rate of InfiniBand and RoCE by libibverbs, and of EFA, TCP
    and shared memory by libfabric; checks of a node; fabric validation; collectives by MPI and NCCL."""

    license("BSD-2-Clause")

    # A source tree: `spack dev-build rdmabench@0.2.0` in it, or a site's own url.
    version("0.2.0")

    variant("verbs", default=True, description="InfiniBand and RoCE by libibverbs")
    variant("ofi", default=True, description="EFA, TCP and more by libfabric")
    variant("hwloc", default=True, description="Bind memory near devices")
    variant("pmix", default=True, description="Start under srun and mpirun by PMIx")
    variant("sqlite", default=True, description="Baselines of compare")
    variant("crypto", default=True, description="Authentication of both sides of a measurement")
    variant("archive", default=True, description="Archives of the doctor")

    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("asio", type="build")
    depends_on("boost+math", type="build")
    depends_on("cli11", type="build")
    depends_on("help2man", type="build")
    depends_on("fmt")
    depends_on("nlohmann-json")
    depends_on("pugixml")
    # The headers serve the build; at run time each library is loaded when it is needed.
    depends_on("rdma-core@39:", when="+verbs")
    depends_on("libfabric@1.17:", when="+ofi")
    depends_on("hwloc", when="+hwloc")
    depends_on("pmix", when="+pmix")
    depends_on("sqlite", when="+sqlite")
    depends_on("libarchive", when="+archive")
    depends_on("openssl", when="+crypto")

    conflicts("%gcc@:11", msg="rdmabench needs C++20 of GCC 12 or newer")

    def cmake_args(self):
        args = [self.define_from_variant(f"RDMABENCH_{name.upper()}", name)
                for name in ("verbs", "ofi", "hwloc", "pmix", "sqlite", "archive", "crypto")]
        return [*args, self.define("BUILD_TESTING", False), self.define("RDMABENCH_BENCH", False)]

    def setup_run_environment(self, env):
        for name, library in (("verbs", "rdma-core"), ("ofi", "libfabric"), ("hwloc", "hwloc"), ("pmix", "pmix"),
                              ("sqlite", "sqlite"), ("archive", "libarchive"), ("crypto", "openssl")):
            if self.spec.satisfies(f"+{name}"):
                env.prepend_path("LD_LIBRARY_PATH", self.spec[library].prefix.lib)

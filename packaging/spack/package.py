# Copyright (c) 2026, the rdmabench authors
#
# SPDX-License-Identifier: BSD-2-Clause
"""A recipe for Spack: `spack repo create site`, then this file as packages/rdmabench/package.py there."""

from spack.package import *

try:
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:
    pass  # before Spack 1.0 spack.package has it


class Rdmabench(CMakePackage):
    """Measures RDMA fabrics: latency, bandwidth and message rate of InfiniBand and RoCE by libibverbs, and of EFA, TCP
    and shared memory by libfabric; checks of a node; fabric validation; collectives by MPI and NCCL."""

    homepage = "https://rdmabench.invalid/"
    # A source tree: `spack dev-build rdmabench@0.3.0` in it. Or a site's own url.
    url = "https://rdmabench.invalid/rdmabench-0.3.0.tar.gz"

    license("BSD-2-Clause")

    version("0.3.0")

    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("boost", type="build")
    depends_on("cli11", type="build")
    depends_on("help2man", type="build")
    depends_on("fmt")
    depends_on("nlohmann-json")
    depends_on("pugixml")
    # The headers serve the build; at run time each library is loaded when it is needed.
    optional = {
        "verbs": ("rdma-core@39:", "InfiniBand and RoCE by libibverbs"),
        "ofi": ("libfabric@1.17:", "EFA, TCP and more by libfabric"),
        "ucx": ("ucx@1.13:", "UCX's transports, as MPI and NIXL use them"),
        "hwloc": ("hwloc", "Bind memory near devices"),
        "pmix": ("pmix", "Start under srun and mpirun by PMIx"),
        "sqlite": ("sqlite", "Baselines of compare"),
        "archive": ("libarchive", "Archives of the doctor"),
        "crypto": ("openssl", "Authentication of both sides of a measurement"),
    }
    for part, (needed, about) in optional.items():  # `name` would become the package's name
        variant(part, default=True, description=about)
        depends_on(needed, when=f"+{part}")

    conflicts("%gcc@:11", msg="rdmabench needs C++20 of GCC 12 or newer")

    def cmake_args(self):
        args = [self.define_from_variant(f"RDMABENCH_{part.upper()}", part) for part in self.optional]
        return [*args, self.define("BUILD_TESTING", False), self.define("RDMABENCH_BENCH", False)]

    def setup_run_environment(self, env):
        for part, (needed, _) in self.optional.items():
            if self.spec.satisfies(f"+{part}"):
                prefix = self.spec[needed.partition("@")[0]].prefix
                env.prepend_path("LD_LIBRARY_PATH", prefix.lib)
                env.prepend_path("LD_LIBRARY_PATH", prefix.lib64)

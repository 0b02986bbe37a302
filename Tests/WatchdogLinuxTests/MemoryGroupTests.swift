// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import WatchdogLinux

/// Folders that look like cgroups, and accept values that the kernel would reject.
@Suite("A memory cgroup")
struct MemoryGroupTests {
    private func reason(_ mounts: [CgroupMount], _ membership: String) -> String? {
        do throws(MemoryGroup.Unavailable) {
            _ = try MemoryGroup(name: "watchdogd-test", limit: 1 << 20, membership: membership, mounts: mounts)
            return nil
        } catch {
            return error.description
        }
    }

    @Test("requires a hierarchy with a memory controller")
    func none() throws {
        let nothing = "no cgroup file system with a memory controller is mounted"
        #expect(reason([], "0::/\n") == nothing)
        let cpu = CgroupMount(directory: "/nowhere", root: "/", controllers: ["rw", "cpu"])
        #expect(reason([cpu], "1:cpu:/\n") == nothing)
        try withTemporaryDirectory { folder in
            let bare = CgroupMount(directory: folder, root: "/", controllers: nil)
            #expect(reason([bare], "0::/\n") == "the memory controller is not available below \(folder)")
            #expect(reason([bare], "1:cpu:/\n") == "this process is in no cgroup of the memory controller")
        }
    }

    @Test("is not created in version 1 if a group escapes the limits above it")
    func version1() throws {
        try withTemporaryDirectory { folder in
            let mount = CgroupMount(directory: folder, root: "/", controllers: ["rw", "memory"])
            try write("0\n", to: "\(folder)/memory.use_hierarchy")
            #expect(reason([mount], "4:memory:/\n") == "cgroup \(folder) does not limit what is below it")
            try write("1\n", to: "\(folder)/memory.use_hierarchy")
            let missing = reason([mount], "4:memory:/\n")
            #expect(missing?.contains("memory.limit_in_bytes") == true)
            #expect(Cgroup.subdirectories(folder).isEmpty)
        }
    }

    @Test("is created beside a supervisor that was already moved, and moves no process itself")
    func version2() throws {
        try withTemporaryDirectory { folder in
            let own = "\(folder)/supervisor"
            #expect(mkdir(own, 0o700) == 0)
            for directory in [folder, own] {
                try write("cpu memory\n", to: "\(directory)/cgroup.controllers")
                try write("", to: "\(directory)/cgroup.subtree_control")
            }
            try write("1\n", to: "\(folder)/cgroup.procs")
            #expect(CgroupParent.handingDown("memory", for: folder) == nil)
            #expect(CgroupParent.handingDown("memory", for: own) == nil)
            try write("memory\n", to: "\(folder)/cgroup.subtree_control")
            #expect(CgroupParent.handingDown("memory", for: folder) == folder)
            #expect(CgroupParent.handingDown("memory", for: own) == nil, "nobody has delegated the cgroup above")
            #expect(CgroupParent.handingDown("pids", for: folder) == nil)
            #expect(Procfs.read("\(folder)/cgroup.procs") == Array("1\n".utf8))
            #expect(CgroupParent.handingDown("memory", for: own, isDelegated: { $0 == folder }) == folder)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import WatchdogSupervisor

@Suite("Names of containers")
struct ContainerNameTests {
    private static let first = String(repeating: "a", count: 64)
    private static let second = String(repeating: "b", count: 64)

    private func names(_ processes: [ContainerNames.Process] = [], below root: String = "/nowhere") -> ContainerNames {
        ContainerNames(root: root, user: 1000) { processes }
    }

    private func monitor(_ arguments: String..., user: UInt32 = 0, name: String = "conmon") -> ContainerNames.Process {
        ContainerNames.Process(name: name, user: user, arguments: arguments)
    }

    @Test("podman's monitor has the name in its command line")
    func podman() {
        let monitors = [
            monitor("conmon", "--api-version", "1", "-c", Self.first, "-u", Self.first, "-n", "web"),
            monitor("conmon", "--cid", Self.second, "--name=db"),
        ]
        #expect(names(monitors).find("web").ids == [Self.first])
        #expect(names(monitors).find("db").ids == [Self.second])
        #expect(names(monitors).find("we").ids == [])
    }

    @Test("A process of another user, or of another name, tells nothing, and what is no ID is none")
    func impostors() {
        let arguments = ["conmon", "-c", Self.first, "-n", "web"]
        func found(_ process: ContainerNames.Process) -> Set<String> { names([process]).find("web").ids }
        #expect(found(.init(name: "conmon", user: 1000, arguments: arguments)) == [Self.first])
        #expect(found(.init(name: "conmon", user: 1001, arguments: arguments)) == [])
        #expect(found(.init(name: "sleep", user: 0, arguments: arguments)) == [])
        #expect(found(monitor("conmon", "-c", "../../etc", "-n", "web")) == [])
        #expect(found(monitor("conmon", "-n")) == [])
    }

    @Test("Docker's state, the kubelet's links and nerdctl's names are read where they are")
    func files() throws {
        try withTemporaryDirectory { root in
            func write(_ text: String, to folder: String, _ name: String) throws {
                try FileManager.default.createDirectory(atPath: root + folder, withIntermediateDirectories: true)
                try #require(
                    FileManager.default.createFile(atPath: "\(root)\(folder)/\(name)", contents: Data(text.utf8)))
            }
            let docker = "/var/lib/docker/containers/"
            try write("{\"ID\":\"x\",\"Name\":\"/web\"}", to: docker + Self.first, "config.v2.json")
            try write("not JSON", to: docker + Self.second, "config.v2.json")
            try write("", to: "/var/log/containers", "web-0_shop_nginx-\(Self.second).log")
            try write(Self.first, to: "/var/lib/nerdctl/1935db59/names/default", "cache")
            let names = names(below: root)
            #expect(names.find("web").ids == [Self.first])
            #expect(names.find("cache").ids == [Self.first])
            for name in ["nginx", "web-0/nginx", "shop/web-0/nginx"] { #expect(names.find(name).ids == [Self.second]) }
            for name in ["web-0", "shop/nginx", "x", ""] { #expect(names.find(name).ids == []) }
            #expect(names.find("x").places.suffix(2) == ["/var/lib/docker/containers", "/var/log/containers"])
        }
    }

    @Test("The ID is found in each engine's cgroup")
    func cgroups() {
        for cgroup in [
            "/machine.slice/libpod-\(Self.first).scope/container", "/system.slice/docker-\(Self.first).scope",
            "/kubepods/pod1/cri-containerd-\(Self.first).scope", "/docker/\(Self.first)",
        ] {
            let found = ContainerProcess.container("aaaaaaaaaaaa", in: cgroup)
            #expect(found.map { String($0.id) } == Self.first)
            #expect(found?.cgroup.hasSuffix("container") == false)
        }
        #expect(ContainerProcess.container("aaaaaaaaaaab", in: "/docker/\(Self.first)") == nil)
        // The monitor's, beside the container's.
        let monitor = "/machine.slice/libpod-conmon-\(Self.first).scope"
        #expect(ContainerProcess.container("aaaaaaaaaaaa", in: monitor) == nil)
    }
}

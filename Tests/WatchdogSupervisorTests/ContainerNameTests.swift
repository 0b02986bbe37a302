// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing

@testable import WatchdogDaemon
@testable import WatchdogLaunch
@testable import WatchdogRun

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

    @Test("podman's monitor has the container's name on its command line")
    func podman() {
        let monitors = [
            monitor("conmon", "--api-version", "1", "-c", Self.first, "-u", Self.first, "-n", "web"),
            monitor("conmon", "--cid", Self.second, "--name=db"),
        ]
        #expect(names(monitors).find("web").ids == [Self.first])
        #expect(names(monitors).find("db").ids == [Self.second])
        #expect(names(monitors).find("we").ids == [])
    }

    @Test("Processes of other users or with other names are ignored, and so is an invalid ID")
    func impostors() {
        let arguments = ["conmon", "-c", Self.first, "-n", "web"]
        func found(_ process: ContainerNames.Process) -> Set<String> { names([process]).find("web").ids }
        #expect(found(.init(name: "conmon", user: 1000, arguments: arguments)) == [Self.first])
        #expect(found(.init(name: "conmon", user: 1001, arguments: arguments)) == [])
        #expect(found(.init(name: "sleep", user: 0, arguments: arguments)) == [])
        #expect(found(monitor("conmon", "-c", "../../etc", "-n", "web")) == [])
        #expect(found(monitor("conmon", "-n")) == [])
    }

    @Test(
        "The version of an image is its label, else its tag, if the engine's files have them",
        arguments: [
            (#"{"Config":{"Labels":{"org.opencontainers.image.version":"2.4.1"}}}"#, nil, "2.4.1"),
            (#"{"Config":{"Labels":null}}"#, nil, nil),
            (nil, #"{"annotations":{"org.opencontainers.image.version":"7.2"}}"#, "7.2"),
            (nil, #"{"annotations":{"io.kubernetes.cri.image-name":"registry:5000/shop:1.0"}}"#, "1.0"),
            (nil, #"{"annotations":{"io.kubernetes.cri.image-name":"registry:5000/shop"}}"#, nil),
            (nil, #"{"annotations":{"io.kubernetes.cri.image-name":"shop:latest"}}"#, nil),
            (nil, #"{"annotations":{"io.kubernetes.cri.image-name":"shop:1.1@sha256:00"}}"#, "1.1"),
            (nil, #"{"annotations":{"org.opencontainers.image.version":"\u001b[2J"}}"#, #"\x1b[2J"#),
            ("not JSON", "not JSON", nil), (nil, nil, nil),
        ] as [(String?, String?, String?)])
    func imageVersions(docker: String?, containerd: String?, version: String?) throws {
        try withTemporaryDirectory { root in
            for (folder, name, text) in [
                ("/var/lib/docker/containers/\(Self.first)", "config.v2.json", docker),
                ("/run/containerd/io.containerd.runtime.v2.task/k8s.io/\(Self.first)", "config.json", containerd),
            ] {
                guard let text else { continue }
                try FileManager.default.createDirectory(atPath: root + folder, withIntermediateDirectories: true)
                try #require(
                    FileManager.default.createFile(atPath: "\(root)\(folder)/\(name)", contents: Data(text.utf8)))
            }
            #expect(names(below: root).imageVersion(of: Self.first) == version)
        }
    }

    @Test("Names are read from Docker's state, the kubelet's links and nerdctl's files")
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
        // The monitor's cgroup, beside the container's.
        let monitor = "/machine.slice/libpod-conmon-\(Self.first).scope"
        #expect(ContainerProcess.container("aaaaaaaaaaaa", in: monitor) == nil)
    }

    /// Siblings: names in files, in command lines of monitors, in cgroups that a user or a container's root controls.
    @Test("Only files that root alone could have written are trusted; others are claims")
    func claims() throws {
        guard geteuid() == 0 else { return print("skipped: only root can give files away") }
        try withTemporaryDirectory { root in
            let folder = "\(root)/var/lib/docker/containers/\(Self.first)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let file = "\(folder)/config.v2.json"
            try #require(FileManager.default.createFile(atPath: file, contents: Data("{\"Name\":\"/web\"}".utf8)))
            let names = ContainerNames(root: root, user: 0) { [] }
            func expect(isTrusted: Bool, _ comment: Comment) {
                let answer = names.find("web")
                #expect(answer.ids == (isTrusted ? [Self.first] : []), comment)
                #expect(answer.claimedIDs == (isTrusted ? [] : [Self.first]), comment)
            }
            expect(isTrusted: true, "root's")
            #expect(names.haveRecord(of: Self.first) && !names.haveRecord(of: Self.second))
            for path in [file, "\(root)/var/lib/docker/containers", "\(root)/var"] {
                #expect(chown(path, 65_534, 0) == 0)
                expect(isTrusted: false, "given away: \(path)")
                #expect(chown(path, 0, 0) == 0)
                #expect(chmod(path, 0o777) == 0)
                expect(isTrusted: false, "for all: \(path)")
                #expect(chmod(path, 0o755) == 0)
            }
            expect(isTrusted: true, "root's again")
            #expect(chown("\(root)/var/lib/docker/containers", 65_534, 0) == 0)
            #expect(!names.haveRecord(of: Self.first))
            // A link that belongs to somebody else is not even followed.
            #expect(rename(file, "\(root)/aside") == 0)
            #expect(symlink("\(root)/aside", file) == 0)
            let answer = names.find("web")
            #expect(answer.ids.isEmpty && answer.claimedIDs.isEmpty)
            let monitors = [monitor("conmon", "-c", Self.first, "-n", "web")]
            let podman = ContainerNames(root: root, user: 0) { monitors }
            #expect(podman.haveRecord(of: Self.first) && podman.find("web").ids == [Self.first])
        }
    }

    @Test("A cgroup that is delegated to a user or lies inside a container only claims a name")
    func cgroupNames() throws {
        guard geteuid() == 0 else { return print("skipped: only root can give folders away") }
        try withTemporaryDirectory { root in
            let name = "docker-\(Self.first).scope"
            let folder = "\(root)/slice/\(name)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            #expect(ContainerProcess.isTrusted("/slice/\(name)", folder))
            #expect(!ContainerProcess.isTrusted("/slice/\(name)", nil))
            #expect(!ContainerProcess.isTrusted("/docker/\(Self.second)/\(name)", folder), "within another one")
            for path in [folder, "\(root)/slice"] {
                #expect(chown(path, 65_534, 65_534) == 0)
                #expect(!ContainerProcess.isTrusted("/slice/\(name)", folder), "\(path)")
                #expect(chown(path, 0, 0) == 0)
            }
            #expect(ContainerProcess.isTrusted("/slice/\(name)", folder))
        }
    }
}

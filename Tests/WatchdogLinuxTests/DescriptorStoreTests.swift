// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import TestSupport
import Testing

@testable import WatchdogLinux

@Suite("Descriptors that outlive their process", .reapsChildren)
struct DescriptorStoreTests {
    @Test("are classified by what they refer to")
    func kinds() throws {
        try withTemporaryDirectory { directory in
            let (channel, app) = try Channel.pair()
            #expect(DescriptorKind(of: channel.descriptor) == .channel)
            #expect(DescriptorKind(of: app) == .channel)
            let socket = try NotifySocket(in: RuntimeDirectory(path: directory), name: "notify")
            #expect(DescriptorKind(of: socket.descriptor) == .notifySocket(address: "\(directory)/notify"))
            #expect(socket.address.hasPrefix("\(directory)/notify."))
            let long = String(repeating: "n", count: 100)
            let abstract = try NotifySocket(in: RuntimeDirectory(path: directory), name: long)
            #expect(DescriptorKind(of: abstract.descriptor) == .notifySocket(address: abstract.address))
            #expect(DescriptorKind(of: try OwnedDescriptor(opening: "/dev/null", flags: O_RDONLY)) == .other)
            #expect(DescriptorKind(of: try OwnedDescriptor.pipe().read) == .other)
            let process = try spawn(shell("exec sleep 100")).process
            #expect(DescriptorKind(of: process.descriptor) == .process(process.pid))
            try process.send(SIGKILL)
            _ = try waitForExit(process)
            #expect(DescriptorKind(of: process.descriptor) == .process(nil))
        }
    }

    @Test("a notify socket is in the directory that has its path now")
    func replacedDirectory() throws {
        try withTemporaryDirectory { folder in
            let path = "\(folder)/sockets"
            let directory = RuntimeDirectory(path: path)
            #expect(mkdir(path, 0o700) == 0)
            let first = try NotifySocket(in: directory, name: "first")
            #expect(access(first.address, F_OK) == 0)
            #expect(rename(path, "\(folder)/former") == 0 && mkdir(path, 0o700) == 0)
            var second: NotifySocket? = try NotifySocket(in: directory, name: "second")
            let address = try #require(second?.address)
            #expect(access(address, F_OK) == 0)
            second = nil
            #expect(access(address, F_OK) != 0)
            withExtendedLifetime(first) {}
        }
    }

    @Test("an inherited notify socket must be the one at its address")
    func takenOver() throws {
        try withTemporaryDirectory { directory in
            let first = try NotifySocket(in: RuntimeDirectory(path: directory), name: "notify")
            first.keepsAddress = true
            for other in ["\(directory)/other", "\(directory)/notify2.1", "/", ""] {
                #expect(NotifySocket(first.descriptor, boundTo: other) == nil)
            }
            // Earlier versions did not rename it.
            #expect(NotifySocket(first.descriptor, boundTo: "\(directory)/notify")?.keepsAddress == false)
            let second = try #require(NotifySocket(first.descriptor, boundTo: first.address))
            _ = try run(shell("test -S $1", first.address))
            #expect(second.address == first.address)
        }
    }

    @Test("a lost notify socket is bound again at its address", arguments: [false, true])
    func boundAgain(isOfEarlierVersion: Bool) throws {
        try withTemporaryDirectory { directory in
            var first: NotifySocket? =
                isOfEarlierVersion
                ? try NotifySocket(address: "\(directory)/notify")
                : try NotifySocket(in: RuntimeDirectory(path: directory), name: "notify")
            let address = try #require(first?.address)
            first?.keepsAddress = true
            first = nil
            let second = try NotifySocket(address: address)
            #expect(second.address == address)
            let sender = OwnedDescriptor(taking: wd_socket_connect_datagram(address))
            #expect(wd_socket_send(sender.number, "READY=1", 7) == 0)
            #expect(try second.receive()?.bytes == Array("READY=1".utf8))
            #expect(NotifySocket(second.descriptor, boundTo: address) != nil)
        }
    }

    @Test(
        "only names that the service manager accepts are used",
        arguments: [
            ("356753AC-2172-45DC-977A-11F2328980D0", true), ("", false), ("a:b", false), ("a b", false), ("ü", false),
            ("a\n", false), (String(repeating: "a", count: 255), true), (String(repeating: "a", count: 256), false),
        ])
    func names(name: String, isFine: Bool) {
        #expect(ServiceManager.isStoreName(name) == isFine)
    }

    @Test("a lasting directory is the same for the next process, and must be safe")
    func lasting() throws {
        try withTemporaryDirectory { directory in
            let environment: Environment = ["XDG_RUNTIME_DIR": directory, "TMPDIR": directory]
            let name = "test-\(getpid())"
            let first = try RuntimeDirectory.lasting(name, environment: environment)
            #expect(try RuntimeDirectory.lasting(name, environment: environment) == first)
            chmod(first.path, 0o777)
            let second = try RuntimeDirectory.lasting(name, environment: environment)
            #expect(second.path != first.path)
            for path in [first.path, second.path] { rmdir(path) }
        }
    }
}

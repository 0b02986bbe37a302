// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import WatchdogLinux

@Suite("The addresses on which a process listens")
struct ListeningAddressTests {
    private func parse(_ line: String) -> (inode: UInt64, name: String)? {
        ListeningSockets.listeningUnixSocket(Array(line.utf8)[...])
    }

    @Test("A line in the table of Unix sockets counts if the socket accepts connections and has a name")
    func unixTable() throws {
        let listening = try #require(parse("0000000000000000: 00000002 00000000 00010000 0001 01 9876 /run/a b.sock"))
        #expect(listening.inode == 9876)
        #expect(listening.name == "/run/a b.sock")
        #expect(parse("0000000000000000: 00000002 00000000 00010000 0001 01 9876 @name")?.name == "@name")
        #expect(parse("0000000000000000: 00000002 00000000 00000000 0001 01 9876 /run/a.sock") == nil)
        #expect(parse("0000000000000000: 00000002 00000000 00010000 0001 01 9876") == nil)
        #expect(parse("Num       RefCount Protocol Flags    Type St Inode Path") == nil)
    }

    @Test("This process is found to listen")
    func own() throws {
        let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let descriptor = OwnedDescriptor(taking: number)
        #expect(listen(descriptor.number, 1) == 0)
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor.number, $0, &size) }
        }
        #expect(result == 0)
        #expect(ListeningSockets.addresses(of: getpid()).contains("0.0.0.0:\(UInt16(bigEndian: address.sin_port))"))
    }
}

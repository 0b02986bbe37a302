// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase

extension WaitLook {
    /// A request to io_uring, `struct io_uring_sqe` of <linux/io_uring.h>.
    private struct Request {
        static let length = 64

        let operation: UInt8
        let number: Int32
        /// Whether the number is that of a registered file, not of a descriptor.
        let isRegistered: Bool
        private let events: UInt32

        init(_ bytes: ArraySlice<UInt8>) {
            func integer(_ offset: Int) -> UInt32 {
                bytes.dropFirst(offset).prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
            }
            operation = bytes.first ?? 0
            isRegistered = bytes.dropFirst().first.map { $0 & 1 != 0 } ?? true
            number = Int32(bitPattern: integer(4))
            events = integer(28)
        }

        var purpose: Purpose {
            switch operation {
            // POLL_ADD; WRITEV, SENDMSG, CONNECT, WRITE, SEND.
            case 6: Purpose(ofEvents: events)
            case 2, 9, 16, 23, 26: .sending
            default: .receiving
            }
        }
    }

    /// ` of 2 fds: 5 (TCP …), 6 (pipe)`: the files for which requests of an io_uring wait; empty if that is not certain.
    ///
    /// The kernel tells only the operations. The requests are in the process's memory, as long as no later ones have taken their
    /// places, beside those that are done.
    func requests(of ring: DescriptorInfo.Ring, _ inode: UInt64, _ process: Int32) -> (text: String, sources: [String])
    {
        guard !ring.operations.isEmpty, ring.taken <= ring.size, ring.taken <= 64, let address = places(inode, process),
            let bytes = memory(process, at: address, count: Int(ring.taken) * Request.length)
        else { return ("", []) }
        let taken = (0..<Int(ring.taken)).map { Request(bytes[($0 * Request.length)...].prefix(Request.length)) }
        var waiting: [Request] = []
        for operation in Set(ring.operations).sorted() {
            let candidates = taken.filter { $0.operation == operation }
            let isCertain = candidates.count == ring.operations.count { $0 == operation }
            // Several of one file may be done, and others not.
            guard let first = candidates.first, isCertain || candidates.allSatisfy({ $0.number == first.number }),
                !candidates.contains(where: \.isRegistered)
            else { return ("", []) }
            waiting += isCertain ? candidates : [first]
        }
        var seen: Set<Int32> = []
        waiting = waiting.filter { seen.insert($0.number).inserted }
        let files = waiting.prefix(DescriptorInfo.described).map {
            (number: $0.number, file: describe($0.number, process, for: $0.purpose, depth: 0))
        }
        let list = list(files, of: waiting.count)
        return (
            " of \(waiting.count.counted("fd")): \(list.text)",
            ["process_vm_readv(2), the requests of io_uring"] + list.sources
        )
    }

    /// Where a process has mapped the places for requests, at `IORING_OFF_SQES`.
    private func places(_ inode: UInt64, _ process: Int32) -> UInt64? {
        // The kernel takes the lock of the memory map to list it.
        guard hasSafeMemory(process),
            let file = try? OwnedDescriptor(opening: "/proc/\(process)/maps", flags: O_RDONLY)
        else { return nil }
        var found: UInt64?
        Procfs.forEachLine(file, limit: 256 << 10) { line in
            let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
            if fields.count == 6, fields[2].elementsEqual("10000000".utf8), UInt64(decimal: fields[4]) == inode {
                found = UInt64(String(decoding: fields[0].prefix { $0 != UInt8(ascii: "-") }, as: UTF8.self), radix: 16)
            }
            return found == nil && !budget.isSpent
        }
        return found
    }
}

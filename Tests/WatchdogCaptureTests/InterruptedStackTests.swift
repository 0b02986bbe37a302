// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogCapture

/// The frame of a signal handler as the kernel writes it, on an alternate stack of 64 KiB.
@Suite("Code that a signal handler interrupted")
struct InterruptedStackTests {
    private static let stack: UInt64 = 0x7f00_0000_0000
    private static let pointer = stack + 60_000
    private static let interrupted: UInt64 = 0x7ffe_0000_1000

    /// - Parameter changes: words of the ucontext, by their offset.
    private static func memory(at offset: Int = 512, _ changes: [Int: UInt64] = [:]) -> SnapshotMemory {
        var words: [Int: UInt64] = [
            0: 6, 8: 0, 16: stack, 32: 65_536, 160: interrupted, 168: 0x5555_0000_1234, 184: 0x2b_0000_0000_0033,
        ]
        words.merge(changes) { $1 }
        var bytes = [UInt8](repeating: 0, count: 5_000)
        for (place, word) in words where offset + place + 8 <= bytes.count {
            withUnsafeBytes(of: word.littleEndian) {
                bytes.replaceSubrange(offset + place..<offset + place + 8, with: $0)
            }
        }
        return SnapshotMemory(address: pointer, bytes: bytes[...])
    }

    @Test("is found by its frame, wherever that lies among the handler's frames", arguments: [0, 8, 512, 4_808])
    func found(offset: Int) {
        #expect(Self.memory(at: offset).interruptedPointer(from: Self.pointer) == Self.interrupted)
    }

    @Test(
        "is not searched in a frame that no kernel wrote",
        arguments: [
            [8: 1], [0: 8], [168: 0], [184: 0x23],
            // Of another stack, and of one that ends below the pointer.
            [16: 0x7e00_0000_0000], [32: 60_000],
            // On the same stack, which these bytes already contain.
            [160: stack + 61_000],
        ] as [[Int: UInt64]])
    func absent(changes: [Int: UInt64]) {
        #expect(Self.memory(at: 512, changes).interruptedPointer(from: Self.pointer) == nil)
    }

    @Test("is not searched beyond the bytes", arguments: [4_816, 4_992])
    func cutOff(offset: Int) {
        #expect(Self.memory(at: offset).interruptedPointer(from: Self.pointer) == nil)
    }

    @Test("is not found without a stack")
    func empty() {
        #expect(SnapshotMemory(address: Self.pointer, bytes: []).interruptedPointer(from: Self.pointer) == nil)
    }
}

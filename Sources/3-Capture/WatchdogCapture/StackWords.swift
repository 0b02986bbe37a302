// SPDX-License-Identifier: Apache-2.0

import WatchdogVerdict

/// Finds the words of captured stacks that may be return addresses, without reading any file of the process.
///
/// A return address of an earlier call looks the same as a current one, so all of them are kept: an address that is
/// missing here cannot be named later. The chain of frame pointers, if the program keeps it, marks those that are
/// certain.
struct StackWords {
    /// An address of a thread, innermost first.
    struct Found: Equatable {
        var address: UInt64
        var trust: Frame.Trust
    }

    /// The maximum number of addresses of a thread.
    static let threadLimit = 512
    /// The maximum number of addresses of a process.
    static let processLimit = 1 << 16
    private static let wordSize: UInt64 = 8

    /// In ascending order and without overlap.
    private let code: [Range<UInt64>]
    private var left = processLimit
    private var isCut = false

    init(_ mappings: [SnapshotMapping]) {
        code = mappings.filter { $0.isExecutable && $0.start < $0.end }.map { $0.start..<$0.end }
    }

    /// Notes about missing addresses.
    var notes: [String] { isCut ? ["Only the innermost addresses are shown."] : [] }

    /// The program counter of a thread, and the words of its stacks that point to code after a call.
    mutating func frames(of thread: SnapshotThread) -> [Found] {
        guard let counter = thread[.rip] else { return [] }
        var found = [Found(address: counter, trust: .registers)]
        let chain = thread.stack.map { returnSlots(in: $0, from: thread[.rbp], thread[.rsp]) } ?? []
        for stack in [thread.stack, thread.interruptedStack].compactMap(\.self) {
            // Start at the stack pointer: below it are remains of calls that have returned.
            let pointer = thread[.rsp].flatMap { stack.word(at: $0) == nil ? nil : $0 } ?? stack.address
            collect(from: stack, at: pointer, chain, into: &found)
        }
        return found
    }

    private mutating func collect(
        from stack: SnapshotMemory, at pointer: UInt64, _ chain: Set<UInt64>, into found: inout [Found]
    ) {
        let first = (pointer &+ (Self.wordSize - 1)) & ~(Self.wordSize - 1)
        guard first >= pointer else { return }
        var slot = first
        while let word = stack.word(at: slot) {
            if isCode(word &- 1) {
                guard found.count < Self.threadLimit, left > 0 else {
                    isCut = true
                    return
                }
                left -= 1
                found.append(Found(address: word, trust: chain.contains(slot) ? .framePointer : .scan))
            }
            guard slot <= .max - Self.wordSize else { return }
            slot += Self.wordSize
        }
    }

    /// The stack slots of the return addresses along the chain of frame pointers.
    private func returnSlots(in stack: SnapshotMemory, from framePointer: UInt64?, _ pointer: UInt64?) -> Set<UInt64> {
        var slots: Set<UInt64> = []
        guard var frame = framePointer, let pointer, frame >= pointer else { return [] }
        while frame % Self.wordSize == 0, frame <= .max - Self.wordSize, slots.count < Self.threadLimit,
            let next = stack.word(at: frame), let word = stack.word(at: frame + Self.wordSize), isCode(word &- 1)
        {
            slots.insert(frame + Self.wordSize)
            guard next > frame else { break }
            frame = next
        }
        return slots
    }

    private func isCode(_ address: UInt64) -> Bool {
        guard let first = code.first, let last = code.last, address >= first.lowerBound, address < last.upperBound
        else {
            return false
        }
        var (low, high) = (0, code.count)
        while low < high {
            let middle = low + (high - low) / 2
            if code[middle].lowerBound <= address { low = middle + 1 } else { high = middle }
        }
        return low > 0 && code[low - 1].contains(address)
    }
}

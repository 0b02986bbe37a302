// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Memory that a worker shares with its parent, for its progress and its result.
final class Blackboard {
    private struct Fields {
        var image: Int32
        var confinement: UInt32
        var resultCount: Int
    }

    /// Address space only: untouched pages use no memory.
    private static let size = 256 << 20
    private static let resultOffset = 64

    private let memory: UnsafeMutableRawPointer
    private let fields: UnsafeMutablePointer<Fields>

    /// Maps the memory; nil if that fails.
    init?() {
        let flags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE
        guard let memory = mmap(nil, Blackboard.size, PROT_READ | PROT_WRITE, flags, -1, 0), memory != MAP_FAILED else {
            return nil
        }
        self.memory = memory
        fields = memory.bindMemory(to: Fields.self, capacity: 1)
        fields.pointee = Fields(image: -1, confinement: 0, resultCount: 0)
    }

    deinit {
        munmap(memory, Blackboard.size)
    }

    /// The index of the image whose bytes libdw is parsing.
    var image: Int? {
        get { fields.pointee.image < 0 ? nil : Int(fields.pointee.image) }
        set { fields.pointee.image = Int32(clamping: newValue ?? -1) }
    }

    /// The rights that the worker has given up; empty if there is no worker.
    var confinement: Confinement {
        get { Confinement(rawValue: fields.pointee.confinement) }
        set { fields.pointee.confinement = newValue.rawValue }
    }

    /// Stores the result; returns false if it is too large.
    func post(_ result: some Collection<UInt8>) -> Bool {
        let count = result.count
        guard count <= Blackboard.size - Blackboard.resultOffset else { return false }
        let target = UnsafeMutableRawBufferPointer(start: memory + Blackboard.resultOffset, count: count)
        target.copyBytes(from: result)
        fields.pointee.resultCount = count
        return true
    }

    /// The result, which is valid while the blackboard exists.
    var result: UnsafeRawBufferPointer {
        let count = min(max(0, fields.pointee.resultCount), Blackboard.size - Blackboard.resultOffset)
        return UnsafeRawBufferPointer(start: memory + Blackboard.resultOffset, count: count)
    }
}

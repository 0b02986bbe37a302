// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Memory that a worker shares with its parent: what it is doing, and its result in the end.
final class Blackboard {
    private struct Fields {
        var image: Int32
        var confinement: UInt32
        var resultCount: Int
    }

    /// Address space only: what is not written takes no memory.
    private static let size = 256 << 20
    private static let resultOffset = 64

    private let memory: UnsafeMutableRawPointer
    private let fields: UnsafeMutablePointer<Fields>

    /// nil when there is no memory.
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

    /// The image, by index, whose bytes libdw is looking at.
    var image: Int? {
        get { fields.pointee.image < 0 ? nil : Int(fields.pointee.image) }
        set { fields.pointee.image = Int32(clamping: newValue ?? -1) }
    }

    /// Which rights the worker has given up; none of them where there is no worker.
    var confinement: Confinement {
        get { Confinement(rawValue: fields.pointee.confinement) }
        set { fields.pointee.confinement = newValue.rawValue }
    }

    /// Leaves the result; false when it is too large.
    func post(_ result: some Collection<UInt8>) -> Bool {
        let count = result.count
        guard count <= Blackboard.size - Blackboard.resultOffset else { return false }
        let target = UnsafeMutableRawBufferPointer(start: memory + Blackboard.resultOffset, count: count)
        target.copyBytes(from: result)
        fields.pointee.resultCount = count
        return true
    }

    /// The result, valid as long as the blackboard.
    var result: UnsafeRawBufferPointer {
        let count = min(max(0, fields.pointee.resultCount), Blackboard.size - Blackboard.resultOffset)
        return UnsafeRawBufferPointer(start: memory + Blackboard.resultOffset, count: count)
    }
}

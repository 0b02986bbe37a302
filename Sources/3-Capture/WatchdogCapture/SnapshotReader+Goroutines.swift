// SPDX-License-Identifier: Apache-2.0

import CSnapshot

extension SnapshotReader {
    /// Reads one of the records about the goroutines of a Go program.
    mutating func read(goroutines kind: UInt32, _ payload: ArraySlice<UInt8>) throws(SnapshotFormatError) {
        if wd_record_kind(kind) == WD_RECORD_GO {
            guard goroutines == nil else { throw error(.tooMany, "Go runtime") }
            goroutines = try runtime(payload)
            return
        }
        guard let known = goroutines?.goroutines.count else { throw error(.malformed, "goroutine of no Go runtime") }
        guard known < WD_GO_MAX_GOROUTINES else { throw error(.tooMany, "goroutine") }
        let next = try goroutine(payload)
        goroutines?.goroutines.append(next)
    }

    private func runtime(_ payload: ArraySlice<UInt8>) throws(SnapshotFormatError) -> SnapshotGoroutines {
        guard let raw = load(wd_go.self, in: payload) else { throw error(.truncated, "Go runtime") }
        guard let reading = SnapshotGoroutines.Reading(rawValue: raw.reading) else {
            throw error(.malformed, "Go runtime")
        }
        return SnapshotGoroutines(
            version: string(ofFixedArray: raw.version), reading: reading, count: Int(raw.alive),
            activeCount: Int(raw.active))
    }

    private func goroutine(
        _ payload: ArraySlice<UInt8>
    ) throws(SnapshotFormatError) -> SnapshotGoroutines.Goroutine {
        guard let raw = load(wd_goroutine.self, in: payload) else { throw error(.truncated, "goroutine") }
        guard let status = SnapshotGoroutines.Status(rawValue: raw.status) else { throw error(.malformed, "goroutine") }
        let bytes = payload.dropFirst(MemoryLayout<wd_goroutine>.size)
        guard raw.sp <= UInt64.max - UInt64(bytes.count) else { throw error(.malformed, "stack of a goroutine") }
        return SnapshotGoroutines.Goroutine(
            id: raw.id,
            status: status,
            reason: string(ofFixedArray: raw.reason),
            waitingSince: raw.waiting_since == 0 ? nil : raw.waiting_since,
            thread: raw.tid > 0 ? raw.tid : nil,
            descriptor: raw.polled >= 0 ? raw.polled : nil,
            programCounter: raw.pc,
            stackPointer: raw.sp,
            framePointer: raw.bp,
            stack: bytes.isEmpty ? nil : SnapshotMemory(address: raw.sp, bytes: bytes)
        )
    }
}

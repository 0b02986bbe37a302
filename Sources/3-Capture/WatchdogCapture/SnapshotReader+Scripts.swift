// SPDX-License-Identifier: Apache-2.0

import CSnapshot

extension SnapshotReader {
    /// Reads one of the records about V8.
    mutating func read(scripts kind: UInt32, _ payload: ArraySlice<UInt8>) throws(SnapshotFormatError) {
        switch wd_record_kind(kind) {
        case WD_RECORD_V8:
            guard scripts == nil else { throw error(.tooMany, "V8") }
            guard let raw = load(wd_v8.self, in: payload) else { throw error(.truncated, "V8") }
            guard let reading = SnapshotScripts.Reading(rawValue: raw.reading) else { throw error(.malformed, "V8") }
            scripts = SnapshotScripts(reading: reading)
        case WD_RECORD_V8_FUNCTION:
            guard let known = scripts?.functions.count else { throw error(.malformed, "function of no V8") }
            guard known < WD_V8_MAX_FUNCTIONS else { throw error(.tooMany, "function") }
            let function = try function(payload)
            scripts?.functions.append(function)
        default:
            guard let known = scripts?.frames.count else { throw error(.malformed, "frames of no V8") }
            guard known < WD_SNAPSHOT_MAX_THREADS else { throw error(.tooMany, "frames of V8") }
            guard let stack = load(wd_v8_stack.self, in: payload) else { throw error(.truncated, "frames of V8") }
            let frames = try frames(ofV8: payload.dropFirst(MemoryLayout<wd_v8_stack>.size))
            guard scripts?.frames.updateValue(frames, forKey: stack.tid) == nil else {
                throw error(.tooMany, "frames of V8 in \(stack.tid)")
            }
        }
    }

    private func function(_ payload: ArraySlice<UInt8>) throws(SnapshotFormatError) -> SnapshotScripts.Function {
        guard let raw = load(wd_v8_function.self, in: payload) else { throw error(.truncated, "function") }
        let rest = payload.dropFirst(MemoryLayout<wd_v8_function>.size)
        guard raw.name_length <= UInt32(WD_V8_NAME_BYTES), raw.file_length <= UInt32(WD_V8_NAME_BYTES),
            Int(raw.name_length) + Int(raw.file_length) <= rest.count
        else { throw error(.truncated, "function") }
        guard [1, 2].contains(raw.name_kind), [1, 2].contains(raw.file_kind) else {
            throw error(.malformed, "function")
        }
        let file = rest.dropFirst(Int(raw.name_length)).prefix(Int(raw.file_length))
        return SnapshotScripts.Function(
            name: SnapshotText(width: Int(raw.name_kind), bytes: rest.prefix(Int(raw.name_length))),
            file: SnapshotText(width: Int(raw.file_kind), bytes: file),
            line: raw.line > 0 ? Int(raw.line) : nil
        )
    }

    private func frames(ofV8 rest: ArraySlice<UInt8>) throws(SnapshotFormatError) -> [UInt64: Int] {
        let size = MemoryLayout<wd_v8_frame>.size
        guard rest.count.isMultiple(of: size) else { throw error(.truncated, "frames of V8") }
        guard rest.count / size <= WD_V8_STACK_FRAMES else { throw error(.tooMany, "frames of V8") }
        var frames: [UInt64: Int] = [:]
        for start in stride(from: rest.startIndex, to: rest.endIndex, by: size) {
            guard let raw = load(wd_v8_frame.self, in: rest[start...]) else { continue }
            frames[raw.bp] = Int(raw.function)
        }
        return frames
    }
}

// SPDX-License-Identifier: Apache-2.0

import CSnapshot

extension SnapshotReader {
    /// Reads one of the records about HotSpot.
    mutating func read(java kind: UInt32, _ payload: ArraySlice<UInt8>) throws(SnapshotFormatError) {
        switch wd_record_kind(kind) {
        case WD_RECORD_JAVA:
            guard java == nil else { throw error(.tooMany, "Java") }
            guard let raw = load(wd_java.self, in: payload) else { throw error(.truncated, "Java") }
            guard let reading = SnapshotJava.Reading(rawValue: raw.reading) else { throw error(.malformed, "Java") }
            java = SnapshotJava(version: raw.version == 0 ? nil : Int(raw.version), reading: reading)
        case WD_RECORD_JAVA_METHOD:
            guard let known = java?.methods.count else { throw error(.malformed, "method of no Java") }
            guard known < WD_JAVA_MAX_METHODS else { throw error(.tooMany, "method") }
            let method = try method(payload)
            java?.methods.append(method)
        default:
            guard let known = java?.stacks.count else { throw error(.malformed, "frames of no Java") }
            guard known < WD_SNAPSHOT_MAX_THREADS else { throw error(.tooMany, "frames of Java") }
            guard let stack = load(wd_java_stack.self, in: payload) else { throw error(.truncated, "frames of Java") }
            let frames = try frames(ofJava: payload.dropFirst(MemoryLayout<wd_java_stack>.size))
            guard java?.stacks.updateValue(frames, forKey: stack.tid) == nil else {
                throw error(.tooMany, "frames of Java in \(stack.tid)")
            }
            if stack.lock_owner > 0 { java?.lockOwners[stack.tid] = stack.lock_owner }
        }
    }

    private func method(_ payload: ArraySlice<UInt8>) throws(SnapshotFormatError) -> SnapshotJava.Method {
        guard let raw = load(wd_java_method.self, in: payload) else { throw error(.truncated, "method") }
        var rest = payload.dropFirst(MemoryLayout<wd_java_method>.size)
        func take(_ length: UInt32) throws(SnapshotFormatError) -> ArraySlice<UInt8> {
            guard length <= UInt32(WD_JAVA_NAME_BYTES), Int(length) <= rest.count else {
                throw error(.truncated, "method")
            }
            defer { rest = rest.dropFirst(Int(length)) }
            return rest.prefix(Int(length))
        }
        return SnapshotJava.Method(
            type: try take(raw.class_length), name: try take(raw.name_length), file: try take(raw.file_length))
    }

    private func frames(ofJava rest: ArraySlice<UInt8>) throws(SnapshotFormatError) -> [SnapshotJava.Frame] {
        let size = MemoryLayout<wd_java_frame>.size
        guard rest.count.isMultiple(of: size) else { throw error(.truncated, "frames of Java") }
        guard rest.count / size <= WD_JAVA_STACK_FRAMES else { throw error(.tooMany, "frames of Java") }
        return stride(from: rest.startIndex, to: rest.endIndex, by: size).compactMap { start in
            load(wd_java_frame.self, in: rest[start...]).map { raw -> SnapshotJava.Frame in
                guard raw.method != .max else {
                    return .native(.init(programCounter: raw.pc, stackPointer: raw.sp, framePointer: raw.bp))
                }
                return .call(method: Int(raw.method), line: raw.line > 0 ? Int(raw.line) : nil, address: raw.pc)
            }
        }
    }
}

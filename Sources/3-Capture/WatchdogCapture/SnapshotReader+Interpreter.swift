// SPDX-License-Identifier: Apache-2.0

import CSnapshot

extension SnapshotReader {
    /// Reads one of the records about the CPython interpreter.
    mutating func read(interpreter kind: UInt32, _ payload: ArraySlice<UInt8>) throws(SnapshotFormatError) {
        if wd_record_kind(kind) == WD_RECORD_PYTHON {
            guard interpreter == nil else { throw error(.tooMany, "interpreter") }
            interpreter = try head(payload)
            return
        }
        guard interpreter != nil else { throw error(.malformed, "frames of no interpreter") }
        if wd_record_kind(kind) == WD_RECORD_PYTHON_CODE {
            let code = try code(payload)
            guard interpreter?.codes.count ?? 0 < WD_PYTHON_MAX_CODES else { throw error(.tooMany, "code") }
            interpreter?.codes.append(code)
        } else {
            guard interpreter?.stacks.count ?? 0 < WD_SNAPSHOT_MAX_THREADS else { throw error(.tooMany, "frames") }
            let (thread, frames) = try frames(payload)
            guard interpreter?.stacks.updateValue(frames, forKey: thread) == nil else {
                throw error(.tooMany, "frames of \(thread)")
            }
        }
    }

    private func head(_ payload: ArraySlice<UInt8>) throws(SnapshotFormatError) -> SnapshotInterpreter {
        guard let raw = load(wd_python.self, in: payload) else { throw error(.truncated, "interpreter") }
        guard let reading = SnapshotInterpreter.Reading(rawValue: raw.reading) else {
            throw error(.malformed, "interpreter")
        }
        let (end, overflows) = raw.evaluator.addingReportingOverflow(raw.evaluator_length)
        return SnapshotInterpreter(
            version: raw.version,
            reading: reading,
            evaluator: overflows ? 0..<0 : raw.evaluator..<end,
            lockHolder: raw.lock_holder > 0 ? raw.lock_holder : nil
        )
    }

    private func code(_ payload: ArraySlice<UInt8>) throws(SnapshotFormatError) -> SnapshotInterpreter.Code {
        guard let raw = load(wd_python_code.self, in: payload) else { throw error(.truncated, "code") }
        var rest = payload.dropFirst(MemoryLayout<wd_python_code>.size)
        func take(_ length: UInt32, _ limit: Int32) throws(SnapshotFormatError) -> ArraySlice<UInt8> {
            guard length <= UInt32(limit), Int(length) <= rest.count else { throw error(.truncated, "code") }
            defer { rest = rest.dropFirst(Int(length)) }
            return rest.prefix(Int(length))
        }
        let name = try take(raw.name_length, WD_PYTHON_NAME_BYTES)
        let file = try take(raw.file_length, WD_PYTHON_NAME_BYTES)
        let locations = try take(raw.table_length, WD_PYTHON_TABLE_BYTES)
        guard [1, 2, 4].contains(raw.name_kind), [1, 2, 4].contains(raw.file_kind) else {
            throw error(.malformed, "code")
        }
        return SnapshotInterpreter.Code(
            firstLine: Int(raw.first_line),
            name: .init(width: Int(raw.name_kind), bytes: name),
            file: .init(width: Int(raw.file_kind), bytes: file),
            locations: locations
        )
    }

    private func frames(
        _ payload: ArraySlice<UInt8>
    ) throws(SnapshotFormatError) -> (thread: Int32, [SnapshotInterpreter.Frame]) {
        guard let stack = load(wd_python_stack.self, in: payload) else { throw error(.truncated, "frames") }
        let rest = payload.dropFirst(MemoryLayout<wd_python_stack>.size)
        let size = MemoryLayout<wd_python_frame>.size
        guard rest.count.isMultiple(of: size) else { throw error(.truncated, "frames") }
        guard rest.count / size <= WD_PYTHON_STACK_FRAMES else { throw error(.tooMany, "frames") }
        let frames = stride(from: rest.startIndex, to: rest.endIndex, by: size).compactMap { start in
            load(wd_python_frame.self, in: rest[start...]).map { raw in
                SnapshotInterpreter.Frame(
                    code: raw.code == .max ? nil : Int(raw.code),
                    instruction: raw.instruction < 0 ? nil : Int(raw.instruction),
                    isEntry: raw.flags & WD_PYTHON_ENTRY.rawValue != 0
                )
            }
        }
        return (stack.tid, frames)
    }
}

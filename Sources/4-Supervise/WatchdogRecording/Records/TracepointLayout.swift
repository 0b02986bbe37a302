// SPDX-License-Identifier: Apache-2.0

/// The offsets of the fields in a tracepoint's records, from its `format` file in tracefs: they differ between kernels.
public struct TracepointLayout: Hashable, Sendable {
    struct Field: Hashable, Sendable {
        let offset: Int
        let size: Int
    }

    /// The tracepoint's ID for perf_event_open(2).
    public let id: UInt64
    private let fields: [String: Field]

    /// Parses a `format` file; nil if it has no id or no fields, or a field beyond any record's size.
    public init?(format: String) {
        var id: UInt64?
        var fields: [String: Field] = [:]
        for line in format.prefix(16 << 10).split(separator: "\n") {
            if line.hasPrefix("ID: ") { id = UInt64(line.dropFirst(4)) }
            let parts = line.split(separator: ";").map { $0.drop { $0 == "\t" || $0 == " " } }
            guard parts.count >= 3, parts[0].hasPrefix("field:"), parts[1].hasPrefix("offset:"),
                parts[2].hasPrefix("size:"),
                let offset = Int(parts[1].dropFirst(7)), let size = Int(parts[2].dropFirst(5)),
                (0..<4096).contains(offset), (1...256).contains(size),
                let name = parts[0].split(separator: " ").last?.prefix(while: { $0 != "[" })
            else { continue }
            fields[String(name)] = Field(offset: offset, size: size)
        }
        guard let id, !fields.isEmpty else { return nil }
        self.id = id
        self.fields = fields
    }

    /// Whether the records have all of these fields.
    public func has(_ names: String...) -> Bool { names.allSatisfy { fields[$0] != nil } }

    func integer(_ name: String, in record: ByteWindow) -> Int64? {
        guard let field = fields[name] else { return nil }
        switch field.size {
        case 1: return record.integer(at: field.offset, as: UInt8.self).map { Int64($0) }
        case 2: return record.integer(at: field.offset, as: UInt16.self).map { Int64($0) }
        case 4: return record.integer(at: field.offset, as: Int32.self).map { Int64($0) }
        case 8: return record.integer(at: field.offset, as: Int64.self)
        default: return nil
        }
    }

    func text(_ name: String, in record: ByteWindow) -> String? {
        fields[name].flatMap { record.text(at: $0.offset, limit: $0.size) }
    }
}

/// The tracepoints of a recording.
public struct TracepointLayouts: Hashable, Sendable {
    /// `sched:sched_switch`.
    public var schedulerSwitch: TracepointLayout?
    /// `sched:sched_waking`.
    public var schedulerWaking: TracepointLayout?
    /// `raw_syscalls:sys_enter`.
    public var systemCall: TracepointLayout?

    /// Creates a set.
    public init(
        schedulerSwitch: TracepointLayout? = nil, schedulerWaking: TracepointLayout? = nil,
        systemCall: TracepointLayout? = nil
    ) {
        self.schedulerSwitch = schedulerSwitch
        self.schedulerWaking = schedulerWaking
        self.systemCall = systemCall
    }
}

// SPDX-License-Identifier: Apache-2.0

import WatchdogReport

/// Reads incidents, one JSON object per line, from pieces of any size.
///
/// Isolation: one thread at a time.
public struct IncidentLines: ~Copyable {
    /// The maximum length of a line, in bytes.
    static let lineBytes = 64 << 10

    private var decoder = IncidentLineDecoder()
    private var line: [UInt8] = []
    private var isTooLong = false
    private var number = 0

    /// The number of lines that are not incidents.
    public private(set) var faults = 0
    /// The first line that is not an incident, with the reason: `line 17: it is cut off`.
    public private(set) var firstFault: String?

    /// Creates a reader at the first line.
    public init() {}

    /// Reads a piece.
    ///
    /// - Parameter body: called with each incident; returns false to reject its time.
    public mutating func read(_ bytes: Span<UInt8>, _ body: (OrganizerIncident) -> Bool) {
        var start = 0
        while start < bytes.count {
            var end = start
            while end < bytes.count, bytes[end] != 0x0a { end += 1 }
            guard end < bytes.count else {
                carry(bytes.extracting(start..<end))
                return
            }
            if line.isEmpty, !isTooLong {
                finish(bytes.extracting(start..<end), body)
            } else {
                carry(bytes.extracting(start..<end))
                finishCarried(body)
            }
            start = end + 1
        }
    }

    /// Reads the last line, which may lack a newline.
    public mutating func finish(_ body: (OrganizerIncident) -> Bool) {
        if !line.isEmpty || isTooLong { finishCarried(body) }
    }

    private mutating func carry(_ bytes: Span<UInt8>) {
        guard !isTooLong, line.count + bytes.count <= Self.lineBytes else {
            isTooLong = true
            line = []
            return
        }
        for index in bytes.indices { line.append(bytes[index]) }
    }

    private mutating func finishCarried(_ body: (OrganizerIncident) -> Bool) {
        let carried = line
        line = []
        if isTooLong {
            isTooLong = false
            number += 1
            note("it is longer than \(Self.lineBytes) bytes")
        } else {
            finish(carried.span, body)
        }
    }

    private mutating func finish(_ bytes: Span<UInt8>, _ body: (OrganizerIncident) -> Bool) {
        number += 1
        guard bytes.count <= Self.lineBytes else { return note("it is longer than \(Self.lineBytes) bytes") }
        var isBlank = true
        for index in bytes.indices where bytes[index] != 0x20 && bytes[index] != 0x0d && bytes[index] != 0x09 {
            isBlank = false
            break
        }
        guard !isBlank else { return }
        do throws(LineFault) {
            let incident = try decoder.incident(bytes)
            if !body(incident) { note("its time is in the future") }
        } catch {
            note(error.reason)
        }
    }

    private mutating func note(_ reason: String) {
        faults += 1
        if firstFault == nil { firstFault = "line \(number): \(reason)" }
    }
}

// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

extension ReportCoding {
    /// The maximum number of parts of a report to replace; each replacement decodes the whole report again.
    private static func repairs(_ size: Int) -> Int { size > 1 << 20 ? 6 : 64 }

    /// Reads as much of a damaged report as possible.
    ///
    /// Text is cut at the first syntax error, after its last complete value. Parts with an unexpected type are omitted.
    /// The first line must be complete, and the body must have begun.
    ///
    /// - Returns: the report and its defects; none for an intact report.
    /// - Throws: ``ReportCodingError`` if nothing can be shown.
    public static func salvage(_ bytes: [UInt8]) throws(ReportCodingError) -> (report: Report, faults: [String]) {
        let original: ReportCodingError
        do {
            return (try decode(bytes), [])
        } catch {
            original = error
        }
        guard original.code == .malformed || original.code == .unexpected else { throw original }
        let metadata = try decodeMetadata(bytes)
        guard metadata.bugType == ReportMetadata.crash else { throw original }
        var faults: [String] = []
        let text = Array(bytes.drop { $0 != UInt8(ascii: "\n") }.dropFirst())
        var tree = try? JSONDecoder().decode(JSONTree.self, from: Data(text))
        if tree == nil {
            faults.append("\(original); what follows is lost")
            let end = JSONFault.first(in: text)?.offset ?? text.count
            tree = try? JSONDecoder().decode(JSONTree.self, from: Data(JSONTree.closed(text[..<end])))
        }
        guard var tree, !tree.members.isEmpty else { throw original }
        if case .integer(let schema) = tree.members["linux"]?.members["schema"], schema > LinuxDetails.currentSchema {
            faults.append("it was written by a newer watchdogd (schema \(schema), known \(LinuxDetails.currentSchema))")
        }
        tree.members.merge(defaults(metadata)) { found, _ in found }
        let limit = repairs(text.count)
        for repair in 0..<limit {
            do {
                let body = try JSONDecoder().decode(ReportBody.self, from: try JSONEncoder().encode(tree))
                return (Report(metadata: metadata, body: body), faults)
            } catch let error as DecodingError {
                faults.append("\(ReportCodingError(error, line: nil)); left out")
                // Replace single elements first; after half of the repairs, replace whole lists.
                let wholeMember = repair >= limit / 2
                guard tree.leaveOut(error.keys, wholeMember: wholeMember, defaults: defaults(metadata)) else {
                    throw original
                }
            } catch {
                throw original
            }
        }
        throw original
    }

    /// Keys that readers require and that a truncated file may lack.
    private static func defaults(_ metadata: ReportMetadata) -> [String: JSONTree] {
        [
            "procName": .text(metadata.appName), "pid": .integer(Int64(metadata.linux?.pid ?? 0)),
            "captureTime": .text(metadata.timestamp), "incident": .text(metadata.incidentID),
            "exception": .object(["type": .text("unknown")]), "faultingThread": .integer(0), "threads": .array([]),
            "usedImages": .array([]),
        ]
    }
}

extension DecodingError {
    /// The path to the fault; for a missing key, the last element is that key.
    fileprivate var keys: [any CodingKey] {
        switch self {
        case .keyNotFound(_, let context), .typeMismatch(_, let context), .valueNotFound(_, let context),
            .dataCorrupted(let context):
            context.codingPath
        @unknown default: []
        }
    }
}

extension JSONTree {
    /// Replaces the unreadable part: an element of a list becomes empty, so that the others keep their indices;
    /// otherwise the whole member is removed.
    ///
    /// - Returns: false if nothing is left to replace.
    fileprivate mutating func leaveOut(
        _ keys: [any CodingKey], wholeMember: Bool, defaults: [String: JSONTree]
    ) -> Bool {
        guard let key = keys.first?.stringValue, let found = members[key] else { return false }
        if !wholeMember, keys.count > 1, let index = keys[1].intValue, case .array(var elements) = found,
            elements.indices.contains(index), elements[index] != .object([:])
        {
            elements[index] = .object([:])
            members[key] = .array(elements)
            return true
        }
        guard found != defaults[key] else { return false }
        members[key] = defaults[key]
        return true
    }
}

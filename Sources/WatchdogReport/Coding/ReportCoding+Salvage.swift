// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

extension ReportCoding {
    /// How many parts of one report are replaced before it is given up: each costs another reading of the whole.
    private static func repairs(_ size: Int) -> Int { size > 1 << 20 ? 6 : 64 }

    /// Reads what can be read of a damaged report.
    ///
    /// A text that stops being JSON counts up to the last whole value before; a part of another kind than expected is
    /// left out. The first line must be whole, and the body must have begun.
    ///
    /// - Returns: the report, and what is wrong with it, empty for a good one.
    /// - Throws: ``ReportCodingError`` when there is nothing to show.
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
                // One by one while there is time, then whole lists.
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

    /// What readers demand and a beginning of a file may lack.
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
    /// Where the fault is; the last key is the one that is missing, if one is.
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
    /// Replaces the part that cannot be read: an element of a list by an empty one, so that the others keep their
    /// numbers, or else the whole member.
    ///
    /// - Returns: false when there is nothing left to replace.
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

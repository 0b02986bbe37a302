// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import WatchdogBase

/// Reads and writes `.ips` files: one line of JSON metadata, followed by a JSON body.
public enum ReportCoding {
    /// Encodes a report; the same report always yields the same bytes.
    ///
    /// - Throws: ``ReportCodingError`` with code ``ReportCodingError/Code/tooLarge``.
    public static func encode(_ report: Report) throws(ReportCodingError) -> [UInt8] {
        let encoder = JSONEncoder()
        var bytes: [UInt8]
        do {
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            bytes = Array(try encoder.encode(report.metadata))
            bytes.append(UInt8(ascii: "\n"))
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
            bytes += try encoder.encode(report.body)
            bytes.append(UInt8(ascii: "\n"))
        } catch {
            preconditionFailure("a report holds only strings and integers, which JSON can hold: \(error)")
        }
        guard bytes.count <= ReportLimits.fileBytes else { throw .tooLarge(bytes.count) }
        return bytes
    }

    /// Decodes a report, ours or one of Apple's; unknown keys are ignored.
    ///
    /// - Throws: ``ReportCodingError``, with the line or key of the error.
    public static func decode(_ bytes: [UInt8]) throws(ReportCodingError) -> Report {
        guard bytes.count <= ReportLimits.fileBytes else { throw .tooLarge(bytes.count) }
        let metadata = try decodeMetadata(bytes)
        let body = bytes.drop { $0 != UInt8(ascii: "\n") }.dropFirst()
        guard metadata.bugType == ReportMetadata.crash else {
            throw ReportCodingError(
                .notACrashReport, line: 1, "bug_type is \(metadata.bugType.singleLine(limit: 16)), not 309")
        }
        return Report(metadata: metadata, body: try decode(ReportBody.self, from: body, firstLine: 2))
    }

    /// Decodes only the first line.
    ///
    /// - Parameter bytes: the file or its beginning, through at least the end of the first line.
    public static func decodeMetadata(_ bytes: [UInt8]) throws(ReportCodingError) -> ReportMetadata {
        let line = bytes[..<(bytes.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.endIndex)]
        if let metadata = MetadataReader.metadata(bytes.span.extracting(0..<line.endIndex)) { return metadata }
        guard line.contains(where: { $0 > 0x20 }) else { throw ReportCodingError(.empty, line: 1, "no metadata") }
        return try decode(ReportMetadata.self, from: line, firstLine: 1)
    }

    private static func decode<Part: Decodable>(
        _ type: Part.Type, from bytes: some Collection<UInt8>, firstLine: Int
    ) throws(ReportCodingError) -> Part {
        do {
            return try JSONDecoder().decode(type, from: Data(bytes))
        } catch let error as DecodingError {
            // JSONDecoder does not report the position of a syntax error.
            if let fault = JSONFault.first(in: Array(bytes)) {
                throw ReportCodingError(.malformed, line: firstLine + fault.line - 1, fault.what)
            }
            throw ReportCodingError(error, line: firstLine == 1 ? 1 : nil)
        } catch {
            throw ReportCodingError(.malformed, line: firstLine, "\(error)")
        }
    }
}

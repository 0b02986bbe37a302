// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// Reads and writes `.launch` files: one JSON object, whose times are integer nanoseconds.
///
/// The same recording always yields the same bytes. `docs/launch-schema.json` describes the format.
public enum RecordingCoding {
    /// The format's name, under the key `format`.
    static let format = "watchdogd-launch"
    /// The version that this build writes, under the key `version`.
    ///
    /// It is increased if older readers would misunderstand a file, but not for keys that they may ignore.
    public static let version = 1
    /// The maximum size of a file, in bytes.
    public static let fileBytes = 64 << 20

    /// Encodes a recording.
    ///
    /// - Throws: ``RecordingCodingError`` with code ``RecordingCodingError/Code/tooLarge``.
    public static func encode(_ recording: LaunchRecording) throws(RecordingCodingError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var bytes: [UInt8]
        do {
            bytes = Array(try encoder.encode(recording))
        } catch {
            preconditionFailure("a recording holds only strings and integers, which JSON can hold: \(error)")
        }
        bytes.append(UInt8(ascii: "\n"))
        try checkSize(bytes.count)
        return bytes
    }

    /// Decodes a recording of any machine; unknown keys are ignored.
    ///
    /// - Throws: ``RecordingCodingError``, with the key of the error.
    public static func decode(_ bytes: [UInt8]) throws(RecordingCodingError) -> LaunchRecording {
        try checkSize(bytes.count)
        do {
            return try JSONDecoder().decode(LaunchRecording.self, from: Data(bytes))
        } catch let error as RecordingCodingError {
            throw error
        } catch let error as DecodingError {
            throw RecordingCodingError(error)
        } catch {
            throw RecordingCodingError(.notARecording, "not a recording: \(error)")
        }
    }

    private static func checkSize(_ count: Int) throws(RecordingCodingError) {
        guard count <= fileBytes else {
            throw RecordingCodingError(
                .tooLarge, "the recording has \(count >> 20) MiB, the limit is \(fileBytes >> 20) MiB")
        }
    }
}

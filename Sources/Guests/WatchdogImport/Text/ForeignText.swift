// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration

/// Reads text files of other service managers.
enum ForeignText {
    /// The maximum size of a file.
    static let maximumLength = 1 << 20

    /// The lines of a file without line breaks.
    ///
    /// - Throws: ``ImportError`` if the file is not text, or too long.
    static func lines(of file: ConfigurationFile) throws(ImportError) -> [String] {
        guard file.contents.count <= maximumLength else {
            throw ImportError(ImportPlace(file: file.path), "the file is longer than 1 MiB")
        }
        let isMarked = file.contents.starts(with: [0xef, 0xbb, 0xbf])
        let lines = file.contents.dropFirst(isMarked ? 3 : 0)
            .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        var result: [String] = []
        for (index, line) in lines.enumerated() {
            let place = ImportPlace(file: file.path, line: index + 1)
            let bytes = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            guard !bytes.contains(0) else { throw ImportError(place, "a NUL byte: this is not a text file") }
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw ImportError(place, "the line is not valid UTF-8")
            }
            result.append(text)
        }
        return result
    }
}

extension StringProtocol {
    /// The text without leading and trailing blanks.
    var trimmed: SubSequence {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0 == "\r" || $0 == "\n" || $0 == "\r\n" }
        guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) }) else {
            return self[startIndex..<startIndex]
        }
        return self[first...last]
    }
}

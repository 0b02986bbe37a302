// SPDX-License-Identifier: Apache-2.0

import Glibc

extension SpawnError {
    /// Adds details that `execve`'s error number leaves open.
    ///
    /// - Parameter head: The first line of the file, or its beginning; nil when there is no file that the program's
    ///   user may read.
    func explained(for request: SpawnRequest, head: [UInt8]?) -> SpawnError {
        let detail: String? =
            switch errno {
            case .argumentsTooLong: request.lengths
            case .noSuchFile: head.flatMap(SpawnRequest.missingInterpreter(of:))
            case .notAProgram: "not a program for this machine"
            default: nil
            }
        return SpawnError(stage: stage, errno: errno, operation: operation, detail: detail)
    }
}

extension SpawnRequest {
    /// execve(2), "Limits on size of arguments and environment": 128 KiB for one string, a quarter of the stack limit
    /// for all of them.
    fileprivate var lengths: String {
        let strings = arguments + environment.entries
        let longest = strings.map(\.bytes.count).max() ?? 0
        let limit = 32 * sysconf(Int32(_SC_PAGESIZE))
        guard longest < limit else {
            return "one argument or variable has \(longest) bytes, the kernel takes \(limit - 1)"
        }
        let total = strings.reduce(0) { $0 + $1.bytes.count + 1 }
        return "arguments and environment have \(total) bytes in \(strings.count) strings"
    }

    fileprivate static func missingInterpreter(of line: [UInt8]) -> String? {
        guard line.starts(with: [UInt8(ascii: "#"), UInt8(ascii: "!")]) else {
            return "the file exists, but its dynamic linker does not"
        }
        let words = line.dropFirst(2).split(whereSeparator: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") })
        guard let interpreter = words.first else { return nil }
        return "its interpreter \(String(decoding: interpreter, as: UTF8.self)) does not exist"
    }
}

// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The beginning of a file, or nothing if it cannot be read.
private func head(of path: String, bytes count: Int = 256) -> [UInt8] {
    // Without O_NONBLOCK, opening a FIFO waits for a writer.
    guard let file = try? OwnedDescriptor(opening: path, flags: O_RDONLY | O_NONBLOCK) else { return [] }
    var buffer = [UInt8](repeating: 0, count: count)
    let length = read(file.number, &buffer, count)
    return Array(buffer.prefix(max(length, 0)))
}

/// True for a file whose first line has no NUL, by which shells tell scripts from programs of other machines.
func looksLikeScript(_ path: String) -> Bool {
    !head(of: path).prefix { $0 != UInt8(ascii: "\n") }.contains(0)
}

extension SpawnError {
    /// Adds what `execve`'s error number leaves open.
    func explained(for request: SpawnRequest) -> SpawnError {
        let detail: String? =
            switch errno {
            case .argumentsTooLong: request.lengths
            case .noSuchFile: request.missingInterpreter
            case .notAProgram: "not a program for this machine"
            default: nil
            }
        return SpawnError(stage: stage, errno: errno, operation: operation, detail: detail)
    }
}

extension SpawnRequest {
    /// execve(2), "Limits on size of arguments and environment": one string at most 128 KiB; all of them a quarter of
    /// the stack's limit.
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

    fileprivate var missingInterpreter: String? {
        let path = executablePath
        guard access(path, F_OK) == 0 else { return nil }
        let line = head(of: path).prefix { $0 != UInt8(ascii: "\n") }
        guard line.starts(with: [UInt8(ascii: "#"), UInt8(ascii: "!")]) else {
            return "the file exists, but its dynamic linker does not"
        }
        let words = line.dropFirst(2).split(whereSeparator: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") })
        guard let interpreter = words.first else { return nil }
        return "its interpreter \(String(decoding: interpreter, as: UTF8.self)) does not exist"
    }
}

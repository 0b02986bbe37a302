// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogVerdict

/// The stacks in the text of systemd-coredump's journal entry; the rest is ignored.
///
/// Its lines are `Stack trace of thread 4711:` and `#0  0x00007f9c2d6a1a7c abort (libc.so.6 + 0x27a7c)`. They contain
/// untrusted names from the core and from files, so everything is bounded.
public enum CoredumpMessage {
    private static let note = "systemd-coredump does not say how far into its function a call is: ignore the + 0."
    private static let threadLimit = ReportLimits.threads
    /// C++ names can be long.
    private static let lineLimit = 16 << 10
    private static let frameLimit = ReportLimits.framesPerThread

    /// Reads the stacks; nil if there are none.
    ///
    /// - Parameters:
    ///   - message: the text.
    ///   - process: the process ID.
    /// - Returns: the stacks, the main thread's first, and the thread that crashed, whose stack comes first in the
    ///   text.
    public static func read(_ message: String, process: Int) -> (capture: CapturedProcess, thread: Int)? {
        var images: [BinaryImage] = []
        var threads: [CapturedThread] = []
        // Split bytes, not characters: Swift treats CR LF as a single character, which does not equal the newline.
        for line in message.utf8.split(separator: UInt8(ascii: "\n")) {
            guard line.count <= lineLimit else { continue }
            let words = Substring(line).drop { $0 == " " || $0 == "\t" }
            if let id = thread(words) {
                guard threads.count < threadLimit, !threads.contains(where: { $0.id == id }) else { break }
                threads.append(CapturedThread(id: id, name: "", state: "?"))
            } else if let last = threads.indices.last, threads[last].frames.count < frameLimit,
                let frame = frame(words, &images)
            {
                threads[last].frames.append(frame)
            }
        }
        guard let first = threads.first?.id, threads.contains(where: { !$0.frames.isEmpty }) else { return nil }
        threads.sort { ($0.id != process ? 1 : 0, $0.id) < ($1.id != process ? 1 : 0, $1.id) }
        return (CapturedProcess(method: .journal, threads: threads, images: images, notes: [note]), first)
    }

    private static func thread(_ line: Substring) -> Int? {
        let mark = "Stack trace of thread "
        guard line.hasPrefix(mark) else { return nil }
        let digits = line.dropFirst(mark.count).prefix { $0.isASCIIDigit }
        return Int32(digits).map(Int.init)
    }

    /// Parses `#3  0x0000557e0a6d11c9 main (crasher + 0x11c9)`; a name may contain spaces and parentheses, and `n/a`
    /// stands for an unknown name.
    private static func frame(_ line: Substring, _ images: inout [BinaryImage]) -> Frame? {
        guard line.first == "#", line.last == ")" else { return nil }
        let rest = line.dropFirst().drop { $0.isASCIIDigit }.drop { $0 == " " }
        let parts = rest.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let address = hexadecimal(parts[0]),
            let open = parts[1].firstRange(of: " (/") ?? parts[1].lastRange(of: " (")
        else { return nil }
        // A path may contain spaces and parentheses too, but an absolute path begins with a slash.
        let start = parts[1].index(open.lowerBound, offsetBy: 2)
        let name = parts[1][..<open.lowerBound]
        let place = parts[1][start...].dropLast()
        var index = images.firstIndex(of: .unknown)
        var offset = address
        if let plus = place.lastRange(of: " + "), let distance = hexadecimal(place[plus.upperBound...]),
            distance <= address
        {
            let path = String(place[..<plus.lowerBound])
            if let known = indexOfImage(path, at: address - distance, &images) {
                offset = distance
                index = known
            }
        }
        if index == nil {
            images.append(.unknown)
            index = images.count - 1
        }
        let symbol = name.isEmpty || name == "n/a" ? nil : String(name.prefix(ReportLimits.symbolLength))
        return Frame(
            address: address, imageIndex: index ?? 0, imageOffset: offset, symbol: symbol,
            symbolLocation: symbol == nil ? nil : 0, trust: .cfi)
    }

    private static func indexOfImage(_ path: String, at base: UInt64, _ images: inout [BinaryImage]) -> Int? {
        if let known = images.firstIndex(where: { $0.base == base && $0.path == path }) { return known }
        guard images.count < ReportLimits.images - 1, !path.isEmpty else { return nil }
        images.append(
            BinaryImage(
                base: base, size: 0, buildID: nil, path: path,
                name: path.split(separator: "/").last.map(String.init) ?? path, architecture: ""))
        return images.count - 1
    }

    private static func hexadecimal(_ text: Substring) -> UInt64? {
        text.hasPrefix("0x") ? UInt64(text.dropFirst(2), radix: 16) : nil
    }
}

extension Substring {
    fileprivate func lastRange(of text: String) -> Range<Index>? {
        var end = endIndex
        while end > startIndex {
            if self[..<end].hasSuffix(text) { return index(end, offsetBy: -text.count)..<end }
            end = index(before: end)
        }
        return nil
    }
}

// SPDX-License-Identifier: Apache-2.0

// Compiled together with the two sources that it looks into into one module, hence no import of it.

import WatchdogVerdict

/// Whatever a process writes into its perf map, lines are found within its bounds, names are short and printable, and the
/// last line that has an address wins.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzPerfMap(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let map = PerfMap(
        bytes, isEnd: bytes.first == UInt8(ascii: "~"), program: "java",
        of: [0x1000..<0x2000, 0x7FFF_0000..<UInt64.max])
    for address in [0, 0x1000, 0x1001, 0x1100, 0x1FFF, 0x2000, 0x7FFF_0000, 0x7FFF_1234, UInt64.max - 1, .max] {
        guard let (start, function) = map.function(at: address) else { continue }
        precondition(start <= address)
        precondition(!function.name.isEmpty && function.name.utf8.count <= 3 * 1024 + 64)
        precondition((function.line ?? 1) > 0)
        for text in [function.name, function.file ?? ""] {
            precondition(text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
        }
    }
    return 0
}

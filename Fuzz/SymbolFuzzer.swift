// SPDX-License-Identifier: Apache-2.0

// Compiled together with the sources that it looks into into one module, hence no import of it.

/// Whatever a program calls its functions, whatever its code is, and whatever its interpreter says about its lines: names are
/// bounded, instructions are within the code, and lines have numbers.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzSymbol(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    if bytes.starts(with: "_R".utf8) {
        checkName(String(decoding: bytes, as: UTF8.self))
    } else if bytes.first == UInt8(ascii: "P") {
        checkLines(bytes.dropFirst())
    } else {
        checkCode(bytes)
    }
    return 0
}

private func checkName(_ name: String) {
    let readable = RustName.demangle(name)
    precondition((readable ?? "").utf8.count <= 2_048 && RustName.demangle(name) == readable)
    let text = Punycode.decode(Array(name.utf8.dropFirst(2))[...])
    precondition((text ?? "").unicodeScalars.count <= name.utf8.count)
}

private func checkLines(_ bytes: ArraySlice<UInt8>) {
    for format in [PythonLocationTable.Format.changes, .ranges, .entries] {
        for first in [0, 1, Int(Int32.max), Int.max] {
            let table = PythonLocationTable(bytes: bytes, firstLine: first, format: format)
            for index in [0, 1, 7, 300, 1 << 20] {
                precondition(table.line(ofInstruction: index).map { (1...Int(Int32.max)).contains($0) } ?? true)
            }
        }
    }
}

private func checkCode(_ bytes: [UInt8]) {
    var offset = 0
    while offset < bytes.count, let instruction = X86_64.instruction(in: bytes, at: offset) {
        precondition((1...15).contains(instruction.length) && offset + instruction.length <= bytes.count)
        offset += instruction.length
    }
    // Code may be entered anywhere.
    for start in bytes.indices.prefix(64) { _ = X86_64.instruction(in: bytes, at: start) }
    _ = X86_64.call(before: .max, bytes: bytes.suffix(X86_64.longestCall))
    _ = X86_64.isTrampoline(bytes)
}

// SPDX-License-Identifier: Apache-2.0

/// The functions and lines of a Go program, from the table for Go's own stack traces: also stripped programs have it.
///
/// The layout of Go 1.18 and newer: `runtime/symtab.go`, `debug/gosym/pclntab.go` and https://go.dev/s/go12symtab. The file is
/// untrusted: every offset is checked against the section, and every loop ends with its bytes.
struct GoFunctionTable {
    /// A function found by address.
    struct Function {
        /// The run-time address of its start.
        var start: UInt64
        var name: String
        /// In an inlined call, whose function is not looked up, where the function begins; nil if unknown.
        var location: SourceLocation?
    }

    private static let sections = [".gopclntab", ".data.rel.ro.gopclntab"]
    private static let functionLimit: UInt64 = 1 << 22
    private static let nameLimit = 1024
    /// The maximum size of one function's part of the line table.
    private static let programLimit = 1 << 15
    /// The number of the table of inlined calls.
    private static let inlined = 2

    /// Offsets in the section, as in `struct pcHeader`.
    private struct Header {
        var count, text, names, units, files, programs, functions: UInt64
        /// The size of `struct _func` without its tables.
        var functionSize: UInt64
    }

    private let file: ElfFile
    private let section: ElfFile.Section
    private let header: Header
    /// The run-time address to which those in the table are relative.
    private let text: UInt64

    /// Nil for a program that is not one of Go, or of an unknown layout.
    init?(_ file: ElfFile) {
        guard let sections = file.readSections(),
            let section = Self.sections.lazy.compactMap({ sections[$0] }).first, let code = sections[".text"],
            let bytes = file.bytes(in: section, at: 0, count: 72),
            let header = Self.header(bytes)
        else { return nil }
        self.file = file
        self.section = section
        self.header = header
        // Not the beginning of the section if a C linker has put other code before.
        let isStated = header.text >= code.address && header.text - code.address < code.size
        text = (isStated ? header.text : code.address) &+ file.bias
        guard isStated || lookUp(file.entry)?.name.hasPrefix("_rt0_") == true else { return nil }
    }

    private static func header(_ bytes: [UInt8]) -> Header? {
        let magic = bytes.integer(at: 0, as: UInt32.self)
        // Magic number, zeros, the smallest instruction, and the size of a pointer.
        guard [0xffff_fff0, 0xffff_fff1].contains(magic), bytes[4..<8] == [0, 0, 1, 8] else { return nil }
        let words = (0..<8).map { bytes.integer(at: 8 + 8 * $0, as: UInt64.self) }
        guard words[0] > 0, words[0] <= functionLimit else { return nil }
        return Header(
            count: words[0], text: words[2], names: words[3], units: words[4], files: words[5], programs: words[6],
            functions: words[7], functionSize: magic == 0xffff_fff0 ? 40 : 44)
    }

    /// The function that contains a run-time address; nil if none does.
    func lookUp(_ address: UInt64) -> Function? {
        guard address >= text, let target = UInt32(exactly: address - text), let record = record(containing: target),
            let bytes = bytes(header.functions, record, count: Int(header.functionSize))
        else { return nil }
        let start = bytes.integer(at: 0, as: UInt32.self)
        guard start <= target, let name = string(header.names, UInt64(bytes.integer(at: 4, as: UInt32.self))),
            !name.isEmpty
        else { return nil }
        return Function(
            start: text &+ UInt64(start), name: name, location: location(of: target, start, record, bytes))
    }

    /// The offset of the record of the last function that begins at or before an address.
    private func record(containing target: UInt32) -> UInt64? {
        var (low, high) = (UInt64(0), header.count)
        while low < high {
            let middle = low + (high - low) / 2
            guard let entry = word(header.functions, 8 * middle) else { return nil }
            if entry <= target { low = middle + 1 } else { high = middle }
        }
        // The table ends with the end of the last function.
        guard low > 0, let end = word(header.functions, 8 * low), target < end else { return nil }
        return word(header.functions, 8 * (low - 1) + 4).map(UInt64.init)
    }

    private func location(
        of target: UInt32, _ start: UInt32, _ record: UInt64, _ bytes: [UInt8]
    ) -> SourceLocation? {
        let place = isInlined(target, start, record, bytes) ? start : target
        guard let number = value(bytes.integer(at: 20, as: UInt32.self), at: place, from: start), number >= 0,
            let line = value(bytes.integer(at: 24, as: UInt32.self), at: place, from: start), line > 0,
            let offset = word(
                header.units, 4 * (UInt64(bytes.integer(at: 32, as: UInt32.self)) + UInt64(UInt32(number)))),
            offset != .max, let path = string(header.files, UInt64(offset)), !path.isEmpty
        else { return nil }
        return SourceLocation(path: path, line: Int(line))
    }

    /// Whether an address belongs to an inlined call.
    private func isInlined(_ target: UInt32, _ start: UInt32, _ record: UInt64, _ bytes: [UInt8]) -> Bool {
        guard bytes.integer(at: 28, as: UInt32.self) > UInt32(Self.inlined),
            let program = word(header.functions, record &+ header.functionSize &+ 4 * UInt64(Self.inlined)),
            program != 0
        else { return false }
        return value(program, at: target, from: start).map { $0 >= 0 } ?? true
    }

    /// The value of a table at an address: pairs of how much the value and the address grow.
    private func value(_ program: UInt32, at target: UInt32, from start: UInt32) -> Int32? {
        let offset = header.programs.addingReportingOverflow(UInt64(program))
        guard program != 0, !offset.overflow, offset.partialValue < section.size else { return nil }
        let count = min(Self.programLimit, Int(clamping: section.size - offset.partialValue))
        var rest = (bytes(offset.partialValue, 0, count: count) ?? [])[...]
        var (value, address) = (Int32(-1), UInt64(start))
        var isFirst = true
        while let step = Self.number(&rest), step != 0 || isFirst, let length = Self.number(&rest) {
            isFirst = false
            value &+= Int32(bitPattern: step & 1 != 0 ? ~(step >> 1) : step >> 1)
            address += UInt64(length)
            if target < address { return value }
        }
        return nil
    }

    /// A number in groups of 7 bits, the lowest first.
    private static func number(_ bytes: inout ArraySlice<UInt8>) -> UInt32? {
        var result: UInt32 = 0
        for shift in stride(from: UInt32(0), to: 35, by: 7) {
            guard let byte = bytes.popFirst() else { return nil }
            result |= UInt32(byte & 0x7f) << shift
            if byte < 0x80 { return result }
        }
        return nil
    }

    // MARK: - Bytes

    private func bytes(_ base: UInt64, _ offset: UInt64, count: Int) -> [UInt8]? {
        let (place, overflows) = base.addingReportingOverflow(offset)
        return overflows ? nil : file.bytes(in: section, at: place, count: count)
    }

    private func word(_ base: UInt64, _ offset: UInt64) -> UInt32? {
        bytes(base, offset, count: 4)?.integer(at: 0, as: UInt32.self)
    }

    /// A text that ends with a zero.
    private func string(_ base: UInt64, _ offset: UInt64) -> String? {
        let (place, overflows) = base.addingReportingOverflow(offset)
        guard !overflows, place < section.size else { return nil }
        let count = min(Self.nameLimit, Int(clamping: section.size - place))
        guard let text = file.bytes(in: section, at: place, count: count), let end = text.firstIndex(of: 0) else {
            return nil
        }
        return String(decoding: text[..<end], as: UTF8.self)
    }
}

// SPDX-License-Identifier: Apache-2.0

/// The stack layouts of functions, derived from their instructions; each is cached.
final class StackLayouts {
    private struct Key: Hashable {
        var start: UInt64
        var programCounter: UInt64
        var isAfterCall: Bool
    }

    /// The maximum number of bytes to read of a function.
    private static let reach: UInt64 = 1 << 18

    private let images: ImageTable
    private var code: (start: UInt64, bytes: [UInt8])?
    private var cache: [Key: X86_64.StackLayout?] = [:]

    init(_ images: ImageTable) {
        self.images = images
    }

    /// The layout at a program counter in the function that begins at `start`.
    func layout(ofFunctionAt start: UInt64, at programCounter: UInt64, _ isAfterCall: Bool) -> X86_64.StackLayout? {
        let key = Key(start: start, programCounter: programCounter, isAfterCall: isAfterCall)
        if let known = cache[key] { return known }
        let offset = programCounter &- start
        var layout: X86_64.StackLayout?
        if offset < StackLayouts.reach {
            layout = X86_64.stackLayout(in: code(from: start), at: Int(offset), isAfterCall: isAfterCall)
        }
        cache[key] = .some(layout)
        return layout
    }

    private func code(from start: UInt64) -> [UInt8] {
        if let code, code.start == start { return code.bytes }
        let bytes = images.code(at: start, upTo: Int(StackLayouts.reach))
        code = (start, bytes)
        return bytes
    }
}

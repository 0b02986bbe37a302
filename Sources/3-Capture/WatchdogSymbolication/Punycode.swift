// SPDX-License-Identifier: Apache-2.0

/// Decodes non-ASCII names of Rust symbols: RFC 3492 with `_` instead of `-`.
enum Punycode {
    /// The text; nil if it is malformed.
    static func decode(_ part: ArraySlice<UInt8>) -> String? {
        var output: [Unicode.Scalar] = []
        var rest = part
        if let end = part.lastIndex(of: UInt8(ascii: "_")) {
            output = part[..<end].map { Unicode.Scalar($0) }
            rest = part[(end + 1)...]
        }
        var (code, index, bias) = (128, 0, 72)
        while !rest.isEmpty {
            let start = index
            var (weight, step) = (1, 36)
            while true {
                guard let byte = rest.popFirst() else { return nil }
                let digit: Int
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"): digit = Int(byte - UInt8(ascii: "a"))
                case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = Int(byte - UInt8(ascii: "0")) + 26
                default: return nil
                }
                index += digit * weight
                let threshold = min(max(step - bias, 1), 26)
                if digit < threshold { break }
                weight *= 36 - threshold
                step += 36
                guard weight < 1 << 24, index < 1 << 32 else { return nil }
            }
            let count = output.count + 1
            var delta = start == 0 ? (index - start) / 700 : (index - start) / 2
            delta += delta / count
            bias = 0
            while delta > 455 {
                delta /= 35
                bias += 36
            }
            bias += 36 * delta / (delta + 38)
            code += index / count
            guard code < 0x11_0000, let scalar = Unicode.Scalar(UInt32(code)) else { return nil }
            index %= count
            output.insert(scalar, at: index)
            index += 1
        }
        var text = String.UnicodeScalarView()
        text.append(contentsOf: output)
        return String(text)
    }
}

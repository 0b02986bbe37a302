// SPDX-License-Identifier: Apache-2.0

import CZlib

/// Pictures as PNG files: 8 bits a channel, red, green, blue, not interlaced (PNG specification, third edition).
package enum PNG {
    /// Data that is not such a file, and why.
    package struct Damage: Error, Equatable, CustomStringConvertible {
        package let description: String
    }

    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    /// The largest picture that a sample app shows.
    private static let largestSide = 4096

    /// - Parameter filters: The filters of the rows, repeated: 0 none, 1 left, 2 up, 3 average, 4 Paeth.
    package static func encode(_ raster: Raster, filters: [UInt8] = [0]) -> [UInt8] {
        var lines: [UInt8] = []
        let stride = raster.width * 3
        lines.reserveCapacity((stride + 1) * raster.height)
        for y in 0..<raster.height {
            let filter = filters[y % filters.count]
            lines.append(filter)
            let line = raster.bytes[y * stride..<(y + 1) * stride]
            lines +=
                filter == 0
                ? line : line.indices.map { raster.bytes[$0] &- prediction(raster.bytes, $0, stride, filter) }[...]
        }
        // Color type 2 (RGB), then compression method 0, filter method 0 and no interlace.
        let header = bigEndian(UInt32(raster.width)) + bigEndian(UInt32(raster.height)) + [8, 2, 0, 0, 0]
        return signature + chunk("IHDR", header) + chunk("IDAT", deflate(lines)) + chunk("IEND", [])
    }

    package static func decode(_ bytes: [UInt8]) throws(Damage) -> Raster {
        guard bytes.starts(with: signature) else { throw Damage(description: "not a PNG file") }
        var size: (width: Int, height: Int)?
        var compressed: [UInt8] = []
        var rest = bytes[signature.count...]
        var isComplete = false
        while rest.count >= 12 {
            let length = Int(number(rest))
            guard length <= rest.count - 12 else { throw Damage(description: "cut off") }
            let kind = rest.dropFirst(4).prefix(4)
            let body = rest.dropFirst(8).prefix(length)
            guard number(rest.dropFirst(8 + length)) == checksum(rest.dropFirst(4).prefix(4 + length)) else {
                throw Damage(description: "a chunk has a wrong checksum")
            }
            rest = rest.dropFirst(12 + length)
            if kind.elementsEqual("IHDR".utf8) {
                guard body.count == 13, body.dropFirst(8).elementsEqual([8, 2, 0, 0, 0]) else {
                    throw Damage(description: "a kind of PNG that is not read here")
                }
                size = (Int(number(body)), Int(number(body.dropFirst(4))))
            } else if kind.elementsEqual("IDAT".utf8) {
                compressed += body
            } else if kind.elementsEqual("IEND".utf8) {
                isComplete = true
                break
            }
        }
        guard isComplete else { throw Damage(description: "cut off") }
        guard let size, (1...largestSide).contains(size.width), (1...largestSide).contains(size.height) else {
            throw Damage(description: "no size, or one that is too large")
        }
        return try unfilter(inflate(compressed, count: (size.width * 3 + 1) * size.height), size.width, size.height)
    }

    // MARK: - Filters

    private static func unfilter(_ lines: [UInt8], _ width: Int, _ height: Int) throws(Damage) -> Raster {
        let stride = width * 3
        var bytes = [UInt8](repeating: 0, count: stride * height)
        for y in 0..<height {
            let filter = lines[y * (stride + 1)]
            guard filter <= 4 else { throw Damage(description: "unknown filter \(filter)") }
            for index in y * stride..<(y + 1) * stride {
                // The first byte of each line is its filter type.
                bytes[index] = lines[index + y + 1] &+ prediction(bytes, index, stride, filter)
            }
        }
        guard let raster = Raster(width: width, height: height, bytes: bytes) else {
            throw Damage(description: "too few bytes")
        }
        return raster
    }

    /// The byte that a filter predicts from those before it.
    private static func prediction(_ bytes: [UInt8], _ index: Int, _ stride: Int, _ filter: UInt8) -> UInt8 {
        guard filter > 0 else { return 0 }
        let (hasLeft, hasUp) = (index % stride >= 3, index >= stride)
        let left = hasLeft ? bytes[index - 3] : 0
        let up = hasUp ? bytes[index - stride] : 0
        switch filter {
        case 1: return left
        case 2: return up
        case 3: return UInt8((Int(left) + Int(up)) / 2)
        default: return paeth(left, up, hasLeft && hasUp ? bytes[index - stride - 3] : 0)
        }
    }

    private static func paeth(_ left: UInt8, _ up: UInt8, _ corner: UInt8) -> UInt8 {
        let estimate = Int(left) + Int(up) - Int(corner)
        let distances = (abs(estimate - Int(left)), abs(estimate - Int(up)), abs(estimate - Int(corner)))
        if distances.0 <= distances.1, distances.0 <= distances.2 { return left }
        return distances.1 <= distances.2 ? up : corner
    }

    // MARK: - Chunks

    private static func chunk(_ kind: String, _ body: [UInt8]) -> [UInt8] {
        let content = Array(kind.utf8) + body
        return bigEndian(UInt32(body.count)) + content + bigEndian(checksum(content[...]))
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.withUnsafeBufferPointer { UInt32(truncatingIfNeeded: crc32(0, $0.baseAddress, UInt32($0.count))) }
    }

    // MARK: - Compression

    private static func deflate(_ bytes: [UInt8]) -> [UInt8] {
        var length = compressBound(UInt(bytes.count))
        var result = [UInt8](repeating: 0, count: Int(length))
        // The buffer has the size of compressBound, so this fails only without memory: zlib.h, compress.
        let code = compress2(&result, &length, bytes, UInt(bytes.count), Z_BEST_SPEED)
        precondition(code == Z_OK, "zlib has no memory left")
        return Array(result.prefix(Int(length)))
    }

    private static func inflate(_ bytes: [UInt8], count: Int) throws(Damage) -> [UInt8] {
        var length = UInt(count)
        var result = [UInt8](repeating: 0, count: count)
        guard uncompress(&result, &length, bytes, UInt(bytes.count)) == Z_OK, length == count else {
            throw Damage(description: "the compressed data are damaged")
        }
        return result
    }
}

// SPDX-License-Identifier: Apache-2.0

/// A picture in memory, with three bytes per pixel: red, green, blue.
package struct Raster: Sendable, Equatable, CustomStringConvertible {
    package struct Color: Sendable, Equatable {
        package var red: UInt8
        package var green: UInt8
        package var blue: UInt8

        package init(_ red: UInt8, _ green: UInt8, _ blue: UInt8) {
            (self.red, self.green, self.blue) = (red, green, blue)
        }

        package static let paper = Color(250, 250, 247)
        package static let ink = Color(40, 44, 52)
        package static let pale = Color(205, 208, 212)
        package static let accent = Color(30, 110, 200)
    }

    package let width: Int
    package let height: Int
    package var bytes: [UInt8]

    package init(width: Int, height: Int, color: Color = .paper) {
        self.width = max(1, width)
        self.height = max(1, height)
        bytes = [UInt8](repeating: 0, count: self.width * self.height * 3)
        if color != Color(0, 0, 0) { fill(0, 0, self.width, self.height, color) }
    }

    /// Rows of red, green, blue; nil if the size does not match.
    package init?(width: Int, height: Int, bytes: [UInt8]) {
        guard width > 0, height > 0, bytes.count == width * height * 3 else { return nil }
        (self.width, self.height, self.bytes) = (width, height, bytes)
    }

    package subscript(x: Int, y: Int) -> Color {
        get {
            let index = (y * width + x) * 3
            return Color(bytes[index], bytes[index + 1], bytes[index + 2])
        }
        set {
            guard x >= 0, x < width, y >= 0, y < height else { return }
            let index = (y * width + x) * 3
            (bytes[index], bytes[index + 1], bytes[index + 2]) = (newValue.red, newValue.green, newValue.blue)
        }
    }

    package mutating func fill(_ left: Int, _ top: Int, _ width: Int, _ height: Int, _ color: Color) {
        for y in max(0, top)..<max(0, top, min(self.height, top + height)) {
            for x in max(0, left)..<max(0, left, min(self.width, left + width)) { self[x, y] = color }
        }
    }

    /// A straight line, after Bresenham.
    package mutating func line(from start: (x: Int, y: Int), to end: (x: Int, y: Int), _ color: Color) {
        let (width, height) = (abs(end.x - start.x), -abs(end.y - start.y))
        let (right, down) = (start.x < end.x ? 1 : -1, start.y < end.y ? 1 : -1)
        var (x, y, error) = (start.x, start.y, width + height)
        while true {
            self[x, y] = color
            if x == end.x, y == end.y { return }
            let twice = 2 * error
            if twice >= height { (error, x) = (error + height, x + right) }
            if twice <= width { (error, y) = (error + width, y + down) }
        }
    }

    package mutating func place(_ other: Raster, _ left: Int, _ top: Int) {
        for y in 0..<other.height {
            for x in 0..<other.width { self[left + x, top + y] = other[x, y] }
        }
    }

    /// The picture scaled down; each pixel is the mean of those that it replaces.
    package func scaled(toWidth newWidth: Int, height newHeight: Int) -> Raster {
        var result = Raster(width: newWidth, height: newHeight, color: Color(0, 0, 0))
        for y in 0..<result.height {
            let rows =
                y * height / result.height..<max(y * height / result.height + 1, (y + 1) * height / result.height)
            for x in 0..<result.width {
                let columns =
                    x * width / result.width..<max(x * width / result.width + 1, (x + 1) * width / result.width)
                var (red, green, blue) = (0, 0, 0)
                for row in rows {
                    for column in columns {
                        let color = self[column, row]
                        (red, green, blue) = (red + Int(color.red), green + Int(color.green), blue + Int(color.blue))
                    }
                }
                let count = rows.count * columns.count
                result[x, y] = Color(UInt8(red / count), UInt8(green / count), UInt8(blue / count))
            }
        }
        return result
    }

    package var description: String { "\(width) × \(height) pixels" }

    /// The approximate mean lightness, 0 to 255, from 64 of the pixels: fast enough for every frame.
    package var lightness: Int {
        var sum = 0
        for index in 0..<64 {
            let color = self[(index % 8 * 2 + 1) * width / 16, (index / 8 * 2 + 1) * height / 16]
            sum += Int(color.red) + Int(color.green) + Int(color.blue)
        }
        return sum / (3 * 64)
    }

    /// The picture blurred by a box of three by three pixels.
    package func blurred() -> Raster {
        var result = self
        for y in 1..<max(1, height - 1) {
            for x in 1..<max(1, width - 1) {
                for channel in 0..<3 {
                    var sum = 0
                    for row in y - 1...y + 1 {
                        let index = (row * width + x - 1) * 3 + channel
                        sum += Int(bytes[index]) + Int(bytes[index + 3]) + Int(bytes[index + 6])
                    }
                    result.bytes[(y * width + x) * 3 + channel] = UInt8(sum / 9)
                }
            }
        }
        return result
    }

    /// A synthetic photo, different for each number and too detailed to compress well.
    package static func photo(_ number: Int, side: Int) -> Raster {
        var raster = Raster(width: side, height: side, color: Color(0, 0, 0))
        var state = UInt32(truncatingIfNeeded: number &* 2_654_435_761) | 1
        for y in 0..<side {
            for x in 0..<side {
                // Marsaglia's xorshift32.
                state ^= state << 13
                state ^= state >> 17
                state ^= state << 5
                let sky = 200 * (side - y) / side
                let grain = Int(state >> 26)
                raster[x, y] = Color(
                    UInt8(min(255, sky / (1 + number % 3) + grain)),
                    UInt8(min(255, 160 * x / side + Int(state >> 20 & 63))),
                    UInt8(min(255, sky + Int(state >> 14 & 31)))
                )
            }
        }
        return raster
    }
}

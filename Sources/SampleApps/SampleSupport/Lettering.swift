// SPDX-License-Identifier: Apache-2.0

/// Capital letters, digits and a few signs in a font of three by five pixels, for labels in pictures.
enum Lettering {
    static let width = 4
    static let height = 6

    /// Five rows of three pixels, the highest bit first.
    private static let glyphs: [Character: UInt16] = [
        "A": 0b010_101_111_101_101, "B": 0b110_101_110_101_110, "C": 0b011_100_100_100_011,
        "D": 0b110_101_101_101_110, "E": 0b111_100_110_100_111, "F": 0b111_100_110_100_100,
        "G": 0b011_100_101_101_011, "H": 0b101_101_111_101_101, "I": 0b111_010_010_010_111,
        "J": 0b001_001_001_101_010, "K": 0b101_101_110_101_101, "L": 0b100_100_100_100_111,
        "M": 0b101_111_111_101_101, "N": 0b110_101_101_101_101, "O": 0b010_101_101_101_010,
        "P": 0b110_101_110_100_100, "Q": 0b010_101_101_010_001, "R": 0b110_101_110_101_101,
        "S": 0b011_100_010_001_110, "T": 0b111_010_010_010_010, "U": 0b101_101_101_101_111,
        "V": 0b101_101_101_101_010, "W": 0b101_101_111_111_101, "X": 0b101_101_010_101_101,
        "Y": 0b101_101_010_010_010, "Z": 0b111_001_010_100_111, "0": 0b111_101_101_101_111,
        "1": 0b010_110_010_010_111, "2": 0b110_001_010_100_111, "3": 0b110_001_010_001_110,
        "4": 0b101_101_111_001_001, "5": 0b111_100_110_001_110, "6": 0b011_100_111_101_111,
        "7": 0b111_001_010_010_010, "8": 0b111_101_111_101_111, "9": 0b111_101_111_001_110,
        ".": 0b000_000_000_000_010, ",": 0b000_000_000_010_100, ":": 0b000_010_000_010_000,
        "-": 0b000_000_111_000_000, "%": 0b101_001_010_100_101, "/": 0b001_001_010_100_100,
        "(": 0b001_010_010_010_001, ")": 0b100_010_010_010_100, "+": 0b000_010_111_010_000,
        "=": 0b000_111_000_111_000, "'": 0b010_010_000_000_000, "…": 0b000_000_000_000_101,
        "·": 0b000_000_010_000_000, "?": 0b110_001_010_000_010, "#": 0b101_111_101_111_101,
    ]

    /// The pixel rows of a character, from the top; unknown characters are blank.
    static func rows(of character: Character) -> [UInt16] {
        let glyph = glyphs[character] ?? character.uppercased().first.flatMap { glyphs[$0] } ?? 0
        return stride(from: 12, through: 0, by: -3).map { glyph >> $0 & 7 }
    }
}

extension Raster {
    /// Draws a line of text, clipped to the picture.
    package mutating func write(_ text: String, _ left: Int, _ top: Int, scale: Int = 2, _ color: Color = .ink) {
        for (index, character) in text.enumerated() {
            let x = left + index * Lettering.width * scale
            guard x < width else { return }
            for (row, dots) in Lettering.rows(of: character).enumerated() {
                for column in 0..<3 where dots & (4 >> UInt16(column)) != 0 {
                    fill(x + column * scale, top + row * scale, scale, scale, color)
                }
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import SampleSupport

struct Star: Sendable {
    var name: String
    var magnitude: Double
    var ascension: Double
    var declination: Double
}

enum StarChart {
    /// The amounts of work, which are the same on every machine; their proportions are those of the talk.
    static let starCount = 200_000
    static let detailPasses = SampleApp.passes(1_400)
    static let letteringPasses = SampleApp.passes(4_000)

    /// Writes the file of stars.
    @MainActor
    static func prepare(_ app: SampleApp) {
        app.prepare { folder in try write(app.amount(starCount), to: "\(folder)/stars.sqlite") }
    }

    @inline(never)
    static func load(_ file: String, limit: Int?) -> [Star] {
        let query = "SELECT name, magnitude, ascension, declination FROM stars LIMIT \(limit ?? -1)"
        let stars = try? Database(file).select(query) { row in
            Star(name: row.text(0), magnitude: row.real(1), ascension: row.real(2), declination: row.real(3))
        }
        return stars ?? []
    }

    /// The screen that shows one star.
    @inline(never)
    static func detail(_ star: Star, passes: Int) -> Raster {
        var sky = Raster(width: 48, height: 48, color: .ink)
        for index in 0..<60 {
            let (x, y) = (Int(star.ascension) + index * 17, Int(star.declination) + index * 29)
            sky[x % 48, y % 48] = .paper
        }
        return (0..<passes).reduce(sky) { sky, _ in sky.blurred() }
    }

    /// A small picture of a star, for the list of results.
    @inline(never)
    static func thumbnail(_ number: Int, passes: Int) -> Raster {
        (0..<passes).reduce(Raster.photo(number, side: 48)) { photo, _ in photo.blurred() }
    }

    /// The atlas of glyphs.
    static func lettering(passes: Int) -> Raster {
        var atlas = Raster(width: 320, height: 12)
        for _ in 0..<passes { atlas.write("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 0, 0) }
        return atlas
    }

    private static func write(_ count: Int, to file: String) throws {
        let database = try Database(file)
        try database.execute(
            """
            PRAGMA synchronous = OFF;
            CREATE TABLE stars (name TEXT, magnitude REAL, ascension REAL, declination REAL);
            """)
        let rows = (0..<count).lazy.map { number -> [Database.Value] in
            let (magnitude, ascension, declination) = (Double(number % 120) / 10, number % 360, number % 90)
            return [.text("HD \(number + 1)"), .real(magnitude), .real(Double(ascension)), .real(Double(declination))]
        }
        try database.insert("INSERT INTO stars VALUES (?, ?, ?, ?)", rows)
    }
}

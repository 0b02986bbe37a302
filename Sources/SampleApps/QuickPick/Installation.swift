// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import SampleSupport

/// The files that are installed with the app; their sizes are the same on every machine.
enum Installation {
    private static let screens = 15_000
    private static let templates = 2_000
    private static let localPhotos = 300_000

    @MainActor
    static func prepare(_ app: SampleApp) {
        app.prepare { folder in
            try Interface.write(screens: app.amount(screens), to: folder)
            try writeDefaults(folder)
            try writeTemplates(folder, app.amount(templates))
            try writeLocalPhotos(folder, app.amount(localPhotos))
        }
    }

    private static func writeDefaults(_ folder: String) throws {
        let entries = (1...12).map { Entry(id: $0, title: "Photo \($0)", author: "you", photo: "") }
        try PropertyListEncoder().encode(entries).write(to: URL(filePath: "\(folder)/defaults.plist"))
    }

    private static func writeTemplates(_ folder: String, _ count: Int) throws {
        try FileManager.default.createDirectory(atPath: "\(folder)/templates", withIntermediateDirectories: true)
        let content = Data(Raster.photo(1, side: 26).bytes)
        for number in 1...count { try content.write(to: URL(filePath: "\(folder)/templates/template-\(number)")) }
    }

    private static func writeLocalPhotos(_ folder: String, _ count: Int) throws {
        let database = try Database("\(folder)/local.sqlite")
        try database.execute("PRAGMA synchronous = OFF; CREATE TABLE photos (name TEXT, taken INTEGER)")
        try database.insert(
            "INSERT INTO photos VALUES (?, ?)",
            (0..<count).lazy.map { [.text("IMG_\($0 * 7919 % count).png"), .integer($0)] as [Database.Value] })
    }
}

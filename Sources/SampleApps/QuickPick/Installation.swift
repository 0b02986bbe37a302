// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import SampleSupport

/// The files that are installed with the app.
enum Installation {
    @MainActor
    static func prepare(_ app: SampleApp) {
        app.prepare { folder, workload in
            try writeInterface(app, folder, &workload)
            try writeDefaults(folder)
            try writeTemplates(folder, max(50, Int(2000 * app.timeScale)))
            try writeLocalPhotos(app, folder, &workload)
        }
    }

    private static func writeInterface(_ app: SampleApp, _ folder: String, _ workload: inout Workload) throws {
        let draft = "\(folder)/draft.json"
        try Interface.write(200, to: draft)
        try workload.calibrate("interface-files", to: app.scaled(.milliseconds(1200))) { count in
            for _ in 0..<count { _ = try Interface(file: draft, imagePasses: 0) }
        }
        workload.calibrate("interface-image", to: app.scaled(.milliseconds(800))) { passes in
            _ = Interface.View.frostedGlass(passes)
        }
        try FileManager.default.removeItem(atPath: draft)
        try Interface.write(200 * workload["interface-files"], isFrosted: true, to: "\(folder)/everything.json")
        try Interface.write(1, to: "\(folder)/table.json")
        try Interface.write(1, to: "\(folder)/cell.json")
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

    private static func writeLocalPhotos(_ app: SampleApp, _ folder: String, _ workload: inout Workload) throws {
        let rows = 2000
        func write(_ count: Int, to path: String) throws {
            let database = try Database(path)
            try database.execute("PRAGMA synchronous = OFF; CREATE TABLE photos (name TEXT, taken INTEGER)")
            try database.insert(
                "INSERT INTO photos VALUES (?, ?)",
                (0..<count).lazy.map { [.text("IMG_\($0 * 7919 % count).png"), .integer($0)] as [Database.Value] })
        }
        let draft = "\(folder)/draft.sqlite"
        try write(rows, to: draft)
        try workload.calibrate("local-photos", to: app.scaled(.milliseconds(800))) { count in
            for _ in 0..<count {
                _ = try Database(draft).select("SELECT name, taken FROM photos ORDER BY name") { row in
                    row.text(0).count + row.integer(1)
                }
            }
        }
        try FileManager.default.removeItem(atPath: draft)
        try write(rows * workload["local-photos"], to: "\(folder)/local.sqlite")
    }
}

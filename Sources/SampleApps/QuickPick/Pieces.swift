// SPDX-License-Identifier: Apache-2.0

import CPhotoStamp
import FoundationEssentials
import NetworkConditioner
import SampleSupport
import Watchdog

/// One shared photo.
struct Entry: Codable, Sendable {
    var id: Int
    var title: String
    var author: String
    var photo: String
}

/// The work of QuickPick's launch, in pieces.
///
/// Every piece can run on any thread, at any time.
struct Pieces: Sendable {
    static let photoCount = 8

    let app: SampleApp

    // MARK: - Interface

    @inline(never)
    func loadInterface(_ file: String) throws -> Int {
        try app.interval("interface") {
            let passes = app.amount(Interface.imagePasses)
            return try Interface(file: "\(app.bundle)/\(file).json", imagePasses: passes).views.count
        }
    }

    /// Unpacks one scene of the file that has all of them.
    @inline(never)
    func unpackInterface(_ scene: String) throws -> Int {
        try app.interval("interface") {
            let passes = app.amount(Interface.imagePasses)
            let storyboard = try Storyboard(file: "\(app.bundle)/storyboard")
            return try storyboard.interface(scene, imagePasses: passes)?.views.count ?? 0
        }
    }

    // MARK: - Network

    @inline(never)
    func fetchFeed(isCancelled: (() -> Bool)? = nil) throws -> [Entry] {
        try app.interval("feed.json") {
            try JSONDecoder().decode([Entry].self, from: Data(app.client.get("/feed.json", isCancelled: isCancelled)))
        }
    }

    @inline(never)
    func fetchFriends(isCancelled: (() -> Bool)? = nil) throws -> [String] {
        try app.interval("friends.json") {
            try JSONDecoder().decode(
                [String].self, from: Data(app.client.get("/friends.json", isCancelled: isCancelled)))
        }
    }

    /// Fetches a photo, and scales it to the list's size.
    @inline(never)
    func fetchPhoto(_ path: String, isCancelled: (() -> Bool)? = nil) throws -> Raster {
        try app.interval("photo") {
            try PNG.decode(app.client.get(path, isCancelled: isCancelled)).scaled(toWidth: 36, height: 22)
        }
    }

    // MARK: - Databases

    @inline(never)
    func openLocalPhotos() throws -> Int {
        try app.interval("local photos") {
            try Database("\(app.bundle)/local.sqlite").select("SELECT name, taken FROM photos ORDER BY name") { row in
                row.text(0).count + row.integer(1)
            }.count
        }
    }

    /// Requires the entries of the feed.
    @inline(never)
    func buildSharedPhotos(_ entries: [Entry]) throws -> Int {
        try app.interval("shared photos") {
            let database = try Database("\(app.documents)/shared.sqlite")
            try database.execute(
                """
                PRAGMA synchronous = OFF;
                DROP TABLE IF EXISTS photos;
                CREATE TABLE photos (id INTEGER, title TEXT, tag TEXT);
                """)
            let tags = max(10, app.amount(400))
            let rows = entries.lazy.flatMap { entry in
                (0..<tags).lazy.map {
                    [.integer(entry.id), .text(entry.title), .text("tag \($0)")] as [Database.Value]
                }
            }
            try database.insert("INSERT INTO photos VALUES (?, ?, ?)", rows)
            return try database.select("SELECT count(*) FROM photos") { $0.integer(0) }.first ?? 0
        }
    }

    // MARK: - Payload

    /// The one small file that the first screen needs.
    @inline(never)
    func readDefaults() throws -> [Entry] {
        try app.interval("defaults") {
            let file = try Data(contentsOf: URL(filePath: "\(app.bundle)/defaults.plist"))
            return try PropertyListDecoder().decode([Entry].self, from: file)
        }
    }

    @inline(never)
    func copyTemplates() throws -> Int {
        try app.interval("copy templates") {
            let (source, target) = ("\(app.bundle)/templates", "\(app.documents)/templates")
            let files = FileManager.default
            if files.fileExists(atPath: target) { try files.removeItem(atPath: target) }
            try files.createDirectory(atPath: target, withIntermediateDirectories: true)
            let names = try files.contentsOfDirectory(atPath: source)
            for name in names { try files.copyItem(atPath: "\(source)/\(name)", toPath: "\(target)/\(name)") }
            return names.count
        }
    }

    // MARK: - Others

    @inline(never)
    func initializePhotoStamp() {
        app.interval("photo stamp") {
            let error = photostamp_initialize(app.client.server.port)
            if error != 0 { app.record.note("photo-stamp", "not licensed") }
        }
    }

    /// The work that must be done before the end of the launch.
    ///
    /// An event that caused the launch is delivered right after it, so its receivers must be set up by then.
    @MainActor
    func oddsAndEnds(_ options: Application.LaunchOptions) -> OddsAndEnds {
        app.interval("odds and ends") {
            OddsAndEnds(launchReason: options.eventKind, isInBackground: options.isInBackground)
        }
    }
}

/// The location services that an event may be for, the one advertisement that all screens share, and why the app was launched.
struct OddsAndEnds: Sendable {
    let launchReason: String?
    let isInBackground: Bool
    let banner = Raster(width: 80, height: 12, color: .accent)
}

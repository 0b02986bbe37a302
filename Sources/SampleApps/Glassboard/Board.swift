// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import SampleSupport

/// One message as the list shows it.
struct Message: Codable, Sendable {
    var text: String
    var person: String
    var board: String
    var comments: Int
    var avatar: Int
}

/// The database of messages, and the archive of the rows last shown.
struct Board: Sendable {
    static let people = 60
    private static let messages = 300_000

    let app: SampleApp

    private var archive: URL { URL(filePath: "\(app.documents)/visible.plist") }

    /// All messages with their authors and avatars, newest first.
    @inline(never)
    func fetch() throws -> [Message] {
        try app.interval("fetch messages") { try Self.fetch("\(app.bundle)/board.sqlite") }
    }

    @inline(never)
    func avatar(_ number: Int) throws -> Raster {
        try app.interval("avatar") {
            let file = URL(filePath: "\(app.bundle)/avatar-\(number % Self.people).png")
            return try PNG.decode(Array(Data(contentsOf: file))).scaled(toWidth: 36, height: 22)
        }
    }

    // MARK: - The archive

    /// The rows on the screen when the app was last used; nil in the first launch.
    @inline(never)
    func readArchive() -> [Message]? {
        app.interval("read archive") {
            (try? Data(contentsOf: archive)).flatMap { try? PropertyListDecoder().decode([Message].self, from: $0) }
        }
    }

    /// Archives the rows; any thread may call this, because the messages are a copy.
    func writeArchive(_ messages: [Message]) {
        app.interval("write archive") {
            try? PropertyListEncoder().encode(messages).write(to: archive, options: .atomic)
        }
    }

    // MARK: - Preparation

    /// Writes the database of messages, and the avatars.
    @MainActor
    static func prepare(_ app: SampleApp) {
        app.prepare { folder in
            try write(app.amount(messages), to: "\(folder)/board.sqlite")
            for number in 0..<people {
                let avatar = PNG.encode(.photo(number, side: 96), filters: [1, 2, 4])
                try Data(avatar).write(to: URL(filePath: "\(folder)/avatar-\(number).png"))
            }
        }
    }

    @inline(never)
    private static func fetch(_ file: String) throws -> [Message] {
        let query = """
            SELECT m.text, p.name, b.name, (SELECT count(*) FROM comments c WHERE c.message = m.id), p.id
            FROM messages m JOIN people p ON p.id = m.person JOIN boards b ON b.id = m.board
            ORDER BY m.sent DESC
            """
        return try Database(file).select(query) { row in
            Message(
                text: row.text(0), person: row.text(1), board: row.text(2), comments: row.integer(3),
                avatar: row.integer(4))
        }
    }

    private static func write(_ count: Int, to file: String) throws {
        let database = try Database(file)
        try database.execute(
            """
            PRAGMA synchronous = OFF;
            CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE boards (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE messages (id INTEGER PRIMARY KEY, sent INTEGER, person INTEGER, board INTEGER, text TEXT);
            CREATE TABLE comments (message INTEGER, text TEXT);
            CREATE INDEX comments_by_message ON comments (message);
            """)
        try database.insert(
            "INSERT INTO people VALUES (?, ?)", (0..<people).map { [.integer($0), .text("Person \($0 + 1)")] })
        try database.insert(
            "INSERT INTO boards VALUES (?, ?)", (0..<8).map { [.integer($0), .text("Board \($0 + 1)")] })
        let messages = (0..<count).lazy.map { number -> [Database.Value] in
            let text = Database.Value.text("Message \(number + 1)")
            return [.integer(number), .integer(number * 37), .integer(number % people), .integer(number % 8), text]
        }
        try database.insert("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", messages)
        let comments = (0..<count * 2).lazy.map { number -> [Database.Value] in
            [.integer(number / 2), .text("Comment \(number + 1)")]
        }
        try database.insert("INSERT INTO comments VALUES (?, ?)", comments)
    }
}

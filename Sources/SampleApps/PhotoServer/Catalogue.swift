// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import SampleSupport

/// The documents to serve, created once at startup.
struct Catalogue: Sendable {
    struct Document: Sendable {
        let type: String
        let body: [UInt8]
    }

    private struct Entry: Encodable {
        let id: Int
        let title: String
        let author: String
        let photo: String
        let avatar: String
    }

    static let photos = 8
    static let people = 24
    /// About 150 KB as PNG.
    private static let photoSide = 224
    private static let avatarSide = 64

    private var documents: [String: Document] = [:]

    init() throws {
        let places = ["Harbour", "Old bridge", "Night train", "Dunes", "Market", "Glacier", "Orchard", "Roof garden"]
        let people = ["Ada", "Björn", "Chiara", "Dinesh", "Emeka", "Fumiko"]
        let entries = (0..<Self.photos).map { number in
            Entry(
                id: number + 1, title: places[number % places.count], author: people[number % people.count],
                photo: "/photos/\(number + 1).png", avatar: "/avatars/\(number + 1).png")
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        add("/feed.json", "application/json", Array(try encoder.encode(entries)))
        add("/friends.json", "application/json", Array(try encoder.encode(people)))
        add("/license", "text/plain", Array("valid\n".utf8))
        for number in 1...Self.photos {
            add("/photos/\(number).png", "image/png", PNG.encode(.photo(number, side: Self.photoSide)))
        }
        for number in 1...Self.people {
            add("/avatars/\(number).png", "image/png", PNG.encode(.photo(100 + number, side: Self.avatarSide)))
        }
    }

    subscript(path: String) -> Document? { documents[path] }

    var paths: [String] { documents.keys.sorted() }

    private mutating func add(_ path: String, _ type: String, _ body: [UInt8]) {
        documents[path] = Document(type: type, body: body)
    }
}

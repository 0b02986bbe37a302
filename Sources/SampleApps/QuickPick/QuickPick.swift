// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import SampleSupport
import Watchdog

/// A photo-sharing app in six states of repair.
@MainActor
final class QuickPick: Story {
    enum Stage: Int, CaseIterable {
        case blocking
        case splitInterface
        case naiveAsync
        case operations
        case dependencies
        case placeholders

        static let names = [
            "blocking", "split-interface", "naive-async", "operations", "dependencies", "placeholders",
        ]
    }

    let app: SampleApp
    let stage: Stage
    let pieces: Pieces
    private var oddsAndEnds: OddsAndEnds?
    /// The index of the open photo in the list.
    private var selection: Int?
    /// The photo that was open when the app was last used, counted from 1; nil once the list has been loaded.
    private var restored: Int?
    /// Loaded photos by their index in the list.
    var arrived: [Int: Raster] = [:]
    /// The list that the server sent; empty until then.
    var feed: [Entry] = []
    /// The rows whose photos somebody wants to see, and those whose photos have been asked for.
    var wanted: Set<Int> = []
    var requested: Set<Int> = []
    /// The work that has been begun and not finished: photos, and whatever the launch began, which counts as one.
    var unfinished = 1
    /// The scenes that have been unpacked.
    private var scenes: Set<String> = []

    /// Its operations mostly wait for the network: more of them than CPUs, but few enough to share the bandwidth.
    let network = OperationQueue()
    let work = OperationQueue()

    init(_ app: SampleApp, _ stage: Stage) {
        self.app = app
        self.stage = stage
        pieces = Pieces(app: app)
        network.maxConcurrentOperationCount = 4
        work.maxConcurrentOperationCount = 4
    }

    func launch(_ options: Application.LaunchOptions) {
        app.screen.title = "QuickPick · stage \(stage.rawValue + 1), \(Stage.names[stage.rawValue])"
        app.screen.footer = "1-9 opens a photo, q quits"
        switch stage {
        case .blocking: launchBlocking("everything", options)
        case .splitInterface: launchBlocking("table", options)
        case .naiveAsync: launchNaively(options)
        case .operations: launchWithDownloads(options)
        case .dependencies: launchWithDependencies(options)
        case .placeholders: launchWithPlaceholders(options)
        }
    }

    func touched(_ event: String) {
        let words = event.split(separator: " ")
        switch words.first {
        case "select": open(words.dropFirst().first.flatMap { Int($0) })
        case "url":
            // No list yet: whoever sent the link must learn that it leads nowhere.
            if app.screen.rows.isEmpty { Application.shared.loseEvent() }
            open(words.dropFirst().first.flatMap { Self.photo(in: $0) })
        case "scroll": scroll(to: words.dropFirst().first.flatMap { Int($0) } ?? app.screen.top + 1)
        case "back":
            selection = nil
            app.screen.picture = nil
            app.screen.footer = "1-9 opens a photo, q quits"
        default: break
        }
        app.screen.render()
    }

    /// The process's exit ends all operations; canceling them would only race with their own ends.
    func end() {}

    func leave() {
        network.cancelAllOperations()
        work.cancelAllOperations()
    }

    // MARK: - The open photo

    /// The photo's number in a link such as `quickpick://photo/3`.
    private static func photo(in link: Substring) -> Int? {
        let prefix = "quickpick://photo/"
        return link.hasPrefix(prefix) ? Int(link.dropFirst(prefix.count)) : nil
    }

    private func open(_ number: Int?) {
        selection = app.screen.rows.indices.first { $0 + 1 == number }
        let row = selection.map { app.screen.rows[$0] }
        app.screen.picture = row?.picture.map(Self.enlarged)
        app.screen.footer = row.map { "\($0.title), ESC goes back" } ?? "nothing there yet"
        app.record.note("opened", row?.title ?? "nothing")
        if let selection, stage == .placeholders {
            unpack("photo")
            want([selection])
        }
    }

    private func scroll(to top: Int) {
        app.screen.top = max(0, min(top, app.screen.rows.count - 1))
        if stage == .placeholders { want(app.screen.top..<app.screen.top + Self.page) }
    }

    /// The rows whose photos a scroll brings into view.
    private static let page = 4

    private static func enlarged(_ photo: Raster) -> Raster { photo.scaled(toWidth: 144, height: 88) }

    var state: [UInt8]? { selection.map { Array("\($0 + 1)".utf8) } }

    func restore(_ state: [UInt8]) {
        guard let number = Int(String(decoding: state.prefix(8), as: UTF8.self)) else { return }
        restored = number
        app.record.note("restored", "photo \(number)")
    }

    // MARK: - What the stages share

    /// Loads the interface of the first screen, and does the work that must not be deferred.
    func loadFirstScreen(_ interface: [String], _ options: Application.LaunchOptions) {
        attempt { for file in interface { _ = try pieces.loadInterface(file) } }
        oddsAndEnds = pieces.oddsAndEnds(options)
    }

    /// The same, with the scenes of one file.
    func unpackFirstScreen(_ options: Application.LaunchOptions) {
        for scene in ["table", "cell"] { unpack(scene) }
        oddsAndEnds = pieces.oddsAndEnds(options)
    }

    /// Unpacks a scene before it is first shown.
    private func unpack(_ scene: String) {
        guard scenes.insert(scene).inserted else { return }
        attempt { _ = try pieces.unpackInterface(scene) }
    }

    func show(_ entries: [Entry]) {
        app.screen.rows = entries.map { Screen.Row($0.title, detail: $0.author, isPlaceholder: true) }
        if let restored {
            self.restored = nil
            open(restored)
        }
        app.screen.render()
    }

    func show(_ photo: Raster, at index: Int) {
        guard app.screen.rows.indices.contains(index) else { return }
        app.screen.rows[index].picture = photo
        app.screen.rows[index].isPlaceholder = false
        if selection == index { app.screen.picture = Self.enlarged(photo) }
        app.screen.render()
    }

    /// Runs `work`; shows its error on the screen, because the app can continue.
    func attempt(_ work: () throws -> Void) {
        do {
            try work()
        } catch {
            app.screen.footer = "\(error)"
        }
    }
}

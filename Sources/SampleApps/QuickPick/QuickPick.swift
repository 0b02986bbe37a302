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
    private var selection: Int?
    /// Photos by their place in the list.
    var arrived: [Int: Raster] = [:]

    /// Waits mostly for the network: more at once than there are CPUs, and not so many that they starve each other.
    let network = OperationQueue()
    let work = OperationQueue()

    init(_ app: SampleApp, _ stage: Stage) {
        self.app = app
        self.stage = stage
        pieces = Pieces(app: app, workload: app.workload)
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
        case .dependencies: launchWithDependencies(options, showsDefaults: false)
        case .placeholders: launchWithDependencies(options, showsDefaults: true)
        }
    }

    func touched(_ event: String) {
        let words = event.split(separator: " ")
        switch words.first {
        case "select":
            selection = words.dropFirst().first.flatMap { Int($0) }.map { $0 - 1 }
            let row = selection.flatMap { app.screen.rows.indices.contains($0) ? app.screen.rows[$0] : nil }
            app.screen.picture = row?.picture?.scaled(toWidth: 144, height: 88)
            app.screen.footer = row.map { "\($0.title), ESC goes back" } ?? "nothing there yet"
        case "back":
            app.screen.picture = nil
            app.screen.footer = "1-9 opens a photo, q quits"
        default: break
        }
        app.screen.render()
    }

    /// Operations end with the process; to cancel them is only to race with those that end just now.
    func end() {}

    func leave() {
        network.cancelAllOperations()
        work.cancelAllOperations()
    }

    // MARK: - What the stages share

    /// The interface that the first screen needs, and what must not be missed.
    func loadFirstScreen(_ interface: [String], _ options: Application.LaunchOptions) {
        attempt { for file in interface { _ = try pieces.loadInterface(file) } }
        oddsAndEnds = pieces.oddsAndEnds(options)
    }

    func show(_ entries: [Entry]) {
        app.screen.rows = entries.map { Screen.Row($0.title, detail: $0.author, isPlaceholder: true) }
        app.screen.render()
    }

    func show(_ photo: Raster, at index: Int) {
        guard app.screen.rows.indices.contains(index) else { return }
        app.screen.rows[index].picture = photo
        app.screen.rows[index].isPlaceholder = false
        app.screen.render()
    }

    /// A failure that the user can live with is shown and not more.
    func attempt(_ work: () throws -> Void) {
        do {
            try work()
        } catch {
            app.screen.footer = "\(error)"
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FoundationEssentials
import SampleSupport
import Watchdog

/// An app that finds stars; its launch is slow for four reasons, each of which an option removes.
@MainActor
final class StarSearcher: Story {
    private let app: SampleApp
    private let repairs: Set<Repair>
    private var stars: [Star] = []
    private var details: [Int: Raster] = [:]
    private let logger: Logger

    init(_ app: SampleApp, _ repairs: Set<Repair>, logger: Logger) {
        self.app = app
        self.repairs = repairs
        self.logger = logger
    }

    func launch(_ options: Application.LaunchOptions) {
        app.screen.title =
            "StarSearcher · \(repairs.isEmpty ? "slow" : repairs.map(\.rawValue).sorted().joined(separator: ", "))"
        app.interval("screen init") { _ = StarChart.lettering(passes: app.amount(StarChart.letteringPasses)) }
        startThumbnails()
        app.interval("app init") { stars = loadStars() }
        app.interval("first render") {
            app.screen.rows = stars.prefix(Screen.visibleRows).map { star in
                Screen.Row(star.name, detail: "magnitude \(star.magnitude)")
            }
            if !repairs.contains(.details) { warmUpDetails() }
            app.firstFrame()
        }
        app.useful()
        loadTheRest()
    }

    func touched(_ event: String) {
        let words = event.split(separator: " ")
        switch words.first {
        case "select":
            guard let number = words.dropFirst().first.flatMap({ Int($0) }), stars.indices.contains(number - 1) else {
                logger.log("no star '\(event)'")
                return
            }
            app.screen.picture = detail(number - 1)
            app.screen.footer = stars[number - 1].name
        case "back": app.screen.picture = nil
        default: break
        }
        app.screen.render()
    }

    // MARK: - Application init

    /// Ordinary work of the app, on the efficiency core: about three quarters of the detail screens' work.
    private func startThumbnails() {
        let (count, passes) = (Screen.visibleRows * 3 / 4, app.amount(StarChart.detailPasses))
        Work.start("thumbnails", .confined) {
            for number in 0..<count { _ = StarChart.thumbnail(number, passes: passes) }
        }
    }

    @inline(never)
    private func loadStars() -> [Star] {
        let file = "\(app.bundle)/stars.sqlite"
        let limit = repairs.contains(.firstRows) ? Screen.visibleRows : nil
        guard !repairs.contains(.priority) else {
            // The caller runs the queue's work itself, at its own priority, so there is no priority inversion.
            return DispatchQueue(label: "stars").sync { StarChart.load(file, limit: limit) }
        }
        // A semaphore has no owner, so the thread that will signal it cannot inherit the caller's priority.
        let (loaded, box) = (DispatchSemaphore(value: 0), Box())
        Work.start("star loader", .background) {
            box.stars = StarChart.load(file, limit: limit)
            loaded.signal()
        }
        loaded.wait()
        return box.stars
    }

    private final class Box: @unchecked Sendable {
        // SAFETY: written before the semaphore is signaled, and read only after the wait.
        var stars: [Star] = []
    }

    private func loadTheRest() {
        guard repairs.contains(.firstRows) else {
            app.complete()
            return
        }
        let (app, file) = (app, "\(app.bundle)/stars.sqlite")
        DispatchQueue(label: "rest", qos: .utility).async {
            let all = app.interval("all stars") { StarChart.load(file, limit: nil) }
            app.onMain {
                self.stars = all
                app.complete()
            }
        }
    }

    // MARK: - Details

    @inline(never)
    private func warmUpDetails() {
        for index in stars.indices.prefix(Screen.visibleRows) { _ = detail(index) }
    }

    private func detail(_ index: Int) -> Raster {
        if let known = details[index] { return known }
        let picture = StarChart.detail(stars[index], passes: app.amount(StarChart.detailPasses))
        details[index] = picture
        return picture
    }
}

// SPDX-License-Identifier: Apache-2.0

import Dispatch
import SampleSupport
import Watchdog

// MARK: - Stages 1 and 2: everything in the launch callback

extension QuickPick {
    @inline(never)
    func launchBlocking(_ interface: String, _ options: Application.LaunchOptions) {
        loadFirstScreen(interface == "everything" ? [interface] : [interface, "cell"], options)
        let content = loadEverything(pieces)
        show(content)
        app.firstFrame()
        app.useful()
        app.complete()
    }

    /// Shows the results of the long work.
    private func show(_ content: Content) {
        if let problem = content.problem { app.screen.footer = problem }
        show(content.entries)
        for (index, photo) in content.photos.enumerated() { show(photo, at: index) }
    }
}

// MARK: - Stage 3: the same on one background queue

extension QuickPick {
    func launchNaively(_ options: Application.LaunchOptions) {
        loadFirstScreen(["table", "cell"], options)
        app.firstFrame()
        let pieces = pieces
        DispatchQueue(label: "loading").async {
            let content = loadEverything(pieces)
            self.app.onMain {
                self.show(content)
                self.app.useful()
                self.app.complete()
            }
        }
    }
}

struct Content: Sendable {
    var entries: [Entry] = []
    var photos: [Raster] = []
    var problem: String?
}

/// Loads one piece after another: each slow one delays all that follow.
@inline(never)
func loadEverything(_ pieces: Pieces) -> Content {
    var content = Content()
    func attempt(_ work: () throws -> Void) {
        do {
            try work()
        } catch {
            content.problem = "\(error)"
        }
    }
    attempt { content.entries = try pieces.fetchFeed() }
    attempt { _ = try pieces.fetchFriends() }
    for number in 1...Pieces.photoCount {
        attempt { content.photos.append(try pieces.fetchPhoto("/photos/\(number).png")) }
    }
    attempt { _ = try pieces.openLocalPhotos() }
    attempt { _ = try pieces.buildSharedPhotos(content.entries) }
    attempt { _ = try pieces.readDefaults() }
    attempt { _ = try pieces.copyTemplates() }
    pieces.initializePhotoStamp()
    return content
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import SampleSupport
import Watchdog

// MARK: - Stage 4: every download is an operation

extension QuickPick {
    func launchWithDownloads(_ options: Application.LaunchOptions) {
        loadFirstScreen(["table", "cell"], options)
        app.firstFrame()
        let pieces = pieces
        let feed = PieceOperation { try pieces.fetchFeed(isCancelled: $0) }
        let friends = PieceOperation { try pieces.fetchFriends(isCancelled: $0) }
        let photos = (1...Pieces.photoCount).map { number in
            PieceOperation { try pieces.fetchPhoto("/photos/\(number).png", isCancelled: $0) }
        }
        // The remaining work does not declare what it depends on, so it waits for everything.
        let rest = PieceOperation { _ in
            _ = try? pieces.openLocalPhotos()
            _ = try? pieces.buildSharedPhotos(feed.value ?? [])
            _ = try? pieces.readDefaults()
            _ = try? pieces.copyTemplates()
            pieces.initializePhotoStamp()
            let (entries, pictures) = (feed.value ?? [], photos.map(\.value))
            self.app.onMain {
                self.show(entries)
                for case (let index, let picture?) in pictures.enumerated() { self.show(picture, at: index) }
                self.app.useful()
                self.app.complete()
            }
        }
        for download in [feed, friends] + photos as [Operation] {
            rest.addDependency(download)
            network.addOperation(download)
        }
        work.addOperation(rest)
    }
}

// MARK: - Stage 5: each piece waits for what it needs, and for nothing else

extension QuickPick {
    func launchWithDependencies(_ options: Application.LaunchOptions) {
        loadFirstScreen(["table", "cell"], options)
        attempt { _ = try pieces.readDefaults() }
        app.firstFrame()
        let (feed, shared) = queueFeed()
        complete(after: [shared] + queuePhotos(after: feed) + queueOthers())
    }

    private func queuePhotos(after feed: PieceOperation<[Entry]>) -> [Operation] {
        let pieces = pieces
        return (0..<Pieces.photoCount).map { index in
            let photo = PieceOperation { isCancelled in
                guard let entries = feed.value, entries.indices.contains(index) else { return }
                let picture = try pieces.fetchPhoto(entries[index].photo, isCancelled: isCancelled)
                self.app.onMain { self.place(picture, at: index) }
            }.after(feed)
            network.addOperation(photo)
            return photo
        }
    }
}

// MARK: - Stage 6: usable from the first frame on, and what nobody has asked for is not loaded

extension QuickPick {
    func launchWithPlaceholders(_ options: Application.LaunchOptions) {
        unpackFirstScreen(options)
        attempt { show(try pieces.readDefaults()) }
        app.firstFrame()
        app.useful()
        complete(after: [queueFeed().shared] + queueOthers())
    }

    /// Fetches the photos of rows that are in view or open, each once and as soon as the list is known.
    func want(_ rows: some Sequence<Int>) {
        wanted.formUnion(rows)
        let (pieces, feed) = (pieces, feed)
        for index in wanted.subtracting(requested).sorted() where feed.indices.contains(index) {
            requested.insert(index)
            unfinished += 1
            network.addOperation(
                PieceOperation { isCancelled in
                    let picture = try? pieces.fetchPhoto(feed[index].photo, isCancelled: isCancelled)
                    self.app.onMain {
                        if let picture { self.place(picture, at: index) }
                        self.finishOne()
                    }
                })
        }
    }
}

// MARK: - What both share

extension QuickPick {
    private func complete(after operations: [Operation]) {
        let end = PieceOperation { _ in self.app.onMain { self.finishOne() } }
        for operation in operations { end.addDependency(operation) }
        work.addOperation(end)
    }

    private func finishOne() {
        unfinished -= 1
        if unfinished == 0 { app.complete() }
    }

    private func queueFeed() -> (feed: PieceOperation<[Entry]>, shared: Operation) {
        let pieces = pieces
        let feed = PieceOperation { try pieces.fetchFeed(isCancelled: $0) }
        let shared = PieceOperation { _ in
            guard let entries = feed.value else {
                self.app.onMain { self.app.screen.footer = "no network: these are the photos that came with the app" }
                return
            }
            _ = try? pieces.buildSharedPhotos(entries)
            self.app.onMain {
                self.replace(with: entries)
                self.app.useful()
            }
        }.after(feed)
        network.addOperation(feed)
        work.addOperation(shared)
        return (feed, shared)
    }

    /// Queues the operations on which no other depends.
    private func queueOthers() -> [Operation] {
        let pieces = pieces
        let friends = PieceOperation { try pieces.fetchFriends(isCancelled: $0) }
        friends.queuePriority = .low
        network.addOperation(friends)
        let library = PieceOperation { _ in pieces.initializePhotoStamp() }
        network.addOperation(library)
        let local = PieceOperation { _ in try pieces.openLocalPhotos() }
        let templates = PieceOperation { _ in
            let count = try pieces.copyTemplates()
            self.app.onMain {
                self.app.screen.footer = "\(count) templates"
                self.app.screen.render()
            }
        }
        for operation in [local, templates] as [Operation] {
            operation.queuePriority = .low
            work.addOperation(operation)
        }
        return [friends, library, local, templates]
    }

    /// Shows the list, with photos that arrived before it.
    private func replace(with entries: [Entry]) {
        let pictures = arrived
        show(entries)
        for (index, picture) in pictures { show(picture, at: index) }
        feed = entries
        want([])
    }

    private func place(_ picture: Raster, at index: Int) {
        arrived[index] = picture
        show(picture, at: index)
    }
}

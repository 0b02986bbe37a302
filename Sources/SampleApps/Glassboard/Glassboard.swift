// SPDX-License-Identifier: Apache-2.0

import Dispatch
import SampleSupport
import Watchdog

/// Message boards: loading, then loaded but useless, then useful; or without the useless phase.
@MainActor
final class Glassboard: Story {
    private let app: SampleApp
    private let board: Board
    /// Whether the rows on the screen are archived for the next launch.
    private let keepsArchive: Bool
    private var messages: [Message] = []
    /// How often the database has been read for a scene.
    private var fetches = 0
    private let reading = DispatchQueue(label: "reading", qos: .userInitiated)
    private let writing = DispatchQueue(label: "writing", qos: .utility)

    init(_ app: SampleApp, keepsArchive: Bool) {
        self.app = app
        self.keepsArchive = keepsArchive
        board = Board(app: app)
    }

    func launch(_ options: Application.LaunchOptions) {
        app.screen.title = "Glassboard · \(keepsArchive ? "with the archive of the last visit" : "cold")"
        let archived = keepsArchive ? board.readArchive() : nil
        app.record.note("archive", archived == nil ? "none" : "read")
        if let archived { show(archived) }
        app.firstFrame()
        if archived != nil { app.useful() }
        refresh()
    }

    func touched(_ event: String) {
        let words = event.split(separator: " ")
        switch words.first {
        case "scroll": app.screen.top = max(0, words.dropFirst().first.flatMap { Int($0) } ?? app.screen.top + 1)
        case "scene": openScene()
        default: break
        }
        app.screen.render()
    }

    /// Opens a second window on the same boards.
    ///
    /// Each scene of the unrepaired app loads what the others have already loaded.
    private func openScene() {
        if keepsArchive, !messages.isEmpty { show(messages) } else { refresh() }
    }

    /// The array is captured on main, which owns it; copy-on-write makes that free.
    ///
    /// A background thread encodes and writes it.
    func leave() {
        guard keepsArchive, !messages.isEmpty else { return }
        let (board, visible) = (board, Array(messages.prefix(2 * Screen.visibleRows)))
        let task = Application.shared.beginBackgroundTask(named: "write archive")
        let isWritten = DispatchSemaphore(value: 0)
        writing.async {
            board.writeArchive(visible)
            Application.shared.endBackgroundTask(task)
            isWritten.signal()
        }
        // An exiting app gets no background time, so main waits for the write.
        if task == .invalid { isWritten.wait() }
    }

    // MARK: - Loading

    private func refresh() {
        fetches += 1
        app.record.note("fetches", "\(fetches)")
        let (app, board, isFrugal) = (app, board, keepsArchive)
        reading.async {
            let messages = (try? board.fetch()) ?? []
            // The unrepaired app decodes all avatars before it shows any.
            let wanted = isFrugal ? [] : Array(0..<Board.people)
            let avatars = Dictionary(uniqueKeysWithValues: wanted.map { ($0, try? board.avatar($0)) })
            app.onMain {
                self.show(messages)
                for (index, message) in messages.prefix(Screen.visibleRows).enumerated() {
                    app.screen.rows[index].picture = avatars[message.avatar] ?? nil
                }
                app.screen.render()
                app.useful()
                if isFrugal { self.loadVisibleAvatars() } else { app.complete() }
            }
        }
    }

    private func loadVisibleAvatars() {
        let (app, board) = (app, board)
        let visible = messages.dropFirst(app.screen.top).prefix(Screen.visibleRows).map(\.avatar)
        let first = app.screen.top
        reading.async {
            for (index, number) in visible.enumerated() {
                guard let picture = try? board.avatar(number) else { continue }
                app.onMain { self.place(picture, of: number, at: first + index) }
            }
            app.onMain { app.complete() }
        }
    }

    /// The row may show another person by now, because the list has scrolled.
    private func place(_ picture: Raster, of number: Int, at index: Int) {
        guard messages.indices.contains(index), messages[index].avatar == number else { return }
        app.screen.rows[index].picture = picture
        app.screen.render()
    }

    private func show(_ messages: [Message]) {
        self.messages = messages
        app.screen.rows = messages.prefix(4 * Screen.visibleRows).map { message in
            Screen.Row("\(message.person) · \(message.text)", detail: "\(message.board), \(message.comments) comments")
        }
        app.screen.render()
    }
}

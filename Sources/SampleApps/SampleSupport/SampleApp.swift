// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FoundationEssentials
import Glibc
import NetworkConditioner
package import Watchdog

/// The part of a sample app that differs from the others.
@MainActor
package protocol Story: AnyObject {
    /// Launches the app; the launch ends on return.
    func launch(_ options: Application.LaunchOptions)
    /// Handles a touch; the user waits until this returns.
    func touched(_ event: String)
    /// Saves important data, because the app enters the background or exits.
    func leave()
    /// Called right before the process exits.
    func end()
    /// The state that the next launch restores; nil to keep none. Read with `--restore` only.
    var state: [UInt8]? { get }
    /// Restores the state of an earlier launch, before ``launch(_:)``.
    func restore(_ state: [UInt8])
}

extension Story {
    /// Saves nothing.
    package func leave() {}
    package func end() { leave() }
    /// Keeps no state.
    package var state: [UInt8]? { nil }
    package func restore(_ state: [UInt8]) {}
}

/// The common part of the sample apps: command line, screen, touches, milestones and measurements.
///
/// Isolation: the main actor, except for ``interval(_:_:)``, ``post(_:)`` and ``onMain(_:)``.
@MainActor
package final class SampleApp {
    /// A missing prerequisite of the launch.
    package struct Preparation: Error, CustomStringConvertible {
        package let description: String
    }

    package nonisolated let name: String
    package nonisolated let arguments: Arguments
    package nonisolated let timeScale: Double
    package nonisolated let record = LaunchRecord()
    package nonisolated let client: HTTPClient
    package let screen: Screen

    private nonisolated let signposter: Signposter
    private var story: (any Story)?
    private nonisolated let mainThread = pthread_self()
    private let terminal: Terminal?
    private let touches: Touches
    private let quitWhen: LaunchRecord.Milestone?

    /// The folder of the installed files.
    package nonisolated let bundle: String
    /// The folder that the app writes to.
    package nonisolated let documents: String

    package init(_ arguments: Arguments) {
        self.arguments = arguments
        name = arguments.app
        signposter = Signposter(category: arguments.app)
        timeScale = arguments.timeScale
        bundle = "\(arguments.dataFolder)/bundle"
        documents = "\(arguments.dataFolder)/documents"
        do {
            client = HTTPClient(try SocketAddress(parsing: arguments["--server"] ?? "127.0.0.1:8225"))
            touches = try Touches(script: arguments["--script"], interval: arguments.span("--touch-every"))
        } catch {
            arguments.fail("\(error)")
        }
        switch arguments["--quit-when"] {
        case nil: quitWhen = nil
        case "useful"?: quitWhen = .useful
        case "complete"?: quitWhen = .complete
        case let other?: arguments.fail("unknown '--quit-when \(other)'; use one of: useful, complete")
        }
        let keys = KeyboardRelay()
        terminal = arguments.has("--prepare") ? nil : Terminal { keys.press($0) }
        if let folder = arguments["--frames"] { Self.makeFolder(folder, arguments) }
        screen = Screen(title: name, terminal: terminal, folder: arguments["--frames"])
        keys.connect { [weak self] key in self?.press(key) }
    }

    /// An amount of work, scaled for this run; at least one piece.
    package nonisolated func amount(_ count: Int) -> Int { max(1, Int(Double(count) * timeScale)) }

    /// How often a loop in Swift over pixels or numbers is run.
    ///
    /// It takes many times as long without optimization. Tests run such a build, and are about the order of things: a
    /// share of the work is enough for them.
    package nonisolated static func passes(_ count: Int) -> Int {
        #if DEBUG
            max(1, count / 20)
        #else
            count
        #endif
    }

    // MARK: - Data

    /// Ensures that the app's files exist; `--prepare` ends here.
    ///
    /// - Parameter fill: Writes the files into a folder. Called once, before the first launch, like an installation.
    package func prepare(_ fill: (_ folder: String) throws -> Void) {
        do {
            Self.makeFolder(documents, arguments)
            if access(bundle, F_OK) != 0 {
                // The launch gets its usual allowance and no more, so that the story ends the same way.
                let notice = InstallationNotice(leaving: .seconds(20) * timeScale)
                defer { notice.end() }
                tell("preparing \(arguments.dataFolder)")
                let draft = "\(bundle).\(getpid())"
                Self.makeFolder(draft, arguments)
                try fill(draft)
                // Another instance may have finished first; its files are equivalent.
                if rename(draft, bundle) != 0 { try? FileManager.default.removeItem(atPath: draft) }
            }
        } catch {
            arguments.giveUp("cannot prepare \(arguments.dataFolder): \(error)")
        }
        if arguments.has("--prepare") { exit(0) }
    }

    private static func makeFolder(_ path: String, _ arguments: Arguments) {
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            arguments.giveUp("cannot make \(path): \(error)")
        }
    }

    // MARK: - Work

    /// Runs a piece of work, and records it as an interval of the launch.
    package nonisolated func interval<Result>(_ name: StaticString, _ work: () throws -> Result) rethrows -> Result {
        let (start, running, waiting) = (ProcessClock.now, ProcessClock.threadTime, ProcessClock.threadDelay)
        defer {
            record.add(
                LaunchRecord.Interval(
                    name: "\(name)", start: start, end: ProcessClock.now, running: ProcessClock.threadTime - running,
                    waiting: ProcessClock.threadDelay - waiting,
                    isOnMain: pthread_equal(pthread_self(), mainThread) != 0))
        }
        let signpost = signposter.beginInterval(name, id: SignpostID())
        defer { signposter.endInterval(signpost) }
        return try work()
    }

    /// Runs `work` on the main loop, which alone may change the screen.
    package nonisolated func onMain(_ work: @escaping @MainActor @Sendable () -> Void) {
        DispatchQueue.main.async {
            let start = ProcessClock.now
            work()
            self.record.addMainWork(ProcessClock.now - start)
        }
    }

    // MARK: - Touches

    /// Posts a touch; any thread may call this.
    package nonisolated func post(_ event: String) {
        let posted = ProcessClock.now
        DispatchQueue.main.async {
            let start = ProcessClock.now
            self.story?.touched(event)
            let end = ProcessClock.now
            self.record.addLatency(end - posted)
            self.record.addMainWork(end - start)
            if event == "quit" { Application.shared.terminate() }
        }
    }

    private func press(_ key: Character) {
        switch key {
        case "q": Application.shared.terminate()
        case "\u{1B}", "\u{7F}": post("back")
        case "1"..."9": post("select \(key)")
        default: post("touch")
        }
    }

    // MARK: - Milestones

    /// Renders the first frame, which ends the measured launch.
    package func firstFrame() {
        interval("first frame") { screen.render() }
        Application.shared.firstFrame()
        reach(.firstFrame)
    }

    /// Reports that the user can now use the app.
    package func useful() {
        Watchdog.useful()
        reach(.useful)
    }

    /// Reports that all work begun at launch is done.
    package func complete() { reach(.complete) }

    private func reach(_ milestone: LaunchRecord.Milestone) {
        guard let time = record.mark(milestone) else { return }
        tell("\(milestone.rawValue) after \(time.text)")
        Watchdog.summary("\(name): \(milestone.rawValue)")
        // Quit after the blocks that are already queued on main, because they belong to this run.
        if milestone == quitWhen { DispatchQueue.main.async { Application.shared.terminate() } }
    }

    /// Prints a line for people, unless the terminal shows the screen.
    package func tell(_ text: String) {
        guard terminal == nil else { return }
        print("\(name): \(text)")
        fflush(nil)
    }

    /// Launches the app.
    package func run(_ story: any Story) -> Never {
        self.story = story
        Application.main(self)
    }
}

// MARK: - Life

extension SampleApp: ApplicationDelegate {
    package var restorationIdentifier: String? { arguments.has("--restore") ? name : nil }

    package func application(_ application: Application, didDecodeRestorableState state: [UInt8]) {
        story?.restore(state)
    }

    package func applicationWillEncodeRestorableState(_ application: Application) -> [UInt8]? { story?.state }

    package func application(_ application: Application, didFinishLaunchingWith options: Application.LaunchOptions) {
        if let kind = options.eventKind { record.note("launched-for", kind) }
        touches.start { self.post($0) }
        story?.launch(options)
    }

    /// Handles an event of the supervisor as a touch, whose latency the supervisor measures.
    package func application(_ application: Application, handle event: Application.Event) {
        if let sender = event.sender { record.note("asked-by", sender) }
        story?.touched(event.payload.isEmpty ? event.kind : "\(event.kind) \(event.payload)")
    }

    package func applicationDidEnterBackground(_ application: Application) {
        story?.leave()
    }

    package func applicationWillTerminate(_ application: Application) {
        story?.end()
        record.note("frames", "\(screen.frames)")
        terminal?.restore()
        if let path = arguments["--record"] {
            do {
                try Data(record.text.utf8).write(to: URL(filePath: path))
            } catch {
                arguments.giveUp("cannot write \(path): \(error)")
            }
        }
        // Use _exit(2): operations may still run, and exit(3) would run destructors of libraries that they use.
        fflush(nil)
        _exit(EXIT_SUCCESS)
    }
}

/// Forwards keys once a handler is set.
private final class KeyboardRelay: Sendable {
    // SAFETY: accessed on the main actor only; `press` switches to it.
    private nonisolated(unsafe) var handler: ((Character) -> Void)?

    @MainActor
    func connect(_ handler: @escaping (Character) -> Void) { self.handler = handler }

    func press(_ key: Character) {
        DispatchQueue.main.async { self.handler?(key) }
    }
}
